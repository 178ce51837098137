"""A browser for tests of pages: Chromium, without a network, that tells of all requests and errors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("MSE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def available() -> bool:
    """Whether there are a browser and what drives it."""
    return CHROMIUM is not None and find_spec("playwright") is not None


@contextmanager
def opened(path: Path, *flags: str, **context: Any) -> Iterator[Page]:
    """A file in a browser without a network; fails afterwards if the page asked for more than itself or had errors.

    ``flags`` are further ones of Chromium, ``context`` options of the page, such as ``color_scheme="dark"``.
    """
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    errors: list[str] = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        try:
            page = browser.new_context(offline=True, **context).new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.goto(path.as_uri())
            yield page
        finally:
            browser.close()
    # what a page contains itself is no request to anyone
    asked = [url for url in asked if not url.startswith(("data:", "blob:"))]
    assert asked == [path.as_uri()] and not errors, (asked, errors)
