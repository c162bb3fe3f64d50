"""Settings out of variables: what is accepted, and what is said about the rest."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.config.embedded.places import SOCKET_PATH_BYTES, Places
from apps.config.embedded.tuning import MIB, settings_text
from apps.config.environment import Environment, SettingError, database_entry, kept_secret

NAME = "SOME_NAME"


def read(value: str) -> Environment:
    return Environment({NAME: value})


@pytest.mark.parametrize(
    ("value", "expected"), [("1", True), ("yes", True), ("TRUE", True), ("0", False), ("off", False), ("", True)]
)
def test_a_flag_is_a_yes_or_a_no(value: str, expected: bool) -> None:
    assert read(value).flag(NAME, default=True) is expected


@pytest.mark.parametrize(
    ("take", "value", "sentence"),
    [
        (lambda env: env.flag(NAME, False), "maybe", "SOME_NAME='maybe' is not a yes or no: use 1 or 0."),
        (lambda env: env.whole(NAME, 8800), "80a", "SOME_NAME='80a' is not a whole number: use for example 8800."),
        (
            lambda env: env.whole(NAME, 8800, least=1, most=65535),
            "70000",
            "SOME_NAME='70000' is out of range: use 1 to 65535.",
        ),
        (lambda env: env.choice(NAME, "A", ("A", "B")), "C", "SOME_NAME='C' is not known: use one of A, B."),
        (
            lambda env: env.url(NAME, "", ("postgresql",)),
            "mysql://me:secret@host/db",
            "SOME_NAME starts with 'mysql': use one of postgresql://.",
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_name_and_a_right_one(
    take: Callable[[Environment], object], value: str, sentence: str
) -> None:
    with pytest.raises(SettingError) as told:
        take(read(value))
    assert str(told.value) == sentence


def test_a_secret_also_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    assert Environment({f"{NAME}_FILE": str(file)}).secret(NAME) == "s3cret"
    with pytest.raises(SettingError, match="both given"):
        Environment({f"{NAME}_FILE": str(file), NAME: "other"}).secret(NAME)
    with pytest.raises(SettingError, match="SOME_NAME_FILE='.*missing' cannot be read"):
        Environment({f"{NAME}_FILE": str(tmp_path / "missing")}).secret(NAME)


def test_a_kept_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret-key"
    secret = kept_secret(path)
    assert len(secret) >= 50
    assert kept_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret-key"]


def test_an_empty_secret_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "secret-key"
    path.touch()
    assert kept_secret(path)


def test_a_database_url_keeps_every_part() -> None:
    entry = database_entry("postgresql://me:p%40ss@db.example:6432/costs?sslmode=verify-full&application_name=x")
    assert entry == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "costs",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "verify-full", "application_name": "x"},
    }


def test_a_database_url_may_name_a_socket() -> None:
    entry = database_entry("postgresql://postgres@/inferometer?host=/var/run/sockets&port=5432")
    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == ("/var/run/sockets", "5432", "inferometer")


def test_sockets_move_out_of_a_var_that_is_too_deep() -> None:
    near = Places(Path("/srv/inferometer/var"))
    assert near.sockets == Path("/srv/inferometer/var/run/sockets")
    far = Places(Path("/" + "deep/" * 30 + "var"))
    assert len(str(far.postgres_socket)) <= SOCKET_PATH_BYTES
    assert far.sockets.parent == Path("/tmp")
    assert far.sockets == Places(far.var).sockets
    assert far.sockets != Places(Path("/" + "deep/" * 31 + "var")).sockets


@pytest.mark.parametrize(
    ("memory_gib", "buffers"), [(0.5, "128MB"), (2, "256MB"), (8, "1024MB"), (512, "1024MB")], ids=str
)
def test_buffers_follow_the_memory_within_bounds(memory_gib: float, buffers: str) -> None:
    text = settings_text(sockets=Path("/run/it's"), memory=int(memory_gib * 1024 * MIB), shared=1024 * MIB)
    assert f"shared_buffers = {buffers}\n" in text
    assert "unix_socket_directories = '/run/it''s'\n" in text
    for promise in ("fsync = on", "synchronous_commit = on", "full_page_writes = on", "listen_addresses = ''"):
        assert f"{promise}\n" in text


def test_a_small_dev_shm_is_not_used() -> None:
    text = settings_text(sockets=Path("/run"), memory=1024 * MIB, shared=64 * MIB)
    assert "dynamic_shared_memory_type = mmap\n" in text
