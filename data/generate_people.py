"""A made-up set of people and faces in the files of CityPersons, WIDER FACE and CrowdHuman: `python data/generate_people.py`.

There is no picture. Small, hidden and crowded people are missed more often, and model B misses fewer of the hidden ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

Row = dict[str, Any]
CITIES = ("frankfurt", "lindau", "munster")
EVENTS = ("0--Parade", "1--Handshaking", "2--Demonstration")
SETS = ("easy", "medium", "hard")


def rounded(values: Any) -> list[float]:
    return [round(float(value), 1) for value in values]


def shifted(rng: np.random.Generator, box: list[float], by: float) -> list[float]:
    """The box, off by a share of its sides."""
    x, y, width, height = box
    a, b, c, d = rng.normal(0, by, 4)
    return rounded([x + a * width, y + b * height, width * np.exp(c), height * np.exp(d)])


def score(rng: np.random.Generator, mean: float) -> float:
    return round(float(np.clip(rng.normal(mean, 0.15), 0.02, 0.99)), 4)


def citypersons(folder: Path, rng: np.random.Generator) -> None:
    images, people = [], []
    detections: dict[str, list[Row]] = {"a": [], "b": []}
    for image in range(1, 61):
        city = CITIES[image % 3]
        images.append({"id": image, "im_name": f"{city}_{image:06}.png", "city": city, "width": 2048, "height": 1024})
        for _ in range(rng.integers(0, 7)):
            height = float(np.clip(rng.lognormal(4.4, 0.5), 18, 400))
            box = rounded([rng.uniform(0, 1900), rng.uniform(200, 500), 0.41 * height, height])
            share = round(float(rng.choice([1.0, rng.uniform(0.65, 1), rng.uniform(0.2, 0.65)], p=[0.4, 0.3, 0.3])), 3)
            visible = [*box[:3], round(share * box[3], 1)]
            people.append({"id": len(people) + 1, "image_id": image, "category_id": 1, "iscrowd": 0,
                           "ignore": int(rng.random() < 0.12), "bbox": box, "vis_bbox": visible, "height": box[3],
                           "vis_ratio": share})  # fmt: skip
            for name, hidden in (("a", 1.0), ("b", 0.5)):
                seen = 0.97 - hidden * 0.7 * (1 - share) - 20 / height
                if rng.random() < seen:
                    row = {"image_id": image, "category_id": 1, "bbox": shifted(rng, box, 0.05), "score": score(rng, seen)}
                    detections[name].append(row)
        for rows, mean in zip(detections.values(), (0.35, 0.4), strict=True):
            for _ in range(rng.poisson(0.6)):
                height = float(rng.uniform(30, 200))
                box = rounded([rng.uniform(0, 1900), rng.uniform(200, 500), 0.41 * height, height])
                rows.append({"image_id": image, "category_id": 1, "bbox": box, "score": score(rng, mean)})
    truth = {"images": images, "categories": [{"id": 1, "name": "pedestrian"}], "annotations": people}
    for name, rows in {"val": truth, **detections}.items():
        (folder / f"walkers_{name}.json").write_text(json.dumps(rows) + "\n")


def cells(values: list[Any]) -> np.ndarray:
    """A cell array of MATLAB."""
    array = np.empty((len(values), 1), dtype=object)
    for place, value in enumerate(values):
        array[place, 0] = value
    return array


def faces(folder: Path, rng: np.random.Generator) -> None:
    folder = folder / "faces"
    files, boxes, inside = [], [], {name: [] for name in SETS}
    for number, event in enumerate(EVENTS):
        names = [f"{number}_{event.split('--')[1]}_{k}" for k in range(1, 11)]
        of_event, sets = [], {name: [] for name in SETS}
        (folder / "results" / event).mkdir(parents=True)
        for name in names:
            sides = np.clip(rng.lognormal(3.0, 0.8, rng.integers(1, 9)), 5, 200).round()
            lefts, tops = rng.uniform(0, 900, len(sides)).round(), rng.uniform(0, 600, len(sides)).round()
            squares = np.stack([lefts, tops, sides, sides], 1)
            of_event.append(squares)
            for set_name, least in zip(SETS, (40, 18, 9), strict=True):
                sets[set_name].append(np.flatnonzero(sides >= least)[:, None] + 1)
            rows = [[*shifted(rng, face.tolist(), 0.06), score(rng, 0.95 - 6 / face[2])]
                    for face in squares if rng.random() < 1.02 - 5 / face[2]]  # fmt: skip
            rows += [[*rounded([*rng.uniform(0, 600, 2), 25, 25]), score(rng, 0.3)] for _ in range(rng.poisson(1))]
            rows.sort(key=lambda row: -row[-1])
            lines = [name, str(len(rows)), *(" ".join(f"{value:g}" for value in row) for row in rows)]
            (folder / "results" / event / f"{name}.txt").write_text("\n".join(lines) + "\n")
        files.append(cells(names))
        boxes.append(cells(of_event))
        for set_name, lists in sets.items():
            inside[set_name].append(cells(lists))
    truth = folder / "ground_truth"
    truth.mkdir()
    whole = {"event_list": cells(list(EVENTS)), "file_list": cells(files), "face_bbx_list": cells(boxes)}
    savemat(truth / "wider_face_val.mat", whole, do_compression=True)
    for name, lists in inside.items():
        savemat(truth / f"wider_{name}_val.mat", {"gt_list": cells(lists)}, do_compression=True)


def crowdhuman(folder: Path, rng: np.random.Generator) -> None:
    truth, results = [], []
    for image in range(1, 21):
        people, detections = [], []
        x = rng.uniform(-20, 60)
        for _ in range(rng.integers(3, 12)):
            height = float(rng.uniform(150, 400))
            box = rounded([x, rng.uniform(100, 250), 0.4 * height, height])
            x += rng.uniform(0.3, 1.2) * box[2]
            tag = "mask" if rng.random() < 0.1 else "person"
            people.append({"tag": tag, "fbox": box, "vbox": [*box[:3], round(0.8 * box[3], 1)], "hbox": [*box[:2], 30, 30],
                           "extra": {"ignore": int(rng.random() < 0.05)}})  # fmt: skip
            if rng.random() < 0.8:
                detections.append({"box": shifted(rng, box, 0.06), "score": score(rng, 0.75), "tag": 1})
        detections += [{"box": rounded([*rng.uniform(0, 600, 2), 80, 200]), "score": score(rng, 0.3), "tag": 1}
                       for _ in range(rng.poisson(1.5))]  # fmt: skip
        name = f"{image:06},made"
        truth.append({"ID": name, "gtboxes": people})
        results.append({"ID": name, "width": 1280, "height": 720, "dtboxes": detections, "gtboxes": people})
    for name, records in (("val", truth), ("results", results)):
        (folder / f"crowd_{name}.odgt").write_text("".join(json.dumps(record) + "\n" for record in records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "people")
    folder = parser.parse_args().out
    folder.mkdir(parents=True)
    for number, make in enumerate((citypersons, faces, crowdhuman)):
        make(folder, np.random.default_rng(number))


if __name__ == "__main__":
    main()
