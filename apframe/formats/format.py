"""The interface of a file format: detection, reading and writing of its files, and the data that they can hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.formats.looks import Look
from apframe.formats.path_contents import PathContents
from apframe.paths import is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.declarations import LABEL_MAP
from apframe.validation import without_refused
from apframe.wording import option_name

ANY, NUMBER, INDEX, NAME = "any", "number", "index", "name"  # kinds of ids in a format's files
FIXED, USUAL, OPEN = "fixed", "usual", "open"  # how far a format defines its box format
OUTPUTS = "outputs"  # also fixed: results of a library in memory, with names: see `apframe.formats.outputs`


def held(table: str, *others: str) -> tuple[str, ...]:
    """Return all columns of a table and its attributes, except some, for `Format.holds`.

    >>> held("categories", "parent_ids")
    ('*', 'category_id', 'name', 'supercategory')
    """
    return ("*", *(column.name for column in TABLES[table] if column.name not in others))


class Format(ABC):
    """A format of data sets and results, one subclass for each, in a file of its own.

    Attributes
    ----------
    name
        the name in calls and options: `read_dataset(path, "voc")`, `--gt-format voc`
    title
        the name in texts
    dataset_is, results_are
        a description of the files, for help and errors
    dataset_looks, results_looks
        the possible looks of files or folders of this format, see `Look`; the first one is written. A path with another look
        is of another format, without importing this one; otherwise `recognizes` decides
    only_for
        the iou_types that can compare such files, if only some can; protocols with others do not recognise the files
    results_ending
        the extension of text files of results, such as ".csv": results that look like no format have this one if the ground
        truth has it
    options
        the options that its reader of data sets supports, of `split`, `image_sizes` and `names`
    fractions
        whether boxes are fractions of the image, so that results require the images of their data set
    boxes_of_dataset, boxes_of_results
        FIXED: the format defines the box format; OPEN: users write boxes in different formats, so `box_format` and `relative`
        apply; USUAL: these apply only if they are given for the data set alone
    asks_for_images
        whether the image ids in results depend on the image ids of their data set, if it is known
    image_ids, category_ids
        ids in the files: ANY, NUMBER (integers), INDEX (positions from 0, without gaps), NAME (the file name without its
        extension; the name of the class)
    holds
        the columns of each table that survive a round trip, except for the ids above; "*" means attributes
    empty_images, unused_categories
        whether images, and categories, without annotations survive a round trip
    writable
        whether the format can be written, or only read
    """

    name: ClassVar[str]
    title: ClassVar[str]
    dataset_is: ClassVar[str]
    results_are: ClassVar[str]
    dataset_looks: ClassVar[tuple[Look, ...]]
    results_looks: ClassVar[tuple[Look, ...]]
    only_for: ClassVar[tuple[str, ...]] = ()
    results_ending: ClassVar[str] = ""
    options: ClassVar[tuple[str, ...]] = ()
    fractions: ClassVar[bool] = False
    asks_for_images: ClassVar[bool] = False
    boxes_of_dataset: ClassVar[str] = FIXED
    boxes_of_results: ClassVar[str] = FIXED
    image_ids: ClassVar[str] = NAME
    category_ids: ClassVar[str] = NAME
    holds: ClassVar[Mapping[str, tuple[str, ...]]]
    empty_images: ClassVar[bool] = True
    unused_categories: ClassVar[bool] = False
    writable: ClassVar[bool] = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Return True if a path with one of the declared looks is a "dataset" or "results" of this format.

        Override this for rules that cannot be declared. It depends on `seen` alone and opens no files.
        """
        del seen, role
        return True

    def fits(self, seen: PathContents, role: str) -> bool:
        """Return True if a path has a declared look of a "dataset" or "results" of this format, and is recognised."""
        return any(look.fits(seen) for look in self.looks(role)) and self.recognizes(seen, role)

    def looks(self, role: str) -> tuple[Look, ...]:
        """Return the possible looks of a "dataset" or "results"."""
        return self.dataset_looks if role == "dataset" else self.results_looks

    def kinds_of(self, role: str) -> tuple[str, ...]:
        """Return the kinds of a "dataset" or "results" of this format: "file", "folder"; empty if it has none."""
        return tuple(dict.fromkeys(look.kind for look in self.looks(role)))

    def words_of(self, role: str) -> str:
        """Return a description of a "dataset" or "results" of this format."""
        return self.dataset_is if role == "dataset" else self.results_are

    def ends_results(self, seen: PathContents) -> bool:
        """Return True if a file, or a file in a folder, has the extension of results of this format, compressed or not."""
        if not self.results_ending or seen.kind not in self.kinds_of("results"):
            return False
        return seen.has_deep(self.results_ending) if seen.kind == "folder" else self.results_ending in seen.path.name.lower()

    @abstractmethod
    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read `images`, `categories` and `annotations`, as `Dataset` accepts them, unchecked; see `Sieve.marked`.

        Raises
        ------
        FormatError
            the files cannot be read; names file and line
        """

    def read(
        self, path: Path, *, masks: bool = False, box_format: str | None = None, relative: bool = False, **options: Any
    ) -> Dataset:
        """Read the data set. With `masks`, masks will be compared, so formats that defer them read them now.

        `box_format` and `relative` are as in `Dataset`; a format with FIXED boxes only gets the defaults.
        """
        del masks
        if self.boxes_of_dataset == OPEN:  # for errors with the line of a negative size
            options["box_format"] = box_format
        tables = self.read_tables(path, **options)
        tables["annotations"] = without_refused(tables["annotations"])
        return Dataset(**tables, box_format=self._effective_format(box_format), relative=relative)

    def _effective_format(self, box_format: str | None) -> str | None:
        """Return the given `box_format`, or the one that the format defines."""
        return box_format if self.boxes_of_dataset == OPEN else box_format or "xywh"

    @abstractmethod
    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections, as `tables.canonical` accepts them, unchecked; `dataset` is required if boxes are fractions."""

    def results_in_parts(self, path: Path, dataset: Dataset | None) -> Iterator[pl.DataFrame | None]:
        """Read the same detections in consecutive parts, so that not all of them are in memory at once, if possible.

        None means that the parts before it are void: the file has to be read in another way, and its rows begin again.
        """
        yield without_refused(self.read_results(path, dataset))

    @abstractmethod
    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set, whose ids are already those of this format, to a path that does not exist yet."""

    @abstractmethod
    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write canonical detections, whose ids are already those of this format, to a path that does not exist yet."""

    def refuse_writing(self) -> None:
        """Raise an error if the format cannot be written."""
        if not self.writable:
            raise ParameterError(f"{self.title} can be read, but not written", "choose another: `apframe formats` lists them")

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List values that are lost although the format has their column: column, flags of the rows, what happens to them."""
        del table, frame
        return []


class FormatRow(NamedTuple):
    """The properties of a format that are known without importing it: its module, if it can be written, and its looks."""

    home: str
    is_written: bool
    dataset_looks: tuple[Look, ...]
    results_looks: tuple[Look, ...]

    @classmethod
    def of_table(cls, home: str, is_written: bool, dataset: Sequence[Any], results: Sequence[Any]) -> FormatRow:
        """Return the row for an entry of `static_table.FORMATS`, where looks are dicts."""
        return cls(home, is_written, tuple(Look(**each) for each in dataset), tuple(Look(**each) for each in results))

    def looks(self, role: str) -> tuple[Look, ...]:
        """Return the possible looks of a "dataset" or "results"."""
        return self.dataset_looks if role == "dataset" else self.results_looks


class Expected(NamedTuple):
    """The files that a protocol is made for: the format of its benchmark, and the iou_type that it compares; "" means any."""

    format: str = ""
    iou_type: str = ""

    @classmethod
    def of_protocol(cls, name: str, iou_type: str) -> Expected:
        """Return the files for a protocol: the format that its benchmark declares in `FILES`, or the format of the same name.

        >>> Expected.of_protocol("COCO", "bbox")
        Expected(format='coco', iou_type='')
        """
        format_name = static_table.FILES.get(name.lower(), name.lower())
        return cls(format_name, "" if format_name == "coco" else iou_type)  # COCO accepts any file, for better errors

    def compares(self, format_: Format) -> bool:
        """Return True if the protocol can compare files of a format."""
        return not (self.iou_type and format_.only_for) or self.iou_type in format_.only_for


ANY_FILES = Expected()
"""The expectation without a protocol."""


class ReadOnly(Format):
    """A format that can be read, but not written."""

    holds: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("images", "categories", "annotations", "detections"), ())
    writable = False

    def write(self, dataset: Dataset, path: Path) -> None:
        """Raise an error: the format cannot be written."""
        self.refuse_writing()

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Raise an error: the format cannot be written."""
        self.refuse_writing()


