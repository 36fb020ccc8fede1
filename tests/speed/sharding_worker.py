"""One measurement of writing shards: `sharding_worker.py apframe JOB GT DT` prints one JSON line."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TOOLS = ("apframe",)
N = 64
JOBS = {
    "read": "two JSON files to the tables that an evaluation needs, in a warm process",
    "read all": "the same with the attributes of annotations",
    "shard": f"two JSON files to {N} shards, in a warm process",
}


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from worker import cpu_seconds, sample_beside  # a script's own folder is on its path

    import apframe as apf

    def read(truth: str, found: str, _: Path) -> tuple[Any, Any]:
        return apf.read_coco(truth), apf.read_coco_results(found)

    def read_all(truth: str, found: str, _: Path) -> tuple[Any, Any]:
        dataset = apf.read_coco(truth)
        assert dataset.annotations.columns  # whose attributes are read when they are asked for
        return dataset, apf.read_coco_results(found)

    def shard(truth: str, found: str, into: Path) -> Any:
        apf.write_shards(truth, found, into, n=N)
        return json.loads((into / "shards.json").read_bytes())

    assert tool in TOOLS
    take = {"read": read, "read all": read_all, "shard": shard}[job]
    with TemporaryDirectory(dir=".") as folder:  # beside the files, which is a disk
        warm_truth, warm_found = sample_beside(gt, "bbox")
        take(warm_truth, warm_found, Path(folder) / "warm")
        wall, cpu = time.perf_counter(), cpu_seconds()
        output = take(gt, dt, Path(folder) / "shards")
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    if job == "shard":
        stats = [sum(output[f"n_{name}"].values()) for name in ("images", "annotations", "detections")]
    else:
        stats = [output[0].images.height, output[0].annotations.height, output[1].height]
    print(f'{{"stats": {stats}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
