"""Label Studio's JSON: what regions mean and which count, round trips, and files that cannot be read."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, RowError, ShapesLeftOutWarning
from apframe.formats import catalogue as formats
from apframe.formats.coco.format import Coco
from apframe.formats.labelling.label_studio.format import LabelStudio
from apframe.formats.path_contents import see
from apframe.tables.canonical import canonical

BOX = ["x", "y", "width", "height"]


def region(*labels: str, kind: str = "rectanglelabels", size: tuple[int, int] = (200, 100), **further: Any) -> dict[str, Any]:
    """A rectangle from (20, 20) of 60 by 40 pixels, on an image of 200 by 100; `further` goes into its value."""
    value = {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, kind: list(labels)} | further
    return {"id": "r1", "type": kind, "original_width": size[0], "original_height": size[1], "value": value}


def polygon(label: str, *points: list[float]) -> dict[str, Any]:
    return region(label) | {"type": "polygonlabels", "value": {"points": list(points), "polygonlabels": [label]}}


def tasks(path: Path, *regions: dict[str, Any], key: str = "annotations", **source: Any) -> Path:
    """One task with the regions in one annotation or prediction."""
    return save(path, [{"id": 5, "data": {"image": "/data/upload/1/a.jpg"}, key: [{"result": list(regions), **source}]}])


def save(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def read(path: Path) -> pl.DataFrame:
    return formats.read_dataset(path).annotations


def test_percent_become_pixels(tmp_path: Path) -> None:
    truth = formats.read_dataset(tasks(tmp_path / "a.json", region("car")))
    assert truth.images.rows() == [(5, 200, 100, "a.jpg")]
    assert truth.categories.select("category_id", "name").rows() == [("car", "car")]
    assert truth.annotations.select("image_id", "category_id", *BOX, "area", "region_id").rows() == [
        (5, "car", 20, 20, 60, 40, 2400, "r1")
    ]


def test_a_polygon_is_a_mask_with_its_own_area(tmp_path: Path) -> None:
    rows = read(tasks(tmp_path / "a.json", polygon("car", [10, 10], [30, 10], [10, 40]), region("car")))
    assert rows.select(*BOX, "area", "mask").rows() == [
        (20, 10, 40, 30, 600, "[[20.0,10.0,60.0,10.0,20.0,40.0]]"),
        (20, 20, 60, 40, 2400, None),
    ]


def test_rotation_is_clockwise_about_the_corner(tmp_path: Path) -> None:
    """Turned by 90 degrees about (20, 20), 60 by 40 pixels reach from (-20, 20) to (20, 80): the centre is (0, 50)."""
    rows = read(tasks(tmp_path / "a.json", region("car", rotation=90), region("car")))
    assert rows.select(*BOX, "angle").row(0) == pytest.approx((-30, 30, 60, 40, -math.pi / 2))
    assert rows.select(*BOX, "angle").row(1) == (20, 20, 60, 40, 0)


@pytest.mark.parametrize(
    "drawn",
    [{"x": 40, "width": -30}, {"y": 60, "height": -40}, {"x": 40, "y": 60, "width": -30, "height": -40}],
    ids=["leftwards", "upwards", "both"],
)
def test_rectangles_may_be_drawn_leftwards_and_upwards(drawn: dict[str, Any], tmp_path: Path) -> None:
    rows = read(tasks(tmp_path / "a.json", region("car", **drawn)))
    assert rows.select(*BOX, "area").rows() == [(20, 20, 60, 40, 2400)]


@pytest.mark.parametrize(
    "drawn", [{"y": 80, "width": -30}, {"x": -10, "height": -40}], ids=["from the end of the upper side", "of the left side"]
)
def test_turned_rectangles_may_be_drawn_backwards(drawn: dict[str, Any], tmp_path: Path) -> None:
    rows = read(tasks(tmp_path / "a.json", region("car", rotation=90, **drawn)))
    assert rows.select(*BOX, "angle").row(0) == pytest.approx((-30, 30, 60, 40, -math.pi / 2))


def test_a_region_with_two_labels_is_two_rows(tmp_path: Path) -> None:
    rows = read(tasks(tmp_path / "a.json", region("car", "red")))
    assert rows.select("annotation_id", "category_id", "x", "region_id").rows() == [(1, "car", 20, "r1"), (2, "red", 20, "r1")]


def test_labels_may_stand_beside_the_shape(tmp_path: Path) -> None:
    shape = region() | {"type": "rectangle"}
    assert read(tasks(tmp_path / "a.json", shape, region("car", kind="labels")))["category_id"].to_list() == ["car"]


@pytest.mark.parametrize(
    ("annotations", "label"),
    [
        ([("a", {"updated_at": "2026-01-02"}), ("b", {"updated_at": "2026-01-01"})], "a"),
        ([("a", {"created_at": "2026-01-01"}), ("b", {"created_at": "2026-01-01"})], "b"),
        ([("a", {"ground_truth": True}), ("b", {"updated_at": "2026-01-02"})], "a"),
        ([("a", {}), ("b", {"was_cancelled": True, "updated_at": "2026-01-02"})], "a"),
    ],
    ids=["the latest", "the last of equals", "the ground truth", "not a cancelled one"],
)
def test_one_annotation_of_a_task_counts(tmp_path: Path, annotations: list[tuple[str, dict[str, Any]]], label: str) -> None:
    sources = [{"result": [region(name)], **source} for name, source in annotations]
    path = save(tmp_path / "a.json", [{"id": 1, "data": {}, "annotations": sources}])
    assert read(path)["category_id"].to_list() == [label]


def test_a_task_without_annotations_is_an_image_without_objects(tmp_path: Path) -> None:
    cancelled = {"result": [region("car")], "was_cancelled": True}
    path = save(tmp_path / "a.json", [{"id": 1, "data": {"image": "a.jpg"}, "annotations": [cancelled]}, {"id": 2, "data": {}}])
    truth = formats.read_dataset(path)
    assert truth.images["image_id"].to_list() == [1, 2] and truth.annotations.is_empty() and truth.categories.is_empty()


def test_fields_of_data_are_columns_of_images(tmp_path: Path) -> None:
    data = [
        {
            "image": "s3://bucket/x/a.jpg?v=1",
            "city": "Ulm",
            "lux": 1.5,
            "file_name": "mine",
            "image_width": 8,
            "image_height": 6,
        },
        {"image": "/data/local-files/?d=x/b%20c.jpg", "night": True, "tags": ["wet"]},
    ]
    path = save(tmp_path / "a.json", [{"id": k, "data": each, "annotations": []} for k, each in enumerate(data)])
    assert formats.read_dataset(path).images.rows(named=True) == [
        {"image_id": 0, "image_width": 8, "image_height": 6, "file_name": "a.jpg", "city": "Ulm", "lux": 1.5,
         "file_name_attribute": "mine", "night": None, "tags": None},
        {"image_id": 1, "image_width": None, "image_height": None, "file_name": "b c.jpg", "city": None, "lux": None,
         "file_name_attribute": None, "night": True, "tags": '["wet"]'},
    ]  # fmt: skip


def test_what_is_no_object_is_left_out_with_a_warning(tmp_path: Path) -> None:
    others = [
        {"id": "b", "type": "brushlabels", "value": {"rle": [1], "brushlabels": ["car"]}},
        {"id": "c", "type": "labels", "value": {"radiusX": 1, "labels": ["car"]}},
        {"id": "d", "type": "choices", "value": {"choices": ["wet"]}},
        region("car") | {"image_rotation": 90},
        region(),
    ]
    path = tasks(tmp_path / "a.json", region("car"), *others)
    kinds = "1 brushlabels, 1 choices, 1 labels of other shapes, 1 regions on turned images, 1 regions without a label"
    with pytest.warns(ShapesLeftOutWarning, match=f"polygons or masks: {kinds}$"):
        assert read(path).height == 1


def test_the_score_is_that_of_the_region_else_of_the_prediction(tmp_path: Path) -> None:
    path = tasks(
        tmp_path / "a.json", region("car") | {"score": 0.5}, region("dog"), key="predictions", score=0.25, model_version="m1"
    )
    detections = formats.read_results(path)
    assert detections.select("image_id", "category_id", "score", *BOX, "model_version", "file_name").rows() == [
        (5, "car", 0.5, 20, 20, 60, 40, "m1", "a.jpg"),
        (5, "dog", 0.25, 20, 20, 60, 40, "m1", "a.jpg"),
    ]


def test_the_latest_prediction_counts_and_the_others_are_counted(tmp_path: Path) -> None:
    sources = [
        {"result": [region(name)], "score": 1, "created_at": at} for name, at in (("a", "2026-01-02"), ("b", "2026-01-01"))
    ]
    path = save(tmp_path / "a.json", [{"id": 1, "data": {}, "predictions": sources}])
    with pytest.warns(ShapesLeftOutWarning, match="1 earlier predictions$"):
        assert formats.read_results(path)["category_id"].to_list() == ["a"]


def test_sizes_that_regions_do_not_say_are_those_of_the_data_set(tmp_path: Path) -> None:
    bare = {"id": "r", "type": "rectanglelabels", "score": 1, "value": region("car")["value"]}
    path = tasks(tmp_path / "a.json", bare, key="predictions")
    truth = apf.Dataset({"image_id": [5], "image_width": [100], "image_height": [50]}, {"category_id": ["car"]}, {})
    assert formats.read_results(path, dataset=truth).select(BOX).rows() == [(10, 10, 30, 20)]
    message = f"{path}: original_width and original_height are missing or not above 0 in regions of task 5; give them"
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        formats.read_results(path)


@pytest.mark.slow
def test_tasks_without_ids_are_joined_by_the_name_of_the_file(tmp_path: Path) -> None:
    content = [{"data": {"image": "http://host/b.jpg"}, "predictions": [{"result": [region("car")], "score": 1}]}]
    path = save(tmp_path / "a.json", content)
    truth = apf.Dataset({"image_id": [70, 71], "file_name": ["x/a.jpg", "x/b.jpg"]}, {"category_id": ["car"]}, {})
    assert formats.read_results(path)["image_id"].to_list() == ["b.jpg"]
    assert formats.read_results(path, dataset=truth, join_by_name="images")["image_id"].to_list() == [71]
    assert formats.read_dataset(save(path, [{"data": {}, "annotations": []}] * 2)).images["image_id"].to_list() == [1, 2]


PIXELS = st.floats(0, 1e4, allow_subnormal=False)
SIZES = st.integers(1, 5000)
NAMES = st.text('aä "/é%', min_size=1, max_size=4)


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        points = draw(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=3, max_size=5))
        xs, ys = zip(*points, strict=True)
        area = abs(sum(xs[k - 1] * ys[k] - xs[k] * ys[k - 1] for k in range(len(xs)))) / 2
        box = (min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys), area)
        mask = json.dumps([[float(coordinate) for point in points for coordinate in point]])
        return dict(zip((*BOX, "area"), map(float, box), strict=True)) | {"mask": mask, "angle": 0.0}
    x, y, width, height = (draw(PIXELS) for _ in BOX)
    angle = draw(st.sampled_from([0.0, 0.0, 0.5, -3.0, math.pi / 2]))
    return {"x": x, "y": y, "width": width, "height": height, "area": width * height, "mask": None, "angle": angle}


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    ids = sorted(draw(st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True)))
    labels = sorted(draw(st.lists(NAMES, min_size=1, max_size=2, unique=True)))
    rows = [
        {**draw(shapes()), "image_id": image, "category_id": label, "region_id": f"r{image}"}
        for image in ids
        for label in (labels if image == ids[0] else draw(st.lists(st.sampled_from(labels), max_size=2)))
    ]
    frame = pl.DataFrame(rows, schema_overrides={"mask": pl.String}, infer_schema_length=None)
    images = {
        "image_id": ids, "image_width": [draw(SIZES) for _ in ids], "image_height": [draw(SIZES) for _ in ids],
        "file_name": [draw(st.none() | st.text("ab .é%", min_size=1, max_size=4)) for _ in ids],
        "city": [draw(st.none() | NAMES) for _ in ids], "lux": [draw(st.floats(-1e9, 1e9)) for _ in ids],
        "night": [draw(st.booleans()) for _ in ids],
    }  # fmt: skip
    schema = {"file_name": pl.String, "city": pl.String, "lux": pl.Float64}
    return apf.Dataset(pl.DataFrame(images, schema_overrides=schema), {"category_id": labels, "name": labels}, frame)


def assert_held(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Equal in the columns that say something, numbers to 1e-9 of them; masks as JSON."""
    for name in expected.columns:
        if name == "angle" and name not in found.columns:
            assert (expected[name] == 0).all()
        elif name == "mask" and expected[name].count():
            texts = zip(found[name], expected[name], strict=True)
            assert [got is None for got in found[name]] == [wanted is None for wanted in expected[name]]
            assert all(json.loads(got)[0] == pytest.approx(json.loads(wanted)[0], rel=1e-9) for got, wanted in texts if wanted)
        elif expected[name].count():
            # x and y of a turned box are made of its centre: rounding is relative to where it is and how large
            assert_frame_equal(found.select(name), expected.select(name), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("label_studio") / "a.json"
    assert apf.write_dataset(dataset, path, "label_studio").rows() == []
    again = formats.read_dataset(path)
    for table in ("images", "categories", "annotations"):
        assert_held(getattr(again, table), getattr(dataset, table))


@pytest.mark.slow
@given(datasets(), st.none() | NAMES)
def test_results_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset, version: str | None) -> None:
    boxes = dataset.annotations.drop("annotation_id", "is_crowd")
    detections = canonical(
        "detections", boxes.with_columns(score=pl.int_range(pl.len()) / 4, model_version=pl.lit(version, pl.String))
    )
    path = tmp_path_factory.mktemp("label_studio") / "a.json"
    assert apf.write_results(detections, path, "label_studio", dataset=dataset).rows() == []
    assert_held(formats.read_results(path), detections)


