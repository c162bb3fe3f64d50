"""Colours of both themes: contrast by the WCAG formula, and that templates stay within the security policy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CSS = (ROOT / "static/css/tokens.css").read_text()
TEXT = ("text", "muted", "link", "ok", "warn", "bad")
SERIES = ("series-1", "series-2", "series-3", "series-4", "series-other", "edge")


def tokens(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


LIGHT = tokens(CSS.split("@media")[0])
SYSTEM_DARK = tokens(CSS.split("@media")[1].split(':root[data-theme="light"]  {')[0].split("}\n}")[0])
CHOSEN_DARK = tokens(CSS.split(':root[data-theme="dark"]')[1])
DARK = LIGHT | CHOSEN_DARK


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula_knows_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_a_chosen_dark_theme_is_the_dark_theme_of_the_system() -> None:
    assert CHOSEN_DARK == SYSTEM_DARK


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("background", ["page", "raised"])
@pytest.mark.parametrize("name", TEXT)
def test_text_can_be_read(theme: dict[str, str], background: str, name: str) -> None:
    assert contrast(theme[name], theme[background]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", SERIES)
def test_lines_bars_and_edges_stand_out(theme: dict[str, str], name: str) -> None:
    assert contrast(theme[name], theme["page"]) >= 3


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_banners_and_buttons_can_be_read(theme: dict[str, str]) -> None:
    for soft in ("note-soft", "warn-soft", "bad-soft", "ok-soft"):
        assert contrast(theme["text"], theme[soft]) >= 4.5
    assert contrast(theme["on-link"], theme["link"]) >= 4.5


def test_styles_use_tokens_for_every_colour() -> None:
    for sheet in (ROOT / "static/css").glob("*.css"):
        if sheet.name != "tokens.css":
            assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", sheet.read_text()), sheet.name
