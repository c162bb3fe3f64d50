"""Decisions on tasks as they are sent (docs/ingest.md), into checked values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from apps.core.errors import Problem
from apps.core.time import from_micros
from apps.ingest.domain import limits
from apps.ingest.domain.identity import identity128, key64
from apps.ingest.domain.objects import kept
from apps.ingest.domain.reading import Decoding
from apps.ingest.domain.records import Rejected
from apps.ingest.domain.splitting import Bytes, Stopped
from apps.ingest.domain.strict import read_object, refuse_repeats
from apps.ingest.domain.validation import control_problem, text_problem

MAX_REVIEW_MINUTES = Decimal(60 * 24 * 365)
MAX_EVALUATOR = 200


class Sent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One outcome as sent. UNSET: not in the JSON."""

    task_id: str | None | UnsetType = UNSET
    accepted: bool | None | UnsetType = UNSET
    decided_at: Annotated[datetime, msgspec.Meta(tz=True)] | float | None | UnsetType = UNSET
    reworked: bool | None | UnsetType = UNSET
    score: float | None | UnsetType = UNSET
    review_minutes: Decimal | None | UnsetType = UNSET
    evaluator: str | None | UnsetType = UNSET


FIELDS = Sent.__struct_fields__
_one = msgspec.json.Decoder(Sent)
_many = msgspec.json.Decoder(list[Sent])


def _without_repeats(data: Bytes, records: list[Sent]) -> list[Sent]:
    refuse_repeats(data, list(map(astuple, records)))
    return records


class _Codec:
    def read_lines(self, data: Bytes) -> list[Sent]:
        return _without_repeats(data, _one.decode_lines(data))

    def read_array(self, data: bytes) -> list[Sent]:
        return _without_repeats(data, _many.decode(data))

    def read_one(self, raw: bytes) -> Sent:
        return read_object(raw, Sent)


@dataclass(frozen=True, slots=True)
class Decided:
    """One valid outcome. Two with the same `digest` say the same in every field."""

    position: int
    task_id: str
    task_key: int
    digest: bytes
    decided_at: datetime
    accepted: bool
    reworked: bool
    score: float | None
    review_minutes: Decimal
    evaluator: str


def read_outcomes(
    blocks: Iterable[Bytes], scope: str, now_us: int, sizes: limits.Sizes | None = None
) -> tuple[list[Decided], list[Rejected], Stopped | None]:
    """The outcomes of a body, what is wrong with the others, and why no more was read, if there is more.

    Raises InvalidInput for a body that is bad as such.

    `scope` is part of what makes two outcomes the same, as for requests.
    """
    decided: list[Decided] = []
    rejected: list[Rejected] = []
    decoding = Decoding(_Codec(), sizes or limits.Sizes())
    for part in decoding.parts(blocks):
        rejected += part.rejected
        for sent, position in zip(part.structs, part.positions, strict=True):
            found = [replace(problem, record=position) for problem in _problems(sent, now_us)]
            if found:
                rejected.append(Rejected(position, kept(msgspec.to_builtins(sent)), tuple(found)))
                decoding.patience.spend(1)
                if decoding.patience.ended:
                    break
            else:
                decided.append(_decided(position, sent, scope))
    return decided, sorted(rejected, key=lambda one: one.position), decoding.stopped


def _micros(moment: object) -> float | None:
    if isinstance(moment, datetime):
        moment = moment.timestamp()
    return round(moment * limits.SECOND_US) if isinstance(moment, float) and abs(moment) < 1e12 else None


def _problems(sent: Sent, now_us: int) -> list[Problem]:
    found = []
    for name, needed in (
        ("task_id", "the task that was decided"),
        ("accepted", "true or false"),
        ("decided_at", "a time"),
    ):
        if getattr(sent, name) in (UNSET, None, ""):
            found.append(Problem("missing", f"an outcome needs {needed} here", name))
    if sent.decided_at not in (UNSET, None):
        micros = _micros(sent.decided_at)
        if micros is None or micros < limits.OLDEST_US:
            message = "is before 2020 or no time at all: is it seconds since 1970, or RFC 3339?"
            found.append(Problem("too_old", message, "decided_at"))
        elif micros > now_us + limits.CLOCK_TOLERANCE_US:
            ahead = (micros - now_us) / limits.SECOND_US
            message = (
                f"is {ahead:,.0f} seconds ahead of this server: at most 3,600 are accepted; check the sender's clock"
            )
            found.append(Problem("in_future", message, "decided_at"))
    if isinstance(sent.review_minutes, Decimal):
        minutes = sent.review_minutes
        if not minutes.is_finite() or not 0 <= minutes <= MAX_REVIEW_MINUTES:
            message = f"must be a number of minutes from 0 to {MAX_REVIEW_MINUTES:,}"
            found.append(Problem("negative" if minutes < 0 else "out_of_range", message, "review_minutes"))
    for name, text in (("task_id", sent.task_id), ("evaluator", sent.evaluator)):
        if isinstance(text, str) and (wrong := text_problem(text) or control_problem(text)):
            found.append(Problem(wrong[0], wrong[1], name))
    if isinstance(sent.evaluator, str) and MAX_EVALUATOR < len(sent.evaluator) <= limits.MAX_TEXT:
        found.append(Problem("too_long", f"{len(sent.evaluator)} characters: at most {MAX_EVALUATOR}", "evaluator"))
    return found


def _decided(position: int, sent: Sent, scope: str) -> Decided:
    task_id = str(sent.task_id)
    micros = _micros(sent.decided_at)
    assert micros is not None
    minutes = sent.review_minutes if isinstance(sent.review_minutes, Decimal) else Decimal(0)
    minutes = minutes.quantize(Decimal("0.0001"))
    score = sent.score if isinstance(sent.score, float) else None
    evaluator = sent.evaluator if isinstance(sent.evaluator, str) else ""
    accepted, reworked = sent.accepted is True, sent.reworked is True
    digest = identity128("outcomes", scope, task_id, int(micros), accepted, reworked, score, minutes, evaluator)
    return Decided(
        position,
        task_id,
        key64(task_id),
        digest,
        from_micros(int(micros)),
        accepted,
        reworked,
        score,
        minutes,
        evaluator,
    )
