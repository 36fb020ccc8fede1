"""Label Studio JSON: a list of tasks, each an image with annotations and predictions; shapes are in percent of the image."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import read_json
from apframe.formats.files import write_text
from apframe.formats.format import NUMBER, Format
from apframe.formats.image_names import categories_of
from apframe.formats.labelling.label_studio.regions import encoded, in_pixels, read_regions, region_losses, region_texts
from apframe.formats.looks import Look, looks
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import SIZE, TABLES
from apframe.tables.shapes.boxes import BOX
from apframe.wording import listed

_IMAGE: dict[str, Any] = {"image_id": pl.Int64, "file_name": pl.String, "image_width": pl.Int64, "image_height": pl.Int64}
_RESERVED = {column.name for column in TABLES["images"]} - {*SIZE}  # names that fields of `data` cannot have as columns
_CLASH = "_attribute"


class LabelStudio(Format):
    """Label Studio's export "JSON": tasks with `data`, `annotations` and `predictions`. Data sets consist of the annotations.

    An image has the id of its task, and the file name in the field `image` of `data` (or else its first text), without folders
    and URL; results also have `file_name`, to join by. Tasks that were never in a project have no id: images are then numbered
    from 1, and have file names as ids in results. Further fields of `data` become columns of images, with `_attribute`
    appended if a canonical column has the name. The size is in the regions, or else in `image_width` and `image_height` in
    `data`. Categories are the labels that are used.

    Of several annotations of a task, the one marked as ground truth is used, or else the latest by `updated_at` that was not
    cancelled; a task without one is an image without objects. Of several predictions, the latest by `created_at` is used, and a
    `ShapesLeftOutWarning` counts the others. A region with several labels becomes a row for each. The `score` is that of the
    region, or else that of the prediction. Rectangles and polygons are read; a polygon gets the box around it, and its own
    `area`. `rotation`, degrees clockwise about the corner, becomes `angle` about the centre. Brushes, ellipses, keypoints,
    regions without a label or on turned images, and answers to questions are left out, with a `ShapesLeftOutWarning`.

    Percentages become pixels, and back, up to rounding: to 1e-9 of the number. A mask of one polygon is written as a polygon,
    all others as rectangles; `region_id` is kept.

    Source: the pages "Label Studio JSON format of annotated tasks", "RectangleLabels" and "PolygonLabels" of its documentation.
    """

    name = "label_studio"
    title = "Label Studio JSON"
    dataset_is = "a JSON file with a list of tasks that have annotations"
    results_are = "the same with predictions"
    dataset_looks = looks(Look("file", begins="[", keys=("annotations",), any_keys=("data", "from_name")))
    results_looks = looks(Look("file", begins="[", keys=("predictions",), any_keys=("data", "from_name")))
    fractions = True
    image_ids = NUMBER
    holds: ClassVar[dict[str, tuple[str, ...]]] = {
        "images": ("*", *SIZE, "file_name"),
        "categories": ("name",),
        "annotations": (*BOX, "area", "mask", "angle", "region_id"),
        "detections": ("score", *BOX, "area", "mask", "angle", "region_id", "model_version", "file_name"),
    }

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        tasks = _tasks(path)
        chosen = [_latest([each for each in _listed(task, "annotations") if not each.get("was_cancelled")]) for task in tasks]
        regions = read_regions(path, tasks, chosen, Counter())
        images = _images(path, tasks)
        numbers = pl.int_range(1, len(tasks) + 1, dtype=pl.Int64, eager=True)
        images = images.with_columns(_sizes(images, regions), image_id=pl.coalesce("image_id", numbers))
        return {
            "images": images,
            "categories": categories_of(regions),
            "annotations": in_pixels(path, regions, images).drop("score", "model_version", "file_name", strict=False),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`. Sizes missing in the file come from the data set."""
        tasks = _tasks(path)
        chosen = [_latest(_listed(task, "predictions")) for task in tasks]
        n_earlier = sum(max(0, len(_listed(task, "predictions")) - 1) for task in tasks)
        regions = read_regions(path, tasks, chosen, Counter({"earlier predictions": n_earlier}) if n_earlier else Counter())
        images = _images(path, tasks)
        if not images["image_id"].count():
            images = images.with_columns(image_id="file_name")
        images = images.with_columns(_sizes(images, regions))
        if dataset is not None and dataset.images.schema["image_id"] == images.schema["image_id"]:
            own = images.select("image_id").join(dataset.images, on="image_id", how="left", maintain_order="left")
            images = images.with_columns(pl.coalesce(name, own[name]).alias(name) for name in SIZE)
        return in_pixels(path, regions, images)

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        regions = region_texts("annotations", dataset.annotations, dataset.images)
        _write(path, dataset.images, regions.with_columns(opening=pl.lit('{"result":[')), "annotations")

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        assert dataset is not None  # boxes are fractions
        regions = region_texts("detections", detections, dataset.images)
        version = (encoded("model_version") + ",").fill_null("") if "model_version" in detections.columns else pl.lit("")
        opening = detections.with_columns(opening=pl.lit("{") + version + '"result":[')["opening"]
        _write(path, dataset.images, regions.with_columns(opening), "predictions")

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        lost: list[tuple[str, pl.Series, str]] = []
        if table == "images":
            names = frame["file_name"]
            bare = pl.Series([None if name is None else _file_name(name) for name in names], dtype=pl.String)
            lost.append(("file_name", names != bare, "without folders and URL"))
            for name in _image_attributes(frame):
                values = frame[name].alias("value")
                if name == "image":
                    lost.append((name, values.is_not_null(), "left out: the file name uses this field"))
                elif values.dtype.is_float():
                    lost.append((name, ~values.is_finite(), "left out: not finite"))
                elif not (values.dtype.is_integer() or values.dtype in (pl.Boolean, pl.String)):
                    lost.append((name, values.is_not_null(), "read back as text"))
        if table in ("annotations", "detections"):
            lost += region_losses(table, frame)
            if "region_id" in frame.columns and frame["region_id"].dtype != pl.String:
                lost.append(("region_id", frame["region_id"].is_not_null(), "read back as text"))
            if "file_name" in self.holds[table] and "file_name" in frame.columns:
                lost.append(("file_name", frame["file_name"].is_not_null(), "replaced by that of the image"))
            if "model_version" in self.holds[table] and "model_version" in frame.columns:
                first = frame.select(pl.col("model_version").first().over("image_id")).to_series()
                lost.append(
                    ("model_version", frame["model_version"].ne_missing(first), "replaced by that of the image's first")
                )
        return [(name, flags.fill_null(False), what) for name, flags, what in lost]


