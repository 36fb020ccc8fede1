"""nuScenes: its tables as ground truth, its results, and files that cannot be read."""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.driving.nuscenes.format import NuScenesFormat
from apframe.benchmarks.driving.nuscenes.nuscenes_tables import CLASSES
from apframe.benchmarks.driving.nuscenes.object_places import with_places
from apframe.benchmarks.driving.nuscenes.splits import scenes_of
from apframe.exceptions import ColumnError, FormatError, MissingResultsWarning, ParameterError, RowError, UnknownIdError
from apframe.formats.path_contents import see
from apframe.tables.shapes.declarations import CUBOID
from tests.benchmarks.driving.nuscenes.scenes import Json, Objects, box, tables, write_for_kit, write_results, write_tables
from tests.formats.folders import written
from tests.kits import run_kit

CAR, BIKE, RACK = "vehicle.car", "vehicle.bicycle", "static_object.bicycle_rack"
SAMPLES = {"t1": ("one", 10.0, (100.0, 50.0)), "t2": ("one", 10.5, (103.0, 54.0)), "t3": ("two", 99.0, (0.0, 0.0))}
OBJECTS: Objects = [
    ("t1", "i1", CAR, (110.0, 50.0, 1.0), {"yaw": 0.5, "attribute": "vehicle.moving", "num_radar_pts": 2}),
    ("t1", "i2", "human.pedestrian.child", (100.0, 53.0, 1.0), {"size": (0.5, 0.75, 1.25), "num_lidar_pts": 0}),
    ("t1", "i3", "animal", (100.0, 53.0, 1.0), {}),
    ("t1", "i4", RACK, (100.0, 60.0, 1.0), {"size": (2.0, 6.0, 2.0), "yaw": math.pi / 2}),
    ("t1", "i5", BIKE, (101.0, 62.9, 2.0), {}),
    ("t1", "i6", BIKE, (102.0, 60.0, 1.0), {}),
    ("t2", "i1", CAR, (111.0, 52.0, 1.0), {}),
    ("t3", "i7", CAR, (3.0, 4.0, 1.0), {}),
]


@pytest.mark.slow
def test_tables_are_a_data_set(tmp_path: Path) -> None:
    truth = apf.read_dataset(write_tables(tmp_path / "v1.0-mini", tables(SAMPLES, OBJECTS)))
    assert truth.categories["name"].to_list() == [
        "barrier", "bicycle", "bus", "car", "construction_vehicle", "motorcycle", "pedestrian", "traffic_cone", "trailer",
        "truck",
    ]  # fmt: skip
    assert truth.images.select("image_id", "scene", "description", "timestamp", "ego_x", "ego_y").rows() == [
        ("t1", "one", "one, rain", 10_000_000, 100, 50),
        ("t2", "one", "one, rain", 10_500_000, 103, 54),
        ("t3", "two", "two, rain", 99_000_000, 0, 0),
    ]
    assert truth.images["bicycle_racks"].to_list() == [[100, 60, 1, 6, 2, 2, pytest.approx(math.pi / 2)], None, None]
    table = truth.annotations.select(
        "annotation_id",
        "image_id",
        "category_id",
        "velocity_x",
        "velocity_y",
        "attribute",
        "n_points",
        "ego_distance",
        "in_rack",
    )
    assert table.rows() == [
        ("ann0", "t1", "car", 2, 4, "vehicle.moving", 7, 10, False),
        ("ann1", "t1", "pedestrian", None, None, None, 0, 3, False),
        ("ann4", "t1", "bicycle", None, None, None, 5, pytest.approx(math.hypot(1, 12.9)), True),
        ("ann5", "t1", "bicycle", None, None, None, 5, pytest.approx(math.hypot(2, 10)), False),
        ("ann6", "t2", "car", 2, 4, None, 5, pytest.approx(math.hypot(8, 2)), False),
        ("ann7", "t3", "car", None, None, None, 5, 5, False),
    ]
    assert truth.annotations.select(CUBOID).row(0) == (110, 50, 1, 4, 2, 1.5, pytest.approx(0.5))
    assert truth.annotations.select("visibility", "instance").row(0) == (4, "i1")


