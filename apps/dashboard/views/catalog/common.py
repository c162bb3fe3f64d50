"""What every catalog page shows around its own part: tabs, and who may edit."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from apps.accounts import services as accounts
from apps.catalog import selectors as catalog
from apps.catalog import services
from apps.catalog.domain.difference import Difference
from apps.dashboard.access import viewer_of
from apps.dashboard.views.catalog.sections import SECTIONS
from apps.ingest import services as ingest


@dataclass(frozen=True, slots=True)
class Tab:
    text: str
    url: str
    current: bool


def page_context(request: HttpRequest, tab: str, **more: object) -> dict[str, object]:
    """`tab` is a section's slug, or unclaimed, prices or history."""
    viewer = viewer_of(request)
    waiting = catalog.unclaimed_count()
    tabs = [Tab(f"To claim ({waiting})" if waiting else "To claim", reverse("catalog-unclaimed"), tab == "unclaimed")]
    tabs += [Tab(s.title, reverse("catalog-section", args=[s.slug]), tab == s.slug) for s in SECTIONS]
    tabs += [
        Tab("Prices", reverse("catalog-prices"), tab == "prices"),
        Tab("Who changed what", reverse("catalog-history"), tab == "history"),
    ]
    return {
        "tabs": tabs,
        "may_edit": viewer.can("catalog.edit"),
        "may_price": viewer.can("prices.edit"),
        **more,
    }


def audit_of(request: HttpRequest) -> services.Audit:
    return accounts.auditor(user=request.user)


def follow(difference: Difference) -> None:
    """What other rooms remember by a noun's id goes on under the id that took its place."""
    for merge in difference.merges:
        if merge.kind == "team":
            accounts.replace_team(old_id=merge.old_id, new_id=merge.new_id)


def follow_targets() -> None:
    """The scraper asks the pages that the catalog names."""
    ingest.replace_targets(targets=[ingest.TargetSpec(page.name, page.url) for page in catalog.scrape_addresses()])
