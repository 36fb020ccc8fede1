"""Resamples: the number of times that each unit, an image or a query, is drawn with replacement, for as many draws as units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.exceptions import FewResamplesWarning, FewUnitsWarning, ParameterError, warn
from apframe.metrics.list_sums import starts_of
from apframe.option_values import whole_number
from apframe.progress import with_bar
from apframe.threads import map_lazily, pool
from apframe.wording import counted, did_you_mean, listed, option_name

FEW = 20  # units; with fewer, intervals are too narrow
FEW_RESAMPLES = 40  # with fewer, p, which is at least 2 / (n_resamples + 1), cannot be below 0.05
_NUMBERS = 1 << 21  # the number of counts drawn at a time


@dataclass(frozen=True)
class Units:
    """Units of rows, images or queries, that were sampled together and so count as one.

    Attributes
    ----------
    unit
        the number of the unit of each row, in the order of the ids of the units
    stratum
        the number of the stratum of each unit; None if there is only one
    """

    unit: np.ndarray
    stratum: np.ndarray | None

    @property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_strata(self) -> int:
        """The number of strata; without strata it is 1."""
        return 1 if self.stratum is None else int(self.stratum.max(initial=0)) + 1

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum the rows of each unit, along the last axis.

        >>> Units(np.array([1, 0, 1]), None).sums(np.array([[1.0, 2.0, 4.0]])).tolist()
        [[2.0, 5.0]]
        """
        if np.array_equal(self.unit, np.arange(len(self.unit))):
            return values
        order = np.argsort(self.unit, kind="stable")
        summed: np.ndarray = np.add.reduceat(values[..., order], starts_of(self.unit[order]), axis=-1)
        return summed

    def counts(self, has_some: np.ndarray) -> np.ndarray:
        """Count the units in each stratum with at least one flagged row; the result has the shape (..., strata).

        >>> Units(np.array([1, 0, 1]), np.array([0, 1])).counts(np.array([[True, False, True], [False, True, False]])).tolist()
        [[0, 1], [1, 0]]
        """
        has_some = self.sums(has_some.astype(np.float64)) > 0
        if self.stratum is None:
            return has_some.sum(axis=-1, keepdims=True)
        return np.stack([has_some[..., self.stratum == k].sum(axis=-1) for k in range(self.n_strata)], axis=-1)

    def halves(self, n_splits: int, seed: int) -> np.ndarray:
        """Return flags of the rows of random halves of the units, within their strata, of shape (rows, 2 × splits).

        >>> Units(np.array([0, 0, 1]), None).halves(1, seed=0).sum(axis=1).tolist()
        [1, 1, 1]
        """
        rng, flags = np.random.default_rng(seed), []
        for _ in range(n_splits):
            stratum = np.zeros(self.n_units, dtype=np.int64) if self.stratum is None else self.stratum
            order = np.lexsort((rng.random(self.n_units), stratum))
            is_first = np.empty(self.n_units, dtype=bool)
            is_first[order] = np.arange(self.n_units) % 2 == 0
            flags += [is_first[self.unit], ~is_first[self.unit]]
        return np.stack(flags, axis=1)


@dataclass(frozen=True)
class Draws(Units):
    """Resamples of some rows: all rows of a unit are drawn together, and a stratum gets as many draws as it has units.

    Attributes
    ----------
    n_resamples, seed
        the number of resamples, and the start of the generator: the same seed gives the same resamples
    """

    n_resamples: int
    seed: int

    def blocks(self, size: int) -> Iterator[np.ndarray]:
        """Yield the counts of each row, of shape (rows, resamples), for `block_size` resamples at a time.

        >>> draws = Draws(np.array([0, 0, 1]), None, n_resamples=3, seed=0)
        >>> [counts.tolist() for counts in draws.blocks(2)]
        [[[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[0.0], [0.0], [2.0]]]
        """
        for counts in draw_counts(self.n_units, self.n_resamples, self.seed, size, self.stratum):
            yield np.ascontiguousarray(counts.T, dtype=np.float64).take(self.unit, axis=0)


