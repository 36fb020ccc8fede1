"""What a notebook shows of an evaluation."""

from __future__ import annotations

from html import escape

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.protocols.published import departures
from apframe.protocols.summary import headlines


def evaluation_html(summary: pl.DataFrame, protocol: Protocol, dataset: str, n_detections: int) -> str:
    """The headline numbers as an HTML table, what each is a mean of beside it; a dash where nothing was evaluated."""
    values = dict(summary.rows())
    rows = []
    for line in headlines(protocol, with_parts=True):
        value = values[line.metric]
        cells = [
            line.metric,
            "–" if value is None else f"{value:.3f}",
            "all" if line.iou_threshold is None else f"{line.iou_threshold:.2f}",
            line.area_range,
            "all" if line.max_detections is None else str(line.max_detections),
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    changed = departures(protocol)
    departs = f" (not as published: other {', '.join(changed)})" if changed else ""
    head = "".join(f"<th>{name}</th>" for name in ("metric", "value", "IoU", "area", "max. detections"))
    return (
        f"<p>{escape(protocol.name + departs)}: {n_detections:,} detections against {escape(dataset)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
