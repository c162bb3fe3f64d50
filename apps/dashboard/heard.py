"""Who sends and what is scraped, read at most once for a page, whatever parts of it ask."""

from __future__ import annotations

from functools import cached_property

from apps.ingest import selectors as ingest
from apps.ingest.selectors import SourceRow, TargetRow


class Heard:
    """All sources and targets as they were when first asked for."""

    @cached_property
    def sources(self) -> list[SourceRow]:
        return ingest.sources()

    @cached_property
    def targets(self) -> list[TargetRow]:
        return ingest.targets()
