"""The page in a real browser: sorting, filtering and opening by mouse and keyboard, in light and dark, on paper."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import duckdb
import polars as pl
import pytest

import apframe as apf
from tests.report.browser import opened, running, wait_until
from tests.share import share

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
        tables=True,
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
    return list(table.locator("tbody tr:not(.mean)").evaluate_all(cells, names.index(head)))


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


# rows beyond the first six of each table are as these
SHORTER = "for (const row of document.querySelectorAll('tbody tr:nth-child(n + 7)')) row.remove()"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_labels(browser: Any, few: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
    with opened(browser, few, color_scheme=scheme) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate(SHORTER)
        findings = axe.Axe().run(page)
        assert findings.violations_count == 0, findings.generate_report()
        open_card(page)
        findings = axe.Axe().run(page, context="dialog")
        assert findings.violations_count == 0, findings.generate_report()


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
    detections = [
        [{"image_id": n, "category_id": 1 + (n + k) % 2, "score": 0.5 + n / 10, "bbox": [8, 8, 20, 20]} for n in range(k, 4)]
        for k in (0, 1)
    ]
    evaluations = [apf.evaluate(truth, each) for each in detections]
    return apf.write_report(folder / "page.html", *evaluations, names=["a", BAD], images=folder / "pictures #", title=BAD)


def test_what_looks_like_html_is_text_everywhere(browser: Any, odd: Path) -> None:
    with opened(browser, odd) as page:
        assert page.title() == BAD
        assert page.locator("h1").inner_text() == BAD
        assert page.locator("img[onerror], [src=x]").count() == 0
        assert page.get_by_text(BAD).count() > 5


def test_pictures_of_odd_names_load_missing_ones_are_counted(browser: Any, odd: Path) -> None:
    with opened(browser, odd) as page:
        page.evaluate("document.querySelectorAll('img').forEach((each) => each.loading = 'eager')")
        wait_until(page, "[...document.images].every((each) => each.complete)")
        loaded = page.evaluate("[...document.images].map((each) => each.naturalWidth)")
        assert set(loaded) == {64}
        assert len({each.get_attribute("src") for each in page.locator("img").all()}) == 3
        assert page.get_by_text("The pictures of 1 of 4 images are missing").count() >= 1


# what a mark shows when it is clicked; nothing is drawn meanwhile, which would take most of the time
WALK = """(numbers) => { document.body.hidden = true; const marks = [...document.querySelectorAll("a[data-select]")];
return numbers.map((number) => {
  const mark = marks[number];
  mark.dispatchEvent(new Event("focusin", { bubbles: true }));
  const gallery = galleryOf(mark).box, title = mark.getAttribute("title");
  go(galleryOf(mark), wantedOf(mark));
  read();
  const more = gallery.querySelector(".more");
  while (!more.hidden) more.click();
  return {
    href: mark.getAttribute("href"), select: mark.dataset.select, said: mark.dataset.rows ?? mark.textContent, title,
    hash: location.hash, sql: gallery.querySelector(".selected .sql").textContent,
    line: gallery.querySelector("output").textContent,
    cards: [...gallery.querySelectorAll(".card")].filter((card) => !card.hidden).map((card) => Number(card.dataset.row)),
    held: [...gallery.querySelectorAll(".card")].map((card) => Number(card.dataset.row)),
  };
}); }"""


def walk(page: Any) -> list[dict[str, Any]]:
    """What the marks of a page show, each alone; of the hundreds that are about one image each, a share."""
    selections = page.locator("a[data-select]").evaluate_all("(marks) => marks.map((mark) => mark.dataset.select)")
    of_images = [number for number, selection in enumerate(selections) if "image=" in selection]
    left_out = {*of_images} - {*share(of_images, "marks")}
    return list(page.evaluate(WALK, [number for number in range(len(selections)) if number not in left_out]))


def wrong_marks(walked: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The marks of which a click does not show exactly the cards that its query returns, or that say other numbers."""
    database = duckdb.connect()
    database.execute(f"SET file_search_path = '{folder}'")
    wrong = []
    for mark in walked:
        rows = [row for (row,) in database.execute(mark["sql"].replace("SELECT *", 'SELECT "row"')).fetchall()]
        of_cards, n = set(rows) & set(mark["held"]), len(mark["cards"])
        title = f"{n} {'card' if n == 1 else 'cards'} of {len(rows):,} {'row' if len(rows) == 1 else 'rows'}"
        is_said = mark["line"].endswith(f" · {title}")
        has_right_number = int(mark["said"].replace(",", "")) == len(rows)
        if (
            of_cards != set(mark["cards"])
            or len(mark["cards"]) != len(of_cards)
            or not has_right_number
            or not is_said
            or title != mark["title"]
        ):
            wrong.append({**mark, "held": None, "cards": n, "wanted": len(of_cards), "rows": len(rows), "expected": title})
    return wrong


