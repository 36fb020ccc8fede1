"""The tables that a benchmark's own program prints, of an evaluation: pivots of its headline numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.evaluation.in_memory import InMemory
from apframe.exceptions import ColumnError, ParameterError, warn_again
from apframe.protocols.headline_values import means_of_table
from apframe.protocols.headlines import headlines
from apframe.protocols.kit_table import EachCategory, KitRow, KitTable
from apframe.protocols.published import departures
from apframe.show.aligned import aligned
from apframe.show.console import closing_lines, shorter_lines, summary_lines
from apframe.show.markup import cells
from apframe.tables.ids import is_known
from apframe.wording import spelled

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_OF_WHAT_IS_COMPARED = ("NothingMatchesWarning", "LowPrecisionWarning")  # others were given for the evaluation itself


def kit_lines(self: Evaluation, width: int | None = None) -> list[str]:
    """The tables of the protocol as aligned lines within `width`, and what else there is to say below them.

    There is a line for each headline number instead if these are not the published ones, or if a table needs objects that would
    have to be read again.
    """
    if not (tables := _tables(self)):
        own = summary_lines(self.summary, self.protocol, self.notes)
        return own if max(map(len, own)) <= (width or 1000) else shorter_lines(own)
    lines, notes = list[str](), list[str]()
    for table in tables:
        frame, lacking = kit_frame(self, table)
        head, rows = cells(frame, table.digits)
        texts = aligned([head, *rows], None if width is None else width - 1, n_labels=len(table.head))
        lines += ([""] if lines else []) + [f" {line}".rstrip() for line in texts]
        notes += lacking
    return lines + closing_lines(self.protocol, [*dict.fromkeys(notes), *self.notes])


def kit_markup(self: Evaluation, markup: Callable[[pl.DataFrame, int], str], digits: int | None) -> str:
    """What `kit_lines` shows, in Markdown or LaTeX; `digits` are those of each table unless they are given."""
    if not (tables := _tables(self)):
        return markup(self.summary, 3 if digits is None else digits)
    made = [(table, kit_frame(self, table)[0]) for table in tables]
    return "\n\n".join(markup(frame, table.digits if digits is None else digits) for table, frame in made)


def _tables(self: Evaluation) -> tuple[KitTable, ...]:
    """The tables of the protocol; none where a line for each headline number is printed instead, see `kit_lines`."""
    tables = self.protocol.tables
    needs_objects = any(table.frame is not None for table in tables)
    return () if "headlines" in departures(self.protocol) or (needs_objects and self._source.reads_again) else tables


def kit_frame(self: Evaluation, table: KitTable) -> tuple[pl.DataFrame, list[str]]:
    """A table as a frame, a row for each of its rows, null where nothing was evaluated; and why it lacks columns.

    The labels come first. A column of another variant is left out if the variant cannot be evaluated.
    """
    if table.frame is not None:
        return table.frame(self), []
    evaluations, reasons = {"": self}, dict[str, str]()
    for iou_type in table.iou_types:
        try:
            evaluations[iou_type] = variant(self, iou_type)
        except ColumnError as error:
            reasons[iou_type] = str(error)
    lacking = {
        why: [column.title for column in table.columns if reasons.get(column.iou_type) == why] for why in reasons.values()
    }
    rows = [own for row in table.rows for own in _rows(self, row)]
    labels = {title: [labels[k] for labels, *_ in rows] for k, title in enumerate(table.head)}
    has_categories = any(isinstance(row, EachCategory) for row in table.rows)
    values = {
        iou_type: (dict(each.summary.rows()), numbers_of_categories(each) if has_categories else {})
        for iou_type, each in evaluations.items()
    }
    numbers = {}
    for title, metric, iou_type in table.columns:
        if iou_type in values:
            whole, each = values[iou_type]
            cells = [whole.get(metric + ending) if k is None else each[metric][k] for _, ending, k in rows]
            numbers[title] = pl.Series(cells, dtype=pl.Float64).fill_nan(None) * table.factor
    return pl.DataFrame({**labels, **numbers}), [f"no {', '.join(titles)}: {why}" for why, titles in lacking.items()]


def variant(self: Evaluation, iou_type: str) -> Evaluation:
    """The evaluation of the same data by another variant of the protocol, with its summary; it is kept.

    There is a warning if nothing that the variant compares is alike, or if its AP is near 0.

    Raises
    ------
    ColumnError
        no object has what the variant compares; or the data before any rule are not known: they were read from a stored set or
        in parts, or they are a part of the objects
    """
    if iou_type in self._variants:
        return self._variants[iou_type]
    again = None if self._source.reads_again else self._source.inputs.again
    try:
        rules = self.protocol.variant(iou_type)
    except ParameterError:
        again = None
    if again is None:
        raise ColumnError(f"evaluate the original data with {spelled('iou_type')}")
    inputs = again(rules)
    for name, frame in (("detections", inputs.detections), ("annotations", inputs.annotations)):
        lacking = [each for each in rules.similarity.needs if each not in frame or frame[each].null_count() == frame.height]
        if lacking and frame.height:
            raise ColumnError(f"none of the {name} has {lacking[0]}")
    evaluation = self._of(InMemory.of(inputs), rules)
    evaluation._may_warn = not self.conditions
    with collecting() as said:
        _ = evaluation.summary
    warn_again((kind, f"{iou_type}: {text}") for kind, text in said if kind in _OF_WHAT_IS_COMPARED)
    self._variants[iou_type] = evaluation
    return evaluation


def _rows(self: Evaluation, row: KitRow | EachCategory) -> list[tuple[Sequence[str], str, int | None]]:
    """The labels of a row, the ending of its metrics, and the number of its category; of each category, many of these."""
    if isinstance(row, KitRow):
        return [(row.labels, row.ending, None)]
    return [((label,), "", k) for k, label in enumerate(labelled_categories(self)["label"])]


def labelled_categories(self: Evaluation) -> pl.DataFrame:
    """category_id and label (the name, or the id if there is none) of each category that has numbers of its own, by their ids.

    Pooled categories have none.
    """
    categories = self.dataset.categories.sort("category_id")
    known = categories.filter(is_known(categories["category_id"], self._source.category_ids))
    labelled = known.select("category_id", label=pl.coalesce("name", pl.col("category_id").cast(pl.String)))
    return labelled.clear() if self._pipeline.outline.is_pooled else labelled


def numbers_of_categories(self: Evaluation) -> dict[str, np.ndarray]:
    """The headline numbers of each category by name, in the order of their ids."""
    each = np.eye(labelled_categories(self).height, dtype=bool)
    lines = {line.of_whole for line in headlines(self.protocol)}
    found = means_of_table(self._headline_metrics, self.protocol, {str(k): flags for k, flags in enumerate(each)})
    return {name: values[1:] for name, values in found.items() if name in lines}
