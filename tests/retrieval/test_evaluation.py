"""Runs against judgements from end to end: the tables, the policies, the measures by their names, and input that is wrong."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from math import log2, nan
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    FormatError,
    FractionalGradesWarning,
    IdTypeError,
    InputError,
    NothingMatchesWarning,
    OutputError,
    ParameterError,
    QueryError,
    RowError,
)
from apframe.lists.kinds import KINDS
from apframe.lists.measures import as_measures

Nested = dict[str, dict[str, float]]

QRELS: Nested = {
    "q1": {"a": 1, "b": 0, "c": 1},
    "q2": {"a": 0, "b": 2},
    "q3": {"a": 0},  # nothing is relevant
    "q4": {"a": 1},  # not in the run
}
RUN: Nested = {
    "q1": {"a": 0.9, "x": 0.8, "c": 0.7, "b": 0.6},  # AP (1 + 2/3) / 2
    "q2": {"a": 0.9, "b": 0.8},  # AP 1/2
    "q3": {"a": 0.5},
    "q0": {"a": 1},  # not judged
}
BETTER: Nested = {"q1": {"a": 3, "c": 2}, "q2": {"b": 1}, "q4": {"a": 1}}
QUERIES = {"query_id": ["q1", "q2", "q3"], "kind": ["short", "long", "short"], "length": [1, 9, None]}


def table(nested: Nested, value: str = "score") -> pl.DataFrame:
    rows = [(query, document, number) for query, found in nested.items() for document, number in found.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "document_id": pl.String, value: pl.Float64}, orient="row")


def values(evaluation: apf.RunEvaluation) -> list[float | None]:
    return evaluation.per_query["value"].to_list()


def written(folder: Path, name: str, run: Nested) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{query} Q0 {document} 0 {score} t\n" for query, document, score in table(run).rows()))
    return path


# ---- tables


def test_per_query() -> None:
    assert_frame_equal(
        apf.evaluate_run(QRELS, RUN, "AP P@2").per_query,
        pl.DataFrame(
            {
                "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"],
                "measure": ["AP", "P@2"] * 3,
                "value": [(1 + 2 / 3) / 2, 0.5, 0.5, 0.5, 0.0, 0.0],
            }
        ),
    )


def test_summary_is_the_mean() -> None:
    summary = apf.evaluate_run(QRELS, RUN, "P@2 AP").summary
    assert summary.columns == ["measure", "value", "n_queries"]
    assert summary.rows() == [("P@2", pytest.approx(1 / 3), 3), ("AP", pytest.approx(4 / 9), 3)]


def test_summary_of_gmap_is_the_geometric_mean_above_its_floor() -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP GMAP")
    assert evaluation.summary["value"].to_list() == pytest.approx([4 / 9, (5 / 6 * 1 / 2 * 1e-5) ** (1 / 3)])
    assert values(evaluation) == pytest.approx([5 / 6, 5 / 6, 1 / 2, 1 / 2, 0, 0])


def test_coverage() -> None:
    coverage = apf.evaluate_run(QRELS, RUN).coverage
    counts = {"n_judged": 4, "n_evaluated": 3, "n_missing": 1, "n_without_relevant": 1, "n_not_judged": 1}
    assert coverage.to_dicts() == [counts]


def test_matches() -> None:
    # equal scores: the larger id comes first
    evaluation = apf.evaluate_run({"q": {"a": 1, "b": 0, "c": 2}}, {"q": {"a": 0.5, "b": 0.5, "x": 0.9}}, "AP")
    matches = {"document_id": ["b", "a", "c"], "relevance": [0.0, 1, 2], "score": [0.5, 0.5, None], "rank": [2, 3, None]}
    assert_frame_equal(evaluation.matches, pl.DataFrame({"query_id": ["q"] * 3} | matches))


def test_usual_measures() -> None:
    assert apf.evaluate_run(QRELS, RUN).summary["measure"].to_list() == ["AP", "nDCG@10", "P@10", "R@100", "RR"]


def test_queries_come_as_judged_and_measures_as_named() -> None:
    turned = {query: QRELS[query] for query in ("q3", "q1", "q2")}
    evaluation = apf.evaluate_run(turned, RUN, ["RR", "AP", "nDCG@3"])
    assert evaluation.per_query["query_id"].unique(maintain_order=True).to_list() == ["q3", "q1", "q2"]
    assert evaluation.per_query["measure"].to_list() == ["RR", "AP", "nDCG@3"] * 3
    assert evaluation.summary["measure"].to_list() == ["RR", "AP", "nDCG@3"]


@pytest.mark.parametrize(
    "measures",
    [
        "AP P@2",
        " ap,  p@2 ,",
        ["AP", "P@2"],
        ("map", "precision@2"),
        [apf.lists.as_measure("AP"), "P@2"],
        "AP P@2 AP AP(rel=1) P@2.0",
    ],
    ids=str,
)
def test_ways_to_name_measures(measures: Any) -> None:
    assert apf.evaluate_run(QRELS, RUN, measures).summary["measure"].to_list() == ["AP", "P@2"]


def test_a_measure_as_a_value() -> None:
    assert apf.evaluate_run(QRELS, RUN, apf.lists.as_measure("P@2")).summary["measure"].to_list() == ["P@2"]


# ---- policies


@pytest.mark.parametrize(
    ("missing", "no_relevant", "ap"),
    [
        ("skip", "zero", {"q1": 5 / 6, "q2": 1 / 2, "q3": 0}),
        ("zero", "zero", {"q1": 5 / 6, "q2": 1 / 2, "q3": 0, "q4": 0}),
        ("skip", "skip", {"q1": 5 / 6, "q2": 1 / 2, "q3": None}),
        ("zero", "skip", {"q1": 5 / 6, "q2": 1 / 2, "q3": None, "q4": 0}),
    ],
)
def test_missing_and_no_relevant(missing: str, no_relevant: str, ap: dict[str, float | None]) -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP", missing=missing, no_relevant=no_relevant)
    assert dict(evaluation.per_query.select("query_id", "value").iter_rows()) == pytest.approx(ap)
    counted = [value for value in ap.values() if value is not None]
    assert evaluation.summary.rows() == [("AP", pytest.approx(sum(counted) / len(counted)), len(counted))]
    assert evaluation.coverage["n_evaluated"].item() == len(counted)


def test_missing_error() -> None:
    with pytest.raises(InputError, match=r"the run lacks 1 of 4 judged queries: 'q4'; add them, or choose missing="):
        apf.evaluate_run(QRELS, RUN, missing="error")
    complete = apf.evaluate_run(QRELS, RUN | {"q4": {"a": 1}}, "AP", missing="error")
    assert complete.summary["n_queries"].to_list() == [4]


def test_unjudged_documents_removed() -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP P@2 P SetP", unjudged="remove")
    assert values(evaluation)[:4] == pytest.approx([1, 1, 2 / 3, 2 / 3])
    assert evaluation.matches.filter(pl.col("query_id") == "q1")["rank"].to_list() == [1, 3, 4]  # as they were retrieved


def test_no_document_is_judged() -> None:
    message = (
        "the run: none of its 2 documents for 1 judged query is judged, so no measure is above 0; for query 'q' the run has "
        "document 'y', the judgements have 'a'; do both use the same document ids?"
    )
    with pytest.warns(NothingMatchesWarning, match=f"^{re.escape(message)}$") as caught:
        evaluation = apf.evaluate_run({"q": {"a": 1}}, {"q": {"x": 1, "y": 2}}, "AP P SetP nDCG Judged", unjudged="remove")
    assert values(evaluation) == [0, 0, 0, 0, 0]
    assert caught[0].filename == __file__


def test_next_to_no_document_is_judged() -> None:
    judged = {f"q{number}": {f"d{k}": k % 2 for k in range(30)} for number in range(5)}
    run = {query: {document.upper(): k for k, document in enumerate(found)} for query, found in judged.items()}
    run["q0"]["d7"] = 99
    message = (
        "run 'b': only 1 of its 151 documents for 5 judged queries is judged, of 150 that could be; for query 'q0' the run has "
        "document 'D29', the judgements have 'd0'; do both use the same document ids?"
    )
    with pytest.warns(NothingMatchesWarning, match=f"^{re.escape(message)}$") as caught:
        apf.evaluate_run(judged, {"a": judged, "b": run}, "AP")
    assert len(caught) == 1
    run["q1"]["d7"] = 99  # two of 150 are more than a hundredth
    apf.evaluate_run(judged, run, "AP")


def test_runs_are_judged_in_part_without_a_warning() -> None:
    few, many = {"d0": 1}, {f"d{k}": k for k in range(500)}
    apf.evaluate_run({"q": few}, {"q": many}, "AP")
    apf.evaluate_run({"q": many}, {"q": few}, "AP")
    apf.evaluate_run({"q": {"d0": -1}}, {"q": {"x": 1}}, "AP")  # in the pool alone: there is nothing to be found
    apf.evaluate_run({f"q{k}": few for k in range(500)}, {"q0": few}, "AP")


def test_next_to_no_query_is_judged() -> None:
    judged, run = ({f"{letter}{k}": {"d": 1} for k in range(150)} | {"q": {"d": 1}} for letter in "ab")
    message = (
        "the run has only 1 of 151 judged queries, among its 151; for example, it has query 'b0', but the "
        "judgements have 'a0'; do both use the same query ids?"
    )
    with pytest.warns(NothingMatchesWarning, match=f"^{re.escape(message)}$"):
        assert apf.evaluate_run(judged, run, "AP").coverage["n_evaluated"].item() == 1


def test_ignored_documents_take_no_rank() -> None:
    run = table(RUN).with_columns(ignore=pl.col("document_id") == "x")
    assert values(apf.evaluate_run(QRELS, run, "AP")) == [1, 0.5, 0]
    # c is second now, and a was not found
    run = table(RUN).with_columns(ignore=(pl.col("query_id") == "q1") & (pl.col("document_id") == "a"))
    assert values(apf.evaluate_run(QRELS, run, "AP")) == [1 / 2 / 2, 0.5, 0]


def test_a_query_of_ignored_documents_is_not_missing() -> None:
    run = table(RUN).with_columns(ignore=pl.col("query_id") == "q1")
    evaluation = apf.evaluate_run(QRELS, run, "AP P SetP")
    assert values(evaluation)[:3] == [0, 0, 0]
    assert evaluation.coverage["n_missing"].item() == 1


# ---- several runs


@pytest.mark.slow
def test_runs_by_name() -> None:
    evaluation = apf.evaluate_run(QRELS, {"plain": RUN, "better": table(BETTER)}, "AP P@1")
    summary = {
        "run": ["plain", "plain", "better", "better"],
        "measure": ["AP", "P@1"] * 2,
        "value": [4 / 9, 1 / 3, 1.0, 1.0],
        "n_queries": [3, 3, 3, 3],
    }
    assert_frame_equal(evaluation.summary, pl.DataFrame(summary), check_dtypes=False)
    assert evaluation.coverage["run"].to_list() == ["plain", "better"]
    assert evaluation.coverage["n_not_judged"].to_list() == [1, 0]
    for name, run in {"plain": RUN, "better": BETTER}.items():
        alone = apf.evaluate_run(QRELS, run, "AP P@1")
        for every, one in ((evaluation.per_query, alone.per_query), (evaluation.matches, alone.matches)):
            assert_frame_equal(every.filter(run=name).drop("run"), one)


def test_one_run_by_name() -> None:
    assert apf.evaluate_run(QRELS, {"plain": RUN}, "AP").summary["run"].to_list() == ["plain"]


def test_runs_by_their_files(tmp_path: Path) -> None:
    paths = [written(tmp_path, "plain.v1.txt", RUN), str(written(tmp_path, "better.txt", BETTER))]
    by_path = apf.evaluate_run(QRELS, paths, "AP")
    assert_frame_equal(by_path.per_query, apf.evaluate_run(QRELS, {"plain": RUN, "better": BETTER}, "AP").per_query)


def test_files_of_the_same_name(tmp_path: Path) -> None:
    paths = [written(tmp_path / "one", "run.txt", RUN), written(tmp_path / "two", "run.txt", BETTER)]
    assert [*apf.evaluate_run(QRELS, paths, "AP").runs] == [str(path) for path in paths]
    with pytest.raises(ParameterError, match="run: a file is listed twice"):
        apf.evaluate_run(QRELS, [paths[0], paths[0]], "AP")


@pytest.mark.parametrize("runs", [[], [table(RUN)], [{"q1": {"a": 1}}]], ids=["nothing", "frame", "dict"])
def test_a_list_holds_files(runs: list[Any]) -> None:
    with pytest.raises(ParameterError, match="run: each run in a list needs a path or a name; pass a dict from names to runs"):
        apf.evaluate_run(QRELS, runs)


@pytest.mark.slow
def test_the_run_that_is_wrong_is_named() -> None:
    with pytest.raises(InputError, match="run 'other' and the judgements have no query in common"):
        apf.evaluate_run(QRELS, {"plain": RUN, "other": {"z": {"a": 1}}})
    with pytest.raises(InputError, match="run 'none' and the judgements have no query in common: the run has none"):
        apf.evaluate_run(QRELS, {"plain": RUN, "none": {}})


# ---- groups of queries


def test_by() -> None:
    by = apf.evaluate_run(QRELS, RUN, "AP P@2", queries=QUERIES).by("kind")
    groups = {
        "kind": ["long", "long", "short", "short"],
        "measure": ["AP", "P@2"] * 2,
        "value": [0.5, 0.5, 5 / 12, 0.25],
        "n_queries": [1, 1, 2, 2],
    }
    assert_frame_equal(by, pl.DataFrame(groups), check_dtypes=False)


def test_by_several_attributes_and_runs() -> None:
    by = apf.evaluate_run(QRELS, {"x": RUN, "y": RUN}, "AP", queries=QUERIES).by("kind", "length", "kind")
    assert by.select("kind", "length", "run", "n_queries").rows() == [
        (kind, length, run, 1) for kind, length in (("long", 9), ("short", None), ("short", 1)) for run in "xy"
    ]


def test_queries_without_the_attribute() -> None:
    some = {"query_id": ["q1", "q9"], "kind": ["short", "unheard of"]}
    by = apf.evaluate_run(QRELS, RUN, "AP", queries=some).by("kind")
    assert by.rows() == [(None, "AP", 0.25, 2), ("short", "AP", pytest.approx(5 / 6), 1)]
    by = apf.evaluate_run(QRELS, RUN, "AP", queries={"query_id": [], "kind": []}).by("kind")
    assert by["n_queries"].to_list() == [3]


@pytest.mark.parametrize(
    ("queries", "column", "message"),
    [
        (None, "kind", "by: pass evaluate_run a table with the attributes of the queries, queries="),
        (QUERIES, "kin", "by: the queries have no column 'kin'; did you mean kind?"),
        (QUERIES, "xyz", "by: the queries have no column 'xyz'; there are kind, length"),
        (QUERIES, "query_id", "by: the queries have no column 'query_id'; there are kind, length"),
        (QUERIES | {"value": [1, 2, 3]}, "value", "by: the summary already has a column 'value'"),
        (QUERIES | {"measure": [1, 2, 3]}, "measure", "by: the summary already has a column 'measure'"),
    ],
)
def test_by_wrong_columns(queries: Any, column: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, RUN, "AP", queries=queries).by(column)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("queries", "kind", "message"),
    [
        ({"query_id": ["q1", "q1"]}, DuplicateIdError, "queries: query_id is not unique for query_id 'q1'"),
        ({"query_id": [1]}, IdTypeError, "queries: query_id holds integers, not strings like the judgements"),
        ({"id": ["q1"]}, ColumnError, "queries: no column query_id"),
        ({"query_id": ["q1", None]}, RowError, "queries: query_id is missing for row 2"),
    ],
)
def test_wrong_queries(queries: Any, kind: type[ApframeError], message: str) -> None:
    with pytest.raises(kind) as error:
        apf.evaluate_run(QRELS, RUN, queries=queries)
    assert str(error.value).startswith(message)


# ---- SQL and files

TABLES = ["per_query", "summary", "coverage", "matches", "judgements", "runs", "queries"]


@pytest.mark.slow
def test_sql() -> None:
    evaluation = apf.evaluate_run(QRELS, {"x": RUN, "y": BETTER}, "AP RR", queries=QUERIES)
    rows = {name: evaluation.sql(f"SELECT count(*) FROM {name}").item() for name in TABLES}
    assert rows == {"per_query": 12, "summary": 4, "coverage": 2, "matches": 14, "judgements": 7, "runs": 12, "queries": 3}
    answer = evaluation.sql(
        "SELECT kind, max(value) AS best FROM per_query JOIN queries USING (query_id) "
        "WHERE measure = $measure AND run = $run GROUP BY kind ORDER BY kind",
        measure="AP",
        run="x",
    )
    assert answer.rows() == [("long", 0.5), ("short", pytest.approx(5 / 6))]


@pytest.mark.slow
def test_sql_errors_name_the_tables() -> None:
    with pytest.raises(QueryError, match=r"the tables are per_query, summary, coverage, matches, judgements, runs$"):
        apf.evaluate_run(QRELS, RUN).sql("SELECT * FROM queries")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "options"),
    [
        (RUN, {}),
        ({"x": RUN, "y": BETTER}, {"queries": QUERIES, "missing": "zero", "no_relevant": "skip", "unjudged": "remove"}),
        ({"one": RUN}, {"trec_eval": 9}),
        (table(RUN).with_columns(run=pl.lit("me"), rank=7), {}),
        ({"x": table(RUN).with_columns(run=pl.lit("me")), "y": RUN}, {}),
    ],
    ids=["one run", "several", "one with a name", "an attribute named run", "several, one with an attribute named run"],
)
def test_written_and_read(runs: Any, options: dict[str, Any], tmp_path: Path) -> None:
    measures = "AP(rel=2)@10 IPrec@0.123456789 GMAP RBP(p=0.9) AP(definition=normalized(5))"
    evaluation = apf.evaluate_run(QRELS, runs, measures, **options)
    evaluation.write_parquet(tmp_path / "ev")
    again = apf.read_run_evaluation(str(tmp_path / "ev"))
    assert again.measures == evaluation.measures
    assert again.options == evaluation.options
    assert str(again) == str(evaluation)
    assert [*again.runs] == [*evaluation.runs]
    for name in ("per_query", "summary", "coverage", "matches", "judgements"):
        assert_frame_equal(getattr(again, name), getattr(evaluation, name))
    for name in TABLES if again.queries is not None else TABLES[:-1]:
        assert_frame_equal(again.sql(f"FROM {name}"), evaluation.sql(f"FROM {name}"))
    evaluation.write_parquet(tmp_path / "ev")  # its own place may be taken again


@pytest.mark.slow
def test_wrong_kind_of_folder(tmp_path: Path) -> None:
    box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, box)
    apf.evaluate(truth, box | {"score": [1.0]}).write_parquet(tmp_path / "detection")
    apf.evaluate_run(QRELS, RUN).write_parquet(tmp_path / "retrieval")
    with pytest.raises(FormatError, match="retrieval: holds an evaluation of retrieval, not an evaluation of detection"):
        apf.read_evaluation(tmp_path / "retrieval")
    with pytest.raises(FormatError, match="detection: holds an evaluation of detection, not an evaluation of retrieval"):
        apf.read_run_evaluation(tmp_path / "detection")


def test_folders_that_are_not_whole_or_not_ours(tmp_path: Path) -> None:
    evaluation = apf.evaluate_run(QRELS, RUN)
    evaluation.write_parquet(tmp_path / "ev")
    (tmp_path / "ev" / "matches.parquet").unlink()
    with pytest.raises(FormatError, match=r"matches\.parquet is missing"):
        apf.read_run_evaluation(tmp_path / "ev")
    with pytest.raises(FormatError, match="there is no such folder"):
        apf.read_run_evaluation(tmp_path / "nowhere")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(OutputError, match="holds something else"):
        evaluation.write_parquet(tmp_path / "mine")


# ---- what is shown


def test_printed() -> None:
    assert str(apf.evaluate_run(QRELS, RUN, "AP nDCG@10")).splitlines() == [
        "measure    value",
        "AP        0.4444",
        "nDCG@10   0.5169",
        "3 of 4 judged queries evaluated: "
        "1 missing from the run (left out), 1 without relevant documents (counted as 0), "
        "1 of the run without judgements (left out)",
    ]


def test_a_mean_over_fewer_queries_says_so() -> None:
    run = {"q": {"a": 1}, "z": {"a": 1}}
    evaluation = apf.evaluate_run({"q": {"a": 1}, "z": {"a": 2}}, run, "AP AP(rel=2)", no_relevant="skip")
    assert str(evaluation).splitlines()[1:3] == ["AP             1.0000", "AP(rel=2)  1.0000 (1)"]


def test_a_frame_with_a_column_run_holds_several_runs() -> None:
    both = pl.concat([table(RUN).with_columns(run=pl.lit(name)) for name in ("x", "y")])
    assert apf.evaluate_run(QRELS, both, "AP").per_query.equals(apf.evaluate_run(QRELS, {"x": RUN, "y": RUN}, "AP").per_query)


def test_the_geometric_mean_is_left_out_of_intervals() -> None:
    evaluation = apf.evaluate_run(QRELS, {"x": RUN, "y": RUN}, "AP GMAP")
    assert evaluation.compare()["measure"].unique().to_list() == evaluation.intervals()["measure"].unique().to_list() == ["AP"]
    with pytest.raises(ParameterError, match="the summary of GMAP, NumRel is not a plain mean"):
        apf.evaluate_run(QRELS, RUN, "GMAP NumRel").intervals()


def test_queries_may_be_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query_id,topic\n007,birds\n")
    evaluation = apf.evaluate_run({"007": {"a": 1}}, {"007": {"a": 1}}, "AP", queries=tmp_path / "queries.csv")
    assert evaluation.by("topic").rows() == [("birds", "AP", 1, 1)]
    with pytest.raises(FormatError, match="there is no such file"):
        apf.evaluate_run(QRELS, RUN, queries=tmp_path / "nowhere.csv")


@pytest.mark.slow
def test_an_evaluation_of_another_kind_is_not_overwritten(tmp_path: Path) -> None:
    apf.evaluate("data/street/instances.json", "data/street/model_a.json").write_parquet(tmp_path / "run")
    with pytest.raises(OutputError, match="holds an evaluation of detection, not an evaluation of retrieval"):
        apf.evaluate_run(QRELS, RUN).write_parquet(tmp_path / "run")


def test_printed_for_several_runs() -> None:
    evaluation = apf.evaluate_run(
        {"q1": {"a": 0}}, {"first": {"q1": {"a": 1}}, "b": {"q1": {"a": 1}}}, "AP", no_relevant="skip"
    )
    assert str(evaluation).splitlines() == [
        "measure    first        b",
        "AP             –        –",
        "first: 0 of 1 judged queries evaluated: 1 without relevant documents (left out)",
        "b: 0 of 1 judged queries evaluated: 1 without relevant documents (left out)",
    ]


def test_repr() -> None:
    assert repr(apf.evaluate_run(QRELS, RUN, "AP P@5")) == "RunEvaluation(AP, P@5; 1 run)"
    assert repr(apf.evaluate_run(QRELS, {"x": RUN, "y": RUN}, "AP")) == "RunEvaluation(AP; 2 runs)"


class Cells(HTMLParser):
    """The texts of an HTML document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(document)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_shows_the_same_and_escapes_names() -> None:
    evaluation = apf.evaluate_run(QRELS, {"<b>a & b</b>": RUN, "y": BETTER}, "AP RR")
    html = evaluation._repr_html_()
    assert "<b>" not in html
    cells = ["measure", "<b>a & b</b>", "y", "AP", "0.4444", "1.0000", "RR", "0.5000", "1.0000"]
    assert Cells(html).texts == [*cells, *str(evaluation).splitlines()[-2:]]