def test_every_mark_shows_the_cards_that_its_query_returns(browser: Any, street: Path) -> None:
    """And every kind has cards: each error type, category and slice, each cell of the matrix and each range of scores."""
    with opened(browser, street) as page:
        walked = walk(page)
    kinds = {name for mark in walked for name, _ in parse_qsl(mark["select"])}
    assert kinds >= {"category", "error", "model", "weather", "area", "image", "true", "found", "outcome", "from", "at", "kind"}
    assert len(walked) > 500
    assert wrong_marks(walked, street.parent) == []
    alone = [
        mark
        for mark in walked
        if len(parse_qsl(mark["select"])) == 1 or {"error", "model"} == dict(parse_qsl(mark["select"])).keys()
    ]
    assert len(alone) > 60
    assert [mark["select"] for mark in alone if not mark["cards"] and "image" not in mark["select"]] == []


KEYS = ["frame", "row", "labels", "gallery", "sort", "Name", "weather", "Weather", "const", "score_from", "w x"]
NAMES = ["same", "same", "missed", "background", "", "a'b & c=d"]


def test_marks_of_odd_names_show_their_cards(browser: Any, tmp_path: Path) -> None:
    """Of ids, categories, and keys of slices that are called as something else is, or that have one value."""
    images = [{"id": f"im '&={k}+%"} | dict.fromkeys(KEYS, f"v{k % 2}") | {"const": "x"} for k in range(12)]
    boxes = [{"image_id": images[k % 12]["id"], "bbox": [k % 7, k % 5, 20, 20]} for k in range(48)]
    truth = {
        "images": [{"width": 90, "height": 90} | image for image in images],
        "categories": [{"id": k, "name": name} for k, name in enumerate(NAMES)],
        "annotations": [{"id": k, "category_id": k % 6} | box for k, box in enumerate(boxes)],
    }
    detections = [
        [{"category_id": (k + (k % 3 == model)) % 6, "score": 1e-6 * (1 + k)} | box for k, box in enumerate(boxes)]
        for model in (0, 1)
    ]
    models = [apf.evaluate(truth, each) for each in detections]
    page_of = apf.write_report(tmp_path / "odd.html", *models, by=KEYS, tables=True, max_images=40, n_resamples=100)
    with opened(browser, page_of) as page:
        walked = walk(page)
    assert len(walked) > 200
    assert wrong_marks(walked, tmp_path) == []


def test_pages_without_detections_have_marks_that_work(browser: Any, tmp_path: Path) -> None:
    truth = {
        "images": [{"id": k, "width": 90, "height": 90} for k in range(12)],
        "categories": [{"id": k, "name": name} for k, name in enumerate("ab")],
        "annotations": [{"id": k, "image_id": k, "category_id": k % 2, "bbox": [0, 0, 9, 9]} for k in range(12)],
    }
    detections = [{"image_id": k, "category_id": k % 2, "bbox": [0, 0, 9, 9], "score": 0.5} for k in range(9)]
    for name, models in (("none", [[]]), ("one", [detections, []])):
        evaluations = [apf.evaluate(truth, each) for each in models]
        page_of = apf.write_report(tmp_path / f"{name}.html", *evaluations, tables=True, n_resamples=100)
        with opened(browser, page_of) as page:
            walked = walk(page)
        assert walked and wrong_marks(walked, tmp_path) == []


