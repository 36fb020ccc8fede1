"""Advice on next steps: at most five sentences, each with a number, its interval, and a link to its rows or section."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from apframe.compare.inference import SIGNIFICANT
from apframe.compare.standard_errors import n_needed
from apframe.evaluation.diagnose.error_kinds import KINDS
from apframe.evaluation.diagnose.gains import Gain, gain_of_kind, gain_of_slice
from apframe.exceptions import ParameterError
from apframe.protocols.headlines import less_is_better
from apframe.report.compared import Compared, doubtful_labels
from apframe.report.html_tables import NOTHING, score_text
from apframe.report.marks import Mark
from apframe.report.searched import RUN, Searched
from apframe.report.section import NextStep, Steps
from apframe.report.sections.by_slice import ENOUGH, of_categories
from apframe.report.sections.by_slice import KEY as WHERE
from apframe.report.sections.error_types import KEY as ERROR_TYPES
from apframe.report.sections.error_types import NOUNS, type_marks
from apframe.report.sections.history import KEY as HISTORY
from apframe.report.sections.label_candidates import KEY as LABELS
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.report.sections.score_threshold import KEY as THRESHOLD
from apframe.wording import counted, plural

if TYPE_CHECKING:
    from apframe.evaluation.slices.keys import SliceKey

_Worst: TypeAlias = "tuple[SliceKey | Sequence[SliceKey], Sequence[Any], str, Mark | None]"  # keys, values, words, rows
_MOST = 5
_SEEN = 0.001  # a difference or a gain that is worth a sentence
_MOST_TIMES = 100  # the largest multiple of the images that is suggested


def next_steps(subject: Compared | Searched) -> list[Steps]:
    """Return the next steps for the leading model or run: a list, empty if no number with an interval suggests any."""
    advice: Sequence[Callable[[Any], Iterator[NextStep]]] = _OF_MODELS if isinstance(subject, Compared) else _OF_RUNS
    steps = [step for advise in advice for step in _steps_of(advise, subject)]
    return [Steps(steps[:_MOST])] if steps else []


def _steps_of(advise: Callable[[Any], Iterator[NextStep]], subject: Compared | Searched) -> list[NextStep]:
    try:
        return [*advise(subject)]
    except ParameterError:  # the protocol has no such number
        return []


def _more_queries(searched: Searched) -> Iterator[NextStep]:
    """Suggest the number of queries that would decide which run is better."""
    if len(searched.names) > 1 and searched.plain:
        leader = searched.board.filter(measure=searched.measure)[RUN][0]
        rows = searched.differences.filter(measure=searched.measure)
        yield from _more(rows, searched.names[0], leader, searched.measure, "query", _first_section(searched))


def _more_images(compared: Compared) -> Iterator[NextStep]:
    """Suggest the number of images that would decide which model is better."""
    if len(compared.names) > 1:
        rows = compared.overall.filter(pl.col("metric") == compared.metric)
        yield from _more(rows, compared.names[0], compared.leading[0], compared.metric, "image", _first_section(compared))


def _more(rows: pl.DataFrame, first: str, leader: str, metric: str, unit: str, section: str) -> Iterator[NextStep]:
    """Suggest the number of units that would decide if the leader is better than the first or the next best one."""
    if leader != first:
        rows = rows.filter(pl.col("run_b") == leader)
    rows = rows.drop_nulls("p_holm").sort("estimate_b", descending=not less_is_better(metric)).head(1)
    for row in rows.iter_rows(named=True):
        difference = abs(row["difference"])
        if row["p_holm"] < SIGNIFICANT or difference < _SEEN:
            return
        n = n_needed(rows, difference)["n_needed"][0]
        if not row["n_units"] < n <= _MOST_TIMES * row["n_units"]:
            return
        yield NextStep(
            f"Test on more {plural(unit)}",
            section,
            f"about {_round(n):,} instead of {row['n_units']:,} would tell {row['difference']:+.3f} {metric} "
            f"for {row['run_b']} against {row['run_a']} (95 % CI {row['low']:+.3f} to {row['high']:+.3f}) from chance.",
        )


def _first_section(subject: Compared | Searched) -> str:
    return HISTORY if subject.history else COMPARISON


def _error_type(compared: Compared) -> Iterator[NextStep]:
    """Suggest the error type that costs most."""
    name, leading = compared.leading
    costs = compared.error_impact.filter(pl.col("model") == name, pl.col("category_id").is_null(), pl.col("error").is_in(KINDS))
    worst = costs.drop_nulls("delta_ap").sort("delta_ap", descending=True, maintain_order=True).head(1)
    for kind, n in worst.select("error", "n").iter_rows():
        gain, mark = gain_of_kind(leading, compared.iou_threshold, kind), type_marks(compared, [(name, kind, None, n)])[0]
        yield from _fix(f"Look at {NOUNS[kind]} first", "them", gain, mark or ERROR_TYPES, compared)


def _slice(compared: Compared) -> Iterator[NextStep]:
    """Suggest the category or the slice of images with the worst number, whichever costs more."""
    candidates = [*_worst_category(compared)]
    for key, (columns, rows) in zip(compared.by, compared.sliced, strict=True):
        for row, description in _worst(rows, compared, f"{compared.metric} by {', '.join(columns)}"):
            values, mark = row.select(columns).row(0), compared.slice_marks(row, {name: name for name in columns})[0]
            named = [f"{name} = {NOTHING if value is None else value}" for name, value in zip(columns, values, strict=True)]
            candidates.append((key, values, f"{', '.join(named)}, {description}", mark))
    _, leading = compared.leading
    gains = [(gain_of_slice(leading, compared.iou_threshold, *each[:2]), *each[2:]) for each in candidates]
    known_gains = [(gain, words, mark) for gain, words, mark in gains if gain is not None]
    if known_gains:
        gain, words, mark = max(known_gains, key=lambda each: each[0].rise)
        yield from _fix(f"Look at {words}", "its errors", gain, mark or WHERE, compared)


def _worst_category(compared: Compared) -> Iterator[_Worst]:
    rows, metric = of_categories(compared)
    for row, description in _worst(rows, compared, f"{metric} by category"):
        ids = row["category_id"]
        yield "category_id", [ids[0]], f"{compared.labels(ids)[0]}, {description}", compared.category_marks(ids)[0]


def _worst(rows: pl.DataFrame, compared: Compared, what: str) -> Iterator[tuple[pl.DataFrame, str]]:
    """Yield the row with the worst number of the leading model among rows with intervals, and a description of it.

    It yields nothing if there is no other row.
    """
    value, is_error = "estimate", less_is_better(compared.metric)
    if len(compared.names) > 1:
        value = "estimate_b" if compared.leader else "estimate_a"
        rows = rows.filter(pl.col("run_b") == compared.names[compared.leader or 1])
    with_intervals = rows.drop_nulls([value, "low"]).sort(value, descending=is_error, maintain_order=True)
    if with_intervals.height > 1:
        among = f" among those {ENOUGH}" * (with_intervals.height < rows.height)
        yield with_intervals.head(1), f"the {'highest' if is_error else 'lowest'} {what}{among}"


def _threshold(compared: Compared) -> Iterator[NextStep]:
    """Suggest the score threshold to set."""
    name, leading = compared.leading
    score = math.inf if compared.point is None else compared.point.best[compared.leader]
    if math.isinf(score):
        return
    row = leading.at(score, compared.iou_threshold).by(intervals=True).row(0, named=True)
    if row["f1_low"] is None:
        return
    f1, low, high, precision, recall = (f"{row[column]:.3f}" for column in ("f1", "f1_low", "f1_high", "precision", "recall"))
    reason = f"F1 is highest there, {f1} (95 % CI {low} to {high}), with precision {precision} and recall {recall}."
    yield NextStep(f"Set the score threshold of {name} to {score_text(score)}", THRESHOLD, reason)


def _labels(compared: Compared) -> Iterator[NextStep]:
    """Suggest checking the labels, with the share of counted annotations whose labels look wrong to the leading model."""
    import numpy as np

    from apframe.evaluation.diagnose.score_bins import wilson

    rows = compared.label_rows if len(compared.names) == 1 else doubtful_labels([compared.leading[1]], compared.iou_threshold)
    annotations = compared.first.dataset.core("annotations")
    is_own = pl.col("expanded_from").is_null() if "expanded_from" in annotations.columns else pl.lit(value=True)
    ids = annotations.filter(~pl.col("is_crowd"), is_own)["annotation_id"]
    n, n_missing = len(ids), rows.filter(kind="missing").height
    n_wrong = rows["annotation_id"].drop_nulls().unique().is_in(ids.implode()).sum()
    if not n_wrong:
        return
    low, high = (100 * float(end[0]) for end in wilson(np.array([n_wrong / n]), np.array([n])))
    more = f", and {counted(n_missing, 'object')} may have none" * (n_missing > 0)
    yield NextStep(
        "Check the labels",
        LABELS,
        f"{n_wrong:,} of {counted(n, 'annotation')} look{'s' * (n_wrong == 1)} wrong ({100 * n_wrong / n:.1f} %, "
        f"95 % CI {low:.1f} to {high:.1f} %){more}.",
    )


def _fix(action: str, what: str, gain: Gain, mark: Mark | str, compared: Compared) -> Iterator[NextStep]:
    """Yield the gain of fixing something, if it is worth a sentence."""
    if gain.low is None or gain.low <= 0 or gain.rise < _SEEN:
        return
    yield NextStep(
        action,
        mark,
        f"fixing {what} would raise AP of {compared.leading[0]} at {compared.threshold} by {gain.rise:.3f} "
        f"(95 % CI {gain.low:.3f} to {gain.high:.3f}).",
    )


def _round(n: int) -> int:
    """Round a number to two significant digits."""
    return int(float(f"{n:.1e}"))


_OF_MODELS = (_more_images, _error_type, _slice, _threshold, _labels)
_OF_RUNS = (_more_queries,)
