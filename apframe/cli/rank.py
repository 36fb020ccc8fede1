"""`apframe rank`: evaluate search runs against relevance judgements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import polars.selectors as cs

import apframe as apf
from apframe.cli.command_options import (
    Command,
    Storing,
    argument,
    option,
    output,
    storing_options,
    strict_option,
    style_options,
    words,
)
from apframe.cli.output import print_lines, progress, show_table, terminal_width
from apframe.cli.searches import Searches, search_options
from apframe.exceptions import ParameterError
from apframe.formats.catalogue import format_of_truth
from apframe.option_values import one_of
from apframe.show.comparison_text import P_OF, p_texts
from apframe.show.run_means import run_lines
from apframe.store.parquet import RETRIEVAL


@click.command("rank", cls=Command)
@argument("qrels", "QRELS", help="relevance judgements: TREC text, TSV or CSV with a header, JSON or Parquet")
@argument("runs", "RUN...", nargs=-1, required=True, help="runs, likewise")
@option("--compare", help="compare the runs in pairs: difference, 95 % interval, corrected p value (more columns with --csv)")
@option(
    "--test", metavar="t|randomisation|bootstrap", advanced=True,
    help="the test behind the p values of --compare (default: the paired t test)",
)  # fmt: skip
@option(
    "--by", multiple=True, metavar="topic,length",
    help="print means or comparisons for each value of these columns of --queries",
)  # fmt: skip
@search_options("Options")
@output("--per-query", "-q", help="print a row for each query instead of means")
@storing_options
@style_options()
@strict_option
def evaluate_rankings(
    qrels: Path, runs: Sequence[Path], *, searches: Searches, per_query: bool, compare: bool, test: str | None,
    by: Sequence[str], storing: Storing, style: str | None,
) -> None:  # fmt: skip
    """Evaluate search runs against relevance judgements, and print the mean of each measure for each run.

    Measures with or without @k: AP P R F RR nDCG Success Judged ERR RBP Hits. Measures without: Rprec Bpref GMBpref infAP GMAP
    AP11 SetP SetR SetF SetAP INP NumQ NumRel NumRet NumRelRet INSQ INST NERR10 NERR11. Measures with: IPrec@.1 BPM@k SDCG@k
    NERR8@k NERR9@k. Parameters go in parentheses: AP(rel=2)@10, nDCG(gain=exp). trec_eval's names work too: map, P.5,10,
    ndcg_cut.10, official.
    """
    if per_query and (compare or by):
        raise ParameterError("--per-query cannot be combined with --compare or --by")
    if test is not None:
        if not compare:
            raise ParameterError("--test needs --compare")
        one_of("test", test, [*P_OF])
    if compare and len(runs) < 2:
        raise ParameterError("--compare needs at least two runs")
    if qrels.suffix == ".json" and getattr(format_of_truth(qrels, None), "name", "") == "coco":
        raise ParameterError(f"{qrels} is COCO's JSON, not relevance judgements", "evaluate detections with apframe eval")
    arguments = searches.arguments(by)  # a wrong name is an error before the files are read
    labelled = storing.labels(RETRIEVAL)
    with progress() as say:
        say("reading and ranking")
        evaluation = apf.evaluate_run(qrels, runs[0] if len(runs) == 1 else runs, **arguments)
        if storing.out is not None:
            say(f"writing {storing.out}")
            evaluation.write_parquet(storing.out, **labelled)
    if per_query:
        columns = [name for name in evaluation.per_query.columns if name in ("run", "query_id")]
        table = evaluation.per_query.pivot("measure", index=columns, values="value", maintain_order=True)
    elif compare:
        keys = words(by)
        table = evaluation.compare(by=keys, test=test or "t")
        if style not in ("json", "csv"):  # the main columns, to fit a terminal
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
    show_table(table, style, digits=4, expendable=["n_queries", ("low", "high")])
    if compare and style is None:
        corrected = f", corrected for {n_pairs} comparisons (Holm)" if n_pairs > 1 else ""
        print_lines([f"p_corrected: {P_OF[test or 't']}{corrected}"])
