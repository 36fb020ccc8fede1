"""All formats by name: detection of the format of a path, and reading of data sets and results in any format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe import static_table
from apframe.exceptions import FormatError, InputError, UnknownIdError
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
    box_options,
    reader_options,
    refuse_options,
    with_own_paths,
)
from apframe.formats.joined import joined_results
from apframe.formats.path_contents import PathContents, see
from apframe.formats.reading_options import BoxOptions, ClassOptions, DatasetOptions, FileOptions, ResultsOptions, joined_tables
from apframe.keywords import names_keywords
from apframe.option_values import by_name
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
"""The properties of each format by name that are known without importing it."""
FORMATS: Registry[Format] = Registry({name: row.home for name, row in ROWS.items()})
"""The formats by name, each imported when it is first used."""


def add_plugins() -> bool:
    """Register the formats of other packages, unless their names are taken; return True if there are any.

    A warning names the formats that cannot be imported.
    """
    from apframe.plugins import LOCK, load_plugins

    with LOCK:
        for plugin, each in load_plugins("format"):
            if same_name(plugin.name, FORMATS) is None:
                FORMATS[plugin.name] = plugin
                ROWS[plugin.name] = FormatRow("", each.writable, each.dataset_looks, each.results_looks)
    return bool(load_plugins("format"))


def names_of_written(role: str, kind: str) -> list[str]:
    """Return the names of the formats that write a "dataset" or "results" as a "file" or a "folder".

    >>> names_of_written("dataset", "folder")[:2]
    ['arrow', 'boxes']
    """
    return [name for name, row in ROWS.items() if row.is_written and [look.kind for look in row.looks(role)[:1]] == [kind]]


def as_format(name: str) -> Format:
    """Return a format by its name, in any case and with - or _.

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

    `box_format` and `relative` also apply to COCO, Parquet and Arrow here, because their boxes may be in other formats.

    Parameters
    ----------
    source
        a path; or data in memory: a dict as `json.load` returns it for COCO, a `Dataset`, or anything that holds columns:
        rows of images with lists of objects (see `HuggingFace`), or rows of objects (see `Csv`)
    format
        the name of its format, see `list_formats`; by default it is detected from the path
    masks
        read masks immediately, even if the format would read them later

    Raises
    ------
    FormatError
        the path does not exist, is of the wrong kind, or its format cannot be detected; or a file cannot be read (names file
        and line)
    ParameterError
        an unknown format, an option that the format does not support, or options of files for data in memory
    RowError, DuplicateIdError, UnknownIdError
        invalid rows

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
    """Return the data set with only these images, given as `images` of `read_dataset`; None means all.

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
    """Read ground truth like `read_dataset`; `options` apply to files, `boxes` are `box_format` and `relative`.

    With `beside_results`, these also apply to results, and to the data set only if its format leaves the box format open.
    """
    if url_of(source) or not isinstance(source, (str, Path)):
        refuse_options(format=format, **options)
        if isinstance(source, Dataset):
            box_options(FIXED, "a Dataset", boxes, refuses=not beside_results)
            return source
        if (tables := tables_in_memory(source)) is not None:
            images = with_own_paths("images", tables["images"], source)
            return Dataset(images, tables["categories"], tables["annotations"], **boxes)
        return coco_in_memory(source).checked(**box_options(USUAL, "", boxes, refuses=False, usual=not beside_results))
    with reading_once(source), reading_from(source):
        detected = choose_format(source, format, "dataset", split=options.get("split"))
        path, images, split = Path(source), None, options.get("split")
        if kind_at(path) == "folder":
            path = see(path).place(lambda each: detected.fits(each, "dataset"), split).path
        if split is not None:
            from apframe.formats.image_lists import part_of_split

            path, options, images = part_of_split(Path(source), path, detected, options)
        how, refuses = detected.boxes_of_dataset, not beside_results
        own_boxes = box_options(how, detected.title, boxes, refuses=refuses, usual=refuses)
        dataset = detected.read(path, masks=masks, **own_boxes, **reader_options(detected, **options))
        release(Path(source))
        return with_images_of(dataset.with_images_changed(lambda images: with_own_paths("images", images, path)), images)


def tables_in_memory(source: Any) -> dict[str, pl.DataFrame] | None:
    """Return the tables of a data set from three tables, or from rows of images or objects, in memory or at a URL; else None.

    >>> tables_in_memory({"images": [], "categories": [], "annotations": []})
    """
    if isinstance(source, Mapping) and source.keys() >= set(GROUND_TRUTH):
        are_lists = any(isinstance(source[table], list) for table in GROUND_TRUTH)  # as in COCO
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
    """Return the rows and the features of anything that holds columns, in memory or at a URL."""
    if url:
        from apframe.formats.urls import read_url

        return read_url(url)
    from apframe.formats.nested_rows import frame_of_rows

    return frame_of_rows(table, source)


@names_keywords
def read_results(
    source: DetectionsLike, format: str | None = None, *, dataset: TruthLike | None = None, **options: Unpack[ResultsOptions]
) -> pl.DataFrame:
    """Read detections in any format as the canonical table.

    Parameters
    ----------
    source
        a path; or data in memory: a list of dicts as in COCO's results, anything that holds columns, outputs of detectors
    format
        the name of its format, see `list_formats`; by default it is detected from the path
    dataset
        the ground truth, as `read_dataset` accepts it: for formats whose boxes are fractions of the image, and for joining by
        name

    Raises
    ------
    FormatError, ParameterError, RowError, DuplicateIdError, UnknownIdError
        as `read_dataset`

    >>> read_results([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}])["area"].to_list()
    [1200.0]
    """
    truth = None if dataset is None else _data_set_of(dataset, options.get("names"))
    names, boxes = options.get("names"), {name: options.get(name) for name in BoxOptions.__annotations__}
    by_name = joined_tables(options.get("join_by_name", ()), names)
    with validating(), naming_format(source, format):
        results, how = take_results(source, format, lambda: truth, boxes, option="format")
        joined = joined_results(results, how, lambda: truth, by_name, boxes, names=names)
        return canonical("detections", joined)


def _data_set_of(source: Any, names: Any) -> Dataset:
    """Read the ground truth of results, with the names of classes if its format has class numbers."""
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
    """Return results from a file or memory, unchecked, and how far their box format is known: see `OPEN`."""
    how, of = OPEN, ""
    url = url_of(source)
    if isinstance(source, (str, Path)) and not url:
        with reading_once(source), reading_from(source):
            detected = choose_format(source, format, "results", option)
            how, of = detected.boxes_of_results, detected.title
            truth = dataset() if detected.fractions or detected.asks_for_images else None
            results: Any = without_refused(detected.read_results(Path(source), truth))
            release(Path(source))
    else:
        refuse_options(**{option: format})
        from apframe.formats.nested_rows import has_objects, holds_columns, results_of_rows
        from apframe.formats.object_rows import as_detections
        from apframe.formats.outputs import Outputs, recognize

        source = recognize(source)
        if isinstance(of_coco := getattr(source, "dataset", None), dict):  # the result of pycocotools' loadRes
            source = of_coco
        is_data_set = isinstance(source, Mapping) and {"images", "annotations"} <= source.keys()
        if isinstance(source, Dataset) or (is_data_set and not has_scores(source["annotations"])):
            raise FormatError("results: this has images and annotations, so it is not a list of results", "is it ground truth?")
        if isinstance(source, Outputs):
            results, how, of = source.table, source.how, "what a detector returns"
        elif url or holds_columns(source):
            results, features = _rows_of("detections", source, url)
            results = results_of_rows(results, features) if has_objects(results.schema) else as_detections(results)
        else:
            results = read_result_columns(source) if isinstance(source, list) or is_data_set else source
    results = with_own_paths("detections", results, source)
    box_options(how, of, boxes, refuses=True)
    return results, how


@contextmanager
def naming_format(source: Any, format: str | None) -> Iterator[None]:
    """Name the format of a file in errors that none of the images or categories of its results are known."""

    def with_format(error: InputError) -> str:
        is_of_all = isinstance(error, UnknownIdError) and error.of_all_rows and error.table == "detections"
        if (
            not is_of_all or not isinstance(source, (str, Path)) or kind_at(source) not in ("file", "folder")
        ):  # a pipe is empty by now
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
    """Return the named format, or the only one that a path looks like.

    The path is opened once: see `apframe.formats.path_contents.see`.

    Parameters
    ----------
    role
        "dataset" or "results"
    option
        name of the parameter for the format, for errors
    beside
        returns the format of the ground truth, which is used for results that look like no format, so that its reader explains
        the errors
    expected
        the files that the protocol is made for, whose format is preferred
    split
        the name of a folder inside, see `PathContents.place`
    other
        the path of the ground truth if `role` is "results", or the reverse, if it is a path
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
        kind, named = "folder" if there == "folder" else "file", as_format(name)
        if not named.kinds_of(role):
            raise FormatError(f"{named.title} has no results", "name the format of the results", path=path)
        if kind not in named.kinds_of(role):
            raise FormatError(f"this is a {kind}", f"{named.title} is {named.words_of(role)}", path=path)
        return named
    with reading_once(path):
        seen = see(path)
        if role == "dataset":
            seen = seen.place(lambda each: bool(_likely(each, role, expected)), split)
        return _detected(seen, role, option, beside, expected, other)


