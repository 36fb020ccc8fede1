"""One measurement of retrieval: `retrieval_worker.py TOOL JOB QRELS RUN` prints one JSON line.

A tool is a function `evaluate(qrels, run)` of two files or two frames, each the fastest way the tool documents. It
returns its five means by its own names, in the order of MEASURES, and rows of query, name, value. Only what the tool
needs is imported, as its start is part of the jobs on files.
"""

# ruff: noqa: ARG001, PTH123 - every tool takes the job; not every tool imports pathlib
# mypy: disable-error-code="import-not-found,import-untyped,attr-defined,no-untyped-call,index"
from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable
from typing import Any
from zlib import crc32

TOOLS = ("apframe", "pytrec_eval-terrier", "ranx", "ir_measures")
MEASURES = ("AP", "nDCG@10", "P@10", "R@100", "RR")


def nested(table: Any) -> dict[str, dict[str, Any]]:
    """A Parquet file or a frame as {query: {document: value}}, in any order of rows.

    All peers take this. Cutting whole columns takes two thirds of the time of a group-by, half of that of going through
    the rows, and a fourth of that of a detour over pandas.
    """
    import polars as pl

    frame = pl.read_parquet(table) if isinstance(table, str) else table
    query, document, value = frame.columns[:3]
    cuts = frame[query].rle().struct.unnest()
    documents, values = frame[document].to_list(), frame[value].to_list()
    result: dict[str, dict[str, Any]] = {}
    start = 0
    for name, length in cuts.select("value", "len").iter_rows():
        end = start + length
        result.setdefault(name, {}).update(zip(documents[start:end], values[start:end], strict=True))
        start = end
    return result


def apframe_evaluate(job: str) -> Any:
    import apframe as apf

    def evaluate(qrels: Any, run: Any) -> Any:
        evaluation: Any = apf.evaluate_run(qrels, run, measures=list(MEASURES))
        means = dict(evaluation.summary.select("measure", "value").iter_rows())
        return {name: means[name] for name in MEASURES}, evaluation.per_query.select("query_id", "measure", "value").iter_rows()

    return evaluate


def pytrec_eval_evaluate(job: str) -> Any:
    import pytrec_eval

    names = ("map", "ndcg_cut_10", "P_10", "recall_100", "recip_rank")

    def read(qrels: str, run: str) -> Any:
        with open(qrels) as truth, open(run) as found:
            return pytrec_eval.parse_qrel(truth), pytrec_eval.parse_run(found)

    def evaluate(qrels: Any, run: Any) -> Any:
        truth, found = read(qrels, run) if job == "text" else (nested(qrels), nested(run))
        values = pytrec_eval.RelevanceEvaluator(truth, names).evaluate(found)
        means = {name: pytrec_eval.compute_aggregated_measure(name, [row[name] for row in values.values()]) for name in names}
        return means, ((query, name, row[name]) for query, row in values.items() for name in names)

    return evaluate


def ranx_evaluate(job: str) -> Any:
    """`Qrels.from_df` and `from_parquet` build the same dictionaries, more slowly, and refuse the strings of pandas 3."""
    import ranx

    names = ["map", "ndcg@10", "precision@10", "recall@100", "mrr"]

    def evaluate(qrels: Any, run: Any) -> Any:
        if job == "text":
            truth, found = ranx.Qrels.from_file(qrels, kind="trec"), ranx.Run.from_file(run, kind="trec")
        else:
            truth, found = ranx.Qrels.from_dict(nested(qrels)), ranx.Run.from_dict(nested(run))
        means = ranx.evaluate(truth, found, names)
        return means, ((query, name, value) for name in names for query, value in found.scores[name].items())

    return evaluate


def ir_measures_evaluate(job: str) -> Any:
    """All five come from its default provider, pytrec_eval."""
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    measures = [AP, nDCG @ 10, P @ 10, R @ 100, RR]

    def evaluate(qrels: Any, run: Any) -> Any:
        if job == "text":
            truth, found = ir_measures.read_trec_qrels(qrels), ir_measures.read_trec_run(run)
        else:
            truth, found = nested(qrels), nested(run)
        result = ir_measures.calc(measures, truth, found)
        return {measure: result.aggregated[measure] for measure in measures}, result.per_query

    return evaluate


def numbers(means: dict[Any, float], rows: Iterable[tuple[str, Any, float]]) -> list[float]:
    """The means, then a sum over the queries for each measure, with weights from 1 to 2: a value that differs shows in it."""
    sums = dict.fromkeys(means, 0.0)
    for query, name, value in rows:
        sums[name] += (1 + crc32(query.encode()) / 2**32) * value
    return [float(value) for value in (*means.values(), *sums.values())]


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(tool: str, job: str, qrels: Any, run: Any) -> None:
    tools = dict(zip(TOOLS, (apframe_evaluate, pytrec_eval_evaluate, ranx_evaluate, ir_measures_evaluate), strict=True))
    evaluate = tools[tool](job)
    if job == "frame":
        import polars as pl

        qrels, run = pl.read_parquet(qrels), pl.read_parquet(run)
    wall, cpu = time.perf_counter(), cpu_seconds()
    means, rows = evaluate(qrels, run)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {numbers(means, rows)}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
