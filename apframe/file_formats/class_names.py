"""Names of classes for results that number them: from a file with a name in each line, a data.yaml, JSON, or in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError, counted
from apframe.file_formats.documents import read_json
from apframe.file_formats.yolo.config import names_in_lines, read_config
from apframe.rows import refuse_rows
from apframe.schema import as_id


def read_class_names(source: Any) -> dict[int, str]:
    """The names of classes by their numbers, from 0.

    Parameters
    ----------
    source
        a list of names, a mapping of numbers to them; or a file: text with a name in each line (`obj.names`, `classes.txt`),
        JSON of such a list or mapping, or a data.yaml

    Raises
    ------
    ParameterError, FormatError
        what is none of these, or empty

    >>> read_class_names(["cat", "dog"]), read_class_names({7: "cat"})
    ({0: 'cat', 1: 'dog'}, {7: 'cat'})
    """
    given = _read(Path(source)) if isinstance(source, (str, Path)) else source
    try:
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        names = {int(number): name for number, name in pairs}
    except (TypeError, ValueError):
        raise _refused(source, "are neither a list of names nor a mapping from numbers to names") from None
    if not names:
        raise _refused(source, "are empty")
    if not all(isinstance(name, str) for name in names.values()):
        raise _refused(source, "must all be text")
    return names


def _read(path: Path) -> Any:
    if path.suffix in (".yaml", ".yml"):
        return read_config(path).names
    if path.suffix == ".json":
        return read_json(path)
    return names_in_lines(path)


def _refused(source: Any, problem: str) -> Exception:
    remedy = "write one class name per line, starting with class 0"
    if isinstance(source, (str, Path)):
        return FormatError(f"the names {problem}", remedy, path=source)
    return ParameterError(problem, "give a list of names, or a mapping from numbers to names", option="names")


def with_class_names(detections: pl.DataFrame, source: Any) -> pl.DataFrame:
    """Detections with the `name` of their class, by its number in `category_id`; see `read_class_names`.

    Raises
    ------
    RowError
        numbers that have no name

    >>> with_class_names(pl.DataFrame({"category_id": [1]}), ["cat", "dog"]).row(0)
    (1, 'dog')
    """
    names = read_class_names(source)
    if "category_id" not in detections.columns:
        return detections  # which is an error that others name
    ids = as_id("detections", detections, detections["category_id"])
    numbers = ids.cast(pl.Int64, strict=False)
    unknown = ~numbers.is_in(list(names)).fill_null(False) & ids.is_not_null()
    there_are = f"there {'is' if len(names) == 1 else 'are'} {counted(len(names), 'name')}, for {min(names)} to {max(names)}"
    refuse_rows("detections", detections, unknown, "category_id has no name", there_are)
    named = numbers.replace_strict(list(names), list(names.values()), default=None, return_dtype=pl.String)
    return detections.with_columns(named.alias("name"))


def joined_tables(join_by_name: str | Collection[str], names: Any) -> Collection[str]:
    """The tables that results are joined to by name: those that were asked for, and the categories where these have names.

    >>> list(joined_tables("images", ["cat"]))
    ['images', 'categories']
    """
    asked: Iterable[str] = [join_by_name] if isinstance(join_by_name, str) else join_by_name
    return list(dict.fromkeys([*asked, *(["categories"] if names is not None else [])]))
