"""Draws of units: as many as there are, together, within strata, the same from the same seed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from apframe.compare.resampling import draw_counts, make_draws
from apframe.exceptions import FewResamplesWarning, FewUnitsWarning, ParameterError

IMAGES = pl.DataFrame(
    {
        "image_id": range(24),
        "video": [f"v{k % 21}" for k in range(24)],
        "city": ["a", "b", None] * 8,
        "site": ["x"] * 24,
        "day": [k % 4 for k in range(24)],
    }
)


def whole(**options: object) -> np.ndarray:
    chosen = {"unit": None, "within": None, "n_resamples": 50, "seed": 0} | options
    return np.concatenate(list(make_draws(IMAGES, **chosen).blocks(7)), axis=1)  # type: ignore[arg-type]


def test_every_resample_has_as_many_units_as_there_are() -> None:
    assert (whole().sum(axis=0) == 24).all()


def test_draws_do_not_depend_on_the_blocks() -> None:
    for stratum in (None, np.arange(24) % 5):
        one = np.concatenate(list(draw_counts(24, 50, 3, 50, stratum)))
        np.testing.assert_array_equal(np.concatenate(list(draw_counts(24, 50, 3, 1, stratum))), one)


def test_rows_of_a_unit_are_drawn_together() -> None:
    counts = whole(unit="video")
    video = IMAGES["video"].to_numpy()
    for name in np.unique(video):
        assert (counts[video == name] == counts[video == name][0]).all()


def test_each_stratum_keeps_its_number_of_units() -> None:
    counts = whole(within="city")
    for city in ("a", "b", None):
        assert (counts[IMAGES["city"].eq_missing(city).to_numpy()].sum(axis=0) == 8).all()


def test_the_mean_count_is_one() -> None:
    assert np.abs(whole(n_resamples=4000).mean(axis=1) - 1).max() < 0.08


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "vidoe"}, "unit: the images have no column 'vidoe'; did you mean video?"),
        ({"within": "town"}, "within: the images have no column 'town'"),
        ({"unit": "city"}, r"unit: 8 of the images have no city \(2, 5, 8\); give them one, such as their own id"),
        ({"unit": "video", "within": "day"}, "within: video 'v0' has several values of day"),
        ({"n_resamples": 0}, "n_resamples is a whole number of at least 1, not 0"),
        ({"seed": -1}, "seed is a whole number of at least 0, not -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        whole(**options)


def test_few_units_are_warned_of() -> None:
    with pytest.warns(FewUnitsWarning, match="only 19 images; with fewer than 20, intervals are too narrow"):
        make_draws(IMAGES.head(19), None, None, 40, 0)
    with pytest.warns(FewUnitsWarning, match="fewer than two values of site; there are no intervals") as caught:
        make_draws(IMAGES, "site", None, 40, 0)
    assert len(caught) == 1


def test_few_resamples_are_warned_of() -> None:
    with pytest.warns(FewResamplesWarning, match="with 39 resamples, .* p cannot be below 0.05; set n_resamples to 40 or more"):
        whole(n_resamples=39)
    whole(n_resamples=40)  # warnings are errors
