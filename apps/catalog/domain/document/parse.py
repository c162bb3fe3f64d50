"""Turns a catalog file's mapping into a `Document`, or names every problem by its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import cast

from apps.catalog.domain.aliases import normalise
from apps.catalog.domain.document import values
from apps.catalog.domain.document.specs import AliasSpec, Document, NounSpec, PriceSpec
from apps.catalog.domain.document.values import Read
from apps.catalog.domain.prices import PriceKind
from apps.core.errors import InvalidInput, Problem
from apps.core.time import EPOCH

_NAME = values.text(200)
_REFERENCE = values.optional(values.slug)

FIELDS: Mapping[str, Mapping[str, Read]] = {
    "team": {"name": _NAME},
    "endpoint": {"name": _NAME, "team": _REFERENCE, "decision_window_hours": values.whole(1, 24 * 365)},
    "model": {"name": _NAME},
    "gpu_type": {"name": _NAME, "memory_gib": values.optional(values.number(whole_digits=6, places=2))},
    "deployment": {
        "name": _NAME,
        "model": _REFERENCE,
        "owner": _REFERENCE,
        "gpu_type": _REFERENCE,
        "gpus_per_replica": values.number(whole_digits=4, places=4),
    },
    "replica": {
        "name": _NAME,
        "deployment": _REFERENCE,
        "metrics_url": values.page_address,
        "held_from": values.optional(values.moment),
        "held_until": values.optional(values.moment),
    },
    "key": {"name": _NAME, "team": _REFERENCE},
}
"""The fields of each kind but its slug, its aliases and what is listed inside it."""

SECTIONS: Mapping[str, str] = {
    "teams": "team",
    "endpoints": "endpoint",
    "models": "model",
    "gpu_types": "gpu_type",
    "deployments": "deployment",
    "replicas": "replica",
    "keys": "key",
}

_ALIAS_LISTS: Mapping[str, tuple[str, ...]] = {
    "team": ("aliases",),
    "endpoint": ("aliases",),
    "model": ("aliases",),
    "replica": ("aliases", "backends"),
    "key": ("aliases",),
}

_PRICE: Mapping[str, Read] = {
    "gpu_type": values.slug,
    "endpoint": values.optional(values.slug),
    "amount": values.number(whole_digits=10, places=10),
    "currency": values.currency,
    "from": values.moment,
    "until": values.optional(values.moment),
    "source": values.text(300),
    "assumed": values.yes_no,
}
PRICE_FIELDS: Mapping[PriceKind, Mapping[str, Read]] = {
    "gpu_hour": {name: read for name, read in _PRICE.items() if name != "endpoint"},
    "reviewer_hour": {name: read for name, read in _PRICE.items() if name != "gpu_type"},
}
_PRICE_REQUIRED: Mapping[PriceKind, tuple[str, ...]] = {
    "gpu_hour": ("gpu_type", "amount", "from", "source"),
    "reviewer_hour": ("amount", "from", "source"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read of a file; with problems, only what is worth checking further.

    `references` are (path, kind, slug) of every noun that is referred to.
    """

    document: Document
    problems: list[Problem]
    references: list[tuple[str, str, str]]


def read(document: object) -> Reading:
    """`field` of each problem is a path such as deployments[0].owner."""
    parser = _Parser([])
    top = parser.mapping(document or {}, "", [*SECTIONS, "prices"])
    nouns = [noun for section, kind in SECTIONS.items() for noun in parser.nouns(top.get(section), section, kind)]
    prices = list(parser.prices(top.get("prices")))
    parser.problems.extend(_repeated(nouns, prices))
    found = Document(tuple(nouns), tuple(prices))
    return Reading(found, parser.problems, [*found.references(), *parser.references])


def parse(document: object) -> Document:
    """Raises InvalidInput with every problem found by itself; whether references exist is not looked at."""
    reading = read(document)
    if reading.problems:
        raise InvalidInput(reading.problems)
    return reading.document


def price_of(kind: PriceKind, fields: Mapping[str, object]) -> PriceSpec:
    """One price by itself, with the fields of the file. Raises InvalidInput whose problems name the field."""
    parser = _Parser([])
    price = parser.price(fields, "", kind, PRICE_FIELDS[kind])
    if parser.problems or price is None:
        raise InvalidInput(parser.problems)
    return price


def noun_of(kind: str, fields: Mapping[str, object]) -> NounSpec:
    """One noun by itself, with the fields of the file. Raises InvalidInput whose problems name the field."""
    parser = _Parser([])
    nouns = list(parser.nouns([fields], "", kind))
    problems = [Problem(p.code, p.message, p.field.removeprefix("[0]").lstrip(".")) for p in parser.problems]
    if problems:
        raise InvalidInput(problems)
    return replace(nouns[0], path="")


