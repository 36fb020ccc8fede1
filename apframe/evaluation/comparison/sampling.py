"""How sure headline numbers and their differences are: from options to the tables of `intervals` and `compare`."""

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
from apframe.exceptions import ParameterError, ResampledWarning, by_name, one_of, proper_share, warn, whole_number
from apframe.protocols.headlines import Headline, headlines
from apframe.show.fitted import ComparisonTable
from apframe.tables.conditions import columns_of
from apframe.wording import counted, did_you_mean, listed

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import Key
    from apframe.evaluation.slices.slices import Slicing

LEVELS = ("summary", "category", "both")
_NUMBER = "number of the metric"  # a column that no key is called
LEVEL = ["estimate", "low", "high", "se", "bias", "n_units", "n_resamples", "method", "reason"]
DIFFERENCE = [
    "run_a", "run_b", "estimate_a", "estimate_b", "difference", "low", "high", "se", "bias", "share_better", "p", "p_holm", "q",
    "detectable", "n_units", "n_resamples", "method", "reason",
]  # fmt: skip


@dataclass(frozen=True)
class Sampling:
    """What a unit is, which numbers are wanted, and how their uncertainty is found; see `intervals`."""

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
    """The headline numbers of an evaluation with their intervals, see `Evaluation.intervals`."""
    tables = []
    for numbers in sample([evaluation], sampling, with_bias=True):
        made = numbers.describe(0, sampling.confidence) | {"estimate": numbers.estimates[0], "n_units": numbers.n_units}
        tables.append(numbers.with_columns({}, {name: made[name] for name in LEVEL}))
    table = _in_order(tables)
    drawn = table.filter(pl.col("method") == "bootstrap")
    means = drawn.filter(pl.col("category_id").is_null()) if "category_id" in drawn.columns else drawn
    if means.height <= len(tables):  # not of slices or categories, which would be many names
        rule.warn_of_bias(means["metric"].to_list(), means["bias"].to_numpy(), means["se"].to_numpy())
    return ComparisonTable(table)


def compare_all(
    evaluations: Sequence[Evaluation], names: Sequence[str], pairs: Sequence[tuple[int, int]], sampling: Sampling
) -> pl.DataFrame:
    """The differences of some pairs of evaluations that agree, see `compare`."""
    tables, n_rows = [], 0
    for numbers in sample(evaluations, sampling, pairs):
        made = [numbers.compare(a, b, sampling.confidence) for a, b in pairs]
        is_tested = np.isfinite([each["p"] for each in made])  # pairs are corrected for in each row, rows for each pair
        if isinstance(numbers, ResampledNumbers):
            n_of = [is_tested.sum(axis=0), *(is_tested[:, rows].sum(axis=1) for rows in numbers.families())]
            n_rows = max(n_rows, *(int(n.max(initial=0)) for n in n_of))
        holm = np.apply_along_axis(rule.holm, 0, np.stack([each["p"] for each in made])) if len(numbers.n_units) else None
        for k, ((a, b), each) in enumerate(zip(pairs, made, strict=True)):
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
    """A table of slices with the standard error and the interval of each headline number, see `by`."""
    lines = [line for line in chosen_lines(evaluation, None) if line.part is None]
    study = Study([evaluation], units, ImageWeights(), with_bias=True)
    derived = study.derive(lines, [Slices(keys, [(slicings, categories)])])
    columns, names = [], {line.metric for line in lines}
    for column in table:
        columns.append(column)
        if column.name in names:
            nothing = dict.fromkeys(("se", "low", "high"), np.full(table.height, np.nan))
            made = derived[column.name].describe(0, 0.95) if column.name in derived else nothing
            columns += [pl.Series(f"{column.name}_{name}", made[name], nan_to_null=True) for name in nothing]
    return pl.DataFrame(columns)


