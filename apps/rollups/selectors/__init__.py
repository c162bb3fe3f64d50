"""What the rooms above may read of the facts."""

from apps.rollups.selectors.coverage import Coverage, coverage, coverage_of, covered
from apps.rollups.selectors.hours import (
    FoldedHourRow,
    data_range,
    facts_of_hour,
    folded_hours,
    replica_hours,
)
from apps.rollups.selectors.owners import LabelOwners, task_hours
from apps.rollups.selectors.seen import used_by
from apps.rollups.selectors.tasks import cohorts, cohorts_of
from apps.rollups.selectors.usage import Usage, merged, usage, usage_of

__all__ = [
    "Coverage",
    "FoldedHourRow",
    "LabelOwners",
    "Usage",
    "cohorts",
    "cohorts_of",
    "coverage",
    "coverage_of",
    "covered",
    "data_range",
    "facts_of_hour",
    "folded_hours",
    "merged",
    "replica_hours",
    "task_hours",
    "usage",
    "usage_of",
    "used_by",
]
