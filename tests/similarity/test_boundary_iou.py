"""Boundary IoU against the reference's rule, worked by OpenCV and pycocotools, pixel by pixel."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as reference

from apframe.exceptions import ParameterError, RowError
from apframe.similarity.boundary_iou import BoundaryIoU
from apframe.similarity.mask_iou import MaskIoU
from apframe.tables.shapes.boundaries import boundary_width
from apframe.tables.shapes.mask_columns import read_masks
from apframe.tables.shapes.pixel_runs import Runs, erode, transpose

cv2 = pytest.importorskip("cv2")

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools

sizes = st.tuples(st.integers(1, 40), st.integers(1, 40))


@st.composite
def bitmaps(draw: st.DrawFn, size: tuple[int, int]) -> np.ndarray:
    """Full images, blots, rings, dots left out, noise; what erosion leaves something of, and what it does not."""
    rows, columns = np.indices(size)
    pixels = np.zeros(size, dtype=np.uint8)
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["full", "rectangle", "disc", "hole", "dot", "noise"]))
        top, left = draw(st.integers(-4, size[0])), draw(st.integers(-4, size[1]))
        radius = draw(st.integers(1, 30))
        distance = (rows - top) ** 2 + (columns - left) ** 2
        if kind == "full":
            pixels[:] = 1
        elif kind == "rectangle":
            pixels[max(top, 0) : top + radius, max(left, 0) : left + draw(st.integers(1, 40))] = 1
        elif kind == "disc":
            pixels[distance <= radius**2] = 1
        elif kind == "hole":
            pixels[distance <= (radius // 3) ** 2] = 0
        elif kind == "dot":
            pixels[max(top, 0) : top + 1, max(left, 0) : left + 1] ^= 1
        else:
            pixels |= (np.random.default_rng(radius).random(size) < 0.9).astype(np.uint8)
    return pixels


@st.composite
def images(draw: st.DrawFn) -> list[tuple[list[np.ndarray], list[np.ndarray], list[bool]]]:
    """Detections, annotations and which of these are crowds, of one to three images."""
    of_images = []
    for size in draw(st.lists(sizes, min_size=1, max_size=3)):
        found, expected = (draw(st.lists(bitmaps(size), min_size=1, max_size=3)) for _ in range(2))
        if draw(st.booleans()):
            expected.append(np.roll(found[0], draw(st.integers(-2, 2)), axis=draw(st.integers(0, 1))))
        of_images.append((found, expected, [draw(st.booleans()) for _ in expected]))
    return of_images


def frame(masks: list[np.ndarray], image: list[int], is_crowd: list[bool] | None = None) -> pl.DataFrame:
    texts = []
    for mask in masks:
        encoding = encode(mask)
        texts.append(json.dumps({"size": encoding["size"], "counts": encoding["counts"].decode()}))
    table = pl.DataFrame({"mask": texts, "image_id": image, "cell": image}, schema_overrides={"mask": pl.String})
    ids = {name: pl.int_range(1, 1 + pl.len()) for name in ("annotation_id", "detection_id")}
    return table.with_columns(**ids) if is_crowd is None else table.with_columns(**ids, is_crowd=pl.Series(is_crowd))


def encode(mask: np.ndarray) -> dict[str, Any]:
    return reference.encode(np.asfortranarray(mask))


def inner_part(mask: np.ndarray, distance: int) -> np.ndarray:
    """As boundary-iou-api does: a border of one pixel of background, and so many erosions."""
    height, width = mask.shape
    padded = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    eroded = cv2.erode(padded, np.ones((3, 3), dtype=np.uint8), iterations=distance)
    return eroded[1 : height + 1, 1 : width + 1]


def boundary(mask: np.ndarray, dilation: float) -> np.ndarray:
    diagonal = np.sqrt(mask.shape[0] ** 2 + mask.shape[1] ** 2)
    return mask - inner_part(mask, max(round(dilation * diagonal), 1))


def dense(masks: Runs, number: int) -> np.ndarray:
    pixels = np.zeros((masks.height[number], masks.width[number]), dtype=np.uint8)
    for run in range(masks.start[number], masks.stop[number]):
        pixels[masks.top[run] : masks.bottom[run], masks.column[run]] += 1
    return pixels


@pytest.mark.slow
@given(st.lists(sizes.flatmap(bitmaps), min_size=1, max_size=5), st.integers(1, 6))
def test_erosion_is_that_of_opencv(pixels: list[np.ndarray], distance: int) -> None:
    masks = read_masks("annotations", frame(pixels, [0] * len(pixels)))
    eroded = erode(masks, np.full(len(pixels), distance))
    for number, mask in enumerate(pixels):
        left = inner_part(mask, distance)
        np.testing.assert_array_equal(dense(eroded, number), left)
        assert eroded.area[number] == left.sum()


def test_erosion_of_masks_near_the_limit_of_16_bits() -> None:
    tall = np.zeros((32_000, 3), dtype=np.uint8)
    tall[31_000:] = 1
    eroded = erode(read_masks("annotations", frame([tall], [0])), np.array([32_000]))
    assert eroded.area.tolist() == [0]
    assert erode(read_masks("annotations", frame([tall], [0])), np.array([1])).box.tolist() == [[1, 31_001, 2, 31_999]]


@given(st.lists(sizes.flatmap(bitmaps), min_size=1, max_size=5))
def test_transposed_masks(pixels: list[np.ndarray]) -> None:
    masks = transpose(read_masks("annotations", frame(pixels, [0] * len(pixels))))
    for number, mask in enumerate(pixels):
        np.testing.assert_array_equal(dense(masks, number), mask.T)


@pytest.mark.slow
@given(images(), st.sampled_from([0.02, 0.05, 0.2]), st.sampled_from([1e-9, 0.3, 0.5]))
def test_iou_is_that_of_the_reference(of_images: list[Any], dilation: float, least: float) -> None:
    found, expected, of_found, of_expected, crowd = [], [], [], [], []
    by_reference = {}
    for image, (detections, truth, is_crowd) in enumerate(of_images):
        masks, boundaries = (
            reference.iou(*([encode(change(mask)) for mask in side] for side in (detections, truth)), is_crowd)
            for change in (lambda mask: mask, lambda mask: boundary(mask, dilation))
        )
        similarity = np.where(is_crowd, masks, np.minimum(masks, boundaries))
        for d, a in np.argwhere(similarity >= least).tolist():
            by_reference[len(found) + d, len(expected) + a] = similarity[d, a]
        found += detections
        expected += truth
        of_found += [image] * len(detections)
        of_expected += [image] * len(truth)
        crowd += is_crowd
    result = BoundaryIoU(dilation).pair(frame(found, of_found), frame(expected, of_expected, crowd), least)
    assert result.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    assert {(detection, annotation): similarity for detection, annotation, similarity in result.rows()} == by_reference


@pytest.mark.slow
def test_a_shifted_square() -> None:
    found, expected = np.zeros((50, 50), dtype=np.uint8), np.zeros((50, 50), dtype=np.uint8)
    found[10:30, 10:30] = expected[10:30, 11:31] = 1
    tables = frame([found], [1]), frame([expected], [1], [False])
    # one pixel wide: 76 of each, of which 2 × 19 along the long sides are the same
    assert BoundaryIoU(0.02).pair(*tables, 0.1)["similarity"].to_list() == [38 / (76 + 76 - 38)]
    assert MaskIoU().pair(*tables, 0.1)["similarity"].to_list() == [380 / 420]
    assert BoundaryIoU(0.02).pair(*tables, 0.5).height == 0


def test_a_crowd_is_compared_by_its_mask() -> None:
    full, part = np.ones((30, 30), dtype=np.uint8), np.zeros((30, 30), dtype=np.uint8)
    part[10:20, 10:20] = 1
    tables = frame([part], [1]), frame([full], [1], [True])
    assert BoundaryIoU().pair(*tables, 0.5).rows() == [(0, 0, 1.0)]


def test_width_of_the_boundary() -> None:
    # 0.02 × 125 is 2.5, and goes to the even number
    assert boundary_width(np.array([480, 100, 75, 7]), np.array([640, 75, 100, 7]), 0.02).tolist() == [16, 2, 2, 1]


@pytest.mark.parametrize("dilation", [0, -0.02, float("nan"), float("inf")])
def test_the_dilation_is_a_positive_number(dilation: float) -> None:
    with pytest.raises(ParameterError, match=r"dilation must be a positive number"):
        BoundaryIoU(dilation)


def test_it_is_a_value() -> None:
    assert BoundaryIoU() == BoundaryIoU(0.02) != BoundaryIoU(0.01)
    assert len({BoundaryIoU(), BoundaryIoU(0.02)}) == 1
    with pytest.raises(FrozenInstanceError):
        BoundaryIoU().dilation = 1  # type: ignore[misc]


def test_wrong_masks_are_named() -> None:
    table = frame([np.ones((3, 3), dtype=np.uint8)], [1], [False])
    with pytest.raises(RowError, match=r"^detections: mask is missing for detection_id 1; "):
        BoundaryIoU().pair(table.with_columns(mask=pl.lit(None, pl.String)), table, 0.5)
