"""Engine histograms: differences of cumulative buckets into counts, added without losing what the buckets say."""

from __future__ import annotations

from dataclasses import dataclass

from apps.ingest.domain.engine_sample import HistogramPoint


@dataclass(frozen=True, slots=True)
class BucketCounts:
    """Observations by bucket. `bounds` are the finite upper bounds; `counts` has one more: those above them all."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float
    count: float


def bounds_changed(old: HistogramPoint, new: HistogramPoint) -> bool:
    return old.bounds is not new.bounds and old.bounds != new.bounds


def increase(old: dict[str, HistogramPoint], new: dict[str, HistogramPoint]) -> BucketCounts | None:
    """What was observed between two moments, over all series; None when nothing was.

    A series that `old` lacks, or has with other bounds, counts from zero.
    """
    if old is new:
        return None
    total: BucketCounts | None = None
    for key, point in new.items():
        base = old.get(key)
        if base is not None and bounds_changed(base, point):
            base = None
        if base is not None and base.cumulative[-1] == point.cumulative[-1]:
            continue
        moved = _moved(base, point)
        if moved.count > 0:
            total = moved if total is None else merge(total, moved)
    return total


def _moved(base: HistogramPoint | None, point: HistogramPoint) -> BucketCounts:
    cumulative = point.cumulative
    if base is not None:
        cumulative = tuple([b - a for a, b in zip(base.cumulative, cumulative, strict=True)])
    counts = tuple([b - a for a, b in zip((0.0, *cumulative), cumulative, strict=False)])
    return BucketCounts(point.bounds, counts, max(0.0, point.sum - (base.sum if base else 0.0)), cumulative[-1])


def merge(a: BucketCounts, b: BucketCounts) -> BucketCounts:
    """Both together, on the bounds that both have: coarser where they differ, and exact at every bound that is left."""
    if a.bounds != b.bounds:
        common = tuple(sorted(set(a.bounds) & set(b.bounds)))
        a, b = _coarsen(a, common), _coarsen(b, common)
    counts = tuple([x + y for x, y in zip(a.counts, b.counts, strict=True)])
    return BucketCounts(a.bounds, counts, a.sum + b.sum, a.count + b.count)


def _coarsen(histogram: BucketCounts, bounds: tuple[float, ...]) -> BucketCounts:
    counts: list[float] = []
    running = 0.0
    kept = set(bounds)
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        running += count
        if bound in kept:
            counts.append(running)
            running = 0.0
    counts.append(running + histogram.counts[-1])
    return BucketCounts(bounds, tuple(counts), histogram.sum, histogram.count)


def quantile_bucket(histogram: BucketCounts, q: float) -> tuple[float, float | None] | None:
    """The bucket (lower, upper] that holds the q-quantile by nearest rank; upper is None above the last bound.

    None when nothing was observed. How wide the bucket is, is how well the quantile is known.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"quantile {q} is not between 0 and 1")
    if histogram.count <= 0:
        return None
    rank = max(1.0, q * histogram.count)
    seen = 0.0
    lower = 0.0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        seen += count
        if seen >= rank:
            return lower, bound
        lower = bound
    return lower, None
