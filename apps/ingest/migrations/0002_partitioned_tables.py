"""The two tables that are range-partitioned by day; Django cannot declare them. Columns widest first, for alignment."""

from django.db import migrations

FORWARD = """
CREATE TABLE ingest_request (
    started timestamptz NOT NULL,
    identity uuid NOT NULL,
    ended timestamptz,
    first_token timestamptz,
    call_key bigint,
    trace_key bigint,
    span_key bigint,
    parent_key bigint,
    session_key bigint,
    task_key bigint,
    end_user_key bigint,
    charge_picos bigint,
    queue_us bigint,
    label_id integer NOT NULL,
    batch_id integer NOT NULL,
    input_tokens integer,
    cache_read_tokens integer,
    cache_write_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    http_status smallint,
    attempt smallint,
    step smallint,
    status smallint NOT NULL,
    operation smallint NOT NULL,
    traffic smallint NOT NULL,
    token_source smallint NOT NULL,
    finish smallint,
    stream boolean,
    PRIMARY KEY (started, identity)
) PARTITION BY RANGE (started);

CREATE TABLE ingest_engineminute (
    minute timestamptz NOT NULL,
    target_id integer NOT NULL,
    model text NOT NULL DEFAULT '',
    scrapes smallint NOT NULL,
    failed_scrapes smallint NOT NULL DEFAULT 0,
    covered_seconds double precision NOT NULL,
    busy_seconds double precision NOT NULL,
    resets smallint NOT NULL DEFAULT 0,
    restarted_at timestamptz,
    gauges jsonb NOT NULL,
    counters jsonb NOT NULL,
    histograms jsonb NOT NULL,
    PRIMARY KEY (minute, target_id)
) PARTITION BY RANGE (minute);
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial")]
    operations = [
        migrations.RunSQL(FORWARD, "DROP TABLE ingest_request; DROP TABLE ingest_engineminute;"),
    ]
