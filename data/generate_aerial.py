"""A made-up set of aerial images in the files of VisDrone and DOTA: `python data/generate_aerial.py`. There is no picture.

Small objects are missed more often. VisDrone's set has ignored regions, and results that are not sorted by score.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

CARS, WALKERS = 4, 1
SHARES = {CARS: 0.6, WALKERS: 0.3, 9: 0.02, 10: 0.03, 11: 0.05}  # of car, pedestrian, bus, motor, others
SHIPS = ("ship", "large-vehicle", "plane")


def score(rng: np.random.Generator, mean: float) -> float:
    return round(float(np.clip(rng.normal(mean, 0.15), 0.02, 0.99)), 4)


def write(folder: Path, files: dict[str, list[str]]) -> None:
    folder.mkdir(parents=True)
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def visdrone(folder: Path, rng: np.random.Generator) -> None:
    truth: dict[str, list[str]] = {}
    detections: dict[str, list[str]] = {}
    for image in range(1, 41):
        lines, results = [], []
        for category in rng.choice(list(SHARES), rng.integers(4, 20), p=list(SHARES.values())).tolist():
            size = {CARS: 50, 9: 90, 10: 13}.get(category, 22) * rng.uniform(0.6, 1.5)
            box = np.rint([*rng.uniform(0, (1250, 680)), size * rng.uniform(0.8, 1.4), size]).astype(int)
            counts = int(category != 11 and rng.random() > 0.04)
            lines.append(",".join(map(str, [*box, counts, category, 0, rng.integers(0, 3)])))
            if rng.random() < 0.95 - 9 / size:
                moved = np.rint(box + rng.normal(0, 0.06, 4) * size).astype(int).clip(1)
                results.append(",".join(map(str, [*moved, score(rng, 0.7), CARS if category == 11 else category, -1, -1])))
        if rng.random() < 0.4:
            region = [*rng.integers(0, (900, 400)), *rng.integers(150, 350, 2)]
            lines.append(",".join(map(str, [*region, 0, 0, 0, 0])))
            for _ in range(rng.poisson(3)):
                box = [*(np.array(region[:2]) + rng.integers(0, 120, 2)), *rng.integers(20, 40, 2)]
                results.append(",".join(map(str, [*box, score(rng, 0.5), CARS, -1, -1])))
        for _ in range(rng.poisson(2)):
            box = [*rng.integers(0, (1250, 680)), *rng.integers(15, 60, 2)]
            results.append(",".join(map(str, [*box, score(rng, 0.35), int(rng.choice([CARS, WALKERS])), -1, -1])))
        name = f"{image:07}_d"
        truth[name], detections[name] = lines, rng.permutation(results).tolist()
    write(folder / "annotations", truth)
    write(folder / "results", detections)


def dota(folder: Path, rng: np.random.Generator) -> None:
    truth: dict[str, list[str]] = {}
    detections: dict[str, list[str]] = {f"Task1_{name}": [] for name in SHIPS}
    for image in range(1, 21):
        lines = ["imagesource:made", "gsd:0.3"]
        for name in rng.choice(SHIPS, rng.integers(3, 12), p=[0.5, 0.4, 0.1]).tolist():
            length = rng.uniform(20, 70)
            sides, centre, angle = (
                np.array([length, length * rng.uniform(0.3, 0.6)]),
                rng.uniform(50, 950, 2),
                rng.uniform(0, 3),
            )
            difficult = int(length < 30 and rng.random() < 0.5)
            lines.append(" ".join([*corners(centre, sides, angle), name, str(difficult)]))
            if rng.random() < 1 - 9 / length:
                moved = corners(
                    centre + rng.normal(0, 0.05, 2) * length, sides * rng.normal(1, 0.06, 2), angle + rng.normal(0, 0.1)
                )
                detections[f"Task1_{name}"].append(" ".join([f"P{image:04}", str(score(rng, 0.75)), *moved]))
        for name in rng.choice(SHIPS, rng.poisson(1)).tolist():
            stray = corners(rng.uniform(50, 950, 2), rng.uniform(15, 50, 2), rng.uniform(0, 3))
            detections[f"Task1_{name}"].append(" ".join([f"P{image:04}", str(score(rng, 0.35)), *stray]))
        truth[f"P{image:04}"] = lines
    write(folder / "labelTxt", truth)
    write(folder / "results", detections)


def corners(centre: np.ndarray, sides: np.ndarray, angle: float) -> list[str]:
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    at = centre + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * sides / 2) @ turn
    return [f"{value:.1f}" for value in at.ravel()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "aerial")
    folder = parser.parse_args().out
    for number, make in enumerate((visdrone, dota)):
        make(folder / make.__name__, np.random.default_rng(number))


if __name__ == "__main__":
    main()