@pytest.mark.slow
def test_velocity_is_the_difference_of_the_neighbours(tmp_path: Path) -> None:
    """At most 1.5 seconds to one neighbour, 3 seconds between both."""
    times = {"a": 0.0, "b": 1.5, "c": 3.0, "d": 5.0, "e": 6.5}
    samples = {token: ("one", time, (0.0, 0.0)) for token, time in times.items()}
    objects: Objects = [(token, "i", CAR, (time**2, 0.0, 0.0), {}) for token, time in times.items()]
    truth = apf.read_dataset(write_tables(tmp_path / "set", tables(samples, objects)))
    expected = [1.5**2 / 1.5, 3.0**2 / 3.0, None, None, (6.5**2 - 25) / 1.5]
    assert truth.annotations["velocity_x"].to_list() == [value if value is None else pytest.approx(value) for value in expected]
    assert truth.annotations["velocity_y"].to_list() == [None if value is None else 0 for value in expected]


@given(st.lists(st.tuples(*[st.floats(-5, 5)] * 3), max_size=20), st.floats(-4, 4), st.tuples(*[st.floats(0.5, 4)] * 3))
def test_a_rack_holds_what_lies_inside_its_cuboid(
    points: list[tuple[float, float, float]], yaw: float, sides: tuple[float, float, float]
) -> None:
    images = pl.DataFrame({"image_id": ["a"], "bicycle_racks": [[0.5, 0.25, 0.0, *sides, yaw] * 2]})
    bikes = pl.DataFrame(points, schema=CUBOID[:3], orient="row").with_columns(
        image_id=pl.lit("a"), category_id=pl.lit("bicycle")
    )
    flags = with_places(bikes.with_columns(pl.col(CUBOID[:3]).cast(pl.Float64)), images)["in_rack"].to_list()
    length, width, height = sides
    for (x, y, z), is_in in zip(points, flags, strict=True):
        along = (x - 0.5) * math.cos(yaw) + (y - 0.25) * math.sin(yaw)
        across = (y - 0.25) * math.cos(yaw) - (x - 0.5) * math.sin(yaw)
        away = max(abs(along) - length / 2, abs(across) - width / 2, abs(z) - height / 2)
        assert is_in == (away <= 0) or abs(away) < 1e-9


RESULTS = {
    "t2": [box("t2", "car", 0.5, (111.0, 52.0, 1.0), velocity=(2.0, 4.0), attribute="vehicle.moving", yaw=-0.5)],
    "t1": [box("t1", "bicycle", 0.75, (100.0, 60.0, 1.0), velocity=(math.nan, math.nan))],
    "t3": [],
}


@pytest.mark.slow
def test_results_are_detections_with_their_distance(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    path = write_results(tmp_path / "found.json", RESULTS)
    alone = apf.read_results(path)
    names = ["image_id", "category_id", "score", "velocity_x", "velocity_y", "attribute"]
    assert alone.select(names).rows() == [
        ("t2", "car", 0.5, 2, 4, "vehicle.moving"),
        ("t1", "bicycle", 0.75, None, None, None),
    ]
    assert alone.select(CUBOID).row(0) == (111, 52, 1, 4, 2, 1.5, pytest.approx(-0.5))
    with warnings.catch_warnings(action="error"):
        detections = apf.read_results(path, dataset=truth)
    assert detections.select("ego_distance", "in_rack").rows() == [(pytest.approx(math.hypot(8, 2)), False), (10, True)]


RACK_HERE = [100.0, 60.0, 1.0, 6.0, 2.0, 2.0, 0.0]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("column", "in_rack"),
    [
        (pl.Series([None, None, None]), False),
        (pl.Series([[], [], []]), False),
        (pl.Series([[], None, RACK_HERE]), False),
        (pl.Series([RACK_HERE, [], None]), True),
        (pl.Series([RACK_HERE] * 3, dtype=pl.Array(pl.Float32, 7)), True),
        (pl.Series([str(RACK_HERE), "[]", None]), True),  # as COCO's JSON is read
        (pl.Series([None] * 3, dtype=pl.String), False),
        (pl.Series([[int(value) for value in RACK_HERE] * 2, [], None]), True),
    ],
)
def test_images_without_racks_have_null_or_nothing(column: pl.Series, in_rack: bool, tmp_path: Path) -> None:
    truth = apf.read_dataset(write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS)))
    own = apf.Dataset(truth.images.with_columns(column.alias("bicycle_racks")), truth.categories, truth.annotations)
    path = write_results(tmp_path / "found.json", RESULTS)
    assert apf.read_results(path, dataset=own)["in_rack"].to_list() == [False, in_rack]


