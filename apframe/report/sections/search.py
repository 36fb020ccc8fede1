"""The sections about search runs as a whole: the comparison, the slices, and the rules."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import polars as pl

from apframe.lists.measures import lowest_level
from apframe.report.compared import in_words
from apframe.report.searched import RUN, Searched
from apframe.report.section import MOST_ROWS, Block, Section, Table
from apframe.report.sections.how_computed import ALONE, HEADING, KEY, SAME_BYTES
from apframe.report.sections.leaderboard import leader_sentence
from apframe.report.sections.models_compared import FOLDED, HEADS, difference_table, level_sentence, level_table, pair_heads
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.report.sections.provenance import described
from apframe.show.comparison_text import comparison_sentences, difference_sentences
from apframe.wording import counted

_HEADS = HEADS | {"share_best": "how sure the run leads", "n_queries": "queries", "n_units": "queries"}


def better(searched: Searched) -> Section:
    """Return the section of means: of one run with intervals, of two with their differences, of three or more a leaderboard."""
    evaluation, names = searched.evaluation, searched.names
    heading = f"How good is {names[0]}?" if len(names) == 1 else "Which run is best?"
    heading = f"Is {names[1]} better?" if searched.is_pair else heading
    blocks = list[Block]()
    if searched.plain:
        blocks = (_of_one if len(names) == 1 else _of_pair if searched.is_pair else _of_several)(searched)
    others = searched.side_by_side(evaluation.summary.filter(~pl.col("measure").is_in(searched.plain)), ["measure"])
    if not others.is_empty():
        blocks.append(Table(others, "Measures without intervals, as they are no plain means", searched.columns))
    _, *more = _answers(searched)
    return Section(COMPARISON, heading, more, blocks, common_queries(searched))


def answer(searched: Searched) -> str:
    """Return the sentence with the mean of a run, the difference of two runs, or the leader of several."""
    return _answers(searched)[0]


def levels(searched: Searched) -> pl.DataFrame:
    """Return the mean of each run by the main measure: run, estimate, low and high."""
    rows = (
        searched.board
        if len(searched.names) > 1
        else searched.evaluation.intervals().with_columns(run=pl.lit(searched.names[0]))
    )
    rows = rows.filter(measure=searched.measure)
    order = pl.DataFrame({RUN: searched.names})
    return order.join(rows, on=RUN, how="left", maintain_order="left").select(RUN, "estimate", "low", "high")


def _answers(searched: Searched) -> list[str]:
    """Return sentences about the main measure, the most important one first."""
    if not searched.plain:
        return [f"No measure of {in_words(searched.names)} is a plain mean, so there are no intervals."]
    if len(searched.names) > 1:
        return [*([] if searched.is_pair else _leader(searched.board)), *_sentences(searched.differences)]
    first = searched.evaluation.intervals().row(0, named=True)
    name = first["measure"]
    return [level_sentence(name, first, "query") if first["estimate"] is not None else f"{name} has no value for any query."]


def common_queries(searched: Searched) -> list[str]:
    """Return a line with the number of common queries, if one of two runs has a query that the other lacks."""
    if searched.measure not in searched.plain:
        return []
    values = searched.evaluation.per_query.filter(measure=searched.measure).drop_nulls("value")
    first, *others = (set(values.filter(run=name)["query_id"]) for name in searched.names)
    common = {name: len(each & first) for name, each in zip(searched.names[1:], others, strict=True) if each != first}
    if not common:
        return []
    n_of = [counted(n, "query") for n in common.values()]
    if searched.is_pair:
        return [f"Both means and their difference are over the {n_of[0]} that both runs have."]
    counts_of_common = ", ".join(f"{n} with {name}" for n, name in zip(n_of, common, strict=True))
    which = f"Differences from {searched.names[0]} are over the queries that both runs have ({counts_of_common})"
    return [f"{which}; means are over all queries of each run."]


def _of_one(searched: Searched) -> list[Block]:
    rows = searched.evaluation.intervals()
    return [level_table(rows, ["measure"], "Means over queries with 95 % intervals", _HEADS)]


def _of_pair(searched: Searched) -> list[Block]:
    return [_differences(searched, searched.differences, "measure", "Means over queries and their differences")]


def _of_several(searched: Searched) -> list[Block]:
    board, heads = searched.board, _HEADS | {"run_b": "run"}
    caption, against = "Runs by measure, the best first", f"Differences from {searched.names[0]}"
    return [
        replace(level_table(board, ["measure", "rank", RUN], caption, _HEADS, ["share_best"]), folded=["share_best"]),
        difference_table(searched.differences, ["measure", "run_b"], against, heads, ["p_holm"], values=()),
    ]


def _leader(board: pl.DataFrame) -> list[str]:
    """Return a sentence about the run with the highest value of the first measure."""
    first = board.filter(pl.col("measure") == pl.col("measure").first())
    return [] if first["estimate"][0] is None else [leader_sentence(first.rename({"measure": "metric"}))]


def _sentences(differences: pl.DataFrame) -> list[str]:
    """Return a sentence about the first measure for each pair of runs."""
    rows = differences.rename({"measure": "metric"}).filter(pl.col("metric") == pl.col("metric").first())
    return [" ".join(difference_sentences(row, rows.height, "query")) for row in rows.iter_rows(named=True)]


def where(searched: Searched) -> Section | None:
    """Return the section of the first measure by attributes of the queries; None without attributes."""
    blocks, sentences = list[Block](), list[str]()
    of_pair = dict(searched.by_attribute)
    for key in searched.by:
        caption = f"{searched.measure} by {key}"
        if key in of_pair:
            differences = of_pair[key]
            slice_sentences = comparison_sentences(differences.rename({"measure": "metric"}), [key], unit="query")
            sentences += [text.replace(":", f" by {key}:", 1) for text in slice_sentences]
            differences = differences.rename({key: "key"})  # it may be called what another column is
            shown = _differences(searched, differences, "key", caption)
            marks = {"key": searched.value_marks(key, differences["key"], differences["n_units"])}
            blocks.append(replace(shown, heads={**shown.heads, "key": key}, links=marks))
        else:
            rows = searched.evaluation.by(key).filter(measure=searched.measure)
            counts = rows.group_by(key, maintain_order=True).agg(pl.max("n_queries"))
            wide = searched.side_by_side(rows, [key])
            table = counts.join(wide, on=key, how="left", nulls_equal=True, maintain_order="left")
            marks = {key: searched.value_marks(key, table[key], table["n_queries"])}
            blocks.append(Table(table, caption, _HEADS | searched.columns, links=marks))
    return Section("slices", "Where?", sentences, blocks) if blocks else None


def rules(searched: Searched) -> Section:
    """Return the last section: runs, judgements, measures and rules."""
    options, several = searched.evaluation.options, len(searched.names) > 1
    own = " Documents with the same id as their query are removed before." if options.get("own_document") == "remove" else ""
    left_out = {"skip": "is left out", "zero": "counts as 0", "error": "is an error"}
    unjudged = "count as not relevant" if options["unjudged"] == "nonrelevant" else "are removed before documents are ranked"
    texts = {
        "Numbers": f"Documents are ranked by score; equal scores and rounding are as in trec_eval {options['trec_eval']}. "
        f"In a mean each evaluated query counts the same{'; differences are over the queries that both runs have' * several}.",
        "Missing": f"A judged query that is not in a run {left_out[options['missing']]}; one without relevant documents "
        f"{left_out[options['no_relevant']]}. Documents without judgement {unjudged}.{own}",
        "95 % intervals": "A mean of n values has the standard error sd / √n, and the interval of Student's t with n − 1 "
        f"degrees of freedom{'; a difference of runs is the mean of the differences of each query' * several}. "
        "An interval says how far a mean would move with other queries of the same kind.",
    }
    if several:
        p = "p" if searched.is_pair else "p (Holm)"
        corrected = (
            "not corrected for the number of measures" if searched.is_pair else "corrected for the number of pairs of runs"
        )
        texts[p] = f"It is that of the paired t test: how surprising a difference would be between equal runs, {corrected}."
        if searched.is_pair:
            texts["Detectable difference"] = (
                "A true difference of this size would be found in four of five sets of queries like this one."
            )
            if searched.by:
                texts["q"] = "It is p, corrected for the number of groups of queries in a table."
        else:
            texts["Draws"] = (
                f"The means of all runs were drawn 10,000 times, starting from seed {searched.seed}, "
                "from the normal distribution in which they would vary together with other queries."
            )
    texts["Limits"] = f"Tables have at most {MOST_ROWS} rows. A line says what was left out."
    texts["File"] = f"{ALONE}. {SAME_BYTES}"
    calls = "a.compare(), a.leaderboard()" if several else "a.intervals()"
    texts["In Python"] = f"{calls}, a.per_query, a.coverage and a.bounds() have the same numbers."
    return Section(KEY, HEADING, (), (*_facts(searched), described(texts)))


def _facts(searched: Searched) -> list[Block]:
    """Return the runs, judgements, measures and versions."""
    evaluation, names = searched.evaluation, searched.names
    judged = evaluation.judgements
    n_relevant = judged.filter(pl.col("relevance") >= lowest_level(evaluation.measures)).height
    n_queries, n_judged = counted(judged["query_id"].n_unique(), "query"), counted(judged.height, "judgement")
    facts = {
        "Judgements": f"{n_queries} with {n_judged}, {n_relevant:,} of them relevant",
        "Measures": ", ".join(map(str, evaluation.measures)),
        "Versions": ", ".join(f"{name} {version(name)}" for name in ("apframe", "polars")),
        "Made with": searched.command,
    }
    runs = pl.DataFrame(
        {
            "run": names,
            "queries": [evaluation.runs[name]["query_id"].n_unique() for name in names],
            "documents": [evaluation.runs[name].height for name in names],
        }
    )
    return [Table(runs, "Runs"), described({name: text for name, text in facts.items() if text})]


def _differences(searched: Searched, rows: pl.DataFrame, key: str, caption: str) -> Table:
    a, b = searched.names
    heads = _HEADS | pair_heads(a, b)
    folded, support = (FOLDED, []) if key == "measure" else (["q", "detectable"], ["n_units"])
    return difference_table(rows, [key], caption, heads, folded, support)
