"""The pages of docs/ say what is so: their code runs, their outputs are the real ones, and every public name is on a page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, FENCE, ROOT, WIDTH, page_run
from tests.docs.reference import reference, undocumented
from tests.docs.test_prose import without_code

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_the_real_ones(name: str, tmp_path: Path) -> None:
    text = (DOCS / name).read_text()
    assert page_run(text, tmp_path).text == text, "run: python -m tests.docs.outputs"


def test_numbers_about_ultralytics_are_in_the_outputs() -> None:
    text = (DOCS / "coming_from" / "ultralytics.md").read_text()
    outputs = [block["body"] for block in FENCE.finditer(text) if block["language"] in ("text", "console")]
    shown = {f"{float(number):.3f}"[1:] for number in re.findall(r"(?<![.\d])0\.\d+", "".join(outputs))}
    numbers = re.findall(r"(?<!\w)\.\d{3}\b", without_code(text))
    assert len(numbers) > 10
    assert {*numbers} <= shown


@pytest.mark.parametrize("name", PAGES)
def test_code_is_at_most_100_columns_wide(name: str) -> None:
    wide = []
    for block in FENCE.finditer((DOCS / name).read_text()):
        lines = [line.removeprefix(block["indent"]) for line in block["body"].splitlines()]
        code = [line for line in lines if block["language"] in ("python", "sh") or line.startswith("$ ")]
        wide += [line for line in code if len(line) > WIDTH]
    assert wide == []


def test_every_public_name_is_documented() -> None:
    assert undocumented() == []


def navigation() -> list[dict[str, object]]:
    entries: list[dict[str, object]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    return entries


def pages_of(entries: object) -> list[str]:
    if not isinstance(entries, list):
        return [str(entries)]
    return [
        page
        for entry in entries
        for value in (entry.values() if isinstance(entry, dict) else [entry])
        for page in pages_of(value)
    ]


def test_the_navigation_has_every_page() -> None:
    notebooks = [f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert sorted(pages_of(navigation())) == sorted([*PAGES, *notebooks, *(f"reference/{name}" for name in reference())])


def test_the_home_page_lists_the_guides_by_group() -> None:
    (groups,) = (entry["Guides"] for entry in navigation() if "Guides" in entry)
    assert isinstance(groups, list)
    home = (DOCS / "index.md").read_text().split("## Find the guide\n")[1].split("\n## ")[0]
    listed = {
        part.split("**")[0]: re.findall(r"\]\((\S+\.md)\)", part.split("**")[1])
        for part in re.split(r"^\*\*", home, flags=re.M)[1:]
    }
    assert listed == {name: pages_of(entries) for group in groups for name, entries in group.items()}
    assert [*listed] == ["Everyday", "Compare", "Diagnose", "Benchmarks", "Search", "Large data"]


def test_the_readme_links_every_guide() -> None:
    linked = re.findall(r"\]\(docs/(\S+\.md)\)", (ROOT / "README.md").read_text().split("## Read more\n")[1])
    assert [page for page in PAGES if page.startswith(("get_started/", "guides/", "coming_from/")) and page not in linked] == []


def test_there_are_at_most_45_pages() -> None:
    assert len(PAGES) <= 45


@pytest.mark.slow
def test_a_page_shows_values_prints_warnings_and_errors(tmp_path: Path) -> None:
    page = (
        "```python\nimport apframe as apf\nprint(1)\n2\n```\n\n```text\n1\n2\n```\n\n"
        "- a list\n\n    ```python\n    apf.evaluate({}, {}, 'voc')\n    ```\n\n"
        "    ```text\n    ParameterError: old\n    ```\n\n"
        "```console\n$ apframe --version --jso\nerror: old\n$ ls\nuntouched\n```\n\n```sh\nrm everything\n```\n"
    )
    text = page_run(page, tmp_path).text
    assert text.startswith(page[: page.index("old")])
    assert "    ParameterError: no protocol 'voc'; did you mean" in text
    assert "$ apframe --version --jso\nerror: No such option: --jso" in text
    assert text.endswith("$ ls\nuntouched\n```\n\n```sh\nrm everything\n```\n")


@pytest.mark.slow
def test_an_error_that_a_page_does_not_show_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="not on the page: ParameterError"):
        page_run("```python\nimport apframe as apf\napf.bins('a', [1])\n```\n\nWords.\n\n```text\n```\n", tmp_path)


@pytest.mark.slow
def test_charts_are_found_and_other_modules_left_as_they_were(tmp_path: Path) -> None:
    before = {name: module for name, module in sys.modules.items() if name.startswith("pycocotools")}
    chart = (
        "import apframe as apf, polars as pl\napf.patch_pycocotools()\nimport altair\naltair.Chart(pl.DataFrame()).mark_bar()\n"
    )
    page = page_run(f"```python\n{chart}```\n\nBelow.\n", tmp_path)
    assert [page.text[place:] for place, _ in page.charts] == ["\n\nBelow.\n"]
    assert {name: module for name, module in sys.modules.items() if name.startswith("pycocotools")} == before