# ---- measures by name

POSITIVE = st.floats(0.01, 100)
NUMBERS = {"p": st.floats(0.001, 0.999), "rel": st.integers(-1, 9) | st.floats(-1, 9)}
NUMBERS |= dict.fromkeys(("beta", "x", "T", "max_grade"), POSITIVE)
WORDS = {
    "definition": ["step", "interpolated", "coco101", "normalized(5)", "waymo", "waymo(0.1)"],
    "over": ["n_positives", "min", "hits"],
    "gain": ["linear", "exp"],
}
RANKS = st.integers(1, 10**9)
CUTOFFS = {"rank": st.none() | RANKS, "required rank": RANKS, "recall": st.floats(0, 1), None: st.none()}


@st.composite
def any_measure(draw: st.DrawFn) -> apf.lists.Measure:
    kind = KINDS[draw(st.sampled_from([*KINDS]))]
    cutoff = draw(CUTOFFS[kind.cutoff])
    values = {
        name: draw(NUMBERS[name] if name in NUMBERS else st.sampled_from(WORDS.get(name, [True, False])))
        for name in kind.defaults
    }
    if cutoff is None and values.get("over") == "min":
        del values["over"]
    return apf.lists.Measure(kind.name, cutoff, tuple(item for item in values.items() if draw(st.booleans())))


