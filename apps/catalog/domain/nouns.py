"""What the catalog tells other rooms: its nouns, what each replica holds, what changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from apps.core.query import NONE_GIVEN


@dataclass(frozen=True, slots=True)
class Name:
    id: int
    slug: str
    name: str
    claimed: bool


NOBODY = Name(NONE_GIVEN, "none-given", "none given", True)


class Names(dict[int, Name]):
    """Names by id. An id that is in facts but no longer in the catalog (merged, not folded again yet) is named so."""

    def __missing__(self, noun_id: int) -> Name:
        return Name(noun_id, f"gone-{noun_id}", f"merged or removed (number {noun_id})", False)


@dataclass(frozen=True, slots=True)
class TeamRow:
    id: int
    slug: str
    name: str
    claimed: bool


@dataclass(frozen=True, slots=True)
class EndpointRow:
    id: int
    slug: str
    name: str
    claimed: bool
    team_id: int
    decision_window_hours: int


@dataclass(frozen=True, slots=True)
class ModelRow:
    id: int
    slug: str
    name: str
    claimed: bool


@dataclass(frozen=True, slots=True)
class GpuTypeRow:
    id: int
    slug: str
    name: str
    claimed: bool
    memory_gib: Decimal | None


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    id: int
    slug: str
    name: str
    claimed: bool
    model_id: int
    owner_id: int
    gpu_type_id: int
    gpus_per_replica: Decimal


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    id: int
    slug: str
    name: str
    claimed: bool
    deployment_id: int
    metrics_url: str
    held_from: datetime | None
    held_until: datetime | None


@dataclass(frozen=True, slots=True)
class KeyRow:
    id: int
    slug: str
    name: str
    claimed: bool
    team_id: int


NounRow = TeamRow | EndpointRow | ModelRow | GpuTypeRow | DeploymentRow | ReplicaRow | KeyRow


@dataclass(frozen=True, slots=True)
class Holding:
    """What a replica holds, and for whom. Ids are 0 and `gpus` is None where the catalog does not say."""

    replica_id: int
    slug: str
    deployment_id: int
    model_id: int
    owner_team_id: int
    gpu_type_id: int
    gpu_type_name: str
    gpus: Decimal | None
    held_from: datetime | None
    held_until: datetime | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """Hours in [affects_from, affects_until) may come out differently now; None is open."""

    id: int
    what: Literal["labels", "prices"]
    affects_from: datetime | None
    affects_until: datetime | None


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """A noun that ingest met and nobody has named, with the raw labels that mean it."""

    kind: str
    id: int
    slug: str
    name: str
    raws: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class AliasView:
    id: int
    kind: str
    raw: str
    target_id: int
    valid_from: datetime


@dataclass(frozen=True, slots=True)
class ScrapeAddress:
    """A replica's metrics page: `name` is a label that resolves to the replica."""

    name: str
    url: str
