"""Matching by key, as in retrieval: judgements are joined to the run on query and document, and get a rank."""

from __future__ import annotations

import polars as pl

_PAIR = ["query_id", "document_id"]


def order_run(run: pl.DataFrame, spans: pl.DataFrame, query_ids: pl.Series) -> pl.DataFrame:
    """Return the run with the rows of each query together, by descending score. Most runs are in this order already.

    `spans` are from `find_spans` of the same run. If the run has to be sorted, only the rows of the given queries are kept.

    >>> run = pl.DataFrame({"query_id": ["p", "q", "p"], "score": [0.1, 0.5, 0.9]})
    >>> order_run(run, find_spans(run), pl.Series(["p", "q"])).rows()
    [('p', 0.9), ('p', 0.1), ('q', 0.5)]
    """
    rises = (run["score"] > run["score"].shift(1)).arg_true()
    if spans["query_id"].is_unique().all() and rises.is_in(spans["first"].implode()).all():
        return run
    places = pl.DataFrame({"query_id": query_ids}).with_row_index("query")
    return run.join(places, on="query_id").sort("query", "score", descending=[False, True]).drop("query")


def find_spans(run: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of each query as spans: query_id, first (a row number from 0) and n_ranked (number of rows).

    >>> find_spans(pl.DataFrame({"query_id": ["p", "p", "q"]})).rows()
    [('p', 0, 2), ('q', 2, 1)]
    """
    spans = run["query_id"].rle().struct.unnest()
    n_ranked = pl.col("len").cast(pl.Int64)
    return spans.select(query_id="value", first=(n_ranked.cum_sum() - n_ranked).cast(pl.UInt32), n_ranked=n_ranked)


def match_by_key(judgements: pl.DataFrame, run: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the rank of every judged document in the list of its query.

    Parameters
    ----------
    judgements
        query_id, document_id, relevance
    run
        query_id, document_id, score, from `order_run`; may have rows of other queries
    spans
        from `find_spans`

    Returns
    -------
    The rows of `judgements` with `score` and `rank`, both null for documents that were not retrieved; by query (in the order
    of the judgements) and rank, with documents that were not retrieved last. Ranks start at 1, by descending score, then by
    descending document id (source: trec_eval).

    >>> judged = pl.DataFrame({"query_id": ["q"] * 3, "document_id": ["a", "b", "c"], "relevance": [1.0, 0.0, 2.0]})
    >>> run = pl.DataFrame({"query_id": ["q"] * 3, "document_id": ["b", "x", "a"], "score": [0.5, 0.5, 0.5]})
    >>> match_by_key(judged, run, find_spans(run)).select("document_id", "rank").rows()
    [('b', 2), ('a', 3), ('c', None)]
    """
    # only the judged documents are looked up, and their ranks are their positions, except in ties
    places = run.lazy().with_row_index("place").join(judgements.lazy().select(_PAIR), on=_PAIR, how="semi")
    retrieved = places.select("place", "score", *_PAIR).collect()
    is_tied = (run["score"] == run["score"].shift(1)).fill_null(False)
    is_tied[spans["first"]] = False
    if is_tied.any():
        retrieved = _resolve_ties(run, is_tied, retrieved)
    rank = (pl.col("place") - pl.col("first") + 1).cast(pl.Int64).alias("rank")
    retrieved = retrieved.join(spans.select("query_id", "first"), on="query_id").select("score", rank, *_PAIR)
    queries = judgements.select(pl.col("query_id").unique(maintain_order=True)).with_row_index("query")
    ranked = judgements.join(retrieved, on=_PAIR, how="left").join(queries, on="query_id")
    return ranked.sort("query", "rank", "document_id", nulls_last=True).drop("query")


def _resolve_ties(run: pl.DataFrame, is_tied: pl.Series, retrieved: pl.DataFrame) -> pl.DataFrame:
    """Return the judged documents with their places among documents of the same score: larger ids come first."""
    block = (~is_tied).cum_sum()
    in_ties = is_tied | is_tied.shift(-1).fill_null(False)
    judged = block.gather(retrieved["place"]).filter(in_ties.gather(retrieved["place"])).unique()
    rows = (
        run.select("document_id")
        .with_row_index("place")
        .with_columns(block.alias("block"))
        .filter(in_ties & block.is_in(judged.implode()))
        .sort("block", "document_id", descending=[False, True])
        .with_columns(new_place=pl.col("place").sort().over("block"))
    )
    moved = retrieved.join(rows.select("place", "new_place"), on="place", how="left")
    return moved.with_columns(place=pl.coalesce("new_place", "place")).drop("new_place")
