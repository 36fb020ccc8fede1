"""The headline numbers of a protocol: the lines of its summary, and how each is computed."""

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
    """A part of the images or categories with its own line in the summary.

    `table` is "images" or "categories". Its `column` equals a value, or one of several, or lies in (above, up_to].
    """

    name: str
    table: str
    column: str
    equals: str | tuple[str, ...] | None = None
    above: float = float("-inf")
    up_to: float = float("inf")

    @property
    def values(self) -> tuple[str, ...]:
        """The values that the column equals; none if the column is numeric."""
        return () if self.equals is None else (self.equals,) if isinstance(self.equals, str) else self.equals

    @property
    def words(self) -> str:
        """Describe the part in plain words, for `print(protocol)`.

        >>> Part("_dense", "images", "crowdIndex", above=0.8).words
        '_dense: images with crowdIndex above 0.8'
        """
        low = "" if self.above == float("-inf") else f" above {self.above:g}"
        high = "" if self.up_to == float("inf") else f" up to {self.up_to:g}"
        return f"{self.name}: {self.table} with {self.column} {', '.join(self.values) or (low + high).strip()}"


@dataclass(frozen=True)
class Composition:
    """A headline number as a function of other means.

    Attributes
    ----------
    terms
        the arguments: names of headline numbers of the protocol, or otherwise columns of the metrics in the same cells
    function
        computes the number from the terms, in their order; terms and result are arrays or expressions
    formula
        the function in words; empty if the definition has the formula
    """

    terms: tuple[str, ...]
    function: Callable[..., Any]
    formula: str = ""


@dataclass(frozen=True)
class HeadlineKind:
    """A kind of headline number.

    Attributes
    ----------
    name
        the beginning of its line
    column
        the column of the metrics that it averages, or its own name if it is computed from others
    words
        23 characters that the console prints in front of its cells; empty for the name
    less_is_better
        whether it is an error or a miss rate
    is_main
        whether protocols that have it rank models by it, instead of the AP that it contains
    composition
        the function of other means that computes it; None for the mean of `column`
    needs
        the requirement on the protocol, in words, if it is not checked elsewhere
    of_class
        the name for the number of one category, if not `name`
    doubted_as
        the name in warnings of implausible numbers at one threshold; empty if they ignore it
    is_by_definition
        whether the protocol's definition describes how it is computed
    is_oriented
        whether it weights true positives by their orientation
    table
        the table of an evaluation whose `column` it averages, if not the metrics; slices and draws do not have it
    one_is_enough
        whether small tables show only its first line, for all objects and the largest number of detections
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
    """Return the kinds of numbers that the protocol may have: `KINDS`, and the kinds and `lines` of its metrics."""
    kinds = KINDS | {kind.name: kind for metric in protocol.all_metrics for kind in metric.headline_kinds}
    own = [line for metric in protocol.all_metrics for line in metric.lines.items()]
    return kinds | {name: replace(kinds.get(name, HeadlineKind(name, column)), column=column) for name, column in own}


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"({'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})(\d\d)?(_[^{{]+)?(\{{\w+\}})?")


def read_line(line: str, protocol: Protocol) -> tuple[HeadlineKind, str, str, str] | None:
    """Split a line into kind, threshold in percent, part and braces; None if it is not a valid line.

    >>> from apframe.protocols.coco import COCO
    >>> read_line("AP50{area}", COCO)[1:], read_line("mAP", COCO)
    (('50', '', '{area}'), None)
    """
    kinds = kinds_of(protocol)
    match = _pattern(tuple(kinds)).fullmatch(line)
    return None if match is None else (kinds[match[1]], match[2] or "", match[3] or "", match[4] or "")


def refuse_lines(protocol: Protocol) -> None:
    """Raise an error if a line is invalid, or a number that it requires is missing.

    Raises
    ------
    ParameterError
        the error names the line

    >>> from apframe.protocols.coco import COCO
    >>> refuse_lines(COCO)
    """
    braces = ["", "{area}", "{limit}", "{part}", *(f"{{{each.name}}}" for each in protocol.levels)]
    columns = {*protocol.lines, *protocol.further_columns}
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
        line_of_all = line.replace(part or "{part}", "", 1)
        if line_of_all not in protocol.lines:
            raise ParameterError(f"{line!r} needs {line_of_all!r} beside it", option="headlines")
        if part and part not in [each.name for each in protocol.parts]:
            raise ParameterError(f"{line!r}: {protocol.name} has no part {part!r}", option="headlines")
        if kind.needs and not columns.issuperset(kind.composition.terms if kind.composition else [kind.column]):
            raise ParameterError(f"{kind.name} needs {kind.needs}", option="headlines")


@dataclass(frozen=True)
class Headline:
    """One line of the summary: the mean of a column over categories, and over thresholds unless it names one.

    `part` is the name of one of the protocol's parts of the images or categories; None for all of them.
    """

    metric: str
    kind: HeadlineKind
    iou_threshold: float | None
    area_range: str
    max_detections: int | None
    part: str | None = None

    @property
    def column(self) -> str:
        """The column of the metrics that it averages."""
        return self.kind.column

    @property
    def is_of_others(self) -> bool:
        """True if the number is computed from other means, see `terms_of`; otherwise it is a mean over the metrics."""
        return self.kind.composition is not None

    @property
    def of_whole(self) -> str:
        """The name of the same number for all images and categories."""
        return self.metric if self.part is None else self.metric.replace(self.part, "", 1)

    def thresholds_of(self, protocol: Protocol) -> str:
        """Return the threshold in words, or the smallest and largest that the number averages over: 0.50:0.95."""
        values = next((part.values for part in protocol.parts if part.name == self.part), ())
        named = dict(protocol.category_thresholds)
        own = [named[name] for name in values if name in named] or [*named.values()] or protocol.iou_thresholds
        sizes = sorted(map(abs, own if self.iou_threshold is None else [self.iou_threshold]))
        return ":".join(dict.fromkeys(f"{size:.2f}" for size in (sizes[0], sizes[-1])))

    def part_of(self, protocol: Protocol) -> str:
        """Return the part as column=value; empty for a number of all images and categories."""
        columns = {part.name: part.column for part in protocol.parts}
        return "" if self.part is None else f"{columns[self.part]}={self.part.lstrip('_')}"

    def is_evaluated(self, protocol: Protocol) -> bool:
        """True if its threshold, and that of the errors it is computed from, is one of the protocol's; otherwise it is null."""
        if self.is_of_others:
            return all(term.is_evaluated(protocol) for term in terms_of(self, protocol))
        threshold = (
            protocol.errors.threshold if protocol.errors and self.column in protocol.errors.columns else self.iou_threshold
        )
        return threshold is None or protocol.threshold_number(threshold) is not None


