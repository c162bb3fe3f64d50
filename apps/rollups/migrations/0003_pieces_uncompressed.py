"""Packed columns of task pieces hardly compress, and trying to would cost more time than writing them."""

from django.db import migrations

COLUMNS = ("task_key", "cohort", "cohorts", "piece_task", "piece_group", "units", "dimensions")


def storage(kind: str) -> str:
    return "ALTER TABLE rollups_taskpieces " + ", ".join(f"ALTER COLUMN {name} SET STORAGE {kind}" for name in COLUMNS)


class Migration(migrations.Migration):
    dependencies = [("rollups", "0002_task_pieces_and_links")]
    operations = [migrations.RunSQL(storage("EXTERNAL"), storage("EXTENDED"))]
