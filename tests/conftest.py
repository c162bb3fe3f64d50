"""Fixtures for every kind of test. The database is the embedded server's, beside whatever else runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@pytest.fixture
def admin(db: None, django_user_model: type[User]) -> User:
    """A person who may do everything."""
    return django_user_model.objects.create_superuser("admin", password="long enough for tests")
