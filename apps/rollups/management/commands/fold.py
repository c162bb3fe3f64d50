"""`manage.py fold`: bring the facts up to their records, now; or rebuild them."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.time import Window
from apps.rollups import services


class Command(BaseCommand):
    help = "Fold the hours that are behind their records, catalog or outcomes into facts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", help="fold every hour again")
        parser.add_argument("--from", dest="start", type=_moment, help="fold again from this hour on (ISO 8601, UTC)")
        parser.add_argument("--to", dest="end", type=_moment, help="fold again up to this hour, which is left out")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        start, end = options["start"], options["end"]
        if start and end and end <= start:
            raise CommandError("--to must be later than --from")
        if options["all"] or start or end:
            window = Window(start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC))
            hours = services.fold_span(window=window, now=now, progress=self._progress)
        else:
            hours = services.fold_dirty(now=now, progress=self._progress)
        self.stdout.write(f"{len(hours)} hours folded" if hours else "the facts are up to date")

    def _progress(self, done: int, total: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{done} of {total} hours", ending="\n" if done == total else "")
            self.stdout.flush()
        elif done == total or done % 50 == 0:
            self.stdout.write(f"{done} of {total} hours")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
