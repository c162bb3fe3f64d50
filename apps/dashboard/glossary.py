"""The words of the pages, each with one or two sentences; pages link to them by key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    key: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TermGroup:
    name: str
    terms: tuple[Term, ...]


GROUPS = (
    TermGroup(
        "Money",
        (
            Term(
                "allocation-basis",
                "Allocation basis",
                "All of what replicas cost while they held their GPUs: used, unattributed, idle, loading and down. "
                "It reconciles with the bill, and it is the only basis to compare self-hosting with a provider on.",
            ),
            Term(
                "usage-basis",
                "Usage basis",
                "The busy part alone: used by requests, and unattributed. Usage divided by allocation is utilisation.",
            ),
            Term(
                "shared",
                "Used by requests",
                "At every instant the cost of a busy replica is divided equally among the requests then running. "
                "A request pays for its part of the time, not for its tokens.",
            ),
            Term(
                "unattributed",
                "Unattributed",
                "Busy time of tokens that the engine counted and no gateway logged. Coverage, logged divided by "
                "counted tokens, says how much is seen.",
            ),
            Term("idle", "Idle", "GPUs held while the engine was up and nothing ran. Its deployment's owner pays."),
            Term("load", "Loading", "GPUs held from the start of an engine's process until it first answered."),
            Term("down", "Down", "GPUs held while the engine did not answer."),
            Term(
                "estimated",
                "Estimated",
                "Shared by stated weights of tokens, because a source gave no request times.",
            ),
            Term(
                "assumed-price",
                "Assumed price",
                "A price stated without evidence. Every page that rests on one says so.",
            ),
        ),
    ),
    TermGroup(
        "Tasks",
        (
            Term(
                "task",
                "Task",
                "A piece of work with one outcome, named by its task id; it may take several requests, retries and "
                "models. It counts in the hour, and for the team, endpoint and model, of its first request.",
            ),
            Term(
                "cost-per-accepted-task",
                "Cost per accepted task",
                "Serving cost of all attempts of all decided tasks, plus review minutes at the reviewer's rate, "
                "divided by the tasks that were accepted without rework. On the usage basis.",
            ),
            Term(
                "acceptance-rate",
                "Acceptance rate",
                "Tasks accepted without rework, divided by decided tasks. A task without a decision is pending within "
                "its endpoint's decision window and counts as not accepted after it.",
            ),
            Term("retry", "Retry", "The same model tried again, by the gateway or the client."),
            Term("fallback", "Fallback", "The gateway went on to another model within one call."),
            Term("escalation", "Escalation", "The client tried the task again on another model."),
        ),
    ),
    TermGroup(
        "Requests",
        (
            Term(
                "requests",
                "Requests and attempts",
                "A client request is one call as its sender sees it; the gateway may make several attempts for it. "
                "Each count names which of the two it is.",
            ),
            Term(
                "error-rate",
                "Error rate",
                "Client requests whose last attempt failed on our side (server error, time-out, broken off), divided "
                "by all. Requests refused as wrong, refused by a limit, or hung up on by the client are not in it.",
            ),
            Term(
                "tokens",
                "Tokens",
                "Input and output tokens as sources report them. Input includes what came from a cache; output "
                "includes reasoning. A record without numbers counts as missing, not as zero.",
            ),
            Term("ttft", "Time to first token (TTFT)", "From the start of a streamed request to its first token."),
            Term(
                "itl",
                "Time between tokens (ITL)",
                "The rest of a streamed answer's time, divided by its tokens after the first.",
            ),
            Term("e2e", "Whole answer", "From the start of a request to its end."),
            Term(
                "percentile",
                "p50, p95, p99",
                "The value that 50, 95 or 99 % of requests stayed at or below, from merged histograms, within 1 %. "
                "A percentile is never an average of percentiles.",
            ),
        ),
    ),
    TermGroup(
        "Engines",
        (
            Term(
                "kv-cache",
                "KV cache",
                "GPU memory that holds the attention state of running requests. When it is full, requests wait, and "
                "some are preempted: thrown out and computed again.",
            ),
            Term(
                "prefix-hits",
                "Prefix hits",
                "Prompt tokens found in the prefix cache, divided by those that were looked up.",
            ),
            Term(
                "draft-acceptance",
                "Draft acceptance",
                "Accepted draft tokens divided by proposed ones, in speculative decoding. Tokens a step is one plus "
                "accepted tokens divided by drafts.",
            ),
            Term("preemption", "Preemption", "A running request was thrown out of the cache to make room."),
        ),
    ),
)

TERMS = {term.key: term for group in GROUPS for term in group.terms}
