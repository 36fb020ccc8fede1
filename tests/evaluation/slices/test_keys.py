"""Every slice that cannot be made, with the error that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.slices.keys import Breakdown
from apframe.exceptions import FewUnitsWarning, ParameterError
from apframe.protocols.inputs import Inputs

IMAGES = {
    "image_id": [1, 2], "weather": ["rain", "sun"], "camera": [1, 2], "AP": [1, 2], "n_images": [1, 2], "places": [[["a"]], []],
    "rolled_up": [1, 2],
}  # fmt: skip
CATEGORIES = {"category_id": [1], "name": ["cat"], "supercategory": ["animal"]}
ANNOTATIONS = {
    "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [10, 10], "height": [10, 10],
    "occlusion": [0.1, 0.9], "camera": [1, 2], "colour": ["red", "blue"], "wear": [1, None], "nothing": [None, None],
    "equal": [1.0, 1.0],
}  # fmt: skip
DETECTIONS = {
    "image_id": [1, 2], "category_id": [1, 1], "score": [0.9, 0.8], "x": [0, 0], "y": [0, 0], "width": [10, 10],
    "height": [10, 10], "colour": ["red", "blue"], "source": ["a", "b"], "wear": ["new", None],
}  # fmt: skip


def evaluated(**options: Any) -> apf.Evaluation:
    return apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS), DETECTIONS, **options)


def refused(call: Callable[[], Any], *words: str) -> None:
    """The error is one line that has all these words."""
    with pytest.raises(ParameterError) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


# ---- keys

BAD_KEYS: dict[str, tuple[list[Any], list[str]]] = {
    "unknown column": (["wether"], ["'wether'", "did you mean weather"]),
    "unknown column, nothing near": (["zzz"], ["'zzz'", "there are", "weather", "occlusion"]),
    "unknown column of a table": (["images.wether"], ["images", "'wether'", "did you mean weather"]),
    "column of another table": (["images.occlusion"], ["images", "'occlusion'"]),
    "unknown table": (["pictures.weather"], ["'pictures.weather'"]),
    "column of images and annotations": (["camera"], ["'camera'", '"images.camera"', '"annotations.camera"']),
    "twice": (["weather", "weather"], ["weather", "twice"]),
    "twice, once qualified": (["weather", "images.weather"], ["weather", "twice"]),
    "twice, once in bins": (["occlusion", apf.bins("occlusion", [0, 1])], ["occlusion", "twice"]),
    "two sides of one column": (["annotations.colour", "detections.colour"], ["colour", "twice"]),
    "two dicts": ([{"a": [1]}, {"b": [2]}], ["one dict"]),
    "name of a metric": (["AP"], ["'AP'", "rename"]),
    "name of the support": (["images.n_images"], ["'n_images'", "rename"]),
    "lists of lists": (["places"], ["'places'", "List"]),
    "value that there is not": ([{"weather": ["rainy"]}], ["weather has no value 'rainy'", "did you mean rain?"]),
    "value of another type": ([{"weather": 3}], ["weather has no value 3", "there are 'rain', 'sun'"]),
    "no value": ([{"weather": []}], ["no values of weather", "'rain', 'sun'"]),
    "values and a condition in one dict": (
        [{"weather": ["rain"], "close": "occlusion < .5"}],
        ["'weather' is a column", "'close' a named slice", "two dicts"],
    ),
    "types that differ": (["wear"], ["'wear'", "String", "cast"]),
    "a number": ([3], ["3"]),
    "an expression": ([pl.col("weather") == "rain"], ["weather"]),
    "bins of text": ([apf.bins("weather", [0, 1])], ["weather", "numbers", "String"]),
    "bins of an unknown column": ([apf.bins("oclusion", [0, 1])], ["'oclusion'", "did you mean occlusion"]),
    "quantiles of text": ([apf.quantiles("weather", 2)], ["weather", "numbers", "String"]),
    "quantiles of equal values": ([apf.quantiles("equal", 2)], ["equal", "1"]),
    "no named slices": ([{}], ["slice"]),
    "named slice of no condition": ([{"empty": []}], ["empty"]),
}


@pytest.mark.parametrize(("keys", "words"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_key(keys: list[Any], words: list[str]) -> None:
    refused(lambda: evaluated().by(*keys), *words)


@pytest.mark.parametrize("level", ["image", "", None, "Category"])
def test_unknown_level(level: Any) -> None:
    refused(lambda: evaluated().by("weather", level=level), "level", '"summary"', '"category"', repr(level))


@pytest.mark.parametrize("key", ["name", "category_id"])
def test_key_with_the_name_of_a_column_of_the_level(key: str) -> None:
    assert evaluated().by(key).height == 1
    refused(lambda: evaluated().by(key, level="category"), repr(key))


def test_key_with_the_name_of_the_marginals() -> None:
    refused(lambda: evaluated().by("rolled_up", marginals=True), "'rolled_up'", "rename")


def test_pooled_categories_have_no_slices_of_categories() -> None:
    pooled = evaluated(agnostic=True)
    assert pooled.by("weather").height == 2
    refused(lambda: pooled.by("supercategory"), "pooled")
    refused(lambda: pooled.by("weather", level="category"), "pooled")
    refused(lambda: pooled.by({"cats": pl.col("name") == "cat"}), "pooled")


def many(n: int, table: str) -> apf.Evaluation:
    """One object has a number of its own; so have the detections, or the images, instead."""
    ids = list(range(1, n + 1))
    rows = {"image_id": ids, "category_id": [1] * n, **{side: [10] * n for side in ("x", "y", "width", "height")}}
    number = {"number": ids}
    of = {name: number if name == table else {} for name in ("images", "annotations", "detections")}
    truth = apf.Dataset({"image_id": ids} | of["images"], {"category_id": [1]}, rows | of["annotations"])
    return apf.evaluate(truth, rows | {"score": [1.0] * n} | of["detections"], iou_thresholds=[0.5], area_ranges={})


def test_too_many_slices_of_objects() -> None:
    refused(lambda: many(1001, "annotations").by("number"), "number", "1,001", "1,000", "bins")
    assert many(1001, "images").by("number").height == 1001


# ---- bins


def test_a_number_of_bins_is_for_quantiles() -> None:
    refused(lambda: apf.bins("occlusion", 4), "edges are a list of numbers, got 4", "quantiles('occlusion', 4)")


@pytest.mark.parametrize(("column", "edges"), [("wear", "4"), ("wear", "0123"), ("wear", True), (pl.col("a"), 4)])
def test_what_are_no_edges_gets_no_suggestion(column: Any, edges: Any) -> None:
    with pytest.raises(ParameterError, match=f"edges are a list of numbers, got {edges!r}$"):
        apf.bins(column, edges)


@pytest.mark.parametrize("edges", [[], [1], [1, 1], [0, 2, 1], [0, float("nan"), 1], ["a", "b"], 3, None])
def test_bad_edges(edges: Any) -> None:
    refused(lambda: apf.bins("occlusion", edges), "occlusion", "edges")


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "b", "c"], ["a", "a"]])
def test_bad_labels(labels: list[str]) -> None:
    refused(lambda: apf.bins("occlusion", [0, 0.5, 1], labels=labels), "occlusion", "2 different labels")


@pytest.mark.parametrize("n", [0, -1, [0.5], [0.5, 0.2], [-0.1, 1], [0, 1.1], "four"])
def test_bad_quantiles(n: Any) -> None:
    refused(lambda: apf.quantiles("occlusion", n), "occlusion")


def test_quantiles_of_nothing() -> None:
    truth = apf.Dataset(IMAGES, CATEGORIES, pl.DataFrame(ANNOTATIONS).with_columns(pl.col("nothing").cast(pl.Float64)))
    refused(lambda: apf.evaluate(truth, DETECTIONS).by(apf.quantiles("nothing", 2)), "nothing", "null")


# ---- conditions

BAD_CONDITIONS: dict[str, tuple[Any, list[str]]] = {
    "unknown column": (pl.col("wether") == "rain", ["'wether'", "did you mean weather"]),
    "no column": (pl.lit(True), ["column"]),
    "columns of several tables": (
        (pl.col("weather") == "rain") & (pl.col("occlusion") < 0.5),
        ["several", "weather", "occlusion", "images", "annotations"],
    ),
    "column of images and annotations": (pl.col("camera") == 1, ["'camera'", '"images.camera"', '"annotations.camera"']),
    "not Boolean": (pl.col("occlusion") + 1, ["true or false", "Float64"]),
    "cannot be computed": (pl.col("weather") > 1, ["weather"]),
    "no image": (pl.col("weather") == "snow", ["image"]),
    "unknown images": ([1, 77, 88], ["77", "88"]),
    "no ids at all": ([], ["image"]),
    "ids of another type": (["a"], ["'a'"]),
    "SQL about several tables": (
        "weather = 'rain' OR occlusion < .5", ["several", "images", "annotations", "AND", "each side"]),
    "SQL with an unknown column": ("wether = 'rain'", ["'wether'", "did you mean weather?"]),
    "SQL with a text in double quotes": ('weather = "rain"', ["no column 'rain'", "single quotes: 'rain'"]),
    "half of SQL": ("weather =", ["'weather ='", "SQL"]),
    "SQL without a column": ("1 = 1", ["column"]),
    "a query": ("SELECT weather FROM images", ["SQL"]),
    "no text": ("", ["SQL"]),
    "a number": (1, ["1"]),
    "None": (None, ["None"]),
}  # fmt: skip


@pytest.mark.parametrize(("condition", "words"), BAD_CONDITIONS.values(), ids=BAD_CONDITIONS)
def test_bad_condition_of_a_part(condition: Any, words: list[str]) -> None:
    refused(lambda: evaluated().where(condition), *words)


@pytest.mark.parametrize(("condition", "words"), BAD_CONDITIONS.values(), ids=BAD_CONDITIONS)
def test_bad_condition_of_a_named_slice(condition: Any, words: list[str]) -> None:
    refused(lambda: evaluated().by({"good": pl.col("weather") == "rain", "bad": condition}), *words)


def test_named_slice_without_images_is_named() -> None:
    refused(lambda: evaluated().by({"snow": pl.col("weather") == "snow"}), "snow", "image")


@pytest.mark.parametrize("mask", [[True, False, True], pl.Series([True, False, True])], ids=["list", "Series"])
def test_mask_is_not_taken_for_image_ids(mask: Any) -> None:
    refused(lambda: evaluated().where(mask), "not Booleans", "pl.col")
    refused(lambda: evaluated().by({"mask": mask}), "not Booleans", "pl.col")


@pytest.mark.parametrize("score", ["0.5", float("nan"), True])
def test_min_score_is_a_number(score: Any) -> None:
    refused(lambda: evaluated().per_image(min_score=score), "min_score must be a number")


def test_conditions_that_no_category_meets() -> None:
    condition = pl.col("name") == "dog"
    refused(lambda: evaluated().where(condition), "category")
    refused(lambda: evaluated().by({"dogs": condition}), "dogs", "category")
    refused(lambda: evaluated().by({"cats": pl.col("name") == "cat", "dogs": condition}), "dogs", "category")


def test_conditions_that_leave_no_image_together() -> None:
    rain, sun = pl.col("weather") == "rain", pl.col("weather") == "sun"
    refused(lambda: evaluated().where(rain, sun), "image")
    refused(lambda: evaluated().where(rain).where(sun), "image")
    refused(lambda: evaluated().by({"both": [rain, sun]}), "both", "image")


def test_images_outside_a_part_are_unknown_in_it() -> None:
    refused(lambda: evaluated().where([1]).where([2]), "2")


def test_a_misspelt_column_with_values_is_named() -> None:
    refused(lambda: evaluated().by({"wether": ["rain", "sun"]}), "no column 'wether'", "did you mean weather?")


class OfSource(Breakdown):
    """The detections of each source, matched alone."""

    def parts(self, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
        for source in ("a", "b"):
            yield source, replace(inputs, detections=inputs.detections.filter(source=source), prepared={})


@pytest.mark.slow
def test_breakdowns_stand_among_other_keys() -> None:
    evaluation, by_source = evaluated(), OfSource("by_source")
    table = evaluation.by(["weather", by_source])
    assert table.columns[:2] == ["by_source", "weather"]
    assert table.select("by_source", "weather", "AR100").rows() == [
        ("a", "rain", 1.0), ("a", "sun", 0.0), ("b", "rain", 0.0), ("b", "sun", 1.0)
    ]  # fmt: skip
    with pytest.warns(FewUnitsWarning) as caught:
        evaluation.by(by_source, intervals=True)
    assert len(caught) == len({str(each.message) for each in caught})


def test_breakdowns_that_cannot_be_made() -> None:
    evaluation, by_source = evaluated(), OfSource("weather")
    refused(lambda: evaluation.by(by_source, "weather"), "by: weather is given twice", "rename the column")
    refused(lambda: evaluation.by(by_source, by_source), "by: weather is given twice")
    refused(lambda: evaluation.by(by_source, apf.quantiles("occlusion", 2)), "by: quantiles differ from bin to bin")
    refused(lambda: evaluation.curves(by=[by_source]), "a key is a column name")  # type: ignore[list-item]
