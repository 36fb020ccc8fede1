"""Rows whose shape cannot be right, kept: the numbers of the benchmarks' own programs, under every protocol.

The cases are of one image. Unless a row says otherwise there are two annotations, both found, with scores .9 and .8. The third
annotation is malformed, or the detection of score .95. What the programs do was found by running them on these cases, or read
from their source where they cannot be run here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.aerial.dota.protocol import MalformedEnclosed, MalformedSigned
from apframe.cli.command import main
from apframe.exceptions import FormatError, InvalidRowsWarning, ParameterError, RowError, ShardError, TurnedBoxesWarning
from apframe.protocols.rules.malformed import MalformedCounts, MalformedIgnoredByArea
from apframe.tables.shapes.corners import smallest_rectangles
from tests.formats.folders import text_folder
from tests.protocols.rules_of import exchanging

Row = dict[str, Any]
Case = tuple[list[Row], list[Row], str, float]  # annotations, detections, a metric and its value

THIRD = 0.6633663366336634  # AP of two of three, at 67 of 101 levels
FALSE_FIRST = 2 / 3  # AP of two of two after a false positive


def box(x: float, y: float, width: float, height: float, **further: Any) -> Row:
    return {"bbox": [x, y, width, height]} | further


A, B = box(10, 10, 20, 20), box(100, 100, 20, 20)
BOTH = [A | {"score": 0.9}, B | {"score": 0.8}]
THIN, TURNED = box(60, 60, -1, 5), box(60, 60, -5, -5)  # one negative side, and two


def annotated(row: Row, metric: str, value: float, *others: Row) -> Case:
    return (
        [*(others or (A, B)), row],
        [other | {"score": score} for other, score in zip(others or (A, B), (0.9, 0.8), strict=True)],
        metric,
        value,
    )


def detected(row: Row, metric: str, value: float, *others: Row) -> Case:
    detections = [other | {"score": score} for other, score in zip(others or (A, B), (0.9, 0.8), strict=True)]
    return [*(others or (A, B))], [*detections, row | {"score": 0.95}], metric, value


def by_area(metric: str, missed: float, false_first: float) -> list[Case]:
    """COCO's rule: the field `area` of annotations and width x height of detections say whether a row is ignored."""
    return [
        annotated(THIN | {"area": 5}, metric, missed),
        annotated(THIN | {"area": -5}, metric, 1.0),
        annotated(TURNED, metric, missed),
        annotated(A | {"area": -4}, metric, 1.0),
        detected(THIN, metric, 1.0),
        detected(TURNED, metric, false_first),
    ]


def counted(metric: str, missed: float, false_first: float, *others: Row) -> list[Case]:
    """The usual rule: an annotation counts and is missed, whatever its area; a detection is a false positive."""
    return [
        annotated(THIN | {"area": -5}, metric, missed, *others),
        annotated(TURNED, metric, missed, *others),
        annotated(THIN, metric, missed, *others),
        detected(THIN, metric, false_first, *others),
        detected(TURNED, metric, false_first, *others),
    ]


def corners(*numbers: float, **further: Any) -> Row:
    return {"corners": [float(number) for number in numbers]} | further


PLANE = corners(0, 0, 20, 0, 20, 20, 0, 20)
SQUARE = corners(50, 50, 70, 50, 70, 70, 50, 70, score=0.8)
CONCAVE = corners(50, 50, 70, 50, 55, 55, 50, 70)
BOW = corners(50, 50, 70, 50, 50, 70, 70, 70)
UNEVEN = corners(50, 50, 70, 50, 55, 70, 65, 70)  # a bow tie whose halves are of different size
HALF = 6 / 11  # one of two, at 6 of 11 levels


def of_planes(shape: Row, found: Row | None, value: float) -> Case:
    return [PLANE, shape], [PLANE | {"score": 0.9}, *([found | {"score": 0.8}] if found else [])], "AP", value


def cuboid(x: float, length: float = 4, width: float = 2, height: float = 1.5, **further: Any) -> Row:
    place = {"cuboid_x": x, "cuboid_y": 0.0, "cuboid_z": 0.0, "cuboid_yaw": 0.0}
    return place | {"cuboid_length": length, "cuboid_width": width, "cuboid_height": height} | further


