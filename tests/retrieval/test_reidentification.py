"""Re-identification: the rules of Market-1501 by hand, and against a loop that walks down the gallery."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import ColumnError, DuplicateIdError, IdTypeError, InputError, ParameterError, RowError, UnknownIdError
from apframe.retrieval.reidentification import evaluate_reidentification

QUERIES = {"query_id": ["p", "q"], "person_id": [1, 2], "camera_id": [1, 1], "is_night": [True, False]}
GALLERY = {
    "gallery_id": ["a", "b", "c", "d", "e", "f"],
    "person_id": [1, 1, 1, 2, -1, 0],
    "camera_id": [1, 2, 3, 2, 2, 1],
}
# p: a (own camera) and e (junk) take no rank, so f b d c: positives at ranks 2 and 4
# q: e takes no rank, so f c d a b: a positive at rank 3
DISTANCES = np.array([[0.1, 0.4, 0.9, 0.5, 0.2, 0.3], [0.8, 0.9, 0.3, 0.4, 0.1, 0.2]])
AP = {"p": (1 / 2 + 2 / 4) / 2, "q": 1 / 3}


def as_table(distances: np.ndarray[Any, Any]) -> dict[str, list[Any]]:
    pairs = [
        (query, picture, distances[row, column])
        for column, picture in enumerate(GALLERY["gallery_id"])
        for row, query in enumerate(QUERIES["query_id"])
    ]
    return dict(zip(("query_id", "gallery_id", "distance"), map(list, zip(*pairs, strict=True)), strict=True))


TABLE = as_table(DISTANCES)


def values(evaluation: Any, measure: str) -> dict[Any, float | None]:
    return dict(evaluation.per_query.filter(pl.col("measure") == measure).select("query_id", "value").rows())


def test_by_hand() -> None:
    evaluation = evaluate_reidentification(QUERIES, GALLERY, DISTANCES, "AP Success@1 Success@2 Success@3 INP")
    assert values(evaluation, "AP") == pytest.approx(AP)
    assert values(evaluation, "INP") == pytest.approx({"p": 2 / 4, "q": 1 / 3})
    means = dict(evaluation.summary.select("measure", "value").rows())
    assert means == pytest.approx({"AP": 5 / 12, "Success@1": 0, "Success@2": 0.5, "Success@3": 1, "INP": 5 / 12})
    assert evaluation.by("is_night").filter(pl.col("measure") == "AP").select("is_night", "value").rows() == [
        (False, pytest.approx(1 / 3)),
        (True, pytest.approx(1 / 2)),
    ]


def test_ignored_pictures_are_in_the_tables() -> None:
    evaluation = evaluate_reidentification(QUERIES, GALLERY, DISTANCES)
    ignored = evaluation.runs[None].filter("ignore").select("query_id", "document_id").rows()
    assert sorted(ignored) == [("p", "a"), ("p", "e"), ("q", "e")]
    judged = evaluation.judgements.select("query_id", "document_id", "relevance").rows()
    assert judged == [("p", "a", -1), ("p", "b", 1), ("p", "c", 1), ("q", "d", 1)]


def test_area_by_trapezoids_is_that_of_zheng() -> None:
    evaluation = evaluate_reidentification(QUERIES, GALLERY, DISTANCES, "AP(definition=trapezoid)")
    expected = {"p": ((0 + 1 / 2) / 2 + (1 / 3 + 2 / 4) / 2) / 2, "q": (0 + 1 / 3) / 2}
    assert values(evaluation, "AP(definition=trapezoid)") == pytest.approx(expected)


def test_cameras_may_be_kept() -> None:
    cameraless = [{name: column for name, column in table.items() if name != "camera_id"} for table in (QUERIES, GALLERY)]
    for queries, gallery in ((QUERIES, GALLERY), cameraless):
        evaluation = evaluate_reidentification(queries, gallery, DISTANCES, "AP", same_camera="keep")
        assert values(evaluation, "AP") == pytest.approx({"p": (1 + 2 / 3 + 3 / 5) / 3, "q": 1 / 3})  # a f b d c


@pytest.mark.parametrize(
    "distances",
    [
        DISTANCES.astype(np.float32),
        (DISTANCES * 10).astype(int),
        TABLE,
        pl.DataFrame(TABLE),
        pl.LazyFrame(TABLE).rename({"gallery_id": "document_id"}),
        pl.DataFrame(TABLE).to_arrow(),
        pl.DataFrame(TABLE).select("query_id", "gallery_id", score=1 - pl.col("distance")),
    ],
)
def test_every_form_of_distances_gives_the_same(distances: Any) -> None:
    evaluation = evaluate_reidentification(QUERIES, GALLERY, distances)
    assert evaluation.per_query.equals(evaluate_reidentification(QUERIES, GALLERY, DISTANCES).per_query)


def test_people_from_other_libraries() -> None:
    frame = pl.DataFrame(GALLERY).rename({"gallery_id": "document_id"})  # noqa: F841  DuckDB finds it by its name
    gallery = duckdb.sql("SELECT document_id, person_id::SMALLINT AS person_id, camera_id FROM frame")
    queries = pl.DataFrame(QUERIES).with_columns(pl.col("query_id").cast(pl.Categorical))
    assert values(evaluate_reidentification(queries, gallery, DISTANCES), "AP") == pytest.approx(AP)


@pytest.mark.slow
def test_equal_distances_put_the_larger_id_first() -> None:
    people = {"person_id": [1, 2], "camera_id": [2, 2]}
    query = {"query_id": [1], "person_id": [1], "camera_id": [1]}
    for ids, value in (([1, 2], 1 / 2), ([2, 1], 1)):
        assert values(evaluate_reidentification(query, {"gallery_id": ids, **people}, np.zeros((1, 2))), "AP") == {1: value}


def test_queries_without_positives_are_left_out() -> None:
    queries = {"query_id": [1, 2, 3, 4], "person_id": [1, 2, 9, -1], "camera_id": [1, 1, 1, 1]}
    gallery = {"gallery_id": [1, 2, 3], "person_id": [1, 2, -1], "camera_id": [2, 1, 2]}
    evaluation = evaluate_reidentification(queries, gallery, np.zeros((4, 3)), "AP")
    assert values(evaluation, "AP") == {1: 0.5, 2: None, 3: None, 4: None}
    assert evaluation.summary.row(0) == ("AP", 0.5, 1)
    assert evaluation.coverage.select("n_judged", "n_evaluated", "n_without_relevant").row(0) == (4, 1, 3)


def test_pairs_that_are_left_out_are_not_retrieved() -> None:
    nearest = pl.DataFrame(TABLE).filter(pl.col("query_id") == "p", pl.col("distance") < 0.45)  # a e f b
    evaluation = evaluate_reidentification(QUERIES, GALLERY, nearest, "AP INP")
    assert values(evaluation, "AP") == {"p": 1 / 4, "q": 0}
    assert values(evaluation, "INP") == {"p": 0, "q": 0}
    assert evaluation.coverage["n_missing"].item() == 1


def test_without_cameras_the_error_says_how_to_go_on() -> None:
    people = {name: column for name, column in QUERIES.items() if name != "camera_id"}
    with pytest.raises(ColumnError) as error:
        evaluate_reidentification(people, GALLERY, DISTANCES)
    there = f"there are {', '.join(people)}"
    assert str(error.value) == f'queries: no column camera_id; {there}; if there are no cameras, choose same_camera="keep"'
    assert values(evaluate_reidentification(people, GALLERY, DISTANCES, same_camera="keep"), "AP").keys() == {"p", "q"}


def changed(table: dict[str, list[Any]], name: str, row: int, value: Any) -> pl.DataFrame:
    column = [*table[name]]
    column[row] = value
    return pl.DataFrame(table | {name: column}, strict=False)


@pytest.mark.parametrize(
    ("queries", "gallery", "distances", "error", "message"),
    [
        ({"query_id": [1]}, None, None, ColumnError, "queries: no column person_id, camera_id; there are query_id"),
        (None, {"person_id": [1], "camera_id": [1]}, None, ColumnError, "gallery: no column gallery_id"),
        (None, None, {"query_id": ["p"], "gallery_id": ["a"]}, ColumnError, "a numeric column distance or score"),
        (None, None, TABLE | {"distance": ["x"] * 12}, ColumnError, "a numeric column distance or score"),
        (None, None, [[0.1]], ColumnError, "distances: a list cannot be read as a table"),
        (changed(QUERIES, "query_id", 1, "p"), None, None, DuplicateIdError, "queries: query_id is not unique for .* 'p'"),
        (None, changed(GALLERY, "gallery_id", 1, "a"), None, DuplicateIdError, "gallery: gallery_id is not unique"),
        (None, None, pl.concat([pl.DataFrame(TABLE)] * 2), DuplicateIdError, "a query lists a document more than once"),
        (changed(QUERIES, "person_id", 1, None), None, None, RowError, "queries: person_id is missing for row 2"),
        (None, changed(GALLERY, "camera_id", 0, None), None, RowError, "gallery: camera_id is missing for row 1"),
        (None, GALLERY | {"person_id": list("abcdef")}, None, IdTypeError, "gallery.person_id holds strings, not integers"),
        (None, GALLERY | {"person_id": [0.5] * 6}, None, ColumnError, "gallery.person_id: ids must be integers or strings"),
        (None, None, TABLE | {"query_id": [1] * 12}, IdTypeError, "distances.query_id holds integers, not strings"),
        (None, None, changed(TABLE, "query_id", 2, "x"), UnknownIdError, "query_id is not in the queries for row 3; u"),
        (None, None, changed(TABLE, "gallery_id", 0, "x"), UnknownIdError, "gallery_id is not in the gallery for row 1"),
        (None, None, changed(TABLE, "distance", 3, float("nan")), RowError, r"not a finite number for .* \('q', 'b'\)"),
        (None, None, changed(TABLE, "distance", 3, None), RowError, "distance is not a finite number"),
        (None, None, DISTANCES + np.array([0, 0, 0, 0, 0, np.inf]), RowError, r"\('p', 'f'\), \('q', 'f'\)"),
        (None, None, DISTANCES.T, ParameterError, r"array of shape \(2, 6\).* not float64 of shape \(6, 2\)"),
        (None, None, DISTANCES.astype(str), ParameterError, "must be a numeric array of shape"),
        (pl.DataFrame(QUERIES).clear(), None, None, InputError, "queries: the table has no rows"),
        (None, pl.DataFrame(GALLERY).clear(), None, InputError, "gallery: the table has no rows"),
        (None, None, pl.DataFrame(TABLE).clear(), InputError, "distances: the table has no rows"),
    ],
)  # fmt: skip
def test_bad_input(queries: Any, gallery: Any, distances: Any, error: type[Exception], message: str) -> None:
    inputs = [default if table is None else table for table, default in
              ((queries, QUERIES), (gallery, GALLERY), (distances, DISTANCES))]  # fmt: skip
    with pytest.raises(error, match=message):
        evaluate_reidentification(*inputs)


def test_bad_options() -> None:
    with pytest.raises(ParameterError, match=r'same_camera is "ignore" or "keep", not .drop.'):
        evaluate_reidentification(QUERIES, GALLERY, DISTANCES, same_camera="drop")
    with pytest.raises(ParameterError, match="no measure 'APP'; did you mean"):
        evaluate_reidentification(QUERIES, GALLERY, DISTANCES, "APP")


def walked(
    person: int, camera: int, gallery: list[tuple[int, int]], distances: list[float]
) -> tuple[float, float, list[int]] | None:
    """AP, INP and the CMC curve of one query, or None without positives: the gallery from near to far."""
    ranks, rank = [], 0
    for place in sorted(range(len(gallery)), key=lambda at: (distances[at], -at)):
        other, seen_by = gallery[place]
        if other == -1 or (other == person and seen_by == camera):
            continue
        rank += 1
        if other == person:
            ranks.append(rank)
    if not ranks:
        return None
    precisions = [(number + 1) / at for number, at in enumerate(ranks)]
    return sum(precisions) / len(ranks), len(ranks) / ranks[-1], [int(ranks[0] <= k) for k in range(1, 6)]


picture = st.tuples(st.integers(-1, 2), st.integers(1, 3))


@pytest.mark.slow
@given(st.lists(picture, min_size=1, max_size=4), st.lists(picture, min_size=1, max_size=12), st.data())
def test_walking_down_the_gallery_gives_the_same(
    queries: list[tuple[int, int]], gallery: list[tuple[int, int]], data: st.DataObject
) -> None:
    row = st.lists(st.integers(0, 8), min_size=len(gallery), max_size=len(gallery))
    distances = np.array(data.draw(st.lists(row, min_size=len(queries), max_size=len(queries))))
    tables = [
        {key: range(len(people)), "person_id": [who for who, _ in people], "camera_id": [camera for _, camera in people]}
        for key, people in (("query_id", queries), ("gallery_id", gallery))
    ]
    evaluation = evaluate_reidentification(*tables, distances, [f"Success@{k}" for k in range(1, 6)] + ["AP", "INP"])
    expected = {at: walked(*query, gallery, distances[at].tolist()) for at, query in enumerate(queries)}
    assert values(evaluation, "AP") == {at: pytest.approx(one[0]) if one else None for at, one in expected.items()}
    assert values(evaluation, "INP") == {at: pytest.approx(one[1]) if one else None for at, one in expected.items()}
    for k in range(1, 6):
        assert values(evaluation, f"Success@{k}") == {at: one[2][k - 1] if one else None for at, one in expected.items()}
