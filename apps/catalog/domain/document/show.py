"""Turns the catalog's rows back into a file's mapping, so that what is shown can be applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

from apps.catalog.domain.nouns import (
    AliasView,
    DeploymentRow,
    EndpointRow,
    GpuTypeRow,
    KeyRow,
    NounRow,
    ReplicaRow,
)
from apps.catalog.domain.prices import PriceEntry
from apps.core.time import EPOCH, day_floor

_SECTIONS = (
    ("teams", "team"),
    ("gpu_types", "gpu_type"),
    ("models", "model"),
    ("endpoints", "endpoint"),
    ("deployments", "deployment"),
    ("replicas", "replica"),
    ("keys", "key"),
)


class _Shower:
    """The catalog's claimed rows, with what they refer to by slug."""

    def __init__(self, nouns: Mapping[str, Sequence[NounRow]], aliases: Iterable[AliasView]) -> None:
        self.rows = {kind: [row for row in rows if row.claimed] for kind, rows in nouns.items()}
        self._slugs = {(kind, row.id): row.slug for kind, rows in self.rows.items() for row in rows}
        self._labels: dict[tuple[str, int], list[object]] = {}
        for alias in aliases:
            if alias.valid_from == EPOCH:
                if alias.raw != self.slug(alias.kind, alias.target_id):  # a slug is a label anyway
                    self._labels.setdefault((alias.kind, alias.target_id), []).append(alias.raw)
            else:
                dated = {"raw": alias.raw, "from": _when(alias.valid_from)}
                self._labels.setdefault((alias.kind, alias.target_id), []).append(dated)

    def slug(self, kind: str, noun_id: int) -> str | None:
        """None for 0, and for what nobody has claimed."""
        return self._slugs.get((kind, noun_id))

    def noun(self, kind: str, row: NounRow) -> dict[str, object]:
        out: dict[str, object] = {"slug": row.slug, "name": row.name, **self._fields(row)}
        out["aliases"] = self._labels.get((kind, row.id))
        out["replicas"] = [
            self.noun("replica", replica) for replica in self._replicas_of(row) if isinstance(row, DeploymentRow)
        ]
        return {name: value for name, value in out.items() if value not in (None, "", [])}

    def section(self, kind: str) -> list[dict[str, object]]:
        return [
            self.noun(kind, row)
            for row in self.rows.get(kind, ())
            if not (isinstance(row, ReplicaRow) and self.slug("deployment", row.deployment_id))
        ]

    def _replicas_of(self, deployment: NounRow) -> list[ReplicaRow]:
        rows = self.rows.get("replica", ())
        return [row for row in rows if isinstance(row, ReplicaRow) and row.deployment_id == deployment.id]

    def _fields(self, row: NounRow) -> dict[str, object]:
        match row:
            case EndpointRow():
                return {"team": self.slug("team", row.team_id), "decision_window_hours": row.decision_window_hours}
            case GpuTypeRow():
                return {"memory_gib": _number(row.memory_gib)}
            case DeploymentRow():
                return {
                    "model": self.slug("model", row.model_id),
                    "owner": self.slug("team", row.owner_id),
                    "gpu_type": self.slug("gpu_type", row.gpu_type_id),
                    "gpus_per_replica": _number(row.gpus_per_replica),
                }
            case ReplicaRow():
                return {
                    "metrics_url": row.metrics_url,
                    "held_from": _when(row.held_from),
                    "held_until": _when(row.held_until),
                }
            case KeyRow():
                return {"team": self.slug("team", row.team_id)}
        return {}

    def price(self, entry: PriceEntry, following: PriceEntry | None) -> dict[str, object]:
        until = entry.effective_until
        if following and following.series == entry.series and following.effective_from == until:
            until = None  # it ends there anyway
        out: dict[str, object] = {
            "gpu_type": self.slug("gpu_type", entry.series.gpu_type_id),
            "endpoint": self.slug("endpoint", entry.series.endpoint_id),
            "amount": _number(entry.amount),
            "currency": entry.currency,
            "from": _when(entry.effective_from),
            "until": _when(until),
            "source": entry.source,
            "assumed": entry.assumed or None,
        }
        return {name: value for name, value in out.items() if value is not None}


def as_document(
    *, nouns: Mapping[str, Sequence[NounRow]], aliases: Iterable[AliasView], prices: Iterable[PriceEntry]
) -> dict[str, object]:
    """Only what somebody has claimed, with every field that says something; empty sections are left out.

    `prices` must be ordered by series and date.
    """
    shower = _Shower(nouns, aliases)
    document: dict[str, object] = {section: shower.section(kind) for section, kind in _SECTIONS}
    by_kind: dict[str, list[dict[str, object]]] = {}
    for entry, following in pairwise([*prices, None]):
        assert entry is not None
        by_kind.setdefault(entry.series.kind, []).append(shower.price(entry, following))
    document["prices"] = by_kind
    return {name: value for name, value in document.items() if value}


def _when(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%d}" if utc == day_floor(utc) else utc.isoformat().replace("+00:00", "Z")


def _number(value: Decimal | None) -> str | None:
    """As text, since a YAML float is not exact."""
    return None if value is None else f"{value.normalize():f}"
