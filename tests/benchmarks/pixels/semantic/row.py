"""Label maps of classes: generated ones, their files, and the numbers in a plain loop over pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import apframe as apf
from tests.conformance.makers import Maker, Tables

N = 4


def write(folder: Path, maps: list[np.ndarray]) -> Path:
    folder.mkdir(parents=True)
    for k, values in enumerate(maps):
        Image.fromarray(values.astype(np.uint8)).save(folder / f"{k}.png")
    return folder


def generated(seed: int, n_images: int = 5) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    truth, detections = [], []
    for k in range(n_images):
        values = rng.integers(0, N - (k % 2), (8, 9))  # the last class is not on every image
        truth.append(np.where(rng.random((8, 9)) < 0.15, 255, values))
        detections.append(np.where(rng.random((8, 9)) < 0.3, rng.integers(0, N, (8, 9)), values))
    return truth, detections


def of_matrix(truth: list[np.ndarray], found: list[np.ndarray], ignored: tuple[int, ...] = (255,)) -> dict[str, float]:
    """The numbers in a plain loop over pixels."""
    matrix = np.zeros((256, 256))
    for a, b in zip(truth, found, strict=True):
        for one, other in zip(a.ravel(), b.ravel(), strict=True):
            matrix[one, other] += one not in ignored
    classes = [k for k in range(N) if k not in ignored and matrix[k].sum() + matrix[:, k].sum()]
    iou = {k: matrix[k, k] / (matrix[k].sum() + matrix[:, k].sum() - matrix[k, k]) for k in classes}
    own = {k: matrix[k].sum() for k in classes}
    right = {k: matrix[k, k] / own[k] for k in classes if own[k]}
    return {
        "mIoU": sum(iou.values()) / len(classes),
        "fwIoU": sum(own[k] * iou[k] for k in classes) / sum(own.values()),
        "mACC": sum(right.values()) / len(right),
        "pACC": sum(matrix[k, k] for k in classes) / sum(own.values()),
    }


def of_maps(random: np.random.Generator, folder: Path) -> Tables:
    sides = zip(("truth", "found"), generated(int(random.integers(100))), strict=True)
    truth, detections = (write(folder / name, maps) for name, maps in sides)
    dataset = apf.read_dataset(truth)
    return dataset, apf.read_results(detections, dataset=dataset)


SETS: dict[str, Maker] = {"SEMANTIC": of_maps}
