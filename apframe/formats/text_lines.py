"""Text files of lines with fields separated by blanks, one for each image or class: read and written as whole columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in
from apframe.formats.files import read_text, reading, write_text
from apframe.paths import names_of
from apframe.rows import MOST
from apframe.validation import Sieve
from apframe.wording import counted, listed

_BLANKS, _FIELD = " \t\r\v\f", r"[^ \t\r\v\f]+"


def read_lines(paths: Sequence[Path]) -> pl.DataFrame:
    """Return the lines that are not blank: `file` (position in `paths`), `line` (from 1), `fields` (texts between blanks).

    Raises
    ------
    FormatError
        a file does not exist, or is not UTF-8 text; names the line
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
    """Split text into fields; the usual case of single spaces takes a third of the time."""
    return pl.when(text.str.contains(r"[\t\r\v\f]|  ")).then(text.str.extract_all(_FIELD)).otherwise(text.str.split(" "))


class Lines(Sieve):
    """Collector of faults in lines of text files, each of which becomes a row of a table; the unit may also be another part.

    If `table` is empty, invalid lines raise an error immediately.

    Attributes
    ----------
    frame
        `file` (position in the paths) and a column named by the unit, with numbers from 1; by default all lines that are not
        blank, see `read_lines`

    >>> texts = pl.DataFrame({"file": [0, 0], "line": [1, 3], "fields": [["cat", ".5"]] * 2})
    >>> lines = Lines("annotations", [Path("a.txt")], texts)
    >>> lines.take(["name", "score"], ["score"]).rows()
    [(0, 1, 'cat', 0.5), (0, 3, 'cat', 0.5)]
    >>> lines.refuse(pl.Series([False, True]), "no good")
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.txt: no good in line 3; correct these lines
    """

    def __init__(self, table: str, paths: Sequence[Path], frame: pl.DataFrame | None = None, unit: str = "line") -> None:
        super().__init__(table, read_lines(paths) if frame is None else frame)
        self.paths, self.unit = paths, unit
        self.usual = f"correct {'these lines' if unit == 'line' else 'it'}"

    def take(self, layout: Sequence[str], numbers: Collection[str], optional: int = 0) -> pl.DataFrame:
        """Return the fields as columns with these names, after `file` and `line`; `numbers` as finite Float64.

        The last `optional` fields may be missing and are null then. Lines with more or fewer fields, or with text in place of a
        number, are rejected; if all lines have another number of fields, the file has another format.
        """
        n_fields = self.frame["fields"].list.len()
        fewest = len(layout) - optional
        words = f"{fewest} to {len(layout)}" if optional else str(len(layout))
        wrong = (n_fields < fewest) | (n_fields > len(layout))
        self.refuse_or_stop(wrong, f"not {words} fields ({' '.join(layout)})")
        texts = self.frame.select(
            "file", "line", *(pl.col("fields").list.get(k, null_on_oob=True).alias(name) for k, name in enumerate(layout))
        )
        return texts.with_columns(self.numbers(texts.select(name for name in layout if name in numbers)))

    def numbers(self, texts: pl.DataFrame, *, required: bool = False) -> pl.DataFrame:
        """Convert columns of text, a row for each line, to finite numbers; reject other lines, and nulls if `required`."""
        values = texts.select(pl.all().cast(pl.Float64, strict=False))
        for column in values:
            broken = ~column.is_finite().fill_null(False)
            self.refuse(
                broken if required else broken & texts[column.name].is_not_null(), f"{column.name} is not a finite number"
            )
        return values

    def refuse(self, broken: pl.Series, problem: str, remedy: str = "", *, of_key: bool = False) -> None:
        """Report the flagged lines that have no fault yet; without a report, raise an error as in `refuse_lines`."""
        if broken.any() and (broken := self.new(broken)).any():
            error = self._error(broken, problem, remedy)
            if not self.table:
                raise error
            self.refuse_as(broken, error, problem)

    def refuse_or_stop(self, broken: pl.Series, problem: str, remedy: str = "") -> None:
        """Report the flagged lines; raise an error if all lines are flagged, as the file has another format."""
        if broken.any() and broken.all():
            raise self._error(broken, problem, remedy)
        self.refuse(broken, problem, remedy)

    def _error(self, broken: pl.Series, problem: str, remedy: str) -> FormatError:
        file, numbers, where = places_of(self.frame, broken, self.unit)
        return FormatError(f"{problem}{where}", remedy or self.usual, path=self.paths[file], rows=numbers)

    def refuse_malformed(self, broken: pl.Series, problem: str, remedy: str = "") -> None:
        """Report lines with impossible shapes: see `Sieve.refuse_malformed`."""
        super().refuse_malformed(broken, problem, remedy or self.usual)

    def names_of(self, broken: pl.Series) -> tuple[str, ...]:
        """Return the first few flagged lines by number and file."""
        first = self.frame.filter(broken).head(MOST).select("file", self.unit)
        shown = {self.paths[file].name for file in first["file"]}
        alike = [path for path in dict.fromkeys(self.paths) if path.name in shown]
        names = dict(zip(alike, names_of(alike), strict=True))
        return tuple(f"{self.unit} {number} of {names[self.paths[file]]}" for file, number in first.rows())


