"""What a catalog file says, read and checked: nouns with the fields that it gives, their aliases, prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.catalog.domain.prices import PriceKind

KINDS_IN_ORDER = ("team", "gpu_type", "model", "endpoint", "deployment", "replica", "key")
"""A kind only refers to kinds in front of it."""

REFERENCES: Mapping[tuple[str, str], str] = {
    ("endpoint", "team"): "team",
    ("deployment", "model"): "model",
    ("deployment", "owner"): "team",
    ("deployment", "gpu_type"): "gpu_type",
    ("replica", "deployment"): "deployment",
    ("key", "team"): "team",
}
"""(kind, field) whose value is the slug of another kind."""


@dataclass(frozen=True, slots=True)
class AliasSpec:
    """From `valid_from` on, the normalised label `raw` means the noun that lists it."""

    path: str
    raw: str
    valid_from: datetime


@dataclass(frozen=True, slots=True)
class NounSpec:
    """`fields` holds only what the file gives: what it omits stays as it is. References are slugs or None."""

    path: str
    kind: str
    slug: str
    fields: Mapping[str, object]
    aliases: tuple[AliasSpec, ...] = ()

    def references(self) -> Iterator[tuple[str, str, str]]:
        """(path, kind, slug) of every noun that this one refers to."""
        for field, value in self.fields.items():
            kind = REFERENCES.get((self.kind, field))
            if kind and isinstance(value, str):
                yield f"{self.path}.{field}", kind, value


@dataclass(frozen=True, slots=True)
class PriceSpec:
    """`effective_until` None: until the next price of the same series, or still."""

    path: str
    kind: PriceKind
    gpu_type: str | None
    endpoint: str | None
    amount: Decimal
    currency: str
    effective_from: datetime
    effective_until: datetime | None
    source: str
    assumed: bool

    def references(self) -> Iterator[tuple[str, str, str]]:
        if self.gpu_type:
            yield f"{self.path}.gpu_type", "gpu_type", self.gpu_type
        if self.endpoint:
            yield f"{self.path}.endpoint", "endpoint", self.endpoint


@dataclass(frozen=True, slots=True)
class Document:
    nouns: tuple[NounSpec, ...]
    prices: tuple[PriceSpec, ...]

    def of_kind(self, kind: str) -> list[NounSpec]:
        return [noun for noun in self.nouns if noun.kind == kind]

    def references(self) -> Iterator[tuple[str, str, str]]:
        for noun in self.nouns:
            yield from noun.references()
        for price in self.prices:
            yield from price.references()
