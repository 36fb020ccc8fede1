"""`apframe report`: files and stored evaluations to a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from tests.cli.test_rank import apframe

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
FILES = [str(STREET / f"{name}.json") for name in ("instances", "model_a", "model_b")]


@pytest.mark.slow
def test_files_and_stored_evaluations_give_the_same_page(tmp_path: Path) -> None:
    for name in ("model_a", "model_b"):
        apf.evaluate(FILES[0], STREET / f"{name}.json").write_parquet(tmp_path / name)
    sources = {"files": FILES, "sets": [str(tmp_path / name) for name in ("model_a", "model_b")]}
    pages = []
    for name, paths in sources.items():
        page = tmp_path / f"{name}.html"
        done = apframe("report", *paths, "--out", str(page), "--n-resamples", "500")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{page}: ")
        text = page.read_text()
        assert f"apframe report {paths[0]}" in text
        pages.append([line for line in text.split("<dt>") if not line.startswith("Made with")])
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_stored_search_runs(tmp_path: Path) -> None:
    data = STREET.parent / "search"
    for name in ("lexical", "hybrid"):
        apf.evaluate_run(data / "qrels.txt", data / f"run_{name}.txt").write_parquet(tmp_path / name)
    page = tmp_path / "report.html"
    done = apframe("report", str(tmp_path / "lexical"), str(tmp_path / "hybrid"), "--out", str(page))
    assert (done.returncode, done.stderr) == (0, "")
    assert "Is hybrid better?" in page.read_text()
    assert "hybrid is better by 0.104 AP (95 % CI 0.050 to 0.157, p &lt; 0.001)" in page.read_text()
    done = apframe("report", str(tmp_path / "lexical"), "--out", str(page), "--where", "weather = 'fog'")
    assert "--where is about detections, not about search runs; leave it out" in done.stderr


def test_targets_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.html").write_text("mine")
    for name, message in (("notes.html", "a file that apframe did not write"), ("missing/page.html", "no such folder")):
        done = apframe("report", "absent.json", "absent too.json", "--out", str(tmp_path / name))
        assert done.returncode == 1 and message in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (FILES[:1], "Missing argument: the ground truth and results of a model"),
        ([*FILES, "--embed"], "--embed needs --images"),
        ([*FILES, "--max-images", "-1"], "--max-images is a whole number of at least 0, not -1"),
        ([*FILES, "--imges", "x"], "did you mean --images,"),
        ([*FILES, "--by", "wether"], "weather"),
        ([*FILES, "--out", FILES[0]], "a file that apframe did not write"),
    ],
)
def test_bad_usage_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    page = tmp_path / "report.html"
    done = apframe("report", *arguments, *([] if "--out" in arguments else ["--out", str(page)]))
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not page.exists()


@pytest.mark.slow
def test_without_a_file_the_first_answers_are_printed(tmp_path: Path) -> None:
    done = apframe("report", *FILES, "--by", "weather", "--n-resamples", "500")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert (
        lines[0] == "Is model_b better?" and "Where?" in lines and "What kind of error?" in lines and "AP by weather" in lines
    )
    for option in (["--title", "x"], ["--images", str(tmp_path)], ["--max-images", "10"], ["--embed"]):
        refused = apframe("report", *FILES, *option)
        assert (refused.returncode, refused.stderr) == (
            2,
            f"error: {option[0]} is about the page; say where it is written, with --out\n",
        )