@given(measure=any_measure(), upper=st.booleans())
def test_measures_are_read_as_they_are_printed(measure: apf.lists.Measure, upper: bool) -> None:
    text = str(measure)
    assert apf.lists.as_measure(text) == measure
    assert hash(apf.lists.as_measure(text)) == hash(measure)
    in_case = measure.name.upper() if upper or measure.name == "RBP" else measure.name.lower()
    assert apf.lists.as_measure(f" {text.replace(measure.name, in_case, 1)} ") == measure


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_every_measure_is_computed(name: str) -> None:
    measure = (
        f"{name}@0.5" if KINDS[name].cutoff == "recall" else f"{name}@1" if KINDS[name].cutoff == "required rank" else name
    )
    evaluation = apf.evaluate_run(QRELS, BETTER, measure)
    # perfect lists but for RBP's patience and grades below the highest
    other = {"RBP": (1 - 0.8**2 + 2 * (1 - 0.8)) / 3, "ERR": (0.25 + 0.75 * 0.25 / 2 + 0.75 + 0.25) / 3, "Hits": 4 / 3}
    other |= dict.fromkeys(("BPM", "SDCG", "NERR8", "NERR9"), 2 / 3) | {"NumQ": 3} | dict.fromkeys(COUNTS, 4)
    if name in ("INSQ", "INST", "NERR10", "NERR11"):  # see tests/lists/test_user_models.py
        assert 0 < evaluation.summary["value"].item() < 1
    else:
        assert evaluation.summary["value"].to_list() == pytest.approx([other.get(name, 1)], abs=2e-5)


