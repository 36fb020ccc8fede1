"""Which detections are judged: limits per image, verified categories, and categories that are not annotated exhaustively."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe.protocols.rules.judged import are_judged, flag_not_exhaustive, named
from apframe.protocols.rules.limits import limit_per_image

AT = ["image_id", "category_id"]
LISTS = dict.fromkeys(["pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids"], pl.List(pl.Int64))


def keep_judged(detections: pl.DataFrame, annotations: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    return detections.filter(are_judged(detections, annotations, images))


def rows_of(*rows: tuple[Any, Any], scores: list[float] | None = None) -> pl.DataFrame:
    """Detections of these images and categories, with ids from 1."""
    frame = pl.DataFrame(list(rows), schema=AT, orient="row").with_row_index("detection_id", 1)
    return frame if scores is None else frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))


def kept(frame: pl.DataFrame) -> list[int]:
    return frame["detection_id"].to_list()


# ---- limits


LIMITED: dict[str, tuple[list[tuple[Any, Any]], list[float], int, list[int]]] = {
    "over all categories": ([(1, 1), (1, 2), (1, 1), (1, 3)], [0.1, 0.9, 0.8, 0.7], 2, [2, 3]),
    "each image on its own": ([(1, 1), (2, 1), (1, 1), (2, 1)], [0.1, 0.9, 0.8, 0.7], 1, [2, 3]),
    "the first of equal scores": ([(1, 1), (1, 2), (1, 3)], [0.5, 0.5, 0.5], 2, [1, 2]),
    "equal scores at the limit": ([(1, 1), (1, 2), (1, 3), (1, 4)], [0.5, 0.9, 0.5, 0.5], 2, [1, 2]),
    "order of the rows stays": ([(2, 1), (1, 1), (2, 1), (1, 1)], [0.1, 0.2, 0.3, 0.4], 9, [1, 2, 3, 4]),
    "exactly so many": ([(1, 1), (1, 1)], [0.1, 0.2], 2, [1, 2]),
    "strings": ([("b", "x"), ("a", "x"), ("b", "y")], [0.1, 0.2, 0.3], 1, [2, 3]),
    "negative scores": ([(1, 1), (1, 1)], [-2.0, -1.0], 1, [2]),
}


@pytest.mark.parametrize(("rows", "scores", "limit", "expected"), LIMITED.values(), ids=LIMITED)
def test_limit_per_image(rows: list[tuple[Any, Any]], scores: list[float], limit: int, expected: list[int]) -> None:
    detections = rows_of(*rows, scores=scores)
    limited = limit_per_image(detections, limit)
    assert kept(limited) == expected
    assert_frame_equal(limited, detections.filter(pl.col("detection_id").is_in(expected)))


def test_limit_of_nothing() -> None:
    nothing = rows_of((1, 1), scores=[0.5]).clear()
    assert_frame_equal(limit_per_image(nothing, 3), nothing)


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([0.1, 0.5, 0.5, 0.9])), max_size=12), st.integers(1, 5))
def test_limit_as_a_plain_loop(rows: list[tuple[int, float]], limit: int) -> None:
    detections = pl.DataFrame(rows, schema={"image_id": pl.Int64, "score": pl.Float64}, orient="row")
    expected = [
        place
        for place, (image, score) in enumerate(rows)
        if sum(i == image and (s > score or (s == score and p < place)) for p, (i, s) in enumerate(rows)) < limit
    ]
    survivors = limit_per_image(detections.with_row_index("place"), limit)
    assert survivors["place"].to_list() == expected


# ---- what is judged


IMAGES = pl.DataFrame({
    "image_id": [1, 2, 3],
    "pos_category_ids": [[5], [], []],
    "neg_category_ids": [[], [6, 7], []],
    "not_exhaustive_category_ids": [[], [6], [5, 5]],
}, schema_overrides=LISTS)  # fmt: skip
ANNOTATIONS = pl.DataFrame({"image_id": [1, 1, 3], "category_id": [6, 6, 7]})
EVERYWHERE = rows_of(*((image, category) for image in (3, 2, 1) for category in (7, 6, 5)))


def test_what_is_judged() -> None:
    judged = keep_judged(EVERYWHERE, ANNOTATIONS, IMAGES)
    assert judged.select(AT).rows() == [
        (3, 7),
        (2, 7),
        (2, 6),
        (1, 6),
        (1, 5),
    ]  # annotated, negative twice, annotated, positive
    assert_frame_equal(judged, EVERYWHERE.filter(pl.col("detection_id").is_in(kept(judged))))


def test_without_lists_what_is_annotated_is_judged() -> None:
    judged = keep_judged(EVERYWHERE, ANNOTATIONS, IMAGES.select("image_id"))
    assert judged.select(AT).rows() == [(3, 7), (1, 6)]


def test_a_detection_is_judged_once_however_often_it_is_named() -> None:
    images = pl.DataFrame({"image_id": [1], "pos_category_ids": [[6, 6]], "neg_category_ids": [[6]]})
    assert kept(keep_judged(rows_of((1, 6)), ANNOTATIONS, images)) == [1]


def test_judged_with_string_ids() -> None:
    images = pl.DataFrame({"image_id": ["a", "b"], "neg_category_ids": [["dog"], []]})
    annotations = pl.DataFrame({"image_id": ["b"], "category_id": ["cat"]})
    detections = rows_of(("a", "cat"), ("a", "dog"), ("b", "cat"), ("b", "dog"))
    assert kept(keep_judged(detections, annotations, images)) == [2, 3]


@pytest.mark.parametrize("table", ["detections", "annotations", "images", "all"])
def test_judged_with_empty_tables(table: str) -> None:
    tables = {"detections": EVERYWHERE, "annotations": ANNOTATIONS, "images": IMAGES}
    tables = {name: frame.clear() if table in (name, "all") else frame for name, frame in tables.items()}
    judged = keep_judged(tables["detections"], tables["annotations"], tables["images"])
    expected = {"annotations": [(2, 7), (2, 6), (1, 5)], "images": [(3, 7), (1, 6)]}
    assert judged.select(AT).rows() == expected.get(table, [])
    assert judged.schema == EVERYWHERE.schema


# ---- what is not exhaustive


def test_what_is_not_exhaustive_is_flagged() -> None:
    flagged = flag_not_exhaustive(EVERYWHERE, IMAGES)
    assert flagged.filter("ignore").select(AT).rows() == [(3, 5), (2, 6)]
    assert flagged["ignore"].null_count() == 0
    assert_frame_equal(flagged.drop("ignore"), EVERYWHERE)  # a category that is listed twice doubles no row


def test_flags_that_are_there_stay() -> None:
    given_flags = EVERYWHERE.with_columns(ignore=pl.col("category_id") == 7)
    flagged = flag_not_exhaustive(given_flags, IMAGES)
    assert flagged.filter("ignore").select(AT).rows() == [(3, 7), (3, 5), (2, 7), (2, 6), (1, 7)]


def test_flags_without_the_list_or_rows() -> None:
    assert flag_not_exhaustive(EVERYWHERE, IMAGES.select("image_id"))["ignore"].to_list() == [False] * 9
    nothing = flag_not_exhaustive(EVERYWHERE.clear(), IMAGES)
    assert (nothing.height, nothing.schema["ignore"]) == (0, pl.Boolean)
    assert flag_not_exhaustive(EVERYWHERE, IMAGES.clear())["ignore"].to_list() == [False] * 9


def test_flags_with_string_ids() -> None:
    images = pl.DataFrame({"image_id": ["a"], "not_exhaustive_category_ids": [["dog"]]})
    assert flag_not_exhaustive(rows_of(("a", "cat"), ("a", "dog")), images)["ignore"].to_list() == [False, True]


# ---- lists as rows


def test_named() -> None:
    assert named(IMAGES, "neg_category_ids", pl.Int64()).rows() == [(2, 6), (2, 7)]
    assert named(IMAGES, "pos_category_ids", pl.Int64()).rows() == [(1, 5)]
    without = named(IMAGES.select("image_id"), "neg_category_ids", pl.String())
    assert without.height == 0 and dict(without.schema) == {"image_id": pl.Int64, "category_id": pl.String}
    unknown = pl.DataFrame({"image_id": [1, 2], "neg_category_ids": [None, [7]]})
    assert named(unknown, "neg_category_ids", pl.Int64()).rows() == [(2, 7)]


def test_named_without_the_column_fits_to_ids_of_another_type() -> None:
    """Images are numbered, categories are named: what is not there must not stand in the way."""
    images = pl.DataFrame({"image_id": [1], "neg_category_ids": [["dog"]]})
    annotations = pl.DataFrame({"image_id": [1], "category_id": ["cat"]})
    detections = rows_of((1, "cat"), (1, "dog"), (1, "cow"))
    assert kept(keep_judged(detections, annotations, images)) == [1, 2]
    assert flag_not_exhaustive(detections, images)["ignore"].to_list() == [False] * 3
