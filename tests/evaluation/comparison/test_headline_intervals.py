"""Intervals and differences of headline numbers: the reference values of DIAGNOSIS.md 7.2, and what they may not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.comparison.sampling import Sampling, sample
from apframe.exceptions import (
    BiasWarning,
    FewResamplesWarning,
    FewUnitsWarning,
    ImagesLeftOutWarning,
    LargeResultWarning,
    NotComparableError,
    ParameterError,
)
from tests.parity.strategies import Case, cases, half_as_often
from tests.protocols.test_protocol_values import tiny

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def rounded(table: pl.DataFrame, *columns: str) -> list[float]:
    return [round(value, 4) for value in table.select(columns).row(0)]


@pytest.mark.slow
def test_the_reference_values_of_the_sample(a: apf.Evaluation, b: apf.Evaluation) -> None:
    """DIAGNOSIS.md 7.2, to the last digit: the generator and its use are the same."""
    of_a, of_b = (each.intervals(metrics="AP", method="bootstrap") for each in (a, b))
    assert rounded(of_a, "estimate", "low", "high") == [0.2684, 0.2492, 0.2903]
    assert rounded(of_b, "estimate", "low", "high") == [0.2765, 0.2612, 0.2965]
    assert of_a.select(pl.col("se", "bias").round(5)).rows() == [(0.01037, 0.00208)]
    assert of_b.select(pl.col("se", "bias").round(5)).rows() == [(0.0094, 0.0023)]
    table = a.compare(b, metrics=["AP", "AP50"], method="bootstrap")
    assert rounded(table, "difference", "low", "high", "se") == [0.0082, -0.0148, 0.032, 0.0119]
    assert table.select(pl.col("share_better", "p").round(3), pl.col("bias").round(5)).row(0) == (0.756, 0.49, 0.00022)
    assert round(table["detectable"][0], 3) == 0.033
    assert rounded(table[1:], "difference", "low", "high", "se") == [-0.0064, -0.0368, 0.0287, 0.0169]


@pytest.mark.slow
def test_four_of_twelve_categories_look_different_and_none_is(a: apf.Evaluation, b: apf.Evaluation) -> None:
    """DIAGNOSIS.md 7.2."""
    table = a.compare(b, level="category", metrics="AP", method="bootstrap")
    apart = table.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    assert apart["name"].to_list() == ["pedestrian", "worker", "car", "traffic light"]
    assert apart["difference"].round(3).to_list() == [0.034, -0.114, 0.035, -0.048]
    assert apart["low"].round(3).to_list() == [0.004, -0.204, 0.005, -0.097]
    assert apart["high"].round(3).to_list() == [0.063, -0.027, 0.063, -0.001]
    assert apart["p"].round(3).to_list() == [0.026, 0.018, 0.024, 0.05]
    assert round(table["q"].min(), 3) == 0.104  # type: ignore[arg-type, type-var]


@pytest.mark.slow
def test_strata_and_clusters(a: apf.Evaluation, b: apf.Evaluation) -> None:
    """Cities as strata change next to nothing; five of them as units are too few (DIAGNOSIS.md 7.2)."""
    for method in ("influence", "bootstrap"):
        strata = a.compare(b, metrics="AP", within="city", method=method)
        assert 0.010 < strata["se"][0] < 0.013
    with pytest.warns(FewUnitsWarning, match="only 5 "):
        clusters = a.compare(b, metrics="AP", unit="city", method="bootstrap")
    assert clusters["n_units"][0] == 5
    assert clusters["se"][0] < 0.7 * strata["se"][0]
    with pytest.warns(FewUnitsWarning, match="only 5 "):
        without = a.compare(b, metrics="AP", unit="city")
    assert without.select("se", "reason").rows() == [(None, "annotations in fewer than 10 units")]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_a_model_against_itself(a: apf.Evaluation, method: str) -> None:
    table = a.compare(a, names=["one", "two"], n_resamples=500, level="category", method=method)
    with_interval = table.drop_nulls("low")
    assert with_interval.height > 100
    assert with_interval.select("difference", "low", "high", "p", "share_better").unique().rows() == [(0, 0, 0, 1, 0.5)]


@pytest.mark.slow
def test_estimates_are_the_numbers_themselves(a: apf.Evaluation) -> None:
    table = a.intervals(n_resamples=10)
    np.testing.assert_allclose(table["estimate"], a.summary["value"], rtol=0, atol=1e-12)
    assert table["metric"].to_list() == a.summary["metric"].to_list()
    for key in ("weather", "supercategory"):
        slices = a.intervals(by=key, n_resamples=10)
        expected = a.by(key)
        for metric in ("AP", "AP50", "APs", "AR1", "AR100"):
            rows = slices.filter(metric=metric)
            assert rows[key].to_list() == expected[key].to_list()
            np.testing.assert_allclose(rows["estimate"], expected[metric], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "by",
    [
        apf.bins("occlusion", [0, 0.3, 1]),
        {"dark": "weather = 'fog'", "hidden": "occlusion > 0.5"},
        ["weather", "supercategory"],
    ],
)
def test_slices_of_objects_and_named_ones(a: apf.Evaluation, by: Any) -> None:
    intervals = a.intervals(by=by, metrics=["AP", "AR100"], n_resamples=5).filter(metric="AP")
    expected = a.by(*by) if isinstance(by, list) else a.by(by)
    keys = intervals.columns[: intervals.columns.index("metric")]
    assert_frame_equal(intervals.select(keys), expected.select(keys))
    np.testing.assert_allclose(intervals["estimate"].fill_null(-1), expected["AP"].fill_null(-1), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_parts_of_a_summary(three_frequencies: dict[str, Any]) -> None:
    """LVIS has numbers of rare, common and frequent categories."""
    detections = [
        {"image_id": n, "category_id": k, "bbox": [0, 0, 9, 9], "score": 0.5} for k in range(3) for n in range(10 * k + 10)
    ]
    ev = apf.evaluate(three_frequencies, detections, "lvis")
    table = ev.intervals(n_resamples=50)
    assert table["metric"].to_list() == ev.summary["metric"].to_list()
    np.testing.assert_allclose(table["estimate"].fill_null(-1), ev.stats, rtol=0, atol=1e-12)
    parts = ev.intervals(metrics=["APr", "AP"], n_resamples=50)
    assert parts["metric"].to_list() == ["APr", "AP"]


@half_as_often
@given(cases(), st.randoms())
def test_rows_threads_and_other_metrics_change_nothing(case: Case, random: Any) -> None:
    """The same seed gives the same table."""
    if len(case.truth["images"]) < 2:
        return
    ev = apf.evaluate(case.truth, case.results)
    table = ev.intervals(n_resamples=70, seed=3)
    shuffled = {name: random.sample(rows, len(rows)) for name, rows in case.truth.items()}
    other = apf.evaluate(shuffled, case.results)
    other_table = other.intervals(n_resamples=70, seed=3)
    assert_frame_equal(other_table, table, abs_tol=1e-12)
    one = ev.intervals(metrics="APm", n_resamples=70, seed=3)
    assert_frame_equal(one, table.filter(metric="APm"), abs_tol=1e-12)


@pytest.mark.slow
def test_other_models_change_no_number(a: apf.Evaluation, b: apf.Evaluation) -> None:
    third = a.where("weather <> 'nothing'")
    alone = a.compare(b, metrics="AP", n_resamples=90)
    both = a.compare([third, b], metrics="AP", n_resamples=90, names=["a", "c", "b"])
    columns = ["difference", "low", "high", "se", "bias", "p", "n_units"]
    assert both.filter(run_b="b").select(columns).equals(alone.select(columns))
    assert both.filter(run_b="b")["p_holm"][0] >= alone["p_holm"][0]


@pytest.mark.slow
@pytest.mark.parametrize("by", [(), "weather", apf.bins("occlusion", [0, 0.3, 1]), "score_band"])
def test_each_model_has_its_numbers_whatever_its_place(a: apf.Evaluation, b: apf.Evaluation, by: Any) -> None:
    """Also by a column that only the detections have, of which one model lacks a value."""
    if by == "score_band":
        band = pl.when(pl.col("score") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low"))
        a, b = (apf.evaluate(each.dataset, each.detections.with_columns(score_band=band)) for each in (a, b))
        a = apf.evaluate(a.dataset, a.detections.filter(score_band="low"))
    for one, two in ((a, b), (b, a)):
        table = one.compare(two, by=by, metrics="AP", n_resamples=200, names=["one", "two"])
        for column, each in (("estimate_a", one), ("estimate_b", two)):
            own = each.by(*([by] if by else []))
            keys = own.columns[: own.columns.index("AP")]
            rows = table.join(own.select(*keys, "AP"), on=keys, nulls_equal=True) if keys else own.select("AP").hstack(table)
            assert rows.height == own.height
            np.testing.assert_allclose(rows[column].fill_null(-1), rows["AP"].fill_null(-1), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_shares_of_a_mix(a: apf.Evaluation) -> None:
    """The mix that the images have anyway gives the plain number; all of one part gives that of its slice."""
    images = a.dataset.images
    shares = dict(images.group_by("weather").len().rows())
    plain = a.intervals(metrics="AP", n_resamples=20)
    mixed = a.intervals(metrics="AP", n_resamples=20, to_mix=shares)
    assert mixed["estimate"][0] == pytest.approx(plain["estimate"][0], abs=1e-9)
    with pytest.warns(ImagesLeftOutWarning, match="to_mix gives no share to weather"):
        fog = a.intervals(metrics="AP", n_resamples=20, to_mix={"fog": 1.0})
    assert fog["estimate"][0] == pytest.approx(a.by("weather").filter(weather="fog")["AP"][0], abs=1e-9)


@pytest.mark.slow
def test_images_without_weight_are_no_units() -> None:
    """Ten images are at night, and four of these have annotations: too few for an interval of a mix of nights alone."""
    box = {"category_id": 1, "bbox": [0, 0, 20, 20]}
    truth = {
        "images": [{"id": n, "light": "night" if n < 10 else "day", "is_night": int(n < 10)} for n in range(40)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [box | {"id": n, "image_id": n} for n in [*range(4), *range(10, 40)]],
    }
    ev = apf.evaluate(truth, [box | {"image_id": n, "score": 0.5} for n in range(0, 40, 2)])
    tables = [
        ev.intervals(metrics="AP", n_resamples=20, **options)  # type: ignore[arg-type]
        for options in ({"to_mix": {"night": 1, "day": 0}}, {"weights": "is_night"}, {"by": "light"})
    ]
    for table in (tables[0], tables[1], tables[2].filter(light="night")):
        assert table.select("low", "high", "n_units", "reason").rows() == [
            (None, None, 10, "annotations in fewer than 10 units")
        ]
    mixed = ev.intervals(metrics="AP", n_resamples=20, to_mix={"night": 1, "day": 1})
    assert mixed["n_units"].to_list() == [40]
    assert mixed["low"].null_count() == 0


def test_weights_of_a_column() -> None:
    """An image of weight 2 counts as two copies of it."""
    truth = {
        "images": [{"id": n, "copies": n % 3} for n in range(24)], "categories": [{"id": 1}],
        "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in range(24)],
    }  # fmt: skip
    detections = [
        {"image_id": n, "category_id": 1, "bbox": [n % 2 * 50, 0, 9, 9], "score": (7 * n % 24) / 24} for n in range(24)
    ]
    copies = [(n, 10 * n + k) for n in range(24) for k in range(n % 3)]
    copied = truth | {
        "images": [{"id": new} for _, new in copies],
        "annotations": [truth["annotations"][old] | {"id": new, "image_id": new} for old, new in copies],  # type: ignore[operator]
    }
    of_copies = [detections[old] | {"image_id": new} for old, new in copies]
    value = apf.evaluate(truth, detections).intervals(metrics="AP", weights="copies", n_resamples=5)["estimate"][0]
    assert value == pytest.approx(apf.evaluate(copied, of_copies)["AP"], abs=1e-12)


def test_nulls_where_there_is_nothing_to_say() -> None:
    truth = {
        "images": [{"id": n} for n in range(30)], "categories": [{"id": 1}, {"id": 2}, {"id": 3}],
        "annotations": [
            {"id": n, "image_id": n, "category_id": 1 if n < 20 else 2, "bbox": [0, 0, 9, 9]} for n in range(24)
        ],
    }  # fmt: skip
    detections = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for n in range(10)]
    table = apf.evaluate(truth, detections).intervals(level="category", metrics="AP50", n_resamples=50)
    rows = table.select("category_id", pl.col("estimate").round(3), pl.col("low").is_null(), "n_units").rows()
    assert rows == [(1, 0.505, False, 30), (2, 0.0, True, 30), (3, None, True, 30)]  # only 4 images show a 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "AP51"}, "no metric 'AP51'; did you mean"),
        ({"metrics": []}, "metrics: name at least one"),
        ({"unit": "video"}, "unit: the images have no column 'video'"),
        ({"within": "town"}, "within: the images have no column 'town'"),
        ({"n_resamples": 0}, "n_resamples is a whole number of at least 1, not 0"),
        ({"confidence": 95}, "confidence is between 0 and 1, such as 0.95, not 95"),
        ({"confidence": "0.95"}, "confidence is between 0 and 1, such as 0.95, not '0.95'"),
        ({"level": "row"}, "level"),
        ({"method": "jackknife"}, 'method is "influence" or "bootstrap", not'),
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
        ({"by": "wether"}, "wether"),
        ({"weights": "city"}, "weights: city has the type String; weights must be numbers"),
        ({"weights": "wight"}, "weights: the images have no column 'wight'"),
        ({"to_mix": {"fog": -1}}, "to_mix: the share of 'fog' must be a number of at least 0, not -1"),
        ({"to_mix": {"fog": 0}}, "to_mix: all shares are 0"),
        ({"to_mix": {"hail": 1}}, r"to_mix: no column of the images has the values 'hail'"),
        ({"to_mix": {"weather": {"hail": 1}}}, "to_mix: no image has weather 'hail'; leave it out of the mix"),
        ({"to_mix": {"fog": 1}, "weights": "x"}, "weights and to_mix cannot be combined"),
    ],
)
def test_options_that_cannot_be(a: apf.Evaluation, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        a.intervals(**options)
    with pytest.raises(ParameterError, match=message):
        a.compare(a, names=["one", "two"], **options)


def test_other_ground_truth_is_refused(a: apf.Evaluation) -> None:
    with pytest.raises(NotComparableError, match="differ in images"):
        a.compare(a.where("weather = 'fog'"), names=["all", "fog"])


def test_what_is_not_an_evaluation_is_refused(a: apf.Evaluation) -> None:
    with pytest.raises(ParameterError, match="other is an empty list; give at least one other evaluation"):
        a.compare([])
    with pytest.raises(ParameterError, match=r"an evaluation is compared with evaluations, not with 'model_b\.json'"):
        a.compare("model_b.json")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["category", "both"])
def test_too_few_resamples_are_warned_of(a: apf.Evaluation, b: apf.Evaluation, level: str) -> None:
    """The row of the mean is not one of the twelve that are corrected together."""
    with pytest.warns(FewResamplesWarning, match="12 comparisons; set n_resamples to 480 or more"):
        a.compare(b, level=level, metrics="AP50", n_resamples=100, method="bootstrap")


@pytest.mark.slow
def test_categories_without_p_are_no_comparisons(a: apf.Evaluation, b: apf.Evaluation) -> None:
    with pytest.warns(FewResamplesWarning, match="11 comparisons; set n_resamples to 440 or more"):
        a.where("weather = 'fog'").compare(
            b.where("weather = 'fog'"), level="both", metrics="AP50", n_resamples=100, method="bootstrap"
        )


@pytest.mark.slow
@pytest.mark.parametrize("level", ["summary", "both"])
def test_shifted_means_are_warned_of(a: apf.Evaluation, level: str) -> None:
    with pytest.warns(BiasWarning, match="the resamples of AP, AP75, AR1 are off"):
        a.where("weather = 'fog'").intervals(level=level, n_resamples=100, method="bootstrap")


def test_large_results_say_so(a: apf.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apframe.evaluation.comparison.resampled._LARGE", 1)
    with pytest.warns(LargeResultWarning, match="the resamples of 12 rows take 0.0 GB of memory"):
        sample([a], Sampling(level="category", metrics="AP", n_resamples=70, method="bootstrap"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.FewResamplesWarning")
@pytest.mark.parametrize("by", [(), "weather", "supercategory"])
def test_both_levels_are_those_of_each(a: apf.Evaluation, b: apf.Evaluation, by: Any) -> None:
    options: dict[str, Any] = {"by": by, "metrics": ["AP", "ARl"], "n_resamples": 90}
    both = a.compare(b, level="both", **options)
    means = both.filter(pl.col("category_id").is_null())
    assert_frame_equal(means.drop("category_id", "name"), a.compare(b, **options))
    assert_frame_equal(both.filter(pl.col("category_id").is_not_null()), a.compare(b, level="category", **options))
    assert both["category_id"].to_list()[: means.height] == [None] * means.height


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"by": "image_id"}, {"level": "category"}])
def test_numbers_of_parts_have_no_slices(options: dict[str, Any]) -> None:
    ev = tiny("crowdpose")
    with pytest.raises(ParameterError, match=r"AP_easy is the number of a part of the data.*; name AP"):
        ev.intervals(metrics="AP_easy", n_resamples=20, **options)
