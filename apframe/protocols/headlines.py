"""What the headline numbers of a protocol are: lines of its summary, and how each is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from operator import truediv
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.protocols.ranges import AreaRange

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class Part:
    """A part of the images or categories that the summary has a line of.

    `table` is "images" or "categories". There `column` equals a value, or one of several, or lies in (above, up_to].
    """

    name: str
    table: str
    column: str
    equals: str | tuple[str, ...] | None = None
    above: float = float("-inf")
    up_to: float = float("inf")

    @property
    def values(self) -> tuple[str, ...]:
        """The values that the column equals; none where it is numbers."""
        return () if self.equals is None else (self.equals,) if isinstance(self.equals, str) else self.equals

    @property
    def words(self) -> str:
        """The part in plain words, for `print(protocol)`.

        >>> Part("_dense", "images", "crowdIndex", above=0.8).words
        '_dense: images with crowdIndex above 0.8'
        """
        low = "" if self.above == float("-inf") else f" above {self.above:g}"
        high = "" if self.up_to == float("inf") else f" up to {self.up_to:g}"
        return f"{self.name}: {self.table} with {self.column} {', '.join(self.values) or (low + high).strip()}"


@dataclass(frozen=True)
class Composition:
    """How a headline number is made of other means.

    Attributes
    ----------
    terms
        what it is made of: names of headline numbers of the protocol, or else columns of the metrics in the same cells
    function
        gives the number from the terms, in their order; they are arrays or expressions, and so is the result
    formula
        the function as people read it; empty where the definition says it
    """

    terms: tuple[str, ...]
    function: Callable[..., Any]
    formula: str = ""


@dataclass(frozen=True)
class HeadlineKind:
    """What a headline number is.

    Attributes
    ----------
    name
        what its line begins with
    column
        the column of the metrics that it is the mean of, or a name of its own if it is made of others
    words
        what the console prints in front of its cells, 23 characters; empty: the name
    less_is_better
        whether it is an error or a miss rate
    is_main
        whether models are ranked by it where the protocol has it, and not by the AP that is in it
    composition
        how it is made of other means; None: it is the mean of `column`
    needs
        what the protocol needs for it, if it is not checked elsewhere
    of_class
        what the number of one category is called, if not by `name`
    doubted_as
        what warnings of implausible numbers call it at one threshold; empty: they do not look at it
    is_by_definition
        whether the protocol's definition says how it is computed
    is_oriented
        whether the orientation of true positives weighs in it
    table
        the table of an evaluation whose `column` it is the mean of, if that is not the metrics; slices and draws do not have it
    one_is_enough
        whether tables that have little room show only its first line of all objects and the largest number of detections
    """

    name: str
    column: str
    words: str = ""
    less_is_better: bool = False
    is_main: bool = False
    composition: Composition | None = None
    needs: str = ""
    of_class: str = ""
    doubted_as: str = ""
    is_by_definition: bool = False
    is_oriented: bool = False
    one_is_enough: bool = False
    table: str = ""


_KINDS = (
    HeadlineKind("AP", "ap", "Average Precision  (AP)", doubted_as="AP", is_by_definition=True),
    HeadlineKind("AR", "recall", "Average Recall     (AR)", doubted_as="recall", one_is_enough=True),
    HeadlineKind("AOS", "oriented_ap", "Avg. Orientation  (AOS)", is_oriented=True),
    HeadlineKind("APH", "oriented_ap", "AP with Heading   (APH)", is_oriented=True, is_main=True),
    HeadlineKind("ATE", "ate", "Avg. Translation  (ATE)", less_is_better=True),
    HeadlineKind("ASE", "ase", "Avg. Scale Error  (ASE)", less_is_better=True),
    HeadlineKind("AOE", "aoe", "Avg. Orientation  (AOE)", less_is_better=True),
    HeadlineKind("AVE", "ave", "Avg. Velocity     (AVE)", less_is_better=True),
    HeadlineKind("AAE", "aae", "Avg. Attribute    (AAE)", less_is_better=True),
    HeadlineKind("CDS", "cds", "Composite Score   (CDS)", is_main=True),
    HeadlineKind("LAMR", "lamr", "Avg. Miss Rate   (LAMR)", less_is_better=True, needs="a metric of it, such as MissRates()"),
    HeadlineKind("CPM", "cpm", "Mean Sensitivity  (CPM)", needs="a metric of it, such as Froc()"),
    HeadlineKind("JI", "jaccard_index", "Jaccard Index      (JI)", table="jaccard_index"),
    HeadlineKind("PQ", "pq", "Panoptic Quality   (PQ)"),
    HeadlineKind("SQ", "sq", "Segmentation Qual. (SQ)"),
    HeadlineKind("RQ", "rq", "Recognition Qual.  (RQ)"),
    HeadlineKind("mIoU", "iou", "Mean IoU         (mIoU)", of_class="IoU"),
    HeadlineKind("fwIoU", "fwiou", "Weighted IoU    (fwIoU)", composition=Composition(("weighted_iou", "pixels"), truediv)),
    HeadlineKind("mACC", "accuracy", "Mean Accuracy    (mACC)", of_class="ACC"),
    HeadlineKind("pACC", "pacc", "Pixel Accuracy   (pACC)", composition=Composition(("correct_pixels", "pixels"), truediv)),
    HeadlineKind("R@", "mean_recall", "Recall by Image   (R@k)"),
    HeadlineKind("mR@", "mean_recall", "Mean Recall      (mR@k)", of_class="R@"),
    HeadlineKind("Success@", "success", "Success     (Success@k)"),
)
KINDS = {kind.name: kind for kind in _KINDS}
"""The kinds of headline numbers by their names."""


def kinds_of(protocol: Protocol) -> dict[str, HeadlineKind]:
    """The kinds of numbers that the protocol may have: `KINDS`, those of its metrics, and the columns in their `lines`."""
    kinds = KINDS | {kind.name: kind for metric in protocol.all_metrics for kind in metric.headline_kinds}
    own = [line for metric in protocol.all_metrics for line in metric.lines.items()]
    return kinds | {name: replace(kinds.get(name, HeadlineKind(name, column)), column=column) for name, column in own}


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"({'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})(\d\d)?(_[^{{]+)?(\{{\w+\}})?")


def read_line(line: str, protocol: Protocol) -> tuple[HeadlineKind, str, str, str] | None:
    """The kind, the threshold in percent, the part and what is in braces of a line; None if it is no such line.

    >>> from apframe.protocols.coco import COCO
    >>> read_line("AP50{area}", COCO)[1:], read_line("mAP", COCO)
    (('50', '', '{area}'), None)
    """
    kinds = kinds_of(protocol)
    read = _pattern(tuple(kinds)).fullmatch(line)
    return None if read is None else (kinds[read[1]], read[2] or "", read[3] or "", read[4] or "")


def refuse_lines(protocol: Protocol) -> None:
    """An error where a line is none, or lacks something that it is made of.

    Raises
    ------
    ParameterError
        it names the line

    >>> from apframe.protocols.coco import COCO
    >>> refuse_lines(COCO)
    """
    braces = ["", "{area}", "{limit}", "{part}", *(f"{{{each.name}}}" for each in protocol.levels)]
    given = {*protocol.lines, *protocol.further_columns}
    for line in protocol.lines:
        read = read_line(line, protocol)
        if read is None or read[3] not in braces:
            *names, last = ("AP", *(name for metric in protocol.metrics for name in metric.lines), "AR")
            choice = f"{', '.join(names)} or {last}"
            problem = f"{line!r} is not {choice}, optionally with a threshold, {{area}}, {{limit}} or {{part}}"
            raise ParameterError(problem, option="headlines")
        kind, _, part, _ = read
        if kind.table and (line != kind.name or line == protocol.lines[0]):
            raise ParameterError(f"{line!r} must be {kind.name!r}, below a number that the metrics have", option="headlines")
        whole = line.replace(part or "{part}", "", 1)
        if whole not in protocol.lines:
            raise ParameterError(f"{line!r} needs {whole!r} beside it", option="headlines")
        if part and part not in [each.name for each in protocol.parts]:
            raise ParameterError(f"{line!r}: {protocol.name} has no part {part!r}", option="headlines")
        if kind.needs and not given.issuperset(kind.composition.terms if kind.composition else [kind.column]):
            raise ParameterError(f"{kind.name} needs {kind.needs}", option="headlines")


@dataclass(frozen=True)
class Headline:
    """One line of the summary: the mean of a column over categories, and over thresholds when it names none.

    `part` is the name of one of the protocol's parts of the images or categories; None: all of them.
    """

    metric: str
    kind: HeadlineKind
    iou_threshold: float | None
    area_range: str
    max_detections: int | None
    part: str | None = None

    @property
    def column(self) -> str:
        """The column of the metrics that it is the mean of."""
        return self.kind.column

    @property
    def is_of_others(self) -> bool:
        """Whether it is made of other means, see `terms_of`; otherwise it is a mean over the metrics."""
        return self.kind.composition is not None

    @property
    def of_whole(self) -> str:
        """The name of the same number of all images and categories."""
        return self.metric if self.part is None else self.metric.replace(self.part, "", 1)

    def thresholds_of(self, protocol: Protocol) -> str:
        """The threshold as people read it, or the smallest and largest that the number is a mean over: 0.50:0.95."""
        values = next((part.values for part in protocol.parts if part.name == self.part), ())
        named = dict(protocol.category_thresholds)
        own = [named[name] for name in values if name in named] or [*named.values()] or protocol.iou_thresholds
        sizes = sorted(map(abs, own if self.iou_threshold is None else [self.iou_threshold]))
        return ":".join(dict.fromkeys(f"{size:.2f}" for size in (sizes[0], sizes[-1])))

    def part_of(self, protocol: Protocol) -> str:
        """The part as column=value; nothing where the number is of all images and categories."""
        columns = {part.name: part.column for part in protocol.parts}
        return "" if self.part is None else f"{columns[self.part]}={self.part.lstrip('_')}"

    def is_evaluated(self, protocol: Protocol) -> bool:
        """Whether its threshold is one of the protocol's, as is that of the errors it is made of; else it is null."""
        if self.is_of_others:
            return all(term.is_evaluated(protocol) for term in terms_of(self, protocol))
        wanted = protocol.errors.threshold if protocol.errors and self.column in protocol.errors.columns else self.iou_threshold
        return wanted is None or protocol.threshold_number(wanted) is not None


