"""What may be written to ingest."""

from apps.ingest.domain.answers import BatchAnswer, RecordAnswer, SourceRef
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
from apps.ingest.services.outcomes import ingest_outcomes
from apps.ingest.services.partitions import maintain_partitions
from apps.ingest.services.rejects import discard_reject, edit_and_resubmit, resubmit_reject
from apps.ingest.services.requests import REQUEST_KINDS, ingest_requests
from apps.ingest.services.sources import mark_recording
from apps.ingest.sources.registry import holds_outcomes

__all__ = [
    "REQUEST_KINDS",
    "BatchAnswer",
    "RecordAnswer",
    "ScrapeResult",
    "SourceRef",
    "TargetSpec",
    "discard_reject",
    "edit_and_resubmit",
    "ensure_target",
    "holds_outcomes",
    "ingest_outcomes",
    "ingest_requests",
    "maintain_partitions",
    "mark_recording",
    "replace_targets",
    "resubmit_reject",
    "scrape_targets",
    "store_failed_scrape",
    "store_scrape",
    "store_scrapes",
]
