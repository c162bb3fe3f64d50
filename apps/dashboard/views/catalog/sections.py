"""The catalog's nouns as tables of words, one section a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.catalog import selectors as catalog
from apps.catalog.domain.nouns import DeploymentRow, EndpointRow, GpuTypeRow, KeyRow, NounRow, ReplicaRow
from apps.dashboard.format import DASH


@dataclass(frozen=True, slots=True)
class Section:
    """`slug` in the address, `kind` for the catalog's services, `title` and `one` in words."""

    slug: str
    kind: str
    title: str
    one: str
    about: str
    rows: Callable[[], Sequence[NounRow]]
    columns: tuple[str, ...] = ()

    @property
    def has_labels(self) -> bool:
        return self.kind not in ("gpu_type", "deployment")


SECTIONS = (
    Section("teams", "team", "Teams", "team", "Who pays.", catalog.teams),
    Section(
        "endpoints",
        "endpoint",
        "Endpoints",
        "endpoint",
        "Workloads: what a team uses a model for.",
        catalog.endpoints,
        ("Team", "Decision window"),
    ),
    Section("models", "model", "Models", "model", "What answers.", catalog.models),
    Section(
        "deployments",
        "deployment",
        "Deployments",
        "deployment",
        "A model on GPUs, as one or more equal replicas.",
        catalog.deployments,
        ("Model", "Owner", "GPU type", "GPUs per replica"),
    ),
    Section(
        "replicas",
        "replica",
        "Replicas",
        "replica",
        "One engine process each.",
        catalog.replicas,
        ("Deployment", "Metrics page", "Holds its GPUs"),
    ),
    Section("gpu-types", "gpu_type", "GPU types", "GPU type", "What is priced.", catalog.gpu_types, ("Memory",)),
    Section(
        "keys", "key", "Keys", "key", "What a team calls a gateway with, by alias or hash.", catalog.keys, ("Team",)
    ),
)
BY_SLUG: Mapping[str, Section] = {section.slug: section for section in SECTIONS}
BY_KIND: Mapping[str, Section] = {section.kind: section for section in SECTIONS}


@dataclass(frozen=True, slots=True)
class TableRow:
    id: int
    name: str
    slug: str
    claimed: bool
    cells: tuple[str, ...]
    labels: str


def table(section: Section) -> list[TableRow]:
    """The section's rows, claimed ones first."""
    cells = _Cells(section.kind)
    labels = _labels(section)
    rows = [
        TableRow(row.id, row.name, row.slug, row.claimed, cells.of(row), labels.get(row.id, ""))
        for row in section.rows()
    ]
    return sorted(rows, key=lambda row: (not row.claimed, row.name.lower()))


def _labels(section: Section) -> dict[int, str]:
    if not section.has_labels:
        return {}
    found: dict[int, list[str]] = {}
    for alias in catalog.aliases(section.kind):
        found.setdefault(alias.target_id, []).append(alias.raw)
    return {
        noun_id: ", ".join(raws[:3]) + (f" and {len(raws) - 3} more" if len(raws) > 3 else "")
        for noun_id, raws in found.items()
    }


_REFERS_TO: Mapping[str, tuple[Section, ...]] = {
    "endpoint": (BY_KIND["team"],),
    "deployment": (BY_KIND["model"], BY_KIND["team"], BY_KIND["gpu_type"]),
    "replica": (BY_KIND["deployment"],),
    "key": (BY_KIND["team"],),
}


class _Cells:
    """The cells of a kind's rows; names of what they refer to are read once."""

    def __init__(self, kind: str) -> None:
        self._names = {
            section.kind: {row.id: row.name for row in section.rows()} for section in _REFERS_TO.get(kind, ())
        }

    def of(self, row: NounRow) -> tuple[str, ...]:
        match row:
            case EndpointRow():
                return self._name("team", row.team_id), f"{row.decision_window_hours} h"
            case DeploymentRow():
                return (
                    self._name("model", row.model_id),
                    self._name("team", row.owner_id),
                    self._name("gpu_type", row.gpu_type_id),
                    f"{row.gpus_per_replica.normalize():f}",
                )
            case ReplicaRow():
                return self._name("deployment", row.deployment_id), row.metrics_url or DASH, _held(row)
            case GpuTypeRow():
                return (DASH if row.memory_gib is None else f"{row.memory_gib.normalize():f} GiB",)
            case KeyRow():
                return (self._name("team", row.team_id),)
        return ()

    def _name(self, kind: str, noun_id: int) -> str:
        return self._names[kind].get(noun_id, DASH)


def _held(row: ReplicaRow) -> str:
    if row.held_from is None and row.held_until is None:
        return "since its first evidence"
    start = _minute(row.held_from) if row.held_from else "first evidence"
    return f"{start} to {_minute(row.held_until) if row.held_until else 'now'}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
