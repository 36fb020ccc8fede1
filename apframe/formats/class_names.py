"""Class numbers in results, and class names: from a file with a name in each line, a data.yaml, JSON, or memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ClassNumbersWarning, FormatError, ParameterError, warn
from apframe.formats.documents import read_json
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset
from apframe.tables.types import with_ids
from apframe.validation import sound_rows
from apframe.wording import counted, option_name

_WRITTEN = {"image_id", "file_name", "category_id", "score"}  # written by Ultralytics, without names of classes


def read_class_names(source: Any) -> dict[int, str]:
    """Return the names of classes by number, from 0.

    Parameters
    ----------
    source
        a list of names, a mapping from numbers to names; or a file: text with a name in each line (`obj.names`, `classes.txt`),
        JSON of such a list or mapping, a data.yaml or obj.data

    Raises
    ------
    ParameterError, FormatError
        the source is none of these, or empty

    >>> read_class_names(["cat", "dog"]), read_class_names({7: "cat"})
    ({0: 'cat', 1: 'dog'}, {7: 'cat'})
    """
    content = _read(Path(source)) if isinstance(source, (str, Path)) else source
    try:
        pairs = content.items() if isinstance(content, Mapping) else enumerate(content)
        names = {int(number): name for number, name in pairs}
    except (TypeError, ValueError, OverflowError):
        raise _refused(source, "must be a list of names, or a mapping from numbers to names") from None
    if not names:
        raise _refused(source, "must not be empty")
    if not all(isinstance(name, str) for name in names.values()):
        raise _refused(source, "must all be text")
    return names


def with_known_classes(
    detections: Any, names: Any, dataset: Dataset | None, *, may_count_from_1: bool = True, is_whole: bool = True
) -> Any:
    """Return detections with the class numbers of `names`, or else of their data set; and with `name`, if there are names.

    Files may count classes from 1; outputs of a library never do, so their numbers are unchanged without `may_count_from_1`.
    Ultralytics' `predictions.json` has image_id, file_name, category_id and score. An image_id is the file_name without its
    extension, as a number if possible. Classes are numbered from 1, but a data.yaml numbers them from 0. If n occurs in such
    results of n classes and 0 does not, 1 is subtracted, with a warning. For a part of the results (unless `is_whole`) nothing
    is subtracted, because other parts may have 0, or lack n. The warning then says how to decide.

    Raises
    ------
    RowError
        numbers without a name

    Warns
    -----
    ClassNumbersWarning
        1 was subtracted, or may have to be

    >>> import warnings
    >>> detections = pl.DataFrame({"image_id": [7, 7], "file_name": "7.jpg", "category_id": [1, 2], "score": 0.5})
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     print(with_known_classes(detections, ["cat", "dog"], None).select("category_id", "name").rows())
    [(0, 'cat'), (1, 'dog')]
    >>> print(caught[0].message)
    detections: category_id is 1 to 2, and the classes are 0 to 1: as in Ultralytics' predictions.json, 1 was subtracted
    """
    if names is None and not may_count_from_1:
        return detections
    detections = to_polars(detections, "detections")
    names = None if names is None else read_class_names(names)
    if may_count_from_1 and set(detections.columns) >= _WRITTEN and "name" not in detections.columns:
        classes: Collection[Any] = names or ()
        if names is None and dataset is not None:
            categories = dataset.core("categories") if dataset.merged is None else dataset.merged
            classes = categories["category_id"].drop_nulls()
        detections = _numbered_from_0(detections, classes, is_whole=is_whole)
    return detections if names is None else with_class_names(detections, names)


def _numbered_from_0(detections: pl.DataFrame, known_classes: Collection[Any], *, is_whole: bool) -> pl.DataFrame:
    numbers = detections["category_id"]
    if not _count_from_1(numbers, known_classes) or not _are_file_names(detections):
        return detections
    classes = "the only class is 0" if len(known_classes) == 1 else f"the classes are {_span(known_classes)}"
    message = f"detections: category_id is {_span(numbers.drop_nulls())}, and {classes}"
    if is_whole:
        warn(f"{message}: as in Ultralytics' predictions.json, 1 was subtracted", ClassNumbersWarning)
        return detections.with_columns(pl.col("category_id") - 1)
    warn(f"{message}; {_ask_for_names()}", ClassNumbersWarning)
    return detections


def _count_from_1(ids: pl.Series, classes: Collection[Any]) -> bool:
    """Return True if the classes are 0 to n - 1, and the numbers are among 1 to n and include n."""
    n, numbers = len(classes), {*ids.unique().drop_nulls()} if ids.dtype.is_numeric() else set()
    return n in numbers and numbers <= {*range(1, n + 1)} and sorted(classes) == [*range(n)]


def _ask_for_names() -> str:
    remedy = f'give {option_name("names")} as a JSON file with {{"1": ..., "2": ...}}, the names of all classes'
    return f"if they count from 1, as Ultralytics' predictions.json does, {remedy}"


def _span(numbers: Iterable[Any]) -> str:
    """Return the range of some numbers as text.

    >>> _span([3.0, 1.0]), _span([3])
    ('1 to 3', '3')
    """
    return " to ".join(f"{each:g}" for each in dict.fromkeys([min(numbers), max(numbers)]))


def _are_file_names(detections: pl.DataFrame) -> bool:
    """Return True if each image_id is the name of its file without the extension, or that name as a number."""
    ids, files = detections["image_id"], detections["file_name"]
    if files.dtype != pl.String:
        return False
    ids = ids.cast(pl.Int64, strict=False) if ids.dtype.is_float() else ids
    stems = files.str.replace(r"\.[^.]*$", "").str.replace(r"^0*(\d+)$", "$1")
    return bool((ids.cast(pl.String) == stems).fill_null(False).all())


def _read(path: Path) -> Any:
    from apframe.formats.yolo.config import ENDINGS, names_in_lines, read_config

    if path.suffix in ENDINGS:
        return read_config(path).names
    if path.suffix == ".json":
        return read_json(path)
    return names_in_lines(path)


def _refused(source: Any, problem: str) -> Exception:
    if isinstance(source, (str, Path)):
        return FormatError(f"the names {problem}", "write one class name per line, starting with class 0", path=source)
    return ParameterError(problem, option="names")


def with_class_names(detections: pl.DataFrame, source: Any) -> pl.DataFrame:
    """Return detections with the `name` of their class, for `category_id` with numbers or names.

    Raises
    ------
    RowError
        values that are neither the number nor the name of a class

    >>> with_class_names(pl.DataFrame({"category_id": [1]}), ["cat", "dog"]).row(0)
    (1, 'dog')
    """
    names = read_class_names(source)
    if "category_id" not in detections.columns:
        return detections  # an error that is raised later
    detections, ids = with_ids("detections", detections, "category_id")
    numbers = ids.cast(pl.Int64, strict=False)
    is_name = ids.cast(pl.String).is_in([*names.values()]) & (ids.dtype == pl.String)
    unknown = ~(numbers.is_in(list(names)).fill_null(False) | is_name) & ids.is_not_null()
    there_are = f"there {'is' if len(names) == 1 else 'are'} {counted(len(names), 'name')}, for {_span(names)}"
    if _count_from_1(numbers, names):
        there_are = f"{there_are}; {_ask_for_names()}"
    named = numbers.replace_strict(list(names), list(names.values()), default=None, return_dtype=pl.String)
    named_rows = detections.with_columns(named.alias("name")).with_columns(pl.coalesce("name", pl.when(is_name).then(ids)))
    return sound_rows("detections", named_rows, unknown, "category_id has no name", there_are)
