"""Verdicts of disjoint images put together are those of the whole."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import ParameterError
from apframe.matching.concatenation import concat
from apframe.matching.verdicts import Verdicts, example
from tests.matching.test_verdicts import assert_same, verdicts_of
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")


@pytest.mark.slow
@half_as_often
@given(cases(), st.sampled_from(OF_LISTS), st.booleans(), st.data())
def test_parts_put_together_are_the_whole(case: Case, matching: str, agnostic: bool, data: st.DataObject) -> None:
    whole = verdicts_of(case, matching=matching, agnostic=agnostic, max_detections=[1, 5])
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=whole.images.height, max_size=whole.images.height)), dtype=bool)
    parts = [whole.of_images(kept), whole.of_images(~kept)]
    if kept.any() and not kept.all():
        assert_same(concat(parts), whole)
        assert_same(concat(parts[::-1]), whole)


def test_parts_of_other_evaluations_are_refused() -> None:
    whole = example()
    with pytest.raises(ParameterError, match="image 'a' is in two of the parts"):
        concat([whole, whole])
    other = Verdicts(**{**vars(whole), "thresholds": (0.7,)})
    with pytest.raises(ParameterError, match="different thresholds"):
        concat([whole, other])
    numbers = Verdicts(**{**vars(whole), "images": pl.DataFrame({"image_id": [1, 2]})})
    with pytest.raises(ParameterError, match="id types"):
        concat([whole, numbers])
    with pytest.raises(ParameterError, match="no verdicts"):
        concat([])
