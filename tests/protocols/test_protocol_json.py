"""Rules as values: which protocols have which, what they are stored as, and turned boxes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.exceptions import ColumnError, FormatError, ParameterError, TurnedBoxesWarning
from apframe.protocols.application import make_inputs
from apframe.protocols.protocol_json import RULES
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import IgnoredAsCrowds
from apframe.protocols.rules.filters import Filter, KeepObjects
from apframe.protocols.rules.limits import LimitPerImage, RankInImage
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_ROWS, TurnUpright
from apframe.tables.dataset import Dataset

IMAGES = {"image_id": [1, 2]}
OBJECTS = {"image_id": [1, 1], "category_id": [1, 2], "x": [0, 0], "y": [0, 0], "width": [4, 0], "height": [4, 4]}
CATEGORIES = {"category_id": [1, 2]}
DATASET = Dataset(IMAGES, CATEGORIES | {"parent_ids": [[2], []]}, OBJECTS)


RULES_OF = {
    protocol.name + iou_type: protocol.variant(iou_type).rules
    for protocol in apf.PUBLISHED.values()
    for iou_type in protocol.iou_types
}


def test_every_protocol_has_the_standard_rules_in_their_order() -> None:
    for name, rules in RULES_OF.items():
        standard = [rule for rule in rules if rule in STANDARD_ROWS]
        assert standard == list(STANDARD_ROWS) and len(set(rules)) == len(rules), name


def test_every_rule_is_in_a_protocol() -> None:
    used = {type(rule).__name__ for rules in RULES_OF.values() for rule in rules}
    assert set(RULES) - used == {"DetectedImagesOnly"}  # of Detectron's recall, which PROPOSALS does not have


def test_stored_evaluations_apply_standard_rules_again() -> None:
    assert [type(rule).__name__ for rule in STANDARD_ROWS if rule.applies_again] == ["EvaluatedCategories", "OrderByCategory"]
    assert {rule for rules in RULES_OF.values() for rule in rules if rule.applies_again} < set(STANDARD_ROWS)


# a part of a stored protocol -> the error
UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"rules": [{"rule": "Unheard"}]}, r"^the rule 'Unheard' is not known here; add it before you read: .*RULES"),
    "of a package": (
        {"rules": [{"rule": "Unheard", "package": "seas"}]},
        r"^the rule 'Unheard' is not known here; it is from the package 'seas': add it before you read: ",
    ),
    "matcher": ({"matcher": {"matcher": "by_luck"}}, r"^the matcher 'by_luck' is not known here; .*MATCHERS\['by_luck'\]"),
    "metric": ({"metrics": [{"metric": "luck"}]}, r"^the metric 'luck' is not known here; .*KINDS\['luck'\]"),
    "parameter": (
        {"rules": [{"rule": "RequireAtMost", "most": 3}]},
        r"^the rule 'RequireAtMost' cannot be made \(.*'most'.*\); check .* or evaluate again$",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_error_about_the_unknown_says_where_it_is_from(part: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        apf.Protocol.from_dict(apf.COCO.as_dict() | part)


@dataclass(frozen=True)
class OwnRule(Rule):
    """A rule of this module."""

    least: float = 0.5


def test_a_rule_of_ones_own_is_stored_once_it_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = apf.Protocol("mine", "", rules=(*STANDARD_ROWS, OwnRule(0.75)))
    with pytest.raises(ParameterError, match=r"has no name to be stored by; add it first: .*RULES\[\"a_name\"\] = \"tests\."):
        protocol.as_dict()
    monkeypatch.setitem(RULES, "own", f"{__name__}:OwnRule")
    stored = json.loads(json.dumps(protocol.as_dict()))
    assert stored["rules"][-1] == {"rule": "own", "package": "tests", "least": 0.75}
    assert apf.Protocol.from_dict(stored) == protocol


def test_the_limit_counts_what_is_left_out_later() -> None:
    detections = OBJECTS | {"score": [0.4, 0.5]}  # the second has no area, but the higher score
    protocol = apf.LVIS.with_options(max_detections=[1])
    with pytest.warns(apf.exceptions.MissingColumnWarning):
        assert make_inputs(DATASET, detections, None, protocol).detections.is_empty()


TURNED = OBJECTS | {"x": [10, 10], "y": [20, 20], "width": [60, 60], "height": [40, 40], "angle": [math.pi / 2, math.pi]}


def test_turned_boxes_become_upright_and_keep_their_area() -> None:
    truth = TURNED | {"angle": [math.atan2(3, 4), None], "width": [60, 60], "height": [40, 40]}
    with pytest.warns(TurnedBoxesWarning, match=r"^boxes turned by angle: 1 of 2 annotations and 1 of 2 detections; COCO uses"):
        inputs = make_inputs(Dataset(IMAGES, CATEGORIES, truth), TURNED | {"score": [0.5, 0.4]}, None, apf.COCO)
    columns = ["x", "y", "width", "height", "angle", "area"]
    annotations, detections = inputs.annotations.select(columns), inputs.detections.select(columns)
    # .8 * 60 + .6 * 40 wide and .6 * 60 + .8 * 40 high, about (40, 40)
    assert annotations.row(0) == pytest.approx((4, 6, 72, 68, 0, 2400))
    assert annotations.row(1) == (10, 20, 60, 40, None, 2400)
    assert detections.rows() == [(20, 10, 40, 60, 0, 2400), (10, 20, 60, 40, math.pi, 2400)]  # half a turn changes nothing
    assert inputs.dataset.annotations.select(columns).equals(annotations)


@pytest.mark.parametrize(
    "protocol", [apf.DOTA, apf.COCO.with_options(similarity=apf.similarity.UserSimilarity(lambda pairs: pairs["x"]))]
)
def test_the_angle_stays_where_it_is_compared(protocol: apf.Protocol) -> None:
    inputs = make_inputs(Dataset(IMAGES, CATEGORIES, TURNED), TURNED | {"score": [0.5, 0.4]}, None, protocol)
    assert inputs.annotations["angle"].to_list() == inputs.detections["angle"].to_list() == TURNED["angle"]
    assert inputs.notes == [] and inputs.detections["x"].to_list() == [10, 10]


@pytest.mark.parametrize("angle", [[None, None], [0.0, 0.0], [0.0, -math.pi]])
def test_boxes_that_are_not_turned_are_left_alone(angle: list[float | None]) -> None:
    objects = TURNED | {"angle": angle}
    inputs = make_inputs(Dataset(IMAGES, CATEGORIES, objects), objects | {"score": [0.5, 0.4]}, None, apf.COCO)
    left = TurnUpright().rows(inputs)
    assert left.dataset is inputs.dataset and left.detections is inputs.detections and left.notes == []


@pytest.mark.parametrize("make", [lambda: LimitPerImage("all"), lambda: RankInImage("place"), lambda: IgnoredAsCrowds("both")])  # type: ignore[arg-type]
def test_parameters_of_rules_are_checked(make: Callable[[], Rule]) -> None:
    with pytest.raises(ParameterError, match=r'^(ties|by|over) is "'):
        make()


def test_one_class_may_be_given_alone_and_lists_become_tuples() -> None:
    assert Classes("car") == Classes(["car"]) == Classes(("car",))  # type: ignore[arg-type]
    assert hash(KeepObjects(Filter("score"))) == hash(KeepObjects([Filter("score")]))  # type: ignore[arg-type]


def test_places_count_only_where_ranks_are_those_of_images() -> None:
    placed = OBJECTS | {"score": [0.5, 0.4], "place_in_image": [7, 8], "category_id": [1, 1], "width": [4, 4]}
    truth = Dataset(IMAGES, CATEGORIES, OBJECTS)
    plain = {name: values for name, values in placed.items() if name != "place_in_image"}
    both = [apf.evaluate(truth, rows, max_detections=[1, 2]).metrics for rows in (placed, plain)]
    assert both[0].equals(both[1])


@pytest.mark.slow
def test_masks_without_pixels_are_none_however_they_were_read(tmp_path: Path) -> None:
    empty, square = {"size": [20, 20], "counts": [400]}, [[0, 0, 9, 0, 9, 9, 0, 9]]
    rows = [{"id": k, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "segmentation": mask, "area": 81}
            for k, mask in enumerate((empty, square), 1)]  # fmt: skip
    truth = {"images": [{"id": 1, "width": 20, "height": 20}], "categories": [{"id": 1, "name": "a"}], "annotations": rows}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    detections = [{"image_id": 1, "category_id": 1, "segmentation": square, "score": 0.9}]
    values = [
        apf.evaluate(given, detections, "open_images", iou_type="segm")["AP"]
        for given in (apf.read_dataset(tmp_path / "truth.json"), tmp_path / "truth.json", truth)
    ]
    assert values == [1.0, 1.0, 1.0]


def test_sides_that_are_missing_are_named_by_the_similarity() -> None:
    box = {"image_id": ["s"], "category_id": ["TYPE_VEHICLE"], "x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    truth = Dataset({"image_id": ["s"]}, {"category_id": ["TYPE_VEHICLE"]}, box | {"level": [1], "n_points": [9]})
    with pytest.raises(ColumnError, match=r"no column cuboid_\w+.*needed to compare"):
        _ = apf.evaluate(truth, box | {"score": [0.5]}, apf.WAYMO).summary
