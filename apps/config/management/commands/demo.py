"""manage.py demo: a week of a recording behind, and the same going on live."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from signal import SIGTERM, signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.config.recording.demo import Demo, prepare
from apps.config.recording.layout import NoRecording
from apps.config.recording.live import run_live


class Command(BaseCommand):
    help = "Lay the recording of two engines out over the last seven days (--prepare), and go on with it live (--live)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--prepare", action="store_true", help="fill in what is missing up to now, and end")
        what.add_argument("--live", action="store_true", help="fill in, then post to the running server until stopped")
        parser.add_argument(
            "--recording", type=Path, default=Path(settings.BASE_DIR) / "recordings" / "two-engines", metavar="DIR"
        )
        parser.add_argument("--server", default="", help="address of the running server, for --live")

    def handle(self, *args: Any, **options: Any) -> None:
        demo = Demo(options["recording"], Path(settings.VAR_DIR))

        def say(text: str) -> None:
            self.stdout.write(f"demo: {text}")
            self.stdout.flush()

        signal(SIGTERM, lambda *_: sys.exit(0))
        try:
            if options["prepare"]:
                prepare(demo, say=say)
            else:
                run_live(demo, server=(options["server"] or _server()).rstrip("/"), say=say)
        except NoRecording as problem:
            raise CommandError(str(problem)) from None
        except KeyboardInterrupt:
            say("stopped")


def _server() -> str:
    return f"http://127.0.0.1:{settings.PORT}"
