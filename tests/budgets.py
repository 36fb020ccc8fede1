"""What six jobs may do, at most: `python -m tests.budgets` lowers the numbers of `budgets.toml` to what is counted now.

    python -m tests.budgets
    python -m tests.budgets --because queries="areas of masks are now computed by Polars"

A number is raised only with a reason, which then stands in the file, beside the number that it had before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.docs.map import count_lines

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_suffix(".toml")
ALLOWED, LOW = 1.05, 0.9  # times the number: more fails, and less is worth a lower number
Counts = dict[str, int]
Json = dict[str, Any]
COUNTS = {
    "modules": "of apframe that are imported; the budget of the design is 130 for boxes",
    "lines": "of their code, without blank lines, comments and docstrings; the budget is 10,500 for boxes",
    "openings": "of the input files",
    "attribute_reads": "of annotations; no rule of COCO needs any",
    "protocols": "`Protocol` values that are made: COCO and its variants",
    "queries": "of Polars: `collect`, by itself and inside of `filter`, `select` and the like; what a `Series` does is none",
    "numpy_calls": "calls, operators and indices of NumPy in apframe's own code",
    "numpy_rows": "the elements that pass through them: those of the largest array of each",
    "peak_kb": "what Python and NumPy hold at once in a second run; not the memory of Polars, Arrow and DuckDB",
}


def pair(folder: Path, n_images: int, kind: str = "boxes") -> list[str]:
    """Ground truth with crowds, attributes and masks, and results that find most of it."""
    square: Json = {"bbox": [10, 10, 20, 20], "segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]], "area": 400, "iscrowd": 0}
    crowd: Json = {
        "bbox": [0, 0, 2, 50],
        "segmentation": {"size": [50, 50], "counts": [0, 100, 2400]},
        "area": 100,
        "iscrowd": 1,
    }
    points: Json = {"keypoints": [number for k in range(17) for number in (11 + k, 12 + k, 2)], "num_keypoints": 17}
    mask = {"segmentation": {"size": [50, 50], "counts": [510, 20] + [30, 20] * 17 + [1120]}}
    shape: Json = {"masks": mask, "keypoints": {"keypoints": points["keypoints"]}}.get(kind, {})
    n_categories = 1 if kind == "keypoints" else 2
    annotations, results = [], []
    for k in range(3 * n_images):
        row: Json = {"image_id": k // 3, "category_id": 1 + k % n_categories}
        drawn: Json = (crowd if k % 9 == 0 else square) | (points if kind == "keypoints" else {})
        annotations.append({"id": k + 1, "occluded": k % 2 == 0, "color": "red", "track": {"id": k}, **row, **drawn})
        detection = {"image_id": k // 3, "category_id": 1 + k % n_categories, "bbox": [10, 10, 20, 18], "score": 1 / (k + 2)}
        results.append(detection | shape)
    images = [{"id": k, "width": 50, "height": 50, "weather": ("rain", "sun")[k % 2]} for k in range(n_images)]
    categories = [{"id": 1 + k, "name": name} for k, name in enumerate(("cat", "dog")[:n_categories])]
    truth = {"images": images, "categories": categories, "annotations": annotations}
    paths = [folder / "truth.json", folder / "results.json"]
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    return ["eval", *map(str, paths)]


def search(folder: Path) -> list[str]:
    """300 queries with ten judged documents each, and a run of a hundred."""
    rows = [(query, document) for query in range(300) for document in range(100)]
    judged = [f"{query} 0 D{7 * document} {document % 3}" for query, document in rows if document < 10]
    run = [f"{query} Q0 D{document} {document + 1} {100 - document} run" for query, document in rows]
    paths = [folder / "qrels.txt", folder / "run.txt"]
    for path, lines in zip(paths, (judged, run), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return ["rank", *map(str, paths), "-m", "AP nDCG@10 P@10"]


JOBS: dict[str, Callable[[Path], list[str]]] = {
    "boxes_20": partial(pair, n_images=20),
    "boxes_2000": partial(pair, n_images=2000),
    "masks": lambda folder: [*pair(folder, 200, "masks"), "--iou-type", "segm"],
    "keypoints": lambda folder: [*pair(folder, 200, "keypoints"), "--iou-type", "keypoints"],
    "slices": lambda folder: [*pair(folder, 200), "--by", "weather,occluded"],
    "search": search,
}


def count(job: str, code: str = "") -> Counts:
    """What a process does for this job, and for the code that is run after it."""
    one = {"PYTHONHASHSEED": "0", "APFRAME_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.counted", code, *JOBS[job](Path(folder))]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | one)
    assert done.returncode == 0, done.stderr
    counts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    paths = counts.pop("modules")
    counts |= {
        "modules": len(paths),
        "lines": sum(map(_lines, paths)),
        "peak_kb": int(float(f"{counts.pop('peak_bytes') / 1e3:.2g}")),
    }
    return {name: counts[name] for name in COUNTS}


@cache
def _lines(path: str) -> int:
    return count_lines(Path(path))


def stored() -> dict[str, dict[str, Any]]:
    """The numbers of each job by the count's name, and `because`: the reasons of those that were raised."""
    return tomllib.loads(FILE.read_text())