COUNTS = ("NumRel", "NumRet", "NumRelRet")


def test_counts_are_summed_and_printed_as_counts() -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "NumQ NumRet NumRel NumRelRet Hits@1 NumRel(rel=2) NumRet(judged_only=True)")
    values = dict(evaluation.summary.select("measure", "value").rows())
    assert values == {
        "NumQ": 3, "NumRet": 7, "NumRel": 3, "NumRelRet": 3, "Hits@1": 1 / 3, "NumRel(rel=2)": 1, "NumRet(judged_only=True)": 6,
    }  # fmt: skip
    assert [line.split()[1] for line in str(evaluation).splitlines()[1:6]] == ["3", "7", "3", "3", "0.3333"]
    everywhere = apf.evaluate_run(QRELS, RUN, "NumQ NumRet", missing="zero", no_relevant="skip")
    assert everywhere.summary["value"].to_list() == [4, 7]


def test_the_relevance_level_is_for_measures_without_one() -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP P(rel=3)@1 nDCG AP(rel=2)", relevance_level=2)
    assert evaluation.summary["measure"].to_list() == ["AP(rel=2)", "P(rel=3)@1", "nDCG"]
    assert evaluation.summary.equals(apf.evaluate_run(QRELS, RUN, "AP(rel=2) P(rel=3)@1 nDCG").summary)


