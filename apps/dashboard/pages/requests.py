"""Single attempts: a list to look into, and the story of one task. The only pages that read records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from apps.core.time import DAY, HOUR, Window
from apps.core.vocabulary import STATUS_GROUP as GROUP_OF
from apps.core.vocabulary import Finish, Operation, Status, StatusGroup, TokenSource, Traffic
from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest
from apps.ingest.domain.identity import key64
from apps.ingest.selectors import OutcomeView, RequestPlace, RequestView
from apps.rollups import selectors as rollups
from apps.rollups.selectors import LabelOwners

OUTCOMES = ("any", "ok", "failed", *(s.word for s in Status if s != Status.OK))
"""What the list can be limited to: how attempts ended, `failed` being all that failed on our side."""
PAGE = 50
WORDS = {
    Status.OK: "ok",
    Status.CLIENT_ERROR: "refused as wrong",
    Status.RATE_LIMITED: "refused by a limit",
    Status.SERVER_ERROR: "server error",
    Status.TIMEOUT: "timed out",
    Status.ABORTED: "client hung up",
    Status.PARTIAL: "broke off",
}
TONES = {
    StatusGroup.OK: "ok",
    StatusGroup.FAILED: "bad",
    StatusGroup.ABORTED: "warn",
    StatusGroup.REJECTED: "warn",
}


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt in words. `offset` is how long after the first one it started, in a story."""

    view: RequestView
    status: str
    tone: str
    team: str
    endpoint: str
    model: str
    replica: str
    operation: str
    traffic: str
    finish: str
    tokens_missing: bool
    estimated: bool
    task_url: str
    offset: timedelta | None = None


@dataclass(frozen=True, slots=True)
class RequestList:
    rows: list[AttemptRow]
    next_url: str
    first_url: str


@dataclass(frozen=True, slots=True)
class Story:
    """One task: its attempts in order, what was decided on it, and how long it took from first start to last end."""

    task_id: str
    rows: list[AttemptRow]
    outcomes: list[OutcomeView]
    review_minutes: Decimal | None
    length: timedelta | None
    models: list[str]
    is_cut: bool


def build(state: PageState, cursor: str) -> RequestList:
    owners = LabelOwners()
    window = state.period.exact
    place = parse_place(cursor)
    page = ingest.requests(
        window=window,
        label_ids=owners.label_ids(state.filters, window),
        statuses=_statuses(state.choices["outcome"]),
        with_task=state.choices["tasks"] == "yes",
        cursor=place,
        limit=PAGE,
    )
    rows = [_row(state, owners, view) for view in page.rows if owners.keeps(state.filters, view.label_id, view.started)]
    return RequestList(
        rows=rows,
        next_url=state.url(after=say_place(page.next_cursor)) if page.next_cursor else "",
        first_url=state.url() if place is not None else "",
    )


def story(state: PageState, task_id: str) -> Story | None:
    """What happened to a task; None if the viewer may not see it or nothing of it is in the log."""
    key = key64(task_id)
    owners = LabelOwners()
    found = _attempts(state, key)
    seen = [view for view in found if owners.keeps(state.filters, view.label_id, view.started)]
    if not seen:
        return None
    first = seen[0].started
    rows = [_row(state, owners, view, view.started - first) for view in seen]
    ends = [view.ended for view in seen if view.ended is not None]
    outcomes = ingest.task_outcomes(key)
    return Story(
        task_id=task_id,
        rows=rows,
        outcomes=outcomes,
        review_minutes=outcomes[0].review_minutes if outcomes else None,
        length=max(ends) - first if ends else None,
        models=list(dict.fromkeys(row.model for row in rows)),
        is_cut=len(found) >= 500,
    )


def _attempts(state: PageState, task_key: int) -> list[RequestView]:
    """The task's attempts in the hours that facts name, and in the last day, which may not be folded yet."""
    hours = rollups.task_hours(task_key)
    last_day = Window(state.now - DAY, state.now + HOUR)
    spans = [Window(hours[0], hours[-1] + HOUR)] if hours else []
    if not hours or hours[-1] + HOUR >= last_day.start:
        spans.append(last_day)
    found = {view.place: view for span in spans for view in ingest.task_requests(task_key=task_key, window=span)}
    # By their end, as the fold has it: a fallback that succeeds carries the start of the call's first attempt.
    return sorted(found.values(), key=lambda view: (view.ended or view.started, view.started, view.place.identity))


def _row(state: PageState, owners: LabelOwners, view: RequestView, offset: timedelta | None = None) -> AttemptRow:
    ids = owners.owners(view.label_id, view.started)
    status = Status(view.status)
    return AttemptRow(
        view=view,
        status=WORDS[status],
        tone=TONES[GROUP_OF[status]],
        team=state.name("team", ids["team"]),
        endpoint=state.name("endpoint", ids["endpoint"]),
        model=state.name("model", ids["model"]),
        replica=state.name("replica", ids["replica"]) if ids["replica"] else "",
        operation=Operation(view.operation).word,
        traffic=Traffic(view.traffic).word,
        finish=Finish(view.finish).word.replace("_", " ") if view.finish is not None else "",
        tokens_missing=view.token_source == TokenSource.MISSING,
        estimated=view.token_source == TokenSource.ESTIMATED,
        task_url=state.url("/requests/task", task=view.task_id) if view.task_id else "",
        offset=offset,
    )


def _statuses(outcome: str) -> Sequence[int] | None:
    if outcome == "any":
        return None
    if outcome == "failed":
        return [int(status) for status in Status if GROUP_OF[status] == StatusGroup.FAILED]
    return [Status.words()[outcome]]


def say_place(place: RequestPlace) -> str:
    return f"{place.started:%Y%m%dT%H%M%S.%f}-{place.identity.hex}"


def parse_place(text: str) -> RequestPlace | None:
    """The place that `say_place` wrote; None for anything else."""
    started, _, identity = text.partition("-")
    try:
        return RequestPlace(datetime.strptime(started + "+0000", "%Y%m%dT%H%M%S.%f%z"), UUID(hex=identity))
    except ValueError:
        return None


OUTCOME_WORDS = {"any": "any", "failed": "failed on our side"} | {status.word: text for status, text in WORDS.items()}
"""The choices of the list in words."""
