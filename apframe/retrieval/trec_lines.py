"""Judgements and runs as lines of text without a header: TREC's formats, and MS MARCO's with three fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from apframe.exceptions import FormatError, RisingScoresWarning, warn
from apframe.formats.files import decoded, is_packed, read_unpacked
from apframe.formats.path_contents import see
from apframe.paths import kind_at, scan_csv
from apframe.threads import pool
from apframe.wording import listed

QRELS = ("query_id", "iteration", "document_id", "relevance")
RUN = ("query_id", "Q0", "document_id", "rank", "score", "tag")
_SHORT = {QRELS: ("query_id", "document_id", "relevance"), RUN: ("query_id", "document_id", "rank")}  # as MS MARCO has them
_MOST = 10_000  # rows that are checked for rising scores
_HEAD = 1 << 16  # bytes by which a file is recognized


def read_lines(path: Path, fields: Sequence[str]) -> pl.DataFrame:
    """Read query_id, document_id and relevance (`QRELS`) or score (`RUN`); runs with three fields per line have rank instead.

    Lines that begin with # are comments, and fields after the tag of a run are ignored, as in trec_eval 10.

    Raises
    ------
    FormatError
        lines that cannot be read, by their numbers

    Warns
    -----
    RisingScoresWarning
        see `warn_of_rising_scores`
    """
    head = first_lines(path)
    if head.height and head["line"][0].len() == len(_SHORT[tuple(fields)]):
        fields = _SHORT[tuple(fields)]
    number = fields[-1] if fields != RUN else "score"
    source = read_unpacked(path) if kind_at(path) != "file" or is_packed(path) else path
    frame = read_plain(source, fields, number)
    if frame is None:
        content = read_unpacked(path) if isinstance(source, Path) else source
        frame = read_uneven(path, content, fields, number)
    if number == "rank":
        _refuse_other_numbers(path, frame)
    if fields == RUN:
        complete_lines = head.filter(pl.col("line").list.len() >= len(RUN)).head(_MOST)
        seen = complete_lines.select(
            pl.col("line").list.get(RUN.index(name)).alias(name) for name in ("query_id", "rank", "score")
        )
        warn_of_rising_scores(str(path), seen)
    return frame


def warn_of_rising_scores(shown: str, run: pl.DataFrame) -> None:
    """Warn if the scores of a run rise with its ranks: query_id, rank and score, as numbers or texts of numbers.

    They are compared from one rank of a query to the next, in the first rows, and more of them must rise than fall.
    """
    values = pl.col("rank", "score").cast(pl.Float64, strict=False)
    ranked = run.head(_MOST).select("query_id", values).drop_nulls().sort("query_id", "rank")
    steps = ranked.with_columns(pl.col("rank", "score").shift(1).over("query_id").name.suffix("_above"))
    steps = steps.filter(pl.col("rank") > pl.col("rank_above"), pl.col("score") != pl.col("score_above"))
    rising = steps.filter(pl.col("score") > pl.col("score_above"))
    if 2 * rising.height > steps.height:
        query, rank, score, rank_above, score_above = rising.row(0)
        warn(
            f"{shown}: the scores rise with the ranks (query {query!r} has {score_above:g} at rank {rank_above:g}, but "
            f"{score:g} at rank {rank:g}); documents are ranked by score, largest first, and the ranks are ignored; "
            "if the scores are distances, negate them",
            RisingScoresWarning,
        )


def read_plain(source: Path | bytes, fields: Sequence[str], number: str) -> pl.DataFrame | None:
    """Read the whole file at once if a single blank separates the fields of every line and no line is a comment; else None.

    The CSV reader ignores surplus fields. So no line may have fewer fields (its last one would be null), and the file may not
    have more blanks than these fields require.
    """
    schema = {name: pl.Float64 if name == number else pl.String for name in fields}
    with pool() as others:
        looking = others.submit(count_blanks, source)
        for separator in (" ", "\t"):
            plan = scan_csv(source, separator=separator, has_header=False, schema=schema, quote_char=None)
            is_odd = pl.col(fields[-1]).is_null() | pl.col("query_id").str.starts_with("#")
            plan = plan.select("query_id", "document_id", number, is_odd=is_odd)
            try:
                frame = plan.collect(engine="streaming")
            except pl.exceptions.PolarsError:
                continue
            n_blanks = looking.result().get(separator)
            is_whole = n_blanks in (frame.height * len(fields), frame.height * len(fields) - 1) and not frame["is_odd"].any()
            frame = frame.drop("is_odd")
            if is_whole and not any(frame.null_count().row(0)) and math.isfinite(frame[number].sum()):
                return frame
    return None


def count_blanks(source: Path | bytes, block: int = 1 << 18) -> dict[str, int]:
    """Return the blank that separates fields, and the number of all blanks and line ends; empty if two are adjacent.

    Also empty if there are both spaces and tabs, or a blank at the start.
    """
    import numpy as np  # slow to import, and needed only here

    if not (source.stat().st_size if isinstance(source, Path) else source):
        return {}
    content = np.frombuffer(source, np.uint8) if isinstance(source, bytes) else np.memmap(source, np.uint8, mode="r")
    separator, other = ("\t", " ") if (content[:block] == ord("\t")).any() else (" ", "\t")
    n_blanks = 0
    for start in range(0, len(content), block):
        part = content[start : start + block + 1]  # one more byte, to see both sides of the border
        is_blank = part <= ord(" ")
        if (is_blank[1:] & is_blank[:-1]).any() or (part == ord(other)).any():
            return {}
        n_blanks += int(np.count_nonzero(is_blank[:block]))
    return {} if content[0] <= ord(" ") else {separator: n_blanks}


def read_uneven(path: Path, content: bytes, fields: Sequence[str], number: str) -> pl.DataFrame:
    """Read line by line, with any blanks between fields, without empty lines and comments; errors have line numbers."""
    table = _split(decoded(path, content))
    if table.is_empty():
        raise FormatError("the file is empty", f"each line must be {' '.join(fields)}", path=path)
    n_fields = pl.col("line").list.len()
    # fields after the tag are ignored, but only after a rank, because the name of a document may contain a blank
    rank = pl.col("line").list.get(RUN.index("rank"), null_on_oob=True)
    is_longer = (n_fields > len(RUN)) & rank.str.contains(r"^\d+$") & (fields == RUN)
    wrong = table.filter(n_fields != len(fields), ~is_longer.fill_null(False))
    if wrong.height:
        rows = wrong["number"].to_list()
        remedy = _looks_like(table, fields) or "correct these lines"
        raise FormatError(f"not {len(fields)} fields ({' '.join(fields)}) in line {listed(rows)}", remedy, path=path, rows=rows)
    columns = table.select("number", *(pl.col("line").list.get(place).alias(name) for place, name in enumerate(fields)))
    values = columns[number].cast(pl.Float64, strict=False)
    wrong = columns.filter(values.is_null() | ~values.is_finite())
    if wrong.height:
        rows = wrong["number"].to_list()
        problem = f"the {number} is not a finite number in line {listed(rows)}"
        raise FormatError(problem, "correct these lines", path=path, rows=rows)
    return columns.select("query_id", "document_id", values)


def _split(text: str) -> pl.DataFrame:
    """Return number (from 1) and line (a list of fields) of all lines except empty ones and comments."""
    lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("number", offset=1)
    split = lines.with_columns(pl.col("line").str.extract_all(r"[^ \t\r\v\f]+")).filter(pl.col("line").list.len() > 0)
    return split.filter(~pl.col("line").list.first().str.starts_with("#"))


def first_lines(path: Path) -> pl.DataFrame:
    """Return the complete lines among the first bytes of a file, split."""
    text = see(path).head[:_HEAD].decode(errors="replace")
    return _split(text.rpartition("\n")[0] if len(text) >= _HEAD // 4 else text)


def _refuse_other_numbers(path: Path, run: pl.DataFrame) -> None:
    """Raise an error if the last of three fields is not a rank: whole numbers from 0 or 1 on, each once per query."""
    rank = pl.col("rank")
    of_query = run.group_by("query_id").agg(rank.min(), is_rank=(rank == rank.floor()).all() & (rank.n_unique() == pl.len()))
    wrong = of_query.filter(~pl.col("is_rank") | ~pl.col("rank").is_in([0.0, 1.0]))["query_id"].sort()
    if len(wrong):
        raise FormatError(
            f"the last of three fields is not a rank in query {listed(wrong.to_list())}",
            "if it is a score, add a first line query_id document_id score, separated by tabs",
            path=path,
        )


def _looks_like(lines: pl.DataFrame, fields: Sequence[str]) -> str | None:
    """Return problem and remedy if all lines of a file have another known format; otherwise None."""
    n_fields, first = lines["line"].list.len().unique().to_list(), str(lines["line"][0][0])
    if n_fields == [len(QRELS)] and fields == RUN and lines["line"].list.get(1).n_unique() > 1:  # no iteration, which is 0
        return "name the columns in a first line, such as query_id document_id rank score, with tabs between them"
    if n_fields == [len(RUN) - 1] and fields == RUN:
        return "add the name of the run as the last field"
    if n_fields == [len(QRELS)] and fields == RUN:
        return "this looks like judgements; pass judgements first, then runs"
    if n_fields == [len(RUN)] and fields == QRELS:
        return "this looks like a run; pass judgements first, then runs"
    if n_fields == [1] and "," in first:
        return "this looks like CSV without a header; the first line must name the columns, such as query_id,document_id"
    return None
