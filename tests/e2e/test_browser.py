"""Pages in a real browser: nothing that the policy refuses, charts drawn, one panel swapped, nothing cut off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.pages_kit import DETAILS, PAGES


def wait_for_charts(page: Any) -> None:
    """By looking, not by evaluating again and again: the policy forbids what that needs."""
    for chart in page.locator("[data-chart]").all():
        chart.locator(".main-svg").first.wait_for(state="attached")


def wait_for_range(page: Any, words: str) -> None:
    page.locator("#range-picker > summary", has_text=words).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_does_what_the_policy_refuses(look: Any, scheme: str) -> None:
    page = look("/", color_scheme=scheme)
    base = page.url.rstrip("/")
    for path in (*PAGES, *DETAILS, "/catalog", "/settings"):
        page.goto(base + path, wait_until="load")
        wait_for_charts(page)
    assert page.complaints == []


def test_choosing_a_range_swaps_the_panel_and_nothing_else(look: Any) -> None:
    page = look("/?range=6h")
    wait_for_charts(page)
    page.evaluate("window.untouched = true")
    page.click("#range-picker summary")
    page.click("#range-24h")
    page.wait_for_url("**/?range=24h")
    wait_for_range(page, "24 hours")
    wait_for_charts(page)
    assert page.evaluate("window.untouched"), "the page was not loaded anew"
    assert page.get_attribute("#site-nav a >> nth=2", "href") == "/teams?range=24h", "the navigation follows"
    assert page.evaluate("document.querySelectorAll('main').length") == 1
    assert "24 hours" in page.inner_text("#announcer")
    page.go_back()
    wait_for_range(page, "6 hours")
    wait_for_charts(page)
    assert page.complaints == []


def test_a_chosen_theme_lasts_and_redraws_charts(look: Any) -> None:
    page = look("/?range=24h", color_scheme="light")
    wait_for_charts(page)
    page.click(".site-tools summary")
    page.click("[data-theme-choice=dark]")
    dark = "rgb(17, 22, 29)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.locator(f".main-svg[style*='{dark}']").first.wait_for(state="attached")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert page.complaints == []


def test_nothing_is_cut_off_on_a_phone(look: Any) -> None:
    page = look("/", viewport={"width": 390, "height": 844})
    base = page.url.rstrip("/")
    for path in (*PAGES, *DETAILS):
        page.goto(base + path, wait_until="load")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_without_scripts_the_page_still_answers(look: Any) -> None:
    page = look("/?range=24h", java_script_enabled=False)
    assert "$6.00 spent" in page.inner_text("main")
    page.click("figure summary")
    assert page.is_visible("figure table")
    page.click("#range-picker summary")
    page.click("#range-7d")
    assert page.url.endswith("/"), "the default range is not written"


def test_the_keyboard_reaches_the_content_first(look: Any) -> None:
    page = look("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "panel"
