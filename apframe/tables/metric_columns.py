"""The columns of the table `metrics`, including those that only some protocols have."""

from __future__ import annotations

import polars as pl

from apframe.columns import Column
from apframe.tables.schemas import id_column

AREAS = pl.Enum([])  # stands for the names of the protocol's area ranges
THRESHOLD = Column(
    "iou_threshold", pl.Float64, "lowest similarity at which a pair can match, to ten digits; of distances, minus that"
)
AREA_RANGE = Column("area_range", AREAS, "name of one of the protocol's area ranges")
CATEGORY = id_column("category_id", "the category; null where they are pooled", required=False)
_WHOLE_NUMBERS = {"n_images": pl.Int64}
_OF_SOME = tuple(
    Column(name, _WHOLE_NUMBERS.get(name, pl.Float64), meaning, standard=False)
    for name, meaning in {
        "oriented_ap": "AP of true positives weighted by how well orientations agree, where the protocol has it: AOS, APH",
        "ate": "mean distance of true positives' centres, metres, where errors are averaged",
        "ase": "their mean scale error, 0 to 1",
        "aoe": "their mean orientation error, radians",
        "ave": "their mean velocity error, m/s",
        "aae": "their mean attribute error, 0 to 1",
        "cds": "AP times the mean of 1 - error, where the protocol has it",
        "n_images": "images with annotations that count, where categories weigh as many",
        "lamr": "log-average miss rate, where the protocol has it; null without positives",
        "cpm": "mean sensitivity of the FROC curve, where the protocol has it; null without positives",
        "pq": "panoptic quality: sq times rq; null without annotations and false positives",
        "sq": "mean IoU of the true positives, 0 without any; null where pq is",
        "rq": "tp / (tp + fp / 2 + fn / 2); null where pq is",
        "iou": "IoU of all pixels of the class; null without any on either side",
        "accuracy": "share of its annotated pixels that were found; null without any",
        "pixels": "annotated pixels of the class; null where iou is",
        "correct_pixels": "those of them that were found",
        "mean_recall": "mean over images of the share of their annotations that was found; null without any",
        "success": "share of the images with annotations in which one was found; null without any",
        "weighted_iou": "iou times pixels, of whose sum fwIoU is made",
    }.items()
)
METRICS: tuple[Column, ...] = (
    CATEGORY,
    AREA_RANGE,
    THRESHOLD,
    Column("max_detections", pl.Int64, "limit of detections per image and category (LVIS: per image); null: none"),
    Column("ap", pl.Float64, "average precision; null without positives"),
    Column("recall", pl.Float64, "recall at the end of the list; null without positives"),
    Column("n_positives", pl.Int64, "annotations that count"),
    Column("n_detections", pl.Int64, "detections that count: true and false positives"),
    *_OF_SOME,
)
