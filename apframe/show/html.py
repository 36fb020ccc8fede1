"""What a notebook shows of an evaluation."""

from __future__ import annotations

from html import escape

import polars as pl

from apframe.exceptions import counted
from apframe.protocols.protocol import Protocol
from apframe.protocols.published import departures
from apframe.protocols.summary import headlines


def evaluation_html(summary: pl.DataFrame, protocol: Protocol, dataset: str, n_detections: int) -> str:
    """The headline numbers as an HTML table, what each is a mean of beside it; a dash where nothing was evaluated."""
    values = dict(summary.rows())
    lines = headlines(protocol, with_parts=True)
    has_parts = any(line.part is not None for line in lines)
    rows = []
    for line in lines:
        value = values[line.metric]
        cells = [
            line.metric,
            "–" if value is None else f"{value:.3f}",
            line.thresholds_of(protocol),
            line.area_range,
            "all" if line.max_detections is None else str(line.max_detections),
            *([line.part_of(protocol)] if has_parts else []),
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    changed = departures(protocol)
    departs = f" (not as published: other {', '.join(changed)})" if changed else ""
    names = ["metric", "value", "IoU", "area", "max. detections", *(["part"] if has_parts else [])]
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"<p>{escape(protocol.name + departs)}: {counted(n_detections, 'detection')} against {escape(dataset)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
