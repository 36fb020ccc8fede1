"""Documents with the id of their query: kept, removed, or kept with a warning."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import OwnDocumentWarning, ParameterError
from apframe.report.searched import Searched, merge_runs
from apframe.report.sections.queries import coverage
from apframe.report.sections.search import rules

# arguments that are searched for among arguments: each finds itself first
QRELS = {"a": {"b": 1}, "c": {"d": 1}}
RUN = {"a": {"a": 0.9, "b": 0.8}, "c": {"c": 0.9, "a": 0.8, "d": 0.7}}


def values(evaluation: apf.RunEvaluation) -> list[float]:
    return evaluation.per_query["value"].to_list()


def warned(qrels: Any, run: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        apf.evaluate_run(qrels, run, "RR", **options)
    assert all(each.category is OwnDocumentWarning and each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


def test_removed_documents_take_no_rank() -> None:
    assert values(apf.evaluate_run(QRELS, RUN, "RR", own_document="keep")) == [1 / 2, 1 / 3]
    ev = apf.evaluate_run(QRELS, RUN, "RR", own_document="remove")
    assert values(ev) == [1, 1 / 2]
    assert values(ev) == values(apf.evaluate_run(QRELS, {"a": {"b": 0.8}, "c": {"a": 0.8, "d": 0.7}}, "RR"))
    assert ev.runs[None].filter("ignore").select("query_id", "document_id").rows() == [("a", "a"), ("c", "c")]


def test_other_ignored_documents_stay_ignored() -> None:
    flagged = pl.DataFrame({"query_id": ["a"] * 3, "document_id": ["a", "x", "b"], "score": [3, 2, 1], "ignore": [0, 1, 0]})
    run = flagged.with_columns(pl.col("ignore").cast(pl.Boolean))
    assert values(apf.evaluate_run(QRELS, run, "RR", own_document="remove")) == [1]


def test_a_query_that_found_itself_alone_is_not_missing() -> None:
    ev = apf.evaluate_run(QRELS, {"a": {"a": 0.9}, "c": {"d": 0.9}}, "RR", own_document="remove")
    assert (values(ev), ev.coverage["n_missing"].item()) == ([0, 1], 0)


def test_ids_of_two_types_are_compared_as_text() -> None:
    qrels, run = {1: {"b": 1}}, {1: {"1": 0.9, "b": 0.8}}
    assert values(apf.evaluate_run(qrels, run, "RR", own_document="remove")) == [1]
    assert len(warned(qrels, run)) == 1


@pytest.mark.slow
def test_all_that_follows_leaves_them_out(tmp_path: Path) -> None:
    ev = apf.evaluate_run(QRELS, RUN, "P@2", own_document="remove")
    ev.write_parquet(tmp_path / "run")
    for each in (ev, apf.read_run_evaluation(tmp_path / "run")):
        assert each.options["own_document"] == "remove"
        assert each.bounds(per_query=True).select("if_nonrelevant", "if_relevant").rows() == [(0.5, 0.5), (0.5, 1.0)]
        assert str(each).splitlines()[-1] == "documents with the same id as their query were removed"
        searched = Searched(*merge_runs([each], ["new"]))
        assert searched.judged_documents.row(0)[:3] == ("new", 3, 2 / 3)
        assert coverage(searched).sentences[-1] == "Documents with the same id as their query were removed."
        assert "Documents with the same id as their query are removed before." in str(rules(searched))


@pytest.mark.slow
def test_queries_that_find_themselves_are_a_warning() -> None:
    message = (
        "the run: 2 of 2 queries retrieved a document with their own id among the first 10, such as 'a'; if that is "
        'the query itself, remove it with own_document="remove"; otherwise choose own_document="keep"'
    )
    assert warned(QRELS, RUN) == [message]
    assert warned(QRELS, {"old": RUN, "new": {"a": {"b": 1}, "c": {"c": 1, "d": 0}}}) == [
        message.replace("the run", "run 'old'"),
        message.replace("the run: 2", "run 'new': 1").replace("with their own", "with its own").replace("'a'", "'c'"),
    ]
    assert warned(QRELS, RUN, own_document="keep") == warned(QRELS, RUN, own_document="remove") == []


def test_judged_documents_are_no_sign() -> None:
    assert warned({"a": {"a": 1}, "c": {"c": 0}}, RUN) == []
    assert len(warned({"a": {"a": 1, "b": 1}, "c": {"c": -1, "d": 1}}, RUN)) == 1  # -1: in the pool, not judged


@pytest.mark.parametrize(("rank", "n"), [(10, 1), (11, 0)])
def test_only_the_first_ten_are_looked_at(rank: int, n: int) -> None:
    run = {"a": {f"d{k}": -k for k in range(1, 20)} | {"a": 0.5 - rank}}
    assert len(warned({"a": {"d1": 1}}, run)) == n


@pytest.mark.parametrize(("n_queries", "n"), [(10, 1), (11, 0)])
def test_one_query_of_many_is_chance(n_queries: int, n: int) -> None:
    names = [f"q{k}" for k in range(n_queries)]
    run = {name: {"d": 1.0} for name in names} | {"q0": {"q0": 1.0, "d": 0.5}}
    assert len(warned({name: {"d": 1} for name in names}, run)) == n


def test_ignored_documents_are_no_sign() -> None:
    run = pl.DataFrame({"query_id": ["a", "a"], "document_id": ["a", "b"], "score": [2, 1], "ignore": [True, False]})
    assert warned({"a": {"b": 1}}, run) == []


def test_bad_options() -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, RUN, own_document="drop")
    assert str(error.value) == 'own_document is "keep" or "remove", not \'drop\''
