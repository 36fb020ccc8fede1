"""Verdicts are taken apart and put together without matching again, and edits change what they name."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.pipeline import Pipeline
from apframe.exceptions import ParameterError
from apframe.matching.verdicts import Verdicts, as_bits, example, has_bit
from apframe.protocols.pairing import pair
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
TABLES = ("lists", "images", "detections", "annotations", "hits")


def verdicts_of(case: Case, **options: Any) -> Verdicts:
    return pipeline_of(case, **options).verdicts


def pipeline_of(case: Case, **options: Any) -> Pipeline:
    return apf.evaluate(case.truth, case.results, **options)._pipeline


def sorted_hits(verdicts: Verdicts) -> pl.DataFrame:
    return verdicts.hits.sort("detection", "first", "ranges", *(["limit"] if "limit" in verdicts.hits.columns else []))


def assert_same(one: Verdicts, other: Verdicts) -> None:
    assert one.header == other.header
    for name in TABLES[:-1]:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert_frame_equal(sorted_hits(one), sorted_hits(other))


@pytest.mark.slow
@half_as_often
@given(cases(), st.sampled_from(OF_LISTS), st.data())
def test_the_part_of_some_images_is_that_of_their_rows(case: Case, matching: str, data: st.DataObject) -> None:
    ids = sorted(row["id"] for row in case.truth["images"])
    chosen = set(data.draw(st.lists(st.sampled_from(ids), unique=True, min_size=1)))
    truth = case.truth | {
        "images": [row for row in case.truth["images"] if row["id"] in chosen],
        "annotations": [row for row in case.truth["annotations"] if row["image_id"] in chosen],
    }
    alone = verdicts_of(Case(truth, [row for row in case.results if row["image_id"] in chosen]), matching=matching)
    part = verdicts_of(case, matching=matching).of_images(np.array([each in chosen for each in ids]))
    # row numbers are those of the whole
    for name in ("detections", "annotations"):
        assert_frame_equal(getattr(part, name).drop("row"), getattr(alone, name).drop("row"))
    assert_frame_equal(sorted_hits(part), sorted_hits(alone))


def test_area_ranges_fit_into_bits() -> None:
    ranges = {f"r{number}": (number, number + 10) for number in range(64)}
    with pytest.raises(ParameterError, match="area_ranges can have at most 64 ranges, not 65"):
        apf.COCO.with_options(area_ranges=ranges)


def test_lists_are_taken_by_category() -> None:
    truth = {
        "images": [{"id": 1}], "categories": [{"id": 1}, {"id": 2}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]},
            {"id": 2, "image_id": 1, "category_id": 2, "bbox": [0, 0, 10, 10]},
        ],
    }  # fmt: skip
    detections = [{"image_id": 1, "category_id": category, "score": 0.5, "bbox": [0, 0, 10, 10]} for category in (1, 2)]
    part = apf.evaluate(truth, detections)._pipeline.verdicts.of_lists(np.array([False, True]))
    assert part.lists["category_id"].to_list() == [2]
    assert part.positives[:, 0].tolist() == [1]
    assert part.hits.select("detection", "annotation", "similarity").rows() == [(0, 0, 1.0)]


def test_edits() -> None:
    verdicts = example()
    assert verdicts.without([1]).detections["score"].to_list() == [0.9]
    assert verdicts.without([1]).hits.height == 1
    assert verdicts.without([0]).hits.height == 0
    assert verdicts.without([0]).positives.tolist() == [[1]]  # which is missed now
    assert verdicts.without_annotations([0]).hits.height == 0
    moved = verdicts.with_hits(verdicts.hits.with_columns(pl.Series("detection", [1], dtype=pl.UInt32)))
    assert moved.hits["detection"].to_list() == [0, 1]


def test_a_detection_moves_to_another_list_by_its_score() -> None:
    both = example()
    lists = pl.DataFrame({"category_id": [1, 2]})
    verdicts = Verdicts(**{**vars(both), "lists": lists})
    row = verdicts.hits.with_columns(pl.Series("detection", [1], dtype=pl.UInt32))
    moved = verdicts.with_hits(row, lists=[1])
    assert moved.detections.select("list", "score").rows() == [(0, 0.9), (1, 0.8)]
    assert moved.hits["detection"].to_list() == [0, 1]


def test_sets_are_bits() -> None:
    flags = [np.array([True, False]), np.array([False, False]), *[np.array([True, True])] * 8]
    bits = as_bits(flags)
    assert bits.dtype == np.uint16
    assert [has_bit(bits, k).tolist() for k in range(3)] == [[True, False], [False, False], [True, True]]
    with pytest.raises(ParameterError, match="at most 64"):
        as_bits([np.array([True])] * 65)


def test_pairs_across_categories() -> None:
    case = {
        "images": [{"id": 1}], "categories": [{"id": 1}, {"id": 2}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}],
    }  # fmt: skip
    detections = [{"image_id": 1, "category_id": 2, "score": 0.5, "bbox": [0, 0, 10, 8]}]
    evaluation = apf.evaluate(case, detections)
    inputs = evaluation._inputs
    assert pair(inputs).is_empty()
    assert pair(inputs, across_categories=True).rows() == [(0, 0, 0.8)]
    assert pair(inputs, min_similarity=0.9, across_categories=True).filter(pl.col("similarity") >= 0.9).is_empty()
