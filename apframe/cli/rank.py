"""`apframe rank`: evaluate search runs against relevance judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars.selectors as cs
import typer

import apframe as apf
from apframe.cli.options import RunName, Tags, given_labels, path_argument, path_option, refuse_both, words
from apframe.cli.output import print_lines, progress, show_table
from apframe.exceptions import ParameterError
from apframe.lists.measures import USUAL, as_measures
from apframe.show.runs import run_lines
from apframe.store.parquet import RETRIEVAL


def evaluate_rankings(
    qrels: Annotated[Path, path_argument(metavar="QRELS", help="judgements: TREC text, plain or gzip, or Parquet")],
    runs: Annotated[list[Path], path_argument(metavar="RUN...", help="runs: TREC text, plain or gzip, or Parquet")],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", metavar='"AP nDCG@10 P@5"', help=f"what to measure (default: {' '.join(USUAL)})"),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="print the value of each query, not the means")] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="print a comparison of each two runs: 95 % intervals, corrected p; all columns with --json, --csv"
        ),
    ] = False,
    queries: Annotated[Path | None, path_option(metavar="FILE", help="attributes of the queries: CSV or Parquet")] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="topic,length", help="print means for each value of these attributes")
    ] = None,
    out: Annotated[Path | None, path_option(metavar="DIR", help="also write all tables there, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print comma-separated values")] = False,
    missing: Annotated[str, typer.Option(metavar="skip|zero|error", help="judged queries that a run does not have")] = "skip",
    no_relevant: Annotated[str, typer.Option(metavar="zero|skip", help="queries without relevant documents")] = "zero",
    unjudged: Annotated[str, typer.Option(metavar="nonrelevant|remove", help="documents without judgement")] = "nonrelevant",
    trec_eval: Annotated[int, typer.Option(metavar="9|10", help="the version of trec_eval to agree with")] = 10,
) -> None:
    """Evaluate search runs against relevance judgements: the mean of every measure, a column for each run.

    Measures are AP P R F RR nDCG Success Judged ERR RBP Hits, with @k or without, Rprec Bpref GMBpref infAP GMAP AP11 IPrec@.1
    SetP SetR SetF SetAP INP NumQ NumRel NumRet NumRelRet, and BPM@k SDCG@k INSQ INST NERR8@k NERR9@k NERR10 NERR11; parameters
    stand in brackets: AP(rel=2)@10, nDCG(gain=exp). trec_eval's names work too: map, P.5,10, ndcg_cut.10, official.
    """
    refuse_both(as_json, as_csv)
    if per_query + compare + bool(by) > 1:
        raise ParameterError("--per-query, --compare and --by exclude each other")
    if compare and len(runs) < 2:
        raise ParameterError("--compare needs two runs or more")
    if by and queries is None:
        raise ParameterError("--by needs the attributes of the queries: --queries FILE")
    wanted = as_measures(USUAL if not measures else " ".join(measures))  # a wrong name is told before the files are read
    labelled = given_labels(out, RETRIEVAL, name, tag)
    with progress() as say:
        say("reading and ranking")
        evaluation = apf.evaluate_run(
            qrels,
            runs[0] if len(runs) == 1 else runs,
            wanted,
            queries=queries,
            missing=missing,
            no_relevant=no_relevant,
            unjudged=unjudged,
            trec_eval=trec_eval,
        )
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled)
    if per_query:
        columns = [name for name in evaluation.per_query.columns if name in ("run", "query_id")]
        table = evaluation.per_query.pivot("measure", index=columns, values="value", maintain_order=True)
    elif compare:
        table = evaluation.compare()
        if not (as_json or as_csv):  # the most telling columns, in the width of a terminal
            table = table.select(
                "measure", "run_a", "run_b", "n_queries", "difference", "low", "high", p="p_randomisation_holm"
            )
    elif by:
        means = evaluation.by(*words(by))
        table = means.pivot("measure", index=cs.exclude("measure", "value"), values="value", maintain_order=True)
    elif as_json or as_csv:
        table = evaluation.summary
    else:
        print_lines(run_lines(evaluation.summary, evaluation.coverage, evaluation.options))
        return
    show_table(table, as_json, as_csv, digits=4)
