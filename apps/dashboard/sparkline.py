"""A row of numbers as a small inline SVG line: no axes, gaps where a number is missing, hidden from readers."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, MOST_POINTS = 120, 28, 60


def svg(values: Sequence[float | None], top: float | None = None) -> str:
    """The drawing, under 1 kB; empty when fewer than two numbers are known. `top` is the value at the upper edge."""
    thinned = _thin([None if value is None else float(value) for value in values])
    known = [value for value in thinned if value is not None]
    if len(known) < 2:
        return ""
    high = max(top if top is not None else 0.0, *known) or 1.0
    step = WIDTH / max(len(thinned) - 1, 1)
    line, pen_down = [], False
    for index, value in enumerate(thinned):
        if value is None:
            pen_down = False
            continue
        y = HEIGHT - 2 - max(value, 0.0) / high * (HEIGHT - 4)
        line.append(f"{'L' if pen_down else 'M'}{index * step:.0f} {y:.1f}")
        if not pen_down and (index + 1 == len(thinned) or thinned[index + 1] is None):
            line.append("h1")
        pen_down = True
    return (
        f'<svg class="sparkline" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false"><path d="{"".join(line)}"/></svg>'
    )


def _thin(values: list[float | None]) -> list[float | None]:
    """At most MOST_POINTS values: the largest of each run, so that a peak stays visible."""
    if len(values) <= MOST_POINTS:
        return values
    size = -(-len(values) // MOST_POINTS)
    runs = [values[start : start + size] for start in range(0, len(values), size)]
    return [max((v for v in run if v is not None), default=None) for run in runs]
