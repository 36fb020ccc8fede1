"""Debian's Chromium, without a window; tests that need it skip where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.stopping import SECONDS

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)

TABS: dict[str, tuple[Any, list[str]]] = {}  # those that are free, by their options


@contextmanager
def running() -> Iterator[Any]:
    """The browser. While it runs, nothing else in this process may use asyncio."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("chromium is missing: apt-get install chromium")
    with api.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]  # not /dev/shm, which others may fill
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=SECONDS * 1000)
        yield browser
        TABS.clear()
        browser.close()


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """A page in the browser, which has no errors and asks for nothing beyond the folder of the page.

    A tab takes longer to make than a page to draw, so those that were closed without an error are used again.
    """
    settings = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"} | options
    key = repr(settings)
    page, problems = TABS.pop(key) if key in TABS else _tab(browser, settings)
    try:
        page.set_viewport_size(settings["viewport"])
        page.emulate_media(media="null", color_scheme=settings["color_scheme"])
        page.goto(path.as_uri())
        yield page
        page.goto("about:blank")
    except BaseException:
        page.context.close()
        raise
    page_problems = problems.copy()
    problems.clear()
    TABS[key] = page, problems
    assert page_problems == []


def _tab(browser: Any, options: dict[str, Any]) -> tuple[Any, list[str]]:
    """A tab, and a list to which its errors are added."""
    problems: list[str] = []
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(SECONDS * 1000)  # anything may take long on a busy machine
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "request",
        lambda request: problems.append(request.url) if not request.url.startswith(("file:", "data:", "about:")) else None,
    )
    page.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
    return page, problems


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition in JavaScript: pages forbid Playwright's own way of asking for it again."""
    for _ in range(50 * SECONDS):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not true after {SECONDS} s: {condition}")
