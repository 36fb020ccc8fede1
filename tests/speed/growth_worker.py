"""One measurement of growth: `growth_worker.py stages DIR` or `growth_worker.py whole IMAGES SHARDS` prints one JSON line.

`stages` evaluates shards with one thread and says what each stage took, and how many bytes it made. The time of a stage is
without that of the stages inside it. `whole` puts together the numbers of so many images, and draws one resample of them.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

REST = "everything else"


def columns(*names: str) -> Callable[[Any], list[Any]]:
    return lambda made: [getattr(made, name) for name in names]


# the functions that make up a stage, and what of their results is counted
STAGES: dict[str, tuple[tuple[tuple[str, str], ...], Callable[[Any], Any]]] = {
    "read": ((("scale.shards", "read_table"),), lambda made: made),
    "prepare": ((("scale.shards", "Shard.read"),), lambda made: columns("annotations", "detections")(made[0])),
    "pair": ((("protocols.preparation", "prepare_matching"),), columns("detections", "annotations", "pairs")),
    "match": ((("matching.match", "match"),), columns("detections", "annotations", "hits")),
    "table": ((("scale.job", "to_arrow"),), lambda made: made),
    "write": ((("scale.job", "write_verdicts"),), lambda _: ()),
    "number": ((("scale.shard_source", "put_together"),), columns("codes", "counts")),
    "merge": ((("scale.shard_source", "join_arrow"),), columns("detections", "annotations", "hits")),
    "rank": ((("evaluation.pipeline", "compute_columns"),), lambda _: ()),
}


def n_bytes(made: Any) -> int:
    """The bytes of tables and arrays, or of several of them."""
    if hasattr(made, "estimated_size"):
        return int(made.estimated_size())
    return int(made.nbytes) if hasattr(made, "nbytes") else sum(map(n_bytes, made))


class Watch:
    """The wall seconds, CPU seconds, bytes and calls of each stage; of stages within each other, the innermost has the time."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.calls: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.most: dict[str, int] = {}  # bytes of one call
        self._open: list[str] = []
        self._since = (0.0, 0.0)

    def _turn(self) -> None:
        """Book the time since the last turn to the stage that is open."""
        now = time.perf_counter(), time.process_time()
        if self._open:
            spent = self.spent.setdefault(self._open[-1], [0.0, 0.0])
            for k in range(2):
                spent[k] += now[k] - self._since[k]
        self._since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Book the time inside to a stage."""
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def watched(self, function: Callable[..., Any], name: str, counted: Callable[[Any], Any]) -> Callable[..., Any]:
        """The function, with its time and the bytes of its results booked to a stage."""

        @wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            with self.stage(name):
                output = function(*given, **options)
            size = n_bytes(counted(output))
            self.calls[name] = self.calls.get(name, 0) + 1
            self.bytes[name] = self.bytes.get(name, 0) + size
            self.most[name] = max(self.most.get(name, 0), size)
            return output

        return call

    def watch_all(self) -> None:
        """Watch the functions of all stages, wherever they are looked up."""
        for name, (places, counted) in STAGES.items():
            for module, attribute in places:
                *inside, attribute = attribute.split(".")
                owner: Any = import_module(f"apframe.{module}")
                for each in inside:
                    owner = getattr(owner, each)
                setattr(owner, attribute, self.watched(getattr(owner, attribute), name, counted))


def held(field: str) -> float:
    """Megabytes that this process holds: VmHWM is the peak of all memory, RssAnon what is not of files now."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024 / 1e6


