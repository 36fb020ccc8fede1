"""The tables of small evaluations in long form, and how they differ from those that are stored.

A column of floats has its values, which may be off by 1e-12; any other column a hash of its values in their order. Where there
is no answer there is the error. Arrays in COCO's layout are pinned to the last bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from apframe.benchmarks.driving.waymo import breakdowns
from apframe.exceptions import ApframeError
from apframe.pycocotools.coco import COCO
from apframe.pycocotools.cocoeval import COCOeval
from tests.pins.sets import DATA, SEED, SETS, cases

TOLERANCE = 1e-12
PLACE = ("variant", "set", "table", "column")
SCHEMA = dict.fromkeys((*PLACE, "dtype", "text"), pl.String) | {"values": pl.List(pl.Float64)}
TABLES: dict[str, Callable[[apf.Evaluation], pl.DataFrame]] = {
    "summary": lambda ev: ev.summary,
    "metrics": lambda ev: ev.metrics,
    "by image": lambda ev: ev.by("fold", marginals=True),
    "by category": lambda ev: ev.by("family"),
    "by object": lambda ev: ev.by("tag"),
    "by image, each category": lambda ev: ev.by("fold", level="category"),
    "by object, each category": lambda ev: ev.by("tag", level="category"),
    "of some images": lambda ev: ev.where(pl.col("fold") == "a").summary,
    "intervals": lambda ev: _drawn(ev),
    "intervals with weights": lambda ev: _drawn(ev, weights="weight"),
    "intervals of a mix": lambda ev: _drawn(ev, to_mix={"fold": {"a": 0.7, "b": 0.3}}),
    "assignments": lambda ev: ev.assignments,
    "matches": lambda ev: ev.matches(),
    "curves": lambda ev: ev.curves(),
    "thresholds": lambda ev: ev.thresholds(),
    "errors": lambda ev: ev.errors(None),
    "error_impact": lambda ev: ev.error_impact(None),
    "error_impact with intervals": lambda ev: ev.error_impact(None, intervals=True),
    "per_image": lambda ev: ev.per_image(),
    "lrp": lambda ev: ev.lrp(),
    "miss_rates": lambda ev: ev.miss_rates(),
    "froc": lambda ev: ev.froc(),
    "influence": lambda ev: ev.sql("SELECT * FROM influence"),
    "influence on categories": lambda ev: ev.influence(level="category", weights="weight"),
}
# of one protocol each
OWN: dict[str, dict[str, Callable[[apf.Evaluation], pl.DataFrame]]] = {
    "CROWDHUMAN": {"jaccard_index": lambda ev: ev.jaccard_index()},
    "WAYMO": {
        f"by {key.name}, each category": lambda ev, key=key: ev.by(key, level="category")
        for key in (breakdowns.RANGE, breakdowns.SIZE, breakdowns.VELOCITY, breakdowns.CAMERA)
    },
}


def protocol(name: str) -> pl.DataFrame:
    """A row for each column of every table of a protocol."""
    rows: list[Any] = []
    with TemporaryDirectory() as folder:
        for setting, data, evaluate in cases(name, Path(folder)):
            outcome = _attempt(evaluate)
            computes = {"summary": TABLES["summary"]} if data == "files" else TABLES | OWN.get(name, {})
            tables = (
                {table: _attempt(partial(compute, outcome)) for table, compute in computes.items()}
                if isinstance(outcome, apf.Evaluation)
                else {"evaluation": outcome}
            )
            rows += [(setting, data, table, *column) for table, frame in tables.items() for column in _columns(frame)]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def lists() -> pl.DataFrame:
    """The same of search runs, and of lists with equal scores by every definition of average precision."""
    evaluation = apf.evaluate_run(DATA / "search" / "qrels.txt", sorted((DATA / "search").glob("run_*.txt")))
    tables = {
        "summary": evaluation.summary,
        "per_query": evaluation.per_query,
        "matches": evaluation.matches.head(200),
        "compare": evaluation.compare(),
        "compare_bootstrap": evaluation.compare(test="bootstrap"),
    }
    frames = [("search", "data", name, frame) for name, frame in tables.items()]
    frames += [
        (name, "generated", "average_precision", _attempt(partial(_average_precisions, name)))
        for name in apf.list_definitions()["name"]
    ]
    rows = [(*names, *column) for *names, frame in frames for column in _columns(frame)]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _average_precisions(definition: str) -> pl.DataFrame:
    random = np.random.default_rng(35)
    columns = {"list": random.integers(0, 20, 300), "relevant": random.random(300) < 0.4, "score": random.random(300).round(1)}
    items = pl.DataFrame(columns).with_columns(n=pl.col("relevant").sum().over("list") + pl.col("list") % 3)
    expression = apf.lists.average_precision("relevant", "score", n_positives="n", definition=definition)
    return items.group_by("list").agg(expression).sort("list")


def _drawn(evaluation: apf.Evaluation, **options: Any) -> pl.DataFrame:
    return evaluation.intervals(n_resamples=20, seed=0, method="bootstrap", **options).drop("method", "reason")


def differences(computed: pl.DataFrame, stored: pl.DataFrame) -> Iterator[str]:
    """Where the two differ: variant, set, table and column, with the first values that do."""
    for now, before in zip_longest(computed.rows(), stored.rows()):
        names = [" / ".join(row[:4]) if row else "nothing" for row in (now, before)]
        if names[0] != names[1]:
            yield f"{names[0]}: was {names[1]}; what follows is not compared"
            return
        if now[4:6] != before[4:6]:
            yield f"{names[0]}: {_joined(now)}, was {_joined(before)}"
        elif now[6] is not None and (different := _different(now[6], before[6])):
            yield f"{names[0]}: {different}"


def _joined(row: tuple[Any, ...]) -> str:
    return " ".join(text for text in row[4:6] if text)


def _different(now: list[float | None], before: list[float | None]) -> str:
    """The first rows in which two lists of numbers differ, in words; none if there are none."""
    if len(now) != len(before):
        return f"{len(now)} rows, was {len(before)}"
    pair = pl.DataFrame({"now": now, "before": before}, {"now": pl.Float64, "before": pl.Float64}).with_row_index("row")
    is_near = (pl.col("now") - pl.col("before")).abs() <= TOLERANCE  # NaN is larger than any number
    rows = pair.filter(~(pl.col("now").eq_missing(pl.col("before")) | is_near.fill_null(value=False))).rows()
    return ", ".join(f"{a} (was {b}) in row {row}" for row, a, b in rows[:3]) + f" and {len(rows) - 3} more" * (len(rows) > 3)


def arrays() -> Iterator[str]:
    """SHA-256 of every array in COCO's layout, as it lies in memory."""
    truth, detections = _street()
    evaluations = {"bbox": apf.evaluate(truth, detections)}
    for label in ("segm", "keypoints"):
        evaluations[label] = apf.evaluate(*SETS[f"COCO {label}"](np.random.default_rng(SEED), DATA), iou_type=label)
    for label, of_label in evaluations.items():
        for name, array in of_label.arrays().items():
            yield f"arrays.{label}.{name} {_of_bytes(array)}"
    with redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    for name in ("precision", "recall", "scores"):
        yield f"pycocotools.{name} {_of_bytes(evaluation.eval[name])}"
    yield f"pycocotools.stats {_of_bytes(evaluation.stats)}"


