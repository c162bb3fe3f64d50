#!/usr/bin/env python
"""Django's command line. What is wrong with settings, disks or servers is one sentence and exit code 1."""

import os
import signal
import sys
from importlib import import_module


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "apps.config.settings")
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


if __name__ == "__main__":
    main()
