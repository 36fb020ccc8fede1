"""All formats by name: which one a path is of, and data sets and results read and written in any of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, OutputError, ParameterError, did_you_mean
from apframe.io.activitynet import ActivityNet
from apframe.io.boxes import Boxes
from apframe.io.coco import Coco, read_coco, read_result_columns
from apframe.io.cvat import Cvat
from apframe.io.dota import Dota
from apframe.io.files import folder_beside, read_head
from apframe.io.format import Format
from apframe.io.ids import join_by_name, results_with_ids_of, with_ids_of
from apframe.io.kitti import Kitti
from apframe.io.label_studio import LabelStudio
from apframe.io.losses import losses, tables_of
from apframe.io.lvis import Lvis
from apframe.io.open_images import OpenImages
from apframe.io.tables import Arrow, Parquet
from apframe.io.voc import Voc
from apframe.io.yolo import Yolo
from apframe.schema import Dataset, canonical, refuse_rows, to_polars

_ALL: tuple[Format, ...] = (
    Coco(), Lvis(), Voc(), Yolo(), OpenImages(), Cvat(), LabelStudio(), Kitti(), Dota(), ActivityNet(), Boxes(), Parquet(),
    Arrow(),
)  # fmt: skip
FORMATS = {format_.name: format_ for format_ in _ALL}


def formats() -> pl.DataFrame:
    """The formats there are: `format`, `title`, what a `dataset` of it is, what `results` are.

    >>> formats().filter(pl.col("format") == "coco")["title"].item()
    'COCO JSON'
    """
    rows = [(each.name, each.title, each.dataset_is, each.results_are) for each in FORMATS.values()]
    return pl.DataFrame(rows, schema=["format", "title", "dataset", "results"], orient="row")


def as_format(name: str) -> Format:
    """A format by its name, in any case and with - or _.

    >>> as_format("COCO").title
    'COCO JSON'
    >>> as_format("cocoo")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no format 'cocoo'; did you mean coco?
    """
    found = FORMATS.get(str(name).lower().replace("-", "_"))
    if found is None:
        raise ParameterError(f"no format {name!r}{did_you_mean(str(name), list(FORMATS))}")
    return found


def read_dataset(
    source: Any, format: str | None = None, *, split: str | None = None, image_sizes: Any = None, masks: bool = False
) -> Dataset:
    """Read ground truth in any format.

    Parameters
    ----------
    source
        a path; or what is in memory: a dict as `json.load` returns it for COCO, a `Dataset` as it is
    format
        the name of its format, see `formats`; by default it is told from the path
    split
        which part of a data set that has several: VOC's image set, YOLO's train, val or test, ActivityNet's subset
    image_sizes
        for formats whose boxes are fractions of the image: `file_name` (with or without folders and ending), `image_width`,
        `image_height`, as anything that holds columns, or a CSV or Parquet file
    masks
        read masks at once, where the format would leave them for later

    Raises
    ------
    FormatError
        a path that is missing, of another kind, or of no format that can be told; what cannot be read, naming file and line
    ParameterError
        no such format, or an option that it does not take
    RowError, DuplicateIdError, UnknownIdError
        rows that cannot be right

    >>> read_dataset({"images": [{"id": 1}], "categories": [], "annotations": []})
    Dataset(1 images, 0 categories, 0 annotations)
    """
    if isinstance(source, Dataset):
        return source
    if not isinstance(source, (str, Path)):
        return read_coco(source, masks=masks)
    chosen = choose_format(Path(source), format, "dataset")
    return chosen.read(Path(source), masks=masks, **taken_options(chosen, split=split, image_sizes=image_sizes))


def read_results(
    source: Any, format: str | None = None, *, dataset: Dataset | None = None, join_by_name: Any = ()
) -> pl.DataFrame:
    """Read detections in any format, as the canonical table.

    Parameters
    ----------
    source
        a path; or what is in memory: a list of dicts as COCO's results, anything that holds columns
    format
        the name of its format, see `formats`; by default it is told from the path
    dataset
        what they are results of: for formats whose boxes are fractions of the image, and to be joined to by name
    join_by_name
        "images", "categories" or both: what the results name rather than have the data set's ids of, see `apframe.io.ids`

    Raises
    ------
    As `read_dataset`

    >>> read_results([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}])["area"].to_list()
    [1200.0]
    """
    return canonical("detections", read_result_table(source, format, lambda: dataset, join_by_name))


def read_result_table(
    source: Any, format: str | None, dataset: Callable[[], Dataset | None], join_tables: str | Collection[str] = ()
) -> Any:
    """What `read_results` gives before it is checked; the data set is asked for only if it is needed."""
    if isinstance(source, list):
        found: Any = read_result_columns(source)
    elif isinstance(source, (str, Path)):
        path = Path(source)
        chosen = choose_format(path, format, "results")
        found = chosen.read_results(path, dataset() if chosen.fractions else None)
    else:
        found = source
    if not join_tables:
        return found
    known = dataset()
    if known is None:
        raise ParameterError("join_by_name needs the data set whose names they are")
    return join_by_name(to_polars(found, "detections"), known, join_tables)


def write_dataset(dataset: Dataset, path: str | Path, format: str) -> pl.DataFrame:
    """Write ground truth in a format, and say what it cannot hold.

    Ids become what the format has: names (of files, without their ending, and of classes), or numbers. The file or folder
    appears whole or not at all. An earlier file is replaced; a folder has to be new or empty.

    Returns
    -------
    A row for each thing that is not in the files: `table`, `column` (null: whole rows), `n_rows`, `what` becomes of them.

    Raises
    ------
    ParameterError
        no such format
    RowError, FormatError
        what cannot be written, such as two images of one name
    OutputError
        there is something else at the path, or it cannot be written
    """
    chosen = as_format(format)
    _refuse_no_box(chosen, "annotations", dataset.core("annotations"))
    given = with_ids_of(chosen, dataset)
    lost = losses(chosen, tables_of(dataset, None), tables_of(given, None))
    _write_whole(Path(path), chosen.dataset_from[0], lambda part: chosen.write(given, part))
    return lost


def write_results(detections: Any, path: str | Path, format: str, *, dataset: Dataset | None = None) -> pl.DataFrame:
    """Write detections in a format, and say what it cannot hold; `dataset` is what they are of. See `write_dataset`."""
    chosen = as_format(format)
    found = canonical("detections", detections)
    _refuse_no_box(chosen, "detections", found)
    given = results_with_ids_of(chosen, found, dataset)
    named = None if dataset is None else with_ids_of(chosen, dataset)
    if chosen.fractions and named is None:
        raise ParameterError(f"{chosen.title} has boxes as fractions of their images; give the data set that they are of")
    lost = losses(chosen, tables_of(None, found), tables_of(None, given))
    _write_whole(Path(path), chosen.results_from[0], lambda part: chosen.write_results(given, part, named))
    return lost


def _refuse_no_box(format_: Format, table: str, frame: pl.DataFrame) -> None:
    """An error where a format that has boxes alone would be given other shapes."""
    columns = set(format_.holds[table])
    if "x" in columns and not columns & {"mask", "keypoints", "corners", "start_time"}:
        remedy = f"{format_.title} has nothing but boxes; give them, or remove these rows"
        refuse_rows(table, frame, frame["x"].is_null(), "there is no box", remedy)


def choose_format(path: Path, name: str | None, role: str) -> Format:
    """The format that was named, or the only one that the path looks like; `role` is "dataset" or "results"."""
    if not path.exists():
        raise FormatError(f"{path}: there is no such file or folder")
    kind = "folder" if path.is_dir() else "file"
    if name is not None:
        chosen = as_format(name)
        if kind not in _from(chosen, role):
            raise FormatError(f"{path}: this is a {kind}; {chosen.title}, {_words(chosen, role)}, is needed")
        return chosen
    able = [each for each in FORMATS.values() if kind in _from(each, role)]
    likely = [each for each in able if (each.is_dataset if role == "dataset" else each.is_results)(path)]
    if len(likely) == 1:
        return likely[0]
    if not likely and _is_json(path, kind):
        return FORMATS["coco"]  # whose reader says what is wrong
    flag = "--gt-format" if role == "dataset" else "--dt-format"
    if likely:
        problem = "is like " + " and like ".join(f"{each.name} ({_words(each, role)})" for each in likely)
    else:
        problem = f"no format's {role} {'is' if role == 'dataset' else 'are'} a {kind} like this"
    names = ", ".join(each.name for each in likely or able)
    raise FormatError(f"{path}: its format cannot be told: {problem}; say which with format= or {flag}: {names}")


def _is_json(path: Path, kind: str) -> bool:
    return kind == "file" and (".json" in path.name or read_head(path, 64).lstrip()[:1] in (b"{", b"["))


def _from(format_: Format, role: str) -> tuple[str, ...]:
    return format_.dataset_from if role == "dataset" else format_.results_from


def _words(format_: Format, role: str) -> str:
    return format_.dataset_is if role == "dataset" else format_.results_are


def taken_options(format_: Format, **options: Any) -> dict[str, Any]:
    """The options that were given, all of which the format takes."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in format_.options:
            raise ParameterError(f"{format_.title} takes no {name}")
    return given


def _write_whole(path: Path, kind: str, write: Callable[[Path], None]) -> None:
    """Write beside the path and move there: the file or folder appears whole or not at all."""
    if kind == "file" and path.is_dir():
        raise OutputError(f"{path}: this is a folder; name a file")
    if kind == "folder" and path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(
            f"{path}: is not empty; name a new folder" if path.is_dir() else f"{path}: this is a file; name a folder"
        )
    try:
        with folder_beside(path.resolve()) as work:
            part = work / path.name
            write(part)
            part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