def _street() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A few images of the sample set, with a crowd and with equal scores."""
    truth = json.loads((DATA / "street" / "instances.json").read_text())
    truth["images"] = truth["images"][:16]
    images = {image["id"] for image in truth["images"]}
    truth["annotations"] = [row for row in truth["annotations"] if row["image_id"] in images]
    truth["annotations"][3]["iscrowd"] = 1
    detections = json.loads((DATA / "street" / "model_a.json").read_text())
    return truth, [row | {"score": round(row["score"], 2)} for row in detections if row["image_id"] in images]


def _of_bytes(array: Any) -> str:
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + array.tobytes()).hexdigest()


def _attempt(compute: Callable[[], Any]) -> Any:
    """What is computed, or the error in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compute()
        except ApframeError as error:
            return f"{type(error).__name__}: {error}"


def _columns(found: pl.DataFrame | str) -> Iterator[tuple[str, str, str | None, list[float | None] | None]]:
    """Name, type, and hash or values of every column; of an error, its text."""
    for column in found if isinstance(found, pl.DataFrame) else ():
        if column.dtype.is_float():
            yield column.name, str(column.dtype), None, column.to_list()
        else:
            text = hashlib.sha256(repr(column.to_list()).encode()).hexdigest()[:16]
            yield column.name, str(column.dtype), f"{len(column)} rows, {text}", None
    if isinstance(found, str):
        yield "", "error", found, None
