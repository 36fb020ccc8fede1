"""Masks against pycocotools, bit by bit: every kind of column, its pixels, boxes and areas, IoU, and every error."""

from __future__ import annotations

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as reference

from apframe.exceptions import ColumnError, InputError, MaskSizeWarning, RowError
from apframe.similarity.mask_iou import MaskIoU
from apframe.tables.shapes import pixel_runs
from apframe.tables.shapes.intersections import intersect
from apframe.tables.shapes.mask_columns import mask_extents, read_masks
from apframe.tables.shapes.pixel_runs import Runs, in_blocks

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools
REAL = Path(__file__).parents[3] / "shared" / "data" / "coco-val2014-100"

sizes = st.tuples(st.integers(1, 24), st.integers(1, 24))
numbers = st.one_of(
    st.floats(-8, 32, allow_nan=False),
    st.integers(-8, 32).map(float),
    st.integers(-16, 64).map(lambda n: n / 2),
    st.integers(-80, 320).map(lambda n: n / 10),
    st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, -0.1, -0.3, 4.1, 1e4, -1e4]),
)
polygons = st.lists(st.lists(numbers, min_size=6, max_size=14).map(lambda p: p[: len(p) // 2 * 2]), min_size=1, max_size=3)


@st.composite
def bitmaps(draw: st.DrawFn, size: tuple[int, int]) -> np.ndarray:
    """Noise, rectangles, chequers, nothing, everything."""
    height, width = size
    rows, columns = np.indices(size)
    kind = draw(st.sampled_from(["noise", "rectangle", "chequers", "stripes", "nothing", "everything"]))
    if kind == "noise":
        return np.random.default_rng(draw(st.integers(0, 999))).random(size) < draw(st.sampled_from([0.2, 0.5, 0.9]))
    if kind == "rectangle":
        left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
        right, bottom = draw(st.integers(left, width)), draw(st.integers(top, height))
        return (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
    return {
        "chequers": (rows + columns) % 2 == 1,
        "stripes": rows % 3 == 0,
        "nothing": np.zeros(size, dtype=bool),
        "everything": np.ones(size, dtype=bool),
    }[kind]


@st.composite
def images(draw: st.DrawFn) -> list[tuple[int, int, list[np.ndarray]]]:
    """Images of different sizes, each with some bitmaps."""
    return [
        (*size, draw(st.lists(bitmaps(size), min_size=1, max_size=4))) for size in draw(st.lists(sizes, min_size=1, max_size=3))
    ]


def encoded(bitmap: np.ndarray) -> dict[str, Any]:
    return reference.encode(np.asfortranarray(bitmap.astype(np.uint8)))


def as_text(bitmap: np.ndarray) -> str:
    encoding = encoded(bitmap)
    return json.dumps({"size": encoding["size"], "counts": encoding["counts"].decode()})


def counted(bitmap: np.ndarray) -> list[int]:
    flat = bitmap.ravel(order="F")
    edges = np.flatnonzero(np.diff(flat, prepend=False))
    return np.diff(np.concatenate([[0], edges, [flat.size]])).tolist()


def as_counts(bitmap: np.ndarray) -> str:
    return json.dumps({"counts": counted(bitmap), "size": list(bitmap.shape)})


def as_list(bitmap: np.ndarray) -> list[list[int]]:
    return bitmap.astype(int).tolist()


def dense(masks: Runs, number: int) -> np.ndarray:
    """How often each pixel is in a run of the mask: once at most."""
    pixels = np.zeros((masks.height[number], masks.width[number]), dtype=int)
    for run in range(masks.start[number], masks.stop[number]):
        pixels[masks.top[run] : masks.bottom[run], masks.column[run]] += 1
    return pixels


def frame(masks: list[Any], height: Any = None, width: Any = None, **columns: Any) -> pl.DataFrame:
    """Annotations, with the sizes of their images, one image each unless told."""
    table = pl.DataFrame({"mask": masks, **columns}, strict=False)
    if "image_id" not in columns:
        table = table.with_columns(image_id=pl.int_range(pl.len()))
    return table.with_columns(
        annotation_id=pl.int_range(11, 11 + pl.len()),
        detection_id=pl.int_range(51, 51 + pl.len()),
        image_height=pl.Series([height] * len(masks) if not isinstance(height, list) else height, dtype=pl.Int64),
        image_width=pl.Series([width] * len(masks) if not isinstance(width, list) else width, dtype=pl.Int64),
    )


def paired(found: pl.DataFrame, expected: pl.DataFrame, least: float = 1e-9) -> dict[tuple[int, int], float]:
    result = MaskIoU().pair(found, expected, least)
    assert result.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return {(detection, annotation): similarity for detection, annotation, similarity in result.rows()}


# pixels, boxes and areas


@pytest.mark.slow
@given(st.lists(st.tuples(polygons, sizes), min_size=1, max_size=8))
def test_polygons_are_drawn_as_the_reference_draws_them(objects: list[tuple[Any, tuple[int, int]]]) -> None:
    shapes, of_image = zip(*objects, strict=True)
    height, width = [h for h, _ in of_image], [w for _, w in of_image]
    masks = read_masks("annotations", frame([json.dumps(shape) for shape in shapes], height, width))
    for number, (shape, size) in enumerate(objects):
        drawn = reference.merge(reference.frPyObjects(shape, *size))
        np.testing.assert_array_equal(dense(masks, number), reference.decode(drawn))
        check_extents(masks, number, drawn)


def check_extents(masks: Runs, number: int, encoding: dict[str, Any]) -> None:
    left, top, right, bottom = masks.box[number].tolist()
    assert masks.area[number] == reference.area(encoding)
    if masks.area[number]:
        assert [left, top, right - left, bottom - top] == reference.toBbox(encoding).tolist()
    else:
        assert [left, top, right, bottom] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "points",
    [
        [0, 0, 0, 0, 0, 0],
        [3, 3, 3, 3, 3, 3, 3, 3],
        [1, 1, 9, 1, 5, 1],
        [2, 0, 2, 9, 2, 4],
        [1, 1, 9, 9, 1, 1, 9, 9],
        [0, 0, 10, 0, 10, 12, 0, 12],
        [-5, -5, 50, -5, 50, 50, -5, 50],
        [20, 20, 30, 20, 25, 30],
        [-9, 2, -3, 2, -4, 8],
        [0.5, 0.5, 9.5, 0.5, 9.5, 11.5, 0.5, 11.5],
        [4.4, 4.4, 4.5, 4.4, 4.5, 4.5],
        [0, 0, 10, 12, 10, 0, 0, 12],
        [0, 12, 10, 12, 10, 13, 0, 13],
    ],
)
def test_polygons_of_a_special_shape(points: list[float]) -> None:
    drawn = reference.frPyObjects([points], 12, 10)[0]
    masks = read_masks("annotations", frame([json.dumps([points])], 12, 10))
    np.testing.assert_array_equal(dense(masks, 0), reference.decode(drawn))
    check_extents(masks, 0, drawn)


@pytest.mark.slow
@given(images())
def test_all_kinds_of_encodings_hold_the_same_mask(of_images: list[tuple[int, int, list[np.ndarray]]]) -> None:
    pixels = [bitmap for *_, of_image in of_images for bitmap in of_image]
    height, width = [bitmap.shape[0] for bitmap in pixels], [bitmap.shape[1] for bitmap in pixels]
    encodings = [encoded(bitmap) for bitmap in pixels]
    columns = [
        frame([as_text(bitmap) for bitmap in pixels], height, width),
        frame([as_counts(bitmap) for bitmap in pixels]),
        frame([(as_text, as_counts)[k % 2](bitmap) for k, bitmap in enumerate(pixels)], height, width),
        frame([{"size": list(bitmap.shape), "counts": counted(bitmap)} for bitmap in pixels]),
        frame([{"size": e["size"], "counts": e["counts"].decode()} for e in encodings]),
        frame([as_list(bitmap) for bitmap in pixels], height, width),
        frame([bitmap.tolist() for bitmap in pixels]),
    ]
    for column in columns:
        masks = read_masks("annotations", column)
        for number, bitmap in enumerate(pixels):
            np.testing.assert_array_equal(dense(masks, number), bitmap)
            check_extents(masks, number, encodings[number])
            inside = slice(masks.start[number], masks.stop[number])
            columns_and_rows = list(zip(masks.column[inside], masks.top[inside], strict=True))
            assert columns_and_rows == sorted(columns_and_rows)


def test_polygons_that_reach_far_out() -> None:
    far = [[-1e300, 2.0, 1e300, 2.0, 1e300, 5.0, -1e300, 5.0]]
    assert dense(read_masks("annotations", frame([far], 8, 3)), 0).tolist() == [[int(2 <= y < 5)] * 3 for y in range(8)]


def test_polygons_as_a_column_of_lists() -> None:
    square = [1.0, 1.0, 4.0, 1.0, 4.0, 4.0, 1.0, 4.0]
    other = [3.0, 3.0, 6.0, 3.0, 6.0, 6.0, 3.0, 6.0]
    masks = read_masks("annotations", frame([[square], [square, other]], 8, 8))
    assert masks.area.tolist() == [9, 9 + 9 - 1]


def test_bitmaps_as_a_column_of_arrays() -> None:
    bitmap = pl.Series("mask", [[[0, 1, 1], [0, 0, 1]]], dtype=pl.Array(pl.UInt8, (2, 3)))
    table = pl.DataFrame({"annotation_id": [1], "mask": bitmap})
    assert dense(read_masks("annotations", table), 0).tolist() == [[0, 1, 1], [0, 0, 1]]


def test_counts_of_zero_between_runs_join_these() -> None:
    masks = read_masks("annotations", frame(['{"size": [4, 2], "counts": [0, 1, 0, 2, 1, 0, 0, 4, 0]}']))
    assert (masks.top.tolist(), masks.bottom.tolist(), masks.box.tolist()) == ([0, 0], [3, 4], [[0, 0, 2, 4]])


@pytest.mark.slow
def test_more_numbers_than_a_block_holds() -> None:
    rng = np.random.default_rng(0)
    pixels = [rng.random((97, 83)) < 0.5 for _ in range(150)]
    masks = read_masks("detections", frame([as_text(bitmap) for bitmap in pixels]))
    assert masks.area.tolist() == [bitmap.sum() for bitmap in pixels]
    others = read_masks("detections", frame([as_counts(bitmap) for bitmap in pixels[1:] + pixels[:1]]))
    numbers = np.arange(150)
    common = [int((a & b).sum()) for a, b in zip(pixels, pixels[1:] + pixels[:1], strict=True)]
    assert intersect(masks, others, numbers, numbers).tolist() == common


def as_outline(bitmap: np.ndarray) -> str:
    """The rectangle around all pixels, and a triangle."""
    height, width = bitmap.shape
    return json.dumps([[0, 0, width, 0, width, height, 0, height], [1, 1, 9, 90, 50, 90]])


@pytest.mark.parametrize("draw", [as_text, as_counts, as_outline])
@pytest.mark.parametrize("filled", [0.5, 0.99])  # where few pixels are outside, runs go on in the next column: there is no room
def test_blocks_are_joined(draw: Any, filled: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    table = frame([draw(rng.random((97, 83)) < filled) for _ in range(5)], 97, 83)
    whole = read_masks("annotations", table)
    monkeypatch.setattr(pixel_runs, "BLOCK", 500)
    parts = read_masks("annotations", table)
    assert not (whole.area != parts.area).any()
    assert not (whole.box != parts.box).any()
    assert not (pixel_runs.to_bitmaps(whole) != pixel_runs.to_bitmaps(parts)).any()


def test_extents_are_those_of_the_pixels() -> None:
    bitmap = np.zeros((6, 9), dtype=bool)
    bitmap[2:4, 3:8] = True
    extents = mask_extents(read_masks("detections", frame([as_text(bitmap), as_text(np.zeros((6, 9), dtype=bool))])))
    assert extents.rows() == [(3.0, 2.0, 5.0, 2.0, 10.0), (0.0, 0.0, 0.0, 0.0, 0.0)]


@pytest.mark.parametrize("dtype", [pl.Null, pl.String, pl.List(pl.List(pl.Float64)), pl.List(pl.List(pl.UInt8)),
                                   pl.Struct({"size": pl.List(pl.Int64), "counts": pl.String})])  # fmt: skip
def test_no_rows(dtype: Any) -> None:
    empty = frame([]).with_columns(mask=pl.Series([], dtype=dtype), cell=pl.Series([], dtype=pl.Int64))
    assert len(read_masks("annotations", empty)) == 0
    assert MaskIoU().pair(empty, empty.with_columns(is_crowd=pl.lit(False)), 0.5).height == 0


# pairs


@pytest.mark.slow
@given(images(), st.data(), st.sampled_from([1e-9, 0.3, 0.5, 0.9, 1.0]))
def test_iou_is_that_of_the_reference(
    of_images: list[tuple[int, int, list[np.ndarray]]], data: st.DataObject, least: float
) -> None:
    rows: dict[str, list[tuple[int, np.ndarray, bool]]] = {"found": [], "expected": []}
    for image, (*size, pixels) in enumerate(of_images):
        for bitmap in pixels:
            rows["found"].append((image, bitmap, False))
        for bitmap in data.draw(st.lists(bitmaps(tuple(size)), min_size=1, max_size=4)):
            rows["expected"].append((image, bitmap, data.draw(st.booleans())))
    found, expected = (
        frame(
            [data.draw(st.sampled_from([as_text, as_counts]))(bitmap) for _, bitmap, _ in part],
            image_id=[image for image, *_ in part],
            cell=[image for image, *_ in part],
            is_crowd=[is_crowd for *_, is_crowd in part],
        )
        for part in rows.values()
    )
    by_reference = {}
    for d, (image, bitmap, _) in enumerate(rows["found"]):
        for a, (other, truth, is_crowd) in enumerate(rows["expected"]):
            if image == other:
                iou = float(reference.iou([encoded(bitmap)], [encoded(truth)], [is_crowd])[0, 0])
                if iou >= least:
                    by_reference[d, a] = iou
    assert paired(found.drop("is_crowd"), expected, least) == by_reference


@pytest.mark.slow
@given(st.lists(polygons, min_size=1, max_size=4), st.lists(polygons, min_size=1, max_size=4), sizes)
def test_iou_of_polygons_is_that_of_the_reference(found: list[Any], expected: list[Any], size: tuple[int, int]) -> None:
    drawn = [[reference.merge(reference.frPyObjects(shape, *size)) for shape in shapes] for shapes in (found, expected)]
    iou = reference.iou(*drawn, [False] * len(expected))
    tables = [
        frame(
            [json.dumps(shape) for shape in shapes],
            *size,
            cell=[0] * len(shapes),
            is_crowd=[False] * len(shapes),
            image_id=[0] * len(shapes),
        )
        for shapes in (found, expected)
    ]
    assert paired(*tables) == {(d, a): iou[d, a] for d, a in np.argwhere(iou > 0).tolist()}


def test_masks_pair_up_within_a_cell_only() -> None:
    full = as_text(np.ones((3, 3), dtype=bool))
    detections = frame([full, full], cell=[1, 2], image_id=[1, 1])
    expected = frame([full, full], cell=[2, 3], image_id=[1, 1], is_crowd=[False, False])
    assert paired(detections, expected) == {(1, 0): 1.0}


def test_boxes_that_overlap_without_a_common_pixel_are_no_pair() -> None:
    chequers = np.indices((6, 6)).sum(axis=0) % 2 == 0
    found, expected = frame([as_text(chequers)], cell=[1]), frame([as_text(~chequers)], cell=[1], is_crowd=[True])
    assert paired(found, expected, 0.0) == {}


# errors

SQUARE = as_text(np.ones((4, 5), dtype=bool))
TRIANGLE = "[[0, 0, 4, 0, 2, 3]]"


@pytest.mark.parametrize(
    ("mask", "problem"),
    [
        (None, "mask is missing"),
        ("", "neither polygons nor run lengths"),
        ("null", "neither polygons nor run lengths"),
        ("7", "neither polygons nor run lengths"),
        ('{"size": [4, 5], "counts": "d0"', "neither polygons nor run lengths"),
        ('{"size": "4x5", "counts": "d0"}', "neither polygons nor run lengths"),
        ("[[0, 0, 4, 0, 2, 3]", "neither polygons nor run lengths"),
        ("[[0, 0, 4, 0, 2, 3]]\n[[1, 1, 4, 1, 2, 3]]", "neither polygons nor run lengths"),
        ('[[0, 0, 4, 0, 2, "3"]]', "neither polygons nor run lengths"),
        ("[]", "mask has no polygon"),
        ("[[0, 0, 4, 0, 2, 3], []]", "odd number of coordinates, or fewer than 6"),
        ("[[0, 0, 4, 0, 2, 3, 1]]", "odd number of coordinates, or fewer than 6"),
        ("[[0, 0, 4, 3]]", "odd number of coordinates, or fewer than 6"),
        ("[[0, 0, 4, 0, 2, NaN]]", "not a finite number"),
        ("[[0, 0, 4, 0, 2, null]]", "not a finite number"),
        ("[[0, 0, 4, 0, 2, 1e999]]", "not a finite number"),
        ('{"counts": "d0"}', "run lengths lack size or counts"),
        ('{"size": [4], "counts": "d0"}', "run lengths lack size or counts"),
        ('{"size": [4, 5], "counts": null}', "run lengths lack size or counts"),
        ('{"size": [0, 5], "counts": ""}', "is not positive"),
        ('{"size": [4, 5], "counts": ""}', "do not add up"),
        ('{"size": [4, 5], "counts": "c0"}', "do not add up"),
        ('{"size": [4, 5], "counts": "d"}', "cut off"),
        ('{"size": [4, 5], "counts": "d0!"}', "not valid COCO text"),
        ('{"size": [4, 5], "counts": "dddddddd0"}', "not valid COCO text"),
        ('{"size": [4, 5], "counts": "O5e0"}', "are negative"),
        ('{"size": [4, 5], "counts": [5, -1, 16]}', "are negative"),
        ('{"size": [4, 5], "counts": [5, 14]}', "do not add up"),
        ('{"size": [4, 5], "counts": []}', "do not add up"),
        ('{"size": [4, 5], "counts": [9223372036854775807, 9223372036854775807, 22]}', "do not add up"),
        ('{"size": [4, 5], "counts": [5, null]}', "run lengths are missing"),
    ],
)
def test_wrong_masks_are_named(mask: str | None, problem: str) -> None:
    table = frame([SQUARE, mask, TRIANGLE, mask], 4, 5)
    with pytest.raises(RowError, match=rf"^detections: .*{re.escape(problem)}.* for detection_id 52, 54; ") as caught:
        read_masks("detections", table)
    assert "\n" not in str(caught.value)
    assert caught.value.rows == [52, 54]


ZIGZAG = json.dumps([[number for row in range(5000) for number in (1000 * (row % 2), row)]])
FULL = '{"size": [%d, %d], "counts": [0, %d]}'
TOO_LARGE: dict[str, tuple[str, int, int, str]] = {
    "pixels": (FULL % (40_000, 40_000, 40_000**2), 40_000, 40_000, r"more than 2\*\*30 pixels, or 2\*\*20 a side"),
    "columns": (FULL % (1, 2**30, 2**30), 1, 2**30, r"more than 2\*\*30 pixels, or 2\*\*20 a side"),
    "rows": (FULL % (2**20 + 1, 1, 2**20 + 1), 2**20 + 1, 1, r"more than 2\*\*30 pixels, or 2\*\*20 a side"),
    "pixels of the image": (TRIANGLE, 40_000, 40_000, r"more than 2\*\*30 pixels, or 2\*\*20 a side"),
    "columns of the image": (TRIANGLE, 1, 2**40, r"more than 2\*\*30 pixels, or 2\*\*20 a side"),
    "zigzags": (ZIGZAG, 5000, 1000, r"the outline crosses more than 2\*\*22 columns of pixels, counted both ways,"),
    "many polygons": (
        f"[{', '.join([ZIGZAG[1:-1]] * 4)}]",
        5000,
        500,
        r"the outline crosses more than 2\*\*22 columns of pixels",
    ),
    "counts of 31 bits": ('{"size": [4, 5], "counts": [0, 2147483648]}', 4, 5, "do not add up to height × width"),
    "counts of 64 bits": ('{"size": [4, 5], "counts": [0, 9223372036854775808]}', 4, 5, "do not add up to height × width"),
    "counts of 32 bits, packed": ('{"size": [4, 5], "counts": "dPPPPP4"}', 4, 5, "do not add up to height × width"),
    "counts of 33 bits, packed": ('{"size": [4, 5], "counts": "dPPPPP8"}', 4, 5, "do not add up to height × width"),
    "counts of -33 bits, packed": ('{"size": [4, 5], "counts": "dPPPPPH"}', 4, 5, "do not add up to height × width"),
}


SQUARE_AND_MORE = ["[[30, 30], %s]", "[%s, [30, 30]]", "[%s, [30, 30, 90, 90]]", "[%s, [1, 2], %s, [3, 4, 5, 6]]"]


@pytest.mark.parametrize("written", SQUARE_AND_MORE)
def test_parts_of_one_or_two_points_have_no_pixels(written: str) -> None:
    square = "[10, 10, 60, 10, 60, 60, 10, 60]"
    several = read_masks("annotations", frame([f"[{square}]", written.replace("%s", square)], [100, 100], [100, 100]))
    assert several.area.tolist() == [2500, 2500]
    assert several.box[0].tolist() == several.box[1].tolist()


@pytest.mark.parametrize(("mask", "height", "width", "problem"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_masks_beyond_the_limits_are_named(mask: str, height: int, width: int, problem: str) -> None:
    tracemalloc.start()
    with pytest.raises(RowError, match=rf"^annotations: .*{problem}.* for annotation_id 12; ") as caught:
        read_masks("annotations", frame([SQUARE, mask], [4, height], [5, width]))
    assert "\n" not in str(caught.value)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000  # NumPy's too
    tracemalloc.stop()


@pytest.mark.parametrize("mask", [FULL % (8192, 8192, 8192**2), FULL % (20_000, 20_000, 20_000**2), FULL % (1, 2**20, 2**20),
    "[[0, 0, 20000, 0, 20000, 20000, 0, 20000]]"])  # fmt: skip
def test_large_masks_are_masks(mask: str) -> None:
    size = json.loads(mask)["size"] if mask.startswith("{") else [20_000, 20_000]
    assert read_masks("annotations", frame([mask], *size)).area.tolist() == [size[0] * size[1]]


@pytest.mark.parametrize("masks", [[SQUARE] * 9, ['{"size": [4, 5], "counts": "0d0"}'] * 9, ["[[0, 0, 5, 0, 5, 4, 0, 4]]"] * 9])
def test_small_texts_of_very_many_runs_are_refused(masks: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixel_runs, "MOST_RUNS", 30)
    monkeypatch.setattr(pixel_runs, "RUNS_PER_NUMBER", 1 / 4)
    monkeypatch.setattr(pixel_runs, "BLOCK", 1)
    assert len(read_masks("annotations", frame(masks[:5], 4, 5))) == 5
    with pytest.raises(
        RowError, match=r"^annotations: all masks together have too many runs of pixels .* for .*19; take fewer"
    ):
        read_masks("annotations", frame(masks, 4, 5))


def test_stripes_of_too_many_runs_along_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stripes = read_masks("annotations", frame([as_text(np.indices((9, 9))[1] % 2 == 1)]))
    assert pixel_runs.transpose(stripes).area.tolist() == [36]
    monkeypatch.setattr(pixel_runs, "MOST_RUNS", 35)
    with pytest.raises(InputError, match=r"^a mask has 36 runs of pixels along its rows, too many to compute a boundary; use"):
        pixel_runs.transpose(stripes)


@pytest.mark.parametrize(("height", "width"), [(None, 5), (4, None), (0, 5), (2**16, 2**16)])
def test_polygons_need_the_size_of_the_image(height: int | None, width: int | None) -> None:
    with pytest.raises(RowError, match=r"^annotations: .*the size of the image.* for annotation_id 12; "):
        read_masks("annotations", frame([TRIANGLE, TRIANGLE], [4, height], [5, width]))


@pytest.mark.parametrize(
    ("bitmap", "problem"),
    [
        ([[0, 1], [1, 0], [1, 1]], "bitmap and image differ in size"),
        ([[0, 1, 1], [1, 0, 1]], "bitmap and image differ in size"),
        ([[0, 1], [1]], "rows of different lengths"),
        ([[], []], "rows of different lengths, or empty rows"),
        ([], "bitmap has no rows"),
        ([[0, 1], [None, 1]], "bitmap has missing pixels"),
    ],
)
def test_wrong_bitmaps_are_named(bitmap: list[list[int]], problem: str) -> None:
    with pytest.raises(RowError, match=rf"^annotations: .*{problem}.* for annotation_id 12; "):
        read_masks("annotations", frame([[[0, 1], [1, 0]], bitmap], 2, 2))


@pytest.mark.parametrize(
    ("polygon", "problem"),
    [
        ([[0.0, 0.0, 4.0, 0.0, 2.0, None]], "not a finite number"),
        ([[0.0, float("inf"), 4.0, 0.0, 2.0, 3.0]], "not a finite number"),
        ([None], "fewer than 6"),
    ],
)
def test_wrong_polygons_in_lists_are_named(polygon: Any, problem: str) -> None:
    with pytest.raises(RowError, match=rf"^annotations: .*{problem}.* for annotation_id 12; "):
        read_masks("annotations", frame([[[0.0, 0.0, 4.0, 0.0, 2.0, 3.0]], polygon], 4, 5))


@pytest.mark.parametrize("column", [[1, 2], [[1.0, 2.0]], [{"size": [1, 2]}], [[["x"]]]])
def test_other_columns_are_an_error(column: list[Any]) -> None:
    with pytest.raises(ColumnError, match=r"^annotations\.mask: "):
        read_masks("annotations", frame(column))


def test_masks_of_an_image_of_unknown_size_must_agree() -> None:
    small, large = as_text(np.ones((4, 4), dtype=bool)), as_text(np.ones((4, 5), dtype=bool))
    expected = frame([small, large], image_id=[1, 2], cell=[1, 2], is_crowd=[False, False])
    with pytest.raises(RowError, match=r"^detections: size .* for detection_id 52; "):
        MaskIoU().pair(frame([small, small], image_id=[1, 2], cell=[1, 2]), expected, 0.5)
    with pytest.raises(RowError, match=r"^annotations: size .* for annotation_id 12; "):
        MaskIoU().pair(frame([small], image_id=[1], cell=[1]), expected.with_columns(image_id=pl.lit(1, pl.Int64)), 0.5)


def test_masks_may_all_be_of_another_size_than_their_image() -> None:
    masks = [as_text(np.ones((4, 5), dtype=bool))]
    expected = frame(masks, [8], [10], image_id=[1], cell=[1], is_crowd=[False])
    detections = frame(masks, [8], [10], image_id=[1], cell=[1])
    with pytest.warns(MaskSizeWarning) as caught:
        assert MaskIoU().pair(detections, expected, 0.5).rows() == [(0, 0, 1.0)]
    assert [str(warning.message) for warning in caught] == [
        f"{table}: size of the run lengths differs from the image size for {table[:-1]}_id {row}; "
        "masks are compared without resizing; were images resized?"
        for table, row in (("detections", 51), ("annotations", 11))
    ]


# real data


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="the sample of COCO is not there")
def test_real_masks() -> None:
    truth = json.loads((REAL / "instances.json").read_text())
    results = json.loads((REAL / "detections_segm.json").read_text())
    size = {image["id"]: (image["height"], image["width"]) for image in truth["images"]}
    encodings, tables = [], []
    for rows in (results, truth["annotations"]):
        tables.append(
            frame(
                [json.dumps(row["segmentation"]) for row in rows],
                [size[row["image_id"]][0] for row in rows],
                [size[row["image_id"]][1] for row in rows],
                image_id=[row["image_id"] for row in rows],
                cell=[row["image_id"] for row in rows],
                is_crowd=[bool(row.get("iscrowd")) for row in rows],
            )
        )
        encodings.append([_drawn(row["segmentation"], *size[row["image_id"]]) for row in rows])
    for table, of_table in zip(tables, encodings, strict=True):
        extents = mask_extents(read_masks("annotations", table))
        assert extents["area"].to_list() == [float(reference.area(encoding)) for encoding in of_table]
        boxes = [reference.toBbox(encoding).tolist() for encoding in of_table]
        assert extents.select("x", "y", "width", "height").rows() == [tuple(box) for box in boxes]
    places: tuple[dict[int, list[int]], ...] = ({}, {})
    for of_image, table in zip(places, tables, strict=True):
        for place, image in enumerate(table["image_id"]):
            of_image.setdefault(image, []).append(place)
    by_reference = {}
    for image in places[0].keys() & places[1].keys():
        found, expected = places[0][image], places[1][image]
        crowd = [tables[1]["is_crowd"][a] for a in expected]
        iou = reference.iou([encodings[0][d] for d in found], [encodings[1][a] for a in expected], crowd)
        by_reference |= {(found[d], expected[a]): iou[d, a] for d, a in np.argwhere(iou >= 0.5).tolist()}
    assert paired(*tables, 0.5) == by_reference


def _drawn(mask: Any, height: int, width: int) -> Any:
    if isinstance(mask, list):
        return reference.merge(reference.frPyObjects(mask, height, width))
    return reference.frPyObjects(mask, height, width) if isinstance(mask["counts"], list) else mask


def test_blocks_hold_every_item_once() -> None:
    assert in_blocks(lambda first, last: (first, last), np.array([5, 1, 1, 9, 9, 0]), max_weight=4) == [(0, 3), (3, 4), (4, 6)]
    assert in_blocks(lambda first, last: (first, last), np.zeros(0, dtype=int)) == [(0, 0)]