def image_influences(evaluation: Evaluation, sampling: Sampling, *, every: bool = False) -> pl.DataFrame:
    """What each image contributes to headline numbers, see `Evaluation.influence`; `every`: all numbers that have a derivative.

    Otherwise it is the first one, if none is named.
    """
    chosen = chosen_lines(evaluation, sampling.metrics)
    lines = [line for line in chosen if line.part is None]
    if parts := [line for line in chosen if line.part is not None and sampling.metrics is not None]:
        problem = f"{parts[0].metric} is the number of a part of the data"
        raise ParameterError(problem, f"use `where` first, and {parts[0].of_whole} of what is left", option="metric")
    lines = lines if every or sampling.metrics is not None else lines[:1]
    each = Units(np.arange(_images(evaluation).height), None)
    study, slices = _prepare([evaluation], sampling, (), with_bias=False, units=each, taken=("image_id", "influence"))
    found = study.of_images(lines, slices[0])
    asked = [] if every else [line for line in lines if line.is_evaluated(evaluation.protocol)]
    if lacking := [line.metric for line in asked if line.metric not in [name for name, _ in found]]:
        problem = f"{lacking[0]} has no derivative, so images have no influence on it"
        raise ParameterError(problem, "choose another metric; `intervals` resamples this one", option="metric")
    tables = [table.with_columns(pl.lit(k).alias(_NUMBER)) for k, (_, table) in enumerate(found)]
    if not tables:
        ids = {"image_id": _images(evaluation).schema["image_id"]}
        return pl.DataFrame(schema={"metric": pl.String, **ids, "influence": pl.Float64})
    return pl.concat(tables).sort(ROW, _NUMBER, maintain_order=True).drop(ROW, _NUMBER)


def _in_order(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The tables of several metrics as one: by row, and by metric within it."""
    rows = [table.with_row_index(ROW).with_columns(pl.lit(k).alias(_NUMBER)) for k, table in enumerate(tables)]
    return pl.concat(rows, how="diagonal").sort(ROW, _NUMBER).drop(ROW, _NUMBER)


def sample(
    evaluations: Sequence[Evaluation],
    sampling: Sampling,
    pairs: Sequence[tuple[int, int]] = (),
    *,
    with_bias: bool = False,
) -> list[Numbers]:
    """The headline numbers of evaluations that agree, and how sure they and the differences of pairs are.

    Options are refused before anything is computed.
    """
    lines = chosen_lines(evaluations[0], sampling.metrics)
    study, slices = _prepare(evaluations, sampling, pairs, with_bias=with_bias)
    is_whole = not slices[0].keys and sampling.level != "category"
    whole = [line for line in lines if line.part is None]
    if not whole and not is_whole:
        problem = f"{lines[0].metric} is the number of a part of the data, which slices and categories do not have"
        raise ParameterError(problem, f"name {lines[0].of_whole}", option="metrics")
    found: dict[str, Numbers] = study.measure(whole, slices) if whole else {}
    if is_whole:
        found |= study.measure_parts([line for line in lines if line.part is not None])
    if resampled := [
        name for name, each in found.items() if isinstance(each, ResampledNumbers) and sampling.method != "bootstrap"
    ]:
        n = counted(sampling.n_resamples, "resample")
        warn(f"{listed(resampled)}: intervals are from {n} of the images, as there is no derivative", ResampledWarning)
    return [found[line.metric] for line in lines if line.metric in found]


def _prepare(
    evaluations: Sequence[Evaluation],
    sampling: Sampling,
    pairs: Sequence[tuple[int, int]],
    *,
    with_bias: bool,
    units: Units | None = None,
    taken: Sequence[str] = (*LEVEL, *DIFFERENCE),
) -> tuple[Study, list[Slices]]:
    """What is studied, and the slices of each evaluation; wrong options are errors, and few units a warning if not given.

    `taken` are columns of the result, which no key may be called.
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
    slices = [make_slices(each, keys, sampling.level, taken) for each in evaluations]
    options = sampling.method, sampling.n_resamples, sampling.seed
    return Study(evaluations, units, weights, *options, pairs, with_bias), slices


def image_units(self: Evaluation, unit: str | None, within: str | None) -> Units:
    """The units of the evaluated images, see `make_units`."""
    return Units(*make_units(_images(self), unit, within))


def image_draws(self: Evaluation, unit: str | None, within: str | None, n_resamples: int, seed: int) -> Draws:
    """The draws of the evaluated images, in the order of their ids; see `make_draws`."""
    return make_draws(_images(self), unit, within, n_resamples, seed)


def _images(self: Evaluation) -> pl.DataFrame:
    """The evaluated images in the order of their ids, which come first."""
    return columns_of(self._source.tables()["images"], "image_id", pl.exclude("image_id"))


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
        problem = f"{of_tables[0]} matches anew, so it has no interval"
        raise ParameterError(problem, "it is in the summary", option="metrics")
    return lines
