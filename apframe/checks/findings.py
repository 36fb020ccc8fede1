"""A finding, and the table of findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

import polars as pl

from apframe.exceptions import counted
from apframe.schema import TABLES

SEVERITIES = pl.Enum(["error", "warning", "note"])
_SCHEMA: dict[str, Any] = {
    "severity": SEVERITIES, "check": pl.String, "table": pl.String, "n_rows": pl.Int64, "rows": pl.List(pl.String),
    "problem": pl.String, "remedy": pl.String,
}  # fmt: skip
_MOST = 5  # rows that are named


@dataclass(frozen=True)
class Finding:
    """One thing that was found; the fields are the columns of the table, see `apframe.checks.check.check`."""

    severity: str
    check: str
    table: str
    n_rows: int
    rows: tuple[str, ...]
    problem: str
    remedy: str


def of_rows(
    severity: str, check: str, table: str, frame: pl.DataFrame, flags: pl.Series, problem: str, remedy: str
) -> Iterable[Finding]:
    """A finding about the flagged rows, named by the key of their table; none where no row is flagged (null is not).

    >>> frame = pl.DataFrame({"image_id": [7, 8]})
    >>> for finding in of_rows("note", "dark", "images", frame, pl.Series([False, True]), "it is dark", "wait"):
    ...     print(finding.rows, finding.problem)
    ('8',) 1 of 2 images: it is dark
    """
    n_rows = int(flags.sum())
    if n_rows:
        rows = frame[TABLES[table][0].name].filter(flags)
        yield Finding(
            severity, check, table, n_rows, first_few(rows), f"{n_rows:,} of {frame.height:,} {table}: {problem}", remedy
        )


def of_table(
    severity: str, check: str, table: str, n_rows: int, problem: str, remedy: str, rows: Iterable[Any] = ()
) -> Finding:
    """A finding about a table as a whole, or about rows that are not counted among others.

    >>> of_table("warning", "empty", "images", 0, "there are none", "add some").problem
    'images: there are none'
    """
    return Finding(severity, check, table, n_rows, first_few(rows), f"{table}: {problem}", remedy)


def first_few(rows: Iterable[Any]) -> tuple[str, ...]:
    """The first five of some ids, as text.

    >>> first_few(range(9))
    ('0', '1', '2', '3', '4')
    """
    return tuple(str(row) for row, _ in zip(rows, range(_MOST), strict=False))


class Findings(pl.DataFrame):
    """The table of findings: a frame like any other, but printed as a line for each, for frames cut long texts off."""

    def __str__(self) -> str:
        counts = [counted(n, name) for name, n in self.group_by("severity").len().sort("severity").rows()]
        return "\n".join([*map(_line, self.iter_rows(named=True)), ", ".join(counts) or "nothing found"])

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        with pl.Config(fmt_str_lengths=1000, tbl_rows=-1, tbl_cols=-1, fmt_table_cell_list_len=_MOST):
            return super()._repr_html_()


def _line(finding: dict[str, Any]) -> str:
    named = ", ".join(finding["rows"]) + (", …" if finding["n_rows"] > len(finding["rows"]) else "")
    return f"{finding['severity']}: {finding['problem']}{f' [{named}]' if finding['rows'] else ''}; {finding['remedy']}"


def as_table(findings: Iterable[Finding]) -> Findings:
    """The table: the most severe first, then what concerns most rows.

    >>> findings = [of_table("note", "a", "images", 9, "p", "r"), of_table("error", "b", "images", 1, "p", "r")]
    >>> as_table(findings)["check"].to_list()
    ['b', 'a']
    """
    table = pl.DataFrame([astuple(finding) for finding in findings], schema=_SCHEMA, orient="row")
    order = ("severity", "n_rows", "check", "table")
    return Findings(table.sort(order, descending=[False, True, False, False], maintain_order=True))
