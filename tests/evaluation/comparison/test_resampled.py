"""Pieces of an evaluation in rows of slices: a resample is an evaluation of copied images, in every slice."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.resampling import make_draws
from apframe.evaluation.comparison.sampling import Sampling, chosen_lines, sample
from apframe.evaluation.comparison.study import ResampledNumbers
from apframe.metrics.cells import Cell
from apframe.protocols.headline_values import cell_of


def test_cells_of_headlines() -> None:
    lines = {line.metric: line for line in chosen_lines(apf.evaluate(*tiny()), None)}
    every = tuple(range(10))
    assert cell_of(lines["AP"], apf.COCO) == Cell(every, 0, 2)
    assert cell_of(lines["AP75"], apf.COCO) == Cell((5,), 0, 2)
    assert cell_of(lines["ARs"], apf.COCO) == Cell(every, 1, 2)
    assert cell_of(lines["AR10"], apf.COCO) == Cell(every, 0, 1)
    assert cell_of(lines["AP75"], apf.COCO.with_options(iou_thresholds=[0.5])) is None


def tiny() -> tuple[dict[str, list[dict[str, object]]], list[dict[str, object]]]:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    return {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [box | {"id": 1}]}, [box | {"score": 0.5}]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.FewUnitsWarning", "ignore::apframe.exceptions.FewResamplesWarning")
@pytest.mark.parametrize(
    ("by", "level", "options"),
    [
        (["weather", apf.bins("occlusion", [0, 0.3, 1])], "category", {}),
        (["supercategory"], "summary", {"matching": "optimal"}),
        ([apf.bins("occlusion", [0, 0.3, 1])], "summary", {"agnostic": True, "max_detections": [1, 100]}),
    ],
)
def test_a_resample_is_an_evaluation_of_copied_images(by: list[Any], level: str, options: dict[str, Any]) -> None:
    truth, detections = scene()
    numbers = sample(
        [apf.evaluate(truth, detections, **options)],
        Sampling(by=by, level=level, unit="video", n_resamples=3, method="bootstrap"),
    )
    images = pl.DataFrame(truth["images"]).rename({"id": "image_id"})
    draws = np.concatenate(list(make_draws(images, "video", None, 3, 0).blocks(3)), axis=1)
    for k, counts in enumerate(draws.T.astype(int)):
        copies = [(row, 100 * row["id"] + c) for row, n in zip(truth["images"], counts, strict=True) for c in range(n)]
        rows, copied = (
            [row | {"image_id": new} for old, new in copies for row in table if row["image_id"] == old["id"]]
            for table in (truth["annotations"], detections)
        )
        again = truth | {
            "images": [old | {"id": new} for old, new in copies],
            "annotations": [row | {"id": at} for at, row in enumerate(rows)],
        }
        expected = apf.evaluate(again, copied, **options).by(*by, level=level)
        for number in numbers:
            assert isinstance(number, ResampledNumbers)
            drawn = number.table.with_columns(pl.Series(number.metric, number.draws[0, :, k], nan_to_null=True))
            in_draw = number.table.join(expected, on=number.table.columns, how="left", nulls_equal=True, maintain_order="left")
            assert_frame_equal(drawn, in_draw.select(drawn.columns), check_exact=False, abs_tol=1e-12)


def scene() -> tuple[dict[str, list[Any]], list[Any]]:
    """Twelve images of six videos, with crowds, several sizes, and detections that are near or elsewhere."""
    rng = np.random.default_rng(5)
    images = [{"id": n, "video": f"v{n // 2}", "weather": "fog" if n % 3 else "sun"} for n in range(12)]
    categories = [{"id": n, "name": f"c{n}", "supercategory": "one" if n < 3 else "two"} for n in (1, 2, 3)]
    annotations: list[dict[str, Any]] = []
    detections: list[dict[str, Any]] = []
    for image in images:
        for _ in range(5):
            x, y, size = *rng.integers(0, 60, 2).tolist(), int(rng.choice([10, 40, 100]))
            row = {"image_id": image["id"], "category_id": int(rng.integers(1, 4)), "occlusion": float(rng.choice([0, 0.5]))}
            is_crowd = int(rng.random() < 0.2)
            annotations.append(row | {"id": len(annotations), "bbox": [x, y, size, size], "iscrowd": is_crowd})
            near = [{"bbox": [x + by, y, size, size]} for by in rng.integers(-5, 6, 2).tolist()]
            detections += [row | box | {"score": float(score)} for box, score in zip(near, rng.random(2), strict=True)]
    return {"images": images, "categories": categories, "annotations": annotations}, detections
