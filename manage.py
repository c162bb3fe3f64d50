#!/usr/bin/env python
"""Django's command line. What is wrong with settings, disks or servers is one sentence and exit code 1."""

import os
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_PYTHON = Path(__file__).resolve().parent / ".venv" / "bin" / "python"
_TRIED = "INFEROMETER_PYTHON_CHOSEN"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "apps.config.settings")
    _need_packages()
    # A terminated command leaves as an interrupted one does, so that it stops the servers it started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    from apps.config.embedded import ServerError
    from apps.config.environment import SettingError

    try:
        import_module(os.environ["DJANGO_SETTINGS_MODULE"])
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except (ServerError, SettingError) as failure:
        sys.exit(f"inferometer: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


def _need_packages() -> None:
    """Started by a Python that has no packages, go on with the one of `make run`, once."""
    tried = os.environ.pop(_TRIED, "")
    if find_spec("django") and find_spec("psycopg"):
        return
    if not tried and os.access(_PYTHON, os.X_OK):
        os.environ[_TRIED] = "1"
        os.execv(_PYTHON, [str(_PYTHON), *sys.argv])
    sys.exit("inferometer: the packages are not installed: run `make run` once first, it puts them into .venv")


if __name__ == "__main__":
    main()
