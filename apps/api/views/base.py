"""What all endpoints share: who may, how it is answered, what goes wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.api.authentication import ApiKeyAuthentication, Caller, HasScope, ReadingSessionAuthentication
from apps.api.domain.parameters import Accepted, Question, parse
from apps.api.errors import exception_handler
from apps.api.rendering import JsonRenderer, OnlyJson


class Endpoint(APIView):
    """Base of every view here. `required_scope` is what the caller's key must have."""

    required_scope: str
    authentication_classes: Any = [ApiKeyAuthentication, ReadingSessionAuthentication]
    permission_classes: Any = [HasScope]
    parser_classes: Any = []
    renderer_classes: Any = [JsonRenderer]
    content_negotiation_class = OnlyJson

    def get_exception_handler(self) -> Any:
        return exception_handler

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """No cache may keep what one caller was allowed to see."""
        final = super().finalize_response(request, response, *args, **kwargs)
        final.headers.setdefault("Cache-Control", "no-store")
        return final

    def caller(self, request: Request) -> Caller:
        caller = request.auth
        if not isinstance(caller, Caller):
            raise TypeError("the permission check lets only callers in")
        return caller

    def now(self) -> datetime:
        """The clock, read once a request and passed on."""
        return datetime.now(UTC)


class Reading(Endpoint):
    """An endpoint that answers a question in the query string."""

    required_scope = "read"
    accepted = Accepted()
    http_method_names = ["get", "head"]

    def question(self, request: Request) -> Question:
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        return parse(path=request.path, query=query, accepted=self.accepted, now=self.now())


class Missing(Endpoint):
    """Any address under /api/ that is none of ours, in the API's error shape."""

    authentication_classes: Any = []
    permission_classes: Any = []
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound("there is no such address: see /api/schema")

    def get(self, request: Request) -> Response:
        raise NotFound
