"""The summary as the lines that users of pycocotools know."""

from __future__ import annotations

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.protocols.summary import headlines


def summary_lines(summary: pl.DataFrame, protocol: Protocol) -> list[str]:
    """One line for each headline number, in pycocotools' words; -1.000 where nothing could be evaluated.

    >>> from apframe.protocols.coco import COCO
    >>> names = [line.metric for line in headlines(COCO)]
    >>> summary_lines(pl.DataFrame({"metric": names, "value": [0.5046] * 12}), COCO)[0]
    ' Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.505'
    """
    first, last = protocol.iou_thresholds[0], protocol.iou_thresholds[-1]
    span = f"{first:.2f}:{last:.2f}" if first < last else f"{first:.2f}"
    values = dict(summary.rows())
    lines = []
    for line in headlines(protocol):
        kind = " Average Precision  (AP)" if line.column == "ap" else " Average Recall     (AR)"
        iou = span if line.iou_threshold is None else f"{line.iou_threshold:.2f}"
        value = values[line.metric]
        lines.append(
            f"{kind} @[ IoU={iou:<9} | area={line.area_range:>6} | maxDets={line.max_detections:>3} ] = "
            f"{-1 if value is None else value:0.3f}"
        )
    return lines
