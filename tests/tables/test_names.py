"""Names of images mean the same with or without folders and ending, if that is needed to find them."""

from __future__ import annotations

import polars as pl
import pytest

from apframe.tables.names import places_of

CALLED = pl.Series(["train/a.jpg", "val/a.jpg", "b.c.png", "7"])


@pytest.mark.parametrize(("asked", "places"), [
    (["val/a.jpg"], [[1]]),
    (["a.jpg"], [[0, 1]]),
    (["val/a.jpg", "b.c.png", "nothing"], [[1], [2], []]),  # looser forms find no more, and would find a.jpg twice
    (["val/a.jpg", "b.c"], [[0, 1], [2]]),
    (["x/7.jpg"], [[3]]),
    (["nothing"], [[]]),
    ([], []),
])  # fmt: skip
def test_the_first_form_that_finds_the_most(asked: list[str], places: list[list[int]]) -> None:
    assert places_of(pl.Series(asked, dtype=pl.String), CALLED, "images").to_list() == places


def test_names_of_categories_are_compared_as_they_are() -> None:
    assert places_of(pl.Series(["a.jpg", "7"]), CALLED, "categories").to_list() == [[], [3]]
