"""The tables in SQL: the same as the frames, computed only when a query touches them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import QueryError

STREET = Path(__file__).resolve().parents[1] / "data" / "street"


def evaluate() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return evaluate()


def test_query_of_the_design(evaluation: apf.Evaluation) -> None:
    answer = evaluation.sql(
        "SELECT name, avg(ap) AS ap FROM metrics JOIN categories USING (category_id) "
        "WHERE area_range = 'all' AND max_detections = 100 GROUP BY name ORDER BY ap"
    )
    expected = (
        evaluation.metrics.filter(pl.col("area_range") == "all", pl.col("max_detections") == 100)
        .join(evaluation.dataset.categories, on="category_id")
        .group_by("name")
        .agg(pl.col("ap").mean())
        .sort("ap")
    )
    assert answer.height == 12
    assert_frame_equal(answer, expected, rel_tol=1e-14, abs_tol=0)
    assert answer["ap"].mean() == pytest.approx(evaluation.stats[0], abs=1e-12)


def test_attributes_of_the_images_group_matches(evaluation: apf.Evaluation) -> None:
    answer = evaluation.sql(
        "SELECT time_of_day, outcome, count(*) AS n FROM matches JOIN images USING (image_id) "
        "WHERE iou_threshold = 0.5 AND area_range = 'all' GROUP BY ALL ORDER BY ALL"
    )
    assert set(answer["time_of_day"]) == {"day", "dusk", "night"}
    assert answer["n"].sum() == evaluation.matches(0.5, "all").height


# query -> the frame that it must equal
SAME: dict[str, tuple[str, Callable[[apf.Evaluation], pl.DataFrame]]] = {
    "metrics": ("SELECT * FROM metrics", lambda ev: ev.metrics),
    "summary": ("SELECT * FROM summary", lambda ev: ev.summary),
    "pairs": ("SELECT * FROM pairs", lambda ev: ev.pairs),
    "assignments": ("SELECT * FROM assignments", lambda ev: ev.assignments),
    "detections": ("SELECT * FROM detections", lambda ev: ev.detections),
    "images": ("SELECT * FROM images", lambda ev: ev.dataset.images),
    "categories": ("SELECT * FROM categories", lambda ev: ev.dataset.categories),
    "annotations": ("SELECT * FROM annotations", lambda ev: ev.dataset.annotations),
    "matches": (
        "SELECT * FROM matches WHERE iou_threshold = 0.9 AND area_range = 'small' ORDER BY match_id",
        lambda ev: ev.matches(0.9, "small"),
    ),
    "matches, some columns": (
        "SELECT detection_id, outcome FROM matches WHERE iou_threshold = 0.55 AND area_range = 'all' ORDER BY match_id",
        lambda ev: ev.matches(0.55, "all").select("detection_id", "outcome"),
    ),
    "curves": (
        "SELECT * FROM curves WHERE iou_threshold = 0.9 AND area_range = 'large' ORDER BY category_id, rank",
        lambda ev: ev.curves(0.9, "large"),
    ),
    "curves of a category": (
        "SELECT curves.* FROM curves JOIN categories USING (category_id) "
        "WHERE iou_threshold = 0.5 AND area_range = 'all' AND name = 'car' ORDER BY rank",
        lambda ev: ev.curves(0.5, "all", category="car"),
    ),
}


@pytest.mark.parametrize(("query", "frame"), SAME.values(), ids=SAME)
def test_tables_equal_the_frames(
    query: str, frame: Callable[[apf.Evaluation], pl.DataFrame], evaluation: apf.Evaluation
) -> None:
    answer, expected = evaluation.sql(query), frame(evaluation)
    assert not expected.is_empty()
    names = [name for name, dtype in expected.schema.items() if isinstance(dtype, (pl.Enum, pl.Categorical))]
    as_text = pl.col(names).cast(pl.String)  # names of area ranges and outcomes may come back as text
    assert_frame_equal(answer.with_columns(as_text), expected.with_columns(as_text), check_exact=True, check_row_order=True)


def test_matches_of_all_thresholds_are_those_of_each(evaluation: apf.Evaluation) -> None:
    query = "SELECT iou_threshold, area_range, outcome, count(*) AS n FROM matches GROUP BY ALL ORDER BY ALL"
    counts = {tuple(row[:3]): row[3] for row in evaluation.sql(query).rows()}
    for threshold in (0.5, 0.75, 0.9):
        for area_range in ("all", "small", "large"):
            expected = dict(evaluation.matches(threshold, area_range)["outcome"].value_counts().rows())
            assert {out: n for (t, a, out), n in counts.items() if (t, a) == (threshold, area_range)} == expected


def test_parameters(evaluation: apf.Evaluation) -> None:
    query = "SELECT count(*) AS n FROM detections WHERE score >= $least AND category_id = $category"
    expected = evaluation.detections.filter(pl.col("score") >= 0.5, pl.col("category_id") == 2).height
    assert evaluation.sql(query, least=0.5, category=2).item() == expected


def test_sums_of_integers_are_integers(evaluation: apf.Evaluation) -> None:
    answer = evaluation.sql("SELECT sum(n_positives) AS n FROM metrics WHERE area_range = 'all'")
    assert answer.schema == {"n": pl.Int64}


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "a typo": ("SELEC 1", {}, "syntax error"),
    "no such table": ("SELECT * FROM metric", {}, "Table with name metric does not exist"),
    "no such column": ("SELECT nothing FROM metrics", {}, "nothing"),
    "a wrong type": ("SELECT CAST(area_range AS INTEGER) FROM metrics", {}, "(?i)could not convert|conversion|cast"),
    "no parameter": ("SELECT $a", {}, "(?i)parameter"),
    "another parameter": ("SELECT 1", {"a": 1}, "(?i)parameter"),
}


@pytest.mark.parametrize(("query", "parameters", "message"), BAD.values(), ids=BAD)
def test_bad_query(query: str, parameters: dict[str, Any], message: str, evaluation: apf.Evaluation) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        evaluation.sql(query, **parameters)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(
        "; the tables are images, categories, annotations, detections, pairs, assignments, matches, curves, metrics, summary"
    )


def test_only_what_a_query_touches_is_computed() -> None:
    evaluation = evaluate()
    assert evaluation.sql("SELECT weather, count(*) AS n FROM images GROUP BY ALL")["n"].sum() == 300
    evaluation.sql("SELECT max(score) FROM detections JOIN annotations USING (image_id, category_id)")
    evaluation.sql("DESCRIBE matches")
    assert not {"_pipeline", "metrics", "summary"} & vars(evaluation).keys()
    evaluation.sql("SELECT count(*) FROM matches WHERE iou_threshold = 0.5 AND area_range = 'all'")
    assert "metrics" not in vars(evaluation)
    evaluation.sql("SELECT count(*) FROM metrics")
    assert "metrics" in vars(evaluation)


def test_two_columns_of_one_name_are_an_error_that_says_what_to_do() -> None:
    evaluation = apf.evaluate("data/street/instances.json", "data/street/model_a.json")
    with pytest.raises(QueryError, match="join with USING, or name them with AS"):
        evaluation.sql("SELECT * FROM metrics m JOIN categories c ON m.category_id = c.category_id")
