"""The demo: a catalog, a week of copies of the recording behind it, facts and costs computed, and where it stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from apps.accounts import services as accounts
from apps.attribution import services as attribution
from apps.catalog import services as catalog
from apps.config.recording.fill import SAY_EVERY_SECONDS, Say, fill
from apps.config.recording.layout import open_recording
from apps.config.recording.rhythm import WEEK_SECONDS
from apps.config.recording.schedule import ANCHOR_LEAD_SECONDS, Schedule
from apps.config.recording.state import DemoState, load_state
from apps.core.time import from_micros
from apps.ingest import selectors as ingest_selectors
from apps.ingest import services as ingest
from apps.rollups import services as rollups

ACTOR = "demo"
KEY_NAME = "Demo gateway"


@dataclass(frozen=True)
class Demo:
    """Where the demo's files are: the recording's directory and the product's var/."""

    recording: Path
    var: Path

    @property
    def state_path(self) -> Path:
        return self.var / "demo.json"

    @property
    def key_path(self) -> Path:
        return self.var / "demo-key"

    def state(self) -> DemoState | None:
        """Where the demo stands; None when this database has not seen it.

        Without its file it goes on with a new anchor from where the engines' metrics end, so that nothing overlaps.
        """
        scraped = [t.last_ok_at for t in ingest_selectors.targets() if t.recording and t.last_ok_at is not None]
        if not scraped:
            return None
        return load_state(self.state_path) or DemoState(
            anchor=int(time.time()) - ANCHOR_LEAD_SECONDS, until=int(max(scraped).timestamp())
        )


def prepare(demo: Demo, *, say: Say) -> Schedule:
    """Bring the demo up to now: lay out the last week, or what is missing of it since the last time."""
    began = time.time()
    state = demo.state() or DemoState(anchor=int(began) - ANCHOR_LEAD_SECONDS, until=0)
    schedule = Schedule(open_recording(demo.recording), state.anchor)
    apply_catalog(demo, say=say)
    source = source_of(api_key(demo))
    ingest.mark_recording(kinds=[source.kind, "outcomes"], name=source.name, scope=source.scope)
    targets = ensure_targets(schedule, port=0)
    state = _catch_up(demo, schedule, state, source, targets, say)
    compute(say)
    state = _catch_up(demo, schedule, state, source, targets, say)
    compute(say)
    say(f"ready after {time.time() - began:.0f} s")
    return schedule


def _catch_up(
    demo: Demo,
    schedule: Schedule,
    state: DemoState,
    source: ingest.SourceRef,
    targets: dict[str, int],
    say: Say,
) -> DemoState:
    until = int(time.time())
    since = max(state.until, schedule.origin, until - WEEK_SECONDS)
    if since < until:
        fill(schedule, source=source, targets=targets, since=since, until=until, say=say)
    state = replace(state, until=until)
    state.save(demo.state_path)
    return state


def apply_catalog(demo: Demo, *, say: Say) -> None:
    """Apply the recording's catalog; once applied, it changes nothing."""
    document = yaml.safe_load((demo.recording / "catalog.yaml").read_text())
    difference = catalog.apply(
        document=document, actor=ACTOR, dry_run=False, audit=accounts.auditor(user=None, actor=ACTOR)
    )
    changed = len(difference.steps)
    say(f"catalog: {changed} changes" if changed else "catalog: as it should be")


def api_key(demo: Demo) -> str:
    """The demo gateway's key, made on first use and kept under var/, readable for its owner only."""
    if demo.key_path.is_file():
        secret = demo.key_path.read_text().strip()
        if accounts.authenticate_key(secret) is not None:
            return secret
    _, secret = accounts.create_key(name=KEY_NAME, scopes=["ingest"], actor=ACTOR)
    demo.var.mkdir(parents=True, exist_ok=True)
    demo.key_path.unlink(missing_ok=True)
    demo.key_path.touch(mode=0o600)
    demo.key_path.write_text(secret + "\n")
    return secret


def source_of(secret: str) -> ingest.SourceRef:
    """The same source that the API sees behind this key, so that a record counts once whichever way it came."""
    holder = accounts.authenticate_key(secret)
    if holder is None:
        raise RuntimeError("the demo's API key has just been revoked")
    return ingest.SourceRef(kind="litellm", name=holder.name, scope=holder.prefix)


def ensure_targets(schedule: Schedule, *, port: int) -> dict[str, int]:
    """Replica -> id of its target, asked for the demo's own pages on `port`; 0: none are served, so do not ask."""
    return {
        replica: ingest.ensure_target(
            spec=ingest.TargetSpec(
                name=replica,
                url=f"http://127.0.0.1:{port}/{replica}/metrics" if port else "",
                enabled=bool(port),
                recording=True,
            )
        )
        for replica in schedule.recording.pages
    }


def compute(say: Say) -> None:
    """Fold and attribute every hour that is behind."""
    now = from_micros(int(time.time() * 1e6))
    folded = rollups.fold_dirty(now=now, progress=_told("folded", say))
    costed = attribution.attribute_dirty(now=now, progress=_told("attributed", say))
    say(f"{len(folded)} hours folded, {len(costed)} attributed")


def _told(what: str, say: Say) -> Callable[[int, int], None]:
    """A progress callback that speaks at most every two seconds."""
    told = [time.monotonic()]

    def progress(done: int, total: int) -> None:
        if time.monotonic() - told[0] > SAY_EVERY_SECONDS:
            told[0] = time.monotonic()
            say(f"{done} of {total} hours {what}")

    return progress
