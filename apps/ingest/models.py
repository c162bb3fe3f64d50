"""What sources said. Request log and engine minutes are range-partitioned by day (see `partitions`).

Tables hold ids of the sources as 64-bit hashes (`domain.identity`), labels as a reference into `LabelSet`. No foreign
key points at a partitioned table, and every unique key of one contains its own time.
"""

from __future__ import annotations

from django.db import models


class Source(models.Model):
    """One observer that sends or is asked: a gateway behind an API key, a file, a metrics target."""

    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=30, help_text="The source module: native, litellm, vllm, ...")
    scope = models.CharField(max_length=64, blank=True, help_text="Key prefix, so that ids of two senders never meet.")
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True)
    last_event_at = models.DateTimeField(null=True, help_text="Newest time inside the records.")
    records = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    recording = models.BooleanField(default=False, help_text="Replayed, not live.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "name", "scope"], name="source_once")]


class LabelSet(models.Model):
    """One distinct combination of labels exactly as a source gave them. Empty string: not given."""

    digest = models.UUIDField(unique=True)
    source = models.ForeignKey(Source, on_delete=models.PROTECT)
    team = models.TextField(blank=True, default="")
    endpoint = models.TextField(blank=True, default="")
    key_alias = models.TextField(blank=True, default="")
    key_hash = models.TextField(blank=True, default="")
    model_requested = models.TextField(blank=True, default="")
    model_served = models.TextField(blank=True, default="")
    backend = models.TextField(blank=True, default="")
    replica = models.TextField(blank=True, default="")
    region = models.TextField(blank=True, default="")
    provider = models.TextField(blank=True, default="")
    charge_currency = models.TextField(blank=True, default="")


class Request(models.Model):
    """One attempt of one request, as one observer saw it. Partitioned by day of `started`."""

    pk = models.CompositePrimaryKey("started", "identity")
    started = models.DateTimeField()
    identity = models.UUIDField(help_text="128-bit hash of source, key scope, the source's ids, status and start.")
    ended = models.DateTimeField(null=True)
    first_token = models.DateTimeField(null=True, help_text="Null when unknown, never a copy of the end.")
    call_key = models.BigIntegerField(null=True)
    trace_key = models.BigIntegerField(null=True)
    span_key = models.BigIntegerField(null=True)
    parent_key = models.BigIntegerField(null=True)
    session_key = models.BigIntegerField(null=True)
    task_key = models.BigIntegerField(null=True)
    end_user_key = models.BigIntegerField(null=True)
    charge_picos = models.BigIntegerField(null=True, help_text="The source's own charge, 10^-12 of its currency.")
    queue_us = models.BigIntegerField(null=True)
    label_id = models.IntegerField()
    batch_id = models.IntegerField()
    input_tokens = models.IntegerField(null=True, help_text="All of them: uncached + cache read + cache write.")
    cache_read_tokens = models.IntegerField(null=True)
    cache_write_tokens = models.IntegerField(null=True)
    output_tokens = models.IntegerField(null=True, help_text="Including reasoning.")
    reasoning_tokens = models.IntegerField(null=True)
    http_status = models.SmallIntegerField(null=True)
    attempt = models.SmallIntegerField(null=True, help_text="The client's count of tries, from 1.")
    step = models.SmallIntegerField(null=True)
    status = models.SmallIntegerField(help_text="core.vocabulary.Status")
    operation = models.SmallIntegerField()
    traffic = models.SmallIntegerField()
    token_source = models.SmallIntegerField()
    finish = models.SmallIntegerField(null=True)
    stream = models.BooleanField(null=True)

    class Meta:
        managed = False
        db_table = "ingest_request"


class TaskName(models.Model):
    """The text of a task id, once, so that a request row can hold a hash of it."""

    task_key = models.BigIntegerField(primary_key=True)
    task_id = models.TextField()


class Outcome(models.Model):
    """A decision on a task. The newest `decided_at` wins; every one is kept."""

    task_key = models.BigIntegerField()
    digest = models.UUIDField(unique=True, help_text="Hash of the whole outcome: the same one twice is stored once.")
    decided_at = models.DateTimeField()
    received_at = models.DateTimeField()
    accepted = models.BooleanField()
    reworked = models.BooleanField(default=False)
    score = models.FloatField(null=True)
    review_minutes = models.DecimalField(max_digits=12, decimal_places=4, default=0)
    evaluator = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [models.Index(fields=["task_key", "-decided_at", "-id"])]


class Batch(models.Model):
    """One accepted delivery: who sent it, and what became of its records."""

    source = models.ForeignKey(Source, on_delete=models.PROTECT)
    received_at = models.DateTimeField()
    bytes = models.BigIntegerField()
    stored = models.IntegerField()
    duplicate = models.IntegerField()
    rejected = models.IntegerField()


class Reject(models.Model):
    """A record that could not be stored, with the reason. Bodies of prompts and answers are removed first."""

    class State(models.TextChoices):
        OPEN = "open"
        RESUBMITTED = "resubmitted"
        DISCARDED = "discarded"

    source = models.ForeignKey(Source, on_delete=models.PROTECT)
    batch_id = models.IntegerField()
    position = models.IntegerField(help_text="0-based place in the batch.")
    received_at = models.DateTimeField()
    what = models.CharField(max_length=10, choices=[("request", "request"), ("outcome", "outcome")])
    code = models.CharField(max_length=40)
    field = models.CharField(max_length=200, blank=True)
    message = models.TextField()
    payload = models.TextField(help_text="The record as received, without bodies, cut at 16 KiB.")
    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    digest = models.UUIDField(
        null=True, unique=True, help_text="Hash of what was received: a delivery that is retried is kept once."
    )

    class Meta:
        indexes = [models.Index(fields=["state", "-received_at"])]


class ArrivalHour(models.Model):
    """What has arrived for one UTC hour. `version` grows with every write: who folded version n is behind at n + 1."""

    hour = models.DateTimeField(primary_key=True)
    version = models.BigIntegerField()
    records = models.BigIntegerField(default=0)
    longest_us = models.BigIntegerField(default=0, help_text="Longest request that started in this hour.")
    first_received_at = models.DateTimeField()
    last_received_at = models.DateTimeField()


class Target(models.Model):
    """A metrics page to scrape, with its health."""

    name = models.CharField(max_length=200, unique=True, help_text="The replica's raw label.")
    url = models.URLField(blank=True)
    engine = models.CharField(max_length=30, blank=True, help_text="Source module that reads it, once known.")
    engine_version = models.CharField(max_length=60, blank=True)
    enabled = models.BooleanField(default=True)
    timeout_seconds = models.FloatField(default=5)
    healthy = models.BooleanField(null=True)
    problem = models.TextField(blank=True)
    last_scrape_at = models.DateTimeField(null=True)
    last_ok_at = models.DateTimeField(null=True)
    last_sample = models.JSONField(null=True, help_text="Newest sample: the base of the next difference.")
    recording = models.BooleanField(default=False)


class EngineMinute(models.Model):
    """One replica's minute: differences of counters between scrapes, and gauges. Partitioned by day of `minute`.

    A difference belongs to the minute of the later scrape. Null: the engine does not measure it, or the gap hides it.
    """

    pk = models.CompositePrimaryKey("minute", "target_id")
    minute = models.DateTimeField()
    target_id = models.IntegerField()
    model = models.TextField(blank=True, default="")
    scrapes = models.SmallIntegerField(help_text="Good scrapes in the minute.")
    failed_scrapes = models.SmallIntegerField(default=0)
    covered_seconds = models.FloatField(help_text="Seconds between scrapes that this minute's differences cover.")
    busy_seconds = models.FloatField(help_text="Covered seconds in which something ran or a token counter moved.")
    resets = models.SmallIntegerField(default=0)
    restarted_at = models.DateTimeField(null=True, help_text="Start of the engine's new process, if it restarted.")
    first_scrape_at = models.DateTimeField(null=True, help_text="Of the minute's good scrapes.")
    gauges = models.JSONField(help_text="name -> {last, max, mean}: running, waiting, kv_usage, ...")
    counters = models.JSONField(help_text="name -> increase: prompt_tokens, generation_tokens, preemptions, ...")
    histograms = models.JSONField(help_text="name -> {bounds, counts, sum, count}: increases, engine's own buckets.")

    class Meta:
        managed = False
        db_table = "ingest_engineminute"


class EngineState(models.Model):
    """Spans in which a replica was not serving, from scrapes: a gap after which the engine had (or not) restarted."""

    class What(models.TextChoices):
        DOWN = "down"
        LOAD = "load"

    target_id = models.IntegerField()
    what = models.CharField(max_length=5, choices=What)
    started = models.DateTimeField()
    ended = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["target_id", "what", "started"], name="engine_state_once")]
        indexes = [models.Index(fields=["started"])]
