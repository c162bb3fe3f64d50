"""People, keys and the audit trail."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts import selectors, services
from apps.accounts.domain.guessing import FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS, WINDOW
from apps.accounts.domain.keys import PREFIX_LENGTH, SECRET_LENGTH, prefix_of
from apps.accounts.domain.roles import GRANTS, PERMISSIONS
from apps.accounts.models import ApiKey, AuditEvent, Membership, Role, SignInFailure
from apps.core.errors import InvalidInput

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
GOOD = "a long enough secret"


def test_a_key_works_and_only_its_hash_is_kept() -> None:
    row, key = services.create_key(name="gateway", scopes=["ingest"], actor="test")

    assert key.startswith(f"ifm_{row.prefix}_")
    assert SECRET_LENGTH * 5 >= 160
    row.refresh_from_db()
    assert row.digest == hashlib.sha256(key.encode()).hexdigest()
    assert key.rpartition("_")[2] not in str(ApiKey.objects.values().get()) + str(list(AuditEvent.objects.values()))
    holder = services.authenticate_key(key)
    assert holder is not None
    assert (holder.id, holder.prefix, holder.scopes, holder.teams) == (row.pk, row.prefix, {"ingest"}, None)


def test_keys_differ() -> None:
    keys = [services.create_key(name="k", scopes=["read"])[1] for _ in range(20)]
    assert len(set(keys)) == len({prefix_of(key) for key in keys}) == 20


def test_a_wrong_key_is_nobody() -> None:
    row, key = services.create_key(name="gateway", scopes=["ingest", "read"], teams=[3, 1])
    holder = services.authenticate_key(key)
    assert holder is not None
    assert holder.teams == {1, 3}
    other = "a" if key[-1] != "a" else "b"
    for wrong in [
        "",
        "ifm_",
        key[:-1],
        key[:-1] + other,
        key + "a",
        key.upper(),
        key + "\n",
        f"ifm_{'a' * PREFIX_LENGTH}_{'a' * SECRET_LENGTH}",
        key.replace("ifm", "sk"),
        "ифм_" + key[4:],
        "\x00" + key,
        "x" * 100_000,
    ]:
        assert services.authenticate_key(wrong) is None, wrong[:80]


def test_a_revoked_key_is_nobody() -> None:
    row, key = services.create_key(name="gateway", scopes=["ingest"])
    assert services.revoke_key(key_id=row.pk, actor="test") is True
    assert services.authenticate_key(key) is None
    assert services.revoke_key(key_id=row.pk, actor="test") is False
    assert [event.action for event in selectors.audit_trail()] == ["api_key.revoke", "api_key.create"]


def test_use_is_noted_once_a_minute() -> None:
    row, key = services.create_key(name="gateway", scopes=["ingest"])
    seen = []
    for seconds in (0, 59, 60, 61):
        services.authenticate_key(key, now=NOW + timedelta(seconds=seconds))
        row.refresh_from_db()
        seen.append(row.last_used_at)
    assert seen == [NOW, NOW, NOW + timedelta(seconds=60), NOW + timedelta(seconds=60)]
    with CaptureQueriesContext(connection) as queries:
        services.authenticate_key(key, now=NOW + timedelta(seconds=62))
    assert len(queries) == 1


@pytest.mark.parametrize(
    ("name", "scopes", "teams", "field"),
    [
        ("", ["read"], None, "name"),
        ("k", [], None, "scopes"),
        ("k", ["root"], None, "scopes"),
        ("k", ["read"], [], "teams"),
    ],
)
def test_a_key_needs_a_name_a_scope_and_a_team_if_limited(
    name: str, scopes: list[str], teams: list[int] | None, field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        services.create_key(name=name, scopes=scopes, teams=teams)
    assert [problem.field for problem in caught.value.problems] == [field]


def test_the_first_admin_is_made_once() -> None:
    first = services.ensure_first_admin(password=None)
    assert first.created
    assert first.password
    assert selectors.viewer(User.objects.get()).role == "admin"
    assert services.try_sign_in(username=first.username, password=first.password, address="a").user

    again = services.ensure_first_admin(password="something else entirely")
    assert (again.created, again.password, again.username) == (False, None, first.username)
    assert User.objects.count() == 1


def test_a_first_admin_is_made_beside_people_who_cannot_administer() -> None:
    services.create_person(username="admin", password=GOOD, role="analyst")
    first = services.ensure_first_admin(password=GOOD)
    assert (first.username, first.password, first.created) == ("admin2", GOOD, True)


def test_what_each_person_may() -> None:
    alice = services.create_person(username="alice", password=GOOD, role="admin")
    bob = services.create_person(username="bob", password=GOOD, role="lead", teams=[4, 2, 4])
    charlie = User.objects.create_user("charlie")

    assert all(selectors.viewer(alice).can(permission) for permission in PERMISSIONS)
    seen = selectors.viewer(bob)
    assert seen.teams == {2, 4}
    assert seen.can("costs")
    assert not any(seen.can(p) for p in ("catalog", "catalog.edit", "prices.edit", "settings", "engines", "health"))
    assert seen.sees_team(2)
    assert not seen.sees_team(3)
    nobody = selectors.viewer(charlie)
    assert nobody.teams == frozenset()
    assert [p for p in PERMISSIONS if nobody.can(p)] == ["account"]
    assert not any(selectors.viewer(AnonymousUser()).can(p) for p in PERMISSIONS if p != "account")


def test_roles_that_exist_have_their_grants() -> None:
    assert set(GRANTS) == {*Role.values, ""}
    assert not GRANTS["operator"] & {"settings", "prices.edit"}
    assert not GRANTS["analyst"] & {"settings", "catalog.edit", "rejects"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"username": "ALICE"}, "username"),
        ({"username": "no spaces"}, "username"),
        ({"username": ""}, "username"),
        ({"password": "short"}, "password"),
        ({"password": "password123"}, "password"),
        ({"role": "king"}, "role"),
        ({"role": "lead"}, "teams"),
    ],
)
def test_a_person_that_cannot_be(changes: dict[str, str], field: str) -> None:
    services.create_person(username="alice", password=GOOD, role="admin")
    with pytest.raises(InvalidInput) as caught:
        services.create_person(**{"username": "dora", "password": GOOD, "role": "analyst", **changes})  # type: ignore[arg-type]
    assert {problem.field for problem in caught.value.problems} == {field}
    assert User.objects.count() == 1


def test_the_last_admin_cannot_go() -> None:
    alice = services.create_person(username="alice", password=GOOD, role="admin")
    for role, active in (("analyst", True), ("admin", False)):
        with pytest.raises(InvalidInput, match="another admin first"):
            services.change_person(user_id=alice.pk, role=role, teams=[], active=active)
    services.create_person(username="bella", password=GOOD, role="admin")
    services.change_person(user_id=alice.pk, role="lead", teams=[1], active=True)
    alice.refresh_from_db()
    assert selectors.viewer(User.objects.get(pk=alice.pk)).teams == {1}


def test_a_superuser_who_becomes_a_lead_is_none_any_more(admin: User) -> None:
    services.create_person(username="bella", password=GOOD, role="admin")
    services.change_person(user_id=admin.pk, role="lead", teams=[1], active=True)
    assert selectors.viewer(User.objects.get(pk=admin.pk)).role == "lead"


def test_somebody_switched_off_is_nobody() -> None:
    services.create_person(username="alice", password=GOOD, role="admin")
    bob = services.create_person(username="bob", password=GOOD, role="analyst")
    services.change_person(user_id=bob.pk, role="analyst", teams=[], active=False)
    bob.refresh_from_db()
    assert selectors.viewer(bob).role == ""
    assert services.try_sign_in(username="bob", password=GOOD, address="a").user is None


def test_leads_follow_a_merged_team() -> None:
    bob = services.create_person(username="bob", password=GOOD, role="lead", teams=[1, 2])
    services.replace_team(old_id=2, new_id=5)
    assert Membership.objects.get(user=bob).teams == [1, 5]


def test_keys_follow_a_merged_team() -> None:
    row, _ = services.create_key(name="k", scopes=["read"], teams=[2, 9])
    services.replace_team(old_id=2, new_id=5)
    row.refresh_from_db()
    assert row.teams == [5, 9]


def try_with(password: str, *, name: str = "alice", address: str = "10.0.0.1", at: datetime = NOW) -> services.SignIn:
    return services.try_sign_in(username=name, password=password, address=address, now=at)


def test_guessing_is_slowed_down_and_waiting_helps() -> None:
    services.create_person(username="alice", password=GOOD, role="admin")
    for _ in range(FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS):
        assert try_with("wrong") == services.SignIn(None)

    assert try_with(GOOD) == services.SignIn(None, wait=True)
    assert try_with(GOOD, name="Alice ").wait
    assert try_with(GOOD, address="10.0.0.2").user
    assert try_with(GOOD, at=NOW + WINDOW - timedelta(seconds=1)).wait
    assert try_with(GOOD, at=NOW + WINDOW).user


def test_a_right_password_forgives_the_tries_before_it() -> None:
    services.create_person(username="alice", password=GOOD, role="admin")
    for _ in range(3):
        for _ in range(FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS - 1):
            try_with("wrong")
        assert try_with(GOOD).user


def test_many_names_from_one_address_are_slowed_down_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.accounts.domain.guessing.FAILURES_FROM_ONE_ADDRESS", 10)
    for number in range(10):
        assert not try_with("wrong", name=f"n{number}").wait
    assert try_with("wrong", name="n11").wait


def test_what_was_typed_as_a_name_is_not_kept() -> None:
    try_with("x", name="my-password-by-mistake")
    assert "mistake" not in str(list(SignInFailure.objects.values()))


def test_strange_names_are_refused_without_an_error() -> None:
    for name in ("\x00", "a\x00b", "\ud800", "x" * 10_000, ""):
        assert try_with("x", name=name).user is None


def test_the_trail_pages_and_filters() -> None:
    alice = User.objects.create_user("alice")
    for number in range(5):
        services.record(user=alice, action="catalog.change", subject=f"team t{number}", detail={"n": number})
    services.auditor(user=None, actor="cron")("api_key.revoke", "API key x", {})
    newest = selectors.audit_trail(limit=2)
    assert [(row.actor, row.subject) for row in newest] == [("cron", "API key x"), ("alice", "team t4")]
    older = selectors.audit_trail(limit=2, before_id=newest[-1].id, action="catalog.")
    assert [row.subject for row in older] == ["team t3", "team t2"]
    assert [row.detail for row in selectors.audit_trail(subject="t1")] == [{"n": 1}]
