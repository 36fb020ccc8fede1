"""Tables in which a benchmark reports its numbers, as data: the position of each number by row and column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from apframe.exceptions import ParameterError
from apframe.wording import counted


class KitColumn(NamedTuple):
    """A column of numbers.

    `metric` is the name of a headline number, such as AP50, or its beginning if the rows have endings. The number is from the
    evaluation itself, or from the same data evaluated with the protocol's variant for another `iou_type`.
    """

    title: str
    metric: str
    iou_type: str = ""


def named(*metrics: str) -> tuple[KitColumn, ...]:
    """Return columns named after their headline numbers.

    >>> named("AP", "AP50")
    (KitColumn(title='AP', metric='AP', iou_type=''), KitColumn(title='AP50', metric='AP50', iou_type=''))
    """
    return tuple(KitColumn(metric, metric) for metric in metrics)


class KitRow(NamedTuple):
    """A row: its labels, one for each title in the table's `head`, and the `ending` of its metrics, as `_easy` in AP_easy."""

    labels: tuple[str, ...] = ()
    ending: str = ""


class EachCategory(NamedTuple):
    """A row for each category in the order of their ids, labelled with its name, or with its id if it has no name."""


@dataclass(frozen=True)
class KitTable:
    """A table of headline numbers in the layout in which papers report them.

    Attributes
    ----------
    columns
        the columns of numbers, from left to right
    rows
        the rows from top to bottom; every row is printed, even if nothing was evaluated
    head
        the titles of the label columns, which precede the numbers
    digits
        the number of decimals
    factor
        the factor of the numbers: 100 for percent
    frame
        computes the table from an evaluation, if it has more than headline numbers; then `columns` and `rows` are empty
    needs
        the headline numbers that `frame` reads
    iou_thresholds
        the thresholds that the titles assume: with others, one line per number is printed instead; empty for any thresholds

    Raises
    ------
    ParameterError
        two columns have the same title, or the number of a row's labels differs from the number of titles in `head`

    >>> KitTable((KitColumn("AP", "AP"), KitColumn("BEV", "AP", "bev"))).iou_types
    ('bev',)
    """

    columns: tuple[KitColumn, ...] = ()
    rows: tuple[KitRow | EachCategory, ...] = (KitRow(),)
    head: tuple[str, ...] = ()
    digits: int = 2
    factor: float = 100
    frame: Callable[[Any], pl.DataFrame] | None = None
    needs: tuple[str, ...] = ()
    iou_thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        titles = [*self.head, *(column.title for column in self.columns)]
        if repeated := [title for title in dict.fromkeys(titles) if titles.count(title) > 1]:
            raise ParameterError(f"several columns have the title {repeated[0]!r}", "give each its own", option="tables")
        for row in self.rows if self.frame is None else ():
            n_labels = len(row.labels) if isinstance(row, KitRow) else 1
            if n_labels != len(self.head):
                problem = f"{row} has {counted(n_labels, 'label')}, and head has {counted(len(self.head), 'title')}"
                raise ParameterError(problem, "give a title for each label", option="tables")

    @property
    def iou_types(self) -> tuple[str, ...]:
        """The variants that columns require, apart from the evaluation itself."""
        return tuple(dict.fromkeys(column.iou_type for column in self.columns if column.iou_type))


def of_classes(*columns: KitColumn, digits: int = 2, factor: float = 100) -> KitTable:
    """Return a table with a row for each category, and a last row for the headline numbers, most of which are means.

    >>> of_classes(KitColumn("AP", "AP")).head
    ('class',)
    """
    return KitTable(columns, (EachCategory(), KitRow(("mean",))), head=("class",), digits=digits, factor=factor)
