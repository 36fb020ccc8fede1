"""Text files of lines with blanks between fields, one file for each image or class: read and written as whole columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.files import read_text, reading, write_text
from apframe.paths import files_in
from apframe.rows import malformed_rows
from apframe.wording import counted, listed

_passes: ContextVar[bool] = ContextVar("passes", default=False)
_BLANKS, _FIELD = " \t\r\v\f", r"[^ \t\r\v\f]+"


@contextmanager
def passing_invalid() -> Iterator[None]:
    """Inside, readers let numbers pass that are refused later by the table they come into, so that their rows can be left out.

    That is: numbers that are missing or not finite, and boxes that end before they begin.

    >>> lines = pl.DataFrame({"file": [0], "line": [1]})
    >>> with passing_invalid():
    ...     refuse_numbers([Path("a.txt")], lines, pl.Series([True]), "no good")
    """
    token = _passes.set(True)
    try:
        yield
    finally:
        _passes.reset(token)


def read_lines(paths: Sequence[Path]) -> pl.DataFrame:
    """Every line that is not blank: `file` (its place in `paths`), `line` (from 1), `fields` (texts, parted by blanks).

    Raises
    ------
    FormatError
        a file that is missing, or no UTF-8 text, with the line
    """
    texts = pl.DataFrame({"text": [read_text(path) for path in paths]}, schema={"text": pl.String})
    return (
        texts.with_row_index("file")
        .with_columns(pl.col("text").str.split("\n"))
        .with_columns(line=pl.int_ranges(1, pl.col("text").list.len() + 1))
        .explode("text", "line")
        .with_columns(pl.col("text").str.strip_chars(_BLANKS))
        .filter(pl.col("text") != "")
        .select("file", "line", fields=_split(pl.col("text")))
    )


def _split(text: pl.Expr) -> pl.Expr:
    """The fields; single spaces alone, the usual case, take a third of the time."""
    return pl.when(text.str.contains(r"[\t\r\v\f]|  ")).then(text.str.extract_all(_FIELD)).otherwise(text.str.split(" "))


def take_fields(
    paths: Sequence[Path], lines: pl.DataFrame, layout: Sequence[str], numbers: Collection[str], optional: int = 0
) -> pl.DataFrame:
    """The fields as columns of these names, after `file` and `line`; `numbers` as Float64, all finite.

    The last `optional` fields may be missing and are null then.

    Raises
    ------
    FormatError
        lines with more or fewer fields, or with text in the place of a number, by file and line

    >>> lines = pl.DataFrame({"file": [0], "line": [1], "fields": [["cat", ".5"]]})
    >>> take_fields([Path("a.txt")], lines, ["name", "score"], ["score"]).rows()
    [(0, 1, 'cat', 0.5)]
    """
    n_fields = lines["fields"].list.len()
    fewest = len(layout) - optional
    words = f"{fewest} to {len(layout)}" if optional else str(len(layout))
    wrong = (n_fields < fewest) | (n_fields > len(layout))
    refuse_lines(paths, lines, wrong, f"not {words} fields ({' '.join(layout)})")
    texts = lines.select(
        "file", "line", *(pl.col("fields").list.get(k, null_on_oob=True).alias(name) for k, name in enumerate(layout))
    )
    values = texts.select(pl.col(name).cast(pl.Float64, strict=False) for name in layout if name in numbers)
    for column in values:
        broken = (column.is_null() & texts[column.name].is_not_null()) | ~column.is_finite().fill_null(True)
        refuse_numbers(paths, lines, broken, f"{column.name} is not a finite number")
    return texts.with_columns(values)


def refuse_lines(
    paths: Sequence[Path],
    lines: pl.DataFrame,
    wrong: pl.Series,
    problem: str,
    remedy: str = "correct these lines",
    unit: str = "line",
) -> None:
    """An error that names the first file with such lines, their numbers, and how many more files have some.

    The numbers are in a column called as the unit; where there is none, a row is the whole file.

    >>> lines = pl.DataFrame({"file": [0, 0], "line": [1, 3]})
    >>> refuse_lines([Path("a.txt")], lines, pl.Series([False, True]), "no good")
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.txt: no good in line 3; correct these lines
    """
    if wrong.any():
        file, numbers, where = places_of(lines, wrong, unit)
        raise FormatError(f"{problem}{where}", remedy, path=paths[file], rows=numbers)


def places_of(lines: pl.DataFrame, wrong: pl.Series, unit: str = "line") -> tuple[int, list[int], str]:
    """The first file with such lines, their numbers, and both in words with the number of other files; see `refuse_lines`.

    >>> places_of(pl.DataFrame({"file": [0, 0, 1], "line": [1, 3, 1]}), pl.Series([False, True, True]))
    (0, [3], ' in line 3, and in 1 more file')
    """
    bad = lines.filter(wrong)
    here = bad.filter(pl.col("file") == bad["file"][0])
    numbers = here[unit].to_list() if unit in here.columns else []
    where = f" in {unit} {listed(numbers)}" if numbers else ""
    n_others = bad["file"].n_unique() - 1
    return bad["file"][0], numbers, where + (f", and in {counted(n_others, 'more file')}" if n_others else "")


def refuse_numbers(
    paths: Sequence[Path],
    lines: pl.DataFrame,
    wrong: pl.Series,
    problem: str,
    remedy: str = "correct these lines",
    unit: str = "line",
) -> None:
    """`refuse_lines` for numbers that the table refuses too which they come into; nothing inside `passing_invalid`."""
    if not _passes.get():
        refuse_lines(paths, lines, wrong, problem, remedy, unit)


def refuse_malformed_lines(
    table: str,
    paths: Sequence[Path],
    lines: pl.DataFrame,
    wrong: pl.Series,
    problem: str,
    remedy: str = "correct these lines",
    unit: str = "line",
) -> None:
    """`refuse_numbers` for shapes that no object has, with the options that leave them out or keep them; nothing if kept.

    `table` is what the lines become: annotations or detections.
    """
    malformed = malformed_rows()
    if table not in malformed.kept:
        refuse_numbers(paths, lines, wrong, problem, f"{remedy}, {malformed.remedy(table)}", unit)


def first_fields(paths: Iterable[Path]) -> list[str]:
    """The fields of the first line that is not blank, in the first of the files that has one; none if there is none."""
    for path in paths:
        with reading(path) as file:
            for line in file:
                if fields := line.decode("utf-8-sig", "replace").split():
                    return fields
    return []


def is_number(text: str) -> bool:
    """Whether a field is a number.

    >>> is_number("-.5e3"), is_number("person")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # which Python takes for a separator of digits


