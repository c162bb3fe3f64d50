"""Figures for Plotly and, from the same rows, the table beside each: lines and bars over time, nothing else.

Colours are named by token ("@series-1"); the browser looks them up in the theme. Only the trace kinds `scatter` and
`bar` are used, so that Plotly's smallest bundle can draw every figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from apps.core.query import Bucket
from apps.core.time import DAY, HOUR, Window
from apps.dashboard import format as words

SERIES = ("@series-1", "@series-2", "@series-3", "@series-4")
OTHER = "@series-other"
DASHES = ("solid", "dash", "dot", "dashdot")
Say = Callable[[float], str]
Numbers = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """One row of numbers over the chart's times; None is a gap and is drawn as one."""

    name: str
    values: Numbers
    colour: str
    dash: str = "solid"
    width: float = 2


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical mark at `start`, or a shaded span up to `end`, with its word on the chart."""

    start: datetime
    text: str
    colour: str = "@bad"
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A horizontal reference line."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with its caption, its label for readers, and the same numbers as a table."""

    key: str
    caption: str
    label: str
    figure: dict[str, Any]
    head: list[str]
    rows: list[list[str]]
    short: bool = False
    note: str = ""

    @property
    def data_id(self) -> str:
        return f"{self.key}-figure"


@dataclass(frozen=True, slots=True)
class Times:
    """The common time axis: starts of buckets, their grain, the window shown, and which bucket is not finished."""

    starts: Sequence[datetime]
    grain: Literal["minute", "hour", "day"]
    window: Window
    unfinished: datetime | None = None
    step: timedelta = field(default=HOUR)

    @classmethod
    def of(cls, starts: Sequence[datetime], bucket: Bucket, window: Window, unfinished: datetime | None) -> Times:
        is_day = bucket == "day"
        return cls(starts, "day" if is_day else "hour", window, unfinished, DAY if is_day else HOUR)

    @property
    def labels(self) -> list[str]:
        return [words.bucket(start, self.grain) for start in self.starts]


def stacked_bars(
    key: str, caption: str, times: Times, series: Sequence[Series], say: Say, before: Series | None = None, **axis: Any
) -> Chart:
    """Parts of a total over time; `before` is the total of the compared period, as a thin dotted line."""
    opacity = [0.5 if start == times.unfinished else 1.0 for start in times.starts]
    data = [
        {
            "type": "bar",
            "name": one.name,
            "x": _stamps(times.starts),
            "y": list(one.values),
            "customdata": _said(one.values, say),
            "hovertemplate": "%{customdata}",
            "marker": {"color": one.colour, "opacity": opacity, "line": {"color": "@page", "width": 1}},
            **_middle(times),
        }
        for one in series
    ]
    if before is not None:
        data.append(_line(before, times, say) | _middle(times))
    layout = _layout(times, axis) | {"barmode": "relative"}
    return _chart(key, caption, times, [*series, *([before] if before else [])], say, data, layout)


def lines(
    key: str,
    caption: str,
    times: Times,
    series: Sequence[Series],
    say: Say,
    *,
    marks: Sequence[Mark] = (),
    limit: Limit | None = None,
    short: bool = False,
    **axis: Any,
) -> Chart:
    """Lines over time with gaps where a number is missing, marks at events and one labelled limit."""
    # A lone point between two gaps has no line: a marker keeps it visible.
    data = [_line(one, times, say) | (_middle(times) if times.grain == "day" else {}) for one in series]
    layout = _layout(times, axis)
    layout["shapes"] = [_shape(mark) for mark in marks] + ([_limit_shape(limit)] if limit else [])
    layout["annotations"] = [_annotation(mark) for mark in _first_of_each(marks)] + (
        [_limit_text(limit)] if limit else []
    )
    return _chart(key, caption, times, series, say, data, layout, short=short)


def _chart(
    key: str,
    caption: str,
    times: Times,
    series: Sequence[Series],
    say: Say,
    data: list[dict[str, Any]],
    layout: dict[str, Any],
    *,
    short: bool = False,
) -> Chart:
    layout["showlegend"] = len(series) > 1
    note = "The last bucket is not finished yet." if times.unfinished in times.starts else ""
    rows = [
        [label, *(_word(one.values[index], say) for one in series)]
        for index, label in enumerate(times.labels)
        if any(one.values[index] is not None for one in series)
    ]
    head = ["Day" if times.grain == "day" else "Time", *(one.name for one in series)]
    label = f"{caption.rstrip('.')}. {_extremes(series, say)}"
    return Chart(key, caption, label, {"data": data, "layout": layout}, head, rows, short, note)


