"""The body of a request as blocks of bytes, never more in memory than one block, cut off at a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.http import HttpRequest, UnreadablePostError

from apps.api.errors import LengthRequired, TooLarge
from apps.core.errors import InvalidInput, Problem

BLOCK_BYTES = 1 << 16


def wire_blocks(request: HttpRequest, limit_bytes: int) -> Iterator[bytes]:
    """The body as sent, in blocks. Raises TooLarge at once for a stated length over the limit.

    A chunked body states none: it is cut off where it passes the limit. Raises LengthRequired where the server does
    not mark the end of such a body, InvalidInput where the connection ended before the stated length.
    """
    length = _stated_length(request)
    if length is not None and length > limit_bytes:
        raise _too_large(limit_bytes)
    return _blocks(_reader(request, length), length, limit_bytes)


def _stated_length(request: HttpRequest) -> int | None:
    raw = request.META.get("CONTENT_LENGTH") or ""
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        return None
    return int(raw) if raw.isascii() and raw.isdigit() else 0


def _reader(request: HttpRequest, length: int | None) -> Callable[[int], bytes]:
    if length is not None:
        return request.read
    # Django reads no further than Content-Length, which a chunked body lacks; a server that knows the end says so.
    if not request.META.get("wsgi.input_terminated"):
        raise LengthRequired("this server needs a Content-Length: send the body with its length, not chunked")
    read: Callable[[int], bytes] = request.META["wsgi.input"].read
    return read


def _blocks(read: Callable[[int], bytes], length: int | None, limit_bytes: int) -> Iterator[bytes]:
    total = 0
    while block := _read(read):
        total += len(block)
        if total > limit_bytes:
            raise _too_large(limit_bytes)
        yield block
    if length is not None and total < length:
        message = f"the body ended after {total:,} of {length:,} bytes: send it again"
        raise InvalidInput(Problem("cut_off", message))


def _read(read: Callable[[int], bytes]) -> bytes:
    try:
        return read(BLOCK_BYTES)
    except OSError as error:
        raise UnreadablePostError(*error.args) from error


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(f"the body is over {limit_bytes:,} bytes: send smaller batches, or compress them")
