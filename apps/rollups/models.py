"""Facts: one UTC hour of records, folded. Every table is replaced hour by hour; dimension id 0 means none given."""

from __future__ import annotations

from uuid import uuid4

from django.contrib.postgres.indexes import BrinIndex
from django.db import models


class FoldedHour(models.Model):
    """Which state of the records and of the catalog an hour was folded from; behind means fold again."""

    hour = models.DateTimeField(primary_key=True)
    arrival_version = models.BigIntegerField()
    catalog_change = models.BigIntegerField()
    as_of = models.DateTimeField(help_text="An hour folded before its end is folded again after it.")
    run_id = models.UUIDField(help_text="Changes with every fold or decide: who attributed another run is behind.")
    fold_id = models.UUIDField(default=uuid4, help_text="Changes with every fold, not with a decide.")
    fold_again = models.BooleanField(default=False, help_text="Another hour has learned what this one's facts rest on.")
    decide_again = models.BooleanField(default=False, help_text="Tasks of the hour have new outcomes or new tries.")


class CallLink(models.Model):
    """Calls of `hour` that go on in, or come from, `other`: both hours must have been folded with one checksum."""

    pk = models.CompositePrimaryKey("hour", "other")
    hour = models.DateTimeField()
    other = models.DateTimeField()
    checksum = models.BigIntegerField()


class OutcomeCursor(models.Model):
    """The newest outcome that has reached the facts (one row)."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    outcome_id = models.BigIntegerField(default=0)


class UsageHour(models.Model):
    """Attempts that started in the hour, and the busy time that attempts used in it, by all dimensions.

    Attempt counts, tokens and latency belong to the hour of the start; `share_units` to each hour that was used.
    """

    hour = models.DateTimeField()
    team_id = models.IntegerField()
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    replica_id = models.IntegerField()
    key_id = models.IntegerField()
    work = models.SmallIntegerField(help_text="core.vocabulary.Work")
    status_group = models.SmallIntegerField(help_text="core.vocabulary.StatusGroup")
    traffic = models.SmallIntegerField()
    attempts = models.IntegerField()
    calls = models.IntegerField(help_text="Client requests: distinct calls whose last attempt is in this row.")
    failed_calls = models.IntegerField(help_text="Of those, the ones whose last attempt failed on our side.")
    ok = models.IntegerField()
    client_error = models.IntegerField()
    rate_limited = models.IntegerField()
    server_error = models.IntegerField()
    timeout = models.IntegerField()
    aborted = models.IntegerField()
    partial = models.IntegerField()
    streamed = models.IntegerField()
    without_tokens = models.IntegerField(help_text="Answered, but the source gave no token numbers.")
    input_tokens = models.BigIntegerField()
    cache_read_tokens = models.BigIntegerField()
    cache_write_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    reasoning_tokens = models.BigIntegerField()
    share_units = models.BigIntegerField(help_text="Tier A share of busy time, in rollups.domain.sharing units.")
    ttft = models.BinaryField(help_text="Packed histogram of streamed ok attempts, seconds.")
    itl = models.BinaryField(help_text="Packed histogram of streamed ok attempts with over one output token.")
    e2e = models.BinaryField(help_text="Packed histogram of ok attempts.")
    queue = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "hour", "team_id", "endpoint_id", "model_id", "replica_id", "key_id",
                    "work", "status_group", "traffic",
                ],
                name="usage_hour_once",
            )
        ]  # fmt: skip


class LatencyDay(models.Model):
    """Histograms of a UTC day by who and what, merged from its hours: a month is then read as days, not as hours."""

    day = models.DateTimeField()
    team_id = models.IntegerField()
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    replica_id = models.IntegerField()
    key_id = models.IntegerField()
    ttft = models.BinaryField()
    itl = models.BinaryField()
    e2e = models.BinaryField()
    queue = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["day", "team_id", "endpoint_id", "model_id", "replica_id", "key_id"], name="latency_day_once"
            )
        ]


class MergedDay(models.Model):
    """From which folds a day's histograms were merged. When an hour has been folded since, they are not used."""

    day = models.DateTimeField(primary_key=True)
    digest = models.CharField(max_length=32, help_text="Of the folds of the day's hours, in order.")


