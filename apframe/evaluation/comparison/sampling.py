"""Uncertainty of headline numbers and their differences: from options to the tables of `intervals` and `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.compare import inference as rule
from apframe.compare.resampling import Draws, Units, make_draws, make_units
from apframe.compare.standard_errors import METHODS
from apframe.evaluation.comparison.image_weights import ImageWeights, make_weights
from apframe.evaluation.comparison.slice_rows import Slices, make_slices
from apframe.evaluation.comparison.study import ROW, Numbers, ResampledNumbers, Study
from apframe.evaluation.slices.keys import Bins, check_level
from apframe.exceptions import ParameterError, ResampledWarning, warn
from apframe.option_values import by_name, one_of, proper_share, whole_number
from apframe.protocols.headlines import Headline, headlines
from apframe.show.fitted import ComparisonTable
from apframe.tables.conditions import columns_of
from apframe.wording import counted, did_you_mean, listed

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import Key
    from apframe.evaluation.slices.slices import Slicing

LEVELS = ("summary", "category", "both")
_NUMBER = "number of the metric"  # a column; no key can have this name
LEVEL = ["estimate", "low", "high", "se", "bias", "n_units", "n_resamples", "method", "reason"]
DIFFERENCE = [
    "run_a", "run_b", "estimate_a", "estimate_b", "difference", "low", "high", "se", "bias", "share_better", "p", "p_holm", "q",
    "detectable", "n_units", "n_resamples", "method", "reason",
]  # fmt: skip


@dataclass(frozen=True)
class Sampling:
    """Options of sampling: the units, the requested numbers, and the method of their uncertainty; see `intervals`."""

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
    method: str = "influence"


def describe_all(evaluation: Evaluation, sampling: Sampling) -> pl.DataFrame:
    """Return the headline numbers of an evaluation with their intervals, see `Evaluation.intervals`."""
    tables = []
    for numbers in sample([evaluation], sampling, with_bias=True):
        statistics = numbers.describe(0, sampling.confidence) | {"estimate": numbers.estimates[0], "n_units": numbers.n_units}
        tables.append(numbers.with_columns({}, {name: statistics[name] for name in LEVEL}))
    table = _in_order(tables)
    drawn = table.filter(pl.col("method") == "bootstrap")
    means = drawn.filter(pl.col("category_id").is_null()) if "category_id" in drawn.columns else drawn
    if means.height <= len(tables):  # not for slices or categories, which would be too many names
        rule.warn_of_bias(means["metric"].to_list(), means["bias"].to_numpy(), means["se"].to_numpy())
    return ComparisonTable(table)


def compare_all(
    evaluations: Sequence[Evaluation], names: Sequence[str], pairs: Sequence[tuple[int, int]], sampling: Sampling
) -> pl.DataFrame:
    """Return the differences of some pairs of comparable evaluations, see `compare`."""
    tables, n_rows = [], 0
    for numbers in sample(evaluations, sampling, pairs):
        comparisons = [numbers.compare(a, b, sampling.confidence) for a, b in pairs]
        # the correction for pairs is within each row, the one for rows within each pair
        is_tested = np.isfinite([each["p"] for each in comparisons])
        if isinstance(numbers, ResampledNumbers):
            n_of = [is_tested.sum(axis=0), *(is_tested[:, rows].sum(axis=1) for rows in numbers.families())]
            n_rows = max(n_rows, *(int(n.max(initial=0)) for n in n_of))
        holm = (
            np.apply_along_axis(rule.holm, 0, np.stack([each["p"] for each in comparisons])) if len(numbers.n_units) else None
        )
        for k, ((a, b), each) in enumerate(zip(pairs, comparisons, strict=True)):
            each |= {"p_holm": each["p"] if holm is None else holm[k], "q": numbers.false_discovery(each["p"])}
            each |= {"estimate_a": numbers.estimates[a], "estimate_b": numbers.estimates[b], "n_units": numbers.n_units}
            labels = {"run_a": names[a], "run_b": names[b]}
            tables.append(numbers.with_columns(labels, {name: each[name] for name in DIFFERENCE[2:]}))
    rule.warn_of_few_resamples(sampling.n_resamples, n_rows)
    return ComparisonTable(_in_order(tables))


def with_intervals(
    evaluation: Evaluation,
    table: pl.DataFrame,
    keys: Sequence[Key],
    slicings: Sequence[Slicing],
    categories: pl.DataFrame | None,
    units: Units,
) -> pl.DataFrame:
    """Return a table of slices with the standard error and the interval of each headline number, see `by`."""
    lines = [line for line in chosen_lines(evaluation, None) if line.part is None]
    study = Study([evaluation], units, ImageWeights(), with_bias=True)
    derived = study.derive(lines, [Slices(keys, [(slicings, categories)])])
    columns, names = [], {line.metric for line in lines}
    for column in table:
        columns.append(column)
        if column.name in names:
            nothing = dict.fromkeys(("se", "low", "high"), np.full(table.height, np.nan))
            statistics = derived[column.name].describe(0, 0.95) if column.name in derived else nothing
            columns += [pl.Series(f"{column.name}_{name}", statistics[name], nan_to_null=True) for name in nothing]
    return pl.DataFrame(columns)


def image_influences(evaluation: Evaluation, sampling: Sampling, *, every: bool = False) -> pl.DataFrame:
    """Return the influence of images on headline numbers, see `Evaluation.influence`; `every`: on all that have a derivative.

    Otherwise, the first number is used if none is named.
    """
    chosen = chosen_lines(evaluation, sampling.metrics)
    lines = [line for line in chosen if line.part is None]
    if parts := [line for line in chosen if line.part is not None and sampling.metrics is not None]:
        problem = f"{parts[0].metric} is the number of a part of the data"
        raise ParameterError(problem, f"use `where` first, and {parts[0].of_whole} of what is left", option="metric")
    lines = lines if every or sampling.metrics is not None else lines[:1]
    each = Units(np.arange(_images(evaluation).height), None)
    study, slices = _prepare([evaluation], sampling, (), with_bias=False, units=each, column_names=("image_id", "influence"))
    tables_by_name = study.of_images(lines, slices[0])
    requested_lines = [] if every else [line for line in lines if line.is_evaluated(evaluation.protocol)]
    if lacking := [line.metric for line in requested_lines if line.metric not in [name for name, _ in tables_by_name]]:
        problem = f"{lacking[0]} has no derivative, so images have no influence on it"
        raise ParameterError(problem, "choose another metric; `intervals` resamples this one", option="metric")
    tables = [table.with_columns(pl.lit(k).alias(_NUMBER)) for k, (_, table) in enumerate(tables_by_name)]
    if not tables:
        ids = {"image_id": _images(evaluation).schema["image_id"]}
        return pl.DataFrame(schema={"metric": pl.String, **ids, "influence": pl.Float64})
    return pl.concat(tables).sort(ROW, _NUMBER, maintain_order=True).drop(ROW, _NUMBER)


def _in_order(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Join the tables of several metrics: by row, and by metric within it."""
    rows = [table.with_row_index(ROW).with_columns(pl.lit(k).alias(_NUMBER)) for k, table in enumerate(tables)]
    return pl.concat(rows, how="diagonal").sort(ROW, _NUMBER).drop(ROW, _NUMBER)


