"""ActivityNet's JSON: videos, subsets and the taxonomy, round trips, and files that cannot be read."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.video.activitynet.format import ActivityNet
from apframe.exceptions import ApframeError, FormatError, ParameterError, RowError, UnknownIdError
from apframe.formats.coco.format import Coco
from apframe.formats.path_contents import see

TAXONOMY = [
    {"nodeId": 0, "nodeName": "Root", "parentId": None, "parentName": None},
    {"nodeId": 3, "nodeName": "Sports", "parentId": 0, "parentName": "Root"},
    {"nodeId": 8, "nodeName": "Long jump", "parentId": 3, "parentName": "Sports"},
    {"nodeId": 9, "nodeName": "Archery", "parentId": 3, "parentName": "Sports"},
]
TRUTH: dict[str, Any] = {
    "version": "VERSION 1.3",
    "taxonomy": TAXONOMY,
    "database": {
        "v_a": {
            "duration": 60.5,
            "subset": "validation",
            "resolution": "320x240",
            "url": "https://a",
            "annotations": [
                {"label": "Long jump", "segment": [1.5, 10]},
                {"label": "Archery", "segment": [20, 30], "coverage": "S"},
            ],
        },
        "v_b": {
            "duration": 9, "subset": "training", "resolution": "1x1", "url": "https://b",
            "annotations": [{"label": "Archery", "segment": [0, 9]}],
        },
        "v_c": {"duration": 5, "subset": "testing", "resolution": "1x1", "url": "https://c", "annotations": []},
        "v_d": {"duration": 7, "subset": "validation", "resolution": "1x1", "url": "https://d", "annotations": []},
    },
}  # fmt: skip
RESULTS: dict[str, Any] = {
    "version": "VERSION 1.3",
    "results": {
        "v_a": [
            {"label": "Archery", "score": 0.75, "segment": [20, 29]},
            {"label": "Long jump", "score": 1, "segment": [1.5, 9.25]},
        ],
        "v_d": [{"label": "Archery", "score": 0.5, "segment": [0, 1]}],
    },
    "external_data": {"used": False, "details": ""},
}


def file(folder: Path, data: Any, name: str = "anet.json") -> Path:
    (folder / name).write_text(data if isinstance(data, str) else json.dumps(data))
    return folder / name


def changed(change: Any) -> dict[str, Any]:
    data = deepcopy(TRUTH)
    change(data["database"])
    return data


def test_the_validation_videos_are_images(tmp_path: Path) -> None:
    truth = apf.read_dataset(file(tmp_path, TRUTH))
    assert truth.images.select("image_id", "duration", "subset", "resolution", "url").rows() == [
        ("v_a", 60.5, "validation", "320x240", "https://a"),
        ("v_d", 7, "validation", "1x1", "https://d"),
    ]
    assert truth.categories.select("category_id", "name", "supercategory").rows() == [
        ("Long jump", "Long jump", "Sports"),
        ("Archery", "Archery", "Sports"),
    ]
    assert truth.annotations.select("image_id", "category_id", "start_time", "end_time", "coverage").rows() == [
        ("v_a", "Long jump", 1.5, 10, None),
        ("v_a", "Archery", 20, 30, "S"),
    ]


@pytest.mark.parametrize(
    ("split", "videos"),
    [("training", ["v_b"]), ("testing", ["v_c"]), ("all", ["v_a", "v_b", "v_c", "v_d"]), (None, ["v_a", "v_d"])],
)
def test_split_is_a_subset(split: str | None, videos: list[str], tmp_path: Path) -> None:
    assert apf.read_dataset(file(tmp_path, TRUTH), split=split).images["image_id"].to_list() == videos


def test_the_only_subset_with_annotations_needs_no_name(tmp_path: Path) -> None:
    def only_training(database: dict[str, Any]) -> None:
        database["v_a"]["annotations"] = []

    assert apf.read_dataset(file(tmp_path, changed(only_training))).images["image_id"].to_list() == ["v_b"]

    def without_subsets(database: dict[str, Any]) -> None:
        for video in database.values():
            del video["subset"]

    assert apf.read_dataset(file(tmp_path, changed(without_subsets))).images.height == 4


def test_a_subset_that_is_not_clear_has_to_be_named(tmp_path: Path) -> None:
    def renamed(database: dict[str, Any]) -> None:
        for video in database.values():
            video["subset"] = video["subset"].replace("validation", "Test")

    path = file(tmp_path, changed(renamed))
    with pytest.raises(
        ParameterError, match=r"several subsets have annotations: Test, training; choose one with split=, or all$"
    ):
        apf.read_dataset(path)
    with pytest.raises(ParameterError, match=r"anet\.json: no subset 'test'; did you mean Test, testing\?$"):
        apf.read_dataset(path, split="test")


def test_without_a_taxonomy_categories_are_the_labels(tmp_path: Path) -> None:
    truth = apf.read_dataset(file(tmp_path, {"database": TRUTH["database"]}))
    assert truth.categories.select("category_id", "supercategory").rows() == [("Archery", None), ("Long jump", None)]


def test_results_are_lists_by_video(tmp_path: Path) -> None:
    detections = apf.read_results(file(tmp_path, RESULTS))
    assert detections.select("image_id", "category_id", "score", "start_time", "end_time").rows() == [
        ("v_a", "Archery", 0.75, 20, 29),
        ("v_a", "Long jump", 1, 1.5, 9.25),
        ("v_d", "Archery", 0.5, 0, 1),
    ]


def test_evaluated_from_its_files(tmp_path: Path) -> None:
    ev = apf.evaluate(file(tmp_path, TRUTH), file(tmp_path, RESULTS, "found.json"), apf.ACTIVITYNET)
    # overlaps of 7.75 / 8.5 = .91 and .9, so nine of ten thresholds hold for either; what is in v_d comes after the hit
    assert ev.summary.select("metric", pl.col("value").round(10)).rows() == [("AP", 0.9), ("AP50", 1), ("AP75", 1), ("AP95", 0)]
    assert ev.matches(0.5).sort("score")["outcome"].to_list() == ["fp", "tp", "tp"]


TIMES = st.floats(0, 1e6)
LABELS = ["Archery", "Long jump", "Größe", "Sports"]


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    videos = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=4, unique=True))
    rows = [
        {
            "image_id": video,
            "category_id": draw(st.sampled_from(LABELS)),
            "start_time": draw(TIMES),
            "end_time": draw(TIMES),
            "coverage": draw(st.none() | st.text(max_size=3)),
        }
        for video in videos
        for _ in range(draw(st.integers(0, 3)))
    ]
    text, number = pl.String, pl.Float64
    types = {"image_id": text, "category_id": text, "start_time": number, "end_time": number, "coverage": text}
    several = {"min_size": len(videos), "max_size": len(videos)}
    images = {
        "image_id": videos,
        "duration": draw(st.lists(TIMES, **several)),
        "subset": draw(st.lists(st.sampled_from(["training", "validation"]), **several)),
        "fps": [25] * len(videos),
    }
    parents = draw(st.lists(st.sampled_from(["Sports", "Archery", None]), min_size=4, max_size=4))
    categories = pl.DataFrame(
        {"category_id": LABELS, "name": LABELS, "supercategory": parents}, schema_overrides={"supercategory": text}
    )
    return apf.Dataset(images, categories, pl.DataFrame(rows, schema=types))


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("anet")
    assert apf.write_dataset(dataset, path / "truth.json", "activitynet").rows() == []
    again = apf.read_dataset(path / "truth.json", split="all")
    for table in ("images", "categories", "annotations"):
        expected, given_back = getattr(dataset, table), getattr(again, table)
        names = [name for name in expected.columns if name in given_back.columns or expected[name].count()]
        assert_frame_equal(given_back.select(names), expected.select(names), check_exact=True)
    times = dataset.annotations.select("image_id", "category_id", "start_time", "end_time", score=pl.col("start_time") / 7)
    assert apf.write_results(times, path / "found.json", "activitynet", dataset=dataset).rows() == []
    detections = apf.read_results(times) if times.height else times
    assert_frame_equal(apf.read_results(path / "found.json").select(detections.columns), detections, check_exact=True)


def test_what_is_written_is_as_activitynet_has_it(tmp_path: Path) -> None:
    dataset = apf.read_dataset(file(tmp_path, TRUTH), split="all")
    assert apf.write_dataset(dataset, tmp_path / "again.json", "activitynet").rows() == []
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["version"] == "VERSION 1.3"
    assert again["database"] == TRUTH["database"]
    assert again["taxonomy"] == [
        {"nodeId": 0, "nodeName": "Sports", "parentId": None, "parentName": None},
        {"nodeId": 1, "nodeName": "Long jump", "parentId": 0, "parentName": "Sports"},
        {"nodeId": 2, "nodeName": "Archery", "parentId": 0, "parentName": "Sports"},
    ]
    assert apf.write_results(apf.read_results(file(tmp_path, RESULTS)), tmp_path / "found.json", "activitynet").rows() == []
    assert json.loads((tmp_path / "found.json").read_text()) == RESULTS | {"external_data": {}}


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {
            "image_id": [1, 2],
            "file_name": ["a.mp4", "b.mp4"],
            "image_width": [64, 64],
            "subset": [1, None],
            "annotations": ["x", "y"],
        },
        {"category_id": [3, 5], "name": ["jump", "run"], "parent_ids": [[5], []]},
        {
            "image_id": [2, 2],
            "category_id": [3, 3],
            "start_time": [1, 2],
            "end_time": [3, 4],
            "x": [1, 2],
            "y": [0, 0],
            "width": [2, 2],
            "height": [1, 1],
            "is_crowd": [True, False],
            "label": ["mine", None],
        },
    )
    reserved = "left out: this name means something else in these files"
    lost = apf.write_dataset(dataset, tmp_path / "truth.json", "activitynet")
    assert lost.rows() == [
        ("images", "image_id", 2, "becomes a name"),
        ("images", "image_width", 2, "left out"),
        ("images", "file_name", 2, "left out"),
        ("images", "annotations", 2, reserved),
        ("images", "subset", 1, "left out: not text"),
        ("categories", "category_id", 2, "becomes a name"),
        ("categories", "parent_ids", 1, "left out"),
        *[("annotations", name, 2, "left out") for name in ("x", "y", "width", "height")],
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "label", 1, reserved),
    ]
    assert json.loads((tmp_path / "truth.json").read_text())["database"] == {
        "a": {"subset": "validation", "annotations": []},
        "b": {
            "subset": "validation",
            "annotations": [{"label": "jump", "segment": [1, 3]}, {"label": "jump", "segment": [2, 4]}],
        },
    }


def test_intervals_are_needed(tmp_path: Path) -> None:
    row = {"image_id": ["a"], "category_id": ["jump"], "x": [1], "y": [2], "width": [3], "height": [4]}
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": ["jump"]}, row)
    message = (
        "start_time or end_time is missing for annotation_id 1; ActivityNet JSON holds intervals: supply them or "
        "remove these rows"
    )
    with pytest.raises(RowError, match=f"^annotations: {message}$"):
        apf.write_dataset(dataset, tmp_path / "truth.json", "activitynet")
    assert list(tmp_path.iterdir()) == []


def set_annotation(field: str, value: Any) -> dict[str, Any]:
    return changed(lambda database: database["v_a"]["annotations"][1].update({field: value}))


SEGMENT = "segment is missing or not 2 numbers in annotation 2 (video 'v_a'); correct the file"
LABEL = "label is missing or not text in annotation 2 (video 'v_a'); correct the file"
BAD = {
    "empty": ("", "the file is empty"),
    "cut off": (json.dumps(TRUTH)[:-20], None),
    "a list": ([], "holds a list, not an object with videos; is it COCO's results?"),
    "no database": ({"taxonomy": [], "version": 1}, "no object named database; found: taxonomy, version"),
    "a database that is a list": ({"database": []}, "database is a list, not an object; write one whose keys are the videos"),
    "a video twice": ('{"database": {"v_a": {"annotations": []}, "v_a": {"annotations": []}}}',
                      "an object has the key 'v_a' more than once; merge them into one"),
    "a video that is a list": ({"database": {"v_a": []}}, "no JSON object in the video 'v_a'; correct the file"),
    "no annotations": (changed(lambda database: database["v_d"].pop("annotations")),
                       "no list of annotations in the video 'v_d'; correct the file"),
    "an annotation that is a text": (changed(lambda database: database["v_a"]["annotations"].append("jump")),
                                     "there is no JSON object in annotation 3 (video 'v_a'); correct the file"),
    "no label": (set_annotation("label", None), LABEL),
    "a label that is a number": (set_annotation("label", 7), LABEL),
    "no segment": (set_annotation("segment", None), SEGMENT),
    "half a segment": (set_annotation("segment", [1]), SEGMENT),
    "a segment of texts": (set_annotation("segment", ["1", "2"]), SEGMENT),
    "a segment of flags": (set_annotation("segment", [True, False]), SEGMENT),
    "a subset that is missing": (changed(lambda database: database["v_d"].pop("subset")),
                                 "no subset in the video 'v_d'; correct the file"),
    "a subset that is a number": (changed(lambda database: database["v_d"].update({"subset": 1})),
                                  "a subset that is not text in the video 'v_d'; correct the file"),
    "a taxonomy of texts": (TRUTH | {"taxonomy": ["Archery"]},
                            "the taxonomy is not a list of nodes with nodeId, nodeName and parentId; correct or remove it"),
    "a node without its parent": (TRUTH | {"taxonomy": TAXONOMY[2:]},
                                  "the taxonomy has parentId 3, but no such nodeId; correct it"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(data: Any, message: str | None, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"anet\.json: {re.escape(message) + '$' if message else 'not JSON, or cut off'}"):
        apf.read_dataset(file(tmp_path, data), "activitynet")


BAD_ROWS = {
    "an unknown label": (set_annotation("label", "Archry"), UnknownIdError,
                         "category_id is not among the categories for annotation_id 2; unknown: 'Archry'; the "
                         "categories are called 'Long jump', 'Archery'; did you mean Archery?; add them to the "
                         "categories or remove these rows"),
    "a node twice": (TRUTH | {"taxonomy": [*TAXONOMY, {"nodeId": 10, "nodeName": "Archery", "parentId": 0}]}, ApframeError,
                     "categories: category_id is not unique for category_id 'Archery'; make the ids unique"),
    "a time that is NaN": (set_annotation("segment", [float("nan"), 1]), RowError,
                           "start_time is not a finite number for annotation_id 2; correct or remove them"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "error", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_rows_are_refused(data: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=f"{re.escape(message)}$"):
        apf.read_dataset(file(tmp_path, data), "activitynet")


BAD_RESULTS = {
    "no results": ({"version": 1}, "no object named results; found: version"),
    "a list": ({"results": [1]}, "results is a list, not an object; write one whose keys are the videos"),
    "a text": ({"results": {"v_a": "jump"}}, "no list of results in the video 'v_a'; correct the file"),
    "no score": ({"results": {"v_a": [{"label": "jump", "segment": [1, 2]}]}},
                 "score is missing or not a number in detection 1 (video 'v_a'); correct the file"),
    "a score in words": ({"results": {"v_a": [], "v_b": [{"label": "jump", "segment": [1, 2], "score": "high"}] * 2}},
                         "score is missing or not a number in detections 1, 2 (video 'v_b'); correct the file"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_refused(data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"anet\.json: {re.escape(message)}$"):
        apf.read_results(file(tmp_path, data), "activitynet")


def test_told_from_the_head(tmp_path: Path) -> None:
    late = {"taxonomy": TAXONOMY * 1000, "database": TRUTH["database"]}  # which begins far behind
    truth, far, detections = file(tmp_path, TRUTH), file(tmp_path, late, "far.json"), file(tmp_path, RESULTS, "found.json")
    coco = file(tmp_path, {"images": [], "annotations": [], "categories": []}, "coco.json")
    coco_found = file(tmp_path, [{"image_id": 1, "results": 1}], "coco_found.json")
    every = (truth, far, detections, coco, coco_found)
    assert [ActivityNet().fits(see(path), "dataset") for path in every] == [True, True, False, False, False]
    assert [ActivityNet().fits(see(path), "results") for path in every] == [False, False, True, False, False]
    assert [Coco().fits(see(path), "dataset") for path in every[:3]] == [False, False, False]
    assert [Coco().fits(see(path), "results") for path in every[:3]] == [False, False, False]


VIDEOS = {
    "v_aa": {"duration_second": 9.5, "fps": 30, "annotations": [{"label": "run", "segment": [1, 4]}]},
    "v_bb": {"duration_second": 5.0, "fps": 30, "annotations": [{"label": "jump", "segment": [0, 2]}]},
}
SEGMENTS = {
    "aa": [{"label": "run", "score": 0.9, "segment": [1, 4]}],
    "bb": [{"label": "jump", "score": 0.8, "segment": [0, 2]}],
}


@pytest.mark.parametrize(("of_truth", "of_results"), [("v_", ""), ("", "v_"), ("v_", "v_"), ("", "")])
def test_videos_without_a_database_and_with_a_prefix(of_truth: str, of_results: str, tmp_path: Path) -> None:
    truth = {key.replace("v_", of_truth): video for key, video in VIDEOS.items()}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    results = {of_results + key: rows for key, rows in SEGMENTS.items()}
    (tmp_path / "found.json").write_text(json.dumps({"version": "1.3", "results": results}))
    ev = apf.evaluate(tmp_path / "truth.json", tmp_path / "found.json", "activitynet")
    assert ev.summary["value"][0] == pytest.approx(1)
    assert sorted(ev.detections["image_id"]) == sorted(truth)
    assert ev.dataset.images["fps"].to_list() == [30, 30]
