"""manage.py ingest FILE...: files through the same door as the API, with a progress bar."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from apps.core.errors import InvalidInput
from apps.ingest.domain.bodies import blocks_of, decompressed, sniffed_encoding
from apps.ingest.services import (
    REQUEST_KINDS,
    BatchAnswer,
    SourceRef,
    holds_outcomes,
    ingest_outcomes,
    ingest_requests,
)

FORMATS = ("auto", *REQUEST_KINDS, "outcomes")
SHOWN_PROBLEMS = 20
WIDTH = 28
_SNIFFED_BYTES = 64 << 10


class Command(BaseCommand):
    help = "Ingest files of requests or outcomes: NDJSON or JSON arrays, plain, gzip or zstd. '-' is standard input."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--format", choices=FORMATS, default="auto", help="default: told by the first record")
        parser.add_argument("--source", default="files", help="name to show for where the records come from")

    def handle(self, *args: Any, **options: Any) -> None:
        totals = [0, 0, 0]
        for name in options["files"]:
            answer = self._file(name, options["format"], options["source"])
            for place, count in enumerate((answer.stored, answer.duplicate, answer.rejected)):
                totals[place] += count
        stored, duplicate, rejected = totals
        self.stdout.write(f"{stored:,} stored, {duplicate:,} duplicate, {rejected:,} rejected")
        if rejected:
            self.stderr.write("rejected records are kept: see them, fix them and send them again under Data health")
            raise SystemExit(1)

    def _file(self, name: str, kind: str, source_name: str) -> BatchAnswer:
        now = datetime.now(UTC)
        source = SourceRef(name=source_name, kind=kind)
        try:
            with _opened(name) as file:
                size = 0 if name == "-" else Path(name).stat().st_size
                bar = _Bar(self.stderr, name, size)
                blocks = _plain(bar.counted(blocks_of(file)))
                if kind == "auto":
                    kind, blocks = _told_outcomes(blocks)
                if kind == "outcomes":
                    answer = ingest_outcomes(
                        source=replace(source, kind="outcomes"), body=blocks, now=now, patient=True
                    )
                else:
                    answer = ingest_requests(
                        source=source,
                        stream=blocks,
                        now=now,
                        patient=True,
                        answers="rejected",
                        progress=bar.show,
                    )
                bar.done(answer)
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror or error}") from None
        except InvalidInput as error:
            raise CommandError(f"{name}: {error}") from None
        for shown in [one for one in answer.results if one.result == "rejected"][:SHOWN_PROBLEMS]:
            for problem in shown.problems:
                self.stderr.write(f"{name}: {problem}")
        if answer.rejected > SHOWN_PROBLEMS:
            self.stderr.write(f"{name}: and {answer.rejected - SHOWN_PROBLEMS:,} more rejected records")
        return answer


def _opened(name: str) -> BinaryIO:
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) if name == "-" else Path(name).open("rb", 0)


def _plain(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks, unpacked by what their first bytes show."""
    first = next(blocks, b"")

    def again() -> Iterator[bytes]:
        yield first
        yield from blocks

    return decompressed(again(), sniffed_encoding(first))


def _told_outcomes(blocks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """ "outcomes" if the first block holds them, else "auto"; and all the blocks."""
    first = next(blocks, b"")
    return "outcomes" if holds_outcomes(first[:_SNIFFED_BYTES]) else "auto", chain([first], blocks)


@dataclass(slots=True)
class _Bar:
    """Progress on a terminal: a bar that is drawn over; elsewhere: a line every few seconds."""

    out: Any
    name: str
    size: int
    read: int = 0
    _started: float = field(default_factory=time.monotonic)
    _shown: float = 0.0

    def counted(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        for block in blocks:
            self.read += len(block)
            yield block

    def show(self, answer: BatchAnswer, _: int) -> None:
        now = time.monotonic()
        if now - self._shown < (0.1 if self.out.isatty() else 5.0):
            return
        self._shown = now
        self._draw(answer, end="")

    def done(self, answer: BatchAnswer) -> None:
        self._draw(answer, end="\n")

    def _draw(self, answer: BatchAnswer, end: str) -> None:
        records = answer.stored + answer.duplicate + answer.rejected
        rate = records / max(time.monotonic() - self._started, 1e-3)
        share = min(1.0, self.read / self.size) if self.size else 0.0
        text = f"{records:,} records, {rate:,.0f}/s"
        if answer.rejected:
            text += f", {answer.rejected:,} rejected"
        if self.size:
            text = f"{share:4.0%} {text}"
        if self.out.isatty():
            filled = round(share * WIDTH)
            bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] " if self.size else ""
            self.out.write(f"\r\x1b[K{Path(self.name).name} {bar}{text}", ending=end)
            self.out.flush()
        else:
            self.out.write(f"{self.name}: {text}")
