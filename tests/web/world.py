"""A world small enough to work out by hand, made through the same services as live data.

hour  gpu-0 (1 GPU, $2 an hour, held three hours)           tasks
0     search:  one request of 30 min                        t1 accepted, 3 min of review at $60 an hour
1     support: one request of 15 min, one that fails at     t2 of support: no outcome, pending
      once with a 500, one refused with a 400
2     nothing runs

used by requests   search 1.00, support 0.50   = 1.50
idle               1.00 + 1.50 + 2.00          = 4.50
spend                                          = 6.00
cost per accepted task   (1.00 + 3.00) / 1     = 4.00
requests 4, failed on our side 1: error rate 25 %
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import yaml

from apps.attribution import services as attribution
from apps.catalog import services as catalog
from apps.core.time import HOUR, hour_floor
from apps.ingest import services as ingest
from apps.ingest.services import SourceRef
from apps.rollups import services as rollups

CATALOG = """
teams:
  - {slug: platform, name: Platform}
  - {slug: search, name: Search}
  - {slug: support, name: Support}
models: [{slug: llama, name: Llama}]
endpoints:
  - {slug: answers, name: Answers, team: search}
  - {slug: chat, name: Chat, team: support}
gpu_types: [{slug: h100, name: H100}]
deployments:
  - slug: llama
    name: Llama
    model: llama
    owner: platform
    gpu_type: h100
    gpus_per_replica: 1
    replicas: [{slug: gpu-0, name: gpu-0, held_from: "%(start)s", held_until: "%(end)s"}]
prices:
  gpu_hour: [{gpu_type: h100, amount: "2.00", currency: USD, from: 2020-01-01, source: a list, assumed: true}]
  reviewer_hour: [{amount: "60.00", currency: USD, from: 2020-01-01, source: payroll}]
"""
SOURCE = SourceRef("gateway", "native", "ifm_test")


def start_of(now: datetime) -> datetime:
    """The first of the world's three hours, which end with the one before the present one."""
    return hour_floor(now) - 3 * HOUR


def build(now: datetime, *, priced: bool = True) -> None:
    start = start_of(now)
    text = CATALOG % {"start": start.isoformat(), "end": (start + 3 * HOUR).isoformat()}
    document = yaml.safe_load(text)
    if not priced:
        del document["prices"]
    catalog.apply(document=document, actor="test", dry_run=False)
    ingest.ingest_requests(source=SOURCE, stream=body(records(start)), now=now)
    ingest.ingest_outcomes(source=SOURCE, body=body(outcomes(start)), now=now)
    rollups.fold_dirty(now=now)
    attribution.attribute_dirty(now=now)


def records(start: datetime) -> list[dict[str, object]]:
    common: dict[str, object] = {"model": "llama", "replica": "gpu-0", "operation": "chat", "traffic": "user"}
    search = {**common, "team": "search", "endpoint": "answers"}
    support = {**common, "team": "support", "endpoint": "chat"}
    return [
        _record("a", start, 1800, search, task_id="t1", stream=True, first=2.0),
        _record("b", start + HOUR, 900, support, task_id="t2"),
        {**_record("c", start + HOUR, 0, support, status="server_error"), "http_status": 500},
        {**_record("d", start + HOUR, 0, support, status="client_error"), "http_status": 400},
    ]


def _record(
    name: str,
    start: datetime,
    seconds: int,
    labels: dict[str, object],
    *,
    status: str = "ok",
    task_id: str = "",
    stream: bool = False,
    first: float = 0.0,
) -> dict[str, object]:
    record = {
        **labels,
        "id": name,
        "started_at": start.isoformat(),
        "ended_at": (start + timedelta(seconds=seconds)).isoformat(),
        "status": status,
        "stream": stream,
    }
    if status == "ok":
        record |= {"input_tokens": 1000, "cached_input_tokens": 250, "output_tokens": 200}
    if task_id:
        record |= {"task_id": task_id, "attempt": 1, "step": 0}
    if first:
        record["first_token_at"] = (start + timedelta(seconds=first)).isoformat()
    return record


def outcomes(start: datetime) -> list[dict[str, object]]:
    decided = (start + HOUR).isoformat()
    return [{"task_id": "t1", "accepted": True, "review_minutes": 3, "decided_at": decided, "evaluator": "desk"}]


def body(records: list[dict[str, object]]) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()
