"""All formats by name: which one a path is of, and data sets and results read and written in any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe import static_table
from apframe.exceptions import FormatError, InputError, UnknownIdError, by_name
from apframe.formats.coco.json_rows import has_scores
from apframe.formats.coco.results import read_result_columns
from apframe.formats.coco.truth import coco_in_memory
from apframe.formats.files import reading_from
from apframe.formats.format import (
    ANY_FILES,
    FIXED,
    OPEN,
    USUAL,
    Expected,
    Format,
    FormatRow,
    refuse_options,
    taken_boxes,
    taken_options,
    with_own_paths,
)
from apframe.formats.joined import joined_results
from apframe.formats.path_contents import PathContents, see
from apframe.formats.reading_options import BoxOptions, ClassOptions, DatasetOptions, FileOptions, ResultsOptions, joined_tables
from apframe.keywords import names_keywords
from apframe.paths import kind_at, reading_once, release, url_of
from apframe.registry import Registry
from apframe.tables.canonical import canonical
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import GROUND_TRUTH
from apframe.validation import amending, validating, without_refused
from apframe.wording import nearest, option_name, same_name

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

ROWS = {name: FormatRow.of_table(*row) for name, row in static_table.FORMATS.items()}
"""What is known of each format by name, without importing it."""
FORMATS: Registry[Format] = Registry({name: row.home for name, row in ROWS.items()})
"""The formats by name, each imported when it is asked for."""


def add_plugins() -> bool:
    """Enter the formats of other packages, unless their names are there; whether there are some.

    A warning names those that cannot be imported.
    """
    from apframe.plugins import LOCK, load_plugins

    with LOCK:
        for plugin, each in load_plugins("format"):
            if same_name(plugin.name, FORMATS) is None:
                FORMATS[plugin.name] = plugin
                ROWS[plugin.name] = FormatRow("", each.writable, each.dataset_looks, each.results_looks)
    return bool(load_plugins("format"))


def names_of_written(role: str, kind: str) -> list[str]:
    """The names of the formats in which a "dataset" or "results" are written as a "file" or a "folder".

    >>> names_of_written("dataset", "folder")[:2]
    ['arrow', 'boxes']
    """
    return [name for name, row in ROWS.items() if row.is_written and [look.kind for look in row.looks(role)[:1]] == [kind]]


def as_format(name: str) -> Format:
    """A format by its name, in any case and with - or _.

    >>> as_format("COCO").title
    'COCO JSON'
    >>> as_format("cocoo")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no format 'cocoo'; did you mean coco?
    """
    if same_name(name, FORMATS) is None:
        from apframe.formats.unrecognised import refuse_benchmark
        from apframe.plugins import find_plugins

        refuse_benchmark(name)
        for plugin in find_plugins("format"):
            if same_name(name, [plugin.name]) is not None:
                plugin.load()
        add_plugins()
    return by_name("format", name, FORMATS)


@names_keywords
def read_dataset(
    source: TruthLike, format: str | None = None, *, masks: bool = False, **options: Unpack[DatasetOptions]
) -> Dataset:
    """Read ground truth in any format.

    Here `box_format` and `relative` apply to files of COCO, Parquet and Arrow too, which may have boxes written in other ways.

    Parameters
    ----------
    source
        a path; or what is in memory: a dict as `json.load` returns it for COCO, a `Dataset` as it is, and anything that
        holds columns: rows of images with lists of objects (see `HuggingFace`), or of objects (see `Csv`)
    format
        the name of its format, see `formats`; by default it is told from the path
    masks
        read masks at once, where the format would leave them for later

    Raises
    ------
    FormatError
        a path that is missing, of another kind, or of no format that can be told; what cannot be read, naming file and line
    ParameterError
        no such format, an option that it does not take, or options of files with what is in memory
    RowError, DuplicateIdError, UnknownIdError
        rows that cannot be right

    >>> read_dataset({"images": [{"id": 1}], "categories": [], "annotations": []})
    Dataset(1 image, 0 categories, 0 annotations)
    """
    files, classes, boxes = (
        {name: options.get(name) for name in each.__annotations__} for each in (FileOptions, ClassOptions, BoxOptions)
    )
    with validating():
        dataset = read_truth(source, format, files | classes, boxes, masks=masks)
    return with_images_of(dataset, options.get("images"))


def with_images_of(dataset: Dataset, images: Any) -> Dataset:
    """The data set with only these images, as `images` of `read_dataset` has them; None: all.

    >>> dataset = Dataset({"image_id": [7, 8], "file_name": ["a.jpg", "b.jpg"]}, {"category_id": [1]}, {})
    >>> with_images_of(dataset, ["b.jpg"]).images["image_id"].to_list()
    [8]
    """
    if images is None:
        return dataset
    from apframe.formats.image_lists import with_only

    return with_only(dataset, images)


def read_truth(
    source: Any,
    format: str | None,
    options: Mapping[str, Any],
    boxes: Mapping[str, Any],
    *,
    masks: bool = False,
    beside_results: bool = False,
) -> Dataset:
    """Read ground truth as `read_dataset` does; `options` apply to files, `boxes` are `box_format` and `relative`.

    With `beside_results`, these apply to results too, and to the data set only if its format leaves its boxes open.
    """
    if url_of(source) or not isinstance(source, (str, Path)):
        refuse_options(format=format, **options)
        if isinstance(source, Dataset):
            taken_boxes(FIXED, "a Dataset", boxes, refuses=not beside_results)
            return source
        if (tables := tables_in_memory(source)) is not None:
            images = with_own_paths("images", tables["images"], source)
            return Dataset(images, tables["categories"], tables["annotations"], **boxes)
        return coco_in_memory(source).checked(**taken_boxes(USUAL, "", boxes, refuses=False, usual=not beside_results))
    with reading_once(source), reading_from(source):
        chosen = choose_format(source, format, "dataset", split=options.get("split"))
        path, images, split = Path(source), None, options.get("split")
        if kind_at(path) == "folder":
            path = see(path).place(lambda each: chosen.fits(each, "dataset"), split).path
        if split is not None:
            from apframe.formats.image_lists import part_of_split

            path, options, images = part_of_split(Path(source), path, chosen, options)
        how, refuses = chosen.boxes_of_dataset, not beside_results
        given = taken_boxes(how, chosen.title, boxes, refuses=refuses, usual=refuses)
        dataset = chosen.read(path, masks=masks, **given, **taken_options(chosen, **options))
        release(Path(source))
        return with_images_of(dataset.with_images_changed(lambda images: with_own_paths("images", images, path)), images)


def tables_in_memory(source: Any) -> dict[str, pl.DataFrame] | None:
    """The data set of three tables, of rows of images or of objects, in memory or at a URL; None of anything else.

    >>> tables_in_memory({"images": [], "categories": [], "annotations": []})
    """
    if isinstance(source, Mapping) and source.keys() >= set(GROUND_TRUTH):
        are_lists = any(isinstance(source[table], list) for table in GROUND_TRUTH)  # as COCO's
        return None if are_lists else {table: to_polars(source[table], table) for table in GROUND_TRUTH}
    from apframe.formats.nested_rows import has_objects, holds_columns, tables_of_rows

    url = url_of(source)
    if not (url or holds_columns(source)):
        return None
    from apframe.formats.object_rows import is_of_objects, tables_of_objects

    frame, features = _rows_of("images", source, url)
    if has_objects(frame.schema):
        return tables_of_rows(frame, features)
    return tables_of_objects(frame) if is_of_objects(frame.columns, scored=False) else None


def _rows_of(table: str, source: Any, url: str | None) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of what holds columns, in memory or at a URL, and their features."""
    if url:
        from apframe.formats.urls import read_url

        return read_url(url)
    from apframe.formats.nested_rows import frame_of_rows

    return frame_of_rows(table, source)