def of_cuboids(metric: str, missed: float, false_first: float, **further: Any) -> list[Case]:
    good = cuboid(0, **further), cuboid(50, **further)
    flat = [cuboid(100, *sides, **further) for sides in ((0, 2), (-4, 2), (-4, -2))]
    return [case for row in flat for case in (annotated(row, metric, missed, *good), detected(row, metric, false_first, *good))]


def interval(start: float, end: float, **further: Any) -> Row:
    return {"start_time": start, "end_time": end} | further


def person(x: float, **further: Any) -> Row:
    return {"keypoints": [value for k in range(17) for value in (x + k, x + 2 * k, 2)], "num_keypoints": 17} | further


def pose(x: float, **further: Any) -> Row:
    return {"keypoints": [value for k in range(14) for value in (x + k, x + 2 * k, 2)], "num_keypoints": 14} | further


def relation(x: float, width: float = 20, **further: Any) -> Row:
    subject = {"subject_x": x, "subject_y": 10, "subject_width": width, "subject_height": 20, "subject_name": "a"}
    return subject | {"object_x": x + 5, "object_y": 10, "object_width": 20, "object_height": 20, "object_name": "b"} | further


def segment(number: int, **further: Any) -> Row:
    return {"segment_id": number, "area": 50} | further


def found_segment(number: int) -> Row:
    shared = [{"segment_id": number, "pixels": 50, "boundary_iou": 1.0}]
    return segment(10 + number, void_area=0, overlaps=shared)


SEGMENTS = [([segment(1), segment(2, area=-50)], [found_segment(1), found_segment(2)], "PQ", 0.5)]
FACES = dict.fromkeys(("easy", "medium", "hard"), 1)
FACE, OTHER_FACE = A | FACES, B | FACES
TALL = box(10, 10, 25, 60, vis_ratio=1.0), box(100, 100, 25, 60, vis_ratio=1.0)
CAR = {"truncated": 0, "occluded": 0}
CARS = box(10, 10, 60, 60, **CAR), box(100, 100, 60, 60, **CAR)
IN_IMAGE = box(10, 10, 60, 60, **CAR)
RELATIONS = [
    ([relation(10), relation(60, -5)], [relation(10, score=0.9)], "R@20", 0.5),
    ([relation(10)], [relation(60, -5, score=0.95), relation(10, score=0.9)], "R@20", 1.0),
]

