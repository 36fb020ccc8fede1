"""Slices and subsets of an evaluation: headline numbers by keys, and the evaluation of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Never

import polars as pl

from apframe.collecting import collecting
from apframe.evaluation.comparison.headline_intervals import units_if_asked
from apframe.evaluation.in_memory import InMemory
from apframe.evaluation.slices.keys import (
    Bins,
    Breakdown,
    check_level,
    heights_of,
    make_keys,
    names_of_categories,
    refuse_keys,
)
from apframe.exceptions import NoAnnotationsWarning, ParameterError, warn, warn_again
from apframe.protocols.headlines import headlines
from apframe.tables.conditions import conjunction
from apframe.tables.result_tables import RESULTS, SUPPORT
from apframe.wording import counted, option_name

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.tables.conditions import Condition, Masks


def by(
    self: Evaluation,
    *keys: SliceKey | Breakdown,
    level: str = "summary",
    marginals: bool = False,
    intervals: bool = False,
    unit: str | None = None,
    within: str | None = None,
) -> pl.DataFrame:
    """The headline numbers of every slice, with its support.

    The slices are all combinations of the values of the keys that occur in a table, times those of the other tables;
    without keys there is one, of everything. A key is a column. One of the images or of the categories tells these apart.
    One of the annotations, and of the detections where they have it too, follows COCO's rule for area ranges: annotations
    outside the slice are ignored, an unmatched detection is ignored if it carries the key itself and falls outside, and
    what is matched goes with its annotation. One that only the detections have leaves the others out before matching. Null
    is a slice of its own.

    A detection that does not carry the key of the objects is a false positive in every slice of it, if nothing is
    matched. AP then falls with the slice's share of the annotations: compare models within a slice, or slices by AR.
    Qualifying a column that both have, "annotations.area", takes the detections' side away, and has that effect.

    Parameters
    ----------
    keys
        names of columns ("name" is that of the categories), "images.weather" where several tables have one. Of a column of
        lists, such as tags, each item is a slice; slices then overlap, and rows with an empty list are in the slice null.
        `{"weather": ["fog", "rain"]}` takes these values alone; rows of others are in no slice. Also
        `apframe.bins` and `apframe.quantiles` for numbers, or a dict from names of slices to conditions (see `where`; several
        in a list), for slices that overlap. A list of keys is the same as these one by one. A `Breakdown` of a benchmark
        is matched again in each of its slices; its column comes first, and marginals do not roll it up.
    level
        "summary": means over the categories of the slice. "category": a row for each category.
    marginals
        also a row for every combination of the keys with some of them rolled up, down to that of everything.
    intervals
        also the standard error and the 95 % interval of each number: AP_se, AP_low and AP_high follow AP, and so on. They are
        null where there is none, see `intervals`, which says why; and for numbers without a derivative, which it resamples.
    unit, within
        for intervals: columns of the images, see `intervals`.

    Returns
    -------
    The keys come first (`slice` for named ones). With level="category", category_id and name follow; with marginals, rolled_up
    has the names of the keys of which the row takes all values. Then come the metrics of `summary`, null where nothing could
    be evaluated, and the support: n_images (keys of the objects do not change it), n_annotations (counted: inside, no crowd),
    n_detections (true and false positives at the lowest threshold), n_categories (averaged over). Rows are sorted by key,
    null last, roll-ups below. Printed, the table shows the most telling columns that fit, and names the others.

    Raises
    ------
    ParameterError
        unknown or ambiguous columns, bad conditions, slices without images, more than 1,000 slices of the objects; `unit` or
        `within` without intervals.

    >>> from apframe import Dataset, evaluate
    >>> truth = Dataset(
    ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
    ...     annotations={
    ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
    >>> found = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> evaluate(truth, found).by("weather").select("weather", "AR100", "n_annotations").rows()
    [('clear', 1.0, 1), ('fog', 0.0, 1)]
    """
    check_level(self, level)
    each_one = [inner for key in keys for inner in (key if isinstance(key, (list, tuple)) else [key])]
    broken_down = [key for key in each_one if isinstance(key, Breakdown)]
    columns = [key for key in each_one if not isinstance(key, Breakdown)]
    if broken_down:
        again = partial(by, level=level, marginals=marginals, intervals=intervals, unit=unit, within=within)
        return _by_parts(self, broken_down[0], (*broken_down[1:], *columns), again)
    units = units_if_asked(self, unit, within, intervals=intervals)
    from apframe.evaluation.slices.slices import make_slicings, tabulate  # brings in NumPy
    from apframe.show.fitted import SliceTable

    each_category = level == "category"
    tables = self._source.tables()
    made = make_keys(columns, tables)
    metrics = [line.metric for line in headlines(self.protocol)]
    taken = {"rolled_up", *metrics, *SUPPORT}
    if intervals:
        taken |= {f"{metric}_{end}" for metric in metrics for end in ("se", "low", "high")}
    refuse_keys(self, made, taken | ({"category_id", "name"} if each_category else set()))
    heights = heights_of(self)
    slicings = make_slicings(made, heights, marginals=marginals, each_category=each_category)
    parts = [(slicing, self._pipeline.slices(slicing)) for slicing in slicings]
    categories = names_of_categories(self) if each_category else None
    table = tabulate(parts, made, categories)
    if units is not None:
        from apframe.evaluation.comparison.sampling import with_intervals

        table = with_intervals(self, table, made, slicings, categories, units)
    return SliceTable(table if marginals else table.drop("rolled_up"))


def _by_parts(
    self: Evaluation, key: Breakdown, others: Sequence[SliceKey | Breakdown], again: Callable[..., pl.DataFrame]
) -> pl.DataFrame:
    """The table of `by` of each part of a breakdown, below each other; a warning that all of them give is given once."""
    names = [other.name if isinstance(other, Breakdown) else getattr(other, "column", other) for other in others]
    if key.name in names:
        raise ParameterError(f"{key.name} is given twice", "rename the column", option="by")
    if any(isinstance(other, Bins) and other.of_quantiles for other in others):
        raise ParameterError("quantiles differ from bin to bin of a breakdown", "give the edges with apframe.bins", option="by")
    with collecting() as said:
        found = [(bin_, again(self._of(InMemory.of(part)), *others)) for bin_, part in key.parts(self._inputs)]
    warn_again(dict.fromkeys(said))
    from apframe.show.fitted import SliceTable

    return SliceTable(pl.concat(table.select(pl.lit(bin_).alias(key.name), pl.all()) for bin_, table in found))


def where(self: Evaluation, *conditions: Condition, **columns: Never) -> Evaluation:
    """The evaluation of a subset, with the rules of a slice: all tables, metrics, slices of it.

    Parameters
    ----------
    conditions
        SQL text, as in "weather = 'fog' AND occlusion < .5", expressions such as `pl.col("weather") == "fog"`, or lists of
        image ids; all must hold. Null is outside. An expression, and each part of the text between its outermost ANDs, is about
        columns of one table ("annotations.occlusion" where several have one); an OR across tables is an error.
    columns
        none: a column given as a keyword, as in `weather="fog"`, is an error that names the condition to write.

    Raises
    ------
    ParameterError
        unknown, ambiguous or mixed columns; a column as a keyword or in a dict; no condition, or SQL that cannot be read;
        nothing left.

    >>> from apframe import Dataset, evaluate
    >>> truth = Dataset(
    ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
    ...     annotations={
    ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
    >>> found = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> evaluate(truth, found).where("weather = 'fog'").summary["value"][0]
    0.0
    """
    part = self._subset(conjunction((*conditions, *([columns] if columns else ())), self._source.tables()))
    words = [str(each) if isinstance(each, (pl.Expr, str)) else counted(len(each), "image") for each in conditions]
    part.conditions = (*self.conditions, *words)
    if not _has_annotations(part):
        warn(f"{option_name('where')}: no annotation meets the conditions, so all metrics are null", NoAnnotationsWarning)
    return part


def _has_annotations(self: Evaluation) -> bool:
    return self._source.has_annotations


def each_slice(self: Evaluation, keys: Sequence[SliceKey]) -> Iterator[tuple[pl.DataFrame, Evaluation]]:
    """Every slice: the values of the keys as a table of one row, and the evaluation of the slice."""
    for values, masks in masks_of_slices(self, keys, {"name", *(column.name for column in RESULTS["curves"])}):
        yield values, self._subset(masks)


def masks_of_slices(self: Evaluation, keys: Sequence[SliceKey], taken: set[str]) -> Iterator[tuple[pl.DataFrame, Masks]]:
    """Every slice: the values of the keys as a table of one row, and its masks as `Inputs.subset` takes them.

    `taken` are names that no key may have, as the result has columns of these names.
    """
    from apframe.evaluation.slices.slices import make_slicings, walk

    tables = self._source.tables()
    made = make_keys(keys, tables)
    refuse_keys(self, made, taken)
    heights = self._source.heights
    yield from walk(make_slicings(made, heights), made, heights)