@pytest.mark.slow
def test_names_of_categories_are_in_any_case_in_racks(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    path = write_results(tmp_path / "found.json", RESULTS | {"t1": [box("t1", "Bicycle", 0.75, (100.0, 60.0, 1.0))]})
    assert apf.read_results(path, dataset=truth)["in_rack"].to_list() == [False, True]


BAD_PLACES: dict[str, tuple[str, pl.Series, str]] = {
    "text as racks": ("bicycle_racks", pl.Series(["1 2", None, None]),
                      "images.bicycle_racks must hold lists of numbers, seven for each rack, not String; use null for none"),
    "JSON of an object": ("bicycle_racks", pl.Series(['{"x": 1}', None, None]),
                          "images.bicycle_racks must hold lists of numbers, seven for each rack, not String; "
                          "use null for none"),
    "JSON of a list of text": ("bicycle_racks", pl.Series(['["x"]', None, None]),
                               "images.bicycle_racks must hold lists of numbers, seven for each rack, not String; "
                               "use null for none"),
    "lists of racks": ("bicycle_racks", pl.Series([[RACK_HERE], None, None]),
                       "images.bicycle_racks must hold lists of numbers, seven for each rack, not List(List(Float64)); "
                       "use null for none"),
    "six numbers": ("bicycle_racks", pl.Series([RACK_HERE, RACK_HERE[:6], None]),
                    "images: bicycle_racks is not seven finite numbers for each rack for image_id 't2'; correct it; "
                    "use null or an empty list for none"),
    "NaN in a rack": ("bicycle_racks", pl.Series([[*RACK_HERE[:6], math.nan], None, None]),
                      "images: bicycle_racks is not seven finite numbers for each rack for image_id 't1'; correct it; "
                      "use null or an empty list for none"),
    "null in a rack": ("bicycle_racks", pl.Series([None, None, [*RACK_HERE[:6], None]]),
                       "images: bicycle_racks is not seven finite numbers for each rack for image_id 't3'; correct it; "
                       "use null or an empty list for none"),
    "text as a place": ("ego_x", pl.Series(["1", "2", "3"]), "images.ego_x must hold numbers, not String"),
    "NaN as a place": ("ego_y", pl.Series([1.0, math.nan, math.inf]),
                       "images: ego_y is not finite for image_id 't2', 't3'; correct it, or use null if unknown"),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("name", "column", "message"), BAD_PLACES.values(), ids=BAD_PLACES)
def test_bad_places_are_named(name: str, column: pl.Series, message: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS)))
    own = apf.Dataset(truth.images.with_columns(column.alias(name)), truth.categories, truth.annotations)
    path = write_results(tmp_path / "found.json", RESULTS)
    for read in (lambda: apf.read_results(path, dataset=own), lambda: apf.evaluate(own, path, apf.NUSCENES)):
        with pytest.raises((ColumnError, RowError), match=f"^{re.escape(message)}$"):
            read()


@pytest.mark.slow
def test_samples_without_an_entry_are_listed(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    path = write_results(tmp_path / "found.json", {"t2": RESULTS["t2"]})
    with pytest.warns(MissingResultsWarning, match=r"2 samples without an entry in the results \('t1', 't3'\).*with split="):
        apf.read_results(path, dataset=truth)


def with_other_ids(truth: apf.Dataset, ids: list[Any], file_names: list[str]) -> apf.Dataset:
    """The same data set, whose images have other ids, and names by which results may be joined."""
    new = pl.col("image_id").replace_strict(truth.images["image_id"].to_list(), ids)
    images = truth.images.with_columns(new, file_name=pl.Series(file_names))
    return apf.Dataset(images, truth.categories, truth.annotations.with_columns(new))


@pytest.mark.slow
@pytest.mark.parametrize("ids", [["img-1", "img-2", "img-3"], [7, 8, 9]], ids=["texts", "numbers"])
@pytest.mark.parametrize(
    "file_names", [["t1", "t2", "t3"], ["lidar/t1.bin", "lidar/t2.bin", "lidar/t3.bin"]], ids=["bare", "files"]
)
def test_results_joined_by_name_have_their_distance(ids: list[Any], file_names: list[str], tmp_path: Path) -> None:
    truth = apf.read_dataset(write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS)))
    own = with_other_ids(truth, ids, file_names)
    path = write_results(tmp_path / "found.json", RESULTS)
    with warnings.catch_warnings(action="error"):
        detections = apf.read_results(path, dataset=own, join_by_name="images")
    expected = apf.read_results(path, dataset=truth)
    assert detections["image_id"].to_list() == [ids[1], ids[0]]
    assert detections.select("ego_distance", "in_rack").equals(expected.select("ego_distance", "in_rack"))
    few = write_results(tmp_path / "few.json", {"t2": RESULTS["t2"]})
    with pytest.warns(MissingResultsWarning, match=re.escape(f"2 samples without an entry in the results ({ids[0]!r}, ")):
        apf.read_results(few, dataset=own, join_by_name="images")
    more = write_results(tmp_path / "more.json", RESULTS | {"t9": []})
    with pytest.raises(FormatError, match="lacks: 't9'"):
        apf.read_results(more, dataset=own, join_by_name="images")


