"""Writes prices: from which date, until when, and which hours cost something else now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.catalog.domain.difference import Difference
from apps.catalog.domain.document import PriceSpec, price_of
from apps.catalog.domain.prices import PriceEntry, PriceKind, SeriesKey, day_of, differing_spans, scheduled
from apps.catalog.models import Change, Endpoint, GpuType, Price
from apps.catalog.selectors import price_entry
from apps.catalog.services.journal import Audit, Journal, writing
from apps.core.errors import InvalidInput, Problem
from apps.core.query import NONE_GIVEN


@dataclass(frozen=True, slots=True)
class PriceEffect:
    """What setting a price does: its steps, and the spans [since, until) that cost something else (None: open)."""

    difference: Difference
    spans: tuple[tuple[datetime | None, datetime | None], ...]


def set_price(
    *,
    kind: PriceKind,
    fields: Mapping[str, object],
    user_id: int | None = None,
    audit: Audit,
    dry_run: bool = False,
) -> PriceEffect:
    """The price from `fields["from"]` on, until the next one of its series or `fields["until"]`.

    `fields` are those of a price in the catalog file. A price from the same date is corrected; the one that held
    until then ends there. Raises InvalidInput, whose problems name the field.
    """
    spec = price_of(kind, fields)
    with writing(audit, dry_run=dry_run) as journal:
        write_prices(journal, [spec], user_id=user_id)
    return PriceEffect(journal.difference(), tuple(journal.spans(Change.What.PRICES)))


def remove_price(*, price_id: int, audit: Audit) -> None:
    """Take a price back; the one before it holds in its place if it ended there."""
    with writing(audit) as journal:
        row = Price.objects.filter(pk=price_id).first()
        if row is None:
            raise InvalidInput(Problem("unknown", "there is no such price any more"))
        gone = price_entry(row)
        old = [price_entry(other) for other in _rows(gone.series)]
        row.delete()
        for before in _rows(gone.series):
            if before.effective_until == gone.effective_from:
                before.effective_until = gone.effective_until
                before.save(update_fields=["effective_until"])
        journal.note("remove", f"price {title_of(gone)}", f"{gone.amount:f} {gone.currency}")
        _note_history(journal, gone.series, old, [price_entry(other) for other in _rows(gone.series)])


def write_prices(journal: Journal, specs: Iterable[PriceSpec], *, user_id: int | None = None) -> None:
    """Make the prices so; the same ones again write nothing, and prices that are not named stay."""
    by_series: dict[SeriesKey, list[tuple[PriceSpec, PriceEntry]]] = {}
    for spec in specs:
        entry = _entry(spec)
        by_series.setdefault(entry.series, []).append((spec, entry))
    for series, wanted in by_series.items():
        _write_series(journal, series, wanted, user_id)


def _entry(spec: PriceSpec) -> PriceEntry:
    gpu_type, endpoint = NONE_GIVEN, NONE_GIVEN
    if spec.gpu_type:
        gpu_type = GpuType.objects.filter(slug=spec.gpu_type).values_list("pk", flat=True).first() or _no(
            spec, "gpu_type", f"there is no GPU type {spec.gpu_type!r}"
        )
    if spec.endpoint:
        endpoint = Endpoint.objects.filter(slug=spec.endpoint).values_list("pk", flat=True).first() or _no(
            spec, "endpoint", f"there is no endpoint {spec.endpoint!r}"
        )
    return PriceEntry(
        id=0,
        series=SeriesKey(spec.kind, gpu_type, endpoint),
        amount=spec.amount,
        currency=spec.currency,
        effective_from=spec.effective_from,
        effective_until=spec.effective_until,
        source=spec.source,
        assumed=spec.assumed,
        fixed=spec.effective_until is not None,
    )


def _no(spec: PriceSpec, field: str, message: str) -> int:
    raise InvalidInput(Problem("unknown", message, f"{spec.path}.{field}".lstrip(".")))


def _write_series(
    journal: Journal, series: SeriesKey, wanted: list[tuple[PriceSpec, PriceEntry]], user_id: int | None
) -> None:
    rows = {row.effective_from: row for row in _rows(series)}
    old = [price_entry(row) for row in rows.values()]
    dates = {entry.effective_from for _, entry in wanted}
    try:
        new = scheduled([*(entry for entry in old if entry.effective_from not in dates), *(e for _, e in wanted)])
    except InvalidInput as error:
        path = wanted[0][0].path.rpartition("[")[0]
        problems = [Problem(p.code, p.message, f"{path}.{p.field}".lstrip(".")) for p in error.problems]
        raise InvalidInput(problems) from None
    for entry in new:
        _write_entry(journal, entry, rows.get(entry.effective_from), user_id)
    _note_history(journal, series, old, new)


def _write_entry(journal: Journal, entry: PriceEntry, row: Price | None, user_id: int | None) -> None:
    if row is None:
        Price.objects.create(
            kind=entry.series.kind,
            gpu_type_id=entry.series.gpu_type_id or None,
            endpoint_id=entry.series.endpoint_id or None,
            created_by_id=user_id,
            effective_from=entry.effective_from,
            **_columns(entry),
        )
        journal.note("price", title_of(entry), f"{entry.amount:f} {entry.currency}, {_evidence(entry)}")
        return
    details = []
    for name, value in _columns(entry).items():
        before = getattr(row, name)
        if before != value:
            details.append(f"{name}: {_words(before)} -> {_words(value)}")
            setattr(row, name, value)
    if details:
        row.save()
        journal.note("price", title_of(entry), *details)


def _columns(entry: PriceEntry) -> dict[str, object]:
    return {
        "amount": entry.amount,
        "currency": entry.currency,
        "effective_until": entry.effective_until,
        "source": entry.source,
        "assumed": entry.assumed,
    }


def _rows(series: SeriesKey) -> list[Price]:
    rows = Price.objects.filter(kind=series.kind)
    rows = rows.filter(gpu_type=series.gpu_type_id) if series.gpu_type_id else rows.filter(gpu_type=None)
    rows = rows.filter(endpoint=series.endpoint_id) if series.endpoint_id else rows.filter(endpoint=None)
    return list(rows.order_by("effective_from"))


def _note_history(journal: Journal, series: SeriesKey, old: list[PriceEntry], new: list[PriceEntry]) -> None:
    for since, until in differing_spans(old, new):
        journal.prices_change(since, until, f"price of {_series_title(series)}")


def _series_title(series: SeriesKey) -> str:
    if series.kind == "gpu_hour":
        return f"GPU-hour {GpuType.objects.values_list('slug', flat=True).get(pk=series.gpu_type_id)}"
    if not series.endpoint_id:
        return "review hour"
    return f"review hour of {Endpoint.objects.values_list('slug', flat=True).get(pk=series.endpoint_id)}"


def title_of(entry: PriceEntry) -> str:
    return f"{_series_title(entry.series)} from {day_of(entry.effective_from)}"


def _evidence(entry: PriceEntry) -> str:
    return f"assumed: {entry.source}" if entry.assumed else entry.source


def _words(value: object) -> str:
    if value is None:
        return "further notice"
    return day_of(value) if isinstance(value, datetime) else str(value)
