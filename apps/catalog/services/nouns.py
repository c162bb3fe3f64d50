"""Writes one noun: creates it, claims it, changes its fields, and says which hours come out differently."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from apps.catalog.domain.document import REFERENCES
from apps.catalog.domain.document.values import shown
from apps.catalog.models import TABLES, Deployment, Noun, Replica
from apps.catalog.services.journal import Journal
from apps.core.errors import InvalidInput, Problem

WORDS: Mapping[str, str] = {"gpu_type": "GPU type"}
"""Kinds whose name is not their word."""


def word(kind: str) -> str:
    return WORDS.get(kind, kind)


def subject(kind: str, slug: str) -> str:
    return f"{word(kind)} {slug}"


def noun(kind: str, noun_id: int) -> Noun:
    """Raises InvalidInput where there is none."""
    row = TABLES[kind]._default_manager.filter(pk=noun_id).first()
    if row is None:
        raise InvalidInput(Problem("unknown", f"there is no {word(kind)} number {noun_id} any more"))
    return row


def write_noun(
    journal: Journal, *, kind: str, slug: str, fields: Mapping[str, object], row: Noun | None = None, path: str = ""
) -> Noun:
    """Make the noun so; the same fields again write nothing. `fields` are as in a `NounSpec`.

    Without `row` the noun is found by its slug, or created. With it, `slug` is its (perhaps new) slug.
    """
    if row is None:
        row = TABLES[kind]._default_manager.filter(slug=slug).first()
    if row is None:
        return _create(journal, kind, slug, fields, path)
    return _update(journal, kind, row, slug, fields, path)


def _create(journal: Journal, kind: str, slug: str, fields: Mapping[str, object], path: str) -> Noun:
    row = TABLES[kind](slug=slug, name=str(fields.get("name") or slug), claimed=True)
    details = _assign(kind, row, fields, path)
    row.save()
    journal.note("create", subject(kind, slug), *details)
    if isinstance(row, Replica) and (row.held_from or row.held_until):
        journal.labels_change(row.held_from, row.held_until, f"{slug} held its GPUs")
    return row


def _update(journal: Journal, kind: str, row: Noun, slug: str, fields: Mapping[str, object], path: str) -> Noun:
    before = _history(row)
    details = []
    if row.slug != slug:
        if TABLES[kind]._default_manager.filter(slug=slug).exists():
            raise InvalidInput(Problem("taken", f"there is another {word(kind)} with this slug", _at(path, "slug")))
        details.append(f"slug: {row.slug} -> {slug}")
        row.slug = slug
    details += _assign(kind, row, fields, path)
    if not details and row.claimed:
        return row
    verb = "change" if row.claimed else "claim"
    row.claimed = True
    row.save()
    journal.note("claim" if verb == "claim" else "change", subject(kind, slug), *details)
    _note_history(journal, row, before)
    return row


def _assign(kind: str, row: Noun, fields: Mapping[str, object], path: str) -> list[str]:
    """Set the fields that differ; a sentence for each."""
    details = []
    for name, value in fields.items():
        target = REFERENCES.get((kind, name))
        old: object = getattr(row, name)
        new: object = _referred(target, value, _at(path, name)) if target else value
        if old == new:
            continue
        details.append(f"{name}: {_words(old)} -> {_words(new)}" if row.pk else f"{name}: {_words(new)}")
        setattr(row, name, new)
    if isinstance(row, Replica) and row.held_from and row.held_until and row.held_until <= row.held_from:
        # One of the two may come from the file, the other from the table.
        raise InvalidInput(Problem("order", "must be later than held_from", _at(path, "held_until")))
    return details


def _referred(kind: str, value: object, path: str) -> Noun | None:
    if value is None:
        return None
    row = TABLES[kind]._default_manager.filter(slug=value).first()
    if row is None:
        raise InvalidInput(Problem("unknown", f"there is no {word(kind)} {shown(value)}", path))
    return row


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _words(value: object) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, Noun):
        return value.slug
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(value)


_HISTORY: Mapping[type[Noun], tuple[str, ...]] = {
    Deployment: ("model_id", "owner_id", "gpu_type_id", "gpus_per_replica"),
    Replica: ("deployment_id", "held_from", "held_until"),
}


def _history(row: Noun) -> dict[str, object]:
    """The fields on which facts and costs of the past depend."""
    return {name: getattr(row, name) for name in _HISTORY.get(type(row), ())}


def _note_history(journal: Journal, row: Noun, before: Mapping[str, object]) -> None:
    changed = {name for name, value in before.items() if getattr(row, name) != value}
    if isinstance(row, Replica):
        if "deployment_id" in changed:
            journal.prices_change(row.held_from, row.held_until, f"{row.slug} belongs to another deployment")
        for edge in ("held_from", "held_until"):
            if edge in changed:
                _note_edge(journal, row, edge, before[edge])
    elif isinstance(row, Deployment) and changed:
        for replica in row.replicas.all():
            journal.prices_change(replica.held_from, replica.held_until, f"{row.slug}: {', '.join(sorted(changed))}")


def _note_edge(journal: Journal, row: Replica, edge: str, old: object) -> None:
    """Hours between the old and the new edge are held now and were not, or the reverse; None is far away."""
    moments = sorted(moment for moment in (old, getattr(row, edge)) if isinstance(moment, datetime))
    since: datetime | None = moments[0]
    until: datetime | None = moments[-1]
    if len(moments) == 1:
        since, until = (None, until) if edge == "held_from" else (since, None)
    journal.labels_change(since, until, f"{row.slug} held its GPUs {edge.removeprefix('held_')} another time")
