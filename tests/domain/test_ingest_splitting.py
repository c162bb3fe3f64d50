"""Bodies that are wrong from end to end: what was good is kept, and reading ends before it costs much."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.time import to_micros
from apps.ingest.domain.limits import MAX_DEPTH, Sizes
from apps.ingest.domain.outcomes import read_outcomes
from apps.ingest.domain.reading import Reader
from apps.ingest.domain.splitting import Stopped, elements_of
from apps.ingest.domain.structure import Structure
from apps.ingest.sources import litellm, native

NOW = to_micros(datetime(2026, 11, 30, 9, tzinfo=UTC))
MIB = 1 << 20
GOOD = b'{"id":"%d","started_at":"2026-11-30T08:00:00Z","status":"ok"}'

Read = tuple[int, int, Stopped | None]


def by_native(blocks: Iterator[bytes], sizes: Sizes | None = None) -> Read:
    return _requests(Reader(native, "x", NOW, b"secret", sizes or Sizes()), blocks)


def by_litellm(blocks: Iterator[bytes]) -> Read:
    return _requests(Reader(litellm, "x", NOW, b"secret"), blocks)


def by_outcomes(blocks: Iterator[bytes]) -> Read:
    decided, rejected, stopped = read_outcomes(blocks, "x", NOW)
    return len(decided), len(rejected), stopped


def _requests(reader: Reader, blocks: Iterator[bytes]) -> Read:
    good, bad, stopped = 0, 0, None
    for chunk in reader.chunks(blocks):
        good += len(chunk.records) if chunk.records else 0
        bad += len(chunk.rejected)
        stopped = chunk.stopped
    return good, bad, stopped


def repeated(unit: bytes, head: bytes, mebibytes: int) -> Iterator[bytes]:
    yield head
    block = unit * (MIB // len(unit))
    for _ in range(mebibytes):
        yield block


NAMES = b",".join(b'"n%d":1' % i for i in range(80_000))
BODIES = {
    "brackets": (b"[", b""),
    "brackets on lines": (b"[\n", b""),
    "numbers": (b"1,", b"["),
    "texts": (b'"",', b"["),
    "nulls": (b"null,", b"["),
    "objects": (b"{},", b"["),
    "lines": (b"[\n", b"{}\n"),
    "objects on lines": (b"{}\n", b""),
    "commas": (b",", b"[1"),
    "spaces": (b" ", b"[1"),
    "line feeds": (b"x" + b"\n" * 1_000_000, b"{}\n"),
    "escapes": (b"\\", b'["'),
    "deep elements": (b"[" * 5_000 + b"]" * 5_000 + b",", b"["),
    "many objects in one": (b'{"a":[' + b"{}," * 300_000 + b"{}]}\n", b""),
    "many names": (b"{" + NAMES + b"}\n", b""),
    "one name twice": (b"{" + NAMES + b',"n1":1}\n', b""),
}


SMALL = Sizes(whole_bytes=MIB, skipped_bytes=2 * MIB, wrong_records=1_000, wrong_bytes=2 * MIB)


@pytest.mark.parametrize("name", list(BODIES))
def test_a_body_that_is_wrong_from_end_to_end_is_not_read_to_its_end(name: str) -> None:
    began = time.process_time()
    good, _, stopped = by_native(repeated(*BODIES[name], mebibytes=8), SMALL)
    assert good == 0
    assert (stopped is not None) == (name != "line feeds")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("read", [by_litellm, by_outcomes])
@pytest.mark.parametrize("name", ["numbers", "nulls", "objects on lines"])
def test_so_it_is_in_every_format(name: str, read: Callable[[Iterator[bytes]], Read]) -> None:
    good, _, stopped = read(repeated(*BODIES[name], mebibytes=17))
    assert good == 0
    assert stopped is not None or name == "nulls"


def test_what_came_before_the_end_of_patience_is_kept() -> None:
    sizes = Sizes(wrong_records=10)
    lines = [GOOD % 1, *[b"1"] * 8, GOOD % 2, *[b"1"] * 8, GOOD % 3]
    good, bad, stopped = by_native(iter([b"\n".join(lines)]), sizes)
    assert (good, bad) == (2, 11)
    assert stopped is not None
    assert stopped.problems[0].code == "too_many_rejected"
    assert by_native(iter([b"\n".join(lines)]), sizes.without_end()) == (3, 16, None)


def test_records_that_are_only_found_wrong_by_column_end_patience_too() -> None:
    lines = [GOOD % 1, *[b"{}"] * 20, GOOD % 2]
    good, bad, stopped = by_native(iter([b"\n".join(lines)]), Sizes(wrong_records=10))
    assert (good, bad) == (1, 11)
    assert stopped is not None


def test_a_record_that_is_too_long_is_skipped_and_its_neighbours_are_kept() -> None:
    body = b"[" + GOOD % 1 + b",[" + b"[]," * MIB + b"1]," + GOOD % 2 + b"]"
    assert by_native(iter([body])) == (2, 1, None)


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_a_record_may_be_nested_so_deep(depth: int) -> None:
    body = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    chunk = next(Reader(native, "x", NOW, b"secret").chunks(iter([body])))
    assert chunk.rejected[0].problems[0].code == ("too_deep" if depth > MAX_DEPTH else "unknown_field")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab\\",[]{} \u00e9\n', max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='a"\\[,', max_size=4), inner),
    max_leaves=12,
)


@given(st.lists(json_values, min_size=1, max_size=6), st.booleans())
def test_an_array_is_cut_where_its_elements_end(values: list[object], indented: bool) -> None:
    body = json.dumps(values, indent=2 if indented else None).encode()
    found = [json.loads(line) for piece in elements_of(body) for line in bytes(piece.data).split(b"\n")]
    assert found == values


@given(st.binary(max_size=40).map(lambda raw: bytes(b'"\\[]{},a'[byte % 8] for byte in raw)), st.data())
def test_where_a_text_is_cut_changes_nothing(text: bytes, data: st.DataObject) -> None:
    """Against a reading byte by byte."""
    depth, in_text, escaped = 0, False, False
    commas: list[int] = []
    for at, byte in enumerate(re.findall(rb"(?s).", text)):
        escapes = byte == b"\\" and not escaped
        if byte == b'"' and not escaped:
            in_text = not in_text
        elif not in_text:
            depth += (byte in (b"[", b"{")) - (byte in (b"]", b"}"))
            if depth < 0:
                break
            if byte == b"," and depth == 0:
                commas.append(at)
        escaped = escapes
    structure, start, found = Structure(), 0, list[int]()
    while start < len(text):
        end = data.draw(st.integers(start + 1, len(text)))
        step = structure.read(text[start:end])
        found += [start + comma for comma in step.commas.tolist()]
        if step.close >= 0:
            break
        start = end
    assert found == commas
