"""The tables in SQL: the same as the frames, computed only when a query touches them."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe import interruption
from apframe.exceptions import OutputError, ParameterError, QueryError
from apframe.store import sql

STREET = Path(__file__).resolve().parents[2] / "data" / "street"


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
        lambda ev: ev.curves(0.9, "large").drop("name"),
    ),
    "curves of a category": (
        "SELECT category_id, name, curves.* EXCLUDE (category_id) FROM curves JOIN categories USING (category_id) "
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
        "; the tables are images, categories, annotations, detections, pairs, assignments, matches, curves, metrics, summary, "
        "per_image, thresholds"
    )


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


def test_last_of_several_statements_answers_and_none_is_refused() -> None:
    assert sql.query({}, "SELECT 1; SELECT 2").item() == 2
    with pytest.raises(ParameterError, match="a query is SQL text, not None"):
        sql.query({}, None)  # type: ignore[arg-type]


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


def test_catalogue_knows_the_attributes_of_files() -> None:
    tables = evaluate().sql("SHOW ALL TABLES")
    assert "occlusion" in tables.filter(name="annotations")["column_names"].item().to_list()


def test_interruption_goes_by_its_name() -> None:
    class Interrupted:
        def sql(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        sql.answer(Interrupted(), "SELECT 1")  # type: ignore[arg-type]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C after a moment, whichever thread hears it."""
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.join()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_while_tables_are_computed() -> None:
    done = threading.Event()

    def make() -> pl.LazyFrame:
        done.wait(20)
        return pl.LazyFrame({"a": [1]})

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sql.query({"t": sql.deferred(make, {"a": pl.Int64})}, "SELECT count(*) FROM t")
    assert time.monotonic() - start < 1.3  # after 0.3 s, within one
    assert interruption.unfinished()
    threading.Timer(0.2, done.set).start()
    assert sql.query({}, "SELECT 7").item() == 7  # which waits for the other to end
    assert not interruption.unfinished()


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("given", [{}, dict], ids=["tables", "a function"])
def test_ctrl_c_is_heard_while_duckdb_computes(given: Any) -> None:
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sql.query(given, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b")
    assert time.monotonic() - start < 1.3
    interruption.settle()
    assert time.monotonic() - start < 5


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_while_tables_are_made() -> None:
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sql.query(lambda: time.sleep(2) or {}, "SELECT 1 / 0 FROM range(1000000000000)")  # type: ignore[func-returns-value]
    assert time.monotonic() - start < 1.3
    interruption.settle()  # nothing of the query is run any more
    assert time.monotonic() - start < 5


def test_interruption_inside_a_table_is_no_error_of_the_query() -> None:
    def make() -> pl.LazyFrame:
        raise KeyboardInterrupt  # as Polars does in every thread

    with pytest.raises(KeyboardInterrupt):
        sql.query({"t": sql.deferred(make, {"a": pl.Int64})}, "SELECT count(*) FROM t")


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


def test_query_in_another_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(sql.query, {"t": pl.LazyFrame({"a": [7]})}, "FROM t").result().item() == 7
        with pytest.raises(QueryError, match="syntax error"):
            pool.submit(sql.query, {}, "SELEC").result()


def test_two_columns_of_one_name_are_an_error_that_says_what_to_do() -> None:
    evaluation = apf.evaluate("data/street/instances.json", "data/street/model_a.json")
    with pytest.raises(QueryError, match="join with USING, or name them with AS"):
        evaluation.sql("SELECT * FROM metrics m JOIN categories c ON m.category_id = c.category_id")


# --- average precision in SQL ---------------------------------------------------------------------------------------------

ITEMS = pl.DataFrame(
    {
        "q": ["a"] * 5 + ["b"] * 3 + ["c"] * 2,
        "relevant": [1, 0, 1, 0, 1, 0, 1, None, 0, 1],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.5, 0.4, 0.2, None],
        "n_positives": [3] * 5 + [2] * 3 + [1] * 2,
    }
)


