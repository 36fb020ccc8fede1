"""What makes the generated set of a row: of COCO's rows, or of rows with canonical names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from tests.conformance.samples import images_of

Tables = tuple[apf.Dataset, pl.DataFrame]
Maker = Callable[[np.random.Generator, Path], Tables]
"""Makes ground truth and detections; the folder is for files that these need."""


def with_copies(dataset: apf.Dataset, detections: pl.DataFrame) -> Tables:
    """The tables with copies of some annotations and detections: equal similarities, equal scores."""
    annotations, detections = dataset.annotations, detections.drop("detection_id", strict=False)
    copies = annotations.gather_every(3).with_columns(pl.int_range(1, pl.len() + 1).alias("annotation_id") + annotations.height)
    dataset = apf.Dataset(dataset.images, dataset.categories, pl.concat([annotations, copies]))
    return dataset, pl.concat([detections, detections.gather_every(4)])


def coco(make: Callable[[np.random.Generator, int], Any], n_images: int) -> Maker:
    """Of a maker of COCO's rows."""

    def made(random: np.random.Generator, _: Path) -> Tables:
        truth, results = make(random, n_images)
        return with_copies(apf.read_coco(truth, masks=True), apf.read_coco_results(results))

    return made


def rows(make: Callable[[np.random.Generator, int], Any], n_images: int, names: Any, **of_images: Any) -> Maker:
    """Of a maker of annotations and detections, or of the images with the annotations, and detections."""

    def made(random: np.random.Generator, _: Path) -> Tables:
        truth, detections = make(random, n_images)
        if isinstance(truth, list):
            truth = {"images": [{"image_id": key} for key in images_of(truth, detections)], "annotations": truth}
        images = [row | of_images if isinstance(row, dict) else {"image_id": row} for row in truth["images"]]
        categories = {
            "category_id": list(names),
            "name": [str(names[key]) if isinstance(names, dict) else str(key) for key in names],
        }
        tables = [pl.DataFrame(rows, infer_schema_length=None) for rows in (images, truth["annotations"], detections)]
        return with_copies(apf.Dataset(tables[0], categories, tables[1]), tables[2])

    return made
