"""Joining of results to their data set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.formats.format import OPEN, OUTPUTS
from apframe.tables.box_formats import as_pixel_boxes, warn_of_boxes
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset


def joined_results(
    results: Any,
    how: str,
    dataset: Callable[[], Dataset | None],
    join_by_name: str | Collection[str],
    boxes: Mapping[str, Any],
    *,
    names: Any = None,
    warns: bool = True,
    is_whole: bool = True,
) -> Any:
    """Return results of `take_results`, or a part of them, with the ids of their data set, and boxes in pixels.

    Categories are mapped like those of the data set. `boxes` are `box_format` and `relative`, `names` are names of classes.
    With `warns`, warnings say if boxes do not look like their format. Numbers of classes and images are only interpreted if
    the results are complete (`is_whole`).
    """
    truth, is_open = dataset(), warns and how == OPEN
    if is_open:
        results = to_polars(results, "detections")
    if names is not None or (is_open and "file_name" in results.columns):  # files with class numbers
        from apframe.formats.class_names import with_known_classes

        results = with_known_classes(results, names, truth, may_count_from_1=is_open, is_whole=is_whole)
    if how == OUTPUTS and truth is not None:
        from apframe.formats.by_name import tables_named  # only needed for names

        join_by_name = tables_named(results, truth, join_by_name)
    if truth is not None and truth.merged is not None:
        from apframe.tables.category_map import map_ids

        results = map_ids("detections", to_polars(results, "detections"), truth.merged, by_name="categories" in join_by_name)
    are_named = truth is not None and truth.core("images").schema["image_id"] == pl.String
    if truth is not None and are_named and is_whole and "images" not in join_by_name:
        from apframe.formats.by_name import with_names_of_numbers

        results = with_names_of_numbers(results, truth)
    if join_by_name:
        if truth is None:
            raise ParameterError("needs the data set that has these names", option="join_by_name")
        from apframe.formats.by_name import with_ids_by_name

        results = with_ids_by_name(to_polars(results, "detections"), truth, join_by_name, are_outputs=how == OUTPUTS)
    if truth is not None and truth.left_out is not None:
        from apframe.tables.parts import without_left_out

        results = without_left_out(to_polars(results, "detections"), truth.left_out)
    images = None if truth is None else truth.core("images")
    if any(boxes.values()):
        return as_pixel_boxes("detections", results, images, **boxes)
    if is_open:
        warn_of_boxes("detections", results, lambda: images)
    return results
