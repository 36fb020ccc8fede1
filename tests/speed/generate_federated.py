"""Make a set of the shape of LVIS for `make bench`: scenes as in `data/generate.py` with many categories.

    python tests/speed/generate_federated.py --out DIR --images 60

writes `instances_60.json` and `results_60.json`. Of each image some categories are known to be absent and some not annotated
completely, as in LVIS; there are no crowds. The same number and the same NumPy make the same bytes.
"""

from __future__ import annotations

import argparse
import json
import runpy
from pathlib import Path

import numpy as np
import polars as pl

GENERATE = Path(__file__).resolve().parents[2] / "data" / "generate.py"
CATEGORIES, OBJECTS, DETECTIONS = 1203, 12.35, 100  # the latter two per image
ABSENT, INCOMPLETE = 5, 1  # categories of an image, among which there are some that it has


def draw(n_images: int, seed: int = 20_262) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Ground truth, and the detections of one model."""
    generate, rng = runpy.run_path(str(GENERATE)), np.random.default_rng([seed, n_images])
    categories, images = generate["make_categories"](rng, CATEGORIES), generate["make_images"](rng, n_images)
    annotations = generate["make_annotations"](rng, images, categories, int(OBJECTS * n_images), crowds=0.0)
    detections = generate["make_detections"](rng, generate["Model"](), images, categories, annotations, DETECTIONS * n_images)
    seen = annotations.group_by("category_id").agg(pl.col("image_id").n_unique().alias("image_count"))
    n_seen = pl.col("image_count").fill_null(0)
    frequency = pl.when(n_seen > 100).then(pl.lit("f")).when(n_seen > 10).then(pl.lit("c")).otherwise(pl.lit("r"))
    listed = categories.select("id", "name", "supercategory").join(
        seen, left_on="id", right_on="category_id", how="left", maintain_order="left"
    )
    listed = listed.with_columns(n_seen, frequency=frequency)
    present = annotations.group_by("image_id").agg(pl.col("category_id").unique().sort().alias("present"))
    checked = pl.Series("checked", rng.choice(categories["id"].to_numpy(), (n_images, ABSENT)), dtype=pl.List(pl.Int64))
    scenes = images.with_columns(checked).join(present, left_on="id", right_on="image_id", how="left", maintain_order="left")
    none = pl.lit([], dtype=pl.List(pl.Int64))
    scenes = scenes.with_columns(pl.col("present").cast(pl.List(pl.Int64)).fill_null(none)).with_columns(
        neg_category_ids=pl.col("checked").list.set_difference("present").list.sort(),
        not_exhaustive_category_ids=pl.col("present").list.head(INCOMPLETE),
    )
    truth = {"images": scenes.drop("checked", "present"), "categories": listed, "annotations": annotations}
    return truth, detections


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a set of the shape of LVIS.")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--images", type=int, action="append", required=True, help="of one set; several times for several")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for n in options.images:
        truth, detections = draw(n)
        text = json.dumps({name: table.to_dicts() for name, table in truth.items()}, separators=(",", ":"))
        (options.out / f"instances_{n}.json").write_text(text)
        detections.write_json(options.out / f"results_{n}.json")


if __name__ == "__main__":
    main()
