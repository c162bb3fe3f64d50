"""The catalog as a file: what may stand in it, and what it says."""

from apps.catalog.domain.document.parse import Reading, noun_of, parse, price_of, read
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
    "Reading",
    "as_document",
    "noun_of",
    "parse",
    "price_of",
    "read",
    "read_text",
    "write_text",
]
