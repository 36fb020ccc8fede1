"""Tables of small evaluations: the order of their rows, their ids and counts to the letter, their numbers to 1e-12.

`python -m tests.pins` writes them anew; whoever does so says in the CHANGELOG which numbers changed, and why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from apframe.pycocotools.coco import COCO
from apframe.pycocotools.cocoeval import COCOeval

DATA = Path(__file__).parents[2] / "data"
N_IMAGES = 16
PROTOCOLS: dict[str, dict[str, Any]] = {
    "coco": {},
    "coco_pooled": {"agnostic": True, "max_detections": [1, 10, None]},
    "coco_optimal": {"matching": "optimal"},
    "voc2007": {"protocol": "voc2007"},
    "voc2012": {"protocol": "voc2012", "iou_thresholds": [0.3, 0.5]},
    "proposals": {"protocol": "proposals"},
    "open_images": {"protocol": "open_images"},
}


def sources() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A few images of the sample set, with a crowd and with equal scores."""
    truth = json.loads((DATA / "street" / "instances.json").read_text())
    images = {image["id"] for image in truth["images"][:N_IMAGES]}
    truth["images"] = truth["images"][:N_IMAGES]
    truth["annotations"] = [row for row in truth["annotations"] if row["image_id"] in images]
    truth["annotations"][3]["iscrowd"] = 1
    found = json.loads((DATA / "street" / "model_a.json").read_text())
    return truth, [row | {"score": round(row["score"], 2)} for row in found if row["image_id"] in images]


def frames() -> Iterator[tuple[str, pl.DataFrame]]:
    """Every table of every evaluation, by name."""
    truth, found = sources()
    for name, options in PROTOCOLS.items():
        ev = apf.evaluate(truth, found, **options)
        at = ev.protocol.iou_thresholds[0]
        yield f"{name}.summary", ev.summary
        yield f"{name}.metrics", ev.metrics
        yield f"{name}.pairs", ev.pairs
        yield f"{name}.assignments", ev.assignments
        yield f"{name}.matches", ev.matches(at)
        yield f"{name}.curves", ev.curves(at)
        yield f"{name}.thresholds", ev.thresholds(at)
        yield f"{name}.per_image", ev.per_image(at)
        yield f"{name}.by_weather", ev.by("weather", marginals=True)
        yield f"{name}.by_occlusion", ev.by(apf.bins("occlusion", [0, 0.3, 1]))
        if not ev.protocol.agnostic:
            yield f"{name}.by_name", ev.by("name")
        yield f"{name}.where", ev.where(pl.col("weather") == "rain").summary
    search = apf.evaluate_run(DATA / "search" / "qrels.txt", sorted((DATA / "search").glob("run_*.txt")))
    yield "search.summary", search.summary
    yield "search.per_query", search.per_query
    yield "search.matches", search.matches.head(200)
    yield "search.compare", search.compare()


def arrays() -> Iterator[tuple[str, str]]:
    """SHA-256 of every array of the reference's layout, as it lies in memory."""
    truth, found = sources()
    for name, array in apf.evaluate(truth, found).arrays().items():
        yield f"arrays.{name}", _hash(array)
    coco = COCO()
    coco.dataset = truth
    coco.createIndex()
    evaluation = COCOeval(coco, coco.loadRes(found), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    for name in ("precision", "recall", "scores"):
        yield f"pycocotools.{name}", _hash(evaluation.eval[name])
    yield "pycocotools.stats", _hash(evaluation.stats)


def _hash(array: Any) -> str:
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + array.tobytes()).hexdigest()