def in_sql(items: pl.DataFrame, aggregate: str) -> list[float | None]:
    answer = sql.query({"items": items.lazy()}, f"SELECT q, {aggregate} AS ap FROM items GROUP BY q ORDER BY q")
    assert answer.schema["ap"] == pl.Float64
    return answer["ap"].to_list()


def test_average_precision_by_hand() -> None:
    assert in_sql(ITEMS, "average_precision(relevant, score, n_positives)") == [
        pytest.approx((1 + 2 / 3 + 3 / 5) / 3, abs=1e-15), 0.25, 0,  # the only positive of c was not retrieved
    ]  # fmt: skip


@st.composite
def ranked_lists(draw: st.DrawFn, *, ties: bool) -> pl.DataFrame:
    """Lists of all lengths, some without positives, with flags that are null and scores that are."""
    rows: list[tuple[int, bool | None, float | None, int | None]] = []
    for group in range(draw(st.integers(1, 4))):
        length = draw(st.integers(1, 40))
        relevant = draw(st.lists(st.sampled_from([True, False, None]), min_size=length, max_size=length))
        places = draw(st.permutations(range(length)))
        scores = [place // 4 if ties else place for place in places]
        retrieved = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=length, max_size=length))
        present = sum(map(bool, relevant))
        n = draw(st.none() | st.integers(present, present + 12))
        rows += [(group, r, s / 8 if kept else None, n) for r, s, kept in zip(relevant, scores, retrieved, strict=True)]
    schema = {"q": pl.Int64, "relevant": pl.Boolean, "score": pl.Float64, "n_positives": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row").with_row_index("id")


def assert_engines_agree(items: pl.DataFrame, definition: str, aggregate: str, **options: Any) -> None:
    ap = pl.col("relevant").ap.average_precision("score", n_positives="n_positives", definition=definition, **options)
    expected = items.group_by("q").agg(ap=ap).sort("q")["ap"].to_list()
    found = in_sql(items, aggregate)
    assert found == [value if value is None else pytest.approx(value, abs=1e-12, rel=0) for value in expected]


@pytest.mark.parametrize("definition", sql.SQL_DEFINITIONS)
@given(data=st.data())
def test_engines_agree(definition: str, data: st.DataObject) -> None:
    items = data.draw(ranked_lists(ties=False))
    for relevant in ("relevant", "relevant::INTEGER * 2", "relevant::DOUBLE"):
        aggregate = f"average_precision({relevant}, score, n_positives, definition := '{definition}')"
        assert_engines_agree(items, definition, aggregate)


TIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ascending": ("score", "id", {"then_by": "id"}),
    "descending": ("score", "-id::INTEGER", {"then_by": ("id", "desc")}),
    "in a row": ("CASE WHEN score IS NOT NULL THEN row(score, id) END", "NULL", {"then_by": ("id", "desc")}),
    "not ordered": ("score", "NULL", {"ties": "worst"}),
    "positives first": ("score", "NOT coalesce(relevant, false)", {"ties": "best"}),
}


@pytest.mark.parametrize(("score", "then_by", "options"), TIES.values(), ids=TIES)
@given(data=st.data())
def test_engines_agree_on_ties(score: str, then_by: str, options: dict[str, Any], data: st.DataObject) -> None:
    aggregate = f"average_precision(relevant, {score}, n_positives, definition := 'coco101', then_by := {then_by})"
    assert_engines_agree(data.draw(ranked_lists(ties=True)), "coco101", aggregate, **options)


@pytest.mark.parametrize("definition", sql.SQL_DEFINITIONS)
def test_levels_are_the_very_same_doubles(definition: str) -> None:
    """All recalls k / n: the precision is 1 down to k, so that a level off by one bit shows."""
    sizes = pl.DataFrame({"n_positives": range(1, 61)})
    lists = sizes.with_columns(found=pl.int_ranges(1, pl.col("n_positives") + 1)).explode("found").with_row_index("q")
    items = lists.with_columns(place=pl.int_ranges(pl.col("found"))).explode("place")
    items = items.with_columns(relevant=True, score=-pl.col("place").cast(pl.Float64))
    ap = pl.col("relevant").ap.average_precision("score", n_positives="n_positives", definition=definition)
    expected = items.group_by("q").agg(ap=ap).sort("q")["ap"]
    found = in_sql(items, f"average_precision(relevant, score, n_positives, definition := '{definition}')")
    assert (pl.Series(found) - expected).abs().max() < 1e-12


