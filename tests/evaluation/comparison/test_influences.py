"""Influences on headline numbers: derivatives of what resamples compute, in every protocol, slice and block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.resampling import Units
from apframe.evaluation.comparison import influences, resampled
from apframe.evaluation.comparison.image_weights import ImageWeights
from apframe.evaluation.comparison.influences import read_influences
from apframe.evaluation.comparison.ranks import ranks
from apframe.evaluation.comparison.sampling import Sampling, chosen_lines
from apframe.evaluation.comparison.slice_rows import SlicedEvaluation, make_slices
from apframe.exceptions import ParameterError
from apframe.metrics.definitions import Coco101
from apframe.protocols.headline_values import compose
from apframe.protocols.headlines import Headline, with_terms
from tests.pins.sets import cases

STEP = 1e-6


def under(part: SlicedEvaluation, lines: list[Headline], weights: np.ndarray) -> dict[str, np.ndarray]:
    """Headline numbers of one row under weights of the images, of shape (weightings,)."""
    every = with_terms(lines, part.protocol)
    numbers = np.full((len(every), 1, weights.shape[1]), np.nan)
    for block in part.blocks():
        resampled._fill(block, every, part.protocol, weights, numbers)
    return {name: values[0] for name, values in compose({
        line.metric: numbers[at] for at, line in enumerate(every)}, lines, part.protocol).items()}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@pytest.mark.parametrize("name", apf.PUBLISHED)
def test_influences_are_derivatives_of_headline_numbers(name: str, tmp_path: Path) -> None:
    """Means over categories and images, quotients of sums; but of levels of recall, of which the area is derived."""
    compared = set()
    for _, data, evaluate in cases(name, tmp_path):
        if data != "generated":
            continue
        ev = evaluate()
        lines = [line for line in chosen_lines(ev, None) if line.part is None]
        if isinstance(getattr(ev.protocol.all_metrics[0], "definition", None), Coco101):
            lines = [line for line in lines if line.column != "ap"]
        if not lines:
            continue
        part, n = SlicedEvaluation(ev, make_slices(ev, [], "summary", [])), ev._pipeline.outline.images.height
        weights = np.random.default_rng(2).uniform(0.5, 2, n)
        units = Units(np.arange(n), None)
        (some,) = read_influences([part], lines, ev.protocol, units, ImageWeights(fixed=weights), 1)
        moved = weights[:, None] * (1 + STEP * np.concatenate([np.eye(n), -np.eye(n), np.zeros((n, 1))], axis=1))
        numbers = under(part, lines, moved)
        for metric, found in some.influence.items():
            up, down, here = numbers[metric][:n], numbers[metric][n : 2 * n], numbers[metric][2 * n :]
            np.testing.assert_allclose(some.estimates[metric][0, 0], here[0], rtol=0, atol=1e-9, equal_nan=True)
            is_kink = ~(np.abs((up - here) - (here - down)) < 1e-3 * STEP)
            expected = (up - down) / (2 * STEP)
            np.testing.assert_allclose(found[0, 0][~is_kink], expected[~is_kink], rtol=0, atol=1e-6, err_msg=metric)
            compared |= {metric} if (~is_kink).any() else set()
    if name == "SEMANTIC":
        assert compared == {"mIoU", "fwIoU", "mACC", "pACC"}
    if name == "VISDRONE":
        assert {"AP", "AP50"} <= compared


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("by", [(), "weather", "supercategory", apf.bins("occlusion", [0, 0.3, 1])])
@pytest.mark.parametrize("level", ["summary", "category"])
def test_blocks_of_lists_change_nothing(a: apf.Evaluation, by: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the lists of a row are in several blocks."""
    options: dict[str, Any] = {"by": by, "level": level, "metrics": ["AP", "AR100", "APs"]}
    whole = a.intervals(**options)
    monkeypatch.setattr(influences, "_MOST", 2_000)
    assert len(list(influences._bounds([SlicedEvaluation(a, make_slices(a, [], "summary", []))], 900))) > 2
    assert_frame_equal(a.intervals(**options), whole, check_exact=False, abs_tol=1e-12)


@pytest.mark.slow
def test_several_evaluations_are_read_together(a: apf.Evaluation, b: apf.Evaluation) -> None:
    table = a.compare([b, a], names=["a", "b", "again"], metrics=["AP", "AR100"], level="both")
    for run, other in (("b", b), ("again", a)):
        alone = a.compare(other, names=["a", run], metrics=["AP", "AR100"], level="both")
        own = table.filter(run_b=run)
        columns = ["category_id", "metric", "difference", "se", "low", "high", "p", "reason"]
        assert_frame_equal(own.select(columns), alone.select(columns))