def test_selections_that_make_no_sense_show_something(browser: Any, street: Path) -> None:
    """Names that are unknown are left out, and so is what is of one model where none is named; labels are reset too."""
    with opened(browser, street) as page:
        for address in ("foo=1", "true=car&found=van", "outcome=tp", "at=0.5"):
            page.evaluate(f"location.hash = '{address}'")
            wait_until(page, "document.querySelector('#gallery output').textContent.startsWith('all errors')")
        page.evaluate("location.hash = 'labels&kind=missing'")
        wait_until(page, "document.querySelector('#labels output').textContent.startsWith('kind: missing')")
        page.locator("#labels").get_by_role("button", name="Show all").click()
        wait_until(page, "document.querySelector('#labels output').textContent.startsWith('all errors')")
        page.evaluate("location.hash = 'category=worker'")
        wait_until(page, "document.querySelector('#gallery output').textContent.startsWith('category: worker')")
        page.locator("nav").get_by_role("link", name="Confusion").click()
        assert page.locator("#gallery output").inner_text().startswith("category: worker")
        page.locator("#slices").get_by_role("link", name="night").click()
        assert page.evaluate("document.activeElement.tagName") == "OUTPUT"


def test_a_click_selects_and_back_returns(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        cards = page.locator("#gallery .card:visible")
        page.locator("#slices").get_by_role("link", name="worker").click()
        assert page.evaluate("location.hash") == "#category=worker"
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.category)")) == {"worker"}
        assert page.locator("#gallery output").inner_text().startswith("category: worker · ")
        assert page.evaluate("document.querySelector('#gallery').getBoundingClientRect().top") < 100
        page.locator("#error_types table").first.get_by_role("link").first.click()
        assert page.evaluate("location.hash") == "#model=model_a&error=cls"
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.error)")) == {"cls"}
        page.go_back()
        assert page.evaluate("location.hash") == "#category=worker"
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.category)")) == {"worker"}
        assert page.locator("#gallery").get_by_label("Category").input_value() == "worker"
        page.go_back()
        assert page.evaluate("location.hash") == ""
        wait_until(page, "document.querySelector('#gallery output').textContent.startsWith('all errors')")
    address = f"{street.as_uri()}#category=worker&error=miss"
    with opened(browser, street) as page:
        page.goto(address)
        page.reload()
        seen = page.locator("#gallery .card:visible").evaluate_all(
            "(all) => all.map((e) => e.dataset.category + e.dataset.error)"
        )
        assert set(seen) == {"workermiss"}


def test_images_have_the_same_filters(browser: Any, street: Path, models: list[apf.Evaluation]) -> None:
    """Images are left that have an error that the gallery's filters leave, whether it has a card or not."""
    weather = models[0].dataset.images.select("file_name", "weather")
    tables = [each.errors(0.5).join(weather, on="file_name") for each in models]
    with opened(browser, street) as page:
        rows = page.locator("#images tbody tr")
        names = [text.strip() for text in rows.locator("th").all_text_contents()]
        for address, kept in (
            ("category=worker", pl.col("name") == "worker"),
            ("error=miss&weather=fog", (pl.col("error") == "miss") & (pl.col("weather") == "fog")),
            ("model=model_b&error=cls", pl.col("error") == "cls"),
        ):
            page.evaluate(f"location.hash = '{address}'")
            wait_until(page, f"`${{galleries[0].wanted}}` === '{address}'")
            of = tables[1:] if "model_b" in address else tables
            expected = {name for table in of for name in table.filter(kept)["file_name"]}
            shown = rows.evaluate_all("(all) => all.filter((row) => !row.hidden).map((row) => row.cells[0].textContent)")
            assert shown == [name for name in names if name in expected] and 0 < len(shown) < len(names)
        page.locator("#gallery").get_by_role("button", name="Show all").click()
        wait_until(page, "[...document.querySelectorAll('#images tbody tr')].every((row) => !row.hidden)")


