"""A made-up set of relations and phrases in COCO's JSON: `python data/generate_relations.py`.

There is no picture. Rare relations are found less often, and model B finds more of them. Phrases of several people are harder
than those of one thing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
RELATIONS = {"on": 0.4, "wearing": 0.25, "holding": 0.15, "riding": 0.12, "behind": 0.08}
CLASSES = ("man", "woman", "horse", "bike", "hat", "table")
KINDS = ("people", "clothing", "scene")


def rounded(values: Any) -> list[int]:
    return [round(float(value)) for value in values]


def some_box(rng: np.random.Generator) -> list[int]:
    return rounded([*rng.uniform(0, 400, 2), *rng.uniform(20, 200, 2)])


def near(rng: np.random.Generator, box: list[int], by: float) -> list[int]:
    """The box, off by a share of its sides."""
    x, y, width, height = box
    a, b, c, d = rng.normal(0, by, 4)
    return rounded([x + a * width, y + b * height, width * np.exp(c), height * np.exp(d)])


def relation(image: int, kind: int, names: Any, boxes: list[list[int]]) -> Row:
    row: Row = {"image_id": image, "category_id": kind + 1}
    for side, name, box in zip(("subject", "object"), names, boxes, strict=True):
        row |= {f"{side}_name": str(name)}
        row |= {f"{side}_{edge}": value for edge, value in zip(("x", "y", "width", "height"), box, strict=True)}
    return row


def score(rng: np.random.Generator, mean: float) -> float:
    return round(float(np.clip(rng.normal(mean, 0.15), 0.01, 0.99)), 4)


def relations(rng: np.random.Generator) -> dict[str, Any]:
    shares = np.array([*RELATIONS.values()])
    images = [{"id": k, "width": 640, "height": 640, "place": ("indoors", "outdoors")[k % 2]} for k in range(1, 33)]
    truth: list[Row] = []
    results: dict[str, list[Row]] = {"model_a": [], "model_b": []}
    for image in range(1, 33):
        for _ in range(rng.integers(0, 8)):
            kind, names = int(rng.choice(len(shares), p=shares)), rng.choice(CLASSES, 2)
            boxes = [some_box(rng), some_box(rng)]
            truth.append({"id": len(truth) + 1, **relation(image, kind, names, boxes)})
            for rows, easy in zip(results.values(), (1.5 * shares[kind] + 0.2, 0.55), strict=True):
                if rng.random() < easy:
                    rows.append(relation(image, kind, names, [near(rng, box, 0.1) for box in boxes]))
                    rows[-1]["score"] = score(rng, easy)
        for rows in results.values():
            for _ in range(rng.poisson(24)):
                kind, names = int(rng.choice(len(shares), p=shares)), rng.choice(CLASSES, 2)
                rows.append(relation(image, kind, names, [some_box(rng), some_box(rng)]) | {"score": score(rng, 0.45)})
    categories = [{"id": number, "name": name} for number, name in enumerate(RELATIONS, 1)]
    return {"truth": {"images": images, "categories": categories, "annotations": truth}, **results}


def phrases(rng: np.random.Generator) -> dict[str, Any]:
    images, truth, detections = [], [], []
    for phrase in range(1, 61):
        kind = KINDS[phrase % 3]
        images.append({"id": phrase, "width": 640, "height": 640, "kind": kind})
        boxes = [some_box(rng) for _ in range(rng.integers(1, 4) if kind == "people" else 1)]
        for box in boxes:
            truth.append({"id": len(truth) + 1, "image_id": phrase, "category_id": 1, "bbox": box})
        for _ in range(rng.integers(4, 12)):
            box = near(rng, boxes[rng.integers(len(boxes))], 0.15) if rng.random() < 0.35 else some_box(rng)
            detections.append({"image_id": phrase, "category_id": 1, "bbox": box, "score": score(rng, 0.5)})
    of_truth = {"images": images, "categories": [{"id": 1, "name": "phrase"}], "annotations": truth}
    return {"phrases": of_truth, "phrases_found": detections}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "relations")
    folder = parser.parse_args().out
    folder.mkdir(parents=True)
    rng = np.random.default_rng(9)
    for name, content in (relations(rng) | phrases(rng)).items():
        rows = json.dumps(content, separators=(",", ":")).replace("},{", "},\n{")
        (folder / f"{name}.json").write_text(rows + "\n")


if __name__ == "__main__":
    main()
