"""A made-up set of scans with nodules in the files of LUNA16: `python data/generate_medical.py`.

There is no scan. Small nodules are missed more often, and model B misses fewer of them but has more false marks.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

PLACES = "seriesuid,coordX,coordY,coordZ,"


def luna16(folder: Path, rng: np.random.Generator) -> None:
    names = [f"1.3.6.1.4.1.14519.{number}" for number in range(1001, 1041)]
    rows: dict[str, list[str]] = {"annotations": [], "annotations_excluded": []}
    detections: dict[str, list[str]] = {"model_a": [], "model_b": []}
    for name in names:
        for _ in range(rng.integers(0, 6)):
            centre, diameter = rng.uniform(-120, 120, 3), float(np.clip(rng.lognormal(2.0, 0.4), 3, 30))
            is_excluded = rng.random() < 0.3
            at = f"{name},{','.join(f'{value:.2f}' for value in centre)}"
            size = -1 if is_excluded and rng.random() < 0.5 else round(diameter, 2)
            rows["annotations_excluded" if is_excluded else "annotations"].append(f"{at},{size}")
            for marks, hidden in zip(detections.values(), (3.2, 1.8), strict=True):
                seen = 1 - hidden / diameter
                for _ in range(int(rng.random() < seen) + int(rng.random() < 0.1)):
                    near = centre + rng.normal(0, diameter / 10, 3)
                    score = np.clip(rng.normal(seen, 0.2), 0.01, 0.99)
                    marks.append(f"{name},{','.join(f'{value:.2f}' for value in near)},{score:.4f}")
        for marks, n in zip(detections.values(), (2, 4), strict=True):
            for _ in range(rng.poisson(n)):
                far, score = rng.uniform(-120, 120, 3), np.clip(rng.beta(1.2, 4), 0.01, 0.99)
                marks.append(f"{name},{','.join(f'{value:.2f}' for value in far)},{score:.4f}")
    (folder / "annotations").mkdir(parents=True)
    for kind, lines in rows.items():
        (folder / "annotations" / f"{kind}.csv").write_text("\n".join([f"{PLACES}diameter_mm", *lines]) + "\n")
    (folder / "annotations" / "seriesuids.csv").write_text("\n".join(names) + "\n")
    for model, lines in detections.items():
        (folder / f"{model}.csv").write_text("\n".join([f"{PLACES}probability", *lines]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "medical")
    luna16(parser.parse_args().out / "luna16", np.random.default_rng(3))


if __name__ == "__main__":
    main()
