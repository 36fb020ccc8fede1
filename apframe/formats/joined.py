"""Results joined to their data set."""

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
    found: Any,
    how: str,
    dataset: Callable[[], Dataset | None],
    join_by_name: str | Collection[str],
    boxes: Mapping[str, Any],
    *,
    names: Any = None,
    warns: bool = True,
    is_whole: bool = True,
) -> Any:
    """Results of `take_results`, or a part, with the ids of their data set, and boxes in pixels.

    Categories become what those of the data set became. `boxes` are `box_format` and `relative`, `names` those of classes.
    Unless it `warns`, nothing is said of how boxes look. What numbers of classes and images mean is decided only if these are
    all results (`is_whole`).
    """
    known, is_open = dataset(), warns and how == OPEN
    if is_open:
        found = to_polars(found, "detections")
    if names is not None or (is_open and "file_name" in found.columns):  # of files that number classes
        from apframe.formats.class_names import with_known_classes

        found = with_known_classes(found, names, known, may_count_from_1=is_open, is_whole=is_whole)
    if how == OUTPUTS and known is not None:
        from apframe.formats.by_name import tables_named  # as below: where names are ids

        join_by_name = tables_named(found, known, join_by_name)
    if known is not None and known.merged is not None:
        from apframe.tables.category_map import map_ids

        found = map_ids("detections", to_polars(found, "detections"), known.merged, by_name="categories" in join_by_name)
    are_named = known is not None and known.core("images").schema["image_id"] == pl.String
    if known is not None and are_named and is_whole and "images" not in join_by_name:
        from apframe.formats.by_name import with_names_of_numbers

        found = with_names_of_numbers(found, known)
    if join_by_name:
        if known is None:
            raise ParameterError("needs the data set that has these names", option="join_by_name")
        from apframe.formats.by_name import with_ids_by_name

        found = with_ids_by_name(to_polars(found, "detections"), known, join_by_name, are_outputs=how == OUTPUTS)
    if known is not None and known.left_out is not None:
        from apframe.tables.parts import without_left_out

        found = without_left_out(to_polars(found, "detections"), known.left_out)
    images = None if known is None else known.core("images")
    if any(boxes.values()):
        return as_pixel_boxes("detections", found, images, **boxes)
    if is_open:
        warn_of_boxes("detections", found, lambda: images)
    return found
