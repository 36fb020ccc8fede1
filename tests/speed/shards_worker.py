"""One measurement of shards: `shards_worker.py apframe JOB shards.json` prints one JSON line.

The process runs in the folder of the shards. It has evaluated the sample set before, so that all modules are imported.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TOOLS = ("apframe",)
WORKERS = 2
JOBS = {
    "in memory": "the tables of all shards together, already loaded, to complete metrics",
    "all at once": "Parquet files of shards to these tables and to the same",
    "shards": "Parquet files of shards to the same, one shard at a time",
    "1 GB": "the same with memory='1GB': verdicts are written to disk if they are larger",
    "threads=2": "the same with two threads",
    "ray": f"the same on Ray with {WORKERS} local workers, after one warm task on each",
    "ray start": "the start of Ray and these tasks",
}


IN_MEMORY = ("in memory", "all at once")


def load(apf: Any) -> tuple[Any, Any]:
    """The tables of all shards, put together."""
    import polars as pl

    images, annotations, detections = (pl.read_parquet(f"*/{name}.parquet") for name in ("images", "annotations", "detections"))
    return apf.Dataset(images, pl.read_parquet("categories.parquet"), annotations), detections


def warm(apf: Any) -> None:
    """Evaluate the sample set as a shard, so that all modules are imported."""
    from worker import sample_beside  # a script's own folder is on its path

    gt, dt = sample_beside("", "bbox")
    truth = apf.read_coco(gt)
    tables = {"images": truth.images, "annotations": truth.annotations, "detections": apf.read_coco_results(dt)}
    with TemporaryDirectory() as folder:
        truth.categories.write_parquet(f"{folder}/categories.parquet")
        (Path(folder) / "00000").mkdir()
        for name, table in tables.items():
            table.write_parquet(f"{folder}/00000/{name}.parquet")
        evaluation = apf.evaluate_shards(f"{folder}/00000", work=f"{folder}/work")
        assert evaluation.metrics.equals(apf.evaluate(gt, dt).metrics)


def start_ray() -> None:
    """Start Ray on this machine, and run one task on each worker, which imports apframe."""
    import ray

    def warm() -> str:
        from importlib import import_module

        return import_module("apframe.scale").__name__

    ray.init("local", num_cpus=WORKERS, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    ray.get([ray.remote(warm).remote() for _ in range(2 * WORKERS)])


def used() -> float:
    """CPU seconds of this process and its descendants."""
    from processes import Peaks  # a script's own folder is on its path

    peaks = Peaks()
    peaks.look(os.getpid())
    return peaks.cpu


def main(tool: str, job: str, layout: str) -> None:
    if job.startswith("ray") and find_spec("ray") is None:
        print('{"skipped": "Ray is not installed"}')
        return

    import apframe as apf

    assert tool in TOOLS
    assert Path(layout).is_file()
    if job == "threads=2":
        apf.set_threads(2)
    warm(apf)
    if job == "ray":
        start_ray()
    loaded = load(apf) if job == "in memory" else None
    options: dict[str, Any] = {"1 GB": {"memory": "1GB"}, "ray": {"engine": "ray"}}.get(job, {})

    def evaluate() -> list[float]:
        in_memory = job in IN_MEMORY
        evaluation = apf.evaluate(*(loaded or load(apf))) if in_memory else apf.evaluate_shards("0*", **options)
        _ = evaluation.metrics
        return [float(value) for value in evaluation.stats]

    measured: Callable[[], Any] = start_ray if job == "ray start" else evaluate
    wall, cpu = time.perf_counter(), used()
    stats = measured()
    wall, cpu = time.perf_counter() - wall, used() - cpu
    print(f'{{"stats": {stats or evaluate()}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
