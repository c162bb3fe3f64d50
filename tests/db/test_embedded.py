"""The embedded servers as their users meet them: other programs start, share, lose and kill real ones."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.config.embedded import Places, valkey
from tests.db.embedded_harness import ROOT, Holder, kill_servers, postgres_pid, query, server_pids, within


@pytest.fixture(scope="module")
def made_var() -> Iterator[Path]:
    """A var/ with a cluster in it, to copy: making one takes longer than all the rest."""
    # Not pytest's tmp_path: the user that PostgreSQL runs as must get through the directories above.
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    Holder(base / "var").wait_until_holding().leave()
    yield base / "var"
    shutil.rmtree(base)


@pytest.fixture
def var(made_var: Path) -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    subprocess.run(["cp", "-a", made_var, base / "var"], check=True)
    yield base / "var"
    kill_servers(base)
    shutil.rmtree(base)


def test_the_last_one_out_stops_the_servers_and_the_next_one_in_finds_the_data(var: Path) -> None:
    places = Places(var)
    first = Holder(var).wait_until_holding()
    query(places, "CREATE TABLE kept AS SELECT 42 AS answer")
    assert valkey.answers(places)
    assert len(server_pids(var)) == 2
    first.leave()
    assert server_pids(var) == []

    second = Holder(var).wait_until_holding()
    assert query(places, "SELECT answer FROM kept") == [(42,)]
    second.leave()


def test_servers_outlive_a_killed_owner_and_are_adopted_not_doubled(var: Path) -> None:
    places = Places(var)
    first = Holder(var).wait_until_holding()
    query(places, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    before = server_pids(var)
    first.kill()
    assert server_pids(var) == before

    second = Holder(var).wait_until_holding()
    assert server_pids(var) == before
    assert query(places, "SELECT count(*) FROM kept") == [(1000,)]
    second.leave()
    assert server_pids(var) == []


def test_what_was_committed_survives_the_killing_of_everything(var: Path) -> None:
    places = Places(var)
    first = Holder(var).wait_until_holding()
    query(places, "CREATE TABLE kept (n int)")
    for n in range(50):
        query(places, f"INSERT INTO kept VALUES ({n})")
    first.kill()
    kill_servers(var)

    second = Holder(var).wait_until_holding()
    assert query(places, "SELECT count(*), sum(n) FROM kept") == [(50, sum(range(50)))]
    assert valkey.answers(places)
    second.leave()


def test_programs_that_start_at_once_share_one_server_of_each_kind(var: Path) -> None:
    holders = [Holder(var) for _ in range(3)]
    for holder in holders:
        holder.wait_until_holding()
    shared = server_pids(var)
    assert len(shared) == 2
    holders[0].leave()
    holders[1].kill()
    assert server_pids(var) == shared
    assert query(Places(var), "SELECT 1") == [(1,)]
    holders[2].leave()
    assert server_pids(var) == []


def test_a_terminated_program_stops_what_it_started(var: Path) -> None:
    holder = Holder(var).wait_until_holding()
    holder.terminate()
    assert server_pids(var) == []


def test_a_lost_valkey_is_replaced_for_the_next_one_in(var: Path) -> None:
    first = Holder(var).wait_until_holding()
    lost = int((var / "run" / "valkey.pid").read_text())
    os.kill(lost, signal.SIGKILL)
    assert within(5, lambda: not valkey.answers(Places(var)))
    second = Holder(var).wait_until_holding()
    assert valkey.answers(Places(var))
    assert len(server_pids(var)) == 2
    second.leave()
    first.leave()


def test_a_lock_left_behind_whose_number_now_belongs_to_somebody_else_is_no_obstacle(var: Path) -> None:
    lock = var / "postgres" / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{var}/postgres\n1700000000\n5432\n/nowhere\n\n  1 1\nready\n")
    holder = Holder(var).wait_until_holding()
    assert postgres_pid(Places(var)) not in (None, os.getpid())
    holder.leave()


def test_the_remains_of_a_killed_first_start_are_no_obstacle() -> None:
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    half = base / "var" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    try:
        holder = Holder(base / "var").wait_until_holding()
        assert not half.exists()
        holder.leave()
    finally:
        kill_servers(base)
        shutil.rmtree(base)


def test_a_path_too_long_for_a_socket_works_all_the_same(made_var: Path) -> None:
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    var = base / ("a-long-directory-name-" * 6) / "var"
    var.parent.mkdir()
    subprocess.run(["cp", "-a", made_var, var], check=True)
    places = Places(var)
    try:
        assert not places.sockets.is_relative_to(var)
        holder = Holder(var).wait_until_holding()
        assert query(places, "SELECT 1") == [(1,)]
        assert places.sockets.stat().st_mode & 0o777 == 0o700
        holder.leave()
        assert server_pids(var) == []
    finally:
        kill_servers(base)
        shutil.rmtree(base)
        shutil.rmtree(places.sockets, ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_an_ordinary_user_runs_them_too() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    os.chown(base, nobody, nobody)
    try:
        holder = Holder(base / "var", user=nobody).wait_until_holding()
        assert (base / "var" / "postgres").stat().st_uid == nobody
        assert query(Places(base / "var"), "SELECT 1") == [(1,)]
        holder.leave()
        assert server_pids(base) == []
    finally:
        kill_servers(base)
        shutil.rmtree(base)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_directory_that_may_not_be_written_is_one_sentence() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    try:
        said = Holder(base / "var", user=nobody).sentence()
    finally:
        shutil.rmtree(base)
    assert said == (
        f"Cannot write to {base}/var: Permission denied. "
        "Give a writable directory on a local disk with INFEROMETER_VAR=/some/directory."
    )


def test_a_full_disk_is_one_sentence() -> None:
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", base], capture_output=True)
    try:
        if mounted.returncode != 0:
            pytest.skip("needs the right to mount a small disk")
        said = Holder(base / "var").sentence()
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", base], check=True)
        shutil.rmtree(base)
    assert said.startswith(f"The disk of {base}/var has ")
    assert said.endswith("free some space, or choose another directory with INFEROMETER_VAR.")


@pytest.mark.parametrize("command", ["migrate", "run"])
def test_a_command_says_what_is_wrong_without_a_traceback(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=ROOT,
        env={**os.environ, "INFEROMETER_VAR": f"{tmp_path}/file/var", "DJANGO_SETTINGS_MODULE": "apps.config.settings"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("inferometer: Cannot ")
    assert "INFEROMETER_VAR" in done.stderr


def test_a_lone_command_starts_what_it_needs_and_stops_it(var: Path) -> None:
    environment = {**os.environ, "INFEROMETER_VAR": str(var), "DJANGO_SETTINGS_MODULE": "apps.config.settings"}
    environment.pop("DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "contenttypes", "--verbosity", "0", "--skip-checks"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert server_pids(var) == []
    holder = Holder(var).wait_until_holding()
    assert query(Places(var), "SELECT to_regclass('django_content_type') IS NOT NULL") == [(True,)]
    holder.leave()
