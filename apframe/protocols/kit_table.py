"""The table in which a benchmark's numbers are reported, as data: which of them stand in which row and column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from apframe.exceptions import ParameterError
from apframe.wording import counted


class KitColumn(NamedTuple):
    """A column of numbers.

    `metric` is the name of a headline number, such as AP50, or what it begins with if the rows have endings. The number is of
    the evaluation itself, or of the same data by the protocol's variant for another `iou_type`.
    """

    title: str
    metric: str
    iou_type: str = ""


def named(*metrics: str) -> tuple[KitColumn, ...]:
    """Columns named after their headline numbers.

    >>> named("AP", "AP50")
    (KitColumn(title='AP', metric='AP', iou_type=''), KitColumn(title='AP50', metric='AP50', iou_type=''))
    """
    return tuple(KitColumn(metric, metric) for metric in metrics)


class KitRow(NamedTuple):
    """A row: its labels, one for each of the table's `head`, and the `ending` of its metrics: `_easy` of AP_easy."""

    labels: tuple[str, ...] = ()
    ending: str = ""


class EachCategory(NamedTuple):
    """A row for each category in the order of their ids, labelled by its name, or its id without a name of its own."""


@dataclass(frozen=True)
class KitTable:
    """A table of headline numbers in the layout in which papers report them.

    Attributes
    ----------
    columns
        of numbers, from left to right
    rows
        from top to bottom; every row is printed, even if nothing was evaluated
    head
        the titles of the labels in front of the numbers
    digits
        how many decimals are shown
    factor
        what the numbers are multiplied by: 100 for percent
    frame
        makes the table of an evaluation, if it has other numbers than headline numbers; then there are no columns and rows here
    needs
        the headline numbers that `frame` reads
    iou_thresholds
        those that titles stand for: by others, a line is printed for each number instead; empty: any

    Raises
    ------
    ParameterError
        two columns have one title, or a row has more or fewer labels than there are titles for them

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
        """The variants that columns are of, besides the evaluation itself."""
        return tuple(dict.fromkeys(column.iou_type for column in self.columns if column.iou_type))


def of_classes(*columns: KitColumn, digits: int = 2, factor: float = 100) -> KitTable:
    """A table with a row for each category, and a last one with the headline numbers, most of which are their means.

    >>> of_classes(KitColumn("AP", "AP")).head
    ('class',)
    """
    return KitTable(columns, (EachCategory(), KitRow(("mean",))), head=("class",), digits=digits, factor=factor)
