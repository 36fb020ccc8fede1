"""Headline numbers of evaluations with the uncertainty of them and their differences, by influences or resamples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare import inference as of_draws
from apframe.compare import standard_errors as of_influences
from apframe.compare.inference import EQUAL
from apframe.compare.rank_intervals import rank_ranges
from apframe.compare.resampling import Draws, Units, check_counts
from apframe.compare.standard_errors import LEAST_UNITS
from apframe.evaluation.comparison.image_weights import ImageWeights
from apframe.evaluation.comparison.influences import Influences, read_influences
from apframe.evaluation.comparison.resampled import resample
from apframe.evaluation.comparison.slice_rows import SlicedEvaluation, Slices, align, make_slices, pipeline_of, tables_of
from apframe.protocols.headlines import Headline, less_is_better
from apframe.protocols.summary_parts import conditions_of_parts

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

ROW = "row of the table"  # a column; no key can have this name
_BOUNDS = (0.0, 1.0)  # of all numbers that have a derivative
REASONS = (
    "fewer than 2 units",
    f"annotations in fewer than {LEAST_UNITS} units",
    f"more than a tenth of the categories have annotations in fewer than {LEAST_UNITS} units",
    "no unit changes it",
    f"annotations in fewer than {of_draws.LEAST_UNITS} units",
    "no value in half of the resamples",
)
_FEW_UNITS, _FEW_POSITIVES, _RARE, _CONSTANT, _FEW_DRAWN, _FEW_VALUES = range(len(REASONS))
_NONE = -1
_FEW_ROWS = 16  # for at most this many rows, influences are kept for ranks


@dataclass(frozen=True)
class Numbers(ABC):
    """One headline number of several evaluations, in all rows of a table.

    Attributes
    ----------
    metric, table
        the name of the number, and the keys of the rows
    estimates
        of shape (evaluations, rows); NaN if undefined
    n_units
        the number of units of each row
    """

    metric: str
    table: pl.DataFrame
    estimates: np.ndarray
    n_units: np.ndarray

    @abstractmethod
    def describe(self, k: int, confidence: float) -> dict[str, np.ndarray]:
        """Return interval, standard error, bias, method and reason of the numbers of one evaluation."""

    @abstractmethod
    def compare(self, a: int, b: int, confidence: float) -> dict[str, np.ndarray]:
        """Return the difference b - a of two evaluations; the columns of `describe`; and share_better, p and detectable."""

    @abstractmethod
    def rank(self, names: Sequence[str], confidence: float, seed: int) -> pl.DataFrame:
        """Return the share of draws in which each evaluation leads in the first row, and the range of its rank."""

    @abstractmethod
    def only(self, row: int, metric: str) -> Numbers:
        """Return the number of one row under another name, without the columns of the table."""

    @property
    def sign(self) -> int:
        """-1 if less is better."""
        return -1 if less_is_better(self.metric) else 1

    def false_discovery(self, p: np.ndarray) -> np.ndarray:
        """Return q of each row: over the rows of the means, and over those of the categories."""
        q = np.empty_like(p)
        for some in self.families():
            q[some] = of_draws.false_discovery(p[some])
        return q

    def families(self) -> tuple[np.ndarray, np.ndarray]:
        """Return flags of the rows of the means, and of those of the categories, which are corrected separately."""
        is_mean = np.zeros(len(self.n_units), dtype=bool)
        if "category_id" in self.table.columns:
            is_mean = self.table["category_id"].is_null().to_numpy()
        return is_mean, ~is_mean

    def with_columns(self, labels: Mapping[str, str], columns: Mapping[str, np.ndarray]) -> pl.DataFrame:
        """Return the table with the metric, the labels and the columns; NaN and None become null."""
        named = {"metric": self.metric, **labels}
        table_of_columns = pl.DataFrame(
            {name: pl.Series(values, nan_to_null=True) for name, values in columns.items()}
        ).with_columns(pl.col("n_resamples").cast(pl.Int64), reason=pl.Series(REASONS).gather(_numbers(columns["reason"])))
        constants = [pl.repeat(value, table_of_columns.height, eager=True).alias(name) for name, value in named.items()]
        return pl.concat([self.table, pl.DataFrame(constants), table_of_columns], how="horizontal")


@dataclass(frozen=True)
class ResampledNumbers(Numbers):
    """Numbers from resamples: `draws` have the shape (evaluations, rows, resamples), see `describe` for the count of units."""

    draws: np.ndarray
    n_units_with_positives: np.ndarray

    def describe(self, k: int, confidence: float) -> dict[str, np.ndarray]:
        """See `Numbers`."""
        return self._explained(of_draws.describe(self.estimates[k], self.draws[k], confidence, self.n_units_with_positives))

    def compare(self, a: int, b: int, confidence: float) -> dict[str, np.ndarray]:
        """See `Numbers`."""
        difference = self.estimates[b] - self.estimates[a]
        comparison = of_draws.compare(difference, self.draws[b] - self.draws[a], confidence, self.n_units_with_positives)
        if self.sign < 0:
            comparison["share_better"] = 1 - comparison["share_better"]
        return self._explained(comparison | {"difference": difference})

    def _explained(self, statistics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        reason = np.where(self.n_units_with_positives < of_draws.LEAST_UNITS, _FEW_DRAWN, _FEW_VALUES)
        reason[np.isfinite(statistics["low"])] = _NONE
        return statistics | {"method": np.full(len(reason), "bootstrap"), "reason": reason}

    def rank(self, names: Sequence[str], confidence: float, seed: int) -> pl.DataFrame:
        """See `Numbers`."""
        del seed
        return rank_ranges(self.sign * self.draws[:, 0].T, names, confidence=confidence)

    def only(self, row: int, metric: str) -> Numbers:
        """See `Numbers`."""
        at = slice(row, row + 1)
        return ResampledNumbers(
            metric, pl.DataFrame(), self.estimates[:, at], self.n_units[at], self.draws[:, at], self.n_units_with_positives[at]
        )


@dataclass(frozen=True)
class Derived(Numbers):
    """Numbers from influences.

    Attributes
    ----------
    se, biases
        of shape (evaluations, rows)
    se_of
        the standard errors of the differences of pairs, of shape (rows,)
    n_units_with_positives
        the number of units of each row with annotations that count; minus one, these are the degrees of freedom of t, because
        other units say little about a number, and intervals of rare categories would be too narrow
    reason
        the reason for a missing standard error of a row: a number among `REASONS`, or -1
    influence, stratum
        for a table of few rows: of shape (evaluations, rows, units), and the stratum of each unit
    """

    se: np.ndarray
    biases: np.ndarray
    se_of: Mapping[tuple[int, int], np.ndarray]
    n_units_with_positives: np.ndarray
    reason: np.ndarray
    influence: np.ndarray | None = None
    stratum: np.ndarray | None = None

    def describe(self, k: int, confidence: float) -> dict[str, np.ndarray]:
        """See `Numbers`."""
        at_end = np.min([np.abs(self.estimates[k] - bound) for bound in _BOUNDS], axis=0) < EQUAL
        is_constant = (self.se[k] < EQUAL) & at_end
        se, reason = self._known(self.se[k], self.estimates[k], is_constant)
        statistics = of_influences.describe(
            self.estimates[k], se, self.n_units_with_positives, confidence, self.biases[k], _BOUNDS
        )
        return statistics | self._columns(reason)

    def compare(self, a: int, b: int, confidence: float) -> dict[str, np.ndarray]:
        """See `Numbers`."""
        difference = self.estimates[b] - self.estimates[a]
        se = self.se_of[a, b]
        se, reason = self._known(se, difference, (se < EQUAL) & (np.abs(difference) > EQUAL))
        comparison = of_influences.compare(difference, se, self.n_units_with_positives, confidence)
        if self.sign < 0:
            comparison["share_better"] = 1 - comparison["share_better"]
        return comparison | {"difference": difference} | self._columns(reason)

    def _known(self, se: np.ndarray, number: np.ndarray, is_constant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return standard errors and reasons, without those of undefined numbers."""
        reason = np.where(is_constant & (self.reason == _NONE), _CONSTANT, self.reason)
        reason[~np.isfinite(number)] = _NONE
        return np.where((reason == _NONE) & np.isfinite(number), se, np.nan), reason

    def _columns(self, reason: np.ndarray) -> dict[str, np.ndarray]:
        n = len(reason)
        return {"method": np.full(n, "influence"), "reason": reason, "n_resamples": np.full(n, np.nan)}

    def rank(self, names: Sequence[str], confidence: float, seed: int) -> pl.DataFrame:
        """See `Numbers`."""
        estimates = self.estimates[:, 0]
        drawn = np.full((2, len(names)), np.nan)
        if self.influence is not None and self.reason[0] == _NONE:
            drawn = of_influences.draw_models(estimates, self.influence[:, 0], seed, self.stratum)
        return rank_ranges(self.sign * drawn, names, confidence=confidence)

    def only(self, row: int, metric: str) -> Numbers:
        """See `Numbers`."""
        at = slice(row, row + 1)
        return Derived(
            metric, pl.DataFrame(), self.estimates[:, at], self.n_units[at], self.se[:, at], self.biases[:, at],
            {pair: se[at] for pair, se in self.se_of.items()}, self.n_units_with_positives[at], self.reason[at],
            None if self.influence is None else self.influence[:, at], self.stratum,
        )  # fmt: skip


