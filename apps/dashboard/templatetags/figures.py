"""Template words for quantities: money, tokens, durations, changes, sparklines, bars and links that keep the state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from apps.attribution.selectors import TaskCostRow
from apps.core.unknown import Unknown
from apps.dashboard import format as words
from apps.dashboard import sparkline as drawing
from apps.dashboard.change import Change
from apps.dashboard.glossary import TERMS
from apps.dashboard.state import PageState

register = template.Library()


def _missing(value: object) -> SafeString | None:
    """An em dash with its reason, or None when there is a value."""
    if isinstance(value, Unknown):
        return format_html(
            '<abbr title="{}">{}</abbr><span class="visually-hidden"> unknown: {}</span>',
            value.reason,
            words.DASH,
            value.reason,
        )
    return mark_safe(words.DASH) if value is None or value == "" else None  # noqa: S308


@register.filter
def money(value: Decimal | Unknown | None, currency: str = "USD") -> str:
    return _missing(value) or words.money(Decimal(value), currency or "USD")  # type: ignore[arg-type]


@register.filter
def amount(value: Decimal | Unknown | None, places: int = 2) -> str:
    """Money in a table cell: the currency is in the head, all cells have the same decimals."""
    return _missing(value) or words.amount(Decimal(value), places)  # type: ignore[arg-type]


@register.simple_tag
def amount_of(value: Decimal | Unknown | None, places: int, at_least: bool = False) -> str:
    """A cell of money that may be a lower bound."""
    return _bound(amount(value, places), value, at_least)


@register.simple_tag
def money_of(value: Decimal | Unknown | None, currency: str, at_least: bool = False) -> str:
    """Money with its currency that may be a lower bound."""
    return _bound(money(value, currency), value, at_least)


def _bound(cell: str, value: Decimal | Unknown | None, at_least: bool) -> str:
    return f"≥\u00a0{cell}" if at_least and isinstance(value, Decimal) else cell


@register.filter
def count(value: int | Unknown | None) -> str:
    return _missing(value) or words.count(int(value))  # type: ignore[arg-type]


@register.filter
def compact(value: float | Unknown | None) -> str:
    return _missing(value) or words.compact(float(value))  # type: ignore[arg-type]


@register.filter
def decimal2(value: float | Unknown | None) -> str:
    return _missing(value) or f"{float(value):,.2f}"  # type: ignore[arg-type]


@register.filter
def seconds(value: float | Unknown | None) -> str:
    return _missing(value) or words.seconds(float(value))  # type: ignore[arg-type]


@register.filter
def share(value: float | Unknown | None) -> str:
    return _missing(value) or words.share(float(value))  # type: ignore[arg-type]


@register.filter
def known(value: str | Unknown | None) -> str:
    """Words as they are, an em dash with its reason where there are none."""
    return _missing(value) or str(value)


@register.simple_tag
def reason(value: object) -> str:
    return value.reason if isinstance(value, Unknown) else ""


@register.filter
def span(value: timedelta | Unknown | None) -> str:
    return _missing(value) or words.span(value)  # type: ignore[arg-type]


@register.simple_tag
def ago(moment: datetime | None, now: datetime) -> str:
    """A relative time whose element carries the absolute one."""
    if moment is None:
        return "never"
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        moment.isoformat(),
        words.moment(moment),
        words.ago(moment, now),
    )


@register.filter
def second(value: datetime) -> str:
    """Day and time without the year, for tables of one range; whole in the title."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', value.isoformat(), words.moment(value), words.second(value)
    )


@register.filter
def moment(value: datetime | None) -> str:
    if value is None:
        return words.DASH
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), words.moment(value))


@register.simple_tag
def change(value: Change | None) -> str:
    if value is None:
        return ""
    return format_html(
        '<span class="change change--{}"><span aria-hidden="true">{}</span> {}</span>',
        value.tone,
        value.symbol,
        value.words,
    )


@register.simple_tag
def sparkline(values: Sequence[float | None], top: float | None = None) -> str:
    """A line without axes; the same `top` within a column makes rows comparable."""
    return mark_safe(drawing.svg(values, top))  # noqa: S308


@register.simple_tag
def cell_bar(value: Decimal | float | Unknown | None, top: Decimal | float | None) -> str:
    """A thin bar of value / top, for the column that a table compares."""
    if value is None or isinstance(value, Unknown) or not top or value < 0:
        return ""
    width = min(100.0, float(value) / float(top) * 100)
    return format_html(
        '<svg class="cell-bar" aria-hidden="true" focusable="false"><rect width="{}%" height="100%"/></svg>',
        f"{width:.1f}",
    )


@register.simple_tag
def not_accepted(row: TaskCostRow) -> str:
    return words.count(row.decided - row.accepted)


@register.simple_tag
def problems(message: str) -> SafeString:
    """Why a record was rejected, a line for each reason; numbers too long to read are cut."""
    lines = [_LONG_NUMBER.sub(_cut, line) for line in message.splitlines() if line.strip()]
    return format_html_join(mark_safe("<br>"), "<bdi>{}</bdi>", ((line,) for line in lines))  # noqa: S308


_LONG_NUMBER = re.compile(r"\d{25,}")


def _cut(number: re.Match[str]) -> str:
    return f"{number[0][:12]}… ({len(number[0]):,} digits)"


@register.simple_tag
def term(key: str) -> str:
    """A small link to the glossary whose hover text is the definition."""
    found = TERMS.get(key)
    if found is None:
        return ""
    return format_html(
        '<a class="term" href="{}#{}" title="{}"><span aria-hidden="true">?</span>'
        '<span class="visually-hidden">What {} means</span></a>',
        reverse("glossary"),
        key,
        found.text,
        found.name,
    )


@register.simple_tag
def href(state: PageState, path: str | None = None, /, **changes: str | None) -> str:
    return state.url(path, **changes)
