"""Every way in which masks, keypoints, rotated boxes, intervals and the lists of protocols can be wrong, as a user meets it."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    BoxFormatWarning,
    ColumnError,
    IdTypeError,
    InputError,
    MaskSizeWarning,
    MissingColumnWarning,
    ParameterError,
    RowError,
    UnitWarning,
    UnknownIdError,
    UnknownValueWarning,
)

Json = dict[str, Any]
GONE = object()  # in the place of a value: the field is not there

OUTLINE = [[0, 0, 40, 0, 40, 40, 0, 40]]
LENGTHS = {"size": [100, 100], "counts": [0, 40, 9960]}
PACKED = "0X1Xg9"  # the same counts
POINTS = [10.0, 10.0, 2] * 17
CORNERS = [0, 0, 40, 0, 40, 40, 0, 40]
TRUTH: Json = {
    "images": [{"id": 1, "width": 100, "height": 100}, {"id": 2, "width": 100, "height": 100}],
    "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    "annotations": [
        {"id": 11, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40], "area": 1600},
        {"id": 12, "image_id": 2, "category_id": 2, "bbox": [0, 0, 40, 40], "area": 1600},
    ],
}
RESULTS: list[Json] = [
    {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [0, 0, 40, 40]},
    {"image_id": 2, "category_id": 2, "score": 0.8, "bbox": [0, 0, 40, 40]},
]


def with_shape(shape: Json, truth: Json = TRUTH, results: list[Json] = RESULTS) -> tuple[Json, list[Json]]:
    """The data with a good shape in every row; a value GONE takes a field away."""
    truth, results = copy.deepcopy(truth), copy.deepcopy(results)
    for row in [*truth["annotations"], *results]:
        row |= {name: value for name, value in shape.items() if value is not GONE}
        for name in [name for name, value in shape.items() if value is GONE]:
            row.pop(name, None)
    return truth, results


def change(row: Json, fields: Json) -> None:
    row |= {name: value for name, value in fields.items() if value is not GONE}
    for name in [name for name, value in fields.items() if value is GONE]:
        del row[name]


def summary(truth: Any, results: Any, kind: str = "memory", folder: Path | None = None, **options: Any) -> dict[str, Any]:
    if kind == "file":
        assert folder is not None
        for name, data in (("truth", truth), ("results", results)):
            (folder / f"{name}.json").write_text(json.dumps(data))
        truth, results = folder / "truth.json", folder / "results.json"
    return dict(apf.evaluate(truth, results, **options).summary.rows())


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    return text


in_memory_and_as_files = pytest.mark.parametrize("kind", ["memory", pytest.param("file", marks=pytest.mark.slow)])

# what is compared, and a good shape
SHAPES: dict[str, tuple[Json, Json]] = {
    "segm": ({"iou_type": "segm"}, {"segmentation": OUTLINE}),
    "boundary": ({"iou_type": "boundary"}, {"segmentation": OUTLINE}),
    "keypoints": ({"iou_type": "keypoints"}, {"keypoints": POINTS, "num_keypoints": 17}),
    "dota": ({"protocol": "dota"}, {"corners": CORNERS}),
    "angle": ({"protocol": "dota"}, {"angle": 0.5}),
    "activitynet": ({"protocol": "activitynet"}, {"start_time": 1, "end_time": 5}),
}

# (what is compared, name) -> fields of one row, and what the message says before and after it names the row
AGAIN = r"encode these masks again \(pycocotools.mask.encode converts"
BAD: dict[tuple[str, str], tuple[Json, str, str]] = {
    ("segm", "RLE of another size"): (
        {"segmentation": {"size": [100, 90], "counts": [0, 40, 8960]}},
        "size of the mask differs from the image's other masks", "encode all masks of an image in one size",
    ),
    ("segm", "counts that fall short"): (
        {"segmentation": {"size": [100, 100], "counts": [0, 40, 60]}}, "the run lengths do not add up to height × width", AGAIN,
    ),
    ("segm", "counts that go beyond"): (
        {"segmentation": {"size": [100, 100], "counts": [0, 10_001]}}, "the run lengths do not add up to height × width", AGAIN,
    ),
    ("segm", "packed counts that fall short"): (
        {"segmentation": {"size": [100, 100], "counts": "0X1"}}, "the run lengths do not add up to height × width", AGAIN,
    ),
    ("segm", "counts in no alphabet of COCO's"): (
        {"segmentation": {"size": [100, 100], "counts": "~~~"}}, "the run lengths are not valid COCO text", AGAIN,
    ),
    ("segm", "negative counts"): (
        {"segmentation": {"size": [100, 100], "counts": [-1, 10_001]}}, "run lengths are negative", AGAIN,
    ),
    ("segm", "no size"): (
        {"segmentation": {"counts": [0, 10_000]}}, "run lengths lack size or counts", r"give both: size is \[height, wid",
    ),
    ("segm", "size of one number"): (
        {"segmentation": {"size": [100], "counts": [0, 10_000]}}, "run lengths lack size or counts", "give both: ",
    ),
    ("segm", "no counts"): ({"segmentation": {"size": [100, 100]}}, "run lengths lack size or counts", "give both: "),
    **{
        ("segm", name): (
            {"segmentation": {"size": size, "counts": counts}},
            "size or counts of the run lengths are not whole numbers", r"size is \[height, width\], counts are whole numbers",
        )
        for name, size, counts in (
            ("counts with a text", [100, 100], [0, "40", 9960]), ("counts of texts", [100, 100], ["0", "40", "9960"]),
            ("a fraction in counts", [100, 100], [0, 40.5, 9959.5]), ("true in counts", [100, 100], [True, 39, 9960]),
            ("size of texts", ["100", "100"], [0, 40, 9960]), ("half a row", [99.5, 100], [0, 40, 9960]),
            ("half a row, packed", [99.5, 100], PACKED), ("a text in size, packed", ["100", 100], PACKED),
            ("true in size, packed", [100, True], PACKED),
        )
    },
    ("segm", "true in a polygon"): (
        {"segmentation": [[True, 0, 40, 0, 40, 40]]}, "mask is neither polygons nor run lengths", r"write \[\[x, y, ...\], ",
    ),
    ("segm", "negative size"): (
        {"segmentation": {"size": [-1, 100], "counts": [1]}}, "size of the run lengths is not positive, or more", "correct",
    ),
    ("segm", "odd polygon"): (
        {"segmentation": [[0, 0, 40, 0, 40, 40, 0]]}, "a polygon has an odd number of coordinates, or fewer than 6",
        r"polygons are \[x1, y1, x2, y2, x3, y3, ...\]",
    ),
    ("segm", "polygon of two points"): (
        {"segmentation": [[0, 0, 40, 0]]}, "a polygon has an odd number of coordinates, or fewer than 6", "polygons are ",
    ),
    ("segm", "second polygon of none"): (
        {"segmentation": [*OUTLINE, []]}, "a polygon has an odd number of coordinates, or fewer than 6", "polygons are ",
    ),
    ("segm", "no polygon"): ({"segmentation": []}, "mask has no polygon", "supply one or remove these rows"),
    ("segm", "polygon with NaN"): (
        {"segmentation": [[0, 0, nan, 0, 40, 40]]}, "a polygon has a coordinate that is not a finite number", "correct these",
    ),
    ("segm", "polygon with infinity"): (
        {"segmentation": [[0, 0, inf, 0, 40, 40]]}, "a polygon has a coordinate that is not a finite number", "correct these",
    ),
    ("segm", "words in a polygon"): (
        {"segmentation": [["a", 0, 4, 0, 4, 4]]}, "mask is neither polygons nor run lengths", r"write \[\[x, y, ...\], ...\]",
    ),
    ("segm", "a flat polygon"): (
        {"segmentation": OUTLINE[0]}, r"mask \(segmentation\) is a flat list", r"write a list of polygons: \[\[x1, y1, ...\]\]",
    ),
    ("segm", "a bitmap"): (
        {"segmentation": [[0] * 100] * 60 + [[1] * 100] * 40}, "mask is a bitmap, not polygons,", "encode them as run lengths",
    ),
    ("segm", "a word"): ({"segmentation": "all"}, "mask is neither polygons nor run lengths", r"write \[\[x, y, ...\], ...\]"),
    ("segm", "null"): ({"segmentation": None}, "mask is missing", "supply it or remove these rows"),
    ("segm", "not there"): ({"segmentation": GONE}, "mask is missing", "supply it or remove these rows"),
    ("boundary", "counts that fall short"): (
        {"segmentation": {"size": [100, 100], "counts": [5]}}, "the run lengths do not add up to height × width", AGAIN,
    ),
    ("keypoints", "too few"): (
        {"keypoints": POINTS[:-3]}, "keypoints is not a list of 51 numbers, x, y, visibility for each of 17 sigmas,",
        r"correct these rows, or give other sigmas to OKS\(sigmas=...\)",
    ),
    ("keypoints", "one number too many"): ({"keypoints": [*POINTS, 1]}, "keypoints is not a list of 51 numbers", "correct"),
    ("keypoints", "none"): ({"keypoints": []}, "keypoints is missing", "supply it or remove these rows"),
    ("keypoints", "null"): ({"keypoints": None}, "keypoints is missing", "supply it or remove these rows"),
    ("keypoints", "not there"): ({"keypoints": GONE}, "keypoints is missing", "supply it or remove these rows"),
    ("keypoints", "a missing number"): (
        {"keypoints": [None, *POINTS[1:]]}, "keypoints holds a number that is missing or not finite", "keypoints without a",
    ),
    ("keypoints", "NaN"): (
        {"keypoints": [nan, *POINTS[1:]]}, "keypoints holds a number that is missing or not finite", "keypoints without a",
    ),
    ("dota", "crossing sides"): (
        {"corners": [0, 0, 40, 40, 40, 0, 0, 40]}, "corners do not go around a convex shape", "give the four corners in",
    ),
    ("dota", "not convex"): (
        {"corners": [0, 0, 40, 0, 10, 10, 0, 40]}, "corners do not go around a convex shape", "give the four corners in",
    ),
    ("dota", "three corners"): (
        {"corners": CORNERS[:6]}, "corners is not a list of 8 numbers", "give x1, y1, x2, y2, x3, y3, x4, y4, around the shape",
    ),
    ("dota", "NaN"): ({"corners": [*CORNERS[:7], nan]}, "corners holds a number that is missing or not finite", "correct or"),
    ("dota", "null"): ({"corners": None}, "corners is missing", "supply it, or a column angle"),
    ("angle", "null"): ({"angle": None}, "angle is missing or not a finite number", "give it in radians; upright boxes have 0"),
    ("angle", "infinite"): ({"angle": inf}, "angle is not a finite number", "correct or remove them"),
    ("activitynet", "ends before it starts"): (
        {"start_time": 9, "end_time": 3}, "end_time is before start_time", "swap the two or remove these rows",
    ),
    ("activitynet", "NaN"): ({"start_time": nan}, "start_time is not a finite number", "correct or remove them"),
    ("activitynet", "no end"): (
        {"end_time": None}, "end_time is missing or not a finite number", "intervals go from start_time to end_time",
    ),
    ("activitynet", "end not there"): ({"end_time": GONE}, "end_time is missing or not a finite number", "intervals go from"),
}  # fmt: skip


@pytest.mark.parametrize("table", ["annotations", "detections"])
@in_memory_and_as_files
@pytest.mark.parametrize(("case", "bad"), BAD.items(), ids=[" ".join(case) for case in BAD])
def test_bad_shapes(case: tuple[str, str], bad: tuple[Json, str, str], kind: str, table: str, tmp_path: Path) -> None:
    options, shape = SHAPES[case[0]]
    fields, problem, remedy = bad
    truth, results = with_shape(shape)
    change(truth["annotations"][1] if table == "annotations" else results[1], fields)
    row = "annotation_id 12" if table == "annotations" else "detection_id 2"
    with pytest.raises(RowError, match=rf"^{table}: {problem}.* for {row}; {remedy}") as caught:
        summary(truth, results, kind, tmp_path, **options)
    one_line(caught.value)
    assert (caught.value.table, caught.value.rows) == (table, [12] if table == "annotations" else [2])


# the same where there are no boxes, which are made of the shapes
@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MaskSizeWarning")
@pytest.mark.parametrize("table", ["annotations", "detections"])
@in_memory_and_as_files
@pytest.mark.parametrize("case", [
    ("segm", "RLE of another size"), ("segm", "odd polygon"), ("keypoints", "NaN"), ("dota", "crossing sides"),
    ("activitynet", "ends before it starts"),
], ids=" ".join)  # fmt: skip
def test_bad_shapes_without_boxes(case: tuple[str, str], kind: str, table: str, tmp_path: Path) -> None:
    options, shape = SHAPES[case[0]]
    fields, problem, remedy = BAD[case]
    truth, results = with_shape(shape | {"bbox": GONE, "area": GONE})
    change(truth["annotations"][1] if table == "annotations" else results[1], fields)
    row = "annotation_id 12" if table == "annotations" else "detection_id 2"
    with pytest.raises(RowError, match=rf"^{table}: {problem}.* for {row}; {remedy}"):
        summary(truth, results, kind, tmp_path, **options)


# of another type than the field has: told by the place in the list where there is no id
OF_OTHER_TYPES: dict[str, tuple[str, Json, str]] = {
    "keypoints a word": ("keypoints", {"keypoints": "nose"}, "keypoints is not a list of numbers"),
    "keypoints nested": ("keypoints", {"keypoints": [[1, 2, 2]] * 17}, "keypoints is not a list of numbers"),
    "corners a word": ("dota", {"corners": "all"}, "corners is not a list of numbers"),
    "corners in pairs": ("dota", {"corners": [[0, 0], [1, 0], [1, 1], [0, 1]]}, "corners is not a list of numbers"),
    "keypoints with a text": ("keypoints", {"keypoints": ["10", *POINTS[1:]]}, "keypoints is not a list of numbers"),
    "keypoints of texts": ("keypoints", {"keypoints": [str(n) for n in POINTS]}, "keypoints is not a list of numbers"),
    "corners with a text": ("dota", {"corners": [*CORNERS[:7], "40"]}, "corners is not a list of numbers"),
    "angle a number as text": ("angle", {"angle": "0.5"}, "angle is not a number"),
    "end a number as text": ("activitynet", {"end_time": "5"}, "end_time is not a number"),
    "angle a word": ("angle", {"angle": "left"}, "angle is not a number"),
    "angle a list": ("angle", {"angle": [0.5]}, "angle is not a number"),
    "start a clock": ("activitynet", {"start_time": "00:01"}, "start_time is not a number"),
}


@pytest.mark.parametrize("table", ["annotations", "detections"])
@in_memory_and_as_files
@pytest.mark.parametrize(("shape", "fields", "problem"), OF_OTHER_TYPES.values(), ids=OF_OTHER_TYPES)
def test_shapes_of_other_types(shape: str, fields: Json, problem: str, kind: str, table: str, tmp_path: Path) -> None:
    options, good = SHAPES[shape]
    truth, results = with_shape(good)
    change(truth["annotations"][1] if table == "annotations" else results[1], fields)
    row = "annotation_id 12" if table == "annotations" else "row 2"
    with pytest.raises(RowError, match=rf"^{table}: {problem} for {row}; correct these rows(; give .+)?$") as caught:
        summary(truth, results, kind, tmp_path, **options)
    field = next(iter(fields))
    flat = {
        "keypoints": "; give x, y, visibility of each keypoint in one list",
        "corners": "; give x1, y1, x2, y2, x3, y3, x4, ",
    }
    assert flat.get(field, "correct these rows") in str(caught.value)


@pytest.mark.slow
def test_the_good_shapes_are_good(tmp_path: Path) -> None:
    for options, shape in SHAPES.values():
        for kind in ("memory", "file"):
            assert summary(*with_shape(shape), kind, tmp_path, **options)["AP"] == pytest.approx(1.0)
    for kind in ("memory", "file"):
        data = with_shape({"segmentation": LENGTHS})
        assert summary(*data, kind, tmp_path, iou_type="segm")["AP"] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["annotations", "detections", "both"])
@in_memory_and_as_files
@pytest.mark.parametrize(("shape", "columns"), [
    ("segm", "mask"), ("boundary", "mask"), ("keypoints", "keypoints"), ("activitynet", "start_time, end_time"),
])  # fmt: skip
def test_nothing_to_compare(shape: str, columns: str, side: str, kind: str, tmp_path: Path) -> None:
    options, good = SHAPES[shape]
    truth, results = with_shape(good)
    truth = truth if side == "detections" else TRUTH
    results = results if side == "annotations" else RESULTS
    first = "annotations" if side == "annotations" else "detections"
    with pytest.raises(ColumnError, match=rf"^{first}: no column {columns}, needed to compare by .+; supply it") as caught:
        summary(truth, results, kind, tmp_path, **options)
    one_line(caught.value)
    assert ("COCO's JSON has it as segmentation" in str(caught.value)) == (columns == "mask")


@pytest.mark.slow
@pytest.mark.parametrize("table", ["annotations", "detections"])
def test_frames_with_masks_by_their_name_in_coco(table: str) -> None:
    truth, results = with_shape({"segmentation": OUTLINE, "bbox": GONE})
    frames: dict[str, Any] = {name: getattr(apf.read_coco(TRUTH), name) for name in ("images", "categories")}
    rows = truth["annotations"] if table == "annotations" else results
    bare = pl.DataFrame(rows).drop("id", strict=False)
    reader = "read_coco" if table == "annotations" else "read_coco_results"
    message = rf"^{table}: no column x, y, width, height; rename COCO's segmentation to mask, or use {reader}$"
    with pytest.raises(ColumnError, match=message):
        if table == "annotations":
            apf.Dataset(**frames, annotations=bare)
        else:
            summary(truth, bare, iou_type="segm")


@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize("with_boxes", [True, False])
@in_memory_and_as_files
def test_no_interval_has_an_end(kind: str, with_boxes: bool, table: str, tmp_path: Path) -> None:
    truth, results = with_shape(SHAPES["activitynet"][1] | ({} if with_boxes else {"bbox": GONE, "area": GONE}))
    for row in truth["annotations"] if table == "annotations" else results:
        del row["end_time"]
    with pytest.raises(InputError, match=f"^{table}: no column end_time"):
        summary(truth, results, kind, tmp_path, protocol="activitynet")


@pytest.mark.slow
@pytest.mark.parametrize("side", ["annotations", "detections"])
@in_memory_and_as_files
def test_no_rotated_boxes(side: str, kind: str, tmp_path: Path) -> None:
    truth, results = with_shape(SHAPES["dota"][1])
    data = (TRUTH, results) if side == "annotations" else (truth, RESULTS)
    with pytest.raises(ColumnError, match=f"^{side}: no column angle or corners, needed to compare by .* rotated boxes;"):
        summary(*data, kind, tmp_path, protocol="dota")


def frame_of(**shape: Any) -> Json:
    """Detections as columns."""
    boxes = {"x": [0.0, 0.0], "y": [0.0, 0.0], "width": [40.0, 40.0], "height": [40.0, 40.0]}
    return {"image_id": [1, 2], "category_id": [1, 2], "score": [0.9, 0.8]} | boxes | shape


# columns of a frame of another type -> what the message begins with
OF_FRAMES: dict[str, tuple[str, Json, str]] = {
    "keypoints in threes": ("keypoints", {"keypoints": [[[1.0, 1.0, 2.0]] * 17] * 2}, "detections.keypoints .*give x, y, vis"),
    "keypoints of numbers": ("keypoints", {"keypoints": [1.0, 2.0]}, "detections.keypoints "),
    "keypoints as text": ("keypoints", {"keypoints": ["[1, 1, 2]"] * 2}, "detections.keypoints "),
    "corners in pairs": (
        "dota", {"corners": [[[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]]] * 2},
        "detections.corners .*; give x1, y1, x2, y2, x3, y3, x4, y4, ",
    ),
    "one flat polygon": (
        "segm", {"mask": [OUTLINE[0]] * 2}, r"detections.mask: a flat list of numbers; write a list of polygons: \[\[x1, y1, ",
    ),
    "angle in a list": ("angle", {"angle": [[0.5], [0.5]]}, "detections.angle must be Float64, not List"),
    "angle as text": ("angle", {"angle": ["0.5", "0.5"]}, "detections.angle must be Float64, not String"),
    "masks of numbers": ("segm", {"mask": [1, 2]}, "detections.mask: Int64 cannot be a mask; give COCO's JSON text, "),
    "masks of structs": ("segm", {"mask": [{"w": 1}] * 2}, "detections.mask: structs of size and counts expected, got Struct"),
    "keypoints as lists of text": (
        "keypoints", {"keypoints": [[str(n) for n in POINTS]] * 2},
        r"detections.keypoints must be List\(Float64\), not List\(String\); give x, y, visibility",
    ),
    "corners as text": ("dota", {"corners": [[str(n) for n in CORNERS]] * 2}, r"detections.corners must be List\(Float64\)"),
    "counts of texts": (
        "segm", {"mask": [{"size": [100, 100], "counts": ["0", "40", "9960"]}] * 2},
        r"detections.mask: counts of run lengths is List\(String\); size is \[height, width\], counts are whole numbers or",
    ),
    "sizes of texts": (
        "segm", {"mask": [{"size": ["100", "100"], "counts": [0, 40, 9960]}] * 2},
        r"detections.mask: size of run lengths is List\(String\); size is ",
    ),
    "sizes of truth values": (
        "segm", {"mask": [{"size": [True, True], "counts": [0, 1]}] * 2}, r"detections.mask: size of run lengths is List\(Bool",
    ),
    "masks too deep": (
        "segm", {"mask": [[[[0.0]]]] * 2}, "detections.mask: List.* cannot be a mask; give COCO's JSON text, ",
    ),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("shape", "columns", "message"), OF_FRAMES.values(), ids=OF_FRAMES)
def test_columns_of_other_types(shape: str, columns: Json, message: str) -> None:
    options, good = SHAPES[shape]
    detections = pl.DataFrame(frame_of(**columns), strict=False)
    with pytest.raises(ColumnError, match=f"^{message}") as caught:
        summary(with_shape(good)[0], detections, **options)
    one_line(caught.value)


@pytest.mark.parametrize(("size", "counts"), [([100.5, 100.0], [0.0, 40.0, 9960.0]), ([100.0, 100.0], [0.0, 40.5, 9959.5])])
def test_fractions_in_run_lengths_of_a_frame(size: Any, counts: Any) -> None:
    masks = [{"size": [100.0, 100.0], "counts": [0.0, 40.0, 9960.0]}, {"size": size, "counts": counts}]
    with pytest.raises(RowError, match=r"^detections: size or counts of the run lengths are not whole numbers for .* 2; "):
        summary(with_shape(SHAPES["segm"][1])[0], frame_of(mask=masks), iou_type="segm")


def test_rows_of_another_type_are_named() -> None:
    truth, _ = with_shape(SHAPES["keypoints"][1])
    words = pl.Series("keypoints", [[str(value) for value in POINTS], ["a"] * 51])
    with pytest.raises(InputError, match=r"keypoints") as caught:
        summary(truth, frame_of(keypoints=words), iou_type="keypoints")
    assert "for row ;" not in one_line(caught.value)


BITMAPS: dict[str, tuple[Any, str]] = {
    "rows of different lengths": ([[0, 1], [1]], "bitmap has rows of different lengths, or empty rows"),
    "no rows": ([], "bitmap has no rows"),
    "of another size": ([[0, 1], [1, 0]], "bitmap and image differ in size"),
    "polygons of whole numbers": (OUTLINE, "bitmap and image differ in size"),
    "without a value": ([[1] * 100] * 99 + [[None] * 100], "bitmap has missing pixels"),
    "null": (None, "mask is missing"),
}


@pytest.mark.parametrize(("bitmap", "problem"), BITMAPS.values(), ids=BITMAPS)
def test_bad_bitmaps(bitmap: Any, problem: str) -> None:
    truth, _ = with_shape(SHAPES["segm"][1])
    masks = pl.Series([[[1] * 100] * 100, bitmap], dtype=pl.List(pl.List(pl.Int64)))
    with pytest.raises(RowError, match=f"^detections: {problem} for detection_id 2; ") as caught:
        summary(truth, frame_of(mask=masks), iou_type="segm")
    one_line(caught.value)
    may_be_polygons = "size" in problem or "lengths" in problem
    assert ("; if these are polygons, give lists of floats" in str(caught.value)) == may_be_polygons


@in_memory_and_as_files
def test_polygons_without_the_size_of_the_image(kind: str, tmp_path: Path) -> None:
    truth, results = with_shape({"segmentation": OUTLINE})
    del truth["images"][1]["width"]
    with pytest.raises(
        RowError,
        match=r"polygons need the size of the image for (detection_id 2|annotation_id 12); give th",
    ):
        summary(truth, results, kind, tmp_path, iou_type="segm")


@pytest.mark.parametrize("iou_type", ["segm", "boundary"])
@in_memory_and_as_files
def test_run_lengths_of_another_size_are_warned_of(kind: str, iou_type: str, tmp_path: Path) -> None:
    truth, results = with_shape({"segmentation": LENGTHS})
    truth["images"][1] |= {"width": 90, "height": 80}
    with pytest.warns(MaskSizeWarning) as caught:
        assert summary(truth, results, kind, tmp_path, iou_type=iou_type)["AP"] == pytest.approx(1.0)
    named = ("detections", "detection_id 2"), ("annotations", "annotation_id 12")
    assert [str(warning.message) for warning in caught] == [
        f"{table}: size of the run lengths differs from the image size for {row}; masks are compared without resizing; were "
        "images resized?"
        for table, row in named
    ]


@in_memory_and_as_files
def test_boxes_of_run_lengths_of_another_size_are_warned_of(kind: str, tmp_path: Path) -> None:
    truth, results = with_shape({"segmentation": LENGTHS, "bbox": GONE})
    truth["images"][1] |= {"width": 90, "height": 80}
    with pytest.warns(MaskSizeWarning, match=r"for (annotation_id 12|detection_id 2); "):
        assert summary(truth, results, kind, tmp_path)["AP"] == pytest.approx(1.0)


def test_run_lengths_of_different_sizes_without_an_image_size() -> None:
    truth, results = with_shape({"segmentation": LENGTHS})
    truth["images"] = [{"id": 1}, {"id": 2}]
    assert summary(truth, results, iou_type="segm")["AP"] == pytest.approx(1.0)
    results[1]["segmentation"] = {"size": [10, 10], "counts": [0, 100]}
    message = r"^detections: size of the mask differs from the image's other masks for detection_id 2; encode all masks "
    with pytest.raises(RowError, match=message):
        summary(truth, results, iou_type="segm")


@pytest.mark.parametrize("place", [0, 1])
@in_memory_and_as_files
def test_only_some_results_have_boxes(place: int, kind: str, tmp_path: Path) -> None:
    truth, results = with_shape({"segmentation": OUTLINE})
    del results[place]["bbox"]
    if place == 0:  # the first row decides that there are none
        assert summary(truth, results, kind, tmp_path, iou_type="segm")["AP"] == pytest.approx(1.0)
        return
    with pytest.raises(RowError, match=r"^detections: bbox is missing or not four numbers for row 2; boxes are \["):
        summary(truth, results, kind, tmp_path, iou_type="segm")


@in_memory_and_as_files
def test_only_some_annotations_have_boxes(kind: str, tmp_path: Path) -> None:
    truth, results = with_shape({"segmentation": OUTLINE})
    del truth["annotations"][1]["bbox"]
    with pytest.raises(RowError, match=r"^annotations: bbox is missing or not four numbers for annotation_id 12; boxes are \["):
        summary(truth, results, kind, tmp_path, iou_type="segm")


# ---- other names, other shapes


NO_SHAPE = r"no column x, y, width, height; a box \(x, y, width, height\) or a shape \(mask, .*\) is needed"
# fields in the place of a box -> what the message asks
CALLED: dict[str, tuple[Json, str]] = {
    "times": ({"t-start": 0, "t-end": 4}, "start_time: t-start, end_time: t-end"),
    "a segment": ({"segment": [0, 4]}, "start_time and end_time: the two numbers of segment"),
    "a polygon": ({"poly": CORNERS}, "corners: poly"),
}
PLACES = [("annotations", name) for name in CALLED] + [("detections", name) for name in CALLED if name != "a polygon"]


@pytest.mark.parametrize("kind", ["memory", "file", "frame"])
@pytest.mark.parametrize(("table", "name"), PLACES)
def test_neither_box_nor_shape(name: str, kind: str, table: str, tmp_path: Path) -> None:
    fields, hint = CALLED[name]
    changed = with_shape(fields | {"bbox": GONE})
    truth, results = (changed[0], RESULTS) if table == "annotations" else (TRUTH, changed[1])
    with pytest.raises(ColumnError, match=rf"^{table}: {NO_SHAPE} \(did you mean {hint}\?\); there are ") as caught:
        if kind != "frame":
            summary(truth, results, kind, tmp_path)
        elif table == "annotations":
            frames: Any = {name: getattr(apf.read_coco(TRUTH), name) for name in ("images", "categories")}
            apf.Dataset(**frames, annotations=pl.DataFrame(truth["annotations"]).rename({"id": "annotation_id"}))
        else:
            summary(truth, pl.DataFrame(results))
    one_line(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("names", ["xmin ymin xmax ymax", "x1 y1 x2 y2"])
def test_columns_that_name_corners_are_boxes(names: str, kind: str, table: str, tmp_path: Path) -> None:
    corners = dict(zip(names.split(), (0, 0, 4, 4), strict=True)) | {"bbox": GONE}
    changed, boxes = with_shape(corners), with_shape({"bbox": [0, 0, 4, 4]})
    truth, results = (changed[0], boxes[1]) if table == "annotations" else (boxes[0], changed[1])
    assert summary(truth, results, kind, tmp_path) == summary(*boxes, kind, tmp_path)


@pytest.mark.parametrize("side", ["annotations", "detections"])
@in_memory_and_as_files
def test_intervals_are_no_boxes(kind: str, side: str, tmp_path: Path) -> None:
    intervals, boxes = with_shape(SHAPES["activitynet"][1] | {"bbox": GONE}), (TRUTH, RESULTS)
    truth, results = (intervals[0], boxes[1]) if side == "annotations" else (boxes[0], intervals[1])
    message = f"^{side}: no boxes; there are start_time, end_time: did you mean protocol activitynet[?]$"
    with pytest.raises(ColumnError, match=message):
        summary(truth, results, kind, tmp_path)
    same = summary(*intervals, kind, tmp_path, similarity=lambda pairs: pairs["start_time"] == pairs["start_time_right"])
    assert same["AP"] == pytest.approx(1.0)


@pytest.mark.slow
@in_memory_and_as_files
def test_keypoints_alone_are_not_compared_as_boxes_in_silence(kind: str, tmp_path: Path) -> None:
    person = {"keypoints": [5, 5, 2] * 17, "num_keypoints": 17}
    truth, results = with_shape(person)
    alone = [{name: value for name, value in row.items() if name != "bbox"} for row in results]
    with pytest.warns(BoxFormatWarning, match=r"^the detections have keypoints and no boxes, .* use iou_type=\"keypoints\"$"):
        summary(truth, alone, kind, tmp_path)
    with warnings.catch_warnings(action="error"):
        summary(truth, results, kind, tmp_path)
        summary(truth, alone, kind, tmp_path, iou_type="keypoints")


# a field of the second annotation, which nothing finds -> AP of the protocol, where 1 says that it does not count
ALIASES: dict[str, tuple[str, str, str]] = {
    "difficult": ("voc2012", "difficult", "ignore"),
    "IsGroupOf": ("coco", "IsGroupOf", "iscrowd"),
    "is_group_of": ("coco", "is_group_of", "iscrowd"),
}


@pytest.mark.slow
@pytest.mark.parametrize("value", [1, True])
@pytest.mark.parametrize("kind", ["memory", "file", "frame"])
@pytest.mark.parametrize(("protocol", "alias", "name"), ALIASES.values(), ids=ALIASES)
def test_other_names_of_flags(protocol: str, alias: str, name: str, kind: str, value: Any, tmp_path: Path) -> None:
    truth = copy.deepcopy(TRUTH)
    for row, flag in zip(truth["annotations"], (type(value)(0), value), strict=True):
        row[alias] = flag
    if kind == "file":
        (tmp_path / "truth.json").write_text(json.dumps(truth))
    frames: Any = {table: getattr(apf.read_coco(TRUTH), table) for table in ("images", "categories", "annotations")}
    bare = frames["annotations"].drop("is_crowd").with_columns(pl.Series(alias, [type(value)(0), value]))
    dataset = {
        "memory": lambda: apf.read_coco(truth),
        "file": lambda: apf.read_coco(tmp_path / "truth.json"),
        "frame": lambda: apf.Dataset(**frames | {"annotations": bare}),
    }[kind]()
    assert summary(TRUTH, RESULTS[:1], protocol=protocol)["AP"] == pytest.approx(0.5)
    assert summary(dataset, RESULTS[:1], protocol=protocol)["AP"] == pytest.approx(1.0)
    assert alias not in dataset.annotations.columns
    apf.write_coco(dataset, tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text())["annotations"]
    assert [row[name] for row in written] == [0, 1]
    assert not [row for row in written if alias in row]


@in_memory_and_as_files
def test_a_name_of_our_own_goes_before_others(kind: str, tmp_path: Path) -> None:
    truth = copy.deepcopy(TRUTH)
    truth["annotations"][1] |= {"ignore": 0, "difficult": 1}
    assert summary(truth, RESULTS[:1], kind, tmp_path, protocol="voc2012")["AP"] == pytest.approx(0.5)
    read = apf.read_coco(tmp_path / "truth.json" if kind == "file" else truth).annotations
    assert read.select("ignore", "difficult").rows() == [(False, None), (False, 1)]


@in_memory_and_as_files
def test_words_are_no_flags(kind: str, tmp_path: Path) -> None:
    truth = copy.deepcopy(TRUTH)
    truth["annotations"][1]["difficult"] = "hard"
    assert summary(truth, RESULTS[:1], kind, tmp_path, protocol="voc2012")["AP"] == pytest.approx(0.5)
    read = apf.read_coco(tmp_path / "truth.json" if kind == "file" else truth).annotations
    assert read["difficult"].to_list() == [None, "hard"]


def test_lists_of_arrays_as_bitmaps() -> None:
    np = pytest.importorskip("numpy")
    truth, _ = with_shape({"segmentation": LENGTHS})
    bitmap = np.zeros((100, 100), dtype=np.uint8)
    bitmap[:40, 0] = 1
    assert summary(truth, frame_of(mask=[bitmap, bitmap]), iou_type="segm")["AP"] == pytest.approx(1.0)


@pytest.mark.parametrize(("protocol", "n_warnings"), [("dota", 1), ("coco", 2)])
@in_memory_and_as_files
def test_angles_in_degrees(kind: str, protocol: str, n_warnings: int, tmp_path: Path) -> None:
    truth, results = with_shape(SHAPES["angle"][1])
    results[1]["angle"] = 30
    with pytest.warns(UnitWarning, match=r"^detections: angle is in radians; 30.0 looks like degrees$") as caught:
        summary(truth, results, kind, tmp_path, protocol=protocol)
    assert [Path(str(warning.filename)).name for warning in caught] == ["test_bad_shapes.py"] * n_warnings


def test_fourteen_keypoints() -> None:
    truth, results = with_shape({"keypoints": POINTS[:42], "num_keypoints": 14})
    message = "14 keypoints, but there are 17 sigmas; .* for each keypoint: .*, or choose the protocol crowdpose$"
    with pytest.raises(ParameterError, match=message):
        summary(truth, results, iou_type="keypoints")


# ---- proposals


@pytest.mark.slow
@pytest.mark.parametrize("category", [GONE, None, 0, 9, "object"])
@pytest.mark.parametrize("kind", ["memory", "file", "frame"])
def test_proposals_need_no_category(kind: str, category: Any, tmp_path: Path) -> None:
    results = [dict(row) for row in RESULTS]
    for row in results:
        change(row, {"category_id": category})
    for chosen in (None, ["dog"]):
        options = {"protocol": "proposals", "categories": chosen}
        if kind == "frame":
            values = summary(TRUTH, pl.DataFrame(results), **options)
        else:
            values = summary(TRUTH, results, kind, tmp_path, **options)
        assert values["AR100"] == pytest.approx(1.0)
    if category in (GONE, None, "object"):
        with pytest.raises(InputError, match="category_id"):
            summary(TRUTH, results, agnostic=True)


# ---- lists of categories


@in_memory_and_as_files
def test_lvis_without_lists(kind: str, tmp_path: Path) -> None:
    truth = TRUTH | {"categories": [{"id": 1, "frequency": "r"}, {"id": 2, "frequency": "c"}]}
    message = (
        "^LVIS: the images have no column pos_category_ids, neg_category_ids, not_exhaustive_category_ids: a category is "
        "judged only where it is annotated$"
    )
    with pytest.warns(MissingColumnWarning, match=message) as caught:
        assert summary(truth, RESULTS, kind, tmp_path, protocol="lvis")["APr"] == pytest.approx(1.0)
    assert [Path(str(warning.filename)).name for warning in caught] == ["test_bad_shapes.py"]


@in_memory_and_as_files
def test_lvis_with_other_frequencies(kind: str, tmp_path: Path) -> None:
    truth = copy.deepcopy(TRUTH)
    truth["images"][0]["neg_category_ids"] = []
    truth["categories"] = [{"id": 1, "frequency": "rare"}, {"id": 2, "frequency": "c"}]
    message = "^LVIS: categories.frequency is 'r', 'c', 'f'; there is 'rare', so APr, APf are null$"
    with pytest.warns(UnknownValueWarning, match=message) as caught:
        assert summary(truth, RESULTS, kind, tmp_path, protocol="lvis")["APr"] is None
    assert [Path(str(warning.filename)).name for warning in caught] == ["test_bad_shapes.py"]


@in_memory_and_as_files
def test_one_parent_is_no_list(kind: str, tmp_path: Path) -> None:
    truth = TRUTH | {"categories": [{"id": 1}, {"id": 2, "parent_id": 1}]}
    message = r"^categories: no column parent_ids; make it from parent_id: a list, \[7\] for 7 and \[\] for none$"
    with pytest.raises(ColumnError, match=message):
        summary(truth, RESULTS, kind, tmp_path, protocol="open_images")
    assert summary(truth, RESULTS, kind, tmp_path, protocol="voc2012")["AP"] == pytest.approx(1.0)


# what stands in the list -> error, and what the message says; {0} is the column
BAD_LISTS: dict[str, tuple[Any, type[ApframeError], str]] = {
    "unknown": (
        [9],
        UnknownIdError,
        "{1}: {0} has ids that are not among the categories for {2} 2; unknown: 9; add them to ",
    ),
    "several unknown": ([9, 1, 8], UnknownIdError, "{1}: {0} has ids that are not among .* for {2} 2; unknown: 9, 8; "),
    "a number": (1, RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
    "a name": ("cat", RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
    "an object": ({"a": 1}, RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
    "names": (
        ["cat"],
        IdTypeError,
        "{1}.{0} holds strings, not integers like categories.category_id; cast .* same type; lists must hold ids, not names$",
    ),
    "ids and names": ([1, "cat"], RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
    "a fraction": ([1.5], RowError, "{1}: {0} is not a whole number for {2} 2; correct these rows$"),
    "a list in the list": ([[1]], RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
    "null in the list": ([None], RowError, "{1}: {0} .* for {2} 2; "),
    "a truth value": ([True], RowError, "{1}: {0} is not a list of ids for {2} 2; correct these rows$"),
}
LISTS = {
    "neg_category_ids": ("lvis", "images", "image_id"),
    "pos_category_ids": ("open_images_challenge", "images", "image_id"),
    "not_exhaustive_category_ids": ("lvis", "images", "image_id"),
    "parent_ids": ("open_images", "categories", "category_id"),
}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
@pytest.mark.parametrize("column", LISTS)
@in_memory_and_as_files
@pytest.mark.parametrize(("value", "error", "message"), BAD_LISTS.values(), ids=BAD_LISTS)
def test_bad_lists(value: Any, error: type[ApframeError], message: str, kind: str, column: str, tmp_path: Path) -> None:
    protocol, table, key = LISTS[column]
    truth = copy.deepcopy(TRUTH)
    truth[table][0][column] = []
    truth[table][1][column] = value
    with pytest.raises(error, match=message.format(column, table, key)) as caught:
        summary(truth, RESULTS, kind, tmp_path, protocol=protocol)
    one_line(caught.value)


@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
@pytest.mark.parametrize("column", LISTS)
def test_lists_of_a_frame_that_are_none(column: str) -> None:
    protocol, table, _ = LISTS[column]
    frames = {name: getattr(apf.read_coco(TRUTH), name) for name in ("images", "categories", "annotations")}
    frames[table] = frames[table].with_columns(pl.lit(1).alias(column))
    with pytest.raises(ColumnError, match=rf"^{table}.{column} must hold lists of ids, not Int32$"):
        apf.evaluate(apf.Dataset(**frames), RESULTS, protocol)


CYCLES: dict[str, tuple[list[list[int]], str]] = {
    "of one": ([[1], []], "1"),
    "of two": ([[2], [1]], "1, 2"),
    "beside a tree": ([[2], [1], [1], []], "1, 2"),
    "of three": ([[2], [3], [1]], "1, 2, 3"),
}


@pytest.mark.slow
@in_memory_and_as_files
@pytest.mark.parametrize(("parents", "named"), CYCLES.values(), ids=CYCLES)
def test_hierarchy_with_a_cycle(parents: list[list[int]], named: str, kind: str, tmp_path: Path) -> None:
    categories = [{"id": number, "parent_ids": above} for number, above in enumerate(parents, 1)]
    message = rf"^categories: the hierarchy has a cycle: .* for category_id {named}; remove one of these parent_ids$"
    with pytest.raises(RowError, match=message):
        summary(TRUTH | {"categories": categories}, RESULTS, kind, tmp_path, protocol="open_images")
    other = {"protocol": "voc2012"}  # which looks at no hierarchy
    assert summary(TRUTH | {"categories": categories}, RESULTS, kind, tmp_path, **other)["AP"] == pytest.approx(1.0)


# ---- options


@in_memory_and_as_files
@pytest.mark.parametrize(("name", "iou_type", "there_are"), [
    ("coco", "seg", "bbox, segm, keypoints, boundary"), ("voc2007", "segm", "bbox"),
    ("lvis", "keypoints", "bbox, segm, boundary"),
    ("dota", "bbox", "rotated"), ("crowdpose", "segm", "keypoints"), ("activitynet", "bbox", "interval"),
])  # fmt: skip
def test_variants_that_a_protocol_has_not(name: str, iou_type: str, there_are: str, kind: str, tmp_path: Path) -> None:
    message = f"^{name.upper()} has no iou_type '{iou_type}'; it has {there_are}$"
    with pytest.raises(ParameterError, match=message):
        summary(TRUTH, RESULTS, kind, tmp_path, protocol=name, iou_type=iou_type)


def test_lvis_with_two_limits() -> None:
    message = r"^LVIS limits detections per image: max_detections must be one number, not \(100, 300\)$"
    with pytest.raises(ParameterError, match=message):
        summary(TRUTH, RESULTS, protocol="lvis", max_detections=[300, 100])


SIGMAS: dict[str, tuple[Any, str]] = {
    "too few": (
        (0.1,) * 5,
        r"^all objects have 17 keypoints, but there are 5 sigmas; give 17 sigmas, one for",
    ),
    "too many": (
        (0.1,) * 18,
        r"^all objects have 17 keypoints, but there are 18 sigmas; give 17 sigmas",
    ),
    "none": ((), r"^sigmas must be positive numbers, one for each keypoint, got \[\]$"),
    "negative": ((0.1, -1), r"^sigmas must be positive numbers, one for each keypoint, got \[0.1, -1.0\]$"),
    "NaN": ((nan,), r"^sigmas must be positive numbers"),
    "words": (("x",), r"^sigmas must be numbers, one for each keypoint, "),
    "a number": (0.1, r"^sigmas must be numbers, one for each keypoint, "),
}


@pytest.mark.parametrize(("sigmas", "message"), SIGMAS.values(), ids=SIGMAS)
def test_sigmas(sigmas: Any, message: str) -> None:
    truth, results = with_shape(SHAPES["keypoints"][1])
    with pytest.raises(ParameterError, match=message):
        summary(truth, results, iou_type="keypoints", similarity=apf.similarity.OKS(sigmas=sigmas))


# functions of a user -> error and message; there are three pairs, of the detections 1, 2, 3
FUNCTIONS: dict[str, tuple[Callable[[pl.DataFrame], Any], type[ApframeError], str]] = {
    "one value": (lambda _: [0.5], ParameterError, "must return one value per row: 3, not 1; return a column, "),
    "a literal": (lambda _: pl.lit(1.0), ParameterError, "must return one value per row: 3, not 1; return a column, "),
    "one too many": (lambda pairs: [0.5] * (pairs.height + 1), ParameterError, "must return one value per row: 3, not 4$"),
    "a number": (lambda _: 0.5, ParameterError, "must return one value per row, not the number 0.5; return a column, "),
    "nothing": (lambda _: None, ParameterError, "must return one number per row, not None"),
    "words": (lambda pairs: ["a"] * pairs.height, ParameterError, "must return numbers in .*, not String$"),
    "an unknown column": (lambda _: pl.col("nope"), ParameterError, 'the expression failed: unable to find column "nope"'),
    "NaN": (lambda pairs: [nan] * pairs.height, RowError, r"is not in \[0, 1\] for .* \(.*\), \(.*\), \(.*\); return"),
    "above 1": (
        lambda _: pl.when(pl.col("detection_id") == 2).then(1.5).otherwise(0.5), RowError,
        r"is not in \[0, 1\] for \(detection_id, annotation_id\) \(2, 12\); return null where the two cannot be a pair",
    ),
    "below 0": (lambda pairs: pairs["score"] - 0.5, RowError, r"is not in \[0, 1\] for .* \(3, 11\); return null"),
}  # fmt: skip


@pytest.mark.parametrize(("function", "error", "message"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(function: Callable[[pl.DataFrame], Any], error: type[ApframeError], message: str) -> None:
    results = [*RESULTS, RESULTS[0] | {"score": 0.1, "bbox": [1, 1, 5, 5]}]
    with pytest.raises(error, match=f"^(pairs: )?a function of your own:? {message}") as caught:
        summary(TRUTH, results, similarity=function)
    one_line(caught.value)


@pytest.mark.slow
def test_pairs_are_named_in_the_order_of_their_ids() -> None:
    results = [RESULTS[number % 2] | {"score": number / 1000} for number in range(300)]
    for _ in range(10):
        with pytest.raises(RowError) as caught:
            summary(TRUTH, results, similarity=lambda pairs: [nan] * pairs.height)
        assert caught.value.rows == [(number, 12 - number % 2) for number in range(1, 301)]


@pytest.mark.parametrize("similarity", [3, "box_iou", apf.similarity.BoxIoU, [0.5], {"name": "nothing"}])
def test_what_is_no_similarity(similarity: Any) -> None:
    with pytest.raises(ParameterError, match=r"^.* is not a similarity; use one such as apframe.similarity.BoxIoU\(\) or "):
        summary(TRUTH, RESULTS, similarity=similarity)
