"""Average precision in SQL: the numbers of the expression, by hand and on generated lists, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apframe.exceptions import QueryError
from apframe.store import sql
from apframe.store.aggregate import SQL_DEFINITIONS

a_quarter_as_often = settings(max_examples=max(settings().max_examples // 4, 1))  # an example has many lists
ITEMS = pl.DataFrame(
    {
        "q": ["a"] * 5 + ["b"] * 3 + ["c"] * 2,
        "relevant": [1, 0, 1, 0, 1, 0, 1, None, 0, 1],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.5, 0.4, 0.2, None],
        "n_positives": [3] * 5 + [2] * 3 + [1] * 2,
    }
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """One for all lists, because to open one takes longer than to rank a few."""
    with sql.connect({}) as connection:
        yield connection


def in_sql(connection: duckdb.DuckDBPyConnection, items: pl.DataFrame, aggregate: str) -> list[float | None]:
    connection.register("items", items)
    answer = sql.answer(connection, f"SELECT q, {aggregate} AS ap FROM items GROUP BY q ORDER BY q")
    assert answer.schema["ap"] == pl.Float64
    return answer["ap"].to_list()


@pytest.mark.parametrize("relevant", ["relevant", "relevant * 2", "relevant::BOOLEAN", "relevant::DOUBLE"])
def test_average_precision_by_hand(relevant: str, connection: duckdb.DuckDBPyConnection) -> None:
    assert in_sql(connection, ITEMS, f"average_precision({relevant}, score, n_positives)") == [
        pytest.approx((1 + 2 / 3 + 3 / 5) / 3, abs=1e-15), 0.25, 0,  # the only positive of c was not retrieved
    ]  # fmt: skip


@st.composite
def ranked_lists(draw: st.DrawFn, *, ties: bool) -> pl.DataFrame:
    """Lists of all lengths, some without positives, with flags that are null and scores that are."""
    rows: list[tuple[int, bool | None, float | None, int | None]] = []
    for group in range(draw(st.integers(1, 12))):
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


def assert_engines_agree(
    connection: duckdb.DuckDBPyConnection, items: pl.DataFrame, definition: str, aggregate: str, **options: Any
) -> None:
    ap = pl.col("relevant").ap.average_precision("score", n_positives="n_positives", definition=definition, **options)
    expected = items.group_by("q").agg(ap=ap).sort("q")["ap"].to_list()
    precisions = in_sql(connection, items, aggregate)
    assert precisions == [value if value is None else pytest.approx(value, abs=1e-12, rel=0) for value in expected]


@pytest.mark.slow
@pytest.mark.parametrize("definition", SQL_DEFINITIONS)
@given(items=ranked_lists(ties=False))
@a_quarter_as_often
def test_engines_agree(definition: str, items: pl.DataFrame, connection: duckdb.DuckDBPyConnection) -> None:
    aggregate = f"average_precision(relevant, score, n_positives, definition := '{definition}')"
    assert_engines_agree(connection, items, definition, aggregate)


TIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ascending": ("score", "id", {"then_by": "id"}),
    "descending": ("score", "-id::INTEGER", {"then_by": ("id", "desc")}),
    "in a row": ("CASE WHEN score IS NOT NULL THEN row(score, id) END", "NULL", {"then_by": ("id", "desc")}),
    "not ordered": ("score", "NULL", {"ties": "worst"}),
    "positives first": ("score", "NOT coalesce(relevant, false)", {"ties": "best"}),
}


@pytest.mark.parametrize(("score", "then_by", "options"), TIES.values(), ids=TIES)
@given(items=ranked_lists(ties=True))
@a_quarter_as_often
def test_engines_agree_on_ties(
    score: str, then_by: str, options: dict[str, Any], items: pl.DataFrame, connection: duckdb.DuckDBPyConnection
) -> None:
    aggregate = f"average_precision(relevant, {score}, n_positives, definition := 'coco101', then_by := {then_by})"
    assert_engines_agree(connection, items, "coco101", aggregate, **options)


@pytest.mark.slow
@pytest.mark.parametrize("definition", SQL_DEFINITIONS)
def test_levels_are_the_very_same_doubles(definition: str, connection: duckdb.DuckDBPyConnection) -> None:
    """All recalls k / n: the precision is 1 down to k, so that a level off by one bit shows."""
    sizes = pl.DataFrame({"n_positives": range(1, 61)})
    lists = sizes.with_columns(found=pl.int_ranges(1, pl.col("n_positives") + 1)).explode("found").with_row_index("q")
    items = lists.with_columns(place=pl.int_ranges(pl.col("found"))).explode("place")
    items = items.with_columns(relevant=True, score=-pl.col("place").cast(pl.Float64))
    ap = pl.col("relevant").ap.average_precision("score", n_positives="n_positives", definition=definition)
    expected = items.group_by("q").agg(ap=ap).sort("q")["ap"]
    precisions = in_sql(connection, items, f"average_precision(relevant, score, n_positives, definition := '{definition}')")
    assert (pl.Series(precisions) - expected).abs().max() < 1e-12


@pytest.mark.slow
def test_average_precision_with_where_and_without_rows() -> None:
    tables = {"items": ITEMS.lazy()}
    ap = "average_precision(relevant, score, n_positives)"
    precisions = sql.query(tables, f"SELECT q, {ap} AS ap FROM items WHERE score < 0.75 AND q <> 'c' GROUP BY q ORDER BY q")
    assert precisions.rows() == [("a", pytest.approx((1 + 2 / 3) / 3)), ("b", 0.5)]
    assert sql.query(tables, f"SELECT {ap} AS ap FROM items WHERE false")["ap"].to_list() == [None]
    assert sql.query(tables, f"SELECT q, {ap} AS ap FROM items WHERE false GROUP BY q").height == 0
    assert sql.query(tables, "SELECT average_precision(false, score, 0) AS ap FROM items")["ap"].to_list() == [None]


@pytest.mark.slow
def test_average_precision_of_columns_with_any_name() -> None:
    """Names inside the macro are not those of the query's columns."""
    for name in ("k", "level", "n", "best", "share", "total", "definition", "then_by", "rank", "point", "n_positives"):
        items = ITEMS.filter(pl.col("q") == "a").select("relevant", "score", **{name: "n_positives"})
        query = f"SELECT average_precision(relevant, score, {name}, definition := 'interpolated') FROM items"
        assert sql.query({"items": items.lazy()}, query).item() == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


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
def test_average_precision_refuses(aggregate: str, message: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match=message):
        in_sql(connection, ITEMS, aggregate)
