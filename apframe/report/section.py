"""The parts of a report: sections, and the tables, charts and other pieces in them. All are frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from apframe.exceptions import ApframeError
from apframe.report.marks import Mark
from apframe.show.elements import Markup

MOST_ROWS = 200
NEXT = "What to do next"


@dataclass(frozen=True, eq=False)
class Table:
    """A table with heads that sort it. Its numbers come from the frame; nulls are shown as an en dash.

    Attributes
    ----------
    frame
        the rows, in their initial order; rows beyond `most` are cut, and a line says so
    caption
        the subject of the table, also for screen readers
    heads
        the headings of columns that differ from their names
    signed
        columns of differences, which are shown with a plus sign
    drawn
        columns of markup, such as small charts, by name, with an item for each row. Columns that the frame lacks come last
    texts
        texts in place of the numbers of columns, by name, such as "< 0.001"
    most
        the maximum number of visible rows
    links
        the rows behind each number of columns, by name
    folded
        columns that are shown on request
    series
        the texts of each number at all positions of the page's slider, by the name of the column, see `operating_point.series`
    row_data
        for each row the value of its attribute `data-has`, by which the page's script filters rows
    n_means
        the number of leading rows about all others together, which sorting does not move
    """

    frame: pl.DataFrame
    caption: str
    heads: Mapping[str, str] = field(default_factory=dict)
    signed: Sequence[str] = ()
    drawn: Mapping[str, Sequence[Markup]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    most: int = MOST_ROWS
    links: Mapping[str, Sequence[Mark | None]] = field(default_factory=dict)
    folded: Sequence[str] = ()
    series: Mapping[str, Sequence[str]] = field(default_factory=dict)
    n_means: int = 0
    row_data: Sequence[str] = ()


@dataclass(frozen=True)
class Chart:
    """A drawing in SVG with its caption, which describes it in words.

    With `scrolls` it keeps its size on narrow screens; otherwise it shrinks.
    """

    svg: Markup
    caption: str
    scrolls: bool = False


@dataclass(frozen=True)
class Fragment:
    """Any other markup."""

    markup: Markup


@dataclass(frozen=True)
class Details:
    """Blocks that are shown on a click on the summary, and on paper."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class NextStep:
    """Advice: an action, its rows or its section, and a number with its interval as the reason."""

    action: str
    mark: Mark | str
    reason: str

    @property
    def words(self) -> str:
        """Return the step as a sentence."""
        return f"{self.action}: {self.reason}"


@dataclass(frozen=True)
class Steps:
    """A list of next steps."""

    steps: Sequence[NextStep]


Block: TypeAlias = "Table | Chart | Fragment | Details | Steps"


@dataclass(frozen=True)
class Section:
    """One question and its answer.

    Attributes
    ----------
    key
        its name in links to it
    heading
        the question
    scope
        the detections it is about, such as "all scores"
    sentences
        the answer in words
    blocks
        tables, charts and other pieces, in the order of the page
    notes
        rules and limits, such as cut tables
    """

    key: str
    heading: str
    sentences: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    notes: Sequence[str] = ()
    scope: str = ""


def without_numbers(key: str, heading: str, error: ApframeError) -> Section:
    """Return the section of a question that an evaluation cannot answer, with the reason and a remedy.

    >>> error = ApframeError("the categories are pooled", "evaluate each of them", option="protocol")
    >>> section = without_numbers("confusion", "Confusion", error)
    >>> section.sentences, section.notes
    (('The categories are pooled.',), ('Evaluate each of them.',))
    """
    reason = error.problem if error.option == "protocol" else error.sentence  # readers know the protocol already
    problem, *remedy = (f"{text[0].upper()}{text[1:]}." for text in (reason, error.remedy) if text)
    return Section(key, heading, (problem,), notes=tuple(remedy))