def headlines(protocol: Protocol, *, with_parts: bool = False) -> list[Headline]:
    """Return the lines of the summary in the order of the protocol; `with_parts` includes parts of the images or categories.

    All lines use the largest number of detections, except for {limit}. The area ranges small, medium, large give APs, APm, APl;
    others give AP_{name}. If the limit of a {limit} is all detections, the line has no suffix.

    >>> from apframe.protocols.coco import COCO
    >>> " ".join(line.metric for line in headlines(COCO))
    'AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl'
    >>> " ".join(line.metric for line in headlines(COCO.variant("keypoints")))
    'AP AP50 AP75 APm APl AR AR50 AR75 ARm ARl'
    """
    return [line for line in protocol.all_headlines if with_parts or line.part is None]


def main_headline(protocol: Protocol) -> Headline:
    """Return the main line: the number that models are ranked by, for all images and categories.

    If the protocol has a number whose kind is main (CDS, APH), it is that number; otherwise the first headline that is
    evaluated. If the protocol has levels of difficulty, it is the number of the level that it ranks by.

    >>> from apframe.protocols.coco import COCO
    >>> main_headline(COCO).metric
    'AP'
    """
    lines = [line for line in headlines(protocol) if line.is_evaluated(protocol)]
    of_level = [line for line in lines if line.area_range == protocol.headline_range or not protocol.levels] or lines
    return next((line for line in of_level if line.kind.is_main), of_level[0])