@pytest.mark.slow
def test_results_joined_by_name_evaluate_as_by_ids(tmp_path: Path) -> None:
    made, results = scene_of(np.random.default_rng(3))
    truth = apf.read_dataset(write_tables(tmp_path / "truth", made))
    path = write_results(tmp_path / "found.json", results)
    tokens = truth.images["image_id"].to_list()
    own = with_other_ids(truth, list(range(len(tokens))), tokens)
    expected = apf.evaluate(truth, path, apf.NUSCENES).summary
    assert apf.evaluate(own, path, apf.NUSCENES, join_by_name="images").summary.equals(expected)
    evaluator = apf.Evaluator(own, apf.NUSCENES, join_by_name="images")
    evaluator.update(path)
    assert evaluator.compute().summary.equals(expected)


@pytest.mark.slow
def test_results_keep_their_numbers_when_the_truth_is_coco(tmp_path: Path) -> None:
    made, results = scene_of(np.random.default_rng(3))
    truth = apf.read_dataset(write_tables(tmp_path / "truth", made))
    path = write_results(tmp_path / "found.json", results)
    apf.write_dataset(truth, tmp_path / "coco.json", "coco")
    expected = apf.evaluate(truth, path, apf.NUSCENES)
    evaluation = apf.evaluate(tmp_path / "coco.json", path, apf.NUSCENES, join_by_name=["images", "categories"])
    assert_frame_equal(evaluation.summary, expected.summary)  # sums may be in another order


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingResultsWarning")
def test_names_of_several_images_are_refused(tmp_path: Path) -> None:
    truth = apf.read_dataset(write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS)))
    own = with_other_ids(truth, [7, 8, 9], ["a/t1", "b/t1", "t2"])
    path = write_results(tmp_path / "found.json", RESULTS)
    with pytest.raises(RowError, match=r"file_name is not unique \('t1'\)"):
        apf.read_results(path, dataset=own, join_by_name="images")


