"""Make the sets of faces, actions and segments of `make bench`, of the sizes of the benchmarks' own.

    python tests/speed/generate_fields.py faces --out DIR --images 3226
    python tests/speed/generate_fields.py actions --out DIR --images 60000
    python tests/speed/generate_fields.py segments --out DIR --images 5000

Each number of images is a set of its own, drawn from a seeded generator: the same number and the same NumPy make the same.
Faces and actions are three Parquet files, `KIND_images_N`, `KIND_annotations_N` and `KIND_detections_N`, with the columns that
apframe reads. Segments are two files in the form of COCO's panoptic ones, `segments_truth_N.json` and `segments_found_N.json`,
with their folders of PNGs of 640 × 480 pixels.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image

Array = np.ndarray

SEED = 20_262
WIDTH, HEIGHT = 640, 480
SIDE = 1_000  # of an image with faces or actions
FACES, FOUND_FACES = 39_697 / 3_226, 1_000_000 / 3_226  # per image
ACTIONS, FOUND_ACTIONS, N_ACTIONS = 4, 2_000_000 / 60_000, 60
N_THINGS, N_CATEGORIES = 80, 133
OBJECTS = 11  # segments in an image, over some stuff


def boxes(rng: np.random.Generator, n: int) -> Array:
    """Boxes as x, y, width, height."""
    return np.concatenate([rng.uniform(0, 0.9 * SIDE, (n, 2)), rng.uniform(8, 120, (n, 2))], axis=1)


def around(rng: np.random.Generator, of: Array) -> Array:
    """Boxes as a detector finds them: with errors in proportion to their sides."""
    sides = of[:, 2:]
    moved = of[:, :2] + rng.normal(0, 0.12, sides.shape) * sides
    return np.concatenate([moved, sides * np.exp(rng.normal(0, 0.15, sides.shape))], axis=1)


def table(images: Array, columns: Array, further: dict[str, Array]) -> pl.DataFrame:
    return pl.DataFrame({"image_id": images} | dict(zip(("x", "y", "width", "height"), columns.T, strict=True)) | further)


def of_boxes(kind: str, n_images: int, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """The tables of faces or of actions."""
    per_image, found_per_image, n_categories = {
        "faces": (FACES, FOUND_FACES, 1),
        "actions": (ACTIONS, FOUND_ACTIONS, N_ACTIONS),
    }[kind]
    n, n_found = round(n_images * per_image), round(n_images * found_per_image)
    image, category, truth = np.sort(rng.integers(n_images, size=n)), rng.integers(n_categories, size=n), boxes(rng, n)
    seen = np.flatnonzero(rng.random(n) < 0.9)
    rest = n_found - len(seen)
    rows = np.concatenate([around(rng, truth[seen]), boxes(rng, rest)])
    at = np.concatenate([image[seen], rng.integers(n_images, size=rest)])
    of = np.concatenate([category[seen], rng.integers(n_categories, size=rest)])
    score = np.concatenate([rng.beta(5, 2, len(seen)), rng.beta(1, 6, rest)])
    order = np.lexsort((-score, at))
    further: dict[str, Array] = {}
    if kind == "faces":
        hard = rng.random(n) < 0.8
        medium = hard & (rng.random(n) < 0.5)
        further = {"easy": medium & (rng.random(n) < 0.5), "medium": medium, "hard": hard}
    return {
        "images": pl.DataFrame({"image_id": np.arange(n_images)}),
        "annotations": table(image, truth, {"category_id": category + 1, **further}),
        "detections": table(at[order], rows[order], {"category_id": of[order] + 1, "score": score[order]}),
    }


def draw_segments(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Two label maps of ellipses over stripes, whose numbers are those of segments from 1 on, and the categories of all."""
    y, x = np.ogrid[:HEIGHT, :WIDTH]
    below = np.stack([y, (y + int(rng.integers(-20, 20))).clip(0, HEIGHT - 1)])
    ids, found = np.repeat((1 + below * 3 // HEIGHT).astype(np.uint8), WIDTH, axis=2)
    for number in range(4, 4 + OBJECTS):
        centre, radii = rng.uniform((0, 0), (HEIGHT, WIDTH)), rng.uniform(15, 110, 2)
        for labels, shift in ((ids, 0.0), (found, 0.15)):
            (cy, cx), (ry, rx) = centre + rng.normal(0, shift, 2) * radii, radii * np.exp(rng.normal(0, shift, 2))
            rows, columns = slice(max(0, int(cy - ry)), int(cy + ry) + 1), slice(max(0, int(cx - rx)), int(cx + rx) + 1)
            labels[rows, columns][((y[rows] - cy) / ry) ** 2 + ((x[:, columns] - cx) / rx) ** 2 <= 1] = number
    categories = np.append(rng.integers(N_THINGS, N_CATEGORIES, 3), rng.integers(0, N_THINGS, OBJECTS)) + 1
    return ids, found, categories


def write_segments(folder: Path, n_images: int, rng: np.random.Generator) -> None:
    sides: dict[str, list[Any]] = {"truth": [], "found": []}
    for name in sides:
        (folder / f"segments_{name}_{n_images}").mkdir(parents=True, exist_ok=True)
    for image in range(n_images):
        *maps, categories = draw_segments(rng)
        for (name, rows), ids in zip(sides.items(), maps, strict=True):
            Image.fromarray(np.stack([ids, 0 * ids, 0 * ids], axis=-1)).save(
                folder / f"segments_{name}_{n_images}" / f"{image:06}.png", compress_level=1
            )
            segments = [
                {"id": number, "category_id": int(categories[number - 1]), "area": area, "iscrowd": 0}
                for number, area in enumerate(np.bincount(ids.ravel()).tolist())
                if area
            ]
            rows.append({"image_id": image, "file_name": f"{image:06}.png", "segments_info": segments})
    head = {
        "images": [{"id": k, "file_name": f"{k:06}.jpg", "width": WIDTH, "height": HEIGHT} for k in range(n_images)],
        "categories": [{"id": k + 1, "name": f"category {k + 1}", "isthing": int(k < N_THINGS)} for k in range(N_CATEGORIES)],
    }
    for (name, rows), further in zip(sides.items(), (head, {}), strict=True):
        (folder / f"segments_{name}_{n_images}.json").write_text(json.dumps(further | {"annotations": rows}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("faces", "actions", "segments"))
    parser.add_argument("--images", type=int, action="append", required=True, metavar="N", help="may be given again")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for n_images in options.images:
        rng = np.random.default_rng([SEED, n_images])
        if options.kind == "segments":
            write_segments(options.out, n_images, rng)
        else:
            for name, rows in of_boxes(options.kind, n_images, rng).items():
                rows.write_parquet(options.out / f"{options.kind}_{name}_{n_images}.parquet")


if __name__ == "__main__":
    main()
