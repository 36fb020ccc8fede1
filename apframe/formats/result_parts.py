"""Results part by part: no more of a large file is in memory than a few of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apframe.formats.catalogue import choose_format, take_results
from apframe.formats.files import reading_from
from apframe.formats.format import taken_boxes, with_own_paths
from apframe.paths import reading_once, url_of
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset

PART = 1 << 19
"""Rows of a table in memory that make one part."""


def take_results_in_parts(
    source: Any, format: str | None, dataset: Dataset, boxes: Mapping[str, Any]
) -> Iterator[tuple[Any, str]]:
    """Results as `take_results` gives them, in parts that follow each other; None for a part says that those before are void.

    COCO's results (a list or lines of JSON), Parquet and Arrow are read part by part; other formats are read at once.

    >>> rows = [{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]
    >>> [(part.height, how) for part, how in take_results_in_parts(rows, None, Dataset({}, {}, {}), {})]
    [(1, 'open')]
    """
    if url_of(source) or not isinstance(source, (str, Path)):
        found, how = take_results(source, format, lambda: dataset, boxes)
        frame = to_polars(found, "detections")
        for start in range(0, max(frame.height, 1), PART):
            yield frame.slice(start, PART), how
        return
    with reading_once(source), reading_from(source):
        chosen = choose_format(source, format, "results", "results_format")
        taken_boxes(chosen.boxes_of_results, chosen.title, boxes, refuses=True)
        known = dataset if chosen.fractions or chosen.asks_for_images else None
        for part in chosen.results_in_parts(Path(source), known):
            yield None if part is None else with_own_paths("detections", part, source), chosen.boxes_of_results
