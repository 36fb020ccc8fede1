"""Argoverse 2: annotations of each log as Feather, and detections of all logs in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.benchmarks.driving.quaternions import QUATERNION, yaw_of_quaternion
from apframe.exceptions import FormatError
from apframe.folders import files_in, folders_in
from apframe.formats.arrow_files import Arrow, is_of_sweeps
from apframe.formats.format import ReadOnly
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.paths import is_file, is_folder
from apframe.rows import row_numbers
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.cuboids import CENTRE, SIZES
from apframe.tables.shapes.declarations import CUBOID
from apframe.wording import listed

EVALUATED = (
    "ARTICULATED_BUS", "BICYCLE", "BICYCLIST", "BOLLARD", "BOX_TRUCK", "BUS", "CONSTRUCTION_BARREL", "CONSTRUCTION_CONE", "DOG",
    "LARGE_VEHICLE", "MESSAGE_BOARD_TRAILER", "MOBILE_PEDESTRIAN_CROSSING_SIGN", "MOTORCYCLE", "MOTORCYCLIST", "PEDESTRIAN",
    "REGULAR_VEHICLE", "SCHOOL_BUS", "SIGN", "STOP_SIGN", "STROLLER", "TRUCK", "TRUCK_CAB", "VEHICULAR_TRAILER", "WHEELCHAIR",
    "WHEELED_DEVICE", "WHEELED_RIDER",
)  # fmt: skip
"""The 26 categories of the benchmark."""
_FILE = "annotations.feather"
_TRANSLATION, _SIZE = ("tx_m", "ty_m", "tz_m"), ("length_m", "width_m", "height_m")
_TYPES = {"log_id": pl.String(), "timestamp_ns": pl.Int64(), "category": pl.String()} | dict.fromkeys(
    (*_TRANSLATION, *_SIZE, *QUATERNION), pl.Float64()
)
_WORDS = {pl.String(): "text", pl.Int64(): "whole numbers", pl.Float64(): "numbers"}
_IMAGE = pl.concat_str("log_id", "timestamp_ns", separator="/").alias("image_id")
_OBJECT = (_IMAGE, "category_id", *CUBOID, "ego_distance")


class Argoverse2Format(ReadOnly):
    """Argoverse 2's sensor data set: a folder such as val, with a folder for each log that contains annotations.feather.

    The annotations of all logs may also be in one Feather file, with their log_id, as `av2 evaluate` reads them.

    Each sweep is an image, whose id is log_id/timestamp_ns; both are attributes too. Sweeps are those with annotations, and
    those in the log's folder sensors/lidar, if it exists. Categories are the 26 of the benchmark, and others that occur.

    Cuboids are in the frame of the car. Attributes of annotations are `n_points` (num_interior_pts), `ego_distance` (metres,
    from the origin, in x, y and z) and `track_uuid`. Detections have `ego_distance` and the score; their columns are those of
    the annotations, with log_id and score.

    Source: the documentation of av2-api, src/av2/evaluation/detection/SUBMISSION_FORMAT.md.
    """

    name = "argoverse2"
    title = "Argoverse 2"
    dataset_is = (
        "a folder with a folder for each log that contains annotations.feather; the folder of one log; or one Feather file"
    )
    results_are = "a Feather file with columns log_id, timestamp_ns, category, score, tx_m, ..."
    dataset_looks = looks(Look("folder", names=(_FILE, "*/")), Look("file", endings=Arrow.endings))
    results_looks = looks(Look("file", endings=Arrow.endings))

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Look for the columns of sweeps; in a folder, in its annotations or those of the first folder with some."""
        if seen.kind == "file":
            return is_of_sweeps(seen.columns) and not (role == "dataset" and "score" in seen.columns)
        first = next(filter(None, (folder.child(_FILE) for folder in (seen, *seen.folders))), None)
        return first is not None and is_of_sweeps(first.columns)

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        files = _files(path)
        if not files:
            raise FormatError(f"there is no {_FILE}, and no folder with one", path=path)
        logs = [None if file == path else file.parent.name for file in files]
        needed = {"num_interior_pts": pl.Int64()}
        frames = [_cuboids(file, needed, log) for file, log in zip(files, logs, strict=True)]
        annotations = pl.concat(frames, how="diagonal_relaxed")
        swept = [] if files == [path] else map(_swept, files)
        sweeps = pl.concat([annotations.select("log_id", "timestamp_ns"), *swept]).unique()
        names = pl.Series([*EVALUATED, *sorted(set(annotations["category_id"]) - set(EVALUATED))])
        further = [name for name in ("track_uuid",) if name in annotations.columns]
        return {
            "images": sweeps.sort("log_id", "timestamp_ns").select(_IMAGE, "log_id", "timestamp_ns"),
            "categories": pl.DataFrame({"category_id": names, "name": names}),
            "annotations": annotations.select(*_OBJECT, pl.col("num_interior_pts").alias("n_points"), *further),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _cuboids(path, {"score": pl.Float64()}).select(*_OBJECT, "score")


def _files(folder: Path) -> list[Path]:
    if not is_folder(folder):
        return [folder]
    own = folder / _FILE
    return [own] if is_file(own) else [log / _FILE for log in folders_in(folder) if is_file(log / _FILE)]


def _swept(file: Path) -> pl.DataFrame:
    """Return the sweeps of a log that have points."""
    times = [int(path.stem) for path in files_in(file.parent / "sensors" / "lidar", ".feather") if path.stem.isdecimal()]
    return pl.DataFrame({"timestamp_ns": times}, {"timestamp_ns": pl.Int64}).select(
        pl.lit(file.parent.name).alias("log_id"), "timestamp_ns"
    )


def _cuboids(path: Path, needed: dict[str, Any], log: str | None = None) -> pl.DataFrame:
    """Read a file, and add our columns beside its own; a file in a log's own folder needs no log_id.

    Raises
    ------
    FormatError
        a needed column is missing, holds something else, or has no value in some row
    """
    frame = Arrow().read_file(path)
    if log is not None and "log_id" not in frame.columns:
        frame = frame.with_columns(log_id=pl.lit(log))
    types = _TYPES | needed
    missing = [name for name in types if name not in frame.columns]
    if missing:
        raise FormatError(f"no column {', '.join(missing)}", f"there are {listed(frame.columns)}", path=path)
    frame = frame.with_columns(_column(path, frame[name], dtype) for name, dtype in types.items())
    x, y, z = (pl.col(name) for name in _TRANSLATION)
    return frame.with_columns(
        category_id="category",
        cuboid_yaw=yaw_of_quaternion(),
        ego_distance=(x.pow(2) + y.pow(2) + z.pow(2)).sqrt(),
        **{ours: pl.col(theirs) for ours, theirs in zip((*CENTRE, *SIZES), (*_TRANSLATION, *_SIZE), strict=True)},
    )


def _column(path: Path, values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Convert the values of a column to this type; wrong or missing values are an error."""
    is_text = isinstance(values.dtype, (pl.String, pl.Categorical, pl.Enum))
    if not (is_text if dtype == pl.String else values.dtype.is_numeric()):
        raise FormatError(f"the column {values.name} holds {values.dtype}, not {_WORDS[dtype]}", "correct the file", path=path)
    cast = values.cast(dtype, strict=False)
    if cast.null_count():
        rows = row_numbers(cast.is_null())
        raise FormatError(
            f"{values.name} is missing or out of range in row {listed(rows)}", "correct the file", path=path, rows=rows
        )
    return cast
