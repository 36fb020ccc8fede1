"""The order of detections is that of a stable sort, in whatever parts it is made."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe import threads
from apframe.matching.order import order_detections

SCORES = [-1.5, -0.0, 0.0, 0.25, 0.5, 0.5 + 2**-53, 0.5 + 2**-52, float("inf")]  # some differ in the last bits alone
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(SCORES)), max_size=40)


@given(ROWS, st.sampled_from(["image", "input", "later"]), st.sampled_from([1, 7, 1 << 16]))
def test_order_is_that_of_a_stable_sort(rows: list[tuple[int, int, float]], ties: str, part_rows: int) -> None:
    schema = {"list": pl.UInt32, "image": pl.UInt32, "score": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(further=pl.int_range(pl.len()) % 3)
    by = ["list", "score", *(["image"] if ties == "image" else []), "row"]
    expected = table.with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32)).sort(
        by, descending=[name == "score" or (name == "row" and ties == "later") for name in by]
    )
    with patch.object(threads, "PART_ROWS", part_rows):
        ordered = order_detections(table, ties=ties)
    assert_frame_equal(ordered.drop("place"), expected)
    place = expected.select(place=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("list", "image"))
    assert_frame_equal(ordered.select("place"), place)
