"""Reads of the facts, handed out as dataclasses."""

from apps.rollups.selectors.facts import FoldedHourRow, cohorts, facts_of_hour, folded_hours, replica_hours

__all__ = ["FoldedHourRow", "cohorts", "facts_of_hour", "folded_hours", "replica_hours"]
