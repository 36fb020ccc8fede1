"""A history: the best checkpoint, its comparison with the last one, and the development of the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from apframe.compare.inference import SIGNIFICANT
from apframe.evaluation.diagnose.error_kinds import KINDS
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import less_is_better
from apframe.report.charts.interval_chart import interval_cells
from apframe.report.charts.over_tag import chart_over_tag
from apframe.report.checkpoints import History, other_way
from apframe.report.compared import Compared, in_words
from apframe.report.html_tables import minus
from apframe.report.searched import Searched
from apframe.report.section import Block, Chart, Details, Section, Table
from apframe.report.sections import error_types as of_pair
from apframe.report.sections.error_types import NOUNS, SEEN
from apframe.report.sections.models_compared import HEADS, difference_table, pair_heads
from apframe.show.comparison_text import comparison_sentences, how_tested, p_texts, reason_of, without_intervals
from apframe.show.elements import Markup, joined
from apframe.show.error_chart import KIND_WORDS
from apframe.wording import plural

KEY = "history"
_MOST_CHARTS = 8  # of categories
_MOST_KINDS = 3  # of errors in a sentence


def section(subject: Compared | Searched) -> Section:
    """Return the section of all checkpoints, which replaces the comparison."""
    history = _of(subject)
    sentences, scope = [*_trend(history)], ""
    blocks: list[Block] = [_main_chart(history), _table(history), *_other_numbers(history)]
    if isinstance(subject, Compared):
        category_sentences, more = _categories(history, subject)
        sentences, blocks, scope = [*sentences, *category_sentences], [*blocks, *more], subject.all_scores
    best, rival = _best_and_rival(history)
    sentences.append(f"The sections below compare {best}, with {rival}.")
    return Section(KEY, "How did it develop?", sentences, blocks, _notes(history), scope)


def answer(subject: Compared | Searched) -> str:
    """Return the sentence that names the best checkpoint, and compares it with the last one.

    If the last one is the best, it is compared with the first one.
    """
    history = _of(subject)
    value, is_last = history.values[history.best], history.best == history.last
    if value is None:
        return f"{history.metric} has no value at any {history.axis.tag}."
    _, other = _best_and_rival(history)
    start = f"{history.metric} is best at {'the last one, ' * is_last}{history.names[history.best]}, {value:.3f}, and"
    tests = history.tests.with_columns(p_texts(history.tests, "p_holm").alias("said"))
    rows = tests.filter(run_b=history.names[history.rival if is_last else history.best])
    row = (other_way(rows) if is_last else rows).row(0, named=True)
    if row["difference"] is None:
        rival_has_value = history.values[history.rival] is not None
        return (
            f"{start} cannot be compared: it has no {plural(history.unit)} in common with {other}."
            if rival_has_value
            else f"{start} has no value at {other}."
        )
    if row["low"] is None:
        return minus(f"{start} cannot be tested against {other} ({row['difference']:+.3f}): {reason_of(row, history.unit)}.")
    if row["low"] == row["high"] == 0:
        return f"{start} the same at {other}."
    ends = f"{row['difference']:+.3f}, 95 % CI {row['low']:+.3f} to {row['high']:+.3f}"
    p = f"p {row['said']}" if row["said"][0] in "<≤" else f"p = {row['said']}"
    is_real = row["low"] * row["high"] > 0 and row["p_holm"] < SIGNIFICANT
    word = "significantly better" if is_real else "not significantly better"
    return minus(f"{start} {word} than at {other} ({ends}, {p}{_corrected(history)}).")


def marked(subject: Compared | Searched) -> pl.DataFrame:
    """Return the numbers of the first screen: run, estimate, low and high of the best, the last and the first checkpoint."""
    history = _of(subject)
    words = history.words
    order = pl.DataFrame([(history.names[at], words[at]) for at in words], schema=["run", "words"], orient="row")
    rows = order.join(history.points, on="run", maintain_order="left")
    return rows.select(pl.format("{} ({})", "run", "words").alias("run"), "estimate", "low", "high")


def error_types(compared: Compared) -> Section:
    """Return the section of error types, of a pair, with what each type costs at each checkpoint."""
    pair_section, history = of_pair.section(compared), _of(compared)
    try:
        costs = history.costs.filter(pl.col("category_id").is_null(), pl.col("error").is_in(KINDS))
    except ParameterError:
        return pair_section
    rows = costs.select("run", pl.col("error").cast(pl.String), estimate="delta_ap", low=None, high=None)
    ends = [0.0, *rows["estimate"].drop_nulls()]
    charts = [_chart(history, rows.filter(error=kind), KIND_WORDS[kind], ends=(min(ends), max(ends))) for kind in KINDS]
    caption = f"AP at {compared.threshold} that each error type costs, over {history.axis.tag}"
    table = _newest_first(
        rows.pivot("error", index="run", values="estimate", maintain_order=True), caption, history, KIND_WORDS
    )
    blocks: list[Block] = [Chart(joined(charts), f"{caption}, all on the same axis."), Details("The costs in numbers", [table])]
    return replace(
        pair_section, sentences=[*_made_of(rows, history), *pair_section.sentences], blocks=[*blocks, *pair_section.blocks]
    )


def _of(subject: Compared | Searched) -> History:
    assert subject.history is not None  # because these are the sections of a history
    return subject.history


def _best_and_rival(history: History) -> tuple[str, str]:
    """Return the names of both in a sentence: "the best one, epoch 6" and "the last one, epoch 8"."""
    other = "first" if history.rival == 0 else "last"
    return f"the best one, {history.names[history.best]}", f"the {other} one, {history.names[history.rival]}"


def _trend(history: History) -> list[str]:
    """Return a sentence with the checkpoints that are better than the last one, worse, or neither."""
    rows = pl.DataFrame({"run_b": history.names[:-1]}).join(history.tests, on="run_b", how="left", maintain_order="left")
    gains, differs = (rows["difference"] < 0) == less_is_better(history.metric), rows["p_holm"] < SIGNIFICANT
    groups = {"better": differs & gains, "worse": differs & ~gains, "not significantly different": ~differs}
    parts = [
        f"{history.axis.some_names(at)} {'are' if at[1:] else 'is'} {word}"
        for word, group in groups.items()
        if (at := group.arg_true().to_list())
    ]
    if not parts:
        return []
    level = f"at the {100 * SIGNIFICANT:g} % level{_corrected(history)}"
    return [f"Against the last one, {history.names[-1]}: {'; '.join(parts)} ({level})."]


def _corrected(history: History) -> str:
    return f", corrected for {history.last} comparisons" * (history.last > 1)


def _chart(
    history: History, levels: pl.DataFrame, title: str, *, ends: tuple[float, float] | None = None, large: bool = False
) -> Markup:
    """Draw the levels of one number, with marks on the checkpoints that other sections compare."""
    return chart_over_tag(history.axis, history.of(levels), title, marked=history.pair, ends=ends, large=large)


def _main_chart(history: History) -> Chart:
    chart = _chart(history, history.overall.filter(metric=history.metric), history.metric, large=True)
    best, rival = (history.names[at] for at in (history.best, history.rival))
    other = "last" if history.rival == history.last else "first"
    return Chart(
        chart, f"{history.metric} with 95 % intervals. Triangle: the best one, {best}; circle: the {other} one, {rival}."
    )


def _table(history: History) -> Table:
    """Return the checkpoints, the last one first, each with its difference from the last one."""
    axis, last = history.axis, history.names[-1]
    of_tests = {"run": "run_b", "difference": "difference", "from": "low", "to": "high", "p_holm": "p_holm"}
    tests = history.tests.select(p_texts(history.tests, "p_holm").alias("said"), **of_tests)
    own = {
        "at": pl.Series(axis.labels),
        "place": pl.Series([history.words.get(at, "") for at in range(len(axis.labels))]),
        "called": pl.Series(history.runs),
    }
    rows = history.points.with_columns(**own).join(tests, on="run", how="left", maintain_order="left").reverse()
    heads = HEADS | {"at": axis.tag, "estimate": history.metric, "high": "95 % to", "called": "run"}
    heads |= {"difference": f"difference from {last}", "from": "difference from", "to": "difference to"}
    heads["interval"], levels = interval_cells(rows["estimate"], rows["low"], rows["high"])
    metrics = [history.metric] * rows.height
    heads["apart"], apart = interval_cells(rows["difference"], rows["from"], rows["to"], zero=True, metrics=metrics)
    placeholders = {name: pl.lit("").alias(name) for name in ("interval", "apart")}
    frame = rows.select(
        "at",
        "place",
        "estimate",
        placeholders["interval"],
        "low",
        "high",
        "difference",
        placeholders["apart"],
        "from",
        "to",
        "p_holm",
        "called",
    )
    return Table(
        frame,
        f"{history.metric} over {axis.tag}, the last one first",
        heads,
        ("difference", "from", "to"),
        {"interval": levels, "apart": apart},
        {"p_holm": rows["said"].to_list()},
        folded=("low", "high", "from", "to"),
    )


def _other_numbers(history: History) -> list[Block]:
    """Return the other headline numbers as charts, and all of them as a table."""
    wide = history.overall.pivot("metric", index="run", values="estimate", maintain_order=True)
    others = [name for name in wide.columns[1:] if name != history.metric]
    if not others:
        return []
    charts = [_chart(history, history.overall.filter(metric=name), name) for name in others]
    return [
        Chart(joined(charts), f"The other headline numbers over {history.axis.tag}, each on an axis of its own."),
        Details("The headline numbers", [_newest_first(wide, "All headline numbers", history)]),
    ]


def _newest_first(wide: pl.DataFrame, caption: str, history: History, heads: Mapping[str, str] | None = None) -> Table:
    """Return a table with a row for each checkpoint, the newest first."""
    return Table(wide.reverse(), caption, {"run": history.axis.tag, **(heads or {})})


def _categories(history: History, compared: Compared) -> tuple[list[str], list[Block]]:
    """Return the categories by their change from the first to the last checkpoint, as sentences, charts and a table."""
    changes = history.changes
    if changes.height < 2:
        return [], []
    first, last, stretch = history.names[0], history.names[-1], f"from {history.names[0]} to {history.axis.labels[-1]}"
    is_clear = (pl.col("q") < SIGNIFICANT).fill_null(False)
    changes = changes.with_columns(compared.labels(changes["category_id"]).alias("name")).sort(
        pl.col("low").is_null(), ~is_clear, pl.col("difference").abs().neg(), nulls_last=True, maintain_order=True
    )
    change_sentences = [text.replace(":", f", {stretch}:", 1) for text in comparison_sentences(changes, ["name"])]
    levels = history.levels.filter(metric=history.metric)
    most = changes.drop_nulls("low").head(_MOST_CHARTS).select("category_id", "name")
    charts = [_chart(history, levels.filter(category_id=each), name) for each, name in most.rows()]
    caption = f"{history.metric} by category {stretch}"
    table = difference_table(changes, ["name"], caption, HEADS | pair_heads(first, last), ["q"])
    blocks: list[Block] = [Details(f"The categories {stretch}", [table])]
    if charts:
        among = "" if len(charts) == changes.height else " that changed most"
        blocks.insert(0, Chart(joined(charts), f"{history.metric} of the categories{among}, each on an axis of its own."))
    return change_sentences, blocks


def _made_of(rows: pl.DataFrame, history: History) -> list[str]:
    """Return sentences about the error types that cost less or more at the last checkpoint than at the first one."""
    first, last = (rows.filter(run=history.names[at])["estimate"] for at in (0, -1))
    costs = pl.DataFrame({"error": KINDS, "change": last - first}).filter(pl.col("change").abs() >= SEEN)
    most = costs.sort(pl.col("change").abs(), descending=True, maintain_order=True).head(_MOST_KINDS)
    parts = [f"{NOUNS[kind]} cost {abs(change):.3f} AP {'less' if change < 0 else 'more'}" for kind, change in most.rows()]
    return [f"From {history.names[0]} to {history.axis.labels[-1]}, {in_words(parts)}."] if parts else []


def _notes(history: History) -> list[str]:
    """Return notes on the bias of the best number, on numbers without an interval, and on the tests."""
    chosen = f" p is corrected for the {history.last} comparisons with the last one (Holm), intervals are not." * (
        history.last > 1
    )
    return [
        f"The best is chosen on the data that it is judged by, so its {history.metric} is probably a little too high.{chosen}",
        *(without_intervals(history.overall) if "reason" in history.overall.columns else []),
        *how_tested(history.differences, history.unit),
    ]
