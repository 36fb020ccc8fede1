"""Data sets cut into shards by hand: any image into any shard."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import apframe as apf


def cut(truth: Any, found: Any, shard_of: Sequence[int], folder: Path, *, numbered: bool = True) -> Path:
    """Write shards as `evaluate_shards` reads them; `shard_of` says where each image goes, in the order of their rows."""
    dataset = truth if isinstance(truth, apf.Dataset) else apf.read_coco(truth)
    detections = found if isinstance(found, pl.DataFrame) else apf.read_coco_results(found)
    tables = {"annotations": dataset.annotations, "detections": detections}
    if numbered:
        tables = {name: table.with_row_index("input_row") for name, table in tables.items()}
    folder.mkdir(parents=True)
    dataset.categories.write_parquet(folder / "categories.parquet")
    counts: dict[str, dict[str, int]] = {"n_images": {}, "n_annotations": {}, "n_detections": {}}
    for number in sorted(set(shard_of)):
        part = folder / f"{number:05d}"
        part.mkdir()
        images = dataset.images.filter(pl.Series(shard_of) == number)
        ids = images["image_id"].implode()
        own = {"images": images} | {name: table.filter(pl.col("image_id").is_in(ids)) for name, table in tables.items()}
        for name, table in own.items():
            table.write_parquet(part / f"{name}.parquet")
            counts[f"n_{name}"][part.name] = table.height
    head = {"format": "apframe shards", "format_version": 1}
    (folder / "shards.json").write_text(json.dumps(head | counts))
    return folder
