"""One measurement of faces, actions and segments: `fields_worker.py TOOL JOB FILE ...` prints one JSON line.

Tables of boxes are in memory before the clock starts; of segments, the time is that from the files to the numbers. The peer is
a loop over images with NumPy, written from the rules of each benchmark's kit: for faces with 1,000 steps of the score in each
image, as in the public port; for segments in two processes.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
Run = Callable[[], list[float]]

TOOLS = ("apframe", "loop")
SETS, N_STEPS, MOST_PER_FRAME = ("easy", "medium", "hard"), 1_000, 50


def ours(job: str, *files: str) -> Run:
    import polars as pl

    import apframe as apf

    def evaluate(truth: Any, found: Any, protocol: str, names: tuple[str, ...]) -> list[float]:
        values = dict(apf.evaluate(truth, found, protocol).summary.rows())
        return [values[name] for name in names]

    if job == "segments":
        truth, found = files
        return lambda: evaluate(truth, found, "coco_panoptic", ("PQ", "SQ", "RQ"))
    images, annotations, detections = map(pl.read_parquet, files)
    numbers = annotations["category_id"].unique().sort()
    classes = ["face"] if job == "faces" else [f"category {k}" for k in numbers]
    dataset = apf.Dataset(images, {"category_id": numbers, "name": classes}, annotations)
    detections = detections.filter(pl.col("category_id").is_in(numbers.implode()))
    if job == "faces":
        return lambda: evaluate(dataset, detections, "wider_face", tuple(f"AP_{name}" for name in SETS))
    return lambda: evaluate(dataset, detections, "ava", ("AP",))


def overlaps(found: Array, truth: Array, pixel: float) -> Array:
    """IoU of boxes as corners, which are inclusive with `pixel` 1."""
    low, high = np.maximum(found[:, None, :2], truth[None, :, :2]), np.minimum(found[:, None, 2:], truth[None, :, 2:])
    shared = np.clip(high - low + pixel, 0, None).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2] + pixel).prod(axis=1) for boxes in (found, truth)]
    union: Array = areas[0][:, None] + areas[1][None, :] - shared
    result: Array = shared / union
    return result


def area_below(recall: Array, precision: Array) -> float:
    """The area under the envelope of a curve."""
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(recall, prepend=0.0) * envelope).sum())


def by_image(files: tuple[str, ...]) -> list[tuple[Any, Any]]:
    """The columns of annotations and of detections of each image, with corners of boxes."""
    import polars as pl

    images, *sides = (pl.read_parquet(file) for file in files)
    parts = []
    for table in sides:
        x, y, width, height = (table[name].to_numpy() for name in ("x", "y", "width", "height"))
        columns = {name: table[name].to_numpy() for name in table.columns if name not in ("x", "y", "width", "height")}
        columns["box"] = np.stack([x, y, x + width, y + height], axis=1)
        bounds = np.searchsorted(columns["image_id"], np.arange(images.height + 1))
        parts.append([{name: each[a:b] for name, each in columns.items()} for a, b in pairwise(bounds)])
    return list(zip(*parts, strict=True))


def faces(*files: str) -> Run:
    images = by_image(files)

    def run() -> list[float]:
        every = np.concatenate([found["score"] for _, found in images])
        low, high = every.min(), every.max()
        result = []
        for name in SETS:
            counts, n_faces = np.zeros((N_STEPS, 2)), 0
            for truth, found in images:
                counted = truth[name]
                n_faces += int(counted.sum())
                if not len(counted) or not len(found["score"]):
                    continue
                score, taken = (found["score"] - low) / (high - low), np.zeros(len(counted), bool)
                right, rows = np.zeros(len(score)), np.ones(len(score))
                for k, row in enumerate(overlaps(found["box"], truth["box"], 1.0)):
                    best = int(row.argmax())
                    if row[best] >= 0.5:
                        if not counted[best]:
                            rows[k] = 0
                        elif not taken[best]:
                            taken[best], right[k] = True, 1
                sums = np.cumsum(right), np.cumsum(rows)
                for step in range(N_STEPS):
                    kept = np.flatnonzero(score >= 1 - (step + 1) / N_STEPS)
                    if len(kept):
                        counts[step] += sums[0][kept[-1]], sums[1][kept[-1]]
            filled = counts[counts[:, 1] > 0]
            result.append(area_below(filled[:, 0] / n_faces, filled[:, 0] / filled[:, 1]))
        return result

    return run


def actions(*files: str) -> Run:
    images = by_image(files)

    def run() -> list[float]:
        outcomes: dict[int, list[tuple[Array, Array]]] = {}
        positives: dict[int, int] = {}
        for truth, found in images:
            best = np.argsort(-found["score"], kind="stable")[:MOST_PER_FRAME]
            of_truth, of_found = truth["category_id"], found["category_id"][best]
            boxes, scores = found["box"][best], found["score"][best]
            for category in np.union1d(of_truth, of_found).tolist():
                expected, own = truth["box"][of_truth == category], np.flatnonzero(of_found == category)
                positives[category] = positives.get(category, 0) + len(expected)
                right, taken = np.zeros(len(own)), np.zeros(len(expected), bool)
                if len(expected) and len(own):
                    for k, row in enumerate(overlaps(boxes[own], expected, 0.0)):
                        nearest = int(row.argmax())
                        if row[nearest] >= 0.5 and not taken[nearest]:
                            taken[nearest], right[k] = True, 1
                outcomes.setdefault(category, []).append((scores[own], right))
        result = []
        for category, n_positives in positives.items():
            if n_positives:
                score, right = (np.concatenate(each) for each in zip(*outcomes[category], strict=True))
                hits = np.cumsum(right[np.argsort(-score, kind="stable")])
                result.append(area_below(hits / n_positives, hits / np.arange(1, len(hits) + 1)))
        return [float(np.mean(result))]

    return run


def quality(pairs: list[tuple[str, str, Any, Any]]) -> dict[int, list[float]]:
    """The sum of IoU, and the numbers of tp, fp and fn, of each category, over some images."""
    from PIL import Image

    sums: dict[int, list[float]] = {}
    for *paths, expected, detected in pairs:
        maps = [np.array(Image.open(path), dtype=np.uint32) for path in paths]
        truth, detections = (pixels[..., 0] + 256 * pixels[..., 1] + 65_536 * pixels[..., 2] for pixels in maps)
        key, counts = np.unique(truth.astype(np.uint64) << np.uint64(24) | detections, return_counts=True)
        shared = {(int(k) >> 24, int(k) & 0xFFFFFF): int(n) for k, n in zip(key, counts, strict=True)}
        areas = dict(zip(*(each.tolist() for each in np.unique(detections, return_counts=True)), strict=True))
        of_truth, of_found = ({each["id"]: each for each in rows} for rows in (expected, detected))
        matched: set[tuple[str, int]] = set()
        for (a, d), n in shared.items():
            if a in of_truth and d in of_found and of_truth[a]["category_id"] == of_found[d]["category_id"]:
                iou = n / (of_truth[a]["area"] + areas[d] - n - shared.get((0, d), 0))
                if iou > 0.5:
                    each = sums.setdefault(of_truth[a]["category_id"], [0.0] * 4)
                    each[0], each[1] = each[0] + iou, each[1] + 1
                    matched |= {("a", a), ("d", d)}
        for a in of_truth.keys() - {k for side, k in matched if side == "a"}:
            sums.setdefault(of_truth[a]["category_id"], [0.0] * 4)[3] += 1
        for d in of_found.keys() - {k for side, k in matched if side == "d"}:
            if shared.get((0, d), 0) / areas[d] <= 0.5:
                sums.setdefault(of_found[d]["category_id"], [0.0] * 4)[2] += 1
    return sums


def segments(*files: str) -> Run:
    def run() -> list[float]:
        sides = [json.loads(Path(file).read_bytes())["annotations"] for file in files]
        folders = [Path(file).with_suffix("") for file in files]
        pairs = []
        for rows in zip(*sides, strict=True):
            paths = [str(folder / row["file_name"]) for folder, row in zip(folders, rows, strict=True)]
            pairs.append((*paths, *(row["segments_info"] for row in rows)))
        with Pool(2) as pool:
            halves = pool.map(quality, [pairs[::2], pairs[1::2]])
        ratios = []
        for category in sorted({*halves[0], *halves[1]}):
            iou, tp, fp, fn = map(sum, zip(*(half.get(category, [0.0] * 4) for half in halves), strict=True))
            whole = tp + fp / 2 + fn / 2
            ratios.append([iou / whole, iou / tp if tp else 0.0, tp / whole])
        means: list[float] = np.mean(ratios, axis=0).tolist()
        return means

    return run


def main(tool: str, job: str, *files: str) -> None:
    from driving_worker import sums  # a script's own folder is on its path
    from worker import cpu_seconds

    run = ours(job, *files) if tool == "apframe" else {"faces": faces, "actions": actions, "segments": segments}[job](*files)
    wall, cpu = time.perf_counter(), cpu_seconds()
    numbers = run()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(json.dumps({"stats": sums(numbers), "wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(*sys.argv[1:])
