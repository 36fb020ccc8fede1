"""One cell, an image and a category, matched on dictionaries row by row, as in pycocotools.

Tables are for many rows. This is for data that bypass them (overridden methods, edited dictionaries and similarities), and
for so few rows that creating tables takes longer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from apframe.pycocotools import mask
from apframe.pycocotools.coco_files import Row
from apframe.pycocotools.params import Params

Cell = dict[str, Any]
_NEARLY_1 = 1 - 1e-10  # the largest threshold, so that equal shapes match at 1


def by_score(results: Sequence[Row], limit: int) -> list[Row]:
    """Return at most `limit` results, the highest score first; equal scores keep their order.

    >>> by_score([{"score": 0.1}, {"score": 0.9}], 1)
    [{'score': 0.9}]
    """
    return sorted(results, key=lambda row: -row["score"])[:limit]


def compare_shapes(expected: Sequence[Row], results: Sequence[Row], p: Params) -> Any:
    """Compute the IoU of boxes or masks: results, best score first, × annotations; [] without either.

    Source: `COCOeval.computeIoU` of pycocotools, `bbIou` of the COCO mask API.

    >>> cat = {"bbox": [0, 0, 4, 2], "iscrowd": 0}
    >>> compare_shapes([cat], [{"bbox": [0, 0, 3, 2], "score": 0.9}], Params("bbox")).tolist()
    [[0.75]]
    """
    if p.iouType == "segm":
        return compare_masks([(expected, results)], p)[0]
    if not expected or not results:
        return []
    results = by_score(results, p.maxDets[-1])
    x, y, width, height = np.array([row["bbox"] for row in results], dtype=float).T[:, :, None]
    boxes = np.array([row["bbox"] for row in expected], dtype=float).T
    is_crowd = np.array([bool(row["iscrowd"]) for row in expected])
    shared = [
        np.minimum(length + start, boxes[2 + side] + boxes[side]) - np.maximum(start, boxes[side])
        for side, (start, length) in enumerate(((x, width), (y, height)))
    ]
    intersection = np.where((shared[0] > 0) & (shared[1] > 0), shared[0] * shared[1], 0.0)
    area = width * height
    union = np.where(is_crowd, area, area + boxes[2] * boxes[3] - intersection)
    return np.divide(intersection, union, out=np.zeros(intersection.shape), where=intersection > 0)


def compare_masks(cells: Sequence[tuple[Sequence[Row], Sequence[Row]]], p: Params) -> list[Any]:
    """Compute `compare_shapes` for the masks of many cells, which are decoded and compared at once.

    >>> square = {"segmentation": {"size": [2, 2], "counts": b"13"}, "iscrowd": 0}
    >>> [list(array) for array in compare_masks([([square], [square | {"score": 0.9}]), ([square], [])], Params("segm"))]
    [[array([1.])], []]
    """
    numbers = [number for number, (expected, results) in enumerate(cells) if expected and results]
    masks = []
    for expected, results in map(cells.__getitem__, numbers):
        encodings = [row["segmentation"] for row in by_score(results, p.maxDets[-1])]
        masks.append((encodings, [row["segmentation"] for row in expected], [row["iscrowd"] for row in expected]))
    ious_by_cell = dict(zip(numbers, mask.mask_ious(masks) if masks else (), strict=True))
    return [ious_by_cell.get(number, []) for number in range(len(cells))]


def compare_keypoints(expected: Sequence[Row], results: Sequence[Row], p: Params) -> Any:
    """Compute object keypoint similarity in the same form; see `apframe.similarity.OKS` for the rule.

    Source: `COCOeval.computeOks` of pycocotools; the order of the operations is kept, so that the last bit agrees.

    >>> person = {"keypoints": [5, 5, 2] * 17, "bbox": [0, 0, 9, 9], "area": 81}
    >>> compare_keypoints([person], [{"keypoints": [5, 5, 1] * 17, "score": 0.9}], Params("keypoints")).tolist()
    [[1.0]]
    """
    if not expected or not results:
        return []
    points = np.array([row["keypoints"] for row in by_score(results, p.maxDets[-1])], dtype=float)
    variances = (np.asarray(p.kpt_oks_sigmas) * 2) ** 2
    similarity = np.zeros((len(points), len(expected)))
    for number, row in enumerate(expected):
        own = np.array(row["keypoints"], dtype=float)
        is_seen, gaps = own[2::3] > 0, []
        for side in (0, 1):
            of_results, start, length = points[:, side::3], row["bbox"][side], row["bbox"][2 + side]
            low, high = start - length, start + length * 2
            outside = np.maximum(0, low - of_results) + np.maximum(0, of_results - high)
            gaps.append(of_results - own[side::3] if is_seen.any() else outside)
        error = (gaps[0] ** 2 + gaps[1] ** 2) / variances / (row["area"] + np.spacing(1)) / 2
        for place, each in enumerate(error):
            each = each[is_seen] if is_seen.any() else each
            similarity[place, number] = np.sum(np.exp(-each)) / len(each)
    return similarity


def judge_cell(
    expected: Sequence[Row], results: Sequence[Row], ious: Any, thresholds: Sequence[float], area: Sequence[float], limit: int
) -> Cell:
    """Match the results and annotations of a cell in an area range, at most `limit` results.

    Results are matched in the order of their scores, each to the most similar free annotation, the last of equally similar
    ones, and to an ignored one only if there is no other. Crowds stay free.

    Source: `COCOeval.evaluateImg` of pycocotools, in which an id of 0 means no match, as here.

    Returns
    -------
    The fields of pycocotools' `evalImgs` except image, category, area range and limit; ignored annotations come last.

    >>> row = {"id": 1, "area": 9, "ignore": 0, "iscrowd": 0}
    >>> cell = judge_cell([row], [row | {"id": 2, "score": 0.9}], np.array([[0.6]]), [0.5, 0.75], [0, 1e10], 100)
    >>> cell["dtMatches"].tolist(), cell["gtMatches"].tolist()
    ([[1.0], [0.0]], [[2.0], [0.0]])
    """
    low, high = area
    flags = [1 if row["ignore"] or row["area"] < low or row["area"] > high else 0 for row in expected]
    order = sorted(range(len(expected)), key=flags.__getitem__)
    expected, is_ignored = [expected[n] for n in order], [flags[n] for n in order]
    results = by_score(results, limit)
    found_ids, expected_ids = [row["id"] for row in results], [row["id"] for row in expected]
    matched, matched_by = np.zeros((len(thresholds), len(results))), np.zeros((len(thresholds), len(expected)))
    is_outside = [bool(row["area"] < low or row["area"] > high) for row in results]
    ignored = np.empty(matched.shape, dtype=bool)
    ignored[:] = is_outside
    if len(ious):
        rows, is_crowd = np.asarray(ious)[:, order].tolist(), [bool(row["iscrowd"]) for row in expected]
        similarities = sorted(chain.from_iterable(rows))
        matches_by_count: dict[int, list[tuple[int, int]]] = {len(similarities): []}
        # compared in double precision, because NumPy would round a Python float to single precision
        for t, threshold in enumerate(np.asarray(thresholds, dtype=np.float64).tolist()):
            threshold_below_1 = min(threshold, _NEARLY_1)
            n_below = bisect_left(
                similarities, threshold_below_1
            )  # where as many are below two thresholds, the choice is the same
            if n_below not in matches_by_count:
                matches_by_count[n_below] = _choose(rows, found_ids, is_crowd, is_ignored, threshold_below_1)
            for d, g in matches_by_count[n_below]:
                matched[t, d], matched_by[t, g] = expected_ids[g], found_ids[d]
                ignored[t, d] = is_ignored[g] or (is_outside[d] and not expected_ids[g])
    return {
        "dtIds": found_ids,
        "gtIds": expected_ids,
        "dtMatches": matched,
        "gtMatches": matched_by,
        "dtScores": [row["score"] for row in results],
        "gtIgnore": np.array(is_ignored),
        "dtIgnore": ignored,
    }


def _choose(
    rows: list[list[float]], found_ids: list[Any], is_crowd: list[bool], is_ignored: list[int], threshold: float
) -> list[tuple[int, int]]:
    """Return the matches at a threshold: positions of results and annotations; the ignored annotations are the last ones."""
    is_taken, matches = [False] * len(is_crowd), []
    for d, (row, found_id) in enumerate(zip(rows, found_ids, strict=False)):
        best, highest = -1, threshold
        for g, similarity in enumerate(row):
            if similarity < highest or (is_taken[g] and not is_crowd[g]):
                continue
            if best >= 0 and is_ignored[g] and not is_ignored[best]:
                break
            best, highest = g, similarity
        if best >= 0:
            is_taken[best] = found_id > 0
            matches.append((d, best))
    return matches
