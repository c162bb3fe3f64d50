"""The processes that make up the product, as commands of this Python."""

from __future__ import annotations

import sys

from django.conf import settings

from apps.config.supervisor import Program


def programs() -> list[Program]:
    """Everything `manage.py run` starts, in order."""
    return [_web(), _worker(), _scraper(), _beat(), *([_demo()] if settings.DEMO else [])]


def local_url() -> str:
    """Where this machine itself reaches the web server."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    host = everywhere.get(settings.BIND, f"[{settings.BIND}]" if ":" in settings.BIND else settings.BIND)
    return f"http://{host}:{settings.PORT}"


def _web() -> Program:
    host = f"[{settings.BIND}]" if ":" in settings.BIND else settings.BIND
    options = ["--bind", f"{host}:{settings.PORT}", "--preload", "--worker-class", "gthread"]
    options += ["--workers", str(settings.WEB_WORKERS), "--threads", "4", "--timeout", "120"]
    # Gateways flush every few seconds: their connections should not close just as the next batch is sent.
    options += ["--graceful-timeout", "1", "--keep-alive", "75", "--limit-request-line", "8190"]
    options += ["--log-level", "warning", "--no-control-socket"]
    return Program("web", (sys.executable, "-m", "gunicorn", *options, "apps.config.wsgi:application"))


def _worker() -> Program:
    return _celery("worker", "--queues", "inferometer", "--concurrency", str(settings.TASK_WORKERS), "-O", "fair")


def _scraper() -> Program:
    return _celery("scraper", "--queues", "scrape", "--pool", "solo")


def _celery(name: str, *options: str) -> Program:
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--hostname", f"{name}@%h")
    celery = (sys.executable, "-m", "celery", "--quiet", "--skip-checks", "--app", "apps.config.celery")
    return Program(name, (*celery, "worker", *quiet, *options))


def _beat() -> Program:
    schedule = settings.EMBEDDED.run / "timetable"
    celery = (sys.executable, "-m", "celery", "--quiet", "--skip-checks", "--app", "apps.config.celery")
    return Program("beat", (*celery, "beat", "--schedule", str(schedule), "--pidfile", ""))


def _demo() -> Program:
    manage = (sys.executable, str(settings.BASE_DIR / "manage.py"), "demo")
    return Program("demo", (*manage, "--prepare"), then=Program("demo", (*manage, "--live", "--server", local_url())))