@names_keywords
def read_results(
    source: DetectionsLike, format: str | None = None, *, dataset: TruthLike | None = None, **options: Unpack[ResultsOptions]
) -> pl.DataFrame:
    """Read detections in any format, as the canonical table.

    Parameters
    ----------
    source
        a path; or what is in memory: a list of dicts as COCO's results, anything that holds columns, outputs of detectors
    format
        the name of its format, see `formats`; by default it is told from the path
    dataset
        what they are results of, as `read_dataset` takes it: for formats whose boxes are fractions of the image, and to be
        joined to by name

    Raises
    ------
    As `read_dataset`

    >>> read_results([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}])["area"].to_list()
    [1200.0]
    """
    known = None if dataset is None else _data_set_of(dataset, options.get("names"))
    names, boxes = options.get("names"), {name: options.get(name) for name in BoxOptions.__annotations__}
    by_name = joined_tables(options.get("join_by_name", ()), names)
    with validating(), naming_format(source, format):
        found, how = take_results(source, format, lambda: known, boxes, option="format")
        joined = joined_results(found, how, lambda: known, by_name, boxes, names=names)
        return canonical("detections", joined)


def _data_set_of(source: Any, names: Any) -> Dataset:
    """The ground truth of results, with the names of classes if its format numbers these."""
    is_path = names is not None and isinstance(source, (str, Path)) and not url_of(source)
    takes_names = is_path and "names" in choose_format(source, None, "dataset").options
    return read_dataset(source, names=names) if takes_names else read_dataset(source)


