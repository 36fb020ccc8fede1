"""Data that several tests of comparisons share."""

from typing import Any

import pytest

import apframe as apf

_SAMPLE = "data/street"


@pytest.fixture(scope="module")
def a() -> apf.Evaluation:
    return apf.evaluate(f"{_SAMPLE}/instances.json", f"{_SAMPLE}/model_a.json")


@pytest.fixture(scope="module")
def b() -> apf.Evaluation:
    return apf.evaluate(f"{_SAMPLE}/instances.json", f"{_SAMPLE}/model_b.json")


@pytest.fixture
def three_frequencies() -> dict[str, Any]:
    """Ground truth in LVIS's form: a rare, a common and a frequent category, each in all of 30 images."""
    return {
        "images": [{"id": n, "neg_category_ids": [], "not_exhaustive_category_ids": []} for n in range(30)],
        "categories": [{"id": k, "name": f"c{k}", "frequency": f} for k, f in enumerate("rcf")],
        "annotations": [
            {"id": 3 * n + k, "image_id": n, "category_id": k, "bbox": [0, 0, 9, 9]} for n in range(30) for k in range(3)
        ],
    }
