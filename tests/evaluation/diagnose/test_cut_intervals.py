"""Intervals of rates at a cut: the same as those of copied rows, by hand and on the sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.compare.resampling import draw_counts
from apframe.evaluation.diagnose.at_thresholds import CutEvaluation
from apframe.exceptions import ApframeError, FewUnitsWarning

STREET = Path(__file__).parents[3] / "data" / "street"
RATES = ("precision", "recall", "f1", "fppi")
N = 200


@pytest.fixture(scope="module")
def cut() -> CutEvaluation:
    a, b = (apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json") for model in "ab")
    return b.at(a.operating_points("f1", 0.5))


def plain(counts: pl.DataFrame, images: pl.Series, unit: np.ndarray | None = None) -> dict[str, tuple[float, float]]:
    """The intervals by a loop over the resamples; `counts` has image_id, tp, fp and fn, `images` are those of the slice."""
    every = images.sort()
    of_image = every.to_frame("image_id").join(
        counts.group_by("image_id").agg(pl.sum("tp", "fp", "fn")), on="image_id", how="left"
    )
    numbers = of_image.sort("image_id").select("tp", "fp", "fn").fill_null(0).to_numpy()
    n_units = len(every) if unit is None else int(unit.max()) + 1
    values: dict[str, list[float]] = {name: [] for name in RATES}
    for block in draw_counts(n_units, N, 7, 50):
        for draw in block:
            weights = draw if unit is None else draw[unit]
            tp, fp, fn = (weights[:, None] * numbers).sum(axis=0)
            drawn = (tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn), fp / weights.sum())
            for name, value in zip(RATES, drawn, strict=True):
                values[name].append(value)
    return {name: (np.quantile(each, 0.05), np.quantile(each, 0.95)) for name, each in values.items()}


def ends(row: dict[str, Any]) -> dict[str, tuple[float, float]]:
    return {name: (row[f"{name}_low"], row[f"{name}_high"]) for name in RATES}


def test_intervals_are_those_of_a_plain_loop(cut: CutEvaluation) -> None:
    expected = plain(cut.per_image(), cut.evaluation.dataset.images["image_id"])
    table = cut.by(n_resamples=N, confidence=0.9, seed=7)
    found = ends(table.row(0, named=True))
    for name in RATES:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)
    names = [column for name in RATES for column in (name, f"{name}_low", f"{name}_high")]
    assert table.columns == ["tp", "fp", "fn", *names, "n_images"]
    assert table.select("tp", "fp", "fn", *RATES, "n_images").equals(cut.overall)


def test_all_images_of_a_unit_are_drawn_together(cut: CutEvaluation) -> None:
    images = cut.evaluation.dataset.images.sort("image_id")
    unit = images["weather"].rank("dense").to_numpy().astype(int) - 1
    with pytest.warns(FewUnitsWarning):
        table = cut.by(n_resamples=N, confidence=0.9, seed=7, unit="weather")
    assert table["recall_low"].item() is None  # of four units, fewer than five have annotations
    assert unit.max() == 3
    cities = images.with_columns(unit=pl.int_range(pl.len()) // 3)
    grouped = apf.evaluate(
        apf.Dataset(cities, cut.evaluation.dataset.categories, cut.evaluation.dataset.annotations, box_format="xywh"),
        cut.evaluation.detections,
    ).at(cut.thresholds, 0.5)
    expected = plain(grouped.per_image(), images["image_id"], np.arange(300) // 3)
    found = ends(grouped.by(n_resamples=N, confidence=0.9, seed=7, unit="unit").row(0, named=True))
    for name in RATES:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)


def test_slices_get_the_draws_of_the_whole(cut: CutEvaluation) -> None:
    """A slice's images are drawn as often as they are among all images, so a slice of everything has the whole's intervals."""
    whole = cut.by(n_resamples=N, seed=7)
    weather = cut.by("weather", n_resamples=N, seed=7, marginals=True)
    assert weather.tail(1).select(whole.columns).equals(whole)
    each = cut.by("weather", level="category", n_resamples=N, seed=7)
    assert each.height == 4 * 12
    assert each.select(pl.col("recall_low").null_count()).item() > 0
    known = each.drop_nulls(["recall_low", "recall"])
    assert known.select((pl.col("recall_low") <= pl.col("recall_high")).all()).item()
    objects = cut.by(apf.bins("occlusion", [0, 0.3, 1]), n_resamples=N, seed=7)
    assert objects.select("recall_low").null_count().item() == 1  # without an occlusion, there are no annotations that count


def test_order_of_rows_changes_nothing(cut: CutEvaluation) -> None:
    data = cut.evaluation.dataset
    shuffled = apf.evaluate(
        apf.Dataset(data.images.reverse(), data.categories.reverse(), data.annotations.reverse(), box_format="xywh"),
        cut.evaluation.detections,
    )
    assert shuffled.at(cut.thresholds, 0.5).by("weather", n_resamples=50).equals(cut.by("weather", n_resamples=50))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": -1}, "n_resamples"), ({"n_resamples": 2.5}, "n_resamples"), ({"confidence": 95}, "confidence is"),
        ({"unit": "nothing"}, "nothing"), ({"within": "nothing"}, "nothing"), ({"seed": -1}, "seed"),
    ],
)  # fmt: skip
def test_bad_options(options: dict[str, Any], message: str, cut: CutEvaluation) -> None:
    with pytest.raises(ApframeError, match=message):
        cut.by(**({"n_resamples": 10} | options))
