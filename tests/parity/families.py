"""Small scenes as every family of protocols has them: boxes, masks, keypoints, rotated boxes, intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe import threads
from apframe.matching.matchers import MATCHERS
from apframe.protocols.rules.crowds import CrowdsCountOnce

Row = dict[str, Any]
FAMILIES: dict[str, tuple[str, str]] = {
    "boxes": ("coco", "bbox"), "masks": ("coco", "segm"), "boundaries": ("coco", "boundary"), "people": ("coco", "keypoints"),
    "voc": ("voc2007", "bbox"), "lvis": ("lvis", "bbox"), "open images": ("open_images", "bbox"),
    "open images challenge": ("open_images_challenge", "bbox"), "rotated": ("dota", "rotated"),
    "intervals": ("activitynet", "interval"),
}  # fmt: skip
"""A protocol and what it compares, by the name of the family."""
_IMAGES, _CATEGORIES, _SIDE = (1, 2, 5), (1, 2, 3, 4), 12


@dataclass(frozen=True)
class Scene:
    """Ground truth and results of a family, the protocol, and options that `evaluate` takes."""

    truth: dict[str, list[Row]]
    results: list[Row]
    protocol: str
    options: dict[str, Any]

    def evaluate(self, **options: Any) -> apf.Evaluation:
        return apf.evaluate(self.truth, self.results, self.protocol, **(self.options | options))


def example_of(family: str) -> Scene:
    """A scene with a detection of every annotation."""
    examples: list[Scene] = []

    @given(scenes(family))
    def collect(scene: Scene) -> None:
        examples.append(scene)

    collect()
    return max(examples, key=lambda scene: len(scene.results))


@contextmanager
def computed_in(n_threads: int, part_rows: int) -> Iterator[None]:
    """Parts of about so many rows, on so many threads."""
    apf.set_threads(n_threads)
    try:
        with patch.object(threads, "PART_ROWS", part_rows):
            yield
    finally:
        apf.set_threads(None)


@st.composite
def scenes(draw: st.DrawFn, family: str, *, ties: bool = True, crowds: bool = True) -> Scene:
    """Two images on which objects of four categories overlap in many ways, and one without any; `ties` allows equal scores."""
    protocol, iou_type = FAMILIES[family]
    places = st.tuples(st.sampled_from(_IMAGES[:2]), st.sampled_from(_CATEGORIES), st.integers(0, 3), st.integers(0, 2))
    least = draw(st.sampled_from([6, 6, 6, 1, 0]))
    objects = st.tuples(places, st.sampled_from([0, 0, 0, int(crowds)]), st.booleans())
    annotations = draw(st.lists(objects, min_size=least, max_size=9))
    detections = draw(st.lists(st.tuples(places, st.sampled_from([0.1, 0.3, 0.5, 0.9])), min_size=least, max_size=14))
    matching = draw(
        st.sampled_from(
            [None, *(name for name, each in MATCHERS.items() if not (each.at_score_cutoffs or each.wants == "copies"))]
        )
    )
    counts_groups = apf.PUBLISHED[protocol.upper()].rule(CrowdsCountOnce) is not None
    limit = None if family == "lvis" else draw(st.sampled_from([None, [2], [1, 3]]))
    truth = {
        "images": [_image(number, family) for number in _IMAGES],
        "categories": [_category(number, family) for number in _CATEGORIES],
        "annotations": [
            {"id": 10 + number, "iscrowd": crowd, "ignore": int(crowd and ignore), "area": 144} | _at(place, family)
            for number, (place, crowd, ignore) in enumerate(annotations)
        ],
    }
    scores = [score if ties else score + number / 1000 for number, (_, score) in enumerate(detections)]
    results = [_at(place, family) | {"score": score} for (place, _), score in zip(detections, scores, strict=True)]
    options: dict[str, Any] = {"iou_type": iou_type, "iou_thresholds": [0.3, 0.5]}
    options |= {} if matching is None or counts_groups else {"matching": matching}
    return Scene(truth, results, protocol, options | ({} if limit is None else {"max_detections": limit}))


def _image(number: int, family: str) -> Row:
    lists = {"neg_category_ids": [1, 3], "not_exhaustive_category_ids": [2]} if family.startswith(("lvis", "open")) else {}
    return {"id": number, "width": 40, "height": 40} | lists


def _category(number: int, family: str) -> Row:
    of_family = {"lvis": {"frequency": "rcfc"[number - 1]}}
    if family.startswith("open"):  # 2 is a kind of 1, and 3 of 2
        return {"id": number, "name": f"thing {number}", "parent_ids": [number - 1] if number in (2, 3) else []}
    return {"id": number, "name": f"thing {number}"} | of_family.get(family, {})


def _at(place: tuple[int, int, int, int], family: str) -> Row:
    image, category, shift, grown = place
    x, y, side = 5 + 2 * shift, 5 + shift, _SIDE + grown
    row: Row = {"image_id": image, "category_id": category}
    if family == "intervals":
        return row | {"start_time": x, "end_time": x + side}
    row["bbox"] = [x, y, side, side]
    if family in ("masks", "boundaries"):
        row["segmentation"] = [[x, y, x + side, y, x + side, y + side, x, y + side]]
    if family == "people":
        row |= {"keypoints": [value for k in range(17) for value in (x + k % 4 * side / 3, y + k // 4 * side / 4, 2)]}
        row["num_keypoints"] = 17
    if family == "rotated":
        row["angle"] = 0.1 * grown
    return row
