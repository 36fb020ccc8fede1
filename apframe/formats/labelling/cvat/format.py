"""CVAT XML for images and for video: boxes, polygons and masks in pixels, with labels and attributes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in, folders_in
from apframe.formats.documents import read_xml
from apframe.formats.edges import from_edges
from apframe.formats.files import write_text
from apframe.formats.format import NUMBER, Format
from apframe.formats.labelling.cvat.cvat_shapes import (
    FLAGS,
    PLACE,
    attribute_losses,
    attribute_names,
    clashes,
    field,
    is_plain,
    shape_losses,
    shape_texts,
    typed,
)
from apframe.formats.labelling.cvat.tracks import with_images
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.formats.polygon_columns import angle_of, as_masks, polygon_extents, warn_left_out
from apframe.formats.text_lines import Lines
from apframe.formats.xml_text import escaped, refuse_illegal
from apframe.paths import is_file, is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_RUNS, MOST_SIDE
from apframe.wording import listed

_SHAPES = ("box", "polygon", "mask")
_SIDES = ("xtl", "ytl", "xbr", "ybr")
_GEOMETRY = ("label", *_SIDES, "rotation", "points", "rle", *PLACE)
_OF_IMAGE = ("subset", "task_id")  # optional fields of an image beside its name and size
_ROOT = re.compile(rb"(\xef\xbb\xbf)?(\s|<\?.*?\?>|<!--.*?-->)*<annotations[\s>]", re.DOTALL)


class Cvat(Format):
    """CVAT exports for images and for video, both 1.1. Results are the same with an attribute `score` or `confidence`.

    Images have their number as id, and the path shown in CVAT as `file_name`. If the numbers in an export of a project restart
    with each subset or task, or a folder has several files or folders with an `annotations.xml`, images are numbered from 0 in
    the order of the files, and results are joined by file name. Categories are the labels that the task lists, used or not, or
    else those of the shapes. A polygon or mask gets the box around it, and its own `area`. `rotation`, in degrees clockwise
    about the centre, becomes `angle`, from -π to π. Masks of CVAT are run lengths along the rows of a crop; they become COCO's,
    down the columns of the image.

    Further fields of a shape (occluded, z_order, source, group_id) and its attributes become columns: true and false, numbers
    if all values are, otherwise text. An attribute takes precedence over a field of the same name. Attributes with the name of
    a canonical column get `_attribute` appended, except `is_crowd`, `ignore` (or `difficult`) and, in results, the score.
    Results also have `file_name` of the images, to join by.

    In a file for video, images are the frames of the task, and further frames with shapes. The id is the number of the frame,
    and the name is as in CVAT, such as `frame_000007`. Shapes that are outside are left out. CVAT lists a track in each frame,
    so that nothing is interpolated here; `keyframe` is false if CVAT interpolated, and `track_id` is the number of the track.

    Tags, points, polylines, cuboids, ellipses and skeletons are left out, with a `ShapesLeftOutWarning`.

    Files for images are written. A mask of one polygon is written as a polygon, run lengths and bitmaps as masks, all others
    as boxes. CVAT stores the end of a box, so its width may differ in the last bit, and so may `angle`, which is in radians.

    Source: the page "XML annotation format" of CVAT's manual; for rotation and masks, its exporter.
    """

    name = "cvat"
    title = "CVAT XML"
    dataset_is = "an XML file of CVAT for images or for video, or a folder with one or more"
    results_are = "the same, its shapes with an attribute score"
    dataset_looks = results_looks = looks(Look("file", begins="<"), Look("folder", names=("*.xml", "*/")))
    image_ids = NUMBER
    holds: ClassVar[dict[str, tuple[str, ...]]] = {
        "images": ("image_width", "image_height", "file_name", *_OF_IMAGE),
        "categories": ("name",),
        "annotations": ("*", *BOX, "area", *FLAGS, "mask", "angle"),
        "detections": ("*", "score", *BOX, "area", "ignore", "mask", "angle"),
    }
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require the root `annotations`. Scores are only detected when the whole file is read."""
        first = seen if seen.kind == "file" else next(_first_files(seen), None)
        return first is not None and _ROOT.match(first.head) is not None

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        root = _root(path)
        images, annotations = _read(path, root, "annotations")
        labels = [label.findtext("name") or "" for label in root.iterfind("meta//label") if label.find("parent") is None]
        names = pl.Series(labels or annotations["category_id"].sort(), dtype=pl.String).unique(maintain_order=True)
        return {"images": images, "categories": pl.DataFrame({"category_id": names, "name": names}), "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        _, detections = _read(path, _root(path), "detections")
        if "score" not in detections.columns and "confidence" in detections.columns:
            detections = detections.rename({"confidence": "score"})
        if "score" not in detections.columns:
            if detections.height:
                raise FormatError(
                    "no shape has an attribute score or confidence", "every shape of results needs one", path=path
                )
            return detections.with_columns(score=pl.lit(None, pl.Float64))
        if not detections["score"].dtype.is_numeric():
            is_number = detections["score"].cast(pl.String).cast(pl.Float64, strict=False).is_finite().fill_null(False)
            _refuse(path, detections, detections["score"].is_not_null() & ~is_number, "score is not a finite number")
            detections = detections.with_columns(pl.col("score").cast(pl.Float64))
        return detections

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        _write(path, dataset.images, dataset.categories["category_id"], "annotations", dataset.annotations)

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        if dataset is not None:
            _write(path, dataset.images, dataset.categories["category_id"], "detections", detections)
            return
        images = detections.unique("image_id", maintain_order=True)
        names = pl.col("file_name") if "file_name" in images.columns else pl.lit(None, pl.String).alias("file_name")
        unknown = pl.lit(None, pl.Int64)
        images = images.select("image_id", names, image_width=unknown, image_height=unknown)
        _write(path, images, detections["category_id"].unique(maintain_order=True), "detections", detections)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        if table == "categories":
            return []
        if table == "images":
            lost = attribute_losses(frame, [name for name in _OF_IMAGE if name in frame.columns])
        else:
            lost = shape_losses(table, frame) + attribute_losses(frame, attribute_names(table, frame))
            if "file_name" in frame.columns:
                what = "replaced by that of the image" if table == "detections" else "left out"
                lost.append(("file_name", frame["file_name"].is_not_null(), what))
        return [(name, flags.fill_null(False), what) for name, flags, what in lost]


def _first_files(seen: PathContents) -> Iterator[PathContents]:
    """Yield the files of a folder, or the annotations.xml of each subfolder."""
    yield from seen.children("*.xml")
    yield from filter(None, (folder.child("annotations.xml") for folder in seen.folders))


def _files(path: Path) -> list[Path]:
    """Return the file itself, the files of a folder, or the annotations.xml of each subfolder."""
    if not is_folder(path):
        return [path]
    of_tasks = (folder / "annotations.xml" for folder in folders_in(path))
    return files_in(path, ".xml") or [file for file in of_tasks if is_file(file)]


def _root(path: Path) -> ElementTree.Element:
    """Return the root of the file, or of the first file of a folder with the contents of the others and images renumbered."""
    files = _files(path)
    if not files:
        raise FormatError("holds neither an XML file nor folders with an annotations.xml", path=path)
    first, *others = map(_root_of, files)
    for other in others:
        first.extend(other)
    if others:
        for number, image in enumerate(first.iterfind("image")):
            image.set("id", str(number))
    return first


def _root_of(path: Path) -> ElementTree.Element:
    root = read_xml(path)
    if root.tag != "annotations":
        raise FormatError(f"the root is {root.tag}, not annotations", "is it from CVAT?", path=path)
    return with_images(path, root)


def _read(path: Path, root: ElementTree.Element, table: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the images, and their supported shapes as rows of `table`."""
    elements = root.findall("image")
    images = _images(path, elements)
    every = [(row, shape) for row, image in enumerate(elements) for shape in image]
    warn_left_out(path, Counter(shape.tag for _, shape in every if shape.tag not in _SHAPES))
    shapes = [shape for _, shape in every if shape.tag in _SHAPES]
    owners = images[pl.Series([row for row, shape in every if shape.tag in _SHAPES], dtype=pl.UInt32)]
    texts = _texts(shapes, _GEOMETRY)
    _refuse(path, owners, texts["label"].is_null(), "a shape has no label")
    tags = pl.Series("shape", [shape.tag for shape in shapes], dtype=pl.String)
    owner = owners.select("image_id", "image_height", "image_width")
    rows = pl.concat([owner, texts.select(_GEOMETRY), tags.to_frame()], how="horizontal").with_row_index("row")
    readers: dict[str, Callable[..., pl.DataFrame]] = {"box": _boxes, "polygon": _polygons, "mask": _masks}
    parts = [read(path, rows.filter(shape=shape)) for shape, read in readers.items()]
    outlines = pl.concat(parts, how="diagonal").sort("row").drop("row")
    if "angle" in outlines.columns:
        outlines = outlines.with_columns(pl.col("angle").fill_null(0.0))
    lines = Lines(table, [path], rows.select(file=0, image="image_id"), "image")
    for near, far, size in zip(_SIDES[:2], _SIDES[2:], BOX[2:], strict=True):
        lines.refuse_malformed(outlines[size] < 0, f"{far} of a box is less than {near}")
    attributes = _attributes(path, owners, shapes, texts.drop(_GEOMETRY), table)
    named = [owners.select("file_name")] if table == "detections" else []
    objects = pl.concat([rows.select("image_id", category_id="label"), outlines, *named, attributes], how="horizontal")
    return images, lines.marked(objects)


def _images(path: Path, elements: list[ElementTree.Element]) -> pl.DataFrame:
    texts = _texts(elements, ("id", "name", "width", "height", *_OF_IMAGE))
    numbers = texts.select(pl.col("id", "width", "height").cast(pl.Int64, strict=False))
    for name in numbers.columns:
        broken = numbers[name].is_null() & (texts[name].is_not_null() | (name == "id"))
        if broken.any():
            which = listed(texts["name"].filter(broken).to_list())
            raise FormatError(f"{name} is missing or not a whole number in image {which}", "correct it", path=path)
    further = [typed(texts[name]) for name in _OF_IMAGE if texts[name].count()]
    if numbers["id"].is_duplicated().any() and texts.select("id", *_OF_IMAGE).is_unique().all():
        numbers = numbers.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))
    named = numbers.select(image_id="id", image_width="width", image_height="height")
    return named.with_columns(texts["name"].alias("file_name"), *further)


def _texts(elements: list[ElementTree.Element], first_names: Iterable[str]) -> pl.DataFrame:
    """Return the fields of elements, the given names first, as columns of text."""
    names = dict.fromkeys(chain(first_names, chain.from_iterable(element.attrib for element in elements)))
    return pl.DataFrame([pl.Series(name, [element.get(name) for element in elements], dtype=pl.String) for name in names])


def _boxes(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    numbers = rows.with_columns(pl.col("rotation").fill_null("0")).select(
        "row", pl.col(*_SIDES, "rotation").cast(pl.Float64, strict=False)
    )
    for name in (*_SIDES, "rotation"):
        _refuse(path, rows, ~numbers[name].is_finite().fill_null(False), f"{name} of a box is missing or not a finite number")
    angle = [angle_of(pl.col("rotation")).alias("angle")] if rows["rotation"].count() else []
    return numbers.select("row", *angle, **from_edges(_SIDES))


def _polygons(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Return masks, boxes and areas from rows of points `x,y;x,y;...`."""
    if rows.is_empty():
        return rows.select("row")
    text = pl.col("points").fill_null("")
    number = pl.element().cast(pl.Float64, strict=False)
    split = rows.select(
        numbers=text.str.replace_all(";", ",").str.split(",").list.eval(number),
        are_pairs=text.str.split(";").list.eval(pl.element().str.count_matches(",") == 1).list.all(),
    )
    are_finite = split["numbers"].list.eval(pl.element().is_finite().fill_null(False)).list.all()
    _refuse(path, rows, ~(split["are_pairs"] & are_finite), "points of a polygon are not x,y;x,y;... in finite numbers")
    return rows.select("row", mask=as_masks(split["numbers"])).hstack(polygon_extents(split["numbers"]))


def _masks(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """Return masks in COCO's encoding, areas, and crops as boxes, from run lengths along the rows of a crop."""
    if rows.is_empty():
        return rows.select("row")
    from apframe.formats.labelling.cvat.row_runs import Crop, to_columns  # brings in NumPy

    place = rows.select(pl.col(PLACE).cast(pl.Int64, strict=False))
    left, top, width, height = place
    inside = (left >= 0) & (top >= 0) & (left + width <= rows["image_width"]) & (top + height <= rows["image_height"])
    problem = "left, top, width and height of a mask are not whole numbers inside an image of known size"
    _refuse(path, rows, ~inside.fill_null(False), problem)
    sides = rows.select(pl.col("image_width", "image_height").cast(pl.Float64))
    pixels = sides["image_width"] * sides["image_height"]
    is_large = (pixels > MOST_PIXELS) | (sides["image_width"] > MOST_SIDE) | (sides["image_height"] > MOST_SIDE)
    problem = f"a mask is on an image of more than {MOST_PIXELS:,} pixels, or more than {MOST_SIDE:,} a side"
    _refuse(path, rows, is_large, problem)
    number = pl.element().str.strip_chars().cast(pl.Int64, strict=False)
    counts = rows["rle"].fill_null("").str.split(",").list.eval(number)
    are_counts = counts.list.eval(pl.element().is_between(0, MOST_PIXELS).fill_null(False)).list.all()
    are_counts &= counts.list.sum() == width * height
    _refuse(path, rows, ~are_counts, "the run lengths in rle of a mask do not add up to width × height")
    sizes = rows.select("image_height", "image_width").rows()
    masks = []
    for row, (runs, crop, size) in enumerate(zip(counts.to_list(), place.rows(), sizes, strict=True)):
        try:
            masks.append(json.dumps({"size": size, "counts": to_columns(Crop(runs, *crop), *size)}, separators=(",", ":")))
        except ValueError:
            wrong = pl.int_range(rows.height, eager=True) == row
            _refuse(path, rows, wrong, f"a mask has more than {MOST_RUNS:,} run lengths down its columns")
    box = place.select(pl.col(PLACE).cast(pl.Float64)).rename({"left": "x", "top": "y"})
    area = counts.list.gather_every(2, 1).list.sum().cast(pl.Float64)
    return box.with_columns(rows["row"], mask=pl.Series(masks), area=area)


def _attributes(
    path: Path, owners: pl.DataFrame, shapes: list[ElementTree.Element], fields: pl.DataFrame, table: str
) -> pl.DataFrame:
    """Return the attributes of shapes, from fields and from elements."""
    values: dict[str, list[str | None]] = {}
    for row, shape in enumerate(shapes):
        for attribute in shape:  # the only children of a shape
            name = attribute.get("name", "")
            if name not in values:
                values[name] = [None] * len(shapes)
            values[name][row] = attribute.text or ""
    nameless = pl.Series(values.get("", [None] * len(shapes)), dtype=pl.String)
    _refuse(path, owners, nameless.is_not_null(), "an attribute of a shape has no name")
    flags = [name for name in ("occluded", "keyframe") if name in fields.columns]
    fields = fields.with_columns(pl.col(flags).replace({"0": "false", "1": "true"}))
    columns = {column.name: column for column in fields}
    columns |= {name: pl.Series(texts, dtype=pl.String) for name, texts in values.items()}
    renamed = clashes(table)
    return pl.DataFrame({renamed.get(name, name): typed(column.alias("value")) for name, column in columns.items()})


def _refuse(path: Path, rows: pl.DataFrame, wrong: pl.Series, problem: str) -> None:
    """Raise an error that names the images of the flagged shapes."""
    if wrong.any():
        images = listed(rows["image_id"].filter(wrong).unique(maintain_order=True).to_list())
        raise FormatError(f"{problem}, on image {images}", f"correct {int(wrong.sum()):,} of {len(wrong):,} shapes", path=path)


def _write(path: Path, images: pl.DataFrame, labels: pl.Series, table: str, frame: pl.DataFrame) -> None:
    sizes = images.select("image_id", "image_width", "image_height")
    sizes = frame.select("image_id").join(sizes, on="image_id", how="left", maintain_order="left").drop("image_id")
    shapes = frame.select("image_id").with_columns(shape_texts(table, frame, sizes))
    names = (
        labels.to_frame("name").select("<label><name>" + escaped(pl.col("name")) + "</name><attributes/></label>").to_series()
    )
    fields = {"id": "image_id", "name": "file_name", "width": "image_width", "height": "image_height"}
    fields |= {name: name for name in _OF_IMAGE if name in images.columns and is_plain(images.schema[name])}
    opening = [pl.lit("<image"), *(field(name, pl.col(column)) for name, column in fields.items()), pl.lit(">")]
    grouped = shapes.group_by("image_id", maintain_order=True).agg(pl.col("text").str.join("\n"))
    blocks = images.join(grouped, on="image_id", how="left", maintain_order="left").select(
        pl.concat_str([*opening, "\n" + pl.col("text"), pl.lit("\n</image>")], ignore_nulls=True)
    )
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>', "<annotations>", "<version>1.1</version>", "<meta><task><labels>",
        *names, "</labels></task></meta>", *blocks.to_series(), "</annotations>",
    ]  # fmt: skip
    refuse_illegal(pl.Series(lines))
    write_text(path, "\n".join(lines) + "\n")
