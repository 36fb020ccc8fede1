"""Slices: every number is that of pycocotools on the part of the data that the slice is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import apframe as apf
from tests.parity.reference import Reference, close, evaluate_by_reference, mean_stats, of_category, support
from tests.parity.strategies import (
    Case,
    Condition,
    Key,
    Row,
    cases_with_attributes,
    conditions,
    half_as_often,
    keys,
    options,
    slice_of,
    slices_of,
    tables_of,
)
from tests.parity.test_coco import reference_outcomes

SUPPORT = ["n_images", "n_annotations", "n_detections", "n_categories"]
KEYS, CONDITIONS = keys(), conditions()
AT_MOST = 4  # rows of one call that are compared

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def assert_is_reference(row: Row, metrics: Iterable[str], reference: Reference) -> None:
    """Metrics to 1e-12, null where the reference has -1; the support exactly."""
    assert {name: row[name] for name in SUPPORT} == support(reference)
    metrics = list(metrics)
    assert [row[name] for name in metrics] == close(mean_stats(reference)), metrics


def assert_slices(case: Case, chosen: Sequence[Key], data: st.DataObject, **given_options: Any) -> None:
    """The rows of `by` are the slices there are, and some of them have the reference's numbers; so have their categories."""
    evaluation = apf.evaluate(*tables_of(case), **given_options)
    slices = evaluation.by(*(key.given for key in chosen))
    metrics = [name for name in slices.columns if name not in (*SUPPORT, *(key.column for key in chosen))]
    labels = slices.select(key.column for key in chosen).rows()
    assert len(labels) == len(set(labels))
    assert set(labels) == slices_of(case, chosen)
    assert slices.equals(slices.sort([key.column for key in chosen], nulls_last=True))
    by_category: dict[Any, list[Row]] = {}
    if not (given_options.get("agnostic") or {"category_id", "name"} & {key.column for key in chosen}):
        for row in evaluation.by(*(key.given for key in chosen), level="category").iter_rows(named=True):
            by_category.setdefault(tuple(row[key.column] for key in chosen), []).append(row)
        assert list(by_category) == labels
    for label in data.draw(st.lists(st.sampled_from(labels), max_size=AT_MOST, unique=True)) if labels else []:
        part = slice_of(case, [key.at(value) for key, value in zip(chosen, label, strict=True)])
        reference = evaluate_by_reference(case.truth, case.results, part=part, **given_options)
        assert_is_reference(slices.row(labels.index(label), named=True), metrics, reference)
        for row in by_category.get(label, []):
            assert_is_reference(row, metrics, of_category(reference, row["category_id"]))
        if by_category:
            assert [row["category_id"] for row in by_category[label]] == reference.category_ids


def of_table(*tables: str) -> st.SearchStrategy[Key]:
    return st.sampled_from([key for key in KEYS if key.table in tables])


def several(*tables: str, at_most: int) -> st.SearchStrategy[list[Key]]:
    return st.lists(of_table(*tables), min_size=1, max_size=at_most, unique_by=lambda key: key.column)


@given(
    cases_with_attributes(),
    # filtered files, the area rule, filtered results
    several("images", at_most=2) | several("annotations", "objects", at_most=2) | several("detections", at_most=2),
    st.data(),
)
def test_slices_of_one_table_equal_reference(case: Case, chosen: list[Key], data: st.DataObject) -> None:
    assert_slices(case, chosen, data)


@given(cases_with_attributes(), several("images", "categories", "annotations", "objects", "detections", at_most=3), st.data())
def test_crossed_slices_equal_reference(case: Case, chosen: list[Key], data: st.DataObject) -> None:
    assert_slices(case, chosen, data)


@given(cases_with_attributes(), several("images", "annotations", "objects", "detections", at_most=2), options(), st.data())
def test_slices_of_pooled_categories_equal_reference(
    case: Case, chosen: list[Key], own: dict[str, Any], data: st.DataObject
) -> None:
    assert_slices(case, chosen, data, agnostic=data.draw(st.booleans()), **own)


