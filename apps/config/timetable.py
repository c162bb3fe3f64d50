"""What runs when: every periodic task of the product, in one place.

A tick that waited longer than its period is dropped: its successor does the same work.
"""

from __future__ import annotations

from typing import Any

MINUTE = 60.0
HOUR = 60 * MINUTE


def _every(seconds: float, task: str) -> dict[str, Any]:
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}


TIMETABLE: dict[str, dict[str, Any]] = {
    "scrape engines": _every(15, "apps.ingest.tasks.scrape_targets"),
    "keep partitions": _every(HOUR, "apps.ingest.tasks.maintain_partitions"),
    "fold what changed": _every(15, "apps.rollups.tasks.fold_dirty"),
    "attribute what changed": _every(15, "apps.attribution.tasks.attribute_dirty"),
}
