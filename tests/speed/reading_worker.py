"""One measurement of reading: `reading_worker.py TOOL JOB GT DT` prints one JSON line.

Job "read" reads a data set and results of any format, "check" looks for what is wrong in them; both in a process that has
done the same with the sample set. The answer is how many rows there are.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import sys
import time
from typing import Any

TOOLS = ("apframe",)


def main(_: str, job: str, gt: str, dt: str) -> None:
    from worker import cpu_seconds, sample_beside  # a script's own folder is on its path

    import apframe as apf

    def read(truth: str, results: str) -> Any:
        return apf.read_dataset(truth), apf.read_results(results)

    work: Any = apf.check if job == "check" else read
    work(*sample_beside(gt, "bbox"))
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = work(gt, dt)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    dataset, detections = answer if job == "read" else read(gt, dt)
    rows = [frame.height for frame in (dataset.images, dataset.categories, dataset.annotations, detections)]
    print(f'{{"stats": {rows}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
