"""One measurement of the report: `page_worker.py apframe JOB GT DT_A DT_B` prints one JSON line.

Both models are evaluated before the clock starts. The process has done the same before with the sample set.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TOOLS = ("apframe",)
N_RESAMPLES = 1_000
JOBS = {
    "tables": f"the tables on the page, those of the comparison with {N_RESAMPLES:,} resamples",
    "page": "the page, with links to the pictures of 300 errors",
    "thumbnails": "the page, with thumbnails of them (of pictures of 1,280 × 720 pixels)",
}


def tables(a: Any, b: Any) -> int:
    """Compute what the sections show, by the methods that users call."""
    a.compare(b, level="both", n_resamples=N_RESAMPLES)
    for each in (a, b):
        each.errors(0.5)
        each.error_impact(0.5, by="name")
        each.confusion(0.5, min_score="best_f1")
        each.thresholds(0.5)
        each.operating_points("f1", 0.5)
        each.operating_points("f1", 0.5, per_category=False)
        each.calibration(0.5)
        each.reliability(0.5)
        each.label_errors(0.5)
    a.changes(b, 0.5)
    return 0


def pictures(images: Any, folder: Path) -> Path:
    """A folder with a picture of each image, all the same."""
    from PIL import Image

    folder.mkdir()
    Image.effect_noise((1280, 720), 60).convert("RGB").save(folder / "0.jpg", quality=85)
    for name in images["file_name"]:
        (folder / name).symlink_to("0.jpg")
    return folder


def main(tool: str, job: str, gt: str, *found: str) -> None:
    from worker import STREET, cpu_seconds  # a script's own folder is on its path

    import apframe as apf

    assert tool in TOOLS
    warnings.simplefilter("ignore")

    def read(truth: str, *results: str) -> list[Any]:
        evaluations = [apf.evaluate(truth, each) for each in results]
        _ = [each.summary for each in evaluations]  # lazy until asked for
        return evaluations

    sample = [str(Path(STREET) / f"{name}.json") for name in ("instances", "model_a", "model_b")]
    with TemporaryDirectory() as name:
        folder = Path(name)

        def take(models: list[Any], target: str, images: Path | None) -> int:
            if job == "tables":
                return tables(*models)
            written = apf.write_report(
                folder / target, *models, images=images, embed=job == "thumbnails", n_resamples=N_RESAMPLES
            )
            return written.stat().st_size

        take(read(*sample), "sample.html", None if job == "tables" else Path(STREET) / "images")
        models = read(gt, *found)
        images = None if job == "tables" else pictures(models[0].dataset.images, folder / "images")
        wall, cpu = time.perf_counter(), cpu_seconds()
        size = take(models, "page.html", images)
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": [{size}], "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
