"""What the demo remembers between two starts: a small file under var/."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class DemoState:
    """`anchor`: start of the copy that all others are placed around. `until`: all before this has been handed over."""

    anchor: int
    until: int
    port: int = 0

    def save(self, path: Path) -> None:
        """Replace the file in one step, so that a killed process leaves the old state or the new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(path)


def load_state(path: Path) -> DemoState | None:
    """The state in the file; None when there is none or it cannot be read (the demo then begins anew)."""
    try:
        data = json.loads(path.read_text())
        return DemoState(anchor=int(data["anchor"]), until=int(data["until"]), port=int(data.get("port", 0)))
    except (OSError, ValueError, KeyError, TypeError):
        return None
