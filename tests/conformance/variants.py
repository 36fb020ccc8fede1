"""Every published protocol and variant, each with a generated set and its evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from apframe.protocols.protocol import as_protocol
from tests.pins.sets import SEED, keyed, maker_of
from tests.protocols import generated


@dataclass(frozen=True)
class Variant:
    """A protocol as it compares one kind of thing."""

    name: str
    iou_type: str

    def __str__(self) -> str:
        return f"{self.name}-{self.iou_type}"

    @property
    def protocol(self) -> apf.Protocol:
        return as_protocol(self.name).variant(self.iou_type)

    @property
    def dataset(self) -> apf.Dataset:
        return _tables(self)[0]

    @property
    def found(self) -> pl.DataFrame:
        return _tables(self)[1]

    @property
    def found_with_ties(self) -> pl.DataFrame:
        """Detections of which many have equal scores, image by image."""
        return self.found.sort("image_id", maintain_order=True).with_columns(pl.col("score").round(1))

    @property
    def with_ties(self) -> apf.Evaluation:
        """The evaluation of these."""
        return self.evaluate(found=self.found_with_ties)

    def evaluate(self, dataset: apf.Dataset | None = None, found: Any = None, **options: Any) -> apf.Evaluation:
        """The evaluation of other data, or of its own."""
        dataset = self.dataset if dataset is None else dataset
        return apf.evaluate(dataset, self.found if found is None else found, self.name, iou_type=self.iou_type, **options)

    @property
    def evaluation(self) -> apf.Evaluation:
        """That of its own set, made once; the modules of another package are imported anew for each test."""
        return self.evaluate() if self.name == TOY_NAME else _evaluation(self)


@cache
def _tables(variant: Variant) -> tuple[apf.Dataset, pl.DataFrame]:
    """With scores that are all different, as shards have an order of their own for equal ones; whole weights of the images."""
    make = lamps if variant.name == TOY_NAME else maker_of(variant.name, variant.iou_type, variant.iou_type)
    dataset, detections = keyed(*make(np.random.default_rng(SEED), Path(mkdtemp())))
    ranks = pl.Series(np.random.default_rng(0).permutation(detections.height))
    detections = detections.with_columns(score=pl.col("score") * 0.9 + ranks / (10 * detections.height))
    return dataset.with_images_changed(lambda images: images.with_columns(copies=pl.int_range(pl.len()) % 3)), detections


@cache
def _evaluation(variant: Variant) -> apf.Evaluation:
    return variant.evaluate()


def lamps(random: np.random.Generator, _: Path) -> tuple[apf.Dataset, pl.DataFrame]:
    """Boxes, of which every third is not lit."""
    truth, results = generated.boxes(random, 8)
    annotations = [row | {"lit": number % 3 != 0} for number, row in enumerate(truth["annotations"])]
    return apf.read_coco({**truth, "annotations": annotations}), apf.read_coco_results(results)


TOY_NAME = "TOY_LAMPS"
VARIANTS = [Variant(name, iou_type) for name, each in apf.PUBLISHED.items() for iou_type in each.iou_types]
VARIANTS.append(Variant(TOY_NAME, "bbox"))
