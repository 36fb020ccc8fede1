"""The page in a real browser: sorting, filtering and opening by mouse and keyboard, in light and dark, on paper."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from tests.report.browser import opened, running, wait_until

PICTURES = Path(__file__).parents[2] / "data" / "street" / "images"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def street(models: list[apf.Evaluation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the sample set."""
    return apf.write_report(
        tmp_path_factory.mktemp("page") / "report.html",
        *models,
        by=["weather", "time_of_day"],
        images=PICTURES,
    )


@pytest.fixture(scope="module")
def few(models: list[apf.Evaluation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with few cards, for what takes long with all of them."""
    path = tmp_path_factory.mktemp("few") / "report.html"
    return apf.write_report(path, *models, by="weather", images=PICTURES, max_images=12)


def column(page: object, caption: str, head: str) -> list[str]:
    """The texts of a column as they are shown."""
    table = page.locator("table", has=page.locator("caption", has_text=caption))  # type: ignore[attr-defined]
    names = [text.split(" ")[0] for text in table.locator("thead th").all_inner_texts()]
    cells = "(rows, at) => rows.map((row) => row.querySelectorAll('th, td')[at].innerText)"
    return list(table.locator("tbody tr").evaluate_all(cells, names.index(head)))


def test_tables_are_sorted_by_mouse_and_keyboard(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
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
def test_contrast_and_labels(browser: Any, few: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
    with opened(browser, few, color_scheme=scheme) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_page_is_not_wider_than_the_window(browser: Any, street: Path, width: int) -> None:
    with opened(browser, street, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


BAD = "<img src=x onerror=alert(1)>"
ODD = ["grüße #1 100%.svg", "a b/c 'd' & \"e\".svg", "plain.svg"]
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"><rect width="64" height="48" fill="teal"/></svg>'


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of images with odd names and a category that looks like HTML; one picture is missing."""
    folder = tmp_path_factory.mktemp("odd names ü#")
    for name in ODD:
        (folder / "pictures #" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pictures #" / name).write_text(PICTURE)
    box, size = {"bbox": [8, 8, 20, 20], "area": 400, "iscrowd": 0}, {"width": 64, "height": 48}
    truth = {
        "images": [{"id": n, "file_name": name} | size for n, name in enumerate([*ODD, "missing.svg"])],
        "categories": [{"id": 1, "name": BAD}, {"id": 2, "name": "cat"}],
        "annotations": [{"id": n, "image_id": n, "category_id": 1 + n % 2} | box for n in range(4)],
    }
    found = [
        [{"image_id": n, "category_id": 1 + (n + k) % 2, "score": 0.5 + n / 10, "bbox": [8, 8, 20, 20]} for n in range(k, 4)]
        for k in (0, 1)
    ]
    evaluations = [apf.evaluate(truth, each) for each in found]
    return apf.write_report(folder / "page.html", *evaluations, names=["a", BAD], images=folder / "pictures #", title=BAD)


def test_what_looks_like_html_is_text_everywhere(browser: Any, odd: Path) -> None:
    with opened(browser, odd) as page:
        assert page.title() == BAD
        assert page.locator("h1").inner_text() == BAD
        assert page.locator("img[onerror], [src=x]").count() == 0
        assert page.get_by_text(BAD).count() > 5


def test_pictures_with_odd_names_load_and_missing_ones_are_counted(browser: Any, odd: Path) -> None:
    with opened(browser, odd) as page:
        page.evaluate("document.querySelectorAll('img').forEach((each) => each.loading = 'eager')")
        wait_until(page, "[...document.images].every((each) => each.complete)")
        loaded = page.evaluate("[...document.images].map((each) => each.naturalWidth)")
        assert set(loaded) == {64}
        assert len({each.get_attribute("src") for each in page.locator("img").all()}) == 3
        assert page.get_by_text("The pictures of 1 of 4 images are missing").count() >= 1


def test_cards_are_filtered_sorted_and_opened(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        gallery = page.locator("#look .gallery")
        cards = gallery.locator(".card:visible")
        assert cards.count() == 300
        gallery.locator("select[name=kind]").select_option("miss")
        missed = cards.count()
        assert 0 < missed < 300
        assert gallery.locator("output").inner_text() == f"{missed} of 300 shown"
        gallery.get_by_label("Change").select_option("lost")
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.change)")) == {"lost"}
        gallery.get_by_label("time_of_day").select_option("dusk")
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.slice1)")) == {'["dusk"]'}
        gallery.get_by_label("Order").select_option("score up")
        scores = [float(text) for text in cards.evaluate_all("(all) => all.map((each) => each.dataset.score)")]
        assert scores == sorted(scores)
        gallery.get_by_role("button", name="Show all").click()
        wait_until(page, "document.querySelectorAll('#look .card:not([hidden])').length === 300")
        cards.nth(0).focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        first = dialog.locator(".ids").inner_text()
        assert first == cards.nth(0).locator(".ids").inner_text()
        page.keyboard.press("ArrowRight")
        assert dialog.locator(".ids").inner_text() == cards.nth(1).locator(".ids").inner_text()
        page.keyboard.press("ArrowLeft")
        assert dialog.locator(".ids").inner_text() == first
        assert "SELECT" in dialog.locator(".sql").inner_text()
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        cards.nth(2).click()
        assert dialog.is_visible()
        dialog.get_by_role("button", name="Close").click()
        assert not dialog.is_visible()


def test_captions_are_whole_on_narrow_screens(browser: Any, street: Path) -> None:
    with opened(browser, street, viewport={"width": 400, "height": 800}) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        ends = page.evaluate("[...document.querySelectorAll('caption')].map((each) => each.getBoundingClientRect().right)")
        assert max(ends) <= 400


LABELS = """(drawings) => {
  const found = { cut: 0, covered: 0, smallest: Infinity };
  for (const drawing of document.querySelectorAll(drawings)) {
    const box = drawing.getBoundingClientRect();
    const all = [...drawing.querySelectorAll("text")].map((each) => each.getBoundingClientRect()).filter((one) => one.width);
    for (const [place, one] of all.entries()) {
      found.cut += one.left < box.left - 2 || one.right > box.right + 2 || one.top < box.top - 2 || one.bottom > box.bottom + 2;
      found.smallest = Math.min(found.smallest, one.height);
      found.covered += all.slice(0, place).some((other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > 6
        && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 0.35 * Math.min(one.height, other.height));
    } }
  return found; }"""


@pytest.fixture(scope="module")
def from_above(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cuboids of two models on cards, which are narrow."""
    driving = Path(__file__).parents[2] / "data" / "driving"
    models = [apf.evaluate(driving / "scenes", driving / f"model_{one}.json", protocol="nuscenes") for one in "ab"]
    return apf.write_report(tmp_path_factory.mktemp("above") / "report.html", *models, max_images=100, n_resamples=100)


@pytest.mark.parametrize("name", ["street", "from_above"])
@pytest.mark.parametrize("width", [1280, 400])
def test_labels_can_be_read_and_are_inside_their_pictures(
    browser: Any, name: str, width: int, request: pytest.FixtureRequest
) -> None:
    """On cards, and on those that are opened; and they are not written over each other."""
    with opened(browser, request.getfixturevalue(name), viewport={"width": width, "height": 900}) as page:
        found = page.evaluate(LABELS, ".cards .drawing")
        assert found["cut"] == found["covered"] == 0
        page.locator("#look .card").first.click(position={"x": 9, "y": 9})
        for _ in range(30):
            found = page.evaluate(LABELS, "dialog .drawing")
            assert found["cut"] == found["covered"] == 0
            assert found["smallest"] > 9
            page.keyboard.press("ArrowRight")


def test_names_with_line_breaks_and_without_letters_are_filtered(browser: Any, tmp_path: Path) -> None:
    names = ["", "two\nlines", 'a "quote"']
    truth = {
        "images": [{"id": n, "weather": name} for n, name in enumerate(names)],
        "categories": [{"id": n, "name": name} for n, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, "category_id": n, "bbox": [0, 0, 9, 9]} for n in range(3)],
    }
    written = apf.write_report(tmp_path / "page.html", apf.evaluate(truth, []), by="weather", n_resamples=100)
    with opened(browser, written) as page:
        gallery = page.locator("#look .gallery")
        for heading in ("Category", "weather"):
            for place in range(1, 4):
                gallery.get_by_label(heading).select_option(index=place)
                (ids,) = gallery.locator(".card:visible .ids").all_inner_texts()
                options = gallery.get_by_label(heading).locator("option").all()
                assert names[int(ids[len("image_id ")])] == options[place].get_attribute("value")
            gallery.get_by_label(heading).select_option(index=0)
        assert gallery.locator(".card:visible").count() == 3


def test_pictures_inside_the_page_are_there_once_and_seen_on_every_card(browser: Any, tmp_path: Path) -> None:
    """On cards and in the dialog, upright ones in their shape."""
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (60, 240), "teal").save(tmp_path / "a.png")
    truth = {
        "images": [{"id": 1, "file_name": "a.png", "width": 60, "height": 240}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": n, "image_id": 1, "category_id": 1, "bbox": [5 * n, 180, 9, 9]} for n in range(4)],
    }
    written = apf.write_report(tmp_path / "page.html", apf.evaluate(truth, []), images=tmp_path, embed=True)
    assert written.read_text().count("data:image/jpeg") == 1
    with opened(browser, written) as page:
        drawings = page.locator("#look .card .drawing").all()
        shots = [each.screenshot() for each in drawings]
        page.locator("#look .card").nth(2).click()
        inside = page.get_by_role("dialog").locator(".drawing")
        shots.append(inside.screenshot())
        for each in (drawings[0], inside):
            box = each.bounding_box()
            assert box is not None and box["height"] / box["width"] == pytest.approx(4, rel=0.02)
    for shot in shots:
        with image.open(BytesIO(shot)) as seen:
            assert seen.convert("RGB").getpixel((seen.width // 2, seen.height // 4)) == pytest.approx((0, 128, 128), abs=8)


def test_page_can_be_read_without_scripts_and_printed(browser: Any, few: Path) -> None:
    with opened(browser, few, java_script_enabled=False) as page:
        assert page.get_by_text("Is model_b better?").count() >= 1
        assert len(column(page, "AP by category", "name")) == 12
    with opened(browser, few) as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("[...document.querySelectorAll('details:not(.card *)')].every((each) => each.open)")
        assert len(page.pdf()) > 10_000
        assert not page.locator("#look form").is_visible()
        # Chromium leaves a button that is a box out of the heads that it repeats on following pages
        assert page.evaluate(
            "[...document.querySelectorAll('th button')].every((e) => getComputedStyle(e).display == 'contents')"
        )
        assert page.evaluate("[...document.querySelectorAll('pre')].every((each) => each.scrollWidth <= each.clientWidth)")


PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
  .observe({ type: "paint", buffered: true }))"""
FILTERED = """() => { const before = performance.now(), select = document.querySelector(".gallery select");
  select.value = "miss"; select.dispatchEvent(new Event("change", { bubbles: true })); document.body.offsetHeight;
  return performance.now() - before; }"""
CLICKED = """(selector) => { const before = performance.now(); document.querySelector(selector).click();
  document.body.offsetHeight; return performance.now() - before; }"""


def test_times(browser: Any, street: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measured and printed; no machine is too slow for the test."""
    with opened(browser, street) as page:
        paint, click, filtered = page.evaluate(PAINTED), page.evaluate(CLICKED, "th button"), page.evaluate(FILTERED)
    with capsys.disabled():
        print(f"\nfirst paint {paint:.0f} ms, a click on a head {click:.0f} ms, a filter of 300 cards {filtered:.0f} ms")
    assert min(paint, click, filtered) > 0