def headlines(protocol: Protocol, *, with_parts: bool = False) -> list[Headline]:
    """The lines of the summary, in the order of the protocol; those of parts of the images or categories if asked for.

    All are with the largest number of detections but for {limit}. The area ranges small, medium, large give APs, APm, APl;
    others AP_{name}. A {limit} of all detections has no suffix.

    >>> from apframe.protocols.coco import COCO
    >>> " ".join(line.metric for line in headlines(COCO))
    'AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl'
    >>> " ".join(line.metric for line in headlines(COCO.variant("keypoints")))
    'AP AP50 AP75 APm APl AR AR50 AR75 ARm ARl'
    """
    return [line for line in protocol.all_headlines if with_parts or line.part is None]


def main_headline(protocol: Protocol) -> Headline:
    """The line that stands for all: the one that models are ranked by, of all images and categories.

    If the protocol has a number whose kind is main (CDS, APH), it is that; otherwise the first headline that is
    evaluated. Where the protocol has levels of difficulty, it is of the one that it ranks by.

    >>> from apframe.protocols.coco import COCO
    >>> main_headline(COCO).metric
    'AP'
    """
    lines = [line for line in headlines(protocol) if line.is_evaluated(protocol)]
    of_level = [line for line in lines if line.area_range == protocol.headline_range or not protocol.levels] or lines
    return next((line for line in of_level if line.kind.is_main), of_level[0])


