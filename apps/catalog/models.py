"""The nouns people edit, and their prices. Everything here is small, and changes are effective-dated."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class Noun(models.Model):
    """A thing with a slug. `claimed` is false for what ingest met and nobody has named yet."""

    slug = models.SlugField(max_length=120, unique=True)
    name = models.CharField(max_length=200)
    claimed = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name


class Team(Noun):
    pass


class Endpoint(Noun):
    """A workload: what a team uses a model for."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True, related_name="endpoints")
    decision_window_hours = models.PositiveIntegerField(
        default=72, help_text="A task undecided for longer counts as not accepted."
    )


class InferenceModel(Noun):
    pass


class GpuType(Noun):
    memory_gib = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)


class Deployment(Noun):
    """A model on GPUs, as one or more equal replicas. Idle, load and down time belong to its owner."""

    model = models.ForeignKey(InferenceModel, on_delete=models.PROTECT, null=True, blank=True)
    owner = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)
    gpu_type = models.ForeignKey(GpuType, on_delete=models.PROTECT, null=True, blank=True)
    gpus_per_replica = models.DecimalField(max_digits=8, decimal_places=4, default=1)


class Replica(Noun):
    """One engine process. It holds its GPUs in [held_from, held_until); null means since its first evidence / still."""

    deployment = models.ForeignKey(Deployment, on_delete=models.PROTECT, null=True, blank=True, related_name="replicas")
    metrics_url = models.URLField(blank=True, help_text="Where the engine's /metrics page is; empty: not scraped.")
    held_from = models.DateTimeField(null=True, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)

    class Meta(Noun.Meta):
        constraints = [
            models.CheckConstraint(
                name="replica_held_in_order",
                condition=Q(held_from__isnull=True) | Q(held_until__isnull=True) | Q(held_until__gt=F("held_from")),
            )
        ]


class ConsumerKey(Noun):
    """A gateway's API key, by alias or hash: what a team calls with."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)


class AliasKind(models.TextChoices):
    TEAM = "team"
    ENDPOINT = "endpoint"
    MODEL = "model"
    REPLICA = "replica"
    KEY = "key"


class Alias(models.Model):
    """From `valid_from` on, the raw label `raw` of this kind means the noun `target_id` (until a later alias)."""

    kind = models.CharField(max_length=10, choices=AliasKind)
    raw = models.CharField(max_length=500)
    target_id = models.PositiveIntegerField()
    valid_from = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "raw", "valid_from"], name="alias_once_a_date")]
        indexes = [models.Index(fields=["kind", "target_id"])]


class PriceKind(models.TextChoices):
    GPU_HOUR = "gpu_hour", "one GPU for one hour"
    REVIEWER_HOUR = "reviewer_hour", "one hour of review"


class Price(models.Model):
    """A price in [effective_from, effective_until). A correction is a new row, or a change in the audit trail."""

    kind = models.CharField(max_length=20, choices=PriceKind)
    gpu_type = models.ForeignKey(GpuType, on_delete=models.PROTECT, null=True, blank=True, related_name="prices")
    endpoint = models.ForeignKey(
        Endpoint, on_delete=models.PROTECT, null=True, blank=True, help_text="Reviewer price of one endpoint only."
    )
    amount = models.DecimalField(max_digits=20, decimal_places=10)
    currency = models.CharField(max_length=3, default="USD")
    effective_from = models.DateTimeField()
    effective_until = models.DateTimeField(null=True, blank=True)
    source = models.CharField(max_length=300, help_text="Where the number comes from: contract, list, assumption.")
    assumed = models.BooleanField(default=False, help_text="Stated without evidence; every page that uses it says so.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "gpu_type", "endpoint", "effective_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "gpu_type", "endpoint", "effective_from"],
                nulls_distinct=False,
                name="price_once_a_date",
            ),
            models.CheckConstraint(name="price_not_negative", condition=Q(amount__gte=0)),
            models.CheckConstraint(
                name="price_in_order",
                condition=Q(effective_until__isnull=True) | Q(effective_until__gt=F("effective_from")),
            ),
            models.CheckConstraint(
                name="gpu_price_names_its_gpu", condition=Q(gpu_type__isnull=False) | ~Q(kind="gpu_hour")
            ),
        ]


class Change(models.Model):
    """A catalog change that may alter facts or costs of hours in [affects_from, affects_until).

    `id` grows: who computed an hour with the changes up to n knows from the later rows whether to compute it again.
    """

    class What(models.TextChoices):
        LABELS = "labels"  # resolution: fold again
        PRICES = "prices"  # money: attribute again

    what = models.CharField(max_length=10, choices=What)
    affects_from = models.DateTimeField(null=True)
    affects_until = models.DateTimeField(null=True)
    reason = models.CharField(max_length=300)
    at = models.DateTimeField(auto_now_add=True)


TABLES: dict[str, type[Noun]] = {
    "team": Team,
    "gpu_type": GpuType,
    "model": InferenceModel,
    "endpoint": Endpoint,
    "deployment": Deployment,
    "replica": Replica,
    "key": ConsumerKey,
}
"""The table of each kind of noun."""