def _tasks(path: Path) -> list[dict[str, Any]]:
    tasks = read_json(path)
    if not isinstance(tasks, list):
        raise FormatError("not a list of tasks", "export as JSON", path=path)
    for number, task in enumerate(tasks, start=1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise FormatError(
                f"task {number} of the list has no object named data", "export it as JSON, not as JSON-MIN", path=path
            )
        for key in ("annotations", "predictions"):
            sources = task.get(key) or []
            if not isinstance(sources, list) or not all(_is_source(source) for source in sources):
                raise FormatError(
                    f"{key} of task {number} of the list are not objects with a list result", "export again", path=path
                )
    return tasks


def _is_source(source: Any) -> bool:
    result = source.get("result") if isinstance(source, dict) else None
    return isinstance(result, list) and all(isinstance(region, dict) for region in result)


def _listed(task: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return task.get(key) or []


def _latest(sources: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the source marked as ground truth, or else the latest (the last of equals); an empty one without any."""

    def rank(numbered: tuple[int, dict[str, Any]]) -> tuple[bool, str, int]:
        number, source = numbered
        return bool(source.get("ground_truth")), str(source.get("updated_at") or source.get("created_at") or ""), number

    return max(enumerate(sources), key=rank)[1] if sources else {"result": []}


def _images(path: Path, tasks: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a row for each task: id (null if no task has one), file name, size, and further fields of `data`."""
    ids = [task.get("id") for task in tasks]
    wrong = [number for number, value in enumerate(ids, start=1) if type(value) is not int or abs(value) >= 2**63]
    if wrong and any(value is not None for value in ids):
        raise FormatError(f"the id is not a whole number in task {listed(wrong)} of the list", "correct it", path=path)
    data = [dict(task["data"]) for task in tasks]
    names = [_file_name(address) if isinstance(address := _take_address(row), str) else None for row in data]
    columns = {name: [row.get(name) for row in data] for name in dict.fromkeys(key for row in data for key in row)}
    sizes = {name: [*map(_side, columns.pop(name, [None] * len(data)))] for name in SIZE}
    images = pl.DataFrame({"image_id": ids, "file_name": names, **sizes}, schema=_IMAGE)
    return images.with_columns(_of_json(name + _CLASH * (name in _RESERVED), values) for name, values in columns.items())


def _side(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < 2**31 else None


def _take_address(data: dict[str, Any]) -> Any:
    """Remove the address of the image from `data` and return it: the field `image`, or else the first text."""
    key = "image" if "image" in data else next((key for key, value in data.items() if isinstance(value, str)), None)
    return None if key is None else data.pop(key)


def _file_name(address: str) -> str:
    """Return the file name in a path or a URL.

    >>> _file_name("/data/local-files/?d=train/a%20b.jpg"), _file_name("s3://bucket/c.jpg?versionId=7"), _file_name("d/e?.png")
    ('a b.jpg', 'c.jpg', 'e?.png')
    """
    if "://" in address or address.startswith("/data/"):
        where, _, query = address.partition("?")
        address = unquote(query.removeprefix("d=") if query.startswith("d=") else where)
    return address.replace("\\", "/").rpartition("/")[2]


def _of_json(name: str, values: list[Any]) -> pl.Series:
    """Return values as a column of their type; as JSON text if they have several types, or are lists or objects."""
    types = {type(value) for value in values} - {type(None)}
    if types <= {int, float} and all(value is None or abs(value) < 2**63 for value in values):
        return pl.Series(name, values, dtype=pl.Float64 if float in types else pl.Int64)
    if types in ({bool}, {str}):
        return pl.Series(name, values)
    return pl.Series(name, [None if value is None else json.dumps(value) for value in values], dtype=pl.String)


def _sizes(images: pl.DataFrame, regions: pl.DataFrame) -> list[pl.Series]:
    """Return the sizes of images: from their first region, or else from the images."""
    of_regions = regions.group_by("task").agg(pl.col(SIZE).drop_nulls().first().cast(pl.Int64))
    of_regions = images.with_row_index("task").select("task").join(of_regions, on="task", how="left", maintain_order="left")
    return [of_regions[name].zip_with(of_regions[name].is_not_null(), images[name]) for name in SIZE]


def _image_attributes(images: pl.DataFrame) -> list[str]:
    canonical = {column.name for column in TABLES["images"]}
    return [name for name in images.columns if name not in canonical]


def _write(path: Path, images: pl.DataFrame, regions: pl.DataFrame, key: str) -> None:
    """Write the tasks, with regions (`image_id`, `text`, and `opening`, the beginning of their source) under the key."""
    own = {name + _CLASH: name for name in _RESERVED}
    fields = [pl.coalesce(encoded("file_name", "image"), pl.lit('"image":null')), *(encoded(name) for name in SIZE)]
    fields += [encoded(name, own.get(name)) for name in _image_attributes(images) if name != "image"]
    data = images.select(data=pl.concat_str(fields, separator=",", ignore_nulls=True)).to_series()
    sources = regions.group_by("image_id", maintain_order=True).agg(pl.col("opening").first(), pl.col("text").str.join(",\n"))
    tasks = images.select("image_id", data).join(sources, on="image_id", how="left", maintain_order="left")
    source = pl.concat_str("opening", "text", pl.lit("]}")).fill_null('{"result":[]}' if key == "annotations" else "")
    parts = [pl.lit('{"id":'), "image_id", pl.lit(',"data":{'), "data", pl.lit(f'}},"{key}":['), source, pl.lit("]}")]
    texts = tasks.select(text=pl.concat_str(parts)).to_series()
    write_text(path, "[" + ",\n".join(texts) + "]\n")
