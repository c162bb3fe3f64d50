"""Pictures of the demo's pages for docs/screens, of a server that runs or of one started for them.

python -m tests.e2e.screens [--base ADDRESS --password-file FILE] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[2]
PAGES = {
    "overview": ("/", 1190),
    "tasks": ("/tasks", 1000),
    "endpoints": ("/endpoints", 1110),
    "engines": ("/engines?range=6h", 950),
    "data-health": ("/data-health", 1000),
}
"""Address, and the height in which what matters of the page is seen whole."""
DESK, PHONE = 1440, 390
PHONE_HEIGHT = 844
PATIENCE = 240
"""Seconds that a fresh server has to make its database and lay out the recording."""
MOST_BYTES = 300_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="address of a server that shows the demo; without it one is started")
    parser.add_argument("--password-file", type=Path, help="where the first admin's password lies")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screens")
    asked = parser.parse_args()
    if (asked.base is None) != (asked.password_file is None):
        parser.error("--base and --password-file go together")
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.base is not None:
        take(asked.base, asked.password_file.read_text().strip(), asked.out)
        return
    with demo() as (base, password):
        take(base, password, asked.out)


@contextmanager
def demo() -> Iterator[tuple[str, str]]:
    """A demo server with a database of its own, stopped and forgotten afterwards: its address and password."""
    with tempfile.TemporaryDirectory(prefix="inferometer-screens-") as var:
        port = free_port()
        settings = os.environ | {"INFEROMETER_VAR": var, "INFEROMETER_PORT": str(port), "DEMO": "1"}
        command = [sys.executable, str(ROOT / "manage.py"), "run"]
        log = Path(var) / "screens.log"
        with log.open("w") as out:
            server = subprocess.Popen(command, cwd=ROOT, env=settings, stdout=out, stderr=out, start_new_session=True)
        try:
            wait_until_ready(server, log)
            yield f"http://127.0.0.1:{port}", (Path(var) / "first-admin-password").read_text().strip()
        except Exception:
            print(log.read_text()[-4000:], file=sys.stderr)
            raise
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)


def wait_until_ready(server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while "demo: ready" not in log.read_text():
        if server.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"The demo did not start:\n{log.read_text()[-2000:]}")
        time.sleep(1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def take(base: str, password: str, out: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("There is no Chromium on this machine (on Debian: apt install chromium).")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        wait_for_engines(signed_in(browser, base, password, DESK, "light"), base)
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            page = signed_in(browser, base, password, DESK, scheme)
            for name, (path, height) in PAGES.items():
                page.set_viewport_size({"width": DESK, "height": height})
                shoot(page, base + path, out / f"{name}-{scheme}.png")
        page = signed_in(browser, base, password, PHONE, "light")
        shoot(page, base + PAGES["overview"][0], out / "overview-phone.png")
        browser.close()


def signed_in(browser: Browser, base: str, password: str, width: int, scheme: Literal["light", "dark"]) -> Page:
    size: ViewportSize = {"width": width, "height": PHONE_HEIGHT}
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{base}/sign-in")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", password)
    page.click("main button[type=submit]")
    return page


def wait_for_engines(page: Page, base: str) -> None:
    """Until every engine was scraped once."""
    until = time.monotonic() + PATIENCE
    page.goto(f"{base}/engines")
    while page.locator(".status--none").count():
        if time.monotonic() > until:
            raise SystemExit("The demo's engines were not scraped.")
        time.sleep(2)
        page.reload()


def shoot(page: Page, address: str, picture: Path) -> None:
    page.goto(address, wait_until="load")
    for chart in page.locator("[data-chart]").all():
        chart.locator(".main-svg").first.wait_for(state="attached")
    page.screenshot(path=picture)
    if (size := picture.stat().st_size) > MOST_BYTES:
        raise SystemExit(f"{picture.name} has {size:,} bytes, more than {MOST_BYTES:,}.")
    print(f"{picture.name}: {size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
