"""The same numbers as trec_eval: its own example with what both versions print, generated runs through pytrec_eval (which is
version 9), and by hand or by a loop what trec_eval does not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import pytrec_eval
from hypothesis import assume, given
from hypothesis import strategies as st

import apframe as apf

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "trec"
NAMES = {
    "map": "AP", "Rprec": "Rprec", "bpref": "Bpref", "recip_rank": "RR", "infAP": "infAP", "11pt_avg": "AP11", "ndcg": "nDCG",
    "set_P": "SetP", "set_recall": "SetR", "set_map": "SetAP", "set_F": "SetF", "gm_map": "GMAP", "rbp": "RBP(p=0.9)",
    "set_relative_P": "SetP(relative=True)", "gm_bpref": "GMBpref", "num_q": "NumQ", "num_ret": "NumRet", "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
}  # fmt: skip
AT = {"ndcg_cut": "nDCG", "map_cut": "AP", "P": "P", "recall": "R", "success": "Success", "iprec_at_recall": "IPrec"}
Values = dict[tuple[str, str], float]  # of a query and a measure


def as_apframe(name: str) -> str | None:
    """The name of a measure of trec_eval; None where apframe has no such measure."""
    start, _, cutoff = name.rpartition("_")
    return f"{AT[start]}@{float(cutoff):g}" if start in AT else NAMES.get(name)


def per_query(evaluation: apf.RunEvaluation) -> Values:
    return {(query, measure): value for query, measure, value in evaluation.per_query.iter_rows()}


def summary(evaluation: apf.RunEvaluation) -> dict[str, float]:
    return dict(evaluation.summary.select("measure", "value").iter_rows())


# ---- trec_eval's own example


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="trec_eval's example is not there")
@pytest.mark.parametrize(("version", "n_numbers"), [(9, 65 * 4 + 3), (10, 66 * 4 + 3)])
def test_what_trec_eval_prints(version: int, n_numbers: int) -> None:
    lines = (EXAMPLE / f"expected_trec_eval_{version}.txt").read_text().splitlines()
    # the names as trec_eval prints them mean what it prints
    rows = [(name, query, text) for name, query, text in (line.split() for line in lines) if as_apframe(name)]
    assert {name: str(apf.lists.as_measure(name)) for name, _, _ in rows} == {name: as_apframe(name) for name, _, _ in rows}
    printed = {(query, as_apframe(name)): text for name, query, text in rows}
    measures = list(dict.fromkeys(name for name, _, _ in rows))
    evaluation = apf.evaluate_run(EXAMPLE / "qrels.test", EXAMPLE / "results.test", measures, trec_eval=version)
    values = per_query(evaluation) | {("all", name): value for name, value in summary(evaluation).items()}
    assert len(printed) == n_numbers
    assert {key: f"{values[key]:.{4 if '.' in text else 0}f}" for key, text in printed.items()} == printed


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="trec_eval's example is not there")
def test_unjudged_documents_that_trec_eval_10_prints() -> None:
    lines = (line.split() for line in (EXAMPLE / "expected_trec_eval_10.txt").read_text().splitlines())
    printed = {(query, f"Judged@{name[4:]}"): text for name, query, text in lines if name.startswith("unj_") and query != "all"}
    evaluation = apf.evaluate_run(EXAMPLE / "qrels.test", EXAMPLE / "results.test", "Judged@5 Judged@10 Judged@20")
    assert {key: f"{1 - value:.4f}" for key, value in per_query(evaluation).items()} == printed


# ---- generated runs

QUERIES = ["9", "10", "q", "Q"]
# ids whose order by number, by letter and by byte differ
DOCUMENTS = [
    *map(str, (9, 10, 100, 2, 20, 11, 1, 101, 12, 3)),
    "d9",
    "d10",
    "D9",
    "d",
    "é",
    "z",
    "ß",
    "日",
    "a-b",
    "a_b",
    'a"b',
]
GRADES = [None, None, -1, 0, 0, 1, 1, 1, 2, 3]
# many are tied; some only in single precision, in which trec_eval 9 compares
SCORES = [None, None, 1, 1, 1 + 1e-9, 0.5, 0.5 - 1e-12, 0, -1, 3e8, 3e8 + 1, 1e-5, 1e-40]
CUTOFFS = [1, 2, 3, 5, 10, 30]
LEVELS = [0, 0.1, 0.25, 0.3, 0.5, 0.6, 0.7, 1]


@dataclass(frozen=True)
class Judged:
    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]


def _tables(values: list[Any]) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """For some queries, a value for some documents, and at least for one."""
    column = st.lists(st.sampled_from(values), min_size=len(DOCUMENTS), max_size=len(DOCUMENTS))
    documents = column.map(lambda c: {name: v for name, v in zip(DOCUMENTS, c, strict=True) if v is not None}).filter(bool)
    return st.dictionaries(st.sampled_from(QUERIES), documents, min_size=1, max_size=3)


@st.composite
def cases(draw: st.DrawFn) -> Judged:
    """Judgements and a run that have queries in common, and may have others."""
    case = Judged(draw(_tables(GRADES)), draw(_tables(SCORES)))
    assume(case.qrels.keys() & case.run.keys())
    return case


def shuffled(nested: dict[str, dict[str, float]], value: str, seed: int) -> pl.DataFrame:
    rows = [(query, document, number) for query, found in nested.items() for document, number in found.items()]
    frame = pl.DataFrame(rows, schema={"query_id": pl.String, "document_id": pl.String, value: pl.Float64}, orient="row")
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def at_level(name: str, level: int) -> str:
    """The measure with that relevance level; nDCG has none."""
    measure = apf.lists.as_measure(name)
    leveled = (
        apf.lists.Measure(measure.name, measure.cutoff, (*measure.parameters, ("rel", level)))
        if measure.name != "nDCG"
        else name
    )
    return str(leveled)


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.OwnDocumentWarning")
@given(case=cases(), level=st.sampled_from([1, 1, 2]), judged_only=st.booleans(), seed=st.integers(0, 99))
def test_generated_runs(case: Judged, level: int, judged_only: bool, seed: int) -> None:
    # sums, and measures that pytrec_eval does not have
    measures = {name for name in NAMES if name not in ("rbp", "gm_bpref") and not name.startswith("num_")}
    measures |= {f"{name}.{k}" for name in [*AT][:-1] for k in CUTOFFS}
    measures |= {f"iprec_at_recall.{recall}" for recall in LEVELS}
    reference = pytrec_eval.RelevanceEvaluator(case.qrels, measures, relevance_level=level, judged_docs_only_flag=judged_only)
    numbers = reference.evaluate(case.run)
    names = {name: at_level(str(as_apframe(name)), level) for name in next(iter(numbers.values()))}
    # 0 / 0 where no document of a list is judged
    expected = {(q, names[name]): 0 if math.isnan(x) else x for q, values in numbers.items() for name, x in values.items()}
    logs = [expected.pop((query, names["gm_map"])) for query in numbers]

    evaluation = apf.evaluate_run(
        shuffled(case.qrels, "relevance", seed), shuffled(case.run, "score", seed + 1), list(names.values()), trec_eval=9,
        unjudged="remove" if judged_only else "nonrelevant",
    )  # fmt: skip
    values, means = per_query(evaluation), summary(evaluation)
    assert {query: values.pop((query, names["gm_map"])) for query in numbers} == {
        query: values[query, names["map"]] for query in numbers
    }
    assert values == pytest.approx(expected, rel=0, abs=1e-12)
    assert means.pop(names["gm_map"]) == pytest.approx(math.exp(math.fsum(logs) / len(logs)), rel=0, abs=1e-12)
    assert means == pytest.approx(
        {name: math.fsum(x for (_, other), x in expected.items() if other == name) / len(numbers) for name in means},
        rel=0,
        abs=1e-12,
    )


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.OwnDocumentWarning")
@given(case=cases(), beta=st.sampled_from([0.5, 1, 2]))
def test_set_f_with_a_weight(case: Judged, beta: float) -> None:
    # trec_eval's parameter is the square of beta
    reference = pytrec_eval.RelevanceEvaluator(case.qrels, {f"set_F.{beta**2}"}).evaluate(case.run)
    expected = {query: next(iter(values.values())) for query, values in reference.items()}
    evaluation = apf.evaluate_run(case.qrels, case.run, f"set_F.{beta**2} SetF(beta={beta})", trec_eval=9)
    for _, values in evaluation.per_query.group_by("measure"):
        assert dict(values.select("query_id", "value").iter_rows()) == pytest.approx(expected, rel=0, abs=1e-12)


# the relevant document's rank is 1 by its score, and 2 by its id where the scores are taken to be equal
CLOSE = {"q": {"a": 0.1 + 1e-12, "b": 0.1}}


@pytest.mark.parametrize(("version", "value"), [(9, 0.5), (10, 1)])
def test_versions_compare_scores_in_either_precision(version: int, value: float) -> None:
    evaluation = apf.evaluate_run({"q": {"a": 1, "b": 0}}, CLOSE, "RR", trec_eval=version)
    assert evaluation.per_query["value"].to_list() == [value]


@pytest.mark.parametrize(("version", "value"), [(9, 0.769697), (10, 0.806061)])
def test_versions_round_the_levels_of_ap11(version: int, value: float) -> None:
    # list A of the specification: [1, 0, 1, 0, 1]
    qrels, run = {"q": {"a": 1, "c": 1, "e": 1}}, {"q": dict(zip("abcde", (5, 4, 3, 2, 1), strict=True))}
    evaluation = apf.evaluate_run(qrels, run, "AP11", trec_eval=version)
    assert evaluation.per_query["value"].to_list() == pytest.approx([value], abs=5e-7)


# ---- measures that trec_eval does not have, or not as they were published

# measure -> relevance of the documents of the list in order (None: not judged), others that were not retrieved, value
BY_HAND: dict[str, tuple[str, list[int | None], list[int], float]] = {
    "ERR": ("ERR", [1, 0, 2], [], 1 / 4 + 1 / 3 * 3 / 4 * 3 / 4),
    "ERR, cut": ("ERR@2", [1, 0, 2], [], 1 / 4),
    "ERR, the highest grade is not retrieved": ("ERR", [1, 0, 2], [3], 1 / 8 + 1 / 3 * 7 / 8 * 3 / 8),
    "ERR, no judged document is retrieved": ("ERR", [None, None], [1], 0),
    "ERR, two of the highest grade": ("ERR", [1, 1], [], 1 / 2 + 1 / 2 * 1 / 2 * 1 / 2),
    "ERR, negative": ("ERR", [-1, 1], [], 1 / 2 * 1 / 2),
    "RBP": ("RBP", [1, 0, 1], [], 0.2 * (1 + 0.8**2)),
    "RBP, impatient": ("RBP(p=0.5)", [1, 0, 1], [1], 0.5 * (1 + 0.5**2)),
    "RBP, grades count once": ("RBP(p=0.5)", [3], [], 0.5),
    "RBP, level": ("RBP(p=0.5, rel=2)", [1, 2], [], 0.25),
    "Judged": ("Judged", [1, None, 0, None], [1], 2 / 4),
    "Judged, cut": ("Judged@3", [1, None, 0, None], [], 2 / 3),
    "Judged, list shorter than the cut-off": ("Judged@10", [1, None, 0, None], [], 2 / 4),
    "Judged, negative is not judged": ("Judged@2", [-1, 0, 1], [], 1 / 2),
    "INP": ("INP", [0, 1, None, 0, 1], [], 2 / 5),
    "INP, best": ("INP", [1, 1, 0], [], 1),
    "INP, one was not found": ("INP", [1, 1, 0], [1], 0),
    "INP, level": ("INP(rel=2)", [1, 2, 0], [1], 1 / 2),
}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.OwnDocumentWarning")
@pytest.mark.parametrize(("measure", "ranked", "others", "value"), BY_HAND.values(), ids=BY_HAND)
def test_by_hand(measure: str, ranked: list[int | None], others: list[int], value: float) -> None:
    run = {"q": {f"r{rank}": -rank for rank in range(len(ranked))}}
    judged = {f"r{rank}": grade for rank, grade in enumerate(ranked) if grade is not None}
    qrels = {"q": judged | {f"o{number}": grade for number, grade in enumerate(others)}}
    assert apf.evaluate_run(qrels, run, measure).per_query["value"].to_list() == pytest.approx([value], abs=1e-15)


def test_err_takes_the_highest_grade_of_all_queries() -> None:
    missing = apf.evaluate_run({"p": {"a": 1}, "q": {"a": 3}}, {"p": {"a": 1}}, "ERR")
    assert missing.per_query["value"].to_list() == [1 / 8]
    evaluation = apf.evaluate_run({"p": {"a": 1}, "q": {"a": 3}}, {"p": {"a": 1}, "q": {"a": 1}}, "ERR")
    assert evaluation.per_query["value"].to_list() == [1 / 8, 7 / 8]


# the grades of a ranked list (None: not judged), the grades of all judged documents, the highest grade of all queries
Rule = Callable[[list[int | None], list[int], int], float]


def expected_reciprocal_rank(ranked: list[int | None], _: list[int], highest: int) -> float:
    value, reads_on = 0.0, 1.0
    for rank, grade in enumerate(ranked, 1):
        stops = (2 ** max(grade or 0, 0) - 1) / 2**highest
        value += reads_on * stops / rank
        reads_on *= 1 - stops
    return value


def rank_biased_precision(ranked: list[int | None], *_: Any) -> float:
    value, reads_on = 0.0, 0.1
    for grade in ranked:
        value += reads_on * ((grade or 0) > 0)
        reads_on *= 0.9
    return value


def judged_among_first_five(ranked: list[int | None], *_: Any) -> float:
    return sum(grade is not None and grade >= 0 for grade in ranked[:5]) / min(5, len(ranked))


def inverse_negative_penalty(ranked: list[int | None], judged: list[int], _: int) -> float:
    n_relevant = sum(grade > 0 for grade in judged)
    places = [rank for rank, grade in enumerate(ranked, 1) if (grade or 0) > 0]
    return n_relevant / places[-1] if places and len(places) == n_relevant else 0


RULES: dict[str, Rule] = {
    "ERR": expected_reciprocal_rank,
    "RBP(p=0.9)": rank_biased_precision,
    "Judged@5": judged_among_first_five,
    "INP": inverse_negative_penalty,
}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.OwnDocumentWarning")
@given(case=cases())
def test_generated_runs_by_loops(case: Judged) -> None:
    highest = max(grade for found in case.qrels.values() for grade in found.values())
    expected = {}
    for query in case.qrels.keys() & case.run.keys():
        in_order = sorted(case.run[query].items(), key=lambda item: (item[1], item[0]), reverse=True)
        grades = [case.qrels[query].get(document) for document, _ in in_order]
        for measure, rule in RULES.items():
            expected[query, measure] = rule(grades, [*case.qrels[query].values()], highest)
    values = per_query(apf.evaluate_run(case.qrels, case.run, [*RULES]))
    assert values == pytest.approx(expected, rel=0, abs=1e-12)
