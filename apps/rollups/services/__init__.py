"""What may be written to the facts: hours folded, and decided again when outcomes come."""

from apps.rollups.services.dirty import decide_hours, fold_dirty, fold_span
from apps.rollups.services.folding import Folded, fold_hour

__all__ = ["Folded", "decide_hours", "fold_dirty", "fold_hour", "fold_span"]