def one(images: dict[str, Any] | None = None, **columns: Any) -> apf.Dataset:
    """One annotation on one image of 4 by 3 pixels."""
    row = {"image_id": 1, "category_id": "car", "x": 1.0, "y": 1.0, "width": 2.0, "height": 1.0} | columns
    image = {"image_id": 1, "image_width": 4, "image_height": 3, "file_name": "a.jpg"} | (images or {})
    return apf.Dataset(pl.DataFrame([image]), {"category_id": ["car"], "name": ["car"]}, pl.DataFrame([row]))


@pytest.mark.parametrize(
    ("dataset", "lost"),
    [
        (one(area=1.5), ("annotations", "area", "replaced by that of the rectangle or polygon")),
        (one(mask='{"size":[3,4],"counts":[4,5,3]}'), ("annotations", "mask", "left out: not a single polygon")),
        (one(angle=7.0), ("annotations", "angle", "left out for polygons; whole turns are removed")),
        (one(region_id=7), ("annotations", "region_id", "read back as text")),
        (one(is_crowd=True), ("annotations", "is_crowd", "left out: crowds become ordinary objects")),
        (one(file_name="b.jpg"), ("annotations", "file_name", "left out")),
        (one({"file_name": "x/a.jpg"}), ("images", "file_name", "without folders and URL")),
        (one({"tags": ["wet"]}), ("images", "tags", "read back as text")),
        (one({"lux": math.inf}), ("images", "lux", "left out: not finite")),
        (one({"image": "b"}), ("images", "image", "left out: the file name uses this field")),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_held_is_said(tmp_path: Path, dataset: apf.Dataset, lost: tuple[str, str, str]) -> None:
    losses = apf.write_dataset(dataset, tmp_path / "a.json", "label_studio")
    assert losses.select("table", "column", "n_rows", "what").rows() == [(*lost[:2], 1, lost[2])]
    again = getattr(formats.read_dataset(tmp_path / "a.json"), lost[0])
    if lost[1] in again.columns:
        assert again[lost[1]].to_list() != getattr(dataset, lost[0])[lost[1]].to_list()


def test_the_file_that_results_name_becomes_that_of_their_image(tmp_path: Path) -> None:
    dataset = one()
    detections = dataset.annotations.drop("annotation_id", "is_crowd").with_columns(score=1.0, file_name=pl.lit("b.jpg"))
    lost = apf.write_results(detections, tmp_path / "a.json", "label_studio", dataset=dataset)
    assert lost.rows() == [("detections", "file_name", 1, "replaced by that of the image")]
    assert formats.read_results(tmp_path / "a.json")["file_name"].to_list() == ["a.jpg"]


def test_labels_that_nobody_used_are_lost(tmp_path: Path) -> None:
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": ["car"], "name": ["car"]}, {})
    lost = apf.write_dataset(dataset, tmp_path / "a.json", "label_studio")
    assert lost.rows() == [("categories", None, 1, "without annotations: left out")]


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (one({"image_width": 0}), "annotations: the image size is unknown or 0, and boxes are percentages of it for "),
        (one(x=None, y=None, width=None, height=None, keypoints=[1.0, 1, 2]),
         "annotations: box and polygon are missing for annotation_id 1; remove the rows"),
    ],
    ids=["size", "box"],
)  # fmt: skip
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, dataset: apf.Dataset, message: str) -> None:
    with pytest.raises(RowError, match=message):
        apf.write_dataset(dataset, tmp_path / "a.json", "label_studio")
    assert list(tmp_path.iterdir()) == []


