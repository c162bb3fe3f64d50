"""Rejected records: sent again as they are or edited, or discarded."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from apps.core.errors import InvalidInput, Problem
from apps.ingest.domain.answers import RecordAnswer, SourceRef
from apps.ingest.domain.objects import Unreadable, kept, parse
from apps.ingest.domain.records import Rejected
from apps.ingest.models import Reject
from apps.ingest.services.deliveries import told
from apps.ingest.services.outcomes import ingest_outcomes
from apps.ingest.services.requests import ingest_requests


def resubmit_reject(*, reject_id: int, now: datetime) -> RecordAnswer:
    """Send a rejected record again as it was kept: its cause may have passed. Raises InvalidInput as below."""
    return _resubmit(reject_id, None, now)


def edit_and_resubmit(*, reject_id: int, payload: str, now: datetime) -> RecordAnswer:
    """Send `payload` in place of a rejected record, under the same source.

    When it is rejected again, the record stays open with the new text and the new problems. Raises InvalidInput if
    there is no such open record, or if the payload is no single JSON value.
    """
    return _resubmit(reject_id, payload, now)


def discard_reject(*, reject_id: int) -> None:
    """Mark a rejected record as not wanted. Raises InvalidInput if there is no such open record."""
    if not Reject.objects.filter(pk=reject_id, state=Reject.State.OPEN).update(state=Reject.State.DISCARDED):
        raise _no_such(reject_id)


def _no_such(reject_id: int) -> InvalidInput:
    return InvalidInput(Problem("not_found", f"there is no open rejected record {reject_id}", "reject_id"))


@transaction.atomic
def _resubmit(reject_id: int, edited: str | None, now: datetime) -> RecordAnswer:
    reject = (
        Reject.objects.select_for_update(of=("self",))
        .select_related("source")
        .filter(pk=reject_id, state=Reject.State.OPEN)
        .first()
    )
    if reject is None:
        raise _no_such(reject_id)
    body = (reject.payload if edited is None else edited).strip().encode("utf-8", "replace")
    if not body:
        message = "nothing of this record could be kept: write it anew, or send it again from its source"
        raise InvalidInput(Problem("empty", message, "payload"))
    try:
        value, _ = parse(body)
    except Unreadable as unreadable:
        raise InvalidInput(Problem(unreadable.problem.code, unreadable.problem.message, "payload")) from None
    source = SourceRef(reject.source.name, reject.source.kind, reject.source.scope)
    if reject.what == "outcome":
        answer = ingest_outcomes(source=source, body=body, now=now, keep_rejects=False)
    else:
        answer = ingest_requests(source=source, stream=body, now=now, keep_rejects=False)
    if len(answer.results) != 1:
        raise InvalidInput(Problem("wrong_type", "must be one record, a JSON object", "payload"))
    result = answer.results[0]
    if result.result != "rejected":
        reject.state = Reject.State.RESUBMITTED
    else:
        reject.code, reject.field = result.problems[0].code, result.problems[0].field[:200]
        reject.message = told(Rejected(reject.position, "", result.problems))
    if edited is not None:
        reject.payload = kept(value)
    reject.save()
    return result
