"""Measures as if unjudged documents were non-relevant, and relevant: by hand, and by judging them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError

Nested = dict[str, dict[str, float]]


def by_query(ev: apf.RunEvaluation, measure: str) -> list[tuple[float | None, ...]]:
    table = ev.bounds(per_query=True).filter(measure=measure)
    return table.select("if_nonrelevant", "if_relevant", "n_unjudged").rows()


# the list a x b y: a relevant, b judged not relevant, x and y not judged; another relevant document is not retrieved
QRELS: Nested = {"q": {"a": 1, "b": 0, "c": 1}}
RUN: Nested = {"q": {"a": 4.0, "x": 3.0, "b": 2.0, "y": 1.0}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "nonrelevant", "relevant", "n_unjudged"),
    [
        ("P@2", 1 / 2, 2 / 2, 1),
        ("P@10", 1 / 10, 3 / 10, 2),
        ("RR", 1, 1, 2),
        ("Success@1", 1, 1, 0),
        ("R", 1 / 2, 3 / 4, 2),  # two more to be found, and found
        ("AP", 1 / 2, (1 + 2 / 2 + 3 / 4) / 4, 2),
        ("RBP(p=0.5)@4", 0.5, 0.5 + 0.25 + 0.0625, 2),
        ("RBP(p=0.5)@6", 0.5, 1 - 0.125 - 0.5**6, 2),  # and ranks 5 and 6, which are empty
        ("RBP(p=0.5)", 0.5, 1 - 0.125, 2),  # all but rank 3, which holds b
        ("Judged@2", 1, 1, 1),
        ("R@2", 1 / 2, 2 / 3, 1),  # y, at rank 4, does not count
        ("nDCG@2", 1 / (1 + 0.63093), 1, 1),
        ("P(judged_only=True)@2", 1 / 2, 1, 1),  # in both cases they are judged
    ],
)
def test_by_hand(measure: str, nonrelevant: float, relevant: float, n_unjudged: int) -> None:
    ev = apf.evaluate_run(QRELS, RUN, measure)
    ((first, second, count),) = by_query(ev, measure)
    assert (first, second, count) == (pytest.approx(nonrelevant, abs=1e-5), pytest.approx(relevant), n_unjudged)


@pytest.mark.slow
def test_more_relevant_documents_may_lower_average_precision() -> None:
    ev = apf.evaluate_run({"q": {"a": 1, "b": 0, "c": 0}}, {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "x": 1.0}}, "AP")
    assert by_query(ev, "AP") == [(1, pytest.approx((1 + 2 / 4) / 2), 1)]
    row = ev.bounds(n_resamples=9).row(0, named=True)
    assert row["residual"] == pytest.approx(-0.25)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
def test_the_highest_grade() -> None:
    # ERR with the highest grade of the judgements, 2, and of the measure; a level that no judgement reaches
    qrels: Nested = {"q": {"a": 2}, "r": {"b": 1}}
    run: Nested = {"q": {"x": 1.0}, "r": {"x": 1.0}}
    ev = apf.evaluate_run(qrels, run, "ERR ERR(max_grade=3) P(rel=4)@1 nDCG")
    for measure, value in {"ERR": 3 / 4, "ERR(max_grade=3)": 7 / 8, "P(rel=4)@1": 1.0}.items():
        assert by_query(ev, measure) == [(0, value, 1)] * 2
    ideal = 2 + 2 / 1.584962500721156
    assert [row[1] for row in by_query(ev, "nDCG")] == pytest.approx([2 / ideal, 2 / (2 + 1 / 1.584962500721156)])


@pytest.mark.slow
def test_documents_of_the_pool_are_unjudged() -> None:
    qrels: Nested = {"q": {"a": 1, "x": -1, "z": -1}}
    ev = apf.evaluate_run(qrels, {"q": {"x": 2.0, "a": 1.0}}, "P@2 RR infAP")
    assert by_query(ev, "P@2") == [(0.5, 1, 1)]
    assert by_query(ev, "RR") == [(0.5, 1, 1)]


@pytest.mark.slow
def test_the_options_of_the_evaluation_hold() -> None:
    # x has the flag ignore and takes no rank; the list ends after two documents; ties by document id, descending
    run = pl.DataFrame({"query_id": "q", "document_id": ["x", "u", "v", "a"], "score": [9.0, 5, 5, 1]})
    run = run.with_columns(ignore=pl.col("document_id") == "x")
    ev = apf.evaluate_run({"q": {"a": 1}, "r": {"a": 1}}, run, "P@3 RR RBP(p=0.5)@3", max_documents=2, missing="zero")
    assert by_query(ev, "P@3") == [(0, pytest.approx(2 / 3), 2), (0, 0, 0)]
    assert by_query(ev, "RBP(p=0.5)@3") == [(0, pytest.approx(0.875), 2), (0, 0, 0)]
    removed = apf.evaluate_run({"q": {"a": 1}}, run, "P@3", unjudged="remove")
    assert removed.summary["value"].item() == pytest.approx(1 / 3)
    assert by_query(removed, "P@3") == [(pytest.approx(1 / 3), 1, 2)]


@pytest.mark.slow
def test_a_query_with_one_value_alone_has_none() -> None:
    ev = apf.evaluate_run({"q": {"a": 0}, "r": {"a": 1}}, {"q": {"x": 1.0}, "r": {"a": 1.0}}, "AP", no_relevant="skip")
    assert by_query(ev, "AP") == [(None, None, 1), (1, 1, 0)]
    assert ev.bounds(n_resamples=9).select("if_nonrelevant", "if_relevant", "n_unjudged", "n_units").rows() == [(1, 1, 0, 1)]


@pytest.mark.slow
def test_means_of_several_runs() -> None:
    qrels: Nested = {f"q{k:02}": {"a": 1, "b": 0} for k in range(24)}
    runs: dict[str, Nested] = {
        "judged": {name: {"a": 2.0, "b": 1.0} for name in qrels},
        "half": {name: {"x" if k % 2 else "a": 2.0, "b": 1.0} for k, name in enumerate(qrels)},
    }
    ev = apf.evaluate_run(qrels, runs, "P@1 GMAP RR", queries={"query_id": [*qrels], "kind": [k % 2 for k in range(24)]})
    table = ev.bounds(method="bootstrap", n_resamples=400, seed=3)
    assert table.columns == [
        "run", "measure", "if_nonrelevant", "if_relevant", "residual", "low", "high", "n_unjudged", "n_units", "n_resamples",
        "method",
    ]  # fmt: skip
    assert table.drop("low", "high", "residual", "method").rows() == [
        ("judged", "P@1", 1, 1, 0, 24, 400), ("half", "P@1", 0.5, 1, 12, 24, 400),
        ("judged", "RR", 1, 1, 0, 24, 400), ("half", "RR", 0.5, 1, 12, 24, 400),
    ]  # fmt: skip
    for options in ({"method": "bootstrap", "n_resamples": 400, "seed": 3}, {}):
        table, means = ev.bounds(**options).filter(run="half"), ev.intervals(**options).filter(run="half")
        assert table["low"].to_list() == means["low"].to_list()
        assert table["method"].to_list() == means["method"].to_list()
    assert ev.bounds()["high"].to_list() == [1] * 4
    within = ev.bounds(n_resamples=99, within="kind")
    assert within.filter(run="half")["low"].to_list() == [0.5, 0.5]
    assert_frame_equal(
        ev.bounds(per_query=True).select("run", "query_id", "measure"),
        ev.per_query.filter(pl.col("measure") != "GMAP")[["run", "query_id", "measure"]],
    )


@pytest.mark.slow
def test_wrong_options() -> None:
    ev = apf.evaluate_run(QRELS, RUN, "AP")
    for options in ({"confidence": 2}, {"n_resamples": 0}, {"unit": "user"}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            ev.bounds(**options)
    with pytest.raises(ParameterError, match="not a plain mean"):
        apf.evaluate_run(QRELS, RUN, "GMAP").bounds()


grades = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1, 0, 1, 2]), min_size=1)
lists = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@given(st.lists(st.tuples(grades, lists), min_size=1, max_size=3), st.data())
def test_no_judgements_of_these_documents_are_outside(queries: list[tuple[dict[str, int], list[str]]], data: Any) -> None:
    qrels: Nested = {f"q{k}": {**judged} for k, (judged, _) in enumerate(queries)}
    run = {f"q{k}": {name: float(-rank) for rank, name in enumerate(ranked)} for k, (_, ranked) in enumerate(queries)}
    measures = "P@3 RR ERR(max_grade=2) RBP(p=0.5)@4 Success@2 P(rel=2)@2"
    bounds = apf.evaluate_run(qrels, run, measures).bounds(per_query=True)
    for name, ranked in run.items():
        for document in ranked:
            if qrels[name].get(document, -1) < 0:
                qrels[name][document] = data.draw(st.sampled_from([0, 1, 2]))
    judged = apf.evaluate_run(qrels, run, measures).per_query
    both = bounds.join(judged, on=["query_id", "measure"])
    assert both.height == bounds.height
    below, above = pl.col("value") < pl.col("if_nonrelevant") - 1e-12, pl.col("value") > pl.col("if_relevant") + 1e-12
    assert both.filter(below | above).is_empty()