@dataclass(frozen=True)
class Study:
    """Comparable evaluations, their units, and the method of uncertainty.

    Attributes
    ----------
    method, n_resamples, seed
        "influence": numbers without a derivative are resampled; "bootstrap": all are
    pairs
        the pairs whose differences are requested
    with_bias
        whether the biases of single numbers are requested
    """

    evaluations: Sequence[Evaluation]
    units: Units
    weights: ImageWeights
    method: str = "influence"
    n_resamples: int = 1_000
    seed: int = 0
    pairs: Sequence[tuple[int, int]] = ()
    with_bias: bool = False

    def measure(self, lines: Sequence[Headline], slices: Sequence[Slices]) -> dict[str, Numbers]:
        """Compute headline numbers by name; all evaluations have slices by the same keys."""
        numbers_by_name = self.derive(lines, slices) if self.method == "influence" else {}
        rest = [line for line in lines if line.metric not in numbers_by_name]
        return numbers_by_name | self._draw(rest, slices) if rest else numbers_by_name

    def derive(self, lines: Sequence[Headline], slices: Sequence[Slices]) -> dict[str, Numbers]:
        """Compute the numbers that have a derivative, or are not evaluated."""
        parts, table, n_units = self._rows(slices)
        derivation, seed = _Derivation(self, table, n_units), self.seed if self.with_bias else None
        protocol = self.evaluations[0].protocol
        for some in read_influences(parts, lines, protocol, self.units, self.weights, table.height, seed):
            derivation.add(some)
        without = [line.metric for line in lines if not (line.is_evaluated(protocol) and parts[0].n_lists)]
        return {name: self._nothing(name, table, n_units.sum(axis=1)) for name in without} | dict(derivation.numbers())

    def _nothing(self, metric: str, table: pl.DataFrame, n_units: np.ndarray) -> Numbers:
        """Return an undefined number."""
        nothing = np.full((len(self.evaluations), len(n_units)), np.nan)
        of_pairs = dict.fromkeys(self.pairs, nothing[0])
        unknown = np.zeros_like(n_units), np.full(len(n_units), _NONE)
        return Derived(metric, table, nothing, n_units, nothing, nothing, of_pairs, *unknown)

    def _draw(self, lines: Sequence[Headline], slices: Sequence[Slices]) -> dict[str, Numbers]:
        """Compute the numbers in resamples."""
        check_counts(self.n_resamples, self.seed)
        parts, table, n_units = self._rows(slices)
        draws = Draws(self.units.unit, self.units.stratum, self.n_resamples, self.seed)
        drawn = resample(parts, lines, self.evaluations[0].protocol, draws, self.weights, table.height)
        return {
            line.metric: ResampledNumbers(
                line.metric,
                table,
                drawn.estimates[:, at],
                n_units.sum(axis=1),
                drawn.draws[:, at],
                drawn.n_units_with_positives[at],
            )
            for at, line in enumerate(lines)
        }

    def _rows(self, slices: Sequence[Slices]) -> tuple[list[SlicedEvaluation], pl.DataFrame, np.ndarray]:
        """Return the evaluations in the rows of slices, the table of these, and the number of units by row and stratum."""
        parts = [SlicedEvaluation(each, some) for each, some in zip(self.evaluations, slices, strict=True)]
        table = align(parts)
        counted = Units(self.weights.weighing(self.units), self.units.stratum)
        n_units = np.zeros((table.height, self.units.n_strata), dtype=np.int64)
        for part in parts:
            n_units[part.row] = part.n_units(counted)
        return parts, table, n_units

    def of_images(self, lines: Sequence[Headline], slices: Slices) -> list[tuple[str, pl.DataFrame]]:
        """Return the influence of images on the numbers of the first evaluation, by name: a table for each block of rows.

        Columns: row (of the table of slices), the columns of that table, metric, image_id, influence. If categories are rows,
        images without an influence are omitted; slices of images have their own images.
        """
        part, images = (
            SlicedEvaluation(self.evaluations[0], slices),
            pipeline_of(self.evaluations[0]).outline.images["image_id"],
        )
        table = part.table.with_row_index(ROW)
        tables: list[tuple[str, pl.DataFrame]] = []
        for some in read_influences([part], lines, part.protocol, self.units, self.weights, table.height):
            for name, influence in some.influence.items():
                defined = np.isfinite(some.estimates[name][0])[:, None]
                kept = defined & (
                    (np.abs(influence[0]) > EQUAL) if "category_id" in table.columns else part.has_images(some.rows)
                )
                row, image = np.nonzero(kept)
                columns = table.select(pl.all().gather(some.rows[row])).with_columns(metric=pl.lit(name))
                own = pl.DataFrame([images.gather(image), pl.Series("influence", influence[0][kept])])
                tables.append((name, columns.hstack(own)))
        return tables

    def measure_parts(self, lines: Sequence[Headline]) -> dict[str, Numbers]:
        """Compute the numbers of the protocol's parts of the images or categories; NaN for an empty part."""
        first, n_units = self.evaluations[0], np.array([self.units.n_units])
        numbers_by_name = {line.metric: self._nothing(line.metric, pl.DataFrame(), n_units) for line in lines}
        of_parts = conditions_of_parts(first.protocol, tables_of(first)) if lines else {}
        if not of_parts:
            return numbers_by_name
        conditions = {part.name: condition for part, condition in of_parts.items()}
        line_of_all = {line.metric: replace(line, metric=line.of_whole, part=None) for line in lines}
        distinct = list(dict.fromkeys(line_of_all.values()))
        slices = [make_slices(each, [conditions], "summary", []) for each in self.evaluations]
        measured = self.measure(distinct, slices)
        table = next(iter(measured.values())).table
        place = {name: at for at, name in enumerate(table["slice"].to_list())}
        for line in lines:
            if line.part in place:
                numbers_by_name[line.metric] = measured[line_of_all[line.metric].metric].only(place[line.part], line.metric)
        return numbers_by_name


