"""Error types: the cost and the number of errors of each, for one model or two side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, KINDS
from apframe.exceptions import ParameterError
from apframe.report.charts.bars import bar_cells, legend
from apframe.report.compared import ALL_SCORES, Compared
from apframe.report.marks import Mark
from apframe.report.section import Block, Details, Section, Table, without_numbers
from apframe.show.error_chart import KIND_WORDS, error_marks

KEY, HEADING = "error_types", "Error types"
NOTE = (
    "Each type is fixed alone, so what the types cost does not add up. Small differences may be chance: in Python, "
    "ev.error_impact(0.5, intervals=True) has intervals."
)
_TOTALS = "All false positives and all missed annotations count errors of the other types again."
NOUNS = {
    "cls": "classification errors", "loc": "localization errors", "both": "errors of classification and localization",
    "dupe": "duplicates", "bkg": "detections on background", "miss": "missed annotations",
}  # fmt: skip
MEANINGS = Details(
    "The error types",
    [
        Table(
            pl.DataFrame(
                [(KIND_WORDS[name], name, kind.description) for name, kind in ERROR_KINDS.items()],
                schema=["error type", "name in tables", "meaning"],
                orient="row",
            ),
            "Error types and their meaning",
        )
    ],
)
_SELECTED = {kind: {"outcome": kind, "at": "all"} for kind in ("fp", "fn")}
SEEN = 0.0005  # the smallest AP that three digits show


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    try:
        impact = compared.error_impact
    except ParameterError as error:
        return only_counts(compared, error)
    blocks: list[Block] = [_by_kind(impact, compared), *by_category(impact, compared), MEANINGS]
    return Section(KEY, HEADING, [*_losses(impact, compared), *_change(impact, compared)], blocks, (NOTE, _TOTALS), ALL_SCORES)


def only_counts(compared: Compared, error: ParameterError) -> Section:
    """Return the section of models whose errors have no costs: the reason, and the number of errors of each type."""
    frame, links = pl.DataFrame({"error type": [KIND_WORDS[kind] for kind in KINDS]}), dict[str, list[Mark | None]]()
    for k, (name, each) in enumerate(zip(compared.names, compared.evaluations, strict=True)):
        n_of = dict(each.errors(compared.iou_threshold)["error"].value_counts().rows())
        frame = frame.with_columns(pl.Series(f"errors {k}", [n_of.get(kind, 0) for kind in KINDS], pl.Int64))
        links[f"errors {k}"] = type_marks(compared, [(name, kind, None, n_of.get(kind)) for kind in KINDS])
    heads = {f"errors {k}": name if len(compared.names) > 1 else "errors" for k, name in enumerate(compared.names)}
    counts = Table(frame, f"Errors of each type at {compared.threshold}", heads, links=links)
    return replace(without_numbers(KEY, HEADING, error), blocks=(counts, MEANINGS), scope=ALL_SCORES)


def _losses(impact: pl.DataFrame, compared: Compared) -> list[str]:
    """Return sentences about the types that cost each model most."""
    means = impact.filter(pl.col("category_id").is_null(), pl.col("error").is_in(KINDS))
    return [_loss(name, means.filter(model=name), compared.threshold) for name in compared.names]


def _loss(name: str, rows: pl.DataFrame, threshold: str) -> str:
    ap = rows["ap"][0]
    if ap is None:
        return f"AP of {name} has no value, as no annotation counts, so no error type costs any."
    costs = rows.filter(pl.col("delta_ap") >= SEEN).sort("delta_ap", descending=True, maintain_order=True).head(2)
    named = [f"{NOUNS[kind]} ({cost:.3f})" for kind, cost in costs.select("error", "delta_ap").iter_rows()]
    start = f"{name} has AP {ap:.3f} at {threshold}"
    return f"{start}, and loses most to {', then to '.join(named)}." if named else f"{start}; no error type costs any."


def _change(impact: pl.DataFrame, compared: Compared) -> list[str]:
    """Return a sentence about the type whose cost differs most between two models."""
    if not compared.is_pair:
        return []
    means = impact.filter(pl.col("category_id").is_null(), pl.col("error").is_in(KINDS))
    costs = means.group_by("error", maintain_order=True).agg(change=pl.col("delta_ap").last() - pl.col("delta_ap").first())
    costs = costs.filter(pl.col("change").abs() >= SEEN)
    if costs.is_empty():
        return []
    kind, change = costs.sort(pl.col("change").abs(), descending=True, maintain_order=True).row(0)
    word = "more" if change > 0 else "less"
    return [f"They differ most in {NOUNS[kind]}, which cost {compared.names[1]} {abs(change):.3f} AP {word}."]


def _by_kind(impact: pl.DataFrame, compared: Compared) -> Table:
    bars = error_marks(impact)
    of_each = [bars.filter(bar=name) for name in compared.names]
    kinds = of_each[0]["error"].to_list()
    costs = {f"cost {k}": each["delta_ap"] for k, each in enumerate(of_each)}
    counts = {f"errors {k}": each["n"] for k, each in enumerate(of_each)}
    frame = pl.DataFrame({"error type": of_each[0]["kind"], **counts, **costs})
    of = [f", {name}" * compared.is_pair for name in compared.names]
    heads = {f"errors {k}": f"errors{name}" for k, name in enumerate(of)}
    heads |= {f"cost {k}": f"AP lost{name}" for k, name in enumerate(of)}
    heads |= {"bars": legend(compared.names) if compared.is_pair else "AP lost"}
    marks = [
        type_marks(compared, [(name, kind, None, n) for kind, n in zip(kinds, each["n"], strict=True)])
        for name, each in zip(compared.names, of_each, strict=True)
    ]
    drawn = {"bars": bar_cells([*costs.values()], marks)}
    links = {f"errors {k}": each for k, each in enumerate(marks)}
    return Table(frame, f"Errors at {compared.threshold}, and AP that each type costs", heads, drawn=drawn, links=links)


def type_marks(compared: Compared, cells: Iterable[tuple[str, str, str | None, int | None]]) -> list[Mark | None]:
    """Return the errors behind cells: of a model and a type, in a category or in all, with their number."""
    marks = list[Mark | None]()
    for name, kind, category, n in cells:
        selection = {
            "model": name,
            **_SELECTED.get(kind, {"error": kind}),
            **({} if category is None else {"category": category}),
        }
        marks.append(Mark(selection, n) if n and name in compared.linked else None)
    return marks


def by_category(impact: pl.DataFrame, compared: Compared) -> list[Details]:
    """Return the cost and number of each type in each category; empty if there is at most one category."""
    rows = impact.filter(pl.col("category_id").is_not_null(), pl.col("error").is_in(KINDS))
    if rows["category_id"].n_unique() < 2:
        return []
    order = "the largest differences" if len(compared.names) > 1 else "the largest numbers"
    tables = [
        _with_marks(
            Table(_wide(rows, values, compared), f"{what} by category and type, {order} first", KIND_WORDS), values, compared
        )
        for values, what in (("delta_ap", "AP lost"), ("n", "Errors"))
    ]
    return [Details("By category", tables)]


def _with_marks(table: Table, values: str, compared: Compared) -> Table:
    """Add links to the counts of a table."""
    if values != "n":
        return table
    frame = table.frame if "model" in table.frame.columns else table.frame.with_columns(model=pl.lit(compared.names[0]))
    links = {
        kind: type_marks(
            compared, [(name, kind, category, n) for name, category, n in frame.select("model", "category", kind).rows()]
        )
        for kind in KINDS
        if kind in frame.columns
    }
    return replace(table, links=links)


def _wide(rows: pl.DataFrame, values: str, compared: Compared) -> pl.DataFrame:
    """Return a row for each category and model, a column for each type; categories by their largest number or difference."""
    several = len(compared.names) > 1
    spread = pl.col(values).max() - pl.col(values).min() if several else pl.col(values).max()
    largest = rows.group_by("category_id", "error").agg(spread=spread).group_by("category_id").agg(pl.col("spread").max())
    rows = rows.with_columns(compared.labels(rows["category_id"]).alias("category"), error=pl.col("error").cast(pl.String))
    rows = rows.join(largest, on="category_id")
    wide = rows.pivot("error", index=["category_id", "category", "model", "spread"], values=values, maintain_order=True)
    models = pl.DataFrame({"model": compared.names}).with_row_index("at")
    wide = wide.join(models, on="model").sort("spread", "category_id", "at", descending=[True, False, False], nulls_last=True)
    return wide.select("category", *(["model"] if several else []), *KINDS)
