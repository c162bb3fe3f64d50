"""LiteLLM's StandardLoggingPayload, as its generic callback posts it and its file loggers write it, into records."""

from apps.ingest.sources.litellm.columns import readings
from apps.ingest.sources.litellm.decode import kept_struct, more_problems, read_array, read_lines, read_one
from apps.ingest.sources.litellm.payload import SPOKEN

KIND = "litellm"
CHECKS_TEXT = False
HEADING = "LiteLLM"
"""Heading of the format's section in docs/ingest.md."""

__all__ = [
    "CHECKS_TEXT",
    "HEADING",
    "KIND",
    "SPOKEN",
    "kept_struct",
    "more_problems",
    "read_array",
    "read_lines",
    "read_one",
    "readings",
]
