"""KITTI's text: a folder with a file for each image and fifteen fields in each line, sixteen in results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.benchmarks.missing_results import warn_of_missing
from apframe.exceptions import ShapesLeftOutWarning, warn
from apframe.formats.edges import from_edges, refuse_reversed, rounded_sizes, to_edges
from apframe.formats.format import Format
from apframe.formats.image_names import categories_of, ids_to_write, image_ids
from apframe.formats.looks import NAME, Look, looks
from apframe.formats.text_lines import Lines, places_of, refuse_blanks, some_text_files, text_files, write_lines
from apframe.rows import OF_SOURCE
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.cuboids import SIZES, with_cuboids
from apframe.tables.shapes.declarations import CUBOID
from apframe.wording import option_name

_EDGES = ("left", "top", "right", "bottom")
_REGION = "DontCare"
# the numbers that stand for an unknown one in the files
_UNKNOWN = {"truncated": -1.0, "occluded": -1.0, "alpha": -10.0}
_NO_CUBOID = {
    "cuboid_height": -1.0, "cuboid_width": -1.0, "cuboid_length": -1.0,
    "camera_x": -1000.0, "camera_y": -1000.0, "camera_z": -1000.0, "rotation_y": -10.0,
}  # fmt: skip
_HAS_CUBOID = pl.all_horizontal(
    *(pl.col(name) > 0 for name in SIZES), *(pl.col(name) != unknown for name, unknown in _NO_CUBOID.items())
)
_LAYOUT = ("category_id", *_UNKNOWN, *_EDGES, *_NO_CUBOID)


class Kitti(Format):
    """KITTI's labels of objects, as in the folder `label_2`; results are the same with a score at the end of the line.

    The image id is the file name without its extension; the size of the image is unknown. The type is the category. The edges
    become the box. Height, width, length, location and rotation_y become the cuboid
    (`apframe.tables.shapes.cuboids.with_cuboids`), which is null if one of them is the number for unknown (-1, -1000, -10) or a
    side is not positive; if another side is positive, there is a `ShapesLeftOutWarning`. The other fields are attributes:
    `truncated` (0 to 1), `occluded` (0, 1, 2, and 3 for unknown) and `alpha` (angle of observation, radians), null where they
    are -1, -1, -10.

    The type DontCare marks regions where nothing is labelled. It is a category whose annotations are crowds and ignored, so
    that none counts by the rules of COCO, VOC or LVIS. The protocol KITTI drops detections of any type in such a region. Other
    protocols match each category with its own annotations, so that only a category-agnostic evaluation drops them. To drop
    them for each category, repeat the regions under each.

    Results may lack the files of some images. KITTI's own program stops then, and other tools leave these images out. Here
    they have no detections, with a `MissingResultsWarning`.

    Source: the description of the labels in KITTI's development kit for objects.
    """

    name = "kitti"
    title = "KITTI text"
    dataset_is = "a folder of text files, one for each image, lines of 15 fields: type truncated occluded alpha left top ..."
    results_are = "the same, lines of 16 fields, the last the score"
    dataset_looks = looks(Look("folder", endings=(".txt",), line=NAME + "( #){14}"))
    results_looks = looks(Look("folder", endings=(".txt",), line=NAME + "( #){15}"))
    results_ending = ".txt"
    asks_for_images = True
    holds = {
        "images": (),
        "categories": (),
        "annotations": (*BOX, "is_crowd", "ignore", *_UNKNOWN, *CUBOID),
        "detections": ("score", *BOX, *_UNKNOWN, *CUBOID),
    }

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        is_region = pl.col("category_id") == _REGION
        annotations = _read(path, _LAYOUT).with_columns(is_crowd=is_region, ignore=is_region)
        return {
            "images": image_ids(text_files(path)).to_frame(),
            "categories": categories_of(annotations),
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        detections = _read(path, (*_LAYOUT, "score"))
        program = "KITTI's own program stops here, and other tools evaluate only images with a file: to do that, list them"
        remedy = f"{program} ({option_name('split', 'val')}, {option_name('images', '')})"
        warn_of_missing(path, dataset, image_ids(text_files(path)), "result file", remedy)
        return detections

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        _write(dataset.annotations, path, _LAYOUT, dataset.images["image_id"])

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        images = ids_to_write("image_id", detections, None if dataset is None else dataset.images)
        _write(detections, path, (*_LAYOUT, "score"), images)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        if table not in ("annotations", "detections"):
            return []
        losses = rounded_sizes(frame)
        stored = _sayable(frame)
        for name in (name for name in (*_UNKNOWN, *CUBOID) if name in frame.columns):
            lost = frame[name].is_not_null() & stored[name].is_null()
            losses.append((name, lost, "left out: not a valid number, or the one for unknown"))
        again = with_cuboids(table, _before_camera(stored))
        losses.append(("cuboid_z", again["cuboid_z"] != stored["cuboid_z"], "rounded: the files store the bottom of cuboids"))
        if table == "annotations":
            is_region = frame["category_id"] == _REGION
            for name in (name for name in ("is_crowd", "ignore") if name in frame.columns):
                losses.append((name, frame[name] & ~is_region, f"left out except in {_REGION}"))
                losses.append((name, ~frame[name] & is_region, f"becomes true in {_REGION}"))
        return [(name, flags.fill_null(False), what) for name, flags, what in losses]


def _read(folder: Path, layout: tuple[str, ...]) -> pl.DataFrame:
    paths = some_text_files(folder)
    lines = Lines("detections" if "score" in layout else "annotations", paths)
    frame = lines.take(layout, layout[1:])
    refuse_reversed(lines, frame, _EDGES)
    is_whole = frame["occluded"].cast(pl.Int64, strict=False) == frame["occluded"]
    lines.refuse(~is_whole.fill_null(False), "occluded is not a whole number")
    frame = lines.marked(frame)
    types = {name: pl.Int64 if name == "occluded" else pl.Float64 for name in _UNKNOWN}
    positive = [pl.col(name) > 0 for name in SIZES]
    flat = lines.new(frame.select(pl.any_horizontal(positive) & ~pl.all_horizontal(positive)).to_series())
    if flat.any():
        file, _, where = places_of(frame, flat)
        problem = f"{paths[file]}: height, width and length are not all positive{where}"
        warn(f"{problem}; these objects have no cuboid, and match nothing in 3D or from above", ShapesLeftOutWarning)
    required = {
        name: pl.when(pl.col(name) != unknown).then(pl.col(name)).cast(types[name], strict=False)
        for name, unknown in _UNKNOWN.items()
    }
    frame = frame.with_columns(pl.when(_HAS_CUBOID).then(pl.col(name)) for name in _NO_CUBOID)
    return with_cuboids("", frame).select(
        image_ids(paths).gather(frame["file"]),
        "category_id",
        *(["score"] if "score" in layout else []),
        *CUBOID,
        OF_SOURCE,
        **from_edges(_EDGES),
        **required,
    )


def _sayable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return attributes and cuboids as numbers; null if missing, or if the number means something else in the files."""
    values = {}
    for name, unknown in _UNKNOWN.items():
        dtype = frame.schema.get(name, pl.Null())
        value = pl.col(name).cast(pl.Float64) if dtype.is_numeric() or dtype == pl.Boolean else pl.lit(None, pl.Float64)
        is_said = value.is_finite() & (value != unknown)
        if name == "occluded":
            is_said &= value.cast(pl.Int64, strict=False) == value
        values[name] = pl.when(is_said).then(value)
    lacking = {name: pl.lit(None, pl.Float64) for name in CUBOID if name not in frame.columns}
    writable = frame.with_columns(**values, **lacking)
    has_cuboid = _before_camera(writable).select(_HAS_CUBOID.fill_null(False)).to_series()
    return writable.with_columns(pl.when(has_cuboid).then(pl.col(CUBOID)))


def _before_camera(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert cuboids to the columns of KITTI: the reverse of `with_cuboids`."""
    x, y, z, height, yaw = (pl.col(f"cuboid_{name}") for name in ("x", "y", "z", "height", "yaw"))
    camera = frame.with_columns(camera_x=x, camera_y=height / 2 - z, camera_z=y, rotation_y=-yaw)
    return camera.drop("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_yaw")


def _write(frame: pl.DataFrame, folder: Path, layout: tuple[str, ...], images: pl.Series) -> None:
    refuse_blanks("categories", frame["category_id"].unique(maintain_order=True))
    fields = _before_camera(_sayable(frame)).with_columns(**to_edges(_EDGES))
    fields = fields.with_columns(pl.col(name).fill_null(unknown) for name, unknown in (_UNKNOWN | _NO_CUBOID).items())
    fields = fields.with_columns(pl.col("occluded").cast(pl.Int64))
    write_lines(folder, fields.select(name="image_id", text=pl.concat_str(layout, separator=" ")), images)
