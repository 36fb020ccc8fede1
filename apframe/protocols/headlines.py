"""The headline numbers: means over the evaluated cells of the metrics table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.protocols.report_lines import REPORT_LINE

_SHORT = {"small": "s", "medium": "m", "large": "l"}
ERRORS = ("ATE", "ASE", "AOE", "AVE", "AAE")
_COLUMNS = {"AP": "ap", "AR": "recall", "AOS": "oriented_ap", "APH": "oriented_ap", "CDS": "cds", "NDS": "nds", "LAMR": "lamr"}
_COLUMNS |= {name: name.lower() for name in (*ERRORS, "CPM", "PQ", "SQ", "RQ")}
_COLUMNS |= {"R@": "mean_recall", "mR@": "mean_recall", "Success@": "success"}
_COLUMNS |= {"mIoU": "iou", "mACC": "accuracy", "fwIoU": "fwiou", "pACC": "pacc"}
_RANKED = ("NDS", "CDS", "APH")  # what a protocol that has one of them is ranked by, and not by the AP that is in it
_RATIOS = {"fwiou": ("weighted_iou", "pixels"), "pacc": ("correct_pixels", "pixels")}  # of two means


@dataclass(frozen=True)
class Headline:
    """One line of the summary: the mean of `column` over categories, and over thresholds when it names none.

    `part` is the name of one of the protocol's parts of the images or categories; None: all of them.
    """

    metric: str
    column: str
    iou_threshold: float | None
    area_range: str
    max_detections: int | None
    part: str | None = None

    @property
    def kind(self) -> str:
        """What the number is: AP, AR, AOS, APH, an error, CDS, NDS, LAMR, CPM, PQ, SQ, RQ, mIoU, fwIoU, mACC, pACC, R@, mR@ or
        Success@."""
        return max((name for name in _COLUMNS if self.metric.startswith(name)), key=len)

    @property
    def is_of_others(self) -> bool:
        """Whether it is made of other means, see `terms_of`; otherwise it is a mean over the metrics."""
        return self.column == "nds" or self.column in _RATIOS

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
        """Whether its threshold is one of the protocol's, as is that of the errors in NDS and CDS; else it is null."""
        of_errors = protocol.errors.threshold if protocol.errors is not None and self.column in ("nds", "cds") else None
        wanted = self.iou_threshold if of_errors is None else of_errors
        return wanted is None or protocol.threshold_number(wanted) is not None


def headlines(protocol: Protocol, *, with_parts: bool = False) -> list[Headline]:
    """The lines of the summary, in the order of the protocol's report; those of parts of the images or categories if asked for.

    All are with the largest number of detections but for {limit}. The area ranges small, medium, large give APs, APm, APl;
    others AP_{name}. A {limit} of all detections has no suffix.

    >>> from apframe.protocols.coco import COCO
    >>> " ".join(line.metric for line in headlines(COCO))
    'AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl'
    >>> " ".join(line.metric for line in headlines(COCO.variant("keypoints")))
    'AP AP50 AP75 APm APl AR AR50 AR75 ARm ARl'
    """
    lines = [line for template in protocol.report for line in _lines(template, protocol)]
    return [line for line in lines if with_parts or line.part is None]


def main_headline(protocol: Protocol) -> Headline:
    """The line that stands for all: the one that models are ranked by, of all images and categories.

    It is NDS, CDS or APH where the protocol has one, otherwise the first line of the report that is evaluated. Where the
    protocol has levels of difficulty, it is of the one that it ranks by.

    >>> from apframe.protocols.kitti import KITTI
    >>> from apframe.protocols.nuscenes import NUSCENES
    >>> main_headline(KITTI).metric, main_headline(NUSCENES).metric
    ('AP_moderate', 'NDS')
    """
    lines = [line for line in headlines(protocol) if line.is_evaluated(protocol)]
    of_level = [line for line in lines if line.area_range == protocol.whole or not protocol.difficulties] or lines
    return next((line for line in of_level if line.kind in _RANKED), of_level[0])


def _lines(template: str, protocol: Protocol) -> list[Headline]:
    read = REPORT_LINE.fullmatch(template)
    assert read is not None  # as protocols refuse other lines
    name, percent, part, kind = read.groups(default="")
    threshold = int(percent) / 100 if percent else None
    whole, most = protocol.whole, protocol.max_detections[-1]
    metric, column = name + percent + part, _COLUMNS[name]
    if name in ERRORS and protocol.errors is not None:
        threshold = protocol.errors.threshold
    if kind == "{area}":
        areas = [area for area, *_ in protocol.area_ranges if area != whole or protocol.difficulties]
        short = {} if protocol.difficulties else _SHORT
        return [Headline(metric + short.get(area, f"_{area}"), column, threshold, area, most, part or None) for area in areas]
    if kind == "{limit}":
        return [
            Headline(f"{metric}{limit or ''}", column, threshold, whole, limit, part or None)
            for limit in protocol.max_detections
        ]
    if kind == "{part}":
        return [Headline(metric + each.name, column, threshold, whole, most, each.name) for each in protocol.parts]
    if kind:  # the name of a level of difficulty
        return [Headline(f"{metric}_{kind[1:-1]}", column, threshold, kind[1:-1], most, part or None)]
    return [Headline(metric, column, threshold, whole, most, part or None)]


