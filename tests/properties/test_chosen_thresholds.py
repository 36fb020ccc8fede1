"""What is cut at a score is what an evaluation of the detections from that score upwards counts: every family and policy."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apframe as apf
from tests.parity.families import FAMILIES, Scene, scenes

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
COUNTS = ["tp", "fp", "fn"]
few_times = settings(max_examples=max(settings().max_examples // 6, 1))  # for each of ten families
CRITERIA = ["f1", "f2", "lrp", "precision>=0.6", "recall>=0.3", "fppi<=0.5", "score>=0.4"]


def outcomes(evaluation: apf.Evaluation, category: Any = None) -> tuple[int, ...]:
    matches = evaluation.matches(0.5)
    if category is not None:
        matches = matches.filter(pl.col("category_id") == category)
    return tuple(int((matches["outcome"] == name).sum()) for name in COUNTS)


@pytest.mark.parametrize("family", FAMILIES)
@few_times
@given(st.data())
def test_a_cut_is_the_evaluation_of_the_detections_above_it(family: str, data: st.DataObject) -> None:
    scene: Scene = data.draw(scenes(family, ties=False))
    evaluation = scene.evaluate()
    cuts = {number: data.draw(st.sampled_from([0.0, 0.2, 0.4, 0.95])) for number in (1, 2, 3, 4)}
    cut = evaluation.at(cuts, 0.5)
    kept = [row for row in scene.results if row["score"] >= cuts[row["category_id"]]]
    if not scene.protocol.startswith(
        "open_images"
    ):  # there, detections count for the ancestors too, which have other thresholds
        part = Scene(scene.truth, kept, scene.protocol, scene.options).evaluate()
        assert cut.overall.select(COUNTS).row(0) == outcomes(part)
        for row in cut.by(level="category").rows(named=True):
            assert tuple(row[name] for name in COUNTS) == outcomes(part, row["category_id"])
    assert cut.per_image().select(pl.sum(*COUNTS)).row(0) == cut.overall.select(COUNTS).row(0)


@pytest.mark.parametrize("family", FAMILIES)
@few_times
@given(st.data())
def test_chosen_points_are_rows_of_the_table_of_thresholds(family: str, data: st.DataObject) -> None:
    scene: Scene = data.draw(scenes(family))
    evaluation, criterion = scene.evaluate(), data.draw(st.sampled_from(CRITERIA))
    chosen = evaluation.operating_points(criterion, 0.5)
    assert evaluation.at(chosen).by(level="category").select(COUNTS).rows() == chosen.select(COUNTS).rows()
    together = evaluation.operating_points(criterion, 0.5, per_category=False)
    assert evaluation.at(together).overall.select(COUNTS).row(0) == together.select(COUNTS).row(0)


@pytest.mark.parametrize("family", FAMILIES)
@few_times
@given(st.data())
def test_an_empty_image_changes_only_false_positives_per_image(family: str, data: st.DataObject) -> None:
    scene: Scene = data.draw(scenes(family))
    image = {**scene.truth["images"][0], "id": 99, "neg_category_ids": [1, 2, 3, 4], "not_exhaustive_category_ids": []}
    truth = scene.truth | {"images": [*scene.truth["images"], image]}
    few, more = (Scene(each, scene.results, scene.protocol, scene.options).evaluate() for each in (scene.truth, truth))
    assert few.thresholds(0.5).drop("fppi").equals(more.thresholds(0.5).drop("fppi"))
    assert few.lrp(0.5).equals(more.lrp(0.5))
    n = [each._pipeline.verdicts.images.height for each in (few, more)]
    scaled = more.thresholds(0.5).select(pl.col("fppi") * n[1] / n[0])["fppi"].to_list()
    assert scaled == pytest.approx(few.thresholds(0.5)["fppi"].to_list())


@few_times
@given(st.data())
def test_order_of_rows_and_names_of_ids_change_nothing(data: st.DataObject) -> None:
    scene: Scene = data.draw(scenes("boxes"))
    truth = {name: data.draw(st.permutations(rows)) for name, rows in scene.truth.items()}
    shuffled = [
        row | {"image_id": f"image {row['image_id']}", "category_id": f"c{row['category_id']}"}
        for row in data.draw(st.permutations(scene.results))
    ]
    renamed = {
        "images": [row | {"id": f"image {row['id']}"} for row in truth["images"]],
        "categories": [row | {"id": f"c{row['id']}"} for row in truth["categories"]],
        "annotations": [
            row | {"id": f"a{row['id']}", "image_id": f"image {row['image_id']}", "category_id": f"c{row['category_id']}"}
            for row in truth["annotations"]
        ],
    }
    distinct = len({row["score"] for row in scene.results}) == len(scene.results)
    if not distinct:  # then the order of equal scores decides who is matched
        shuffled = [
            row | {"image_id": f"image {row['image_id']}", "category_id": f"c{row['category_id']}"} for row in scene.results
        ]
        renamed["annotations"].sort(key=lambda row: row["id"])
    one, other = scene.evaluate(), Scene(renamed, shuffled, scene.protocol, scene.options).evaluate()
    for method in ("lrp", "miss_rates", "froc"):
        tables = [getattr(each, method)(0.5).drop("category_id") for each in (one, other)]
        assert tables[0].equals(tables[1])
    cut = [each.at(each.operating_points("f1", 0.5)).overall for each in (one, other)]
    assert cut[0].equals(cut[1])
