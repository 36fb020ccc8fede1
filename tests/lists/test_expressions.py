"""Measures as expressions: in every context, with ties, ignored items, missing items and bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, ScoreError

R = pl.col("r")
# per group: a list; one without positives; one whose only positive was not retrieved
FRAME = pl.DataFrame(
    {
        "g": ["a", "a", "a", "a", "b", "b", "c"],
        "r": [1, 0, 1, 0, 0, 0, 1],
        "s": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, None],
        "n": [2, 2, 2, 2, 0, 0, 1],
    }
)
MEASURES = {
    "average_precision": (R.ap.average_precision("s", n_positives="n"), [5 / 6, None, 0]),
    "precision": (R.ap.precision("s"), [0.5, 0, 0]),
    "precision at 3": (R.ap.precision("s", k=3), [2 / 3, 0, 0]),
    "recall at 1": (R.ap.recall("s", n_positives="n", k=1), [0.5, None, 0]),
    "f_beta": (R.ap.f_beta("s", n_positives="n", k=3), [0.8, None, 0]),
    "f_beta, beta 2": (R.ap.f_beta("s", n_positives="n", k=3, beta=2), [5 * 2 / 3 / (4 * 2 / 3 + 1), None, 0]),
    "r_precision": (R.ap.r_precision("s", n_positives="n"), [0.5, None, 0]),
    "reciprocal_rank": (R.ap.reciprocal_rank("s"), [1, 0, 0]),
    "success at 1": (R.ap.success("s", k=1), [1, 0, 0]),
    "dcg": (R.ap.dcg("s"), [1.5, 0, 0]),
    "ndcg": (R.ap.ndcg("s"), [1.5 / (1 + 1 / np.log2(3)), None, 0]),
    "ndcg, ideal given": (R.ap.ndcg("s", ideal=3.0), [0.5, 0, 0]),
    "precision_at_recall": (R.ap.precision_at_recall("s", n_positives="n", recall=1), [2 / 3, None, 0]),
    "recall_at_precision": (R.ap.recall_at_precision("s", n_positives="n", precision=0.9), [0.5, None, 0]),
    "best_f_beta": (R.ap.best_f_beta("s", n_positives="n").struct.field("f_beta"), [0.8, None, 0]),
}
Context = Callable[[pl.DataFrame, pl.Expr], list[float | None]]


def over(engine: str) -> Context:
    def run(frame: pl.DataFrame, expression: pl.Expr) -> list[float | None]:
        wide = frame.lazy().select("g", v=expression.over("g")).collect(engine=engine)  # type: ignore[call-overload]
        return wide.unique("g", maintain_order=True)["v"].to_list()

    return run


def aggregated(engine: str) -> Context:
    def run(frame: pl.DataFrame, expression: pl.Expr) -> list[float | None]:
        plan = frame.lazy().group_by("g", pl.lit(1).alias("also")).agg(v=expression).sort("g")
        return plan.collect(engine=engine)["v"].to_list()  # type: ignore[call-overload]

    return run


def selected(engine: str) -> Context:
    def run(frame: pl.DataFrame, expression: pl.Expr) -> list[float | None]:
        parts = frame.partition_by("g", maintain_order=True)
        return [part.lazy().select(v=expression).collect(engine=engine).item() for part in parts]  # type: ignore[call-overload]

    return run


CONTEXTS = {
    f"{context.__name__}, {engine}": context(engine)
    for context in (aggregated, over, selected)
    for engine in ("in-memory", "streaming")
}


@pytest.mark.slow
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("measure", MEASURES)
def test_measures_in_every_context(measure: str, context: str) -> None:
    expression, expected = MEASURES[measure]
    assert CONTEXTS[context](FRAME, expression) == [None if v is None else pytest.approx(v) for v in expected]


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", ["s", "r"])
def test_nan_is_an_error_in_every_context(name: str, context: str) -> None:
    is_second = (pl.col("g") == "a") & (pl.int_range(pl.len()) == 1)
    broken = FRAME.with_columns(pl.when(is_second).then(float("nan")).otherwise(pl.col(name).cast(pl.Float64)).alias(name))
    with pytest.raises(ScoreError, match=f"the {'score' if name == 's' else 'relevance'} is NaN in row 2 of its group"):
        CONTEXTS[context](broken, R.ap.average_precision("s", n_positives="n"))


@pytest.mark.parametrize("context", CONTEXTS)
def test_too_few_positives_are_an_error_in_every_context(context: str) -> None:
    with pytest.raises(ParameterError, match=r"1 given where 2 are present"):
        CONTEXTS[context](FRAME, R.ap.average_precision("s", n_positives=1))


def test_nan_in_several_groups_is_counted() -> None:
    frame = pl.DataFrame({"g": [1, 1, 2, 2], "r": [1, 0, 1, 0], "s": [0.5, float("nan"), float("nan"), 0.1]})
    with pytest.raises(ScoreError, match="the score is NaN in 2 rows of 2 groups, such as row"):
        frame.group_by("g").agg(R.ap.precision("s"))


@pytest.mark.slow
def test_no_rows_give_null() -> None:
    assert FRAME.clear().select(v.alias(name) for name, (v, _) in MEASURES.items()).row(0) == (None,) * len(MEASURES)
    assert FRAME.clear().group_by("g").agg(v=R.ap.ndcg("s")).height == 0


@pytest.mark.slow
def test_functions_are_the_methods() -> None:
    pairs = [
        (apf.lists.average_precision("r", "s", n_positives="n"), R.ap.average_precision("s", n_positives="n")),
        (apf.lists.ndcg("r", "s", k=2), R.ap.ndcg("s", k=2)),
        (apf.lists.best_f_beta("r", "s", n_positives="n"), R.ap.best_f_beta("s", n_positives="n")),
    ]
    for function, method in pairs:
        groups = FRAME.group_by("g", maintain_order=True)
        assert groups.agg(function).equals(groups.agg(method))


def test_the_result_is_named_as_the_measure() -> None:
    assert FRAME.select(apf.lists.precision(R > 0, "s")).columns == ["precision"]


def test_several_definitions_are_a_struct() -> None:
    both = R.ap.average_precision("s", n_positives=2, definition=["step", apf.protocols.as_definition("normalized(5)")])
    frame = FRAME.filter(pl.col("g") == "a").select(both).unnest("average_precision")
    assert frame.columns == ["step", "normalized(5)"]
    assert frame["step"].item() == pytest.approx(5 / 6)


# 1 | tie(0, 1, 0) | 1, in the order of the rows
TIED = pl.DataFrame({"r": [1, 0, 1, 0, 1], "s": [3, 2, 2, 2, 1], "id": [5, 1, 2, 3, 4]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (1 + 2 / 3 + 3 / 5) / 3),
        ({"ties": "group"}, 0.7),
        ({"ties": "best"}, (1 + 2 / 2 + 3 / 5) / 3),
        ({"ties": "worst"}, (1 + 2 / 4 + 3 / 5) / 3),
        ({"then_by": "id"}, (1 + 2 / 3 + 3 / 5) / 3),
        ({"then_by": (pl.col("id") % 2, "asc")}, (1 + 2 / 2 + 3 / 5) / 3),
        ({"then_by": [("r", "asc"), "id"]}, (1 + 2 / 4 + 3 / 5) / 3),
    ],
)
def test_ties(options: dict[str, object], expected: float) -> None:
    assert TIED.select(R.ap.average_precision("s", n_positives=3, **options)).item() == pytest.approx(expected)


def test_the_best_threshold_keeps_ties_together() -> None:
    frame = pl.DataFrame({"r": [1, 1, 0], "s": [0.5, 0.4, 0.4]})
    best = frame.select(R.ap.best_f_beta("s", n_positives=2)).unnest("best_f_beta").row(0, named=True)
    assert best == {"f_beta": pytest.approx(0.8), "precision": pytest.approx(2 / 3), "recall": 1, "score": 0.4}


@pytest.mark.parametrize("ties", ["input", "group", "best", "worst"])
def test_measures_of_the_whole_list_do_not_depend_on_ties(ties: str) -> None:
    frame = pl.DataFrame({"r": [1, 1, 0, 0], "s": [1, 1, 1, 0]})
    options = {"n_positives": 2, "ties": ties}
    values = frame.select(R.ap.precision("s", ties=ties), R.ap.recall("s", **options), R.ap.f_beta("s", **options))
    assert values.row(0) == (0.5, 1, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("frame", "n_positives", "error", "message"),
    [
        ({"r": [1, 0], "s": ["10", "9"]}, 1, ColumnError, "the score must be a number, not String"),
        ({"r": [1, 0], "s": [2, 1], "n": [1, 2]}, "n", ParameterError, "several values in one group"),
        ({"r": [1, 0], "s": [2, 1]}, 1.5, ParameterError, "n_positives must be whole numbers"),
        ({"r": [1, 0], "s": [2, 1], "n": [float("nan")] * 2}, "n", ParameterError, "n_positives must be whole numbers"),
    ],
)
def test_bad_data(frame: dict[str, list[object]], n_positives: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pl.DataFrame(frame).select(R.ap.average_precision("s", n_positives=n_positives))


def test_ignored_items_take_no_rank() -> None:
    frame = pl.DataFrame({"r": [0, 1, 0, 1], "s": [4, 3, 2, 1], "junk": [True, None, True, False]})
    kept = frame.filter(~pl.col("junk").fill_null(False))
    for measure in (
        apf.lists.average_precision("r", "s", n_positives=2, ignore="junk"),
        apf.lists.ndcg("r", "s", ignore="junk"),
    ):
        assert frame.select(measure).item() == 1
    assert (
        frame.select(apf.lists.precision("r", "s", k=2, ignore="junk")).item()
        == kept.select(apf.lists.precision("r", "s", k=2)).item()
        == 1
    )


@pytest.mark.slow
def test_detections_and_missed_annotations_are_a_ranked_list() -> None:
    """The matches table goes in as it is: missed annotations have no score, ignored detections are flagged."""
    evaluation = apf.evaluate("data/street/instances.json", "data/street/model_a.json")
    outcome = pl.col("outcome")
    ap = (
        (outcome == "tp")
        .ap.average_precision(
            "score", n_positives=outcome.is_in(["tp", "fn"]).sum(), definition="coco101", ignore=outcome == "ignored",
            then_by="rank",
        )
        .alias("ap")
    )  # fmt: skip
    by_expression = evaluation.matches(0.5, "small").group_by("category_id").agg(ap).sort("category_id")
    by_evaluation = evaluation.metrics.filter(
        pl.col("area_range") == "small", pl.col("iou_threshold") == 0.5, pl.col("max_detections") == 100
    ).sort("category_id")
    expected = dict(by_evaluation.select("category_id", "ap").rows())
    assert by_expression.height > 5
    for category, value in by_expression.rows():
        assert value == pytest.approx(expected[category], abs=1e-12)


scored = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


@given(scored)
def test_grouped_ties_are_scikit_learn(items: list[tuple[bool, int]]) -> None:
    flags, scores = [flag for flag, _ in items], [score for _, score in items]
    value = (
        pl.DataFrame({"r": flags, "s": scores}).select(R.ap.average_precision("s", n_positives=R.sum(), ties="group")).item()
    )
    if any(flags):
        assert value == pytest.approx(average_precision_score(flags, scores), abs=1e-12)
    else:
        assert value is None


@pytest.mark.slow
@given(scored, st.integers(0, 3))
def test_best_and_worst_are_bounds(items: list[tuple[bool, int]], missed: int) -> None:
    frame = pl.DataFrame(items, schema=["r", "s"], orient="row")
    options = {"n_positives": R.sum() + missed}
    low, mid, high = (
        frame.select(R.ap.average_precision("s", ties=ties, **options)).item() for ties in ("worst", "input", "best")
    )
    assert low is mid is high is None or low <= mid <= high


@pytest.mark.slow
@given(scored)
def test_a_false_positive_at_the_end_changes_nothing(items: list[tuple[bool, int]]) -> None:
    frame = pl.DataFrame([*items, (False, -1)], schema=["r", "s"], orient="row")
    # of the whole list, of its length, or of cut-offs
    others = ("set", "normalized", "nuscenes", "argoverse2", "r11", "r40")
    others += ("wider_face", "crowdhuman", "ultralytics", "ultralytics_8_4_35")  # which need the scores of all rows
    names = [name for name in apf.list_definitions()["name"] if name not in others]
    expression = R.ap.average_precision("s", n_positives=R.sum() + 1, definition=names)
    assert frame.select(expression).equals(frame.head(-1).select(expression))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: R.ap.precision("s", k=0), "k is a whole number of at least 1, not 0"),
        (lambda: R.ap.precision("s", k=2.5), "k is a whole number"),
        (lambda: R.ap.precision("s", ties="bets"), "not 'bets'; did you mean best?"),
        (lambda: R.ap.precision("s", ties="group", k=3), "no individual ranks"),
        (lambda: R.ap.reciprocal_rank("s", ties="group"), "no individual ranks"),
        (lambda: R.ap.precision("s", ties="best", then_by="id"), "needs ties"),
        (lambda: R.ap.precision("s", then_by=[("id", "down")]), "then_by needs columns"),
        (lambda: R.ap.average_precision("s", n_positives=1, over="min"), '"min" needs k'),
        (lambda: R.ap.average_precision("s", n_positives=1, over="all", k=1), 'over is "n_positives", "min" or "hits"'),
        (lambda: R.ap.average_precision("s", n_positives=1, definition=[]), "name at least one"),
        (lambda: R.ap.average_precision("s", n_positives=1, definition=["step", "step"]), "no duplicates"),
        (lambda: R.ap.f_beta("s", n_positives=1, beta=float("inf")), "beta must be a number above 0"),
        (lambda: apf.lists.precision([1, 0], "s"), "not as a list"),
        (lambda: R.ap.f_beta("s", n_positives=1, beta=0), "beta must be a number above 0"),
        (lambda: R.ap.precision_at_recall("s", n_positives=1, recall=1.5), "recall must be in"),
    ],
)
def test_bad_options(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()
