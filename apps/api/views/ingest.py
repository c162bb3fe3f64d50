"""POST /api/v1/ingest/requests and /outcomes: bodies in, what became of each record out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import ApiKeyAuthentication
from apps.api.bodies import wire_blocks
from apps.api.domain.parameters import check_names
from apps.api.errors import problem_dict, problem_response
from apps.api.schema.ingest import INGEST_OUTCOMES, INGEST_REQUESTS
from apps.api.views.base import Endpoint
from apps.core.errors import InvalidInput, Problem
from apps.ingest.domain.bodies import decompressed
from apps.ingest.services import BatchAnswer, RecordAnswer, SourceRef, ingest_outcomes, ingest_requests

EXPANSION = 8
"""A body may unpack to this many times the limit on the wire."""
FORMATS = ("auto", "native", "litellm")
RESULTS = ("all", "rejected")


class Ingest(Endpoint):
    """Only keys may: a browser's session is no sender of records."""

    required_scope = "ingest"
    authentication_classes: Any = [ApiKeyAuthentication]
    http_method_names = ["post"]
    so_far: BatchAnswer | None = None

    def note(self, answer: BatchAnswer, size: int) -> None:
        """Remember what is durable already, in case the rest of the body proves bad."""
        self.so_far = answer

    def handle_exception(self, exc: Exception) -> Response:
        response: Response = super().handle_exception(exc)
        if self.so_far is not None:
            response.data |= _counts(self.so_far)
        return response

    def body(self, request: Request) -> Iterator[bytes]:
        """The plain body, block by block, read while it is stored."""
        limit: int = settings.INGEST_BODY_LIMIT_BYTES
        blocks = wire_blocks(request._request, limit)
        return decompressed(blocks, request.headers.get("Content-Encoding", ""), limit * EXPANSION)

    def choices(self, request: Request, known: dict[str, tuple[str, ...]]) -> dict[str, str]:
        """The query's choices, the first of each being the default. Raises InvalidInput with every problem."""
        problems: list[Problem] = []
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        given = check_names(query, tuple(known), problems)
        for name, value in given.items():
            if value not in known[name]:
                right = f"use {', '.join(known[name])}"
                problems.append(Problem("wrong_value", f"{name} {value[:100]!r} not understood: {right}", name))
        if problems:
            raise InvalidInput(problems)
        return {name: given.get(name, words[0]) for name, words in known.items()}


@INGEST_REQUESTS
class IngestRequests(Ingest):
    def post(self, request: Request) -> Response:
        choices = self.choices(request, {"format": FORMATS, "results": RESULTS})
        caller = self.caller(request)
        answer = ingest_requests(
            source=SourceRef(name=caller.name, kind=choices["format"], scope=caller.key_prefix),
            stream=self.body(request),
            now=self.now(),
            answers="all" if choices["results"] == "all" else "rejected",
            progress=self.note,
        )
        return answered(answer, choices["results"])


@INGEST_OUTCOMES
class IngestOutcomes(Ingest):
    def post(self, request: Request) -> Response:
        choices = self.choices(request, {"results": RESULTS})
        caller = self.caller(request)
        source = SourceRef(name=caller.name, kind="outcomes", scope=caller.key_prefix)
        answer = ingest_outcomes(source=source, body=self.body(request), now=self.now(), progress=self.note)
        return answered(answer, choices["results"])


def answered(answer: BatchAnswer, which: str) -> Response:
    """200 when nothing was rejected, 207 when some records were, 422 when all were."""
    body = {
        **_counts(answer),
        "results": [_result(result) for result in answer.results if which == "all" or result.result == "rejected"],
    }
    if not answer.rejected:
        return Response(body)
    if answer.stored or answer.duplicate:
        return Response(body, status=207)
    problems = [problem for result in answer.results for problem in result.problems]
    count = answer.rejected
    detail = "the record was rejected" if count == 1 else f"all {count:,} records were rejected"
    return problem_response(422, f"{detail}: {problems[0]}" if problems else detail, problems=problems, extra=body)


def _counts(answer: BatchAnswer) -> dict[str, object]:
    return {
        "batch_id": answer.batch_id,
        "stored": answer.stored,
        "duplicate": answer.duplicate,
        "rejected": answer.rejected,
    }


def _result(answer: RecordAnswer) -> dict[str, object]:
    body: dict[str, object] = {"record": answer.record, "result": answer.result}
    if answer.problems:
        body["problems"] = [problem_dict(problem) for problem in answer.problems]
    return body
