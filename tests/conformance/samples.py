"""Small generated sets with the numbers that plain loops find, many of which are evaluated at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import apframe as apf

Numbers = Mapping[str, float | None]
NONE: Numbers = {}


@dataclass(frozen=True)
class Sample:
    """A data set, detections, and headline numbers by plain loops: all, or some of those of the protocol.

    Numbers that are not there in the whole set (a category without annotations, say) are None.
    """

    dataset: apf.Dataset
    found: pl.DataFrame
    numbers: Numbers


Loop = Callable[[np.random.Generator, int], Sample]
"""Makes the sample of a random generator and of a number, from which the number of images may follow."""


def images_of(*sides: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The ids of the images that have rows."""
    return sorted({row["image_id"] for rows in sides for row in rows})


def sample_of_rows(
    images: Sequence[Any], annotations: Sequence[Any], found: Sequence[Any], names: Mapping[Any, str], numbers: Numbers = NONE
) -> Sample:
    """A sample of rows with canonical names: images are ids or rows, `names` are those of the categories by id."""
    rows = [image if isinstance(image, dict) else {"image_id": image} for image in images]
    categories = {"category_id": list(names), "name": list(names.values())}
    frames = [pl.DataFrame(each, infer_schema_length=None) for each in (rows, annotations, found)]
    return Sample(apf.Dataset(frames[0], categories, frames[1]), frames[2], numbers)


def sample_of_coco(truth: Any, results: Any, numbers: Numbers) -> Sample:
    """A sample of COCO's rows."""
    return Sample(apf.read_coco(truth, masks=True), apf.read_coco_results(results), numbers)


def together(samples: Sequence[Sample]) -> tuple[apf.Dataset, pl.DataFrame]:
    """All samples as one set, whose images have the number of their `set`; ids keep their order within a set."""
    tables: dict[str, list[pl.DataFrame]] = {"images": [], "annotations": [], "found": []}
    for number, each in enumerate(samples):
        dataset = each.dataset
        for name, frame in (("images", dataset.images), ("annotations", dataset.annotations), ("found", each.found)):
            of_image = pl.col("image_id").cast(pl.String)
            padded = of_image.str.zfill(8) if frame.schema.get("image_id", pl.String).is_integer() else of_image
            if frame.width:
                frame = frame.drop("annotation_id", "detection_id", strict=False)
                tables[name].append(frame.with_columns(image_id=pl.format("{}/{}", pl.lit(f"{number:04d}"), padded)))
    frames = {name: pl.concat(each, how="diagonal_relaxed") for name, each in tables.items()}
    images = frames["images"].with_columns(set=pl.col("image_id").str.head(4).cast(pl.Int64))
    return apf.Dataset(images, samples[0].dataset.categories, frames["annotations"]), frames["found"]