class TruthOnly(ReadOnly):
    """A format of ground truth only, which can be read, but not written."""

    results_looks: ClassVar[tuple[Look, ...]] = ()

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Raise an error: the format has no results."""
        raise ParameterError(f"{self.title} has no results", "name the format of the results", path=path)


def box_options(how: str, of: str, boxes: Mapping[str, Any], *, refuses: bool, usual: bool = False) -> dict[str, Any]:
    """Return `box_format` and `relative`, if given, if the format leaves boxes open (or usual, with `usual`).

    Raises
    ------
    ParameterError
        one is given, but boxes are fixed, and `refuses` is True
    """
    values = {name: value for name, value in boxes.items() if value}
    if how == OPEN or (how == USUAL and usual):
        return values
    if values and refuses:
        options = " and ".join(map(option_name, values))
        raise ParameterError(f"{options}: {of} defines how its boxes are written", "leave it out")
    return {}


def reader_options(format_: Format, **options: Any) -> dict[str, Any]:
    """Return the given options; raise an error if the format does not support one of them."""
    values = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in values:
        if name not in format_.options:
            raise ParameterError(f"{format_.title} does not support {option_name(name)}")
    return values


def refuse_options(**options: Any) -> None:
    """Raise an error if options of files are given for data in memory."""
    names = [option_name(name, "") for name, value in options.items() if value is not None]
    if names:
        raise ParameterError(f"{', '.join(names)}: only for files and folders", "leave it out for data in memory")


def with_own_paths(table: str, frame: Any, source: Any) -> Any:
    """Make paths of label maps absolute in a table that was read from a path, see `with_whole_paths`; others are unchanged.

    A stored evaluation loses the paths: its label maps may be anywhere, and their pixels have been counted.
    """
    if not isinstance(source, (str, Path)) or LABEL_MAP.name not in frame.columns:
        return frame
    from apframe.formats.stored_sets import find_manifest

    if is_folder(source) and find_manifest(Path(source)) is not None:
        return frame.drop(LABEL_MAP.name)
    from apframe.tables.label_map_paths import with_whole_paths

    return with_whole_paths(table, frame, source)
