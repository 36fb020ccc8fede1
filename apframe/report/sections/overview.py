"""The first screen of detections and of search runs: the answer, the numbers, and the clear differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.collecting import collecting
from apframe.compare.inference import SIGNIFICANT
from apframe.evaluation.diagnose.error_kinds import KINDS
from apframe.evaluation.side_by_side import of_each, stacked
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import less_is_better
from apframe.report.compared import Compared, in_words
from apframe.report.first_screen import MOST_CHIPS, Chip, Figure, FirstScreen
from apframe.report.html_tables import NOTHING, score_text
from apframe.report.marks import Mark
from apframe.report.searched import DEPTHS, QUERIES, RUN, Searched
from apframe.report.sections import history, leaderboard, models_compared, search
from apframe.report.sections.by_slice import KEY as WHERE
from apframe.report.sections.by_slice import of_categories, sizes
from apframe.report.sections.error_types import SEEN
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.show.error_chart import KIND_WORDS
from apframe.wording import counted, cut

_MOST_FIGURES = 6
_MOST_LOWEST, _MOST_LETTERS = 3, 40  # queries of one run, and letters of their texts


def of_models(compared: Compared) -> FirstScreen:
    """Return the first screen of one or more models."""
    with collecting():  # the sections repeat the warnings, each where it belongs
        figures = _figures(_levels(compared), compared.metric)
        make = _chips_of_several if compared.are_several else _chips_of_pair if compared.is_pair else _costs
        about, chips = make(compared)
    answering = history if compared.history else leaderboard if compared.are_several else models_compared
    doubtful = [f"{message[0].upper()}{message[1:]}." for message in compared.doubts]
    return FirstScreen(answering.answer(compared), figures, about, chips, doubtful, _point(compared))


def of_runs(searched: Searched) -> FirstScreen:
    """Return the first screen of search runs."""
    if searched.history:
        return FirstScreen(history.answer(searched), _figures(history.marked(searched), searched.measure))
    sentence = search.answer(searched)
    if not searched.plain:
        return FirstScreen(sentence, notes=_judged(searched))
    make = _lowest_queries if len(searched.names) == 1 else _differences if searched.is_pair else _chips_of_runs
    about, chips = make(searched)
    return FirstScreen(
        sentence,
        _figures(search.levels(searched), searched.measure),
        about,
        chips,
        search.common_queries(searched),
        _judged(searched),
    )


def _differences(searched: Searched) -> tuple[str, list[Chip]]:
    """Return the slices of queries, then the other measures, in which two runs differ clearly, corrected for their number."""
    n_others = len(searched.plain) - 1
    corrected = (pl.col("p") * n_others).clip(upper_bound=1.0)
    others = searched.differences.filter(pl.col("measure") != searched.measure).with_columns(q=corrected)
    groups = [
        (rows, _named(rows[key]), searched.value_marks(key, rows[key], rows["n_units"])) for key, rows in searched.by_attribute
    ]
    chips = [chip for group in groups for chip in _clear(*group)] + _clear(others, others["measure"], [None] * n_others)
    if chips:
        return f"Clearly better or worse in {searched.names[1]} (q < {SIGNIFICANT:g}):", chips[:MOST_CHIPS]
    return _none_of(
        sum(rows["q"].count() for rows in (others, *(rows for rows, *_ in groups))), "other measures and slices"
    ), []


def _clear(
    rows: pl.DataFrame, words: pl.Series, marks: Sequence[Mark | str | None], metric: str = "", section: str = COMPARISON
) -> list[Chip]:
    """Return the rows with a clear difference of a metric, the clearest first; rows without marks lead to a section."""
    rows = rows.select("q", "difference", words.cast(pl.String).alias("words")).with_row_index("at").drop_nulls("words")
    clear = rows.filter(pl.col("q") < SIGNIFICANT).sort("q", pl.col("difference").abs().neg(), maintain_order=True)
    return [
        Chip(f"{label} {difference:+.3f}", _verdict(difference, metric), marks[at] or section)
        for at, difference, label in clear.select("at", "difference", "words").iter_rows()
    ]


def _none_of(n: int, what: str, more: str = "") -> str:
    """Return a line that none of the tested differences is clear, if any was tested."""
    return f"{f'None of {n:,} {what} is' if n > 1 else 'Nothing is'} clearly better or worse{more}." if n else ""


def _named(values: pl.Series) -> pl.Series:
    """Return values of an attribute as words; values that are not texts are prefixed with its name."""
    words = values.cast(pl.String).fill_null(NOTHING)
    return words if values.dtype == pl.String else values.name + " " + words


def _chips_of_runs(searched: Searched) -> tuple[str, list[Chip]]:
    """Return the runs that are clearly better or worse than the first one."""
    rows = searched.differences.filter(measure=searched.measure).with_columns(q="p_holm")
    chips = _clear(rows, rows["run_b"], [None] * rows.height)[:MOST_CHIPS]
    if not chips:
        return f"No run is clearly better or worse than {searched.names[0]}.", []
    return f"Clearly better or worse than {searched.names[0]} (corrected p < {SIGNIFICANT:g}):", chips


def _lowest_queries(searched: Searched) -> tuple[str, list[Chip]]:
    """Return the queries of one run that are furthest below its mean, among those with relevant documents."""
    (column,) = searched.columns
    rows = searched.by_query.filter(pl.col(column) < pl.col(column).mean(), pl.col("n_relevant") > 0).head(_MOST_LOWEST)
    ids, texts = rows["query_id"], searched.texts
    words = [cut(texts.get(query_id) or str(query_id), _MOST_LETTERS) for query_id in ids]
    chips = [
        Chip(f"{label} {value:.3f}", "worse", mark or QUERIES)
        for label, value, mark in zip(words, rows[column], searched.query_marks(ids), strict=True)
    ]
    return (f"Queries with the lowest {searched.measure}:", chips) if chips else ("", [])


def _judged(searched: Searched) -> list[str]:
    """Return a line with the number of evaluated queries, and the judged share of their first documents."""
    coverage, (k, _) = searched.evaluation.coverage, DEPTHS
    n = counted(coverage["n_judged"][0], "judged query")
    if searched.evaluation.options["unjudged"] == "remove":
        return [f"{n}. Documents without judgement were removed."]
    judged = searched.judged_documents
    shares = [f"{100 * share:.0f} % ({name})" for name, share in judged.select(RUN, f"judged {k}").drop_nulls().iter_rows()]
    return [f"{n}. Judged documents among the first {k}: {in_words(shares)}."] if shares else [f"{n}."]


def _levels(compared: Compared) -> pl.DataFrame:
    """Return run, estimate, low and high of the main metric."""
    if compared.history:
        return history.marked(compared)
    if compared.are_several:
        return compared.ranks
    options: dict[str, Any] = {"metrics": compared.metric, "n_resamples": compared.n_resamples, "seed": compared.seed}
    rows = [compared.overall.filter(pl.col("metric") == compared.metric)]
    if compared.is_pair:
        rows = of_each(lambda each: each.intervals(**options), compared.evaluations)
    return stacked("run", compared.names, [each.select("estimate", "low", "high") for each in rows])


def _figures(levels: pl.DataFrame, metric: str) -> list[Figure]:
    return [
        Figure(
            name,
            metric,
            NOTHING if value is None else f"{value:.3f}",
            "" if low is None else f"{low:.3f} to {high:.3f}",
        )
        for name, value, low, high in levels.head(_MOST_FIGURES).select("run", "estimate", "low", "high").iter_rows()
    ]


def _chips_of_pair(compared: Compared) -> tuple[str, list[Chip]]:
    """Return the categories, slices and ranges of sizes that differ clearly, corrected for the number of each."""
    groups = _groups(compared)
    if not groups:
        return "", []
    rows = pl.concat(table.select("q", "difference") for table, *_ in groups)
    words = pl.concat([each.cast(pl.String).alias("words") for _, each, _ in groups])
    marks = [mark for *_, marks_of_group in groups for mark in marks_of_group]
    chips = _clear(rows, words, marks, compared.metric, WHERE)[:MOST_CHIPS]
    than = f" in {compared.names[1]} than in {compared.names[0]}" if compared.history else ""
    if not chips:
        return _none_of(rows["q"].count(), "categories, slices and size ranges", than), []
    return f"Clearly better or worse{than or f' in {compared.names[1]}'} (q < {SIGNIFICANT:g}):", chips


def _groups(compared: Compared) -> list[tuple[pl.DataFrame, pl.Series, list[Mark | None]]]:
    """Return the categories, the slices of each key, and the sizes: differences with q, names, and the rows behind them."""
    groups = []
    categories, _ = of_categories(compared)
    if categories.height > 1:
        groups.append((categories, categories["name"], compared.category_marks(categories["category_id"])))
    for keys, rows in compared.sliced:
        words = rows.select(pl.concat_str(pl.col(keys).cast(pl.String).fill_null(NOTHING), separator=", ")).to_series()
        groups.append((rows, words, compared.slice_marks(rows, {each: each for each in keys})))
    by_size = sizes(compared).slice(1)
    if by_size.height:
        corrected = (pl.col("p") * by_size.height).clip(upper_bound=1.0)
        groups.append((by_size.with_columns(q=corrected), by_size["metric"], compared.size_marks(by_size["metric"])))
    return groups


def _chips_of_several(compared: Compared) -> tuple[str, list[Chip]]:
    """Return the models that are clearly better or worse than the first one."""
    pairs = compared.overall.filter(pl.col("metric") == compared.metric).with_columns(q="p_holm")
    chips = _clear(pairs, pairs["run_b"], [None] * pairs.height, compared.metric)[:MOST_CHIPS]
    if not chips:
        return f"No model is clearly better or worse than {compared.names[0]}.", []
    return f"Clearly better or worse than {compared.names[0]} (corrected p < {SIGNIFICANT:g}):", chips


def _costs(compared: Compared) -> tuple[str, list[Chip]]:
    """Return the error types that cost one model most."""
    if not compared.has_precision:
        return "", []
    try:
        impact = compared.error_impact
    except ParameterError:
        return "", []
    rows = impact.filter(pl.col("category_id").is_null(), pl.col("error").is_in(KINDS), pl.col("delta_ap") >= SEEN)
    rows = rows.sort("delta_ap", descending=True, maintain_order=True).head(3).with_columns(pl.col("error").cast(pl.String))
    chips = [
        Chip(
            f"{KIND_WORDS[kind]} −{cost:.3f}",
            "worse",
            Mark({"error": kind, "model": compared.names[0]}, n) if compared.has_gallery else "error_types",
        )
        for kind, cost, n in rows.select("error", "delta_ap", "n").iter_rows()
    ]
    return (f"Error types that cost most AP at {compared.threshold}:", chips) if chips else ("", [])


def _verdict(difference: float, metric: str) -> str:
    return "better" if (difference > 0) != less_is_better(metric) else "worse"


def _point(compared: Compared) -> list[str]:
    """Return the operating point in words."""
    if compared.point is None or not compared.has_precision:
        return []
    best_scores = [
        (name, score) for name, score in zip(compared.names, compared.point.best, strict=True) if math.isfinite(score)
    ]
    scores = [f"{score_text(score)}{f' ({name})' * (len(compared.names) > 1)}" for name, score in best_scores]
    which = f"the score with the best F1 over all categories: {in_words(scores)}"
    return [f"Operating point: {which}. Counts, the confusion matrix and images are those from this score on."]
