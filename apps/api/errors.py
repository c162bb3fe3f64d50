"""Every failure turned into one shape: RFC 9457 problem details with a list of problems."""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from apps.core.errors import InvalidInput, NotReady, Problem

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5
MOST_PROBLEMS = 100

logger = logging.getLogger(__name__)

_CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    411: "length_required",
    413: "too_large",
    415: "unsupported_encoding",
    422: "all_rejected",
    500: "internal",
    503: "not_ready",
}


_AWAY = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""Django's and, from inside COPY, the driver's own."""

_STATUS_OF_PROBLEM = {"too_large": 413, "bad_encoding": 415}
"""Problems of a whole body that have a status of their own; the others are 400."""


class TooLarge(exceptions.APIException):
    """A body over a limit."""

    status_code = 413


class LengthRequired(exceptions.APIException):
    """A body whose end this server cannot know."""

    status_code = 411


def problem_response(
    status: int,
    detail: str,
    *,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, object] | None = None,
) -> Response:
    """An answer in the one error shape. `extra` adds members; at most MOST_PROBLEMS problems are listed."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "code": _CODES.get(status, "invalid"),
        "detail": detail,
        "problems": [problem_dict(problem) for problem in problems[:MOST_PROBLEMS]],
        **(extra or {}),
    }
    return Response(body, status=status, headers=dict(headers or {}), content_type=MEDIA_TYPE)


def problem_dict(problem: Problem) -> dict[str, object]:
    return {"record": problem.record, "field": problem.field, "code": problem.code, "message": problem.message}


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's hook. What nobody foresaw is logged, without the request's body, and answered with a 500 in this shape."""
    set_rollback()
    if isinstance(exc, InvalidInput):
        return _invalid(exc.problems)
    if isinstance(exc, NotReady):
        return _come_back(str(exc))
    if isinstance(exc, _AWAY):
        logger.warning("database away: %s", type(exc).__name__, exc_info=exc)
        return _come_back("the database is away: nothing of this request was lost on our side, send it again")
    if isinstance(exc, UnreadablePostError):
        return problem_response(400, "the body ended early: the connection broke while it was sent")
    if isinstance(exc, SuspiciousOperation):
        return problem_response(400, str(exc) or "the request is malformed")
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    if isinstance(exc, exceptions.APIException):
        return _of_framework(exc)
    logger.error("unforeseen error in %s", type(context.get("view")).__name__, exc_info=exc)
    return problem_response(500, "an error that we did not foresee: it is in the server's log")


def _invalid(problems: Sequence[Problem]) -> Response:
    whole = problems[0].code if len(problems) == 1 and problems[0].record is None else ""
    status = _STATUS_OF_PROBLEM.get(whole, 400)
    headers = {"Accept-Encoding": "gzip, zstd"} if status == 415 else None
    return problem_response(status, _summary(problems), problems=problems, headers=headers)


def _come_back(detail: str) -> Response:
    return problem_response(503, detail, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})


def _of_framework(exc: exceptions.APIException) -> Response:
    header = getattr(exc, "auth_header", None)
    detail = str(exc.detail) if not isinstance(exc.detail, list | dict) else "the request is not valid"
    if isinstance(exc, exceptions.NotAuthenticated):
        detail = "no API key: send it as Authorization: Bearer ifm_… or as X-API-Key"
    return problem_response(exc.status_code, detail, headers={"WWW-Authenticate": header} if header else None)


def _summary(problems: Sequence[Problem]) -> str:
    if not problems:
        return "the request is not valid"
    more = len(problems) - 1
    return f"{problems[0]}" + (f" (and {more} more)" if more else "")
