"""Headline numbers in resamples of the images, and what these say of each number and of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.compare import intervals as rule
from apframe.compare.resampling import Draws, make_draws
from apframe.evaluation.comparison.image_weights import ImageWeights, make_weights
from apframe.evaluation.comparison.resampled import Resampled, Slices, resample
from apframe.evaluation.slices.by import check_level, refuse_keys
from apframe.evaluation.slices.keys import Bins, make_keys
from apframe.evaluation.slices.parts import conditions_of_parts
from apframe.evaluation.slices.slices import Slicing, make_slicings
from apframe.exceptions import ParameterError, by_name, proper_share
from apframe.protocols.headlines import Headline, headlines, less_is_better
from apframe.wording import did_you_mean

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey

LEVELS = ("summary", "category", "both")
LEVEL = ["estimate", "low", "high", "se", "bias", "n_units", "n_resamples"]
DIFFERENCE = [
    "run_a", "run_b", "estimate_a", "estimate_b", "difference", "low", "high", "se", "bias", "share_better", "p", "p_holm", "q",
    "detectable", "n_units", "n_resamples",
]  # fmt: skip


@dataclass(frozen=True)
class Sampling:
    """What is drawn, how often, and which numbers are computed of each draw; see `intervals`."""

    by: Any = ()
    level: str = "summary"
    metrics: Sequence[str] | str | None = None
    unit: str | None = None
    within: str | None = None
    weights: str | None = None
    to_mix: Mapping[Any, Any] | None = None
    n_resamples: int = 1_000
    confidence: float = 0.95
    seed: int = 0


def describe_all(evaluation: Evaluation, sampling: Sampling) -> pl.DataFrame:
    """The headline numbers of an evaluation with their intervals, see `Evaluation.intervals`."""
    tables = []
    for numbers in sample([evaluation], sampling):
        made = rule.describe(numbers.estimates[0], numbers.draws[0], sampling.confidence, numbers.n_with)
        made |= {"estimate": numbers.estimates[0], "n_units": numbers.n_units}
        tables.append(numbers.with_columns({}, {name: made[name] for name in LEVEL}))
    table = _in_order(tables)
    means = table.filter(pl.col("category_id").is_null()) if "category_id" in table.columns else table
    if means.height == len(tables):  # not of slices or categories, which would be many names
        rule.warn_of_bias(means["metric"].to_list(), means["bias"].to_numpy(), means["se"].to_numpy())
    return table


def compare_all(
    evaluations: Sequence[Evaluation], names: Sequence[str], pairs: Sequence[tuple[int, int]], sampling: Sampling
) -> pl.DataFrame:
    """The differences of some pairs of evaluations that agree, see `compare`."""
    tables, n_rows = [], 0
    for numbers in sample(evaluations, sampling):
        made = [_difference(numbers, a, b, sampling.confidence) for a, b in pairs]
        is_tested = np.isfinite([each["p"] for each in made])  # pairs are corrected for in each row, rows for each pair
        n_of = [is_tested.sum(axis=0), *(is_tested[:, rows].sum(axis=1) for rows in numbers.families())]
        n_rows = max(n_rows, *(int(n.max(initial=0)) for n in n_of))
        holm = np.apply_along_axis(rule.holm, 0, np.stack([each["p"] for each in made])) if len(numbers.n_units) else None
        for k, ((a, b), each) in enumerate(zip(pairs, made, strict=True)):
            each |= {"p_holm": each["p"] if holm is None else holm[k], "q": numbers.false_discovery(each["p"])}
            labels = {"run_a": names[a], "run_b": names[b]}
            tables.append(numbers.with_columns(labels, {name: each[name] for name in DIFFERENCE[2:]}))
    rule.warn_of_few_resamples(sampling.n_resamples, n_rows)
    return _in_order(tables)


def _difference(numbers: Numbers, a: int, b: int, confidence: float) -> dict[str, np.ndarray]:
    """The columns of the difference of two evaluations, before several of them are corrected for."""
    difference = numbers.estimates[b] - numbers.estimates[a]
    made = rule.compare(difference, numbers.draws[b] - numbers.draws[a], confidence, numbers.n_with)
    if less_is_better(numbers.metric):
        made["share_better"] = 1 - made["share_better"]
    return made | {
        "estimate_a": numbers.estimates[a],
        "estimate_b": numbers.estimates[b],
        "difference": difference,
        "n_units": numbers.n_units,
    }


def _in_order(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables of several metrics as one: by row, and by metric within it."""
    rows = [table.with_row_index("at").with_columns(of=pl.lit(k)) for k, table in enumerate(tables)]
    return pl.concat(rows, how="diagonal").sort("at", "of").drop("at", "of")


