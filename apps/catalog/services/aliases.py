"""Writes aliases: what a raw label means from a date on, and which hours are therefore folded again."""

from __future__ import annotations

from datetime import datetime

from apps.catalog.domain.aliases import KINDS, RAW_LENGTH, normalise
from apps.catalog.models import TABLES, Alias, Noun
from apps.catalog.services.journal import Audit, Journal, writing
from apps.catalog.services.merging import remove_if_orphan
from apps.catalog.services.nouns import noun, subject
from apps.core.errors import InvalidInput, Problem
from apps.core.time import EPOCH


def point_alias(*, kind: str, raw: str, target_id: int, valid_from: datetime = EPOCH, audit: Audit) -> None:
    """From `valid_from` on, this label means that noun. An unclaimed noun that nothing means any more is removed.

    Raises InvalidInput for a kind without labels, an empty label, or a noun that does not exist.
    """
    if kind not in KINDS:
        raise InvalidInput(Problem("unknown", f"{kind} has no labels: use {', '.join(KINDS)}", "kind"))
    text = normalise(kind, raw)
    if not text:
        raise InvalidInput(Problem("missing", "the label is empty", "raw"))
    with writing(audit) as journal:
        write_alias(journal, kind=kind, raw=text, target=noun(kind, target_id), valid_from=valid_from)


def remove_alias(*, alias_id: int, audit: Audit) -> None:
    """Forget an alias; what it meant goes to the alias before it, or comes back as unclaimed."""
    with writing(audit) as journal:
        alias = Alias.objects.filter(pk=alias_id).first()
        if alias is None:
            raise InvalidInput(Problem("unknown", "there is no such alias any more"))
        _note_span(journal, alias.kind, alias.raw, alias.valid_from)
        target = noun(alias.kind, alias.target_id)
        alias.delete()
        journal.note("remove", f"alias {alias.raw!r} of {subject(alias.kind, target.slug)}", _since(alias.valid_from))


def write_alias(
    journal: Journal, *, kind: str, raw: str, target: Noun, valid_from: datetime, told: bool = True
) -> None:
    """`raw` must be normalised. Pointing it where it points already writes nothing.

    `told` False: a new alias is no step of its own, since it comes with its noun.
    """
    present = Alias.objects.filter(kind=kind, raw=raw, valid_from=valid_from).first()
    if present is not None and present.target_id == target.pk:
        return
    _note_span(journal, kind, raw, valid_from)
    where = _since(valid_from)
    if present is None:
        Alias.objects.create(kind=kind, raw=raw[:RAW_LENGTH], target_id=target.pk, valid_from=valid_from)
        if told:
            journal.note("alias", f"{raw!r} means {subject(kind, target.slug)}", where)
        return
    old = TABLES[kind]._default_manager.filter(pk=present.target_id).first()
    present.target_id = target.pk
    present.save(update_fields=["target_id"])
    journal.note(
        "alias", f"{raw!r} means {subject(kind, target.slug)}", where, f"before: {old.slug if old else 'none'}"
    )
    if old is not None:
        remove_if_orphan(journal, kind, old, into=target)


def _note_span(journal: Journal, kind: str, raw: str, valid_from: datetime) -> None:
    """Hours from this alias to the next one of its label.

    A label that has no alias from the epoch has never been met (`ensure_nouns` gives it one before it is folded), so
    that no hour can change.
    """
    same = Alias.objects.filter(kind=kind, raw=raw)
    if not same.filter(valid_from=EPOCH).exists():
        return
    following = same.filter(valid_from__gt=valid_from).order_by("valid_from").first()
    since = None if valid_from <= EPOCH else valid_from
    journal.labels_change(since, following.valid_from if following else None, f"{kind} label {raw!r}")


def _since(valid_from: datetime) -> str:
    return "always" if valid_from <= EPOCH else f"from {valid_from.isoformat().replace('+00:00', 'Z')}"
