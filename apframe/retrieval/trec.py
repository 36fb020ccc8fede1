"""Judgements, runs and queries as canonical tables, from files and from memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from apframe.formats.documents import read_csv
from apframe.formats.path_contents import see
from apframe.retrieval.run_inputs import columns_of
from apframe.retrieval.trec_lines import warn_of_rising_scores
from apframe.tables.canonical import canonical, refuse_equal_pairs
from apframe.tables.column_sources import to_polars
from apframe.tables.schemas import TABLES


def read_qrels(source: Any) -> pl.DataFrame:
    """Read judgements as the canonical table: query_id, document_id, relevance (a number) and attributes.

    `source` is

    - a TREC file (`query iteration document relevance` in each line, separated by spaces or tabs), or one without the
      iteration, as in MS MARCO; lines that begin with # are comments
    - a TSV or CSV file whose first line names the columns, as in BEIR
    - a JSON file `{query: {document: relevance}}`; each of these may be packed with gzip or LZ4 (`pip install lz4 cbor2`)
    - a Parquet file (`.parquet`) or a frame of these columns; a dict of dicts; named tuples or dicts, one for each judgement,
      in a list or from an iterator; a data set of ir_datasets, or Qrels of ranx

    Columns may have the names of other tools: `qid query-id q_id topic`, `docno doc_id docid did pid corpus-id`,
    `label rel grade score`. Ids of text files are strings. A negative relevance means that the document was in the pool but not
    judged.

    Raises
    ------
    FormatError
        lines that cannot be read, by their numbers
    RowError, DuplicateIdError, ColumnError
        missing or NaN values, a document judged twice for a query

    >>> read_qrels({"q1": {"d1": 1, "d2": 0}}).rows()
    [('q1', 'd1', 1.0), ('q1', 'd2', 0.0)]
    >>> read_qrels({"qid": ["q1"], "docno": ["d1"], "label": [2]}).rows()
    [('q1', 'd1', 2.0)]
    """
    judgements = canonical("judgements", columns_of("judgements", source))
    refuse_equal_pairs("judgements", judgements)
    return judgements


def read_run(source: Any) -> pl.DataFrame:
    """Read a run as the canonical table: query_id, document_id, score and attributes.

    `source` is a TREC file (`query Q0 document rank score tag` in each line; rank, tag and further fields are not used, as in
    trec_eval), one of MS MARCO (`query document rank`), or anything that `read_qrels` accepts, with a score. If there are ranks
    and no scores, the score is the negative rank. A column `ignore` flags items that take no rank.

    Raises
    ------
    FormatError
        lines that cannot be read, by their numbers
    RowError, DuplicateIdError, ColumnError
        missing or NaN values, a document that is retrieved twice for a query

    Warns
    -----
    RisingScoresWarning
        the scores rise with the ranks in the source

    >>> read_run({"q1": {"d1": 0.5}}).rows()
    [('q1', 'd1', 0.5)]
    >>> read_run({"qid": ["q1", "q1"], "pid": ["d1", "d2"], "rank": [1, 2]})["score"].to_list()
    [-1.0, -2.0]
    """
    run = canonical_run(source)
    refuse_equal_pairs("runs", run)
    return run


def canonical_run(source: Any) -> pl.DataFrame:
    """Read a run as `read_run` does, without looking for duplicate documents."""
    columns = columns_of("runs", source)
    frame = to_polars(columns, "runs")
    if "rank" not in frame.columns:
        return canonical("runs", frame)
    if "score" in frame.columns:
        run = canonical("runs", frame)
        warn_of_rising_scores("the run", run)
        return run
    ranks = pl.col("rank").cast(pl.Float64, strict=False)
    run = canonical("runs", frame.with_columns(score=-ranks))
    return run.drop("rank") if isinstance(source, (str, Path)) else run


def read_queries(source: Any) -> pl.DataFrame:
    """Read attributes of queries: query_id and further columns.

    `source` is a CSV, TSV, Parquet or JSON lines file, a frame or a dict of columns. JSON lines may be BEIR's `queries.jsonl`.
    TSV may have an id and a text in each line, as in MS MARCO, or a first line that names the columns. From a data set of
    ir_datasets, its queries are read. Ids of text files are strings, as in TREC files.

    Raises
    ------
    FormatError, ColumnError, DuplicateIdError
        a file that cannot be read, no query_id, or one that occurs twice

    >>> read_queries({"query_id": ["q1"], "topic": ["birds"]}).rows()
    [('q1', 'birds')]
    """
    if isinstance(source, (str, Path)) and Path(source).suffix != ".parquet":
        source = _queries_of_text(Path(source))
    if hasattr(source, "queries_iter"):
        source = columns_of("queries", source)
    return canonical("queries", source)


def _queries_of_text(path: Path) -> pl.DataFrame:
    """Read the columns of a text file, ids as text."""
    id_column = TABLES["queries"][0]
    ids = [id_column.name, *id_column.aliases]
    if path.suffix == ".jsonl":
        frame = to_polars(path, "queries").select(~cs.nested())  # such as BEIR's metadata
        return frame.with_columns(cs.by_name(*ids, require_all=False).cast(pl.String))
    if ".tsv" not in path.suffixes:
        return read_csv(path, texts=ids)
    names = see(path).head.partition(b"\n")[0].decode(errors="replace").strip("\r").split("\t")
    if any(name in ids for name in names):
        return read_csv(path, separator="\t", quote=None, texts=ids)
    frame = read_csv(path, has_header=False, separator="\t", quote=None)
    return frame.rename(dict(zip(frame.columns, (id_column.name, "text"), strict=False)))
