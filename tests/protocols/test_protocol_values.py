"""Protocols as values: what they say of themselves, what they are stored as; and tiny data for each with numbers by hand."""

from __future__ import annotations

import html
import json
import math
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, dataclass, fields
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.pixels.semantic.metric import PixelIoU
from apframe.exceptions import (
    ColumnError,
    MissingColumnWarning,
    NoAnnotationsWarning,
    ParameterError,
    TurnedBoxesWarning,
    UnitWarning,
)
from apframe.matching.matchers import TIES, ByBestOverlap, ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated, Voc2007
from apframe.metrics.miss_rates import MissRates
from apframe.protocols.headlines import headlines, less_is_better, main_headline
from apframe.protocols.protocol import as_protocol
from apframe.protocols.published import departures
from apframe.protocols.ranges import ALL, AreaRange, Range
from apframe.protocols.rules.crowds import Crowds, CrowdsAsMisses, CrowdsCountOnce, CrowdsIgnored
from apframe.protocols.rules.filters import KeepObjects
from apframe.protocols.rules.hierarchy import ExpandHierarchy
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.limits import LimitPerImage, RankInImage
from apframe.protocols.rules.means import ZeroWithoutDetections
from apframe.protocols.rules.standard import STANDARD_ROWS, STANDARD_RULES
from apframe.show.console import summary_lines
from apframe.tables.shapes.declarations import CUBOID
from tests.conformance.rows import HAND as TINY
from tests.conformance.tiny import (
    CATEGORIES,
    DIFFICULT,
    ELSEWHERE,
    IMAGES,
    LVIS_FOUND,
    LVIS_TRUTH,
    MARK,
    ONE_HIT,
    ONE_OF_TWO,
    PERFECT,
    RIDING,
    SQUARE,
    VERIFIED,
    found,
)

Json = dict[str, Any]


each_protocol = pytest.mark.parametrize("name", TINY)
VALUES: list[apf.Protocol] = [variant for protocol in apf.PUBLISHED.values() for variant in (protocol, *protocol.variants)]
each_value = pytest.mark.parametrize("protocol", VALUES, ids=lambda p: f"{p.name}-{p.iou_type}")

RANKED = [name for name, (protocol, *_) in TINY.items() if as_protocol(protocol).has_precision]
"""Those whose protocol ranks detections by score and has precision."""


def tiny(name: str, **options: Any) -> apf.Evaluation:
    protocol, own, truth, results, _ = TINY[name]
    return apf.evaluate(truth, results, protocol, **(own | options))


def test_the_published_ones() -> None:
    assert {name: protocol.iou_types for name, protocol in apf.PUBLISHED.items()} == {
        "COCO": ("bbox", "segm", "keypoints", "boundary"), "VOC2007": ("bbox",), "VOC2012": ("bbox",),
        "LVIS": ("bbox", "segm", "boundary"), **dict.fromkeys(("OPEN_IMAGES", "OPEN_IMAGES_CHALLENGE"), ("bbox", "segm")),
        "PROPOSALS": ("bbox",), "DOTA": ("rotated",),
        **dict.fromkeys(("ULTRALYTICS", "ULTRALYTICS_8_4_175", "ULTRALYTICS_8_4_35"), ("bbox", "segm")),
        "VISDRONE": ("bbox",), "VISDRONE_MEAN": ("bbox",),
        "DOTA_V1": ("rotated",), "DOTA_V15": ("rotated",), "MMROTATE": ("rotated",),
        "ACTIVITYNET": ("interval",), "CROWDPOSE": ("keypoints",),
        "BDD100K": ("bbox", "segm"),
        "KITTI": ("bbox", "bev", "3d"), "WAYMO": ("3d", "bev", "bbox"), "NUSCENES": ("distance",), "ARGOVERSE2": ("distance",),
        "CITYPERSONS": ("bbox",), "CALTECH": ("bbox",), "EUROCITY": ("bbox",),
        "WIDER_FACE": ("bbox",), "CROWDHUMAN": ("bbox",), "TINYPERSON": ("bbox",),
        **dict.fromkeys(("COCO_PANOPTIC", "CITYSCAPES_PANOPTIC"), ("panoptic", "panoptic_boundary")), "SEMANTIC": ("semantic",),
        "THUMOS14": ("interval",), "AVA": ("bbox",), "LUNA16": ("sphere",),
        **dict.fromkeys(("VISUAL_GENOME", "VISUAL_GENOME_MEAN"), ("relation", "phrase")),
        "FLICKR30K": ("bbox",), "REFCOCO": ("bbox",),
    }  # fmt: skip
    of_pixels = {name.lower() for name, protocol in apf.PUBLISHED.items() if not protocol.has_scores}  # see test_panoptic.py
    assert {name.split()[0] for name in TINY} == {name.lower() for name in apf.PUBLISHED} - of_pixels


@each_value
def test_stored_and_made_again(protocol: apf.Protocol) -> None:
    assert apf.Protocol.from_dict(protocol.as_dict()) == protocol
    again = apf.Protocol.from_dict(json.loads(json.dumps(protocol.as_dict())))
    assert again == protocol and hash(again) == hash(protocol)
    assert set(protocol.as_dict()) == {each.name for each in fields(protocol)} - {"variants", "tables"}
    assert departures(again) == []


@each_value
def test_every_choice_is_stored(protocol: apf.Protocol) -> None:
    matching = "best_overlap" if protocol.rule(CrowdsCountOnce) else "optimal"
    of_lists: Any = {"area_ranges": {"tiny": (0, 9)}, "matching": matching}
    changed = protocol.with_options(
        iou_thresholds=[0.3, 1.0], max_detections=[7], agnostic=True, similarity=apf.similarity.BoundaryIoU(dilation=0.1),
        **({} if protocol.levels else of_lists),
    )  # fmt: skip
    again = apf.Protocol.from_dict(json.loads(json.dumps(changed.as_dict())))
    assert again == changed != protocol
    assert again.similarity == apf.similarity.BoundaryIoU(dilation=0.1)


@each_value
def test_text_says_each_rule(protocol: apf.Protocol) -> None:
    name, citation, *rules = str(protocol).splitlines()
    assert (name, citation) == (protocol.name, protocol.citation)
    texts = {line[:12].strip(): line[12:] for line in rules}
    ignores = [rule.words for rule in protocol.rules if rule.line == "ignored"]
    assert {"compares", "needs", "matching", "thresholds", "detections", "crowds", "categories"} <= set(texts)
    assert ("precision" in texts) == any(line.startswith("AP") for line in protocol.lines)
    assert ("numbers" in texts) == (not protocol.has_precision)
    assert ("ignored" in texts) == (len(protocol.ranges) > 1 or ignores != [])
    assert texts.get("ties") == (TIES[protocol.matcher.ties] if protocol.has_scores else None)
    assert texts["compares"].startswith(f"{protocol.iou_type}: {protocol.similarity.words}")
    assert not protocol.has_scores or texts["matching"] == protocol.matcher.description
    words = {(1.0, True): "above", (1.0, False): "at least", (0.0, True): "below", (0.0, False): "at most"}
    assert words[protocol.similarity.bounds[1], protocol.matcher.strict] in texts["thresholds"]
    assert ("kept" in texts) == (protocol.rule(KeepObjects) is not None)
    assert ("errors" in texts) == (protocol.errors is not None)
    assert str(protocol.definition) in texts.get("precision", str(protocol.definition))
    assert all(flag in texts["ignored"] for flag in ignores)
    assert all(str(limit) in texts["detections"] for limit in protocol.max_detections if limit)
    assert ("all of them" in texts["detections"]) == (protocol.max_detections == (None,))
    assert texts["summary"].split() == [line.metric for line in headlines(protocol, with_parts=True)]
    shown = [rule for rule in protocol.rules if rule.words and texts[rule.line] not in ("left out", "")]
    assert all(rule.words in texts[rule.line] for rule in shown)
    assert "departs" not in texts
    assert not any(word in str(protocol) for word in ("None", "(0.5,)", "Protocol("))


def test_crowds_are_told_where_they_have_a_rule() -> None:
    for name in ("COCO", "VOC2007", "OPEN_IMAGES", "OPEN_IMAGES_CHALLENGE", "LVIS", "ACTIVITYNET"):
        rule = apf.PUBLISHED[name].rule(Crowds)
        assert (rule.words if rule else "crowds are annotations like any other") in str(apf.PUBLISHED[name])
    assert "ignored annotations are left out" in str(apf.PROPOSALS)  # so nothing is matched to groups


