"""A made-up set of actions in the files of AVA and THUMOS14: `python data/generate_video.py`.

There is no video. Model A finds more of the frequent actions; short actions are missed more often.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

ACTIONS = {11: ("sit", "PERSON_MOVEMENT"), 12: ("stand", "PERSON_MOVEMENT"), 79: ("talk to", "PERSON_INTERACTION"),
           80: ("watch (a person)", "PERSON_INTERACTION")}  # fmt: skip
LABELS = {"Diving": 26, "HighJump": 40, "PoleVault": 68}
VIDEOS = [f"video_test_{number:07}" for number in range(4, 124, 5)]


def ava(folder: Path, rng: np.random.Generator) -> None:
    """Frames of four clips, a second apart, in which one to four people do one to three things."""
    truth: list[str] = []
    detections: list[str] = []
    for clip in ("1j20qq1JyX4", "2bxKkUgcqpk", "4ZpjKfu6Cl8", "5MxjqHfkWFI"):
        for second in range(902, 914):
            at = f"{clip},{second:04}"
            if rng.random() < 0.1:
                truth.append(at)
                continue
            for person in range(rng.integers(1, 5)):
                corner, size = rng.uniform(0, 0.5, 2), rng.uniform(0.2, 0.45, 2)
                box = np.append(corner, corner + size)
                for action in rng.choice(list(ACTIONS), rng.integers(1, 4), replace=False, p=[0.2, 0.4, 0.2, 0.2]):
                    truth.append(f"{at},{','.join(f'{value:.3f}' for value in box)},{action},{person}")
                    if rng.random() < (0.85 if action < 79 else 0.6):
                        near = box + rng.normal(0, 0.025, 4)
                        score = np.clip(rng.normal(0.7 if action < 79 else 0.5, 0.15), 0.01, 0.99)
                        detections.append(f"{at},{','.join(f'{value:.3f}' for value in near)},{action},{score:.4f}")
                for action in rng.choice(list(ACTIONS), 2, replace=False):
                    score = np.clip(rng.normal(0.3, 0.15), 0.01, 0.99)
                    detections.append(f"{at},{','.join(f'{value:.3f}' for value in box)},{action},{score:.4f}")
    items = [
        f'label {{\n  name: "{name}"\n  label_id: {key}\n  label_type: {kind}\n}}\n' for key, (name, kind) in ACTIONS.items()
    ]
    (folder / "truth").mkdir(parents=True)
    (folder / "truth" / "actions.pbtxt").write_text("".join(items))
    (folder / "truth" / "ava_val.csv").write_text("\n".join(truth) + "\n")
    (folder / "model_a.csv").write_text("\n".join(detections) + "\n")


def thumos14(folder: Path, rng: np.random.Generator) -> None:
    """Videos of a few minutes with actions of one or two kinds, and intervals in which it is not clear what happens."""
    truth: dict[str, list[str]] = {name: [] for name in (*LABELS, "Ambiguous")}
    detections: dict[str, list[str]] = {"model_a": [], "model_b": []}
    for video in VIDEOS:
        for start in np.cumsum(rng.uniform(8, 40, 8)):
            label, length = str(rng.choice([*truth], p=[0.35, 0.3, 0.25, 0.1])), rng.uniform(2, 12)
            truth[label].append(f"{video} {start:.1f} {start + length:.1f}")
            for rows, off in zip(detections.values(), (0.25, 0.4), strict=True):
                for _ in range(rng.integers(0, 3) if length < 5 else rng.integers(1, 4)):
                    begin, end = start + rng.normal(0, off * length), start + length * (1 + rng.normal(0, off))
                    number = LABELS.get(label, 26)
                    score = np.clip(rng.normal(0.65, 0.2), 0.01, 0.99)
                    rows.append(f"{video} {max(begin, 0):.1f} {max(end, begin + 0.5):.1f} {number} {score:.4f}")
        for rows in detections.values():
            begin, number = rng.uniform(0, 250), rng.choice(list(LABELS.values()))
            rows.append(f"{video} {begin:.1f} {begin + rng.uniform(2, 10):.1f} {number} {rng.uniform(0.1, 0.7):.4f}")
    (folder / "annotation").mkdir(parents=True)
    for label, rows in truth.items():
        (folder / "annotation" / f"{label}_test.txt").write_text("\n".join(rows) + "\n")
    for name, rows in detections.items():
        (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "video")
    out = parser.parse_args().out
    ava(out / "ava", np.random.default_rng(1))
    thumos14(out / "thumos14", np.random.default_rng(2))


if __name__ == "__main__":
    main()
