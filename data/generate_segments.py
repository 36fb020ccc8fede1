"""Make the sample set of panoptic and semantic segmentation in the folder `segments` beside this file.

    python data/generate_segments.py               the sample set
    python data/generate_segments.py --out DIR     the same, elsewhere

Everything is drawn from one seeded generator: the same NumPy makes the same pixels.

A street as a camera ahead sees it: sky, buildings and road, and cars and people in front of them; some of the people are
crowds, and some pixels have no label. `panoptic` has the ground truth and two models as COCO's panoptic format does,
`semantic` the classes of the same pixels as folders of label maps, 255 where there is none. Model A loses small things, model B
draws their outlines badly, and both are worse at night.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CLASSES = [("car", 1), ("person", 1), ("road", 0), ("building", 0), ("sky", 0)]
HEIGHT, WIDTH, N_IMAGES = 64, 96, 20
VOID = 255
Segments = dict[int, dict[str, Any]]
Side = tuple[np.ndarray, Segments]


def scene(rng: np.random.Generator) -> Side:
    """The numbers of the segments, and the segments by number: category_id, iscrowd."""
    ids = np.zeros((HEIGHT, WIDTH), dtype=np.int64)
    segments: Segments = {}

    def put(category: int, where: np.ndarray, crowd: bool = False) -> None:
        number = int(rng.integers(1, 1 << 24))
        ids[where] = number
        segments[number] = {"category_id": category, "iscrowd": int(crowd)}

    y, x = np.mgrid[:HEIGHT, :WIDTH]
    horizon = rng.integers(24, 34)
    roofs = rng.integers(6, horizon - 6, WIDTH // 12)[x[0] // 12]
    put(5, y < horizon)
    put(4, (y < horizon) & (y >= roofs))
    put(3, y >= horizon)
    for _ in range(rng.integers(2, 8)):
        is_car = rng.random() < 0.6
        bottom = rng.integers(horizon + 2, HEIGHT)
        scale = 0.4 + (bottom - horizon) / (HEIGHT - horizon)
        half = (10 * scale, 5 * scale) if is_car else (2.5 * scale, 6 * scale)
        crowd = not is_car and rng.random() < 0.15
        half = (half[0] * 4, half[1]) if crowd else half
        left = rng.integers(0, WIDTH)
        put(1 if is_car else 2, ((x - left) / half[0]) ** 2 + ((y - bottom + half[1]) / half[1]) ** 2 < 1, crowd)
    for _ in range(2):
        top, left = rng.integers(0, HEIGHT - 6), rng.integers(0, WIDTH - 10)
        ids[top : top + 6, left : left + 10] = 0
    return ids, {number: segment for number, segment in segments.items() if (ids == number).any()}


def found(rng: np.random.Generator, truth: tuple[np.ndarray, Segments], lost: float, blur: float) -> Side:
    """What a model finds: things are lost the more often the smaller they are, and all outlines are shaken."""
    ids, segments = truth
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rows = np.clip(y + np.rint(rng.normal(0, blur, ids.shape)).astype(int), 0, HEIGHT - 1)
    columns = np.clip(x + np.rint(rng.normal(0, blur, ids.shape)).astype(int), 0, WIDTH - 1)
    seen, made = ids[rows, columns], {}
    result = np.zeros_like(ids)
    background = max((number for number in segments if segments[number]["category_id"] == 3), default=0)
    renamed: dict[int, int] = {}
    for number, segment in segments.items():
        size, category = int((seen == number).sum()), segment["category_id"]
        is_lost = category < 3 and rng.random() < lost * min(1.0, 60 / max(size, 1))
        own = background if is_lost else number
        renamed.setdefault(own, int(rng.integers(1, 1 << 24)))
        result[seen == number] = renamed[own]
        if not is_lost:
            other = 3 - category if category < 3 and rng.random() < 0.06 else category
            made[renamed[own]] = {"category_id": other}
    result[(seen == 0) & (background in renamed)] = renamed.get(background, 0)
    return result, {number: segment for number, segment in made.items() if (result == number).any()}


def write_panoptic(folder: Path, name: str, images: list[Side], further: dict[str, Any]) -> None:
    """The JSON and the PNGs of one side."""
    (folder / name).mkdir(parents=True)
    annotations = []
    for k, (ids, segments) in enumerate(images, 1):
        colors = np.stack([ids % 256, ids // 256 % 256, ids // 65536], axis=-1).astype(np.uint8)
        Image.fromarray(colors).save(folder / name / f"{k:03}.png", optimize=True)
        listed = [{"id": number, **segment} for number, segment in segments.items()]
        if further:
            listed = [row | {"area": int((ids == row["id"]).sum())} for row in listed]
        annotations.append({"image_id": k, "file_name": f"{k:03}.png", "segments_info": listed})
    (folder / f"{name}.json").write_text(json.dumps(further | {"annotations": annotations}))


def write_semantic(folder: Path, images: list[Side]) -> None:
    """The label maps of one side: classes from 0 on; crowds are of their class."""
    folder.mkdir(parents=True)
    for k, (ids, segments) in enumerate(images, 1):
        labels = np.full(ids.shape, VOID, dtype=np.uint8)
        for number, segment in segments.items():
            labels[ids == number] = segment["category_id"] - 1
        Image.fromarray(labels).save(folder / f"{k:03}.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "segments")
    folder: Path = parser.parse_args().out
    rng = np.random.default_rng(20)
    truth = [scene(rng) for _ in range(N_IMAGES)]
    at_night = [k % 3 == 0 for k in range(N_IMAGES)]
    sides = {"truth": truth}
    for name, lost, blur in (("model_a", 0.5, 0.45), ("model_b", 0.2, 0.8)):
        sides[name] = [
            found(rng, each, lost * (1.5 if night else 1), blur * (1.5 if night else 1))
            for each, night in zip(truth, at_night, strict=True)
        ]
    images = [
        {"id": k, "file_name": f"{k:03}.jpg", "width": WIDTH, "height": HEIGHT, "time_of_day": "night" if night else "day"}
        for k, night in enumerate(at_night, 1)
    ]
    categories = [{"id": k, "name": name, "isthing": thing} for k, (name, thing) in enumerate(CLASSES, 1)]
    for name, side in sides.items():
        further: dict[str, Any] = {"images": images, "categories": categories} if name == "truth" else {}
        write_panoptic(folder / "panoptic", name, side, further)
        write_semantic(folder / "semantic" / name, side)
    (folder / "semantic" / "truth" / "classes.txt").write_text("".join(f"{name}\n" for name, _ in CLASSES))


if __name__ == "__main__":
    main()