@pytest.mark.slow
def test_empty_entries_for_unknown_samples_are_refused(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    path = write_results(tmp_path / "found.json", RESULTS | {"t9": []})
    with pytest.raises(
        FormatError, match=r"found.json: entries without boxes for samples .* lacks: 't9'; nuScenes' own .* too"
    ):
        apf.evaluate(truth, path, apf.NUSCENES)
    path = write_results(tmp_path / "found.json", RESULTS | {"t9": [box("t9", "car", 0.5, (0.0, 0.0, 0.0))]})
    with pytest.raises(UnknownIdError, match="t9"):
        apf.evaluate(truth, path, apf.NUSCENES)


def test_boxes_are_of_the_sample_that_lists_them(tmp_path: Path) -> None:
    path = write_results(tmp_path / "found.json", {"t1": RESULTS["t2"]})
    with pytest.raises(FormatError, match=r"sample_token is not the token of the list in detection 1 \(sample 't1'\)"):
        apf.read_results(path)


@pytest.mark.slow
def test_check_reports_samples_that_have_too_many_detections(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    many = [box("t1", "car", k / 600, (100.0 + k, 60.0, 1.0)) for k in range(501)]
    findings = apf.check(truth, write_results(tmp_path / "found.json", RESULTS | {"t1": many}))
    (row,) = findings.filter(check="too_many_detections").select("severity", "rows", "problem").rows()
    assert row == ("warning", ["t1"], "1 of 3 images has more than 500 detections (501 at most), which NUSCENES rejects")


@pytest.mark.slow
def test_splits_are_scenes(tmp_path: Path) -> None:
    content = tables({"t1": ("scene-0103", 0.0, (0.0, 0.0)), "t2": ("scene-0061", 1.0, (0.0, 0.0))}, OBJECTS[:0])
    folder = write_tables(tmp_path / "set", content)
    written(folder, {"splits.json": json.dumps({"mine": ["scene-0061"]})})
    assert apf.read_dataset(folder).images["image_id"].to_list() == ["t1", "t2"]
    assert apf.read_dataset(folder, split="mine").images["image_id"].to_list() == ["t2"]
    with pytest.raises(ParameterError, match=r"lacks 1 scene of the split 'mini_val', such as scene-0916; it has all .* mine$"):
        apf.read_dataset(folder, split="mini_val")
    with pytest.raises(ParameterError, match="no split 'minimal'"):
        apf.read_dataset(folder, split="minimal")
    everything = {f"scene-{number:04d}" for number in range(1, 1111)}
    assert len(scenes_of("val", everything, folder)) == 150
    assert scenes_of("train", everything, folder) == everything - scenes_of("val", everything, folder)
    written(folder, {"splits.json": "[1]"})
    with pytest.raises(FormatError, match=r"splits\.json: not an object with a list of scene names for each split"):
        apf.read_dataset(folder, split="mine")


def changed(table: str, change: Any) -> dict[str, list[Json]]:
    content = tables(SAMPLES, OBJECTS)
    change(content[table])
    return content


BAD_TABLES = {
    "no instance": (changed("instance", lambda rows: rows.pop(0)),
                    "sample_annotation.json: instance_token 'i1' is not in instance.json"),
    "a twice known instance": (changed("instance", lambda rows: rows.append(rows[0])),
                               "instance.json: token is not unique in row 1, 8; correct the file"),
    "no centre": (changed("sample_annotation", lambda rows: rows[2].pop("translation")),
                  "sample_annotation.json: translation is missing in row 3; correct the file"),
    "two sizes": (changed("sample_annotation", lambda rows: rows[0]["size"].pop()),
                  "sample_annotation.json: size is not 3 numbers in row 1; correct the file"),
    "text": (changed("ego_pose", lambda rows: rows[0].update(translation=["x", 1, 2])),
             "ego_pose.json: cannot be read as a table of nuScenes ("),
    "a list as a name": (changed("category", lambda rows: rows[0].update(name=["vehicle.car"])),
                         "category.json: name is not text in row 1; correct the file"),
    "an object as a token": (changed("sample", lambda rows: rows[1].update(scene_token={"a": 1})),
                             "sample.json: scene_token is not text in row 2; correct the file"),
    "two attributes": (changed("sample_annotation", lambda rows: rows[0]["attribute_tokens"].append("a")),
                       "sample_annotation.json: more than one attribute for 'ann0'"),
    "no lidar": (changed("sample_data", lambda rows: rows.pop()),
                 "sample_data.json: no key frame of LIDAR_TOP for the sample 't3'"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_named(made: dict[str, list[Json]], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        apf.read_dataset(write_tables(tmp_path / "set", made))


def test_a_table_that_is_missing_or_cut_off_is_named(tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "set", tables(SAMPLES, OBJECTS))
    text = (folder / "scene.json").read_text()
    (folder / "scene.json").write_text(text[: text.index("}") + 1])
    with pytest.raises(FormatError, match=r"scene\.json: not a JSON list of objects, or cut off$"):
        apf.read_dataset(folder)
    (folder / "scene.json").unlink()
    with pytest.raises(FormatError, match=r"scene\.json: there is no such file$"):
        apf.read_dataset(folder)


@pytest.mark.parametrize("name", list(tables(SAMPLES, OBJECTS)))
def test_a_folder_is_recognized_and_its_missing_table_named(name: str, tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "set", tables(SAMPLES, OBJECTS))
    (folder / f"{name}.json").unlink()
    assert NuScenesFormat().fits(see(folder), "dataset")
    with pytest.raises(FormatError, match=rf"{name}\.json: there is no such file$"):
        apf.read_dataset(folder)


def test_a_single_file_of_such_a_name_is_no_nuscenes(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", {"sample.json": "[]", "instance.json": "[]"})
    assert not NuScenesFormat().fits(see(folder), "dataset")


def lacking(name: str) -> Json:
    return {key: value for key, value in RESULTS["t2"][0].items() if key != name}


BAD_RESULTS: dict[str, tuple[Any, str]] = {
    "no score": ({"results": {"t1": RESULTS["t1"], "t2": [lacking("detection_score")]}},
                 "detection_score is missing or not a number in detection 2 (sample 't2'); correct the file"),
    "a score as text": ({"results": {"t2": [lacking("detection_score") | {"detection_score": "0.5"}]}},
                        "detection_score is missing or not a number in detection 1 (sample 't2'); correct the file"),
    "no name": ({"results": {"t2": [lacking("detection_name")] * 2}},
                "detection_name is missing or not text in detections 1, 2 (sample 't2'); correct the file"),
    "two numbers": ({"results": {"t2": [lacking("size") | {"size": [1, 2]}]}},
                    "size is missing or not 3 numbers in detection 1 (sample 't2'); correct the file"),
    "null among numbers": ({"results": {"t2": [lacking("size") | {"size": [1.5, 2.5, None]}]}},
                           "size is missing or not 3 numbers in detection 1 (sample 't2'); correct the file"),
    "no list": ({"results": {"t2": {}}}, "no list of boxes for the sample 't2'; use [] for none"),
    "no box": ({"results": {"t2": [5]}}, "there is no JSON object in detection 1 (sample 't2'); correct the file"),
    "no results": ({"meta": {}}, "no object named results; is it a submission for nuScenes' detection task?"),
}  # fmt: skip


@pytest.mark.parametrize(("document", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_named(document: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(path, "nuscenes")


def test_recognized_by_tables_and_by_the_first_lines(tmp_path: Path) -> None:
    truth = write_tables(tmp_path / "truth", tables(SAMPLES, OBJECTS))
    found, empty = write_results(tmp_path / "found.json", RESULTS), write_results(tmp_path / "empty.json", {"t1": []})
    actions = written(tmp_path, {"a.json": '{"results": {"v": [{"label": "run", "score": 1, "segment": [0, 1]}]}}'}) / "a.json"
    assert NuScenesFormat().fits(see(truth), "dataset")
    assert [NuScenesFormat().fits(see(path), "results") for path in (found, empty, actions)] == [True, True, False]
    assert apf.read_results(empty).height == 0
    assert apf.read_results(actions)["start_time"].to_list() == [0]
    with pytest.raises(ParameterError, match="nuScenes can be read, but not written"):
        apf.write_dataset(truth, tmp_path / "again", "nuscenes")


SCRIPT = """
from nuscenes.nuscenes import NuScenes
from nuscenes.eval.common.loaders import load_gt, load_prediction, add_center_dist, filter_eval_boxes
from nuscenes.eval.detection.config import config_factory
from nuscenes.eval.detection.data_classes import DetectionBox
from nuscenes.eval.detection.evaluate import DetectionEval
from nuscenes.eval.common.utils import quaternion_yaw, Quaternion
nusc = NuScenes("v1.0-mini", given["root"], verbose=False)
config = config_factory("detection_cvpr_2019")
def rows(boxes):
    boxes = add_center_dist(nusc, boxes)
    every = [
        [box.sample_token, box.detection_name, *box.translation, *box.size, quaternion_yaw(Quaternion(box.rotation)),
         *box.velocity, box.attribute_name, box.num_pts, box.ego_dist]
        for token in boxes.sample_tokens for box in boxes[token]
    ]
    kept = filter_eval_boxes(nusc, boxes, config.class_range)
    kept = [[box.sample_token, *box.translation] for token in kept.sample_tokens for box in kept[token]]
    return {"every": [[None if value != value else value for value in row] for row in every], "kept": kept}
found, _ = load_prediction(given["results"], config.max_boxes_per_sample, DetectionBox)
sides = [rows(load_gt(nusc, "mini_val", DetectionBox)), rows(found)]
evaluation = DetectionEval(nusc, config, given["results"], "mini_val", given["root"], verbose=False)
metrics, _ = evaluation.evaluate()
summary = metrics.serialize()
names = {"trans_err": "ATE", "scale_err": "ASE", "orient_err": "AOE", "vel_err": "AVE", "attr_err": "AAE"}
numbers = {"AP": summary["mean_ap"], "NDS": summary["nd_score"]}
numbers |= {ours: summary["tp_errors"][theirs] for theirs, ours in names.items()}
print(json.dumps([sides, numbers, summary["mean_dist_aps"]]))
"""
RANGES = {"pedestrian": 40, "motorcycle": 40, "bicycle": 40, "traffic_cone": 30, "barrier": 30}


def scene_of(random: np.random.Generator) -> tuple[dict[str, list[Json]], dict[str, list[Json]]]:
    """Tables of two scenes, with objects that come and go, bicycles in and beside racks; and results."""
    categories = [name for several in CLASSES.values() for name in several] + ["animal", RACK, RACK]
    samples: dict[str, tuple[str, float, tuple[float, float]]] = {}
    objects: Objects = []
    results: dict[str, list[Json]] = {}
    for scene in ("scene-0103", "scene-0916"):
        times = np.cumsum(random.choice([0.5, 0.5, 1.5, 1.6, 3.0], size=5))
        for step, time in enumerate(times):
            token = f"{scene}-{step}"
            samples[token] = (scene, float(time), (float(random.uniform(0, 9)), float(random.uniform(0, 9))))
            results[token] = []
        for number in range(25):
            category = str(random.choice(categories))
            sides = tuple(float(side) for side in random.uniform(0.5, 6, 3) * (6 if category == RACK else 1))
            for step in range(len(times)):
                if random.random() < 0.7:
                    x, y, z = (float(each) for each in random.normal(0, (22, 22, 0.5)))
                    more = {"size": sides, "yaw": float(random.uniform(-3, 3)), "num_lidar_pts": int(random.integers(0, 3))}
                    more |= {"attribute": "vehicle.moving"} if random.random() < 0.5 else {}
                    objects.append((f"{scene}-{step}", f"{scene}-{number}", category, (x, y, z), more))
                    motion = {"yaw": float(random.uniform(-3, 3)), "velocity": tuple(random.normal(0, 3, 2).tolist())}
                    own = [name for name, several in CLASSES.items() if category in several]
                    name = own[0] if own and random.random() < 0.8 else str(random.choice(list(CLASSES)))
                    score = round(float(random.random()), 1)  # many are equal
                    results[f"{scene}-{step}"].append(box(f"{scene}-{step}", name, score, (x + 0.5, y, z), **motion))
    return tables(samples, objects), results


@pytest.mark.slow
def test_files_are_as_the_kit_reads_and_evaluates_them(tmp_path: Path) -> None:
    made, results = scene_of(np.random.default_rng(7))
    root, path = write_for_kit(tmp_path, made), write_results(tmp_path / "found.json", results)
    sides, numbers, aps = run_kit("nuscenes", SCRIPT, {"root": str(root), "results": str(path)})
    truth = apf.read_dataset(root / "v1.0-mini", split="mini_val")
    both = truth.annotations, apf.read_results(path, dataset=truth)
    for frame, theirs in zip(both, sides, strict=True):
        rows = frame.join(truth.images.select("image_id").with_row_index("place"), on="image_id").sort(
            "place", maintain_order=True
        )
        points = rows["n_points"] if "n_points" in rows.columns else pl.repeat(-1, rows.height, eager=True)
        ours = rows.select(
            "image_id", "category_id", "cuboid_x", "cuboid_y", "cuboid_z", "cuboid_width", "cuboid_length", "cuboid_height",
            "cuboid_yaw", "velocity_x", "velocity_y", pl.col("attribute").fill_null(""), points.alias("n"), "ego_distance",
        )  # fmt: skip
        assert ours.height == len(theirs["every"]) > 100
        for row, other in zip(ours.rows(), theirs["every"], strict=True):
            assert row == tuple(pytest.approx(value, abs=1e-9) if isinstance(value, float) else value for value in other)
        reach = pl.col("category_id").replace_strict(RANGES, default=50, return_dtype=pl.Int64)
        kept = rows.filter((pl.col("ego_distance") < reach) & (points != 0) & ~pl.col("in_rack"))
        assert 20 < kept.height < rows.height
        centres = kept.select("image_id", "cuboid_x", "cuboid_y", "cuboid_z").rows()
        assert centres == [tuple(row) for row in theirs["kept"]]
        assert rows["in_rack"].any()
    evaluation = apf.evaluate(root / "v1.0-mini", path, apf.NUSCENES, split="mini_val")
    assert dict(evaluation.summary.rows()) == {name: pytest.approx(value, abs=1e-9) for name, value in numbers.items()}
    by_class = dict(evaluation.by("name").select("name", "AP").rows())
    assert by_class == {name: pytest.approx(value, abs=1e-9) for name, value in aps.items()}
    assert 0.05 < numbers["NDS"] < 0.9