FRACTIONS: Nested = {"q": {"a": 0.5, "b": 1, "c": 0.25, "d": 0.5, "e": 0, "f": -0.5}}


def test_grades_between_0_and_1_are_not_relevant_by_default() -> None:
    run = {"q": {"a": 0.9, "b": 0.8}}
    with pytest.warns(FractionalGradesWarning) as told:
        evaluation = apf.evaluate_run(FRACTIONS, run, "RR P@5 nDCG AP(rel=0.25) AP(rel=2)")
    assert [str(each.message) for each in told] == [
        "the relevance of 3 of 6 judgements is between 0 and 1 (0.5, 0.25); RR, P@5 count documents as relevant from 1 on, so "
        "not these; lower relevance_level if they are relevant"
    ]
    assert evaluation["RR"] == 0.5
    assert apf.evaluate_run(FRACTIONS, run, "RR P@5 nDCG", relevance_level=0.5)["RR(rel=0.5)"] == 1


def test_queries_with_fractions_alone_are_counted_by_the_level() -> None:
    qrels, run = {"q1": {"a": 0.5}, "q2": {"a": 1}}, {"q1": {"a": 0.9}, "q2": {"a": 0.9}}
    for options, n_without, n_evaluated in (({"relevance_level": 0.5}, 0, 2), ({"relevance_level": 2}, 1, 1)):
        coverage = apf.evaluate_run(qrels, run, "RR", no_relevant="skip", **options).coverage
        assert coverage.select("n_without_relevant", "n_evaluated").row(0) == (n_without, n_evaluated)


