"""Ground truth as one table with a row for each object: Parquet, Arrow and JSON lines, as CSV is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeError, FormatError
from apframe.formats.catalogue import FORMATS
from apframe.formats.flat_tables import FlatTable
from apframe.formats.path_contents import see
from tests.formats.folders import written
from tests.fuzz.valid_sets import SHAPES, write_valid

ROWS = pl.DataFrame(
    {
        "filename": ["val/a.jpg", "val/a.jpg", "val/b.jpg"],
        "class": ["cat", "dog", "cat"],
        "xmin": [1.0, 2, 3], "ymin": [1.0, 2, 3], "xmax": [11.0, 22, 33], "ymax": [11.0, 22, 33],
        "occluded": [0.5, None, 0.25],
    }
)  # fmt: skip
SCORED = ROWS.with_columns(score=pl.Series([0.9, 0.8, 0.7]))
ENDINGS = (".parquet", ".arrow", ".feather", ".ipc", ".jsonl", ".csv")


def saved(path: Path, frame: pl.DataFrame) -> Path:
    """The frame in a file of the format that its ending says."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_ipc(path)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_is_ground_truth(ending: str, tmp_path: Path) -> None:
    """The same data set from each kind of file."""
    truth = apf.read_dataset(saved(tmp_path / f"truth{ending}", ROWS))
    assert truth.images["image_id"].to_list() == ["a", "b"]
    assert truth.categories["name"].to_list() == ["cat", "dog"]
    assert truth.annotations.select("image_id", "category_id", "x", "y", "width", "height", "occluded").rows() == [
        ("a", "cat", 1, 1, 10, 10, 0.5), ("a", "dog", 2, 2, 20, 20, None), ("b", "cat", 3, 3, 30, 30, 0.25),
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_both_sides_are_tables(ending: str, tmp_path: Path) -> None:
    """Nothing has to be said of either."""
    truth, detections = saved(tmp_path / f"truth{ending}", ROWS), saved(tmp_path / f"found{ending}", SCORED)
    assert apf.evaluate(truth, detections)["AP"] == pytest.approx(1)


def test_corners_in_one_column_are_said_for_both_sides(tmp_path: Path) -> None:
    """As for CSV, `box_format` is that of ground truth and results."""
    rows = ROWS.select("filename", "class", bbox=pl.concat_list("xmin", "ymin", "xmax", "ymax"))
    truth = saved(tmp_path / "truth.parquet", rows)
    detections = saved(tmp_path / "found.parquet", rows.with_columns(score=0.5))
    assert apf.evaluate(truth, detections, box_format="xyxy").dataset.annotations["width"].to_list() == [10, 20, 30]


def test_an_image_without_objects_is_a_row(tmp_path: Path) -> None:
    """It has an image and nothing else."""
    rows = [json.dumps({"image_id": 7, "category": "cat", "bbox": [1, 2, 3, 4]}), json.dumps({"image_id": 8})]
    truth = apf.read_dataset(written(tmp_path, {"a.jsonl": "\n".join(rows)}) / "a.jsonl")
    assert (truth.images["image_id"].to_list(), truth.annotations.height) == ([7, 8], 1)


OTHERS = {
    "results": SCORED,
    "rows of images": pl.DataFrame({"image_id": [1], "objects": [{"bbox": [[1.0, 2, 3, 4]], "category": ["cat"]}]}),
    "sweeps": pl.DataFrame({"timestamp_ns": [1], "category": ["a"], "tx_m": [1.0], "image_id": [1], "bbox": [[1, 2, 3, 4]]}),
    "no boxes": ROWS.drop("xmin"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_tables_are_of_other_formats(name: str, tmp_path: Path) -> None:
    assert not FlatTable().fits(see(saved(tmp_path / "a.parquet", OTHERS[name])), "dataset")


BAD: dict[str, tuple[str, str]] = {
    "no box": ('{"image_id": 1, "category_id": 1}', "the columns are image_id, category_id; each row needs image_id or"),
    "no rows": ("\n", "the file is empty"),
    "no JSON": ("{", "cannot be read as jsonl"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=re.escape(f"a.jsonl: {message}")):
        apf.read_dataset(written(tmp_path, {"a.jsonl": text}) / "a.jsonl", "table")


SWAPPED: dict[str, tuple[Any, Any, str]] = {
    "swapped": (SCORED, ROWS, "are the two swapped"),
    "results twice": (SCORED, SCORED, "annotations have no scores: name the ground truth first, then the results, or"),
}


@pytest.mark.parametrize(("truth", "found", "message"), SWAPPED.values(), ids=SWAPPED)
def test_only_files_that_fit_are_said_to_be_swapped(
    truth: pl.DataFrame, found: pl.DataFrame, message: str, tmp_path: Path
) -> None:
    """The other file decides whether the two may be swapped."""
    paths = saved(tmp_path / "truth.csv", truth), saved(tmp_path / "found.csv", found)
    with pytest.raises(FormatError, match=message):
        apf.evaluate(*paths)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(FORMATS))
def test_results_twice_are_not_said_to_be_swapped(name: str, tmp_path: Path) -> None:
    """In no format, as the other file is no ground truth either."""
    _, results = write_valid(name, SHAPES[name][0], tmp_path)
    try:
        apf.evaluate(results, results)
    except ApframeError as error:
        assert "swapped" not in str(error)


def test_results_without_scores_are_not_said_to_be_swapped(tmp_path: Path) -> None:
    """The ground truth is one."""
    with pytest.raises(FormatError, match=r"results are needed here; do the results lack their scores\?$"):
        apf.evaluate(saved(tmp_path / "truth.csv", ROWS), saved(tmp_path / "found.csv", ROWS))