def test_results_need_their_data_set_to_be_written(tmp_path: Path) -> None:
    with pytest.raises(apf.exceptions.ParameterError, match="boxes as fractions of their images; give their data set"):
        apf.write_results({}, tmp_path / "a.json", "label_studio")


BAD = {
    "labels": (region("car", rectanglelabels="car"), "value.rectanglelabels is not a list of texts; correct it"),
    "value": (region("car") | {"value": 1}, "value.rectanglelabels is not a list of texts; correct it"),
    "missing": (region("car", x=None), "x is missing; correct it"),
    "text": (region("car", width="3"), "width is not a number; correct it"),
    "size": (region("car") | {"original_width": "3"}, "original_width is not a number; correct it"),
    "points": (polygon("car", [1, 2, 3]), "points are not lists of two numbers; correct it"),
    "no points": (polygon("car"), "points are not lists of two numbers; correct it"),
}


@pytest.mark.parametrize(("shape", "message"), BAD.values(), ids=BAD)
def test_bad_regions_are_told_by_id_and_task(tmp_path: Path, shape: dict[str, Any], message: str) -> None:
    path = tasks(tmp_path / "a.json", region("car"), shape)
    with pytest.raises(FormatError, match=f"^{re.escape(f'''{path}: region 'r1' of task 5: {message}''')}$"):
        formats.read_dataset(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ('[{"data"', "not JSON, or cut off (Expecting ':' delimiter: line 1 column 9 (char 8))"),
        ('{"data": {}}', "not a list of tasks; export as JSON"),
        ('[{"image": "a.jpg"}]', "task 1 of the list has no object named data; export it as JSON, not as JSON-MIN"),
        (
            '[{"data": {}, "annotations": [{}]}]',
            "annotations of task 1 of the list are not objects with a list result; export again",
        ),
        ('[{"id": 1, "data": {}}, {"id": "b", "data": {}}]', "the id is not a whole number in task 2 of the list; correct it"),
    ],
)
def test_bad_files_are_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=f"^{re.escape(f'{path}: {message}')}$"):
        formats.read_dataset(path, "label_studio")


def test_results_without_a_score_are_told(tmp_path: Path) -> None:
    with pytest.raises(RowError, match="detections: score is missing for detection_id 1; "):
        formats.read_results(tasks(tmp_path / "a.json", region("car"), key="predictions"))


def test_only_label_studios_files_are_taken_for_such(tmp_path: Path) -> None:
    truth = tasks(tmp_path / "truth.json", region("car"))
    predictions = tasks(tmp_path / "found.json", region("car"), key="predictions")
    assert LabelStudio().fits(see(truth), "dataset") and not LabelStudio().fits(see(truth), "results")
    assert LabelStudio().fits(see(predictions), "results") and not LabelStudio().fits(see(predictions), "dataset")
    assert not any(Coco().fits(see(path), "dataset") or Coco().fits(see(path), "results") for path in (truth, predictions))
    coco = save(tmp_path / "coco.json", {"images": [], "annotations": [], "categories": []})
    results = save(tmp_path / "results.json", [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}])
    assert not any(
        LabelStudio().fits(see(path), "dataset") or LabelStudio().fits(see(path), "results") for path in (coco, results)
    )