def lines_of(template: str, protocol: Protocol) -> list[Headline]:
    """The lines of the summary that a template such as "AR{limit}" stands for.

    >>> from apframe.protocols.coco import COCO
    >>> [line.metric for line in lines_of("AR{limit}", COCO)]
    ['AR1', 'AR10', 'AR100']
    """
    read = read_line(template, protocol)
    assert read is not None  # as protocols refuse other lines
    kind, percent, part, each_of = read
    threshold = int(percent) / 100 if percent else None
    if protocol.errors is not None and kind.column in protocol.errors.kinds:
        threshold = protocol.errors.threshold
    if kind.table:
        threshold = protocol.iou_thresholds[0]
    whole, most, own = protocol.headline_range, protocol.max_detections[-1], part or None
    cells: list[tuple[str, str, int | None, str | None]] = [("", whole, most, own)]
    if each_of == "{area}":
        areas = [area for area in protocol.range_names if area != whole or protocol.levels]
        short = {} if protocol.levels else {"small": "s", "medium": "m", "large": "l"}
        cells = [(short.get(area, f"_{area}"), area, most, own) for area in areas]
    elif each_of == "{limit}":
        cells = [(f"{limit or ''}", whole, limit, own) for limit in protocol.max_detections]
    elif each_of == "{part}":
        cells = [(each.name, whole, most, each.name) for each in protocol.parts]
    elif each_of:  # the name of a level of difficulty
        cells = [(f"_{each_of[1:-1]}", each_of[1:-1], most, own)]
    return [Headline(kind.name + percent + part + end, kind, threshold, area, limit, name) for end, area, limit, name in cells]


