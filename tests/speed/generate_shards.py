"""Make a large data set in shards for `make bench`: street scenes as in `data/generate.py`, drawn one shard at a time.

    python tests/speed/generate_shards.py --images 80000 --categories 365 --annotations 1200000 --detections 5000000
        --n 8 --into DIR

A shard holds a run of whole images and is drawn from a seed of its own, so memory is that of one shard. The same arguments and
the same NumPy and Polars make the same bytes. The layout is that of `apframe shard`.
"""

from __future__ import annotations

import argparse
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

GENERATE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "data" / "generate.py"))
ID_GAP = 20  # `make_images` draws the ids of n images below 20 n
BOX = ("x", "y", "width", "height")


def as_tables(images: pl.DataFrame, annotations: pl.DataFrame, detections: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What `data/generate.py` draws, as canonical tables."""
    box = [pl.col("bbox").list.get(k).alias(name) for k, name in enumerate(BOX)]
    return {
        "images": images.rename({"id": "image_id", "width": "image_width", "height": "image_height"}).select(
            "image_id", "image_width", "image_height", "file_name", "weather", "time_of_day", "camera", "city"
        ),
        "annotations": annotations.select(
            pl.col("id").alias("annotation_id"), "image_id", "category_id", *box, "area",
            (pl.col("iscrowd") == 1).alias("is_crowd"), "occlusion", "truncated",
        ),
        "detections": detections.select(
            pl.int_range(1, pl.len() + 1).alias("detection_id"), "image_id", "category_id", "score", *box
        ).with_columns(area=pl.col("width") * pl.col("height")),
    }  # fmt: skip


def draw_shard(
    rng: np.random.Generator, categories: pl.DataFrame, first: list[int], after: list[int]
) -> dict[str, pl.DataFrame]:
    """The tables of one shard: its images, annotations and detections are those numbered first .. after - 1 of the whole."""
    n_images, n_annotations, n_detections = (end - begin for begin, end in zip(first, after, strict=True))
    images = GENERATE["make_images"](rng, n_images).with_columns(pl.col("id") + ID_GAP * first[0])
    images = images.with_columns(file_name=pl.format("street_{}.jpg", pl.col("id").cast(pl.String).str.zfill(9)))
    annotations = GENERATE["make_annotations"](rng, images, categories, n_annotations)
    model = GENERATE["MODELS"]["model_a"]
    detections = GENERATE["make_detections"](rng, model, images, categories, annotations, n_detections)
    tables = as_tables(images, annotations, detections)
    for name, begin in (("annotation", first[1]), ("detection", first[2])):
        key, dtype = f"{name}_id", pl.UInt32 if after[2] < 2**32 else pl.UInt64
        tables[f"{name}s"] = tables[f"{name}s"].with_columns(
            pl.col(key) + begin, input_row=(pl.col(key) - 1 + begin).cast(dtype)
        )
    return tables


def write_shards(into: Path, numbers: tuple[int, int, int], n_categories: int, n: int, seed: int) -> None:
    """Write n shards that together have so many images, annotations and detections."""
    into.mkdir(parents=True, exist_ok=True)
    categories = GENERATE["make_categories"](np.random.default_rng(seed), n_categories)
    categories.select(pl.col("id").alias("category_id"), "name", "supercategory").write_parquet(into / "categories.parquet")
    sizes: dict[str, Any] = {"n_images": {}, "n_annotations": {}, "n_detections": {}}
    for k in range(n):
        first, after = ([number * step // n for number in numbers] for step in (k, k + 1))
        tables = draw_shard(np.random.default_rng([seed, k]), categories, first, after)
        folder = into / f"{k:05d}"
        folder.mkdir(exist_ok=True)
        for name, table in tables.items():
            table.write_parquet(folder / f"{name}.parquet")
            sizes[f"n_{name}"][folder.name] = table.height
    text = json.dumps({"format": "apframe shards", "format_version": 1, **sizes}, indent=1)
    (into / "shards.json").write_text(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a large data set in shards.")
    parser.add_argument("--into", "--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--images", type=int, required=True)
    parser.add_argument("--categories", type=int, required=True)
    parser.add_argument("--annotations", type=int, required=True)
    parser.add_argument("--detections", type=int, required=True)
    parser.add_argument("--n", type=int, required=True, help="how many shards")
    parser.add_argument("--seed", type=int, default=20_260)
    options = parser.parse_args()
    numbers = options.images, options.annotations, options.detections
    write_shards(options.into, numbers, options.categories, options.n, options.seed)


if __name__ == "__main__":
    main()
