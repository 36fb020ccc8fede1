"""The confusion matrix at many scores at once: each position is `confusion` and `confusion_pairs` at its score."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.diagnose.confusion_ranges import confusion_ranges
from apframe.exceptions import ParameterError
from tests.conformance.variants import TOY_NAME, VARIANTS, Variant
from tests.evaluation.diagnose.test_confusion import CROWD, MOVED, A, B, evaluated
from tests.parity.families import FAMILIES, scenes
from tests.parity.strategies import OF_LISTS, half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownCategoryWarning", "ignore::apframe.exceptions.CategoriesNotComparedWarning",
)  # fmt: skip
STREET = Path(__file__).parents[3] / "data" / "street"
CELL = ["true_category_id", "found_category_id"]
PAIR = ["image_id", *CELL, "detection_id", "annotation_id"]
POSITIONS = pl.int_ranges("first", pl.col("last").cast(pl.Int64) + 1).alias("position")


def verify(ev: apf.Evaluation, scores: Sequence[float], iou_threshold: float | None = 0.5) -> None:
    """Every position has the cells of `confusion` and the rows of `confusion_pairs`; no row could be joined with another."""
    ranges = confusion_ranges(ev, iou_threshold, scores)
    assert (ranges["first"] <= ranges["last"]).all() and ranges.filter(pl.col("last") >= len(scores)).is_empty()
    ends = ranges.select(*PAIR, position=pl.col("last") + 1)
    assert ends.join(ranges.select(*PAIR, position="first"), on=[*PAIR, "position"], nulls_equal=True).is_empty()
    rows = ranges.with_columns(POSITIONS).explode("position")
    for position, score in enumerate(scores):
        at = rows.filter(pl.col("position") == position)
        pairs = ev.confusion_pairs(iou_threshold, min_score=score).select(PAIR).sort(pl.all())
        assert_frame_equal(at.select(PAIR).sort(pl.all()), pairs)
        counts = at.group_by(CELL).agg(n=pl.len().cast(pl.Int64)).sort(CELL, nulls_last=True)
        assert_frame_equal(counts, ev.confusion(iou_threshold, min_score=score).select(*CELL, "n"))


@pytest.mark.slow
def test_by_hand() -> None:
    """A cat and a dog at nearly one place; a car at .9 and .6, and the cat itself at .3.

    Up to .3 the cat is found, so that only the car at .9 is mistaken, for the dog. Above, it is mistaken for the cat, which
    is more similar, and the car at .6 for the dog.
    """
    ev = evaluated([(1, A), (2, MOVED)], [(3, A, 0.9), (3, A, 0.6), (1, A, 0.3)])
    rows = confusion_ranges(ev, 0.5, [0.2, 0.3, 0.4, 0.6, 0.8, 0.95])
    assert rows.select("image_id", "detection_id", "annotation_id", *CELL, "first", "last").sort(pl.all()).rows() == [
        (1, None, 10, 1, None, 5, 5), (1, None, 11, 2, None, 4, 5), (1, 1, 10, 1, 3, 2, 4), (1, 1, 11, 2, 3, 0, 1),
        (1, 2, None, None, 3, 0, 1), (1, 2, 11, 2, 3, 2, 3), (1, 3, 10, 1, 1, 0, 1),
    ]  # fmt: skip
    assert rows.schema["first"] == rows.schema["last"] == pl.UInt8
    verify(ev, [0.2, 0.3, 0.4, 0.6, 0.8, 0.95])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        ([], []), ([(1, A)], []), ([], [(1, A, 0.5)]), ([(1, A), (1, CROWD)], [(2, A, 0.9), (1, B, 0.8), (2, B, 0.7)]),
        ([(1, A), (2, A)], [(3, A, 0.5), (3, A, 0.5), (3, MOVED, 0.5), (1, A, 0.5), (2, A, 0.2)]),
    ],
    ids=["nothing", "missed", "background", "a group", "equal scores"],
)  # fmt: skip
def test_few_rows(annotations: list[Any], found: list[Any]) -> None:
    ev = evaluated(annotations, found)
    verify(ev, [-inf, 0, 0.2, 0.5, 0.5, 0.51, 0.8, inf, inf])
    verify(ev, [0.5])
    assert confusion_ranges(ev, None, pl.Series([0.2, inf])).equals(confusion_ranges(ev, 0.5, [0.2, inf]))


@pytest.mark.slow
@pytest.mark.parametrize("model", "ab")
def test_the_sample(model: str) -> None:
    ev = apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json")
    verify(ev, [position / 12 for position in range(13)])


@pytest.mark.slow(every=True)
@half_as_often
@pytest.mark.parametrize("family", FAMILIES)
@given(
    data=st.data(), threshold=st.sampled_from([0.3, 0.5]),
    scores=st.lists(st.sampled_from([-inf, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1, inf]), min_size=1, max_size=6),
)  # fmt: skip
def test_every_position_is_the_matrix_at_its_score(
    family: str, data: st.DataObject, threshold: float, scores: list[float]
) -> None:
    ev = data.draw(scenes(family, ties=data.draw(st.booleans()))).evaluate(area_ranges={"small": (0, 180)})
    verify(ev, sorted(scores), threshold)


@pytest.mark.slow
@half_as_often
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), max_size=6),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4), st.integers(1, 9)), max_size=12),
)
def test_many_candidates_for_each(annotations: list[tuple[int, int]], found: list[tuple[int, int, int]]) -> None:
    """All boxes are candidates of each other, so each score may change every match."""
    ev = evaluated(
        [(category, [x, 0, 20, 20]) for category, x in annotations],
        [(category, [x, 1, 20, 20], score / 10) for category, x, score in found],
    )
    verify(ev, [score / 20 for score in range(1, 20)])


@pytest.mark.slow
@pytest.mark.parametrize("matching", OF_LISTS)
def test_every_matcher(matching: str) -> None:
    detections = [(1, [4, 0, 10, 10], 0.9), (1, A, 0.2), (2, A, 0.8), (2, MOVED, 0.5), (3, B, 0.4)]
    ev = evaluated([(1, A), (2, MOVED), (1, B)], detections, matching=matching, iou_thresholds=[0.4])
    verify(ev, [0.1, 0.3, 0.45, 0.6, 0.85, 0.95], 0.4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant.name != TOY_NAME], ids=str)
def test_every_protocol(variant: Variant) -> None:
    ev, scores = variant.with_ties, [0, 0.2, 0.5, 0.5, 0.8]
    try:
        ev.confusion(None, min_score=0.5)
    except ParameterError as error:
        with pytest.raises(ParameterError) as found:
            confusion_ranges(ev, None, scores)
        assert str(found.value) == str(error)
    else:
        verify(ev, scores, None)


BAD: dict[str, tuple[list[Any], str]] = {
    "order": ([0.5, 0.4], "scores are not in ascending order"), "none": ([], "scores are 0 numbers; give 1 to 100"),
    "many": ([0.5] * 101, "scores are 101 numbers"), "nan": ([nan], "scores must be a number, not nan"),
    "text": (["a"], "scores must be a number, not 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_scores(name: str) -> None:
    scores, message = BAD[name]
    with pytest.raises(ParameterError, match=message):
        confusion_ranges(evaluated([(1, A)], [(1, A, 0.5)]), 0.5, scores)


def test_what_confusion_rejects_is_rejected() -> None:
    with pytest.raises(ParameterError, match="the categories are pooled, so none can be mistaken for another"):
        confusion_ranges(evaluated([(1, A)], [(1, A, 0.5)], agnostic=True), 0.5, [0.5])
    with pytest.raises(ParameterError, match=r"iou_threshold 0\.51 was not evaluated"):
        confusion_ranges(evaluated([(1, A)], [(1, A, 0.5)]), 0.51, [0.5])
