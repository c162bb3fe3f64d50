"""Answers as JSON: dataclasses, decimals as strings, UTC times with Z; whatever the caller says it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class JsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else msgspec.json.encode(data)


class OnlyJson(BaseContentNegotiation):
    """The first renderer always: a client with an odd Accept header gets its answer or its error all the same."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> Any:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type or ""
