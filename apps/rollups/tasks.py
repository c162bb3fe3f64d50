"""Celery tasks of rollups: one service call each."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.rollups import services


@shared_task(name="apps.rollups.tasks.fold_dirty", ignore_result=True)
def fold_dirty() -> None:
    services.fold_dirty(now=timezone.now())
