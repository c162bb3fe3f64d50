"""One line of a Prometheus text page (0.0.4 or OpenMetrics) into name, labels and value, strictly."""

from __future__ import annotations

import re

Labels = tuple[tuple[str, str], ...]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_ESCAPE = re.compile(r'\\[\\"n]')


def parse_series(line: str) -> tuple[str, Labels, int]:
    """Name, labels (sorted by label name) and the position behind them, of one sample line.

    Label values may hold braces, commas, spaces and escaped quotes. Raises ValueError, with the reason, on a line that
    is not a sample.
    """
    match = _NAME.match(line)
    if match is None:
        raise ValueError("no metric name at the start of the line")
    name, position = match.group(), match.end()
    while position < len(line) and line[position] in " \t":
        position += 1
    if position == len(line) or line[position] != "{":
        return name, (), match.end()
    labels, end = _parse_labels(line, position + 1)
    if len({label for label, _ in labels}) != len(labels):
        raise ValueError("a label name occurs twice")
    return name, tuple(sorted(labels)), end


def _parse_labels(line: str, position: int) -> tuple[list[tuple[str, str]], int]:
    labels: list[tuple[str, str]] = []
    while True:
        match = _LABEL.match(line, position)
        if match is not None:
            value = match.group(2)
            if "\\" in value:
                value = _ESCAPE.sub(lambda escape: _ESCAPES[escape.group()], value)
            labels.append((match.group(1), value))
            position = match.end()
            if line[position : position + 1] == ",":
                position += 1
                continue
        while line[position : position + 1] in (" ", "\t"):
            position += 1
        if line[position : position + 1] == "}":
            return labels, position + 1
        raise ValueError("labels do not end")


def parse_value(rest: str) -> float:
    """The value in what follows the labels; a timestamp and an exemplar behind it are ignored.

    Raises ValueError when there is no number. NaN and infinities come back as such.
    """
    words = rest.split(None, 2)
    if not words or "_" in words[0]:
        raise ValueError("no value")
    if len(words) > 1 and not words[1].startswith("#"):
        float(words[1])
    return float(words[0])
