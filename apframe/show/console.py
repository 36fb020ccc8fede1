"""The summary as the lines that users of pycocotools know."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from apframe.protocols.headlines import headlines
from apframe.protocols.protocol import Protocol
from apframe.protocols.published import departures


def summary_lines(
    summary: pl.DataFrame, protocol: Protocol, notes: Sequence[str] = (), intervals: pl.DataFrame | None = None
) -> list[str]:
    """Return a line for each headline number, in pycocotools' words; -1.000 where nothing could be evaluated.

    Another line says which parameters differ from the published ones, and which numbers have a threshold that was not
    evaluated; then there is a line for each note on the data. `intervals`, from `Evaluation.intervals`, stand beside the
    numbers, and further lines say why some have none.

    >>> from apframe.protocols.coco import COCO
    >>> names = [line.metric for line in headlines(COCO)]
    >>> summary_lines(pl.DataFrame({"metric": names, "value": [0.5046] * 12}), COCO)[0]
    ' Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.505'
    """
    values, ends = dict(summary.rows()), dict[str, str]()
    if intervals is not None:
        from apframe.show.comparison_text import interval_ends, interval_notes  # not for summaries alone

        ends, notes = interval_ends(intervals), [*interval_notes(intervals), *notes]
    headings = headlines(protocol, with_parts=True)
    limits = ["all" if line.max_detections is None else str(line.max_detections) for line in headings]
    wide, deep = max(6, *(len(line.area_range) for line in headings)), max(3, *map(len, limits))
    lines = []
    for line, limit in zip(headings, limits, strict=True):
        value = values[line.metric]
        part = "" if line.part is None else f" | {line.part_of(protocol)}"
        at = f"{protocol.similarity.measure}={line.thresholds_of(protocol):<9}"
        where = f"{at} | area={line.area_range:>{wide}} | maxDets={limit:>{deep}}{part}"
        if not protocol.has_scores:  # so that nothing limits detections
            where = " | ".join(
                filter(None, [at.strip() if protocol.iou_thresholds[0] > 0 else "pixels of all images", part[3:]])
            )
        number = f"{-1 if value is None else value:0.3f}{ends.get(line.metric, '')}"
        lines.append(f" {line.kind.words or line.kind.name:<23} @[ {where} ] = {number}")
    return lines + closing_lines(protocol, notes)


def closing_lines(protocol: Protocol, notes: Sequence[str]) -> list[str]:
    """Return the lines below numbers: departures from the published protocol, numbers not evaluated, and notes."""
    missing = [line.metric for line in headlines(protocol, with_parts=True) if not line.is_evaluated(protocol)]
    changed = departures(protocol)
    departs = [f"not {protocol.name} as published: other {', '.join(changed)}"] if changed else []
    departs += [f"not evaluated: {', '.join(missing)}"] if missing else []
    return [*([f" {'; '.join(departs)}"] if departs else []), *(f" {note}" for note in notes)]


def lines_within(width: int | None, lines: Sequence[str]) -> list[str]:
    """Return the lines of a summary, with AP and AR abbreviated if they exceed the width; None allows any width.

    >>> lines_within(40, [" Average Recall     (AR) @[ IoU=0.50 ] = 0.505"])
    [' AR @[ IoU=0.50 ] = 0.505']
    """
    if width is None or max(map(len, lines)) <= width:
        return [*lines]
    return [re.sub(r"^ [A-Zn][^(]*\(([A-Za-z@]{2,9})\)", r" \1", line) for line in lines]
