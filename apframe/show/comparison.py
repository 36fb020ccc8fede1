"""Comparisons of evaluations as people read them: a compact table, and what it says in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.protocols.headlines import less_is_better
from apframe.wording import counted

SIGNIFICANT = 0.05
P_OF = {"t": "paired t test", "randomisation": "randomisation test", "bootstrap": "bootstrap"}
"""Where p comes from, by test."""
_LONGEST = 16  # characters of a name as the heading of a column
_MOST_NAMED = 3  # slices or categories in a sentence
_SEEN = 0.0005  # a difference that three digits show
_COMPACT = ["difference", "low", "high"]


def compact_comparison(table: pl.DataFrame, keys: Sequence[str] = ()) -> pl.DataFrame:
    """The most telling columns of a table of `Evaluation.compare`, in the width of a terminal.

    Parameters
    ----------
    table
        differences from one evaluation, `run_a`
    keys
        the columns in front that say which slice or category a row is of

    Returns
    -------
    The keys, metric, the numbers of both evaluations under their names (`a` and `b` if these are long), difference, low, high,
    p, and q if there are keys. For several evaluations run and its value take the place of the two numbers, and p_holm that of
    p.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "estimate_a": .25, "estimate_b": .5, "difference": .25,
    ...        "low": .125, "high": .375, "p": .01, "p_holm": .01, "q": .01}
    >>> compact_comparison(pl.DataFrame([row])).to_dicts()
    [{'metric': 'AP', 'old': 0.25, 'new': 0.5, 'difference': 0.25, 'low': 0.125, 'high': 0.375, 'p': 0.01}]
    """
    front, last = [*keys, "metric"], ["q"] if keys else []
    if table["run_b"].n_unique() > 1:
        return table.select(*front, pl.col("run_b").alias("run"), pl.col("estimate_b").alias("value"), *_COMPACT, "p_holm")
    a, b = names_of_columns(table, keys)
    return table.select(*front, pl.col("estimate_a").alias(a), pl.col("estimate_b").alias(b), *_COMPACT, "p", *last)


def names_of_columns(table: pl.DataFrame, keys: Sequence[str] = ()) -> tuple[str, str]:
    """The headings of the numbers of the two evaluations: their names, or `a` and `b` if these do not do as headings."""
    names = [table[column][0] if table.height else column for column in ("run_a", "run_b")]
    taken = {*keys, "metric", *_COMPACT, "p", "q"}
    fit = all(len(name) <= _LONGEST and name not in taken for name in names)
    return (names[0], names[1]) if fit else ("a", "b")


def difference_sentence(row: dict[str, Any], n_pairs: int = 1, units: str = "images") -> str:
    """What a row of a comparison says, in plain words: whether there is a difference, of what size, and what could be seen.

    With several pairs, a difference is significant if it is so after the correction for their number.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": .008, "low": -.015, "high": .032, "p": .49,
    ...        "detectable": .033, "n_units": 300}
    >>> difference_sentence(row)
    'No significant difference in AP: +0.008 for new (95 % CI −0.015 to +0.032). With 300 images, differences below about \
0.033 cannot be told from chance.'
    >>> difference_sentence(row | {"difference": -.021, "low": -.034, "high": -.008, "p": .002})
    'new is worse by 0.021 AP (95 % CI 0.008 to 0.034).'
    """
    a, b, metric, difference, low, high = (row[name] for name in ("run_a", "run_b", "metric", "difference", "low", "high"))
    if difference is None:
        return f"{metric} of {a} and {b} cannot be compared: it has no value."
    if low == high == 0:
        return f"{b} and {a} have the same {metric}, on all {units}."
    than, against = (f" than {a}", f" against {a}") if n_pairs > 1 else ("", "")
    if low is None:
        return f"{metric} differs by {_signed(difference)} for {b}{against}; there are too few {units} for an interval."
    corrected = f"; p = {row['p_holm']:.2g}, corrected for {n_pairs} comparisons" if n_pairs > 1 else ""
    if low <= 0 <= high or (n_pairs > 1 and row["p_holm"] >= SIGNIFICANT):
        ends = f"{_signed(low)} to {_signed(high)}"
        seen = f"With {row['n_units']:,} {units}, differences below about {row['detectable']:.3f} cannot be told from chance."
        return (
            f"No significant difference in {metric}: {_signed(difference)} for {b}{against} (95 % CI {ends}{corrected}). {seen}"
        )
    word = "better" if (difference < 0) == less_is_better(metric) else "worse"
    size = f"{abs(difference):.3f}" if abs(difference) >= _SEEN else "less than 0.001"
    least, most = sorted((abs(low), abs(high)))
    return f"{b} is {word}{than} by {size} {metric} (95 % CI {least:.3f} to {most:.3f}{corrected})."


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("-", "−")


def comparison_sentences(
    table: pl.DataFrame, keys: Sequence[str] = (), metric: str | None = None, units: str = "images"
) -> list[str]:
    """What a metric of a table of `Evaluation.compare` says, in plain words, for each pair of evaluations.

    The metric is the first one of the table by default. With keys, a sentence says how many slices or categories differ,
    before and after the correction for their number. Up to three are named.

    >>> row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": .008, "low": -.015, "high": .032, "p": .49,
    ...        "detectable": .033}
    >>> print(*comparison_sentences(pl.DataFrame([row])), sep="\\n")
    new is better than old by 0.008 AP, but the 95 % interval -0.015 to 0.032 includes 0.
    This set can detect a difference of 0.033.
    """
    if table.is_empty():
        return []
    rows = table.filter(pl.col("metric") == (metric or table["metric"][0]))
    if keys:
        pairs = rows.partition_by("run_a", "run_b", maintain_order=True)
        return [_of_rows(pair, keys, units, is_one=len(pairs) == 1) for pair in pairs]
    return [sentence for row in rows.iter_rows(named=True) for sentence in _of_pair(row, rows.height)]


def p_texts(table: pl.DataFrame, name: str = "p", digits: int = 4) -> pl.Series:
    """The p values of a column of a comparison as people read them: "≤" if no resamples could give a smaller p.

    >>> table = pl.DataFrame({"p": [0.0002, 0.5, 1e-9], "method": "bootstrap", "n_resamples": [9999, 9999, None]})
    >>> p_texts(table).to_list()
    ['≤ 0.0002', '0.5000', '< 0.0001']
    """
    sides = pl.when(pl.col("method") == "bootstrap").then(2).otherwise(1)
    is_lowest = pl.col("p") < (sides + 0.5) / (pl.col("n_resamples") + 1)
    rows = table.select(pl.col(name).alias("p"), is_lowest=is_lowest.fill_null(False)).rows()
    least = 10.0**-digits

    def text(p: float | None, is_lowest: bool) -> str | None:
        if p is None:
            return None
        return f"< {least:.{digits}f}" if p < least / 2 else f"{'≤ ' if is_lowest else ''}{p:.{digits}f}"

    return pl.Series(name, [text(*row) for row in rows], pl.String)


def ranks_table(table: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Several evaluations by a metric, the best first: its interval, the share of resamples in which each leads, and its ranks.

    >>> numbers = {"estimate": .5, "low": .4, "high": .6, "share_best": .75, "rank_low": 1, "rank_high": 2}
    >>> ranks_table(pl.DataFrame([{"run": "new"} | numbers]), "AP").row(0)
    ('new', 0.5, 0.4, 0.6, 0.75, '1 to 2')
    """
    low, high = (pl.col(f"rank_{end}").cast(pl.String) for end in ("low", "high"))
    shown = pl.when(low == high).then(low).otherwise(pl.concat_str(low, pl.lit(" to "), high))
    table = table.sort("estimate", descending=not less_is_better(metric), nulls_last=True, maintain_order=True)
    return table.select("run", pl.col("estimate").alias(metric), "low", "high", "share_best", ranks=shown)


