"""Finds what the ledger lacks: hours still to be computed (again), and the tasks in them whose cost is not there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from apps.attribution.domain.behind import Basis, is_behind, to_fold_again
from apps.attribution.models import AttributedHour, TaskCost
from apps.catalog import selectors as catalog
from apps.core.query import Ask, Dimension, Filters
from apps.core.time import HOUR, Window
from apps.core.vocabulary import Decision
from apps.rollups import selectors as rollups
from apps.rollups.domain.facts import Cohort

COHORT_DIMENSIONS: tuple[Dimension, ...] = ("team", "endpoint", "model")
_SETTLING = timedelta(minutes=1)
"""Hours are attributed within seconds of every fold: one that waits for longer has facts that its ledger lacks."""


_OF_LATE = timedelta(hours=6)


def hours_behind(window: Window, now: datetime) -> dict[datetime, bool]:
    """Hours that start in `window` and were folded since they were attributed.

    True: none of its ledger can be relied on, since it was never attributed or has waited for more than a moment.
    """
    rows = AttributedHour.objects.filter(hour__gte=window.start, hour__lt=window.end)
    done = dict(rows.values_list("hour", "fold_run_id"))
    return {
        hour: hour not in done or now - folded.as_of > _SETTLING
        for hour, folded in rollups.folded_hours(window).items()
        if done.get(hour) != folded.run_id
    }


def recomputing(window: Window | None, now: datetime) -> int:
    """Hours (that start in `window`) still to be computed again, since names or prices were changed of late.

    Zero where nothing was changed within the last six hours: then what is behind is only what has just come in.
    """
    changes = catalog.changes_after(now - _OF_LATE)
    if not changes:
        return 0
    rows = AttributedHour.objects.all()
    if window is not None:
        rows = rows.filter(hour__gte=window.start, hour__lt=window.end)
    columns = rows.values_list("hour", "fold_run_id", "catalog_change")
    done = {hour: Basis(run_id, change) for hour, run_id, change in columns}
    prices = [change for change in changes if change.what == "prices"]
    return sum(
        to_fold_again(hour, folded.catalog_change, changes)
        or (hour + HOUR <= now and is_behind(hour, folded.run_id, done.get(hour), prices))
        for hour, folded in rollups.folded_hours(window).items()
    )


def waiting_tasks(window: Window, filters: Filters, now: datetime) -> list[Cohort]:
    """Cohorts of the window's hours, by hour, team, endpoint, model and decision, whose cost is not attributed yet.

    In an hour that was folded a moment ago these are the ones that have no cost at all, e.g. those just decided.
    """
    behind = hours_behind(window, now)
    if not behind:
        return []
    # Mostly only the newest hour is behind.
    around = Window(min(behind), max(behind) + HOUR)
    (cohorts,) = rollups.cohorts_of([Ask(around, COHORT_DIMENSIONS, "hour")], filters)
    moving = [hour for hour, whole in behind.items() if not whole]
    costed = set(
        TaskCost.objects.filter(cohort_hour__in=moving)
        .exclude(kind="review")
        .values_list("cohort_hour", "team_id", "endpoint_id", "model_id", "decision")
        .distinct()
    )
    return [
        cohort
        for cohort in cohorts
        if (whole := behind.get(hour_of(cohort))) is not None
        and (whole or (cohort.decision != Decision.UNDECIDED and _cell(cohort) not in costed))
    ]


def hour_of(cohort: Cohort) -> datetime:
    """The hour of a cohort that was asked for by the hour."""
    return cast(datetime, cohort.bucket)


def _cell(cohort: Cohort) -> tuple[datetime, int, int, int, int]:
    return hour_of(cohort), cohort.ids["team"], cohort.ids["endpoint"], cohort.ids["model"], cohort.decision
