"""What page tests share: people of every role beside a small world, or beside nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from tests.web import world
from tests.web.people import People, people


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: Any) -> Iterator[People]:
    """People who look at the world of `tests.web.world`, built once for a module and taken back after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        world.build(datetime.now(UTC))
        yield people()
        transaction.set_rollback(True)


@pytest.fixture
def empty(db: None) -> People:
    """People who look at a program that nothing has come into yet."""
    return people()
