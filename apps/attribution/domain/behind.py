"""Says which hours of the ledger are behind their facts or their prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.catalog.domain.nouns import CatalogChange
from apps.core.time import HOUR


@dataclass(frozen=True, slots=True)
class Basis:
    """What an hour was attributed from: the fold of its facts, and the catalog's changes up to this one."""

    fold_run_id: UUID
    catalog_change: int


def hours_behind(
    folded: Mapping[datetime, UUID], attributed: Mapping[datetime, Basis], changes: Iterable[CatalogChange]
) -> list[datetime]:
    """Folded hours to attribute (again), newest first: never done, folded since, or touched by a price change since.

    `changes` must hold at least those that are newer than the oldest basis.
    """
    prices = [change for change in changes if change.what == "prices"]
    return sorted(
        (hour for hour, run_id in folded.items() if is_behind(hour, run_id, attributed.get(hour), prices)), reverse=True
    )


def to_fold_again(hour: datetime, catalog_change: int, changes: Iterable[CatalogChange]) -> bool:
    """Whether labels of the hour mean somebody else since it was folded with the changes up to `catalog_change`."""
    # Requests that run over from the hour before are resolved as of then.
    return any(
        change.what == "labels"
        and change.id > catalog_change
        and (_touches(change, hour) or _touches(change, hour - HOUR))
        for change in changes
    )


def is_behind(hour: datetime, run_id: UUID, basis: Basis | None, prices: Sequence[CatalogChange]) -> bool:
    if basis is None or basis.fold_run_id != run_id:
        return True
    return any(change.id > basis.catalog_change and _touches(change, hour) for change in prices)


def _touches(change: CatalogChange, hour: datetime) -> bool:
    return (change.affects_from is None or change.affects_from < hour + HOUR) and (
        change.affects_until is None or change.affects_until > hour
    )
