"""The chart of a confusion matrix: what is in its specification."""

from __future__ import annotations

import sys
from typing import Any

import polars as pl
import pytest

from apframe import plot
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.show.colours import PALETTE

pytest.importorskip("altair")

NAMES = {1: "cat", 2: "dog", 3: "car", None: None}


def confusion(*cells: tuple[int | None, int | None, int], **columns: Any) -> pl.DataFrame:
    rows = [(true, NAMES[true], found, NAMES[found], n) for true, found, n in cells]
    names = ["true_category_id", "true_name", "found_category_id", "found_name", "n"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(**columns)


TABLE = confusion((1, 1, 6), (1, 2, 3), (1, None, 1), (2, 2, 4), (3, 3, 5), (3, 2, 1), (None, 3, 5))


def drawn(spec: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    (rows,) = spec["datasets"].values()
    return {(row["true"], row["found"]): row for row in rows}


@pytest.mark.slow
def test_the_matrix() -> None:
    spec = plot.confusion(TABLE).to_dict()
    cells = drawn(spec)
    assert {at: row["n"] for at, row in cells.items()} == {
        ("cat", "cat"): 6, ("cat", "dog"): 3, ("cat", "missed"): 1, ("dog", "dog"): 4, ("car", "car"): 5, ("car", "dog"): 1,
        ("background", "car"): 5,
    }  # fmt: skip
    assert (cells["cat", "dog"]["share"], cells["background", "car"]["share"]) == (0.3, 1.0)
    assert {cells[at]["step"] for at in (("cat", "dog"), ("cat", "missed"))} == {3, 2}
    encoding = spec["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["domain"] == ["dog", "cat", "car", "missed"]  # dog has 4 confusions, cat 3, car 1
    assert encoding["y"]["scale"]["domain"] == ["dog", "cat", "car", "background"]
    assert encoding["color"]["scale"]["range"][5] == PALETTE[0]
    assert spec["title"]["subtitle"] == ["the shade is the share of the row; right detections have an outline"]


@pytest.mark.slow
def test_many_categories() -> None:
    spec = plot.confusion(TABLE, most=2).to_dict()
    cells = drawn(spec)
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["dog", "cat", "1 other", "missed"]
    assert (cells["1 other", "dog"]["n"], cells["1 other", "1 other"]["n"]) == (1, 5)
    assert sum(row["n"] for row in cells.values()) == TABLE["n"].sum()
    assert spec["title"]["subtitle"][-1] == "2 of 3 categories: those with most confusions"


@pytest.mark.slow
def test_the_largest_mistakes() -> None:
    spec = plot.confusion(TABLE, "cells").to_dict()
    (rows,) = spec["datasets"].values()
    assert [(row["cell"], row["text"]) for row in rows] == [("cat → dog", "3 · 30.0%"), ("car → dog", "1 · 16.7%")]
    one = plot.confusion(TABLE, "cells", most=1).to_dict()
    assert one["title"]["subtitle"][-1] == "the 1 largest of 2 cells"


@pytest.mark.slow
def test_the_conditions_are_said() -> None:
    def said(**columns: Any) -> str:
        table = TABLE.with_columns(iou_threshold=0.5, area_range=pl.lit("all"), **columns)
        return str(plot.confusion(table).to_dict()["title"]["subtitle"][0])

    assert said(min_score=pl.lit(None, pl.Float64)) == "IoU threshold 0.5, area range all, all scores"
    assert said(min_score=pl.when(pl.col("found_name").is_not_null()).then(0.3)) == (
        "IoU threshold 0.5, area range all, scores from 0.3"
    )
    missed = confusion((1, None, 3), min_score=pl.lit(None, pl.Float64))
    assert plot.confusion(missed).to_dict()["title"]["subtitle"][0].startswith("the shade")
    by_category = pl.col("found_category_id") / 10
    assert said(min_score=by_category) == "IoU threshold 0.5, area range all, scores from 0.1 to 0.3, by category"


@pytest.mark.slow
def test_names_that_are_missing_or_twice() -> None:
    table = TABLE.with_columns(pl.col("true_name", "found_name").replace({"dog": None, "car": "cat"}))
    spec = plot.confusion(table).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["category 2", "cat (1)", "cat (3)", "missed"]


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (0, 61, True, "x"):
        with pytest.raises(ParameterError, match="most is a whole number from 1 to 60"):
            plot.confusion(TABLE, most=most)
    with pytest.raises(ParameterError, match='kind is "matrix" or "cells"'):
        plot.confusion(TABLE, "cell")
    with pytest.raises(InputError, match="there is nothing to draw; it has no rows"):
        plot.confusion(TABLE.clear())
    with pytest.raises(InputError, match="there is nothing to draw; no category is predicted as another"):
        plot.confusion(confusion((1, 1, 3)), "cells")
    with pytest.raises(InputError, match="cells appear more than once; filter to one evaluation"):
        plot.confusion(pl.concat([TABLE, TABLE]))
    with pytest.raises(ColumnError, match="no column true_name"):
        plot.confusion(TABLE.drop("true_name"))
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match="charts need Altair"):
        plot.confusion(TABLE)
