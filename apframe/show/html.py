"""An evaluation in notebooks: its headline numbers as an HTML table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import polars as pl

from apframe.listing import html_table
from apframe.protocols.headlines import headlines
from apframe.protocols.protocol import Protocol
from apframe.protocols.published import departures
from apframe.wording import counted


def evaluation_html(
    summary: pl.DataFrame,
    protocol: Protocol,
    dataset: str,
    n_detections: int,
    notes: Sequence[str] = (),
    tables: Sequence[str] = (),
) -> str:
    """Return the headline numbers as an HTML table, with what each averages; a dash where nothing was evaluated.

    Notes on the data stand above the table. `tables` replace the numbers if there are any.
    """
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
        rows.append(cells)
    changed = departures(protocol)
    departs = f" (not as published: other {', '.join(changed)})" if changed else ""
    names = ["metric", "value", protocol.similarity.measure, "area", "max. detections", *(["part"] if has_parts else [])]
    head = f"<p>{escape(protocol.name + departs)}: {counted(n_detections, 'detection')} against {escape(dataset)}</p>"
    return head + "".join(f"<p>{escape(note)}</p>" for note in notes) + ("".join(tables) or html_table(names, rows))
