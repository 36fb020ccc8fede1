"""Rows that cannot be evaluated: found in one pass; raised, left out and counted, listed, or kept as the reference does."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from warnings import catch_warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
import apframe.formats.coco.truth as coco
import apframe.tables.canonical as canonical
from apframe.cli.command import main
from apframe.exceptions import ColumnError, FormatError, InputError, InvalidRowsWarning, ParameterError, RowError
from apframe.formats.text_lines import Lines
from tests.formats.folders import text_folder, written

BOX = ["x", "y", "width", "height"]
IMAGES = [{"id": k, "width": 640, "height": 480, "file_name": f"{k}.jpg"} for k in (1, 2)]
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
GOOD = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 50, 40], "scene": "night"},
        {"id": 2, "image_id": 2, "category_id": 2, "bbox": [5, 5, 60, 70], "scene": "day"}]  # fmt: skip
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [10, 10, 50, 40], "score": 0.9},
         {"image_id": 2, "category_id": 2, "bbox": [5, 5, 60, 60], "score": 0.8}]  # fmt: skip
BAD_ANNOTATIONS: dict[str, dict[str, Any]] = {
    "width is negative": {"bbox": [0, 0, -5, 9]},
    "x is not a finite number": {"bbox": [math.nan, 0, 5, 9]},
    "bbox is missing or not four numbers": {"bbox": [1, 2, 3]},
    "bbox is not a list of numbers": {"bbox": ["a", 1, 2, 3]},
    "image_id is not among the images": {"image_id": 77},
    "category_id is missing": {"category_id": None},
    "area is negative": {"area": -4},
}
BAD_DETECTIONS: dict[str, dict[str, Any]] = {
    "height is negative": {"bbox": [0, 0, 5, -9]},
    "score is missing": {"score": None},
    "score is not a finite number": {"score": math.nan},
    "score is not a number": {"score": "high"},
    "bbox is missing or not four numbers": {"bbox": None},
}


def truth_with(*rows: dict[str, Any]) -> dict[str, Any]:
    bad = [GOOD[0] | {"id": 100 + k} | row for k, row in enumerate(rows)]
    return {"images": IMAGES, "categories": CATEGORIES, "annotations": [bad[0], *GOOD, *bad[1:]] if bad else GOOD}


def found_with(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [*FOUND, *(FOUND[0] | row for row in rows)]


EXPECTED = apf.evaluate(truth_with(), FOUND).summary


def as_file(data: Any, path: Path) -> Path:
    path.write_text(json.dumps(data))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize(("problem", "fields"), BAD_ANNOTATIONS.items())
def test_annotations_are_left_out(problem: str, fields: dict[str, Any], kind: str, tmp_path: Path) -> None:
    truth: Any = truth_with(fields, fields)
    if kind == "file":
        truth = as_file(truth, tmp_path / "truth.json")
    with pytest.raises(InputError):
        apf.evaluate(truth, FOUND)
    with pytest.warns(InvalidRowsWarning, match=r"left out: 2 annotations \(.*: 100, 101\)$") as warned:
        evaluation = apf.evaluate(truth, FOUND, invalid="drop")
    assert [warning.filename for warning in warned] == [__file__]
    assert evaluation.summary.equals(EXPECTED)
    assert evaluation.notes == (f"left out: 2 annotations ({problem})",)
    assert evaluation.dataset.annotations["scene"].to_list() == ["night", "day"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize(("problem", "fields"), BAD_DETECTIONS.items())
def test_detections_are_left_out(problem: str, fields: dict[str, Any], kind: str, tmp_path: Path) -> None:
    detections: Any = found_with(fields)
    if kind == "file":
        detections = as_file(detections, tmp_path / "found.json")
    with pytest.raises(InputError):
        apf.evaluate(truth_with(), detections)
    with pytest.warns(InvalidRowsWarning, match=r"left out: 1 detection \(.*: row 3\)$|1 detection \(.*: 3\)$"):
        evaluation = apf.evaluate(truth_with(), detections, invalid="drop")
    assert evaluation.summary.equals(EXPECTED)
    assert evaluation.notes == (f"left out: 1 detection ({problem})",)


@pytest.mark.slow
def test_all_kinds_at_once_and_what_shows_them(tmp_path: Path) -> None:
    truth, detections = truth_with(*BAD_ANNOTATIONS.values()), found_with(*BAD_DETECTIONS.values())
    with pytest.warns(InvalidRowsWarning):
        evaluation = apf.evaluate(truth, detections, invalid="drop")
    assert evaluation.notes[0].count("1 annotation (") == len(BAD_ANNOTATIONS)
    assert evaluation.notes[0].count("1 detection (") == len(BAD_DETECTIONS)
    last = str(evaluation).splitlines()[-1]
    assert last.startswith(" left out: 1 annotation (") and "1 detection (score is missing)" in last
    assert "1 detection (score is missing)" in evaluation._repr_html_()
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert again.notes == evaluation.notes
    assert str(again).splitlines()[-1] == last
    assert pickle.loads(pickle.dumps(again)).notes == evaluation.notes
    assert evaluation.where(pl.col("scene") == "night").notes == evaluation.notes


def test_nothing_is_said_where_all_is_well() -> None:
    evaluation = apf.evaluate(truth_with(), FOUND, invalid="drop")
    assert (evaluation.notes, "left out" in str(evaluation)) == ((), False)


def test_ids_that_stand_twice_leave_the_first() -> None:
    truth = truth_with()
    truth["annotations"] = [*GOOD, GOOD[1], GOOD[1]]
    with pytest.warns(InvalidRowsWarning, match="2 annotations .annotation_id is not unique"):
        evaluation = apf.evaluate(truth, FOUND, invalid="drop")
    assert evaluation.notes[0].startswith("left out: 2 annotations (annotation_id is not unique")
    assert evaluation.summary.equals(EXPECTED)


@pytest.mark.slow
def test_frames() -> None:
    columns = pl.DataFrame({"image_id": [1, 2, 2], "category_id": [1, 2, 2], "score": [0.9, 0.8, float("nan")],
                            "x": [10.0, 5, 5], "y": [10.0, 5, 5], "width": [50.0, 60, 1], "height": [40.0, 60, 1]})  # fmt: skip
    truth = apf.read_dataset(truth_with())
    with pytest.warns(InvalidRowsWarning, match="1 detection .score is not a finite number: 3"):
        assert apf.evaluate(truth, columns, invalid="drop").summary.equals(EXPECTED)
    with pytest.raises(ColumnError, match="no column score"):
        apf.evaluate(truth, columns.drop("score"), invalid="drop")
    evaluator = apf.Evaluator(truth_with(BAD_ANNOTATIONS["width is negative"]), invalid="drop")
    evaluator.update(columns[:1])
    evaluator.update(columns[1:])
    with pytest.warns(InvalidRowsWarning, match=r"1 annotation \(width is negative: 100\), 1 detection"):
        evaluation = evaluator.compute()
    assert evaluation.summary.equals(EXPECTED)
    assert evaluation.notes == ("left out: 1 annotation (width is negative), 1 detection (score is not a finite number)",)
    evaluator.reset()
    assert evaluator._faults == []


@pytest.mark.slow
def test_shapes_that_are_refused_only_where_they_are_compared() -> None:
    pytest.importorskip("shapely")
    square, crossed = [0.0, 0, 9, 0, 9, 9, 0, 9], [0.0, 0, 9, 9, 9, 0, 0, 9]
    images, categories = {"image_id": [1]}, {"category_id": [1], "name": ["ship"]}
    truth = apf.Dataset(images, categories, {"image_id": [1, 1], "category_id": [1, 1], "corners": [square, crossed]})
    detections = {
        "image_id": [1, 1, 1],
        "category_id": [1, 1, 1],
        "score": [0.9, 0.8, 0.7],
        "corners": [square, crossed, square],
    }
    with pytest.warns(InvalidRowsWarning, match="1 annotation .corners do not go around a convex shape: 2.*1 detection"):
        evaluation = apf.evaluate(truth, detections, apf.DOTA, invalid="drop")
    assert evaluation.metrics.select("n_positives", "n_detections").row(0) == (1, 2)
    masks = ['{"size": [4, 4], "counts": [0, 16]}', '{"size": [4, 4], "counts": [0, 99]}']
    sized = {"image_id": [1], "image_width": [4], "image_height": [4]}
    dataset = apf.Dataset(sized, categories, {"image_id": [1, 1], "category_id": [1, 1], "mask": masks})
    of_masks = {"image_id": [1, 1], "category_id": [1, 1], "score": [0.9, 0.8], "mask": masks}
    with pytest.warns(InvalidRowsWarning, match="1 annotation.*1 detection"):
        assert apf.evaluate(dataset, of_masks, iou_type="segm", invalid="drop").summary["value"][0] == pytest.approx(1)


@pytest.mark.slow
def test_lines_of_csv(tmp_path: Path) -> None:
    truth = "image_id,class,x,y,w,h\n1,cat,1,2,30,40\n1,cat,1,2,-3,4\n1,cat,nan,2,3,4\n"
    (tmp_path / "truth.csv").write_text(truth)
    (tmp_path / "found.csv").write_text("image_id,class,score,x,y,w,h\n1,cat,.9,1,2,30,40\n1,cat,high,1,2,3,4\n")
    with pytest.warns(
        InvalidRowsWarning,
        match=r"1 annotation .* 1 annotation .* 1 detection \(score is not a finite number: line 3 of found.csv",
    ):
        evaluation = apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv", invalid="drop")
    assert evaluation.summary["value"][0] == pytest.approx(1)


@pytest.mark.slow
def test_lines_of_text(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a="cat 1 2 30 40\ncat 1 2 -3 4\n", b="dog 1 2 nan 4\ndog 5 6 70 80\n")
    detections = text_folder(
        tmp_path / "found", a="cat .9 1 2 30 40\ncat inf 1 2 3 4\n", b="dog .8 5 6 70 80\ndog .7 1 2 3 wide\n"
    )
    with pytest.warns(InvalidRowsWarning):
        evaluation = apf.evaluate(truth, detections, invalid="drop")
    assert evaluation.summary["value"][0] == pytest.approx(1)
    assert (evaluation.notes[0].count("1 annotation"), evaluation.notes[0].count("1 detection")) == (2, 2)
    text_folder(tmp_path / "voc", comp4_det_test_cat="a .9 2 3 31 42\na .8 60 60 50 70\n")
    dataset = apf.Dataset(
        {"image_id": ["a"]}, {"category_id": ["cat"], "name": ["cat"]},
        {"image_id": ["a"], "category_id": ["cat"], "x": [1], "y": [2], "width": [30], "height": [40]})  # fmt: skip
    with pytest.warns(InvalidRowsWarning, match="xmax is less than xmin: line 2 of comp4_det_test_cat.txt"):
        assert apf.evaluate(dataset, tmp_path / "voc", apf.VOC2012, invalid="drop").detections.height == 1
    kept = apf.evaluate(dataset, tmp_path / "voc", apf.VOC2012, invalid="keep")
    assert kept.matches(0.5)["outcome"].to_list() == ["tp", "fp"]


def test_lines_are_named_by_paths_that_differ(tmp_path: Path) -> None:
    files = {"data.yaml": "val: [one/images, two/images]\nnames: [cat]\n"}
    for part in ("one", "two"):
        files |= {f"{part}/images/{part}.jpg": "", f"{part}/labels/{part}.txt": "0 .5 .5 .2 .2\n0 .5 .5 .2\n"}
    sizes = pl.DataFrame({"file_name": ["one.jpg", "two.jpg"], "image_width": 20, "image_height": 20})
    with pytest.warns(InvalidRowsWarning) as warned:
        evaluation = apf.evaluate(written(tmp_path / "truth", files), {
            "image_id": ["one"], "category_id": [0], "score": [0.9], "x": [8], "y": [8], "width": [4], "height": [4]},
            invalid="drop", image_sizes=sizes)  # fmt: skip
    problem = "neither 5 fields (class x y width height) nor a polygon (class x1 y1 x2 y2 ...)"
    assert evaluation.notes == (f"left out: 2 annotations ({problem})",)
    assert "line 2 of one.txt, line 2 of two.txt" in str(warned[0].message)
    lines = pl.DataFrame({"file": [0, 1, 2], "line": 1})
    named = Lines("annotations", [Path("one/a.txt"), Path("two/a.txt"), Path("b.txt")], lines)
    assert named.names_of(lines["line"] == 1) == ("line 1 of one/a.txt", "line 1 of two/a.txt", "line 1 of b.txt")


@pytest.mark.slow
def test_negative_sides_stay_where_the_reference_keeps_them(tmp_path: Path) -> None:
    detections = found_with({"bbox": [30, 30, -20, 9], "score": 0.99}, {"bbox": [30, 30, -20, -9], "score": 0.98})
    with pytest.raises(InputError, match="width is negative"):
        apf.evaluate(truth_with(), detections, apf.VOC2007)
    evaluation = apf.evaluate(truth_with(), detections, apf.VOC2007, invalid="keep")
    assert evaluation.matches(0.5, "all").filter(pl.col("detection_id") > 2)["outcome"].to_list() == ["fp", "fp"]
    dropped = apf.evaluate(truth_with(), FOUND, apf.VOC2007).summary["value"][0]
    assert evaluation.summary["value"][0] < dropped
    evaluation.write_parquet(tmp_path / "run")
    assert apf.read_evaluation(tmp_path / "run").matches(0.5).equals(evaluation.matches(0.5))
    evaluator = apf.Evaluator(truth_with(), apf.VOC2007, invalid="keep")
    evaluator.update(detections)
    assert evaluator.compute().summary.equals(evaluation.summary)
    with pytest.raises(InputError, match="score is missing"):
        apf.evaluate(truth_with(), found_with({"score": None}), apf.VOC2007, invalid="keep")


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = as_file(truth_with(BAD_ANNOTATIONS["width is negative"]), tmp_path / "truth.json")
    detections = as_file(FOUND, tmp_path / "found.json")
    with pytest.raises(SystemExit) as ended:
        main(["eval", str(truth), str(detections), "--invalid", "drop"])
    printed = capsys.readouterr()
    assert ended.value.code == 0
    assert printed.out.splitlines()[-1] == " left out: 1 annotation (width is negative)"
    assert printed.err.startswith("warning: rows that cannot be evaluated were left out: 1 annotation")
    with pytest.raises(SystemExit):
        main(["eval", str(truth), str(detections), "--invalid", "dropp"])
    assert "did you mean drop?" in capsys.readouterr().err


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import os
    import threading

    pipe = tmp_path / "found"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(json.dumps(found_with({"bbox": [0, 0, -1, 1]}))))
    writer.start()
    with pytest.warns(InvalidRowsWarning):
        assert apf.evaluate(truth_with(), pipe, invalid="drop").summary.equals(EXPECTED)
    writer.join()


FAULTS: dict[str, list[dict[str, Any]]] = {  # what makes rows of a table faulty
    "annotations": [*BAD_ANNOTATIONS.values(), {"id": None}, {"bbox": None}, {"bbox": [0, 0, 1, math.inf]}],
    "detections": [*BAD_DETECTIONS.values(), {"image_id": None}, {"image_id": 1.5}, {"category_id": [1]}],
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[dict[str, Any]]], dict[str, list[int]]]:
    """Annotations and detections, of which some are faulty, and the places of those that are not."""
    sound = {"annotations": GOOD, "detections": FOUND}
    rows: dict[str, list[dict[str, Any]]] = {}
    kept: dict[str, list[int]] = {}
    for table, good in sound.items():
        kinds = draw(st.lists(st.none() | st.sampled_from(FAULTS[table]), min_size=1, max_size=8))
        own = [good[k % 2] | ({"id": 10 + k} if table == "annotations" else {}) for k in range(len(kinds))]
        rows[table] = [row | (kind or {}) for row, kind in zip(own, kinds, strict=True)]
        kept[table] = [k for k, kind in enumerate(kinds) if kind is None]
    return rows, kept


@pytest.mark.slow
@given(made=tables(), as_files=st.booleans())
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_the_same_rows_are_raised_left_out_and_listed(made: tuple[Any, Any], as_files: bool) -> None:
    rows, kept = made
    if not kept["annotations"] or not kept["detections"] or any("id" not in row for row in rows["annotations"]):
        return
    truth: Any = {"images": IMAGES, "categories": CATEGORIES, "annotations": rows["annotations"]}
    detections: Any = rows["detections"]
    sound = {table: [rows[table][k] for k in places] for table, places in kept.items()}
    with TemporaryDirectory() as folder:
        if as_files:
            truth, detections = (as_file(data, Path(folder) / name) for data, name in ((truth, "truth"), (detections, "found")))
        evaluation = apf.evaluate(truth, detections, invalid="drop")
        assert evaluation.dataset.annotations["annotation_id"].to_list() == [row["id"] for row in sound["annotations"]]
        assert evaluation.detections["detection_id"].to_list() == [k + 1 for k in kept["detections"]]
        alone = apf.evaluate({**truth_with(), "annotations": sound["annotations"]}, sound["detections"])
        assert evaluation.summary.equals(alone.summary)
        errors = apf.check(truth, detections).filter(pl.col("severity") == "error")
        n_left_out = sum(len(rows[table]) - len(kept[table]) for table in kept)
        assert errors["n_rows"].sum() == n_left_out
        if n_left_out:
            with pytest.raises(InputError) as caught:
                apf.evaluate(truth, detections)
            assert caught.value.others.startswith(f"the first of {errors.height} kinds") == (errors.height > 1)
            again = pickle.loads(pickle.dumps(caught.value))
            assert (str(again), type(again)) == (str(caught.value), type(caught.value))
        else:
            assert apf.evaluate(truth, detections).summary.equals(alone.summary)


def test_several_faults_are_counted_and_the_first_are_shown() -> None:
    wrong = [BAD_ANNOTATIONS[problem] for problem in ("width is negative", "width is negative", "category_id is missing")]
    with pytest.raises(RowError, match=r"^annotations: category_id is missing for annotation_id 102; supply it") as caught:
        apf.evaluate(truth_with(*wrong), found_with(BAD_DETECTIONS["score is missing"]))
    assert caught.value.others == (
        "the first of 3 kinds of faults in 4 rows; also annotations: width is negative for annotation_id 100, 101; "
        "detections: score is missing for detection_id 3"
    )


def test_what_follows_from_a_fault_is_no_fault_of_its_own() -> None:
    truth = truth_with() | {"images": [IMAGES[0], IMAGES[1] | {"id": None}]}
    with pytest.raises(RowError, match=r"^images: image_id is missing for row 2; supply it or remove these rows$"):
        apf.read_dataset(truth)
    assert {"images", "annotations"} <= set(apf.check(truth)["table"])  # both are left out


def test_only_as_many_unknown_ids_follow_as_ids_were_refused() -> None:
    """One image without an id may be the one that rows refer to, but not two."""
    lost = truth_with() | {"images": [IMAGES[0], IMAGES[1] | {"id": None}]}
    lost["annotations"] = [*GOOD, GOOD[0] | {"id": 3, "image_id": 77}]
    with pytest.raises(RowError, match=r"^images: image_id is missing for row 2") as caught:
        apf.read_dataset(lost)
    assert "annotations: image_id is not among the images for annotation_id 2, 3" in caught.value.others


def test_detections_of_unknown_images_are_counted_as_faults() -> None:
    detections = found_with(BAD_DETECTIONS["score is missing"], {"image_id": 77}, {"image_id": 78})
    with pytest.raises(RowError, match=r"^detections: score is missing for detection_id 3; supply it") as caught:
        apf.evaluate(truth_with(), detections)
    assert caught.value.others.startswith("the first of 2 kinds of faults in 3 rows; also detections: image_id is not among")
    with pytest.raises(RowError, match=r"score is missing for detection_id 3; supply it or remove these rows$"):
        apf.evaluate(truth_with(), detections, unknown_images="drop")


def test_a_missing_file_and_a_wrong_option_come_before_rows(tmp_path: Path) -> None:
    truth = as_file(truth_with(BAD_ANNOTATIONS["width is negative"]), tmp_path / "truth.json")
    with pytest.raises(FormatError, match=r"missing.json") as caught:
        apf.evaluate(truth, tmp_path / "missing.json", results_format="coco")
    assert caught.value.others == ""
    with pytest.raises(ParameterError, match="no category 'bird'"):
        apf.evaluate(truth, FOUND, categories=["bird"])


def test_an_option_may_name_what_was_refused() -> None:
    truth = truth_with() | {"categories": [CATEGORIES[0], CATEGORIES[1] | {"id": None}], "annotations": GOOD[:1]}
    with pytest.raises(RowError, match=r"^categories: category_id is missing for row 2; supply it or remove these rows$"):
        apf.evaluate(truth, FOUND, categories=["dog"])


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize("is_sound", [True, False])
def test_each_table_is_looked_at_once(invalid: str, is_sound: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether faults are raised or left out, the file is read once, and no table is checked twice."""
    problems = [] if is_sound else ["image_id is not among the images", "bbox is not a list of numbers"]
    wrong = [BAD_ANNOTATIONS[problem] for problem in problems]
    truth, detections = as_file(truth_with(*wrong), tmp_path / "truth.json"), as_file(FOUND, tmp_path / "found.json")
    looked_at, read = Counter[str](), Counter[str]()
    monkeypatch.setattr(canonical, "_check_values", counting(canonical._check_values, looked_at, lambda sieve, _: sieve.table))
    monkeypatch.setattr(coco, "read_unpacked", counting(coco.read_unpacked, read, lambda path: path.name))
    with pytest.raises(InputError) if not is_sound and invalid == "error" else nullcontext(), catch_warnings(action="ignore"):
        apf.evaluate(truth, detections, invalid=invalid)
    assert read == {"truth.json": 1}
    assert looked_at == dict.fromkeys(("images", "categories", "annotations", "detections"), 1)