def sample(
    evaluations: Sequence[Evaluation],
    sampling: Sampling,
    pairs: Sequence[tuple[int, int]] = (),
    *,
    with_bias: bool = False,
) -> list[Numbers]:
    """Compute the headline numbers of comparable evaluations, with the uncertainty of them and of differences of pairs.

    Invalid options raise errors before anything is computed.
    """
    lines = chosen_lines(evaluations[0], sampling.metrics)
    study, slices = _prepare(evaluations, sampling, pairs, with_bias=with_bias)
    is_whole = not slices[0].keys and sampling.level != "category"
    lines_of_all = [line for line in lines if line.part is None]
    if not lines_of_all and not is_whole:
        problem = f"{lines[0].metric} is the number of a part of the data, which slices and categories do not have"
        raise ParameterError(problem, f"name {lines[0].of_whole}", option="metrics")
    numbers_by_name: dict[str, Numbers] = study.measure(lines_of_all, slices) if lines_of_all else {}
    if is_whole:
        numbers_by_name |= study.measure_parts([line for line in lines if line.part is not None])
    if resampled := [
        name for name, each in numbers_by_name.items() if isinstance(each, ResampledNumbers) and sampling.method != "bootstrap"
    ]:
        n = counted(sampling.n_resamples, "resample")
        warn(f"{listed(resampled)}: intervals are from {n} of the images, as there is no derivative", ResampledWarning)
    return [numbers_by_name[line.metric] for line in lines if line.metric in numbers_by_name]