CASES: dict[str, tuple[str, str, Mapping[str, Any], list[Case]]] = {
    "coco": ("coco", "a", {}, by_area("AP", THIRD, FALSE_FIRST)),
    # a negative area makes exp(-distance² / area) large: any pose is alike, and so ignored where it matches nothing better
    "coco keypoints": ("coco", "a", {"iou_type": "keypoints"}, [
        ([person(10, area=400), person(100, area=-5)], [person(10, score=0.9), person(150, score=0.95)], "AP", 1.0),
    ]),
    "crowdpose": ("crowdpose", "a", {}, [
        ([pose(10, **A), pose(100, **box(100, 100, -20, 20))], [pose(10, score=0.9), pose(150, score=0.95)], "AP", 1.0),
        ([pose(10, **A), pose(100, **box(100, 100, -20, -20))], [pose(10, score=0.9)], "AP", 51 / 101),
    ]),
    "lvis": ("lvis", "a", {}, [*by_area("AP", THIRD, FALSE_FIRST), detected(box(60, 60, 0, 5), "AP", 1.0)]),
    "proposals": ("proposals", "a", {}, by_area("AR100", 2 / 3, 1.0)),
    "bdd100k": ("bdd100k", "car", {}, by_area("AP", THIRD, FALSE_FIRST)),
    "tinyperson": ("tinyperson", "person", {}, by_area("AP50_tiny", THIRD, FALSE_FIRST)),
    "voc2007": ("voc2007", "a", {}, [
        *counted("AP", 7 / 11, FALSE_FIRST),
        annotated(box(60, 60, -0.5, 5), "AP", 7 / 11),  # half a pixel wide, which nothing finds
        ([A, box(60, 60, -0.5, 5)], [A | {"score": 0.9}, box(60, 60, -0.5, 5, score=0.8)], "AP", 1.0),  # but itself
    ]),
    "voc2012": ("voc2012", "a", {}, counted("AP", 2 / 3, FALSE_FIRST)),
    "wider_face": ("wider_face", "face", {}, [
        annotated(THIN | FACES, "AP_hard", 2 / 3, FACE, OTHER_FACE),
        ([FACE, OTHER_FACE, THIN | FACES], [*BOTH, THIN | {"score": 0.7}], "AP_hard", 2 / 3),  # not found by itself
        annotated(TURNED | FACES, "AP_hard", 2 / 3, FACE, OTHER_FACE),
        detected(THIN, "AP_hard", FALSE_FIRST, FACE, OTHER_FACE),
    ]),
    "visdrone": ("visdrone", "car", {}, counted("AP", 2 / 3, FALSE_FIRST)),
    "visdrone_mean": ("visdrone_mean", "car", {}, counted("AP", 2 / 3, FALSE_FIRST)),
    # AP leaves out the last step of recall: two of two have 1/2
    "crowdhuman": ("crowdhuman", "person", {}, [
        *counted("AP", 1 / 3, 5 / 12),
        # cut off at the edge of the image, both keep its last column of pixels
        ([A, box(250, 10, -20, 20)], [BOTH[0], box(250, 10, -20, 20, score=0.8)], "AP", 1 / 2),
    ]),
    "citypersons": ("citypersons", "pedestrian", {}, [
        annotated(box(60, 10, -1, 60, vis_ratio=1.0), "LAMR_reasonable", 1 / 3, *TALL),
        annotated(box(60, 100, 25, -60, vis_ratio=1.0), "LAMR_reasonable", 0.0, *TALL),  # lower than any subset: ignored
        detected(box(60, 100, 25, -60), "LAMR_reasonable", 0.0, *TALL),
    ]),
    "caltech": ("caltech", "pedestrian", {}, [annotated(box(60, 10, -1, 60, vis_ratio=1.0), "LAMR_reasonable", 1 / 3, *TALL)]),
    "kitti": ("kitti", "Car", {}, [
        annotated(box(100, 10, -30, 60, **CAR), "n", 3, *CARS),
        annotated(box(100, 100, 30, -60, **CAR), "n", 2, *CARS),  # lower than any level: ignored
        detected(box(100, 10, -30, 60), "AP_Car_easy", 1 / 60, *CARS),  # 2/3 at one of 40 positions
        detected(box(100, 100, 30, -60), "AP_Car_easy", 1 / 60, *CARS),
    ]),
    "kitti 3d": ("kitti", "Car", {"iou_type": "3d"}, of_cuboids("AP_Car_easy", 1 / 40, 1 / 60, **IN_IMAGE)),
    "waymo": ("waymo", "TYPE_VEHICLE", {}, of_cuboids("AP_Vehicle_L1", 2 / 3, 2 / 3, level=1)),
    # matched by their centres, whatever their sides
    "argoverse2": ("argoverse2", "REGULAR_VEHICLE", {}, [
        ([cuboid(0), cuboid(50, 0)], [cuboid(0, score=0.9), cuboid(50, score=0.8)], "ase", 0.5),
        ([cuboid(0), cuboid(50)], [cuboid(0, score=0.9), cuboid(50, 0, score=0.8)], "ase", 0.5),
    ]),
    "open_images": ("open_images", "a", {}, [detected(THIN, "AP", 1.0), detected(TURNED, "AP", 1.0)]),
    "open_images_challenge": ("open_images_challenge", "a", {}, [detected(THIN, "AP", 1.0), detected(TURNED, "AP", 1.0)]),
    "ava": ("ava", "a", {}, [
        detected(THIN, "AP", 1.0), detected(TURNED, "AP", 1.0),
        ([A], [*(THIN | {"score": 0.95} for _ in range(50)), BOTH[0]], "AP", 0.0),  # but they take the 50 places of the frame
    ]),
    # an overlap of 0/0 is at no threshold too small; 1 of 1.5 seconds reaches four of ten thresholds
    "activitynet": ("activitynet", "a", {}, [
        ([interval(6, 5), interval(1, 2)], [interval(1, 2.5, score=0.9)], "AP50", 0.5),
        ([interval(1, 2), interval(20, 30)], [interval(9, 8, score=1), interval(1, 2, score=0.5)], "AP50", 0.5),
        ([interval(6, 4)], [interval(20, 22, score=0.9)], "AP", 1.0),
    ]),
    "thumos14": ("thumos14", "Diving", {}, [
        ([interval(10, 0)], [interval(0, 10, score=0.9)], "AP", 1.0),
        ([interval(0, 10)], [interval(10, 0, score=0.9)], "AP", 1.0),
    ]),
    # an overlap of -1 of an even bow tie with itself, 5 of an uneven one, 1 of a concave shape
    "dota": ("dota", "plane", {}, [
        of_planes(CONCAVE, None, HALF), of_planes(CONCAVE, SQUARE, HALF), of_planes(CONCAVE, CONCAVE, 1.0),
        of_planes(BOW, None, HALF), of_planes(BOW, SQUARE, HALF), of_planes(BOW, BOW, HALF),
        of_planes(UNEVEN, None, HALF), of_planes(UNEVEN, SQUARE, HALF), of_planes(UNEVEN, UNEVEN, 1.0),
        of_planes(SQUARE, BOW, HALF), of_planes(SQUARE, CONCAVE, HALF),
    ]),
    "dota_v1": ("dota_v1", "plane", {}, [of_planes(BOW, BOW, HALF / 15)]),
    "dota_v15": ("dota_v15", "plane", {}, [of_planes(BOW, BOW, HALF / 16)]),
    # the smallest rectangle around each of these is the square
    "mmrotate": ("mmrotate", "plane", {}, [
        *(of_planes(shape, None, HALF) for shape in (CONCAVE, BOW, UNEVEN)),
        *(of_planes(shape, SQUARE, 1.0) for shape in (CONCAVE, BOW, UNEVEN)),
        ([PLANE], [box(0, 20, 20, -20, angle=0.0, score=0.9)], "AP", 0.0),
        ([PLANE], [box(20, 20, -20, -20, angle=0.0, score=0.9)], "AP", 1.0),  # as if both sides were positive
    ]),
    "visual_genome": ("visual_genome", "r", {}, RELATIONS),
    "visual_genome phrase": ("visual_genome", "r", {"iou_type": "phrase"}, RELATIONS),
    "visual_genome_mean": ("visual_genome_mean", "r", {}, [(*case[:2], "mR@20", case[3]) for case in RELATIONS]),
    "flickr30k": ("flickr30k", "a", {}, [
        ([THIN], BOTH[:1], "Success@1", 0.0), ([A], [THIN | {"score": 0.9}], "Success@1", 0.0),
    ]),
    "coco_panoptic": ("coco_panoptic", "a", {}, SEGMENTS),
    "cityscapes_panoptic": ("cityscapes_panoptic", "a", {}, SEGMENTS),
}  # fmt: skip
REFUSED = {"nuscenes", "eurocity", "refcoco", "semantic", "luna16", "ultralytics", "ultralytics_8_4_175", "ultralytics_8_4_35"}


