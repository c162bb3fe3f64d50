"""Pictures of a running server's pages, for docs/screens: python -m tests.e2e.screens --password-file FILE."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
PAGES = {
    "overview": "/",
    "cost-per-accepted-task": "/tasks",
    "endpoints": "/endpoints?range=24h",
    "engines": "/engines?range=6h",
    "data-health": "/data-health",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="http://127.0.0.1:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument("--password-file", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screens")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for scheme, width in (("light", 1440), ("dark", 1440), ("light", 390)):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            sign_in(page, asked.base, asked.user, asked.password_file.read_text().strip())
            for name, path in PAGES.items():
                page.goto(asked.base + path, wait_until="load")
                for chart in page.locator("[data-chart]").all():
                    chart.locator(".main-svg").first.wait_for(state="attached")
                page.screenshot(path=asked.out / f"{name}-{scheme}-{width}.png", full_page=width < 500)
            context.close()
        browser.close()


def sign_in(page: Page, base: str, user: str, password: str) -> None:
    page.goto(f"{base}/sign-in")
    page.fill("[name=username]", user)
    page.fill("[name=password]", password)
    page.click("main button[type=submit]")


if __name__ == "__main__":
    main()
