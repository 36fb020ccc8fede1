"""`apframe rank`: evaluate search runs against relevance judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars.selectors as cs

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.messages import be_strict
from apframe.cli.options import Latex, Markdown, RunName, Strict, Tags, given_labels, one_style, words
from apframe.cli.output import print_lines, progress, show_table, terminal_width
from apframe.cli.searches import Searches
from apframe.exceptions import ParameterError, one_of
from apframe.show.comparison import P_OF, p_texts
from apframe.show.runs import run_lines
from apframe.store.parquet import RETRIEVAL


def evaluate_rankings(
    qrels: Annotated[
        Path, Argument(metavar="QRELS", help="relevance judgements: TREC text, TSV or CSV with a header, JSON or Parquet")
    ],
    runs: Annotated[list[Path], Argument(metavar="RUN...", help="runs, likewise")],
    *,
    searches: Searches,
    per_query: Annotated[bool, Option("--per-query", "-q", help="print each query instead of means")] = False,
    compare: Annotated[
        bool,
        Option(
            "--compare",
            help="compare the runs in pairs: difference, 95 % interval, corrected p (more columns with --csv)",
        ),
    ] = False,
    test: Annotated[
        str | None,
        Option(metavar="t|randomisation|bootstrap", help="where p of --compare comes from (default: the paired t test)"),
    ] = None,
    by: Annotated[
        list[str] | None,
        Option(metavar="topic,length", help="print means, or comparisons, for each value of these columns of --queries"),
    ] = None,
    out: Annotated[Path | None, Option(metavar="DIR", help="also write all tables to this folder, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    as_json: Annotated[bool, Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, Option("--csv", help="print comma-separated values")] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
    strict: Strict = False,
) -> None:
    """Evaluate search runs against relevance judgements, and print the mean of each measure for each run.

    Measures with or without @k: AP P R F RR nDCG Success Judged ERR RBP Hits. Measures without: Rprec Bpref GMBpref infAP GMAP
    AP11 SetP SetR SetF SetAP INP NumQ NumRel NumRet NumRelRet INSQ INST NERR10 NERR11. Measures with: IPrec@.1 BPM@k SDCG@k
    NERR8@k NERR9@k. Parameters stand in brackets: AP(rel=2)@10, nDCG(gain=exp). The names of trec_eval work too: map, P.5,10,
    ndcg_cut.10, official.
    """
    be_strict(strict)
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    if per_query and (compare or by):
        raise ParameterError("--per-query cannot be combined with --compare or --by")
    if test is not None:
        if not compare:
            raise ParameterError("--test needs --compare")
        one_of("test", test, [*P_OF])
    if compare and len(runs) < 2:
        raise ParameterError("--compare needs two runs or more")
    arguments = searches.arguments(by)  # a wrong name is an error before the files are read
    labelled = given_labels(out, RETRIEVAL, name, tag)
    with progress() as say:
        say("reading and ranking")
        evaluation = apf.evaluate_run(qrels, runs[0] if len(runs) == 1 else runs, **arguments)
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled)
    if per_query:
        columns = [name for name in evaluation.per_query.columns if name in ("run", "query_id")]
        table = evaluation.per_query.pivot("measure", index=columns, values="value", maintain_order=True)
    elif compare:
        keys = words(by)
        table = evaluation.compare(by=keys, test=test or "t")
        if style not in ("json", "csv"):  # the most telling columns, in the width of a terminal
            p_corrected = p_texts(table, "p_holm", digits=4)
            n_pairs = table.select("run_a", "run_b").n_unique()
            telling = ["measure", "run_a", "run_b", "n_units", "difference", "low", "high"]
            table = table[[*keys, *telling]].rename({"n_units": "n_queries"}).with_columns(p_corrected=p_corrected)
    elif by:
        means = evaluation.by(*words(by))
        table = means.pivot("measure", index=cs.exclude("measure", "value"), values="value", maintain_order=True)
    elif style in ("json", "csv"):
        table = evaluation.summary
    elif style is not None:
        print(evaluation.to_markdown() if style == "markdown" else evaluation.to_latex())
        return
    else:
        print_lines(run_lines(evaluation.summary, evaluation.coverage, evaluation.options, terminal_width()))
        return
    show_table(table, style, digits=4, least=["n_queries", ("low", "high")])
    if compare and style is None:
        corrected = f", corrected for {n_pairs} comparisons (Holm)" if n_pairs > 1 else ""
        print_lines([f"p_corrected: {P_OF[test or 't']}{corrected}"])
