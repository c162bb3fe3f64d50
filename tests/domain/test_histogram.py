"""Latency histograms: the promised error, merging, the packed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.histogram import (
    MAX_BUCKET,
    RELATIVE_ERROR,
    Histogram,
    bucket_indices,
    bucket_value,
    packed_groups,
)

seconds = st.floats(min_value=1.01e-6, max_value=1e6, allow_nan=False)
many = st.lists(seconds, min_size=1, max_size=60)


@given(many, st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_a_quantile_is_the_nearest_rank_within_the_promised_error(values: list[float], q: float) -> None:
    exact = sorted(values)[max(1, math.ceil(q * len(values))) - 1]
    found = Histogram.of(values).quantile(q)
    assert found == pytest.approx(exact, rel=RELATIVE_ERROR * 1.0001)


@given(many, many)
@settings(max_examples=50, deadline=None)
def test_merging_is_the_histogram_of_all_values(left: list[float], right: list[float]) -> None:
    whole = Histogram.of(left + right)
    assert Histogram.of(left) + Histogram.of(right) == whole
    assert Histogram.merged([Histogram.of(left).pack(), Histogram.of(right).pack()]) == whole
    assert Histogram.merged([whole.pack()]).pack() == whole.pack()


@given(st.lists(st.tuples(st.integers(0, 4), seconds), max_size=40))
@settings(max_examples=50, deadline=None)
def test_groups_are_packed_as_each_would_be_alone(pairs: list[tuple[int, float]]) -> None:
    groups = np.array([group for group, _ in pairs], dtype=np.int32)
    buckets = bucket_indices(np.array([value for _, value in pairs], dtype=np.float64))
    alone = [Histogram.of(value for group, value in pairs if group == wanted).pack() for wanted in range(5)]
    assert packed_groups(groups, buckets, 5) == alone


def test_the_edges() -> None:
    empty = Histogram.of([])
    assert (empty.count, empty.quantile(0.5), empty.pack(), empty.share_at_most(1)) == (0, None, b"", None)
    assert Histogram.of([0.0, 0.0]).quantile(0.5) == 0.0
    assert Histogram.of([1e12]).quantile(1) == bucket_value(MAX_BUCKET)
    assert Histogram.of([0.1, 0.2, 0.3, 10.0]).share_at_most(1) == 0.75
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="not between"):
            empty.quantile(wrong)


def test_two_values_one_percent_apart_are_told_apart() -> None:
    first, second = bucket_indices(np.array([1.0, 1.0101])).tolist()
    assert second == first + 1
