"""`apframe compare`: what it prints where, how it ends, and what it refuses before anything is computed."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from tests.cli.test_rank import Done, apframe

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
GT, A, B = (str(STREET / f"{name}.json") for name in ("instances", "model_a", "model_b"))


def compare(*arguments: str) -> Done:
    return apframe("compare", *arguments)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two sample models, stored; and one of half of the images."""
    folder = tmp_path_factory.mktemp("runs")
    for name, path in (("a", A), ("b", B)):
        apf.evaluate(GT, path).write_parquet(folder / name)
    apf.evaluate(GT, B).where("weather <> 'fog'").write_parquet(folder / "half")
    return folder


@pytest.mark.slow
def test_two_models() -> None:
    done = compare(GT, A, B)
    assert (done.returncode, done.stderr) == (0, "")
    *table, first, second, lacking, test = done.stdout.splitlines()
    assert [name.strip() for name in table[1].strip("│").split("┆")] == [
        "metric", "model_a", "model_b", "difference", "low", "high", "p",
    ]  # fmt: skip
    assert max(map(len, table)) <= 80
    rows = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for line in table[3:-1] if (cells := line[1:-1].split("┆"))}
    assert list(rows) == ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]
    assert rows["AP"] == ["0.268", "0.277", "0.008", "-0.016", "0.032", "0.500"]  # se .012116, DIAGNOSIS.md 7.6
    assert rows["APs"] == ["0.132", "0.034", "-0.098", "null", "null", "null"]
    assert first == "No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032)."
    assert second == "With 300 images, differences below about 0.034 cannot be told from chance."
    assert lacking == (
        "No interval for APs, APl, ARs, ARl: more than a tenth of the categories have annotations in fewer than 10 images."
    )
    assert test == "Test: t test on the influences of 300 images."


@pytest.mark.slow
def test_resamples() -> None:
    """Small objects are much worse: no resample is better, so p has the lowest value that 200 resamples allow."""
    done = compare(GT, A, B, "--metrics", "APs,AP", "--method", "bootstrap", "--n-resamples", "200")
    rows = [[cell.strip() for cell in line[1:-1].split("┆")] for line in done.stdout.splitlines()[3:5]]
    assert [row[0] for row in rows] == ["APs", "AP"] and rows[0][-1] == "≤ 0.010" and float(rows[1][-1]) > 0.2
    sentence, test = done.stdout.splitlines()[6:]
    assert sentence.startswith("model_b is worse by 0.098 APs (95 % CI 0.0") and sentence.endswith(", p ≤ 0.010).")
    assert test == "Test: 200 resamples of 300 images."


@pytest.mark.slow
def test_numbers_without_a_derivative_are_resampled() -> None:
    done = compare(GT, A, B, "--protocol", "voc2007", "--n-resamples", "50")
    assert done.stdout.splitlines()[-1] == "Test: 50 resamples of 300 images."
    assert done.stderr == "warning: 'AP': intervals are from 50 resamples of the images, as there is no derivative\n"


@pytest.mark.slow
def test_the_images_that_make_the_difference() -> None:
    done = compare(GT, A, B, "--level", "image")
    assert (done.returncode, done.stderr) == (0, "")
    *table, what, shown = done.stdout.splitlines()
    rows = [[cell.strip() for cell in line[1:-1].split("┆")] for line in table[1:-1]]
    assert rows[0] == ["image_id", "file_name", "influence", "share", "tp_a", "fp_a", "fn_a", "tp_b", "fp_b", "fn_b"]
    a, b = (apf.evaluate(GT, path) for path in (A, B))
    expected = a.compare(b, level="image")
    assert [int(row[0]) for row in rows[2:]] == expected["image_id"].to_list()[:20]
    assert [int(cell) for cell in rows[2][4:]] == list(expected.row(0)[-6:])
    assert what.startswith("a: model_a, b: model_b. influence: of the image on the difference in AP;")
    assert shown == "The first 20 of 300 images are shown."
    assert compare(GT, A, B, "--level", "image", "--csv").stdout == expected.write_csv()
    both = compare(GT, A, B, "--level", "image", "--metrics", "AP50,AR100", "--markdown").stdout.splitlines()
    assert both[0].startswith("| metric | image_id | file_name") and len(both) == 2 + 2 * 20


@pytest.mark.slow
def test_categories() -> None:
    done = compare(GT, A, B, "--level", "category")
    assert (done.returncode, done.stderr) == (0, "")
    *table, sentence, test = done.stdout.splitlines()
    assert table[1].split()[1] == "name" and table[1].split()[-2] == "q" and len(table) == 16
    assert sentence == (
        "AP: 3 of 12 categories (pedestrian, worker, car) differ by the 95 % interval; "
        "after correcting for 12 comparisons, none does (q < 0.05)."
    )
    assert test == "Test: t test on the influences of 300 images."


