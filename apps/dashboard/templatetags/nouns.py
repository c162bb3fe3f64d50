"""Template words for nouns of the catalog."""

from __future__ import annotations

from collections.abc import Mapping

from django import template

from apps.catalog.domain.nouns import Names

register = template.Library()


@register.simple_tag
def noun_name(names: Names, noun_id: int) -> str:
    """The noun's name; one that is gone says so, and 0 is an em dash."""
    return names[noun_id].name if noun_id else "—"


@register.filter
def teams_named(team_ids: frozenset[int] | None, names: Names) -> str:
    """Names in order, or "all" without a limit."""
    if team_ids is None:
        return "all"
    return ", ".join(sorted(names[team].name for team in team_ids)) or "none"


@register.simple_tag
def lookup(words: Mapping[str, str], key: str) -> str:
    return words.get(key, key)
