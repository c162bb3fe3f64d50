"""Three people to try pages with: Alice administers, Bob leads one team, Charlie leads another; and two more roles."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.test import Client

from apps.accounts import services as accounts
from apps.catalog import selectors as catalog
from apps.catalog import services

PASSWORD = "a long enough secret"


@dataclass(frozen=True, slots=True)
class People:
    alice: Client
    bob: Client
    charlie: Client
    operator: Client
    analyst: Client
    nobody: Client
    stranger: Client
    """Not signed in."""


def people() -> People:
    """Bob leads the team search, Charlie the team support; nobody has no role at all."""
    services.apply(
        document={"teams": [{"slug": "search", "name": "Search"}, {"slug": "support", "name": "Support"}]},
        actor="test",
        dry_run=False,
    )
    teams = {team.slug: team.id for team in catalog.teams()}
    return People(
        alice=_client("alice", "admin"),
        bob=_client("bob", "lead", teams["search"]),
        charlie=_client("charlie", "lead", teams["support"]),
        operator=_client("olga", "operator"),
        analyst=_client("anna", "analyst"),
        nobody=_client("nobody", ""),
        stranger=Client(),
    )


def _client(username: str, role: str, *teams: int) -> Client:
    if role:
        user = accounts.create_person(username=username, password=PASSWORD, role=role, teams=teams)
    else:
        user = User.objects.create_user(username, password=PASSWORD)
    client = Client()
    client.force_login(user)
    return client