@pytest.mark.slow
def test_categories_without_names(tmp_path: Path) -> None:
    truth = json.loads(Path(GT).read_text())
    truth["categories"] = [{"id": row["id"]} for row in truth["categories"]]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    done = compare(str(tmp_path / "truth.json"), A, B, "--level", "category", "--markdown")
    head, _, *rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert head.split("|")[1].strip() == "category_id"
    assert [int(row.split("|")[1]) for row in rows] == [row["id"] for row in truth["categories"]]


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {}, {"level": "category", "metrics": ["AP", "AP50"]}, {"by": ["weather", "camera"], "metrics": ["AP75"]},
    {"unit": "camera", "metrics": ["AP"], "method": "bootstrap", "n_resamples": 30, "seed": 3},
    {"within": "city", "metrics": ["AP"]},
], ids=str)  # fmt: skip
def test_programs_get_the_table_of_the_library(options: dict[str, Any]) -> None:
    flags: list[str] = []
    for name, value in options.items():
        flags += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value)]
    a, b = (apf.evaluate(GT, path) for path in (A, B))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)  # of few units and resamples
        table = a.compare(b, **options)
    done = compare(GT, A, B, *flags, "--csv" if options else "--json")
    assert done.returncode == 0
    if options:
        assert done.stdout == table.write_csv()
    else:
        assert json.loads(done.stdout) == json.loads(table.write_json())


@pytest.mark.slow
def test_markdown_has_the_result_of_the_gate() -> None:
    done = compare(GT, A, B, "--metrics", "AP", "--fail-if-worse", "AP", "--max-drop", "AP50=0.1", "--markdown")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "**Gate: passed** (tested: AP, AP50)"
    done = compare(GT, A, B, "--metrics", "AP", "--max-drop", "AP50=0.001", "--markdown")
    assert (done.returncode, done.stderr[:13]) == (4, "gate: AP50 of")
    verdict, _, failure = done.stdout.splitlines()[-3:]
    assert verdict == "**Gate: failed** (tested: AP50)"
    assert failure == f"- {done.stderr.removeprefix('gate: ').strip()}"


@pytest.mark.slow
def test_papers() -> None:
    done = compare(GT, A, B, "--metrics", "ap,AP50", "--markdown")
    answer, *others = done.stdout.splitlines()
    assert answer == "**No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032).**"
    assert others[-1] == "Test: t test on the influences of 300 images." and "Gate" not in done.stdout
    head, _, *rows = [line for line in others if line.startswith("|")]
    assert [cell.strip() for cell in head.strip("|").split("|")] == [
        "metric",
        "model_a",
        "model_b",
        "difference",
        "low",
        "high",
        "p",
    ]
    assert [row.split("|")[1].strip() for row in rows] == ["AP", "AP50"]
    assert r"metric & model\_a & model\_b & difference" in compare(GT, A, B, "--metrics", "AP", "--latex").stdout


@pytest.mark.slow
def test_a_part() -> None:
    done = compare(GT, A, B, "--where", "weather = 'fog'", "--metrics", "AP", "--json")
    row = json.loads(done.stdout)[0]
    foggy = [apf.evaluate(GT, path).where("weather = 'fog'") for path in (A, B)]
    assert (row["estimate_a"], row["estimate_b"]) == pytest.approx([each["AP"] for each in foggy])
    assert row["n_units"] == foggy[0].dataset.images.height


@pytest.mark.slow
def test_several_models(tmp_path: Path) -> None:
    """The leaderboard by AP, then the differences from the first one."""
    third = tmp_path / "half.json"
    third.write_text(json.dumps(json.loads(Path(B).read_text())[::2]))
    done = compare(GT, A, B, str(third))
    assert (done.returncode, done.stderr) == (0, "")
    rows = [[cell.strip() for cell in line.strip("│").split("┆")] for line in done.stdout.splitlines() if line.startswith("│")]
    assert rows[0] == ["run", "AP", "low", "high", "share_best", "ranks"]
    assert [(row[0], row[-1]) for row in rows[1:4]] == [("model_b", "1 to 2"), ("model_a", "1 to 2"), ("half", "3")]
    assert rows[4] == ["metric", "run", "value", "difference", "low", "high", "p_holm"]
    assert [row[:2] for row in rows[5:]] == [["AP", "model_b"], ["AP", "half"]]
    gated = compare(GT, A, B, str(third), "--fail-if-worse", "AP", "--json")
    assert gated.returncode == 4 and gated.stderr.startswith("gate: AP of half is worse than that of model_a by ")
    assert {(row["run_a"], row["run_b"]) for row in json.loads(gated.stdout)} == {("model_a", "model_b"), ("model_a", "half")}