def take_results(
    source: Any,
    format: str | None,
    dataset: Callable[[], Dataset | None],
    boxes: Mapping[str, Any],
    *,
    option: str = "results_format",
) -> tuple[Any, str]:
    """Results as they stand in a file or in memory, and how far it is said how their boxes are written: see `OPEN`."""
    how, of = OPEN, ""
    url = url_of(source)
    if isinstance(source, (str, Path)) and not url:
        with reading_once(source), reading_from(source):
            chosen = choose_format(source, format, "results", option)
            how, of = chosen.boxes_of_results, chosen.title
            known = dataset() if chosen.fractions or chosen.asks_for_images else None
            found: Any = without_refused(chosen.read_results(Path(source), known))
            release(Path(source))
    else:
        refuse_options(**{option: format})
        from apframe.formats.nested_rows import has_objects, holds_columns, results_of_rows
        from apframe.formats.object_rows import as_detections
        from apframe.formats.outputs import Outputs, recognize

        source = recognize(source)
        if isinstance(of_coco := getattr(source, "dataset", None), dict):  # as pycocotools' loadRes returns it
            source = of_coco
        is_data_set = isinstance(source, Mapping) and {"images", "annotations"} <= source.keys()
        if isinstance(source, Dataset) or (is_data_set and not has_scores(source["annotations"])):
            raise FormatError("results: this has images and annotations, so it is not a list of results", "is it ground truth?")
        if isinstance(source, Outputs):
            found, how, of = source.table, source.how, "what a detector returns"
        elif url or holds_columns(source):
            found, features = _rows_of("detections", source, url)
            found = results_of_rows(found, features) if has_objects(found.schema) else as_detections(found)
        else:
            found = read_result_columns(source) if isinstance(source, list) or is_data_set else source
    found = with_own_paths("detections", found, source)
    taken_boxes(how, of, boxes, refuses=True)
    return found, how


@contextmanager
def naming_format(source: Any, format: str | None) -> Iterator[None]:
    """An error that no image or category of a file's results is known also says which format they were read as."""

    def with_format(error: InputError) -> str:
        is_of_all = isinstance(error, UnknownIdError) and error.of_all_rows and error.table == "detections"
        if not is_of_all or not isinstance(source, (str, Path)) or kind_at(source) not in ("file", "folder"):  # a pipe is empty
            return error.remedy
        return f"{error.remedy}; {source} was read as {choose_format(source, format, 'results').name}"

    with amending(with_format):
        yield


