"""The confusion matrix of a page at all positions of the slider."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.matrix import Matrix
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.report.sections.test_error_types import of


def counts_of(matrix: Matrix, cells: pl.DataFrame) -> np.ndarray:
    """The cells of `confusion` in the rows and columns of a matrix; categories without a row are the others."""
    counts = np.zeros((len(matrix.rows), len(matrix.columns)), np.int64)
    others = len(matrix.labels) - 1
    for true, found, n in cells.select("true_name", "found_name", "n").iter_rows():
        row, column = (
            len(matrix.labels) if name is None else matrix.labels.index(name) if name in matrix.labels else others
            for name in (true, found)
        )
        counts[row, column] += n
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("most", [30, 5])
def test_counts_at_every_position_are_those_of_confusion(models: list[apf.Evaluation], most: int) -> None:
    """The other categories are together, if there are more than are shown."""
    with patch("apframe.report.matrix.MOST_CATEGORIES", most):
        compared = Compared(models, ["model_a", "model_b"])
        matrix, point = compared.matrix, compared.point
    assert point is not None
    assert (len(matrix.labels), matrix.labels[-1]) == ((12, "scooter") if most == 30 else (6, "7 others"))
    for k, each in enumerate(models):
        for position, score in enumerate(point.scores(k)):
            expected = counts_of(matrix, each.confusion(0.5, min_score=score))
            assert (matrix.counts[k][:, :, position] == expected).all(), (k, position)


def test_stays_hold_for_the_scores_that_they_name(pair: Compared) -> None:
    assert pair.point is not None
    for k, stays in enumerate(pair.matrix.stays):
        best = pair.point.best[k]
        held = (pl.col("score_from") <= best) & (pl.col("score_to") >= best)
        assert stays.filter(held).height == stays.filter("is_first").height == pair.matrix.counts[k][:, :, 0].sum()
        assert set(stays["true"]) <= {*pair.matrix.rows} and set(stays["found"]) <= {*pair.matrix.columns}


def test_categories_with_most_confusions_come_first(pair: Compared) -> None:
    matrix, size = pair.matrix, len(pair.matrix.labels)
    now = np.stack([counts[:size, :size, 0] for counts in matrix.counts]).sum(axis=0)
    mistakes = now.sum(axis=0) + now.sum(axis=1) - 2 * now.diagonal()
    assert [*mistakes] == sorted(mistakes, reverse=True) and sorted(matrix.labels) == sorted(pair.categories["label"])


def test_background_and_missed_are_no_categories() -> None:
    named = ONE_OF_TWO | {"categories": [{"id": 1, "name": "background"}, {"id": 2, "name": "missed"}]}
    matrix = of(apf.evaluate(named, ONE_HIT)).matrix
    assert (matrix.background, matrix.missed) == ("background_", "missed_")
    assert len({*matrix.rows}) == len({*matrix.columns}) == 3


def test_others_have_a_name_of_their_own() -> None:
    categories = [{"id": k, "name": name} for k, name in enumerate(("cat", "2 others", "dog", "cow"), 1)]
    with patch("apframe.report.matrix.MOST_CATEGORIES", 2):
        matrix = of(apf.evaluate(ONE_OF_TWO | {"categories": categories}, ONE_HIT)).matrix
    assert len({*matrix.labels}) == 3 and matrix.counts[0].shape[:2] == (4, 4)


def test_supercategories_are_the_groups_of_labels() -> None:
    categories = [{"id": 1, "name": "cat", "supercategory": "animal"}, {"id": 2, "name": "dog"}]
    matrix = of(apf.evaluate(ONE_OF_TWO | {"categories": categories}, ONE_HIT)).matrix
    assert dict(zip(matrix.labels, matrix.groups, strict=True)) == {"cat": "animal", "dog": ""}


@pytest.mark.slow
def test_very_many_categories_have_a_small_matrix() -> None:
    many = ONE_OF_TWO | {"categories": [{"id": k, "name": f"c{k}"} for k in range(1, 1_204)]}
    matrix = of(apf.evaluate(many, ONE_HIT)).matrix
    assert matrix.labels[-1] == "1,173 others" and matrix.counts[0].shape == (32, 32, 51)
    assert matrix.counts[0][:, :, 0].sum() == apf.evaluate(many, ONE_HIT).confusion(0.5, min_score=0.9)["n"].sum()
