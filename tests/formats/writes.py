"""Every kind of write, in two sizes, and how what was written is read: for tests that kill processes and fill disks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import polars as pl

import apframe as apf
from apframe.scale.layout import SHARD_TABLES, parse_layout
from apframe.store.databases import write_database

SIZES = (300, 500)


@cache  # so that writing is nearly all that a process does
def evaluation(size: int) -> apf.Evaluation:
    """An evaluation of so many images, each with one annotation that is found."""
    images = [{"id": n} for n in range(size)]
    boxes = [{"id": n + 1, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in range(size)]
    truth = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": boxes}
    detections = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9 - n % 5], "score": 1 / (n + 2)} for n in range(size)]
    return apf.evaluate(truth, detections)


@cache
def run_evaluation(size: int) -> apf.RunEvaluation:
    """An evaluation of so many queries."""
    qrels = {f"q{n}": {"a": 1, "b": 0} for n in range(size)}
    return apf.evaluate_run(qrels, {query: {"a": 0.5, "b": 0.75} for query in qrels}, "AP P@1")


def _tables(size: int) -> dict[str, pl.LazyFrame]:
    """Some of the tables of a database, as most of them take longer to compute than to write."""
    tables = evaluation(size)._lazy_tables()
    return {name: tables[name].plan() for name in ("images", "detections", "pairs")}


WRITES: dict[str, Callable[[int, Path], object]] = {
    "run": lambda size, at: evaluation(size).write_parquet(at),
    "search": lambda size, at: run_evaluation(size).write_parquet(at),
    "run.duckdb": lambda size, at: write_database(at, _tables(size)),
    "truth.json": lambda size, at: apf.write_coco(evaluation(size).dataset, at),
    "results.json": lambda size, at: apf.write_coco_results(evaluation(size).detections, at),
    "voc": lambda size, at: apf.write_dataset(evaluation(size).dataset, at, "voc"),
    "found.parquet": lambda size, at: apf.write_results(evaluation(size).detections, at, "parquet"),
    "shards": lambda size, at: apf.write_shards(evaluation(size).dataset, evaluation(size).detections, at, 5),
}
NEVER_REPLACED = ("voc", "found.parquet", "shards")


def size_of_run(path: Path) -> int:
    """How many images it is of; all tables that belong together have been read."""
    read = apf.read_evaluation(path)
    assert read.pairs.height == read.detections.height == read.dataset.annotations.height == read.dataset.images.height
    return read.pairs.height


def _size_of_database(path: Path) -> int:
    with duckdb.connect(path, read_only=True) as connection:
        heights = [connection.sql(f"FROM {table}").shape[0] for table in ("images", "detections", "pairs")]
    assert len(set(heights)) == 1
    return int(heights[0])


def _size_of_shards(path: Path) -> int:
    layout = parse_layout((path / "shards.json").read_bytes(), path)
    rows = [pl.read_parquet(path / name / f"{table}.parquet").height for table in SHARD_TABLES for name in layout["shard"]]
    n_images = int(layout["n_images"].sum())
    assert sum(rows) == 3 * n_images
    return n_images


READS: dict[str, Callable[[Path], int]] = {
    "run": size_of_run,
    "search": lambda at: apf.read_run_evaluation(at).per_query.height // 2,
    "run.duckdb": _size_of_database,
    "truth.json": lambda at: apf.read_coco(at).annotations.height,
    "results.json": lambda at: apf.read_coco_results(at).height,
    "voc": lambda at: apf.read_dataset(at).annotations.height,
    "found.parquet": lambda at: apf.read_results(at, "parquet").height,
    "shards": lambda at: _size_of_shards(at),
}
