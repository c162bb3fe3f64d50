"""The closed vocabularies of records, facts and ledger, with the small integers that tables hold."""

from __future__ import annotations

from enum import IntEnum


class Word(IntEnum):
    """An IntEnum whose members are spoken in lower case."""

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def words(cls) -> dict[str, int]:
        return {member.word: int(member) for member in cls}


class Status(Word):
    """How one attempt ended. Where a record claims both success and an error, the error counts."""

    OK = 0
    CLIENT_ERROR = 1
    RATE_LIMITED = 2
    SERVER_ERROR = 3
    TIMEOUT = 4
    ABORTED = 5  # the client hung up
    PARTIAL = 6  # failed in mid-stream, tokens were delivered


class StatusGroup(Word):
    """What a ledger line says of the attempts that it pays for."""

    OK = 0
    FAILED = 1
    ABORTED = 2
    REJECTED = 3  # refused before admission (429, auth, too long): used nothing, costs nothing


STATUS_GROUP: dict[Status, StatusGroup] = {
    Status.OK: StatusGroup.OK,
    Status.CLIENT_ERROR: StatusGroup.REJECTED,
    Status.RATE_LIMITED: StatusGroup.REJECTED,
    Status.SERVER_ERROR: StatusGroup.FAILED,
    Status.TIMEOUT: StatusGroup.FAILED,
    Status.ABORTED: StatusGroup.ABORTED,
    Status.PARTIAL: StatusGroup.FAILED,
}


class Operation(Word):
    CHAT = 0
    COMPLETION = 1
    EMBEDDINGS = 2
    RERANK = 3
    TRANSCRIPTION = 4
    SPEECH = 5
    IMAGE = 6
    MODERATION = 7
    RESPONSES = 8
    OTHER = 15


class Traffic(Word):
    USER = 0
    BATCH = 1
    HEALTH = 2
    JUDGE = 3
    SHADOW = 4


class TokenSource(Word):
    """Where a record's token numbers come from."""

    REPORTED = 0
    ESTIMATED = 1
    MISSING = 2


class Finish(Word):
    STOP = 0
    LENGTH = 1
    TOOL_CALLS = 2
    CONTENT_FILTER = 3
    ERROR = 4
    OTHER = 15


class Work(Word):
    """Why an attempt was made, seen from its task."""

    FIRST = 0  # the first try of a step
    RETRY = 1  # the same model again, by gateway or client
    FALLBACK = 2  # the gateway went on to another model within one call
    ESCALATION = 3  # the client tried again on another model


class Decision(Word):
    """The newest outcome of a task. UNDECIDED is pending inside the decision window, not accepted past it."""

    UNDECIDED = 0
    ACCEPTED = 1
    REWORKED = 2  # accepted, but only after somebody changed it
    REJECTED = 3


class Component(Word):
    """What part of a replica-hour a ledger line pays for. The five add up to the replica-hour, always."""

    SHARED = 0  # busy time, divided among the requests then running
    UNATTRIBUTED = 1  # busy time of tokens that the engine counted and no gateway logged
    IDLE = 2
    LOAD = 3
    DOWN = 4


class Tier(Word):
    """Evidence behind a shared line, best first (docs/attribution.md)."""

    SHARED_TIME = 0  # A: request times
    THREE_DRIVERS = 1  # B: engine counters and gateway tokens
    WEIGHTED_TOKENS = 2  # C: tokens only, marked estimated


class Pool(Word):
    """Cost pools. Compute is computed today; the ledger holds the others as they arrive."""

    COMPUTE = 0
    POWER = 1
    STORAGE = 2
    NETWORK = 3
    SOFTWARE = 4
    OPERATIONS = 5
    RESERVED = 6
