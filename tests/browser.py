"""The built site in a real browser: `make browser` opens every page in headless Chromium.

A page fails that writes an error to the console, asks for a file that is not there or that comes from another server, has a picture that does not show, a
formula that stays LaTeX, a link that leads nowhere, or that is wider than the window of a phone. `--pictures FOLDER` keeps what the main pages look like.

Chromium and its driver are those of the system (Debian: `apt-get install chromium chromium-driver`); nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from html_links import find_broken_links

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = {"desktop": 1280, "phone": 390}
MAIN = (
    "index",
    "start",
    "what_goes_in",
    "pytorch",
    "hosts",
    "on_off",
    "pyomo",
    "theory",
    "reading",
    "faq",
    "benchmarks",
    "measured/report",
    "reference/solving",
)
# Pictures that did not load, formulas that no renderer has touched, and how much wider than its window the page is.
LOOK = """
return {
  pictures: [...document.images].filter(i => i.loading !== "lazy" && (!i.complete || i.naturalWidth === 0)).map(i => i.src),
  formulas: [...document.querySelectorAll(".math")].filter(f => /\\\\[a-z]+/.test(f.textContent)).map(f => f.textContent.slice(0, 60)),
  wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
}
"""


def find_browser() -> tuple[str, str] | None:
    """The paths of Chromium and its driver, None where one of them is not installed."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def check_site(site: Path, pages: list[str] | None = None, pictures: Path | None = None) -> list[str]:
    """What is wrong with the pages of a site, all of them by default, each with the page and the width of the window."""
    listed = pages if pages is not None else sorted(str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html"))
    problems = [] if pages is not None else [f"link that leads nowhere on {link}" for link in find_broken_links(site)]
    with _serve(site) as address, _open_browser() as browser:
        for kind, width in WIDTHS.items():
            browser.set_window_size(width, 900)
            _set_width(browser, width)
            for page in listed:
                problems += [f"{page} ({kind}): {problem}" for problem in _check_page(browser, address, page)]
                if pictures is not None and page in MAIN:
                    _keep_picture(browser, pictures / f"{page.replace('/', '-')}-{kind}.png", width)
    return problems


def _check_page(browser: Any, address: str, page: str) -> Iterator[str]:
    browser.get(f"{address}/{page}.html")
    for entry in browser.get_log("browser"):
        if entry["level"] == "SEVERE":
            yield f"console: {entry['message']}"
    yield from _failed_requests(browser, address)
    seen = browser.execute_script(LOOK)
    yield from (f"picture that does not show: {source}" for source in seen["pictures"])
    yield from (f"formula that is not rendered: {formula}" for formula in seen["formulas"])
    if seen["wider"] > 0:
        yield f"{seen['wider']} pixels wider than its window"


def _failed_requests(browser: Any, address: str) -> Iterator[str]:
    """Files that did not come, and those of other servers."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        details = message["params"]
        if message["method"] == "Network.requestWillBeSent":
            url = details["request"]["url"]
            if not url.startswith((address, "data:", "blob:")):
                yield f"asks another server: {url}"
        elif message["method"] == "Network.responseReceived" and details["response"]["status"] >= 400:
            yield f"{details['response']['status']}: {details['response']['url']}"


@contextmanager
def _serve(site: Path) -> Iterator[str]:
    """The site at an address of this machine: search and copying work as on a server, which they do not from files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer, but for the icon that browsers ask for by themselves."""
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()


@contextmanager
def _open_browser() -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    found = find_browser()
    if found is None:
        raise SystemExit("Chromium or its driver is not installed. On Debian and Ubuntu: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--disable-background-networking"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium has no sandbox for root.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(found[1]))
    try:
        yield browser
    finally:
        browser.quit()


def _set_width(browser: Any, width: int, height: int = 900) -> None:
    """Windows are no narrower than 500 pixels; what a page is told may be."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def _keep_picture(browser: Any, path: Path, width: int) -> None:
    """What a page looks like, at most 5,000 pixels down."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _set_width(browser, width, min(5000, browser.execute_script("return document.documentElement.scrollHeight")))
    browser.save_screenshot(str(path))
    _set_width(browser, width)


def main() -> int:
    """Check the site that is named on the command line."""
    parser = argparse.ArgumentParser(description="Open every page of the built site in headless Chromium.")
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the main pages")
    asked = parser.parse_args()
    problems = check_site(asked.site, pictures=asked.pictures)
    print(*problems, sep="\n")
    print(f"{len(problems)} problems" if problems else "every page opens without an error")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
