"""Resolves the label sets of records into catalog ids, at the hour in which each request started."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from apps.catalog import services as catalog_services
from apps.catalog.selectors import Resolver, resolver
from apps.core.query import NONE_GIVEN
from apps.core.time import from_micros
from apps.ingest import selectors as ingest
from apps.rollups.domain.attempts import Attempts, Int32, Int64
from apps.rollups.domain.calls import HOUR_US
from apps.rollups.domain.labels import raw_labels
from apps.rollups.domain.usage import compact


def resolve_columns(columns: ingest.RequestColumns, replica_names: Iterable[str]) -> tuple[Attempts, Resolver]:
    """The columns with owners in place of labels; what the catalog has never met is made known to it first.

    `replica_names` are raw labels of replicas that are known from elsewhere.
    """
    hour = columns.started_us // HOUR_US
    first = int(hour.min()) if len(hour) else 0
    width = int(columns.label_id.max()) + 1 if len(columns) else 1
    codes, place = compact((hour - first) * width + columns.label_id)
    labels = ingest.label_sets(set((codes % width).tolist()))
    raws = {raw for row in labels.values() for raw in raw_labels(row)}
    raws |= {("replica", name) for name in replica_names}
    catalog_services.ensure_nouns(raws={(kind, raw) for kind, raw in raws if raw})
    found = resolver()
    rows = [
        _resolve(found, labels[code % width], from_micros((first + code // width) * HOUR_US)) for code in codes.tolist()
    ]
    return _attempts(columns, place, np.array(rows, dtype=np.int64).reshape(-1, 5)), found


def _resolve(found: Resolver, row: ingest.LabelSetRow, at: datetime) -> list[int]:
    return [found.resolve(kind, raw, at) or NONE_GIVEN for kind, raw in raw_labels(row)]


def _attempts(columns: ingest.RequestColumns, place: Int32, rows: Int64) -> Attempts:
    owners, owner_of_row = np.unique(rows, axis=0, return_inverse=True)
    return Attempts(
        columns.started_us,
        columns.ended_us,
        columns.first_token_us,
        columns.call_key,
        columns.task_key,
        columns.queue_us,
        columns.input_tokens,
        columns.cache_read_tokens,
        columns.cache_write_tokens,
        columns.output_tokens,
        columns.reasoning_tokens,
        columns.attempt,
        columns.status,
        columns.traffic,
        columns.stream,
        owner_of_row.reshape(-1).astype(np.int32)[place] if len(rows) else place,
        owners,
    )