def test_fractions_count_in_graded_measures_without_a_warning() -> None:
    # gains 0.5 and 1 at ranks 1 and 2; at best 1, 0.5, 0.5, 0.25
    best = 1 + 0.5 / log2(3) + 0.5 / 2 + 0.25 / log2(5)
    evaluation = apf.evaluate_run(FRACTIONS, {"q": {"a": 0.9, "b": 0.8}}, "nDCG Judged@2")
    assert evaluation["nDCG"] == pytest.approx((0.5 + 1 / log2(3)) / best)


@pytest.mark.slow
def test_only_the_first_documents_of_each_query_are_looked_at(tmp_path: Path) -> None:
    evaluation = apf.evaluate_run(QRELS, RUN, "AP P NumRet Bpref", max_documents=2)
    first = {query: dict(sorted(found.items(), key=lambda item: -item[1])[:2]) for query, found in RUN.items()}
    assert_frame_equal(evaluation.per_query, apf.evaluate_run(QRELS, first, "AP P NumRet Bpref").per_query)
    assert evaluation.matches.filter(pl.col("document_id") == "c").row(0, named=True)["rank"] is None
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_run_evaluation(tmp_path / "run")
    assert str(again) == str(evaluation)
    assert str(evaluation).endswith("\nthe first 2 documents of each query")
    for wrong in (0, -1, 2.5, "2"):
        with pytest.raises(ParameterError, match="max_documents is a whole number of at least 1"):
            apf.evaluate_run(QRELS, RUN, max_documents=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="relevance_level must be a finite number"):
        apf.evaluate_run(QRELS, RUN, relevance_level=nan)


@pytest.mark.slow
def test_judged_only_is_the_measure_of_condensed_lists() -> None:
    names = ["AP", "nDCG@2", "P@2", "RR", "SetP", "Bpref", "INST"]
    condensed = [re.sub(r"(@\d)?$", r"(judged_only=True)\1", name, count=1) for name in names]
    inside = apf.evaluate_run(QRELS, RUN, condensed)
    removed = apf.evaluate_run(QRELS, RUN, names, unjudged="remove")
    assert inside.summary["value"].to_list() == removed.summary["value"].to_list()
    assert inside.summary["value"].to_list() != apf.evaluate_run(QRELS, RUN, names).summary["value"].to_list()


def test_defaults_are_not_printed() -> None:
    assert str(apf.lists.as_measure("ap(rel=1, over=n_positives, definition=step)@10.0")) == "AP@10"
    assert str(apf.lists.as_measure("P@1000000")) == "P@1000000"
    assert [str(apf.lists.as_measure(f"IPrec@{recall}")) for recall in (".10", "0", "1", "1e-5")] == [
        "IPrec@0.1", "IPrec@0", "IPrec@1", "IPrec@1e-05",
    ]  # fmt: skip


