"""Panoptic segmentation in the tests that hold for all protocols: a generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.benchmarks.pixels.panoptic import panoptic_maps
from tests.conformance.makers import Maker, Tables


def of_maps(random: np.random.Generator, folder: Path) -> Tables:
    evaluation = panoptic_maps.evaluate(folder, panoptic_maps.generated(int(random.integers(100))))
    return evaluation.dataset, evaluation.detections


SETS: dict[str, Maker] = dict.fromkeys(("COCO_PANOPTIC", "CITYSCAPES_PANOPTIC"), of_maps)