def counting(function: Callable[..., Any], counts: Counter[str], name: Callable[..., str]) -> Callable[..., Any]:
    def counted(*arguments: Any) -> Any:
        counts[name(*arguments)] += 1
        return function(*arguments)

    return counted


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_masks_written_as_text_that_are_left_out() -> None:
    """A flat list, text that is none, and what is right beside them."""
    rows = {"image_id": [1] * 3, "category_id": [1] * 3, "score": [0.5] * 3}
    masks = ["[0, 0, 9, 0, 9, 9]", "polygon", "[[0, 0, 9, 0, 9, 9]]"]
    truth = {"images": [{"id": 1, "width": 10, "height": 10}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    with pytest.warns(
        InvalidRowsWarning, match=r"1 detection \(mask \(segmentation\) is a flat list: 1\), 1 detection \(mask is neither"
    ):
        ev = apf.evaluate(truth, pl.DataFrame(rows | {"mask": masks}), iou_type="segm", invalid="drop")
    assert ev.detections["detection_id"].to_list() == [3]
    drawn = [{"id": k, "image_id": 1, "category_id": 1, "segmentation": [[0, 0, 9, 0, 9, 9][k:]]} for k in range(2)]
    with pytest.warns(InvalidRowsWarning, match=r"1 annotation \(a polygon has"):
        ev = apf.evaluate(truth | {"annotations": drawn}, [], iou_type="segm", invalid="drop")
    assert ev.dataset.annotations["annotation_id"].to_list() == [0]
