"""A served program with a small world in it, and the system's Chromium looking at it; skipped where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Open = Callable[..., Any]


@pytest.fixture(scope="session", autouse=True)
def _allow_queries() -> None:
    """Playwright runs a loop in this thread, which Django takes for asynchronous code."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def look(browser: Any, live_server: Any, transactional_db: None) -> Iterator[Open]:
    """Opens a page signed in as an admin; console errors and policy violations collect in `page.complaints`."""
    from tests.web import world
    from tests.web.people import PASSWORD, people

    with connection.cursor() as cursor:
        # Django empties only the tables that it manages; records left over would be duplicates.
        cursor.execute("TRUNCATE ingest_request, ingest_engineminute")
    world.build(datetime.now(UTC))
    people()
    contexts = []

    def open_page(path: str, **settings: Any) -> Any:
        context = browser.new_context(viewport=settings.pop("viewport", {"width": 1440, "height": 1000}), **settings)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(f"{live_server.url}/sign-in")
        page.fill("[name=username]", "alice")
        page.fill("[name=password]", PASSWORD)
        page.click("main button[type=submit]")
        page.goto(live_server.url + path, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
