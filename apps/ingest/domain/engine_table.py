"""A declarative table of an engine's metric names, and the reader that turns a page into a sample by it.

Only lines whose names are in the table are looked at. What the text before a value means is remembered from page to
page, so that reading a page costs one dictionary look-up and one `float` a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from apps.ingest.domain.engine_sample import EngineSample, GaugePoint, HistogramPoint, PageProblem
from apps.ingest.domain.prometheus_text import parse_series, parse_value

REMEMBERED_HEADS = 50_000
NOTES = 20
_PARTS = ("_bucket", "_sum", "_count")


class Kind(Enum):
    COUNTER = "counter"
    GAUGE_SUM = "gauge, summed over engines"
    GAUGE_MEAN = "gauge, mean over engines and the greatest"
    HISTOGRAM = "histogram"
    LABEL_SUM = "a number in a label of an info series, summed over engines"
    PROCESS_START = "unix time at which the process began"


@dataclass(frozen=True, slots=True)
class Metric:
    """One canonical name and the names it goes by, best first, without `_total`."""

    name: str
    kind: Kind
    spellings: tuple[str, ...]
    by: str = ""
    """A label whose value becomes part of the canonical name: name.value."""
    only: tuple[str, str] | None = None
    """Count only series with this label value."""
    label: str = ""
    """LABEL_SUM: the label that holds the number."""


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """What the text before a value stands for; one object a series, compared by identity."""

    metric: Metric
    rank: int
    part: str  # "", "_bucket", "_sum", "_count" or "_created"
    name: str
    key: str
    model: str
    bound: float = 0.0
    constant: float | None = None


_Found = dict[_Series, float]


class TableReader:
    """Reads pages of one engine by its table.

    `prefix` is the engine's own ("vllm:"); `prefixes` are the ways in which others rewrite it. `required` are the
    canonical names without which a page is not whole. `foreign` says of labels that the series is somebody else's view.
    """

    def __init__(
        self,
        engine: str,
        table: tuple[Metric, ...],
        *,
        prefix: str,
        prefixes: tuple[str, ...],
        required: tuple[str, ...],
        foreign: Callable[[dict[str, str]], bool],
    ) -> None:
        self._engine = engine
        self._prefixes = prefixes
        self._required = required
        self._foreign = foreign
        self._lookup: dict[str, list[tuple[Metric, int, str]]] = {}
        self._heads: dict[str, tuple[_Series, ...]] = {}
        self._series: dict[tuple[str, int, str, str, str, float], _Series] = {}
        for metric in table:
            for place, spelling in enumerate(metric.spellings):
                stems = [p + spelling[len(prefix) :] for p in prefixes] if spelling.startswith(prefix) else [spelling]
                for stem in stems:
                    for rank, exposed, part in _exposed(metric.kind, stem, 2 * place):
                        self._lookup.setdefault(exposed, []).append((metric, rank, part))

    def read(self, page: bytes) -> EngineSample:
        """The sample of a whole page. Raises PageProblem when it is none; single bad lines only make a note."""
        text = page.decode("utf-8", "replace")
        _refuse_other_bodies(text)
        found, notes = self._scan(text)
        if not text.endswith("\n"):
            raise PageProblem("half a page: it ends in the middle of a line")
        if not any(series.model for series in found):
            raise PageProblem(self._strange_page(text))
        sample = self._assemble(found, notes)
        present = {*sample.counters, *sample.gauges}
        if missing := [name for name in self._required if name not in present]:
            raise PageProblem(f"half a page: {', '.join(missing)} missing")
        return sample

    def _strange_page(self, text: str) -> str:
        if any(prefix in text for prefix in self._prefixes):
            return f"{self._engine} names, but no series of an engine: perhaps a router's page"
        lines = (line for line in text.split("\n", 200)[:200] if line.strip() and line[0] != "#")
        if any(_is_sample(line) for line in lines):
            return f"a metrics page, but not of {self._engine}: no {self._prefixes[0]} series in it"
        return "not a metrics page"

    def _scan(self, text: str) -> tuple[_Found, list[str]]:
        """Values by series, and notes on bad lines. One pass, linear in the page."""
        heads = self._heads
        found: _Found = {}
        notes: list[str] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line or line[0] == "#":
                continue
            end = line.rfind("}") + 1 or line.find(" ")
            meanings = heads.get(line[:end]) if end > 0 else None
            try:
                if meanings is None:
                    meanings, end = self._resolve(line)
                if not meanings:
                    continue
                try:
                    value = float(line[end:])
                except ValueError:
                    value = parse_value(line[end:])
            except ValueError as error:
                if line.strip() and len(notes) < NOTES:
                    notes.append(f"line {number}: {error}")
                continue
            if value - value != 0.0:  # NaN or infinite: missing, not a number
                continue
            for series in meanings:
                if found.setdefault(series, value) is not value and len(notes) < NOTES:
                    notes.append(f"line {number}: the series occurs twice; the first counts")
        return found, notes

    def _resolve(self, line: str) -> tuple[tuple[_Series, ...], int]:
        name, labels, end = parse_series(line)
        meanings = tuple(self._meanings(name, dict(labels)))
        if len(self._heads) >= REMEMBERED_HEADS:
            self._heads.clear()
            self._series.clear()
        self._heads[line[:end]] = meanings
        return meanings, end

    def _meanings(self, exposed: str, labels: dict[str, str]) -> Iterator[_Series]:
        known = self._lookup.get(exposed, [])
        if not known or self._foreign(labels):
            return
        bound = labels.pop("le", "")
        model = labels.get("model_name") or labels.get("model") or ""
        key = ",".join(f"{label}={value}" for label, value in sorted(labels.items()))
        for metric, rank, part in known:
            if metric.only is not None and labels.get(metric.only[0]) != metric.only[1]:
                continue
            name = f"{metric.name}.{labels.get(metric.by) or 'none'}" if metric.by else metric.name
            constant = _number(labels.get(metric.label, "")) if metric.kind is Kind.LABEL_SUM else None
            if metric.kind is Kind.LABEL_SUM and constant is None:
                continue
            if part == "_bucket" and not bound:
                raise ValueError("a bucket without its bound")
            edge = float(bound) if part == "_bucket" else 0.0
            series = _Series(metric, rank, part, name, key, model, edge, constant)
            yield self._series.setdefault((metric.name, rank, part, name, key, edge), series)

    def _assemble(self, found: _Found, notes: list[str]) -> EngineSample:
        best: dict[str, int] = {}
        for series in found:
            if series.part != "_created":
                name = series.metric.name
                best[name] = min(series.rank, best.get(name, series.rank))
        values = _Values()
        for series, value in found.items():
            if series.part == "_created":
                values.add_created(series, value)
            elif series.rank == best[series.metric.name]:  # else another spelling of the metric is on the page too
                values.add(series, value)
        return EngineSample(
            engine=self._engine,
            model=", ".join(sorted({series.model for series in found if series.model})),
            process_start=values.process_start,
            created=values.created,
            gauges={name: _gauge(of_engines, name in values.means) for name, of_engines in values.gauges.items()},
            counters=values.counters,
            histograms=_histograms(values.buckets, values.sums, values.counts),
            notes=tuple(notes),
        )


@dataclass(slots=True)
class _Values:
    """What a page says, sorted by kind. Histogram parts are by (name, key)."""

    process_start: float | None = None
    created: float | None = None
    counters: dict[str, dict[str, float]] = field(default_factory=dict)
    gauges: dict[str, list[float]] = field(default_factory=dict)
    means: set[str] = field(default_factory=set)
    buckets: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    sums: dict[tuple[str, str], float] = field(default_factory=dict)
    counts: dict[tuple[str, str], float] = field(default_factory=dict)

    def add_created(self, series: _Series, value: float) -> None:
        """The oldest of the engine's own: series without a model (HTTP) are made when they are first needed."""
        if series.model:
            self.created = value if self.created is None else min(self.created, value)

    def add(self, series: _Series, value: float) -> None:
        kind = series.metric.kind
        if kind is Kind.HISTOGRAM:
            where = (series.name, series.key)
            if series.part == "_bucket":
                self.buckets.setdefault(where, []).append((series.bound, value))
            else:
                (self.sums if series.part == "_sum" else self.counts)[where] = value
        elif kind is Kind.COUNTER:
            if value >= 0:
                self.counters.setdefault(series.name, {})[series.key] = value
        elif kind is Kind.PROCESS_START:
            self.process_start = value
        else:
            self.gauges.setdefault(series.name, []).append(value if series.constant is None else series.constant)
            if kind is Kind.GAUGE_MEAN:
                self.means.add(series.name)