def _extremes(series: Sequence[Series], say: Say) -> str:
    parts = []
    for one in series:
        known = [value for value in one.values if value is not None]
        if known:
            parts.append(f"{one.name} from {say(min(known))} to {say(max(known))}")
    return "; ".join(parts) or "No values"


def _line(one: Series, times: Times, say: Say) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(times.starts) <= 62 or _is_lonely(one.values) else "lines",
        "name": one.name,
        "x": _stamps(times.starts),
        "y": list(one.values),
        "customdata": _said(one.values, say),
        "hovertemplate": "%{customdata}",
        "connectgaps": False,
        "line": {"color": one.colour, "dash": one.dash, "width": one.width},
        "marker": {"color": one.colour, "size": 4},
    }


def _is_lonely(values: Numbers) -> bool:
    padded = [None, *values, None]
    return any(
        middle is not None and left is None and right is None
        for left, middle, right in zip(padded, padded[1:], padded[2:], strict=False)
    )


def _stamps(moments: Sequence[datetime]) -> list[str]:
    return [_stamp(moment) for moment in moments]


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def _said(values: Numbers, say: Say) -> list[str]:
    return [_word(value, say) for value in values]


def _word(value: float | None, say: Say) -> str:
    return words.DASH if value is None else say(value)


def _middle(times: Times) -> dict[str, Any]:
    return {"xperiod": times.step / timedelta(milliseconds=1), "xperiodalignment": "middle"}


def _layout(times: Times, axis: Mapping[str, Any]) -> dict[str, Any]:
    ticks = {"gridcolor": "@grid", "linecolor": "@hairline", "zerolinecolor": "@edge", "tickfont": {"size": 12}}
    return {
        "paper_bgcolor": "@page",
        "plot_bgcolor": "@page",
        "font": {"color": "@muted", "family": "system-ui, sans-serif"},
        "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "@raised", "bordercolor": "@hairline", "font": {"color": "@text"}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        "dragmode": "zoom",
        "uirevision": "constant",
        "bargap": 0.25,
        "xaxis": {
            **ticks,
            "type": "date",
            "range": _stamps((times.window.start, times.window.end)),
            "showgrid": False,
            "automargin": True,
            "hoverformat": "%a %-d %b" if times.grain == "day" else "%-d %b %H:%M",
        },
        "yaxis": {**ticks, "rangemode": "tozero", "fixedrange": True, "automargin": True, **axis},
    }


def _shape(mark: Mark) -> dict[str, Any]:
    common = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    if mark.end is None:
        edge = {"color": mark.colour, "width": 1, "dash": "dot"}
        return common | {"type": "line", "x0": _stamp(mark.start), "x1": _stamp(mark.start), "line": edge}
    return common | {
        "type": "rect",
        "x0": _stamp(mark.start),
        "x1": _stamp(mark.end),
        "fillcolor": mark.colour,
        "opacity": 0.18,
        "line": {"width": 0},
    }


MOST_WORDS = 6


def _first_of_each(marks: Sequence[Mark]) -> list[Mark]:
    """Words stand at the first few marks only; where there are many, all of one kind share one word."""
    if len(marks) <= MOST_WORDS:
        return list(marks)
    return list({mark.text: mark for mark in reversed(marks)}.values())


def _annotation(mark: Mark) -> dict[str, Any]:
    return {
        "x": _stamp(mark.start),
        "xref": "x",
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": "left",
        "text": mark.text,
        "showarrow": False,
        "font": {"size": 11, "color": mark.colour},
    }


def _limit_shape(limit: Limit) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": limit.value,
        "y1": limit.value,
        "line": {"color": "@bad", "width": 1, "dash": "dash"},
    }


def _limit_text(limit: Limit) -> dict[str, Any]:
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": limit.value,
        "yanchor": "bottom",
        "text": limit.text,
        "showarrow": False,
        "font": {"size": 11, "color": "@bad"},
    }
