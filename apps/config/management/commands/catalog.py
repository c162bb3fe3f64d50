"""manage.py catalog: applies a catalog file after showing what it changes, or shows the catalog as such a file."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from apps.accounts import services as accounts
from apps.catalog import selectors, services
from apps.catalog.services import Difference, read_text, write_text
from apps.core.errors import InvalidInput
from apps.ingest import services as ingest


class Command(BaseCommand):
    help = "Apply a catalog file (docs/catalog.md), or show the catalog as one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        apply = actions.add_parser("apply", help="make the catalog what a file says, after showing the difference")
        apply.add_argument("file", metavar="FILE", help="a YAML file, or - for standard input")
        apply.add_argument("--dry-run", action="store_true", help="show the difference and change nothing")
        apply.add_argument("--yes", action="store_true", help="do not ask")
        actions.add_parser("show", help="print the catalog as a file that can be applied")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "show":
            self.stdout.write(write_text(selectors.document()), ending="")
            return
        try:
            self._apply(options["file"], dry_run=options["dry_run"], ask=not options["yes"] and sys.stdin.isatty())
        except InvalidInput as error:
            problems = "\n".join(f"  {problem.field or 'file'}: {problem.message}" for problem in error.problems)
            raise CommandError(f"{options['file']} cannot be applied:\n{problems}") from None

    def _apply(self, file: str, *, dry_run: bool, ask: bool) -> None:
        document = read_text(_text_of(file))
        difference = services.apply(document=document, actor=_actor(), dry_run=True)
        self._show(difference)
        if dry_run or difference.is_empty:
            _follow_targets(dry_run=dry_run)
            return
        if ask and input("Apply? [y/N] ").strip().lower() not in ("y", "yes"):
            self.stdout.write("Nothing was changed.")
            return
        with transaction.atomic():
            done = services.apply(
                document=document, actor=_actor(), dry_run=False, audit=accounts.auditor(user=None, actor=_actor())
            )
            for merge in done.merges:
                if merge.kind == "team":
                    accounts.replace_team(old_id=merge.old_id, new_id=merge.new_id)
            _follow_targets(dry_run=False)
        self.stdout.write(f"Applied: {len(done.steps)} {'step' if len(done.steps) == 1 else 'steps'}.")

    def _show(self, difference: Difference) -> None:
        for line in difference.lines():
            self.stdout.write(line)
        if difference.is_empty:
            self.stdout.write("The catalog is already as the file says.")


def _follow_targets(*, dry_run: bool) -> None:
    """The scraper asks the pages that the catalog names, even if somebody had changed its list by hand."""
    if not dry_run:
        targets = [ingest.TargetSpec(name=page.name, url=page.url) for page in selectors.scrape_addresses()]
        ingest.replace_targets(targets=targets)


def _text_of(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not UTF-8 text") from None


def _actor() -> str:
    try:
        return f"catalog apply ({getpass.getuser()})"
    except (KeyError, OSError):  # a container user without a name
        return "catalog apply"
