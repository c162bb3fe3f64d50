"""One charge turned into one FOCUS 1.2 row, every cell a string as it stands in the CSV ("" for null)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal

from apps.api.domain.focus.charges import Charge
from apps.api.domain.focus.columns import COLUMNS
from apps.api.domain.windows import month_end
from apps.core.time import HOUR
from apps.core.vocabulary import Component, Tier, Work

PLATFORM = "Inference platform"
"""Provider, publisher and invoice issuer at once: nobody else is paid for an internal charge."""
BILLING_ACCOUNT_ID = "acct-inference-platform"

_DIVISION = Context(prec=24)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_DESCRIPTIONS = {
    Component.SHARED: "GPU time of requests",
    Component.UNATTRIBUTED: "GPU time of requests that no gateway logged",
    Component.IDLE: "Idle GPU time",
    Component.LOAD: "GPU time while the model was loading",
    Component.DOWN: "GPU time while the engine was down",
}


@dataclass(frozen=True, slots=True)
class Label:
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Slugs and names by catalog id, and the ids of prices that are assumptions."""

    teams: Mapping[int, Label]
    endpoints: Mapping[int, Label]
    models: Mapping[int, Label]
    replicas: Mapping[int, Label]
    deployments: Mapping[int, Label]
    gpu_types: Mapping[int, Label]
    assumed_prices: frozenset[int]


def row(charge: Charge, labels: Labels) -> list[str]:
    """The cells of one charge, in the order of COLUMNS."""
    cells = {
        **_money(charge),
        **_periods(charge),
        **_who(charge, labels),
        **_what(charge, labels),
        **_ours(charge, labels),
    }
    return [cells.get(column, "") for column in COLUMNS]


def pricing_quantity(charge: Charge) -> Decimal:
    """GPU-hours such that price x quantity is the cost, to 24 significant digits.

    The ledger rounds the shares of a replica-hour to 10^-6 of the currency, so the hours that are charged differ from
    the hours that were measured (ConsumedQuantity) by that rounding. At a price of zero they are the measured ones.
    """
    if charge.key.price == 0:
        return _DIVISION.divide(charge.gpu_seconds, Decimal(3600))
    return _DIVISION.divide(charge.amount, charge.key.price)


def decimal_text(number: Decimal) -> str:
    """Plain digits with a point always: readers that guess types would take "4" for an integer column."""
    text = f"{number.normalize(Context(prec=60)):f}"
    return text if "." in text else f"{text}.0"


def safe_text(text: str) -> str:
    """A free name as a spreadsheet shows it: one that would run as a formula gets an apostrophe in front.

    Names can come from whoever may send records; ids are prefixed, so they never need it.
    """
    shown = text.replace("\x00", "")
    return f"'{shown}" if shown.startswith(_FORMULA_STARTS) else shown


def _money(charge: Charge) -> dict[str, str]:
    cost, price = decimal_text(charge.amount), decimal_text(charge.key.price)
    return {
        **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), cost),
        **dict.fromkeys(("ListUnitPrice", "ContractedUnitPrice"), price),
        **dict.fromkeys(("PricingCurrencyListUnitPrice", "PricingCurrencyContractedUnitPrice"), price),
        "PricingCurrencyEffectiveCost": cost,
        "BillingCurrency": charge.key.currency,
        "PricingCurrency": charge.key.currency,
        "PricingCategory": "Standard",
        "PricingQuantity": decimal_text(pricing_quantity(charge)),
        "PricingUnit": "GPU-Hours",
        "ConsumedQuantity": decimal_text(charge.gpu_seconds),
        "ConsumedUnit": "GPU-Seconds",
    }


def _periods(charge: Charge) -> dict[str, str]:
    start = charge.key.hour.astimezone(UTC)
    return {
        "ChargePeriodStart": _utc(start),
        "ChargePeriodEnd": _utc(start + HOUR),
        "BillingPeriodStart": _utc(start.replace(day=1, hour=0)),
        "BillingPeriodEnd": _utc(month_end(start)),
    }


def _who(charge: Charge, labels: Labels) -> dict[str, str]:
    cells = {
        "BillingAccountId": BILLING_ACCOUNT_ID,
        "BillingAccountName": PLATFORM,
        "BillingAccountType": "Cost Center",
        "InvoiceIssuerName": PLATFORM,
        "ProviderName": PLATFORM,
        "PublisherName": PLATFORM,
    }
    if charge.key.team_id:
        team = labels.teams[charge.key.team_id]
        cells |= {
            "SubAccountId": f"team/{team.slug}",
            "SubAccountName": safe_text(team.name),
            "SubAccountType": "Team",
        }
    return cells


def _what(charge: Charge, labels: Labels) -> dict[str, str]:
    key = charge.key
    replica, gpu = labels.replicas[key.replica_id], labels.gpu_types[key.gpu_type_id]
    tags = {"component": Component(key.component).word}
    if key.endpoint_id:
        tags["endpoint"] = labels.endpoints[key.endpoint_id].slug
    if key.model_id:
        tags["model"] = labels.models[key.model_id].slug
    return {
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "ChargeDescription": f"{_DESCRIPTIONS[Component(key.component)]}, replica {replica.slug}",
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "Generative AI",
        "ServiceName": "LLM Inference",
        "ResourceId": f"replica/{replica.slug}",
        "ResourceName": safe_text(replica.name),
        "ResourceType": "Inference Replica",
        "SkuId": f"gpu/{gpu.slug}",
        "SkuMeter": "GPU Time",
        "SkuPriceId": f"price/{key.price_id}",
        "SkuPriceDetails": _json({"GpuCount": 1, "x_GpuModel": gpu.name}),
        "Tags": _json(tags),
    }


def _ours(charge: Charge, labels: Labels) -> dict[str, str]:
    key = charge.key
    cells = {
        "x_CostComponent": Component(key.component).word,
        "x_PriceAssumed": "true" if key.price_id in labels.assumed_prices else "false",
    }
    if key.component == Component.SHARED:
        cells |= {"x_WorkReason": Work(key.work).word, "x_EvidenceTier": Tier(key.tier).word}
    for column, label_id, known in (
        ("Endpoint", key.endpoint_id, labels.endpoints),
        ("Model", key.model_id, labels.models),
    ):
        if label_id:
            cells[f"x_{column}Id"] = f"{column.lower()}/{known[label_id].slug}"
            cells[f"x_{column}Name"] = safe_text(known[label_id].name)
    if key.deployment_id:
        cells["x_DeploymentId"] = f"deployment/{labels.deployments[key.deployment_id].slug}"
    return cells


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
