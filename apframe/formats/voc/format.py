"""PASCAL VOC: an XML file for each image, image sets, and results as a text file for each class."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.folders import files_in
from apframe.formats.edges import from_edges, refuse_reversed, rounded_sizes, to_edges
from apframe.formats.files import write_text
from apframe.formats.format import Format
from apframe.formats.image_names import categories_of, ids_to_write, image_ids
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import (
    Lines,
    first_fields,
    read_lines,
    refuse_as_file_names,
    refuse_blanks,
    refuse_lines,
    some_text_files,
    text_files,
    write_lines,
)
from apframe.formats.voc.xml_file import EDGES, IMAGE, OBJECT, changed_values, read_annotations, written_annotations
from apframe.paths import is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.wording import did_you_mean, listed, option_name

_LINE = ("image_id", "score", *EDGES)
_RESULT_FILE = re.compile(r"(?P<run>.*?_det_[^_]+)_(?P<category>.+)", re.DOTALL)
_WRITTEN_SET, _WRITTEN_RUN = "all", "comp4_det_test_"
_ROOT = re.compile(rb"<annotation[\s/>]")


class Voc(Format):
    """Annotations of PASCAL VOC, `Annotations/NAME.xml`, of all images or of those in `ImageSets/Main/SET.txt`.

    The image id is the name of its XML file without the extension; class names are used unchanged. Boxes are as in the files:
    VOC counts pixels from 1, and xmax is the last pixel inside, which the protocols VOC2007 and VOC2012 take into account.
    `difficult` is `ignore`; `pose`, `truncated`, `occluded`, and for images `folder` and `segmented`, are attributes if a file
    has them. Parts of objects, with boxes of their own, are skipped. The labels 1, 0 and -1 in an image set of one class are
    ignored: all its images are used.

    Results are files such as `comp4_det_test_CLASS.txt`, of any competition and any set without _ in its name; if no file has
    such a name, the names are those of the classes.

    Source: Everingham and Winn, The PASCAL Visual Object Classes Challenge 2012 Development Kit.
    """

    name = "voc"
    title = "PASCAL VOC"
    dataset_is = "a folder with Annotations/*.xml and ImageSets/Main, a folder of such XML files, or an image set"
    results_are = "a folder of text files called as comp4_det_test_CLASS.txt, lines of image score xmin ymin xmax ymax"
    dataset_looks = looks(Look("folder", names=("Annotations/", "*.xml")), Look("file", endings=(".txt",)))
    results_looks = looks(Look("folder", names=("*_det_[!_]*_?*.txt",)))
    options = ("split",)
    holds = {
        "images": tuple(IMAGE.values()),
        "categories": (),
        "annotations": (*OBJECT.values(), *BOX),
        "detections": ("score", *BOX),
    }

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require XML files in Annotations, or others, the first with the root `annotation`; or a text file of an image set."""
        if role == "results":
            return True
        if seen.kind == "file":
            return is_folder(_annotations_of(seen.path))
        inside = seen.child("Annotations")
        first = next((inside or seen).children("*.xml"), None)
        return first is not None and (inside is not None or _ROOT.search(first.head) is not None)

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`.

        `split` names the image set; it is required if several cover all classes.
        Images are in the order of the image set, or else of their names.
        """
        folder, image_set = _parts(path, split)
        there = files_in(folder, ".xml")
        if not there:
            raise FormatError("holds no XML file", path=folder)
        paths = there if image_set is None else _members(image_set, folder, {file.stem: file for file in there})
        images, objects = read_annotations(paths)
        ids = image_ids(paths)
        attributes = pl.exclude("file", "object", *EDGES)
        return {
            "images": images.select(ids, attributes),
            "categories": categories_of(objects),
            "annotations": objects.select(ids.gather(objects["file"]), attributes, **from_edges(EDGES)),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        files = some_text_files(path)
        named = {file: match for file in files if (match := _RESULT_FILE.fullmatch(file.stem))}
        runs = sorted({match["run"] for match in named.values()})
        if len(runs) > 1:
            raise FormatError(f"holds results of {', '.join(runs)}", "put each into its own folder", path=path)
        classes = {file: match["category"] for file, match in named.items()} or {file: file.stem for file in files}
        paths = list(classes)
        lines = Lines("detections", paths)
        fields = lines.take(_LINE, _LINE[1:])
        refuse_reversed(lines, fields, EDGES)
        category_id = pl.Series("category_id", list(classes.values())).gather(fields["file"])
        return lines.marked(fields.select("image_id", category_id, "score", **from_edges(EDGES)))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`. All images are in one image set named all."""
        images = dataset.images
        refuse_blanks("images", images["image_id"])
        refuse_as_file_names(images["image_id"])
        documents = written_annotations(images, dataset.annotations)
        (path / "Annotations").mkdir(parents=True)
        for name, document in documents.iter_rows():
            write_text(path / "Annotations" / f"{name}.xml", document)
        members = images.select(name=pl.lit(_WRITTEN_SET), text="image_id")
        write_lines(path / "ImageSets" / "Main", members, pl.Series([_WRITTEN_SET]))

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`.

        There is one file per class of the data set, or of the detections if there is no data set.
        """
        categories = ids_to_write("category_id", detections, None if dataset is None else dataset.categories)
        refuse_blanks("images", detections["image_id"].unique(maintain_order=True))
        refuse_as_file_names(categories)
        text = pl.concat_str("image_id", "score", *to_edges(EDGES).values(), separator=" ")
        lines = detections.select(name=_WRITTEN_RUN + pl.col("category_id"), text=text)
        write_lines(path, lines, _WRITTEN_RUN + categories)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        supported = frame.select(name for name in frame.columns if name in self.holds[table])
        return (rounded_sizes(frame) if table in ("annotations", "detections") else []) + changed_values(supported)


