"""What must hold among slices: parts add up, the order of rows does not matter, roll-ups are what the other keys give."""

from __future__ import annotations

from functools import reduce
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from tests.parity.reference import close
from tests.parity.strategies import (
    Case,
    Condition,
    Key,
    cases_with_attributes,
    conditions,
    half_as_often,
    keys,
    slice_of,
    tables_of,
)

COUNTS = ["n_images", "n_annotations", "n_detections"]
SECTIONS = ("images", "categories", "annotations")
KEYS = keys()
keys_of_several_tables = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique_by=lambda key: key.column)

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def evaluated(case: Case, **options: Any) -> apf.Evaluation:
    return apf.evaluate(*tables_of(case), **options)


@half_as_often
@given(cases_with_attributes(), st.sampled_from([key for key in KEYS if key.table in ("images", "annotations", "objects")]))
def test_parts_that_share_nothing_add_up(case: Case, key: Key) -> None:
    counts = COUNTS if key.table == "images" else ["n_annotations"]  # a detection may be false in several slices of objects
    evaluation = evaluated(case)
    whole = evaluation.by({"whole": [row["id"] for row in case.truth["images"]]})
    assert evaluation.by(key.given).select(counts).sum().rows() == whole.select(counts).rows()


@half_as_often
@given(cases_with_attributes(ties=False), keys_of_several_tables, st.data())
def test_shuffling_rows_changes_nothing(case: Case, chosen: list[Key], data: st.DataObject) -> None:
    before = evaluated(case)
    # of two annotations that a detection overlaps alike, the later one is taken: there the order does matter
    assume(not before.pairs.select("detection_id", "similarity").is_duplicated().any())
    truth = {name: data.draw(st.permutations(case.truth[name])) for name in SECTIONS}
    after = evaluated(Case(truth, data.draw(st.permutations(case.results))))
    given_keys = [key.given for key in chosen]
    assert_frame_equal(after.by(*given_keys), before.by(*given_keys), check_exact=True)


@given(cases_with_attributes(), keys_of_several_tables, st.sampled_from(["summary", "category"]))
def test_roll_ups_are_the_slices_by_the_other_keys(case: Case, chosen: list[Key], level: str) -> None:
    if level == "category":  # there, categories are not rolled up, and their columns are taken
        chosen = [key for key in chosen if key.table != "categories"]
    assume(chosen)
    evaluation = evaluated(case)
    table = evaluation.by(*(key.given for key in chosen), level=level, marginals=True)
    names = [key.column for key in chosen]
    subsets = [[name for place, name in enumerate(names) if n >> place & 1] for n in range(2 ** len(names))]
    heights = []
    for rolled in subsets:
        rows = table.filter(rolled_up=", ".join(rolled))
        assert all(rows[name].null_count() == rows.height for name in rolled)
        heights.append(rows.height)
        others = [key.given for key in chosen if key.column not in rolled]
        if others:
            expected = evaluation.by(*others, level=level)
            assert_frame_equal(rows.select(expected.columns), expected, check_exact=False, rel_tol=0, abs_tol=1e-12)
        elif level == "summary":
            (row,) = rows.rows(named=True)
            assert_is_summary(row, evaluation)
    assert sum(heights) == table.height
    assert (table.head(heights[0])["rolled_up"] == "").all()


def assert_is_summary(row: dict[str, Any], evaluation: apf.Evaluation) -> None:
    assert [row[name] for name in evaluation.summary["metric"]] == close(evaluation.summary["value"])


@half_as_often
@given(cases_with_attributes(), st.sampled_from([key for key in KEYS if key.table in ("images", "objects", "detections")]))
def test_groups_of_categories_have_the_mean_of_their_categories(case: Case, other: Key) -> None:
    evaluation = evaluated(case)
    summary = evaluation.by("supercategory", other.given)
    metrics = evaluation.summary["metric"].to_list()
    slices = ["supercategory", other.column]
    means = evaluation.by("supercategory", other.given, level="category").group_by(slices).agg(
        pl.col(metrics).mean(), pl.col("n_images").first(), pl.col("n_annotations", "n_detections", "n_categories").sum()
    )  # fmt: skip
    expected = summary.select(slices).join(means, on=slices, how="left", nulls_equal=True, maintain_order="left")
    assert_frame_equal(summary, expected, check_exact=False, rel_tol=0, abs_tol=1e-12)


@half_as_often
@given(cases_with_attributes(), st.lists(st.sampled_from(conditions()), min_size=2, max_size=3, unique_by=id))
def test_where_of_where_is_and(case: Case, chosen: list[Condition]) -> None:
    part = slice_of(case, chosen)
    assume(part.image_ids != [] and part.category_ids != [])
    expressions = [condition.given for condition in chosen]
    evaluation = evaluated(case)
    one_by_one = reduce(apf.Evaluation.where, expressions, evaluation)
    together = evaluation.where(*expressions)
    assert_frame_equal(one_by_one.metrics, together.metrics, check_exact=True)
    assert_frame_equal(one_by_one.by("image_id"), together.by("image_id"), check_exact=True)


@half_as_often
@given(cases_with_attributes(), st.sampled_from([key for key in KEYS if key.table == "images" and isinstance(key.given, str)]))
def test_named_slices_of_each_value_are_the_slices_of_the_column(case: Case, key: Key) -> None:
    evaluation = evaluated(case)
    expected = evaluation.by(key.given)
    named = {str(value): pl.col(key.given).eq_missing(pl.lit(value)) for value in expected[key.column]}
    assert_frame_equal(evaluation.by(named).drop("slice"), expected.drop(key.column), check_exact=True)
