"""Makes the catalog what a file says: creates, claims, changes; never removes what the file does not mention."""

from __future__ import annotations

from collections.abc import Iterator

from apps.catalog.domain.difference import Difference
from apps.catalog.domain.document import KINDS_IN_ORDER, Document, NounSpec, Reading, noun_of, read
from apps.catalog.models import TABLES, Alias, AliasKind, Noun, Price
from apps.catalog.selectors import price_entry
from apps.catalog.services.aliases import write_alias
from apps.catalog.services.journal import Audit, Journal, no_audit, writing
from apps.catalog.services.nouns import noun, subject, word, write_noun
from apps.catalog.services.prices import title_of, write_prices
from apps.core.errors import InvalidInput, Problem
from apps.core.time import EPOCH


def apply(*, document: object, actor: str, dry_run: bool, audit: Audit = no_audit) -> Difference:
    """Make the catalog so, in one transaction, and say what was done; the same document again does nothing.

    Names in the document win over nouns that ingest created: an alias that meant an unclaimed noun moves, and the
    noun goes when nothing means it any more. Raises InvalidInput with every problem, each with its path.
    """
    reading = read(document)
    with writing(audit, actor=actor, dry_run=dry_run) as journal:
        _check(reading)
        wanted = reading.document
        rows: dict[tuple[str, str], Noun] = {}
        for kind in KINDS_IN_ORDER:
            for spec in wanted.of_kind(kind):
                rows[kind, spec.slug] = write_noun(
                    journal, kind=kind, slug=spec.slug, fields=spec.fields, path=spec.path
                )
        _write_aliases(journal, wanted.nouns, rows)
        write_prices(journal, wanted.prices)
        omitted = tuple(_omitted(wanted))
    return journal.difference(omitted)


def save_noun(*, kind: str, noun_id: int | None, fields: dict[str, object], audit: Audit) -> int:
    """Create a noun (`noun_id` None) or change it; `fields` as in the file, slug included. Returns its id.

    Raises InvalidInput whose problems name the field; creating under a slug that is taken is one.
    """
    spec = noun_of(kind, fields)
    with writing(audit) as journal:
        row = noun(kind, noun_id) if noun_id is not None else None
        if row is None and TABLES[kind]._default_manager.filter(slug=spec.slug, claimed=True).exists():
            raise InvalidInput(Problem("taken", f"there is another {word(kind)} with this slug", "slug"))
        row = write_noun(journal, kind=kind, slug=spec.slug, fields=spec.fields, row=row)
        _write_aliases(journal, [spec], {(kind, spec.slug): row})
    return int(row.pk)


def _check(reading: Reading) -> None:
    """Raises InvalidInput with every problem of the file, those of its references among them."""
    problems = list(reading.problems)
    known = {(spec.kind, spec.slug) for spec in reading.document.nouns}
    for path, kind, slug in reading.references:
        if (kind, slug) in known or TABLES[kind]._default_manager.filter(slug=slug).exists():
            continue
        problems.append(Problem("unknown", f"there is no {word(kind)} {slug!r}, here or in the catalog", path))
    if problems:
        raise InvalidInput(problems)


def _write_aliases(
    journal: Journal, specs: tuple[NounSpec, ...] | list[NounSpec], rows: dict[tuple[str, str], Noun]
) -> None:
    for spec in specs:
        for alias in spec.aliases:
            write_alias(
                journal, kind=spec.kind, raw=alias.raw, target=rows[spec.kind, spec.slug], valid_from=alias.valid_from
            )
    for spec in specs:
        if spec.kind in AliasKind.values:
            _write_own_alias(journal, spec, rows[spec.kind, spec.slug])


def _write_own_alias(journal: Journal, spec: NounSpec, row: Noun) -> None:
    """A label that is the slug itself means the noun, unless somebody gave that label to another one."""
    present = Alias.objects.filter(kind=spec.kind, raw=spec.slug, valid_from=EPOCH).first()
    if present is not None:
        other = TABLES[spec.kind]._default_manager.filter(pk=present.target_id).first()
        if other is not None and other.claimed:
            return
    write_alias(journal, kind=spec.kind, raw=spec.slug, target=row, valid_from=EPOCH, told=present is not None)


def _omitted(document: Document) -> Iterator[str]:
    """What is in the catalog, named by somebody, and not in the document."""
    named = {(spec.kind, spec.slug): spec for spec in document.nouns}
    for kind in KINDS_IN_ORDER:
        for row in TABLES[kind]._default_manager.filter(claimed=True):
            spec = named.get((kind, row.slug))
            if spec is None:
                yield subject(kind, row.slug)
            elif kind in AliasKind.values:
                listed = {(alias.raw, alias.valid_from) for alias in spec.aliases} | {(row.slug, EPOCH)}
                for alias in Alias.objects.filter(kind=kind, target_id=row.pk).order_by("raw", "valid_from"):
                    if (alias.raw, alias.valid_from) not in listed:
                        yield f"label {alias.raw!r} of {subject(kind, row.slug)}"
    prices = {(p.kind, p.gpu_type, p.endpoint, p.effective_from) for p in document.prices}
    for price in Price.objects.select_related("gpu_type", "endpoint"):
        gpu_type = price.gpu_type.slug if price.gpu_type else None
        endpoint = price.endpoint.slug if price.endpoint else None
        if (price.kind, gpu_type, endpoint, price.effective_from) not in prices:
            yield title_of(price_entry(price))
