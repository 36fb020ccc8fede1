"""A finding, and the table of findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from apframe.rows import MOST, first_few
from apframe.tables.schemas import TABLES, noun
from apframe.validation import Fault
from apframe.wording import counted

SEVERITIES = pl.Enum(["error", "warning", "note"])
_SCHEMA: dict[str, Any] = {
    "severity": SEVERITIES, "check": pl.String, "table": pl.String, "n_rows": pl.Int64, "rows": pl.List(pl.String),
    "problem": pl.String, "remedy": pl.String,
}  # fmt: skip


# how a problem is worded: what some rows do ("have no annotations"), what is wrong in them ("area is 0"), or as a sentence
Wording = Literal["predicate", "clause", "sentence"]
_SINGULAR = {"have": "has", "are": "is", "share": "shares"}


def as_sentence(remedy: str) -> str:
    """The remedy of an error, which follows a semicolon there, as a sentence of its own.

    >>> as_sentence("correct it")
    'Correct it.'
    """
    return f"{remedy[:1].upper()}{remedy[1:]}."


@dataclass(frozen=True)
class Finding:
    """One thing that was found; the fields are columns of the table, see `apframe.checks.check.check`.

    What `problem` says of some rows does not say how many: the table counts them among all rows that were given, whatever
    was left out before this was found.
    """

    severity: str
    check: str
    table: str
    n_rows: int
    rows: tuple[str, ...]
    problem: str
    remedy: str
    wording: Wording = "sentence"

    def sentence(self, n_given: int | None) -> str:
        """The problem with how many rows it is in, of how many that were given (None: not known).

        >>> Finding("note", "dark", "images", 1, ("8",), "are dark", "Wait.", "predicate").sentence(300)
        '1 of 300 images is dark'
        >>> Finding("note", "dark", "images", 2, ("8", "9"), "light is missing", "Wait.", "clause").sentence(None)
        '2 images: light is missing'
        """
        if self.wording == "sentence":
            return self.problem
        if self.table not in TABLES:  # an error of what is made of a table
            return f"{self.table}: {self.problem}"
        row = noun(self.table)
        rows = counted(self.n_rows, row) if n_given is None else f"{self.n_rows:,} of {counted(n_given, row)}"
        if self.wording == "clause":
            return f"{rows}: {self.problem}"
        verb, space, rest = self.problem.partition(" ")
        return f"{rows} {_SINGULAR[verb] if self.n_rows == 1 else verb}{space}{rest}"


def of_rows(
    severity: str, check: str, table: str, frame: pl.DataFrame, flags: pl.Series, problem: str, remedy: str
) -> Iterable[Finding]:
    """A finding about the flagged rows, named by the key of their table; none where no row is flagged (null is not).

    A problem that starts with a verb in the plural ("have", "are", "share") is a predicate, another one a clause.

    >>> frame = pl.DataFrame({"image_id": [7, 8]})
    >>> for finding in of_rows("note", "dark", "images", frame, pl.Series([False, True]), "are dark", "Wait."):
    ...     print(finding.rows, finding.wording)
    ('8',) predicate
    """
    yield from of_ids(severity, check, table, frame[TABLES[table][0].name].filter(flags), problem, remedy, "clause")


def of_ids(
    severity: str, check: str, table: str, ids: pl.Series, problem: str, remedy: str, otherwise: Wording = "sentence"
) -> Iterable[Finding]:
    """A finding about what has these ids, none without any; `otherwise` is how a problem is worded that is no predicate.

    >>> [finding.n_rows for finding in of_ids("note", "dark", "images", pl.Series([7, 8]), "are dark", "Wait.")]
    [2]
    """
    if len(ids):
        wording: Wording = "predicate" if problem.split(" ")[0] in _SINGULAR else otherwise
        yield Finding(severity, check, table, len(ids), first_few(ids), problem, remedy, wording)


def of_table(severity: str, check: str, table: str, n_rows: int, problem: str, remedy: str) -> Finding:
    """A finding about a table as a whole, in a sentence."""
    return Finding(severity, check, table, n_rows, (), problem, remedy)


def of_fault(fault: Fault, severity: str = "error") -> Finding:
    """Turn a fault that evaluation refuses into a finding.

    >>> from apframe.exceptions import RowError
    >>> error = RowError("detections", "score is missing", "row", [3], "supply it or remove these rows")
    >>> of_fault(Fault.of_error(error))  # doctest: +NORMALIZE_WHITESPACE
    Finding(severity='error', check='invalid_value', table='detections', n_rows=1, rows=('row 3',),
        problem='score is missing', remedy='Supply it or remove these rows.', wording='clause')
    """
    error = fault.error
    remedy = as_sentence((error.remedy or "correct the column").rstrip("."))
    problem = fault.problem if fault.rows else error.sentence
    wording: Wording = "clause" if fault.rows else "sentence"
    return Finding(severity, fault.check, fault.table, fault.n_rows, fault.rows, problem, remedy, wording)


class Findings(pl.DataFrame):
    """The table of findings: a frame like any other, but printed as a line for each, for frames cut long texts off."""

    def __str__(self) -> str:
        counts = [counted(n, name) for name, n in self.group_by("severity").len().sort("severity").rows()]
        return "\n".join([*map(_line, self.iter_rows(named=True)), ", ".join(counts) or "nothing found"])

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        with pl.Config(fmt_str_lengths=1000, tbl_rows=-1, tbl_cols=-1, fmt_table_cell_list_len=MOST):
            return super()._repr_html_()


def _line(finding: dict[str, Any]) -> str:
    named = ", ".join(finding["rows"]) + (", …" if finding["n_rows"] > len(finding["rows"]) else "")
    return f"{finding['severity']}: {finding['problem']}{f' [{named}]' if finding['rows'] else ''}. {finding['remedy']}"


def as_table(findings: Iterable[Finding], n_given: Mapping[str, int]) -> Findings:
    """The table: the most severe first, then what concerns most rows; `n_given` are the rows that each table came with.

    >>> findings = [
    ...     Finding("note", "a", "images", 9, (), "are dark", "Wait.", "predicate"),
    ...     of_table("error", "b", "images", 1, "p", "r")]
    >>> as_table(findings, {"images": 12})["problem"].to_list()
    ['p', '9 of 12 images are dark']
    """
    rows = [
        (each.severity, each.check, each.table, each.n_rows, each.rows, each.sentence(n_given.get(each.table)), each.remedy)
        for each in findings
    ]
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    order = ("severity", "n_rows", "check", "table")
    return Findings(table.sort(order, descending=[False, True, False, False], maintain_order=True))