def refuse_lines(paths: Sequence[Path], lines: pl.DataFrame, wrong: pl.Series, problem: str, remedy: str = "") -> None:
    """Raise an error that names the first file with such lines, their numbers, and the number of other files.

    >>> lines = pl.DataFrame({"file": [0, 0], "line": [1, 3]})
    >>> refuse_lines([Path("a.txt")], lines, pl.Series([False, True]), "no good")
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.txt: no good in line 3; correct these lines
    """
    Lines("", paths, lines).refuse(wrong, problem, remedy)


def places_of(lines: pl.DataFrame, wrong: pl.Series, unit: str = "line") -> tuple[int, list[int], str]:
    """Return the first file with such lines, their numbers, and a text with these and the number of other files.

    >>> places_of(pl.DataFrame({"file": [0, 0, 1], "line": [1, 3, 1]}), pl.Series([False, True, True]))
    (0, [3], ' in line 3, and in 1 more file')
    """
    bad = lines.filter(wrong)
    here = bad.filter(pl.col("file") == bad["file"][0])
    numbers = here[unit].unique(maintain_order=True).to_list() if unit in here.columns else []
    where = f" in {unit} {listed(numbers)}" if numbers else ""
    n_others = bad["file"].n_unique() - 1
    return bad["file"][0], numbers, where + (f", and in {counted(n_others, 'more file')}" if n_others else "")


def first_fields(paths: Iterable[Path]) -> list[str]:
    """Return the fields of the first line in the files that is not blank; none if all are blank."""
    for path in paths:
        with reading(path) as file:
            for line in file:
                if fields := line.decode("utf-8-sig", "replace").split():
                    return fields
    return []


def text_files(folder: Path) -> list[Path]:
    """Return the .txt files of a folder: see `files_in`."""
    return files_in(folder, ".txt")


def some_text_files(folder: Path) -> list[Path]:
    """List the text files of a folder; a folder without any is an error."""
    paths = text_files(folder)
    if not paths:
        raise FormatError("holds no text file (.txt)", path=folder)
    return paths


def refuse_blanks(table: str, names: pl.Series) -> None:
    """Raise an error that lists the names with blanks, which would end the field.

    >>> refuse_blanks("categories", pl.Series(["traffic light"]))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: categories: lines with blanks between fields cannot hold the name 'traffic light'; rename it
    """
    broken = names.filter(names.str.contains(r"\s") | (names == ""))
    if len(broken):
        shown = listed(broken.to_list())
        raise FormatError(f"fields are separated by blanks, so the name {shown} cannot be written", "rename it", table=table)


def refuse_as_file_names(names: pl.Series) -> None:
    """Raise an error that lists the names that are impossible for files, or that would hide them.

    >>> refuse_as_file_names(pl.Series(["a", "../b"]))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: no file can be called '../b'; rename it
    """
    separators = r"/\\\x00:" if os.name == "nt" else r"/\\\x00"  # C:name is a file on another drive
    broken = names.filter(names.str.contains(rf"^\.|[{separators}]") | (names == ""))
    if len(broken):
        raise FormatError(f"no file can be called {listed(broken.to_list())}", "rename it")


def write_lines(folder: Path, lines: pl.DataFrame, names: pl.Series) -> None:
    """Write a file `{name}.txt` for each name, with its lines (columns `name` and `text`) in order.

    The folder is created.

    Raises
    ------
    FormatError
        names that are impossible for files
    """
    refuse_as_file_names(names)
    folder.mkdir(parents=True)
    texts = lines.group_by("name", maintain_order=True).agg(text=pl.col("text").str.join("\n") + "\n")
    every = names.rename("name").to_frame().join(texts, on="name", how="left", maintain_order="left")
    for name, text in every.with_columns(pl.col("text").fill_null("")).iter_rows():
        write_text(folder / f"{name}.txt", text)
