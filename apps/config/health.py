"""Whether this process can do its work: /healthz, for supervisors and load balancers, without sign-in."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when database and broker answer, else 503; says which, and never why (the log does)."""
    parts = {"database": _works(_ask_database), "broker": _works(_ask_broker)}
    well = all(parts.values())
    body = {"status": "ok" if well else "unavailable", "version": settings.VERSION}
    body |= {name: "ok" if works else "unavailable" for name, works in parts.items()}
    return JsonResponse(body, status=200 if well else 503)


def _works(ask: Callable[[], None]) -> bool:
    try:
        ask()
    except Exception:  # whatever a driver raises, the answer is the same
        import logging

        logging.getLogger(__name__).warning("%s failed", ask.__name__, exc_info=True)
        return False
    return True


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_broker() -> None:
    if settings.CELERY_BROKER_URL.startswith(("amqp", "sentinel")):
        from apps.config.celery import app

        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
    else:
        cache.get("healthz")
