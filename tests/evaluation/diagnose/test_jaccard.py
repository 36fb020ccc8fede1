"""The Jaccard index where there are no scores, and of shards; its numbers are those of `tests/protocols/test_crowdhuman.py`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError
from tests.protocols.panoptic_maps import evaluate


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_panoptic_results_have_no_scores(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, [])
    with pytest.raises(ParameterError, match="COCO_PANOPTIC does not rank detections by score, so it has no Jaccard index"):
        evaluation.jaccard_index()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_shards_have_the_same_index(tmp_path: Path) -> None:
    box = {"category_id": 1, "y": 0.0, "width": 90.0, "height": 90.0}
    truth = [box | {"image_id": k, "x": 100.0 * n, "ignore": n == 2} for k in (1, 2, 3) for n in range(3)]
    found = [row | {"x": row["x"] + 5.0 * row["image_id"], "score": 0.2 * row["image_id"]} for row in truth[1:]]
    sizes = {"image_id": [1, 2, 3], "image_width": [500] * 3, "image_height": [500] * 3}
    dataset = apf.Dataset(sizes, {"category_id": [1], "name": ["person"]}, pl.DataFrame(truth))
    results = pl.DataFrame(found).drop("ignore")
    apf.write_shards(dataset, results, tmp_path / "shards", n=2)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol="crowdhuman")
    assert_frame_equal(sharded.jaccard_index(), apf.evaluate(dataset, results, "crowdhuman").jaccard_index())
