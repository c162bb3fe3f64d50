"""The supervised group: one log, one stop, one reason; first with small programs, then the whole product."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.db.embedded_harness import ROOT, kill_servers, server_pids, within

DRIVER = """
import json, sys
from pathlib import Path
from apps.config.supervisor import Group, Journal, Program
def program(text, then=None, name=""):
    return Program(name, (sys.executable, "-c", text), then)
programs = []
for name, *texts in json.loads(sys.argv[1]):
    following = None
    for text in reversed(texts):
        following = program(text, following, name)
    programs.append(following)
raise SystemExit(Group(programs, Journal(Path(sys.argv[2]), [p.name for p in programs])).run())
"""
FOREVER = "import time\nprint('here', flush=True)\nwhile True: time.sleep(0.1)"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FOREVER
DIES = "import sys, time\ntime.sleep(0.3)\nprint('no more disk')\nsys.exit(7)"
ENDS = "print('prepared')"


class Running:
    """A supervisor over small programs, given as (name, text, text of its successor...)."""

    def __init__(self, log: Path, *programs: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, json.dumps(programs), str(log)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_for(self, line: str) -> None:
        assert self.process.stdout
        for said in self.process.stdout:
            if said.rstrip("\n") == line:
                return
        raise AssertionError(f"it ended without saying {line!r}")

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def rest(self) -> str:
        return self.process.communicate(timeout=10)[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_leaves_nobody_behind_within_five_seconds(number: signal.Signals, tmp_path: Path) -> None:
    running = Running(tmp_path, ("web", FOREVER), ("worker", STUBBORN))
    running.wait_for("worker │ here")
    children = running.children()
    began = time.monotonic()
    running.process.send_signal(number)
    said = running.rest()
    assert time.monotonic() - began < 5
    assert running.process.returncode == 0
    assert f"run    │ {number.name}: stopping." in said
    assert not any(child.is_running() for child in children)


def test_one_that_dies_takes_the_others_with_it_and_says_why(tmp_path: Path) -> None:
    running = Running(tmp_path, ("web", FOREVER), ("worker", DIES))
    began = time.monotonic()
    said = running.rest()
    assert time.monotonic() - began < 5
    assert running.process.returncode == 1
    assert "run    │ worker ended with exit code 7; stopping the others." in said
    assert "run    │ worker said last: no more disk" in said
    assert (tmp_path / "worker.log").read_text() == "no more disk\n"


def test_one_that_is_killed_is_reported_by_the_name_of_the_signal(tmp_path: Path) -> None:
    running = Running(tmp_path, ("web", FOREVER), ("worker", FOREVER))
    running.wait_for("worker │ here")
    running.children()[1].kill()
    said = running.rest()
    assert running.process.returncode == 1
    assert "worker was killed by SIGKILL; stopping the others." in said


def test_a_first_step_hands_over_to_its_successor(tmp_path: Path) -> None:
    running = Running(tmp_path, ("demo", ENDS, FOREVER))
    running.wait_for("demo │ prepared")
    running.wait_for("demo │ here")
    running.process.terminate()
    running.rest()
    assert running.process.returncode == 0


def test_a_first_step_that_fails_has_no_successor(tmp_path: Path) -> None:
    running = Running(tmp_path, ("demo", DIES, FOREVER))
    assert "demo ended with exit code 7" in running.rest()
    assert running.process.returncode == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans on Linux only")
def test_a_killed_supervisor_leaves_no_orphans(tmp_path: Path) -> None:
    running = Running(tmp_path, ("web", FOREVER), ("worker", FOREVER))
    running.wait_for("worker │ here")
    children = running.children()
    running.process.kill()
    running.process.communicate()
    assert within(5, lambda: not any(_alive(child) for child in children))


def _alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_reading_only_the_head_of_the_log_stops_the_group(tmp_path: Path) -> None:
    talks = "import time\nwhile True:\n    print('word', flush=True)\n    time.sleep(0.01)"
    running = Running(tmp_path, ("web", talks))
    running.wait_for("web │ word")
    assert running.process.stdout
    running.process.stdout.close()
    assert running.process.wait(timeout=5) == 0


# The whole product.


class Product:
    """`manage.py run` over a var/ and port of its own."""

    def __init__(self, var: Path, port: int) -> None:
        self.port = port
        self.out = (var.parent / "out").open("w+")
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "run"], cwd=ROOT, env=environment(var, port), stdout=self.out, stderr=self.out
        )

    def wait_until_served(self) -> float:
        """Seconds from the start to the first good answer."""
        assert within(60, lambda: self.health() is not None or self.process.poll() is not None)
        assert self.process.poll() is None, self.said()
        return time.monotonic() - self.began

    def health(self) -> dict[str, str] | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                return dict(json.load(answer))
        except OSError:
            return None

    def said(self) -> str:
        self.out.seek(0)
        return self.out.read()

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """Seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=20)
        return time.monotonic() - began


def environment(var: Path, port: int) -> dict[str, str]:
    mine = {"INFEROMETER_VAR": str(var), "INFEROMETER_PORT": str(port), "DEMO": "0"}
    inherited = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "BROKER_URL")}
    return {**inherited, **mine, "DJANGO_SETTINGS_MODULE": "apps.config.settings"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        return int(trial.getsockname()[1])


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="inferometer-test-"))
    base.chmod(0o755)
    yield base / "var"
    kill_servers(base)
    shutil.rmtree(base)


def test_the_product_starts_serves_and_stops(var: Path) -> None:
    first = Product(var, free_port())
    first.wait_until_served()
    health = first.health()
    assert health and (health["status"], health["database"], health["broker"]) == ("ok", "ok", "ok")
    password = (var / "first-admin-password").read_text().strip()
    assert within(5, lambda: f"Sign in as admin with the password {password}" in first.said())
    assert (var / "first-admin-password").stat().st_mode & 0o077 == 0

    second = subprocess.run(
        [sys.executable, "manage.py", "run"], cwd=ROOT, env=environment(var, first.port), capture_output=True, text=True
    )
    assert second.returncode == 1
    assert second.stderr.startswith(f"inferometer: Already running over {var}: process {first.process.pid}, http://")
    assert second.stderr.count("\n") == 1

    assert first.stop() < 5
    assert first.process.returncode == 0
    assert server_pids(var) == []


def test_the_product_starts_again_quickly_and_a_dead_worker_stops_it_with_the_reason(var: Path) -> None:
    again = Product(var, free_port())
    seconds = again.wait_until_served()
    assert password_told(again) == 0, "the password is told once"
    workers = [child for child in psutil.Process(again.process.pid).children() if "worker@%h" in child.cmdline()]
    workers[0].kill()
    began = time.monotonic()
    assert again.process.wait(timeout=20) == 1
    assert time.monotonic() - began < 5
    assert "worker was killed by SIGKILL; stopping the others." in again.said()
    assert server_pids(var) == []
    # The promise is 5 s on an idle machine; test machines are busy.
    assert seconds < 15


def password_told(product: Product) -> int:
    return product.said().count("with the password")


def test_a_taken_port_is_one_sentence(var: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "manage.py", "run"], cwd=ROOT, env=environment(var, port), capture_output=True, text=True
        )
    assert done.returncode == 1
    assert done.stderr.startswith(f"inferometer: Port {port} on 127.0.0.1 is taken by another program")
    assert "INFEROMETER_PORT" in done.stderr
    assert done.stderr.count("\n") == 1
