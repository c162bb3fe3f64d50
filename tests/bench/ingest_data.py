"""Bodies for the ingest benchmarks: our own format made up, LiteLLM's from the recording with ids made distinct."""

from __future__ import annotations

import gzip
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

RECORDING = Path(__file__).resolve().parents[2] / "recordings" / "two-engines"
START = datetime(2026, 11, 29, tzinfo=UTC)
NOW = START + timedelta(days=2)


def write_native(path: Path, records: int, seed: int = 7) -> int:
    """NDJSON of our own format, about 640 bytes a record over one day; returns the bytes."""
    chance = random.Random(seed)
    with path.open("wb") as file:
        for i in range(records):
            started = START + timedelta(microseconds=i * (86_400_000_000 // records) + chance.randrange(1000))
            took = chance.expovariate(0.2)
            failed = chance.random() < 0.03
            record: dict[str, object] = {
                "id": f"chatcmpl-{chance.getrandbits(64):016x}",
                "call_id": f"{chance.getrandbits(128):032x}",
                "trace_id": f"{chance.getrandbits(128):032x}",
                "session_id": f"session-{i // 5}",
                "task_id": f"task-{i // 2}",
                "attempt": 1 + i % 2,
                "started_at": _text(started),
                "ended_at": _text(started + timedelta(seconds=took)),
                "team": f"team-{i % 12}",
                "endpoint": f"endpoint-{i % 40}",
                "key": f"key-{i % 60}",
                "model": f"model-{i % 6}",
                "model_served": f"org/model-{i % 6}",
                "backend": f"http://10.0.0.{i % 4}:8000/v1/chat/completions",
                "operation": "chat",
                "stream": not failed,
                "status": "server_error" if failed else "ok",
                "http_status": 500 if failed else 200,
            }
            if not failed:
                record |= {
                    "first_token_at": _text(started + timedelta(seconds=took / 10)),
                    "input_tokens": chance.randrange(20, 8000),
                    "cached_input_tokens": chance.randrange(20),
                    "output_tokens": chance.randrange(1, 900),
                    "queue_seconds": round(chance.random(), 4),
                    "finish_reason": "stop",
                }
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        return file.tell()


def write_litellm(path: Path, records: int) -> int:
    """The recording's payloads over and over, each with a call id and an id of its own; returns the bytes."""
    lines = gzip.decompress((RECORDING / "gateway.ndjson.gz").read_bytes()).splitlines(keepends=True)
    with path.open("wb") as file:
        for i in range(records):
            line = lines[i % len(lines)]
            at = line.index(b'"litellm_call_id": "') + 20
            tag = b"%08x" % (i // len(lines))
            # The whole call moves together, so that its attempts still share an id.
            file.write(line[:at] + tag + line[at + 8 :])
        return file.tell()


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