TEXTS = {
    "VOC2007": """\
VOC2007
Everingham et al., The PASCAL Visual Object Classes (VOC) Challenge, IJCV 2010; VOC2007 development kit
compares    bbox: intersection over union of boxes, one pixel added to widths and heights
needs       annotations and detections: box (bbox in JSON; x, y, width, height in frames); if given: \
annotations.is_crowd (a group; iscrowd in JSON), annotations.ignore (difficult)
matching    a detection can match only its most similar annotation; if a better detection has it, it is a false positive
thresholds  similarity above 0.5
precision   AP by the definition voc2007: mean over the levels of max precision at recall >= level, levels np.arange(0, 1.1, .1)
detections  all of them
crowds      any number of detections can match a group of objects; they are ignored
ties        equal scores stay in the order of the input
ignored     annotations flagged ignore, and what is matched to them
categories  evaluated separately, then averaged over those with annotations
malformed   if kept: an annotation counts and is missed, a detection is a false positive
summary     AP""",
    "LVIS": """\
LVIS
Gupta et al., LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019; lvis-api 0.5.3, LVISEval
compares    bbox: intersection over union of boxes (also segm, boundary)
needs       annotations and detections: box (bbox in JSON; x, y, width, height in frames); if given: \
annotations.area, images.pos_category_ids, images.neg_category_ids, images.not_exhaustive_category_ids, \
annotations.ignore (difficult), categories.frequency (r, c, f)
matching    each detection, best score first, takes the most similar free annotation
thresholds  similarity of at least 0.5 to 0.95 in 10 steps
precision   AP by the definition coco101: mean over the levels linspace(0, 1, 101) of the envelope at the first \
recall >= level, else 0; 2.2e-16 is added to the divisor of every precision
detections  at most 300 per image, best scores first; objects without area are left out
crowds      crowds are annotations like any other
ties        equal scores are ordered by image
ignored     annotations outside the area range or flagged ignore, and what is matched to them
categories  evaluated separately, then averaged over those with annotations; judged only on images \
where they are annotated or verified
areas       all 0 to 1e+10, small 0 to 1024, medium 1024 to 9216, large 9216 to 1e+10 square pixels
also        a detection with a side of 0, or whose mask has no pixel, is left out after max_detections
malformed   if kept: an object of negative area is ignored; otherwise an annotation counts and is missed, a \
detection is a false positive
parts       r: categories with frequency r; c: categories with frequency c; f: categories with frequency f
summary     AP AP50 AP75 APs APm APl APr APc APf AR300 ARs ARm ARl""",
    "OPEN_IMAGES_CHALLENGE": """\
OPEN_IMAGES_CHALLENGE
Open Images Challenge 2018 and 2019; TensorFlow Object Detection API, OpenImagesChallengeEvaluator
compares    bbox: intersection over union of boxes (also segm)
needs       annotations and detections: box (bbox in JSON; x, y, width, height in frames); if given: \
categories.parent_ids, images.pos_category_ids, images.neg_category_ids, images.not_exhaustive_category_ids, \
annotations.is_crowd (a group; iscrowd in JSON)
matching    a detection can match only its most similar annotation; if a better detection has it, it is a false positive
thresholds  similarity of at least 0.5
precision   AP by the definition interpolated: sum over k of P_k (r_k - r_(k-1))
detections  all of them
crowds      a group of objects counts once, for its best detection; the others are ignored
ties        of equal scores, the last in the input comes first
categories  evaluated separately, then averaged over those with annotations; annotations also count for the parents of their \
category; judged only on images where they are annotated or verified
also        a detection with a side of 0, or whose mask has no pixel, is left out after max_detections
malformed   if kept: a detection is left out; at an annotation the benchmark's program stops
summary     AP""",
    "PROPOSALS": """\
PROPOSALS
Hosang et al., What makes for effective detection proposals?, PAMI 2016; Detectron2, _evaluate_box_proposals
compares    bbox: intersection over union of boxes
needs       annotations and detections: box (bbox in JSON; x, y, width, height in frames); if given: \
annotations.area, annotations.is_crowd (a group; iscrowd in JSON)
matching    the most similar pair is matched first, then the next, whatever the scores; ignored annotations are left out
thresholds  similarity of at least 0.5 to 0.95 in 10 steps
detections  at most 100, 1000 per image, best scores first
crowds      any number of detections can match a group of objects; they are ignored
ties        equal scores stay in the order of the input
ignored     annotations outside the area range, and what is matched to them
categories  pooled
areas       all 0 to 1e+10, small 0 to 1024, medium 1024 to 9216, large 9216 to 1e+10, 96-128 9216 to 16384, 128-256 16384 to \
65536, 256-512 65536 to 262144, 512-inf 262144 to 1e+10 square pixels
malformed   if kept: an object of negative area is ignored; otherwise an annotation counts and is missed, a \
detection is a false positive
summary     AR100 AR1000 ARs ARm ARl AR_96-128 AR_128-256 AR_256-512 AR_512-inf""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_whole(name: str) -> None:
    assert str(apf.PUBLISHED[name]).splitlines() == TEXTS[name].splitlines()


# what the others need, beside the annotations' area, groups and difficult ones
NEEDS = {
    ("COCO", "segm"): "mask (segmentation in JSON); if given: annotations.area, ",
    ("COCO", "keypoints"): "keypoints (x, y, visibility of 17); if given: ",
    ("COCO", "boundary"): "images.image_width, images.image_height (width, height in JSON)",
    ("OPEN_IMAGES", "bbox"): "categories.parent_ids, annotations.is_crowd (a group; iscrowd in JSON)",
    ("DOTA", "rotated"): "corners (x1, y1, ... x4, y4), or a box with angle (radians, counter-clockwise); if given: ",
    ("ACTIVITYNET", "interval"): "annotations and detections: start_time, end_time (seconds)\n",
    ("KITTI", "bbox"): "in frames), annotations.occluded, annotations.truncated; if given: ",
    ("KITTI", "3d"): ", annotations.occluded, annotations.truncated, annotations.height, detections.height; if given: ",
    ("WAYMO", "3d"): ", annotations.level (or n_points); if given: annotations.n_points, annotations.ignore (difficult), "
    "detections.no_label_zone, ",
    ("NUSCENES", "distance"): "; for errors, of both: cuboid_length, cuboid_width, cuboid_height, cuboid_yaw, velocity_x, "
    "velocity_y, attribute\n",
    ("CITYPERSONS", "bbox"): ", annotations.vis_ratio (or vis_bbox); if given: ",
    ("EUROCITY", "bbox"): ", annotations.occlusion, annotations.truncation; if given: ",
    ("WIDER_FACE", "bbox"): ", annotations.easy, annotations.medium, annotations.hard\n",
    ("CROWDPOSE", "keypoints"): "keypoints (x, y, visibility of 14); if given: annotations.is_crowd (a group; iscrowd in JSON)"
    ", images.crowdIndex\n",
}  # fmt: skip


@pytest.mark.parametrize("key", NEEDS, ids=" ".join)
def test_what_is_needed(key: tuple[str, str]) -> None:
    lines = str(apf.PUBLISHED[key[0]].variant(key[1])).splitlines()
    assert NEEDS[key] in f"{next(line for line in lines if line.startswith('needs '))}\n"


HEADLINES = {
    ("COCO", "bbox"): "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl",
    ("COCO", "segm"): "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl",
    ("COCO", "boundary"): "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl",
    ("COCO", "keypoints"): "AP AP50 AP75 APm APl AR AR50 AR75 ARm ARl",
    ("VOC2007", "bbox"): "AP",
    ("VOC2012", "bbox"): "AP",
    ("LVIS", "bbox"): "AP AP50 AP75 APs APm APl APr APc APf AR300 ARs ARm ARl",
    ("LVIS", "segm"): "AP AP50 AP75 APs APm APl APr APc APf AR300 ARs ARm ARl",
    ("LVIS", "boundary"): "AP AP50 AP75 APs APm APl APr APc APf AR300 ARs ARm ARl",
    **dict.fromkeys(((name, kind) for name in ("OPEN_IMAGES", "OPEN_IMAGES_CHALLENGE") for kind in ("bbox", "segm")), "AP"),
    ("PROPOSALS", "bbox"): "AR100 AR1000 ARs ARm ARl AR_96-128 AR_128-256 AR_256-512 AR_512-inf",
    **dict.fromkeys(((name, "bbox") for name in ("VISDRONE", "VISDRONE_MEAN")), "AP AP50 AP75 AR1 AR10 AR100 AR500"),
    **dict.fromkeys(
        ((name, kind) for name in ("ULTRALYTICS", "ULTRALYTICS_8_4_175", "ULTRALYTICS_8_4_35") for kind in ("bbox", "segm")),
        "AP AP50 AP75",
    ),
    **dict.fromkeys(((name, "rotated") for name in ("DOTA", "DOTA_V1", "DOTA_V15", "MMROTATE")), "AP"),
    ("ACTIVITYNET", "interval"): "AP AP50 AP75 AP95",
    ("CROWDPOSE", "keypoints"): "AP AP50 AP75 AR AR50 AR75 AP_easy AP_medium AP_hard",
    ("BDD100K", "bbox"): "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl",
    ("BDD100K", "segm"): "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl",
    ("NUSCENES", "distance"): "AP ATE ASE AOE AVE AAE NDS",
    ("ARGOVERSE2", "distance"): "AP ATE ASE AOE CDS",
    ("CITYPERSONS", "bbox"): "LAMR_reasonable LAMR_small LAMR_heavy LAMR_all LAMR_bare LAMR_partial LAMR_heavy_2019",
    ("CALTECH", "bbox"): "LAMR_reasonable LAMR_small LAMR_heavy LAMR_all LAMR_bare LAMR_partial LAMR_heavy_2019",
    ("EUROCITY", "bbox"): "LAMR_reasonable LAMR_small LAMR_occluded LAMR_all",
    ("WIDER_FACE", "bbox"): "AP_easy AP_medium AP_hard",
    ("CROWDHUMAN", "bbox"): "AP LAMR JI",
    ("LUNA16", "sphere"): "CPM",
    **dict.fromkeys((("VISUAL_GENOME", kind) for kind in ("relation", "phrase")), "R@20 R@50 R@100"),
    **dict.fromkeys((("VISUAL_GENOME_MEAN", kind) for kind in ("relation", "phrase")), "mR@20 mR@50 mR@100"),
    ("FLICKR30K", "bbox"): "Success@1 Success@5 Success@10",
    ("REFCOCO", "bbox"): "Success@1",
    ("TINYPERSON", "bbox"): (
        "AP50_tiny AP50_tiny1 AP50_tiny2 AP50_tiny3 AP50s AP50_reasonable "
        "AP25_tiny AP25_tiny1 AP25_tiny2 AP25_tiny3 AP25s AP25_reasonable "
        "AP75_tiny AP75_tiny1 AP75_tiny2 AP75_tiny3 AP75s AP75_reasonable AP50 AP25 AP75"
    ),
    **dict.fromkeys(
        [(name, kind) for name in ("COCO_PANOPTIC", "CITYSCAPES_PANOPTIC") for kind in ("panoptic", "panoptic_boundary")],
        "PQ SQ RQ PQ_things PQ_stuff SQ_things SQ_stuff RQ_things RQ_stuff",
    ),
    ("SEMANTIC", "semantic"): "mIoU fwIoU mACC pACC",
    ("THUMOS14", "interval"): "AP AP10 AP20 AP30 AP40 AP50",
    ("AVA", "bbox"): "AP",
    ("KITTI", "bbox"): (
        "AP_Car_easy AP_Car_moderate AP_Car_hard AOS_Car_easy AOS_Car_moderate AOS_Car_hard "
        "AP_Pedestrian_easy AP_Pedestrian_moderate AP_Pedestrian_hard "
        "AOS_Pedestrian_easy AOS_Pedestrian_moderate AOS_Pedestrian_hard "
        "AP_Cyclist_easy AP_Cyclist_moderate AP_Cyclist_hard AOS_Cyclist_easy AOS_Cyclist_moderate AOS_Cyclist_hard "
        "AP_easy AP_moderate AP_hard AOS_easy AOS_moderate AOS_hard"
    ),
    ("WAYMO", "bbox"): (
        "AP_Vehicle_L1 AP_Vehicle_L2 AP_Pedestrian_L1 AP_Pedestrian_L2 AP_Sign_L1 AP_Sign_L2 AP_Cyclist_L1 AP_Cyclist_L2 "
        "AP_ALL_NS_L1 AP_ALL_NS_L2 AP_L1 AP_L2"
    ),
    **dict.fromkeys(
        (("WAYMO", "3d"), ("WAYMO", "bev")),
        "AP_Vehicle_L1 APH_Vehicle_L1 AP_Vehicle_L2 APH_Vehicle_L2 "
        "AP_Pedestrian_L1 APH_Pedestrian_L1 AP_Pedestrian_L2 APH_Pedestrian_L2 "
        "AP_Sign_L1 APH_Sign_L1 AP_Sign_L2 APH_Sign_L2 AP_Cyclist_L1 APH_Cyclist_L1 AP_Cyclist_L2 APH_Cyclist_L2 "
        "AP_ALL_NS_L1 APH_ALL_NS_L1 AP_ALL_NS_L2 APH_ALL_NS_L2 AP_L1 APH_L1 AP_L2 APH_L2",
    ),
    **dict.fromkeys(
        (("KITTI", "bev"), ("KITTI", "3d")),
        "AP_Car_easy AP_Car_moderate AP_Car_hard AP_Pedestrian_easy AP_Pedestrian_moderate AP_Pedestrian_hard "
        "AP_Cyclist_easy AP_Cyclist_moderate AP_Cyclist_hard AP_easy AP_moderate AP_hard",
    ),
}


def test_models_are_ranked_by_the_number_of_the_benchmark() -> None:
    protocols = (apf.KITTI, apf.NUSCENES, apf.ARGOVERSE2, apf.WAYMO, apf.COCO)
    main = {each.name: [main_headline(each.variant(kind)).metric for kind in each.iou_types] for each in protocols}
    assert main.pop("COCO") == ["AP"] * 4
    assert main == {
        "KITTI": ["AP_moderate"] * 3, "NUSCENES": ["NDS"], "ARGOVERSE2": ["CDS"], "WAYMO": ["APH_L2", "APH_L2", "AP_L2"],
    }  # fmt: skip


def test_headlines() -> None:
    names = {(p.name, p.iou_type): " ".join(line.metric for line in headlines(p, with_parts=True)) for p in VALUES}
    assert names == HEADLINES
    assert [line.metric for line in headlines(apf.LVIS)] == [m for m in HEADLINES["LVIS", "bbox"].split() if m[-1] not in "rcf"]


@pytest.mark.slow
@each_protocol
def test_numbers_by_hand(name: str) -> None:
    evaluation = tiny(name)
    values = dict(evaluation.summary.rows())
    assert " ".join(values) == HEADLINES[evaluation.protocol.name, evaluation.protocol.iou_type]
    expected = TINY[name][-1]
    assert {metric: values[metric] for metric in expected} == pytest.approx(expected, abs=1e-12)
    assert "as published" not in str(evaluation)
    if not evaluation.protocol.tables:
        assert len(str(evaluation).splitlines()) == len(values)  # and none about departures


@pytest.mark.slow
@each_protocol
def test_a_perfect_list_has_1(name: str) -> None:
    evaluation = tiny(name)
    truth, protocol = TINY[name][2], evaluation.protocol
    shapes = ("bbox", "segmentation", "keypoints", "corners", "start_time", "end_time", *CUBOID, "velocity_x", "velocity_y",
              "attribute", *MARK, *RIDING)  # fmt: skip
    results = [
        {key: row[key] for key in ("image_id", "category_id", *shapes) if key in row} | {"score": 0.5}
        for row in truth["annotations"]
        if not (row.get("iscrowd") or (protocol.rule(IgnoreFlagged) and row.get("ignore")) or row.get("num_keypoints") == 0)
    ]
    if protocol.rule(ExpandHierarchy):
        results += [row | {"category_id": 1} for row in results if row["category_id"] == 2]
        truth = truth | {"annotations": [row for row in truth["annotations"] if not row.get("iscrowd")]}
    values = dict(apf.evaluate(truth, results, protocol).summary.drop_nulls().rows())
    least = next((metric.least for metric in protocol.metrics if isinstance(metric, MissRates)), 0.0)
    best = {metric: least if less_is_better(metric) else 1.0 for metric in values}
    # equal scores have no steps; of two hits, that in the first row adds nothing
    best |= {"wider_face": dict.fromkeys(values, 0.0), "crowdhuman": {"AP": 0.5, "JI": PERFECT}}.get(name, {})
    if protocol.definition.name.startswith("ultralytics"):  # whose curve ends with 0
        best = dict.fromkeys(best, 0.995)
    assert values == pytest.approx(best, abs=1e-12) and values


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "file", "frame"])
@each_protocol
def test_without_detections_all_is_0(name: str, kind: str, tmp_path: Path) -> None:
    protocol, options, truth, _, _ = TINY[name]
    (tmp_path / "results.json").write_text("[]")
    nothing: dict[str, Any] = {"memory": [], "file": tmp_path / "results.json", "frame": pl.DataFrame()}
    evaluation = apf.evaluate(truth, nothing[kind], protocol, **options)
    some = dict(tiny(name).summary.rows())
    is_zero = apf.PUBLISHED[protocol.upper()].rule(ZeroWithoutDetections) is not None
    expected = {
        metric: None if value is None and not is_zero else float(metric.startswith("LAMR")) for metric, value in some.items()
    }
    assert dict(evaluation.summary.rows()) == pytest.approx(expected | worst(evaluation.protocol), abs=1e-12)
    assert set(evaluation.matches()["outcome"]) == {"fn"}


def worst(protocol: apf.Protocol) -> dict[str, float]:
    """The errors without true positives."""
    errors = protocol.errors
    return {} if errors is None else {kind.upper(): value for kind, value in zip(errors.kinds, errors.absent, strict=True)}


@pytest.mark.slow
@each_protocol
def test_all_is_null_without_annotations_and_absent_classes(name: str) -> None:
    protocol, options, truth, results, _ = TINY[name]
    for some in (results, []):
        with pytest.warns(NoAnnotationsWarning):
            evaluation = apf.evaluate(truth | {"annotations": []}, some, protocol, **options)
        own = evaluation.protocol
        expected = dict.fromkeys(evaluation.summary["metric"], 0.0 if own.counts_absent else None)
        if some and "JI" in expected:  # detections lower it where nobody is
            expected["JI"] = 0.0
        assert dict(evaluation.summary.rows()) == pytest.approx(expected | worst(own), abs=1e-12)
        assert "tp" not in set(evaluation.matches()["outcome"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TINY if name != "crowdpose"])
def test_one_category_alone_is_as_among_others(name: str) -> None:
    protocol, options, truth, results, _ = TINY[name]
    whole = tiny(name).metrics.filter(pl.col("category_id") == 1)
    alone = apf.evaluate(truth, results, protocol, categories=[1], **options)
    assert alone.summary.height == tiny(name).summary.height
    if not tiny(name).protocol.agnostic:  # which pools the categories
        assert_frame_equal(alone.metrics, whole, check_exact=True)


def turned(rows: list[Json], angle: float = 0.2) -> list[Json]:
    """Each box as the rectangle that is turned by the angle and has this box around it."""
    cos, sin = math.cos(angle), math.sin(angle)

    def side(own: float, other: float) -> float:
        return (cos * own - sin * other) / (cos**2 - sin**2)

    def row_of(row: Json) -> Json:
        x, y, wide, high = row["bbox"]
        width, height = side(wide, high), side(high, wide)
        return row | {"bbox": [x + (wide - width) / 2, y + (high - height) / 2, width, height], "angle": angle}

    return [row_of(row) for row in rows]


COMPARES_BOXES = [name for name, (protocol, own, *_) in TINY.items() if not own and as_protocol(protocol).iou_type == "bbox"]


@pytest.mark.slow
@pytest.mark.parametrize("sides", ["truth", "results", "both"])
@pytest.mark.parametrize("name", COMPARES_BOXES)
def test_a_turned_box_counts_as_the_upright_box_around_it(name: str, sides: str) -> None:
    protocol, _, truth, results, expected = TINY[name]
    annotations = truth["annotations"]
    parts = {"truth": (annotations, "annotation"), "results": (results, "detection")}
    counts = {side: f"{len(rows)} of {len(rows)} {noun}{'s' * (len(rows) > 1)}" for side, (rows, noun) in parts.items()}
    which = " and ".join(count for side, count in counts.items() if sides in (side, "both"))
    dataset = truth | {"annotations": turned(annotations)} if sides != "results" else truth
    with pytest.warns(TurnedBoxesWarning, match=f"^boxes turned by angle: {which}; .* uses the upright boxes around them; to"):
        evaluation = apf.evaluate(dataset, turned(results) if sides != "truth" else results, protocol)
    assert evaluation.notes[0].startswith(f"boxes turned by angle: {which}")
    values = dict(evaluation.summary.rows())
    assert {metric: values[metric] for metric in expected} == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_turned_boxes_are_told_only_where_boxes_are_compared() -> None:
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "angle": 0.5}
    masked = box | {"segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]]}
    truth = {"images": [{"id": 1, "width": 50, "height": 50}], "categories": [{"id": 1, "name": "a"}]}
    masks = apf.evaluate(truth | {"annotations": [masked]}, [masked | {"score": 0.9}], iou_type="segm")  # without a warning
    assert (masks.summary["value"][0], masks.notes) == (pytest.approx(1), ())
    for angle in (3.1415927410125732, 10 * math.pi, -math.pi):  # half a turn, also in single precision, or several
        with pytest.warns(UnitWarning) if angle > 7 else nullcontext():
            boxes = apf.evaluate(truth | {"annotations": [box | {"angle": angle}]}, [box | {"score": 0.9, "angle": 0.0}])
        assert (boxes.summary["value"][0], boxes.notes) == (pytest.approx(1), ())


def test_other_iou_types() -> None:
    for protocol in apf.PUBLISHED.values():
        assert protocol.variant(None) is protocol is protocol.variant(protocol.iou_type)
        for variant in protocol.variants:
            assert protocol.variant(variant.iou_type) == variant != protocol
            assert protocol.variant(f" {variant.iou_type.upper()}") is variant
        with pytest.raises(ParameterError) as caught:
            protocol.variant("lines")
        assert str(caught.value) == f"{protocol.name} has no iou_type 'lines'; it has {', '.join(protocol.iou_types)}"


def test_other_words_for_iou_types() -> None:
    for word in ("mask", "Masks", "segmentation"):
        assert apf.COCO.variant(word).iou_type == "segm"
    for word in ("box", "BOXES"):
        assert apf.COCO.variant(word) is apf.COCO
    with pytest.raises(ParameterError, match=r"^iou_type must be a name such as bbox or segm, not 3$"):
        apf.COCO.variant(3)  # type: ignore[arg-type]


def test_values_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        apf.COCO.matcher = ByScore(strict=True)  # type: ignore[misc]
    assert apf.COCO.with_options() == apf.COCO and hash(apf.COCO) == hash(apf.COCO.with_options())
    assert len(set(VALUES)) == len(VALUES)


def test_names_in_any_case() -> None:
    for name, protocol in apf.PUBLISHED.items():
        for spelled in (name, name.lower(), name.replace("_", "-"), f" {name.title()} "):
            assert as_protocol(spelled) is protocol
    assert apf.evaluate(ONE_OF_TWO, ONE_HIT, "Voc-2007").protocol == apf.VOC2007
    with pytest.raises(ParameterError, match=r"^no protocol 'lviss'; did you mean lvis\?$"):
        apf.evaluate(ONE_OF_TWO, ONE_HIT, "lviss")
    with pytest.raises(ParameterError, match=r"^no protocol 'segm'; .*choose a similarity with iou_type=$"):
        apf.evaluate(ONE_OF_TWO, ONE_HIT, "segm")
    for model in ("model_b.json", Path("model_b.json"), __file__):
        with pytest.raises(ParameterError, match="is a path, not a protocol; to compare models, evaluate each, then"):
            apf.evaluate(ONE_OF_TWO, ONE_HIT, model)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^protocol must be a value such as apframe.COCO or its name, not 3$"):
        apf.evaluate(ONE_OF_TWO, ONE_HIT, 3)  # type: ignore[arg-type]


# options -> the fields that differ
OPTIONS: dict[str, tuple[Json, list[str]]] = {
    "none": ({}, []),
    "the published ones": ({"max_detections": [1, 10, 100], "matching": "score", "similarity": apf.similarity.BoxIoU()}, []),
    "thresholds": ({"iou_thresholds": 0.5}, ["iou_thresholds"]),
    "levels": ({"recall_levels": [0, 0.5, 1]}, ["metrics"]),
    "areas": ({"area_ranges": {"tiny": (0, 9)}}, ["area_ranges"]),
    "limits": ({"max_detections": [300, 1]}, ["max_detections"]),
    "a limit and all": ({"max_detections": [None, 1]}, ["max_detections"]),
    "pooled": ({"agnostic": True}, ["agnostic"]),
    "matching": ({"matching": "optimal"}, ["matching"]),
    "similarity": ({"similarity": apf.similarity.InclusiveBoxIoU()}, ["similarity"]),
    "several": ({"similarity": apf.similarity.InclusiveBoxIoU(), "matching": "best_overlap"}, ["similarity", "matching"]),
}  # fmt: skip


@pytest.mark.parametrize(("options", "names"), OPTIONS.values(), ids=OPTIONS)
def test_departures(options: Json, names: list[str]) -> None:
    protocol = apf.COCO.with_options(**options)
    assert departures(protocol) == names
    evaluation = apf.evaluate(ONE_OF_TWO, ONE_HIT, **options)
    assert evaluation.protocol == protocol
    last = str(evaluation).splitlines()[-1]
    if names:
        missing = "; not evaluated: AP75" if protocol.iou_thresholds == (0.5,) else ""
        assert last == f" not COCO as published: other {', '.join(names)}{missing}"
        assert str(protocol).splitlines()[-1] == f"departs     from COCO as published in {', '.join(names)}"
    else:
        assert last.startswith(" Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ]")


def test_options_that_a_protocol_cannot_take() -> None:
    with pytest.raises(ParameterError, match=r"^LVIS limits detections per image: max_detections must be one number, not \("):
        apf.LVIS.with_options(max_detections=[100, 300])
    with pytest.raises(ParameterError, match=r"^recall_levels: the definition interpolated does not use recall levels$"):
        apf.VOC2012.with_options(recall_levels=[0, 1])
    with pytest.raises(
        ParameterError,
        match=r'^matching is "score", "best_overlap", "nearest", .* or "score_first", not .hungarian.$',
    ):
        apf.COCO.with_options(matching="hungarian")
    with pytest.raises(
        ParameterError, match=r"^'box_iou' is not a similarity; use one such as apframe.similarity.BoxIoU\(\) or "
    ):
        apf.COCO.with_options(similarity="box_iou")


def test_no_limit_by_option() -> None:
    assert apf.COCO.with_options(max_detections=[None]).max_detections == (None,)
    assert apf.COCO.with_options(max_detections=[None, 100, 1]).max_detections == (1, 100, None)
    assert apf.COCO.with_options(max_detections=None) is apf.COCO
    with pytest.raises(ParameterError, match=r"^max_detections must be different numbers, at least 1, not None, None$"):
        apf.COCO.with_options(max_detections=[None, None])
    many = [found(1, 1, 0.9 - rank / 1000, bbox=ELSEWHERE) for rank in range(100)]
    results = [*many, found(1, 1, 0.1, bbox=SQUARE)]  # the 101st
    values = dict(apf.evaluate(ONE_OF_TWO, results, max_detections=[100, None]).summary.rows())
    assert (values["AR100"], values["AR"]) == (0.0, 0.5)
    assert values["AP"] == pytest.approx(0.5 / 101)
    assert "detections  at most 100, all per image and category, best scores first" in str(
        apf.COCO.with_options(max_detections=[100, None])
    )


# choices of a protocol that cannot be -> the message
WRONG: dict[str, tuple[Json, str]] = {
    "ties": ({"matcher": ByScore(ties="first")}, r'^ties is "image", "input" or "later", not .first.$'),
    "rules": ({"rules": ("ignore",)}, r"^rules: 'ignore' is not a rule; see apframe.protocols.rules$"),
    "rules without the standard ones": (
        {"rules": (IgnoreFlagged(),)}, r"^rules: lack TurnUpright\(\); begin with \*STANDARD_ROWS$",
    ),
    "rules that contradict": (
        {"rules": (*STANDARD_ROWS, CrowdsIgnored(), CrowdsAsMisses())}, r"^rules: CrowdsIgnored\(\) and CrowdsAsMisses\(\) con",
    ),
    "limits that contradict": (
        {"rules": (LimitPerImage(), *STANDARD_RULES, RankInImage()), "max_detections": 9},
        r"^rules: LimitPerImage\(.*\) and RankInImage\(by='score'\) contradict each other; keep one$",
    ),
    "levels that matching does not know": (
        {"ranges": apf.KITTI.ranges}, r"^matching: 'score' cannot handle levels with `detections`, .*; choose by_annot",
    ),
    "levels without their rule": (
        {"ranges": apf.KITTI.ranges, "matcher": apf.KITTI.matcher, "metrics": apf.KITTI.metrics, "headlines": ("AP",),
         "max_detections": 100},
        r"^rules: lack ApplyLevels\(\), which levels with `detections` need; add it$",
    ),
    "pixels beside objects": (
        {"metrics": (AveragePrecision(Interpolated()), PixelIoU())}, r"^metrics: PixelIoU\(.*\) counts pixels, and interpol",
    ),
    "groups without their rule": (
        {"matcher": ByBestOverlap(counts_groups=True)}, r"^rules: ByBestOverlap\(.* needs the rule CrowdsCountOnce\(\); or",
    ),
    "no matcher": ({"matcher": "score"}, r"^matcher: 'score' is not a matcher; use one such as ByScore\(\)$"),
    "strictness": ({"matcher": ByScore(strict="maybe")}, r"^strict is False or True, not 'maybe'$"),  # type: ignore[arg-type]
    "no metrics": ({"metrics": ()}, r"^metrics: none ranks detections by a definition of average precision; add Average"),
    "one range": ({"ranges": "x"}, r"^area_ranges has the wrong type \(not enough values to unpack"),
    "one rule": ({"rules": IgnoreFlagged()}, r"^rules has the wrong type "),
    "similarity": ({"similarity": "iou"}, r"^'iou' is not a similarity; use one such as apframe.similarity.BoxIoU\(\) or "),
    "definition": ({"metrics": "trapezoid"}, r"^metrics: Trapezoid\(\) is not a weighted sum, see apframe.list_defini"),
    "no thresholds": ({"iou_thresholds": ()}, r"^iou_thresholds must lie in \(0, 1\] and increase, got none$"),
    "thresholds fall": ({"iou_thresholds": (0.6, 0.5)}, r"^iou_thresholds must .* increase, got 0.6, 0.5$"),
    "no limits": ({"max_detections": ()}, r"^max_detections must be different numbers, at least 1, not none$"),
    "limit 0": ({"max_detections": (0,)}, r"^max_detections must be different numbers"),
    "a limit twice": ({"max_detections": (10, 10)}, r"^max_detections must be different numbers, at least 1, not 10, 10$"),
    "limits of text": ({"max_detections": "many"}, r"^max_detections has the wrong type \(.*\): max_detections='many'$"),
    "an area of one number": ({"ranges": {"tiny": 5}}, r"^area_ranges has the wrong type "),
    "name": ({"name": 3}, r"^name has the wrong type \(text is needed\): name=3$"),
    "citation": ({"citation": None}, r"^citation has the wrong type \(text is needed\): citation=None$"),
    "headlines": ({"headlines": (3,)}, r"^headlines has the wrong type \(text is needed\): headlines=\(3,\)$"),
    "masks by boxes": (
        {"iou_type": "segm"},
        r"^iou_type='segm' does not match BoxIoU\(\); give similarity=apframe.similarity.MaskIoU\(\), or iou_type=",
    ),
    "boxes by masks": (
        {"similarity": apf.similarity.MaskIoU()},
        r"^iou_type='bbox' does not match MaskIoU\(\); give similarity=apframe.similarity.BoxIoU\(\), or iou_type='segm'$",
    ),
    "an unknown iou_type": ({"iou_type": "segmn"}, r"^no iou_type 'segmn'; did you mean segm\?; for other names give a"),
    "no areas": ({"ranges": ()}, r"^area_ranges must have at least one name"),
    "areas and levels": ({"ranges": (ALL, *apf.KITTI.ranges)}, r"^area_ranges must all be of areas, or all be levels of diff"),
    "area twice": ({"ranges": (("all", 0.0, 1.0), ("all", 0.0, 2.0))}, r"^area_ranges must have .*no duplicates, not \["),
    "area backwards": ({"ranges": (("all", 9.0, 1.0),)}, r"^area range 'all' must have 0 <= low <= high, got 9.0, 1.0$"),
}  # fmt: skip


@pytest.mark.parametrize(("choices", "message"), WRONG.values(), ids=WRONG)
def test_protocols_that_cannot_be(choices: Json, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        apf.Protocol(**({"name": "MINE", "citation": ""} | choices))


@dataclass(frozen=True)
class LeftHalf(Range):
    """A range of one's own."""


def test_a_range_of_ones_own_says_that_it_ignores_the_others() -> None:
    text = str(apf.Protocol("MINE", "", ranges=(LeftHalf("left"),)))
    assert "\nignored     annotations outside the area range, and what is matched to them\n" in text


FOG = apf.protocols.Part("_f", "images", "fog", equals="f")


def closeness(pairs: pl.DataFrame) -> pl.Series:
    return pairs["score"]


# a choice as it may be given -> as it stands in the protocol
GIVEN: dict[str, tuple[Json, Any]] = {
    "one threshold": ({"iou_thresholds": 0.5}, (0.5,)),
    "thresholds as a list": ({"iou_thresholds": [0.5, 1]}, (0.5, 1.0)),
    "one limit": ({"max_detections": 7}, (7,)),
    "no limit": ({"max_detections": None}, (None,)),
    "limits in any order": ({"max_detections": [None, 10, 1]}, (1, 10, None)),
    "areas as a mapping": ({"ranges": {"tiny": (0, 9)}}, (ALL, AreaRange("tiny", 0.0, 9.0))),
    "areas as lists": ({"ranges": [["all", 0, 9]]}, (AreaRange("all", 0.0, 9.0),)),
    "rules as a list": ({"rules": [*STANDARD_ROWS]}, STANDARD_ROWS),
    "one line": ({"headlines": "AP"}, ("AP",)),
    "lines as a list": ({"headlines": ["AP", "AR"]}, ("AP", "AR")),
    "one part": ({"headlines": ["AP", "AP{part}", FOG]}, ("AP", "AP{part}", FOG)),
    "definition by name": ({"metrics": "interpolated"}, (AveragePrecision(Interpolated()),)),
    "a function": ({"similarity": closeness}, apf.similarity.UserSimilarity(closeness, "closeness")),
    "another word": ({"iou_type": "Mask", "similarity": apf.similarity.MaskIoU()}, "segm"),
    "a name of one's own": ({"iou_type": "Lines", "similarity": closeness}, "Lines"),
}


@pytest.mark.parametrize(("choices", "expected"), GIVEN.values(), ids=GIVEN)
def test_choices_as_they_may_be_given(choices: Json, expected: Any) -> None:
    protocol = apf.Protocol("MINE", "", **choices)
    assert getattr(protocol, next(iter(choices))) == expected
    assert {protocol} == {apf.Protocol("MINE", "", **choices)}
    assert "Protocol(" not in str(protocol)


# protocol, similarity -> the iou_type, and in what it then departs
SIMILARITIES: dict[str, tuple[apf.Protocol, Any, str, list[str]]] = {
    "as published for masks": (apf.COCO, apf.similarity.MaskIoU(), "segm", []),
    "as for keypoints, else as for boxes": (
        apf.COCO, apf.similarity.OKS(), "keypoints", ["area_ranges", "max_detections", "headlines", "rules"],
    ),
    "not published": (apf.VOC2007, apf.similarity.MaskIoU(), "segm", ["iou_type", "similarity"]),
    "other boxes": (apf.COCO, apf.similarity.IntersectionOverDetection(), "bbox", ["similarity"]),
    "a function": (apf.COCO.variant("segm"), closeness, "segm", ["similarity"]),
}  # fmt: skip


@pytest.mark.parametrize(("protocol", "similarity", "iou_type", "names"), SIMILARITIES.values(), ids=SIMILARITIES)
def test_the_iou_type_follows_the_similarity(protocol: apf.Protocol, similarity: Any, iou_type: str, names: list[str]) -> None:
    changed = protocol.with_options(similarity=similarity)
    assert changed.iou_type == iou_type and departures(changed) == names
    assert len(set(changed.iou_types)) == len(changed.iou_types)


def test_thresholds_of_a_report_without_numbers_are_told() -> None:
    protocol = apf.Protocol("MINE", "", headlines=("AP", "AP40"), iou_thresholds=(0.3, 0.5))
    assert str(protocol).splitlines()[-1] == "summary     AP AP40; not evaluated: AP40"
    evaluation = apf.evaluate(ONE_OF_TWO, ONE_HIT, protocol)
    assert dict(evaluation.summary.rows())["AP40"] is None
    assert str(evaluation).splitlines()[-1] == " not evaluated: AP40"
    lines = str(apf.evaluate(ONE_OF_TWO, ONE_HIT, iou_thresholds=[0.6])).splitlines()
    assert lines[-1] == " not COCO as published: other iou_thresholds; not evaluated: AP50, AP75"


def test_notebooks_show_what_is_compared_and_how() -> None:
    assert repr(apf.VOC2012) == (
        "Protocol(VOC2012, bbox: matcher best_overlap; IoU above 0.5; interpolated; areas all 0–1e+10; max_detections (None,))"
    )
    assert repr(apf.COCO.definition) == "Coco101()"
    assert repr(apf.COCO.with_options(recall_levels=[0, 1]).definition) == "Coco101(levels=(0.0, 1.0))"


def test_a_report_that_cannot_be_read() -> None:
    message = r"^headlines: 'mAP' is not AP or AR, optionally with a threshold, \{area\}, \{limit\} or \{"
    with pytest.raises(ParameterError, match=message):
        apf.Protocol("MINE", "", headlines=("AP", "mAP"))


def test_options_reach_the_variants() -> None:
    changed = apf.COCO.with_options(iou_thresholds=[0.5])
    assert changed.variant("segm") == apf.COCO.variant("segm").with_options(iou_thresholds=[0.5])
    assert changed.with_options(similarity=apf.similarity.MaskIoU()).variants == ()


def test_ar_at_a_threshold_is_that_of_the_summary_in_slices_too() -> None:
    protocol = apf.Protocol("MINE", "", headlines=("AR", "AR50", "AR75"), iou_thresholds=(0.5, 0.75))
    boxes = {"image_id": [1], "category_id": [1], "x": [0.0], "y": [0.0], "width": [10.0], "height": [10.0]}
    truth = apf.Dataset({"image_id": [1], "weather": ["fog"]}, {"category_id": [1]}, boxes)
    evaluation = apf.evaluate(truth, boxes | {"score": [0.5], "height": [6.0]}, protocol)
    assert dict(evaluation.summary.rows()) == {"AR": 0.5, "AR50": 1.0, "AR75": 0.0}
    assert evaluation.by("weather").select("AR", "AR50", "AR75").row(0) == (0.5, 1.0, 0.0)


def test_counted_groups_need_best_overlap() -> None:
    with pytest.raises(ParameterError, match=r'^groups that count need matching="best_overlap", not \'score\''):
        apf.OPEN_IMAGES_CHALLENGE.with_options(matching="score")


MINE = apf.Protocol(
    name="MINE",
    citation="this test",
    similarity=apf.similarity.InclusiveBoxIoU(),
    matcher=ByBestOverlap(strict=True),
    rules=(*STANDARD_RULES, IgnoreFlagged()),
    iou_thresholds=(0.4, 0.5),
    metrics=(AveragePrecision(Voc2007()),),
    ranges=(AreaRange("every"), AreaRange("small", 0.0, 2000.0)),
    max_detections=(5, None),
    headlines=(
        "AP",
        "AP50",
        "AP{area}",
        "AR{limit}",
        "AP{part}",
        apf.protocols.Part("_fog", "images", "weather", equals="fog"),
        apf.protocols.Part("_low", "categories", "level", up_to=1),
    ),
)
LEVELS = DIFFICULT | {"categories": [CATEGORIES[0] | {"level": 1}, CATEGORIES[1] | {"level": 2}]}


@pytest.mark.slow
def test_a_protocol_of_ones_own(tmp_path: Path) -> None:
    evaluation = apf.evaluate(LEVELS, ONE_HIT, MINE)
    expected = {"AP": 0.5, "AP50": 0.5, "APs": 0.5, "AR5": 0.5, "AR": 0.5, "AP_fog": 1.0, "AP_low": 1.0}
    values = dict(evaluation.summary.rows())
    assert list(values) == list(expected) and values == pytest.approx(expected, abs=1e-12)
    assert str(evaluation).splitlines()[-3:] == [
        " Average Recall     (AR) @[ IoU=0.40:0.50 | area= every | maxDets=all ] = 0.500",
        " Average Precision  (AP) @[ IoU=0.40:0.50 | area= every | maxDets=all | weather=fog ] = 1.000",
        " Average Precision  (AP) @[ IoU=0.40:0.50 | area= every | maxDets=all | level=low ] = 1.000",
    ]
    lines = str(MINE).splitlines()
    assert lines[:2] == ["MINE", "this test"]
    assert "thresholds  similarity above 0.4, 0.5" in lines
    assert "parts       _fog: images with weather fog; _low: categories with level up to 1" in lines
    assert departures(MINE) == []
    evaluation.write_parquet(tmp_path / "mine")
    again = apf.read_evaluation(tmp_path / "mine")
    assert again.protocol == MINE
    assert_same(again, evaluation)


def test_missing_columns_of_parts_are_told() -> None:
    with pytest.warns(MissingColumnWarning) as caught:
        values = dict(apf.evaluate(VERIFIED, ONE_HIT, "lvis").summary.rows())
    messages = [str(warning.message) for warning in caught]
    assert messages == ["LVIS: the categories have no column 'frequency', so APr, APc, APf are null"]
    assert values["APr"] is values["APf"] is None and values["AP"] == pytest.approx(0.5)


@pytest.mark.slow
def test_columns_of_parts_of_another_type() -> None:
    numbered = LVIS_TRUTH | {"categories": [row | {"frequency": 1} for row in LVIS_TRUTH["categories"]]}
    message = r"^LVIS: APr expects text such as 'r' in categories.frequency, which has Int64$"
    with pytest.raises(ColumnError, match=message):
        apf.evaluate(numbered, LVIS_FOUND, "lvis").summary  # noqa: B018
    _, _, truth, results, _ = TINY["crowdpose"]
    worded = truth | {"images": [row | {"crowdIndex": "low"} for row in truth["images"]]}
    with pytest.raises(ColumnError, match=r"^CROWDPOSE: AP_easy expects numbers in images.crowdIndex, which has String$"):
        apf.evaluate(worded, results, "crowdpose").summary  # noqa: B018


@pytest.mark.slow
def test_parts_without_any_image_or_category_are_null() -> None:
    one = DIFFICULT | {"images": [image | {"weather": "clear"} for image in IMAGES]}
    parts = (
        apf.protocols.Part("_fog", "images", "weather", equals="fog"),
        apf.protocols.Part("_clear", "images", "weather", equals="clear"),
    )
    protocol = apf.Protocol("MINE", "", headlines=("AP", "AP{part}", *parts))
    values = dict(apf.evaluate(one, ONE_HIT, protocol).summary.rows())
    assert values["AP_fog"] is None and values["AP_clear"] == pytest.approx(values["AP"], abs=1e-12)
    frequent = LVIS_TRUTH | {"categories": [row | {"frequency": "f"} for row in LVIS_TRUTH["categories"]]}
    values = dict(apf.evaluate(frequent, LVIS_FOUND, "lvis").summary.rows())
    assert values["APr"] is values["APc"] is None and values["APf"] == pytest.approx(values["AP"])


def test_parts_that_a_subset_does_not_have_are_null() -> None:
    values = dict(tiny("crowdpose").where([1]).summary.rows())
    assert values["AP_easy"] == pytest.approx(1.0) and values["AP_medium"] is values["AP_hard"] is None


def test_parts_of_pooled_categories_are_null() -> None:
    values = dict(apf.evaluate(LVIS_TRUTH, LVIS_FOUND, "lvis", agnostic=True).summary.rows())
    assert [values[f"AP{name}"] for name in "rcf"] == [None] * 3
    assert values["AP"] is not None


@pytest.mark.slow
def test_all_detections() -> None:
    for name in ("voc2007", "voc2012", "open_images", "open_images_challenge", "dota", "activitynet"):
        evaluation = tiny(name)
        assert evaluation.metrics["max_detections"].to_list() == [None] * evaluation.metrics.height
        assert evaluation.metrics.schema["max_detections"] == pl.Int64
        lines = summary_lines(evaluation.summary, evaluation.protocol)
        assert all("maxDets=all" in line for line in lines)
        limited = tiny(name, max_detections=[3])
        assert set(limited.metrics["max_detections"]) == {3}
        assert str(limited).splitlines()[-1] == f" not {evaluation.protocol.name} as published: other max_detections"


@pytest.mark.slow
def test_more_than_any_limit() -> None:
    """Where there is no limit, a hit after 400 others counts; with COCO's it does not."""
    others = [found(1, 1, 0.9, bbox=ELSEWHERE)] * 400
    for name in ("voc2007", "voc2012", "open_images"):
        values = apf.evaluate(ONE_OF_TWO, [*others, found(1, 1, 0.1, bbox=SQUARE)], name).metrics
        assert values["recall"].to_list() == [1.0, 0.0]
    assert apf.evaluate(ONE_OF_TWO, [*others, found(1, 1, 0.1, bbox=SQUARE)]).metrics["recall"].sum() == 0


# ---- written and read back


def assert_same(left: apf.Evaluation, right: apf.Evaluation) -> None:
    """Everything that is shown of both is equal, apart from why a printed table has no numbers of another iou_type."""
    protocol = right.protocol
    assert left.protocol == protocol
    shown = [[line for line in str(each).splitlines() if not line.startswith(" no ")] for each in (left, right)]
    assert shown[0] == shown[1]
    for table in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(left.dataset, table), getattr(right.dataset, table), check_exact=True)
    assert_frame_equal(left.detections, right.detections, check_exact=True)
    for table in ("summary", "metrics", "pairs", "assignments"):
        assert_frame_equal(getattr(left, table), getattr(right, table), check_exact=True)
    assert_frame_equal(left.by("weather"), right.by("weather"), check_exact=True)
    for threshold in protocol.iou_thresholds:
        for area in protocol.range_names:
            assert_frame_equal(left.matches(threshold, area), right.matches(threshold, area), check_exact=True)
    for side in (left, right):  # computed, not read
        assert_frame_equal(side._pipeline.metrics(), right.metrics, check_exact=True)
    parts = [each.where(pl.col("weather") == "fog") for each in (left, right)]
    assert_frame_equal(parts[0].summary, parts[1].summary, check_exact=True)
    assert_frame_equal(parts[0].matches(), parts[1].matches(), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name if name == "coco" else pytest.param(name, marks=pytest.mark.slow) for name in TINY])