class ReplicaHour(models.Model):
    """How one replica spent the seconds it held its GPUs: held = load + busy + idle + down, in microseconds."""

    hour = models.DateTimeField()
    replica_id = models.IntegerField()
    held_us = models.BigIntegerField()
    load_us = models.BigIntegerField()
    busy_us = models.BigIntegerField()
    idle_us = models.BigIntegerField(help_text="Never clamped: below zero is a finding.")
    down_us = models.BigIntegerField()
    tier = models.SmallIntegerField(help_text="core.vocabulary.Tier: the evidence that busy and shares rest on.")
    logged_prompt_tokens = models.BigIntegerField()
    logged_generation_tokens = models.BigIntegerField()
    counted_prompt_tokens = models.BigIntegerField(null=True, help_text="By the engine; null: no metrics.")
    counted_generation_tokens = models.BigIntegerField(null=True)
    cached_prompt_tokens = models.BigIntegerField(null=True)
    scrapes = models.IntegerField()
    covered_seconds = models.FloatField()
    restarts = models.IntegerField()
    preemptions = models.BigIntegerField(null=True)
    kv_usage_max = models.FloatField(null=True)
    evidence = models.DateTimeField(null=True, help_text="First sign in this hour that the replica was there.")

    class Meta:
        indexes = [models.Index(fields=["replica_id", "evidence"])]
        constraints = [models.UniqueConstraint(fields=["hour", "replica_id"], name="replica_hour_once")]


class TaskHour(models.Model):
    """What other hours must know of a task: its first request as this hour sees it, and whether it tried again."""

    pk = models.CompositePrimaryKey("task_key", "hour")
    task_key = models.BigIntegerField()
    hour = models.DateTimeField()
    first_started_us = models.BigIntegerField(help_text="Before the hour where that request only runs over into it.")
    team_id = models.IntegerField(help_text="Team, endpoint and model of that request.")
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    last_attempt = models.SmallIntegerField(help_text="Highest client attempt that started in the hour; 0: none known.")
    escalated = models.SmallIntegerField(help_text="1 if an escalation started in the hour.")

    class Meta:
        indexes = [BrinIndex(fields=["hour"], autosummarize=True, pages_per_range=16)]


class TaskPieces(models.Model):
    """What each task used in one hour, as packed columns (`rollups.domain.decide.TaskPieces`)."""

    hour = models.DateTimeField(primary_key=True)
    task_key = models.BinaryField()
    cohort = models.BinaryField()
    cohorts = models.BinaryField()
    piece_task = models.BinaryField()
    piece_group = models.BinaryField()
    units = models.BinaryField()
    dimensions = models.BinaryField()


class TaskCohort(models.Model):
    """Tasks whose first request is in the hour, by owner and newest decision."""

    cohort_hour = models.DateTimeField()
    team_id = models.IntegerField()
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    decision = models.SmallIntegerField(help_text="core.vocabulary.Decision")
    tasks = models.IntegerField()
    retried_tasks = models.IntegerField(help_text="Tasks with a client attempt over one.")
    escalated_tasks = models.IntegerField()
    review_minutes = models.DecimalField(max_digits=18, decimal_places=4)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cohort_hour", "team_id", "endpoint_id", "model_id", "decision"], name="task_cohort_once"
            )
        ]


class TaskShare(models.Model):
    """How the shared lines of one hour divide over cohorts and decisions: the bridge from ledger to tasks."""

    hour = models.DateTimeField()
    team_id = models.IntegerField()
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    replica_id = models.IntegerField()
    key_id = models.IntegerField()
    work = models.SmallIntegerField()
    status_group = models.SmallIntegerField()
    traffic = models.SmallIntegerField()
    cohort_hour = models.DateTimeField()
    cohort_team_id = models.IntegerField()
    cohort_endpoint_id = models.IntegerField()
    cohort_model_id = models.IntegerField()
    decision = models.SmallIntegerField()
    share_units = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["hour"])]
