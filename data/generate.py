"""Make the sample set of street scenes in this folder, and the large sets of `make bench`.

    python data/generate.py                       the sample set, into the folder of this file
    python data/generate.py --out DIR --images 5000 --categories 80 --annotations 35000 --detections 450000

Everything is drawn from one seeded generator: the same arguments and the same NumPy make the same bytes.

A scene is a street: objects are drawn with a size that falls with their distance, an occlusion between 0 and 1, and an
`area` that is, as for real masks, a part of their box. A detector is a `Model`: the chance to find an object falls
with its occlusion and rises with its size; the boxes it draws are off by an error relative to the object's size; some
objects get a second box, some the name of a similar category; the background raises false alarms; and the score knows how
good a detection is, but is surer of itself than it should be.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

# name, supercategory, share of all objects, typical height in pixels, width / height
STREET = [
    ("pedestrian", "person", 0.24, 75, 0.40),
    ("rider", "person", 0.05, 80, 0.50),
    ("worker", "person", 0.02, 75, 0.42),
    ("car", "vehicle", 0.30, 62, 1.50),
    ("van", "vehicle", 0.05, 80, 1.30),
    ("truck", "vehicle", 0.04, 120, 1.40),
    ("bus", "vehicle", 0.02, 140, 1.60),
    ("bicycle", "two-wheeler", 0.07, 55, 1.20),
    ("motorcycle", "two-wheeler", 0.04, 58, 1.20),
    ("scooter", "two-wheeler", 0.02, 52, 0.90),
    ("traffic light", "fixture", 0.06, 34, 0.45),
    ("traffic sign", "fixture", 0.09, 30, 0.95),
]
IMAGE_WIDTH, IMAGE_HEIGHT = 1280, 720


@dataclass(frozen=True)
class Model:
    """How one detector errs; logits unless said otherwise."""

    skill: float = 2.3  # chance to find a large, unoccluded object by day
    occlusion: float = -2.6  # change of that from unoccluded to fully occluded
    size: float = 0.95  # change per doubling of the side, up to 96 pixels
    small: float = 0.0  # further change below 32 x 32 pixels
    night: float = -1.4  # change at night
    jitter: float = 0.055  # error of each box side, relative to the object's side
    duplicates: float = 0.09  # share of found objects with a second box
    confusions: float = 0.08  # share of found objects named as a similar category
    alarms: float = 2.5  # false alarms per image
    overconfidence: float = 1.7  # factor on the logit of what the score should be


MODELS = {"model_a": Model(), "model_b": Model(night=-0.2, small=-0.9, alarms=2.0, jitter=0.05)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def clip_boxes(x: np.ndarray, y: np.ndarray, w: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, ...]:
    """Boxes cut at the image's border and rounded to hundredths of a pixel, as annotation tools store them."""
    left, top = np.clip(x, 0, IMAGE_WIDTH - 4), np.clip(y, 0, IMAGE_HEIGHT - 4)
    right, bottom = np.clip(x + w, left + 3, IMAGE_WIDTH), np.clip(y + h, top + 3, IMAGE_HEIGHT)
    return left.round(2), top.round(2), (right - left).round(2), (bottom - top).round(2)


def make_categories(rng: np.random.Generator, n: int | None) -> pl.DataFrame:
    """The street's twelve categories, or n invented ones with a long tail, five to a supercategory."""
    if n is None:
        frame = pl.DataFrame(STREET, schema=["name", "supercategory", "share", "height", "aspect"], orient="row")
    else:
        share = 1 / (np.arange(n) + 4.0)
        frame = pl.DataFrame(
            {
                "name": [f"thing {k + 1}" for k in range(n)],
                "supercategory": [f"kind {k // 5 + 1}" for k in range(n)],
                "share": share / share.sum(),
                "height": rng.uniform(25, 160, n).round(),
                "aspect": np.exp(rng.normal(0, 0.4, n)).round(2),
            }
        )
    return frame.with_columns(id=pl.int_range(1, pl.len() + 1))


