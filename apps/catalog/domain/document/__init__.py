"""The catalog as a file: what may stand in it, and what it says."""

from apps.catalog.domain.document.parse import noun_of, parse, price_of
from apps.catalog.domain.document.show import as_document
from apps.catalog.domain.document.specs import (
    KINDS_IN_ORDER,
    REFERENCES,
    AliasSpec,
    Document,
    NounSpec,
    PriceSpec,
)
from apps.catalog.domain.document.text import read_text, write_text

__all__ = [
    "KINDS_IN_ORDER",
    "REFERENCES",
    "AliasSpec",
    "Document",
    "NounSpec",
    "PriceSpec",
    "as_document",
    "noun_of",
    "parse",
    "price_of",
    "read_text",
    "write_text",
]