def lines_of(template: str, protocol: Protocol) -> list[Headline]:
    """Return the lines of the summary that a template such as "AR{limit}" stands for.

    >>> from apframe.protocols.coco import COCO
    >>> [line.metric for line in lines_of("AR{limit}", COCO)]
    ['AR1', 'AR10', 'AR100']
    """
    match = read_line(template, protocol)
    assert match is not None  # protocols reject other lines
    kind, percent, part, each_of = match
    threshold = int(percent) / 100 if percent else None
    if protocol.errors is not None and kind.column in protocol.errors.kinds:
        threshold = protocol.errors.threshold
    if kind.table:
        threshold = protocol.iou_thresholds[0]
    headline_range, max_detections, own = protocol.headline_range, protocol.max_detections[-1], part or None
    cells: list[tuple[str, str, int | None, str | None]] = [("", headline_range, max_detections, own)]
    if each_of == "{area}":
        areas = [area for area in protocol.range_names if area != headline_range or protocol.levels]
        short = {} if protocol.levels else {"small": "s", "medium": "m", "large": "l"}
        cells = [(short.get(area, f"_{area}"), area, max_detections, own) for area in areas]
    elif each_of == "{limit}":
        cells = [(f"{limit or ''}", headline_range, limit, own) for limit in protocol.max_detections]
    elif each_of == "{part}":
        cells = [(each.name, headline_range, max_detections, each.name) for each in protocol.parts]
    elif each_of:  # the name of a level of difficulty
        cells = [(f"_{each_of[1:-1]}", each_of[1:-1], max_detections, own)]
    return [Headline(kind.name + percent + part + end, kind, threshold, area, limit, name) for end, area, limit, name in cells]


def support_lines(protocol: Protocol) -> tuple[Headline, Headline, Headline]:
    """Return the numbers of annotations and detections at the lowest threshold, and the number that says if a list counts.

    All three are for the headline's area range and the largest number of detections.
    """
    headline_range, max_detections = protocol.headline_range, protocol.max_detections[-1]
    names = ("n_positives", "n_detections")
    counts = [
        Headline(name, HeadlineKind(name, name), protocol.iou_thresholds[0], headline_range, max_detections) for name in names
    ]
    main = protocol.metrics[0].columns[0]
    return counts[0], counts[1], Headline("main", HeadlineKind("main", main), None, headline_range, max_detections)


def is_of_whole(protocol: Protocol) -> pl.Expr:
    """Return a condition for rows of the metrics table with the headline's area range and the largest number of detections."""
    return (pl.col("area_range") == protocol.headline_range) & pl.col("max_detections").eq_missing(protocol.max_detections[-1])


def lines_of_ranges(protocol: Protocol) -> list[Headline]:
    """Return the headline numbers of area ranges or levels of difficulty other than the headline's, for all images.

    >>> from apframe.protocols.coco import COCO
    >>> [line.metric for line in lines_of_ranges(COCO)]
    ['APs', 'APm', 'APl', 'ARs', 'ARm', 'ARl']
    """
    return [line for line in headlines(protocol) if line.area_range != protocol.headline_range and line.part is None]


def size_ranges(protocol: Protocol) -> list[AreaRange]:
    """Return the area ranges from small to large without the headline's, if they are adjacent; otherwise none.

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
    """Return True if a headline number with this name is an error or a miss rate.

    >>> less_is_better("ATE"), less_is_better("LAMR_small"), less_is_better("AP")
    (True, True, False)
    """
    return any(metric.startswith(kind.name) for kind in KINDS.values() if kind.less_is_better)


def terms_of(line: Headline, protocol: Protocol) -> list[Headline]:
    """Return the means that a number is computed from, such as five errors and AP, or two sums; none if it is a mean itself.

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
    """Return the lines, followed by the terms that some are computed from, each once.

    >>> from apframe.protocols.coco import COCO
    >>> with_terms(headlines(COCO), COCO) == headlines(COCO)
    True
    """
    return list(dict.fromkeys([*lines, *(term for line in lines for term in terms_of(line, protocol))]))


def composed(line: Headline, means: Mapping[str, Any], protocol: Protocol) -> Any:
    """Return a number computed from others, which are arrays or expressions by the names of `terms_of`; or its own mean."""
    if line.kind.composition is None:
        return means[line.metric]
    return line.kind.composition.function(*(means[term.metric] for term in terms_of(line, protocol)))
