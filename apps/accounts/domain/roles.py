"""Turns a role into what its holder may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Permission = Literal[
    "account",  # one's own password
    "costs",  # spend, tokens, latency: all teams, or a lead's own
    "exports",
    "engines",
    "health",
    "rejects",  # fix, re-submit and discard rejected records
    "catalog",
    "catalog.edit",
    "prices.edit",
    "settings",  # people and API keys
]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)

_EVERY_PAGE: frozenset[Permission] = frozenset({"account", "costs", "exports", "engines", "health", "catalog"})
GRANTS: Mapping[str, frozenset[Permission]] = {
    "admin": frozenset(PERMISSIONS),
    "operator": _EVERY_PAGE | {"rejects", "catalog.edit"},
    "analyst": _EVERY_PAGE | {"prices.edit"},
    "lead": frozenset({"account", "costs", "exports"}),
    "": frozenset({"account"}),
}


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks. `role` is "" for a person without one; `teams` None means all teams, an empty set none."""

    role: str
    teams: frozenset[int] | None
    user_id: int = 0
    name: str = ""

    def can(self, permission: Permission) -> bool:
        return permission in GRANTS.get(self.role, GRANTS[""])

    def sees_team(self, team_id: int) -> bool:
        return self.teams is None or team_id in self.teams


NOBODY = Viewer(role="", teams=frozenset())
