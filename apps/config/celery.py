"""The Celery application: tasks of every app, on the timetable."""

from __future__ import annotations

import os
import warnings
from logging.config import dictConfig
from typing import Any

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_init

from apps.config.timetable import TIMETABLE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "apps.config.settings")
# Messages are JSON; the warning about root is about pickled ones.
warnings.filterwarnings("ignore", message=r"(?s).*superuser privileges")

app = Celery("inferometer")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = TIMETABLE
app.autodiscover_tasks()


@setup_logging.connect
def _log_as_everybody_does(**_: Any) -> None:
    from django.conf import settings

    dictConfig(settings.LOGGING)


@worker_init.connect
@beat_init.connect
def _have_broker(**_: Any) -> None:
    """A worker started by hand needs the embedded broker before its first connection."""
    from django.conf import settings

    from apps.config.embedded import hold

    if settings.EMBEDDED_VALKEY:
        hold(settings.EMBEDDED, with_postgres=False)