def text_files(folder: Path) -> list[Path]:
    """The .txt files of a folder: see `files_in`."""
    return files_in(folder, ".txt")


def some_text_files(folder: Path) -> list[Path]:
    """List the text files of a folder; a folder without any is an error."""
    paths = text_files(folder)
    if not paths:
        raise FormatError("holds no text file (.txt)", path=folder)
    return paths


def refuse_blanks(table: str, names: pl.Series) -> None:
    """An error that lists the names in which a blank would end the field.

    >>> refuse_blanks("categories", pl.Series(["traffic light"]))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: categories: lines with blanks between fields cannot hold the name 'traffic light'; rename it
    """
    broken = names.filter(names.str.contains(r"\s") | (names == ""))
    if len(broken):
        shown = listed(broken.to_list())
        raise FormatError(f"fields are separated by blanks, so the name {shown} cannot be written", "rename it", table=table)


def refuse_as_file_names(names: pl.Series) -> None:
    """An error that lists the names that no file can have, or that would hide it.

    >>> refuse_as_file_names(pl.Series(["a", "../b"]))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: no file can be called '../b'; rename it
    """
    separators = r"/\\\x00:" if os.name == "nt" else r"/\\\x00"  # C:name is a file on another drive
    broken = names.filter(names.str.contains(rf"^\.|[{separators}]") | (names == ""))
    if len(broken):
        raise FormatError(f"no file can be called {listed(broken.to_list())}", "rename it")


def write_lines(folder: Path, lines: pl.DataFrame, names: pl.Series) -> None:
    """A file `{name}.txt` for each of the names, with the lines (columns `name` and `text`) that belong to it, in order.

    The folder is made.

    Raises
    ------
    FormatError
        names that no file can have
    """
    refuse_as_file_names(names)
    folder.mkdir(parents=True)
    texts = lines.group_by("name", maintain_order=True).agg(text=pl.col("text").str.join("\n") + "\n")
    every = names.rename("name").to_frame().join(texts, on="name", how="left", maintain_order="left")
    for name, text in every.with_columns(pl.col("text").fill_null("")).iter_rows():
        write_text(folder / f"{name}.txt", text)
