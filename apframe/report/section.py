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
    """A table with heads that sort it. Its numbers are those of the frame; nulls are shown as an en dash.

    Attributes
    ----------
    frame
        the rows, in the order in which they are shown at first; rows beyond `most` are cut, and a line says so
    caption
        what it is about, for those who cannot see it too
    heads
        what columns are called, where that is not their name
    signed
        columns of differences, which have a plus sign too
    drawn
        columns of markup, such as small charts, by name: one for each row. Those that the frame lacks follow its columns
    texts
        what is shown in place of the numbers of columns, by name, such as "< 0.001"
    most
        how many rows are shown
    links
        the rows behind each number of columns, by name
    folded
        columns that are shown on request
    series
        the texts of each number at all positions of the page's slider, by the name of the column, see `operating_point.series`
    row_data
        what the page's script filters rows by, for each row: an attribute of the row, `data-has`
    n_means
        how many rows in front are about all others together: sorting leaves them there
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
    """A drawing in SVG with its caption, which says in words what can be seen.

    One that `scrolls` keeps its size on narrow screens; others shrink.
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
    """Something to do next: what, the rows or the section that it is about, and a number with its interval as the reason."""

    action: str
    mark: Mark | str
    reason: str

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        return f"{self.action}: {self.reason}"


@dataclass(frozen=True)
class Steps:
    """A list of what to do next."""

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
        which detections it is about, such as "all scores"
    sentences
        the answer in words
    blocks
        tables, charts and other pieces, in the order of the page
    notes
        rules and limits, such as what was cut
    """

    key: str
    heading: str
    sentences: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    notes: Sequence[str] = ()
    scope: str = ""


def without_numbers(key: str, heading: str, error: ApframeError) -> Section:
    """Return the section of a question that an evaluation has no answer to; it says why, and what to do about it.

    >>> error = ApframeError("the categories are pooled", "evaluate each of them", option="protocol")
    >>> section = without_numbers("confusion", "Confusion", error)
    >>> section.sentences, section.notes
    (('The categories are pooled.',), ('Evaluate each of them.',))
    """
    reason = error.problem if error.option == "protocol" else error.sentence  # readers know of the protocol already
    problem, *remedy = (f"{text[0].upper()}{text[1:]}." for text in (reason, error.remedy) if text)
    return Section(key, heading, (problem,), notes=tuple(remedy))
