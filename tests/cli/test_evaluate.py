"""The command line with every protocol: the same numbers as the library, from files, and errors in one line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.comparison.influences import read_influences
from apframe.matching.matchers import MATCHERS
from tests.cli.test_command import RESULTS, TRUTH, command, files
from tests.cli.test_rank import Done, apframe
from tests.conformance.tiny import MASKS, MASKS_FOUND, ONE_HIT, ONE_OF_TWO, VERIFIED
from tests.protocols.test_protocol_values import COUNTS, HEADLINES, QUERY, TINY, tiny


class Command:
    """`apframe` with two files of a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.capsys, self.monkeypatch = folder, capsys, monkeypatch

    def evaluate(self, truth: Any, results: Any, *arguments: str) -> tuple[int, str, str]:
        return command(self.capsys, self.monkeypatch, "eval", *files(self.folder, truth, results), *arguments)

    def evaluate_tiny(self, name: str, *arguments: str) -> tuple[int, str, str]:
        protocol, options, truth, results, _ = TINY[name]
        iou_type = ["--iou-type", options["iou_type"]] if options else []
        return self.evaluate(truth, results, "--protocol", protocol, *iou_type, *arguments)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(tmp_path, capsys, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_every_protocol(name: str, run: Command) -> None:
    evaluation = tiny(name)
    code, out, err = run.evaluate_tiny(name)
    assert (code, err) == (0, "")
    assert out == f"{evaluation}\n"
    code, out, err = run.evaluate_tiny(name, "--json")
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert values.pop("json_version") == 1
    assert values == dict(evaluation.summary.rows())
    assert " ".join(values) == HEADLINES[evaluation.protocol.name, evaluation.protocol.iou_type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "spelled", ["OPEN_IMAGES_CHALLENGE", "open_images_challenge", "open-images-challenge", "Open-Images_Challenge"]
)
def test_names_in_any_spelling(spelled: str, run: Command) -> None:
    *_, truth, results, _ = TINY["open_images_challenge"]
    code, out, err = run.evaluate(truth, results, "--protocol", spelled)
    assert (code, out, err) == (0, f"{tiny('open_images_challenge')}\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name.split()[0] for name in TINY}))
def test_names_in_capitals(name: str, run: Command) -> None:
    _, _, truth, results, _ = TINY["coco keypoints" if name == "crowdpose" else name]
    if name == "crowdpose":  # other keypoints: the protocol is found, the data is another's
        code, out, err = run.evaluate(truth, results, "--protocol", name.upper())
        assert (code, out) == (2, "") and err.startswith("error: all objects have 17 keypoints, but there are 14 sigmas; ")
        return
    code, out, err = run.evaluate(truth, results, "--protocol", name.upper())
    assert (code, out, err) == (0, f"{tiny(name)}\n", "")


@pytest.mark.parametrize(("protocol", "iou_type", "message"), [
    ("coco", "lines", "COCO has no --iou-type 'lines'; it has bbox, segm, keypoints, boundary"),
    ("voc2012", "segm", "VOC2012 has no --iou-type 'segm'; it has bbox"),
    ("LVIS", "keypoints", "LVIS has no --iou-type 'keypoints'; it has bbox, segm, boundary"),
    ("dota", "bbox", "DOTA has no --iou-type 'bbox'; it has rotated"),
])  # fmt: skip
def test_iou_types_that_there_are_not(protocol: str, iou_type: str, message: str, run: Command) -> None:
    assert run.evaluate(ONE_OF_TWO, ONE_HIT, "--protocol", protocol, "--iou-type", iou_type) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(("spelled", "message"), [
    ("lviss", "no protocol 'lviss'; did you mean lvis?"),
    ("voc", "no protocol 'voc'; did you mean "),
    ("open_image", "no protocol 'open_image'; did you mean open_images"),
    ("xyz", "no protocol 'xyz'; there are coco, voc2007, voc2012, lvis, open_images, open_images_challenge, proposals, dota, "),
    ("keypoints", "no protocol 'keypoints'; there are "),
])  # fmt: skip
def test_typos(spelled: str, message: str, run: Command) -> None:
    code, out, err = run.evaluate(ONE_OF_TWO, ONE_HIT, "--protocol", spelled)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {message}")


def test_bad_options_are_told_before_the_files_are_read(run: Command) -> None:
    for arguments in (["--protocol", "lviss"], ["--iou-type", "lines"], ["--protocol", "lvis", "--max-detections", "100,300"],
                      ["--matching", "hungarian"]):  # fmt: skip
        code, out, err = command(run.capsys, run.monkeypatch, "eval", "nowhere.json", "nowhere.json", *arguments)
        assert (code, out) == (2, "") and "nowhere" not in err


@pytest.mark.slow
def test_rules(run: Command) -> None:
    for name in ("coco", "coco segm", "lvis", "proposals", "crowdpose"):
        evaluation = tiny(name)
        code, out, err = run.evaluate_tiny(name, "--rules")
        assert (code, out, err) == (0, f"{evaluation.protocol}\n\n{evaluation}\n", "")
        code, out, err = run.evaluate_tiny(name, "--rules", "--json")
        assert (code, json.loads(out), err) == (0, {**dict(evaluation.summary.rows()), "json_version": 1}, "")
    code, out, err = run.evaluate_tiny("coco", "--rules", "--max-detections", "7")
    assert "departs     from COCO as published in max_detections" in out.splitlines()
    assert out.splitlines()[-1] == " not COCO as published: other max_detections"


def test_rules_alone(run: Command) -> None:
    for arguments, protocol in (
        (["--protocol", "voc2007"], apf.VOC2007),
        (["--iou-type", "MASK"], apf.COCO.variant("segm")),
        (["--matching", "optimal"], apf.COCO.with_options(matching="optimal")),
    ):
        assert command(run.capsys, run.monkeypatch, "eval", "--rules", *arguments) == (0, f"{protocol}\n", "")


@pytest.mark.parametrize(("arguments", "missing"), [
    ([], "GT"), (["truth.json"], "DT"), (["truth.json", "--rules"], "DT"), (["--json"], "GT"),
])  # fmt: skip
def test_files_that_are_missing(arguments: list[str], missing: str, run: Command) -> None:
    code, out, err = command(run.capsys, run.monkeypatch, "eval", *arguments)
    assert (code, out) == (2, "")
    assert f"({missing})" in err and " missing: apframe eval GT DT" in err


@pytest.mark.parametrize("matching", ["score", "best_overlap", "similarity", "optimal"])
def test_matching(matching: str, run: Command) -> None:
    code, out, err = run.evaluate_tiny("coco", "--matching", matching)
    assert (code, out, err) == (0, f"{tiny('coco', matching=matching)}\n", "")
    assert (out.splitlines()[-1] == " not COCO as published: other matching") == (matching != "score")


def test_matching_that_there_is_not(run: Command) -> None:
    *others, last = (f'"{name}"' for name in MATCHERS)
    message = f"error: --matching is {', '.join(others)} or {last}, not 'hungarian'\n"
    assert run.evaluate_tiny("coco", "--matching", "hungarian") == (2, "", message)


# two detections that are both most similar to the first annotation, and reach the second as well
CROSSED = ONE_OF_TWO | {
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 10]},
        {"id": 2, "image_id": 1, "category_id": 1, "bbox": [10, 0, 40, 10]},
    ]
}
CROSSED_FOUND = [
    {"image_id": 1, "category_id": 1, "bbox": [4, 0, 40, 10], "score": 0.9},
    {"image_id": 1, "category_id": 1, "bbox": [-1, 0, 40, 10], "score": 0.8},
]