def _prepare(
    evaluations: Sequence[Evaluation],
    sampling: Sampling,
    pairs: Sequence[tuple[int, int]],
    *,
    with_bias: bool,
    units: Units | None = None,
    column_names: Sequence[str] = (*LEVEL, *DIFFERENCE),
) -> tuple[Study, list[Slices]]:
    """Prepare a study, and the slices of each evaluation; invalid options raise errors, and few units give a warning.

    `column_names` are columns of the result; no key can have one of these names.
    """
    first = evaluations[0]
    check_level(first, sampling.level, LEVELS)
    one_of("method", sampling.method, METHODS)
    proper_share("confidence", sampling.confidence)
    whole_number("n_resamples", sampling.n_resamples)
    whole_number("seed", sampling.seed, 0)
    images = _images(first)
    units = image_units(first, sampling.unit, sampling.within) if units is None else units
    weights = make_weights(images, sampling.weights, sampling.to_mix)
    keys = [sampling.by] if isinstance(sampling.by, (str, Bins, Mapping)) else list(sampling.by)
    slices = [make_slices(each, keys, sampling.level, column_names) for each in evaluations]
    options = sampling.method, sampling.n_resamples, sampling.seed
    return Study(evaluations, units, weights, *options, pairs, with_bias), slices


def image_units(self: Evaluation, unit: str | None, within: str | None) -> Units:
    """Return the units of the evaluated images, see `make_units`."""
    return Units(*make_units(_images(self), unit, within))


def image_draws(self: Evaluation, unit: str | None, within: str | None, n_resamples: int, seed: int) -> Draws:
    """Return the draws of the evaluated images, in the order of their ids; see `make_draws`."""
    return make_draws(_images(self), unit, within, n_resamples, seed)


def _images(self: Evaluation) -> pl.DataFrame:
    """Return the evaluated images in the order of their ids, with the id as the first column."""
    return columns_of(self._source.tables()["images"], "image_id", pl.exclude("image_id"))


def chosen_lines(evaluation: Evaluation, metrics: Sequence[str] | str | None) -> list[Headline]:
    """Return the headlines with these names, or all of them; an unknown name is a ParameterError."""
    lines_by_name = {line.metric: line for line in headlines(evaluation.protocol, with_parts=True)}
    if metrics is None:
        return [line for line in lines_by_name.values() if not line.kind.table]
    requested_names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not requested_names:
        raise ParameterError("name at least one", did_you_mean("", list(lines_by_name)), option="metrics")
    lines = list(dict.fromkeys(by_name("metric", each, lines_by_name) for each in requested_names))
    if of_tables := [line.metric for line in lines if line.kind.table]:
        problem = f"{of_tables[0]} matches anew, so it has no interval"
        raise ParameterError(problem, "it is in the summary", option="metrics")
    return lines
