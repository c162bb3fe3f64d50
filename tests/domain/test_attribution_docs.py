"""The worked example of docs/attribution.md, recomputed from its own tables."""

from __future__ import annotations

import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

from apps.attribution.domain.allocate import allocate_replica_hour
from apps.attribution.domain.bridge import TaskCounts, task_cost_row
from apps.attribution.domain.costs import Sum, added
from apps.attribution.domain.lines import Line
from apps.attribution.domain.task_cost import Kind, TaskCostLine, review_costs_of_hour, task_costs_of_hour
from apps.core.vocabulary import Component, Decision, StatusGroup, Work
from apps.rollups.domain.facts import CohortRow, UsageFact
from tests.domain.ledger_facts import (
    HOUR,
    MODEL,
    OWNER,
    SECOND,
    book,
    holding,
    price,
    replica_hour,
    reviewer,
    task_share,
    usage,
)

PAGE = (Path(__file__).parents[2] / "docs" / "attribution.md").read_text(encoding="utf-8")
TEAMS = {"support": 1, "search": 2, "owner": OWNER, "nobody": 0}
Table = list[dict[str, str]]


def tables() -> dict[str, Table]:
    """Tables of the worked example by the bold words above them."""
    example = PAGE.split("## Worked example")[1]
    found: dict[str, Table] = {}
    for name, body in re.findall(r"\*\*(.+?)\*\*[^\n]*\n\n((?:\|.*\n)+)", example):
        head, _, *rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in body.splitlines()]
        found[name] = [dict(zip(head, row, strict=True)) for row in rows]
    return found


DOC = tables()


def usage_rows() -> list[UsageFact]:
    return [
        usage(
            TEAMS[row["team"]],
            int(row["seconds"]) * SECOND,
            work=Work[row["work"].upper()],
            status_group=StatusGroup[row["ended"].upper()],
        )
        for row in DOC["Usage"]
    ]


def lines() -> list[Line]:
    (seconds,) = DOC["Seconds"]
    prompt, generation = DOC["Tokens"]
    row = replica_hour(
        **{kind: int(value) * SECOND for kind, value in seconds.items()},
        counted_prompt_tokens=int(prompt["counted"]),
        logged_prompt_tokens=int(prompt["logged"]),
        counted_generation_tokens=int(generation["counted"]),
        logged_generation_tokens=int(generation["logged"]),
    )
    return allocate_replica_hour(row, usage_rows(), holding("2"), book(price("3.00")))


def task_costs() -> list[TaskCostLine]:
    rows = {(row.team_id, row.work): row for row in usage_rows()}
    shares = [
        task_share(
            rows[TEAMS[row["team"]], Work[row["work"].upper()]],
            int(row["seconds"]) * SECOND,
            Decision[row["decision"].upper()],
        )
        for row in DOC["Task shares"]
    ]
    cohorts = [
        CohortRow(
            HOUR,
            1,
            7,
            MODEL,
            Decision[row["decision"].upper()],
            int(row["tasks"]),
            0,
            0,
            Decimal(row["minutes"]),
        )
        for row in DOC["Tasks"]
    ]
    return [
        *task_costs_of_hour(lines(), usage_rows(), shares),
        *review_costs_of_hour(cohorts, book(reviewer("45"))),
    ]


def test_the_lines_are_those_of_the_page() -> None:
    computed = {
        (Component(x.component).word, x.team_id, Work(x.work).word, StatusGroup(x.status_group).word): x.amount
        for x in lines()
    }
    written = {
        (row["component"], TEAMS[row["team"]], row["work"], row["ended"]): Decimal(row["amount"])
        for row in DOC["Lines"]
    }
    assert computed == written
    assert sum(written.values()) == Decimal("6.00")


def test_the_costs_of_tasks_are_those_of_the_page() -> None:
    computed = {(Decision(cost.decision).word, cost.kind.value): cost.amount for cost in task_costs()}
    assert computed == {(row["decision"], row["kind"]): Decimal(row["amount"]) for row in DOC["Task costs"]}


def test_the_cost_per_accepted_task_is_that_of_the_page() -> None:
    sums: defaultdict[tuple[bool, Kind], list[Sum]] = defaultdict(list)
    for cost in task_costs():
        sums[False, cost.kind].append(Sum(cost.amount or Decimal(0), 1, 0, "", (cost.currency, cost.currency)))
    tasks = {row["decision"]: int(row["tasks"]) for row in DOC["Tasks"]}
    row = task_cost_row(None, {}, TaskCounts(**tasks), {key: added(items) for key, items in sums.items()})
    (written,) = DOC["Cost per accepted task"]
    assert row.compute == Decimal(written["compute"])
    assert row.retries == Decimal(written["retries"])
    assert row.review == Decimal(written["review"])
    assert row.total == Decimal(written["total"])
    assert row.accepted == int(written["accepted"])
    assert row.cost_per_accepted == Decimal(written["cost per accepted"])
