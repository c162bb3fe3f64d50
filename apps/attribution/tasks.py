"""Celery tasks of attribution: one service call each."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.attribution import services


@shared_task(name="apps.attribution.tasks.attribute_dirty", ignore_result=True)
def attribute_dirty() -> None:
    services.attribute_dirty(now=timezone.now())
