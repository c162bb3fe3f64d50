"""The ledger: who pays for each replica-hour, and what tasks cost. Replaced hour by hour, with a run id."""

from __future__ import annotations

from django.db import models


class AttributedHour(models.Model):
    """Which facts and which prices an hour was attributed from; behind means attribute again."""

    hour = models.DateTimeField(primary_key=True)
    fold_run_id = models.UUIDField()
    catalog_change = models.BigIntegerField()
    run_id = models.UUIDField()
    attributed_at = models.DateTimeField()


class LedgerLine(models.Model):
    """One amount. The lines of a replica-hour and pool add up to what it cost, exactly.

    `amount` is null, with a `reason`, when no price is known: the quantity stands, the money is unknown. A `reason`
    beside an amount is a remark (negative idle, busy time with nobody to charge).
    """

    hour = models.DateTimeField()
    line = models.IntegerField(help_text="Place in the hour; (hour, line) is stable for the same facts and prices.")
    run_id = models.UUIDField()
    pool = models.SmallIntegerField(default=0, help_text="core.vocabulary.Pool")
    component = models.SmallIntegerField(help_text="core.vocabulary.Component")
    replica_id = models.IntegerField()
    deployment_id = models.IntegerField()
    gpu_type_id = models.IntegerField()
    team_id = models.IntegerField(help_text="Who pays: the caller's team; for idle, load and down the owner.")
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    key_id = models.IntegerField()
    work = models.SmallIntegerField()
    status_group = models.SmallIntegerField()
    traffic = models.SmallIntegerField()
    tier = models.SmallIntegerField()
    seconds = models.DecimalField(max_digits=20, decimal_places=9, help_text="Of the replica, whatever it holds.")
    gpu_seconds = models.DecimalField(
        max_digits=20, decimal_places=9, null=True, help_text="Null: how many GPUs the replica holds is not known."
    )
    amount = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=400, blank=True)
    price_id = models.IntegerField(null=True)
    price = models.DecimalField(max_digits=20, decimal_places=10, null=True, help_text="Per GPU-hour, as applied.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hour", "line"], name="ledger_line_once")]


class TaskCost(models.Model):
    """What the tasks of one cohort used in one hour, by decision and by why; sums to the shared lines of tasks.

    Review is a cost of the cohort's own hour, at its own price.
    """

    class Kind(models.TextChoices):
        FIRST = "first"
        RETRY = "retry"
        FALLBACK = "fallback"
        ESCALATION = "escalation"
        REVIEW = "review"

    hour = models.DateTimeField()
    run_id = models.UUIDField()
    cohort_hour = models.DateTimeField()
    team_id = models.IntegerField(help_text="Cohort team, endpoint and model: those of the task's first request.")
    endpoint_id = models.IntegerField()
    model_id = models.IntegerField()
    decision = models.SmallIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=400, blank=True)
    price_id = models.IntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["hour"]), models.Index(fields=["cohort_hour"])]
