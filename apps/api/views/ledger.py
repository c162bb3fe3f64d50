"""GET /api/v1/ledger: the lines behind every cost."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import answers
from apps.api.naming import Names, as_dict, filters_of
from apps.api.schema.ledger import ACCEPTED, LEDGER
from apps.api.views.base import Reading
from apps.attribution.selectors import LinePlace, PlacedLine, ledger
from apps.core.errors import InvalidInput, Problem
from apps.core.query import DIMENSIONS
from apps.core.time import from_micros, to_micros
from apps.core.vocabulary import Component, StatusGroup, Tier, Traffic, Work


@LEDGER
class LedgerLines(Reading):
    accepted = ACCEPTED

    def get(self, request: Request) -> Response:
        question, names = self.question(request), Names()
        filters = filters_of(question.slugs, self.caller(request), names)
        page = ledger(window=question.window, filters=filters, cursor=_place(question.after), limit=question.limit)
        last = page.next_cursor
        return Response(
            {
                "window": answers.window(question.window),
                "filters": answers.filters(question.slugs),
                "rows": [_row(line, names) for line in page.lines],
                "next_cursor": None if last is None else question.cursor((to_micros(last.hour), last.line)),
            }
        )


def _place(after: tuple[int, ...] | None) -> LinePlace | None:
    if after is None:
        return None
    try:
        micros, line = after
        if abs(line) >= 2**31:
            raise ValueError("no line has this number")
        return LinePlace(from_micros(micros), line)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(Problem("wrong_value", "this is no cursor of the ledger", "cursor")) from error


def _row(placed: PlacedLine, names: Names) -> dict[str, object]:
    line = placed.line
    ids = {dimension: getattr(line, f"{dimension}_id") for dimension in DIMENSIONS}
    return {
        "hour": placed.place.hour,
        "line": placed.place.line,
        "component": Component(line.component).word,
        **names.labelled(ids, DIMENSIONS),
        "deployment": as_dict(names.deployments[line.deployment_id]),
        "gpu_type": as_dict(names.gpu_types[line.gpu_type_id]),
        "work": Work(line.work).word,
        "status_group": StatusGroup(line.status_group).word,
        "traffic": Traffic(line.traffic).word,
        "tier": Tier(line.tier).word,
        "replica_seconds": answers.amount(line.seconds),
        "gpu_seconds": answers.amount(line.gpu_seconds),
        "cost": answers.amount(line.amount),
        "currency": line.currency or None,
        "price_id": line.price_id,
        "price_per_gpu_hour": answers.amount(line.price),
        "reason": line.reason or None,
    }
