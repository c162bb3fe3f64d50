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
MOST_ROWS = 60
"""A table beside a chart has at most about so many rows: of more points, each row says the largest of a run."""
MOST_MARKERS = 62
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
    """A vertical mark at `start`, or a shaded span up to `end`."""

    start: datetime
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
    hover: str = "",
    note: str = "",
    **axis: Any,
) -> Chart:
    """Lines over time with gaps where a number is missing, marks at events and one labelled limit.

    With a `hover` format of Plotly's ("%{y:.1%}") the browser words the numbers, which keeps many points small.
    """
    data = [_line(one, times, say, hover) | (_middle(times) if times.grain == "day" else {}) for one in series]
    layout = _layout(times, axis)
    layout["shapes"] = [_shape(mark) for mark in marks] + ([_limit_shape(limit)] if limit else [])
    layout["annotations"] = [_limit_text(limit)] if limit else []
    return _chart(key, caption, times, series, say, data, layout, short=short, note=note)


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
    note: str = "",
) -> Chart:
    layout["showlegend"] = len(series) > 1
    note = note or (f"The last {times.grain} is not over yet." if times.unfinished in times.starts else "")
    run = max(1, -(-len(times.starts) // MOST_ROWS))
    head = ["Day" if times.grain == "day" else "Time", *(one.name for one in series)]
    if run > 1:
        head[0] = f"From (largest of {words.span(run * times.step)})"
    rows = _rows(times, series, say, run)
    label = f"{caption.rstrip('.')}. {_extremes(series, say)}"
    return Chart(key, caption, label, {"data": data, "layout": layout}, head, rows, short, note)


def _rows(times: Times, series: Sequence[Series], say: Say, run: int) -> list[list[str]]:
    """A row for each run of buckets with the largest number of each series; runs without any number are left out."""
    rows = []
    for start in range(0, len(times.starts), run):
        largest = [
            max((value for value in one.values[start : start + run] if value is not None), default=None)
            for one in series
        ]
        if any(value is not None for value in largest):
            label = words.bucket(times.starts[start], times.grain)
            rows.append([label, *(_word(value, say) for value in largest)])
    return rows


def _extremes(series: Sequence[Series], say: Say) -> str:
    parts = []
    for one in series:
        known = [value for value in one.values if value is not None]
        if known:
            parts.append(f"{one.name} from {say(min(known))} to {say(max(known))}")
    return "; ".join(parts) or "No values"


def _line(one: Series, times: Times, say: Say, hover: str = "") -> dict[str, Any]:
    worded = {"hovertemplate": hover} if hover else {
        "customdata": _said(one.values, say), "hovertemplate": "%{customdata}"
    }  # fmt: skip
    return {
        "type": "scatter",
        # A lone point between two gaps has no line: a marker keeps it visible.
        "mode": "lines+markers" if len(times.starts) <= MOST_MARKERS or _is_lonely(one.values) else "lines",
        "name": one.name,
        "x0": _stamp(times.starts[0]) if times.starts else None,
        "dx": times.step / timedelta(milliseconds=1),
        "y": [None if value is None else round(value, 6) for value in one.values],
        "connectgaps": False,
        "line": {"color": one.colour, "dash": one.dash, "width": one.width},
        "marker": {"color": one.colour, "size": 4},
        **worded,
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
            "range": _stamps(_edges(times)),
            "showgrid": False,
            "automargin": True,
            **_ticks(times),
        },
        "yaxis": {**ticks, "rangemode": "tozero", "fixedrange": True, "automargin": True, **axis},
    }


def _edges(times: Times) -> tuple[datetime, datetime]:
    """The window, or whole buckets where it begins or ends within one, so that bars are not cut."""
    if times.grain == "minute" or not times.starts:
        return times.window.start, times.window.end
    return min(times.window.start, times.starts[0]), max(times.window.end, times.starts[-1] + times.step)


def money_axis(currency: str) -> dict[str, Any]:
    """Ticks as 0.0008, 40 or 1,200, never as 800µ."""
    return {"tickformat": ",.3~r", "tickprefix": "$" if currency in ("", "USD") else ""}


def _ticks(times: Times) -> dict[str, Any]:
    """Days below the middle of their bars; hours with the day below where it changes."""
    if times.grain != "day":
        return {"tickformat": "%H:%M\n%-d %b", "hoverformat": "%-d %b %H:%M"}
    every_day = {"dtick": DAY / timedelta(milliseconds=1)} if len(times.starts) <= 15 else {}
    return {"tickformat": "%-d %b", "hoverformat": "%a %-d %b", "ticklabelmode": "period", **every_day}


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
