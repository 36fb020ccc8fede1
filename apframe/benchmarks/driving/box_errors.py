"""Mean errors of the boxes of true positives, and scores made of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import WithAverage
from apframe.metrics.metric import ErrorAverages
from apframe.protocols.headlines import Composition, HeadlineKind
from apframe.tables.shapes.cuboids import SIZES, YAW
from apframe.wording import listed

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights

KINDS = {
    "ate": "translation_error",
    "ase": "scale_error",
    "aoe": "orientation_error",
    "ave": "velocity_error",
    "aae": "attribute_error",
}
"""The kinds of errors, and the column of the hits that each is an average of."""
VELOCITY = ("velocity_x", "velocity_y")
NEEDS = {"ate": (), "ase": SIZES, "aoe": (YAW,), "ave": VELOCITY, "aae": ("attribute",)}
"""The columns that each kind of error is made of, in both tables."""


def nds(ap: Any, *errors: Any) -> Any:
    """Return nuScenes' detection score: `(5 AP + sum of max(0, 1 - error)) / 10`.

    Source: Caesar et al. 2020; `nd_score` of nuscenes-devkit.

    >>> import numpy as np
    >>> nds(*np.array([[0.5], [0.2], [1.5], [1.5], [1.5], [1.5]])).round(3)
    array([0.33])
    """
    return (5 * ap + sum((1 - error).clip(0) for error in errors)) / 10


_NDS = Composition(("AP", "ATE", "ASE", "AOE", "AVE", "AAE"), nds, "(5 AP + the sum of max(0, 1 - error)) / 10")
NDS = HeadlineKind(
    "NDS", "nds", "nuScenes Score    (NDS)", is_main=True, composition=_NDS, needs="AP and the five errors beside it"
)


@dataclass(frozen=True)
class BoxErrors(ErrorAverages):
    """Errors of true positives, averaged over each list.

    Attributes
    ----------
    threshold
        the similarity threshold that defines the true positives, such as -2 for 2 m
    first_level
        the index, among the levels of `coco101`, of the first level at which errors are averaged over recall
    kinds
        ate, ase, aoe, ave, aae: translation (metres), scale, orientation (radians), velocity (m/s), attribute (0 or 1)
    absent
        the average of each kind in a category without true positives; errors are divided by it in `cds`
    over_recall
        average the running means over recall from .11 on, see `mean_errors`; otherwise take plain means
    undefined
        (category, kind): averages without a value
    half_turns
        categories whose front and back cannot be told apart
    scale_of_largest
        divide, in the scale error, the product of the smaller sides by that of the larger ones; otherwise by the volume of
        the union of both boxes, aligned
    with_cds
        add `cds` for each category: average precision times the mean of 1 - error / `absent`

    >>> BoxErrors(-2.0, ("ate",), (2.0,)).threshold_number((-4.0, -2.0))
    1
    """

    threshold: float
    kinds: tuple[str, ...]
    absent: tuple[float, ...]
    over_recall: bool = False
    undefined: tuple[tuple[str, str], ...] = ()
    half_turns: tuple[str, ...] = ()
    scale_of_largest: bool = False
    with_cds: bool = False
    line: ClassVar = "errors"
    headline_kinds: ClassVar = (NDS,)
    first_level: ClassVar = 11

    def describe(self) -> str:
        """Return the errors and their averaging in words."""
        how = "running means, averaged over recall from .11 on" if self.over_recall else "means"
        undefined = ", ".join(f"{kind.upper()} of {category}" for category, kind in self.undefined)
        kinds, absent = ", ".join(kind.upper() for kind in self.kinds), ", ".join(f"{value:g}" for value in self.absent)
        parts = [f"{kinds} of true positives within {-self.threshold:g} m: {how}", f"{absent} without any"]
        parts += [f"none for {undefined}"] if undefined else []
        parts += ["CDS is AP times the mean of 1 - error / its value without any"] if self.with_cds else []
        return "; ".join(parts)

    @property
    def box_errors(self) -> BoxErrors:
        """Return the metric itself."""
        return self

    @property
    def hit_columns(self) -> tuple[str, ...]:
        """Return the columns of the hits that are averaged."""
        return tuple(KINDS[kind] for kind in self.kinds)

    @property
    def needs(self) -> tuple[str, ...]:
        """See `ErrorAverages`."""
        return tuple(name for kind in self.kinds for name in NEEDS[kind])

    def __post_init__(self) -> None:
        if unknown := [kind for kind in (*self.kinds, *(kind for _, kind in self.undefined)) if kind not in KINDS]:
            raise ParameterError(f"no {listed(unknown)}", f"there are {', '.join(KINDS)}", option="errors")
        if len(self.kinds) != len(self.absent):
            problem = f"{len(self.kinds)} kinds require {len(self.kinds)} values of absent categories, not {len(self.absent)}"
            raise ParameterError(problem, option="errors")

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Metric`; CDS is read by `CompositeScore`."""
        return (*self.kinds, "cds") if self.with_cds else self.kinds

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the averages at the threshold of the errors; NaN at others, and if undefined."""
        return self.at_own_threshold(cells, self.averages(cells, weights))

    def averages(self, cells: Cells, weights: Weights) -> dict[str, np.ndarray]:
        """Return the averages at the threshold of the errors, whichever thresholds are requested."""
        import numpy as np

        from apframe.benchmarks.driving.level_cuts import mean_errors

        at = self.threshold_number(cells.thresholds)
        if at is None:
            return dict.fromkeys(self.kinds, np.full((len(cells.wanted), cells.n_lists, weights.n), np.nan))
        there = [replace(cell, thresholds=(at,)) for cell in cells.wanted]
        return mean_errors(self, cells.wanting(there), weights)

    def at_own_threshold(self, cells: Cells, averages: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Replace the averages of cells at other thresholds by NaN."""
        import numpy as np

        own = (self.threshold_number(cells.thresholds),)
        is_own = np.array([cell.thresholds == own for cell in cells.wanted])[:, None, None]
        return {kind: np.where(is_own, values, np.nan) for kind, values in averages.items()}

    def threshold_number(self, thresholds: Sequence[float]) -> int | None:
        """Return the index of the threshold among these, with a tolerance of 1e-9; None if it is not there."""
        return next((place for place, threshold in enumerate(thresholds) if abs(threshold - self.threshold) < 1e-9), None)

    def undefined_of(self, names: pl.Series) -> pl.Series:
        """Return the kinds without a value for each category name (case-insensitive), as bits in the order of `kinds`.

        >>> BoxErrors(-2, ("ate", "ave"), (1, 1), undefined=(("barrier", "ave"),)).undefined_of(
        ...     pl.Series(["Barrier", "car"])).to_list()
        [2, 0]
        """
        bits = pl.zeros(len(names), pl.UInt8, eager=True)
        for name, kind in self.undefined:
            if kind in self.kinds:
                bits |= (names.str.to_lowercase() == name.lower()).cast(pl.UInt8) * 2 ** self.kinds.index(kind)
        return bits.alias("undefined_errors")


@dataclass(frozen=True)
class CompositeScore(WithAverage):
    """Average precision, errors, and CDS: average precision times the mean of 1 - error / its value in absent categories.

    Source: `summarize_metrics` of av2-api.
    """

    errors: BoxErrors

    @property
    def box_errors(self) -> BoxErrors:
        """Return the errors."""
        return self.errors

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Metric`."""
        return (*self.average.columns, *self.errors.columns)

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return AP, the errors (NaN except at their threshold), and CDS, which uses these errors at every threshold."""
        ap, averages = self.average.read(cells, weights)["ap"], self.errors.averages(cells, weights)
        shares = [1 - averages[kind] / absent for kind, absent in zip(self.errors.kinds, self.errors.absent, strict=True)]
        return {"ap": ap, **self.errors.at_own_threshold(cells, averages), "cds": ap * sum(shares) / len(shares)}
