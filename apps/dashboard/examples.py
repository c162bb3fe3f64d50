"""What an empty page tells a newcomer to type; tests send and apply exactly these."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

CATALOG = """\
teams:
  - {slug: platform, name: Platform}
models:
  - {slug: llama-70b, name: Llama 70B}
gpu_types:
  - {slug: h100, name: H100 SXM 80 GB}
deployments:
  - slug: llama-70b
    name: Llama 70B
    model: llama-70b
    owner: platform
    gpu_type: h100
    gpus_per_replica: 4
    replicas:
      - {slug: llama-70b-0, name: llama-70b-0, metrics_url: "http://10.0.0.5:8000/metrics"}
prices:
  gpu_hour:
    - {gpu_type: h100, amount: "2.40", currency: USD, from: 2026-01-01, source: "contract 4711"}
  reviewer_hour:
    - {amount: "45.00", currency: USD, from: 2026-01-01, source: "payroll"}
"""

LITELLM = """\
litellm_settings:
  callbacks: ["inferometer"]
  turn_off_message_logging: true   # prompts need not travel at all

callback_settings:
  inferometer:
    callback_type: generic_api
    endpoint: {base_url}/api/v1/ingest/requests?results=rejected
    headers:
      Authorization: Bearer ifm_...
    max_retries: 8                 # the default is 0: a batch that fails once is forgotten
"""


@dataclass(frozen=True, slots=True)
class Examples:
    """The lines to copy, with this server's address and the present time in them."""

    request: str
    request_curl: str
    outcome: str
    outcome_curl: str
    litellm: str
    catalog: str = CATALOG


def examples(base_url: str, now: datetime) -> Examples:
    record = {
        "id": "r-1",
        "started_at": f"{now - timedelta(seconds=4):%Y-%m-%dT%H:%M:%SZ}",
        "ended_at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "team": "support",
        "endpoint": "summaries",
        "model": "llama-70b",
        "replica": "llama-70b-0",
        "task_id": "ticket-4711",
        "status": "ok",
        "input_tokens": 812,
        "output_tokens": 128,
    }
    decision = {
        "task_id": "ticket-4711",
        "accepted": True,
        "review_minutes": 2.5,
        "decided_at": f"{now:%Y-%m-%dT%H:%M:%SZ}",
    }
    request, outcome = json.dumps(record), json.dumps(decision)
    return Examples(
        request=request,
        request_curl=_curl(base_url, "requests", request),
        outcome=outcome,
        outcome_curl=_curl(base_url, "outcomes", outcome),
        litellm=LITELLM.format(base_url=base_url),
    )


def _curl(base_url: str, what: str, body: str) -> str:
    return (
        f'curl "{base_url}/api/v1/ingest/{what}" -H "Authorization: Bearer $KEY" '
        f"--data-binary @- <<'END'\n{body}\nEND"
    )
