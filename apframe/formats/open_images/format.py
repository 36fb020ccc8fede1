"""Open Images: boxes as CSV, with descriptions of the classes, their hierarchy, and labels verified per image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError, UnknownCategoryWarning, warn
from apframe.formats.files import write_text
from apframe.formats.format import ANY, Format
from apframe.formats.image_sizes import (
    find_image_sizes,
    refuse_far,
    with_image_sizes,
    with_sizes_of,
    with_sizes_to_write,
    write_image_sizes,
)
from apframe.formats.looks import Look, looks
from apframe.formats.open_images.class_hierarchy import read_hierarchy, write_hierarchy
from apframe.formats.open_images.csv_tables import (
    BOXES,
    EDGES,
    FLAGS,
    find_files,
    kind_of,
    read_boxes,
    read_classes,
    read_images,
    read_labels,
    read_scored_boxes,
)
from apframe.formats.path_contents import PathContents
from apframe.formats.text_lines import refuse_lines
from apframe.paths import is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.names import label_of
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.validation import without_refused
from apframe.wording import counted, listed, option_name

_DTYPES = {"source": pl.String, "confidence": pl.Float64, **dict.fromkeys(FLAGS.values(), pl.Boolean)}
_VERIFIED = {"pos_category_ids": 1, "neg_category_ids": 0}  # the Confidence of a label
_WRITTEN = {
    "boxes": "annotations-bbox.csv", "labels": "annotations-human-imagelabels.csv", "images": "images.csv",
    "classes": "class-descriptions-boxable.csv", "hierarchy": "bbox_labels_hierarchy.json",
}  # fmt: skip

_CSV = (".csv", ".csv.gz")


class OpenImages(Format):
    """The CSV files of Open Images: the file of boxes alone, or a folder with further files.

    A folder may have: boxes (columns ImageID, LabelName, XMin, XMax, YMin, YMax); labels of images (ImageID, LabelName,
    Confidence: 1 if the class was verified to be present, 0 if absent; no file with `machine` in its name); images (ImageID
    without LabelName); classes (a name such as `class-descriptions-boxable.csv`; LabelName, DisplayName); and their hierarchy
    (`*hierarchy*.json`). If there are several of a kind, `split` is a part of the name to choose, such as `validation`. Labels
    of classes without a description are dropped, with an `UnknownCategoryWarning`; such boxes are an error.

    `category_id` is the LabelName, such as /m/01g317, and `name` its description. IsGroupOf is `is_crowd`, and further columns
    are attributes; flags of -1 become null. A line with only an image means an image without objects. A hierarchy defines
    `parent_ids`: its root is not a class, parts of things are skipped, and so are classes without a description. The protocol
    `OPEN_IMAGES` requires a hierarchy.

    Sizes of the images come from `image_sizes`, or else from `image_sizes.csv` beside the boxes, and every image requires one.
    Without either, images are 1 x 1 and a `UnitWarning` says so. Numbers survive a round trip to 1e-9 of the image's size, as
    they are divided and multiplied by it; the order of `parent_ids` may change.

    Results are a CSV with a Score (or Conf), or the CSV of the challenge: ImageId and PredictionString (repeated label, score,
    left, top, right, bottom).

    Source: Open Images V7, Data formats; TensorFlow Object Detection API, challenge_evaluation; Kaggle, the challenge of 2019.
    """

    name = "open_images"
    title = "Open Images CSV"
    dataset_is = "a CSV of ImageID, LabelName, XMin, XMax, YMin, YMax, or a folder that holds it, classes, hierarchy, labels"
    results_are = "a CSV of ImageID, LabelName, Score, XMin, XMax, YMin, YMax, or of ImageId, PredictionString"
    dataset_looks = looks(Look("folder", endings=_CSV), Look("file", endings=_CSV, columns=("ImageID",)))
    results_looks = looks(Look("file", endings=_CSV, columns=("ImageID",)))
    options = ("split", "image_sizes")
    fractions = True
    category_ids = ANY
    holds = {
        "images": ("file_name", *SIZE, *_VERIFIED),
        "categories": ("name", "parent_ids"),
        "annotations": (*BOX, *_DTYPES),
        "detections": ("score", *BOX),
    }
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require a CSV with the columns of boxes, with a score or predictions in results only; or a folder with one."""
        files = [seen] if seen.kind == "file" else seen.children("*.csv", "*.csv.gz")
        return any(kind_of(file) == ("boxes" if role == "dataset" else "results") for file in files)

    def read_tables(
        self, path: Path, *, split: str | None = None, image_sizes: Any = None, **options: Any
    ) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        if split is not None and not is_folder(path):
            raise ParameterError("this is a single file", f"leave out {option_name('split', split)}", path=path)
        files = find_files(path, split) if is_folder(path) else {"boxes": path}
        boxes, without_objects = read_boxes(files["boxes"])
        classes = read_classes(files["classes"]) if "classes" in files else None
        labels = _of_classes(files, read_labels(files["labels"]), classes) if "labels" in files else None
        images = _images(read_images(files["images"]) if "images" in files else None, boxes, labels, without_objects)
        images = with_image_sizes(images, find_image_sizes(image_sizes, files["boxes"].parent), path)
        boxes = boxes.join(images.select("image_id", *SIZE).unique(), on="image_id", how="left", maintain_order="left")
        return {"images": images, "categories": _categories(files, classes, boxes, labels), "annotations": _in_pixels(boxes)}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _in_pixels(with_sizes_of(read_scored_boxes(path), dataset, path))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`. It writes a folder; hierarchy and labels only if there are any."""
        images, categories = dataset.images, dataset.categories
        boxes = _with_fractions("annotations", dataset.annotations, dataset)
        columns = [name for name in BOXES.values() if name not in _DTYPES or boxes.schema.get(name) == _DTYPES[name]]
        flags = (pl.col(name).cast(pl.Int64).fill_null(-1) for name in FLAGS.values() if name in columns)
        rows = boxes.with_columns(flags).select(pl.col(name).alias(column) for column, name in BOXES.items() if name in columns)
        path.mkdir(parents=True)
        if "parent_ids" in categories.columns and categories["parent_ids"].list.len().sum():
            write_hierarchy(categories, path / _WRITTEN["hierarchy"])
        write_text(path / _WRITTEN["boxes"], rows.write_csv())
        name = label_of("categories")
        write_text(path / _WRITTEN["classes"], categories.select(LabelName="category_id", DisplayName=name).write_csv())
        write_text(path / _WRITTEN["images"], images.select(ImageID="image_id").write_csv())
        write_image_sizes(images, path)
        labels = [_labels(images, name) for name in _VERIFIED if name in images.columns]
        if labels:
            write_text(path / _WRITTEN["labels"], pl.concat(labels).write_csv())

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        assert dataset is not None  # as boxes are fractions
        fractions = _with_fractions("detections", detections, dataset)
        columns = {"ImageID": "image_id", "LabelName": "category_id", "Score": "score", **{edge: edge for edge in EDGES}}
        rows = fractions.select(pl.col(name).alias(column) for column, name in columns.items())
        write_text(path, rows.write_csv())

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        if table == "images":
            return []
        further = []
        if table != "annotations" and frame["category_id"].dtype != pl.String:
            further.append(("category_id", frame["category_id"].is_not_null(), "becomes a text"))
        if table == "categories":
            further.append(("name", frame["name"].is_null(), "becomes the category_id"))
        if table == "annotations":
            wrong = (name for name, dtype in _DTYPES.items() if frame.schema.get(name, dtype) != dtype)
            further += [(name, frame[name].is_not_null(), f"left out: no {_DTYPES[name]}") for name in wrong]
        return further


def _images(
    listed: pl.DataFrame | None, boxes: pl.DataFrame, labels: pl.DataFrame | None, without_objects: pl.Series
) -> pl.DataFrame:
    """Return the listed images, and others that boxes or labels name; with lists of verified classes if there are labels."""
    named = [frame.select("image_id") for frame in (boxes, without_objects.to_frame(), labels) if frame is not None]
    images = pl.concat(named).drop_nulls().unique(maintain_order=True)
    if listed is not None:
        others = images.filter(~images["image_id"].is_in(listed["image_id"].implode()))
        images = pl.concat([listed.drop("file", "line"), others], how="diagonal")
    images = images.with_columns(file_name=pl.lit(None, pl.String))
    for name, confidence in _VERIFIED.items() if labels is not None else ():
        assert labels is not None
        lists = labels.filter(pl.col("category_id").is_not_null(), confidence=confidence)
        lists = lists.group_by("image_id", maintain_order=True).agg(category_id="category_id")
        images = images.join(lists.rename({"category_id": name}), on="image_id", how="left", maintain_order="left")
    return images


def _of_classes(files: dict[str, Path], labels: pl.DataFrame, classes: pl.DataFrame | None) -> pl.DataFrame:
    """Return the labels without those of classes without a description, and warn of these."""
    if classes is None:
        return labels
    is_described = labels["category_id"].is_in(classes["category_id"].implode())
    if not is_described.all():
        which = listed(labels["category_id"].filter(~is_described).unique(maintain_order=True).to_list())
        dropped = counted(int((~is_described).sum()), "label")
        warn(
            f"{files['labels']}: dropped {dropped} of classes that are not in {files['classes'].name}: {which}",
            UnknownCategoryWarning,
        )
    return labels.with_columns(pl.when(is_described).then("category_id"))  # the image still counts as labelled


def _categories(
    files: dict[str, Path], classes: pl.DataFrame | None, boxes: pl.DataFrame, labels: pl.DataFrame | None
) -> pl.DataFrame:
    """Return the classes with a description, or without descriptions, all classes that occur."""
    described = None if classes is None else set(classes["category_id"])
    edges = read_hierarchy(files["hierarchy"], described) if "hierarchy" in files else None
    if classes is None:
        named = [frame["category_id"] for frame in (boxes, labels, edges) if frame is not None]
        classes = pl.concat(named).drop_nulls().unique().sort().to_frame().with_columns(name="category_id")
    else:
        boxes = without_refused(boxes)
        unknown = ~boxes["category_id"].is_in(classes["category_id"].implode())
        problem = f"LabelName is not among the classes in {files['classes'].name}"
        refuse_lines([files["boxes"]], boxes, unknown, problem, "add it there, or remove these lines")
    if edges is None:
        return classes
    parents = edges.drop_nulls().unique(maintain_order=True).group_by("category_id", maintain_order=True).agg("parent_ids")
    return classes.join(parents, on="category_id", how="left", maintain_order="left")


def _in_pixels(boxes: pl.DataFrame) -> pl.DataFrame:
    """Convert edges as fractions, with the sizes of images, to boxes in pixels; attributes stay."""
    left, right, top, bottom = (pl.col(edge) * pl.col(side).cast(pl.Float64) for edge, side in EDGES.items())
    sides = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return boxes.with_columns(**sides).drop("file", "line", *EDGES, *SIZE)


def _with_fractions(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Add edges as fractions to the rows."""
    sized = with_sizes_to_write(table, frame, dataset)
    x, y, wide, high = map(pl.col, BOX)
    edges = zip(EDGES.items(), (x, x + wide, y, y + high), strict=True)
    sized = sized.with_columns((place / pl.col(side)).alias(edge) for (edge, side), place in edges)
    refuse_far(table, frame, sized.select(pl.concat_list(*EDGES)).to_series())
    return sized


def _labels(images: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a row for each verified class in a list column of images."""
    labels = images.select(
        ImageID="image_id", LabelName=pl.col(name).cast(pl.List(pl.String)), Confidence=pl.lit(_VERIFIED[name])
    )
    return labels.explode("LabelName", empty_as_null=False, keep_nulls=False)
