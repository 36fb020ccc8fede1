"""Validation: faults in the rows of tables, found in one pass; they are raised or listed, or their rows are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    FormatError,
    IdTypeError,
    InputError,
    InvalidRowsWarning,
    ParameterError,
    RowError,
    UnknownIdError,
    warn,
)
from apframe.rows import KEY_OF, PLACE, REFUSED, first_few, malformed_rows, row_numbers, rows_of
from apframe.wording import Count, Note, counted

_CHECKS = {
    UnknownIdError: "unknown_reference", IdTypeError: "id_types", ColumnError: "column", DuplicateIdError: "duplicate_id",
}  # fmt: skip
_ORDER = {"images": 0, "categories": 1, "annotations": 2, "detections": 3}
_KEEP_IDS = ("images", "categories")  # which other tables refer to
_SHOWN = 9  # kinds of faults in a message


@dataclass(frozen=True)
class Fault:
    """A fault in rows of a table, or in the table as a whole.

    Attributes
    ----------
    table, check
        the table, and a short name of the fault
    error
        the error to raise if this is the only fault: it says why, where, and what to do
    problem
        the fault in words, without the rows
    n_rows, rows
        number of rows, and names of the first few: ids, "row 3", or "line 3 of a.txt"; none if it is the whole table
    n_left_out
        number of rows that are left out: fewer if the first row of an id, or the id of an image, is kept
    """

    table: str
    check: str
    error: InputError
    problem: str
    n_rows: int
    rows: tuple[str, ...] = ()
    n_left_out: int = 0

    @classmethod
    def of_error(cls, error: InputError, n_given: int = 0) -> Fault:
        """Return the fault behind an error: in the rows that it names, or in a whole table of `n_given` rows."""
        check = next((name for kind, name in _CHECKS.items() if isinstance(error, kind)), "invalid_value")
        if not isinstance(error, RowError):
            return cls(error.table, check, error, error.problem, n_given)
        rows = tuple(f"row {row}" for row in first_few(error.rows)) if error.key == "row" else first_few(error.rows)
        return cls(error.table, check, error, error.problem, len(error.rows), rows)


class Report:
    """All faults of the tables that are read while this is the current report; see `validating`.

    Attributes
    ----------
    found
        the faults, in the order in which they were found
    n_rows
        number of rows of each table, before any were left out
    raises
        whether the faults are raised at the end
    """

    def __init__(self, *, raises: bool = False) -> None:
        self.raises = raises
        self.found: list[Fault] = []
        self.n_rows: dict[str, int] = {}
        self._unreadable: list[ColumnError] = []

    @property
    def faults(self) -> list[Fault]:
        """The faults of the images, then those of categories, annotations and detections, each in the order found.

        Tables are read in parallel, so faults of different tables are found in any order.
        """
        return sorted(self.found, key=lambda fault: _ORDER.get(fault.table, len(_ORDER)))

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Continue after a table that cannot be read at all, to find faults in other tables, until `stop`."""
        try:
            yield
        except ColumnError as error:
            self._unreadable.append(error)
            self.add_error(error)

    def _is_cause(self, fault: Fault) -> bool:
        """Return False if a fault follows from another one: rows may refer to images that were rejected for their ids.

        The ids that these images should have are unknown, but there are at least as many of them as unknown ids.
        """
        if not isinstance(fault.error, UnknownIdError):
            return True
        refused = (each for each in self.found if each.table == fault.error.owner and each.check == "invalid_value")
        return not 0 < len(fault.error.unknown) <= sum(each.n_left_out for each in refused)

    def comes_first(self, error: ApframeError) -> bool:
        """Return True if an error is about a whole file or an option, and does not follow from the faults in the report.

        An option may name an image or a category that was rejected.
        """
        if isinstance(error, FormatError):
            return not error.rows
        lost = any(fault.n_left_out for fault in self.found if fault.table in _KEEP_IDS)
        return isinstance(error, ParameterError) and not lost

    def stop(self) -> None:
        """Raise the first error of a table that could not be read, if there is one."""
        if self._unreadable:
            raise self._unreadable[0]

    def add_error(self, error: InputError) -> None:
        """Add an error about a table as a whole, unless the report has it already."""
        if all(fault.error is not error for fault in self.found):
            self.found.append(Fault.of_error(error, self.n_rows.get(error.table, 0)))

    def count(self, table: str, frame: pl.DataFrame) -> None:
        """Count the rows of a table, including rows that were left out before."""
        left_out = sum(fault.n_left_out for fault in self.found if fault.table == table)
        self.n_rows[table] = frame.height + left_out

    @property
    def error(self) -> InputError:
        """One error for all faults: the first one, with the number of kinds and rows, and the first rows of each kind.

        >>> report = Report()
        >>> for table, problem in (("detections", "score is missing"), ("annotations", "width is negative")):
        ...     error = RowError(table, problem, "row", [3], "correct it")
        ...     report.found.append(Fault.of_error(error))
        >>> print(report.error)  # doctest: +NORMALIZE_WHITESPACE
        annotations: width is negative for row 3; correct it
        (the first of 2 kinds of faults in 2 rows; also detections: score is missing for row 3)
        """
        first, *others = filter(self._is_cause, self.faults)
        if not others:
            return first.error
        error = copy(first.error)
        n_rows = sum(fault.n_rows for fault in (first, *others))
        sentences = [fault.error.sentence for fault in others[:_SHOWN]]
        more = [counted(len(others) - _SHOWN, "more kind")] if len(others) > _SHOWN else []
        rows = f" in {counted(n_rows, 'row')}" if n_rows else ""
        error.others = f"the first of {len(others) + 1:,} kinds of faults{rows}; also {'; '.join(sentences + more)}"
        return error