def test_average_precision_with_where_and_without_rows() -> None:
    tables = {"items": ITEMS.lazy()}
    ap = "average_precision(relevant, score, n_positives)"
    found = sql.query(tables, f"SELECT q, {ap} AS ap FROM items WHERE score < 0.75 AND q <> 'c' GROUP BY q ORDER BY q")
    assert found.rows() == [("a", pytest.approx((1 + 2 / 3) / 3)), ("b", 0.5)]
    assert sql.query(tables, f"SELECT {ap} AS ap FROM items WHERE false")["ap"].to_list() == [None]
    assert sql.query(tables, f"SELECT q, {ap} AS ap FROM items WHERE false GROUP BY q").height == 0
    assert sql.query(tables, "SELECT average_precision(false, score, 0) AS ap FROM items")["ap"].to_list() == [None]


def test_average_precision_of_columns_with_any_name() -> None:
    """Names inside the macro are not those of the query's columns."""
    for name in ("k", "level", "n", "best", "share", "total", "definition", "then_by", "rank", "point", "n_positives"):
        items = ITEMS.filter(pl.col("q") == "a").select("relevant", "score", **{name: "n_positives"})
        query = f"SELECT average_precision(relevant, score, {name}, definition := 'interpolated') FROM items"
        assert sql.query({"items": items.lazy()}, query).item() == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


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


WRONG = {
    "definition": ("average_precision(relevant, score, 5, definition := 'coco')", "no definition coco in SQL; there are step,"),
    "no definition": ("average_precision(relevant, score, 5, definition := NULL)", "no definition in SQL"),
    "too few": ("average_precision(relevant, score, 2)", r"n_positives is smaller .* \(2 given where 3 are present\)"),
    "several": ("average_precision(relevant, score, n_positives + (score > 0.6)::INT)", "several values in one group"),
    "half": ("average_precision(relevant, score, 3.5)", "n_positives is a whole number, 0 or more"),
    "negative": ("average_precision(relevant, score, -1)", "n_positives is a whole number, 0 or more"),
    "NaN score": ("average_precision(relevant, CASE WHEN score > 0.6 THEN 'nan'::FLOAT END, 5)", "the score is NaN"),
    "NaN in a row": ("average_precision(relevant, row(-'nan'::DOUBLE, 1), 5)", "the score is NaN"),
    "NaN relevance": ("average_precision('nan'::DOUBLE, score, 5)", "the relevance is NaN"),
}


