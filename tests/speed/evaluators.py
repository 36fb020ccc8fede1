"""Which drop-ins the evaluators of training code run on: `python -m tests.speed.evaluators`, a table on standard output.

The evaluators of torchvision, DETR, detectron2, mmdetection and YOLOX, as `tests/pycocotools/test_training.py` has them, run on
pycocotools and then, each in a process of its own, on every drop-in that is installed. A cell says "same" if all numbers are
pycocotools' to 1e-9, "other numbers", or the error's type; where that differs, by `iouType`.
"""

# mypy: disable-error-code="import-not-found,import-untyped"
from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

training: Any = import_module("tests.pycocotools.test_training")
both: Any = import_module("tests.pycocotools.both")
PATCHES = {
    "apframe": ("apframe", "patch_pycocotools"),
    "faster-coco-eval": ("faster_coco_eval", "init_as_pycocotools"),
    "hotcoco": ("hotcoco", "init_as_pycocotools"),
    "ultrafast-pycocotools": ("ultrafast_pycocotools", "init_as_pycocotools"),
    "vernier": ("vernier", "patch_pycocotools"),
}
Numbers = Any


def in_batches(evaluate: Any) -> Callable[..., Numbers]:
    """The evaluator of torchvision or DETR, two images at a time on two processes that share an image."""

    def run(truth: Path, results: list[dict[str, Any]], iou_type: str) -> Numbers:
        from pycocotools.coco import COCO

        ids = [image["id"] for image in json.loads(truth.read_text())["images"]]
        evaluators = []
        for shard in (ids[:6], [*ids[6:], ids[0]]):
            evaluators.append(training.Evaluator(COCO(str(truth)), iou_type, evaluate))
            for start in range(0, len(shard), 2):
                batch = shard[start : start + 2]
                evaluators[-1].update(batch, [dict(row) for row in results if row["image_id"] in batch])
        coco_eval = evaluators[0].finish(*evaluators[1:])
        coco_eval.summarize()
        return list(coco_eval.stats), *(coco_eval.eval[name] for name in ("precision", "recall", "scores"))

    return run


def without_log(truth: Path, results: list[dict[str, Any]], iou_type: str) -> Numbers:
    """YOLOX's numbers; what else is printed is not compared."""
    stats, _, of_each_class = training.as_yolox(truth, results, iou_type)
    return stats, of_each_class


EVALUATORS: dict[str, Callable[..., Numbers]] = {
    "torchvision": in_batches(training.evaluate_quietly),
    "DETR": in_batches(training.evaluate_by_cells),
    "detectron2": training.as_detectron2,
    "detectron2, compiled": training.as_compiled_detectron2,
    "mmdetection": training.as_mmdetection,
    "YOLOX": without_log,
}


def is_same(expected: Numbers, given: Numbers) -> bool:
    if isinstance(expected, dict):
        return expected.keys() == given.keys() and all(is_same(value, given[key]) for key, value in expected.items())
    if isinstance(expected, (list, tuple)):
        return len(expected) == len(given) and all(is_same(*each) for each in zip(expected, given, strict=True))
    return np.shape(expected) == np.shape(given) and np.allclose(expected, given, rtol=0, atol=1e-9)


def verdicts(tool: str) -> dict[str, str]:
    """What became of each evaluator on one drop-in, after it has run on pycocotools."""
    cases = {name: ["bbox"] if name == "YOLOX" else list(training.MAKERS) for name in EVALUATORS}
    data = {iou_type: make(np.random.default_rng(8), 11) for iou_type, make in training.MAKERS.items()}
    with tempfile.TemporaryDirectory() as folder:

        def run(name: str, iou_type: str) -> Numbers:
            truth, _ = both.in_files(Path(folder), *data[iou_type])
            with both.printed():
                return EVALUATORS[name](truth, copy.deepcopy(data[iou_type][1]), iou_type)

        expected = {(name, iou_type): run(name, iou_type) for name, types in cases.items() for iou_type in types}
        module, patch = PATCHES[tool]
        getattr(import_module(module), patch)()
        outcomes: dict[str, dict[str, str]] = {name: {} for name in cases}
        for name, iou_type in expected:
            try:
                numbers = run(name, iou_type)
                outcomes[name][iou_type] = "same" if is_same(expected[name, iou_type], numbers) else "other numbers"
            except Exception as error:  # whatever a drop-in raises is the answer
                outcomes[name][iou_type] = type(error).__name__
    return {name: summary(by_type) for name, by_type in outcomes.items()}


def summary(by_type: dict[str, str]) -> str:
    """One answer, or those of each `iouType`.

    >>> summary({"bbox": "same", "segm": "same"}), summary({"bbox": "same", "segm": "TypeError"})
    ('same', 'bbox same, segm TypeError')
    """
    if len(set(by_type.values())) == 1:
        return next(iter(by_type.values()))
    return ", ".join(f"{iou_type} {answer}" for iou_type, answer in by_type.items())


def main() -> None:
    tools = [tool for tool in PATCHES if _version(tool)]
    columns = []
    for tool in tools:
        done = subprocess.run([sys.executable, "-m", __spec__.name, tool], capture_output=True, text=True, check=True)
        columns.append(json.loads(done.stdout.splitlines()[-1]))
    print("| evaluator |", *(f"{tool} {_version(tool)} |" for tool in tools))
    print(f"|---{'|---' * len(tools)}|")
    for name in EVALUATORS:
        print(f"| {name} |", *(f"{column[name]} |" for column in columns))


def _version(tool: str) -> str:
    try:
        return metadata.version(tool)
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(verdicts(sys.argv[1])))
    else:
        main()
