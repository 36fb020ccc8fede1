"""Make the sets of masks and keypoints of `make bench`, in the form and of the size of COCO's own files.

    python tests/speed/generate_shapes.py masks --out DIR --images 60 --images 5000
    python tests/speed/generate_shapes.py keypoints --out DIR --images 2700

Each number of images is a set, `instances_N.json` and `results_N.json`, drawn from a seeded generator of its own: the same
number and the same NumPy make the same bytes. Results have no `bbox`, with which pycocotools would take its area for the
mask's.

An object is a `Shape`: an ellipse whose radius is a sum of waves, which an annotator traces with some thirty points. Some
objects have two parts, some are crowds. A detector finds them with errors relative to their size, some of them again and
again, and sees more that is not there.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
Row = dict[str, Any]

WIDTH, HEIGHT = 640, 480
SEED = 20_260
WAVES = np.arange(2, 6)  # of a shape's radius, per turn
OBJECTS, DETECTIONS = 7.2, 20  # per image
PERSONS, POSES = 110 / 27, 400 / 27  # likewise, of the keypoints
# name, x from the middle, y from the top (in heights of a standing person), the sigma of OKS: how far annotators differ
PERSON = [
    ("nose", 0.0, 0.09, 0.026), ("left_eye", 0.02, 0.07, 0.025), ("right_eye", -0.02, 0.07, 0.025),
    ("left_ear", 0.04, 0.08, 0.035), ("right_ear", -0.04, 0.08, 0.035),
    ("left_shoulder", 0.1, 0.2, 0.079), ("right_shoulder", -0.1, 0.2, 0.079),
    ("left_elbow", 0.14, 0.35, 0.072), ("right_elbow", -0.14, 0.35, 0.072),
    ("left_wrist", 0.15, 0.48, 0.062), ("right_wrist", -0.15, 0.48, 0.062),
    ("left_hip", 0.07, 0.52, 0.107), ("right_hip", -0.07, 0.52, 0.107),
    ("left_knee", 0.07, 0.73, 0.087), ("right_knee", -0.07, 0.73, 0.087),
    ("left_ankle", 0.07, 0.95, 0.089), ("right_ankle", -0.07, 0.95, 0.089),
]  # fmt: skip


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def draw_images(rng: np.random.Generator, n: int) -> list[Row]:
    """Ids have gaps, as real ones do."""
    ids = np.sort(rng.choice(np.arange(1, 20 * n), size=n, replace=False)).tolist()
    return [{"id": k, "file_name": f"{k:012d}.jpg", "width": WIDTH, "height": HEIGHT} for k in ids]


def draw_places(rng: np.random.Generator, images: list[Row], n: int) -> Array:
    """The positions of n objects' images: a few images stay empty, a few are full."""
    busy = rng.gamma(1.6, size=len(images)) * (rng.random(len(images)) > 0.03)
    return np.sort(rng.choice(len(images), size=n, p=busy / busy.sum()))


@dataclass(frozen=True)
class Shape:
    """Many shapes: a row for each."""

    centre: Array  # (n, 2)
    radii: Array  # (n, 2), before the waves
    waves: Array  # (n, w), relative to the radius
    phases: Array  # (n, w)

    def take(self, rows: Array) -> Shape:
        return Shape(self.centre[rows], self.radii[rows], self.waves[rows], self.phases[rows])

    def seen(self, rng: np.random.Generator, error: Array) -> Shape:
        """As a detector sees them; the error of each is relative to its size."""
        e, size = error[:, None], self.radii.mean(axis=1, keepdims=True)
        return Shape(
            self.centre + rng.normal(0, 1, self.centre.shape) * e * size,
            self.radii * np.exp(rng.normal(0, 1, self.radii.shape) * e),
            self.waves + rng.normal(0, 0.4, self.waves.shape) * e,
            self.phases,
        )

    def outlines(self, rng: np.random.Generator, n: Array) -> list[list[float]]:
        """Each with n points, at which it may be a little off; x, y, x, y … in hundredths of a pixel."""
        points = np.arange(n.max())
        turn = 2 * np.pi * (points + rng.uniform(-0.3, 0.3, (len(n), len(points)))) / n[:, None]
        radius = 1 + sum(
            self.waves[:, [k]] * np.cos(wave * turn + self.phases[:, [k]]) for k, wave in enumerate(WAVES.tolist())
        )
        radius = np.maximum(radius + rng.normal(0, 0.015, turn.shape), 0.25)
        around = np.stack([np.cos(turn), np.sin(turn)], axis=2) * radius[:, :, None]
        xy = np.clip(self.centre[:, None] + self.radii[:, None] * around, 0, [WIDTH, HEIGHT]).round(2)
        return [outline[:k].ravel().tolist() for outline, k in zip(xy, n, strict=True)]


