"""What has arrived, by hour; and the label sets of records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from apps.ingest.models import ArrivalHour, LabelSet


@dataclass(frozen=True, slots=True)
class Arrival:
    """`version` grows with every write that touches the hour."""

    version: int
    records: int
    longest_us: int
    first_received_at: datetime
    last_received_at: datetime


@dataclass(frozen=True, slots=True)
class LabelSetRow:
    """Labels exactly as a source gave them; empty: not given."""

    id: int
    source_id: int
    team: str
    endpoint: str
    key_alias: str
    key_hash: str
    model_requested: str
    model_served: str
    backend: str
    replica: str
    region: str
    provider: str
    charge_currency: str


def arrivals() -> dict[datetime, Arrival]:
    """Every hour that something has arrived for."""
    rows = ArrivalHour.objects.values_list(
        "hour", "version", "records", "longest_us", "first_received_at", "last_received_at"
    )
    return {row[0]: Arrival(*row[1:]) for row in rows}


def arrival_version(hour: datetime) -> int:
    """The version of one hour; 0 if nothing has arrived for it."""
    return ArrivalHour.objects.filter(hour=hour).values_list("version", flat=True).first() or 0


def label_sets(ids: Collection[int]) -> dict[int, LabelSetRow]:
    """Label sets by id."""
    return {row.pk: _label_set(row) for row in LabelSet.objects.filter(pk__in=ids)}


def all_label_sets() -> dict[int, LabelSetRow]:
    """Every label set by id."""
    return {row.pk: _label_set(row) for row in LabelSet.objects.all()}


def _label_set(row: LabelSet) -> LabelSetRow:
    return LabelSetRow(
        row.pk, row.source_id, row.team, row.endpoint, row.key_alias, row.key_hash, row.model_requested,
        row.model_served, row.backend, row.replica, row.region, row.provider, row.charge_currency,
    )  # fmt: skip