def truth_of(rows: list[Row], category: str = "a") -> dict[str, list[Row]]:
    return {
        "images": [{"id": 1, "width": 200, "height": 200, "pos_category_ids": [1], "neg_category_ids": [], "crowdIndex": 0.5}],
        "categories": [{"id": 1, "name": category, "frequency": "f", "isthing": 1}],
        "annotations": [{"id": k, "image_id": 1, "category_id": 1} | row for k, row in enumerate(rows, 1)],
    }


def found_of(rows: list[Row]) -> Any:
    detections = [{"image_id": 1, "category_id": 1} | row for row in rows]
    return pl.DataFrame(detections) if "overlaps" in detections[0] else detections


def value_of(evaluation: apf.Evaluation, metric: str) -> float | None:
    if metric == "n":
        return evaluation.metrics["n_positives"][0]
    if metric == "ase":
        return evaluation.metrics.drop_nulls(metric)[metric][0]
    return dict(evaluation.summary.rows())[metric]


def evaluate(case: Case, protocol: str, category: str, options: Mapping[str, Any], invalid: str = "keep") -> apf.Evaluation:
    return apf.evaluate(truth_of(case[0], category), found_of(case[1]), protocol, invalid=invalid, **options)


def test_the_table_has_every_protocol() -> None:
    assert {name for name, *_ in CASES.values()} | REFUSED == {name.lower() for name in apf.PUBLISHED}
    assert {name.lower() for name, each in apf.PUBLISHED.items() if not each.malformed.keepable} == REFUSED


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("name", CASES)
def test_kept_as_the_program_of_the_benchmark_does(name: str) -> None:
    protocol, category, options, cases = CASES[name]
    for case in cases:
        assert value_of(evaluate(case, protocol, category, options), case[2]) == pytest.approx(case[3], abs=1e-9), case


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.parametrize("name", CASES)
def test_refused_otherwise_by_an_error_that_names_the_options(name: str) -> None:
    protocol, category, options, cases = CASES[name]
    case = cases[0]
    with pytest.raises(RowError, match=r', or evaluate with invalid="drop" or invalid="keep"$'):
        _ = evaluate(case, protocol, category, options, "error").summary
    with pytest.warns(InvalidRowsWarning):
        _ = evaluate(case, protocol, category, options, "drop").summary


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_not_kept_where_no_row_can_be(name: str) -> None:
    words = apf.PUBLISHED[name.upper()].malformed.words
    message = rf'^invalid="keep": where a shape .*, {words} \({name.upper()}\); leave such rows out with invalid="drop"$'
    with pytest.raises(ParameterError, match=message):
        apf.evaluate(truth_of([A]), found_of(BOTH), name, invalid="keep")
    assert f"malformed   cannot be kept: {words}\n" in str(apf.PUBLISHED[name.upper()])


