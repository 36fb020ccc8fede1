"""A plain evaluation loads no more than `budgets.toml` allows. Nothing is timed: timings are too noisy for a test."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.docs.map import count_lines

ROOT = Path(__file__).parents[1]
BUDGETS = tomllib.loads((ROOT / "tests" / "budgets.toml").read_text())
COUNT = """
import json, os, sys

files = {os.path.abspath(path) for path in sys.argv[1:3]}
counts = dict.fromkeys(("openings", "attribute_reads", "protocols", "queries"), 0)

def opened(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        counts["openings"] += os.path.abspath(os.fsdecode(arguments[0])) in files

def counted(function, name):
    def wrapped(*arguments, **options):
        counts[name] += 1
        return function(*arguments, **options)
    return wrapped

sys.addaudithook(opened)
import polars as pl
from apframe.protocols.protocol import Protocol
from apframe.tables.later import Later
from apframe.cli.command import main

for name in ("collect", "_collect_eager"):
    setattr(pl.LazyFrame, name, counted(getattr(pl.LazyFrame, name), "queries"))
Protocol.__init__ = counted(Protocol.__init__, "protocols")
make_later = Later.__init__
Later.__init__ = lambda self, attributes, masks: make_later(self, counted(attributes, "attribute_reads"), masks)
sys.argv = ["apframe", "eval", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
modules = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "apframe"]
print(json.dumps(counts | {"modules": modules}))
"""


def pair(folder: Path, n_images: int, *, masks: bool) -> list[str]:
    """Ground truth with crowds, attributes and masks, and results that find most of it."""
    square = {"bbox": [10, 10, 20, 20], "segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]], "area": 400, "iscrowd": 0}
    crowd = {"bbox": [0, 0, 2, 50], "segmentation": {"size": [50, 50], "counts": [0, 100, 2400]}, "area": 100, "iscrowd": 1}
    annotations, results = [], []
    for k in range(3 * n_images):
        row = {"image_id": k // 3, "category_id": 1 + k % 2} | (crowd if k % 9 == 0 else square)
        annotations.append({"id": k + 1, "occluded": k % 2 == 0, "color": "red", "track": {"id": k}, **row})
        shape = {"segmentation": {"size": [50, 50], "counts": [510, 20] + [30, 20] * 17 + [1120]}} if masks else {}
        results.append({"image_id": k // 3, "category_id": 1 + k % 2, "bbox": [10, 10, 20, 18], "score": 1 / (k + 2), **shape})
    truth = {
        "images": [{"id": k, "width": 50, "height": 50, "weather": "rain"} for k in range(n_images)],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": annotations,
    }
    paths = [folder / "truth.json", folder / "results.json"]
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    return [*map(str, paths), *(["--iou-type", "segm"] if masks else [])]


def counts(arguments: list[str]) -> dict[str, int]:
    done = subprocess.run([sys.executable, "-c", COUNT, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    counted: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    modules = [Path(module) for module in counted["modules"]]
    return counted | {"modules": len(modules), "lines": sum(map(count_lines, modules))}


@pytest.mark.parametrize("kind", BUDGETS)
def test_a_plain_evaluation_keeps_to_its_budget(kind: str, tmp_path: Path) -> None:
    """For few images, and for many."""
    seen = []
    for n_images in (20, 2000):
        folder = tmp_path / str(n_images)
        folder.mkdir()
        seen.append(counts(pair(folder, n_images, masks=kind == "masks")))
    print(seen)
    assert BUDGETS[kind].keys() == seen[0].keys()
    for found in seen:
        assert {name: n for name, n in found.items() if n > BUDGETS[kind][name]} == {}