def _exposed(kind: Kind, stem: str, rank: int) -> Iterator[tuple[int, str, str]]:
    """(rank, name on the page, part) of one spelling. A counter is best with `_total`, as others alias it without."""
    if kind is Kind.HISTOGRAM:
        yield from ((rank, stem + part, part) for part in _PARTS)
    elif kind is Kind.COUNTER:
        yield rank, stem + "_total", ""
        yield rank + 1, stem, ""
    else:
        yield rank, stem, ""
    if kind in (Kind.COUNTER, Kind.HISTOGRAM):
        yield rank, stem + "_created", "_created"


def _is_sample(line: str) -> bool:
    try:
        _, _, end = parse_series(line)
        parse_value(line[end:])
    except ValueError:
        return False
    return True


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value - value == 0.0 else None


def _gauge(values: list[float], mean: bool) -> GaugePoint:
    if mean:
        return GaugePoint(sum(values) / len(values), max(values))
    return GaugePoint(sum(values), sum(values))


def _histograms(
    buckets: dict[tuple[str, str], list[tuple[float, float]]],
    sums: dict[tuple[str, str], float],
    counts: dict[tuple[str, str], float],
) -> dict[str, dict[str, HistogramPoint]]:
    histograms: dict[str, dict[str, HistogramPoint]] = {}
    for (name, key), pairs in buckets.items():
        pairs.sort()
        if pairs[-1][0] != float("inf"):
            total = counts.get((name, key))
            if total is None:
                raise PageProblem(f"half a page: the buckets of {name} do not end")
            pairs.append((float("inf"), total))
        bounds, cumulative = zip(*pairs, strict=True)
        histograms.setdefault(name, {})[key] = HistogramPoint(bounds[:-1], cumulative, sums.get((name, key), 0.0))
    return histograms


def _refuse_other_bodies(text: str) -> None:
    head = text[:200].lstrip("\ufeff \t\r\n")
    if not head:
        raise PageProblem("the page is empty")
    if head.startswith("<"):
        raise PageProblem("an HTML page, not metrics: does the address end in /metrics?")
    if head[0] in "{[":
        raise PageProblem("a JSON body, not metrics")
