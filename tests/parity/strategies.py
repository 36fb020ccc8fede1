"""Small COCO data sets, crowded into the corners where evaluators disagree, and options of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import inf, nextafter
from typing import Any

import numpy as np
from hypothesis import strategies as st

Row = dict[str, Any]

SCORES = [0, 0.25, 0.5, 0.9, 1]
BORDERS = [1024.0, 9216.0, 1e10]
AREAS = [0, 400, 1023, 1025, 9215, 9217, 5e10, *BORDERS, *(nextafter(b, to) for b in BORDERS for to in (0, inf))]
# shifted by whole pixels, these have IoUs of k/20, areas on and next to the borders, and sides of zero; the fractions
# lose digits, so that the IoU of a box with itself may be a little less than 1
SIZES = [(20, 1), (20, 10), (33.3, 20.7), (32, 32), (1024, 1), (96, 96), (9216, 1), (0, 10), (0, 0), (1e5, 1e5)]
CORNERS = [0, 100 / 3, -7, 32760.1]
SHIFTS = [0, 0, 0, 0, 1, -1, 2, -2, 3, -4, 5, -8, 9]
SMALL_SHIFTS = [0, 0, 0, 0, 0, 0, 1, -1]
THRESHOLDS = [1e-6, 0.1, 1 / 3, 0.5, 0.55, 0.6, 2 / 3, 0.75, 0.8, 0.9, 0.95, 1 - 1e-10, 1.0]


@dataclass(frozen=True)
class Case:
    """Ground truth and results as COCO has them in JSON."""

    truth: dict[str, list[Row]]
    results: list[Row]


@st.composite
def cases(draw: st.DrawFn, *, strings: bool = False, ties: bool = True) -> Case:
    """Data sets of a few images and categories, with many overlapping boxes; `strings` for ids that are strings.

    Rows come in any order, ids have gaps, images and categories may have no rows at all. Rarely, a category has more
    than 100 detections in an image. With `ties=False` all scores are different, and nearly all IoUs.
    """
    image_ids = draw(_ids(strings, -9, at_least=1, at_most=4))
    category_ids = draw(_ids(strings, -9, at_least=1, at_most=4))
    all_cells = st.tuples(st.sampled_from(image_ids), st.sampled_from(category_ids))
    cells = st.sampled_from(draw(st.lists(all_cells, min_size=1, max_size=4)))
    boxes = _boxes(draw(st.lists(_places, min_size=1, max_size=2)))
    annotations = draw(_rows(cells, st.fixed_dictionaries({"bbox": boxes}, optional=_OWN_FIELDS), at_most=12))
    annotation_ids = draw(_ids(strings, 1, at_least=len(annotations), at_most=len(annotations)))
    scores = st.sampled_from(SCORES)
    results = draw(_rows(cells, st.fixed_dictionaries({"bbox": boxes, "score": scores}), at_most=20))
    has_many = draw(st.sampled_from([False] * 7 + [True]))
    if results and has_many:
        results = _many(results[0])[:55] + results + _many(results[0])[55:]
    if not ties:
        order = draw(st.permutations(range(len(results))))
        results = [row | {"score": (place + 1) / len(results)} for row, place in zip(results, order, strict=True)]
        annotations = [row | {"bbox": _wider(row["bbox"], k / 997)} for k, row in enumerate(annotations)]
    return Case(
        truth={
            "images": [{"id": image_id} for image_id in image_ids],
            "categories": [{"id": category_id, "name": f"name of {category_id}"} for category_id in category_ids],
            "annotations": [{"id": key} | row for key, row in zip(annotation_ids, annotations, strict=True)],
        },
        results=results,
    )


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Thresholds, recall levels, area ranges and max_detections other than COCO's."""
    ranges = [*combinations(sorted(AREAS), 2), *((border, border) for border in BORDERS)]
    spans = st.sampled_from(ranges)
    thresholds = st.lists(st.sampled_from(THRESHOLDS) | st.floats(0.05, 0.49), min_size=1, max_size=4, unique=True)
    levels = st.lists(st.sampled_from([0, 0.5, 1, 1 / 3, 2 / 3]) | st.floats(0, 1), min_size=1, max_size=9, unique=True)
    grids = st.sampled_from([np.linspace(0, 1, 11).tolist(), [k / 12 for k in range(13)], [0.0], [1.0]])
    limits = st.lists(st.integers(1, 6) | st.just(105), min_size=1, max_size=3, unique=True)
    return {
        "iou_thresholds": sorted(draw(thresholds)),
        "recall_levels": sorted(draw(levels | grids)),
        "area_ranges": draw(st.dictionaries(st.sampled_from(["all", "small", "tiny", "our own"]), spans, max_size=3)),
        "max_detections": sorted(draw(limits)),
    }


_OWN_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "area": st.none() | st.sampled_from(AREAS),
    "iscrowd": st.sampled_from([0, 0, 0, 1]),
    "ignore": st.sampled_from([0, 1]),
}
_places = st.tuples(st.sampled_from(CORNERS), st.sampled_from(CORNERS), st.sampled_from(SIZES))


def _boxes(places: list[tuple[float, float, tuple[float, float]]]) -> st.SearchStrategy[list[float]]:
    """Boxes at a few places, shifted and resized by whole pixels, so that many overlap and equal IoUs occur."""

    def shifted(place: tuple[float, float, tuple[float, float]], *by: int) -> list[float]:
        x, y, (width, height) = place
        return [x + by[0], y + by[1], max(0, width + by[2]), max(0, height + by[3])]

    far, near = st.sampled_from(SHIFTS), st.sampled_from(SMALL_SHIFTS)
    return st.builds(shifted, st.sampled_from(places), far, near, far, near)


def _wider(box: list[float], by: float) -> list[float]:
    return [*box[:2], box[2] + by, box[3]]


@st.composite
def _rows(
    draw: st.DrawFn, cells: st.SearchStrategy[tuple[Any, Any]], fields: st.SearchStrategy[Row], at_most: int
) -> list[Row]:
    # hypothesis likes the first of several values best; no rows at all shall be rare
    n_rows = draw(st.sampled_from([*range(2, at_most + 1), 1, 0]))
    rows = draw(st.lists(st.tuples(cells, fields), min_size=n_rows, max_size=n_rows))
    return [{"image_id": image_id, "category_id": category_id} | own for (image_id, category_id), own in rows]


def _ids(strings: bool, least: int, at_least: int, at_most: int) -> st.SearchStrategy[list[Any]]:
    texts = st.text("019aZé-", min_size=1, max_size=4)
    numbers = st.integers(least, 40) | st.integers(least, 2**53)
    return st.lists(texts if strings else numbers, min_size=at_least, max_size=at_most, unique=True)


def _many(row: Row) -> list[Row]:
    """110 detections in the cell of this one, with scores and boxes of a few values."""
    x, *rest = row["bbox"]
    return [row | {"score": SCORES[k % 7 % 5], "bbox": [x + k % 3, *rest]} for k in range(110)]
