"""The C/W/L family equals cwl_eval: values of cwl-eval 1.0.12, called as `ir_measures.iter_calc([measure], qrels, run)`."""

from __future__ import annotations

import pytest

import apframe as apf

QRELS = {"p": {"a": 3, "b": 0, "c": 1, "d": 2, "e": -1}, "q": {"a": 1, "b": 2}, "r": {"a": 1}}
RUN = {"p": {"x": 9, "c": 8, "b": 7, "a": 6, "e": 5, "d": 4}, "q": {"b": 2, "a": 1}, "r": {"z": 1, "y": 2}}
# written max_rel there
VALUES = {
    "BPM(max_grade=3)@5": (0.333333333333, 0.5, 0),
    "BPM(T=2.0, max_grade=3)@5": (0.266666666667, 0.2, 0),
    "SDCG(max_grade=3)@5": (0.217397104754, 0.297435558427, 0),
    "SDCG(max_grade=2)@5": (0.25306148221, 0.446153337641, 0),
    "INSQ(max_grade=3)": (0.140763275373, 0.316341750441, 0),
    "INSQ(T=2.5, max_grade=4)": (0.107400126423, 0.122292733829, 0),
    "INST(max_grade=3)": (0.148418298869, 0.421230868162, 0),
    "INST(T=2.5, max_grade=4)": (0.116529484463, 0.137545370832, 0),
    "NERR8(max_grade=3)@5": (0.3, 0.388888888889, 0),
    "NERR9(max_grade=4)@5": (0.134493670886, 0.364372469636, 0),
    "NERR10(max_grade=3)": (0.268626110731, 0.247311827957, 0),
    "NERR10(p=0.8, max_grade=4)": (0.177332895744, 0.230769230769, 0),
    "NERR11(max_grade=3)": (0.148339801639, 0.511629151286, 0),
    "NERR11(T=2.5, max_grade=4)": (0.154617469609, 0.211280615543, 0),
}


@pytest.mark.parametrize("measure", VALUES)
def test_values_of_cwl_eval(measure: str) -> None:
    assert apf.evaluate_run(QRELS, RUN, measure).per_query["value"].to_list() == pytest.approx(VALUES[measure], abs=1e-11)


@pytest.mark.parametrize("measure", ["BPM@5", "SDCG@5", "INSQ", "INST", "NERR8@5", "NERR9@5", "NERR10", "NERR11"])
def test_the_best_grade_is_by_default_the_highest_judged(measure: str) -> None:
    name, at, k = measure.partition("@")
    both = apf.evaluate_run(QRELS, RUN, [measure, f"{name}(max_grade=3){at}{k}"])
    assert both.summary["value"].n_unique() == 1


def test_lists_are_looked_at_down_to_rank_1000() -> None:
    values = apf.evaluate_run(QRELS, RUN, "SDCG@1000 SDCG@1001").summary["value"].to_list()
    assert values[0] == values[1]


def test_names_of_ir_measures_are_read() -> None:
    assert str(apf.lists.as_measure("BPM(T=2.0,max_rel=3)@5")) == "BPM(T=2.0, max_grade=3)@5"
