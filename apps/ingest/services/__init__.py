"""What may be written to ingest."""

from apps.ingest.services.engines import (
    ScrapeResult,
    TargetSpec,
    ensure_target,
    replace_targets,
    scrape_targets,
    store_failed_scrape,
    store_scrape,
    store_scrapes,
)
from apps.ingest.services.partitions import maintain_partitions

__all__ = [
    "ScrapeResult",
    "TargetSpec",
    "ensure_target",
    "maintain_partitions",
    "replace_targets",
    "scrape_targets",
    "store_failed_scrape",
    "store_scrape",
    "store_scrapes",
]
