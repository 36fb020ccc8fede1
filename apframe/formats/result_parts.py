"""Results part by part, so that only a few parts of a large file are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apframe.formats.catalogue import choose_format, take_results
from apframe.formats.files import reading_from
from apframe.formats.format import box_options, with_own_paths
from apframe.paths import reading_once, url_of
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset

PART = 1 << 19
"""Number of rows in a part of a table in memory."""


def take_results_in_parts(
    source: Any, format: str | None, dataset: Dataset, boxes: Mapping[str, Any]
) -> Iterator[tuple[Any, str]]:
    """Yield results like `take_results`, in consecutive parts; None means that the parts before it are void.

    COCO's results (a list or lines of JSON), Parquet and Arrow are read part by part; other formats are read as a whole.

    >>> rows = [{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]
    >>> [(part.height, how) for part, how in take_results_in_parts(rows, None, Dataset({}, {}, {}), {})]
    [(1, 'open')]
    """
    if url_of(source) or not isinstance(source, (str, Path)):
        results, how = take_results(source, format, lambda: dataset, boxes)
        frame = to_polars(results, "detections")
        for start in range(0, max(frame.height, 1), PART):
            yield frame.slice(start, PART), how
        return
    with reading_once(source), reading_from(source):
        detected = choose_format(source, format, "results", "results_format")
        box_options(detected.boxes_of_results, detected.title, boxes, refuses=True)
        truth = dataset if detected.fractions or detected.asks_for_images else None
        for part in detected.results_in_parts(Path(source), truth):
            yield None if part is None else with_own_paths("detections", part, source), detected.boxes_of_results
