"""One measurement of comparisons: `compare_worker.py TOOL JOB GT DT_A DT_B` prints one JSON line.

Both models are evaluated before the clock starts, except in job "evaluation", which evaluates the first from loaded tables. The
process has done the same before with the sample set. hotcoco's comparison always resamples all twelve numbers, as job
"resampled" does; the others compute standard errors. BENCH_RESAMPLES sets another number of resamples, to try this out.
"""

# mypy: disable-error-code="import-not-found,import-untyped,attr-defined"
from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = ("apframe", "hotcoco")
N_RESAMPLES, N_WARM = int(os.environ.get("BENCH_RESAMPLES", "1000")), 20
N_SLICES = 100
THREE = ["AP", "AP50", "AP75"]
AREAS = [0, *(16.0**2 * 1.7**k for k in range(9)), 1e9]


def apframe_steps(job: str) -> Any:
    import polars as pl

    import apframe as apf

    def read(gt: str, *found: str) -> Any:
        truth, results = apf.read_coco(gt), [apf.read_coco_results(dt) for dt in found]
        if job == "evaluation":
            return truth, results[0]
        images = truth.images.sort("image_id").with_columns(slice=pl.int_range(pl.len()) % N_SLICES)
        truth = apf.Dataset(images, truth.categories, truth.annotations)
        evaluations = [apf.evaluate(truth, dt, name=name) for name, dt in zip("ab", results, strict=True)]
        _ = [evaluation.stats for evaluation in evaluations]  # lazy until asked for
        return evaluations

    def compute(a: Any, b: Any, n: int) -> Any:
        if job == "evaluation":
            return [apf.evaluate(a, b).summary.rename({"value": "estimate"})]
        if job == "interval":
            return [a.intervals()]
        if job == "three":
            return [a.intervals(metrics=THREE, level="both")]
        if job == "10 objects":
            return [a.by(apf.bins("annotations.area", AREAS), intervals=True)]
        if job == f"{N_SLICES} slices":
            return [a.by("slice", intervals=True)]
        if job == "without":
            return [a.by("slice")]
        if job == "resampled":
            return [a.compare(b, n_resamples=n, method="bootstrap")]
        return [a.compare(b, level="both")]

    def rows(tables: Any) -> Any:
        for table in tables:
            if "metric" not in table.columns:
                names = [name for name in table.columns if name.startswith("A") and "_" not in name]
                table = table.rename({table.columns[0]: "slice"})
                table = table.unpivot(names, index="slice", variable_name="metric", value_name="estimate")
            value = "difference" if "difference" in table.columns else "estimate"
            keys = [name for name in ("slice", "category_id", "metric") if name in table.columns]
            yield from (
                (tuple(str(key) for key in row[:-1] if key is not None), row[-1])
                for row in table.select(*keys, value).iter_rows()
            )

    return read, compute, rows


def hotcoco_steps(job: str) -> Any:
    from hotcoco import COCO, COCOeval, compare

    def read(gt: str, *found: str) -> Any:
        truth = COCO(gt)
        evaluations = [COCOeval(truth, truth.loadRes(dt), "bbox") for dt in found]
        if job != "evaluation":
            for evaluation in evaluations:
                evaluation.evaluate()
        return evaluations

    def evaluate(a: Any, _: Any, __: int) -> Any:
        a.run()
        return a.get_results()

    def rows(answer: Any) -> Any:
        return (((name,), value) for name, value in answer.get("deltas", answer).items())

    return read, evaluate if job == "evaluation" else lambda a, b, n: compare(a, b, n_bootstrap=n), rows


def main(tool: str, job: str, gt: str, *found: str) -> None:
    from slices_worker import numbers  # a script's own folder is on its path
    from worker import STREET, cpu_seconds

    read, compute, rows = {"apframe": apframe_steps, "hotcoco": hotcoco_steps}[tool](job)
    sample = [str(Path(STREET) / f"{name}.json") for name in ("instances", "model_a", "model_b")]
    compute(*read(*sample), min(N_RESAMPLES, N_WARM))
    loaded = read(gt, *found)
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = compute(*loaded, N_RESAMPLES)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {numbers((key, value) for key, value in rows(answer))}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
