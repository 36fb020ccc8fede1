"""Curves of ranked lists: worked tables, scikit-learn, ties, groups, thinning, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn import metrics

from apframe.exceptions import ColumnError, ParameterError, ScoreError
from apframe.lists.list_curves import pr_from_roc, precision_recall_curve, roc_curve, thin_curve, thin_roc
from apframe.lists.ranked_lists import Ties
from apframe.metrics.points import envelope

# a tie in the middle, an ignored item, one that was not retrieved
ITEMS = pl.DataFrame(
    {
        "relevant": [1, 0, 1, 0, None, 1, 1],
        "score": [0.9, 0.5, 0.5, 0.7, 0.1, 0.5, None],
        "junk": [False, False, False, True, False, None, False],
    }
)
scored = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)
grouped = st.lists(st.tuples(st.sampled_from(["b", "a", None]), st.booleans(), st.integers(0, 6)), max_size=40)
R = pl.col("relevant")
pr, roc = precision_recall_curve, roc_curve


def items_of(rows: list[Any], *keys: str) -> pl.DataFrame:
    schema = {**dict.fromkeys(keys, pl.String), "relevant": pl.Boolean, "score": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_point_per_score() -> None:
    expected = pl.DataFrame(
        {
            "rank": [1, 4, 5],
            "score": [0.9, 0.5, 0.1],
            "tp": [1, 3, 3],
            "fp": [0, 1, 2],
            "precision": [1.0, 3 / 4, 3 / 5],
            "recall": [1 / 4, 3 / 4, 3 / 4],
            "interpolated_precision": [1.0, 3 / 4, 3 / 5],
        }
    )
    for frame in (ITEMS, ITEMS.lazy(), ITEMS.to_arrow(), ITEMS.to_dict(as_series=False)):
        assert_frame_equal(precision_recall_curve(frame, n_positives=4, ignore="junk"), expected, check_exact=True)


@pytest.mark.parametrize(
    ("options", "tp"),
    [
        ({"ties": "input"}, [1, 1, 2, 3, 3]),
        ({"ties": "best"}, [1, 2, 3, 3, 3]),
        ({"ties": "worst"}, [1, 1, 2, 3, 3]),
        ({"ties": "input", "then_by": ("relevant", "desc")}, [1, 2, 3, 3, 3]),
    ],
)
def test_a_point_per_item(options: dict[str, Any], tp: list[int]) -> None:
    curve = precision_recall_curve(ITEMS, n_positives=4, ignore="junk", **options)
    assert curve["rank"].to_list() == [1, 2, 3, 4, 5]
    assert curve["tp"].to_list() == tp
    assert curve["precision"].to_list() == [k / n for n, k in enumerate(tp, 1)]
    assert curve["interpolated_precision"].to_list() == curve.select(envelope(pl.col("precision"))).to_series().to_list()


def test_null_relevance_is_no_positive_among_ties() -> None:
    items = {"relevant": [None, 1], "score": [0.5, 0.5]}
    assert precision_recall_curve(items, n_positives=1, ties="best")["tp"].to_list() == [1, 1]
    assert precision_recall_curve(items, n_positives=1, ties="worst")["tp"].to_list() == [0, 1]


def test_roc() -> None:
    curve = roc_curve(ITEMS, n_positives=4, n_negatives=2, ignore="junk")
    assert curve.columns == ["rank", "score", "tp", "fp", "true_positive_rate", "false_positive_rate"]
    assert curve.rows() == [(0, None, 0, 0, 0, 0), (1, 0.9, 1, 0, 0.25, 0), (4, 0.5, 3, 1, 0.75, 0.5), (5, 0.1, 3, 2, 0.75, 1)]


def test_recall_is_exact() -> None:
    curve = precision_recall_curve({"relevant": [1] * 10, "score": range(10)}, n_positives=10)
    assert curve["recall"].to_list() == [k / 10 for k in range(1, 11)]


def test_groups_in_order_of_appearance() -> None:
    """Keys may be null, or named as the library names things inside; n_positives is one value per group."""
    items = pl.DataFrame(
        {
            "group": ["b", "a", "b", None, "a", "no positives", "nothing retrieved"],
            "key": [1, 2, 1, 3, 2, 4, 5],
            "relevant": [1, 0, 0, 1, 1, 0, 1],
            "score": [0.1, 0.9, 0.8, 0.3, 0.2, 0.5, None],
            "n": [2, 1, 2, 1, 1, 0, 1],
        }
    )
    curve = precision_recall_curve(items, by=["group", "key"], n_positives="n")
    assert curve.columns[:3] == ["group", "key", "rank"]
    assert curve.select("group", "rank", "tp", "recall").rows() == [
        ("b", 1, 0, 0), ("b", 2, 1, 0.5), ("a", 1, 0, 0), ("a", 2, 1, 1), (None, 1, 1, 1), ("no positives", 1, 0, None),
    ]  # fmt: skip
    summed = precision_recall_curve(items, by="group", n_positives=R.sum())
    assert summed.filter(group="b")["recall"].to_list() == [0, 1]
    roc = roc_curve(items, by="group", n_positives="n", n_negatives=(R == 0).sum())
    assert roc.filter(rank=0)["group"].to_list() == ["b", "a", None, "no positives"]
    assert roc.filter(pl.col("group").is_null())["false_positive_rate"].to_list() == [None, None]


@pytest.mark.slow
@given(grouped)
def test_each_group_is_a_list_of_its_own(rows: list[Any]) -> None:
    items = items_of(rows, "key")
    together = precision_recall_curve(items, by="key", n_positives=R.sum() + 1)
    alone = [together.clear()]
    for part in items.partition_by("key", maintain_order=True):
        curve = precision_recall_curve(part, n_positives=R.sum() + 1)
        alone.append(curve.select(pl.lit(part["key"][0], pl.String).alias("key"), pl.all()))
    assert_frame_equal(together, pl.concat(alone), check_exact=True)


@pytest.mark.slow
@given(scored)
def test_grouped_ties_are_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    flags, scores = zip(*rows, strict=True)
    n, curve = sum(flags), precision_recall_curve(items_of(rows), n_positives=sum(flags))
    if n:
        precision, recall, thresholds = metrics.precision_recall_curve(flags, scores)
        # which goes the other way, and ends with a point (1, 0) of its own
        assert curve["score"].to_list() == thresholds[::-1].tolist()
        assert curve["precision"].to_list() == precision[-2::-1].tolist()
        assert curve["recall"].to_list() == recall[-2::-1].tolist()
    else:
        assert curve["recall"].null_count() == curve.height
    if 0 < n < len(rows):
        roc = roc_curve(items_of(rows), n_positives=n, n_negatives=len(rows) - n)
        fpr, tpr, thresholds = metrics.roc_curve(flags, scores, drop_intermediate=False)
        assert roc["score"].to_list() == [None, *thresholds[1:].tolist()]
        assert roc["true_positive_rate"].to_list() == tpr.tolist()
        assert roc["false_positive_rate"].to_list() == fpr.tolist()
        area = np.trapezoid(roc["true_positive_rate"], roc["false_positive_rate"])
        assert area == pytest.approx(metrics.roc_auc_score(flags, scores), abs=1e-12)


@pytest.mark.slow
@given(scored)
def test_tie_policies_bound_each_other(rows: list[tuple[bool, int]]) -> None:
    policies: list[Ties] = ["worst", "input", "best"]
    worst, given_order, best = (precision_recall_curve(items_of(rows), n_positives=50, ties=ties) for ties in policies)
    assert (worst["tp"] <= given_order["tp"]).all()
    assert (given_order["tp"] <= best["tp"]).all()
    ends = precision_recall_curve(items_of(rows), n_positives=50)  # where all agree
    for curve in (worst, given_order, best):
        columns = ["rank", "score", "tp", "fp", "precision", "recall"]
        assert_frame_equal(curve.join(ends, on="rank", how="semi").select(columns), ends.select(columns), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["group", "input", "best", "worst"])
@given(rows=grouped, missed=st.integers(0, 3))
def test_roc_and_precision_recall_have_the_same_points(ties: Ties, rows: list[Any], missed: int) -> None:
    numbers = {"n_positives": R.sum() + missed, "n_negatives": (~R).sum() + missed}
    items = items_of(rows, "key").with_columns(**{name: n.over("key") for name, n in numbers.items()})
    roc = roc_curve(items, by="key", ties=ties, n_positives="n_positives", n_negatives="n_negatives")
    counts = items.unique("key").select("key", "n_positives", "n_negatives")
    with_counts = roc.join(counts, on="key", how="left", nulls_equal=True, maintain_order="left")
    curve = pr_from_roc(with_counts, by="key", n_positives="n_positives", n_negatives="n_negatives").drop(counts.columns[1:])
    assert_frame_equal(curve, precision_recall_curve(items, by="key", ties=ties, n_positives="n_positives"), check_exact=True)


@given(
    grouped,
    st.integers(2, 12),
    st.sampled_from([("recall", "precision"), ("recall", "interpolated_precision"), ("precision", "recall")]),
)
def test_thinning_keeps_rows_among_them_first_and_last(rows: list[Any], most: int, axes: tuple[str, str]) -> None:
    full = precision_recall_curve(items_of(rows, "key"), by="key", n_positives=R.sum(), ties="input")
    thin = thin_curve(full, most, by="key", along=axes[0], across=axes[1])
    assert_frame_equal(thin, full.join(thin, on=["key", "rank"], how="semi", nulls_equal=True, maintain_order="left"))
    sizes = thin.group_by("key").len()["len"]
    assert (sizes <= most).all()
    for end in (pl.DataFrame.head, pl.DataFrame.tail):
        by = {"maintain_order": True}
        ends = (
            [end(part, 1) for part in full.partition_by("key", **by)],
            [end(part, 1) for part in thin.partition_by("key", **by)],
        )
        assert all(a.equals(b) for a, b in zip(*ends, strict=True))


def test_thinning_keeps_what_fits_and_the_extremes() -> None:
    rng = np.random.default_rng(0)
    flags = rng.random(5000) < 0.3
    items = pl.DataFrame({"relevant": flags, "score": rng.normal(size=5000) + flags})
    full = precision_recall_curve(items, n_positives=R.sum())
    assert precision_recall_curve(items, n_positives=R.sum(), max_points=full.height).equals(full)
    thin = precision_recall_curve(items, n_positives=R.sum(), max_points=100)
    assert 80 <= thin.height <= 100
    assert thin["precision"].min() == full["precision"].min()
    # every point that was left out lies within the precisions kept in its bin
    bins = (pl.col("recall") - full["recall"].min()) / (1 - full["recall"].min()) * 49  # type: ignore[operator]
    inner = full.slice(1, full.height - 2).with_columns(bin=bins.floor().clip(upper_bound=48))
    assert inner.group_by("bin").agg(pl.col("precision").max()).join(thin, on="precision", how="anti").is_empty()


@pytest.mark.slow
@given(scored, st.integers(4, 12))
def test_thinned_roc_stays_near(rows: list[tuple[bool, int]], half: int) -> None:
    items = items_of(rows)
    full = roc_curve(items, n_positives=R.sum(), n_negatives=(~R).sum(), ties="input")
    thin = roc_curve(items, n_positives=R.sum(), n_negatives=(~R).sum(), ties="input", max_points=2 * half)
    assert_frame_equal(thin, thin_roc(full, 2 * half))
    rates = ["true_positive_rate", "false_positive_rate"]
    if thin[rates[0]].null_count() == thin[rates[1]].null_count() == 0:
        distance = np.abs(full.select(rates).to_numpy()[:, None] - thin.select(rates).to_numpy()[None]).sum(2).min(1)
        assert distance.max() <= 4 / (2 * half - 2) + 1e-12


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pr(ITEMS, n_positives=1), ParameterError, "n_positives is smaller .* in 1 of 1 group "),
        (lambda: roc(ITEMS, n_positives=4, n_negatives=1), ParameterError, "n_negatives is smaller .*count all negatives"),
        (lambda: pr(ITEMS, "relevnt", n_positives=4), ColumnError, "no column relevnt; did you mean relevant"),
        (lambda: pr(ITEMS, by="model", n_positives=4), ColumnError, "no column model"),
        (lambda: pr(ITEMS, n_positives="n"), ColumnError, "no column n;"),
        (lambda: pr(ITEMS, by="score", n_positives=4), ParameterError, "score is already a column of the curve"),
        (lambda: pr(ITEMS, n_positives=4, ties="bets"), ParameterError, "did you mean best"),
        (lambda: pr(ITEMS, n_positives=4, then_by="junk"), ParameterError, 'needs ties="input"'),
        (lambda: pr(ITEMS, n_positives=4, max_points=1), ParameterError, "at least 2, not 1"),
        (lambda: roc(ITEMS.fill_null(float("nan")), n_positives=4, n_negatives=4), ScoreError, "score is NaN in row 7"),
        (lambda: pr_from_roc(ITEMS, n_positives=1, n_negatives=1), ColumnError, "no column true_positive_rate"),
    ],
)
def test_bad_input(make: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_no_rows() -> None:
    assert precision_recall_curve(ITEMS.clear(), n_positives=4, max_points=9).columns[:2] == ["rank", "score"]
    assert roc_curve(ITEMS.clear(), by="junk", n_positives=4, n_negatives=1, max_points=9).height == 0
