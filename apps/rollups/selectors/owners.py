"""Whose a single record is: its labels resolved as a fold resolves them, for whoever shows records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from apps.catalog import selectors as catalog
from apps.core.query import NONE_GIVEN, Dimension, Filters
from apps.core.time import Window
from apps.ingest import selectors as ingest
from apps.ingest.selectors import LabelSetRow
from apps.rollups.domain.labels import raw_labels
from apps.rollups.models import TaskHour

Owners = Mapping[Dimension, int]


class LabelOwners:
    """Owners of label sets as the catalog has them now; a label may have other owners at another date."""

    def __init__(self) -> None:
        self._aliases = catalog.aliases()
        self._resolver = catalog.resolver(self._aliases)
        self._labels: dict[int, LabelSetRow] = ingest.all_label_sets()

    def labels(self, label_id: int) -> LabelSetRow:
        return self._labels[label_id]

    def owners(self, label_id: int, at: datetime) -> Owners:
        """Ids of team, endpoint, model, replica and key of a record with these labels that started at `at`."""
        return {
            kind: self._resolver.resolve(kind, raw, at) or NONE_GIVEN
            for kind, raw in raw_labels(self._labels[label_id])
        }

    def keeps(self, filters: Filters, label_id: int, at: datetime) -> bool:
        found = self.owners(label_id, at)
        return all(found[dimension] in ids for dimension, ids in filters.items())

    def label_ids(self, filters: Filters, window: Window) -> frozenset[int] | None:
        """Label sets that the filters keep at any moment of the window; None where nothing is filtered."""
        if not filters.items():
            return None
        moments = {window.start, window.end}
        moments |= {alias.valid_from for alias in self._aliases if window.contains(alias.valid_from)}
        return frozenset(
            label_id for label_id in self._labels if any(self.keeps(filters, label_id, at) for at in moments)
        )


def task_hours(task_key: int) -> list[datetime]:
    """Folded hours in which the task used something, oldest first."""
    return list(TaskHour.objects.filter(task_key=task_key).order_by("hour").values_list("hour", flat=True))
