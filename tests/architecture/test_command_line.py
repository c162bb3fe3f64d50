"""manage.py started by a Python without packages, and make before a .venv that is not ours: a sentence each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "manage.py", tmp_path)
    return tmp_path


def without_packages(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-S", str(checkout / "manage.py"), "check", "--deploy"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30, check=False)


def python_of(checkout: Path, script: str) -> None:
    path = checkout / ".venv" / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_packages_it_says_what_to_do(checkout: Path) -> None:
    done = without_packages(checkout)
    assert done.returncode == 1
    assert "make run" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_python_of_the_checkout_goes_on_with_the_same_words(checkout: Path) -> None:
    python_of(checkout, 'echo "$@"')
    done = without_packages(checkout)
    assert (done.returncode, done.stdout) == (0, f"{checkout / 'manage.py'} check --deploy\n")


def test_a_python_of_the_checkout_without_packages_is_tried_once(checkout: Path) -> None:
    python_of(checkout, f'exec {sys.executable} -S "$@"')
    done = without_packages(checkout)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_make_never_removes_what_it_did_not_make(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "constraints.txt").touch()
    mine = tmp_path / ".venv" / "mine"
    mine.parent.mkdir()
    mine.touch()
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$2" in venv) exit 1;; esac\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["make", f"PYTHON={python}", ".venv/bin/python"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "venv module is needed" in done.stderr
    assert mine.exists()