def _numbers(reason: np.ndarray) -> pl.Series:
    return pl.Series(reason, dtype=pl.Int64).replace(_NONE, None)


class _Derivation:
    """Standard errors of rows, computed as influences come in."""

    def __init__(self, study: Study, table: pl.DataFrame, n_units: np.ndarray) -> None:
        self._study, self._table, self._n_units = study, table, n_units
        self._levels: dict[str, dict[str, np.ndarray]] = {}  # of shape (evaluations, rows)
        self._se_of: dict[str, dict[tuple[int, int], np.ndarray]] = {}
        self._n_units_with_positives: dict[str, np.ndarray] = {}
        self._reasons: dict[str, np.ndarray] = {}
        self._joint: dict[str, np.ndarray] = {}

    def add(self, some: Influences) -> None:
        """Add some rows."""
        rows, stratum, n_rows = some.rows, self._study.units.stratum, self._table.height
        shape = len(self._study.evaluations), n_rows
        for name, influence in some.influence.items():
            levels = self._levels.setdefault(name, {})
            of_each = [of_influences.standard_errors(each, self._n_units[rows], stratum) for each in influence]
            columns = {"estimates": some.estimates[name], "biases": some.biases[name], "se": np.stack(of_each)}
            for column, values in columns.items():
                levels.setdefault(column, np.full(shape, np.nan))[:, rows] = values
            of_pairs = self._se_of.setdefault(name, {})
            for a, b in self._study.pairs:
                se = of_influences.standard_errors(influence[b] - influence[a], self._n_units[rows], stratum)
                of_pairs.setdefault((a, b), np.full(n_rows, np.nan))[rows] = se
            self._n_units_with_positives.setdefault(name, np.zeros(n_rows, dtype=np.int64))[rows] = some.n_units_with_positives[
                name
            ]
            reason = self._reasons.setdefault(name, np.full(n_rows, _NONE))
            reason[rows] = np.where(some.is_rare[name], _RARE, _NONE)
            reason[rows[some.n_units_with_positives[name] < LEAST_UNITS]] = _FEW_POSITIVES
            reason[rows[self._n_units[rows].max(axis=1) < 2]] = _FEW_UNITS  # in every stratum
            if n_rows <= _FEW_ROWS:
                joint = self._joint.setdefault(name, np.zeros((shape[0], n_rows, influence.shape[2])))
                joint[:, rows] = influence

    def numbers(self) -> Iterator[tuple[str, Numbers]]:
        """Yield the numbers that were added, with the names of headline numbers."""
        n_units, stratum = self._n_units.sum(axis=1), self._study.units.stratum
        for name, levels in self._levels.items():
            numbers = levels["estimates"], n_units, levels["se"], levels["biases"]
            of_rows = self._se_of[name], self._n_units_with_positives[name], self._reasons[name]
            yield name, Derived(name, self._table, *numbers, *of_rows, self._joint.get(name), stratum)
