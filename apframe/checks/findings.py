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


# the wording of a problem: a predicate of rows ("have no annotations"), a clause ("area is 0"), or a sentence
Wording = Literal["predicate", "clause", "sentence"]
_SINGULAR = {"have": "has", "are": "is", "share": "shares"}


def as_sentence(remedy: str) -> str:
    """Turn the remedy of an error, which follows a semicolon there, into a sentence.

    >>> as_sentence("correct it")
    'Correct it.'
    """
    return f"{remedy[:1].upper()}{remedy[1:]}."


@dataclass(frozen=True)
class Finding:
    """One finding; the fields are columns of the table, see `apframe.checks.check.check`.

    `problem` does not contain the number of rows: the table adds it, among all rows of the input, including rows that were
    left out before the check.
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
        """Return the problem with the number of affected rows, of `n_given` rows in all (None if unknown).

        >>> Finding("note", "dark", "images", 1, ("8",), "are dark", "Wait.", "predicate").sentence(300)
        '1 of 300 images is dark'
        >>> Finding("note", "dark", "images", 2, ("8", "9"), "light is missing", "Wait.", "clause").sentence(None)
        '2 images: light is missing'
        """
        if self.wording == "sentence":
            return self.problem
        if self.table not in TABLES:  # an error of something derived from a table
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
    """Yield a finding about the flagged rows, named by the key of their table; nothing if no row is flagged (null is not).

    A problem that starts with a verb in the plural ("have", "are", "share") is a predicate, any other one a clause.

    >>> frame = pl.DataFrame({"image_id": [7, 8]})
    >>> for finding in of_rows("note", "dark", "images", frame, pl.Series([False, True]), "are dark", "Wait."):
    ...     print(finding.rows, finding.wording)
    ('8',) predicate
    """
    yield from of_ids(severity, check, table, frame[TABLES[table][0].name].filter(flags), problem, remedy, "clause")


def of_ids(
    severity: str, check: str, table: str, ids: pl.Series, problem: str, remedy: str, otherwise: Wording = "sentence"
) -> Iterable[Finding]:
    """Yield a finding about these ids, nothing without ids; `otherwise` is the wording of a problem that is no predicate.

    >>> [finding.n_rows for finding in of_ids("note", "dark", "images", pl.Series([7, 8]), "are dark", "Wait.")]
    [2]
    """
    if len(ids):
        wording: Wording = "predicate" if problem.split(" ")[0] in _SINGULAR else otherwise
        yield Finding(severity, check, table, len(ids), first_few(ids), problem, remedy, wording)


def of_table(severity: str, check: str, table: str, n_rows: int, problem: str, remedy: str) -> Finding:
    """Return a finding about a table as a whole, in a sentence."""
    return Finding(severity, check, table, n_rows, (), problem, remedy)


def of_fault(fault: Fault, severity: str = "error") -> Finding:
    """Turn a fault that evaluation rejects into a finding.

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
    """The table of findings: a frame that prints a line for each finding, because frames cut long texts off."""

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
    """Return the table of findings: the most severe first, then those of most rows; `n_given` is the size of each input table.

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
