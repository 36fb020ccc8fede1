"""The tables of a page as Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from apframe.exceptions import OutputError
from apframe.report.section import Block, Details, Section, Table
from apframe.store.parquet import REPORT, refuse_foreign, write_tables

_LONGEST = 60  # maximum length of the name of a table


def folder_beside(page: Path) -> Path:
    """Return the folder of the tables of a page: `report_tables` next to `report.html`.

    Raises
    ------
    OutputError
        the folder contains something other than tables of a report
    """
    folder = page.with_name(f"{page.stem}_tables")
    try:
        refuse_foreign(folder, REPORT)
    except OutputError as error:
        raise OutputError(error.problem, "choose another name for the report", path=error.path) from error
    return folder


def write_parquet_tables(folder: Path, sections: Sequence[Section], rows: Mapping[str, pl.DataFrame]) -> None:
    """Write each table of these sections, including rows that a page cuts, as a Parquet file.

    A file is named after its section and the table's caption; `rows` are further files by name, for the page's queries. Earlier
    tables are replaced together, or not at all.
    """
    write_tables(folder, {**named_tables(sections), **rows}, {"kind": REPORT})


def named_tables(sections: Sequence[Section]) -> dict[str, pl.DataFrame]:
    """Return the tables of sections by names of words and underscores; repeated names get a number.

    Columns have the names on the page, and columns of drawings are left out.

    >>> table = Table(pl.DataFrame({"estimate_a": [0.5]}), "AP by city, lowest first", {"estimate_a": "model_a"})
    >>> tables = named_tables([Section("city", "In which cities?", blocks=[table, table])])
    >>> list(tables), tables["city_ap_by_city_lowest_first"].columns
    (['city_ap_by_city_lowest_first', 'city_ap_by_city_lowest_first_2'], ['model_a'])
    """
    named: dict[str, pl.DataFrame] = {}
    for section in sections:
        for table in _tables(section.blocks):
            words = re.sub(r"\W+", "_", f"{section.key} {table.caption}".lower()).strip("_") or "table"
            if len(words) > _LONGEST:
                words = words[:_LONGEST].rpartition("_")[0] or words[:_LONGEST]
            name, number = words, 1
            while name in named:
                number += 1
                name = f"{words}_{number}"
            named[name] = _as_shown(table)
    return named


def _as_shown(table: Table) -> pl.DataFrame:
    frame = table.frame.drop([name for name in table.frame.columns if name in table.drawn])
    heads = list[str]()
    for name in frame.columns:
        head = table.heads.get(name, name)
        while head in heads:  # a model may have the name of another column
            head += "_"
        heads.append(head)
    frame.columns = heads
    return frame


def _tables(blocks: Sequence[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Details):
            yield from _tables(block.blocks)
