"""The mask functions against those of pycocotools 2.0.11: values, types, memory order and every error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as reference

from apframe.exceptions import ParameterError, RowError
from apframe.pycocotools import mask
from tests.similarity.test_mask_iou import bitmaps, counted, numbers, sizes

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of the reference
SQUARE = np.asfortranarray(np.pad(np.ones((2, 2), dtype=np.uint8), ((1, 1), (2, 1))))
ENCODED = {"size": [4, 5], "counts": b"92203"}
# the second is of 2 points, which the reference takes if it is not the first
outlines = st.lists(numbers, min_size=4, max_size=14).map(lambda outline: outline[: len(outline) // 2 * 2])
polygons = st.builds(
    lambda first, others: [first, *others],
    st.lists(numbers, min_size=6, max_size=14).map(lambda outline: outline[: len(outline) // 2 * 2]),
    st.lists(outlines, max_size=3),
)
boxes = st.lists(st.lists(st.one_of(st.integers(-9, 30).map(lambda n: n / 2), numbers), min_size=4, max_size=4), max_size=5)


@st.composite
def stacks(draw: st.DrawFn, most: int = 4) -> np.ndarray:
    """Bitmaps of one size, height × width × masks, as the reference wants them: columns first."""
    size = draw(sizes)
    masks = draw(st.lists(bitmaps(size), max_size=most))
    return np.asfortranarray(np.stack([*masks, np.zeros(size)], axis=2)[:, :, : len(masks)].astype(np.uint8))


def assert_same(found: Any, expected: Any) -> None:
    """Equal values of equal types, and arrays that lie in memory in the same order."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, strict=True)
        assert found.flags.f_contiguous == expected.flags.f_contiguous
    else:
        assert found == expected


@given(stacks())
def test_encode_gives_the_same_text(stack: np.ndarray) -> None:
    assert_same(mask.encode(stack), reference.encode(stack))
    for number in range(stack.shape[2]):
        one = np.asfortranarray(stack[:, :, number])
        assert_same(mask.encode(one), reference.encode(one))
        assert_same(mask.encode(one.astype(bool)), reference.encode(one))
        assert mask.encode(np.ascontiguousarray(one)) == reference.encode(one)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 5, 2), (4, 5, 0), (1, 1), (1, 1, 1), (700, 1300)])
@pytest.mark.parametrize("value", [0, 1])
def test_encode_takes_all_shapes(shape: tuple[int, ...], value: int) -> None:
    bitmap = np.full(shape, value, dtype=np.uint8, order="F")
    assert_same(mask.encode(bitmap), reference.encode(bitmap))