def support_lines(protocol: Protocol) -> tuple[Headline, Headline, Headline]:
    """What counts of each list, annotations and detections, at the lowest threshold; and what tells whether it counts, at all.

    All are of the headline's area range and the largest number of detections.
    """
    whole, most = protocol.headline_range, protocol.max_detections[-1]
    names = ("n_positives", "n_detections")
    counts = [Headline(name, HeadlineKind(name, name), protocol.iou_thresholds[0], whole, most) for name in names]
    main = protocol.metrics[0].columns[0]
    return counts[0], counts[1], Headline("main", HeadlineKind("main", main), None, whole, most)


def is_of_whole(protocol: Protocol) -> pl.Expr:
    """Flags of the rows of the metrics table that are of the headline's area range and the largest number of detections."""
    return (pl.col("area_range") == protocol.headline_range) & pl.col("max_detections").eq_missing(protocol.max_detections[-1])


def lines_of_ranges(protocol: Protocol) -> list[Headline]:
    """The headline numbers of area ranges or levels of difficulty other than that of the headline, of all images.

    >>> from apframe.protocols.coco import COCO
    >>> [line.metric for line in lines_of_ranges(COCO)]
    ['APs', 'APm', 'APl', 'ARs', 'ARm', 'ARl']
    """
    return [line for line in headlines(protocol) if line.area_range != protocol.headline_range and line.part is None]


def size_ranges(protocol: Protocol) -> list[AreaRange]:
    """The area ranges from small to large without that of the headline, if they follow on one another; otherwise none.

    >>> from apframe.protocols.coco import COCO
    >>> [each.name for each in size_ranges(COCO)]
    ['small', 'medium', 'large']
    """
    ranges = [each for each in protocol.ranges if isinstance(each, AreaRange) and each.name != protocol.headline_range]
    ranges = sorted(ranges, key=lambda each: each.low)
    if len(ranges) < 2 or any(one.high != other.low for one, other in pairwise(ranges)):
        return []
    return ranges


def less_is_better(metric: str) -> bool:
    """Whether a headline number of this name is an error or a miss rate.

    >>> less_is_better("ATE"), less_is_better("LAMR_small"), less_is_better("AP")
    (True, True, False)
    """
    return any(metric.startswith(kind.name) for kind in KINDS.values() if kind.less_is_better)


def terms_of(line: Headline, protocol: Protocol) -> list[Headline]:
    """The means over the metrics that a number is made of: five errors and AP, or two sums; none for one that is such a mean.

    >>> from apframe.protocols.coco import COCO
    >>> terms_of(headlines(COCO)[0], COCO)
    []
    """
    if line.kind.composition is None:
        return []
    lines, terms = {each.metric: each for each in headlines(protocol)}, line.kind.composition.terms
    return [
        lines.get(term) or replace(line, metric=f"{term} of {line.metric}", kind=HeadlineKind(term, term)) for term in terms
    ]


def with_terms(lines: Sequence[Headline], protocol: Protocol) -> list[Headline]:
    """The lines, and after them those that some are made of, each once.

    >>> from apframe.protocols.coco import COCO
    >>> with_terms(headlines(COCO), COCO) == headlines(COCO)
    True
    """
    return list(dict.fromkeys([*lines, *(term for line in lines for term in terms_of(line, protocol))]))


def composed(line: Headline, means: Mapping[str, Any], protocol: Protocol) -> Any:
    """A number that is made of others, which are arrays or expressions by the names of `terms_of`; or its own mean."""
    if line.kind.composition is None:
        return means[line.metric]
    return line.kind.composition.function(*(means[term.metric] for term in terms_of(line, protocol)))