@pytest.mark.parametrize("protocol", ["ava", "open_images", "open_images_challenge"])
def test_annotations_at_which_the_program_stops(protocol: str) -> None:
    words = r"annotation_id 2; .*, or evaluate with invalid=\"drop\" \(invalid=\"keep\": .* the benchmark's program stops\)$"
    with pytest.raises(RowError, match=words):
        apf.evaluate(truth_of([A, THIN]), found_of(BOTH[:1]), protocol, invalid="keep")


@pytest.mark.parametrize("row", [box(np.nan, 60, 5, 5), box(60, 60, np.inf, 5), A | {"score": None}])
def test_what_no_program_gives_a_number_for_stays_an_error(row: Row) -> None:
    with pytest.raises(RowError, match=r"detection_id 3; (?!.*keep)"):
        apf.evaluate(truth_of([A, B]), found_of([*BOTH, {"score": 0.5} | row]), invalid="keep")


@pytest.mark.slow
def test_flat_detections_are_left_out_where_the_program_does() -> None:
    for protocol in ("ava", "open_images", "open_images_challenge"):
        flat = detected(box(60, 60, 0, 5), "AP", 1.0)
        assert value_of(evaluate(flat, protocol, "a", {}, "error"), "AP") == 1.0
        missed = annotated(box(60, 60, 0, 5), "AP", 2 / 3)  # an annotation counts
        assert value_of(evaluate(missed, protocol, "a", {}, "error"), "AP") == pytest.approx(2 / 3)
    mask = {"size": [200, 200], "counts": [0, 100, 39900]}
    empty = {"size": [200, 200], "counts": [40000]}
    truth = truth_of([{"segmentation": mask}])
    detections = found_of([{"segmentation": empty, "score": 0.95}, {"segmentation": mask, "score": 0.9}])
    for protocol in ("open_images", "open_images_challenge"):
        assert apf.evaluate(truth, detections, protocol, iou_type="segm").summary["value"][0] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "value"),
    [
        (corners(50, 50, 70, 50, 70, 51.5, 50, 51.5), 1.0),
        (corners(50, 50, 70, 70, 69, 71, 49, 51), 1.0),  # 1.41 wide, and turned
        (corners(50, 50, 70, 50, 60, 50, 55, 50), 1.0),  # a line
        (corners(50, 50, 50, 50, 50, 50, 50, 50), 1.0),
        (corners(50, 50, 70, 50, 70, 52, 50, 52), HALF),
    ],
)
def test_narrow_annotations_are_left_out_by_mmrotate(row: Row, value: float) -> None:
    case = of_planes(row, None, value)
    left_out = "left out: 1 of 2 annotations whose smallest rectangle has a side below 2 pixels, as mmrotate does"
    evaluation = evaluate(case, "mmrotate", "plane", {}, "error")
    assert value_of(evaluation, "AP") == pytest.approx(value)
    assert evaluation.notes == ((left_out,) if value == 1 else ())
    assert value_of(evaluate(case, "dota", "plane", {}, "error"), "AP") == pytest.approx(HALF)
    narrow = detected(row, "AP", 2 / 3, PLANE, corners(100, 100, 120, 100, 120, 120, 100, 120))
    assert value_of(evaluate(narrow, "mmrotate", "plane", {}, "error"), "AP") == pytest.approx(2 / 3)  # detections stay


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.3, 0.7, 1.2, np.pi / 2])
def test_a_box_with_one_negative_side_is_none_if_it_is_turned(angle: float) -> None:
    row = box(70, 50, -5, 20, angle=angle)
    cos, sin = np.cos(angle), np.sin(angle)
    wide, high = -5 * cos + 20 * sin, -5 * sin + 20 * cos  # the box around it, if -5 were a width
    around = box(67.5 - wide / 2, 60 - high / 2, abs(wide), abs(high))
    for first in (A, A | {"angle": 0.3}):  # of which the other one is turned
        case = [first, row | {"area": 100}], [first | {"score": 0.9}, around | {"score": 0.8}], "AP", 51 / 101
        with pytest.warns(TurnedBoxesWarning, match="1 of 2 annotations and 1 of 2") if "angle" in first else nullcontext():
            assert value_of(evaluate(case, "coco", "a", {}), "AP") == pytest.approx(51 / 101)


