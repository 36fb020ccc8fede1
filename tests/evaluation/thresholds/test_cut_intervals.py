"""Intervals of rates at a cut: standard errors by hand, of units and slices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.compare.paired_tests import t_quantile
from apframe.evaluation.thresholds.cut_evaluation import CutEvaluation
from apframe.exceptions import ApframeError, FewUnitsWarning

STREET = Path(__file__).parents[3] / "data" / "street"
RATES = ("precision", "recall", "f1", "fppi")


@pytest.fixture(scope="module")
def cut() -> CutEvaluation:
    a, b = (apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json") for model in "ab")
    return b.at(a.operating_points("f1", 0.5))


def plain(counts: pl.DataFrame, images: pl.Series, unit: np.ndarray | None = None) -> dict[str, float]:
    """The standard errors by the textbook's formula for quotients of sums; `counts` has image_id, tp, fp and fn."""
    of_image = (
        images.sort()
        .to_frame("image_id")
        .join(counts.group_by("image_id").agg(pl.sum("tp", "fp", "fn")), on="image_id", how="left", maintain_order="left")
    )
    tp, fp, fn = of_image.select("tp", "fp", "fn").fill_null(0).to_numpy().T.astype(float)
    unit = np.arange(len(tp)) if unit is None else unit
    standard_errors = {}
    for name, above, below in zip(
        RATES, (tp, tp, 2 * tp, fp), (tp + fp, tp + fn, 2 * tp + fp + fn, np.ones(len(tp))), strict=True
    ):
        deviation = np.bincount(unit, above - above.sum() / below.sum() * below) / below.sum()
        standard_errors[name] = float(np.sqrt(len(deviation) / (len(deviation) - 1) * (deviation**2).sum()))
    return standard_errors


@pytest.mark.slow
def test_standard_errors_are_those_of_the_textbook(cut: CutEvaluation) -> None:
    expected = plain(cut.per_image(), cut.evaluation.dataset.images["image_id"])
    table = cut.by(intervals=True, confidence=0.9)
    row = table.row(0, named=True)
    for name in RATES:
        assert row[f"{name}_se"] == pytest.approx(expected[name], rel=1e-9)
        half = t_quantile(0.9, np.array([299])).item() * row[f"{name}_se"]
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((row[name] - half, row[name] + half))
    names = [column for name in RATES for column in (name, f"{name}_se", f"{name}_low", f"{name}_high")]
    assert table.columns == ["tp", "fp", "fn", *names, "n_images"]
    assert table.select("tp", "fp", "fn", *RATES, "n_images").equals(cut.overall)


@pytest.mark.slow
def test_all_images_of_a_unit_are_one(cut: CutEvaluation) -> None:
    images = cut.evaluation.dataset.images.sort("image_id")
    with pytest.warns(FewUnitsWarning):
        table = cut.by(intervals=True, unit="weather")
    assert table["recall_low"].item() is None  # four units are fewer than ten
    videos = images.with_columns(unit=pl.int_range(pl.len()) // 3)
    grouped = apf.evaluate(
        apf.Dataset(videos, cut.evaluation.dataset.categories, cut.evaluation.dataset.annotations, box_format="xywh"),
        cut.evaluation.detections,
    ).at(cut.thresholds, 0.5)
    expected = plain(grouped.per_image(), images["image_id"], np.arange(300) // 3)
    row = grouped.by(intervals=True, unit="unit").row(0, named=True)
    for name in RATES:
        assert row[f"{name}_se"] == pytest.approx(expected[name], rel=1e-9)
    within = cut.by(intervals=True, within="weather").row(0, named=True)
    assert 0.8 * row["recall_se"] < within["recall_se"] < 1.2 * row["recall_se"]


@pytest.mark.slow
def test_slices_and_categories(cut: CutEvaluation) -> None:
    whole = cut.by(intervals=True)
    weather = cut.by("weather", intervals=True, marginals=True)
    assert weather.tail(1).select(whole.columns).equals(whole)
    each = cut.by("weather", level="category", intervals=True)
    assert each.height == 4 * 12
    assert each.select(pl.col("recall_low").null_count()).item() > 0
    rows = each.drop_nulls(["recall_low", "recall"])
    assert rows.select((pl.col("recall_low") <= pl.col("recall_high")).all()).item()
    objects = cut.by(apf.bins("occlusion", [0, 0.3, 1]), intervals=True)
    assert objects.select("recall_low").null_count().item() == 1  # without an occlusion, there are no annotations that count


@pytest.mark.slow
def test_order_of_rows_changes_nothing(cut: CutEvaluation) -> None:
    data = cut.evaluation.dataset
    shuffled = apf.evaluate(
        apf.Dataset(data.images.reverse(), data.categories.reverse(), data.annotations.reverse(), box_format="xywh"),
        cut.evaluation.detections,
    )
    assert shuffled.at(cut.thresholds, 0.5).by("weather", intervals=True).equals(cut.by("weather", intervals=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "confidence is"), ({"unit": "nothing"}, "nothing"), ({"within": "nothing"}, "nothing"),
        ({"intervals": False, "unit": "weather"}, "unit is about intervals; give intervals=True too"),
    ],
)  # fmt: skip
def test_bad_options(options: dict[str, Any], message: str, cut: CutEvaluation) -> None:
    with pytest.raises(ApframeError, match=message):
        cut.by(**({"intervals": True} | options))
