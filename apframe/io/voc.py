"""PASCAL VOC: an XML file for each image, image sets, and results as a text file for each class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from apframe.exceptions import FormatError, ParameterError, did_you_mean, listed
from apframe.io.documents import read_xml
from apframe.io.edges import BOX, from_edges, rounded_sizes, to_edges
from apframe.io.files import read_head
from apframe.io.format import Format
from apframe.io.lines import (
    first_fields,
    is_number,
    read_lines,
    refuse_as_file_names,
    refuse_blanks,
    refuse_lines,
    some_text_files,
    take_fields,
    text_files,
    write_lines,
)
from apframe.schema import Dataset

# the elements of an annotation and of its objects, and the columns that they are
_IMAGE = {
    "folder": "folder",
    "filename": "file_name",
    "size/width": "image_width",
    "size/height": "image_height",
    "segmented": "segmented",
}
_OBJECT = {
    "name": "category_id",
    "pose": "pose",
    "truncated": "truncated",
    "occluded": "occluded",
    "difficult": "ignore",
}
_EDGES = ("xmin", "ymin", "xmax", "ymax")
_REQUIRED = ("name", *_EDGES)
_NUMBERS = ("size/width", "size/height", *_EDGES)
_FLAGS = ("segmented", "truncated", "occluded", "difficult", "ignore")
_TEXTS = ("folder", "file_name", "pose", "category_id")
_SIZES = ("image_width", "image_height")
_OPTIONAL = ("folder", "segmented", "pose", "truncated", "occluded", "ignore")
_FLAG_WORDS = {"0": False, "1": True, "false": False, "true": True, "unspecified": None}
_LINE = ("image_id", "score", *_EDGES)
_RESULT_FILE = re.compile(r"(?P<run>.*?_det_[^_]+)_(?P<category>.+)", re.DOTALL)
_WRITTEN_SET, _WRITTEN_RUN = "all", "comp4_det_test_"
_ROOT = re.compile(rb"<annotation[\s/>]")
_NO_BOX = ElementTree.Element("bndbox")
_ILLEGAL_IN_XML = r"[^\t\n\r\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


class Voc(Format):
    """PASCAL VOC's annotations, `Annotations/NAME.xml`, of all images or of those that `ImageSets/Main/SET.txt` names.

    An image is called as its XML file without the ending, a class as it stands there. Boxes are as in the files: VOC counts
    pixels from 1, and xmax is the last pixel inside, which the protocols VOC2007 and VOC2012 heed. `difficult` is `ignore`;
    `pose`, `truncated`, `occluded`, and of images `folder` and `segmented`, are attributes where a file has them. Parts of
    objects, with boxes of their own, are passed over. So are the labels 1, 0 and -1 in an image set of one class: all its
    images are taken.

    Results are files such as `comp4_det_test_CLASS.txt`, of any competition and any set without _ in its name; where no file is
    called so, each is called as its class.

    Source: Everingham and Winn, The PASCAL Visual Object Classes Challenge 2012 Development Kit.
    """

    name = "voc"
    title = "PASCAL VOC"
    dataset_is = "a folder with Annotations/*.xml and ImageSets/Main, a folder of such XML files, or an image set"
    results_are = "a folder of text files called as comp4_det_test_CLASS.txt, lines of image score xmin ymin xmax ymax"
    dataset_from = ("folder", "file")
    results_from = ("folder",)
    options = ("split",)
    holds = {
        "images": tuple(_IMAGE.values()),
        "categories": (),
        "annotations": (*_OBJECT.values(), *BOX),
        "detections": ("score", *BOX),
    }

    def is_dataset(self, path: Path) -> bool:
        """XML files in Annotations; others, the first with the root `annotation`; or a text file where image sets are."""
        if path.is_file():
            return path.suffix == ".txt" and _annotations_of(path).is_dir()
        folder = _annotations_in(path)
        first = min(folder.glob("*.xml"), default=None)
        return first is not None and (folder != path or _ROOT.search(read_head(first)) is not None)

    def is_results(self, path: Path) -> bool:
        """A text file is called as results of a class are."""
        return any(_RESULT_FILE.fullmatch(file.stem) for file in text_files(path))

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """See `Format.read_tables`; `split` names the image set, and has to where there are several of all classes.

        Images are in the order of the image set, else of their names.
        """
        folder, image_set = _parts(path, split)
        there = sorted(folder.glob("*.xml"))
        if not there:
            raise FormatError(f"{folder}: holds no XML file")
        paths = there if image_set is None else _members(image_set, folder, [file.stem for file in there])
        images, objects = _read_annotations(paths)
        ids = pl.Series("image_id", [file.stem for file in paths])
        names = objects.select(pl.col("category_id").unique().sort())
        return {
            "images": _without_empty(images.select(ids, *_IMAGE.values())),
            "categories": names.with_columns(name="category_id"),
            "annotations": _without_empty(objects.select(ids.gather(objects["file"]), *_OBJECT.values(), **from_edges(_EDGES))),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """See `Format.read_results`."""
        files = some_text_files(path)
        named = {file: match for file in files if (match := _RESULT_FILE.fullmatch(file.stem))}
        runs = sorted({match["run"] for match in named.values()})
        if len(runs) > 1:
            raise FormatError(f"{path}: holds results of {', '.join(runs)}; put each into a folder of its own")
        classes = {file: match["category"] for file, match in named.items()} or {file: file.stem for file in files}
        paths = list(classes)
        lines = take_fields(paths, read_lines(paths), _LINE, _LINE[1:])
        category_id = pl.Series("category_id", list(classes.values())).gather(lines["file"])
        return lines.select("image_id", category_id, "score", **from_edges(_EDGES))

    def write(self, dataset: Dataset, path: Path) -> None:
        """See `Format.write`; all images are in one image set, called all."""
        images, annotations = dataset.images, dataset.annotations
        names = annotations["category_id"].unique(maintain_order=True)
        refuse_blanks("images", images["image_id"])
        refuse_as_file_names(images["image_id"])
        _refuse("categories", names, names.ne_missing(_text(names)), "VOC cannot hold the name")
        objects = annotations.select(
            "image_id",
            objects=pl.concat_str(
                pl.lit("\t<object>\n"),
                *(_element("annotations", annotations, tag, column, "\t\t") for tag, column in _OBJECT.items()),
                pl.lit("\t\t<bndbox>\n"),
                *(pl.format("\t\t\t<{}>{}</{}>\n", pl.lit(tag), side, pl.lit(tag)) for tag, side in to_edges(_EDGES).items()),
                pl.lit("\t\t</bndbox>\n\t</object>\n"),
            ),
        )
        objects = objects.group_by("image_id", maintain_order=True).agg(pl.col("objects").str.join())
        documents = images.join(objects, on="image_id", how="left", maintain_order="left").select(
            "image_id",
            document=pl.concat_str(
                pl.lit("<annotation>\n"),
                _element("images", images, "folder", "folder", "\t"),
                _element("images", images, "filename", "file_name", "\t"),
                pl.lit("\t<size>\n"),
                _element("images", images, "width", "image_width", "\t\t"),
                _element("images", images, "height", "image_height", "\t\t"),
                pl.lit("\t</size>\n"),
                _element("images", images, "segmented", "segmented", "\t"),
                pl.col("objects").fill_null(""),
                pl.lit("</annotation>\n"),
            ),
        )
        (path / "Annotations").mkdir(parents=True)
        for name, document in documents.iter_rows():
            (path / "Annotations" / f"{name}.xml").write_text(document, encoding="utf-8")
        members = images.select(name=pl.lit(_WRITTEN_SET), text="image_id")
        write_lines(path / "ImageSets" / "Main", members, pl.Series([_WRITTEN_SET]))

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """See `Format.write_results`; a file for each class of the data set, or of the detections where there is none."""
        categories = (detections if dataset is None else dataset.categories)["category_id"].unique(maintain_order=True)
        refuse_blanks("images", detections["image_id"].unique(maintain_order=True))
        refuse_as_file_names(categories)
        text = pl.concat_str("image_id", "score", *to_edges(_EDGES).values(), separator=" ")
        lines = detections.select(name=_WRITTEN_RUN + pl.col("category_id"), text=text)
        write_lines(path, lines, _WRITTEN_RUN + categories)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """See `Format.further_losses`."""
        found = rounded_sizes(frame) if table in ("annotations", "detections") else []
        for name in (name for name in frame.columns if name in self.holds[table]):
            values = frame[name]
            if name in _FLAGS:
                found.append((name, values.is_not_null() & _text(values).is_null(), "left out, neither true nor false"))
            elif name in _TEXTS and not _is_text(values):
                found.append((name, values.is_not_null(), "left out, no text"))
            elif name in _TEXTS:
                changed = values.cast(pl.String).ne_missing(_text(values))
                found.append((name, changed, "loses the blanks around it; null where nothing is left"))
        return found


def _annotations_in(folder: Path) -> Path:
    inside = folder / "Annotations"
    return inside if inside.is_dir() else folder


def _annotations_of(image_set: Path) -> Path:
    return image_set.absolute().parent.parent.parent / "Annotations"


def _parts(path: Path, split: str | None) -> tuple[Path, Path | None]:
    """The folder of XML files, and the image set that says which of them; None: all."""
    if path.is_file():
        if split is not None:
            raise ParameterError(f"{path}: this is an image set already; leave out split={split!r}")
        return _annotations_of(path), path
    folder = _annotations_in(path)
    main = folder.absolute().parent / "ImageSets" / "Main"
    sets = {file.stem: file for file in text_files(main)}
    whole = [name for name, file in sets.items() if not _is_of_one_class(file)]
    if split is not None and split not in sets:
        raise ParameterError(f"{main}: no image set {split!r}{did_you_mean(split, whole) if whole else ''}")
    if split is None and folder != path and len(whole) > 1:
        raise ParameterError(f"{main}: there are several image sets; say which: split= or --split, one of {', '.join(whole)}")
    if split is None:
        split = whole[0] if whole and folder != path else None
    return folder, None if split is None else sets[split]


def _is_of_one_class(image_set: Path) -> bool:
    fields = first_fields([image_set])
    return len(fields) == 2 and is_number(fields[1])


def _members(image_set: Path, folder: Path, there: list[str]) -> list[Path]:
    """The XML files of the images that an image set names."""
    lines = read_lines([image_set])
    if lines.is_empty():
        raise FormatError(f"{image_set}: the image set is empty")
    lines = take_fields([image_set], lines, ("image_id", "label"), ("label",), optional=1)
    names = lines["image_id"]
    refuse_lines([image_set], lines, ~names.is_first_distinct(), "an image is named again")
    known = names.is_in(pl.Series(there).implode())
    missing = f"{folder} has no XML file of {listed(names.filter(~known).to_list())},"
    refuse_lines([image_set], lines, ~known, missing, "add the files, or remove these lines")
    return [folder / f"{name}.xml" for name in names]


def _read_annotations(paths: Sequence[Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Images and objects: `file` (its place in `paths`), the columns of their elements; of objects the corners too."""
    images: list[tuple[Any, ...]] = []
    objects: list[tuple[Any, ...]] = []
    for place, path in enumerate(paths):
        root = read_xml(path)
        if root.tag != "annotation":
            raise FormatError(f"{path}: the root is <{root.tag}>, not <annotation>")
        images.append((place, *map(root.findtext, _IMAGE)))
        for number, found in enumerate(root.iterfind("object"), 1):
            box = found.find("bndbox")
            corners = _NO_BOX if box is None else box
            objects.append((place, number, *map(found.findtext, _OBJECT), *map(corners.findtext, _EDGES)))
    return (
        _values(paths, images, ("file", *_IMAGE)).rename(_IMAGE),
        _values(paths, objects, ("file", "object", *_OBJECT, *_EDGES)).rename(_OBJECT),
    )