def test_narrow_annotations_with_angles() -> None:
    case = [box(0, 0, 20, 20, angle=0.1), box(50, 50, 20, 1.5, angle=0.3)], [box(0, 0, 20, 20, angle=0.1, score=0.9)], "AP", 1.0
    assert value_of(evaluate(case, "mmrotate", "plane", {}, "error"), "AP") == 1.0


CROSSED = [(MalformedSigned(), 1.0), (MalformedEnclosed(), 1.0), (MalformedCounts(), HALF), (MalformedIgnoredByArea(), HALF)]


@pytest.mark.parametrize(("malformed", "value"), CROSSED, ids=repr)
def test_corners_that_cross_are_what_the_protocol_says(malformed: MalformedCounts, value: float) -> None:
    own = replace(exchanging(apf.DOTA, MalformedCounts, malformed), name="OWN")
    detections = found_of([PLANE | {"score": 0.9}, UNEVEN | {"score": 0.8}])
    kept = apf.evaluate(truth_of([PLANE, UNEVEN], "plane"), detections, own, invalid="keep")
    assert value_of(kept, "AP") == pytest.approx(value)
    box = kept.dataset.annotations.select("x", "y", "width", "height")
    assert box.row(1) == (50, 50, 20, 20)


def test_smallest_rectangle_is_no_larger_than_any_turned_one() -> None:
    points = np.random.default_rng(3).integers(0, 60, size=(40, 4, 2)).astype(float)
    rectangles = smallest_rectangles(points)
    sides = np.linalg.norm(rectangles[:, 1:3] - rectangles[:, :2], axis=-1)
    for angle in np.linspace(0, np.pi / 2, 181):
        turned = points @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert (np.ptp(turned, axis=1).prod(axis=-1) >= sides.prod(axis=-1) - 1e-6).all()
    axes = (rectangles[:, 1:3] - rectangles[:, :2]) / np.maximum(sides, 1e-9)[..., None]
    places = np.einsum("rpk,rak->rpa", points - rectangles[:, :1], axes)  # along both sides, from the first corner
    wide = sides.min(axis=1) > 0
    assert (places[wide] > -1e-6).all() and (places[wide] < sides[wide, None] + 1e-6).all()