def test_measures_that_differ_late_are_not_mixed_up() -> None:
    assert apf.evaluate_run(QRELS, RUN, "IPrec@0.12345678 IPrec@0.12345679 AP@1000000 AP@1000001").summary.height == 4


def test_rbp_in_lower_case_has_the_p_of_trec_eval() -> None:
    names = "rbp RBP Rbp rbp(p=0.8) rbp(rel=2) rbp(p=0.5,rel=2)"
    assert [str(measure) for measure in as_measures(names)] == [
        "RBP(p=0.9)", "RBP", "RBP(p=0.9, rel=2)", "RBP(p=0.5, rel=2)",
    ]  # fmt: skip
    values = apf.evaluate_run({"q": {"a": 1}}, {"q": {"a": 2, "b": 1}}, "rbp RBP").per_query["value"].to_list()
    assert values == pytest.approx([0.1, 0.2], abs=1e-15)


def test_list_of_measures() -> None:
    assert apf.list_measures()["name"].to_list() == [*KINDS]


BAD_MEASURES = {
    "nDG@10": "no measure 'nDG'; did you mean nDCG?",
    "xyzzy": "no measure 'xyzzy'; there are AP, P, R, F,",
    "": "measures: name at least one, such as AP",
    " , ": "measures: name at least one, such as AP",
    "P@10;R@10": "'P@10;R@10' is not a measure, such as",
    "AP(rel=2": "'AP(rel=2' is not a measure, such as",
    "@10": "'@10' is not a measure, such as",
    "AP@0": "AP@0: the cut-off must be a whole number of at least 1",
    "P@-3": "P@-3: the cut-off must be a whole number of at least 1",
    "nDCG@1.5": "nDCG@1.5: the cut-off must be a whole number of at least 1",
    "AP@inf": "AP@inf: the cut-off must be a whole number of at least 1",
    "AP@nan": "AP@nan: the cut-off must be a whole number of at least 1",
    "AP@ten": "'AP@ten': the cut-off after @ must be a number, not 'ten'",
    "Rprec@5": "Rprec has no cut-off; remove @5",
    "BPM": "BPM needs a cut-off, such as BPM@10",
    "all_trec": "measures: trec_eval's all_trec has measures that apframe does not compute (utility, G,",
    "AP(judged_only=1)": "AP: judged_only must be True or False, not 1",
    "nDCG(gain=log)": 'nDCG: gain is "linear" or "exp", not \'log\'',
    "ERR(max_grade=0)": "ERR: max_grade must be above 0, not 0",
    "SetF(x=-1)": "SetF: x must be above 0, not -1",
    "NumQ(rel=2)": "NumQ has no parameter",
    "IPrec": "IPrec needs a recall from 0 to 1, as in IPrec@.1, not None",
    "IPrec@10": "IPrec needs a recall from 0 to 1, as in IPrec@.1, not 10.0",
    "IPrec@nan": "IPrec needs a recall from 0 to 1",
    "nDCG(rel=2)": "nDCG has no parameter 'rel'; it accepts gain, judged_only",
    "AP(p=0.5)": "AP has no parameter 'p'; it accepts definition, over, rel, judged_only",
    "AP(rel)": "'AP(rel)': write parameters as name=value, not 'rel'",
    "AP(rel=high)": "AP: rel must be a finite number, not 'high'",
    "AP(rel=)": "AP: rel must be a finite number, not ''",
    "AP(rel=nan)": "AP: rel must be a finite number, not nan",
    "AP(rel=2, rel=3)": "AP: a parameter is repeated",
    "AP(over=all)@5": "AP: over must be one of n_positives, min, hits, not 'all'",
    "AP(over=min)": 'AP(over="min") needs a cut-off, such as AP(over=min)@10',
    "AP(definition=stepp)": "no definition 'stepp'; did you mean step?",
    "RBP(p=1)": "RBP: p must be between 0 and 1, not 1",
    "RBP(p=0)": "RBP: p must be between 0 and 1, not 0",
    "F(beta=0)": "F: beta must be above 0, not 0",
    "SetF(beta=inf)": "SetF: beta must be a finite number, not inf",
}


@pytest.mark.parametrize("name", BAD_MEASURES)
def test_bad_measures(name: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, RUN, name)
    assert str(error.value).startswith(BAD_MEASURES[name])


@pytest.mark.parametrize("measures", [None, 5, [], [5]], ids=str)
def test_measures_that_are_no_names(measures: Any) -> None:
    with pytest.raises(ParameterError):
        apf.evaluate_run(QRELS, RUN, measures)


