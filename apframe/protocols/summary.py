"""The headline numbers: means over the evaluated cells of the metrics table."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from apframe.protocols.protocol import Protocol

_SHORT = {"small": "s", "medium": "m", "large": "l"}


@dataclass(frozen=True)
class Headline:
    """One line of the summary: the mean of `column` over categories, and over thresholds when it names none."""

    metric: str
    column: str
    iou_threshold: float | None
    area_range: str
    max_detections: int


def headlines(protocol: Protocol) -> list[Headline]:
    """The lines of the summary, in the order of pycocotools.

    AP, AP50, AP75 and one AP for each further area range, all with the largest number of detections; AR for each number of
    detections, and for each further area range. The ranges small, medium, large give APs, APm, APl; others AP_{name}.

    >>> from apframe.protocols.coco import COCO
    >>> " ".join(line.metric for line in headlines(COCO))
    'AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl'
    """
    whole, parts = protocol.whole, [name for name, *_ in protocol.area_ranges if name != protocol.whole]
    suffixes = {name: _SHORT.get(name, f"_{name}") for name in parts}
    most = protocol.max_detections[-1]
    return [
        Headline("AP", "ap", None, whole, most),
        Headline("AP50", "ap", 0.5, whole, most),
        Headline("AP75", "ap", 0.75, whole, most),
        *(Headline(f"AP{suffixes[name]}", "ap", None, name, most) for name in parts),
        *(Headline(f"AR{limit}", "recall", None, whole, limit) for limit in protocol.max_detections),
        *(Headline(f"AR{suffixes[name]}", "recall", None, name, most) for name in parts),
    ]


def summarize(metrics: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """`metric` and `value`, one row for each headline; null where nothing was evaluated.

    `metrics` has a row per category, area range, threshold and max_detections, with null `ap` and `recall` where a
    category has no annotation that counts; these are left out of every mean.
    """
    lines = headlines(protocol)
    values = metrics.select(
        pl.col(line.column)
        .filter(
            pl.col("area_range") == line.area_range,
            pl.col("max_detections") == line.max_detections,
            pl.lit(True) if line.iou_threshold is None else (pl.col("iou_threshold") - line.iou_threshold).abs() < 1e-9,
        )
        .mean()
        .alias(line.metric)
        for line in lines
    )
    return pl.DataFrame(
        {"metric": [line.metric for line in lines], "value": values.row(0)}, schema_overrides={"value": pl.Float64}
    )
