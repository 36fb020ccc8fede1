"""Any table as Markdown and LaTeX."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
TABLE = {"name": ["a|b", "c\nd"], "n": [1000, 2], "AP": [0.25, None], "low": [1e-9, 12.0], "tags": [["x"], []]}


def test_markdown() -> None:
    expected = [
        "| name |    n |   AP |   low | tags  |",
        "|:-----|-----:|-----:|------:|:------|",
        "| a\\|b | 1000 | 0.25 |  0.00 | ['x'] |",
        "| c\\nd |    2 |    – | 12.00 | []    |",
    ]
    frame = pl.DataFrame(TABLE)
    assert apf.to_markdown(frame, digits=2).splitlines() == expected
    assert apf.to_markdown(TABLE, 2) == apf.to_markdown(frame.lazy(), 2) == apf.to_markdown(frame, 2)
    assert apf.to_markdown(pd.DataFrame({"AP": [0.5]})) == "|    AP |\n|------:|\n| 0.500 |"
    assert apf.to_markdown(pl.DataFrame({"AP": []})) == "| AP  |\n|:----|"


def test_latex() -> None:
    lines = apf.to_latex({"50% & more_": [r"\x^~{}#$", None], "AP": [0.5, None], "p": [1e-9, 1.0]}, digits=1).splitlines()
    assert lines == [
        r"\begin{tabular}{lrr}", r"\toprule", r"50\% \& more\_ & AP & p \\", r"\midrule",
        r"\textbackslash{}x\textasciicircum{}\textasciitilde{}\{\}\#\$ & 0.5 & 0.0 \\", r"-- & -- & 1.0 \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def test_bounds_are_numbers() -> None:
    bounds = {"p": ["≤ 0.002", "< 0.001", "0.490"]}
    assert apf.to_markdown(bounds).splitlines()[1] == "|--------:|"
    assert apf.to_latex(bounds).splitlines()[4:7] == [r"$\leq$ 0.002 \\", r"\textless{} 0.001 \\", r"0.490 \\"]


@pytest.mark.slow
def test_results_have_their_headline_numbers() -> None:
    street_evaluation = apf.evaluate(DATA / "street" / "instances.json", DATA / "street" / "model_a.json")
    assert street_evaluation.to_markdown() == apf.to_markdown(street_evaluation.summary)
    assert street_evaluation.to_latex(digits=1) == apf.to_latex(street_evaluation.summary, 1)
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 0}}
    runs = {"old": {"q": {"a": 1, "b": 2}}, "new_1": {"q": {"a": 1}, "r": {"a": 1}}}
    evaluation = apf.evaluate_run(qrels, runs, "AP NumRet")
    assert evaluation.to_markdown().splitlines() == [
        "| measure |    old |  new_1 |", "|:--------|-------:|-------:|",
        "| AP      | 0.5000 | 0.5000 |", "| NumRet  |      2 |      2 |",
    ]  # fmt: skip
    assert r"measure & old & new\_1 \\" in evaluation.to_latex()