def _of_pair(row: dict[str, Any], n_pairs: int) -> list[str]:
    a, b, metric, difference, low, high = (row[name] for name in ("run_a", "run_b", "metric", "difference", "low", "high"))
    if difference is None:
        return [f"{metric} of {a} and {b} cannot be compared: it has no value."]
    if low == high == 0:
        return [f"{b} and {a} have the same {metric} in every resample."]
    word = "better" if (difference < 0) == less_is_better(metric) else "worse"
    size = f"{abs(difference):.3f}" if abs(difference) >= _SEEN else "less than 0.001"
    differs = f"{b} is {word} than {a} by {size} {metric}"
    if difference == 0:
        differs = f"{b} and {a} have the same {metric}"
    if low is None:
        return [f"{differs}; too few images have a value for an interval."]
    level, ends = "95 % interval", f"{low:.3f} to {high:.3f}"
    n = row["detectable"]  # null if there is one resample only
    detectable = [] if n is None else [f"This set can detect a difference of {n:.3f}."]
    if difference == 0:
        return [f"{differs}; the {level} of the difference is {ends}.", *detectable]
    if low <= 0 <= high:
        return [f"{differs}, but the {level} {ends} includes 0.", *detectable]
    p = f"p = {row['p']:.2g}" if n_pairs == 1 else f"p = {row['p_holm']:.2g}, corrected for {n_pairs} comparisons"
    return [f"{differs}: the {level} {ends} excludes 0 ({p})."]


def _of_rows(rows: pl.DataFrame, keys: Sequence[str], units: str, *, is_one: bool) -> str:
    """How many rows of a pair of evaluations have an interval without 0, how many remain after the correction, or have none."""
    noun = "category" if list(keys) in (["name"], ["category_id"]) else "row" if {"name", "category_id"} & {*keys} else "slice"
    named = rows["metric"][0] if is_one else f"{rows['metric'][0]} of {rows['run_b'][0]}"
    tested = rows.drop_nulls("p")
    those_apart = tested.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    apart = those_apart.height
    real = tested.filter(pl.col("q") < SIGNIFICANT).height
    n_valued = rows["difference"].count()
    lacks = (
        (f"too few {units} for an interval", n_valued - tested.height),
        (f"no {rows['metric'][0]}", rows.height - n_valued),
    )
    without = "".join(f" {counted(n, noun)} {'has' if n == 1 else 'have'} {what}." for what, n in lacks if n)
    if tested.is_empty():
        return f"{named}:{without}"
    if not apart:
        of = f"of the {noun} includes 0" if tested.height == 1 else f"includes 0 in all {counted(tested.height, noun)}"
        return f"{named}: the 95 % interval {of}.{without}"
    values = ["/".join("–" if key is None else str(key) for key in row) for row in those_apart.select(*keys).iter_rows()]
    which = f" ({', '.join(values)})" * (apart <= _MOST_NAMED and tested.height > 1)
    differ = f"{named}: {apart} of {counted(tested.height, noun)}{which} {'differs' if apart == 1 else 'differ'}"
    remain = f"{real or 'none'} {'does' if real < 2 else 'do'} (q < {SIGNIFICANT:g})"
    corrected = f"after correcting for {counted(tested.height, 'comparison')}, {remain}"
    return f"{differ} by the 95 % interval; {corrected}.{without}"
