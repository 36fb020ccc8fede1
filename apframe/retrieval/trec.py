"""Judgements (qrels) and runs: TREC's text formats, Parquet, and anything that holds columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, FormatError, first_line, listed
from apframe.file_formats.documents import read_csv
from apframe.file_formats.files import decoded, is_packed, read_unpacked, reading_from
from apframe.paths import kind_at, scan_csv
from apframe.schema import canonical, refuse_equal_pairs
from apframe.threads import pool

_QRELS, _RUN = ("query_id", "iteration", "document_id", "relevance"), ("query_id", "Q0", "document_id", "rank", "score", "tag")


def read_qrels(source: Any) -> pl.DataFrame:
    """Judgements as the canonical table: query_id, document_id, relevance (a number) and attributes.

    `source` is a TREC file (`query iteration document relevance` in each line, set apart by spaces or tabs; gzip is
    unpacked), a Parquet file (`.parquet`), a frame of these columns, or a dict of dicts `{query: {document: relevance}}`. Ids
    of text files are strings. A negative relevance says that the document was in the pool and not judged.

    Raises
    ------
    FormatError
        lines that cannot be read, by their numbers
    RowError, DuplicateIdError, ColumnError
        missing or NaN values, a document judged twice for a query

    >>> read_qrels({"q1": {"d1": 1, "d2": 0}}).rows()
    [('q1', 'd1', 1.0), ('q1', 'd2', 0.0)]
    """
    judgements = canonical("judgements", _columns("judgements", source, _QRELS))
    refuse_equal_pairs("judgements", judgements)
    return judgements


def read_run(source: Any) -> pl.DataFrame:
    """A run as the canonical table: query_id, document_id, score and attributes.

    `source` is a TREC file (`query Q0 document rank score tag` in each line; rank and tag are not used, as in trec_eval), or
    what `read_qrels` takes. A column `ignore` flags items that take no rank.

    Raises
    ------
    FormatError
        lines that cannot be read, by their numbers
    RowError, DuplicateIdError, ColumnError
        missing or NaN values, a document found twice for a query

    >>> read_run({"q1": {"d1": 0.5}}).rows()
    [('q1', 'd1', 0.5)]
    """
    run = canonical_run(source)
    refuse_equal_pairs("runs", run)
    return run


def canonical_run(source: Any) -> pl.DataFrame:
    """What `read_run` gives, before it looks for documents that a query has twice."""
    return canonical("runs", _columns("runs", source, _RUN))


def read_queries(source: Any) -> pl.DataFrame:
    """Attributes of queries: query_id and further columns, from a CSV or Parquet file or anything that holds columns.

    Ids of CSV are strings, as those of TREC files are.

    Raises
    ------
    FormatError, ColumnError, DuplicateIdError
        a file that cannot be read, no query_id, or one that occurs twice

    >>> read_queries({"query_id": ["q1"], "topic": ["birds"]}).rows()
    [('q1', 'birds')]
    """
    if isinstance(source, (str, Path)) and Path(source).suffix != ".parquet":
        source = read_csv(Path(source), texts=["query_id"])
    return canonical("queries", source)


def _columns(table: str, source: Any, fields: Sequence[str]) -> Any:
    if isinstance(source, (str, Path)) and Path(source).suffix != ".parquet":
        with reading_from(source):
            return _read_text(Path(source), fields)
    if isinstance(source, dict) and source and all(isinstance(value, dict) for value in source.values()):
        return _from_nested(table, source, "relevance" if table == "judgements" else "score")
    return source


def _from_nested(table: str, nested: dict[Any, dict[Any, float]], value: str) -> pl.DataFrame:
    columns = {
        "query_id": [query for query, found in nested.items() for _ in found],
        "document_id": [document for found in nested.values() for document in found],
        value: [number for found in nested.values() for number in found.values()],
    }
    try:
        return pl.DataFrame(columns, schema_overrides={value: pl.Float64})  # whole numbers may stand beside others
    except (TypeError, pl.exceptions.PolarsError) as error:
        message = first_line(error)
        raise ColumnError(f"ids must be of one type, and values numbers ({message})", table=table) from error


def _read_text(path: Path, fields: Sequence[str]) -> pl.DataFrame:
    number = "relevance" if "relevance" in fields else "score"
    source = read_unpacked(path) if kind_at(path) != "file" or is_packed(path) else path
    frame = _read_plain(source, fields, number)
    if frame is None:
        content = read_unpacked(path) if isinstance(source, Path) else source
        frame = _read_lines(path, content, fields, number)
    return frame


def _read_plain(source: Path | bytes, fields: Sequence[str], number: str) -> pl.DataFrame | None:
    """The whole file at once, if a single blank parts the fields of every line; else None.

    The CSV reader passes over what a line has beyond its fields. So no line may have fewer (its last one would be null), and
    all together no more blanks than that takes.
    """
    schema = {name: pl.Float64 if name == number else pl.String for name in fields}
    with pool() as others:
        looking = others.submit(_count_blanks, source)
        for separator in (" ", "\t"):
            plan = scan_csv(source, separator=separator, has_header=False, schema=schema, quote_char=None)
            plan = plan.select("query_id", "document_id", number, is_short=pl.col(fields[-1]).is_null())
            try:
                frame = plan.collect(engine="streaming")
            except pl.exceptions.PolarsError:
                continue
            n_blanks = looking.result().get(separator)
            is_whole = n_blanks in (frame.height * len(fields), frame.height * len(fields) - 1) and not frame["is_short"].any()
            frame = frame.drop("is_short")
            if is_whole and not any(frame.null_count().row(0)) and math.isfinite(frame[number].sum()):
                return frame
    return None


def _count_blanks(source: Path | bytes, block: int = 1 << 18) -> dict[str, int]:
    """The blank that parts fields, and the number of all blanks and line ends; nothing if one stands beside another.

    Nor if there are spaces and tabs, or one at the start.
    """
    import numpy as np  # not needed for anything else here, and slow to import

    if not (source.stat().st_size if isinstance(source, Path) else source):
        return {}
    content = np.frombuffer(source, np.uint8) if isinstance(source, bytes) else np.memmap(source, np.uint8, mode="r")
    separator, other = ("\t", " ") if (content[:block] == ord("\t")).any() else (" ", "\t")
    n_blanks = 0
    for start in range(0, len(content), block):
        part = content[start : start + block + 1]  # one more, to see both sides of the border
        is_blank = part <= ord(" ")
        if (is_blank[1:] & is_blank[:-1]).any() or (part == ord(other)).any():
            return {}
        n_blanks += int(np.count_nonzero(is_blank[:block]))
    return {} if content[0] <= ord(" ") else {separator: n_blanks}


def _read_lines(path: Path, content: bytes, fields: Sequence[str], number: str) -> pl.DataFrame:
    """Line by line: any blanks between fields, empty lines left out, and errors that name lines."""
    text = decoded(path, content)
    lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("number", offset=1)
    table = lines.with_columns(pl.col("line").str.extract_all(r"[^ \t\r\v\f]+")).filter(pl.col("line").list.len() > 0)
    if table.is_empty():
        raise FormatError("the file is empty", f"a line is {' '.join(fields)}", path=path)
    wrong = table.filter(pl.col("line").list.len() != len(fields))
    if wrong.height:
        rows = wrong["number"].to_list()
        remedy = _looks_like(table) or "correct these lines"
        raise FormatError(f"not {len(fields)} fields ({' '.join(fields)}) in line {listed(rows)}", remedy, path=path, rows=rows)
    columns = table.select("number", *(pl.col("line").list.get(place).alias(name) for place, name in enumerate(fields)))
    values = columns[number].cast(pl.Float64, strict=False)
    wrong = columns.filter(values.is_null() | ~values.is_finite())
    if wrong.height:
        rows = wrong["number"].to_list()
        problem = f"the {number} is not a finite number in line {listed(rows)}"
        raise FormatError(problem, "correct these lines", path=path, rows=rows)
    return columns.select("query_id", "document_id", values)


def _looks_like(lines: pl.DataFrame) -> str | None:
    """What a file is, if all of its lines are of another kind, and what to do."""
    n_fields, first = lines["line"].list.len().unique().to_list(), str(lines["line"][0][0])
    if n_fields == [len(_QRELS)]:
        return "these look like judgements; the judgements come first, then the runs"
    if n_fields == [len(_RUN)]:
        return "this looks like a run; the judgements come first, then the runs"
    if first.startswith(("{", "[")):
        return "this looks like JSON, which is not read; give its dict of dicts from Python"
    return "this looks like CSV; read it as a frame with these columns" if n_fields == [1] and "," in first else None