def excess(budget: Mapping[str, int], found: Counts) -> list[str]:
    """The counts that are more than 5 % above their number."""
    return [f"{name}: {n:,}, but {budget[name]:,} are allowed" for name, n in found.items() if n > ALLOWED * budget[name]]


def lower(budget: Mapping[str, int], found: Counts) -> list[str]:
    """The counts whose number can be lowered by more than a tenth."""
    return [f"{name}: {n:,} of {budget[name]:,}" for name, n in found.items() if n < LOW * budget[name]]


def settle(budget: Mapping[str, Any], found: Counts, reasons: Mapping[str, str]) -> dict[str, Any]:
    """The new numbers: those that are counted where they are lower, or where there is a reason for a higher one."""
    because = dict(budget.get("because", {}))
    numbers = {}
    for name, n in found.items():
        old = budget.get(name, n)
        numbers[name] = n if n < old or name in reasons else old
        if n > old and name in reasons:
            because[name] = f"{reasons[name]} (from {old:,})"
    return numbers | ({"because": because} if because else {})


def text(budgets: Mapping[str, Mapping[str, Any]]) -> str:
    """The file."""
    lines = [
        "# Written by `python -m tests.budgets`, which tests/budgets.py explains. Each job may do so much, and 5 % more:",
        "#",
    ]
    lines += [f"# {name}: {meaning}" for name, meaning in COUNTS.items()]
    for job, budget in budgets.items():
        lines += ["", f"[{job}]", *(f"{name} = {budget[name]}" for name in COUNTS)]
        because = budget.get("because", {})
        lines += [f"[{job}.because]"] * bool(because)
        lines += [f"{name} = {json.dumps(reason, ensure_ascii=False)}" for name, reason in because.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.budgets", description="Lower the numbers of tests/budgets.toml.")
    parser.add_argument("--because", action="append", default=[], metavar='COUNT="reason"', help="raise this number as well")
    reasons = dict(reason.split("=", 1) for reason in parser.parse_args().because)
    if unknown := {name for name, reason in reasons.items() if name not in COUNTS or not reason.strip()}:
        parser.error(f"--because {', '.join(sorted(unknown))}: needs one of {', '.join(COUNTS)}, and a reason")
    budgets = stored()
    with ThreadPoolExecutor(2) as pool:
        counts = dict(zip(JOBS, pool.map(count, JOBS), strict=True))
    new = {job: settle(budgets.get(job, {}), counts[job], reasons) for job in JOBS}
    FILE.write_text(text(new))
    too_much = [f"{job}: {reason}" for job in JOBS for reason in excess(new[job], counts[job])]
    print("\n".join(too_much or ["all numbers are kept"]))
    return int(bool(too_much))


if __name__ == "__main__":
    sys.exit(main())