def _detected(
    seen: PathContents, role: str, option: str, beside: Callable[[], Format | None], expected: Expected, other_path: Any
) -> Format:
    """Return the format that a path looks like; raise an error that describes it if there is none, or several."""
    likely = _likely(seen, role, expected)
    if len(likely) == 1:
        return likely[0]
    other = None if likely else beside()
    same_format = other if other is not None and other.ends_results(seen) else None
    if not likely and seen.is_json:
        others = _likely(seen, "results", expected) if role == "dataset" else []
        if not others or FORMATS["coco"] in others:
            return same_format or FORMATS["coco"]  # its reader explains the error
    if not likely:
        from apframe.formats.unrecognised import guessed, near_misses, refuse_mistaken

        is_seen = isinstance(other_path, (str, Path)) and kind_at(other_path) in ("file", "folder")
        refuse_mistaken(
            seen, role, lambda seen, role: _likely(seen, role, expected), see(Path(other_path)) if is_seen else None
        )
        if unfit := _fitting(seen, role):
            problem = f"looks like {unfit[0].name}, which the protocol does not compare"
            raise FormatError(problem, "choose another protocol, or other files", path=seen.path)
        if same_format is not None:
            return same_format
        if guess := guessed(seen):
            raise FormatError(*guess, path=seen.path)
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
    """Return the named format, or the only one that a file or folder of ground truth looks like; None for all else.

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
    """Return the formats that a path looks like; those of other packages only if no format of apframe fits.

    If the format of the protocol's benchmark fits, only that is returned, and never formats that the protocol cannot compare.
    """
    candidates = _fitting(seen, role) or (_fitting(seen, role) if add_plugins() else [])
    candidates = [each for each in candidates if expected.compares(each)]
    return [each for each in candidates if each.name == expected.format] or candidates


def _fitting(seen: PathContents, role: str) -> list[Format]:
    rows = [*ROWS.items()]  # a copy, as other threads may register plugins
    able = [FORMATS[name] for name, row in rows if any(look.fits(seen) for look in row.looks(role))]
    return [each for each in able if each.recognizes(seen, role)]
