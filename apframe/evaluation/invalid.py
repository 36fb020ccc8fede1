"""Rows that cannot be evaluated, left out where that is asked for: what is left, and what is said of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.evaluation.options import Choice
from apframe.exceptions import FormatError, InvalidRowsWarning, RowError, warn
from apframe.formats.accepted import read_found, read_truth
from apframe.formats.lines import passing_invalid
from apframe.formats.refused import Refused, accept
from apframe.paths import reading_once
from apframe.protocols.application import check_detections
from apframe.protocols.protocol import Protocol
from apframe.similarity.extents import lacks_boxes, with_boxes, with_image_sizes
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.tables import noun
from apframe.wording import Count, Note


def valid_truth(truth: Any, choice: Choice) -> tuple[Dataset, list[Refused]]:
    """The ground truth without the rows that are refused, and these.

    >>> from apframe.evaluation.options import choose
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [
    ...     {"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, -1, 9]}]}
    >>> dataset, refused = valid_truth(truth, choose("coco", invalid="drop"))
    >>> dataset, refused[0].rows
    (Dataset(1 image, 1 category, 0 annotations), ('5',))
    """
    with reading_once(truth):
        try:
            dataset, refused = choice.reading.dataset(truth), list[Refused]()
        except (RowError, FormatError):
            with passing_invalid():
                accepted, refused, _ = read_truth(truth, choice.reading, alone=False, whole=True)
            if accepted is None:
                raise refused[-1].error from None
            dataset = accepted
    sound, _, further = without_invalid_shapes(dataset, None, choice.protocol)
    return choice.with_attributes(sound), refused + further


def valid_detections(
    detections: Any, dataset: Dataset, category_ids: pl.Series | None, choice: Choice
) -> tuple[pl.DataFrame, list[Refused]]:
    """The same of detections, as a canonical table."""
    reading, refused = choice.reading, list[Refused]()
    with reading_once(detections):
        try:
            with passing_invalid():
                raw = reading.raw_results(detections, lambda: dataset)
            found = check_detections(raw, dataset, category_ids, choice.protocol)
        except (RowError, FormatError):
            with passing_invalid():
                accepted, refused, _ = read_found(detections, reading, lambda: dataset)
            if accepted is None:
                raise refused[-1].error from None
            found = check_detections(accepted, dataset, category_ids, choice.protocol)
    _, sound, further = without_invalid_shapes(dataset, found, choice.protocol)
    return sound, refused + further


def without_invalid_shapes(
    dataset: Dataset, found: pl.DataFrame | None, protocol: Protocol
) -> tuple[Dataset, pl.DataFrame, list[Refused]]:
    """Annotations and detections without those whose shapes are refused where they are compared, and these.

    Nothing is compared: each row stands in a cell of its own.
    """
    annotations, similarity = dataset.core("annotations"), protocol.similarity
    detections = annotations.clear().rename({"annotation_id": "detection_id"}) if found is None else found

    def compare(annotations: pl.DataFrame, detections: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        expected, found = (
            with_boxes(table, frame, dataset.images) if lacks_boxes(frame) else frame
            for table, frame in (("annotations", annotations), ("detections", detections))
        )
        if found.is_empty():
            found = expected.clear().rename({"annotation_id": "detection_id"})
        elif expected.is_empty():
            expected = found.clear().rename({"detection_id": "annotation_id"}).with_columns(is_crowd=pl.lit(False))
        if similarity.uses_images:
            expected, found = (
                with_image_sizes(frame.drop("image_width", "image_height", strict=False), dataset.images)
                for frame in (expected, found)
            )
        cell = pl.int_range(pl.len(), dtype=pl.Int64)
        similarity.pair(found.with_columns(cell=cell), expected.with_columns(cell=-1 - cell), 1.0)
        return annotations, detections

    if similarity.shape is None or (annotations.is_empty() and detections.is_empty()):
        return dataset, detections, []
    sound, refused = accept({"annotations": annotations, "detections": detections}, compare, "invalid_shape")
    if sound is None or not refused:  # a column is missing, which is an error of its own
        return dataset, detections, []
    kept = dataset.annotations.filter(is_known(dataset.annotations["annotation_id"], sound[0]["annotation_id"]))
    return dataset.part(dataset.images, kept), sound[1], refused


def left_out(refused: Sequence[Refused]) -> list[Note]:
    """Return a note on the rows that were left out, if there are any, and warn of them by name.

    >>> import warnings
    >>> from apframe.wording import in_words
    >>> error = RowError("detections", "score is missing", "row", [3], "give it")
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     in_words(left_out([Refused("invalid_value", error, 1, ("row 3",), 1)]))
    ['left out: 1 detection (score is missing)']
    >>> print(caught[0].message)
    rows that cannot be evaluated were left out: 1 detection (score is missing: row 3)
    """
    if not refused:
        return []
    counts = [Count(noun(each.error.table), each.n_left_out or each.n_rows, detail=f" ({_problem(each)})") for each in refused]
    named = (f"{', '.join(each.rows)}{', ...' if each.n_rows > len(each.rows) else ''}" for each in refused)
    which = ", ".join(f"{str(count)[:-1]}: {rows})" for count, rows in zip(counts, named, strict=True))
    warn(f"rows that cannot be evaluated were left out: {which}", InvalidRowsWarning)
    return [Note("left out: {}", counts, ", ")]


def _problem(refused: Refused) -> str:
    """Why; images and categories whose values are refused keep their ids, as others refer to them."""
    values_alone = refused.n_rows and not refused.n_left_out
    return f"{refused.error.problem}, values left out" if values_alone else refused.error.problem