@pytest.mark.slow
def test_stored_evaluations(stored: Path) -> None:
    """The numbers of the files, under the names of the folders."""
    ours = compare(str(stored / "a"), str(stored / "b"), "--csv")
    theirs = compare(GT, A, B, "--csv")
    assert ours.stdout == theirs.stdout.replace("model_a", "a").replace("model_b", "b")
    assert (ours.returncode, ours.stderr) == (0, "")


@pytest.mark.slow
def test_stored_evaluations_of_other_images(stored: Path) -> None:
    done = compare(str(stored / "a"), str(stored / "half"))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("error: a and half differ in images: ")
    assert "use --on-images common for the " in done.stderr
    common = compare(str(stored / "a"), str(stored / "half"), "--on-images", "common", "--csv")
    n = apf.read_evaluation(stored / "half").dataset.images.height
    assert common.returncode == 0 and f"compared on {n} images that all have; left out: {300 - n} of a" in common.stderr
    assert {row["n_units"] for row in csv.DictReader(io.StringIO(common.stdout))} == {str(n)}


@pytest.mark.slow
def test_standard_input_and_urls() -> None:
    arguments = ["compare", GT, A, "-", "--metrics", "AP", "--csv"]
    with Path(B).open() as results:
        done = subprocess.run(
            [sys.executable, "-m", "apframe", *arguments], stdin=results, capture_output=True, text=True, check=True
        )
    assert done.stdout == compare(GT, A, B, "--metrics", "AP", "--csv").stdout.replace("model_b", "b")
    refused = compare(GT, A, "https://example.invalid/b.json")
    assert refused.returncode == 2 and "only .parquet and .csv are read from a URL" in refused.stderr


@pytest.mark.slow
def test_warnings_about_the_ground_truth_come_once(tmp_path: Path) -> None:
    attributes = tmp_path / "sites.csv"
    names = apf.read_coco(GT).images["file_name"]
    pl.DataFrame({"file_name": ["nowhere.jpg", names[0]], "site": ["x", "y"]}).write_csv(attributes)
    done = compare(GT, A, B, "--image-attributes", str(attributes), "--csv")
    assert done.stderr.count("nowhere.jpg") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "code"), [
    (["--fail-if-worse", "AP"], 0),  # better
    (["--fail-if-worse", "AP50,AR10"], 0),  # worse, but the intervals include 0
    (["--fail-if-worse", "AP50,APs"], 4),  # APs has no interval
    (["--fail-if-worse", "AP50", "--fail-if-worse", "aps"], 4),
    (["--max-drop", "APs=0.1"], 0),  # the numbers alone count
    (["--max-drop", "APs=0.1", "--sure"], 4),
    (["--max-drop", "AP=0.02", "--sure"], 0),
    (["--max-drop", "AP=0.01", "--sure"], 4),
    (["--max-drop", "AP50=0.007"], 0),
    (["--max-drop", "AP50=0.006"], 4),
    (["--max-drop", "AP=0,AP50=0.006"], 4),
    (["--fail-if-worse", "AP", "--max-drop", "AP50=0.006"], 4),
])  # fmt: skip
def test_the_gate(flags: list[str], code: int) -> None:
    done = compare(GT, A, B, *flags, "--metrics", "AP")
    assert done.returncode == code
    assert "No significant difference in AP: +0.008 for model_b" in done.stdout  # the table comes first, in any case
    assert done.stderr.startswith("gate: ") == (code == 4)


@pytest.mark.slow
def test_the_gate_says_what_failed() -> None:
    day = ("--where", "time_of_day = 'day'")
    done = compare(GT, A, B, *day, "--fail-if-worse", "AP50,APs", "--max-drop", "AP=0.005", "--sure", "--json")
    rows = {row["metric"]: row for row in json.loads(done.stdout)}
    low, high = (-rows["AP50"][end] for end in ("low", "high"))
    assert done.returncode == 4 and done.stderr.splitlines() == [
        "gate: AP of model_b is worse than that of model_a by 0.0294, more than 0.005",
        f"gate: AP50 of model_b is worse than that of model_a by 0.0753 (95 % CI {high:.4f} to {low:.4f})",
        "gate: APs of model_b cannot be tested: more than a tenth of the categories have annotations in fewer than 10 images",
    ]
    assert len(rows) == 12
    assert compare(GT, B, A, *day, "--fail-if-worse", "AP50", "--metrics", "AP50").returncode == 0


@pytest.mark.slow
def test_a_gate_that_is_to_be_sure() -> None:
    done = compare(GT, A, B, "--metrics", "AP", "--max-drop", "AP=0.005", "--sure")
    assert done.stderr == ("gate: AP of model_b may be worse than that of model_a by up to 0.0157 (95 % CI), more than 0.005\n")


