"""FOCUS rows: the identities, the row rules of FOCUS 1.2, and the traps of its readers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.api.domain.focus.charges import Charge, gather
from apps.api.domain.focus.columns import COLUMNS, CUSTOM, STANDARD
from apps.api.domain.focus.rows import Label, Labels, decimal_text, pricing_quantity, row, safe_text
from apps.attribution.domain.lines import Line
from apps.core.vocabulary import Component, StatusGroup, Tier, Traffic, Work

HOUR = datetime(2026, 11, 30, 23, tzinfo=UTC)
LABELS = Labels(
    teams={3: Label("support", "Support"), 4: Label("4711", "=HYPERLINK(evil)")},
    endpoints={5: Label("triage", "Ticket triage")},
    models={6: Label("granite-small", "Granite small")},
    replicas={7: Label("granite-small-0", "granite-small 0")},
    deployments={8: Label("granite", "Granite")},
    gpu_types={9: Label("h100-sxm", "H100 SXM")},
    assumed_prices=frozenset({11}),
)
LINE = Line(
    component=Component.SHARED, replica_id=7, deployment_id=8, gpu_type_id=9, team_id=3, endpoint_id=5, model_id=6,
    key_id=2, work=Work.FIRST, status_group=StatusGroup.OK, traffic=Traffic.USER, tier=Tier.SHARED_TIME,
    seconds=Decimal("1200"), gpu_seconds=Decimal("1200"), amount=Decimal("1.000000"), currency="USD", reason="",
    price_id=11, price=Decimal("3"),
)  # fmt: skip


def cells(line: Line, hour: datetime = HOUR) -> dict[str, str]:
    (charge,) = gather(hour, [line])
    return dict(zip(COLUMNS, row(charge, LABELS), strict=True))


def test_the_columns_are_the_57_of_focus_1_2_in_order_and_then_ours() -> None:
    assert len(STANDARD) == 57
    assert list(STANDARD) == sorted(STANDARD)
    assert all(re.fullmatch(r"x_([A-Z][a-z]+)+", column) and len(column) <= 50 for column in CUSTOM)


def test_a_charge_by_hand() -> None:
    # A third of an hour of one GPU at 3 USD an hour: 1 USD.
    found = cells(LINE)
    for column in ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost", "PricingCurrencyEffectiveCost"):
        assert found[column] == "1.0"
    assert found["ListUnitPrice"] == found["ContractedUnitPrice"] == "3.0"
    assert found["PricingQuantity"] == "0.333333333333333333333333"
    assert (found["ConsumedQuantity"], found["ConsumedUnit"]) == ("1200.0", "GPU-Seconds")
    assert (found["ChargePeriodStart"], found["ChargePeriodEnd"]) == ("2026-11-30T23:00:00Z", "2026-12-01T00:00:00Z")
    assert found["BillingPeriodStart"] == "2026-11-01T00:00:00Z"
    assert found["BillingPeriodEnd"] == "2026-12-01T00:00:00Z"
    assert (found["SubAccountId"], found["SubAccountName"], found["SubAccountType"]) == (
        "team/support", "Support", "Team",
    )  # fmt: skip
    assert (found["SkuId"], found["SkuPriceId"]) == ("gpu/h100-sxm", "price/11")
    assert json.loads(found["SkuPriceDetails"]) == {"GpuCount": 1, "x_GpuModel": "H100 SXM"}
    assert json.loads(found["Tags"]) == {"component": "shared", "endpoint": "triage", "model": "granite-small"}
    assert (found["x_CostComponent"], found["x_WorkReason"], found["x_EvidenceTier"]) == (
        "shared", "first", "shared_time",
    )  # fmt: skip
    assert found["x_PriceAssumed"] == "true"


def test_nobodys_idle_has_no_subaccount_endpoint_or_reason_of_work() -> None:
    found = cells(replace(LINE, component=Component.IDLE, team_id=0, endpoint_id=0))
    null = ("SubAccountId", "SubAccountName", "SubAccountType", "x_EndpointId", "x_EndpointName", "x_WorkReason")
    assert [found[column] for column in null] == [""] * len(null)
    assert found["x_CostComponent"] == "idle"


def test_a_name_that_a_spreadsheet_would_run_is_shown_as_text_and_ids_have_a_letter() -> None:
    found = cells(replace(LINE, team_id=4))
    assert found["SubAccountName"] == "'=HYPERLINK(evil)"
    assert found["SubAccountId"] == "team/4711"
    assert safe_text("-1") == "'-1"
    assert safe_text("Équipe données") == "Équipe données"


def test_lines_without_a_price_are_left_out_and_the_rest_adds_up() -> None:
    lines = [
        LINE,
        replace(LINE, key_id=99, status_group=StatusGroup.FAILED, amount=Decimal("0.250000"), gpu_seconds=Decimal(300)),
        replace(LINE, amount=None, price=None, price_id=None, reason="no price"),
        replace(LINE, component=Component.IDLE, team_id=0, amount=Decimal("-0.000003")),
    ]
    charges = gather(HOUR, lines)
    assert [charge.amount for charge in charges] == [Decimal("-0.000003"), Decimal("1.25")]
    assert sum(charge.amount for charge in charges) == Decimal("1.249997")
    assert gather(HOUR, reversed(lines)) == charges


def test_a_price_change_inside_the_hour_makes_two_rows() -> None:
    later = replace(LINE, price_id=12, price=Decimal("4"))
    assert len(gather(HOUR, [LINE, later])) == 2


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("4", "4.0"),
        ("0", "0.0"),
        ("0E-9", "0.0"),
        ("-0.000003", "-0.000003"),
        ("1E+3", "1000.0"),
        ("2.5000000000", "2.5"),
        ("123456789012345.123456", "123456789012345.123456"),
    ],
)
def test_numbers_have_a_point_and_no_exponent(number: str, text: str) -> None:
    assert decimal_text(Decimal(number)) == text


NUMBER = re.compile(r"-?\d+\.\d+")
UNIT_PAIRS = (("PricingQuantity", "PricingUnit"), ("ConsumedQuantity", "ConsumedUnit"))
COSTS = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")


@settings(max_examples=200)
@given(
    amount=st.decimals(-1000, 1000, places=6),
    price=st.decimals("0.0000000001", 1000, places=10) | st.just(Decimal(0)),
    gpu_seconds=st.decimals(0, 30_000, places=9),
    component=st.sampled_from(Component),
    team=st.sampled_from([0, 3, 4]),
    endpoint=st.sampled_from([0, 5]),
)
def test_every_row_keeps_the_rules(
    amount: Decimal, price: Decimal, gpu_seconds: Decimal, component: Component, team: int, endpoint: int
) -> None:
    line = replace(
        LINE, amount=amount if price else Decimal(0), price=price, gpu_seconds=gpu_seconds, component=component,
        team_id=team, endpoint_id=endpoint,
    )  # fmt: skip
    found = cells(line)
    assert all(NUMBER.fullmatch(found[column]) for column in (*COSTS, "ListUnitPrice", "PricingQuantity"))
    for cost, unit in (("ListCost", "ListUnitPrice"), ("ContractedCost", "ContractedUnitPrice")):
        product = Decimal(found[unit]) * Decimal(found["PricingQuantity"])
        assert abs(product - Decimal(found[cost])) <= abs(Decimal(found[cost])) * Decimal("1e-9")
    assert Decimal(found["ListUnitPrice"]) >= 0
    assert all((found[quantity] == "") == (found[unit] == "") for quantity, unit in UNIT_PAIRS)
    assert (found["SubAccountId"] == "") == (found["SubAccountName"] == "") == (found["SubAccountType"] == "")
    assert found["ProviderName"] == found["PublisherName"] == found["InvoiceIssuerName"] != ""
    assert found["BillingPeriodStart"] <= found["ChargePeriodStart"] < found["ChargePeriodEnd"]
    assert found["ChargePeriodEnd"] <= found["BillingPeriodEnd"]
    assert found["ChargeClass"] == "" and found["ChargeCategory"] == "Usage"
    assert all(type(value) is not dict for value in json.loads(found["Tags"]).values())


def test_charged_and_measured_hours_differ_by_the_rounding_of_the_ledger_only() -> None:
    # 1 second at 2.5 an hour is 0.000694444...: the ledger holds 0.000694, which is 0.99936 seconds.
    key = gather(HOUR, [replace(LINE, price=Decimal("2.5"))])[0].key
    charge = Charge(key, gpu_seconds=Decimal(1), amount=Decimal("0.000694"))
    assert pricing_quantity(charge) == Decimal("0.0002776")
    assert abs(pricing_quantity(charge) - Decimal(1) / 3600) <= Decimal("0.0000005") / Decimal("2.5")