@pytest.mark.parametrize(("matching", "recall"), [("score", 1.0), ("best_overlap", 0.5), ("similarity", 1.0), ("optimal", 1.0)])
def test_matching_makes_a_difference(matching: str, recall: float, run: Command) -> None:
    code, out, _ = run.evaluate(CROSSED, CROSSED_FOUND, "--json", "--matching", matching, "--iou-thresholds", "0.5")
    assert (code, json.loads(out)["AR100"]) == (0, recall)


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_out_and_sql(name: str, run: Command) -> None:
    folder = str(run.folder / "run")
    code, out, err = run.evaluate_tiny(name, "--out", folder)
    assert (code, out, err) == (0, f"{tiny(name)}\n", "")
    assert apf.read_evaluation(folder).protocol == tiny(name).protocol
    code, out, err = command(run.capsys, run.monkeypatch, "sql", folder, QUERY, "--json")
    assert (code, err) == (0, "")
    assert {row["outcome"]: row["n"] for row in json.loads(out)} == COUNTS[name]
    code, out, err = command(run.capsys, run.monkeypatch, "sql", folder, "FROM metrics LIMIT 1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)[0]["max_detections"] == tiny(name).metrics["max_detections"][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["voc2007", "lvis", "crowdpose", "coco keypoints", "proposals", "activitynet"])
def test_by(name: str, run: Command) -> None:
    evaluation = tiny(name)
    code, out, err = run.evaluate_tiny(name, "--by", "weather", "--json")
    assert (code, err, json.loads(out)) == (0, "", evaluation.by("weather").to_dicts())
    code, out, err = run.evaluate_tiny(name, "--by", "weather")
    assert (code, err) == (0, "")
    assert "fog" in out and "clear" in out and ("AP" in out or "AR" in out)


def test_masks_of_a_file_that_are_not_compared_are_left_alone(run: Command) -> None:
    broken = MASKS | {"annotations": [row | {"segmentation": "none"} for row in MASKS["annotations"]]}
    boxes = [row | {"bbox": [0, 0, 40, 40]} for row in MASKS_FOUND]
    assert run.evaluate(broken, boxes)[0] == 0
    code, _, err = run.evaluate(broken, boxes, "--iou-type", "segm")
    assert code == 1
    assert err.startswith("error: annotations: mask is neither polygons nor run lengths for annotation_id 11, 12; ")


def test_warnings_of_missing_columns_go_to_stderr(run: Command) -> None:
    code, out, err = run.evaluate(VERIFIED, ONE_HIT, "--protocol", "lvis", "--json")
    assert code == 0 and json.loads(out)["APr"] is None
    assert err == "warning: LVIS: the categories have no column 'frequency', so APr, APc, APf are null\n"


def test_slices_with_all_detections(run: Command) -> None:
    code, out, err = run.evaluate(ONE_OF_TWO, ONE_HIT, "--by", "weather", "--max-detections", "1,all")
    assert (code, err) == (0, "")
    heading = next(line for line in out.splitlines() if "weather" in line)
    assert [name.strip() for name in heading.strip("│").split("┆")][:7] == ["weather", "AP", "AP50", "APs", "APm", "APl", "AR"]


@pytest.mark.slow
def test_where(run: Command) -> None:
    code, out, err = run.evaluate_tiny("crowdpose", "--where", "weather = 'fog' AND area > 0")
    part = tiny("crowdpose").where("weather = 'fog'", "area > 0")
    assert (code, err, out) == (0, "", f"{part}\n")
    code, out, err = run.evaluate_tiny("crowdpose", "--where", 'weather = "fog"')
    assert (code, out) == (2, "")
    assert "no column 'fog'" in err and "single quotes: 'fog'" in err


def test_image_attributes(run: Command) -> None:
    path = run.folder / "attributes.csv"
    path.write_text("image_id,scene\n1,tunnel\n9,bridge\n")
    arguments = ("--image-attributes", str(path), "--by", "scene", "--json")
    code, out, err = run.evaluate(ONE_OF_TWO, ONE_HIT, *arguments)
    assert code == 0
    assert next(row["scene"] for row in json.loads(out)) == "tunnel"
    assert err.startswith("warning: image attributes: 1 of 2 rows match no image and were left out (9)")
    path.write_text("scene\ntunnel\n")
    code, _, err = run.evaluate(ONE_OF_TWO, ONE_HIT, *arguments)
    assert (code, err) == (1, "error: image attributes: no column image_id or file_name to join by; there are scene\n")


@pytest.mark.slow
def test_category_map(run: Command) -> None:
    path = run.folder / "map.csv"
    path.write_text("from,to\ncat,animal\n")
    code, out, err = run.evaluate(ONE_OF_TWO, ONE_HIT, "--category-map", str(path), "--out", str(run.folder / "run"))
    assert (code, err) == (0, "")
    assert out.endswith("\n categories mapped: animal = cat\n")
    assert apf.read_evaluation(run.folder / "run").dataset.categories["name"][0] == "animal"
    code, _, err = run.evaluate(ONE_OF_TWO, ONE_HIT, "--unmapped", "drop")
    assert (code, err) == (2, "error: --unmapped is for categories that --category-map does not name; give that too\n")
    path.write_text("from,to\ncats,animal\n")
    code, _, err = run.evaluate(ONE_OF_TWO, ONE_HIT, "--category-map", str(path))
    assert (code, err) == (2, "error: --category-map: matches no category: 'cats'; did you mean cat?\n")


@pytest.mark.slow
def test_a_dash_is_the_standard_input() -> None:
    text = Path(RESULTS).read_bytes()
    for given in (["eval", TRUTH, "-"], ["eval", "-", RESULTS]):
        read = text if given[2] == "-" else Path(TRUTH).read_bytes()
        done = subprocess.run([sys.executable, "-m", "apframe", *given], input=read, capture_output=True, check=False)
        assert (done.returncode, done.stdout.decode()) == (0, f"{apf.evaluate(TRUTH, RESULTS)}\n")


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(TRUTH, RESULTS)


def with_intervals(*arguments: str) -> Done:
    return apframe("eval", TRUTH, RESULTS, "--intervals", *arguments)


@pytest.mark.slow
def test_intervals_stand_beside_the_numbers(street: apf.Evaluation) -> None:
    done = with_intervals()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    plain = str(street).splitlines()
    assert [line.rpartition(" [")[0] for line in lines[:12]] == plain
    low, high = street.intervals(metrics="AP").select("low", "high").row(0)
    assert lines[0] == f"{plain[0]} [{low:.3f}, {high:.3f}]"
    assert lines[3] == f"{plain[3]} [–]"
    assert lines[12:] == [
        " [from, to]: 95 % interval around the number less its bias, as AP of few images is too high",
        " No interval for APs, APl, ARs, ARl: more than a tenth of the categories have annotations in fewer than 10 images.",
    ]


@pytest.mark.slow
def test_programs_get_the_table_of_intervals(street: apf.Evaluation) -> None:
    table = street.intervals()
    assert with_intervals("--csv").stdout == table.write_csv()
    assert json.loads(with_intervals("--json").stdout) == json.loads(table.write_json())
    assert with_intervals("--by", "weather,camera", "--csv").stdout == street.intervals(by=["weather", "camera"]).write_csv()


@pytest.mark.slow
def test_people_and_papers_get_telling_columns_of_intervals() -> None:
    head, _, *rows = with_intervals("--markdown").stdout.splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["metric", "estimate", "low", "high", "se", "n_units"]
    assert len(rows) == 12
    *table, reason = with_intervals("--by", "weather").stdout.splitlines()
    assert [line.split()[1:4:2] for line in table[3:-1]] == [[name, "AP"] for name in ("clear", "fog", "rain", "snow")]
    assert reason.startswith("2 rows without an interval: more than a tenth of the categories")


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        (["--protocol", "voc2007"], []),
        (["--max-detections", "10"], ["not COCO as published: other max_detections"]),
        (
            ["--protocol", "ultralytics", "--iou-thresholds", ".3,.5"],
            [
                "not ULTRALYTICS as published: other iou_thresholds; not evaluated: AP75",
                "no table: its titles stand for other IoU thresholds",
            ],
        ),
    ],
)
@pytest.mark.parametrize("style", ["--markdown", "--latex"])
def test_notes_on_papers_tables_go_to_stderr(options: list[str], notes: list[str], style: str) -> None:
    done = apframe("eval", TRUTH, RESULTS, *options, style)
    assert [line for line in done.stderr.splitlines() if line.startswith("note: ")] == [f"note: {note}" for note in notes]
    assert "published" not in done.stdout and "mAP50-95" not in done.stdout