@dataclass(frozen=True)
class Numbers:
    """One headline number of several evaluations, in all rows of a table and all resamples; see `Resampled`.

    `estimates` and `draws` are of shape (evaluations, rows) and (evaluations, rows, resamples).
    """

    metric: str
    table: pl.DataFrame
    estimates: np.ndarray
    draws: np.ndarray
    n_units: np.ndarray
    n_with: np.ndarray

    def only(self, row: int, metric: str) -> Numbers:
        """The number of one row under another name, without the columns of the table."""
        kept = slice(row, row + 1)
        return Numbers(
            metric, pl.DataFrame(), self.estimates[:, kept], self.draws[:, kept], self.n_units[kept], self.n_with[kept]
        )

    def false_discovery(self, p: np.ndarray) -> np.ndarray:
        """The q of each row: over the rows of the means, and over those of the categories."""
        q = np.empty_like(p)
        for some in self.families():
            q[some] = rule.false_discovery(p[some])
        return q

    def families(self) -> tuple[np.ndarray, np.ndarray]:
        """Flags of the rows of the means, and of those of the categories, which are corrected apart."""
        is_mean = np.zeros(len(self.n_units), dtype=bool)
        if "category_id" in self.table.columns:
            is_mean = self.table["category_id"].is_null().to_numpy()
        return is_mean, ~is_mean

    def with_columns(self, labels: Mapping[str, str], columns: Mapping[str, np.ndarray]) -> pl.DataFrame:
        """The table with the metric, the labels and the columns; null where these are NaN."""
        named = {"metric": self.metric, **labels}
        made = pl.DataFrame({name: pl.Series(values, nan_to_null=True) for name, values in columns.items()})
        constants = [pl.repeat(value, made.height, eager=True).alias(name) for name, value in named.items()]
        return pl.concat([self.table, pl.DataFrame(constants), made], how="horizontal")


def sample(evaluations: Sequence[Evaluation], sampling: Sampling) -> list[Numbers]:
    """The headline numbers of evaluations that agree, in resamples; options are refused before anything is computed."""
    first, level = evaluations[0], sampling.level
    check_level(first, level, LEVELS)
    proper_share("confidence", sampling.confidence)
    lines = chosen_lines(first, sampling.metrics)
    tables = _tables(first)
    draws = image_draws(first, sampling.unit, sampling.within, sampling.n_resamples, sampling.seed)
    weights = make_weights(tables["images"], sampling.weights, sampling.to_mix)
    keys = [sampling.by] if isinstance(sampling.by, (str, Bins, Mapping)) else list(sampling.by)
    slices = [make_slices(each, keys, level, [*LEVEL, *DIFFERENCE]) for each in evaluations]
    whole = [line for line in lines if line.part is None]
    if not whole and (keys or level == "category"):
        problem = f"{lines[0].metric} is the number of a part of the data, which slices and categories do not have"
        raise ParameterError(problem, f"name {lines[0].of_whole}", option="metrics")
    found: dict[str, Numbers] = {}
    if whole:
        found |= _numbers(whole, resample(evaluations, whole, slices, draws, weights))
    if not keys and level != "category":
        of_parts = [line for line in lines if line.part is not None]
        found |= _of_parts(evaluations, of_parts, draws, weights)
    return [found[line.metric] for line in lines if line.metric in found]


