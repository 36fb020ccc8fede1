"""Checks of label maps: they can be compared, and contain the listed segments and labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from apframe.checks.findings import Finding, as_sentence, of_fault, of_table
from apframe.collecting import collecting
from apframe.exceptions import InputError
from apframe.similarity.unnamed_labels import describe_unnamed
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.validation import Fault


def check_labels(dataset: Dataset) -> Iterable[Finding]:
    """Find `unnamed_label`: labels without a name that count as classes.

    >>> list(check_labels(Dataset({"image_id": [1]}, {"category_id": [1]}, {})))
    []
    """
    if (unnamed := describe_unnamed(dataset)) is not None:
        problem, remedy = unnamed
        n_rows = dataset.core("annotations").height
        yield of_table("warning", "unnamed_label", "annotations", n_rows, problem, as_sentence(remedy))


def check_label_maps(detections: pl.DataFrame, dataset: Dataset) -> Iterable[Finding]:
    """Find `label_map`, errors at which evaluation stops while it counts pixels, and `listed_segments`, unlike the maps.

    The label maps of the images with detections are opened, which takes as long as evaluation does.

    >>> list(check_label_maps(pl.DataFrame({"image_id": [1]}), Dataset({"image_id": [1]}, {"category_id": [1]}, {})))
    []
    """
    images = dataset.images
    are_of_maps = "label_map" in images.columns and {"label_map", "segment_id"} <= {*detections.columns}
    if not are_of_maps or "segment_id" not in (annotations := dataset.annotations).columns:  # may read the annotations
        return
    from apframe.similarity.label_map_overlaps import count_overlaps  # brings in NumPy

    of_known_images = detections.filter(is_known(detections["image_id"], images["image_id"]))
    try:
        with collecting() as warnings:
            count_overlaps(of_known_images, images, annotations=annotations)
    except InputError as error:
        yield of_fault(replace(Fault.of_error(error), check="label_map"))
        return
    for _, problem in warnings:
        remedy = "Write the label maps and the lists of segments together."
        yield of_table("warning", "listed_segments", "annotations", annotations.height, problem, remedy)
