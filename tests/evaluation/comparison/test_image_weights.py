"""Weights of images, and the shares of their parts in every resample."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from apframe.evaluation.comparison.image_weights import make_weights
from apframe.exceptions import ImagesLeftOutWarning, ParameterError

IMAGES = pl.DataFrame({"image_id": [1, 2, 3], "light": ["day", "night", "day"], "lamp": ["day", "night", None], "n": [1, 0, 2]})


def test_shares_hold_in_every_resample() -> None:
    mix = make_weights(IMAGES, None, {"light": {"night": 3, "day": 1}})
    weights = mix.apply(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(weights[1, :2], 0.75)
    np.testing.assert_allclose(weights[[0, 2]].sum(axis=0)[:2], 0.25)
    assert weights[:, 2].tolist() == [0, 0, 0]  # no image at night was drawn


def test_weights_of_a_column_multiply_the_counts() -> None:
    assert make_weights(IMAGES, "n", None).apply(np.ones((3, 1))).ravel().tolist() == [1, 0, 2]
    assert make_weights(IMAGES, None, None).apply(np.ones((3, 1))).ravel().tolist() == [1, 1, 1]


def test_values_without_a_share_are_pointed_out() -> None:
    with pytest.warns(ImagesLeftOutWarning, match="to_mix gives no share to light 'night': 1 image left out"):
        mix = make_weights(IMAGES, None, {"light": {"day": 1}})
    assert mix.apply(np.ones((3, 1))).ravel().tolist() == [0.5, 0, 0.5]


def test_two_columns_with_the_same_values_are_told_apart_by_name() -> None:
    with pytest.raises(ParameterError, match=r"several columns of the images \('light', 'lamp'\) have the values"):
        make_weights(IMAGES, None, {"day": 1, "night": 1})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-1, 1, 1], "w is not a number of at least 0 for 1 images"),
        ([None, 1, 1], "for 1 images"),
        ([0, 0, 0], "all values of w are 0"),
    ],
)
def test_weights_that_cannot_be(values: list[float | None], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_weights(IMAGES.with_columns(w=pl.Series(values)), "w", None)
