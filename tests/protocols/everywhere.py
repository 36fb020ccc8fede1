"""The same numbers from a stored set, from shards, from updates of a training loop, and from slices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf


def assert_same_everywhere(dataset: apf.Dataset, found: pl.DataFrame, protocol: Any, folder: Path, **options: Any) -> None:
    """`dataset.images` has a column `weather`; scores are all different."""
    evaluation = apf.evaluate(dataset, found, protocol, **options)
    evaluation.write_parquet(folder / "run")
    stored = apf.read_evaluation(folder / "run")
    assert stored.protocol == evaluation.protocol
    assert_frame_equal(stored.summary, evaluation.summary)
    assert_frame_equal(stored.by("weather"), evaluation.by("weather"))
    assert_frame_equal(stored.metrics, evaluation.metrics)
    groups = [dataset.images["image_id"][part::3].implode() for part in range(3)]
    tables = {"images": dataset.images, "annotations": dataset.annotations, "detections": found}
    for number, ids in enumerate(groups):
        shard = folder / "shards" / str(number)
        shard.mkdir(parents=True)
        for name, frame in tables.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(shard / f"{name}.parquet")
        dataset.categories.write_parquet(shard / "categories.parquet")
    sharded = apf.evaluate_shards(str(folder / "shards" / "*"), protocol=protocol, **options)
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    assert_frame_equal(sharded.summary, evaluation.summary)
    assert_frame_equal(sharded.by("weather"), evaluation.by("weather"))
    evaluator = apf.Evaluator(dataset, protocol=protocol, **options)
    for ids in groups:
        evaluator.update(found.drop("detection_id", strict=False).filter(pl.col("image_id").is_in(ids)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)
    first = evaluation.summary["metric"][0]
    for weather in dataset.images["weather"].unique():
        subset = evaluation.where(pl.col("weather") == weather)
        row = evaluation.by("weather").filter(weather=weather)
        assert row[first].to_list() == [pytest.approx(subset.summary["value"][0], abs=1e-12)]
    table = evaluation.intervals(n_resamples=20, method="bootstrap")
    named = dict(evaluation.summary.rows())
    assert dict(table.select("metric", "estimate").rows()) == pytest.approx(named, abs=1e-9, nan_ok=True)
    by_weather = evaluation.intervals(by="weather", metrics=[first], n_resamples=20, method="bootstrap")
    sliced = dict(evaluation.by("weather").select("weather", first).rows())
    assert dict(by_weather.select("weather", "estimate").rows()) == pytest.approx(sliced, abs=1e-9)
    differences = evaluation.compare(evaluation, metrics=[first], n_resamples=20, method="bootstrap")["difference"]
    assert differences.to_list() == pytest.approx([0.0] * len(differences), abs=1e-12)
