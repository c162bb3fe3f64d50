"""Reading pages as a person would: tables as rows of words, figures as JSON."""

from __future__ import annotations

import html
import json
import re
from typing import Any

from django.http import HttpResponse

MAIN = re.compile(r"<main\b.*?</main>", re.DOTALL)
PAGES = (
    "/",
    "/tasks",
    "/teams",
    "/endpoints",
    "/models",
    "/engines",
    "/data-health",
    "/data-health/rejected",
    "/requests",
)
DETAILS = ("/teams/search", "/endpoints/answers", "/models/llama", "/requests/task?task=t1", "/glossary")


def text_of(fragment: str) -> str:
    """The words of a piece of HTML, without what only readers of screens or machines get."""
    fragment = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", fragment, flags=re.DOTALL)
    fragment = re.sub(r'<span class="visually-hidden">.*?</span>', " ", fragment, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", fragment)).split())


def main_of(response: HttpResponse) -> str:
    found = MAIN.search(response.content.decode())
    assert found is not None, response.content[:500]
    return found[0]


def table_of(response: HttpResponse, label: str) -> list[list[str]]:
    """Cells of the table in the box with this label, row by row, heads and total included."""
    page = response.content.decode()
    box = re.search(rf'aria-label="{re.escape(label)}">\s*<table\b.*?</table>', page, re.DOTALL)
    assert box is not None, f"no table {label!r} on the page"
    rows = re.findall(r"<tr\b.*?</tr>", box[0], re.DOTALL)
    return [[text_of(cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)] for row in rows]


def figures_of(response: HttpResponse) -> dict[str, dict[str, Any]]:
    """Plotly figures of the page, by the id of their data."""
    page = response.content.decode()
    found = re.findall(r'<script id="([\w-]+)" type="application/json">(.*?)</script>', page, re.DOTALL)
    return {key: json.loads(text) for key, text in found}


def key_figure(response: HttpResponse, label: str) -> str:
    """Everything that is said of one key figure."""
    for block in re.findall(r'<div class="figure">.*?</div>', response.content.decode(), re.DOTALL):
        if text_of(block).startswith(label):
            return text_of(block)
    raise AssertionError(f"no key figure {label!r}")
