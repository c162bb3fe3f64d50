"""Reading ahead: all items in order, errors handed on, and the interpreter's own rhythm given back."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from apps.ingest.domain.ahead import HANDOVER_SECONDS, read_ahead


def never(_: int) -> bool:
    return False


def test_items_come_in_order_and_threads_take_turns_more_often_meanwhile() -> None:
    usual = sys.getswitchinterval()
    first, second = read_ahead(iter(range(5)), never), read_ahead(iter(range(3)), never)
    assert (next(first), next(second)) == (0, 0)
    assert sys.getswitchinterval() == pytest.approx(HANDOVER_SECONDS)
    assert list(first) == [1, 2, 3, 4]
    assert sys.getswitchinterval() == pytest.approx(HANDOVER_SECONDS), "the other one is still reading"
    second.close()
    assert sys.getswitchinterval() == pytest.approx(usual)


def test_what_ends_the_reading_is_handed_on() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("broken")

    usual, got = sys.getswitchinterval(), []
    with pytest.raises(ValueError, match="broken"):
        for item in read_ahead(items(), never):
            got.append(item)
    assert got == [1, 2]
    assert sys.getswitchinterval() == pytest.approx(usual)