def block_size(n_units: int, size: int) -> int:
    """Number of resamples that are drawn at a time: `size`, or fewer if there are millions of units."""
    return max(1, min(size, _NUMBERS // max(n_units, 1)))


def fill_blocks(draws: Draws, size: int, fill: Callable[[slice, np.ndarray], None]) -> None:
    """Call `fill` with the position of each block among the resamples, and its counts; in threads, with a progress bar.

    >>> largest = np.zeros(3)
    >>> def fill(places, counts):
    ...     largest[places] = counts.max(axis=0)
    >>> fill_blocks(Draws(np.array([0, 0, 1]), None, n_resamples=3, seed=0), 2, fill)
    >>> largest.tolist()
    [1.0, 1.0, 2.0]
    """
    size = block_size(draws.n_units, size)

    def fill_one(numbered: tuple[int, np.ndarray]) -> None:
        k, counts = numbered
        fill(slice(k * size, k * size + counts.shape[1]), counts)

    with pool() as others:
        blocks = map_lazily(others, fill_one, enumerate(draws.blocks(size)))
        for _ in with_bar(blocks, "resampling", -(-draws.n_resamples // size)):
            pass


def draw_counts(
    n_units: int, n_resamples: int, seed: int, size: int, stratum: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Yield the counts of each unit, of shape (resamples, units), for some resamples at a time.

    The draws do not depend on `size`. `stratum` is the number of the stratum of each unit; units are drawn within their
    stratum.

    >>> [block.tolist() for block in draw_counts(3, 2, seed=0, size=5)]
    [[[1, 1, 1], [0, 0, 3]]]
    """
    strata = [np.arange(n_units)] if stratum is None else [np.flatnonzero(stratum == k) for k in range(stratum.max() + 1)]
    rngs = [np.random.default_rng(seed if stratum is None else [seed, k]) for k in range(len(strata))]
    size = block_size(n_units, size)
    for start in range(0, n_resamples, size):
        counts = np.zeros((min(size, n_resamples - start), n_units), dtype=np.int64)
        for rng, units in zip(rngs, strata, strict=True):
            if n := len(units):
                counts[:, units] = rng.multinomial(n, np.full(n, 1 / n), size=len(counts))
        yield counts


def check_counts(n_resamples: int, seed: int) -> None:
    """Raise an error unless both are whole numbers, of at least 1 and 0, and warn of few resamples."""
    whole_number("n_resamples", n_resamples)
    whole_number("seed", seed, 0)
    if n_resamples < FEW_RESAMPLES:
        warn(
            f"with {counted(n_resamples, 'resample')}, intervals are unreliable and p cannot be below 0.05; set "
            f"{option_name('n_resamples')} to {FEW_RESAMPLES} or more, better 1,000",
            FewResamplesWarning,
        )


def make_draws(images: pl.DataFrame, unit: str | None, within: str | None, n_resamples: int, seed: int) -> Draws:
    """Return the draws of the rows of a table of images; see `make_units` and `check_counts` for errors and warnings.

    >>> images = pl.DataFrame({"image_id": range(60), "video": [20 - image // 3 for image in range(60)]})
    >>> make_draws(images, "video", None, n_resamples=100, seed=0).unit[:4].tolist()
    [19, 19, 19, 18]
    """
    check_counts(n_resamples, seed)
    return Draws(*make_units(images, unit, within), n_resamples, seed)


def make_units(
    table: pl.DataFrame, unit: str | None, within: str | None, name: str = "images"
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the unit of each row of a table, whose first column is the id, and the stratum of each unit, see `Draws`.

    Parameters
    ----------
    table
        images or queries, by id
    unit, within
        columns: the units, which are drawn as a whole (None: each row is a unit), and the strata, each of which gets as many
        draws as it has units; null is a stratum
    name
        the name of the table, for messages

    Raises
    ------
    ParameterError
        unknown columns, rows without a unit, a unit in two strata

    Warns
    -----
    FewUnitsWarning
        fewer than 20 units: intervals are too narrow; fewer than two: there are no intervals; strata of a single unit

    >>> make_units(pl.DataFrame({"query_id": range(40), "hour": [0, 1] * 20}), None, "hour", "queries")[1][:4].tolist()
    [0, 1, 0, 1]
    """
    for option, column in (("unit", unit), ("within", within)):
        if column is not None and column not in table.columns:
            raise ParameterError(
                f"the {name} have no column {column!r}", did_you_mean(str(column), table.columns), option=option
            )
    number = np.arange(table.height)
    if unit is not None:
        values = table[unit]
        if values.null_count():
            ids = table.to_series(0).filter(values.is_null())
            raise ParameterError(
                f"{values.null_count()} of the {name} have no {unit} ({listed(ids.head(3).to_list())})",
                "give them one, such as their own id",
                option="unit",
            )
        number = values.rank("dense").to_numpy().astype(np.int64) - 1
    n_units = int(number.max(initial=-1)) + 1
    if n_units < FEW:
        what = f"values of {unit}" if unit else name
        problem = f"there are only {n_units} {what}" if n_units > 1 else f"there are fewer than two {what}"
        effect = f"with fewer than {FEW}, intervals are too narrow, or missing" if n_units > 1 else "there are no intervals"
        warn(f"{problem}; {effect}", FewUnitsWarning)
    if within is None:
        return number, None
    stratum = np.unique(table[within].rank("dense").fill_null(0).to_numpy(), return_inverse=True)[1]
    of_unit = np.zeros(n_units, dtype=np.int64)
    of_unit[number] = stratum
    split = np.flatnonzero(of_unit[number] != stratum)
    if len(split):
        raise ParameterError(
            f"{unit} {table[unit or within][int(split[0])]!r} has several values of {within}",
            f"draw within a column with one value for each {unit}",
            option="within",
        )
    if n := int((np.bincount(of_unit) == 1).sum()):
        strata = f"{counted(n, 'value')} of {within}"
        warn(f"{strata} have a single unit, which does not show how much units in it differ", FewUnitsWarning)
    return number, of_unit