def wider_face(folder: Path) -> tuple[Path, Path]:
    (folder / "truth.txt").write_text("a.jpg\n3\n10 10 20 20 0 0 0 0 0 0\n100 100 20 20 0 0 0 0 0 0\n60 60 -1 5 0 0 0 0 0 0\n")
    return folder / "truth.txt", text_folder(folder / "found", a="a.jpg\n2\n10 10 20 20 .9\n100 100 20 20 .8\n")


def thumos14(folder: Path) -> tuple[Path, Path]:
    (folder / "found.txt").write_text("v_1 0 10 26 .9\n")
    return text_folder(folder / "truth", Diving_test="v_1 10 0\n"), folder / "found.txt"


def visdrone(folder: Path) -> tuple[Path, Path]:
    lines = "{0}10,10,20,20,{1},4,0,0\n{0}100,100,20,20,{1},4,0,0\n"
    truth = text_folder(folder / "truth", a=lines.format("", 1) + "60,60,-1,5,1,4,0,0\n")
    return truth, text_folder(folder / "found", a=lines.format("", 0.9))


def boxes_as_text(folder: Path) -> tuple[Path, Path]:
    truth = text_folder(folder / "truth", a="cat 10 10 20 20\ncat 100 100 20 20\ncat 60 60 -1 5\n")
    return truth, text_folder(folder / "found", a="cat .9 10 10 20 20\ncat .8 100 100 20 20\n")


def dota(folder: Path) -> tuple[Path, Path]:
    line = "{} plane 0\n".format
    truth = line("0 0 20 0 20 20 0 20") + line("50 50 70 50 50 70 70 70")
    return text_folder(folder / "truth", a=truth), text_folder(folder / "found", Task1_plane="a .9 0 0 20 0 20 20 0 20\n")


def coco(folder: Path) -> tuple[Path, Path]:
    for name, content in (("truth", truth_of([A, B, THIN | {"area": 5}])), ("found", found_of(BOTH))):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder / "truth.json", folder / "found.json"


def cvat(folder: Path) -> tuple[Path, Path]:
    edges = [(10, 10, 30, 30), (100, 100, 120, 120), (60, 60, 59, 65)]
    shape = '<box label="a" occluded="0" xtl="{}" ytl="{}" xbr="{}" ybr="{}"/>'
    image = f'<image id="1" name="1.jpg" width="200" height="200">{"".join(shape.format(*each) for each in edges)}</image>'
    (folder / "truth.xml").write_text(f"<annotations><version>1.1</version>{image}</annotations>")
    (folder / "found.json").write_text(json.dumps([row | {"category_id": "a"} for row in found_of(BOTH)]))
    return folder / "truth.xml", folder / "found.json"


def open_images(folder: Path) -> tuple[Path, Path]:
    """Results of which the best box is reversed, which the program leaves out: 200 pixels are 1."""
    rows = "1,/m/1,{},{},{},{},{}\n".format
    lines = rows(0.95, 0.3, 0.295, 0.3, 0.325) + rows(0.9, 0.05, 0.15, 0.05, 0.15) + rows(0.8, 0.5, 0.6, 0.5, 0.6)
    (folder / "found.csv").write_text("ImageID,LabelName,Score,XMin,XMax,YMin,YMax\n" + lines)
    annotations = [row | {"id": k, "image_id": "1", "category_id": "/m/1"} for k, row in enumerate((A, B))]
    images, categories = [{"id": "1", "width": 200, "height": 200}], [{"id": "/m/1", "name": "a"}]
    truth = {"images": images, "categories": categories, "annotations": annotations}
    (folder / "truth.json").write_text(json.dumps(truth))
    return folder / "truth.json", folder / "found.csv"


