"""Weights of the images: from a column, or such that each part of the images has a given share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from apframe.compare.resampling import Units
from apframe.exceptions import ImagesLeftOutWarning, ParameterError, warn
from apframe.wording import counted, did_you_mean, listed


@dataclass(frozen=True)
class ImageWeights:
    """Weights of images: `fixed` is the weight of each; or `part` is the number of each one's part, and `shares` the parts'.

    The parts have their shares in every resample. An image in no part has the number of the last share, which is 0.
    """

    fixed: np.ndarray | None = None
    part: np.ndarray | None = None
    shares: np.ndarray | None = None

    def apply(self, counts: np.ndarray) -> np.ndarray:
        """Return the weights of images from their counts in draws, of shape (images, resamples).

        A resample without any image of a part with a share is undefined: all its weights are 0.

        >>> ImageWeights(part=np.array([0, 0, 1]), shares=np.array([0.5, 0.5, 0.0])).apply(np.array([[1, 2], [1, 0], [1, 1]]))
        array([[0.25, 0.5 ],
               [0.25, 0.  ],
               [0.5 , 0.5 ]])
        """
        if self.fixed is not None:
            return counts * self.fixed[:, None]
        if self.part is None or self.shares is None:
            return counts
        sums = (np.arange(len(self.shares))[:, None] == self.part) @ counts
        lacking = ((sums == 0) & (self.shares[:, None] > 0)).any(axis=0)
        factor = np.where(lacking, 0, self.shares[:, None] / np.maximum(sums, 1))
        return counts * factor[self.part]

    def weighing(self, units: Units) -> np.ndarray:
        """Return the unit of each image, or -1 for images without weight."""
        return np.where(self.apply(np.ones((len(units.unit), 1)))[:, 0] > 0, units.unit, -1)

    def centre(self, influence: np.ndarray) -> np.ndarray:
        """Centre influences of images, of shape (rows, images): if parts keep their shares, subtract the mean of each part.

        If an image of a part has a larger weight, the others have smaller ones.

        >>> ImageWeights(part=np.array([0, 0, 1]), shares=np.array([0.5, 0.5, 0.0])).centre(np.array([[3.0, 1.0, 2.0]]))
        array([[ 1., -1.,  0.]])
        """
        if self.part is None:
            return influence
        size = np.bincount(self.part)
        sums = np.stack([np.bincount(self.part, each, minlength=len(size)) for each in influence])
        centred: np.ndarray = influence - (sums / np.maximum(size, 1))[:, self.part]
        return centred


def make_weights(images: pl.DataFrame, weights: str | None, to_mix: Mapping[Any, Any] | None) -> ImageWeights:
    """Return the weights of the rows of a table of images.

    Parameters
    ----------
    images
        the table, with attributes
    weights
        the name of a column of numbers, at least 0
    to_mix
        the share of each value of a column, such as `{"night": 0.7, "day": 0.3}`, or `{"light": {"night": 0.7, "day": 0.3}}` if
        several columns have these values. Shares are divided by their sum; images with other values have no weight

    Raises
    ------
    ParameterError
        both are given; unknown columns or values; weights or shares are not numbers, are negative, or are all 0

    Warns
    -----
    ImagesLeftOutWarning
        the column has values without a share

    >>> images = pl.DataFrame({"image_id": [1, 2], "light": ["day", "night"]})
    >>> make_weights(images, None, {"day": 1, "night": 3}).shares.tolist()
    [0.25, 0.75, 0.0]
    """
    if weights is not None and to_mix is not None:
        raise ParameterError("weights and to_mix cannot be combined", "multiply the weights by the shares in one column")
    if weights is not None:
        if weights not in images.columns:
            raise ParameterError(
                f"the images have no column {weights!r}", did_you_mean(str(weights), images.columns), option="weights"
            )
        values = images[weights]
        if not values.dtype.is_numeric():
            raise ParameterError(f"{weights} has the type {values.dtype}; weights must be numbers", option="weights")
        numbers = values.cast(pl.Float64)
        wrong = ~(numbers.is_finite() & (numbers >= 0)).fill_null(False)
        if wrong.any():
            ids = listed(images["image_id"].filter(wrong).to_list())
            problem = f"{weights} is not a number of at least 0 for {wrong.sum():,} images ({ids})"
            raise ParameterError(problem, "give each image a weight", option="weights")
        if not numbers.sum():
            raise ParameterError(f"all values of {weights} are 0", option="weights")
        return ImageWeights(fixed=numbers.to_numpy())
    if to_mix is None:
        return ImageWeights()
    column, shares = _column_of(images, to_mix)
    parts = [*shares]
    share = np.array([_share(each, shares[each]) for each in parts])
    if not share.sum():
        raise ParameterError("all shares are 0", option="to_mix")
    codes = pl.DataFrame({"value": pl.Series(parts, dtype=images[column].dtype), "code": range(len(parts))})
    of_image = images.select(value=column).join(codes, on="value", how="left", maintain_order="left")["code"]
    lacking = [each for at, each in enumerate(parts) if share[at] > 0 and not (of_image == at).any()]
    if lacking:
        raise ParameterError(f"no image has {column} {listed(lacking)}", "leave it out of the mix", option="to_mix")
    if n := of_image.null_count():
        others = images[column].filter(of_image.is_null()).unique().sort().to_list()
        warn(f"to_mix gives no share to {column} {listed(others)}: {counted(n, 'image')} left out", ImagesLeftOutWarning)
    part = of_image.fill_null(len(parts)).to_numpy().astype(np.int64)
    return ImageWeights(part=part, shares=np.append(share / share.sum(), 0.0))


def _column_of(images: pl.DataFrame, to_mix: Mapping[Any, Any]) -> tuple[str, Mapping[Any, Any]]:
    """Return the mixed column, and the shares of its values."""
    if not isinstance(to_mix, Mapping) or not to_mix:
        raise ParameterError(f'is a dict of shares, such as {{"night": 0.7, "day": 0.3}}, not {to_mix!r}', option="to_mix")
    if all(isinstance(shares, Mapping) for shares in to_mix.values()):
        if len(to_mix) > 1:
            raise ParameterError(
                f"one column is mixed, not {len(to_mix)}", "put their combinations into one column", option="to_mix"
            )
        ((column, shares),) = to_mix.items()
        if column not in images.columns:
            raise ParameterError(
                f"the images have no column {column!r}", did_you_mean(str(column), images.columns), option="to_mix"
            )
        return str(column), shares
    matching_columns = [name for name in images.columns if _has_all(images[name], list(to_mix))]
    if len(matching_columns) == 1:
        return matching_columns[0], to_mix
    problem = f"several columns of the images ({listed(matching_columns)})" if matching_columns else "no column of the images"
    verb = "have" if matching_columns else "has"
    raise ParameterError(
        f"{problem} {verb} the values {listed(list(to_mix))}",
        'name the column: {"light": {"night": 0.7, "day": 0.3}}',
        option="to_mix",
    )


def _has_all(column: pl.Series, values: list[Any]) -> bool:
    """Return True if the column has all of the values."""
    if column.dtype.is_nested():
        return False
    try:
        return set(values) <= set(column.unique().to_list())
    except TypeError:  # values are not hashable
        return False


def _share(value: Any, share: Any) -> float:
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < float("inf"):
        raise ParameterError(f"the share of {value!r} must be a number of at least 0, not {share!r}", option="to_mix")
    return float(share)
