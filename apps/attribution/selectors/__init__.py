"""Reads of the ledger: costs, cost per accepted task, lines, and what they rest on."""

from apps.attribution.domain.bridge import SMALL_SAMPLE, TaskCostRow
from apps.attribution.domain.costs import Cost, Money
from apps.attribution.domain.findings import Finding
from apps.attribution.domain.lines import Line
from apps.attribution.selectors.checks import (
    Assumption,
    Balance,
    assumptions,
    findings,
    hours_without_ledger,
    replica_hour_balance,
)
from apps.attribution.selectors.costs import costs, costs_of
from apps.attribution.selectors.lines import LedgerPage, LinePlace, PlacedLine, ledger
from apps.attribution.selectors.tasks import task_costs, task_costs_of
from apps.attribution.selectors.unpriced import unpriced_lines
from apps.attribution.selectors.waiting import recomputing

__all__ = [
    "SMALL_SAMPLE",
    "Assumption",
    "Balance",
    "Cost",
    "Finding",
    "LedgerPage",
    "Line",
    "LinePlace",
    "Money",
    "PlacedLine",
    "TaskCostRow",
    "assumptions",
    "costs",
    "costs_of",
    "findings",
    "hours_without_ledger",
    "ledger",
    "replica_hour_balance",
    "recomputing",
    "task_costs",
    "task_costs_of",
    "unpriced_lines",
]
