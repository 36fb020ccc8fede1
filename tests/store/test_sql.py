"""The tables in SQL: the same as the frames, computed only when a query touches them."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe import interruption
from apframe.evaluation.on_request import ON_REQUEST
from apframe.exceptions import ParameterError, QueryError
from apframe.store import sql
from tests.stopping import SECONDS, interrupted_in
from tests.store.test_aggregate import ITEMS

STREET = Path(__file__).resolve().parents[2] / "data" / "street"


def evaluate() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return evaluate()


@pytest.mark.slow
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


@pytest.mark.slow
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
        lambda ev: ev.curves(0.9, "large").drop("name"),
    ),
    "curves of a category": (
        "SELECT category_id, name, curves.* EXCLUDE (category_id) FROM curves JOIN categories USING (category_id) "
        "WHERE iou_threshold = 0.5 AND area_range = 'all' AND name = 'car' ORDER BY rank",
        lambda ev: ev.curves(0.5, "all", category="car"),
    ),
}


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("query", "frame"), SAME.values(), ids=SAME)
def test_tables_equal_the_frames(
    query: str, frame: Callable[[apf.Evaluation], pl.DataFrame], evaluation: apf.Evaluation
) -> None:
    answer, expected = evaluation.sql(query), frame(evaluation)
    assert not expected.is_empty()
    names = [name for name, dtype in expected.schema.items() if isinstance(dtype, (pl.Enum, pl.Categorical))]
    as_text = pl.col(names).cast(pl.String)  # names of area ranges and outcomes may come back as text
    assert_frame_equal(answer.with_columns(as_text), expected.with_columns(as_text), check_exact=True, check_row_order=True)


@pytest.mark.slow
def test_matches_of_all_thresholds_are_those_of_each(evaluation: apf.Evaluation) -> None:
    query = "SELECT iou_threshold, area_range, outcome, count(*) AS n FROM matches GROUP BY ALL ORDER BY ALL"
    counts = {tuple(row[:3]): row[3] for row in evaluation.sql(query).rows()}
    for threshold in (0.5, 0.75, 0.9):
        for area_range in ("all", "small", "large"):
            expected = dict(evaluation.matches(threshold, area_range)["outcome"].value_counts().rows())
            assert {out: n for (t, a, out), n in counts.items() if (t, a) == (threshold, area_range)} == expected


@pytest.mark.slow
def test_parameters(evaluation: apf.Evaluation) -> None:
    query = "SELECT count(*) AS n FROM detections WHERE score >= $least AND category_id = $category"
    expected = evaluation.detections.filter(pl.col("score") >= 0.5, pl.col("category_id") == 2).height
    assert evaluation.sql(query, least=0.5, category=2).item() == expected


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(("query", "parameters", "message"), BAD.values(), ids=BAD)
def test_bad_query(query: str, parameters: dict[str, Any], message: str, evaluation: apf.Evaluation) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        evaluation.sql(query, **parameters)
    text = str(caught.value)
    assert "\n" not in text
    tables = (
        "; the tables are images, categories, annotations, detections, pairs, assignments, matches, curves, metrics, summary, "
        f"per_image, thresholds, {', '.join(ON_REQUEST)}"
    )
    assert text.endswith(tables) != text.startswith("Parser Error")


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ('FROM summary WHERE metric = "AP"', "; text is written in 'single quotes'; the tables are"),
        ("SELECT average_precision(value, value, 1) OVER () FROM summary", "; average_precision works with GROUP BY, not with"),
    ],
)
def test_hints(query: str, hint: str, evaluation: apf.Evaluation) -> None:
    with pytest.raises(QueryError) as caught:
        evaluation.sql(query)
    assert hint in str(caught.value)


@pytest.mark.slow
def test_last_of_several_statements_answers_and_none_is_refused() -> None:
    assert sql.query({}, "SELECT 1; SELECT 2").item() == 2
    with pytest.raises(ParameterError, match="a query is SQL text, not None"):
        sql.query({}, None)  # type: ignore[arg-type]


@pytest.mark.slow
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


@pytest.mark.slow
def test_catalogue_knows_the_attributes_of_files() -> None:
    tables = evaluate().sql("SHOW ALL TABLES")
    assert "occlusion" in tables.filter(name="annotations")["column_names"].item().to_list()


def test_interruption_goes_by_its_name() -> None:
    class Interrupted:
        def sql(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        sql.answer(Interrupted(), "SELECT 1")  # type: ignore[arg-type]


@pytest.mark.slow
def test_ctrl_c_is_heard_while_tables_are_computed() -> None:
    done = threading.Event()

    def make_slowly() -> pl.LazyFrame:
        done.wait(SECONDS)
        return pl.LazyFrame({"a": [1]})

    with interrupted_in("make_slowly"), pytest.raises(KeyboardInterrupt):
        sql.query({"t": sql.deferred(make_slowly, {"a": pl.Int64})}, "SELECT count(*) FROM t")
    assert interruption.unfinished()  # the table is still being computed
    threading.Timer(0.2, done.set).start()
    assert sql.query({}, "SELECT 7").item() == 7  # which waits for the other to end
    assert not interruption.unfinished()


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, dict], ids=["tables", "a function"])
def test_ctrl_c_is_heard_while_duckdb_computes(given: Any) -> None:
    for function in ("_answer", "from_arrow_stream"):  # perhaps just before it computes, and while it does
        with interrupted_in(function), pytest.raises(KeyboardInterrupt):
            sql.query(given, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")
        interruption.wait_for_cancelled()  # the query, which would take hours, has ended


@pytest.mark.slow
def test_ctrl_c_is_heard_while_tables_are_made() -> None:
    done = threading.Event()

    def make_slowly() -> dict[str, pl.LazyFrame]:
        done.wait(SECONDS)
        return {}

    with interrupted_in("make_slowly"), pytest.raises(KeyboardInterrupt):
        sql.query(make_slowly, "SELECT 1 / 0 FROM range(1000000000000)")
    assert interruption.unfinished()  # they are still being made
    done.set()
    interruption.wait_for_cancelled()  # nothing of the query is run any more


@pytest.mark.slow
def test_interruption_inside_a_table_is_no_error_of_the_query() -> None:
    def make() -> pl.LazyFrame:
        raise KeyboardInterrupt  # as Polars does in every thread

    with pytest.raises(KeyboardInterrupt):
        sql.query({"t": sql.deferred(make, {"a": pl.Int64})}, "SELECT count(*) FROM t")


@pytest.mark.slow
def test_error_lets_go_of_the_connection() -> None:
    gc.collect()
    gc.disable()  # nothing is left for it
    try:
        with pytest.raises(QueryError) as caught, sql.connect({}) as connection:
            left = weakref.ref(connection)
            sql.answer(connection, "SELEC")
        del connection, caught
        assert left() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_query_in_another_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(sql.query, {"t": pl.LazyFrame({"a": [7]})}, "FROM t").result().item() == 7
        with pytest.raises(QueryError, match="syntax error"):
            pool.submit(sql.query, {}, "SELEC").result()


@pytest.mark.slow
def test_an_error_about_columns_of_one_name_says_what_to_do() -> None:
    evaluation = apf.evaluate("data/street/instances.json", "data/street/model_a.json")
    with pytest.raises(QueryError, match="join with USING, or name them with AS"):
        evaluation.sql("SELECT * FROM metrics m JOIN categories c ON m.category_id = c.category_id")


@pytest.mark.slow
def test_detection_metrics_come_out_of_the_matches(evaluation: apf.Evaluation) -> None:
    query = """
        SELECT category_id, average_precision(outcome = 'tp', -rank, n_positives, definition := 'coco101') AS found,
            any_value(ap) AS ap
        FROM matches JOIN metrics USING (category_id, iou_threshold, area_range)
        WHERE iou_threshold = 0.5 AND area_range = 'all' AND max_detections = 100 AND outcome <> 'ignored'
        GROUP BY category_id ORDER BY category_id"""
    answer = evaluation.sql(query)
    assert answer.height == 12
    assert answer["found"].to_list() == pytest.approx(answer["ap"].to_list(), abs=1e-12)


@pytest.mark.slow
def test_connection_computes_what_a_query_touches() -> None:
    computed = []

    def make(name: str) -> pl.LazyFrame:
        computed.append(name)
        return ITEMS.lazy()

    tables = {name: sql.deferred(lambda name=name: make(name), ITEMS.schema) for name in ("one", "other")}
    with sql.connect(tables) as connection:
        assert sql.columns_of_tables(connection) == dict.fromkeys(tables, ITEMS.columns)
        assert computed == []
        connection.execute("CREATE TABLE kept AS SELECT q, score FROM other WHERE q = 'b'")
        assert set(computed) == {"other"}
        computed.clear()
        assert sql.answer(connection, "SELECT count(*) FROM kept").item() == 3
        assert computed == []
    with pytest.raises(duckdb.ConnectionException):
        connection.execute("SELECT 1")


@pytest.mark.slow
def test_errors_name_the_tables_of_the_connection() -> None:
    with sql.connect({"items": ITEMS.lazy()}) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS a")
        with pytest.raises(QueryError, match=r"^Catalog Error: [^\n]*; the tables are items, mine$"):
            sql.answer(connection, "FROM itmes")
        late = "SELECT CASE WHEN range > 900000 THEN error('too late') ELSE 1 END FROM range(1000000)"
        with pytest.raises(QueryError, match=r"^Invalid Input Error: too late; the tables are items, mine$"):
            sql.answer(connection, late)
        connection.execute("BEGIN")
        with pytest.raises(QueryError):
            sql.answer(connection, "SELECT error('no')")
        with pytest.raises(QueryError, match="ROLLBACK"):
            sql.answer(connection, "FROM items")
        sql.answer(connection, "ROLLBACK")
        assert sql.answer(connection, "FROM items").height == 10
    with pytest.raises(QueryError, match=r"; there are no tables$"):
        sql.query({}, "FROM items")