# ---- wrong input


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("missing", "drop", 'missing is "skip", "zero" or "error", not \'drop\''),
        ("no_relevant", "one", 'no_relevant is "zero" or "skip", not \'one\''),
        ("unjudged", None, 'unjudged is "nonrelevant" or "remove", not None'),
        ("trec_eval", "10", "trec_eval is 9 or 10, not '10'"),
    ],
)
def test_bad_options(option: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        apf.evaluate_run(QRELS, RUN, **{option: value})
    assert str(error.value) == message


NO_ROWS = pl.DataFrame(schema={"query_id": pl.String, "document_id": pl.String, "score": pl.Float64})
# judgements, run -> error and its message
BAD_INPUT: dict[str, tuple[Any, Any, type[ApframeError], str]] = {
    "no query in common": (
        QRELS, {"x": {"a": 1}}, InputError,
        "the run and the judgements have no query in common: the run has 'x', the judgements 'q1', 'q2', 'q3' and 1 more;",
    ),
    "integer queries": (
        QRELS, {1: {"a": 1}}, IdTypeError,
        "the run: query_id holds integers, not strings like the judgements; cast query_id of the run to strings (as those of "
        'text files are): pl.col("query_id").cast(pl.String)',
    ),
    "integer documents": (
        {"q": {1: 1}}, {"q": {"1": 1}}, IdTypeError,
        "the run: document_id holds strings, not integers like the judgements; cast document_id of the judgements to strings",
    ),
    "NaN score": (
        QRELS, table({"q1": {"a": 1, "b": nan}}), RowError, "runs: score is not a finite number for row 2;",
    ),
    "NaN relevance": (
        {"q1": {"a": nan}}, RUN, RowError, "judgements: relevance is not a finite number for row 1;",
    ),
    "document twice": (
        QRELS, pl.concat([table(RUN), table(RUN).head(1)]), DuplicateIdError,
        "the run: a query lists a document more than once ('q1 a') for row 1, 9;",
    ),
    "judgements without rows": (NO_ROWS.rename({"score": "relevance"}), RUN, InputError, "judgements: the table is empty"),
    "judgements an empty dict": ({}, RUN, InputError, "judgements: the table is empty"),
    "run without rows": (QRELS, NO_ROWS, InputError, "the run and the judgements have no query in common: the run has none"),
    "run an empty dict": (QRELS, {}, InputError, "the run and the judgements have no query in common: the run has none"),
    "queries without rows": (QRELS, {"q1": {}}, InputError, "the run and the judgements have no query in common"),
    "columns of other names": (
        QRELS, {"queryid": ["q1"], "document_id": ["a"], "score": [1]}, ColumnError,
        "runs: no column query_id (did you mean to rename 'queryid' to query_id?); there are queryid, document_id, score",
    ),
    "judgements with a rank": (
        table(QRELS, "relevance").with_columns(rank=1), RUN, ColumnError,
        "judgements: matches already has columns 'rank'; rename or drop those of the judgements",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("qrels", "run", "kind", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input(qrels: Any, run: Any, kind: type[ApframeError], message: str) -> None:
    with pytest.raises(kind) as error:
        apf.evaluate_run(qrels, run, "AP")
    assert type(error.value) is kind
    assert str(error.value).startswith(message)


@pytest.mark.slow
def test_attributes_may_have_any_other_name() -> None:
    names = ["group", "query", "first", "place", "new_place", "block", "n_ranked", "tp", "row", "found"]
    attributes = {name: 10 - pl.int_range(pl.len()) for name in names}
    run = table(RUN).with_columns(**attributes, rank=3, relevance=9, run=pl.lit("me"))
    evaluation = apf.evaluate_run(table(QRELS, "relevance").with_columns(**attributes), run.reverse())
    plain = apf.evaluate_run(QRELS, RUN)
    assert_frame_equal(evaluation.per_query, plain.per_query)
    assert_frame_equal(evaluation.coverage, plain.coverage)
    assert evaluation.matches.columns == [*plain.matches.columns, *names]
    assert evaluation.sql("SELECT sum(relevance) FROM runs").item() == 9 * run.height


def test_integer_ids() -> None:
    # equal scores: 10 comes before 9
    evaluation = apf.evaluate_run({1: {9: 1, 10: 0}}, {1: {9: 1, 10: 1}}, "RR")
    assert evaluation.per_query.rows() == [(1, "RR", 0.5)]


def test_text_files_end_to_end(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {r:g}\n" for q, d, r in table(QRELS, "relevance").rows()))
    from_files = apf.evaluate_run(tmp_path / "qrels", written(tmp_path, "run.txt", RUN))
    assert_frame_equal(from_files.per_query, apf.evaluate_run(QRELS, RUN).per_query)


def test_many_equal_scores() -> None:
    ids = [f"{n:05}" for n in range(20_000)]
    qrels = pl.DataFrame({"query_id": "q", "document_id": ids[::5000], "relevance": 1})
    run = pl.DataFrame({"query_id": "q", "document_id": ids, "score": 1.0})
    evaluation = apf.evaluate_run(qrels, run.sample(fraction=1, shuffle=True, seed=1), "AP")
    ranks = [5_000, 10_000, 15_000, 20_000]
    assert evaluation.matches["rank"].to_list() == ranks
    assert values(evaluation) == pytest.approx([sum(k / rank for k, rank in enumerate(ranks, 1)) / 4])


rows = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "q3"]), st.sampled_from("abcdefgh"), st.sampled_from([0.1, 0.5, 0.5, 2.0])),
    min_size=1, max_size=20, unique_by=lambda row: row[:2],
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@given(rows=rows, seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(rows: list[tuple[str, str, float]], seed: int) -> None:
    run = pl.DataFrame(rows, schema=["query_id", "document_id", "score"], orient="row")
    in_order = run.sort("query_id", "score", "document_id", descending=[False, True, True])
    scattered = apf.evaluate_run(QRELS, run.sample(fraction=1, shuffle=True, seed=seed), missing="zero")
    sorted_run = apf.evaluate_run(QRELS, in_order, missing="zero")
    assert_frame_equal(scattered.per_query, sorted_run.per_query)
    assert_frame_equal(scattered.matches, sorted_run.matches)
    assert_frame_equal(scattered.coverage, sorted_run.coverage)
