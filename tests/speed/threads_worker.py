"""One measurement of threads: `threads_worker.py apframe JOB GT DT` prints one JSON line.

Tables that are already loaded are evaluated with one core or all of them, or twice: one after the other, or both at once.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import os
import sys
import time

TOOLS = ("apframe",)
JOBS = {
    "one core": "tables already loaded, to complete metrics, in a process that may use one core only",
    "all cores": "the same with all cores",
    "one after the other": "two evaluations of these tables, each with one thread, one after the other",
    "at once": "the same two in two Python threads",
}


def main(tool: str, job: str, gt: str, dt: str) -> None:
    if job == "one core":  # before Polars starts its threads
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])

    from concurrent.futures import ThreadPoolExecutor

    from worker import cpu_seconds, sample_beside  # a script's own folder is on its path

    import apframe as apf

    def evaluate(number: int) -> list[float]:
        truth, detections = tables[number % len(tables)]
        evaluation = apf.evaluate(truth, detections)
        _ = evaluation.metrics
        return [float(value) for value in evaluation.stats]

    tables = [(apf.read_coco(truth), apf.read_coco_results(detections)) for truth, detections in (sample_beside(gt, "bbox"),)]
    evaluate(0)
    if job in ("one after the other", "at once"):
        apf.set_threads(1)
    tables = [(apf.read_coco(gt), apf.read_coco_results(dt)) for _ in range(1 if "core" in job else 2)]
    with ThreadPoolExecutor(2) as pool:
        pool.submit(int).result()
        wall, cpu = time.perf_counter(), cpu_seconds()
        stats, *others = list((pool.map if job == "at once" else map)(evaluate, range(len(tables))))
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    assert all(other == stats for other in others), f"{tool}: two evaluations of the same data differ"
    print(f'{{"stats": {stats}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
