"""What the rooms above may read of ingest."""

from apps.ingest.domain.identity import NO_KEY
from apps.ingest.selectors.arrivals import (
    Arrival,
    LabelSetRow,
    all_label_sets,
    arrival_version,
    arrivals,
    label_sets,
)
from apps.ingest.selectors.columns import (
    NO_COUNT,
    NO_TIME,
    RequestColumns,
    request_columns,
)
from apps.ingest.selectors.engine_series import EnginePoint, engine_series, engine_step
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
from apps.ingest.selectors.outcomes import (
    OutcomeColumns,
    newest_outcomes,
    settled_outcome_id,
    tasks_decided,
)
from apps.ingest.selectors.rejects import COUNTED, RejectRow, open_rejects, reject, rejects
from apps.ingest.selectors.requests import (
    OutcomeView,
    RequestPage,
    RequestPlace,
    RequestView,
    requests,
    task_outcomes,
    task_requests,
)
from apps.ingest.selectors.sources import SourceRow, sources

__all__ = [
    "Arrival",
    "LabelSetRow",
    "arrival_version",
    "arrivals",
    "label_sets",
    "NO_COUNT",
    "NO_KEY",
    "NO_TIME",
    "OutcomeColumns",
    "RequestColumns",
    "newest_outcomes",
    "request_columns",
    "settled_outcome_id",
    "tasks_decided",
    "EngineHistogram",
    "EnginePoint",
    "engine_series",
    "engine_step",
    "EngineMinuteRow",
    "EngineSpan",
    "Gauge",
    "TargetRow",
    "engine_minutes",
    "engine_spans",
    "recording_notice",
    "targets",
    "COUNTED",
    "RejectRow",
    "open_rejects",
    "reject",
    "rejects",
    "OutcomeView",
    "RequestPage",
    "RequestPlace",
    "RequestView",
    "requests",
    "task_outcomes",
    "task_requests",
    "SourceRow",
    "sources",
    "all_label_sets",
]
