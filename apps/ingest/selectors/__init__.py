"""What the rooms above may read of ingest."""

from apps.ingest.selectors.engines import (
    EngineHistogram,
    EngineMinuteRow,
    EngineSpan,
    Gauge,
    TargetRow,
    engine_minutes,
    engine_spans,
    recording_notice,
    targets,
)

__all__ = [
    "EngineHistogram",
    "EngineMinuteRow",
    "EngineSpan",
    "Gauge",
    "TargetRow",
    "engine_minutes",
    "engine_spans",
    "recording_notice",
    "targets",
]
