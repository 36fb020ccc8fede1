"""Comparisons of evaluations for people: a compact table, and a sentence that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.compare.inference import SIGNIFICANT
from apframe.protocols.headlines import less_is_better
from apframe.show.interval_marks import best_first
from apframe.wording import counted, plural

P_OF = {"t": "paired t test", "randomisation": "randomisation test", "bootstrap": "bootstrap"}
"""The name of each test that p comes from."""
_LONGEST = 16  # characters of a name as the heading of a column
_MOST_NAMED = 3  # slices or categories in a sentence
_SEEN = 0.0005  # a difference that three digits show
_TINY = "less than 0.001"
_ROUNDING = 1 + 1e-6
MOST_IMAGES = 20
_COMPACT = ["difference", "low", "high"]


def compact_comparison(table: pl.DataFrame, keys: Sequence[str] = ()) -> pl.DataFrame:
    """Select the most informative columns of a table of `Evaluation.compare`, for the width of a terminal.

    Parameters
    ----------
    table
        differences from one evaluation, `run_a`
    keys
        the columns in front that name the slice or category of a row

    Returns
    -------
    The keys, metric, the numbers of both evaluations under their names (`a` and `b` if these are long), difference, low, high,
    p, and q if there are keys. For several evaluations, run and its value replace the two numbers, and p_holm replaces
    p. The p values are texts, see `p_texts`.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "estimate_a": .25, "estimate_b": .5, "difference": .25,
    ...        "low": .125, "high": .375, "p": .01, "p_holm": .01, "q": .01}
    >>> compact_comparison(pl.DataFrame([row])).to_dicts()
    [{'metric': 'AP', 'old': 0.25, 'new': 0.5, 'difference': 0.25, 'low': 0.125, 'high': 0.375, 'p': '0.010'}]
    """
    front, tests = [*keys, "metric"], ["p", "q"] if keys else ["p"]
    if table["run_b"].n_unique() > 1:
        values, tests = [pl.col("run_b").alias("run"), pl.col("estimate_b").alias("value")], ["p_holm"]
    else:
        values = [pl.col(f"estimate_{k}").alias(name) for k, name in zip("ab", names_of_columns(table, keys), strict=True)]
    return table.select(*front, *values, *_COMPACT, *(p_texts(table, test) for test in tests))


def names_of_columns(table: pl.DataFrame, keys: Sequence[str] = ()) -> tuple[str, str]:
    """Return headings for the numbers of the two evaluations: their names, or `a` and `b` if these are too long or taken."""
    names = [table[column][0] if table.height else column for column in ("run_a", "run_b")]
    used_names = {*keys, "metric", *_COMPACT, "p", "q"}
    fit = all(len(name) <= _LONGEST and name not in used_names for name in names)
    return (names[0], names[1]) if fit else ("a", "b")


def p_texts(table: pl.DataFrame, column: str = "p", digits: int = 3) -> pl.Series:
    """Return the p values of a column (p, p_holm or q) as texts.

    "≤" means that p is the lowest value that the resamples of the row allow, so the true one may be lower.

    >>> rows = {"p": [.49, .002, None], "p_holm": [.49, .004, None], "method": ["bootstrap"] * 3, "n_resamples": [999] * 3}
    >>> p_texts(pl.DataFrame(rows), "p_holm").to_list()
    ['0.490', '≤ 0.004', None]
    >>> p_texts(pl.DataFrame({"p": [.49, .00001]}), digits=4).to_list()
    ['0.4900', '< 0.0001']
    """
    return pl.Series(column, [_p_text(row, column, digits) for row in table.iter_rows(named=True)], dtype=pl.String)


def _p_text(row: dict[str, Any], column: str, digits: int = 3) -> str | None:
    p, n, least = row[column], row.get("n_resamples"), 10.0**-digits
    if p is None:
        return None
    sides = 2 if row.get("method") == "bootstrap" else 1  # a random exchange has no sides
    is_lowest = n is not None and row["p"] <= sides / (n + 1) * _ROUNDING
    return f"< {least:.{digits}f}" if p < least else f"{'≤ ' * is_lowest}{p:.{digits}f}"


def comparison_sentences(
    table: pl.DataFrame, keys: Sequence[str] = (), metric: str | None = None, unit: str = "image"
) -> list[str]:
    """Describe a metric of a table of `Evaluation.compare` in plain words, for each pair of evaluations.

    The metric is the first one of the table by default, and `unit` is the resampled unit. With keys, a sentence says how many
    slices or categories differ, before and after the correction for their number. Up to three are named.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": .008, "low": -.015, "high": .032, "p": .49,
    ...        "detectable": .033, "n_units": 300}
    >>> print(*comparison_sentences(pl.DataFrame([row])), sep="\\n")
    No significant difference in AP: +0.008 for new (95 % CI −0.015 to +0.032).
    With 300 images, differences below about 0.033 cannot be told from chance.
    """
    if table.is_empty():
        return []
    rows = table.filter(pl.col("metric") == (metric or table["metric"][0]))
    noun = unit.removesuffix("_id")
    if keys:
        pairs = rows.partition_by("run_a", "run_b", maintain_order=True)
        return [_of_rows(pair, keys, noun, is_one=len(pairs) == 1) for pair in pairs]
    return [sentence for row in rows.iter_rows(named=True) for sentence in difference_sentences(row, rows.height, noun)]


def without_intervals(table: pl.DataFrame, unit: str = "image") -> list[str]:
    """List the numbers without an interval, with a line for each reason.

    >>> rows = {"metric": ["AP", "APs"], "reason": [None, "annotations in fewer than 10 units"]}
    >>> without_intervals(pl.DataFrame(rows))
    ['No interval for APs: annotations in fewer than 10 images.']
    """
    rows = table.drop_nulls("reason").group_by("reason", maintain_order=True).agg(pl.col("metric").unique(maintain_order=True))
    noun = unit.removesuffix("_id")
    return [f"No interval for {', '.join(names)}: {reason_of({'reason': why}, noun)}." for why, names in rows.iter_rows()]


def interval_ends(table: pl.DataFrame) -> dict[str, str]:
    """Return the intervals of a table of `Evaluation.intervals` as texts behind the numbers, by metric.

    >>> interval_ends(pl.DataFrame({"metric": ["AP", "APs"], "low": [0.25, None], "high": [0.5, None]}))
    {'AP': ' [0.250, 0.500]', 'APs': ' [–]'}
    """
    rows = table.select("metric", "low", "high").iter_rows()
    return {name: " [–]" if low is None else f" [{low:.3f}, {high:.3f}]" for name, low, high in rows}


def interval_notes(table: pl.DataFrame) -> list[str]:
    """Describe the intervals of a table, and the numbers without one."""
    biased = table.filter(pl.col("bias") != 0, method="influence").height > 0
    around = " around the number less its bias, as AP of few images is too high" if biased else ""
    return [f"[from, to]: 95 % interval{around}", *without_intervals(table)]


def how_tested(table: pl.DataFrame, unit: str = "image") -> list[str]:
    """Describe how the intervals and p values of a table of `Evaluation.compare` were computed; empty without any.

    >>> row = {"metric": "AP", "method": "influence", "n_units": 300, "n_resamples": None, "p": 0.5}
    >>> how_tested(pl.DataFrame([row]))
    ['Test: t test on the influences of 300 images.']
    >>> how_tested(pl.DataFrame([row, row | {"metric": "NDS", "method": "bootstrap", "n_resamples": 1000}]), "video")
    ['Test: t test on the influences of 300 videos; for NDS, 1,000 resamples of them.']
    """
    table = table.drop_nulls("p")
    if table.is_empty():
        return []
    noun = unit.removesuffix("_id")
    n, drawn = table["n_units"].unique(), table.filter(pl.col("method") == "bootstrap")
    units = counted(n[0], noun) if len(n) == 1 else f"the {plural(noun)}"
    resamples = counted(drawn["n_resamples"].max() or 0, "resample")  # type: ignore[arg-type]
    if drawn.height == table.height:
        return [f"Test: {resamples} of {units}."]
    metrics = ", ".join(drawn["metric"].unique(maintain_order=True))
    return [f"Test: t test on the influences of {units}{f'; for {metrics}, {resamples} of them' * (drawn.height > 0)}."]


def compact_images(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the first images of a table of `Evaluation.compare(level="image")` per metric, and lines about the columns.

    >>> counts = {f"{count}_{name}": 1 for name in "ab" for count in ("tp", "fp", "fn")}
    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "image_id": 7, "file_name": "7.jpg"}
    >>> compact, lines = compact_images(pl.DataFrame([row | {"influence": 0.5, "share": 1.0} | counts]))
    >>> compact.columns
    ['image_id', 'file_name', 'influence', 'share', 'tp_a', 'fp_a', 'fn_a', 'tp_b', 'fp_b', 'fn_b']
    >>> print(lines[0])
    a: old, b: new. influence: of the image on the difference in AP; share: its part in the variance.
    """
    metrics = table["metric"].unique(maintain_order=True).to_list()
    shown = table.group_by("metric", maintain_order=True).head(MOST_IMAGES)
    named = [] if shown["file_name"].null_count() == shown.height else ["file_name"]
    counts = [f"{count}_{name}" for name in "ab" for count in ("tp", "fp", "fn")]
    compact = shown.select(*["metric"] * (len(metrics) > 1), "image_id", *named, "influence", "share", *counts)
    names = ", ".join(f"{name}: {table[f'run_{name}'][0]}" for name in "ab") if table.height else "no images"
    what = "of the image on the difference" + (f" in {metrics[0]}" if len(metrics) == 1 else "")
    lines = [f"{names}. influence: {what}; share: its part in the variance."]
    if table.height > shown.height:
        n = counted(table.height // len(metrics), "image")
        lines.append(f"The first {MOST_IMAGES} of {n}" + (" of each metric" if len(metrics) > 1 else "") + " are shown.")
    return compact, lines


def ranks_table(table: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Rank evaluations by a metric, the best first, with its interval, the chance that each leads, and its ranks.

    >>> numbers = {"estimate": .5, "low": .4, "high": .6, "share_best": .75, "rank_low": 1, "rank_high": 2}
    >>> ranks_table(pl.DataFrame([{"run": "new"} | numbers]), "AP").row(0)
    ('new', 0.5, 0.4, 0.6, 0.75, '1 to 2')
    """
    low, high = (pl.col(f"rank_{end}").cast(pl.String) for end in ("low", "high"))
    shown = pl.when(low == high).then(low).otherwise(pl.concat_str(low, pl.lit(" to "), high))
    return best_first(table, "estimate", metric).select(
        "run", pl.col("estimate").alias(metric), "low", "high", "share_best", ranks=shown
    )


def difference_sentences(row: dict[str, Any], n_pairs: int = 1, noun: str = "image") -> list[str]:
    """Describe a row of a comparison: a significant difference, or the smallest one that would be significant.

    With several pairs, a difference is significant if it is so after the correction for their number.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": -.021, "low": -.034, "high": -.008, "p": .002}
    >>> difference_sentences(row)
    ['new is worse by 0.021 AP (95 % CI 0.008 to 0.034, p = 0.002).']
    """
    a, b, metric, difference, low, high = (row[name] for name in ("run_a", "run_b", "metric", "difference", "low", "high"))
    if difference is None:
        return [f"{metric} of {a} and {b} cannot be compared: it has no value."]
    if low == high == 0:
        return [f"{b} and {a} have the same {metric}, also with other {plural(noun)} of the same kind."]
    if low is None:
        return [f"No interval for the difference in {metric}, {_signed(difference)} for {b}: {reason_of(row, noun)}."]
    p = str(_p_text(row, "p" if n_pairs == 1 else "p_holm"))
    test = f"p {p}" if p[0] in "<≤" else f"p = {p}"
    if n_pairs > 1:
        test += f", corrected for {n_pairs} comparisons"
    if low * high > 0 and low * difference > 0 and (n_pairs == 1 or row["p_holm"] < SIGNIFICANT):
        word = "better" if (difference < 0) == less_is_better(metric) else "worse"
        than = f" than {a}" if n_pairs > 1 else ""
        size = f"{abs(difference):.3f}" if abs(difference) >= _SEEN else _TINY
        least, most = sorted((abs(low), abs(high)))
        return [f"{b} is {word}{than} by {size} {metric} (95 % CI {least:.3f} to {most:.3f}, {test})."]
    ends = f"95 % CI {low:+.3f} to {high:+.3f}".replace("-", "−") + f", {test}" * (n_pairs > 1)
    n, detectable = row["n_units"], row["detectable"]  # null if there is one resample only
    chance = f"With {counted(n, noun)}, differences below about {detectable or 0:.3f} cannot be told from chance."
    verdict = f"No significant difference in {metric}: {_signed(difference)} for {b} ({ends})."
    return [verdict, chance] if detectable else [verdict]


def _signed(number: float) -> str:
    if 0 < abs(number) < _SEEN:
        return _TINY
    return f"{number:+.3f}".replace("-", "−") if number else "0.000"


def reason_of(row: dict[str, Any], noun: str = "image") -> str:
    """Return why a row has no interval, in words, from its column `reason` if it has one.

    >>> reason_of({"reason": "annotations in fewer than 10 units"}, "video")
    'annotations in fewer than 10 videos'
    """
    reason = row.get("reason")
    if reason is None:
        return f"too few {plural(noun)} have a value"
    return " ".join(plural(noun) if word == "units" else noun if word == "unit" else word for word in reason.split())


def _of_rows(rows: pl.DataFrame, keys: Sequence[str], unit: str, *, is_one: bool) -> str:
    """Count the rows of a pair with intervals that exclude 0, the rows left after the correction, and those without one."""
    noun = "category" if list(keys) in (["name"], ["category_id"]) else "row" if {"name", "category_id"} & {*keys} else "slice"
    metric = rows["metric"][0]
    named = metric if is_one else f"{metric} of {rows['run_b'][0]}"
    tested = rows.drop_nulls("p")
    those_apart = tested.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    apart = those_apart.height
    real = tested.filter(pl.col("q") < SIGNIFICANT).height
    untested = rows.filter(pl.col("p").is_null()).drop_nulls("difference")
    lacking = [reason_of(row, unit) for row in untested.iter_rows(named=True)]
    without = [f" {counted(lacking.count(why), noun)} without an interval: {why}." for why in dict.fromkeys(lacking)]
    if n := rows["difference"].null_count():
        without.append(f" {counted(n, noun)} without {metric}.")
    if tested.is_empty():
        return f"{named}:{''.join(without)}"
    if not apart:
        of = f"of the {noun} includes 0" if tested.height == 1 else f"includes 0 in all {counted(tested.height, noun)}"
        return f"{named}: the 95 % interval {of}.{''.join(without)}"
    values = ["/".join("–" if key is None else str(key) for key in row) for row in those_apart.select(*keys).iter_rows()]
    which = f" ({', '.join(values)})" * (apart <= _MOST_NAMED and tested.height > 1)
    differ = f"{named}: {apart} of {counted(tested.height, noun)}{which} {'differs' if apart == 1 else 'differ'}"
    remain = f"{real or 'none'} {'does' if real < 2 else 'do'} (q < {SIGNIFICANT:g})"
    corrected = f"after correcting for {counted(tested.height, 'comparison')}, {remain}"
    return f"{differ} by the 95 % interval; {corrected}.{''.join(without)}"