@pytest.mark.slow
def test_standard_errors_are_those_of_the_bootstrap(a: apf.Evaluation, b: apf.Evaluation) -> None:
    """Within a tenth: plain, in strata, under weights, for a mix, and of videos."""
    images = a.dataset.images.with_columns(video=pl.col("image_id").rank("dense") // 3, worth=pl.col("image_id") % 4 + 1.0)
    models = [
        apf.evaluate(apf.Dataset(images, each.dataset.categories, each.dataset.annotations), each.detections) for each in (a, b)
    ]
    for options in ({}, {"within": "weather"}, {"weights": "worth"}, {"to_mix": {"fog": 1, "rain": 2, "clear": 1, "snow": 1}},
                    {"unit": "video"}):  # fmt: skip
        one, other = (
            models[0].compare(models[1], names=["a", "b"], metrics=["AP50", "AR100"], method=method, **options)  # type: ignore[arg-type]
            for method in ("influence", "bootstrap")
        )
        np.testing.assert_allclose(one["se"], other["se"], rtol=0.1)
        np.testing.assert_allclose(one["difference"], other["difference"], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_standard_error_is_a_group_by(a: apf.Evaluation) -> None:
    """In SQL, by slice, by category, and of videos."""
    expected = dict(a.intervals().drop_nulls("se").select("metric", "se").rows())
    standard_errors = dict(a.sql(
        "SELECT metric, sqrt(count(*) / (count(*) - 1) * sum(influence * influence)) AS se FROM influence GROUP BY metric"
    ).rows())  # fmt: skip
    assert expected == pytest.approx({metric: standard_errors[metric] for metric in expected}, rel=1e-9)
    se = (pl.col("influence").pow(2).sum() * pl.len() / (pl.len() - 1)).sqrt()
    of_slices = a.influence("AP", by="weather").group_by("weather").agg(se=se)
    of_clear = a.intervals(metrics="AP", by="weather").filter(weather="clear")["se"][0]
    assert of_slices.filter(weather="clear")["se"][0] == pytest.approx(of_clear, rel=1e-9)


@pytest.mark.slow
def test_influence_of_objects_and_categories(a: apf.Evaluation) -> None:
    slices = a.influence(["AP", "AR100"], by=apf.bins("occlusion", [0, 0.3, 1]))
    assert slices.columns == ["occlusion", "metric", "image_id", "influence"]
    assert slices.group_by("occlusion", "metric").len()["len"].unique().to_list() == [300]
    each = a.influence("AP", level="category")
    assert each.columns == ["category_id", "name", "metric", "image_id", "influence"]
    mean = each.group_by("image_id").agg(pl.sum("influence") / 12).sort("image_id")
    whole = a.influence().join(mean, on="image_id")
    np.testing.assert_allclose(whole["influence"], whole["influence_right"], rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::apframe.exceptions.FewUnitsWarning")
def test_influences_of_few_images_are_no_intervals() -> None:
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}, {"id": 2}], "categories": [{"id": 1}], "annotations": [box | {"id": 1, "image_id": 1}]}
    ev = apf.evaluate(truth, [box | {"image_id": 1, "score": 0.5}])
    assert ev.influence("AP")["influence"].to_list() == [0.0, 0.0]
    assert ev.sql("SELECT count(*) AS n FROM influence WHERE metric = 'AP'")["n"].to_list() == [2]


def test_a_number_without_annotations_has_no_influence() -> None:
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": n} for n in range(30)], "categories": [{"id": 1}],
             "annotations": [box | {"id": n, "image_id": n} for n in range(30)]}  # fmt: skip
    ev = apf.evaluate(truth, [box | {"image_id": n, "score": 0.5} for n in range(20)])
    assert ev.influence("APl").height == 0
    assert ev.intervals(metrics="APl").select("estimate", "se", "reason", "method").rows() == [(None, None, None, "influence")]


@pytest.mark.slow
def test_keys_of_objects_and_categories_together(a: apf.Evaluation) -> None:
    by = (apf.bins("occlusion", [0, 0.3, 1]), "name")
    table = a.by(*by, intervals=True, marginals=True)
    assert_frame_equal(table.select(a.by(*by, marginals=True).columns), a.by(*by, marginals=True))
    of_cars = table.filter(occlusion="[0, 0.3)", name="car", rolled_up="")
    part = a.where("occlusion < 0.3", "name = 'car'").intervals(metrics="AP")
    assert of_cars.select("AP", "AP_se").row(0) == pytest.approx(part.select("estimate", "se").row(0), rel=1e-9)


@pytest.mark.slow
def test_strata_of_one_image_say_nothing(a: apf.Evaluation, b: apf.Evaluation) -> None:
    with pytest.warns(apf.exceptions.FewUnitsWarning, match="300 values of image_id have a single unit"):
        table = a.compare(b, metrics="AP", within="image_id")
    assert table.select("se", "p", "reason").rows() == [(None, None, "fewer than 2 units")]


@pytest.mark.slow
def test_equal_weights_of_any_size_change_nothing(a: apf.Evaluation) -> None:
    """Their sums are rounded, which must not move where an envelope is attained."""
    images = a.dataset.images.with_columns(third=pl.lit(1 / 3), tenth=pl.lit(0.1))
    ev = apf.evaluate(apf.Dataset(images, a.dataset.categories, a.dataset.annotations), a.detections)
    plain = ev.intervals(level="both")
    for weights in ("third", "tenth"):
        table = ev.intervals(level="both", weights=weights)
        np.testing.assert_allclose(table["se"].drop_nulls(), plain["se"].drop_nulls(), rtol=1e-9)