def test_runs_of_any_length_are_written_as_by_the_reference() -> None:
    steps = np.random.default_rng(7).integers(0, 2 ** np.arange(1, 19).repeat(8))
    counts = [1, *steps.tolist()]
    counts += [-sum(counts) % 8]
    encoding = {"size": [8, sum(counts) // 8], "counts": counts}
    assert_same(mask.frPyObjects(encoding, 0, 0), reference.frPyObjects(encoding, 0, 0))


@pytest.mark.slow
@given(stacks())
def test_decode_area_and_box_are_the_same(stack: np.ndarray) -> None:
    encodings = reference.encode(stack)
    for name in ("decode", "area", "toBbox") if encodings else ("area", "toBbox"):
        assert_same(getattr(mask, name)(encodings), getattr(reference, name)(encodings))
        for encoding in encodings:
            as_text = encoding | {"counts": encoding["counts"].decode()}
            assert_same(getattr(mask, name)(encoding), getattr(reference, name)(encoding))
            assert_same(getattr(mask, name)(as_text), getattr(reference, name)(encoding))


def test_decode_of_nothing_has_no_masks() -> None:
    assert mask.decode([]).shape == (0, 0, 0)  # of the reference, a height that is left over in memory


@given(stacks(), st.booleans())
def test_merge_gives_the_same_text(stack: np.ndarray, intersect: bool) -> None:
    encodings = reference.encode(stack)
    assert_same(mask.merge(encodings, intersect), reference.merge(encodings, intersect))
    assert_same(mask.merge(encodings, intersect=int(intersect)), reference.merge(encodings, intersect=intersect))


@given(stacks(), st.data())
def test_iou_of_masks_is_the_same(stack: np.ndarray, data: st.DataObject) -> None:
    encodings = reference.encode(stack)
    n_found = data.draw(st.integers(0, len(encodings)))
    n_expected = data.draw(st.integers(0, len(encodings)))
    flags = data.draw(st.lists(st.integers(0, 1), min_size=n_expected, max_size=n_expected))
    arguments = (encodings[:n_found], encodings[len(encodings) - n_expected :], flags)
    assert_same(mask.iou(*arguments), reference.iou(*arguments))


@given(boxes, boxes, st.data())
def test_iou_of_boxes_is_the_same(found: list[list[float]], expected: list[list[float]], data: st.DataObject) -> None:
    found, expected = ([[x, y, abs(w), abs(h)] for x, y, w, h in side] for side in (found, expected))
    flags = data.draw(st.lists(st.booleans(), min_size=len(expected), max_size=len(expected)))
    assert_same(mask.iou(found, expected, flags), reference.iou(found, expected, flags))
    arrays = [np.array(side, dtype=np.float64).reshape(-1, 4) for side in (found, expected)]
    assert_same(mask.iou(*arrays, np.array(flags)), reference.iou(*arrays, np.array(flags)))


@given(polygons, sizes)
def test_polygons_give_the_same_text(outlines: list[list[float]], size: tuple[int, int]) -> None:
    assert_same(mask.frPyObjects(outlines, *size), reference.frPyObjects(outlines, *size))
    assert mask.frPyObjects(outlines[0], *size) == reference.frPyObjects(outlines[:1], *size)[0]


@given(boxes.filter(len), sizes)
def test_boxes_give_the_same_text(rows: list[list[float]], size: tuple[int, int]) -> None:
    expected = reference.frPyObjects(np.array(rows, dtype=np.float64), *size)
    assert_same(mask.frPyObjects(np.array(rows), *size), expected)
    assert_same(mask.frPyObjects(rows, *size), expected)  # the reference means to take lists, and fails
    assert mask.frPyObjects(rows[0], *size) == expected[0]


@given(stacks())
def test_plain_counts_give_the_same_text(stack: np.ndarray) -> None:
    height, width, n = stack.shape
    plain = [{"size": [height, width], "counts": counted(stack[:, :, number] > 0)} for number in range(n)]
    for each in plain:
        assert_same(mask.frPyObjects(each, height, width), reference.frPyObjects(each, height, width))
    if plain:
        assert_same(mask.frPyObjects(plain, height, width), reference.frPyObjects(plain, height, width))
        assert mask.frPyObjects(plain, height, width) == mask.encode(stack)


@given(stacks())
def test_encodings_and_bitmaps_are_the_same_masks(stack: np.ndarray) -> None:
    np.testing.assert_array_equal(mask.decode(mask.encode(stack)), stack if stack.shape[2] else np.zeros((0, 0, 0)))


def test_runs_without_pixels_mean_nothing() -> None:
    encoding = mask.frPyObjects({"size": [4, 5], "counts": [0, 5, 0, 3, 12, 0]}, 4, 5)
    assert encoding == reference.frPyObjects({"size": [4, 5], "counts": [0, 5, 0, 3, 12, 0]}, 4, 5)
    assert mask.merge([encoding]) == encoding
    tidy = mask.encode(mask.decode(encoding))
    assert tidy == mask.merge([encoding, encoding]) == mask.frPyObjects({"size": [4, 5], "counts": [0, 8, 12]}, 4, 5)
    assert mask.toBbox(encoding).tolist() == mask.toBbox(tidy).tolist()
    assert mask.iou([encoding], [tidy], [0]).tolist() == [[1.0]]


def test_masks_of_different_sizes_have_no_iou() -> None:
    pixels = np.zeros((5, 4), dtype=np.uint8, order="F")
    pixels[4, 3] = 1
    arguments = [ENCODED, OTHER, reference.encode(pixels)], [OTHER, ENCODED], [0, 1]
    np.testing.assert_array_equal(mask.iou(*arguments), reference.iou(*arguments))
    assert mask.iou(*arguments).tolist() == [[-1, 1], [1, -1], [0, 0]]


ZIGZAG = [float(number) for row in range(5000) for number in (1000 * (row % 2), row)]
SHORT, OTHER = ENCODED | {"counts": b"92"}, {"size": [5, 4], "counts": b"92203"}
BAD: list[tuple[str, Any, type[Exception], str]] = [
    ("encode", (SQUARE.astype(float),), ParameterError, "encode: float64 array of shape (4, 5); give uint8 or bool"),
    ("encode", (np.zeros(3, dtype=np.uint8),), ParameterError, "encode: uint8 array of shape (3,); give uint8 or bool"),
    ("decode", ([ENCODED, OTHER],), RowError, "masks: size differs from the first mask for index 1;"),
    ("decode", ([ENCODED, SHORT],), RowError, "masks: the run lengths do not add up to height × width for index 1;"),
    ("area", (ENCODED | {"counts": [9, 2]},), RowError, "masks: counts are not text for index 0; frPyObjects converts"),
    ("area", ([ENCODED, {"size": [4, 5]}],), RowError, "masks: the mask is not a dict of size and counts for index 1;"),
    ("area", ("mask",), RowError, "masks: the mask is not a dict of size and counts for index 0;"),
    ("area", (ENCODED | {"counts": "é"},), RowError, "masks: the run lengths are not valid COCO text for index 0;"),
    ("area", (ENCODED | {"counts": b"P"},), RowError, "masks: the run lengths are cut off for index 0;"),
    ("area", (ENCODED | {"size": 4},), ParameterError, "size of run lengths must be [height, width]; give two whole numbers"),
    ("area", (ENCODED | {"size": [4, 5, 1]},), ParameterError, "size of run lengths must be [height, width]; give two whole"),
    ("area", (ENCODED | {"size": [4.5, 5]},), ParameterError, "size of run lengths must be [height, width]; give two whole"),
    ("area", (ENCODED | {"size": ["4", "5"]},), ParameterError, "size of run lengths must be [height, width]; give two whole"),
    ("toBbox", ([ENCODED, ENCODED | {"size": [-4, -5]}],), RowError, "masks: size is negative, or more than 2**30 pixels"),
    ("decode", (ENCODED | {"size": [40_000, 40_000]},), RowError, "masks: size is negative, or more than 2**30 pixels"),
    ("area", (ENCODED | {"size": [1, 2**20 + 1]},), RowError, "masks: size is negative, or more than 2**30 pixels, or 2**20 a"),
    ("area", ({"size": [100, 100], "counts": b"PPPPPP8"},), RowError, "masks: the run lengths do not add up to height × width"),
    ("frPyObjects", ([[0, 0, 1, 1, 1, 2]], 40_000, 40_000), ParameterError, "frPyObjects: an image of 40000 × 40000 pixels;"),
    (
        "frPyObjects",
        ([ZIGZAG], 5000, 1000),
        RowError,
        "masks: the outline crosses more than 2**22 columns of pixels, counted both",
    ),
    ("merge", (ENCODED,), ParameterError, "merge: must be a list of run lengths, not a dict"),
    ("merge", ([ENCODED, OTHER],), RowError, "masks: size differs from the first mask for index 1;"),
    ("iou", ([ENCODED], [[0, 0, 1, 1]], [0]), ParameterError, "iou: one side has run lengths and the other boxes;"),
    ("iou", ([ENCODED], [ENCODED], []), ParameterError, "iou: pyiscrowd has 0 flags for 1 annotation; give one for each"),
    ("iou", ([[0, 0, 1]], [[0, 0, 1, 1]], [0]), ParameterError, "iou: boxes are lists, or rows of an array, of four"),
    ("iou", ([[0, 0, 1, np.nan]], [[0, 0, 1, 1]], [0]), RowError, "masks: a box has a number that is not finite"),
    ("frPyObjects", ([], 4, 5), ParameterError, "frPyObjects: [] is neither polygons, boxes nor run lengths"),
    ("frPyObjects", ("mask", 4, 5), ParameterError, "frPyObjects: 'mask' is neither polygons, boxes nor run lengths"),
    ("frPyObjects", ([[1, 1, 3, 1, 3]], 4, 5), RowError, "masks: a polygon has an odd number of coordinates, or none"),
    ("frPyObjects", ([[1, 1, 3, 1, 3, np.inf]], 4, 5), RowError, "masks: a coordinate is not a finite number for index 0"),
    ("frPyObjects", ([[1, 1, 3, 1, 3, "x"]], 4, 5), ParameterError, "frPyObjects: polygons are lists of numbers"),
    ("frPyObjects", (np.zeros((1, 6)), 4, 5), ParameterError, "frPyObjects: boxes are lists, or rows of an array, of four"),
    ("frPyObjects", ([[0, 0, 1, 1]], 0, 5), ParameterError, "frPyObjects: an image of 0 × 5 pixels; give positive numbers"),
    ("frPyObjects", (ENCODED, 4, 5), ParameterError, "frPyObjects: counts must be lists of whole numbers; counts as text"),
    ("frPyObjects", ({"size": [4, 5], "counts": [9, 2]}, 4, 5), RowError, "masks: the run lengths do not add up to"),
    ("frPyObjects", ({"size": [4, 5], "counts": [-1, 21]}, 4, 5), RowError, "masks: run lengths are negative for index 0"),
    ("frPyObjects", ({"size": [4, 5], "counts": [0.5]}, 4, 5), ParameterError, "frPyObjects: counts must be lists of whole"),
]


@pytest.mark.parametrize(("name", "arguments", "kind", "message"), BAD, ids=[f"{bad[0]}: {bad[3]}" for bad in BAD])
def test_bad_input_is_one_typed_error(name: str, arguments: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}") as caught:
        getattr(mask, name)(*arguments)
    assert "\n" not in str(caught.value)


def test_an_array_without_boxes_gives_no_masks() -> None:
    for columns in (4, 6):
        assert mask.frPyObjects(np.zeros((0, columns)), 3, 3) == reference.frPyObjects(np.zeros((0, columns)), 3, 3) == []
