"""Counts of a small data set by hand, of the sample set against the tables, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from tests.cli.test_command import command

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TRUTH = apf.Dataset(
    images={"image_id": [1, 2, 3], "weather": ["fog", "sun", "fog"], "tags": [["x", "y"], ["x"], []], "url": ["a", "b", "c"]},
    categories={"category_id": [1, 2, 3], "name": ["cat", "dog", "car"], "supercategory": ["animal", "animal", "vehicle"]},
    annotations={
        "image_id":    [1, 1, 2, 2],
        "category_id": [1, 1, 1, 2],
        "x":           [0, 0, 0, 0],
        "y":           [0, 0, 0, 0],
        "width":       [10, 20, 30, 100],
        "height":      [10, 20, 30, 100],
        "is_crowd":    [False, True, False, False],
        "occlusion":   [0.5, None, 0.5, 0.1],
    },
)  # fmt: skip
FOUND = {
    "image_id": [1, 3, 3], "category_id": [1, 2, 9], "score": [0.9, 0.8, 0.7],
    "x": [0, 0, 0], "y": [0, 0, 0], "width": [10, 10, 100], "height": [10, 10, 100], "occlusion": [0.1, 0.1, 0.2],
}  # fmt: skip
COLUMNS = ["value", "n_images", "n_empty", "n_annotations", "n_crowds", "median_width", "n_detections"]


def rows(by: str, table: pl.DataFrame) -> list[tuple[object, ...]]:
    return table.filter(by=by).select(COLUMNS).rows()


def test_counts_by_hand() -> None:
    table = apf.stats(TRUTH, FOUND, by=["weather", "tags", "supercategory", "occlusion"])
    assert rows("all", table) == [(None, 3, 1, 4, 1, 25.0, 3)]
    assert rows("name", table) == [
        ("cat", 2, None, 3, 1, 20.0, 1), ("dog", 1, None, 1, 0, 100.0, 1), ("car", 0, None, 0, 0, None, 0),
    ]  # fmt: skip
    assert rows("area_range", table) == [
        ("small", 2, None, 3, 1, 20.0, 2), ("medium", 0, None, 0, 0, None, 0), ("large", 1, None, 1, 0, 100.0, 1),
    ]  # fmt: skip
    assert rows("weather", table) == [("fog", 2, 1, 2, 1, 15.0, 3), ("sun", 1, 0, 2, 0, 65.0, 0)]
    assert rows("tags", table) == [("x", 2, 0, 4, 1, 25.0, 1), ("y", 1, 0, 2, 1, 15.0, 1), (None, 1, 1, 0, 0, None, 2)]
    assert rows("supercategory", table) == [("animal", 2, None, 4, 1, 25.0, 2), ("vehicle", 0, None, 0, 0, None, 0)]
    assert rows("occlusion", table) == [
        ("0.1", 1, None, 1, 0, 100.0, 2), ("0.2", 0, None, 0, 0, None, 1), ("0.5", 2, None, 2, 0, 20.0, 0),
        (None, 1, None, 1, 1, 20.0, 0),
    ]  # fmt: skip
    assert rows("occlusion", apf.stats(TRUTH, FOUND, by="annotations.occlusion"))[0] == ("0.1", 1, None, 1, 0, 100.0, None)


def test_sizes_of_turned_boxes_are_those_of_upright_ones() -> None:
    box = {"x": [10], "y": [20], "width": [60], "height": [40], "angle": [math.atan2(3, 4)]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, box | {"image_id": [1], "category_id": [1]})
    sizes = apf.stats(truth).select("median_width", "median_height", "median_area").row(0)
    assert sizes == pytest.approx((72, 68, 60 * 40)), "the area is that of the shape"


def test_attributes_of_few_values_are_counted_unasked() -> None:
    always = ["all", "name", "area_range"]
    assert apf.stats(TRUTH)["by"].unique(maintain_order=True).to_list() == [*always, "weather", "tags", "url"]
    ids = list(range(30))
    many = apf.Dataset({"image_id": ids, "url": list(map(str, ids)), "n": ids}, {"category_id": [1]}, {})
    assert apf.stats(many)["by"].unique(maintain_order=True).to_list() == always
    assert "n_detections" not in apf.stats(many).columns


def test_nothing_at_all() -> None:
    empty = apf.Dataset({"image_id": []}, {"category_id": []}, {})
    assert apf.stats(empty, {}).select("by", "n_images", "n_annotations", "n_detections").rows()[0] == ("all", 0, 0, 0)


@pytest.mark.parametrize(("by", "message"), [
    ("wether", "did you mean weather"), ("score", "no column 'score'"), ("image_width.x", "no column"),
])  # fmt: skip
def test_unknown_columns(by: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        apf.stats(TRUTH, by=by)


@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = [str(STREET / "instances.json"), str(STREET / "model_a.json")]
    expected = apf.stats(*paths)
    code, out, err = command(capsys, monkeypatch, "stats", *paths, "--json")
    assert (code, err, json.loads(out)) == (0, "", expected.to_dicts())
    code, out, err = command(capsys, monkeypatch, "stats", *paths, "--csv", "--by", "weather")
    assert (code, err, out) == (0, "", apf.stats(*paths, by=["weather"]).write_csv())
    code, out, err = command(capsys, monkeypatch, "stats", paths[0])
    assert (code, err) == (0, "") and "traffic light" in out and "Esbjerg" in out
    lines = [f"{image},tunnel\n" for image in apf.read_dataset(paths[0]).images["image_id"]]
    (tmp_path / "scenes.csv").write_text("".join(["image_id,scene\n", *lines]))
    code, out, err = command(capsys, monkeypatch, "stats", paths[0], "--image-attributes", str(tmp_path / "scenes.csv"))
    assert (code, err) == (0, "") and "scene" in out
    code, out, err = command(capsys, monkeypatch, "stats", paths[0], "--by", "scene")
    assert (code, out) == (2, "") and "no column 'scene'" in err