@pytest.mark.parametrize(("arguments", "message"), [
    (["--fail-if-worse", "AP51"], "no metric 'AP51'; did you mean AP75, AP50, AP"),
    (["--max-drop", "mAP=1"], "no metric 'mAP'; did you mean AP"),
    (["--metrics", "AP,APx"], "no metric 'APx'; did you mean AP"),
    (["--max-drop", "AP"], "--max-drop takes METRIC=NUMBER, each metric once and numbers from 0, not 'AP'"),
    (["--max-drop", "AP=-1"], "--max-drop takes METRIC=NUMBER, each metric once and numbers from 0, not 'AP=-1'"),
    (["--max-drop", "AP=nan"], "numbers from 0, not 'AP=nan'"),
    (["--max-drop", "AP=.1,ap=.2"], "numbers from 0, not 'ap=.2'"),
    (["--fail-if-worse", "AP", "--by", "weather"],
     "--fail-if-worse and --max-drop test the whole set, without --by and --level; test a part with --where"),
    (["--max-drop", "AP=0", "--level", "image"], "--fail-if-worse and --max-drop test the whole set"),
    (["--sure"], "--sure needs --max-drop; say which drop the interval must exclude, as in --max-drop AP=0.005"),
    (["--sure", "--fail-if-worse", "AP"], "--sure needs --max-drop"),
    (["--level", "images"], '--level is "summary", "category" or "image", not \'images\''),
    (["--level", "image", "--by", "weather"], "--by does not apply to --level image; leave it out, or choose a part with"),
    (["--level", "image", "--unit", "city"], "--unit does not apply to --level image"),
    (["c.json", "--level", "image"], "--level image compares two models, not 3; name two"),
    (["--method", "jackknife"], '--method is "influence" or "bootstrap", not \'jackknife\''),
    (["--on-images", "all"], '--on-images is "same" or "common", not \'all\''),
    (["--json", "--csv"], "--json and --csv cannot be combined"),
    (["--protocol", "voc2007", "--fail-if-worse", "APs"], "no metric 'APs'; "),
])  # fmt: skip
def test_wrong_options_are_refused_before_anything_is_computed(arguments: list[str], message: str) -> None:
    with patch("apframe.evaluate", side_effect=AssertionError("computed")):
        done = compare("nowhere.json", "a.json", "b.json", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.slow
def test_what_is_refused(stored: Path) -> None:
    a, b = str(stored / "a"), str(stored / "b")
    for arguments, message in [
        ((GT, A), "Missing argument: the ground truth and results of two models or more"),
        ((a,), "Missing argument: a second stored evaluation"),
        ((a, b, "--protocol", "coco"), "--protocol applies to files of ground truth and results, not to stored evaluations"),
        ((GT, A, b), f"{b} is a stored evaluation, and {GT} is not; compare stored evaluations with each other"),
        ((a, B), f"{a} is a stored evaluation, and {B} is not"),
        ((GT, A, B, "--unit", "vidio"), "--unit: the images have no column 'vidio'"),
        ((GT, A, B, "--n-resamples", "0"), "--n-resamples is a whole number of at least 1, not 0"),
    ]:
        done = compare(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert message in done.stderr


@pytest.mark.slow
def test_a_gate_that_cannot_test_fails(tmp_path: Path) -> None:
    """No object is small, so that APs has no value; few images, so that AP has no interval."""
    truth: dict[str, Any] = {"images": [{"id": n} for n in range(30)], "categories": [{"id": 1, "name": "cat"}]}
    truth["annotations"] = [
        {"id": n + 1, "image_id": n, "category_id": 1, "bbox": [0, 0, 200, 200], "area": 40000, "iscrowd": 0} for n in range(3)
    ]
    detections = [{"image_id": 0, "category_id": 1, "bbox": [0, 0, 200, 200], "score": 0.5}]
    paths = [str(tmp_path / f"{name}.json") for name in ("truth", "a", "b")]
    for path, value in zip(paths, (truth, detections, detections), strict=True):
        Path(path).write_text(json.dumps(value))
    done = compare(*paths, "--fail-if-worse", "AP,APs", "--metrics", "AP")
    assert done.returncode == 4 and done.stdout.startswith("┌")
    assert done.stderr.splitlines() == [
        "gate: AP of b cannot be tested: annotations in fewer than 10 images",
        "gate: APs of b cannot be tested: it has no value in both models",
    ]
    assert compare(*paths, "--max-drop", "AP=0.1").returncode == 0
    assert compare(*paths, "--max-drop", "AP=0.1", "--sure").returncode == 4
