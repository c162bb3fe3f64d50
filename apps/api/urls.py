"""Addresses below /api/."""

from django.urls import path, re_path

from apps.api import views

app_name = "api"

urlpatterns = [
    path("schema", views.Schema.as_view(), name="schema"),
    path("v1/ingest/requests", views.IngestRequests.as_view(), name="ingest-requests"),
    path("v1/ingest/outcomes", views.IngestOutcomes.as_view(), name="ingest-outcomes"),
    path("v1/usage", views.UsageRows.as_view(), name="usage"),
    path("v1/costs", views.CostRows.as_view(), name="costs"),
    path("v1/tasks", views.TaskRows.as_view(), name="tasks"),
    path("v1/ledger", views.LedgerLines.as_view(), name="ledger"),
    path("v1/catalog", views.CatalogNouns.as_view(), name="catalog"),
    path("v1/exports/focus.csv", views.FocusExport.as_view(), name="focus"),
    re_path(r"^", views.Missing.as_view(), name="missing"),
]