def make_images(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Images with ids that have gaps, as real ones do, and the attributes of a drive."""
    ids = np.sort(rng.choice(np.arange(1, 20 * n), size=n, replace=False))
    city = rng.choice(["Aachen", "Bergen", "Cadiz", "Delft", "Esbjerg"], size=n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    return pl.DataFrame(
        {
            "id": ids,
            "file_name": [f"street_{i:06d}.jpg" for i in ids],
            "width": np.full(n, IMAGE_WIDTH),
            "height": np.full(n, IMAGE_HEIGHT),
            "weather": rng.choice(["clear", "rain", "fog", "snow"], size=n, p=[0.55, 0.25, 0.12, 0.08]),
            "time_of_day": rng.choice(["day", "dusk", "night"], size=n, p=[0.55, 0.15, 0.30]),
            "camera": rng.choice(["front", "left", "right"], size=n, p=[0.6, 0.2, 0.2]),
            "city": city,
        }
    )


def make_annotations(
    rng: np.random.Generator, images: pl.DataFrame, categories: pl.DataFrame, n: int, crowds: float = 0.015
) -> pl.DataFrame:
    """Objects of the scenes; a share of them are crowds: one large box around a group, without an occlusion."""
    # a few images stay empty, a few are full
    busy = rng.gamma(1.6, size=images.height) * (rng.random(images.height) > 0.03)
    image = np.sort(rng.choice(images.height, size=n, p=busy / busy.sum()))
    category = rng.choice(categories.height, size=n, p=categories["share"].to_numpy())
    crowd = rng.random(n) < crowds
    distance = rng.lognormal(0.25, 0.75, n)
    h = categories["height"].to_numpy()[category] / distance * 1.25 * np.where(crowd, 1.6, 1)
    w = h * categories["aspect"].to_numpy()[category] * rng.lognormal(0, 0.18, n) * np.where(crowd, 3.0, 1)
    x = rng.uniform(-0.15, 1.0, n) * IMAGE_WIDTH
    y = IMAGE_HEIGHT * (0.45 + 0.3 / (distance + 0.5)) + rng.normal(0, 40, n) - h / 2
    y, h, w = np.clip(y, 0, IMAGE_HEIGHT - 8), np.clip(h, 5, 650), np.clip(w, 4, 1200)
    bx, by, bw, bh = clip_boxes(x, y, w, h)
    occlusion = np.clip(rng.beta(0.7, 2.0, n), 0, 1).round(2)
    fill = np.clip(rng.normal(0.68, 0.1, n), 0.3, 0.97)
    return pl.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "image_id": images["id"].to_numpy()[image],
            "category_id": categories["id"].to_numpy()[category],
            "bbox": np.stack([bx, by, bw, bh], axis=1),
            "area": (bw * bh * fill).round(2),
            "iscrowd": crowd.astype(np.int8),
            "occlusion": pl.Series(occlusion).set(pl.Series(crowd), None),
            "truncated": (bw < 0.95 * w) | (bh < 0.95 * h),
        },
        schema_overrides={"bbox": pl.List(pl.Float64)},
    )


def make_detections(
    rng: np.random.Generator,
    model: Model,
    images: pl.DataFrame,
    categories: pl.DataFrame,
    annotations: pl.DataFrame,
    n: int | None = None,
) -> pl.DataFrame:
    """What the model finds; with n, false alarms near and far are added, or the lowest scores cut, until it is n."""
    objects = annotations.join(
        images.select(image_id="id", night=pl.col("time_of_day") == "night"), on="image_id", maintain_order="left"
    )
    box = np.stack(objects["bbox"].to_list())
    side = np.sqrt(objects["area"].to_numpy())
    crowd = objects["iscrowd"].to_numpy() == 1
    logit = (
        model.skill
        + model.occlusion * objects["occlusion"].fill_null(0).to_numpy()
        + model.size * np.minimum(np.log2(side / 96), 0)
        + model.small * (side < 32)
        + model.night * objects["night"].to_numpy()
    )
    is_found = rng.random(len(box)) < sigmoid(logit)
    second = is_found & (rng.random(len(box)) < model.duplicates)
    # row numbers of the objects: found ones, their second boxes, and members of crowds
    hit, again = np.flatnonzero(is_found & ~crowd), np.flatnonzero(second & ~crowd)
    member = np.repeat(np.flatnonzero(crowd), rng.integers(2, 6, crowd.sum()))
    near = np.empty(0, np.int64)
    if n is not None:
        near = rng.choice(len(box), size=int(0.4 * max(n - len(hit) - len(again) - len(member), 0)))
    source = np.concatenate([hit, again, member, near])
    kind = np.repeat([0, 1, 2, 3], [len(hit), len(again), len(member), len(near)])

    spread = model.jitter * np.array([1.0, 2.2, 1.0, 6.0])[kind] * (1 + 12 / side[source])
    error = rng.normal(0, 1, (len(source), 4)) * spread[:, None]
    x, y, w, h = box[source].T
    part = np.where(kind == 2, rng.uniform(0.15, 0.3, len(source)), 1)  # one of a crowd is a part of its width
    x = x + rng.random(len(source)) * (1 - part) * w
    w = w * part
    x, y, w, h = x + error[:, 0] * w, y + error[:, 1] * h, w * np.exp(error[:, 2]), h * np.exp(error[:, 3])

    super_of = categories["supercategory"].rank("dense").to_numpy()
    category = objects["category_id"].to_numpy()[source] - 1
    similar = rng.integers(0, categories.height, len(source))
    confused = (rng.random(len(source)) < np.where(kind == 3, 0.6, model.confusions)) & (
        (super_of[similar] == super_of[category]) | (kind == 3)
    )
    category = np.where(confused, similar, category)
    quality = logit[source] - 14 * np.abs(error).mean(axis=1) - np.array([0, 1.8, 1.5, 3.0])[kind] - 1.2 * confused

    alarms = rng.poisson(model.alarms, images.height).sum() if n is None else max(n - len(source), 0)
    at = rng.integers(0, images.height, alarms)
    ah = rng.lognormal(3.6, 0.8, alarms)
    aw = ah * rng.lognormal(0, 0.5, alarms)
    ax, ay = rng.uniform(0, IMAGE_WIDTH, alarms), rng.uniform(0.2, 0.9, alarms) * IMAGE_HEIGHT
    ac = rng.choice(categories.height, size=alarms, p=categories["share"].to_numpy())
    aq = rng.normal(-2.2, 0.9, alarms)

    boxes = clip_boxes(*(np.concatenate(pair) for pair in ((x, ax), (y, ay), (w, aw), (h, ah))))
    score = sigmoid(model.overconfidence * (np.concatenate([quality, aq]) + rng.normal(0, 0.7, len(source) + alarms)))
    frame = pl.DataFrame(
        {
            "image_id": np.concatenate([objects["image_id"].to_numpy()[source], images["id"].to_numpy()[at]]),
            "category_id": categories["id"].to_numpy()[np.concatenate([category, ac])],
            "bbox": np.stack(boxes, axis=1),
            "score": score.round(4),
        },
        schema_overrides={"bbox": pl.List(pl.Float64)},
    )
    frame = frame.filter(pl.col("score") >= 0.001) if n is None else frame.top_k(n, by="score")
    return frame.sort("image_id", pl.col("score"), descending=[False, True], maintain_order=True)


def write_ground_truth(
    path: Path, images: pl.DataFrame, categories: pl.DataFrame, annotations: pl.DataFrame, description: str
) -> None:
    parts = {
        "images": images,
        "categories": categories.select("id", "name", "supercategory"),
        "annotations": annotations,
    }
    with path.open("w") as file:
        file.write(f'{{"info":{{"description":"{description}"}}')
        for name, frame in parts.items():
            file.write(f',\n"{name}":')
            frame.write_json(file)
        file.write("}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample set, or a large set for `make bench`.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "street", help="the folder to write")
    parser.add_argument("--seed", type=int, default=20_260)
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--categories", type=int, help="invented categories in place of the street's twelve")
    parser.add_argument("--annotations", type=int, default=2_400)
    parser.add_argument("--detections", type=int, action="append", help="exact numbers, one results file for each")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    categories = make_categories(rng, options.categories)
    images = make_images(rng, options.images)
    annotations = make_annotations(rng, images, categories, options.annotations)
    write_ground_truth(
        options.out / "instances.json", images, categories, annotations, "apframe sample data, made by generate.py"
    )
    if options.detections is None:
        for name, model in MODELS.items():
            make_detections(rng, model, images, categories, annotations).write_json(options.out / f"{name}.json")
    else:
        for n in options.detections:
            detections = make_detections(rng, Model(), images, categories, annotations, n)
            detections.write_json(options.out / f"detections_{n}.json")


if __name__ == "__main__":
    main()
