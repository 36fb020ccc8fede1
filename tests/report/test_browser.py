"""The page in a real browser: sorting, filtering and opening by mouse and keyboard, in light and dark, on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from tests.report.browser import opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def street(models: list[apf.Evaluation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the sample set."""
    return apf.write_report(tmp_path_factory.mktemp("page") / "report.html", *models, by="weather", n_resamples=500)


def column(page: object, caption: str, head: str) -> list[str]:
    """The texts of a column as they are shown."""
    table = page.locator("table", has=page.locator("caption", has_text=caption))  # type: ignore[attr-defined]
    names = [text.split(" ")[0] for text in table.locator("thead th").all_inner_texts()]
    return [row.locator("th, td").nth(names.index(head)).inner_text() for row in table.locator("tbody tr").all()]


def test_tables_are_sorted_by_mouse_and_keyboard(street: Path) -> None:
    with opened(street) as page:
        table = page.locator("table", has=page.locator("caption", has_text="AP by category"))
        button = table.get_by_role("button", name="objects")
        button.click()
        objects = [int(text.replace(",", "")) for text in column(page, "AP by category", "objects")]
        assert objects == sorted(objects, reverse=True)
        button.focus()
        page.keyboard.press("Enter")
        objects = [int(text.replace(",", "")) for text in column(page, "AP by category", "objects")]
        assert objects == sorted(objects)
        assert table.locator("th[aria-sort=ascending]").count() == 1
        table.get_by_role("button", name="difference").click()
        shown = [float(text.replace("−", "-")) for text in column(page, "AP by category", "difference")]
        assert shown == sorted(shown, reverse=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_labels(street: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
    with opened(street, color_scheme=scheme) as page:
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_page_is_not_wider_than_the_window(street: Path, width: int) -> None:
    with opened(street, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_can_be_read_without_scripts_and_printed(street: Path) -> None:
    with opened(street, java_script_enabled=False) as page:
        assert page.get_by_text("Is model_b better?").count() >= 1
        assert len(column(page, "AP by category", "name")) == 12
    with opened(street) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("[...document.querySelectorAll('details')].every((each) => each.open)")
        assert len(page.pdf()) > 10_000


PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
  .observe({ type: "paint", buffered: true }))"""
CLICKED = """(selector) => { const before = performance.now(); document.querySelector(selector).click();
  document.body.offsetHeight; return performance.now() - before; }"""


def test_times(street: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measured and printed; no machine is too slow for the test."""
    with opened(street) as page:
        paint, click = page.evaluate(PAINTED), page.evaluate(CLICKED, "th button")
    with capsys.disabled():
        print(f"\nfirst paint {paint:.0f} ms, a click on a head {click:.0f} ms")
    assert paint > 0
    assert click > 0