def test_round_trip(name: str, tmp_path: Path) -> None:
    evaluation = tiny(name)
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert_same(again, evaluation)
    again.write_parquet(tmp_path / "again")
    assert_same(apf.read_evaluation(tmp_path / "again"), evaluation)
    for table in ("images", "categories", "annotations", "detections", "summary", "metrics"):
        texts = [pl.read_parquet(tmp_path / folder / f"{table}.parquet") for folder in ("run", "again")]
        assert_frame_equal(*texts, check_exact=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@each_protocol
def test_slices_are_made_of_the_whole(name: str, tmp_path: Path) -> None:
    """A slice is the evaluation of its images alone."""
    evaluation = tiny(name)
    evaluation.write_parquet(tmp_path / "run")
    table = apf.read_evaluation(tmp_path / "run").by("weather")
    for weather in ("fog", "clear"):
        row = table.row(by_predicate=pl.col("weather") == weather, named=True)
        part = dict(evaluation.where(pl.col("weather") == weather).summary.rows())
        plain = [line.metric for line in headlines(evaluation.protocol) if not line.kind.table]
        assert {metric: row[metric] for metric in plain} == pytest.approx({m: part[m] for m in plain}, abs=1e-12)


QUERY = "SELECT outcome, count(*) AS n FROM matches WHERE area_range = 'all' AND iou_threshold = 0.5 GROUP BY ALL ORDER BY ALL"
# at a similarity of .5, all areas
COUNTS = {
    "coco": {"tp": 1, "fp": 1, "fn": 1},
    "coco segm": {"tp": 2},
    "coco keypoints": {"tp": 1, "fn": 1},
    "voc2007": {"tp": 1, "fn": 1, "ignored": 1},
    "voc2012": {"tp": 1, "fn": 1, "ignored": 1},
    "lvis": {"tp": 3, "fp": 1, "ignored": 2},
    "open_images": {"tp": 3, "fp": 1, "ignored": 1},
    "open_images_challenge": {"tp": 4, "fn": 1},
    "proposals": {"tp": 1, "fp": 1, "fn": 1},
    "dota": {"tp": 1, "fp": 1, "fn": 1},
    "activitynet": {"tp": 1},
    "crowdpose": {"tp": 2, "fn": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTS)
def test_sql(name: str, tmp_path: Path) -> None:
    evaluation = tiny(name)
    evaluation.write_parquet(tmp_path / "run")
    for each in (evaluation, apf.read_evaluation(tmp_path / "run")):
        assert dict(each.sql(QUERY).rows()) == COUNTS[name]
        assert each.sql("SELECT count(*) FROM matches").item() > 0
        assert each.sql("SELECT count(*) FROM annotations").item() == evaluation.dataset.annotations.height
    at_half = evaluation.matches(0.5)
    assert dict(at_half["outcome"].cast(pl.String).value_counts().rows()) == COUNTS[name]


LONGER = [pytest.param(name, marks=pytest.mark.slow) for name in ("coco segm", "lvis", "open_images")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["voc2007", "activitynet", *LONGER])
def test_database(name: str, tmp_path: Path) -> None:
    evaluation = tiny(name)
    evaluation.write_duckdb(tmp_path / "run.duckdb")
    with duckdb.connect(str(tmp_path / "run.duckdb")) as connection:
        counts = connection.sql(QUERY).fetchall()
        assert connection.sql("FROM summary").fetchall() == evaluation.summary.rows()
        limits = connection.sql("SELECT DISTINCT max_detections FROM metrics ORDER BY ALL").fetchall()
    assert dict(counts) == dict(evaluation.sql(QUERY).rows())
    assert limits == [(limit,) for limit in evaluation.protocol.max_detections]


@pytest.mark.slow
@each_protocol
def test_html_and_other_tables(name: str) -> None:
    evaluation = tiny(name)
    page = evaluation._repr_html_()
    if evaluation.protocol.tables:  # tests/evaluation/test_pivot.py looks at their numbers
        assert "<table>" in page
    else:
        assert all(metric in page for metric in evaluation.summary["metric"])
        thresholds = evaluation.protocol.iou_thresholds
        several = "{:.2f}:{:.2f}".format(*sorted(abs(end) for end in (thresholds[0], thresholds[-1])))
        own = several if len(thresholds) > 1 else "0.70" if evaluation.protocol.category_thresholds else "0.50"
        assert f"<td>{own}</td>" in page
        assert ("<th>part</th>" in page) == bool(evaluation.protocol.parts)
        assert all(f"<td>{part.column}={part.name.lstrip('_')}</td>" in page for part in evaluation.protocol.parts)
    assert f"protocol={evaluation.protocol.name}" in repr(evaluation)
    at = evaluation.protocol.usual_threshold
    outcomes = evaluation.matches(at).filter(pl.col("outcome").is_in(["tp", "fp"]))
    if evaluation.protocol.has_precision:
        assert evaluation.curves(at).height == outcomes.height
    per_image = evaluation.per_image(at)
    assert per_image["image_id"].sort().to_list() == [image["id"] for image in TINY[name][2]["images"]]
    assert per_image.select(pl.col("tp", "fp").sum()).row(0) == tuple(
        (outcomes["outcome"] == which).sum() for which in ("tp", "fp")
    )


@pytest.mark.slow
def test_what_is_not_judged_is_not_there(tmp_path: Path) -> None:
    evaluation = tiny("lvis")
    evaluation.write_parquet(tmp_path / "run")
    for each in (evaluation, apf.read_evaluation(tmp_path / "run")):
        assert each.detections["detection_id"].to_list() == [1, 2, 3, 5, 6, 7]
        assert each.detections.filter("ignore")["detection_id"].to_list() == [2, 3]  # where they are not matched
        assert each.dataset.images["not_exhaustive_category_ids"].to_list() == [[], [2]]
        outcomes = each.matches(0.5).drop_nulls("detection_id").select("detection_id", "outcome").sort("detection_id").rows()
        assert outcomes == [(1, "tp"), (2, "ignored"), (3, "tp"), (5, "fp"), (6, "tp"), (7, "ignored")]


@pytest.mark.slow
def test_annotations_are_expanded_once(tmp_path: Path) -> None:
    evaluation = tiny("open_images")
    rows = [(11, 2, None), (12, 2, None), (13, 3, None), (14, 1, 11), (15, 1, 12)]
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    again.write_parquet(tmp_path / "again")
    for each in (evaluation, again, apf.read_evaluation(tmp_path / "again")):
        shown = each.dataset.annotations.select("annotation_id", "category_id", "expanded_from")
        assert shown.rows() == rows
        assert each.dataset.categories["parent_ids"].to_list() == [[], [1], []]
    assert evaluation.where([1]).dataset.annotations["annotation_id"].to_list() == [11, 12, 14, 15]


def test_what_was_expanded_is_not_expanded_again() -> None:
    """The data of an evaluation is as good as that of the files."""
    evaluation = tiny("open_images")
    again = apf.evaluate(evaluation.dataset, evaluation.detections, "open_images")
    assert again.summary.rows() == evaluation.summary.rows()
    assert again.dataset.annotations.rows() == evaluation.dataset.annotations.rows()


@pytest.mark.slow
@each_protocol
def test_one_data_set_for_several_evaluations(name: str) -> None:
    protocol, options, truth, results, _ = TINY[name]
    dataset, detections = apf.read_coco(truth), apf.read_coco_results(results)
    before = {table: getattr(dataset, table).clone() for table in ("images", "categories", "annotations")}
    for _ in range(2):
        assert_frame_equal(apf.evaluate(dataset, detections, protocol, **options).summary, tiny(name).summary, check_exact=True)
    for table, frame in before.items():
        assert_frame_equal(getattr(dataset, table), frame, check_exact=True)


# name -> boxes and areas of the annotations and the detections, by hand
MADE = {
    "coco segm": ([(0, 0, 40, 40, 1600)] * 2, [(0, 0, 40, 40, 1600), (0, 0, 40, 25, 1000)]),
    "coco keypoints": ([(0, 0, 40, 60, 1600)] * 3, [(0, 0, 16, 32, 512)]),
    "dota": ([(0, 0, 40, 40, 800)] * 3, [(20 - 200**0.5, 20 - 200**0.5, 800**0.5, 800**0.5, 800), (50, 50, 40, 40, 1600)]),
    "activitynet": ([(0, 0, 16, 1, 16)], [(0, 0, 13, 1, 13)]),
    "crowdpose": ([(0, 0, 40, 60, 2400)] * 3, [(0, 0, 13, 26, 338)] * 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_boxes_that_were_made_stay_with_their_areas(name: str, tmp_path: Path) -> None:
    evaluation = tiny(name)
    evaluation.write_parquet(tmp_path / "run")
    columns = ["x", "y", "width", "height", "area"]
    for each in (evaluation, apf.read_evaluation(tmp_path / "run")):
        for table, expected in zip((each.dataset.annotations, each.detections), MADE[name], strict=True):
            assert [value for row in table.select(columns).rows() for value in row] == pytest.approx(
                [value for row in expected for value in row]
            )


# ---- a similarity of one's own


def nearness(_: pl.DataFrame) -> pl.Expr:
    return 1 / (1 + (pl.col("x") - pl.col("x_right")).abs())


@pytest.mark.slow
def test_a_function_is_not_stored_but_its_numbers_are(tmp_path: Path) -> None:
    similarity = apf.similarity.UserSimilarity(nearness, "nearness")
    evaluation = apf.evaluate(ONE_OF_TWO, ONE_HIT, similarity=similarity)
    assert evaluation.protocol.similarity == similarity
    assert str(evaluation).splitlines()[-1] == " not COCO as published: other similarity"
    assert "compares    bbox: nearness" in str(evaluation.protocol)
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    for table in ("summary", "metrics", "pairs", "assignments"):
        assert_frame_equal(getattr(again, table), getattr(evaluation, table), check_exact=True)
    assert str(again) == str(evaluation)
    assert "compares    bbox: nearness" in str(again.protocol)
    assert again.sql("SELECT value FROM summary WHERE metric = 'AP'").item() == evaluation.summary["value"][0]
    for compute in (again.matches, lambda: again.by("weather"), lambda: again.where([1]).summary, again.arrays):
        with pytest.raises(ParameterError, match=r"^nearness: the function of this similarity was not stored with the evaluat"):
            compute()


def test_interpolated_is_stored_by_name() -> None:
    assert apf.VOC2012.as_dict()["metrics"][0]["definition"] == {"definition": "interpolated"}
    assert apf.Protocol.from_dict(apf.VOC2012.as_dict()).definition == Interpolated()


def test_a_protocol_in_a_notebook_is_a_table_of_its_rules() -> None:
    page = apf.Protocol("<b>mine", "me & you")._repr_html_()
    assert page.startswith("<p>&lt;b&gt;mine: me &amp; you</p><table><thead>")
    shown = apf.COCO._repr_html_()
    for line in str(apf.COCO).splitlines()[2:]:
        rule, words = line[:12].strip(), line[12:]
        assert f">{rule}</td>" in shown and f">{html.escape(words)}</td>" in shown