def draw_shapes(rng: np.random.Generator, n: int) -> Shape:
    """Four in ten are small, a quarter large, as COCO's objects are."""
    side = np.clip(rng.lognormal(np.log(42), 1.15, n), 5, 380)
    aspect = np.exp(rng.normal(0, 0.35, n))
    return Shape(
        rng.uniform(0.05, 0.95, (n, 2)) * [WIDTH, HEIGHT],
        np.stack([side * aspect, side / aspect], axis=1) / np.sqrt(np.pi),
        rng.normal(0, 0.22, (n, len(WAVES))) / WAVES,
        rng.uniform(0, 2 * np.pi, (n, len(WAVES))),
    )


def add_parts(rng: np.random.Generator, shapes: Shape, parts: Array) -> Shape:
    """So many parts of each, one after the other: the shape itself, then smaller ones beside it."""
    first = np.cumsum(parts) - parts
    shapes = shapes.take(np.repeat(np.arange(len(parts)), parts))
    further = np.ones(len(shapes.centre), bool)
    further[first] = False
    shift = rng.choice([-1, 1], (len(further), 2)) * rng.uniform(0.6, 1.4, (len(further), 2)) * shapes.radii
    return Shape(
        shapes.centre + shift * further[:, None],
        shapes.radii * np.where(further, rng.uniform(0.4, 0.8, len(further)), 1)[:, None],
        shapes.waves,
        shapes.phases + further[:, None] * rng.uniform(0, 6, shapes.phases.shape),
    )


def rows_of(parts: Array, chosen: Array) -> tuple[Array, Array]:
    """Of the chosen objects, with repetitions: the rows of their parts, and to which of them each belongs."""
    owner = np.repeat(np.arange(len(chosen)), parts[chosen])
    before = np.cumsum(parts[chosen]) - parts[chosen]
    return (np.cumsum(parts) - parts)[chosen][owner] + np.arange(len(owner)) - before[owner], owner


def gather(outlines: list[list[float]], owner: Array, n: int) -> list[list[list[float]]]:
    """The outlines of each of n objects."""
    objects: list[list[list[float]]] = [[] for _ in range(n)]
    for outline, k in zip(outlines, owner.tolist(), strict=True):
        objects[k].append(outline)
    return objects


def encode(polygons: list[list[list[float]]]) -> list[Any]:
    """Compressed run lengths of each object's polygons together."""
    from pycocotools import mask

    return [mask.merge(mask.frPyObjects(outlines, HEIGHT, WIDTH)) for outlines in polygons]


def plain_runs(mask: Array) -> list[int]:
    """The run lengths of a mask, column by column, beginning with the background."""
    flat = mask.ravel(order="F")
    borders = np.flatnonzero(np.diff(flat, prepend=0))
    return np.diff(borders, prepend=0, append=flat.size).tolist()


