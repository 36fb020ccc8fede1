"""`apframe report`: files and stored evaluations to a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from tests.cli.test_rank import LEXICAL, QRELS, QUERIES, SEARCH, apframe, rank

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
FILES = [str(STREET / f"{name}.json") for name in ("instances", "model_a", "model_b")]
RUNS = [LEXICAL, str(SEARCH / "run_hybrid.txt")]


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
        text = page.read_text().replace(f"{name}_tables", "the folder of tables")
        assert f"apframe report {os.path.relpath(paths[0], page.parent)}" in text
        pages.append([line for line in text.split("<dt>") if not line.startswith("Made with")])
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_markdown_is_printed_beside_a_page_or_alone(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    alone = apframe("report", *FILES, "--markdown", "--title", "Nightly")
    assert (alone.returncode, alone.stderr) == (0, "") and alone.stdout.startswith("## Nightly\n\n**No significant difference")
    beside = apframe("report", *FILES, "--markdown", "--title", "Nightly", "--out", str(page))
    assert beside.stdout == alone.stdout and beside.stderr.startswith(f"note: {page}: ")
    assert "<h1>Nightly</h1>" in page.read_text()
    done = apframe("report", *FILES, "--images", str(tmp_path / "no"), "--out", str(page))
    assert (done.returncode, done.stderr) == (
        2,
        f"error: {tmp_path / 'no'}: --images is not a folder; name the folder of the images\n",
    )
    done = apframe("report", *FILES, "--title", "Nightly")
    assert (done.returncode, "--title needs --out, the file of the page" in done.stderr) == (2, True)


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
    assert "--where applies to detections, not to search runs; leave it out" in done.stderr


@pytest.mark.slow
def test_files_of_search_give_the_page_of_stored_runs(tmp_path: Path) -> None:
    names = ("run_lexical", "run_hybrid", "sets.html", "files.html")
    out, options = [str(tmp_path / name) for name in names], ["-m", "AP P@5", "-l", "2"]
    for run, folder in zip(RUNS, out, strict=False):
        assert rank(QRELS, run, *options, "--queries", QUERIES, "--out", folder).returncode == 0
    assert apframe("report", *out[:2], "--by", "topic", "--out", out[2]).returncode == 0
    done = apframe("report", QRELS, *RUNS, *options, "--queries", QUERIES, "--by", "topic", "--out", out[3])
    assert (done.returncode, done.stderr) == (0, "")
    of_sets, of_files = (Path(page).read_text() for page in out[2:])
    assert f"apframe report {os.path.relpath(QRELS, tmp_path)}" in of_files
    assert "Is run_hybrid better?" in of_files and "AP(rel=2) by topic" in of_files
    pages = [[line for line in text.split("<dt>") if not line.startswith("Made with")] for text in (of_sets, of_files)]
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_search_runs_without_a_file_and_of_a_pipe() -> None:
    done = apframe("report", QRELS, RUNS[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:3] == [
        "AP is 0.483; with other queries of the same kind, 0.417 to 0.549.",
        "Queries with the lowest AP: ▼ 334 0.000, ▼ 355 0.024, ▼ 304 0.036", "",
    ]  # fmt: skip
    piped = subprocess.run(
        [sys.executable, "-m", "apframe", "report", "-", RUNS[0]],
        input=Path(QRELS).read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert (piped.stdout.decode(), piped.stderr) == (done.stdout, b"")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([QRELS], 2, "Missing argument: the search runs to evaluate (see `apframe report --help`)"),
        ([RUNS[0], QRELS], 1, "this looks like judgements; pass judgements first, then runs"),
        ([QRELS, FILES[0]], 1, "instances.json: "),
        ([QRELS, RUNS[0], "-m", "nDGC@10"], 2, "no measure 'nDGC'; did you mean nDCG?"),
        ([QRELS, RUNS[0], "--by", "topic"], 2, "--by needs the attributes of the queries: --queries FILE"),
        ([QRELS, RUNS[0], "--by", "topci", "--queries", QUERIES], 2, "the queries have no column 'topci'; did you mean topic?"),
        ([QRELS, RUNS[0], "--embed"], 2, "--embed applies to detections, not to search runs; leave it out"),
        (
            [QRELS, RUNS[0], "--n-resamples", "9", "--protocol", "lvis"], 2,
            "--n-resamples and --protocol apply to detections, not to search runs; leave them out",
        ),
        (
            [*FILES, "-l", "2", "-m", "AP"], 2,
            f"--measures and --relevance-level apply to search runs, and {FILES[0]} is not a judgements file; leave them out",
        ),
        (["absent.txt", RUNS[0], "--missing", "zero"], 1, "absent.txt: there is no such file or folder"),
    ],
)  # fmt: skip
def test_options_of_other_data_are_refused(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    done = apframe("report", *arguments, "--out", str(tmp_path / "page.html"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert message in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_the_first_file_that_is_missing_is_named() -> None:
    for others in ([RUNS[0]], ["absent_too.txt", "absent.json"], []):
        done = apframe("report", "nothere.txt", *others)
        assert (done.returncode, done.stderr) == (1, "error: nothere.txt: there is no such file or folder\n")
    assert apframe("report", QRELS.replace("qrels", "qrel"), RUNS[0]).stderr.endswith("; did you mean qrels.txt?\n")


def test_stored_search_runs_keep_their_measures(tmp_path: Path) -> None:
    apf.evaluate_run(QRELS, RUNS[0]).write_parquet(tmp_path / "run")
    done = apframe("report", str(tmp_path / "run"), "-m", "AP")
    assert done.stderr == ("error: --measures applies when runs are evaluated; pass it to `apframe rank` when storing them\n")


def test_targets_are_checked_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.html").write_text("mine")
    for name, message in (("notes.html", "a file that apframe did not write"), ("missing/page.html", "no such folder")):
        done = apframe("report", FILES[0], "absent too.json", "--out", str(tmp_path / name))
        assert done.returncode == 1 and message in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (FILES[:1], "Missing argument: the ground truth and results of a model"),
        ([*FILES, "--embed"], "--embed needs --images"),
        ([*FILES, "--max-images", "-1"], "--max-images is a whole number of at least 0, not -1"),
        ([*FILES, "--imges", "x"], "did you mean --images?"),
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
    assert lines[0] == "No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032)."
    assert {"Is model_b better?", "Where?", "Error types", "AP by weather"} <= {*lines}
    for option in (["--title", "x"], ["--images", str(tmp_path)], ["--max-images", "10"], ["--embed"]):
        refused = apframe("report", *FILES, *option)
        assert (refused.returncode, refused.stderr) == (
            2,
            f"error: {option[0]} needs --out, the file of the page\n",
        )


@pytest.mark.slow
def test_doubtful_labels_are_written_beside_the_answer_or_page(tmp_path: Path) -> None:
    tasks, other, page = (str(tmp_path / name) for name in ("tasks", "more tasks", "page.html"))
    done = apframe("report", *FILES[:2], "--relabel", tasks)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("AP is 0.268")
    line = "31 doubtful labels on 30 images (coco.json, cvat.xml, label_studio.json)"
    assert last == f"{tasks}: {line}"
    done = apframe("report", *FILES[:2], "--out", page, f"--relabel={other}", "--max-images", "0")
    assert done.stdout.splitlines()[1:] == [f"{other}: {line}"]
    assert "--relabel" not in Path(page).read_text()
    done = apframe("report", FILES[0], "absent.json", "--relabel", tasks)
    assert (done.returncode, done.stderr) == (1, f"error: {tasks}: is not empty; give a new folder\n")


@pytest.mark.slow
def test_corrected_labels_become_ground_truth(tmp_path: Path) -> None:
    tasks, fixed = tmp_path / "tasks", str(tmp_path / "fixed.json")
    assert apframe("report", *FILES[:2], "--relabel", str(tasks)).returncode == 0
    (tasks / "cvat.xml").write_text((tasks / "cvat.xml").read_text().replace('label="van"', 'label="car"'))
    done = apframe("convert", FILES[0], fixed, "--to", "coco", "--corrections", str(tasks / "cvat.xml"))
    line = "30 images corrected: 11 annotations changed, 27 added, 0 removed"
    assert (done.returncode, done.stdout) == (0, f"{line}\n{fixed}: COCO JSON, everything was written\n")
    before, after = (apf.read_dataset(path) for path in (FILES[0], fixed))
    touched = apf.read_dataset(tasks / "coco.json").images["image_id"].implode()
    here = pl.col("image_id").is_in(touched)
    assert_frame_equal(after.annotations.filter(~here), before.annotations.filter(~here))
    vans = before.categories.filter(name="van")["category_id"].item()
    assert after.annotations.filter(here, category_id=vans).is_empty()
    assert not before.annotations.filter(here, category_id=vans).is_empty()
    for name in ("label_studio.json", "coco.json"):
        done = apframe("convert", FILES[0], str(tmp_path / name), "--to", "coco", "--corrections", str(tasks / name))
        assert (done.returncode, done.stderr) == (0, "")


def test_distances_and_search_runs_have_no_doubtful_labels(tmp_path: Path) -> None:
    done = apframe("report", QRELS, RUNS[0], "--relabel", str(tmp_path / "new"))
    assert done.stderr == "error: --relabel applies to detections, not to search runs; leave it out\n"
    driving = STREET.parent / "driving"
    sources = [str(driving / "scenes"), str(driving / "model_a.json"), "--protocol", "nuscenes"]
    done = apframe("report", *sources, "--relabel", str(tmp_path / "new"), "--out", str(tmp_path / "page.html"))
    assert (
        done.stderr
        == "error: label errors need similarities from 0 to 1, and NUSCENES compares distances; leave --relabel out\n"
    )
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_tasks_that_would_lose_labels_are_refused_early(tmp_path: Path) -> None:
    options = ["--relabel", str(tmp_path / "new"), "--out", str(tmp_path / "page.html")]
    done = apframe("report", *FILES[:2], "--where", "name = 'car'", *options)
    assert done.returncode == 2 and "a subset has only some categories; write tasks for boxes" in done.stderr
    assert done.stderr.endswith("or leave --relabel out\n")
    thumos = [str(STREET.parent / "video" / "thumos14" / name) for name in ("annotation", "model_a.txt")]
    done = apframe("report", thumos[0], "absent.txt", "--protocol", "thumos14", *options)
    message = "THUMOS14 compares interval, and tasks for labelling tools need shapes in images; leave --relabel out"
    assert (done.returncode, done.stderr) == (2, f"error: {message}\n")
    stored = str(tmp_path / "stored")
    assert apframe("eval", *thumos, "--protocol", "thumos14", "--out", stored).returncode == 0
    done = apframe("report", stored, *options)
    assert done.returncode == 2 and "THUMOS14 compares interval" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["stored"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders of three checkpoints of model_a with their epoch, two of them also with their date."""
    folder, truth = tmp_path_factory.mktemp("history"), apf.read_coco(FILES[0])
    results = apf.read_results(FILES[1])
    for epoch, every in ((9, 3), (10, 1), (11, 2)):
        tags = {"epoch": epoch} | ({"date": f"2026-11-{epoch:02}"} if epoch > 9 else {})
        apf.evaluate(truth, results.gather_every(every)).write_parquet(folder / f"{epoch}", tags=tags)
    return sorted(str(path) for path in folder.iterdir())  # 10 before 9