def evaluable(case: Case, chosen: Iterable[Condition]) -> bool:
    """Some image and some category are left."""
    part = slice_of(case, chosen)
    return part.image_ids != [] and part.category_ids != []


def some_conditions(at_most: int) -> st.SearchStrategy[list[Condition]]:
    return st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=at_most, unique_by=id)


@given(cases_with_attributes(), some_conditions(3))
def test_evaluation_of_a_part_equals_reference(case: Case, chosen: list[Condition]) -> None:
    assume(evaluable(case, chosen))
    part = apf.evaluate(*tables_of(case)).where(*(condition.given for condition in chosen))
    reference = evaluate_by_reference(case.truth, case.results, part=slice_of(case, chosen))
    arrays = part.arrays()
    for name, expected in reference.arrays.items():
        np.testing.assert_array_equal(arrays[name], expected, err_msg=name, strict=True)
    np.testing.assert_allclose(part.stats, mean_stats(reference), rtol=0, atol=1e-12)
    for t, threshold, area_range in ((0, 0.5, "all"), (5, 0.75, "small")):
        matches = part.matches(threshold, area_range).select("image_id", "detection_id", "annotation_id", "outcome")
        assert Counter(matches.rows()) == Counter(reference_outcomes(reference, t, area_range))


@given(cases_with_attributes(), st.lists(some_conditions(3), min_size=1, max_size=3), options())
def test_named_slices_and_where_are_the_same(case: Case, chosen: list[list[Condition]], own: dict[str, Any]) -> None:
    assume(all(evaluable(case, of_one) for of_one in chosen))
    evaluation = apf.evaluate(*tables_of(case), **own)
    named = {f"part {number}": [condition.given for condition in of_one] for number, of_one in enumerate(chosen)}
    slices = evaluation.by(named)
    assert slices["slice"].to_list() == list(named)
    for row, of_one in zip(slices.iter_rows(named=True), chosen, strict=True):
        summary = evaluation.where(*(condition.given for condition in of_one)).summary
        reference = evaluate_by_reference(case.truth, case.results, part=slice_of(case, of_one), **own)
        assert_is_reference(row, summary["metric"], reference)
        assert summary["value"].to_list() == close(row[name] for name in summary["metric"])


@half_as_often
@given(cases_with_attributes())
def test_area_ranges_are_named_slices_of_the_area(case: Case) -> None:
    area = pl.col("area")
    spans = {"all": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10)}
    evaluation = apf.evaluate(*tables_of(case))
    slices = evaluation.by({name: area.is_between(*span) for name, span in spans.items()})
    summary = dict(evaluation.summary.iter_rows())
    assert slices["slice"].to_list() == list(spans)
    assert slices["AP"].to_list() == close(summary[name] for name in ("AP", "APs", "APm", "APl"))
    assert slices["AR100"].to_list() == close(summary[name] for name in ("AR100", "ARs", "ARm", "ARl"))


@half_as_often
@given(cases_with_attributes(), some_conditions(2), several("images", "objects", "detections", at_most=1), st.data())
def test_slices_of_a_part_equal_reference(
    case: Case, chosen: list[Condition], keys_of_part: list[Key], data: st.DataObject
) -> None:
    assume(evaluable(case, chosen))
    part = apf.evaluate(*tables_of(case)).where(*(condition.given for condition in chosen))
    slices = part.by(*(key.given for key in keys_of_part))
    (key,) = keys_of_part
    for row in data.draw(st.lists(st.sampled_from(slices.rows(named=True)), max_size=3)) if slices.height else []:
        conditions_of_row = [*chosen, key.at(row[key.column])]
        reference = evaluate_by_reference(case.truth, case.results, part=slice_of(case, conditions_of_row))
        assert_is_reference(row, part.summary["metric"], reference)