@dataclass(frozen=True, slots=True)
class _Parser:
    problems: list[Problem]
    references: list[tuple[str, str, str]] = field(default_factory=list)
    """Of prices that lack something."""

    def fail(self, code: str, message: str, path: str) -> None:
        self.problems.append(Problem(code, message, path.lstrip(".")))

    def mapping(self, value: object, path: str, known: list[str]) -> dict[str, object]:
        """The value's known keys; anything else in it is a problem."""
        if not isinstance(value, Mapping):
            self.fail("wrong_type", f"{values.shown(value)} is no mapping with {', '.join(known)}", path)
            return {}
        for key in value:
            if key not in known:
                message = f"unknown key {values.shown(key)}: use {', '.join(known)}"
                self.fail("unknown_field", message, f"{path}.{key}")
        return {key: value[key] for key in known if key in value}

    def items(self, value: object, path: str) -> Iterator[tuple[str, object]]:
        if value is None:
            return
        if not isinstance(value, (list, tuple)):
            self.fail("wrong_type", f"{values.shown(value)} is no list", path)
            return
        for position, item in enumerate(value):
            yield f"{path}[{position}]", item

    def read(self, given: Mapping[str, object], path: str, readers: Mapping[str, Read]) -> dict[str, object]:
        out: dict[str, object] = {}
        for name, read in readers.items():
            if name not in given:
                continue
            try:
                out[name] = read(given[name])
            except ValueError as error:
                self.fail("invalid", str(error), f"{path}.{name}")
        return out

    def nouns(self, value: object, path: str, kind: str, inside: str | None = None) -> Iterator[NounSpec]:
        """Nouns of a list; `inside` is the deployment that lists replicas."""
        readers = {name: read for name, read in FIELDS[kind].items() if inside is None or name != "deployment"}
        lists = [*_ALIAS_LISTS.get(kind, ()), *(["replicas"] if kind == "deployment" else [])]
        for item_path, item in self.items(value, path):
            given = self.mapping(item, item_path, ["slug", *readers, *lists])
            if not isinstance(item, Mapping):
                continue
            slug = self.slug(given, item_path)
            fields = self.read(given, item_path, readers)
            if inside is not None:
                fields["deployment"] = inside
            self.check_order(fields, "held_from", "held_until", item_path)
            aliases = tuple(
                alias
                for name in _ALIAS_LISTS.get(kind, ())
                for alias in self.aliases(given.get(name), f"{item_path}.{name}", kind)
            )
            yield NounSpec(item_path, kind, slug, fields, aliases)
            if kind == "deployment":
                yield from self.nouns(given.get("replicas"), f"{item_path}.replicas", "replica", inside=slug)

    def slug(self, given: Mapping[str, object], path: str) -> str:
        if "slug" not in given:
            self.fail("missing", "is missing", f"{path}.slug")
            return ""
        return str(self.read(given, path, {"slug": values.slug}).get("slug", ""))

    def aliases(self, value: object, path: str, kind: str) -> Iterator[AliasSpec]:
        readers: dict[str, Read] = {"raw": values.text(100_000), "from": values.moment}
        for item_path, item in self.items(value, path):
            given = self.mapping(item, item_path, list(readers)) if isinstance(item, Mapping) else {"raw": item}
            if "raw" not in given:
                self.fail("missing", "an alias is a text, or a mapping with raw and from", item_path)
                continue
            alias = self.read(given, item_path, readers)
            if raw := normalise(kind, str(alias.get("raw", ""))):
                yield AliasSpec(item_path, raw, cast(datetime, alias.get("from", EPOCH)))

    def prices(self, value: object) -> Iterator[PriceSpec]:
        lists = self.mapping({} if value is None else value, "prices", list(PRICE_FIELDS))
        for kind, readers in PRICE_FIELDS.items():
            for path, item in self.items(lists.get(kind), f"prices.{kind}"):
                if price := self.price(item, path, kind, readers):
                    yield price

    def price(self, item: object, path: str, kind: PriceKind, readers: Mapping[str, Read]) -> PriceSpec | None:
        given = self.mapping(item, path, list(readers))
        for name in _PRICE_REQUIRED[kind]:
            if name not in given:
                self.fail("missing", "is missing", f"{path}.{name}")
        price = self.read(given, path, readers)
        self.check_order(price, "from", "until", path)
        if any(name not in price for name in _PRICE_REQUIRED[kind]):
            named = [(name, price.get(name)) for name in ("gpu_type", "endpoint")]
            self.references.extend((f"{path}.{name}", name, slug) for name, slug in named if isinstance(slug, str))
            return None
        return PriceSpec(
            path=path,
            kind=kind,
            gpu_type=cast(str | None, price.get("gpu_type")),
            endpoint=cast(str | None, price.get("endpoint")),
            amount=cast(Decimal, price["amount"]),
            currency=cast(str, price.get("currency", "USD")),
            effective_from=cast(datetime, price["from"]),
            effective_until=cast(datetime | None, price.get("until")),
            source=cast(str, price["source"]),
            assumed=cast(bool, price.get("assumed", False)),
        )

    def check_order(self, fields: Mapping[str, object], start: str, end: str, path: str) -> None:
        first, last = fields.get(start), fields.get(end)
        if isinstance(first, datetime) and isinstance(last, datetime) and last <= first:
            self.fail("order", f"must be later than {start}", f"{path}.{end}")


def _repeated(nouns: list[NounSpec], prices: list[PriceSpec]) -> Iterator[Problem]:
    """What the file says twice."""
    seen: dict[tuple[object, ...], str] = {}

    def first(path: str, *key: object) -> str | None:
        return None if seen.setdefault(key, path) == path else seen[key]

    for noun in nouns:
        if noun.slug and (earlier := first(noun.path, "noun", noun.kind, noun.slug)):
            yield Problem("duplicate", f"{noun.kind} {noun.slug} is already at {earlier}", f"{noun.path}.slug")
        for alias in noun.aliases:
            if earlier := first(alias.path, "alias", noun.kind, alias.raw, alias.valid_from):
                yield Problem("duplicate", f"{alias.raw!r} is already at {earlier}", alias.path)
    for price in prices:
        if earlier := first(price.path, "price", price.kind, price.gpu_type, price.endpoint, price.effective_from):
            yield Problem("duplicate", f"a price from this date is already at {earlier}", f"{price.path}.from")
