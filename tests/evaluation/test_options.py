"""The options of `evaluate`: the same for everything that takes them, and refused alike."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import pytest

import apframe as apf
from apframe.evaluation.options import Options, choose
from apframe.exceptions import ParameterError
from apframe.formats.reading import Reading, ReadingOptions

TRUTH = apf.Dataset(
    images={"image_id": [1]},
    categories={"category_id": [1], "name": ["cat"]},
    annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]},
)
FOUND = {"image_id": [1], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}

_FURTHER = ("compared", "masks", "protocol", "is_whole", "sides")  # of `Reading`, which no user gives


def keywords(function: Any) -> list[str]:
    return [each.name for each in signature(function).parameters.values() if each.kind is Parameter.KEYWORD_ONLY]


def test_options_are_those_of_evaluate() -> None:
    assert set(Options.__annotations__) | set(ReadingOptions.__annotations__) == set(keywords(apf.evaluate))
    assert keywords(apf.Evaluator) == keywords(apf.evaluate)
    assert keywords(apf.check) == list(ReadingOptions.__annotations__)
    assert list(signature(Reading).parameters) == [*ReadingOptions.__annotations__, *_FURTHER]


def test_unknown_options_are_errors() -> None:
    for take in (lambda **options: apf.evaluate(TRUTH, FOUND, **options), lambda **options: apf.Evaluator(TRUTH, **options)):
        with pytest.raises(ParameterError, match=r"^no option 'iou_typ'; did you mean iou_type\?$"):
            take(iou_typ="segm")
    for look in (apf.check, apf.stats):
        with pytest.raises(ParameterError, match=r"^no option 'splt'; did you mean split\?$"):
            look(TRUTH, FOUND, splt="val")  # type: ignore[operator]


@pytest.mark.parametrize(("options", "option"), [
    ({"unknown_images": "dropp"}, "unknown_images"),
    ({"iou_thresholds": [2]}, "iou_thresholds"),
    ({"max_detections": []}, "max_detections"),
    ({"matching": "best"}, "matching"),
])  # fmt: skip
def test_evaluate_and_evaluator_refuse_options_alike(options: dict[str, Any], option: str) -> None:
    errors = []
    for take in (lambda: apf.evaluate(TRUTH, FOUND, **options), lambda: apf.Evaluator(TRUTH, **options)):
        with pytest.raises(ParameterError) as caught:
            take()
        errors.append((str(caught.value), caught.value.option))
    assert errors[0] == errors[1] and errors[0][1] == option


def test_what_is_chosen() -> None:
    choice = choose("voc2007", categories=["cat"], unknown_images="drop", split="val", matching="optimal")
    assert (choice.protocol.name, choice.protocol.matcher.name, choice.categories) == ("VOC2007", "optimal", ["cat"])
    assert choice.drop_unknown_images and choice.reading == Reading(split="val", compared="bbox", protocol="VOC2007")
