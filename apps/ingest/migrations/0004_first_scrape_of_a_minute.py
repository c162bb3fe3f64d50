"""When a minute's first good scrape was: a replica is held from its first, not from the start of that minute."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ingest", "0003_rejects_kept_once")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE ingest_engineminute ADD COLUMN first_scrape_at timestamptz",
            "ALTER TABLE ingest_engineminute DROP COLUMN first_scrape_at",
        ),
    ]