def _values(paths: Sequence[Path], rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> pl.DataFrame:
    """Texts of elements as columns of their types, null where an element is missing or empty."""
    schema = {name: pl.Int64 if name in ("file", "object") else pl.String for name in names}
    frame = pl.DataFrame(rows, schema, orient="row").with_columns(pl.col(pl.String).str.strip_chars().replace("", None))
    for name in names:
        texts = frame[name]
        if name in _REQUIRED:
            _refuse_objects(paths, frame, texts.is_null(), f"{name} is missing")
        if name in _NUMBERS:
            numbers = texts.cast(pl.Float64, strict=False)
            broken = texts.is_not_null() & ~numbers.is_finite().fill_null(False)
            _refuse_objects(paths, frame, broken, f"{name} is not a finite number")
            frame = frame.with_columns(numbers)
        elif name in _FLAGS:
            words = texts.str.to_lowercase()
            broken = texts.is_not_null() & ~words.is_in(list(_FLAG_WORDS))
            _refuse_objects(paths, frame, broken, f"{name} is neither 0 nor 1")
            frame = frame.with_columns(words.replace_strict(_FLAG_WORDS, default=None, return_dtype=pl.Boolean))
    return frame


def _refuse_objects(paths: Sequence[Path], frame: pl.DataFrame, wrong: pl.Series, problem: str) -> None:
    """An error that names the first file with such values, its objects, counted from 1, and how many more files have some."""
    if wrong.any():
        bad = frame.filter(wrong)
        here = bad.filter(pl.col("file") == bad["file"][0])
        where = f" in object {listed(here['object'].to_list())}" if "object" in frame.columns else ""
        n_others = bad["file"].n_unique() - 1
        others = f", and in {n_others:,} more files" if n_others else ""
        raise FormatError(f"{paths[bad['file'][0]]}: {problem}{where}{others}; correct it")


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop([name for name in _OPTIONAL if name in frame.columns and not frame[name].count()])


def _element(table: str, frame: pl.DataFrame, tag: str, column: str, indent: str) -> pl.Expr:
    """The column as lines of XML; empty where there is nothing to say."""
    if column not in frame.columns:
        return pl.lit("")
    texts = _text(frame[column])
    _refuse(table, texts, texts.str.contains(_ILLEGAL_IN_XML), f"XML cannot hold the characters of {column}")
    escaped = pl.lit(texts).str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))
    return pl.concat_str(pl.lit(f"{indent}<{tag}>"), escaped, pl.lit(f"</{tag}>\n")).fill_null("")


def _text(values: pl.Series) -> pl.Series:
    """What an element says of the values of a column: null where it has no words for one."""
    if values.name in _FLAGS and (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        return values.cast(pl.Float64).replace_strict({0: "0", 1: "1"}, default=None, return_dtype=pl.String)
    if values.name in _SIZES or (values.name in _TEXTS and _is_text(values)):
        return values.cast(pl.String).str.strip_chars().replace("", None)
    return pl.repeat(None, len(values), dtype=pl.String, eager=True)


def _is_text(values: pl.Series) -> bool:
    return values.dtype in (pl.String, pl.Categorical, pl.Enum)


def _refuse(table: str, names: pl.Series, wrong: pl.Series, problem: str) -> None:
    if wrong.any():
        raise FormatError(f"{table}: {problem} {listed(names.filter(wrong).unique(maintain_order=True).to_list())}; change it")