def left_out(faults: Sequence[Fault]) -> list[Note]:
    """Return a note about the rows that were left out, if there are any, and warn with their names.

    >>> import warnings
    >>> from apframe.wording import in_words
    >>> fault = replace(Fault.of_error(RowError("detections", "score is missing", "row", [3], "give it")), n_left_out=1)
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     in_words(left_out([fault]))
    ['left out: 1 detection (score is missing)']
    >>> print(caught[0].message)
    rows that cannot be evaluated were left out: 1 detection (score is missing: row 3)
    """
    if not faults:
        return []
    counts = []
    for each in faults:  # images and categories with rejected values keep their ids, as other tables refer to them
        detail = each.problem if each.n_left_out else f"{each.problem}, values left out"
        counts.append(Count(KEY_OF[each.table].removesuffix("_id"), each.n_left_out or each.n_rows, detail=f" ({detail})"))
    named = (f"{', '.join(each.rows)}{', ...' if each.n_rows > len(each.rows) else ''}" for each in faults)
    which = ", ".join(f"{str(count)[:-1]}: {rows})" for count, rows in zip(counts, named, strict=True))
    warn(f"rows that cannot be evaluated were left out: {which}", InvalidRowsWarning)
    return [Note("left out: {}", counts, ", ")]


_current: ContextVar[Report | None] = ContextVar("_current", default=None)


@contextmanager
def validating(report: Report | None = None) -> Iterator[Report]:
    """Within this context, leave rows with faults out of the tables that are read, and add the faults to the report.

    The report is by default the current one; if there is none, the faults are raised at the end. An error about a whole file
    or an option is raised immediately.

    >>> from apframe.tables.canonical import canonical
    >>> detections = {"image_id": [1, 2], "category_id": 1, "score": [0.5, None], "bbox": [[0, 0, 9, 9]] * 2}
    >>> with validating(Report()) as report:
    ...     canonical("detections", detections)["detection_id"].to_list(), report.faults[0].error.sentence
    ([1], 'detections: score is missing for detection_id 2')
    """
    current = _current.get()
    if report is None and current is not None:
        yield current
        return
    own = Report(raises=True) if report is None else report
    before = _current.set(own)
    try:
        yield own
    except ApframeError as error:  # which may follow from faults in the report
        if not (own.raises and own.found) or own.comes_first(error):
            raise
        if isinstance(error, InputError):
            own.add_error(error)
        raise own.error from error
    finally:
        _current.reset(before)
    if own.raises and own.found:
        raise own.error


def add_fault(fault: Fault) -> None:
    """Add a fault to the current report; raise its error if there is none.

    >>> add_fault(Fault.of_error(RowError("images", "width is missing", "row", [3], "give it")))
    Traceback (most recent call last):
    apframe.exceptions.RowError: images: width is missing for row 3; give it
    """
    report = _current.get()
    if report is None:
        raise fault.error
    report.found.append(fault)


@contextmanager
def amending(remedy: Callable[[InputError], str]) -> Iterator[None]:
    """Replace the remedy of errors raised within this context, and of the faults in the current report.

    >>> with amending(lambda error: f"{error.remedy}, or not"):
    ...     add_fault(Fault.of_error(RowError("images", "width is missing", "row", [3], "give it")))
    Traceback (most recent call last):
    apframe.exceptions.RowError: images: width is missing for row 3; give it, or not
    """

    def amended(error: InputError) -> InputError:
        if (new_remedy := remedy(error)) == error.remedy:
            return error
        changed = copy(error)
        changed.remedy, changed.args = new_remedy, (f"{error.sentence}; {new_remedy}",)
        return changed

    try:
        yield
    except InputError as error:
        if (changed := amended(error)) is error:
            raise
        raise changed from None
    if (report := _current.get()) is not None:
        for place, fault in enumerate(report.found):  # to which other threads may add
            if (changed := amended(fault.error)) is not fault.error:
                report.found[place] = replace(fault, error=changed)


