"""Values of the rooms below turned into members of an answer: unknowns as null with a reason, windows, percentiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from apps.api.domain.pages import Grouped, Page
from apps.api.domain.parameters import Question
from apps.core.histogram import Histogram
from apps.core.query import Dimension
from apps.core.time import Window
from apps.core.unknown import Unknown

QUANTILES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99))
_SIGNIFICANT = 6
"""Digits of a percentile; its bucket is only half a percent wide."""


_MONEY_PLACES, _RATIO_PLACES = Decimal("1e-12"), Decimal("1e-6")


def known(name: str, value: Decimal | Unknown) -> dict[str, object]:
    """`{name: value, name_reason: null}`, or null and why."""
    reason = value.reason if isinstance(value, Unknown) else None
    return {name: amount(value), f"{name}_reason": reason}


def known_unit_cost(name: str, value: Decimal | Unknown) -> dict[str, object]:
    """As `known`, of a quotient: rounded to 12 places."""
    return known(name, value if isinstance(value, Unknown) else value.quantize(_MONEY_PLACES))


def known_ratio(name: str, value: Decimal | Unknown) -> dict[str, object]:
    """As `known`, of a share: rounded to 6 places."""
    return known(name, value if isinstance(value, Unknown) else value.quantize(_RATIO_PLACES))


def amount(value: Decimal | Unknown | None) -> str | None:
    """Plain digits, never an exponent; null for what is not known."""
    return f"{value:f}" if isinstance(value, Decimal) else None


def window(value: Window) -> dict[str, datetime]:
    return {"from": value.start, "to": value.end}


def latency(histogram: Histogram, of_what: str) -> dict[str, object]:
    """Percentiles in seconds with the number of values behind them."""
    count = histogram.count
    values = {name: _rounded(histogram.quantile(q)) for name, q in QUANTILES}
    return {"count": count, **values, "reason": None if count else f"no {of_what}"}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.{_SIGNIFICANT}g}")


def envelope(
    question: Question, page: Page[Grouped], rows: Sequence[dict[str, object]], **more: object
) -> dict[str, object]:
    """A page of a grouped question."""
    return {
        "window": window(question.window),
        "bucket": question.bucket,
        "group_by": list(question.group_by),
        "filters": filters(question.slugs),
        **more,
        "rows": rows,
        "next_cursor": None if page.next_position is None else question.cursor(page.next_position),
    }


def filters(slugs: Mapping[Dimension, tuple[str, ...]]) -> dict[str, list[str]]:
    return {dimension: list(values) for dimension, values in slugs.items()}