def test_the_keyboard_follows_marks(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        page.locator(".chip").first.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#time_of_day=night"
        cell = page.locator(".matrix td a:visible").first
        cell.focus()
        page.keyboard.press("Enter")
        assert "true=" in page.evaluate("location.hash")
        assert page.locator("#gallery .card:visible").count() > 0


NUMBERS = """() => {
  const texts = (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  const number = (text) => Number(text.replaceAll(",", ""));
  const matrices = [...document.querySelectorAll(".matrix")];
  return {
    point: texts(document.querySelector("#threshold table")),
    cells: matrices.map((matrix) => texts(matrix).map(([name, ...row]) => row.map(number))),
    heads: [...matrices[0].tHead.rows[0].cells].slice(1).map((head) => head.title),
    images: texts(document.querySelector("#images table")),
  };
}"""


def numbers(page: Any) -> dict[str, Any]:
    """What follows the slider: counts and rates, the cells of both matrices, and the counts of images."""
    return dict(page.evaluate(NUMBERS))


def check_numbers(shown: dict[str, Any], models: list[apf.Evaluation], scores: list[float]) -> None:
    """The numbers that a page shows are those of the tables at these scores."""
    heads = shown["heads"][:-1]
    place = {name: at for at, name in enumerate(heads)}
    for k, (each, score) in enumerate(zip(models, scores, strict=True)):
        cells = each.confusion(0.5, min_score=score)
        expected = [[0] * (len(heads) + 1) for _ in range(len(heads) + 1)]
        for true, found, n in cells.select("true_name", "found_name", "n").iter_rows():
            expected[place.get(true, len(heads))][place.get(found, len(heads))] += n
        assert shown["cells"][k] == expected
        tp = sum(expected[at][at] for at in range(len(heads)))
        _, _, precision, recall, f1, *counts = shown["point"][k]
        assert [int(text.replace(",", "")) for text in counts] == [
            tp,
            sum(map(sum, zip(*expected, strict=True))) - sum(row[-1] for row in expected) - tp,
            sum(map(sum, expected[:-1])) - tp,
        ]
        table = each.thresholds(0.5, per_category=False).sort("score_threshold").filter(pl.col("score_threshold") >= score)
        rates = [None, 0.0, 0.0] if table.is_empty() else table.select("precision", "recall", "f1").row(0)
        assert [precision, recall, f1] == ["–" if rate is None else f"{rate:.3f}" for rate in rates]
        of_images = each.per_image(0.5, min_score=score)
        by_image = {name: row for name, *row in of_images.select("file_name", "tp", "fp", "fn").iter_rows()}
        for name, *texts in shown["images"]:
            assert [int(text) for text in texts[-6:][3 * k : 3 * k + 3]] == by_image[name]


def test_numbers_equal_the_tables_at_every_position(browser: Any, street: Path, models: list[apf.Evaluation]) -> None:
    best = [each.thresholds(0.5, per_category=False).filter("is_best")["score_threshold"][0] for each in models]
    with opened(browser, street) as page:
        check_numbers(numbers(page), models, best)
        slider = page.locator(".slider input")
        for position in share(range(1, 51), "positions"):
            slider.evaluate("(input, to) => { input.value = to; input.dispatchEvent(new Event('input')); }", str(position))
            score = position / 50
            wait_until(page, f"document.querySelector('.slider output').textContent === 'from {score:.3f}'")
            check_numbers(numbers(page), models, [score, score])
        page.get_by_role("button", name="Best F1").click()
        check_numbers(numbers(page), models, best)


def test_marks_follow_the_slider(browser: Any, street: Path) -> None:
    """At another threshold they show, and ask for, what is counted there."""
    with opened(browser, street) as page:
        page.locator(".slider input").focus()
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        wait_until(page, "position > 10")
        assert page.locator("a[data-select][data-at]").count() > 500
        walked = [mark for mark in walk(page) if "at=" in mark["hash"] and "at=" not in mark["select"]]
        assert len(walked) > 100
        assert wrong_marks(walked, street.parent) == []


def test_opened_cards_follow_the_slider(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        page.locator("#gallery .card:visible").first.click()
        page.evaluate("move(49)")
        hidden = page.locator("dialog .drawing g[data-score].below").count()
        shown = page.locator("dialog .drawing g[data-score]:not(.below)").evaluate_all(
            "(all) => all.map((e) => Number(e.dataset.score))"
        )
        assert hidden > 0 and all(score >= 0.98 for score in shown)
        page.evaluate("move(1)")
        assert page.locator("dialog .drawing g[data-score].below").count() == 0


def test_cards_are_filtered_sorted_and_opened(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        gallery = page.locator("#gallery .gallery")
        cards = gallery.locator(".card:visible")
        assert cards.count() == 24
        gallery.get_by_role("button", name="more of").click()
        assert cards.count() == 48
        gallery.get_by_label("Error type").select_option("miss")
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.error)")) == {"miss"}
        gallery.get_by_label("Change").select_option("lost")
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.change)")) == {"lost"}
        gallery.get_by_label("time_of_day").select_option("dusk")
        assert set(cards.evaluate_all("(all) => all.map((each) => each.dataset.slice1)")) == {'["dusk"]'}
        assert page.evaluate("location.hash") == "#error=miss&change=lost&time_of_day=dusk"
        gallery.get_by_role("button", name="Show all").click()
        wait_until(page, "location.hash === '#gallery'")
        gallery.get_by_label("Order").select_option("score up")
        scores = [float(text) for text in cards.evaluate_all("(all) => all.map((each) => each.dataset.score)") if text]
        assert scores == sorted(scores)
        gallery.get_by_label("Order").select_option("")
        cards.nth(0).focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        first = dialog.locator(".ids").inner_text()
        assert first == cards.nth(0).locator(".ids").text_content()
        page.keyboard.press("ArrowRight")
        assert dialog.locator(".ids").inner_text() == cards.nth(1).locator(".ids").text_content()
        page.keyboard.press("ArrowLeft")
        assert dialog.locator(".ids").inner_text() == first
        assert "SELECT" in dialog.locator(".sql").inner_text()
        page.keyboard.press("Escape")
        assert not dialog.is_visible()
        cards.nth(2).click()
        assert dialog.is_visible()
        dialog.get_by_role("button", name="Close").click()
        assert not dialog.is_visible()


@pytest.mark.parametrize(("section", "name", "value"), [("gallery", "error", "miss"), ("labels", "kind", "missing")])
def test_ids_of_the_whole_selection_are_copied(
    browser: Any, street: Path, models: list[apf.Evaluation], tmp_path: Path, section: str, name: str, value: str
) -> None:
    with opened(browser, street) as page:
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        gallery = page.locator(f"#{section} .gallery")
        gallery.locator(f"[name={name}]").select_option(value)
        chosen = gallery.locator(f".card[data-{name}={value}]")
        assert gallery.locator(".card:visible").count() < chosen.count() < gallery.locator(".card").count()
        ids = list(dict.fromkeys(chosen.evaluate_all("(all) => all.map((each) => each.dataset.image)")))
        gallery.get_by_role("button", name="Copy ids").click()
        wait_until(page, "window.copied !== undefined")
        assert page.evaluate("copied").split("\n") == ids
        assert page.evaluate("copied") == gallery.locator(".selected .image-ids").text_content()
        gallery.get_by_role("button", name="Copy SQL").click()
        wait_until(page, "window.copied.startsWith('SELECT')")
    models[0].write_tasks(ids, tmp_path / "tasks.json", "coco")
    assert apf.read_dataset(tmp_path / "tasks.json").images["image_id"].cast(pl.String).to_list() == ids


def test_page_is_not_too_high(browser: Any, street: Path) -> None:
    with opened(browser, street) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= 12_000


def test_first_screen_has_the_answer(browser: Any, street: Path) -> None:
    for size in ({"width": 1280, "height": 900}, {"width": 400, "height": 800}):
        with opened(browser, street, viewport=size) as page:
            for selector in (".sentence", ".figure.a", ".figure.b", ".chip", ".sections"):
                box = page.locator(selector).first.bounding_box()
                assert box is not None and box["y"] + box["height"] <= size["height"]


def test_matrices_are_sorted_by_supercategory(browser: Any, street: Path, models: list[apf.Evaluation]) -> None:
    groups = dict(models[0].dataset.categories.select("name", "supercategory").iter_rows())
    with opened(browser, street) as page:
        before = numbers(page)
        page.locator("#confusion select").first.select_option("supercategory")
        after = numbers(page)
        assert [groups[name] for name in after["heads"][:-1]] == sorted(groups.values())
        old, new = ({name: k for k, name in enumerate(each["heads"])} for each in (before, after))
        for name in old:
            for other in old:
                row = (old.get(name, -1), new.get(name, -1))
                assert before["cells"][0][row[0]][old[other]] == after["cells"][0][row[1]][new[other]]


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
        labels = page.evaluate(LABELS, ".cards .drawing")
        assert labels["cut"] == labels["covered"] == 0
        page.locator("#gallery .card").first.click(position={"x": 9, "y": 9})
        for _ in range(30):
            labels = page.evaluate(LABELS, "dialog .drawing")
            assert labels["cut"] == labels["covered"] == 0
            assert labels["smallest"] > 9
            page.keyboard.press("ArrowRight")


def zoom(page: Any) -> tuple[float, ...]:
    """How large the open picture is as a share of its frame, and where it begins."""
    frame, whole = (page.locator(f"dialog {name}").bounding_box() for name in (".drawing", ".whole"))
    return (
        whole["width"] / frame["width"],
        (whole["x"] - frame["x"]) / frame["width"],
        (whole["y"] - frame["y"]) / frame["height"],
    )


def middle(page: Any, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
    box = page.locator("dialog .drawing").bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def open_card(page: Any, number: int = 0) -> Any:
    page.locator("#gallery .card").nth(number).click(position={"x": 9, "y": 9})
    return page.get_by_role("dialog")


def test_open_pictures_are_whole_and_can_be_zoomed(browser: Any, few: Path) -> None:
    with opened(browser, few) as page:
        dialog, whole = open_card(page, 1), pytest.approx((1, 0, 0), abs=1e-3)
        assert zoom(page) == whole
        width, height = map(float, dialog.locator(".drawing svg").get_attribute("viewBox").split()[2:])
        box = dialog.locator(".drawing").bounding_box()
        assert box["width"] / box["height"] == pytest.approx(width / height, rel=0.01)
        page.mouse.move(*middle(page, 0.25, 0.75))
        page.mouse.wheel(0, -300)
        wait_until(page, "view.zoom > 1")
        size, left, top = zoom(page)
        assert (0.25 - left) / size == pytest.approx(0.25, abs=0.01), "what is under the mouse stays there"
        assert (0.75 - top) / size == pytest.approx(0.75, abs=0.01)
        page.keyboard.press("0")
        assert zoom(page) == whole
        for press, back in (("+", "-"), ("=", "0")):
            page.keyboard.press(press)
            assert zoom(page)[0] == pytest.approx(1.5, rel=0.01)
            page.keyboard.press(back)
            assert zoom(page) == whole
        page.keyboard.press("-")
        assert zoom(page) == whole, "it never is smaller than its frame"
        dialog.get_by_role("button", name="Zoom in").click(click_count=20)
        assert zoom(page)[0] == pytest.approx(16, rel=0.01)
        subject = dialog.locator("g.subject").last.bounding_box()
        frame = dialog.locator(".drawing").bounding_box()
        assert frame["x"] < subject["x"] + subject["width"] / 2 < frame["x"] + frame["width"], "it stays in sight"
        dialog.get_by_role("button", name="Zoom out").click()
        assert 1 < zoom(page)[0] < 16
        dialog.get_by_role("button", name="Whole picture").click()
        assert zoom(page) == whole
        page.mouse.dblclick(*middle(page))
        assert zoom(page)[0] == pytest.approx(3, rel=0.01)
        page.keyboard.press("ArrowRight")
        assert zoom(page) == whole, "the next card is whole again"


def test_zoomed_pictures_are_moved_but_not_out_of_their_frame(browser: Any, few: Path) -> None:
    with opened(browser, few) as page:
        open_card(page)
        page.mouse.dblclick(*middle(page))
        _, left, top = zoom(page)
        page.mouse.move(*middle(page))
        page.mouse.down()
        page.mouse.move(*middle(page, 0.6, 0.4), steps=3)
        page.mouse.up()
        page.mouse.move(*middle(page, 0.1, 0.1))
        assert zoom(page) == pytest.approx((3, left + 0.1, top - 0.1), abs=0.01)
        page.keyboard.press("Shift+ArrowLeft")
        assert zoom(page)[1] == pytest.approx(left + 0.2, abs=0.01)
        for _ in range(30):
            page.keyboard.press("Shift+ArrowDown")
        assert zoom(page)[2] == pytest.approx(-2, abs=0.01)


def test_two_fingers_zoom(browser: Any, few: Path) -> None:
    with opened(browser, few, has_touch=True) as page:
        open_card(page)
        fingers = page.context.new_cdp_session(page)

        def touch(kind: str, *shares: float) -> None:
            points = [dict(zip("xy", middle(page, share, 0.5), strict=True)) for share in shares]
            named = [{"id": number} | point for number, point in enumerate(points)]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": named})

        touch("touchStart", 0.4, 0.6)
        touch("touchMove", 0.3, 0.7)
        touch("touchMove", 0.2, 0.8)
        wait_until(page, "view.zoom > 2.9")
        touch("touchEnd")
        assert zoom(page) == pytest.approx((3, -1, -1), abs=0.05)
        touch("touchStart", 0.5)
        touch("touchMove", 0.7)
        touch("touchEnd")
        assert zoom(page) == pytest.approx((3, -0.8, -1), abs=0.05), "one finger moves it"
        page.keyboard.press("0")
        assert zoom(page)[0] == pytest.approx(1, abs=0.01)


SEEN = """(selector) => [...document.querySelectorAll(`dialog .drawing ${selector}`)]
  .filter((each) => getComputedStyle(each).display !== "none").length"""


def test_switches_hide_what_is_drawn_on_this_card_and_the_next(browser: Any, few: Path) -> None:
    with opened(browser, few) as page:
        dialog = open_card(page)
        names = {"truth": "ground truth", "a": "model_a", "b": "model_b", "ignored": "ignored objects"}
        for role, name in names.items():
            switch = dialog.get_by_role("checkbox", name=name)
            assert switch.is_checked()
            switch.focus()
            page.keyboard.press("Space")
            seen = [page.evaluate(SEEN, f".{role}")]
            for _ in range(11):
                page.keyboard.press("ArrowRight")
                seen.append(page.evaluate(SEEN, f".{role}"))
            assert seen == [0] * 12
            page.keyboard.press("ArrowRight")
        assert page.evaluate(SEEN, "g.subject") == 0
        for name in names.values():
            assert not dialog.get_by_role("checkbox", name=name).is_checked()
            dialog.get_by_role("checkbox", name=name).check()
        assert page.evaluate(SEEN, "g.subject") > 0


def test_one_model_has_no_switch_for_another(browser: Any, models: list[apf.Evaluation], tmp_path: Path) -> None:
    written = apf.write_report(tmp_path / "page.html", models[0], max_images=3, n_resamples=100)
    with opened(browser, written) as page:
        names = [each.get_attribute("name") for each in open_card(page).get_by_role("checkbox").all()]
        assert names[:2] == ["truth", "a"]
        assert "b" not in names


def test_detections_below_their_models_threshold_are_hidden(browser: Any, few: Path) -> None:
    scores = """() => [...document.querySelectorAll("dialog g[data-score]")].map((each) =>
      [each.classList[0], Number(each.dataset.score), getComputedStyle(each).display !== "none"])"""
    with opened(browser, few) as page:
        open_card(page)
        drawn = page.evaluate(scores)
        assert {role for role, *_ in drawn} == {"a", "b"}
        assert all(is_seen for *_, is_seen in drawn)
        page.evaluate("scores[0][position] = '0.6'; scores[1][position] = '2'")
        page.evaluate("document.dispatchEvent(new Event('threshold'))")
        assert [is_seen for *_, is_seen in page.evaluate(scores)] == [
            score >= {"a": 0.6, "b": 2}[role] for role, score, _ in drawn
        ]
        page.keyboard.press("ArrowRight")
        after = page.evaluate(scores)
        assert after and all(is_seen == (score >= {"a": 0.6, "b": 2}[role]) for role, score, is_seen in after)
        page.evaluate("scores[0][position] = scores[1][position] = '0'; document.dispatchEvent(new Event('threshold'))")
        assert all(is_seen for *_, is_seen in page.evaluate(scores))


def test_names_with_line_breaks_and_without_letters_are_filtered(browser: Any, tmp_path: Path) -> None:
    names = ["", "two\nlines", 'a "quote"']
    truth = {
        "images": [{"id": n, "weather": name} for n, name in enumerate(names)],
        "categories": [{"id": n, "name": name} for n, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, "category_id": n, "bbox": [0, 0, 9, 9]} for n in range(3)],
    }
    written = apf.write_report(tmp_path / "page.html", apf.evaluate(truth, []), by="weather", n_resamples=100)
    with opened(browser, written) as page:
        gallery = page.locator("#gallery .gallery")
        for heading in ("Category", "weather"):
            for place in range(1, 4):
                gallery.get_by_label(heading).select_option(index=place)
                (ids,) = gallery.locator(".card:visible .ids").all_inner_texts()
                options = gallery.get_by_label(heading).locator("option").all()
                assert names[int(ids[len("image_id ")])] == options[place].get_attribute("value")
            gallery.get_by_label(heading).select_option(index=0)
        assert gallery.locator(".card:visible").count() == 3


def test_pictures_are_in_the_page_once_and_on_every_card(browser: Any, tmp_path: Path) -> None:
    """On cards and in the dialog, where upright ones are whole."""
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
        drawings = page.locator("#gallery .card .drawing").all()
        shots = [each.screenshot() for each in drawings]
        page.locator("#gallery .card").nth(2).click()
        inside = page.get_by_role("dialog").locator(".drawing")
        shots.append(inside.screenshot())
        for each, shape in ((drawings[0], 3 / 4), (inside, 4)):
            box = each.bounding_box()
            assert box is not None and box["height"] / box["width"] == pytest.approx(shape, rel=0.02)
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
        assert not page.locator("#gallery form").is_visible()
        # Chromium leaves a button that is a box out of the heads that it repeats on following pages
        assert page.evaluate(
            "[...document.querySelectorAll('th button')].every((e) => getComputedStyle(e).display == 'contents')"
        )
        assert page.evaluate("[...document.querySelectorAll('pre')].every((each) => each.scrollWidth <= each.clientWidth)")


@pytest.fixture(scope="module")
def past(models: list[apf.Evaluation], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a history of four nights."""
    half = apf.evaluate(models[1].dataset, models[1].detections.gather_every(2))
    nights = {"night": [f"2026-11-{day:02}" for day in (1, 2, 9, 30)]}
    path = tmp_path_factory.mktemp("past") / "report.html"
    return apf.write_report(path, half, models[0], models[1], half, over=nights, max_images=12)


@pytest.mark.parametrize("width", [400, 1280])
def test_a_history_fits_into_the_window(browser: Any, past: Path, width: int) -> None:
    with opened(browser, past, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = [each.bounding_box() for each in page.locator("svg.history").all()]
        assert len(boxes) == 1 + 11 + 8 + 6 and all(box["x"] + box["width"] <= width for box in boxes)
        inside = """(drawing) => { const around = drawing.getBoundingClientRect();
          return [...drawing.querySelectorAll("text")].every((text) => { const box = text.getBoundingClientRect();
            return box.left >= around.left - 1 && box.right <= around.right + 1; }); }"""
        assert page.locator("svg.history").evaluate_all(f"(all) => all.every({inside})")
        assert column(page, "AP over night, the last one first", "night") == [
            f"2026-11-{day}" for day in ("30", "09", "02", "01")
        ]
        page.locator("#history").get_by_role("button", name="AP").first.click()
        assert column(page, "AP over night, the last one first", "place") == ["best", "", "last", "first"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_labels_of_a_history(browser: Any, past: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
    with opened(browser, past, color_scheme=scheme) as page:
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate(SHORTER)
        findings = axe.Axe().run(page)
        assert findings.violations_count == 0, findings.generate_report()
