"""manage.py replay: a recording's directory through the same services as live traffic."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.config.recording.layout import NoRecording
from apps.config.recording.replay import replay


class Command(BaseCommand):
    help = "Replay a recording (gateway.ndjson.gz, outcomes.ndjson.gz, metrics/<replica>/<seconds>.prom.gz)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--speed", type=float, metavar="N", help="play it in time, N times as fast, ending now")
        how.add_argument("--shift-to-now", action="store_true", help="move all times so that the last event is now")

    def handle(self, *args: Any, **options: Any) -> None:
        speed = options["speed"]
        if speed is not None and not 0 < speed < float("inf"):
            raise CommandError(f"--speed {speed}: say a number above 0, for example 10")
        try:
            result = replay(
                options["directory"],
                speed=speed,
                shift_to_now=options["shift_to_now"],
                say=lambda text: self.stdout.write(text),
            )
        except NoRecording as problem:
            raise CommandError(str(problem)) from None
        self.stdout.write(
            f"{result.stored:,} requests stored, {result.duplicate:,} known already, {result.rejected:,} rejected; "
            f"{result.outcomes:,} outcomes, {result.scrapes:,} scrapes"
        )