def draw_masks(n: int) -> tuple[Row, list[Row]]:
    """Ground truth and results of n images."""
    from pycocotools import mask

    rng = np.random.default_rng([SEED, n])
    images = draw_images(rng, n)
    place = draw_places(rng, images, round(OBJECTS * n))
    share = 1 / (np.arange(80) + 4.0)
    category = rng.choice(80, size=len(place), p=share / share.sum())
    crowd = rng.random(len(place)) < 0.01
    parts = np.where(crowd, 5, np.where(rng.random(len(place)) < 0.08, 2, 1))
    shapes = add_parts(rng, draw_shapes(rng, len(place)), parts)
    side = shapes.radii.mean(axis=1) * np.sqrt(np.pi)
    points = np.clip(8 * np.log2(side) - 13 + rng.normal(0, 4, len(side)), 5, 90).astype(int)
    owner = np.repeat(np.arange(len(place)), parts)
    polygons = gather(shapes.outlines(rng, points), owner, len(place))
    codes = encode(polygons)
    areas = np.array([mask.area(code) for code in codes])  # of more than 255 in one call it takes none
    truth = [
        {
            "id": k + 1,
            "image_id": images[place[k]]["id"],
            "category_id": int(category[k]) + 1,
            "segmentation": {"size": [HEIGHT, WIDTH], "counts": plain_runs(mask.decode(codes[k]))} if crowd[k] else polygons[k],
            "area": float(areas[k]),
            "bbox": box,
            "iscrowd": int(crowd[k]),
        }
        for k, box in enumerate(mask.toBbox(codes).tolist())
    ]

    # what is found once, what is found again, and what is not there
    total = DETECTIONS * n
    size = np.sqrt(areas)
    hits = np.flatnonzero(rng.random(len(place)) < sigmoid(1.6 + 0.8 * np.minimum(np.log2(np.maximum(size, 1) / 64), 1)))
    again = rng.choice(len(place), size=total // 3)
    source = np.concatenate([hits, again])[:total]
    first = np.arange(len(source)) < len(hits)
    error = np.where(first, 0.05, 0.22) * rng.lognormal(0, 0.6, len(source)) * (1 + 6 / np.maximum(size[source], 4))
    rows, owner = rows_of(parts, source)
    alarms = total - len(source)
    seen = [
        *gather(shapes.take(rows).seen(rng, error[owner]).outlines(rng, np.full(len(rows), 64)), owner, len(source)),
        *([outline] for outline in draw_shapes(rng, alarms).outlines(rng, np.full(alarms, 64))),
    ]
    confused = rng.random(len(source)) < np.where(first, 0.08, 0.3)
    named = np.where(confused, rng.integers(0, 80, len(source)), category[source])
    score = sigmoid(np.concatenate([1.5 - 9 * error - 1.5 * confused, np.full(alarms, -2.5)]) + rng.normal(0, 0.8, total))
    image = np.concatenate([place[source], rng.integers(0, n, alarms)])
    name = np.concatenate([named, rng.choice(80, size=alarms, p=share / share.sum())])
    results = [
        {
            "image_id": images[image[k]]["id"],
            "category_id": int(name[k]) + 1,
            "segmentation": {"size": [HEIGHT, WIDTH], "counts": code["counts"].decode()},
            "score": round(float(score[k]), 4),
        }
        for k, code in enumerate(encode(seen))
        if mask.area(code)
    ]
    categories = [{"id": k + 1, "name": f"thing {k + 1}", "supercategory": f"kind {k // 5 + 1}"} for k in range(80)]
    return {"images": images, "categories": categories, "annotations": truth}, sorted(results, key=order)


def draw_keypoints(n: int) -> tuple[Row, list[Row]]:
    """Ground truth and results of n images; the only category is the person."""
    rng = np.random.default_rng([SEED, n])
    images = draw_images(rng, n)
    place = draw_places(rng, images, round(PERSONS * n))
    joints = np.array([[x, y] for _, x, y, _ in PERSON])
    sigmas = np.array([sigma for *_, sigma in PERSON])
    tall = np.clip(rng.lognormal(np.log(150), 0.7, len(place)), 15, 460)
    pose = joints * rng.uniform(0.5, 1.5, (len(place), 1, 2)) + rng.normal(0, 0.03, (len(place), *joints.shape))
    corner = rng.uniform([0.05, -0.1], [0.95, 0.8], (len(place), 2)) * [WIDTH, HEIGHT]
    xy = corner[:, None] + tall[:, None, None] * pose
    inside = ((xy >= 0) & (xy < [WIDTH, HEIGHT])).all(axis=2)
    crowd = rng.random(len(place)) < 0.02
    unlabelled = crowd | (rng.random(len(place)) < 0.3)  # also persons that are too small or too far
    state = np.where(inside & ~unlabelled[:, None], rng.choice([0, 1, 2], xy.shape[:2], p=[0.15, 0.15, 0.7]), 0)
    margin = 0.05 * tall[:, None]
    low = np.clip(xy.min(axis=1) - margin, 0, [WIDTH - 8, HEIGHT - 8])
    side = np.clip(xy.max(axis=1) + margin, low + 4, [WIDTH, HEIGHT]) - low
    area = side.prod(axis=1) * rng.uniform(0.4, 0.75, len(place))
    labelled = np.where(state[:, :, None] > 0, xy, 0).round()
    truth = [
        {
            "id": k + 1,
            "image_id": images[place[k]]["id"],
            "category_id": 1,
            "keypoints": np.column_stack([labelled[k], state[k]]).astype(int).ravel().tolist(),
            "num_keypoints": int((state[k] > 0).sum()),
            "area": round(float(area[k]), 2),
            "bbox": [*low[k].round(2).tolist(), *side[k].round(2).tolist()],
            "iscrowd": int(crowd[k]),
        }
        for k in range(len(place))
    ]

    total = round(POSES * n)
    hits = np.flatnonzero(rng.random(len(place)) < sigmoid(2 + np.log2(tall / 150)))
    source = np.concatenate([hits, rng.choice(len(place), size=total // 2)])[:total]
    first = np.arange(len(source)) < len(hits)
    error = np.where(first, 1.2, 4) * rng.lognormal(0, 0.7, len(source))  # in units of how far annotators differ
    off = rng.normal(0, 1, (len(source), *joints.shape)) * error[:, None, None] * sigmas[:, None]
    alarms = total - len(source)
    poses = [
        xy[source] + off * np.sqrt(area[source])[:, None, None],
        rng.uniform(0, 1, (alarms, 1, 2)) * [WIDTH, HEIGHT] + rng.lognormal(4.5, 0.8, (alarms, 1, 1)) * joints,
    ]
    score = sigmoid(np.concatenate([2.5 - 0.7 * error, np.full(alarms, -2.0)]) + rng.normal(0, 0.8, total))
    image = np.concatenate([place[source], rng.integers(0, n, alarms)])
    results = [
        {
            "image_id": images[image[k]]["id"],
            "category_id": 1,
            "keypoints": np.column_stack([points, np.ones(len(points))]).ravel().tolist(),
            "score": round(float(score[k]), 4),
        }
        for k, points in enumerate(np.concatenate(poses).round(2))
    ]
    person = {"id": 1, "name": "person", "supercategory": "person", "keypoints": [name for name, *_ in PERSON]}
    return {"images": images, "categories": [person], "annotations": truth}, sorted(results, key=order)


def order(result: Row) -> tuple[int, float]:
    """By image, the highest score first, as detectors write them."""
    return result["image_id"], -result["score"]


DRAW = {"masks": draw_masks, "keypoints": draw_keypoints}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a set of masks or keypoints for `make bench`.")
    parser.add_argument("kind", choices=DRAW)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--images", type=int, action="append", required=True, help="numbers of images, a set for each")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    for n in options.images:
        truth, results = DRAW[options.kind](n)
        for name, content in (("instances", {"info": {"description": f"{n} images, made"}, **truth}), ("results", results)):
            text = json.dumps(content, separators=(",", ":"))
            (options.out / f"{name}_{n}.json").write_text(text)


if __name__ == "__main__":
    main()
