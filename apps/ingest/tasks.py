"""What the timetable calls: a round of scrapes, and days of partitions made and dropped."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.ingest import services


@shared_task(name="apps.ingest.tasks.scrape_targets", ignore_result=True)
def scrape_targets() -> None:
    services.scrape_targets(clock=timezone.now)


@shared_task(name="apps.ingest.tasks.maintain_partitions", ignore_result=True)
def maintain_partitions() -> None:
    services.maintain_partitions(
        now=timezone.now(), request_days=settings.REQUEST_RETENTION_DAYS, engine_days=settings.ENGINE_RETENTION_DAYS
    )