def _annotations_of(image_set: Path) -> Path:
    return image_set.absolute().parent.parent.parent / "Annotations"


def _parts(path: Path, split: str | None) -> tuple[Path, Path | None]:
    """Return the folder of XML files, and the image set that selects some of them; None means all."""
    if not is_folder(path):
        if path.suffix.lower() != ".txt":
            raise FormatError("the name of an image set ends in .txt", "give one, or a folder of XML files", path=path)
        if split is not None:
            raise ParameterError("this is a single image set", f"leave out {option_name('split', split)}", path=path)
        return _annotations_of(path), path
    folder = path / "Annotations" if is_folder(path / "Annotations") else path
    main = folder.absolute().parent / "ImageSets" / "Main"
    sets = {file.stem: file for file in text_files(main)}
    whole = [name for name, file in sets.items() if not _is_of_one_class(file)]
    if split is not None and split not in sets:
        raise ParameterError(f"no image set {split!r}", did_you_mean(split, whole) if whole else "", path=main)
    if split is None and folder != path and len(whole) > 1:
        remedy = f"choose one with {option_name('split', '')}: {', '.join(whole)}"
        raise ParameterError("there are several image sets", remedy, path=main)
    if split is None:
        split = whole[0] if whole and folder != path else None
    return folder, None if split is None else sets[split]


def _is_of_one_class(image_set: Path) -> bool:
    fields = first_fields([image_set])
    return len(fields) == 2 and is_number(fields[1])


def _members(image_set: Path, folder: Path, there: dict[str, Path]) -> list[Path]:
    """Return the XML files of the images that an image set names."""
    lines = read_lines([image_set])
    if lines.is_empty():
        raise FormatError("the image set is empty", path=image_set)
    with_blank = (lines["fields"].list.len() > 1) & lines["fields"].list.join(" ").is_in(list(there))
    remedy = "rename these files: the name would end at the blank"
    refuse_lines([image_set], lines, with_blank, "the name of an image contains a blank", remedy)
    lines = Lines("", [image_set], lines).take(("image_id", "label"), ("label",), optional=1)
    names = lines["image_id"]
    refuse_lines([image_set], lines, ~names.is_first_distinct(), "an image is named twice")
    has_file = names.is_in(list(there))
    missing = f"{folder} has no XML file of {listed(names.filter(~has_file).to_list())},"
    refuse_lines([image_set], lines, ~has_file, missing, "add the files, or remove these lines")
    return [there[name] for name in names]