class Peak:
    """The most megabytes that this process holds from now on: all of it, and the part that is not of files."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the kernel's own record starts anew
        self.anonymous = self.before = held("RssAnon")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.01):
            self.anonymous = max(self.anonymous, held("RssAnon"))

    def end(self) -> dict[str, float]:
        """The peaks, and what was held before that is not of files."""
        self._done.set()
        self._thread.join()
        return {"resident": held("VmHWM"), "anonymous": self.anonymous, "before": self.before}


def files(folder: Path, pattern: str) -> int:
    return sum(file.stat().st_size for file in folder.rglob(pattern))


def measure_stages(folder: str) -> Mapping[str, Any]:
    """Evaluate the shards with one thread, with verdicts in files and blocks of lists as for a budget of 1 GB."""
    import polars as pl
    from shards_worker import warm  # a script's own folder is on its path

    import apframe as apf

    apf.set_threads(1)
    warm(apf)
    watch = Watch()
    watch.watch_all()
    with TemporaryDirectory(dir=folder) as work:
        peak = Peak()
        with watch.stage(REST):
            evaluation = apf.evaluate_shards(f"{folder}/0*", memory="1GB", work=work)
            matching, peak = peak.end(), Peak()
            assert evaluation.metrics.height  # first: the numbers are then made of them
            stats = [float(value) for value in evaluation.stats]
            ranking = peak.end()
        written = files(Path(work), "*")
    by_category = pl.scan_parquet(f"{folder}/0*/detections.parquet").group_by("category_id").len().collect()
    categories = pl.read_parquet(f"{folder}/categories.parquet").select("category_id").sort("category_id")
    counts = categories.join(by_category, on="category_id", how="left", maintain_order="left")["len"].fill_null(0).to_numpy()
    manifest = json.loads((Path(folder) / "shards.json").read_bytes())
    sizes = {f"n_{name}": sum(manifest[f"n_{name}"].values()) for name in ("images", "annotations", "detections")}
    return {
        **sizes,
        "largest": int(counts.max()),
        "n_shards": len(manifest["n_images"]),
        "n_categories": categories.height,
        "stats": stats,
        "stages": {
            name: {
                "wall": spent[0], "cpu": spent[1], "calls": watch.calls.get(name, 1),
                "bytes": watch.bytes.get(name, 0), "most": watch.most.get(name, 0),
            }
            for name, spent in watch.spent.items()
        },
        "files": files(Path(folder), "*.parquet"),
        "written": written,
        "matching": matching,
        "ranking": ranking,
    }  # fmt: skip


def measure_whole(n_images: int, n_shards: int) -> Mapping[str, Any]:
    """Number the images of shards that have nothing else, and draw one resample of all images."""
    import numpy as np
    import polars as pl

    import apframe as apf
    from apframe.compare.resampling import Draws
    from apframe.protocols.preparation import outline_of
    from apframe.scale.sharded_merge import Head, put_together

    ids = np.array_split(np.arange(n_images), n_shards)
    facts: dict[str, Any] = {"common": {}, "is_numbered": False, "last_number": -1, "unknown_images": []}
    facts |= {"heights": {"detections": 0, "annotations": 0}}
    heads = [
        Head(facts | {"shard": f"{k:05d}"}, pl.Series("image_id", part), np.zeros(365, dtype=np.int64))
        for k, part in enumerate(ids)
    ]
    peak = Peak()
    start = time.perf_counter()
    categories = pl.DataFrame({"category_id": range(365)})
    together = put_together(heads, outline_of(categories, categories["category_id"], pl.Series([], dtype=pl.Int64), apf.COCO))
    numbering, peaks = time.perf_counter() - start, peak.end()
    assert together.whole.images.height == n_images
    start = time.perf_counter()
    counts = next(iter(Draws(np.arange(n_images), None, 1, 0).blocks(1)))
    drawing = time.perf_counter() - start
    return {
        "n_images": n_images, "n_shards": n_shards, "numbering": numbering,
        "megabytes": peaks["anonymous"] - peaks["before"], "drawing": drawing, "bytes of a resample": counts.nbytes,
    }  # fmt: skip


def main(job: str, *given: str) -> None:
    jobs: dict[str, Callable[[], Mapping[str, Any]]] = {
        "stages": partial(measure_stages, given[0]),
        "whole": lambda: measure_whole(*map(int, given)),
    }
    print(json.dumps(jobs[job]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
