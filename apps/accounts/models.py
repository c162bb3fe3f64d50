"""People, their roles and teams; API keys, hashed at rest; the audit trail."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class Role(models.TextChoices):
    ADMIN = "admin", "Admin: everything"
    OPERATOR = "operator", "Operator: every page, targets and rejected records"
    ANALYST = "analyst", "Analyst: every page, prices and exports"
    LEAD = "lead", "Lead: own teams only"


class Membership(models.Model):
    """A person's role. `teams` are catalog team ids and bind only leads."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership")
    role = models.CharField(max_length=10, choices=Role)
    teams = ArrayField(models.IntegerField(), default=list, blank=True)


class Scope(models.TextChoices):
    INGEST = "ingest"
    READ = "read"
    EXPORT = "export"


class ApiKey(models.Model):
    """A secret that is shown once. Stored: its prefix, to find it by, and a SHA-256 of the whole."""

    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope))
    teams = ArrayField(models.IntegerField(), null=True, blank=True, help_text="Catalog team ids; null: all teams.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class AuditEvent(models.Model):
    """Who changed what."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True)
    actor = models.CharField(max_length=200, help_text="The person's name then, or the command.")
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=300)
    detail = models.JSONField(default=dict)


class SignInFailure(models.Model):
    """A try to sign in that has not succeeded. The name is hashed, since people type passwords into its field."""

    name_digest = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["address", "at"])]
