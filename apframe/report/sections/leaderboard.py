"""Three models or more: the best one, the categories and slices where each is best, and their errors."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.compare.inference import SIGNIFICANT
from apframe.evaluation.diagnose.error_kinds import KINDS
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import less_is_better
from apframe.report.charts.interval_chart import interval_cells
from apframe.report.compared import ALL_SCORES, Compared, in_words
from apframe.report.marks import Mark
from apframe.report.section import Block, Section, Table
from apframe.report.sections import by_slice
from apframe.report.sections.by_slice import hint, last_ones, of_categories, ranges_in_words, sizes
from apframe.report.sections.error_types import HEADING, KEY, MEANINGS, NOTE, NOUNS, SEEN, by_category, only_counts, type_marks
from apframe.report.sections.models_compared import HEADS, difference_table, notes
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.show.comparison_text import ranks_table
from apframe.show.error_chart import KIND_WORDS
from apframe.tables.names import label_of
from apframe.wording import counted

_HEADS = HEADS | {"run": "model", "run_b": "model", "share_best": "how sure the model leads"}
_MOST_NAMES = 5


def best(compared: Compared) -> Section:
    """Return the section that ranks the models and compares each with the first one."""
    metric = compared.metric
    board = ranks_table(compared.ranks, metric)
    pairs = compared.overall.filter(pl.col("metric") == metric)
    axis, cells = interval_cells(board[metric], board["low"], board["high"])
    ranked = board.select("run", metric, pl.lit("").alias("interval"), "low", "high", "ranks", "share_best")
    heads = _HEADS | {"run_b": "model", "estimate_b": metric}
    against = difference_table(
        pairs, ["run_b"], f"Against {compared.names[0]}", heads, ["p_holm", "share_better", "detectable"], values=["estimate_b"]
    )
    blocks = [
        Table(ranked, f"Models by {metric}", _HEADS | {"interval": axis}, drawn={"interval": cells}, folded=["share_best"]),
        against,
        Table(_headlines(compared), "All headline numbers"),
    ]
    return Section(COMPARISON, "Which model is best?", _against(pairs, compared), blocks, notes(compared), compared.all_scores)


def answer(compared: Compared) -> str:
    """Return the sentence that says which model leads."""
    return _leader(ranks_table(compared.ranks, compared.metric), compared.metric)


def where(compared: Compared) -> Section:
    """Return the section with the best model in each category, slice and range of sizes or level of difficulty."""
    metric, sentences, blocks = compared.metric, list[str](), list[Block]()
    categories, of_one = of_categories(compared)
    if compared.categories.height > 1:
        table = _by_model(categories.with_columns(label_of("categories")), ["name", "category_id"], compared, ["n_positives"])
        has_interval = pl.col("key 1").is_in(
            categories.filter(pl.col("low").is_not_null())["category_id"].implode()
        )  # with intervals
        table = table.sort(~has_interval, pl.col("lead").neg(), nulls_last=True, maintain_order=True).drop("key 1")
        sentences.append(_winners(table, f"{of_one} by category", compared))
        blocks.append(_table(table, f"{of_one} by category", compared, ["name"]))
    for keys, rows in compared.sliced:
        table, caption = _by_model(rows, keys, compared, ["n_images", "n_annotations"]), f"{metric} by {', '.join(keys)}"
        sentences.append(_winners(table, caption, compared))
        blocks.append(_table(table, caption, compared, keys))
    by_size = sizes(compared)
    chance = (
        f"A lead is over the next best model and may be chance. Others differ from {compared.names[0]} if q < {SIGNIFICANT:g}"
    )
    if by_size["metric"].n_unique() > 1:
        ranges = ranges_in_words(compared)
        table = _by_model(by_size, ["metric"], compared, test="p_holm")
        blocks.append(_table(table, ranges.capitalize(), compared, ["metric"]))
        chance += f", and {ranges} if p (Holm) < {SIGNIFICANT:g}"
    closing_notes = [f"{chance}.", *last_ones(categories), *([] if compared.by else [hint(compared)])]
    return Section(by_slice.KEY, by_slice.HEADING, sentences, blocks, closing_notes, compared.all_scores)


def error_types(compared: Compared) -> Section:
    """Return the section with the cost of each error type for each model."""
    try:
        impact = compared.error_impact
    except ParameterError as error:
        return only_counts(compared, error)
    rows = impact.filter(pl.col("category_id").is_null(), pl.col("error").is_in(KINDS))
    wide = {
        values: rows.pivot("error", index=["model", "ap"], values=values, maintain_order=True) for values in ("delta_ap", "n")
    }
    heads = KIND_WORDS | {"ap": f"AP at {compared.threshold}"}
    blocks: list[Block] = [
        Table(wide["delta_ap"], "AP that each error type costs", heads),
        Table(wide["n"].drop("ap"), "Errors of each type", heads, links=_links(wide["n"], compared)),
        *by_category(impact, compared),
        MEANINGS,
    ]
    return Section(KEY, HEADING, _costliest(rows), blocks, (NOTE,), ALL_SCORES)


def _links(wide: pl.DataFrame, compared: Compared) -> dict[str, list[Mark | None]]:
    return {
        kind: type_marks(compared, [(name, kind, None, n) for name, n in wide.select("model", kind).iter_rows()])
        for kind in KINDS
        if kind in wide.columns
    }


def _leader(board: pl.DataFrame, metric: str) -> str:
    if board[metric].count() == 0:
        return f"{metric} has no value: no annotation counts."
    return leader_sentence(board.with_columns(pl.lit(metric).alias("metric"), pl.col(metric).alias("estimate")))


def leader_sentence(board: pl.DataFrame) -> str:
    """Return a sentence about the leaders of a board, the best first: run, metric, estimate, share_best. Equal runs share it.

    >>> equal = {"run": ["a", "b", "c"], "metric": ["AP"] * 3, "estimate": [0.5, 0.5, 0.4], "share_best": [0.4, 0.4, 0.2]}
    >>> leader_sentence(pl.DataFrame(equal))
    'a and b have the highest AP, 0.500.'
    >>> leader_sentence(pl.DataFrame(equal).tail(1))
    'c has the highest AP, 0.400, and leads in 20 % of sets like this one.'
    """
    best = board.filter(pl.col("estimate") == pl.col("estimate").first())
    metric, value, share = best.select("metric", "estimate", "share_best").row(0)
    value_words = f"the {'lowest' if less_is_better(metric) else 'highest'} {metric}, {value:.3f}"
    if best.height > 1:
        return f"{in_words(best['run'].to_list())} have {value_words}."
    leads = "" if share is None else f", and leads in {100 * share:.0f} % of sets like this one"
    return f"{best['run'][0]} has {value_words}{leads}."


def _against(pairs: pl.DataFrame, compared: Compared) -> list[str]:
    """Return a sentence with the numbers of models that are better than the first one, worse, or neither."""
    tested = pairs.drop_nulls("p_holm")
    if tested.is_empty():
        return []
    differs, gains = tested["p_holm"] < SIGNIFICANT, (tested["difference"] < 0) == less_is_better(compared.metric)
    groups = [tested.filter(differs & gains), tested.filter(differs & ~gains), tested.filter(~differs)]
    words = ("better", "worse", "not significantly different")
    parts = [
        f"{_named(group['run_b'].to_list())} {'is' if group.height == 1 else 'are'} {word}"
        for group, word in zip(groups, words, strict=True)
        if group.height
    ]
    corrected = f", corrected for {counted(pairs.height, 'comparison')}" * (pairs.height > 1)
    return [f"Against {compared.names[0]}: {'; '.join(parts)} (at the {100 * SIGNIFICANT:g} % level{corrected})."]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return in_words([*names[:_MOST_NAMES], f"{more} more"] if more > 0 else names)


def _headlines(compared: Compared) -> pl.DataFrame:
    """Return a row for each model, with a column for each headline number."""
    rows = compared.overall
    first = rows.filter(pl.col("run_b") == compared.names[1]).select(model="run_a", metric="metric", value="estimate_a")
    others = rows.select(model="run_b", metric="metric", value="estimate_b")
    return pl.concat([first, others]).pivot("metric", index="model", values="value", maintain_order=True)


def _by_model(
    rows: pl.DataFrame, keys: Sequence[str], compared: Compared, support: Sequence[str] = (), test: str = "q"
) -> pl.DataFrame:
    """Return a row for each slice: keys ("key 0" ...), support, a column per model ("model 0" ...), best, lead and differ."""
    index = {key: f"key {k}" for k, key in enumerate(keys)}
    models = [f"model {k}" for k in range(len(compared.names))]
    others = [
        pl.col("estimate_b").filter(pl.col("run_b") == name).first().alias(model)
        for name, model in zip(compared.names[1:], models[1:], strict=True)
    ]
    table = rows.rename(index).group_by(*index.values(), maintain_order=True).agg(
        *(pl.col(name).first() for name in support),
        pl.col("estimate_a").first().alias(models[0]),
        *others,
        differ=pl.col("run_b").filter(pl.col(test) < SIGNIFICANT).str.join(", "),
    )  # fmt: skip
    is_error = less_is_better(compared.metric)
    top = _best(models, compared)
    of_best = [pl.when(pl.col(model) == top).then(pl.lit(name)) for model, name in zip(models, compared.names, strict=True)]
    best_ones = pl.concat_str(of_best, separator=", ", ignore_nulls=True)
    second = pl.concat_list(models).list.sort(descending=not is_error, nulls_last=True).list.get(1)
    return table.with_columns(best=pl.when(top.is_not_null()).then(best_ones), lead=(top - second).abs())


def _best(models: Sequence[str], compared: Compared) -> pl.Expr:
    """Return the best number of each row."""
    return pl.min_horizontal(models) if less_is_better(compared.metric) else pl.max_horizontal(models)


def _winners(table: pl.DataFrame, caption: str, compared: Compared) -> str:
    """Return a sentence with the number of rows in which each model is best; equal models are all best."""
    models = [f"model {k}" for k in range(len(compared.names))]
    top = _best(models, compared)
    *times, n_known = table.select(*((pl.col(model) == top).sum() for model in models), top.count().alias("n")).row(0)
    won = sorted(((n, name) for n, name in zip(times, compared.names, strict=True) if n), key=lambda each: -each[0])
    if not won:
        return f"{caption}: there are no values."
    (most_wins, first), *others = won
    return f"{caption}: {first} is best in {most_wins:,} of {n_known:,}{''.join(f', {name} in {n:,}' for n, name in others)}."


def _table(table: pl.DataFrame, caption: str, compared: Compared, keys: Sequence[str]) -> Table:
    heads = {f"model {k}": name for k, name in enumerate(compared.names)} | {f"key {k}": key for k, key in enumerate(keys)}
    models = [name for name in table.columns if name not in ("best", "lead", "differ")]
    frame = table.select(*models, "best", "lead", "differ")
    return Table(frame, caption, HEADS | heads | {"differ": f"differ from {compared.names[0]}"})


def _costliest(rows: pl.DataFrame) -> list[str]:
    """Return a sentence with the costliest types and their numbers of models."""
    n = rows["model"].n_unique()
    costs = rows.filter(pl.col("delta_ap") >= SEEN).sort("delta_ap", descending=True, maintain_order=True)
    top = costs.unique("model", keep="first", maintain_order=True)
    kinds_of = top.group_by(pl.col("error").cast(pl.String), maintain_order=True).agg("model").rows()
    if not kinds_of:
        return ["No error type costs any AP."]
    parts = [f"{NOUNS[kind]} in {len(models)} ({_named(models)})" for kind, models in kinds_of]
    if len(parts) == 1 and top.height == n:
        return [f"In all {n} models, {NOUNS[kinds_of[0][0]]} cost most AP."]
    return [f"Of {n} models, what costs most AP is {', '.join(parts)}."]
