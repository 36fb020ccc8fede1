"""Numbers do not depend on how images are cut into shards, how many these are, how they are read, or where verdicts stay."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.metrics.definitions import Levels
from tests.parity.families import FAMILIES, Scene, computed_in, scenes
from tests.parity.strategies import Case, cases_with_attributes
from tests.scale.cutting_anyhow import Cut, cuts

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}Warning")
    for name in ("NoAnnotations", "NothingMatches", "MissingColumn")
]
IDS = {"id", "image_id", "category_id", "parent_ids", "neg_category_ids", "not_exhaustive_category_ids"}
fewer = settings(max_examples=max(settings().max_examples // 4, 1))
computed = st.sampled_from([(1, 5), (2, 1), (2, 30), (5, 10)])
memories = st.sampled_from([1, 2000, None])


@fewer
@given(st.sampled_from(sorted(FAMILIES)), cuts, computed, memories, st.data())
def test_shards_change_nothing(
    family: str, cut: Cut, computed: tuple[int, int], memory: int | None, data: st.DataObject
) -> None:
    same_in_shards(data.draw(scenes(family)), replace(cut, n_shards=min(cut.n_shards, 5)), computed, memory)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@fewer
@given(cut=cuts, computed=computed, memory=memories, strings=st.booleans(), data=st.data())
def test_shards_change_nothing_in_any_family(
    family: str, cut: Cut, computed: tuple[int, int], memory: int | None, strings: bool, data: st.DataObject
) -> None:
    scene = data.draw(scenes(family))
    if family == "boxes":
        others: list[tuple[str, dict[str, Any]]] = [("coco", {"agnostic": True}), ("voc2012", {}), ("proposals", {})]
        protocol, options = data.draw(st.sampled_from([(scene.protocol, scene.options), *others]))
        scene = replace(scene, protocol=protocol, options=options)
    same_in_shards(with_string_ids(scene) if strings else scene, cut, computed, memory)


def same_in_shards(scene: Scene, cut: Cut, computed: tuple[int, int], memory: int | None) -> None:
    whole = scene.evaluate()
    with tempfile.TemporaryDirectory() as folder, computed_in(*computed):
        cut.write(scene.truth, scene.results, Path(folder) / "shards")
        shards = Path(folder) / "shards" if cut.listed else f"{folder}/shards/*"
        parts = apf.evaluate_shards(shards, None, scene.protocol, memory=memory, **scene.options)
        same(parts, whole)


def same(parts: apf.Evaluation, whole: apf.Evaluation) -> None:
    """Counts to the last one, metrics to 1e-12: of all, by an image key, by a category key, and as arrays."""
    categories = [] if whole.protocol.agnostic else ["name"]
    tables = [(parts.metrics, whole.metrics), (parts.summary, whole.summary)]
    tables += [(parts.by(key), whole.by(key)) for key in ["image_id", *categories]]
    for mine, expected in tables:
        counts = [name for name, dtype in expected.schema.items() if dtype.is_integer()]
        assert_frame_equal(mine.select(counts), expected.select(counts))
        assert_frame_equal(mine, expected, check_exact=False, rel_tol=0, abs_tol=1e-12)
    if isinstance(whole.protocol.definition, Levels):
        arrays = parts.arrays()
        for name, array in whole.arrays().items():
            np.testing.assert_allclose(arrays[name], array, rtol=0, atol=1e-12)


def with_string_ids(scene: Scene) -> Scene:
    """The same with ids that are strings, which are sorted as the numbers are."""

    def text(name: str, value: Any) -> Any:
        if name not in IDS:
            return value
        return [f"{each:03d}" for each in value] if isinstance(value, list) else f"{value:03d}"

    def of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: text(name, value) for name, value in row.items()} for row in rows]

    return replace(scene, truth={name: of(rows) for name, rows in scene.truth.items()}, results=of(scene.results))


@fewer
@given(cases_with_attributes(), cuts, st.sampled_from(["coco", "proposals", "voc2007"]))
def test_without_numbers_the_order_is_that_of_the_shards(case: Case, cut: Cut, protocol: str) -> None:
    """As if the tables of the shards, in the order of their names, were put one below the other."""
    with tempfile.TemporaryDirectory() as folder:
        tables = replace(cut, numbered=False).write(case.truth, case.results, Path(folder) / "shards")
        parts = apf.evaluate_shards(f"{folder}/shards/*", None, protocol)
        truth = apf.read_coco(case.truth)
        in_order = apf.Dataset(truth.images, truth.categories, tables["annotations"])
        whole = apf.evaluate(in_order, tables["detections"], protocol)
        assert_frame_equal(parts.metrics, whole.metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(parts.by("weather"), whole.by("weather"), check_exact=False, rel_tol=0, abs_tol=1e-12)
