"""One measurement of batches: `per_batch_worker.py TOOL JOB GT DT [IOU_TYPE]` prints a line of JSON.

The loop of DETR's evaluator: results of a few images at a time through `loadRes` and `COCOeval`, all cells put together at the
end. By pycocotools and by the drop-in; the seconds, CPU's too, are those of the updates and the summary.
"""

# mypy: disable-error-code="import-not-found,import-untyped"
from __future__ import annotations

import copy
import json
import sys
import time
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

TOOLS = ("apframe", "pycocotools")
N_IMAGES = 300


def evaluate(tool: str, gt: str, batches: list[list[dict[str, Any]]], iou_type: str) -> tuple[Any, float, float]:
    """Stats, wall and CPU seconds."""
    package = "apframe.pycocotools" if tool == "apframe" else "pycocotools"
    coco, cocoeval = (import_module(f"{package}.{name}") for name in ("coco", "cocoeval"))
    with redirect_stdout(StringIO()):
        truth, parts, image_ids = coco.COCO(gt), [], []
        _ = truth.anns  # the data loader has looked at them
        wall, cpu = time.perf_counter(), time.process_time()
        evaluation = cocoeval.COCOeval(truth, iouType=iou_type)
        for batch in batches:
            evaluation.cocoDt = truth.loadRes(batch)
            evaluation.params.imgIds = sorted({row["image_id"] for row in batch})
            evaluation.evaluate()
            image_ids += evaluation.params.imgIds
            shape = -1, len(evaluation.params.areaRng), len(evaluation.params.imgIds)
            parts.append([[evaluation.evalImgs[n] for n in range(start, start + shape[2])]
                          for start in range(0, len(evaluation.evalImgs), shape[2])])  # fmt: skip
        evaluation.evalImgs = [cell for stripes in zip(*parts, strict=True) for stripe in stripes for cell in stripe]
        evaluation.params.imgIds = image_ids
        evaluation._paramsEval = copy.deepcopy(evaluation.params)
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats, time.perf_counter() - wall, time.process_time() - cpu


def in_batches(dt: str, n_images: int) -> list[list[dict[str, Any]]]:
    by_image: dict[Any, list[dict[str, Any]]] = {}
    for row in json.loads(Path(dt).read_text()):
        by_image.setdefault(row["image_id"], []).append(row)
    ids = sorted(by_image)[:N_IMAGES]
    return [[row for key in ids[start : start + n_images] for row in by_image[key]] for start in range(0, len(ids), n_images)]


def main(tool: str, job: str, gt: str, dt: str, iou_type: str = "bbox") -> None:
    batches = in_batches(dt, int(job.split()[0]))
    evaluate(tool, gt, copy.deepcopy(batches[:3]), iou_type)
    stats, wall, cpu = evaluate(tool, gt, batches, iou_type)
    print(f'{{"stats": {[float(value) for value in stats]}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
