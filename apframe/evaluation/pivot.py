"""The tables in which a benchmark's numbers are reported: pivots of an evaluation's headline numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.evaluation.in_memory import InMemory
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.listing import html_table
from apframe.protocols.headline_values import means_of_table
from apframe.protocols.headlines import headlines
from apframe.protocols.kit_table import EachCategory, KitRow, KitTable
from apframe.show.aligned import aligned
from apframe.show.console import closing_lines, lines_within, summary_lines
from apframe.show.html import evaluation_html
from apframe.show.markup import cells
from apframe.tables.ids import is_known
from apframe.wording import option_name

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.protocol import Protocol

_OF_WHAT_IS_COMPARED = ("NothingMatchesWarning", "LowPrecisionWarning")  # other warnings were given for the evaluation itself


def kit_lines(self: Evaluation, width: int | None = None) -> list[str]:
    """Return the tables of the protocol as aligned lines within `width`, with notes below them.

    There is a line for each headline number instead if the evaluation lacks a number of a table, has different IoU thresholds
    than the table's titles, or would have to read its objects again.
    """
    tables, notes = kit_tables(self)
    if not tables:
        return lines_within(width, summary_lines(self.summary, self.protocol, notes))
    lines = list[str]()
    for table, frame in tables:
        head, rows = cells(frame, table.digits)
        texts = aligned([head, *rows], None if width is None else width - 1, n_labels=len(table.head))
        lines += ([""] if lines else []) + [f" {line}".rstrip() for line in texts]
    return lines + closing_lines(self.protocol, notes)


def kit_markup(self: Evaluation, markup: Callable[[pl.DataFrame, int], str], digits: int | None) -> tuple[str, list[str]]:
    """Return the tables of `kit_lines`, or the summary, in Markdown or LaTeX, and the notes.

    `digits` override those of a table."""
    tables, notes = kit_tables(self)
    below = closing_lines(self.protocol, notes)
    if not tables:
        return markup(self.summary, 3 if digits is None else digits), below
    return "\n\n".join(markup(frame, table.digits if digits is None else digits) for table, frame in tables), below


def kit_html(self: Evaluation) -> str:
    """Return the tables of `kit_lines` as HTML, below a description of the evaluation; the headline numbers without tables."""
    tables, notes = kit_tables(self)
    shown = [html_table(*cells(frame, table.digits)) for table, frame in tables]
    return evaluation_html(self.summary, self.protocol, repr(self.dataset), self._source.n_detections, notes, shown)


def kit_tables(self: Evaluation) -> tuple[list[tuple[KitTable, pl.DataFrame]], list[str]]:
    """Return the tables of the protocol that have rows, as frames, and all notes; no tables if `kit_lines` prints lines."""
    tables = self.protocol.tables
    if self._source.reads_again and any(table.frame is not None for table in tables):
        return [], [*self.notes]
    if reasons := [why for table in tables if (why := _unfit(self.protocol, table))]:
        return [], [f"no table: {reasons[0]}", *self.notes]
    frames, notes = list[tuple[KitTable, pl.DataFrame]](), list[str]()
    for table in tables:
        frame, own = kit_frame(self, table)
        frames += [(table, frame)] if frame.height else []  # pooled categories have no rows
        notes += own
    return frames, [*dict.fromkeys([*notes, *self.notes])]


def _unfit(protocol: Protocol, table: KitTable) -> str:
    """Explain why a table does not fit a protocol; empty if it fits."""
    metrics = [line.metric for line in headlines(protocol, with_parts=True)]
    endings = [row.ending if isinstance(row, KitRow) else "" for row in table.rows]
    own = [column.metric + ending for column in table.columns if not column.iou_type for ending in endings]
    if lacking := [name for name in dict.fromkeys([*table.needs, *own]) if name not in metrics]:
        return f"{', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not among the headline numbers"
    if table.iou_thresholds and (protocol.category_thresholds or protocol.iou_thresholds != table.iou_thresholds):
        return "its titles stand for other IoU thresholds"
    return ""


def kit_frame(self: Evaluation, table: KitTable) -> tuple[pl.DataFrame, list[str]]:
    """Return a table as a frame, with its rows, null if nothing was evaluated; and notes on its columns.

    The labels come first. A column of another variant is omitted, with a note, if the variant cannot be evaluated. There are
    also notes if no objects match in the variant, or if its AP is near 0.
    """
    if table.frame is not None:
        return table.frame(self), []
    has_categories = any(isinstance(row, EachCategory) for row in table.rows)
    values, reasons, notes = dict[str, tuple[dict[str, float | None], dict[str, np.ndarray]]](), dict[str, str](), list[str]()
    for iou_type in ("", *table.iou_types):
        try:
            each = variant(self, iou_type) if iou_type else self
            values[iou_type] = dict(each.summary.rows()), numbers_of_categories(each) if has_categories else {}
            notes += each.notes if iou_type else []
        except (InputError, ParameterError) as error:
            if not iou_type:
                raise
            reasons[iou_type] = str(error)
    lacking = {
        why: [column.title for column in table.columns if reasons.get(column.iou_type) == why] for why in reasons.values()
    }
    rows = [own for row in table.rows for own in _rows(self, row)]
    labels = {title: [labels[k] for labels, *_ in rows] for k, title in enumerate(table.head)}
    numbers = {}
    for title, metric, iou_type in table.columns:
        if iou_type in values:
            of_all, of_each = values[iou_type]
            values_of_rows = [
                of_all.get(metric + ending) if k is None else _at(of_each.get(metric), k) for _, ending, k in rows
            ]
            numbers[title] = pl.Series(values_of_rows, dtype=pl.Float64).fill_nan(None) * table.factor
    return pl.DataFrame({**labels, **numbers}), [*(f"no {', '.join(titles)}: {why}" for why, titles in lacking.items()), *notes]


def _at(values: np.ndarray | None, number: int) -> float | None:
    return None if values is None else values[number]


def variant(self: Evaluation, iou_type: str) -> Evaluation:
    """Evaluate the same data by another variant of the protocol, with its summary; the evaluation is stored.

    Its notes mention if no objects match, or if its AP is near 0; it gives no warnings.

    Raises
    ------
    ParameterError
        the protocol has no such variant
    InputError
        no object has the shape that the variant compares, or some rows are invalid; or the original data are unknown, because
        they were read from a stored set or in parts, or are a part of the objects
    """
    if iou_type in self._variants:
        return self._variants[iou_type]
    again = None if self._source.reads_again else self._source.inputs.again
    if again is None:
        raise ColumnError(f"evaluate it with {option_name('iou_type', iou_type)}")
    rules = self.protocol.variant(iou_type)
    with collecting() as warnings:
        inputs = again(rules)
        for name, frame in (("detections", inputs.detections), ("annotations", inputs.annotations)):
            lacking = [each for each in rules.similarity.needs if each not in frame or frame[each].null_count() == frame.height]
            if lacking and frame.height:
                raise ColumnError(f"none of the {name} has {lacking[0]}")
        evaluation = self._of(InMemory.of(inputs), rules)
        evaluation._may_warn = not self.conditions
        _ = evaluation.summary
    evaluation.notes = tuple(f"{iou_type}: {text}" for kind, text in warnings if kind in _OF_WHAT_IS_COMPARED)
    self._variants[iou_type] = evaluation
    return evaluation


def _rows(self: Evaluation, row: KitRow | EachCategory) -> list[tuple[Sequence[str], str, int | None]]:
    """Return the labels, metrics' ending and category number of a row; for each category, this makes many rows."""
    if isinstance(row, KitRow):
        return [(row.labels, row.ending, None)]
    return [((label,), "", k) for k, label in enumerate(labelled_categories(self)["label"])]


def labelled_categories(self: Evaluation) -> pl.DataFrame:
    """Return category_id and label of each category with its own numbers, sorted by id; empty if they are pooled.

    The label is the name. A category without a name, or with the same name as another one, is labelled by its id.
    """
    categories = self.dataset.categories.sort("category_id")
    names, ids = categories["name"], categories["category_id"].cast(pl.String)
    label = pl.when(names.is_unique() & names.is_not_null()).then(names).otherwise(ids)
    evaluated = categories.select("category_id", label=label).filter(
        is_known(categories["category_id"], self._source.category_ids)
    )
    return evaluated.clear() if self._pipeline.outline.is_pooled else evaluated


def numbers_of_categories(self: Evaluation) -> dict[str, np.ndarray]:
    """Return the headline numbers of each category by name, in the order of their ids."""
    each = np.eye(labelled_categories(self).height, dtype=bool)
    lines = {line.of_whole for line in headlines(self.protocol)}
    numbers = means_of_table(self._headline_metrics, self.protocol, {str(k): flags for k, flags in enumerate(each)})
    return {name: values[1:] for name, values in numbers.items() if name in lines}
