"""One measurement of diagnoses: `errors_worker.py TOOL JOB GT DT` prints one JSON line.

The detections are evaluated before the clock starts, except in job "evaluation", which goes from loaded tables to the twelve
numbers. The process has done the same before with the sample set.

Only those numbers of errors are compared that follow the same rule in both tools. In hotcoco, a crowd can be the target of a
`loc` error, which changes `loc`, `both`, `bkg` and `miss`; what fixing `cls` gives depends there on the order of tied scores.
"""

# mypy: disable-error-code="import-not-found,import-untyped,attr-defined"
from __future__ import annotations

import sys
import time
from typing import Any

TOOLS = ("apframe", "hotcoco")
COMPARED = ("dupe", "fp", "fn")  # kinds whose rise of AP is
OF_DETECTIONS = ("cls", "loc", "both", "dupe", "bkg")


def apframe_steps(job: str) -> Any:
    import polars as pl

    import apframe as apf

    def read(gt: str, dt: str) -> Any:
        truth, detections = apf.read_coco(gt), apf.read_coco_results(dt)
        if job == "evaluation":
            return truth, detections
        evaluation = apf.evaluate(truth, detections)
        _ = evaluation.stats  # lazy until asked for
        return (evaluation,)

    def compute(*loaded: Any) -> Any:
        if job == "evaluation":
            return apf.evaluate(*loaded).summary
        (evaluation,) = loaded
        if job == "errors":
            return evaluation.errors(), evaluation.error_impact()
        return getattr(evaluation, job)(0.5)

    def rows(answer: Any) -> Any:
        if job == "evaluation":
            return answer.iter_rows()
        if job == "errors":
            errors, impact = answer
            mean = impact.filter(pl.col("category_id").is_null())
            counts = dict(errors["error"].value_counts().iter_rows())
            return compared(mean["ap"][0], dict(mean.select("error", "delta_ap").iter_rows()), counts)
        value = {"confusion": "n", "calibration": "ece", "thresholds": "f1"}[job]
        return enumerate(answer[value])

    return read, compute, rows


def hotcoco_steps(job: str) -> Any:
    from hotcoco import COCO, COCOeval

    def read(gt: str, dt: str) -> Any:
        truth = COCO(gt)
        evaluation = COCOeval(truth, truth.loadRes(dt), "bbox")
        if job != "evaluation":
            evaluation.evaluate()
        return (evaluation,)

    def compute(evaluation: Any) -> Any:
        if job == "errors":
            return evaluation.tide_errors()
        evaluation.run()
        return evaluation.get_results()

    def rows(answer: Any) -> Any:
        if job == "evaluation":
            return answer.items()
        rises, counts = ({kind.lower(): n for kind, n in answer[name].items()} for name in ("delta_ap", "counts"))
        return compared(answer["ap_base"], rises, counts)

    return read, compute, rows


def compared(ap: float, rises: dict[str, float], counts: dict[str, int]) -> list[tuple[str, float]]:
    """The numbers that are compared, with their names."""
    of_detections = sum(counts.get(kind, 0) for kind in OF_DETECTIONS)
    rows = [("ap", ap), *((kind, rises[kind]) for kind in COMPARED)]
    return [*rows, ("duplicates", counts.get("dupe", 0)), ("false positives", of_detections)]


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from slices_worker import numbers  # a script's own folder is on its path
    from worker import cpu_seconds, sample_beside

    read, compute, rows = {"apframe": apframe_steps, "hotcoco": hotcoco_steps}[tool](job)
    compute(*read(*sample_beside(gt, "bbox")))
    loaded = read(gt, dt)
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = compute(*loaded)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {numbers((key, value) for key, value in rows(answer))}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
