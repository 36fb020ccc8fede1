"""Hierarchies of categories: what is above what, and the annotations and lists that follow from it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe.exceptions import RowError
from apframe.protocols.rules.hierarchy import expand_annotations, expand_lists, find_ancestors

Parents = dict[Any, list[Any]]
LISTS = dict.fromkeys(["pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids"], pl.List(pl.Int64))


def categories_of(parents: Parents, dtype: Any = pl.Int64) -> pl.DataFrame:
    columns = {"category_id": list(parents), "parent_ids": list(parents.values())}
    return pl.DataFrame(columns, schema={"category_id": dtype, "parent_ids": pl.List(dtype)})


def ancestors(parents: Parents, dtype: Any = pl.Int64) -> set[tuple[Any, Any]]:
    table = find_ancestors(categories_of(parents, dtype))
    assert table.columns == ["category_id", "ancestor_id"] and table.dtypes == [dtype, dtype]
    rows = table.rows()
    assert len(set(rows)) == len(rows)
    return set(rows)


def plain_closure(parents: Parents) -> set[tuple[Any, Any]]:
    """By recursion, for hierarchies without a cycle."""

    def above(category: Any) -> set[Any]:
        return set(parents[category]) | {far for near in parents[category] for far in above(near)}

    return {(category, ancestor) for category in parents for ancestor in above(category)}


TREES: dict[str, tuple[Parents, set[tuple[int, int]]]] = {
    "nothing": ({}, set()),
    "no parents": ({1: [], 2: []}, set()),
    "a chain": ({1: [], 2: [1], 3: [2], 4: [3]}, {(2, 1), (3, 2), (3, 1), (4, 3), (4, 2), (4, 1)}),
    "a chain upside down": ({1: [2], 2: [3], 3: []}, {(1, 2), (1, 3), (2, 3)}),
    "a diamond": ({1: [], 2: [1], 3: [1], 4: [2, 3]}, {(2, 1), (3, 1), (4, 2), (4, 3), (4, 1)}),
    "a short way and a long one": ({1: [], 2: [1], 3: [2, 1]}, {(2, 1), (3, 2), (3, 1)}),
    "a parent twice": ({1: [], 2: [1, 1]}, {(2, 1)}),
    "two trees": ({1: [], 2: [1], 8: [], 9: [8]}, {(2, 1), (9, 8)}),
}


@pytest.mark.parametrize(("parents", "expected"), TREES.values(), ids=TREES)
def test_ancestors(parents: Parents, expected: set[tuple[int, int]]) -> None:
    assert ancestors(parents) == expected == plain_closure(parents)


def test_ancestors_of_string_ids() -> None:
    assert ancestors({"cat": ["animal"], "animal": [], "tom": ["cat"]}, pl.String) == {
        ("cat", "animal"), ("tom", "cat"), ("tom", "animal"),
    }  # fmt: skip


def test_missing_lists_are_empty_ones() -> None:
    categories = pl.DataFrame({"category_id": [1, 2], "parent_ids": [None, [1]]})
    assert find_ancestors(categories).rows() == [(2, 1)]


@st.composite
def graphs(draw: st.DrawFn) -> Parents:
    """Up to seven categories, in any order, whose parents come before them in another order: no cycle."""
    order = draw(st.permutations(range(draw(st.integers(0, 7)))))
    parents = {c: draw(st.lists(st.sampled_from(order[:k]), max_size=3)) if k else [] for k, c in enumerate(order)}
    return {category: parents[category] for category in draw(st.permutations(order))}


@given(graphs())
def test_ancestors_as_by_recursion(parents: Parents) -> None:
    assert ancestors(parents) == plain_closure(parents)


@given(st.dictionaries(st.integers(0, 5), st.just([]), max_size=6).flatmap(
    lambda keys: st.fixed_dictionaries({key: st.lists(st.sampled_from(sorted(keys)), max_size=2) for key in keys})
))  # fmt: skip
def test_cycles_are_found_and_only_these(parents: Parents) -> None:
    def reach(category: int) -> set[int]:
        seen: set[int] = set()
        ahead = list(parents[category])
        while ahead:
            at = ahead.pop()
            if at not in seen:
                seen.add(at)
                ahead += parents[at]
        return seen

    own = sorted(category for category in parents if category in reach(category))
    if not own:
        assert ancestors(parents) == plain_closure(parents)
        return
    with pytest.raises(RowError, match="the hierarchy has a cycle: a category is above itself for category_id ") as caught:
        find_ancestors(categories_of(parents))
    assert (caught.value.table, caught.value.key, caught.value.rows) == ("categories", "category_id", own)


# ---- annotations


CHAIN = pl.DataFrame({"category_id": [2, 3, 3], "ancestor_id": [1, 2, 1]})


def test_annotations_of_ancestors() -> None:
    annotations = pl.DataFrame(
        {"annotation_id": [5, 9, 7], "category_id": [3, 1, 2], "x": [0.5, 1.5, 2.5], "is_crowd": [True, False, False]}
    )
    expected = pl.DataFrame({
        "annotation_id": [5, 9, 7, 10, 11, 12],
        "category_id": [3, 1, 2, 1, 2, 1],
        "x": [0.5, 1.5, 2.5, 0.5, 0.5, 2.5],
        "is_crowd": [True, False, False, True, True, False],
        "expanded_from": [None, None, None, 5, 5, 7],
    })  # fmt: skip
    assert_frame_equal(expand_annotations(annotations, CHAIN), expected)
    # the order of the rows of the hierarchy does not matter
    assert_frame_equal(expand_annotations(annotations, CHAIN.reverse()), expected)


def test_annotations_with_string_ids() -> None:
    annotations = pl.DataFrame({"annotation_id": ["a", "b"], "category_id": ["cat", "car"]})
    above = pl.DataFrame({"category_id": ["cat", "cat"], "ancestor_id": ["animal", "thing"]})
    assert expand_annotations(annotations, above).rows() == [
        ("a", "cat", None), ("b", "car", None), ("a/animal", "animal", "a"), ("a/thing", "thing", "a"),
    ]  # fmt: skip


def test_string_ids_of_annotations_and_numbers_of_categories() -> None:
    annotations = pl.DataFrame({"annotation_id": ["a"], "category_id": [2]})
    assert expand_annotations(annotations, CHAIN).rows() == [("a", 2, None), ("a/1", 1, "a")]


def test_copies_have_ids_that_no_other_row_has() -> None:
    annotations = pl.DataFrame({"annotation_id": ["a", "a/1"], "category_id": [2, 9]})
    assert expand_annotations(annotations, CHAIN)["annotation_id"].is_unique().all()


def test_copies_of_negative_ids() -> None:
    numbered = pl.DataFrame({"annotation_id": [-5, -7], "category_id": [2, 3]})
    assert expand_annotations(numbered, CHAIN)["annotation_id"].is_unique().all()


def test_annotations_without_any_above() -> None:
    annotations = pl.DataFrame({"annotation_id": [5], "category_id": [1]})
    assert expand_annotations(annotations, CHAIN).rows() == [(5, 1, None)]
    assert expand_annotations(annotations, CHAIN.clear()).rows() == [(5, 1, None)]
    nothing = expand_annotations(annotations.clear(), CHAIN)
    assert (nothing.height, nothing.schema["expanded_from"]) == (0, pl.Int64)


@given(graphs(), st.lists(st.integers(0, 6), max_size=6))
def test_annotations_as_one_by_one(parents: Parents, drawn: list[int]) -> None:
    of = [category for category in drawn if category in parents]
    annotations = pl.DataFrame(
        {"annotation_id": range(3, 3 + len(of)), "category_id": of},
        schema=dict.fromkeys(["annotation_id", "category_id"], pl.Int64),
    )
    expanded = expand_annotations(annotations, find_ancestors(categories_of(parents)))
    assert expanded["annotation_id"].is_unique().all()
    closure = plain_closure(parents)
    expected = sorted([(number, category) for number, category in annotations.rows()] + [
        (number, ancestor) for number, category in annotations.rows() for below, ancestor in closure if below == category
    ])  # fmt: skip
    origin = expanded.select(pl.coalesce("expanded_from", "annotation_id"), "category_id")
    assert sorted(origin.rows()) == expected


# ---- lists


def test_what_is_there_is_also_all_that_is_more_general() -> None:
    images = pl.DataFrame({
        "image_id": [7, 5, 6],
        "pos_category_ids": [[3], [], [1]],
        "neg_category_ids": [[], [1], [3, 9]],
        "not_exhaustive_category_ids": [[3], [], []],
    }, schema_overrides=LISTS)  # fmt: skip
    expanded = expand_lists(images, CHAIN)
    assert expanded.rows() == [(7, [1, 2, 3], [], [3]), (5, [], [1, 2, 3], []), (6, [1], [3, 9], [])]
    assert expanded.schema == images.schema


def test_lists_that_are_not_there_or_empty() -> None:
    images = pl.DataFrame({"image_id": [1, 2]})
    assert_frame_equal(expand_lists(images, CHAIN), images)
    with_none = pl.DataFrame({"image_id": [1, 2], "pos_category_ids": [None, [3]]})
    assert expand_lists(with_none, CHAIN).rows() == [(1, []), (2, [1, 2, 3])]
    assert_frame_equal(expand_lists(with_none.clear(), CHAIN), with_none.clear())
    assert expand_lists(with_none, CHAIN.clear()).rows() == [(1, []), (2, [3])]


def test_lists_of_strings() -> None:
    above = pl.DataFrame({"category_id": ["cat"], "ancestor_id": ["animal"]})
    images = pl.DataFrame({"image_id": ["a"], "pos_category_ids": [["cat"]], "neg_category_ids": [["animal", "car"]]})
    assert expand_lists(images, above).rows() == [("a", ["animal", "cat"], ["animal", "car", "cat"])]
