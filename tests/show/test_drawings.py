"""Drawings: what is in the elements of each shape, that text is text, and how large pictures are."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import polars as pl
import pytest

from apframe.show.drawings import SIGNS, draw_objects, legend, picture, picture_sizes, style

BOX = {"x": 10.0, "y": 50.0, "width": 20.0, "height": 8.5}


def drawn(*rows: dict[str, Any], **shared: Any) -> list[ET.Element]:
    common = {"image_id": 1, "image_width": 200, "image_height": 100, "role": "a", "outcome": "fp", "label": "car"} | BOX
    elements = draw_objects(pl.DataFrame([common | shared | row for row in rows]))
    return [ET.fromstring(f"<svg>{shape}{text or ''}</svg>") for shape, text in elements.iter_rows()]


def paths(element: ET.Element) -> dict[str, str]:
    """What each kind of line is; the dark one below each is the same."""
    lines = {path.attrib["class"]: path.attrib["d"] for path in element.iter("path")}
    assert all(lines[kind.replace("line", "halo")] == d for kind, d in lines.items())
    return {kind: d for kind, d in lines.items() if "line" in kind}


def test_pictures_of_objects_below_zero_have_a_size() -> None:
    """Such as places in a scanner, which have no pixels."""
    objects = {"image_id": [7], "x": [-50.0], "y": [-9.0], "width": [9.5], "height": [4.0]}
    assert picture_sizes(pl.DataFrame(objects)).rows() == [(7, 1, 1)]


def test_boxes_have_their_role_and_outcome() -> None:
    one, two = drawn({"is_subject": True}, {"role": "truth", "outcome": "fn", "is_subject": False})
    assert [child.attrib["class"] for child in one] == ["a fp subject"] * 2
    assert [child.attrib["class"] for child in two] == ["truth fn"] * 2
    assert paths(one) == {"line": "M10 50H30V58.5H10z"}


@pytest.mark.parametrize("outcome", SIGNS)
def test_a_sign_says_the_outcome_too(outcome: str) -> None:
    (text,) = drawn({"outcome": outcome, "role": "truth"})[0].iter("text")
    assert text.text == f"{SIGNS[outcome]} car"


def test_true_positives_have_no_text() -> None:
    """Their annotations have it; unless the picture is about them."""
    kinds = [{"outcome": "tp"}, {"outcome": "tp", "is_subject": True}, {"outcome": "tp", "role": "truth"}, {}]
    assert [len(list(element.iter("text"))) for element in drawn(*kinds)] == [0, 1, 1, 1]


def test_detections_carry_their_score() -> None:
    """Rounded, as the page rounds thresholds; annotations have that of what found them in their words only."""
    one, two, none = drawn({"score": 0.123456789}, {"score": 0.5, "role": "truth"}, {"score": None})
    assert [each.attrib.get("data-score") for element in (one, two, none) for each in element] == ["0.123457"] * 2 + [None] * 4
    assert [each.attrib.get("data-score") for each in drawn({"score": 1.0})[0]] == ["1"] * 2


def test_crops_move_and_shrink_labels() -> None:
    shape, text = drawn({})[0]
    cropped, moved = drawn({"crop_x": 10.0, "crop_y": 40.0, "crop_width": 40.0})[0]
    assert paths(cropped) == paths(shape)
    assert moved.attrib["transform"] == "translate(10 40)"
    assert float(moved.attrib["font-size"]) == pytest.approx(float(text.attrib["font-size"]) * 40 / 200, rel=0.1)
    assert 0 <= float(moved.attrib["x"]) < 40 and 0 < float(moved.attrib["y"]) < 30
    striped = drawn({"crop_x": -20.0, "crop_y": 0.0, "crop_width": 240.0})[0][1]
    assert striped.attrib["transform"] == "translate(0 0)", "labels are on the picture, not on the stripes"


def test_a_picture_is_moved_so_that_its_crop_is_seen() -> None:
    text = picture([], 400, 200, href=None, title="", crop=(100, 50, 100))
    assert 'style="aspect-ratio:4/3"><div class="whole" style="left:-100%;top:-66.6667%;width:400%;height:266.667%"' in text
    assert 'style="aspect-ratio:400/200"><div class="whole"><svg' in picture([], 400, 200, href=None, title="")


def test_text_is_never_markup() -> None:
    name = '<img src=x onerror="alert(1)"> & </text>'
    (element,) = drawn({"label": name, "title": name})
    assert [child.tag for child in element.iter()] == ["svg", "g", "title", "path", "path", "text"]
    assert element[0][0].text == name
    assert element[1].text == f"✗ {name}"
    assert "<img src=x" not in picture([], 1, 1, href=name, title=name)
    assert "<img" not in legend([name])


def test_titles_and_labels_may_be_missing() -> None:
    one, two = drawn({"label": None, "title": "all of it"}, {"title": None})
    assert [child.tag for child in one] == ["g"]
    assert [one[0][0].text, two[0][0].text] == ["all of it", "car"]


def test_outlines_of_masks_with_holes() -> None:
    triangle, hole = [0.0, 0.0, 9.0, 0.0, 9.0, 9.0], [6.0, 1.0, 7.0, 1.0, 6.0, 2.0]
    one, two = drawn({"outline": [triangle, hole]}, {"outline": []})
    assert paths(one) == {"line": "M0 0l9 0 0 9zM6 1l1 0-1 1z"}
    assert paths(two) == {"line": "M10 50H30V58.5H10z"}, "an empty mask is shown by its box"


def test_keypoints_as_skeletons() -> None:
    points = [1.0, 2.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 0.0, 5.0, 6.5, 2.0]
    one, two = drawn({"keypoints": points}, {"keypoints": [0.0] * 12}, skeleton=[[1, 2], [2, 3], [4, 1], [4, 99]])
    assert paths(one) == {"line": "M1 2L3 4M5 6.5L1 2", "line dots": "M1 2h0M3 4h0M5 6.5h0"}
    assert paths(two) == {"line": "M10 50H30V58.5H10z"}, "without a point there is the box"
    (alone,) = drawn({"keypoints": points})
    assert paths(alone) == {"line dots": "M1 2h0M3 4h0M5 6.5h0"}


def test_rotated_boxes() -> None:
    corners = [1.0, 1.0, 5.0, 1.0, 5.0, 4.0, 1.0, 4.0]
    one, two, three = drawn(
        {"corners": corners, "angle": None}, {"angle": 0.0, "corners": None}, {"corners": None, "angle": None}
    )
    assert paths(one) == {"line": "M1 1L5 1L5 4L1 4z"}
    assert paths(two) == {"line": "M10 50L30 50L30 58.5L10 58.5z"}
    assert paths(three) == {"line": "M10 50H30V58.5H10z"}


def test_pictures_of_unknown_size_hold_turned_boxes() -> None:
    box = {"x": 10.0, "y": 20.0, "width": 60.0, "height": 40.0, "angle": math.atan2(3, 4)}  # up to 76 and 74
    rows = pl.DataFrame([{"image_id": 1, "role": "a", "outcome": "fp", "label": "ship"} | box])
    assert picture_sizes(rows).rows() == [(1, 76, 74)]
    assert draw_objects(rows).equals(draw_objects(rows.with_columns(image_width=76, image_height=74)))


def test_intervals_are_bars_in_lanes() -> None:
    times = [{"start_time": 0.0, "end_time": 5.0}, {"start_time": 5.0, "end_time": 20.0, "role": "truth"}]
    rows = pl.DataFrame([{"image_id": 1, "role": "a", "outcome": "fp", "label": "run"} | BOX | each for each in times])
    assert picture_sizes(rows).rows() == [(1, 1000, 124)], "two lanes, and what is free above and below them"
    numbers = [
        [float(n) for n in re.findall(r"[\d.]+", paths(ET.fromstring(text))["line"])] for text in draw_objects(rows)["shape"]
    ]
    assert numbers == [[0, 50, 250, 66, 0], [250, 98, 1000, 114, 250]]


def test_sizes_of_pictures_are_those_of_the_images_if_known() -> None:
    rows = {"image_id": [3, 3, 1], "image_width": [640, 640, None], "image_height": [480, 480, None]}
    boxes = pl.DataFrame(rows | {name: [value] * 3 for name, value in BOX.items()})
    assert picture_sizes(boxes).rows() == [(3, 640, 480), (1, 30, 59)]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "least"), [("cuboid_y", 0.75), ("cuboid_x", 0.5)])
def test_no_picture_of_the_ground_is_a_strip(line: str, least: float) -> None:
    sides = {
        "cuboid_length": 2.0,
        "cuboid_width": 2.0,
        "cuboid_height": 2.0,
        "cuboid_yaw": 0.0,
        "cuboid_x": 5.0,
        "cuboid_y": 5.0,
    }
    pair = pl.DataFrame([{"image_id": 1, **sides, line: place} for place in (0.0, 50.0)])
    width, height = picture_sizes(pair).row(0)[1:]
    assert min(width, height) / max(width, height) == pytest.approx(least, abs=0.01)
    common = {"role": "a", "outcome": "fp", "label": ""}
    places = [
        paths(ET.fromstring(shape))["line"]
        for shape in draw_objects(pair.with_columns(**{k: pl.lit(v) for k, v in common.items()}))["shape"]
    ]
    corners = [[float(n) for n in re.findall(r"-?[0-9.]+", place)] for place in places]
    assert all(0 < number < max(width, height) for each in corners for number in each)


def test_nothing_to_draw() -> None:
    assert draw_objects(pl.DataFrame()).is_empty()
    assert "<img" not in picture([], 1, 1, href=None, title="")


def test_each_stroke_is_told_apart_without_colour() -> None:
    dashes = dict(re.findall(r"^\.(truth|a|b|c) \.line \{.*stroke-dasharray: ([^;]*);", style(), re.MULTILINE))
    assert len(dashes) == len(set(dashes.values())) == 4
