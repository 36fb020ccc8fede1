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
    """Compute the headline numbers of every slice, with its support.

    The slices are all combinations of the values of the keys that occur in a table, times those of the other tables; without
    keys there is one slice, of everything. A key is a column. A key of the images or of the categories separates these. A key
    of the annotations, and of the detections if they have it too, follows COCO's rule for area ranges: annotations outside the
    slice are ignored, and an unmatched detection is ignored if it has the key itself and is outside. A matched detection counts
    with its annotation. If only the detections have the key, detections outside are removed before matching. Null is a slice of
    its own.

    If detections do not have the key of the objects, an unmatched detection is a false positive in every slice. AP then falls
    with the slice's share of the annotations: compare models within a slice, or slices by AR. Qualifying a column that both
    have, as in "annotations.area", excludes the detections' column, and has that effect.

    Parameters
    ----------
    keys
        names of columns ("name" is that of the categories), "images.weather" if several tables have one. For a column of lists,
        such as tags, each item is a slice; slices then overlap, and rows with an empty list are in the slice null. `{"weather":
        ["fog", "rain"]}` uses only these values; rows with others are in no slice. Also `apframe.bins` and `apframe.quantiles`
        for numbers, or a dict from names of slices to conditions (see `where`; several in a list), for slices that overlap. A
        list of keys is the same as these one by one. A `Breakdown` of a benchmark is matched again in each of its slices; its
        column comes first, and marginals do not roll it up.
    level
        "summary": means over the categories of the slice. "category": a row for each category.
    marginals
        adds a row for every combination of the keys with some of them rolled up, down to the row of everything.
    intervals
        adds the standard error and the 95 % interval of each number: AP_se, AP_low and AP_high follow AP, and so on. They are
        null without an interval; `intervals` gives the reason, and resamples numbers without a derivative, which are null here.
    unit, within
        for intervals: columns of the images, see `intervals`.

    Returns
    -------
    The keys come first (`slice` for named ones). With level="category", category_id and name follow; with marginals, rolled_up
    has the names of the rolled-up keys. Then come the metrics of `summary`, null if nothing could be evaluated, and the
    support: n_images (keys of the objects do not change it), n_annotations (those that count: inside, no crowd), n_detections
    (true and false positives at the lowest threshold), n_categories (averaged over). Rows are sorted by key, null last,
    roll-ups below. The printed table has the most important columns that fit, and names the others.

    Raises
    ------
    ParameterError
        unknown or ambiguous columns, invalid conditions, slices without images, more than 1,000 slices of the objects; `unit`
        or `within` without intervals.

    >>> from apframe import Dataset, evaluate
    >>> truth = Dataset(
    ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
    ...     annotations={
    ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
    >>> detections = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> evaluate(truth, detections).by("weather").select("weather", "AR100", "n_annotations").rows()
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
    from apframe.evaluation.slices.slices import make_slicings, tabulate  # imports NumPy
    from apframe.show.fitted import SliceTable

    each_category = level == "category"
    tables = self._source.tables()
    slice_keys = make_keys(columns, tables)
    metrics = [line.metric for line in headlines(self.protocol)]
    column_names = {"rolled_up", *metrics, *SUPPORT}
    if intervals:
        column_names |= {f"{metric}_{end}" for metric in metrics for end in ("se", "low", "high")}
    refuse_keys(self, slice_keys, column_names | ({"category_id", "name"} if each_category else set()))
    heights = heights_of(self)
    slicings = make_slicings(slice_keys, heights, marginals=marginals, each_category=each_category)
    parts = [(slicing, self._pipeline.slices(slicing)) for slicing in slicings]
    categories = names_of_categories(self) if each_category else None
    table = tabulate(parts, slice_keys, categories)
    if units is not None:
        from apframe.evaluation.comparison.sampling import with_intervals

        table = with_intervals(self, table, slice_keys, slicings, categories, units)
    return SliceTable(table if marginals else table.drop("rolled_up"))


def _by_parts(
    self: Evaluation, key: Breakdown, others: Sequence[SliceKey | Breakdown], again: Callable[..., pl.DataFrame]
) -> pl.DataFrame:
    """Return the tables of `by` for each part of a breakdown, one below the other; repeated warnings are given once."""
    names = [other.name if isinstance(other, Breakdown) else getattr(other, "column", other) for other in others]
    if key.name in names:
        raise ParameterError(f"{key.name} is given twice", "rename the column", option="by")
    if any(isinstance(other, Bins) and other.of_quantiles for other in others):
        raise ParameterError("quantiles differ from bin to bin of a breakdown", "give the edges with apframe.bins", option="by")
    with collecting() as warnings:
        tables = [(bin_, again(self._of(InMemory.of(part)), *others)) for bin_, part in key.parts(self._inputs)]
    warn_again(dict.fromkeys(warnings))
    from apframe.show.fitted import SliceTable

    return SliceTable(pl.concat(table.select(pl.lit(bin_).alias(key.name), pl.all()) for bin_, table in tables))


def where(self: Evaluation, *conditions: Condition, **columns: Never) -> Evaluation:
    """Evaluate a subset by the rules of a slice, with all tables, metrics and slices.

    Parameters
    ----------
    conditions
        SQL text, as in "weather = 'fog' AND occlusion < .5", expressions such as `pl.col("weather") == "fog"`, or lists of
        image ids; all must be true. Null is outside. An expression, and each part of the text between its outermost ANDs, is
        about columns of one table ("annotations.occlusion" if several have one); an OR across tables is an error.
    columns
        not accepted: for a column given as a keyword, as in `weather="fog"`, the error names the condition to write.

    Raises
    ------
    ParameterError
        unknown, ambiguous or mixed columns; a column as a keyword or in a dict; no condition, or SQL that cannot be read; an
        empty subset.

    >>> from apframe import Dataset, evaluate
    >>> truth = Dataset(
    ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
    ...     annotations={
    ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
    >>> detections = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> evaluate(truth, detections).where("weather = 'fog'").summary["value"][0]
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
    """Yield every slice: the values of the keys as a table of one row, and the evaluation of the slice."""
    for values, masks in masks_of_slices(self, keys, {"name", *(column.name for column in RESULTS["curves"])}):
        yield values, self._subset(masks)


def masks_of_slices(self: Evaluation, keys: Sequence[SliceKey], column_names: set[str]) -> Iterator[tuple[pl.DataFrame, Masks]]:
    """Yield every slice: the values of the keys as a table of one row, and its masks for `Inputs.subset`.

    No key can have one of the `column_names`, which are columns of the result.
    """
    from apframe.evaluation.slices.slices import make_slicings, walk

    tables = self._source.tables()
    slice_keys = make_keys(keys, tables)
    refuse_keys(self, slice_keys, column_names)
    heights = self._source.heights
    yield from walk(make_slicings(slice_keys, heights), slice_keys, heights)
