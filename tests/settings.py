"""The product's settings with what only tests want: cheap passwords, tasks in place, a cache of their own."""

from __future__ import annotations

from apps.config.settings import *  # noqa: F403
from apps.config.settings import DATABASES, LOGGING, MIDDLEWARE

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Nothing is collected in tests, so there is nothing for WhiteNoise to serve.
MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("whitenoise.")]
# Commits of a test database need not wait for the disk.
DATABASES["default"] |= {"CONN_MAX_AGE": 0, "OPTIONS": {"options": "-c synchronous_commit=off"}}
LOGGING["root"]["level"] = "WARNING"  # type: ignore[index]