@pytest.mark.parametrize(("aggregate", "message"), WRONG.values(), ids=WRONG)
def test_average_precision_refuses(aggregate: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        in_sql(ITEMS, aggregate)


# --- connections and files ------------------------------------------------------------------------------------------------


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


AREA = pl.Enum(["all", "small"])
PART = pl.DataFrame({"id": [1, 2], "area": ["all", None], "when": [None, date(2026, 1, 2)]}, {"id": pl.Int64, "area": AREA,
                    "when": pl.Date})  # fmt: skip


def test_database_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.duckdb"
    again = PART.with_columns(pl.col("id") + 2)
    tables = {"parts": (part.lazy() for part in (PART, again)), 'a "table"': PART.lazy(), "items": ITEMS.lazy(),
              "none": [PART.clear().lazy()], "apframe part": PART.lazy()}  # fmt: skip
    sql.write_database(path, tables)
    assert [entry.name for entry in path.parent.iterdir()] == ["run.duckdb"]
    text = pl.col("area").cast(pl.String)
    with duckdb.connect(path, read_only=True) as connection:
        assert_frame_equal(sql.answer(connection, "FROM parts"), pl.concat([PART, again]).with_columns(text))
        assert_frame_equal(sql.answer(connection, 'FROM "a ""table"""'), PART.with_columns(text))
        assert_frame_equal(sql.answer(connection, 'FROM "apframe part"'), PART.with_columns(text))
        assert_frame_equal(sql.answer(connection, "FROM none"), PART.clear().with_columns(text))
        version, created = connection.execute("SELECT version, created FROM apframe").fetchone() or ("", "")
        assert version == importlib.metadata.version("apframe")
        assert datetime.fromisoformat(created) <= datetime.now(UTC)
    # beside another database, the aggregate of the file is at hand by the file's name
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS run (READ_ONLY)")
        query = "SELECT run.average_precision(relevant, score, n_positives, definition := 'voc2007') FROM run.items GROUP BY q"
        assert connection.execute(query).fetchall()


def test_parts_are_held_one_at_a_time(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.duckdb", []

    def parts() -> Iterator[pl.LazyFrame]:
        for number in range(3):
            yield sql.deferred(lambda number=number: seen.append(number) or PART, PART.schema)
            assert seen == [*range(number + 1)]

    sql.write_database(path, {"parts": parts()})
    assert seen == [0, 1, 2]


def test_database_replaces_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    sql.write_database(path, {"old": PART.lazy()})
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE more AS SELECT 1 AS a")
    (tmp_path / "run.duckdb.wal").write_bytes(b"")
    sql.write_database(path, {"new": PART.lazy()})
    with duckdb.connect(path, read_only=True) as connection:
        assert sql.columns_of_tables(connection).keys() == {"new", "apframe"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), duckdb.IOException("disk")])
def test_interrupted_database_leaves_what_was_there(tmp_path: Path, error: Any) -> None:
    path = tmp_path / "run.duckdb"
    sql.write_database(path, {"old": PART.lazy()})
    before = path.read_bytes()

    def parts() -> Iterator[pl.LazyFrame]:
        yield PART.lazy()
        assert len([*tmp_path.iterdir()]) == 2  # the work is done beside it
        raise error

    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else OutputError, match=r"cannot be written|^$"):
        sql.write_database(path, {"new": PART.lazy(), "parts": parts()})
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]
    assert path.read_bytes() == before


def test_failure_of_the_last_step_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.duckdb"
    sql.write_database(path, {"old": PART.lazy()})

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(OutputError, match=r"run\.duckdb: cannot be written \(permission denied\)"):
            sql.write_database(path, {"new": PART.lazy()})
    with duckdb.connect(path, read_only=True) as connection:
        assert sql.columns_of_tables(connection).keys() == {"old", "apframe"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]


def test_database_of_others_is_left_alone(tmp_path: Path) -> None:
    text, empty, theirs, namesake = (tmp_path / name for name in ("text", "empty", "theirs.duckdb", "namesake.duckdb"))
    text.write_text("hello, this is text")
    empty.touch()
    with duckdb.connect(theirs) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with duckdb.connect(namesake) as connection:
        connection.execute("CREATE TABLE apframe AS SELECT 1 AS a")
    for path in (text, empty, theirs, namesake):
        before = path.read_bytes()
        message = "is there already and is not a database that apframe wrote; name another file"
        with pytest.raises(OutputError, match=message):
            sql.write_database(path, {"t": PART.lazy()})
        assert path.read_bytes() == before
    with pytest.raises(OutputError, match="this is a folder"):
        sql.write_database(tmp_path, {"t": PART.lazy()})
    with pytest.raises(OutputError, match="cannot be written"):
        sql.write_database(text / "below" / "run.duckdb", {"t": PART.lazy()})
    assert len([*tmp_path.iterdir()]) == 4


def test_database_that_is_open_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    sql.write_database(path, {"t": PART.lazy()})
    with duckdb.connect(path), pytest.raises(OutputError, match=r"is open elsewhere.*close it"):
        sql.write_database(path, {"t": PART.lazy()})


def test_table_of_no_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="matches: no frame was given"):
        sql.write_database(tmp_path / "run.duckdb", {"matches": []})
    assert [*tmp_path.iterdir()] == []
