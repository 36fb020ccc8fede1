"""Agreement of runs query by query, and of leaderboards under two sets of judgements."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.resampling import draw_counts
from apframe.exceptions import IdTypeError, ParameterError

Nested = dict[str, dict[str, float]]


def ranked(*documents: str) -> dict[str, float]:
    return {document: float(-rank) for rank, document in enumerate(documents)}


QRELS: Nested = {"q": {"a": 1}, "r": {"a": 1}, "s": {"a": 1}}
RUNS: dict[str, Nested] = {
    "x": {"q": ranked("a", "b", "c"), "r": ranked("a", "b"), "unjudged": ranked("a")},
    "y": {"q": ranked("b", "a", "c"), "r": ranked("c", "d", "e"), "s": ranked("a")},
}


# ---- runs


def test_per_query() -> None:
    ev = apf.evaluate_run(QRELS, RUNS)
    table = ev.agreement(per_query=True, p=0.5)
    assert table.columns == ["run_a", "run_b", "query_id", "n_a", "n_b", "n_common", "tau_b", "tau_ap_b", "rbo"]
    # q: one pair of three is exchanged, at the top; overlaps 0, 1, 1. r: nothing in common. s: only y has it
    assert table.rows() == [
        ("x", "y", "q", 3, 3, 3, pytest.approx(1 / 3), pytest.approx(0), pytest.approx(0.5)),
        ("x", "y", "r", 2, 3, 0, None, None, 0),
    ]


def test_means_are_over_the_queries_with_a_value() -> None:
    ev = apf.evaluate_run(QRELS, RUNS)
    table = ev.agreement(p=0.5)
    assert table.columns == [
        "run_a", "run_b", "statistic", "estimate", "low", "high", "se", "bias", "n_units", "n_resamples", "method",
    ]  # fmt: skip
    assert table.select("statistic", "estimate", "n_units").rows() == [
        ("tau_b", pytest.approx(1 / 3), 1), ("tau_ap_b", pytest.approx(0), 1), ("rbo", pytest.approx(0.25), 2),
    ]  # fmt: skip


@pytest.mark.slow
def test_runs_without_a_query_in_common() -> None:
    ev = apf.evaluate_run(QRELS, RUNS | {"z": {"s": ranked("a", "b")}})
    table = ev.agreement("z", method="bootstrap", n_resamples=40)
    assert table.select("run_b", "statistic", "estimate", "n_units", "n_resamples").rows() == [
        ("x", "tau_b", None, 0, 0), ("x", "tau_ap_b", None, 0, 0), ("x", "rbo", None, 0, 0),
        ("y", "tau_b", None, 0, 0), ("y", "tau_ap_b", None, 0, 0), ("y", "rbo", 1.0, 1, 0),
    ]  # fmt: skip
    nothing = apf.evaluate_run(QRELS, {"x": RUNS["x"], "z": {"s": ranked("a")}}).agreement()
    assert nothing.select("n_units", "n_resamples", "method").rows() == [(0, None, "influence")] * 3


@pytest.mark.slow
def test_pairs() -> None:
    ev = apf.evaluate_run(QRELS, RUNS | {"w": RUNS["x"]})
    assert ev.agreement().select("run_a", "run_b").unique(maintain_order=True).rows() == [
        ("x", "y"), ("x", "w"), ("y", "w"),
    ]  # fmt: skip
    table = ev.agreement("w")
    assert table.select("run_a", "run_b").unique(maintain_order=True).rows() == [("w", "x"), ("w", "y")]
    assert table.filter(run_b="x")["estimate"].to_list() == pytest.approx([1, 1, 1])


@pytest.mark.slow
def test_lists_are_those_that_are_evaluated() -> None:
    qrels: Nested = {"q": {"a": 1, "b": 0, "c": -1}}
    tied = {"q": {"a": 0.5, "b": 0.5, "c": 0.9}}  # c b a, for b comes before a
    runs = {"x": tied, "y": {"q": ranked("c", "b", "a")}}
    names = ["n_a", "n_common", "tau_b", "rbo"]
    plain = apf.evaluate_run(qrels, runs).agreement(per_query=True)
    assert plain.select(names).row(0) == (3, 3, pytest.approx(2 / 6**0.5), pytest.approx(1))
    condensed = apf.evaluate_run(qrels, runs, unjudged="remove").agreement(per_query=True)
    assert condensed.select(names).row(0) == (2, 2, None, pytest.approx(1))
    for options in ({"depth": 2}, {}):
        limit = {} if options else {"max_documents": 2}
        cut = apf.evaluate_run(qrels, runs, **limit).agreement(per_query=True, **options)
        assert cut.select(names).row(0) == (2, 2, 1, pytest.approx(1))
    # scores that single precision cannot tell apart
    close = {"x": {"q": {"a": 0.5, "b": 0.5 + 1e-12}}, "y": {"q": ranked("b", "a")}}
    assert apf.evaluate_run(qrels, close).agreement(per_query=True)["tau_b"].item() == 1
    assert apf.evaluate_run(qrels, close, trec_eval=9).agreement(per_query=True)["tau_b"].item() is None


@pytest.mark.slow
def test_units_are_attributes_of_the_queries() -> None:
    names = [f"q{k:02}" for k in range(40)]
    qrels: Nested = {name: {"a": 1} for name in names}
    same, other = ranked("a", "b"), ranked("b", "a")
    runs = {"x": dict.fromkeys(names, same), "y": {name: same if k < 20 else other for k, name in enumerate(names)}}
    ev = apf.evaluate_run(qrels, runs, queries={"query_id": names, "half": [k < 20 for k in range(40)]})
    within = ev.agreement(within="half").filter(statistic="tau_b")
    assert within.select("estimate", "low", "high", "n_units").row(0) == pytest.approx((0, 0, 0, 40))
    freely = ev.agreement().filter(statistic="tau_b")
    assert freely["low"].item() < 0 < freely["high"].item()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 1}, "p is between 0 and 1, such as 0.9, not 1"),
        ({"depth": 0}, "depth is a whole number of at least 1, not 0"),
        ({"baseline": "z"}, "baseline: no run 'z'; there are x, y"),
        ({"unit": "user"}, "unit: pass evaluate_run a table with the attributes of the queries, queries="),
        ({"n_resamples": 0}, "n_resamples is a whole number of at least 1, not 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    ev = apf.evaluate_run(QRELS, RUNS)
    with pytest.raises(ParameterError) as error:
        ev.agreement(**options)
    assert str(error.value) == message


def test_one_run_alone() -> None:
    for runs, message in (
        (RUNS["x"], "agreement: only one run was evaluated; pass evaluate_run several"),
        ({"x": RUNS["x"]}, "a comparison needs two runs or more; there is 'x'"),
    ):
        with pytest.raises(ParameterError, match=message):
            apf.evaluate_run(QRELS, runs).agreement()


lists = st.lists(st.sampled_from("abcdef"), min_size=1, unique=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@given(st.lists(st.tuples(lists, lists), min_size=1, max_size=4), st.booleans())
def test_every_query_as_the_public_functions_have_it(pairs: list[tuple[list[str], list[str]]], whole_ids: bool) -> None:
    ids = [k if whole_ids else f"q{k}" for k in range(len(pairs))]
    qrels = pl.DataFrame({"query_id": ids, "document_id": "a", "relevance": 1})
    runs = {
        name: pl.DataFrame(
            [(query, document, -rank) for query, pair in zip(ids, pairs, strict=True) for rank, document in enumerate(pair[k])],
            schema=["query_id", "document_id", "score"], orient="row",
        )
        for k, name in enumerate("xy")
    }  # fmt: skip
    table = apf.evaluate_run(qrels, runs).agreement(per_query=True, p=0.7)
    assert table["query_id"].to_list() == ids
    for row, (a, b) in zip(table.iter_rows(named=True), pairs, strict=True):
        common = [document for document in a if document in b]
        scores = [[-each.index(document) for document in common] for each in (a, b)]
        assert row["tau_b"] == pytest.approx(apf.lists.kendall_tau(*scores))
        assert row["tau_ap_b"] == pytest.approx(apf.lists.tau_ap(*scores, variant="b"))
        assert row["rbo"] == pytest.approx(apf.lists.rank_biased_overlap(a, b, p=0.7))
        assert (row["n_a"], row["n_b"], row["n_common"]) == (len(a), len(b), len(common))


# ---- leaderboards


def evaluated(values: dict[str, list[float]], measure: str = "RR") -> apf.RunEvaluation:
    """An evaluation in which the runs have these values of RR: 1 over the rank of the relevant document."""
    n = len(next(iter(values.values())))
    qrels: Nested = {f"q{k:02}": {"good": 1} for k in range(n)}
    runs = {
        run: {f"q{k:02}": ranked(*[f"bad{j}" for j in range(round(1 / value) - 1)], "good") for k, value in enumerate(column)}
        for run, column in values.items()
    }
    return apf.evaluate_run(qrels, runs, measure)


@pytest.mark.slow
def test_leaderboards_by_hand() -> None:
    reference = evaluated({"a": [1, 1], "b": [1, 0.5], "c": [0.5, 0.5], "d": [0.5, 0.25]})
    other = evaluated({"a": [1, 0.5], "b": [1, 1], "c": [0.5, 0.5], "d": [0.25, 0.25]})
    table = apf.lists.leaderboard_agreement(reference, other, n_resamples=99, p=0.5)
    assert table.columns == [
        "measure", "statistic", "estimate", "low", "high", "se", "bias", "n_runs", "n_units", "n_resamples",
    ]  # fmt: skip
    # the best two are exchanged: 5 pairs of 6 are in order, the shares are 0/1, 2/2 and 3/3, the overlaps 0, 1, 1, 1
    assert table.select("measure", "statistic", "estimate", "n_runs", "n_units").rows() == [
        ("RR", "tau_b", pytest.approx(2 / 3), 4, 2),
        ("RR", "tau_ap_b", pytest.approx(1 / 3), 4, 2),
        ("RR", "rbo", pytest.approx(0.5), 4, 2),
    ]


@pytest.mark.slow
def test_the_draws_are_the_same_for_both() -> None:
    rng = np.random.default_rng(2)
    values = {name: (1 / rng.integers(1, 6, 30)).tolist() for name in "abcd"}
    ev = evaluated(values, "RR P@1 GMAP")
    same = apf.lists.leaderboard_agreement(ev, ev, n_resamples=200)
    assert same["measure"].unique(maintain_order=True).to_list() == ["RR", "P@1"]
    assert same["high"].to_list() == [1] * 6
    rr = same.filter(measure="RR")
    assert rr.select("estimate", "low", "se").rows() == [(pytest.approx(1), pytest.approx(1), pytest.approx(0))] * 3
    # of a draw in which all runs are equal tau_b has no value
    assert same["n_resamples"].max() == 200


@pytest.mark.slow
def test_the_interval_is_that_of_leaderboards_of_drawn_queries() -> None:
    rng = np.random.default_rng(4)
    columns = [{name: (1 / rng.integers(1, 4, 25)).tolist() for name in "abcde"} for _ in "xy"]
    reference, other = (evaluated(each) for each in columns)
    row = apf.lists.leaderboard_agreement(reference, other, n_resamples=300, seed=9).row(0, named=True)
    a, b = (np.array(list(each.values())) for each in columns)
    counts = np.concatenate([*draw_counts(25, 300, seed=9, size=300)])
    copies = [np.repeat(np.arange(25), times) for times in counts]
    taus = [apf.lists.kendall_tau(*(each[:, drawn].mean(axis=1).round(12) for each in (a, b))) for drawn in copies]
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(taus, [0.025, 0.975])))
    assert row["bias"] == pytest.approx(np.mean(taus) - row["estimate"])


def test_only_queries_of_both() -> None:
    values = {"a": [1, 1, 0.25], "b": [0.5, 1, 1]}
    reference, other = evaluated(values), evaluated({name: column[:2] for name, column in values.items()})
    table = apf.lists.leaderboard_agreement(reference, other, n_resamples=9)
    assert table.select("estimate", "n_units").row(0) == (1, 2)
    assert_frame_equal(apf.lists.leaderboard_agreement(other, reference, n_resamples=9), table)


ONE = {"a": [1.0, 0.5], "b": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("reference", "other", "message"),
    [
        (evaluated(ONE), evaluated(ONE | {"c": [1, 1]}), "only second has the runs 'c'; evaluate the same runs"),
        (evaluated({"a": [1]}), evaluated({"a": [1]}), "a leaderboard needs at least two runs; pass evaluate_run several runs"),
        (evaluated(ONE, "AP"), evaluated(ONE, "RR"), "no measure in common: first has 'AP'; second has 'RR'"),
        (
            evaluated(ONE), apf.evaluate_run({"z": {"a": 1}}, {"a": {"z": {"a": 1}}, "b": {"z": {"a": 1}}}, "RR"),
            "no query in common: first has 'q00', 'q01'; second has 'z'",
        ),
    ],
)  # fmt: skip
def test_leaderboards_that_cannot_be_compared(reference: apf.RunEvaluation, other: apf.RunEvaluation, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.lists.leaderboard_agreement(reference, other)
    assert str(error.value).startswith(message)


def test_ids_of_two_types() -> None:
    numbered = apf.evaluate_run({1: {1: 1}}, {"a": {1: {1: 1}}, "b": {1: {1: 1}}}, "RR")
    with pytest.raises(IdTypeError, match="query_id of first holds strings, not integers like second"):
        apf.lists.leaderboard_agreement(evaluated(ONE), numbered)