@pytest.mark.slow
def test_parts_have_ranks_and_no_influence(three_frequencies: dict[str, Any]) -> None:
    models = [
        apf.evaluate(three_frequencies, [
            {"image_id": n, "category_id": k, "bbox": [0, 0, 9, 9], "score": 0.5} for k in range(3) for n in range(found)
        ], "lvis") for found in (10, 20)
    ]  # fmt: skip
    table = ranks(models, ["a", "b"], Sampling(metrics="APr"))
    assert table["share_best"].to_list() == pytest.approx([0, 1], abs=0.01)
    with pytest.raises(ParameterError, match="APr is the number of a part of the data; use `where` first, and AP"):
        models[0].influence("APr")


def test_what_is_not_evaluated_has_no_influence(a: apf.Evaluation) -> None:
    ev = apf.evaluate(a.dataset, a.detections, iou_thresholds=[0.5])
    assert ev.influence("AP75").height == 0
    with pytest.raises(ParameterError, match="the result has a column 'influence' of its own"):
        apf.evaluate(
            apf.Dataset(a.dataset.images.with_columns(influence=1), a.dataset.categories, a.dataset.annotations), a.detections
        ).influence(by="influence")


@pytest.mark.slow
def test_images_that_make_the_difference(a: apf.Evaluation, b: apf.Evaluation) -> None:
    table = a.compare(b, level="image", metrics=["AP", "AP75"])
    assert table["metric"].unique(maintain_order=True).to_list() == ["AP", "AP75"]
    first = table.filter(metric="AP")
    assert first["influence"].abs().is_sorted(descending=True)
    assert first["share"].sum() == pytest.approx(1)
    n = first.height
    se = (n / (n - 1) * (first["influence"] ** 2).sum()) ** 0.5
    assert se == pytest.approx(a.compare(b, metrics="AP")["se"][0], rel=1e-9)
    for name, each in (("a", a), ("b", b)):
        own = each.per_image(iou_threshold=0.75, area_range="all").select("image_id", "tp", "fp", "fn").sort("image_id")
        rows = table.filter(metric="AP75").sort("image_id")
        assert rows.select("image_id", tp=f"tp_{name}", fp=f"fp_{name}", fn=f"fn_{name}").equals(own)
    with pytest.raises(ParameterError, match='by is not for level="image"'):
        a.compare(b, level="image", by="weather")
    with pytest.raises(ParameterError, match='method is not for level="image"'):
        a.compare(b, level="image", method="bootstrap")
    assert a.compare(b, level="image", by=[]).equals(a.compare(b, level="image"))
    with pytest.raises(ParameterError, match='level="image" compares two evaluations, not 3'):
        a.compare([b, b], level="image")


@pytest.mark.slow
def test_numbers_without_a_derivative_are_resampled(tmp_path: Path) -> None:
    ev = next(evaluate for _, data, evaluate in cases("CITYPERSONS", tmp_path) if data == "generated")()
    with pytest.warns(apf.exceptions.ResampledWarning, match="LAMR.* resamples of the images, as there is no derivative"):
        table = ev.intervals(n_resamples=50)
    assert table["method"].unique().to_list() == ["bootstrap"]
    assert table.filter(metric="LAMR_all")["n_resamples"].to_list() == [50]
    with pytest.raises(ParameterError, match="LAMR_all has no derivative, so images have no influence on it"):
        ev.influence("LAMR_all")
    assert ev.sql("SELECT * FROM influence").columns == ["metric", "image_id", "influence"]


@pytest.mark.slow
def test_slices_with_intervals(a: apf.Evaluation) -> None:
    table = a.by("weather", intervals=True, marginals=True)
    plain = a.by("weather", marginals=True)
    assert_frame_equal(table.select(plain.columns), plain)
    assert table.columns[2:6] == ["AP", "AP_se", "AP_low", "AP_high"]
    of_slices = a.intervals(by="weather").filter(metric="AP")
    rows = table.filter(rolled_up="").select("AP_se", "AP_low", "AP_high").rows()
    assert rows[0] == pytest.approx(of_slices.select("se", "low", "high").row(0), rel=1e-12)
    assert [row[0] is None for row in rows] == [False, True, False, True]  # snow and fog have too few images
    with pytest.raises(ParameterError, match="unit is about intervals; give intervals=True too"):
        a.by("weather", unit="city")


@pytest.mark.slow
def test_reading_the_summary_computes_no_standard_error(
    a: apf.Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("apframe.evaluation.comparison.study.read_influences", refuse)
    ev = apf.evaluate(a.dataset, a.detections)
    assert ev.summary.columns == ["metric", "value"]
    assert (ev["AP"], ev.stats[0]) == (a["AP"], a["AP"])
    assert "Average Precision" in str(ev)
    assert ev.by("weather").height == 4
    ev.write_parquet(tmp_path / "set")
    with pytest.raises(AssertionError):
        ev.intervals()
