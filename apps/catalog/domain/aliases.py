"""Turns raw labels into catalog ids: one spelling a label, the alias that holds at a date, a slug for the unknown."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from urllib.parse import urlsplit

from apps.core.query import NONE_GIVEN

Kind = Literal["team", "endpoint", "model", "replica", "key"]
"""What a raw label can name; the same words as `core.query.Dimension`."""
KINDS: tuple[Kind, ...] = get_args(Kind)

RAW_LENGTH = 500
SLUG_LENGTH = 100
_MADE_SLUG_LENGTH = 90
"""Shorter, so that a number can be appended to a slug that is taken."""

_DIGEST_LENGTH = 32
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_API_PATH = re.compile(
    r"/(?:v\d+(?:beta\d*)?|metrics|health|chat/completions|completions|responses|embeddings|rerank|score|generate)(?:/.*)?$"
)
_ADDRESS = re.compile(r"[^/\s]+:\d+/")


def normalise(kind: str, raw: str) -> str:
    """The one spelling under which a raw label of this kind is looked up and stored; "" means none given.

    All kinds: outer white space goes, characters that PostgreSQL cannot hold become U+FFFD, and over RAW_LENGTH the
    end is replaced by a digest, so that two long labels stay two. Replicas: an address loses scheme, credentials,
    default port and the API's path ('http://127.0.0.1:8101/v1/chat/completions' is '127.0.0.1:8101'); a path in
    front of that stays, since several engines may sit behind one host.
    """
    text = _UNSTORABLE.sub("\ufffd", raw).strip()
    if kind == "replica":
        text = _address(text)
    if len(text) <= RAW_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{text[: RAW_LENGTH - _DIGEST_LENGTH - 1]}…{digest}"


def _address(text: str) -> str:
    if "://" not in text:
        if not _ADDRESS.match(text):
            return text
        text = f"//{text}"
    try:
        parts = urlsplit(text)
    except ValueError:  # an unbalanced bracket: not an address
        return text
    host = parts.netloc.rpartition("@")[2].lower()
    if not host:
        return text
    default_port = {"http": ":80", "https": ":443"}.get(parts.scheme.lower())
    if default_port:
        host = host.removesuffix(default_port)
    return host + _API_PATH.sub("", parts.path).rstrip("/")


def slug_of(kind: str, raw: str) -> str:
    """A slug ([a-z0-9-], 1 to 90 characters) that reminds of the label; not yet unique.

    A label without a single Latin letter or digit is named by its kind and a digest.
    """
    ascii_text = unicodedata.normalize("NFKD", raw).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")[:_MADE_SLUG_LENGTH].strip("-")
    if slug:
        return slug
    return f"{kind}-{hashlib.sha256(raw.encode('utf-8', 'replace')).hexdigest()[:8]}"


def name_of(raw: str) -> str:
    """The label as it may be shown: without control and formatting characters, which could turn a page's text about."""
    words = " ".join(raw.split())
    return "".join(char for char in words if unicodedata.category(char) not in ("Cc", "Cf")).strip()


def free_slug(wanted: str, taken: set[str]) -> str:
    """`wanted`, or the first of wanted-2, wanted-3, ... that is not taken."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}-{number}" in taken:
        number += 1
    return f"{wanted}-{number}"


@dataclass(frozen=True, slots=True)
class AliasRow:
    """From `valid_from` on, `raw` (normalised) of this kind means `target_id`, until a later row of the same label."""

    kind: str
    raw: str
    target_id: int
    valid_from: datetime


class Resolver:
    """Answers which noun a raw label meant at a date. Build it once for a fold; it does not see later changes."""

    __slots__ = ("_normalised", "_spans")

    def __init__(self, aliases: Iterable[AliasRow]) -> None:
        grouped: dict[tuple[str, str], list[tuple[datetime, int]]] = {}
        for alias in aliases:
            grouped.setdefault((alias.kind, alias.raw), []).append((alias.valid_from, alias.target_id))
        self._spans: dict[tuple[str, str], tuple[Sequence[datetime], Sequence[int]]] = {}
        for key, rows in grouped.items():
            rows.sort()
            self._spans[key] = ([start for start, _ in rows], [target for _, target in rows])
        self._normalised: dict[tuple[str, str], str] = {}

    def resolve(self, kind: str, raw: str, at: datetime) -> int | None:
        """Id of the noun; NONE_GIVEN for an empty label; None where no alias holds at that moment."""
        if not raw:
            return NONE_GIVEN
        text = self._normalised.get((kind, raw))
        if text is None:
            text = self._normalised[(kind, raw)] = normalise(kind, raw)
        if not text:
            return NONE_GIVEN
        spans = self._spans.get((kind, text))
        if spans is None:
            return None
        starts, targets = spans
        position = bisect_right(starts, at)
        return targets[position - 1] if position else None
