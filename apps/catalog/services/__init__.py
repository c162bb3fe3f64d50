"""Writes of the catalog."""

from apps.catalog.services.journal import Audit, no_audit
from apps.catalog.services.unclaimed import ensure_nouns

__all__ = ["Audit", "ensure_nouns", "no_audit"]
