"""`manage.py attribute`: bring the ledger up to its facts and prices, now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.attribution import services


class Command(BaseCommand):
    help = "Attribute the hours that are behind their facts or prices."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", help="attribute every folded hour again")

    def handle(self, *args: Any, **options: Any) -> None:
        attribute = services.attribute_all if options["all"] else services.attribute_dirty
        hours = attribute(now=timezone.now(), progress=self._progress)
        self.stdout.write(f"{len(hours)} hours attributed" if hours else "the ledger is up to date")

    def _progress(self, done: int, total: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\r{done} of {total} hours", ending="\n" if done == total else "")
            self.stdout.flush()
        elif done == total or done % 50 == 0:
            self.stdout.write(f"{done} of {total} hours")