def less_is_better(metric: str) -> bool:
    """Whether a headline number of this name is an error or a miss rate.

    >>> less_is_better("ATE"), less_is_better("LAMR_small"), less_is_better("AP")
    (True, True, False)
    """
    return metric[:3] in ERRORS or metric.startswith("LAMR")


def nds(means: Mapping[str, Any]) -> Any:
    """nuScenes' detection score from numbers of the summary: `(5 AP + sum of max(0, 1 - error)) / 10`.

    The numbers are arrays or expressions, and so is the result.

    Source: Caesar et al. 2020; `nd_score` of nuscenes-devkit.

    >>> import numpy as np
    >>> nds({"AP": np.array([0.5]), **{name: np.array([1.5]) for name in ERRORS[1:]}, "ATE": np.array([0.2])}).round(3)
    array([0.33])
    """
    return (5 * means["AP"] + sum((1 - means[name]).clip(0) for name in ERRORS)) / 10


def terms_of(line: Headline, protocol: Protocol) -> list[Headline]:
    """The means over the metrics that a number is made of: five errors and AP, or two sums; none for one that is such a mean.

    >>> from apframe.protocols.coco import COCO
    >>> terms_of(headlines(COCO)[0], COCO)
    []
    """
    if not line.is_of_others:
        return []
    if line.column == "nds":
        return [each for each in headlines(protocol) if each.metric in ("AP", *ERRORS)]
    return [replace(line, metric=f"{column} of {line.metric}", column=column) for column in _RATIOS[line.column]]


def with_terms(lines: Sequence[Headline], protocol: Protocol) -> list[Headline]:
    """The lines, and after them those that some are made of, each once.

    >>> from apframe.protocols.coco import COCO
    >>> with_terms(headlines(COCO), COCO) == headlines(COCO)
    True
    """
    return list(dict.fromkeys([*lines, *(term for line in lines for term in terms_of(line, protocol))]))


def composed(line: Headline, means: Mapping[str, Any], protocol: Protocol) -> Any:
    """A number that is made of others, which are arrays or expressions by the names of `terms_of`; or its own mean."""
    if line.column == "nds":
        return nds(means)
    if line.column in _RATIOS:
        above, below = (means[term.metric] for term in terms_of(line, protocol))
        return above / below
    return means[line.metric]


def summarize(metrics: pl.DataFrame, lines: Sequence[Headline], protocol: Protocol) -> pl.DataFrame:
    """`metric` and `value`, one row for each headline; null where nothing was evaluated.

    `metrics` has a row per category, area range, threshold and max_detections, with null `ap` and `recall` where a
    category has no annotation that counts; these are left out of every mean. With `means_by_images`, a category counts as often
    as its `n_images` says.

    >>> from apframe.protocols.visdrone import VISDRONE
    >>> rows = {"area_range": "all", "iou_threshold": 0.5, "max_detections": 500, "ap": [1.0, 0.0], "n_images": [3, 1]}
    >>> summarize(pl.DataFrame(rows), [line for line in headlines(VISDRONE) if line.metric == "AP50"], VISDRONE)["value"].item()
    0.75
    """
    means = {}
    for line in with_terms(lines, protocol):
        if line.is_of_others:
            continue
        value = pl.col(line.column)
        own = (
            pl.col("area_range") == line.area_range,
            pl.col("max_detections").eq_missing(line.max_detections),
            pl.lit(True) if line.iou_threshold is None else (pl.col("iou_threshold") - line.iou_threshold).abs() < 1e-9,
        )
        if protocol.means_by_images:
            times = pl.col("n_images").filter(*own, value.is_not_null())
            means[line.metric] = (value.filter(*own, value.is_not_null()) * times).sum() / times.sum()
        else:
            means[line.metric] = value.filter(*own).mean()
    values = metrics.select(composed(line, means, protocol).alias(line.metric) for line in lines)
    return pl.DataFrame(
        {"metric": [line.metric for line in lines], "value": values.row(0)}, schema_overrides={"value": pl.Float64}
    ).with_columns(pl.col("value").fill_nan(None))
