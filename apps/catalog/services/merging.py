"""Puts one noun in the place of another: what referred to the old one refers to the new one, and the old one goes."""

from __future__ import annotations

from apps.catalog.models import Alias, ConsumerKey, Deployment, Endpoint, Noun, Price, Replica
from apps.catalog.services.journal import Journal
from apps.catalog.services.nouns import subject
from apps.core.errors import InvalidInput, Problem
from apps.core.time import EPOCH


def merge(journal: Journal, kind: str, old: Noun, into: Noun) -> None:
    """Raises InvalidInput where prices hang on the old noun: they cannot be moved without a decision."""
    if old.pk == into.pk:
        raise InvalidInput(Problem("same", "a noun cannot be merged into itself", "into"))
    if kind == "endpoint" and Price.objects.filter(endpoint_id=old.pk).exists():
        raise InvalidInput(Problem("in_use", f"{old.slug} has prices of its own: remove them first", "into"))
    _repoint(journal, kind, old, into)
    for alias in Alias.objects.filter(kind=kind, target_id=old.pk):
        since = None if alias.valid_from <= EPOCH else alias.valid_from
        following = Alias.objects.filter(kind=kind, raw=alias.raw, valid_from__gt=alias.valid_from)
        until = following.order_by("valid_from").values_list("valid_from", flat=True).first()
        journal.labels_change(since, until, f"{kind} label {alias.raw!r}")
    Alias.objects.filter(kind=kind, target_id=old.pk).update(target_id=into.pk)
    _remove(journal, kind, old, into)


def remove_if_orphan(journal: Journal, kind: str, old: Noun, *, into: Noun) -> None:
    """Remove an unclaimed noun that no label means any more; `into` takes over what referred to it."""
    if old.claimed or Alias.objects.filter(kind=kind, target_id=old.pk).exists():
        return
    if kind == "endpoint" and Price.objects.filter(endpoint_id=old.pk).exists():
        return
    _repoint(journal, kind, old, into)
    _remove(journal, kind, old, into)


def _remove(journal: Journal, kind: str, old: Noun, into: Noun) -> None:
    old_id = old.pk
    old.delete()
    journal.note("merge", f"{subject(kind, old.slug)} into {into.slug}")
    journal.merged(kind, old_id, into.pk)


def _repoint(journal: Journal, kind: str, old: Noun, into: Noun) -> None:
    if kind == "team":
        Endpoint.objects.filter(team_id=old.pk).update(team_id=into.pk)
        ConsumerKey.objects.filter(team_id=old.pk).update(team_id=into.pk)
        _move_deployments(journal, old, into, "owner_id")
    elif kind == "model":
        _move_deployments(journal, old, into, "model_id")


def _move_deployments(journal: Journal, old: Noun, into: Noun, column: str) -> None:
    moved = Deployment.objects.filter(**{column: old.pk})
    for replica in Replica.objects.filter(deployment__in=moved):
        journal.prices_change(replica.held_from, replica.held_until, f"{old.slug} is {into.slug}")
    moved.update(**{column: into.pk})
