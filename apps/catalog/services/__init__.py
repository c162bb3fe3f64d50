"""Writes of the catalog. Each takes a callback `audit`, since the audit trail lives in a room above this one."""

from apps.catalog.domain.difference import Difference
from apps.catalog.domain.document import read_text, write_text
from apps.catalog.services.aliases import point_alias, remove_alias
from apps.catalog.services.claims import claim
from apps.catalog.services.document import apply, save_noun
from apps.catalog.services.journal import Audit, no_audit
from apps.catalog.services.prices import PriceEffect, remove_price, set_price
from apps.catalog.services.unclaimed import ensure_nouns

__all__ = [
    "Audit",
    "Difference",
    "PriceEffect",
    "apply",
    "claim",
    "ensure_nouns",
    "no_audit",
    "point_alias",
    "read_text",
    "remove_alias",
    "remove_price",
    "save_noun",
    "set_price",
    "write_text",
]
