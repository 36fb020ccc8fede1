"""Evaluations of a data set in parts: shards on disk, and updates one after the other."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

import apframe as apf


def assert_parts_are_the_whole(
    dataset: apf.Dataset, found: pl.DataFrame, protocol: apf.Protocol, folder: Path, by: str
) -> apf.Evaluation:
    """The numbers of three shards, of three updates and of a stored set are those of the whole, which is returned.

    Scores should have no ties across images, where shards have an order of their own. `by` is a column of the images.
    """
    evaluation = apf.evaluate(dataset, found, protocol)
    evaluation.write_parquet(folder / "run")
    stored = apf.read_evaluation(folder / "run")
    assert stored.protocol == protocol
    evaluator = apf.Evaluator(dataset, protocol=protocol)
    for shard in range(3):
        path = folder / "shards" / str(shard)
        path.mkdir(parents=True)
        ids = dataset.images["image_id"][shard::3].implode()
        for name, frame in {"images": dataset.images, "annotations": dataset.annotations, "detections": found}.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(path / f"{name}.parquet")
        dataset.categories.write_parquet(path / "categories.parquet")
        evaluator.update(found.filter(pl.col("image_id").is_in(ids)))
    sharded = apf.evaluate_shards(str(folder / "shards" / "*"), protocol=protocol)
    for each in (stored, sharded, evaluator.compute()):
        assert_frame_equal(each.summary, evaluation.summary)
        assert_frame_equal(each.by(by), evaluation.by(by))
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    return evaluation
