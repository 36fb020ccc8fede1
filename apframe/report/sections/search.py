"""The sections about search runs: measures, queries won and lost, every query, coverage, rules."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import polars as pl

from apframe.exceptions import counted
from apframe.report.charts.intervals import interval_cells
from apframe.report.searched import RUN, Searched
from apframe.report.section import MOST_ROWS, Block, Fragment, Section, Table
from apframe.show.comparison import comparison_sentences
from apframe.show.elements import element, joined

_PAIR = 2
_CHANGED = 10  # queries that are shown on either side
_HEADS = {
    "low": "95 % from",
    "high": "to",
    "share_better": "resamples in which it is better",
    "p_holm": "p (Holm)",
    "detectable": "detectable difference",
    "share_best": "resamples in which it leads",
    "n_judged": "judged queries",
    "n_evaluated": "evaluated",
    "n_missing": "not in the run",
    "n_without_relevant": "without relevant documents",
    "n_not_judged": "without judgements",
    "n_queries": "queries",
}


def what(searched: Searched) -> Section:
    """What was evaluated: runs, judgements, policies."""
    evaluation, names = searched.evaluation, searched.names
    judged = evaluation.judgements
    n_queries = judged["query_id"].n_unique()
    relevant = judged.filter(pl.col("relevance") > 0).height
    data = f"{counted(n_queries, 'query')}, {counted(judged.height, 'judgement')}, {relevant:,} of them relevant"
    facts = {
        "Judgements": data,
        "Measures": ", ".join(map(str, evaluation.measures)),
        "Policies": ", ".join(f"{name} {value}" for name, value in evaluation.options.items()),
        "Resamples": f"{searched.n_resamples:,} of the queries, seed {searched.seed}",
        "Versions": ", ".join(f"{name} {version(name)}" for name in ("apframe", "polars")),
        "Made with": searched.command,
    }
    said = [joined(element("dt", name), element("dd", text)) for name, text in facts.items() if text]
    runs = pl.DataFrame(
        {
            "run": names,
            "queries": [evaluation.runs[name]["query_id"].n_unique() for name in names],
            "documents": [evaluation.runs[name].height for name in names],
        }
    )
    heading = "What was compared?" if len(names) > 1 else "What was evaluated?"
    sentence = f"{' and '.join(names)} on {data}."
    return Section("what", heading, (sentence,), (Table(runs, "Runs"), Fragment(element("dl", said))))


def better(searched: Searched) -> Section:
    """Is B better? Of one run its means with intervals, of three or more a leaderboard."""
    evaluation, names = searched.evaluation, searched.names
    options: dict[str, Any] = {"n_resamples": searched.n_resamples, "seed": searched.seed}
    if len(names) == 1:
        rows = evaluation.intervals(**options)
        cells = interval_cells(rows["estimate"], rows["low"], rows["high"])
        table = rows.select("measure", value="estimate", low="low", high="high")
        first = rows.row(0, named=True)
        sentence = f"{first['measure']} is {_number(first['estimate'])}."
        return Section(
            "better", f"How good is {names[0]}?", (sentence,),
            (Table(table, "Means over queries with 95 % intervals", _HEADS, drawn={"interval": cells}),),
        )  # fmt: skip
    differences = evaluation.compare(names[0], **options)
    sentences = comparison_sentences(differences.rename({"measure": "metric"}))
    if len(names) == _PAIR:
        shown = _differences(searched, differences, ["measure"], "Means over queries and their differences")
        return Section("better", f"Is {names[1]} better?", sentences, (shown,))
    board = evaluation.leaderboard(**options)
    cells = interval_cells(board["estimate"], board["low"], board["high"])
    ranks = board.select("measure", "rank", "run", value="estimate", low="low", high="high", share_best="share_best")
    others = differences.select("measure", "run_b", "difference", "low", "high", "p_holm")
    return Section(
        "better", "Which run is best?", sentences,
        (
            Table(ranks, "Runs by measure, the best first", _HEADS, drawn={"interval": cells}),
            Table(others, f"Differences from {names[0]}", _HEADS | {"run_b": "run"}, signed=("difference", "low", "high")),
        ),
    )  # fmt: skip


def where(searched: Searched) -> Section | None:
    """Where? The first measure by attributes of the queries; None if no attribute was asked for."""
    blocks, sentences = list[Block](), list[str]()
    for key in searched.by:
        rows = searched.evaluation.by(key).filter(measure=searched.measure)
        wide = rows.pivot(RUN, index=[key, "n_queries"], values="value", maintain_order=True)
        if len(searched.names) == _PAIR:
            options: dict[str, Any] = {"n_resamples": searched.n_resamples, "seed": searched.seed}
            found = searched.evaluation.compare(searched.names[0], by=key, **options).filter(measure=searched.measure)
            sentences += [f"By {key}: {text}" for text in comparison_sentences(found.rename({"measure": "metric"}), [key])]
            blocks.append(_differences(searched, found, [key], f"{searched.measure} by {key}"))
        else:
            blocks.append(Table(wide, f"{searched.measure} by {key}", _HEADS))
    return Section("where", "Where?", sentences, blocks) if blocks else None


def changed(searched: Searched) -> Section | None:
    """Queries won and lost: the largest differences on either side; None unless there are two runs."""
    if len(searched.names) != _PAIR:
        return None
    a, b = searched.names
    rows = _by_query(searched).with_columns(difference=pl.col(b) - pl.col(a)).drop_nulls("difference")
    won, lost = rows.filter(pl.col("difference") > 0), rows.filter(pl.col("difference") < 0)
    n_same = rows.height - won.height - lost.height
    sentence = (
        f"By {searched.measure}, {b} wins {counted(won.height, 'query')} and loses {lost.height:,}; {n_same:,} are the same."
    )
    blocks = [
        Table(table.head(_CHANGED), f"Queries that {b} {verb} most", signed=["difference"])
        for table, verb in (
            (won.sort("difference", "query_id", descending=[True, False]), "wins"),
            (lost.sort("difference", "query_id"), "loses"),
        )
        if not table.is_empty()
    ]
    return Section("changed", "Which queries?", (sentence,), blocks)


def queries(searched: Searched) -> Section:
    """Every query: the first measure of each run, the lowest of the last run first."""
    rows = _by_query(searched).sort(searched.names[-1], "query_id", nulls_last=True, maintain_order=True)
    return Section("queries", "How did each query do?", (), (Table(rows, f"{searched.measure} by query", most=MOST_ROWS),))


def coverage(searched: Searched) -> Section:
    """What was judged: queries without documents, without relevant ones, without judgements."""
    table = searched.evaluation.coverage
    rows = [
        f"{row[RUN]}: {row['n_evaluated']:,} of {counted(row['n_judged'], 'judged query')} evaluated, "
        f"{row['n_missing']:,} not in the run, {row['n_not_judged']:,} queries of the run without judgements."
        for row in table.iter_rows(named=True)
    ]
    return Section("coverage", "What was judged?", rows, (Table(table, "Queries of each run", _HEADS),))


def rules(searched: Searched) -> Section:
    """How it was computed."""
    said = [
        "Documents are ranked by score. A mean is over the evaluated queries, each of which counts the same.",
        f"Intervals are of 95 %: queries were drawn with replacement {searched.n_resamples:,} times, starting from seed "
        f"{searched.seed}.",
        "They say how far a mean would move with other queries of the same kind.",
    ]
    if len(searched.names) > 1:
        said.append("p is how surprising a difference would be if the runs were equal, corrected for the number of pairs.")
    return Section("rules", "How was it computed?", said)


def _differences(searched: Searched, rows: pl.DataFrame, keys: list[str], caption: str) -> Table:
    a, b = searched.names
    cells = interval_cells(rows["difference"], rows["low"], rows["high"], zero=True)
    last = ["low", "high", "share_better", "p_holm" if keys == ["measure"] else "q", "detectable"]
    columns = [*keys, "estimate_a", "estimate_b", "difference", pl.lit("").alias("interval"), *last]
    heads = _HEADS | {"estimate_a": a, "estimate_b": b}
    return Table(rows.select(columns), caption, heads, signed=("difference", "low", "high"), drawn={"interval": cells})


def _by_query(searched: Searched) -> pl.DataFrame:
    """The first measure of every query, a column for each run."""
    rows = searched.evaluation.per_query.filter(measure=searched.measure)
    return rows.pivot(RUN, index="query_id", values="value", maintain_order=True)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"
