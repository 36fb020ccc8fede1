"""Write the evaluations that stand beside this file, one of detections and one of search runs, by an earlier version.

The folder 0.5 was written by 0.5.0, which is ade4eac, with Polars 2.1: check it out, give the checkout a file
apframe-0.5.0.dist-info/METADATA that names the version, and run `PYTHONPATH=checkout python tests/stored/write.py FOLDER`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl

import apframe as apf

IMAGES = [
    {"id": 1, "file_name": "a.jpg", "width": 100, "height": 80, "weather": "rain"},
    {"id": 2, "file_name": "b.jpg", "width": 100, "height": 80, "weather": "clear"},
]
CATEGORIES = [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "dog", "supercategory": "animal"}]
ANNOTATIONS = [
    {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40], "area": 1600, "iscrowd": 0, "occlusion": 0.25},
    {"id": 2, "image_id": 1, "category_id": 2, "bbox": [50, 10, 20, 20], "area": 400, "iscrowd": 0, "occlusion": 0.5},
    {"id": 3, "image_id": 2, "category_id": 1, "bbox": [5, 5, 60, 60], "area": 3600, "iscrowd": 1, "occlusion": 0.0},
    {"id": 4, "image_id": 2, "category_id": 2, "bbox": [70, 5, 20, 60], "area": 1200, "iscrowd": 0, "occlusion": 0.0},
]
TRUTH = {"images": IMAGES, "categories": CATEGORIES, "annotations": ANNOTATIONS}
FOUND = [
    {"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 36], "score": 0.9},
    {"image_id": 1, "category_id": 2, "bbox": [50, 12, 20, 20], "score": 0.6},
    {"image_id": 1, "category_id": 2, "bbox": [0, 0, 10, 10], "score": 0.7},
    {"image_id": 2, "category_id": 1, "bbox": [5, 5, 30, 30], "score": 0.4},
    {"image_id": 2, "category_id": 2, "bbox": [71, 5, 20, 56], "score": 0.3},
]
QRELS = {"q1": {"d1": 1, "d2": 0, "d3": 2}, "q2": {"d1": 0, "d3": 1}}
RUNS: dict[str, Any] = {
    "bm25": {"q1": {"d1": 0.9, "d2": 0.8, "d4": 0.1}, "q2": {"d1": 0.7, "d3": 0.6}},
    "dense": {"q1": {"d3": 0.9, "d1": 0.8}, "q2": {"d3": 0.7, "d2": 0.6}},
}
QUERIES = pl.DataFrame({"query_id": ["q1", "q2"], "topic": ["birds", "fish"]})


def evaluations() -> tuple[apf.Evaluation, apf.RunEvaluation]:
    """What is stored, evaluated by the version at hand."""
    return apf.evaluate(TRUTH, FOUND), apf.evaluate_run(QRELS, RUNS, "AP nDCG@10 P@1", queries=QUERIES)


if __name__ == "__main__":
    for name, evaluation in zip(("detection", "search"), evaluations(), strict=True):
        evaluation.write_parquet(Path(sys.argv[1]) / name)