FILES: list[tuple[Callable[[Path], tuple[Path, Path]], str, str, float]] = [
    (wider_face, "voc2012", "AP", 2 / 3), (thumos14, "thumos14", "AP", 1.0), (visdrone, "visdrone", "AP", 2 / 3),
    (boxes_as_text, "voc2012", "AP", 2 / 3), (dota, "mmrotate", "AP", HALF), (dota, "dota", "AP", HALF),
    (coco, "coco", "AP", THIRD), (cvat, "voc2012", "AP", 2 / 3), (open_images, "open_images", "AP", 1.0),
]  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("write", "protocol", "metric", "value"), FILES)
def test_files(write: Callable[[Path], tuple[Path, Path]], protocol: str, metric: str, value: float, tmp_path: Path) -> None:
    truth, detections = write(tmp_path)
    with pytest.raises((RowError, FormatError), match=r'or evaluate with invalid="drop" or invalid="keep"$'):
        _ = apf.evaluate(truth, detections, protocol).summary
    kept = apf.evaluate(truth, detections, protocol, invalid="keep")
    assert value_of(kept, metric) == pytest.approx(value)
    if protocol != "thumos14":
        with pytest.warns(InvalidRowsWarning):
            assert value_of(apf.evaluate(truth, detections, protocol, invalid="drop"), metric) == pytest.approx(1.0)


@pytest.mark.slow
def test_command_names_its_own_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, detections = (str(path) for path in dota(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["eval", truth, detections, "--protocol", "mmrotate"])
    assert ended.value.code != 0
    assert "or evaluate with --invalid drop or --invalid keep\n" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["eval", truth, detections, "--protocol", "mmrotate", "--invalid", "keep"])
    assert ended.value.code == 0
    assert "0.545" in capsys.readouterr().out


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("name", ["coco", "voc2012", "thumos14", "activitynet", "mmrotate", "dota", "waymo", "visual_genome"])
def test_every_way_to_evaluate(name: str, tmp_path: Path) -> None:
    protocol, category, _, cases = CASES[name]
    case = cases[0]
    truth, detections = truth_of(case[0], category), found_of(case[1])
    evaluation = apf.evaluate(truth, detections, protocol, invalid="keep")
    expected = evaluation.summary
    evaluator = apf.Evaluator(truth, protocol, invalid="keep")
    evaluator.update(detections)
    assert evaluator.compute().summary.equals(expected)
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert again.where([1]).summary.equals(expected)  # matched anew
    assert again.pairs.equals(evaluation.pairs)
    assert evaluation.where([1]).summary.equals(expected)


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("name", ["coco", "mmrotate", "waymo"])
def test_shards(name: str, is_written: bool, tmp_path: Path) -> None:
    protocol, category, _, cases = CASES[name]
    truth, detections = tmp_path / "truth.json", tmp_path / "found.json"
    truth.write_text(json.dumps(truth_of(cases[0][0], category)))
    detections.write_text(json.dumps(found_of(cases[0][1])))
    shards: tuple[Any, Any] = ([truth], [detections])
    if is_written:
        apf.write_shards(truth, detections, tmp_path / "shards")
        shards = (tmp_path / "shards", None)
    with pytest.raises(ShardError, match=r'or evaluate with invalid="drop" or invalid="keep"$'):
        apf.evaluate_shards(*shards, protocol)
    kept = apf.evaluate_shards(*shards, protocol, invalid="keep")
    whole = apf.evaluate(truth, detections, protocol, invalid="keep")
    assert kept.summary.equals(whole.summary)
    assert kept.errors().equals(whole.errors())  # for which all objects are paired again
    with pytest.warns(InvalidRowsWarning):
        dropped = apf.evaluate_shards(*shards, protocol, invalid="drop")
    assert dropped.where("image_id = 1").summary["value"][0] == pytest.approx(1)


def test_tables_in_memory_keep_what_a_data_set_refuses() -> None:
    """mmrotate's case: of two planes, the one whose corners cross is missed."""
    planes = [[0.0, 0, 20, 0, 20, 20, 0, 20], [50.0, 50, 70, 50, 50, 70, 70, 70]]
    truth = {
        "images": pl.DataFrame({"image_id": [1]}),
        "categories": pl.DataFrame({"category_id": [1], "name": ["plane"]}),
        "annotations": pl.DataFrame({"image_id": [1, 1], "category_id": [1, 1], "corners": planes}),
    }
    detections = pl.DataFrame({"image_id": [1], "category_id": [1], "score": [0.9], "corners": planes[:1]})
    with pytest.raises(RowError, match=r'corners do not go around a convex shape.*or evaluate with .* invalid="keep"'):
        apf.evaluate(truth, detections, "mmrotate")
    assert apf.evaluate(truth, detections, "mmrotate", invalid="keep")["AP"] == pytest.approx(6 / 11)
