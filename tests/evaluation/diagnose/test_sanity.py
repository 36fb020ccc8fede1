"""Numbers that can hardly be right: one warning at most, which says what is likely to be wrong."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    LowPrecisionWarning,
    MissedCategoryWarning,
    MissingColumnWarning,
    MostlyUnknownCategoriesWarning,
    NoAnnotationsWarning,
    NoDetectionsWarning,
    NothingMatchesWarning,
    UnknownCategoryWarning,
)

N = 40
TRUTH = apf.Dataset(
    {"image_id": range(1, N + 1)},
    {"category_id": [0, 1, 2], "name": ["cat", "dog", "cow"]},
    {"image_id": range(1, N + 1), "category_id": [k % 2 for k in range(N)], "x": [30 * (k % 5) for k in range(N)],
     "y": [20] * N, "width": [10] * N, "height": [10] * N},
)  # fmt: skip


def found(n: int = N, **changes: Any) -> pl.DataFrame:
    boxes = TRUTH.core("annotations").head(n).select("image_id", "category_id", "x", "y", "width", "height")
    return boxes.with_columns(score=pl.int_range(n) / n).with_columns(**changes)


def warned(detections: pl.DataFrame, protocol: apf.Protocol = apf.COCO, **options: Any) -> list[tuple[type[Warning], str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation = apf.evaluate(TRUTH, detections, protocol, **options)
        _ = evaluation.summary, evaluation.metrics, str(evaluation)
    assert {warning.filename for warning in caught} <= {__file__}
    return [(warning.category, str(warning.message)) for warning in caught]


@pytest.mark.slow
def test_a_low_ap_is_said_once() -> None:
    expected = (
        "AP at IoU 0.5 is 0.0000, with 40 detections and 40 annotations: that can hardly be right for a trained model; "
        "run `apframe check` on both to find out why"
    )
    assert warned(found(x=pl.col("x") + 6)) == [(LowPrecisionWarning, expected)]
    lowest = warned(found(x=pl.col("x") + 6), iou_thresholds=[0.75, 0.9])[0][1]
    assert lowest.startswith("AP at IoU 0.75 is 0.0000, with 40 detections")
    assert warned(found(x=pl.col("x") + 6), apf.PROPOSALS)[0][1].startswith("recall at IoU 0.5 is 0.0000")


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "words"), [(1, "1 too large"), (-1, "1 too small")])
def test_ids_that_are_shifted_are_named(shift: int, words: str) -> None:
    truth = TRUTH.part(TRUTH.images, TRUTH.annotations.filter(pl.col("category_id") == 1))
    moved = found().filter(pl.col("category_id") == 1).with_columns(category_id=pl.col("category_id") + shift)
    with pytest.warns(
        NothingMatchesWarning, match=f"category_id of the detections looks {words}: by that numbering 100% of the annotations"
    ):
        _ = apf.evaluate(truth, moved).summary
    images = pl.concat([TRUTH.images, TRUTH.images.head(2).with_columns(pl.Series("image_id", [0, N + 1]))])
    truth = apf.Dataset(images, TRUTH.categories, TRUTH.annotations)
    elsewhere = found(image_id=pl.col("image_id") + shift)  # of which some overlap something by chance, but too few
    with pytest.warns((NothingMatchesWarning, LowPrecisionWarning), match=f"image_id of the detections looks {words}"):
        _ = apf.evaluate(truth, elsewhere).summary


@pytest.mark.slow
def test_categories_without_detections_are_named() -> None:
    expected = (
        "1 of 2 annotated categories has no detections: 'dog'; AP counts them as 0; if the model does not know them, name the "
        "others with categories"
    )
    assert warned(found().filter(pl.col("category_id") == 0)) == [(MissedCategoryWarning, expected)]
    assert warned(found().filter(pl.col("category_id") == 0), categories=["cat"]) == []
    assert warned(found().filter(pl.col("category_id") == 0), agnostic=True) == []


@pytest.mark.slow
def test_a_rare_category_among_many_annotations_is_not_named() -> None:
    n = 1000
    annotations = {"image_id": [1] * n, "category_id": [0] * (n - 9) + [1] * 9, "x": [5 * k for k in range(n)],
                   "y": [0] * n, "width": [4] * n, "height": [4] * n}  # fmt: skip
    truth = apf.Dataset({"image_id": [1]}, TRUTH.categories, annotations)
    detections = truth.annotations.drop("annotation_id", "area").filter(pl.col("category_id") == 0).with_columns(score=0.5)
    with warnings.catch_warnings(action="error"):
        _ = apf.evaluate(truth, detections, max_detections=[None]).summary
    more = pl.concat([pl.DataFrame(annotations), pl.DataFrame(annotations).tail(9)])
    for limits in ([None], [10, None]):
        with pytest.warns(MissedCategoryWarning, match="'dog'"):
            _ = apf.evaluate(apf.Dataset({"image_id": [1]}, TRUTH.categories, more), detections, max_detections=limits).summary


@pytest.mark.slow
def test_a_rare_category_may_be_missed_in_a_small_set() -> None:
    for n, is_said in ((4, False), (5, True)):
        few = TRUTH.part(TRUTH.images, TRUTH.annotations.filter((pl.col("category_id") == 0) | (pl.col("image_id") <= 2 * n)))
        with warnings.catch_warnings(record=True, action="always") as caught:
            _ = apf.evaluate(few, found().filter(pl.col("category_id") == 0)).summary
        assert [warning.category for warning in caught] == [MissedCategoryWarning] * is_said


@pytest.mark.parametrize(
    ("detections", "options"),
    [(found(), {}), (found(9, x=pl.col("x") + 6, category_id=pl.int_range(9) % 2), {}),
     (found(x=pl.when(pl.int_range(N) < 4).then("x").otherwise(pl.col("x") + 6)), {}),
     (found(x=pl.col("x") + 1), {"iou_thresholds": [0.95]}),
     (found(x=pl.col("x") + 6), {"similarity": lambda pairs: pairs["x"] * 0.0, "iou_thresholds": [0.5]})],
)  # fmt: skip
def test_silent(detections: pl.DataFrame, options: dict[str, Any]) -> None:
    assert warned(detections, **options) == []


@pytest.mark.slow
def test_an_empty_list_of_results_is_said() -> None:
    expected = "there are no detections, so everything is missed (40 annotations); check that this is the right file of results"
    assert warned(found(0)) == [(NoDetectionsWarning, expected)]
    assert warned(found(0), apf.PROPOSALS) == [(NoDetectionsWarning, expected)]
    assert warned(found(0), categories=["cow"])[0][0] is NoAnnotationsWarning  # then there is nothing to miss
    assert [category for category, _ in warned(found(category_id=9))] == [MostlyUnknownCategoriesWarning]  # said by that one


@pytest.mark.slow
def test_left_out_detections_are_counted_unknown_ones_are_not() -> None:
    left = "no detection is left of 20, so everything is missed (20 annotations): they are of other categories, or left out by "
    dogs = warned(found(category_id=1).head(20), categories=["cat"])
    assert dogs == [(NoDetectionsWarning, f"{left}the rules of COCO")]
    flat = warned(found(width=0).head(20), apf.LVIS)  # whose detections need an area
    assert [category for category, _ in flat if category is not MissingColumnWarning] == [NoDetectionsWarning]
    for n_unknown, expected in ((20, UnknownCategoryWarning), (21, MostlyUnknownCategoriesWarning)):
        some = found(category_id=pl.when(pl.int_range(pl.len()) >= N - n_unknown).then(9).otherwise("category_id"))
        assert [category for category, _ in warned(some)] == [expected]


def test_a_category_is_missed_where_there_are_few_detections() -> None:
    some = found().filter(pl.col("category_id") == 0)
    assert [category for category, _ in warned(some.head(1))] == [MissedCategoryWarning]
    assert warned(some.head(1), categories=["cat"]) == []  # a bad model, perhaps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unknown", "expected"),
    [(range(40), MostlyUnknownCategoriesWarning), (range(35), MostlyUnknownCategoriesWarning),
     (range(20, 40), UnknownCategoryWarning)],  # all of one shard, none of the other
)  # fmt: skip
def test_shards_of_unknown_categories(unknown: range, expected: type[Warning], tmp_path: Path) -> None:
    apf.write_shards(TRUTH, found(), tmp_path / "shards", n=2)
    for path in (tmp_path / "shards").glob("*/detections.parquet"):
        table = pl.read_parquet(path)
        table.with_columns(
            category_id=pl.when(pl.col("image_id").is_in([k + 1 for k in unknown])).then(9).otherwise("category_id")
        ).write_parquet(path)
    with warnings.catch_warnings(record=True, action="always") as caught:
        _ = apf.evaluate_shards(sorted((tmp_path / "shards").glob("0*"))).summary
    assert [each.category for each in caught] == [expected]


def test_a_part_does_not_warn() -> None:
    evaluation = apf.evaluate(TRUTH, found())
    with warnings.catch_warnings(action="error"):
        assert evaluation.where(pl.col("image_id") < 9).summary["value"][0] == pytest.approx(1)
