"""Turns logged tokens into what each replica was given and gave within one hour, to set beside its own counters."""

from __future__ import annotations

import numpy as np

from apps.rollups.domain.attempts import NO_TIME, Attempts, Int32, Int64


def logged_tokens(attempts: Attempts, lane: Int32, lanes: int, hour: tuple[int, int]) -> tuple[Int64, Int64]:
    """Prompt and generated tokens of each lane (-1: none) that fall in the hour, each of shape (lanes,).

    A prompt counts at its first token, as engines count it; the answer is spread evenly from there to the end. The
    whole tokens of one answer in the hours it touches sum to it exactly. Without a first token both count at the end.
    """
    at = np.where(attempts.first_token_us == NO_TIME, attempts.closed_us, attempts.first_token_us)
    at = np.minimum(at, attempts.closed_us)
    here = (lane >= 0) & (at >= hour[0]) & (at < hour[1]) & (attempts.input_tokens > 0)
    prompt = np.bincount(lane[here], weights=attempts.input_tokens[here], minlength=lanes)
    some = np.flatnonzero((lane >= 0) & (attempts.output_tokens > 0) & (at < hour[1]) & (attempts.closed_us >= hour[0]))
    output, begin, end = attempts.output_tokens[some].astype(np.int64), at[some], attempts.closed_us[some]
    inside = output.copy()
    edge = np.flatnonzero((begin < hour[0]) | (end >= hour[1]))
    output, begin, end = output[edge], begin[edge], end[edge]
    inside[edge] = _given_by(hour[1], output, begin, end) - _given_by(hour[0], output, begin, end)
    generated = np.bincount(lane[some], weights=inside, minlength=lanes)
    return prompt.astype(np.int64), generated.astype(np.int64)


def _given_by(moment: int, output: Int64, begin: Int64, end: Int64) -> Int64:
    """Whole tokens given before `moment`; all of them once it is past the end, also where begin and end are one."""
    passed = np.clip(moment - begin, 0, end - begin)
    return np.where(moment > end, output, output * passed // np.maximum(end - begin, 1))