class Sieve:
    """Collector of the faults in the rows of one table: each row has at most one fault, the first one found.

    Columns keep their height until `sound` drops the rows, so nothing is read twice. For images and categories, which other
    tables refer to, the id stays and the other values are dropped.

    >>> frame = pl.DataFrame({"detection_id": [7, 8], "score": [0.5, None]})
    >>> with validating(Report()) as report:
    ...     sieve = Sieve("detections", frame)
    ...     sieve.refuse(frame["score"].is_null(), "score is missing", "supply it")
    >>> sieve.sound(frame)["detection_id"].to_list(), report.faults[0].rows
    ([7], ('8',))
    """

    def __init__(self, table: str, frame: pl.DataFrame) -> None:
        self.table, self.frame, self.key = table, frame, KEY_OF.get(table, "")
        self.wrong: pl.Series | None = None  # flags
        self._lost: pl.Series | None = None  # flags of images and categories without valid ids

    def refuse(self, broken: pl.Series, problem: str, remedy: str, *, of_key: bool = False) -> None:
        """Report the flagged rows that have no fault yet; `of_key` means that their id is wrong."""
        if broken.any() and (broken := self.new(broken)).any():
            self.refuse_as(broken, RowError(self.table, problem, *self.rows_of(broken), remedy), of_key=of_key)

    def rows_of(self, broken: pl.Series) -> tuple[str, list[Any]]:
        """Return the key column and the ids of flagged rows, or "row" and their numbers."""
        return rows_of(self.table, self.frame, broken)

    def refuse_malformed(self, broken: pl.Series, problem: str, remedy: str) -> None:
        """Report rows with impossible shapes, naming the options that drop or keep them; do nothing if they are kept."""
        if broken.any() and self.table not in (malformed := malformed_rows()).kept:
            self.refuse(broken, problem, f"{remedy}, {malformed.remedy(self.table)}")

    def refuse_no_number(self, name: str, remedy: str) -> None:
        """Report rows in which a number is missing or not finite."""
        broken = ~self.frame[name].is_finite().fill_null(False)
        self.refuse(broken, f"{name} is missing or not a finite number", remedy)

    def refuse_as(
        self, broken: pl.Series, error: InputError, problem: str = "", n_rows: int = 0, *, of_key: bool = False
    ) -> None:
        """Report the flagged rows, which have no fault yet, with a given error; `n_rows` also counts rows that stay."""
        n_lost = int(broken.sum()) if of_key or self.table not in _KEEP_IDS else 0
        fault = Fault.of_error(error)
        rows = fault.rows or self.names_of(broken)
        problem, n_rows = (problem or fault.problem).rstrip(","), n_rows or int(broken.sum())  # the problem stands alone here
        add_fault(Fault(self.table, fault.check, error, problem, n_rows, rows, n_lost))
        self.wrong = broken if self.wrong is None else self.wrong | broken
        if of_key:
            self._lost = broken if self._lost is None else self._lost | broken

    def names_of(self, broken: pl.Series) -> tuple[str, ...]:
        """Return names of the first few flagged rows, for an error without any."""
        return tuple(f"row {row}" for row in first_few(row_numbers(broken)))

    def sound(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame, which has the rows of this table, without rows that have a fault.

        If rows were dropped, the column `PLACE` has the number of each row in the source.
        """
        if self.wrong is None:
            return frame
        frame = frame if PLACE in frame.columns else frame.with_row_index(PLACE, offset=1)
        if self.table not in _KEEP_IDS:
            return frame.filter(~self.wrong)
        frame = frame.with_columns(pl.when(~self.wrong).then(pl.exclude(self.key, PLACE)).name.keep())
        return frame if self._lost is None else frame.filter(~self._lost)

    def marked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame, which has the rows of this table, with flags of rows that have a fault, for `without_refused`.

        Images and categories can be collected from it, as rows with faults still name them.
        """
        return frame if self.wrong is None else frame.with_columns(self.wrong.alias(REFUSED))

    def new(self, broken: pl.Series) -> pl.Series:
        """Return the flags of rows that have no fault yet."""
        broken = broken.fill_null(False)
        return broken if self.wrong is None else broken & ~self.wrong


def sound_rows(table: str, frame: pl.DataFrame, broken: pl.Series, problem: str, remedy: str) -> pl.DataFrame:
    """Return the frame without the flagged rows, which are reported; raise an error that names them if there is no report.

    >>> sound_rows("detections", pl.DataFrame({"detection_id": [7, 8]}), pl.Series([False, True]), "no good", "mend it")
    Traceback (most recent call last):
    apframe.exceptions.RowError: detections: no good for detection_id 8; mend it
    """
    sieve = Sieve(table, frame)
    sieve.refuse(broken, problem, remedy)
    return sieve.sound(frame)


def without_refused(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without the rows that `Sieve.marked` flags; the column `PLACE` has the number of each row before.

    >>> without_refused(pl.DataFrame({"x": [5, 6], REFUSED: [True, False]})).rows()
    [(2, 6)]
    """
    if REFUSED not in frame.columns:
        return frame
    return frame.with_row_index(PLACE, offset=1).filter(~pl.col(REFUSED).fill_null(False)).drop(REFUSED)


def without_places(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without the column that `Sieve.sound` adds.

    >>> without_places(pl.DataFrame({"x": [1]})).columns
    ['x']
    """
    return frame.drop(PLACE) if PLACE in frame.columns else frame
