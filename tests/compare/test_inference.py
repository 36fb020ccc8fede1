"""What resamples say of a number: by hand, against numpy, and where there is nothing to say."""

from __future__ import annotations

import numpy as np
import pytest

from apframe.compare.inference import compare, describe, false_discovery, holm, warn_of_bias, warn_of_few_resamples
from apframe.exceptions import BiasWarning, FewResamplesWarning


def test_intervals_are_numpys_quantiles() -> None:
    rng = np.random.default_rng(0)
    draws = rng.random((5, 137))
    intervals = describe(draws.mean(axis=1), draws, 0.9)
    np.testing.assert_array_equal(
        np.stack([intervals["low"], intervals["high"]]), np.quantile(draws, [(1 - 0.9) / 2, (1 + 0.9) / 2], axis=1)
    )
    np.testing.assert_allclose(intervals["se"], draws.std(axis=1, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(intervals["bias"], 0, atol=1e-12)


def test_resamples_without_a_value_do_not_count() -> None:
    draws = np.array([[0.1, np.nan, 0.3, 0.2], [np.nan, np.nan, np.nan, 0.5], [np.nan] * 4])
    intervals = describe(np.array([0.2, 0.5, np.nan]), draws, 0.5)
    assert intervals["n_resamples"].tolist() == [3, 1, 0]
    np.testing.assert_allclose(intervals["low"], [0.15, np.nan, np.nan])
    np.testing.assert_allclose(intervals["high"], [0.25, np.nan, np.nan])
    assert np.isnan(intervals["se"]).tolist() == [False, True, True]


def test_fewer_than_five_units_with_positives_have_no_interval() -> None:
    comparison = compare(np.array([0.1, 0.1]), np.full((2, 9), 0.1), n_units_with_positives=np.array([4, 5]))
    assert np.isnan(comparison["low"]).tolist() == np.isnan(comparison["p"]).tolist() == [True, False]


def test_a_model_against_itself() -> None:
    comparison = compare(np.zeros(1), np.full((1, 99), 1e-16))
    numbers = [float(comparison[name][0]) for name in ("low", "high", "share_better", "p", "se", "detectable")]
    assert numbers == [0, 0, 0.5, 1, 0, 0]


@pytest.mark.parametrize(("below", "p"), [(0, 0.1), (1, 0.2), (9, 1.0), (19, 0.1)])
def test_p_counts_the_smaller_side(below: int, p: float) -> None:
    """DIAGNOSIS.md 7.5: one of 19 draws at or below 0 gives 2 (1 + 1) / 20."""
    draws = np.array([[-1.0] * below + [1.0] * (19 - below)])
    assert compare(draws.mean(axis=1), draws)["p"][0] == pytest.approx(p)


def test_p_is_small_where_the_interval_excludes_zero() -> None:
    rng = np.random.default_rng(1)
    draws = rng.normal(np.linspace(-3, 3, 200)[:, None], 1, (200, 999))
    comparison = compare(draws.mean(axis=1), draws)
    excludes = (comparison["low"] > 0) | (comparison["high"] < 0)
    one_draw = 2 / 1000
    assert (comparison["p"][excludes] < 0.05 + 2 * one_draw).all()
    assert (comparison["p"][~excludes] > 0.05 - 2 * one_draw).all()
    assert 20 < excludes.sum() < 180


def test_corrections_by_hand() -> None:
    """DIAGNOSIS.md 7.5."""
    p = np.array([0.01, 0.04, 0.03])
    np.testing.assert_allclose(false_discovery(p), [0.03, 0.04, 0.04])
    np.testing.assert_allclose(holm(p), [0.03, 0.06, 0.06])
    assert np.isnan(false_discovery(np.array([np.nan]))).all()


def test_too_few_resamples_for_so_many_rows() -> None:
    with pytest.warns(FewResamplesWarning, match="80 comparisons; set n_resamples to 3,200 or more"):
        warn_of_few_resamples(1000, 80)
    warn_of_few_resamples(3200, 80)
    warn_of_few_resamples(10, 1)


def test_bias_names_the_numbers() -> None:
    with pytest.warns(BiasWarning, match=r"the resamples of APs are off"):
        warn_of_bias(["AP", "APs", "APm"], np.array([0.1, 0.3, np.nan]), np.array([1.0, 1.0, 1.0]))
