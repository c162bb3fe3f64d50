"""Reads of the catalog: tables in, frozen dataclasses out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, cast

from django.db.models import Max, Q, QuerySet, Value

from apps.catalog.domain.aliases import KINDS, AliasRow, Kind, Resolver
from apps.catalog.domain.document import as_document
from apps.catalog.domain.nouns import (
    NOBODY,
    AliasView,
    CatalogChange,
    DeploymentRow,
    EndpointRow,
    GpuTypeRow,
    Holding,
    KeyRow,
    ModelRow,
    Name,
    Names,
    ReplicaRow,
    ScrapeAddress,
    TeamRow,
    Unclaimed,
)
from apps.catalog.domain.prices import PriceBook, PriceEntry, PriceKind, SeriesKey
from apps.catalog.models import (
    TABLES,
    Alias,
    Change,
    ConsumerKey,
    Deployment,
    Endpoint,
    GpuType,
    InferenceModel,
    Noun,
    Price,
    Replica,
    Team,
)
from apps.core.query import NONE_GIVEN, Dimension

__all__ = [
    "CatalogChange",
    "Holding",
    "Name",
    "Names",
    "PriceBook",
    "Resolver",
    "aliases",
    "assumed_prices",
    "changes_since",
    "deployments",
    "document",
    "endpoints",
    "gpu_types",
    "keys",
    "latest_change",
    "models",
    "names",
    "names_of",
    "price_book",
    "prices",
    "replica_holdings",
    "replicas",
    "resolver",
    "scrape_addresses",
    "teams",
    "unclaimed",
    "unclaimed_count",
]


def latest_change(what: str | None = None) -> int:
    """Greatest id of a change ('labels', 'prices' or any); 0 if there was none."""
    changes = Change.objects.filter(what=what) if what else Change.objects.all()
    return changes.aggregate(newest=Max("id"))["newest"] or 0


def changes_after(moment: datetime) -> list[CatalogChange]:
    """Changes made at or after `moment`, oldest first."""
    rows = Change.objects.filter(at__gte=moment).order_by("id")
    return [CatalogChange(row.id, row.what, row.affects_from, row.affects_until) for row in rows]  # type: ignore[arg-type]


def changes_since(change_id: int) -> list[CatalogChange]:
    """Changes with a greater id, oldest first."""
    rows = Change.objects.filter(id__gt=change_id).order_by("id")
    return [CatalogChange(row.id, row.what, row.affects_from, row.affects_until) for row in rows]  # type: ignore[arg-type]


def resolver(known: Iterable[AliasView] | None = None) -> Resolver:
    """All aliases as they are now; `known` are all of them, for whoever holds them already."""
    if known is not None:
        return Resolver(AliasRow(alias.kind, alias.raw, alias.target_id, alias.valid_from) for alias in known)
    rows = Alias.objects.values_list("kind", "raw", "target_id", "valid_from")
    return Resolver(AliasRow(*row) for row in rows.iterator(chunk_size=10_000))


def names(dimension: Dimension) -> Names:
    """Names of one dimension by id, 0 ("none given") included; a missing id reads as merged or removed."""
    rows = TABLES[dimension]._default_manager.values_list("pk", "slug", "name", "claimed")
    found = Names({row[0]: Name(*row) for row in rows})
    found[NONE_GIVEN] = NOBODY
    return found


def names_of(dimensions: Sequence[Dimension]) -> dict[Dimension, Names]:
    """Names of several dimensions, read with one query."""
    found = {dimension: Names({NONE_GIVEN: NOBODY}) for dimension in dimensions}
    tables = [
        TABLES[dimension]
        ._default_manager.annotate(of=Value(dimension))
        .values_list("of", "pk", "slug", "name", "claimed")
        for dimension in found
    ]
    if tables:
        for of, *row in tables[0].union(*tables[1:], all=True):
            found[of][row[0]] = Name(*row)
    return found


def teams() -> list[TeamRow]:
    return [TeamRow(t.id, t.slug, t.name, t.claimed) for t in Team.objects.all()]


def endpoints() -> list[EndpointRow]:
    return [
        EndpointRow(e.id, e.slug, e.name, e.claimed, e.team_id or NONE_GIVEN, e.decision_window_hours)
        for e in Endpoint.objects.all()
    ]


def models() -> list[ModelRow]:
    return [ModelRow(m.id, m.slug, m.name, m.claimed) for m in InferenceModel.objects.all()]


def gpu_types() -> list[GpuTypeRow]:
    return [GpuTypeRow(g.id, g.slug, g.name, g.claimed, g.memory_gib) for g in GpuType.objects.all()]


def deployments() -> list[DeploymentRow]:
    return [
        DeploymentRow(
            id=d.id,
            slug=d.slug,
            name=d.name,
            claimed=d.claimed,
            model_id=d.model_id or NONE_GIVEN,
            owner_id=d.owner_id or NONE_GIVEN,
            gpu_type_id=d.gpu_type_id or NONE_GIVEN,
            gpus_per_replica=d.gpus_per_replica,
        )
        for d in Deployment.objects.all()
    ]


def replicas() -> list[ReplicaRow]:
    return [
        ReplicaRow(
            r.id, r.slug, r.name, r.claimed, r.deployment_id or NONE_GIVEN, r.metrics_url, r.held_from, r.held_until
        )
        for r in Replica.objects.all()
    ]


def keys() -> list[KeyRow]:
    return [KeyRow(k.id, k.slug, k.name, k.claimed, k.team_id or NONE_GIVEN) for k in ConsumerKey.objects.all()]


def replica_holdings() -> list[Holding]:
    """Every replica, also those that no deployment owns yet."""
    return [_holding(replica) for replica in Replica.objects.select_related("deployment__gpu_type").order_by("id")]


def _holding(replica: Replica) -> Holding:
    deployment = replica.deployment
    gpu_type = deployment.gpu_type if deployment else None
    return Holding(
        replica_id=replica.id,
        slug=replica.slug,
        deployment_id=deployment.id if deployment else NONE_GIVEN,
        model_id=(deployment.model_id or NONE_GIVEN) if deployment else NONE_GIVEN,
        owner_team_id=(deployment.owner_id or NONE_GIVEN) if deployment else NONE_GIVEN,
        gpu_type_id=gpu_type.id if gpu_type else NONE_GIVEN,
        gpu_type_name=gpu_type.name if gpu_type else "",
        gpus=deployment.gpus_per_replica if deployment else None,
        held_from=replica.held_from,
        held_until=replica.held_until,
        name=replica.name,
    )


def price_book() -> PriceBook:
    return PriceBook(prices(), dict(GpuType.objects.values_list("id", "name")))


def prices() -> list[PriceEntry]:
    """All price entries by series and date."""
    return [price_entry(row) for row in Price.objects.order_by("kind", "gpu_type_id", "endpoint_id", "effective_from")]


def assumed_prices(*used: QuerySet[Any, Any]) -> list[PriceEntry]:
    """Entries without evidence whose id is among the ids of one of the queries, by series and date."""
    among = reduce(or_, (Q(id__in=ids) for ids in used), Q())
    rows = Price.objects.filter(among, assumed=True)
    return [price_entry(row) for row in rows.order_by("kind", "gpu_type_id", "endpoint_id", "effective_from")]


def price_entry(row: Price) -> PriceEntry:
    kind = cast(PriceKind, row.kind)
    return PriceEntry(
        id=row.id,
        series=SeriesKey(kind, row.gpu_type_id or NONE_GIVEN, row.endpoint_id or NONE_GIVEN),
        amount=row.amount,
        currency=row.currency,
        effective_from=row.effective_from,
        effective_until=row.effective_until,
        source=row.source,
        assumed=row.assumed,
    )


def aliases(kind: str | None = None, target_id: int | None = None) -> list[AliasView]:
    rows = Alias.objects.order_by("kind", "raw", "valid_from")
    if kind is not None:
        rows = rows.filter(kind=kind)
    if target_id is not None:
        rows = rows.filter(target_id=target_id)
    return [AliasView(a.id, a.kind, a.raw, a.target_id, a.valid_from) for a in rows]


def document() -> dict[str, object]:
    """The claimed part of the catalog as a file: applying it again changes nothing."""
    return as_document(
        nouns={
            "team": teams(),
            "gpu_type": gpu_types(),
            "model": models(),
            "endpoint": endpoints(),
            "deployment": deployments(),
            "replica": replicas(),
            "key": keys(),
        },
        aliases=aliases(),
        prices=prices(),
    )


def unclaimed() -> list[Unclaimed]:
    """What ingest met and nobody has named yet, by kind and slug."""
    rows = sorted(_unclaimed_rows(), key=lambda row: (KINDS.index(row[0]), row[2]))
    raws: dict[tuple[str, int], list[str]] = {}
    if rows:
        for alias in aliases():
            known = raws.setdefault((alias.kind, alias.target_id), [])
            if alias.raw not in known:
                known.append(alias.raw)
    return [Unclaimed(kind, pk, slug, name, tuple(raws.get((kind, pk), ())), at) for kind, pk, slug, name, at in rows]


def unclaimed_count() -> int:
    return _unclaimed_rows().count()


def _unclaimed_rows() -> QuerySet[Noun, tuple[Kind, int, str, str, datetime]]:
    first, *others = (
        TABLES[kind]
        ._default_manager.filter(claimed=False)
        .order_by()
        .annotate(kind=Value(kind))
        .values_list("kind", "pk", "slug", "name", "created_at")
        for kind in KINDS
    )
    return first.union(*others, all=True)


def scrape_addresses() -> list[ScrapeAddress]:
    """Metrics pages of replicas that have one."""
    return [ScrapeAddress(row.slug, row.metrics_url) for row in Replica.objects.exclude(metrics_url="")]
