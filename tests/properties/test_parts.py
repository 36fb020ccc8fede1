"""Numbers do not depend on how many parts they are computed in, on how many threads, or on what runs beside them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from tests.parity.families import FAMILIES, Scene, computed_in, example_of, scenes
from tests.parity.strategies import Case, cases

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_parts_and_threads_change_nothing(family: str, data: st.DataObject) -> None:
    """Of 60 rows at most, parts of one row are 64 parts or as many as there can be."""
    scene = data.draw(scenes(family))
    whole = tables(scene.evaluate())
    n_threads, part_rows = data.draw(st.sampled_from([(1, 5), (2, 1), (2, 30), (5, 10), (64, 1)]))
    with computed_in(n_threads, part_rows):
        parts = tables(scene.evaluate())
    for name, table in whole.items():
        assert_frame_equal(parts[name], table, check_exact=True)


def tables(evaluation: apf.Evaluation) -> dict[str, pl.DataFrame]:
    return {
        "metrics": evaluation.metrics,
        "summary": evaluation.summary,
        "assignments": evaluation.assignments,
        "curves": evaluation.curves(),
        "per_image": evaluation.per_image(0.5),
        "slices": evaluation.by("image_id"),
    }


@given(cases(), st.sampled_from([(1, 3), (2, 1), (5, 7), (64, 1)]))
def test_parts_change_none_of_the_arrays_of_pycocotools(case: Case, computed: tuple[int, int]) -> None:
    whole = apf.evaluate(case.truth, case.results).arrays()
    with computed_in(*computed):
        parts = apf.evaluate(case.truth, case.results).arrays()
    assert all((parts[name] == array).all() for name, array in whole.items())


@given(st.data(), st.sampled_from([1, 2, 5, 64]))
def test_threads_change_nothing_in_reidentification(data: st.DataObject, n_threads: int) -> None:
    people = st.lists(st.integers(1, 3), min_size=1, max_size=8)
    queries, gallery = (pictures(data.draw(people), *of) for of in (("query_id", 1), ("gallery_id", 2)))
    distances = np.array(
        [[data.draw(st.sampled_from([0.1, 0.5, 0.9])) for _ in gallery["gallery_id"]] for _ in queries["query_id"]]
    )
    whole = apf.evaluate_reidentification(queries, gallery, distances).per_query
    with computed_in(n_threads, 1):
        parts = apf.evaluate_reidentification(queries, gallery, distances).per_query
    assert_frame_equal(parts, whole, check_exact=True)


def pictures(people: list[int], id_column: str, camera: int) -> dict[str, list[Any]]:
    return {id_column: list(range(len(people))), "person_id": people, "camera_id": [camera] * len(people)}


def test_eight_threads_with_data_of_their_own() -> None:
    families = ["boxes", "voc", "lvis", "people", "masks", "rotated", "intervals", "open images"]
    of_each = [example_of(family) for family in families]
    alone = [scene.evaluate().metrics for scene in of_each]
    together = Barrier(len(of_each))

    def evaluate(scene: Scene) -> pl.DataFrame:
        together.wait()
        return scene.evaluate().metrics

    with ThreadPoolExecutor(len(of_each)) as pool:
        for metrics, expected in zip(pool.map(evaluate, of_each), alone, strict=True):
            assert_frame_equal(metrics, expected, check_exact=True)
