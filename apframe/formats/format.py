"""The interface of a file format: how to detect, read and write its files, and what they can hold."""

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

ANY, NUMBER, INDEX, NAME = "any", "number", "index", "name"  # what ids are in a format's files
FIXED, USUAL, OPEN = "fixed", "usual", "open"  # how far a format says how the boxes in its files are written
OUTPUTS = "outputs"  # fixed too, of what a library returned in memory, and with names: see `apframe.formats.outputs`


def held(table: str, *others: str) -> tuple[str, ...]:
    """All columns of a table and its attributes, but for some others, as `Format.holds` has them.

    >>> held("categories", "parent_ids")
    ('*', 'category_id', 'name', 'supercategory')
    """
    return ("*", *(column.name for column in TABLES[table] if column.name not in others))


class Format(ABC):
    """A format of data sets and results, one subclass for each, in a file of its own.

    Attributes
    ----------
    name
        as it is asked for: `read_dataset(path, "voc")`, `--gt-format voc`
    title
        as people call it
    dataset_is, results_are
        what the files are, in words, for help and errors
    dataset_looks, results_looks
        the ways in which files or folders of this format look, see `Look`; the first of them is what is written. A path that
        looks in none of these ways is of another format, so that this one need not be imported; otherwise `recognizes` decides
    only_for
        the iou_types that compare what is in such files, if these alone do; other protocols do not recognise them
    results_ending
        the ending of text files of results, which have this format if they look like none and the ground truth has it: ".csv"
    options
        which of `split`, `image_sizes` and `names` its reader of data sets takes
    fractions
        whether boxes are fractions of the image, so that results need the images of their data set
    boxes_of_dataset, boxes_of_results
        FIXED: the format says how boxes are written; OPEN: users write them in different ways, so `box_format` and `relative`
        apply; USUAL: these apply only if they are given for that data set alone
    asks_for_images
        whether the ids of images in results depend on what their data set calls these, where it is known
    image_ids, category_ids
        ids as they stand in the files: ANY, NUMBER (integers), INDEX (places, from 0 without gaps), NAME (the file's name
        without its ending; the name of the class)
    holds
        the columns of each table that come back equal, but for the ids above; "*" stands for attributes
    empty_images, unused_categories
        whether images without annotations, and categories without, come back
    writable
        whether it is written, or only read
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
        """Whether what is seen at a path, in one of the declared ways, is a "dataset" or "results" of this format.

        A function of the value alone, for what cannot be declared; it opens nothing itself.
        """
        del seen, role
        return True

    def fits(self, seen: PathContents, role: str) -> bool:
        """Whether what is seen looks like a "dataset" or "results" of this format, as declared, and is recognised."""
        return any(look.fits(seen) for look in self.looks(role)) and self.recognizes(seen, role)

    def looks(self, role: str) -> tuple[Look, ...]:
        """The ways in which a "dataset" or "results" look."""
        return self.dataset_looks if role == "dataset" else self.results_looks

    def kinds_of(self, role: str) -> tuple[str, ...]:
        """What a "dataset" or "results" of this format can be: "file", "folder"; nothing if it has none."""
        return tuple(dict.fromkeys(look.kind for look in self.looks(role)))

    def words_of(self, role: str) -> str:
        """What a "dataset" or "results" of this format are, in words."""
        return self.dataset_is if role == "dataset" else self.results_are

    def ends_results(self, seen: PathContents) -> bool:
        """Whether a file, or a file in a folder, has the ending of results of this format, packed or not."""
        if not self.results_ending or seen.kind not in self.kinds_of("results"):
            return False
        return seen.has_deep(self.results_ending) if seen.kind == "folder" else self.results_ending in seen.path.name.lower()

    @abstractmethod
    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """`images`, `categories` and `annotations`, as `Dataset` takes them, not checked yet; see `Sieve.marked`.

        Raises
        ------
        FormatError
            what cannot be read, naming file and line
        """

    def read(
        self, path: Path, *, masks: bool = False, box_format: str | None = None, relative: bool = False, **options: Any
    ) -> Dataset:
        """The data set. `masks` says that masks will be compared, to formats that would else leave them for later.

        `box_format` and `relative` are those of `Dataset`; of a format whose boxes are FIXED they are the defaults.
        """
        del masks
        if self.boxes_of_dataset == OPEN:  # whose readers may say in which line a size is negative
            options["box_format"] = box_format
        tables = self.read_tables(path, **options)
        tables["annotations"] = without_refused(tables["annotations"])
        return Dataset(**tables, box_format=self._said(box_format), relative=relative)

    def _said(self, box_format: str | None) -> str | None:
        """The `box_format` that was given, or the one that the format itself says."""
        return box_format if self.boxes_of_dataset == OPEN else box_format or "xywh"

    @abstractmethod
    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Detections, as `tables.canonical` takes them, not checked yet; `dataset` is needed if boxes are fractions."""

    def results_in_parts(self, path: Path, dataset: Dataset | None) -> Iterator[pl.DataFrame | None]:
        """The same detections in parts that follow each other, so that not all of them are in memory at once, if possible.

        None says that what came before it is void: the file can only be read in another way, and its rows begin again.
        """
        yield without_refused(self.read_results(path, dataset))

    @abstractmethod
    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set, whose ids are as this format has them, to a path where nothing is yet."""

    @abstractmethod
    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write canonical detections, whose ids are already those of this format, to a path that does not exist yet."""

    def refuse_writing(self) -> None:
        """An error where the format is only read."""
        if not self.writable:
            raise ParameterError(f"{self.title} can be read, but not written", "choose another: `apframe formats` lists them")

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List values that are lost although the format has their column: column, flags of the rows, what happens to them."""
        del table, frame
        return []


class FormatRow(NamedTuple):
    """What is known of a format without importing it: where it is, whether it is written, what it may look like."""

    home: str
    is_written: bool
    dataset_looks: tuple[Look, ...]
    results_looks: tuple[Look, ...]

    @classmethod
    def of_table(cls, home: str, is_written: bool, dataset: Sequence[Any], results: Sequence[Any]) -> FormatRow:
        """The row of `static_table.FORMATS`, where looks are dicts of what they declare."""
        return cls(home, is_written, tuple(Look(**each) for each in dataset), tuple(Look(**each) for each in results))

    def looks(self, role: str) -> tuple[Look, ...]:
        """The ways in which a "dataset" or "results" look."""
        return self.dataset_looks if role == "dataset" else self.results_looks


class Expected(NamedTuple):
    """The files that a protocol is for: the format that its benchmark has, and the iou_type that it compares; "": any."""

    format: str = ""
    iou_type: str = ""

    @classmethod
    def of_protocol(cls, name: str, iou_type: str) -> Expected:
        """Those of a protocol: of the format that its benchmark declares in `FILES`, or that is called as it is.

        >>> Expected.of_protocol("COCO", "bbox")
        Expected(format='coco', iou_type='')
        """
        found = static_table.FILES.get(name.lower(), name.lower())
        return cls(found, "" if found == "coco" else iou_type)  # to COCO any file may be given, whose errors say more

    def compares(self, format_: Format) -> bool:
        """Whether the protocol compares what is in files of a format."""
        return not (self.iou_type and format_.only_for) or self.iou_type in format_.only_for


ANY_FILES = Expected()
"""What is expected where no protocol is chosen."""


class ReadOnly(Format):
    """A format that can be read, but not written."""

    holds: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("images", "categories", "annotations", "detections"), ())
    writable = False

    def write(self, dataset: Dataset, path: Path) -> None:
        """An error."""
        self.refuse_writing()

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """An error."""
        self.refuse_writing()


class TruthOnly(ReadOnly):
    """A format of ground truth alone, which can be read, but not written."""

    results_looks: ClassVar[tuple[Look, ...]] = ()

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """An error: there are none."""
        raise ParameterError(f"{self.title} has no results", "name the format of the results", path=path)


def taken_boxes(how: str, of: str, boxes: Mapping[str, Any], *, refuses: bool, usual: bool = False) -> dict[str, Any]:
    """Return the given ones of `box_format` and `relative` if the format leaves boxes open (or usual, with `usual`).

    Raises
    ------
    ParameterError
        there are some, boxes are fixed, and `refuses`
    """
    given = {name: value for name, value in boxes.items() if value}
    if how == OPEN or (how == USUAL and usual):
        return given
    if given and refuses:
        options = " and ".join(map(option_name, given))
        raise ParameterError(f"{options}: {of} defines how its boxes are written", "leave it out")
    return {}


def taken_options(format_: Format, **options: Any) -> dict[str, Any]:
    """The options that were given, all of which the format takes."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in given:
        if name not in format_.options:
            raise ParameterError(f"{format_.title} does not take {option_name(name)}")
    return given


def refuse_options(**options: Any) -> None:
    """An error where options of files were given with what is in memory, which has no use for them."""
    given = [option_name(name, "") for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{', '.join(given)}: only for files and folders", "leave it out for data in memory")


def with_own_paths(table: str, frame: Any, source: Any) -> Any:
    """The table that was read from a path with whole paths of its label maps, as `with_whole_paths`; any other as it is.

    A stored evaluation loses them: it names those that it was made from, which may be anywhere, and has counted their pixels.
    """
    if not isinstance(source, (str, Path)) or LABEL_MAP.name not in frame.columns:
        return frame
    from apframe.formats.stored_sets import find_manifest

    if is_folder(source) and find_manifest(Path(source)) is not None:
        return frame.drop(LABEL_MAP.name)
    from apframe.tables.label_map_paths import with_whole_paths

    return with_whole_paths(table, frame, source)