def _of_parts(
    evaluations: Sequence[Evaluation], lines: Sequence[Headline], draws: Draws, weights: ImageWeights
) -> dict[str, Numbers]:
    """The numbers of the protocol's parts of the images or categories, NaN for a part that holds nothing."""
    first = evaluations[0]
    shape = (len(evaluations), 1, draws.n_resamples)
    nothing = np.full(shape, np.nan), np.array([draws.n_units]), np.zeros(1, dtype=np.int64)
    found = {line.metric: Numbers(line.metric, pl.DataFrame(), nothing[0][..., 0], *nothing) for line in lines}
    conditions = conditions_of_parts(first.protocol, _tables(first)) if lines else {}
    if not conditions:
        return found
    called = {line.metric: replace(line, metric=line.of_whole, part=None) for line in lines}
    distinct = list(dict.fromkeys(called.values()))
    of_each = [make_slices(each, [conditions], "summary", []) for each in evaluations]
    sampled = resample(evaluations, distinct, of_each, draws, weights)
    numbers = _numbers(distinct, sampled)
    place = {name: at for at, name in enumerate(sampled.table["slice"].to_list())}
    for line in lines:
        if line.part in place:
            found[line.metric] = numbers[called[line.metric].metric].only(place[line.part], line.metric)
    return found


def _numbers(lines: Sequence[Headline], sampled: Resampled) -> dict[str, Numbers]:
    """The numbers of each line by its name."""
    return {
        line.metric: Numbers(
            line.metric,
            sampled.table,
            sampled.estimates[:, at],
            sampled.draws[:, at],
            sampled.n_units,
            sampled.n_with[at],
        )
        for at, line in enumerate(lines)
    }


def make_slices(self: Evaluation, by: Sequence[SliceKey], level: str, taken: Sequence[str]) -> Slices:
    """The slices by some keys, which may not have the names of the columns that are `taken`."""
    tables = _tables(self)
    keys = make_keys(by, tables)
    own = {"metric", *taken} | ({"category_id", "name"} if level != "summary" else set())
    refuse_keys(self, keys, own)
    heights = {name: table.height for name, table in tables.items()}
    if self.protocol.agnostic:
        heights["categories"] = 1  # they are one
    levels: list[tuple[Sequence[Slicing], pl.DataFrame | None]] = []
    if level != "category":
        levels.append((make_slicings(keys, heights), None))
    if level != "summary":
        levels.append((make_slicings(keys, heights, each_category=True), tables["categories"].select("category_id", "name")))
    return Slices(keys, levels)


def image_draws(self: Evaluation, unit: str | None, within: str | None, n_resamples: int, seed: int) -> Draws:
    """The draws of the evaluated images, in the order of their ids; see `make_draws`."""
    images = self._inputs.tables()["images"].select("image_id", pl.exclude("image_id"))
    return make_draws(images, unit, within, n_resamples, seed)


def _tables(self: Evaluation) -> dict[str, pl.DataFrame]:
    return self._inputs.tables()


def chosen_lines(evaluation: Evaluation, metrics: Sequence[str] | str | None) -> list[Headline]:
    """The headlines of these names, or all of them; an unknown name is a ParameterError."""
    known = {line.metric: line for line in headlines(evaluation.protocol, with_parts=True)}
    if metrics is None:
        return [line for line in known.values() if not line.kind.table]
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    if not wanted:
        raise ParameterError("name at least one", did_you_mean("", list(known)), option="metrics")
    lines = list(dict.fromkeys(by_name("metric", each, known) for each in wanted))
    if of_tables := [line.metric for line in lines if line.kind.table]:
        problem = f"{of_tables[0]} matches anew, so it has no resamples"
        raise ParameterError(problem, "it is in the summary", option="metrics")
    return lines
