"""Names what ingest met: an unclaimed noun gets a name of its own, or turns out to be one that is known."""

from __future__ import annotations

from apps.catalog.domain.difference import Difference
from apps.catalog.domain.document.values import slug as read_slug
from apps.catalog.domain.document.values import text
from apps.catalog.models import TABLES
from apps.catalog.services.journal import Audit, writing
from apps.catalog.services.merging import merge
from apps.catalog.services.nouns import noun, write_noun
from apps.core.errors import InvalidInput, Problem


def claim(
    *, kind: str, noun_id: int, name: str = "", slug: str | None = None, into: int | None = None, audit: Audit
) -> Difference:
    """Give the noun this name (and slug), or merge it into noun `into`: its labels mean that one, in history too.

    Raises InvalidInput for a noun that is not there, an empty name, or a slug that is taken or malformed.
    """
    if kind not in TABLES:
        raise InvalidInput(Problem("unknown", f"no such kind: use {', '.join(TABLES)}", "kind"))
    with writing(audit) as journal:
        row = noun(kind, noun_id)
        if into is not None:
            merge(journal, kind, row, noun(kind, into))
        else:
            write_noun(journal, kind=kind, slug=_slug(slug or row.slug), fields={"name": _name(name)}, row=row)
    return journal.difference()


def _name(name: str) -> object:
    try:
        return text(200)(name)
    except ValueError as error:
        raise InvalidInput(Problem("invalid", f"the name {error}", "name")) from None


def _slug(slug: str) -> str:
    try:
        return read_slug(slug)
    except ValueError as error:
        raise InvalidInput(Problem("invalid", str(error), "slug")) from None
