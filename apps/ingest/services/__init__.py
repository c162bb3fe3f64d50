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
from apps.ingest.services.sources import mark_recording

__all__ = [
    "ScrapeResult",
    "TargetSpec",
    "ensure_target",
    "maintain_partitions",
    "mark_recording",
    "replace_targets",
    "scrape_targets",
    "store_failed_scrape",
    "store_scrape",
    "store_scrapes",
]
