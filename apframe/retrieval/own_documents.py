"""Documents with the id of their query, which come first if the queries are searched among themselves."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import OwnDocumentWarning, warn
from apframe.retrieval.one_run import rankable
from apframe.wording import counted, option_name

_PAIR = ["query_id", "document_id"]
_TOP = 10  # ranks in which a query would retrieve itself
_RARE = 10  # one query in this many, because numbers that are ids of both may match by chance


def remove_own(run: pl.DataFrame) -> pl.DataFrame:
    """Flag the documents that have the id of their query as `ignore`, so that they take no rank.

    They stay in the run, so that a query that retrieved nothing else is not missing.

    >>> run = pl.DataFrame({"query_id": ["a", "a"], "document_id": ["a", "b"], "score": [0.9, 0.8]})
    >>> remove_own(run).select("document_id", "ignore").rows()
    [('a', True), ('b', False)]
    """
    return run.with_columns(ignore=_is_own(run) | (pl.col("ignore") if "ignore" in run.columns else False))


def warn_of_own(shown: str, run: pl.DataFrame, judgements: pl.DataFrame) -> None:
    """Warn if queries seem to retrieve themselves: one in ten has an unjudged document with its own id among the first 10.

    Judged documents do not count, and ignored documents are removed already.
    """
    ranked = rankable(run)
    own = ranked.filter(_is_own(run))
    if own.is_empty():  # the usual case
        return
    judged = judgements.filter(pl.col("relevance") >= 0)
    own = own.join(judged, on=_PAIR, how="anti", maintain_order="left").select("query_id", own_score="score")
    better = ranked.join(own, on="query_id").filter(pl.col("score") > pl.col("own_score"))
    late = better.group_by("query_id").len().filter(pl.col("len") >= _TOP)
    first = own.join(late, on="query_id", how="anti", maintain_order="left")["query_id"]
    n_queries = ranked["query_id"].n_unique()
    if len(first) and len(first) * _RARE >= n_queries:
        their = "its" if len(first) == 1 else "their"
        warn(
            f"{shown}: {len(first):,} of {counted(n_queries, 'query')} retrieved a document with {their} own id among the "
            f"first {_TOP}, such as {first[0]!r}; if that is the query itself, remove it with "
            f"{option_name('own_document', 'remove')}; otherwise choose {option_name('own_document', 'keep')}",
            OwnDocumentWarning,
        )


def _is_own(run: pl.DataFrame) -> pl.Expr:
    """Flag documents with the id of their query; ids of two types are compared as text."""
    query, document = (pl.col(name) for name in _PAIR)
    if run["query_id"].dtype != run["document_id"].dtype:
        query, document = query.cast(pl.String), document.cast(pl.String)
    return query == document
