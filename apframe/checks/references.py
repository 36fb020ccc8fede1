"""Names that stand twice, what refers to nothing, and what nothing refers to."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, of_rows, of_table
from apframe.exceptions import listed
from apframe.schema import KEYS, NAMES, Dataset, is_known


def check_truth(dataset: Dataset) -> Iterable[Finding]:
    """`duplicate_name`, `annotation_id_0`, `no_annotations`, `unused_category`, `image_without_annotations`.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["cat", "cat"]}, {})
    >>> [finding.check for finding in check_truth(dataset)]
    ['duplicate_name', 'no_annotations']
    """
    annotations = dataset.core("annotations")
    for table, name in NAMES.items():
        names = dataset.core(table)[name]
        doubled = names.is_duplicated() & names.is_not_null()
        which = listed(names.filter(doubled).unique(maintain_order=True).to_list())
        remedy = "rename them, or make one of each; until then nothing can be joined by name"
        yield from of_rows(
            "warning", "duplicate_name", table, dataset.core(table), doubled, f"{name} is not unique ({which})", remedy
        )
    if annotations.is_empty():
        yield of_table(
            "warning",
            "no_annotations",
            "annotations",
            0,
            "there are none, so that no metric is defined",
            "is it the right file?",
        )
        return
    ids = annotations["annotation_id"]
    problem, remedy = (
        "the id is 0, and pycocotools counts what matches it as missed",
        "number annotations from 1 (apframe takes 0 too)",
    )
    if ids.dtype == pl.Int64:
        yield from of_rows("warning", "annotation_id_0", "annotations", annotations, ids == 0, problem, remedy)
    for table, check, problem, remedy in (
        ("categories", "unused_category", "no annotation is of it", "nothing, if that is meant: no mean counts it"),
        ("images", "image_without_annotations", "it has no annotation", "nothing, if it shows no object"),
    ):
        frame, key = dataset.core(table), KEYS[table]
        yield from of_rows("note", check, table, frame, ~is_known(frame[key], annotations[key].unique()), problem, remedy)


def check_references(detections: pl.DataFrame, dataset: Dataset) -> Iterable[Finding]:
    """`unknown_image` and `unknown_category` of detections.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> found = pl.DataFrame({"detection_id": [1, 2], "image_id": [1, 5], "category_id": [9, 1]})
    >>> [(finding.severity, finding.check, finding.rows) for finding in check_references(found, dataset)]
    [('error', 'unknown_image', ('2',)), ('warning', 'unknown_category', ('1',))]
    """
    for severity, table, check, remedy in (
        ("error", "images", "unknown_image", 'give the ground truth of these results, or drop them (unknown_images="drop")'),
        ("warning", "categories", "unknown_category", "evaluation drops them: correct the ids if they are meant for others"),
    ):
        key = KEYS[table]
        unknown = ~is_known(detections[key], dataset.core(table)[key])
        which = listed(detections[key].filter(unknown).unique(maintain_order=True).to_list())
        yield from of_rows(
            severity, check, "detections", detections, unknown, f"{key} is not among the {table} ({which})", remedy
        )
