"""Turns labels that nobody has named yet into unclaimed nouns, so that nothing is dropped for being unknown."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from apps.catalog.domain.aliases import KINDS, free_slug, name_of, normalise, slug_of
from apps.catalog.models import TABLES, Alias
from apps.catalog.services.journal import take_lock
from apps.core.time import EPOCH

_NAME_LENGTH = 200


def ensure_nouns(*, raws: set[tuple[str, str]]) -> None:
    """Give every (kind, raw label) that has no alias an unclaimed noun and an alias from the epoch.

    Safe in many workers at once. Writes no change: no hour was ever folded with a label before this has met it.
    Raises ValueError for a kind that labels cannot have.
    """
    if unknown := {kind for kind, _ in raws} - set(KINDS):
        raise ValueError(f"no such kind of label: {sorted(unknown)}")
    wanted = {(kind, normalise(kind, raw)) for kind, raw in raws}
    wanted = {(kind, raw) for kind, raw in wanted if raw}
    if not _missing(wanted):
        return
    with transaction.atomic():
        take_lock()
        missing = _missing(wanted)  # again: another worker may have been faster
        for kind in KINDS:
            _create(kind, sorted(raw for found, raw in missing if found == kind))


def _missing(wanted: set[tuple[str, str]]) -> set[tuple[str, str]]:
    missing: set[tuple[str, str]] = set()
    for kind in {kind for kind, _ in wanted}:
        raws = {raw for found, raw in wanted if found == kind}
        # An alias that only begins at a later date leaves the time before it to nobody.
        known = set(Alias.objects.filter(kind=kind, raw__in=raws, valid_from=EPOCH).values_list("raw", flat=True))
        missing.update((kind, raw) for raw in raws - known)
    return missing


def _create(kind: str, raws: Iterable[str]) -> None:
    raws = list(raws)
    if not raws:
        return
    table = TABLES[kind]
    taken = set(table._default_manager.values_list("slug", flat=True))
    nouns = []
    for raw in raws:
        slug = free_slug(slug_of(kind, raw), taken)
        taken.add(slug)
        nouns.append(table(slug=slug, name=name_of(raw)[:_NAME_LENGTH] or slug, claimed=False))
    stored = table._default_manager.bulk_create(nouns)
    Alias.objects.bulk_create(
        Alias(kind=kind, raw=raw, target_id=noun.pk, valid_from=EPOCH) for raw, noun in zip(raws, stored, strict=True)
    )
