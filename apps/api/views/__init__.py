"""The endpoints."""

from apps.api.views.base import Missing
from apps.api.views.catalog import CatalogNouns
from apps.api.views.costs import CostRows
from apps.api.views.focus import FocusExport
from apps.api.views.ingest import IngestOutcomes, IngestRequests
from apps.api.views.ledger import LedgerLines
from apps.api.views.schema import Schema
from apps.api.views.tasks import TaskRows
from apps.api.views.usage import UsageRows

__all__ = [
    "CatalogNouns",
    "CostRows",
    "FocusExport",
    "IngestOutcomes",
    "IngestRequests",
    "LedgerLines",
    "Missing",
    "Schema",
    "TaskRows",
    "UsageRows",
]