@pytest.mark.slow
def test_shards_have_intervals_too(street: apf.Evaluation, tmp_path: Path) -> None:
    assert apframe("shard", TRUTH, RESULTS, "--into", str(tmp_path / "shards"), "--n", "3").returncode == 0
    done = apframe("eval", str(tmp_path / "shards"), "--shards", "--intervals", "--csv")
    intervals = pl.read_csv(io.StringIO(done.stdout))
    assert intervals["se"].to_list() == pytest.approx(street.intervals()["se"].to_list())


@pytest.mark.slow
def test_numbers_alone_cost_no_standard_error(tmp_path: Path) -> None:
    """Only `intervals` and `compare` read influences."""
    with patch("apframe.evaluation.comparison.study.read_influences", side_effect=read_influences) as read:
        ev = apf.evaluate(TRUTH, RESULTS)
        evaluator = apf.Evaluator(TRUTH)
        evaluator.update(RESULTS)
        for each in (ev, evaluator.compute()):
            assert each.summary.columns == ["metric", "value"]
            with redirect_stdout(io.StringIO()):
                print(each, each.stats, each["AP"], repr(each), each._repr_html_())
        ev.by("weather")
        ev.write_parquet(tmp_path / "stored")
        apf.read_evaluation(tmp_path / "stored").sql("SELECT * FROM summary")
        assert apframe("eval", TRUTH, RESULTS, "--by", "weather").returncode == 0
        assert read.call_count == 0
        ev.intervals(metrics="AP")
        assert read.call_count == 1


