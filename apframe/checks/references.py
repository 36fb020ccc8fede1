"""Checks of names and references: duplicate names, unknown ids, rows that nothing refers to."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, as_sentence, of_rows, of_table
from apframe.evaluation.diagnose.shifted_ids import find_shifts
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import KEYS, NAMES
from apframe.wording import listed, option_name


def check_truth(dataset: Dataset) -> Iterable[Finding]:
    """Find `duplicate_name`, `annotation_id_0`, `no_annotations`, `unused_category` and `image_without_annotations`.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["cat", "cat"]}, {})
    >>> [finding.check for finding in check_truth(dataset)]
    ['duplicate_name', 'no_annotations']
    """
    annotations = dataset.core("annotations")
    for table, name in NAMES.items():
        names = dataset.core(table)[name]
        doubled = names.is_duplicated() & names.is_not_null()
        which = listed(names.filter(doubled).unique(maintain_order=True).to_list())
        remedy = "Rename or merge them. Until then, nothing can be joined by name."
        problem = f"{name} is not unique ({which})"
        yield from of_rows("warning", "duplicate_name", table, dataset.core(table), doubled, problem, remedy)
    if annotations.is_empty():
        problem = "there are no annotations, so no metric is defined"
        yield of_table("warning", "no_annotations", "annotations", 0, problem, "Check that this is the right file.")
        return
    ids = annotations["annotation_id"]
    if ids.dtype == pl.Int64:
        problem = "annotation_id is 0, so pycocotools counts the detections that match it as unmatched"
        remedy = "Number annotations from 1 (apframe accepts 0 too)."
        yield from of_rows("warning", "annotation_id_0", "annotations", annotations, ids == 0, problem, remedy)
    for table, check, remedy in (
        ("categories", "unused_category", "Nothing to do if that is intended: most protocols leave them out of means."),
        ("images", "image_without_annotations", "Nothing to do if they really are empty."),
    ):
        frame, key = dataset.core(table), KEYS[table]
        unused = ~is_known(frame[key], annotations[key].unique())
        yield from of_rows("note", check, table, frame, unused, "have no annotations", remedy)


def check_shifts(detections: pl.DataFrame, dataset: Dataset) -> Iterable[Finding]:
    """Find `shifted_ids`: ids that seem to follow another numbering, see `apframe.evaluation.diagnose.shifted_ids`."""
    for problem, remedy in find_shifts(detections, dataset):
        yield of_table("warning", "shifted_ids", "detections", detections.height, problem, as_sentence(remedy))


def check_references(detections: pl.DataFrame, dataset: Dataset) -> Iterable[Finding]:
    """Find `unknown_image` and `unknown_category` in detections.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> detections = pl.DataFrame({"detection_id": [1, 2], "image_id": [1, 5], "category_id": [9, 1]})
    >>> [(finding.severity, finding.check, finding.rows) for finding in check_references(detections, dataset)]
    [('error', 'unknown_image', ('2',)), ('warning', 'unknown_category', ('1',))]
    """
    supply = f"Supply the ground truth of these results, or drop them ({option_name('unknown_images', 'drop')})."
    for severity, table, check, remedy in (
        ("error", "images", "unknown_image", supply),
        ("warning", "categories", "unknown_category", "Evaluation drops them. Correct the ids if others are meant."),
    ):
        key = KEYS[table]
        unknown = ~is_known(detections[key], dataset.core(table)[key])
        which = listed(detections[key].filter(unknown).unique(maintain_order=True).to_list())
        problem = f"{key} is not among the {table} ({which})"
        yield from of_rows(severity, check, "detections", detections, unknown, problem, remedy)
