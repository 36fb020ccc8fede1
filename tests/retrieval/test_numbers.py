"""Means by the names of their measures: one number, and all of them as a dict."""

from __future__ import annotations

from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import ParameterError

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2, "b": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.8}, "q2": {"a": 0.9, "b": 0.8}}
BEST = {"q1": {"a": 0.9}, "q2": {"a": 0.9, "b": 0.8}}


@pytest.mark.parametrize("name", ["AP(rel=2)@10", "ap(rel=2)@10", apf.lists.Measure("AP", 10, (("rel", 2),))])
def test_a_number_by_any_name_of_its_measure(name: Any) -> None:
    ev = apf.evaluate_run(QRELS, RUN, "RR P@1 AP(rel=2)@10")
    assert (ev["RR"], ev["recip_rank"], ev["P_1"], ev[name]) == (0.75, 0.75, 0.5, 0.5)


def test_case_tells_rbp_of_trec_eval_from_that_of_its_paper() -> None:
    ev = apf.evaluate_run(QRELS, RUN, "RBP rbp")
    assert ev["RBP"] == pytest.approx((0.2 * 0.8 + 0.36) / 2)
    assert ev["rbp"] == pytest.approx((0.1 * 0.9 + 0.19) / 2)


def test_the_dict_has_all_measures_in_their_order() -> None:
    ev = apf.evaluate_run(QRELS, RUN, "RR P@1 NumRel")
    assert list(ev.to_dict().items()) == [("RR", 0.75), ("P@1", 0.5), ("NumRel", 3.0)]
    assert ev.to_dict("val/") == {"val/RR": 0.75, "val/P@1": 0.5, "val/NumRel": 3.0}


def test_several_runs_are_named_after_the_measure() -> None:
    ev = apf.evaluate_run(QRELS, {"old": RUN, "new": BEST}, "RR P@1")
    assert ev.to_dict() == {"RR/old": 0.75, "P@1/old": 0.5, "RR/new": 1.0, "P@1/new": 1.0}
    assert (ev["RR/old"], ev["recip_rank/new"]) == (0.75, 1.0)


def test_the_name_of_the_only_run_may_follow() -> None:
    ev = apf.evaluate_run(QRELS, {"new": BEST}, "RR")
    assert ev.to_dict() == {"RR": 1.0}
    assert (ev["RR"], ev["RR/new"], ev["recip_rank/new"]) == (1.0, 1.0, 1.0)
    with pytest.raises(ParameterError, match=r"^no measure 'RR/old'; there are RR$"):
        ev["RR/old"]


def test_no_query_has_a_value() -> None:
    ev = apf.evaluate_run({"q1": {"a": 0}}, {"q1": {"a": 0.9}}, "AP NumRet", no_relevant="skip")
    assert ev["AP"] is None
    assert ev.to_dict() == {"NumRet": 1.0}


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        (RUN, "nDGC@10", "no measure 'nDGC@10'; did you mean nDCG@10?"),
        (RUN, "P@7", "no measure 'P@7'; did you mean P@5?"),
        (RUN, "Bpref", "no measure 'Bpref'; there are AP, nDCG@10, P@5"),
        (RUN, 7, "no measure '7'; there are AP, nDCG@10, P@5"),
        ({"old": RUN, "new": BEST}, "AP", "no measure 'AP'; did you mean AP/old, AP/new?"),
        ({"old": RUN, "new": BEST}, "P@5/nwe", "no measure 'P@5/nwe'; did you mean P@5/new?"),
    ],
)
def test_measures_that_are_not_there(run: Any, name: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, run, "AP nDCG@10 P@5")[name]
    assert str(error.value) == message
