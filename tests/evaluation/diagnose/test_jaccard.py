"""The Jaccard index where there are no scores, and of shards; CrowdHuman's tests have its numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError
from tests.benchmarks.pixels.panoptic.panoptic_maps import evaluate


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_panoptic_results_have_no_scores(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, [])
    with pytest.raises(ParameterError, match="COCO_PANOPTIC does not rank detections by score, so it has no Jaccard index"):
        evaluation.jaccard_index()


@pytest.mark.slow
def test_masks_that_are_boxes_have_the_index_of_boxes() -> None:
    """Some lie inside a crowd, others beside it."""
    images = [{"id": k, "width": 60, "height": 60} for k in (1, 2)]
    places = [(0, 0, 40, 40), (4, 4, 10, 10), (20, 20, 10, 10), (45, 45, 10, 10)]

    def row(place: tuple[int, ...], **fields: object) -> dict[str, object]:
        x, y, width, height = place
        corners = [x, y, x + width, y, x + width, y + height, x, y + height]
        return {"category_id": 1, "bbox": [*place], "segmentation": [corners], "area": width * height} | fields

    annotations = [row(place, id=4 * image + n, image_id=image) for image in (1, 2) for n, place in enumerate(places)]
    annotations[0] |= {"iscrowd": 1, "segmentation": {"size": [60, 60], "counts": [0, *[40, 20] * 39, 40, 1220]}}
    truth = {"images": images, "categories": [{"id": 1, "name": "a"}], "annotations": annotations}
    detections = [
        row(place, image_id=1, score=0.9 - n / 10) for n, place in enumerate([(4, 4, 10, 9), (45, 44, 10, 10), (50, 0, 9, 9)])
    ]
    boxes, masks = (apf.evaluate(truth, detections, iou_type=kind).jaccard_index(0.5) for kind in ("bbox", "segm"))
    assert_frame_equal(boxes, masks)
    assert boxes["jaccard_index"].max() > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_shards_have_the_same_index(tmp_path: Path) -> None:
    box = {"category_id": 1, "y": 0.0, "width": 90.0, "height": 90.0}
    truth = [box | {"image_id": k, "x": 100.0 * n, "ignore": n == 2} for k in (1, 2, 3) for n in range(3)]
    detections = [row | {"x": row["x"] + 5.0 * row["image_id"], "score": 0.2 * row["image_id"]} for row in truth[1:]]
    sizes = {"image_id": [1, 2, 3], "image_width": [500] * 3, "image_height": [500] * 3}
    dataset = apf.Dataset(sizes, {"category_id": [1], "name": ["person"]}, pl.DataFrame(truth))
    results = pl.DataFrame(detections).drop("ignore")
    apf.write_shards(dataset, results, tmp_path / "shards", n=2)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol="crowdhuman")
    assert_frame_equal(sharded.jaccard_index(), apf.evaluate(dataset, results, "crowdhuman").jaccard_index())
