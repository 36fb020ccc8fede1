"""One measurement of slices: `slices_worker.py TOOL JOB GT DT` prints one JSON line.

Every tool is two steps: `read(gt, dt, n, folder)` loads, and makes ready what only has to be there; `evaluate` is timed, in
a process that has done the same with ten slices of the sample set. A further function makes rows of the answer: a slice's key
and twelve metrics. The i-th image by id is in slice i % n; every tool is told the slices in the form that it takes.
"""

# mypy: disable-error-code="import-not-found,import-untyped,attr-defined"
from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

TOOLS = ("apframe", "hotcoco", "vernier")
METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")


def number_of_slices(job: str) -> int:
    """As job "100 slices" says; the jobs that say none, on files and tables kept, have 100 too."""
    return int(job.split()[0]) if job.endswith(" slices") else 100


def apframe_steps(job: str) -> Any:
    import polars as pl

    import apframe as apf

    def read(gt: str, dt: str, n: int, folder: str) -> Any:
        truth, detections = apf.read_coco(gt), apf.read_coco_results(dt)
        images = truth.images.sort("image_id").with_columns(slice=pl.int_range(pl.len()) % n)
        truth = apf.Dataset(images, truth.categories, truth.annotations)
        if job == "anew":
            apf.write_coco(truth, Path(folder) / "truth.json")
            return str(Path(folder) / "truth.json"), dt
        if job == "stored":
            apf.evaluate(truth, detections).write_parquet(Path(folder) / "run")
            return Path(folder) / "run", None
        return truth, detections

    def evaluate(truth: Any, detections: Any) -> Any:
        if job == "stored":
            return apf.read_evaluation(truth).by("slice")
        if job == "plain":
            return apf.evaluate(truth, detections).summary
        if job == "object bins":
            return apf.evaluate(truth, detections).by(apf.bins("occlusion", [k / 10 for k in range(11)]))
        return apf.evaluate(truth, detections).by("slice")

    return read, evaluate


def hotcoco_steps(_: str) -> Any:
    """`slice_by` accumulates anew what `evaluate` has matched; it wants no accumulation before."""
    from hotcoco import COCO, COCOeval

    def read(gt: str, dt: str, n: int, folder: str) -> Any:  # noqa: ARG001 - nothing is kept
        truth = COCO(gt)
        ids = sorted(truth.getImgIds())
        return truth, (truth.loadRes(dt), {str(k): ids[k::n] for k in range(min(n, len(ids)))})

    def evaluate(truth: Any, found: Any) -> Any:
        detections, slices = found
        evaluation = COCOeval(truth, detections, "bbox")
        evaluation.evaluate()
        return evaluation.slice_by(slices)

    return read, evaluate


def vernier_steps(_: str) -> Any:
    """Its manifest of slices is a part of the one call that evaluates; more than 256 slices it refuses."""
    from vernier.instance import Bbox, CocoDataset, Evaluator
    from worker import read_matrix  # a script's own folder is on its path

    def read(gt: str, dt: str, n: int, folder: str) -> Any:  # noqa: ARG001 - nothing is kept
        import json

        content = Path(gt).read_bytes()
        ids = sorted(image["id"] for image in json.loads(content)["images"])
        rows = [{"key": id_, "slice": str(k % n)} for k, id_ in enumerate(ids)]
        manifest = {"manifest_version": "1", "key_kind": "image_id", "rows": rows}
        return CocoDataset.from_json(content), (read_matrix(dt), manifest)

    def evaluate(truth: Any, found: Any) -> Any:
        detections, manifest = found
        evaluator, threads = Evaluator(iou=Bbox(), parity_mode="strict"), len(os.sched_getaffinity(0))
        return evaluator.evaluate(truth, detections, manifest=manifest, num_threads=threads).slices

    return read, evaluate


Rows = Iterable[tuple[Any, ...]]  # key and twelve metrics


def apframe_rows(frame: Any) -> Rows:
    """Also of a summary without slices, as one row."""
    if frame.columns == ["metric", "value"]:
        return [("all", *frame["value"])]
    rows: Rows = frame.select(frame.columns[0], *METRICS).iter_rows()
    return rows


def hotcoco_rows(answer: dict[str, dict[str, float]]) -> Rows:
    return ((key, *(row[name] for name in METRICS)) for key, row in answer.items() if key != "_overall")


def vernier_rows(frame: Any) -> Rows:
    """The table is one column of structs as Polars 2 reads it; its metrics stand in the order of METRICS."""
    table = frame.unnest(frame.columns[0]) if frame.width == 1 else frame
    return (row for row in table.drop("axis", "n_images", "n_detections").iter_rows() if row[0] != "__unassigned__")


def numbers(rows: Rows) -> list[float]:
    """Each metric's mean over the slices that have it, then its sum over all slices, -1 where a slice does not have it.

    The sums have a weight of 1 to 2 for each slice and do not depend on the order: a value that differs shows in them.
    """
    table = [(1 + crc32(str(key).encode()) / 2**32, [-1.0 if value is None else float(value) for value in values])
             for key, *values in rows]  # fmt: skip
    weights, columns = [weight for weight, _ in table], list(zip(*(values for _, values in table), strict=True))
    evaluated = [[value for value in column if value != -1] for column in columns]
    means = [fsum(values) / len(values) if values else -1.0 for values in evaluated]
    return means + [fsum(weight * value for weight, value in zip(weights, column, strict=True)) for column in columns]


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from worker import STREET, cpu_seconds

    steps = ((apframe_steps, apframe_rows), (hotcoco_steps, hotcoco_rows), (vernier_steps, vernier_rows))
    tools: dict[str, Any] = dict(zip(TOOLS, steps, strict=True))
    (read, evaluate), rows = tools[tool][0](job), tools[tool][1]
    with TemporaryDirectory() as folder:
        evaluate(*read(str(Path(STREET) / "instances.json"), str(Path(STREET) / "model_a.json"), 10, folder))
        loaded = read(gt, dt, number_of_slices(job), folder)
        wall, cpu = time.perf_counter(), cpu_seconds()
        answer = evaluate(*loaded)
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {numbers(rows(answer))}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