@pytest.mark.slow
def test_sigmas_are_given_in_the_shell(tmp_path: Path) -> None:
    """The same number as that of OKS in Python; two keypoints need two sigmas, and boxes have none."""
    person = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 40, 40], "area": 1600, "num_keypoints": 2}
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "hand"}],
        "annotations": [person | {"keypoints": [10, 10, 2, 50, 50, 2]}],
    }
    detections = [{"image_id": 1, "category_id": 1, "score": 0.9, "keypoints": [12, 10, 1, 50, 48, 1]}]
    paths = [str(tmp_path / name) for name in ("truth.json", "found.json")]
    for path, content in zip(paths, (truth, detections), strict=True):
        Path(path).write_text(json.dumps(content))
    done = apframe("eval", *paths, "--iou-type", "keypoints", "--sigmas", ".1,.05", "--json")
    expected = apf.evaluate(*paths, iou_type="keypoints", similarity=apf.similarity.OKS(sigmas=(0.1, 0.05)))
    assert json.loads(done.stdout)["AP"] == expected["AP"]
    assert 0 < expected["AP"] < 1
    for options, message in (
        (["--iou-type", "keypoints"], "give 2 sigmas, one for each keypoint"),
        (["--iou-type", "keypoints", "--sigmas", ".1,x"], "--sigmas takes numbers separated by commas, not '.1,x'"),
        (["--sigmas", ".1,.05"], "--sigmas applies to object keypoint similarity; compare keypoints with --iou-type keypoints"),
    ):
        done = apframe("eval", *paths, *options)
        assert done.returncode != 0
        assert message in done.stderr
