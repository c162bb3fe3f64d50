"""The product's processes as one group: started together, one log, stopped together, and none outlives the others."""

from apps.config.supervisor.group import Group
from apps.config.supervisor.journal import Journal
from apps.config.supervisor.program import Program

__all__ = ["Group", "Journal", "Program"]