def choose_format(
    source: str | Path,
    name: str | None,
    role: str,
    option: str = "format",
    beside: Callable[[], Format | None] = lambda: None,
    expected: Expected = ANY_FILES,
    split: Any = None,
    other: Any = None,
) -> Format:
    """The format that was named, or the only one that a path looks like.

    The path is opened once: see `apframe.formats.path_contents.see`.

    Parameters
    ----------
    role
        "dataset" or "results"
    option
        what the parameter is called that names the format, for errors
    beside
        gives the format of the ground truth: that of results which look like none, as its reader says what is wrong where
    expected
        the files that the protocol is for, whose format is preferred
    split
        the name of a folder that may be inside, see `PathContents.place`
    other
        the other of ground truth and results, if both are at paths
    """
    path = Path(source)
    if not str(source):
        raise FormatError("the path is empty", "name a file or folder")
    there = kind_at(path)
    if there is None:
        from apframe.formats.replacing import settled_kind

        there = settled_kind(path)
    if there is None:
        from apframe.formats.unrecognised import names_beside

        raise FormatError("there is no such file or folder", nearest(path.name, names_beside(path)), path=path)
    if there == "device":
        raise FormatError("this is a device or a socket", "name a file, a folder or a pipe", path=path)
    if name is not None:
        kind, chosen = "folder" if there == "folder" else "file", as_format(name)
        if not chosen.kinds_of(role):
            raise FormatError(f"{chosen.title} has no results", "name the format of the results", path=path)
        if kind not in chosen.kinds_of(role):
            raise FormatError(f"this is a {kind}", f"{chosen.title} is {chosen.words_of(role)}", path=path)
        return chosen
    with reading_once(path):
        seen = see(path)
        if role == "dataset":
            seen = seen.place(lambda each: bool(_likely(each, role, expected)), split)
        return _told(seen, role, option, beside, expected, other)


def _told(
    seen: PathContents, role: str, option: str, beside: Callable[[], Format | None], expected: Expected, other_path: Any
) -> Format:
    """The format of what is seen, or an error that says what it looks like."""
    likely = _likely(seen, role, expected)
    if len(likely) == 1:
        return likely[0]
    other = None if likely else beside()
    found = other if other is not None and other.ends_results(seen) else None
    if not likely and seen.is_json:
        others = _likely(seen, "results", expected) if role == "dataset" else []
        if not others or FORMATS["coco"] in others:
            return found or FORMATS["coco"]  # whose reader says what is wrong
    if not likely:
        from apframe.formats.unrecognised import guessed, near_misses, refuse_mistaken

        is_seen = isinstance(other_path, (str, Path)) and kind_at(other_path) in ("file", "folder")
        refuse_mistaken(
            seen, role, lambda seen, role: _likely(seen, role, expected), see(Path(other_path)) if is_seen else None
        )
        if unfit := _fitting(seen, role):
            problem = f"looks like {unfit[0].name}, which the protocol does not compare"
            raise FormatError(problem, "choose another protocol, or other files", path=seen.path)
        if found is not None:
            return found
        if known := guessed(seen):
            raise FormatError(*known, path=seen.path)
        what = "data set" if role == "dataset" else "results"
        ways = {name: row.looks(role) for name, row in ROWS.items()}
        problem = f"no format has a {what} {seen.kind} like this: {seen.words}{near_misses(seen, ways)}"
        names = [name for name, looks in ways.items() if any(look.kind == seen.kind for look in looks)]
    else:
        problem = "looks like " + " and like ".join(f"{each.name} ({each.words_of(role)})" for each in likely)
        names = [each.name for each in likely]
    remedy = f"choose one with {option_name(option, '')}: {', '.join(names)}"
    raise FormatError(f"its format cannot be detected: {problem}", remedy, path=seen.path)


def format_of_truth(source: Any, name: str | None, expected: Expected = ANY_FILES) -> Format | None:
    """The format that was named, or the only one that a file or folder of ground truth looks like; None for all else.

    >>> format_of_truth("nowhere", None)
    """
    if name is not None:
        return as_format(name)
    if not isinstance(source, (str, Path)) or kind_at(source) not in ("file", "folder"):
        return None
    with reading_once(source):
        likely = _likely(see(Path(source)), "dataset", expected)
    return likely[0] if len(likely) == 1 else None


def _likely(seen: PathContents, role: str, expected: Expected) -> list[Format]:
    """The formats that a path looks like; those of other packages only if it looks like none of apframe's.

    If the format of the protocol's benchmark is among them, it is this one. Formats of what it never compares are not.
    """
    found = _fitting(seen, role) or (_fitting(seen, role) if add_plugins() else [])
    found = [each for each in found if expected.compares(each)]
    return [each for each in found if each.name == expected.format] or found


def _fitting(seen: PathContents, role: str) -> list[Format]:
    rows = [*ROWS.items()]  # other threads may enter plugins
    able = [FORMATS[name] for name, row in rows if any(look.fits(seen) for look in row.looks(role))]
    return [each for each in able if each.recognizes(seen, role)]
