"""docs/metrics.md names every metric and every spelling that the engines' tables know."""

from __future__ import annotations

from pathlib import Path

import pytest

from apps.ingest.domain.engine_table import Metric
from apps.ingest.sources.vllm import TABLE

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("metric", TABLE, ids=lambda metric: metric.name)
def test_metric_is_explained(metric: Metric) -> None:
    assert f"`{metric.name}`" in PAGE or f"`{metric.name}.<" in PAGE
    for spelling in metric.spellings:
        if spelling != "vllm:iteration_tokens":  # the name that iteration_tokens_total has behind some exporters
            assert spelling in PAGE
