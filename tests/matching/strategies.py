"""Pairs of a few detections and annotations, with many equal similarities, and what assignments say once written out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from hypothesis import strategies as st

THRESHOLDS = [0.5, 0.6, 0.75, 1.0]
# on the thresholds, between them, and below all of them
SIMILARITIES = [0.4, 0.5, 0.55, 0.6, 0.6, 0.7, 0.75, 0.9, 1 - 1e-12, 1.0]


@dataclass(frozen=True)
class Problem:
    """What every policy takes."""

    pairs: pl.DataFrame
    is_crowd: np.ndarray
    ignored: np.ndarray
    thresholds: np.ndarray

    def reaches(self, similarity: float, threshold: float, strict: bool) -> bool:
        """The rule as it is written down."""
        return similarity > threshold if strict else similarity >= min(threshold, 1 - 1e-10)

    def candidates(self, threshold: float, strict: bool) -> dict[tuple[int, int], float]:
        """The similarity of each pair that reaches a threshold."""
        return {(d, a): s for d, a, s in self.pairs.rows() if self.reaches(s, threshold, strict)}


@st.composite
def problems(draw: st.DrawFn, crowds: bool = True) -> Problem:
    """Up to eight detections and six annotations, in up to three slices."""
    n_detections, n_annotations = draw(st.integers(0, 8)), draw(st.integers(1, 6))
    grid = [(d, a) for d in range(n_detections) for a in range(n_annotations)]
    similarities = draw(st.lists(st.sampled_from([None, *SIMILARITIES]), min_size=len(grid), max_size=len(grid)))
    rows = [(*cell, s) for cell, s in zip(grid, similarities, strict=True) if s is not None]
    flags = st.lists(st.booleans(), min_size=n_annotations, max_size=n_annotations)
    is_crowd = draw(flags) if crowds else [False] * n_annotations
    ignored = draw(st.lists(flags, min_size=1, max_size=3))
    thresholds = sorted(draw(st.sets(st.sampled_from(THRESHOLDS), min_size=1)))
    return Problem(pairs_of(*draw(st.permutations(rows))), np.array(is_crowd), np.array(ignored), np.array(thresholds))


def pairs_of(*rows: tuple[int, int, float]) -> pl.DataFrame:
    """A table of pairs: detection, annotation, similarity."""
    schema = {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def written_out(assigned: pl.DataFrame, problem: Problem) -> dict[tuple[int, int, int], tuple[int, bool]]:
    """(slice, threshold number, detection) → (annotation, is_repeat); each may be there only once."""
    assert dict(assigned.schema) == {
        "detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64, "slice": pl.Int16,
        "first": pl.UInt16, "last": pl.UInt16, "is_repeat": pl.Boolean,
    }  # fmt: skip
    assert assigned["detection"].is_sorted()
    similarity = {(d, a): s for d, a, s in problem.pairs.rows()}
    assignments: dict[tuple[int, int, int], tuple[int, bool]] = {}
    for detection, annotation, value, number, first, last, is_repeat in assigned.rows():
        assert similarity[detection, annotation] == value
        assert first < last
        for place in range(len(problem.ignored)) if number == -1 else [number]:
            for threshold in range(first, last):
                assert (place, threshold, detection) not in assignments
                assignments[place, threshold, detection] = (annotation, is_repeat)
    return assignments