@pytest.mark.slow
def test_a_history_is_in_the_order_of_its_tag(checkpoints: list[str], tmp_path: Path) -> None:
    done = apframe("report", *checkpoints, "--over", "epoch")
    assert (done.returncode, done.stderr) == (0, "")
    answer, *lines = done.stdout.splitlines()
    assert answer.startswith("AP is best at epoch 10, 0.268, and significantly better than at the last one, epoch 11 (+0.")
    assert answer.endswith("p < 0.001, corrected for 2 comparisons).")
    table = lines[lines.index("AP over epoch, the last one first") + 4 :][:3]
    assert [line.split()[1:4:2] for line in table] == [["11", "last"], ["10", "best"], ["9", "first"]]
    page = tmp_path / "page.html"
    assert apframe("report", *checkpoints[:2], "--over", "date", "--out", str(page)).returncode == 0
    assert "<h1>2026-11-10 to 2026-11-11</h1>" in page.read_text() and "--over date" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("epochs", "--over: no run has the tag 'epochs'; did you mean epoch?"),
        ("date", "--over: '9' has no tag 'date'; store each with the tag, as in --out DIR --tag epoch=3"),
    ],
)
def test_a_tag_that_runs_lack_is_an_error(checkpoints: list[str], over: str, message: str) -> None:
    done = apframe("report", *checkpoints, "--over", over)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {message}\n")


def test_files_have_no_tags() -> None:
    needed = "--over needs stored evaluations with tags; store each with --out DIR --tag epoch=3"
    for paths in (FILES, [QRELS, *RUNS]):
        assert apframe("report", *paths, "--over", "epoch").stderr == f"error: {needed}\n"
