"""What is computed once and what is computed again."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf

TRUTH = apf.Dataset(
    images={"image_id": [1, 2, 3], "weather": ["fog", "clear", "fog"]},
    categories={"category_id": [1, 2], "name": ["cat", "dog"], "supercategory": ["pet", "animal"]},
    annotations={
        "image_id": [1, 2, 3, 3], "category_id": [1, 2, 1, 2],
        "x": [0, 0, 0, 50], "y": [0] * 4, "width": [10] * 4, "height": [10] * 4,
        "occlusion": [0.1, 0.6, 0.7, 0.2],
    },
)  # fmt: skip
FOUND = {
    "image_id": [1, 2, 3, 3], "category_id": [1, 2, 1, 2], "score": [0.9, 0.8, 0.7, 0.6],
    "x": [0, 0, 30, 50], "y": [0] * 4, "width": [10] * 4, "height": [9] * 4,
}  # fmt: skip


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs were matched, each time something is."""
    from apframe.matching.matchers import Matcher

    calls: list[int] = []
    assign = Matcher._assign

    def counting(self: Matcher, pairs: pl.DataFrame, *arguments: Any, **options: Any) -> pl.DataFrame:
        calls.append(pairs.height)
        return assign(self, pairs, *arguments, **options)

    monkeypatch.setattr(Matcher, "_assign", counting)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["score", "best_overlap", "similarity", "optimal"])
def test_images_and_categories_match_nothing_again(matching: str, matched: list[int]) -> None:
    evaluation = apf.evaluate(TRUTH, FOUND, matching=matching, max_detections=[10])
    _ = evaluation.summary
    matched.clear()
    _ = evaluation.by("weather", "supercategory", marginals=True)
    part = evaluation.where(pl.col("weather") == "fog", pl.col("name") == "cat")
    _ = part.summary, part.matches(), part.by("image_id"), part.where([3]).metrics, evaluation.curves(by="weather")
    assert matched == []
    _ = evaluation.by(apf.bins("occlusion", [0, 0.5, 1]))
    assert matched


def test_pairs_match_nothing(matched: list[int]) -> None:
    evaluation = apf.evaluate(TRUTH, FOUND, matching="optimal")
    assert evaluation.pairs.height == 3
    assert matched == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_a_subset_has_the_tables_of_its_own_evaluation() -> None:
    evaluation = apf.evaluate(TRUTH, FOUND)
    part = evaluation.where(pl.col("weather") == "fog")
    kept = apf.Dataset(
        TRUTH.images.filter(weather="fog"), TRUTH.categories, TRUTH.annotations.filter(pl.col("image_id").is_in([1, 3]))
    )
    alone = apf.evaluate(kept, evaluation.detections.filter(pl.col("image_id").is_in([1, 3])))
    for name in ("pairs", "assignments", "metrics", "summary"):
        assert_frame_equal(getattr(part, name), getattr(alone, name))
    assert_frame_equal(part.matches(0.5), alone.matches(0.5))
    assert_frame_equal(part.thresholds(0.5), alone.thresholds(0.5))
    assert_frame_equal(part.by(apf.bins("occlusion", [0, 0.5, 1])), alone.by(apf.bins("occlusion", [0, 0.5, 1])))
