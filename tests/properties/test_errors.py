"""Errors and their impact: the sums hold for every protocol and policy, and on boxes all of it is that of plain loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apframe as apf
from apframe.evaluation.diagnose.error_kinds import OF_DETECTIONS
from tests.parity.families import FAMILIES as SCENES
from tests.parity.families import scenes
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often
from tests.protocols.generated import Maker, Row, Truth, box_iou, boxes, masks, people, tables

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in ("NoAnnotationsWarning", "NothingMatchesWarning", "MissingColumnWarning", "UnitWarning")
]


def assert_sums(evaluation: apf.Evaluation, threshold: float | None = None) -> None:
    """Every false positive and missed annotation is counted once, and the impact of the categories is that of all."""
    errors, matches = evaluation.errors(threshold), evaluation.matches(threshold, evaluation.protocol.headline_range)
    of = {name: matches.filter(outcome=name) for name in ("tp", "fp", "fn")}
    assert errors["detection_id"].drop_nulls().sort().to_list() == of["fp"]["detection_id"].sort().to_list()
    assert (errors["error"] == "miss").to_list() == errors["detection_id"].is_null().to_list()
    missed = set(of["fn"]["annotation_id"])
    targeted = set(errors.filter(pl.col("error").is_in(["cls", "loc"]))["annotation_id"]) & missed
    without = errors.filter(error="miss")["annotation_id"].to_list()
    assert len(without) + len(targeted) == len(missed)
    assert {*without, *targeted} == missed
    # one error is for each of the annotations that can be won back
    fixable = errors.filter(pl.col("is_fixable"))
    assert sorted(fixable["annotation_id"]) == sorted(targeted)
    assert set(fixable["error"]) <= {"cls", "loc"}

    impact = evaluation.error_impact(threshold)
    mean = {row["error"]: row for row in impact.filter(pl.col("category_id").is_null()).rows(named=True)}
    counts = Counter(errors["error"])
    assert [mean[kind]["n"] for kind in (*OF_DETECTIONS, "miss")] == [counts[kind] for kind in (*OF_DETECTIONS, "miss")]
    assert (mean["fp"]["n"], mean["fn"]["n"]) == (of["fp"].height, of["fn"].height)
    for kind in ("both", "dupe", "bkg", "fp"):  # leaving out false positives costs nothing
        assert impact.filter(pl.col("delta_ap") < -1e-12, error=kind).is_empty()
    metrics = evaluation.metrics.filter(
        iou_threshold=errors["iou_threshold"][0] if errors.height else mean["fp"]["iou_threshold"],
        area_range=evaluation.protocol.headline_range,
    ).filter(pl.col("max_detections").eq_missing(pl.lit(evaluation.protocol.max_detections[-1], pl.Int64)))
    if evaluation.protocol.agnostic:
        assert impact["category_id"].null_count() == impact.height == 8
        assert impact["ap"].to_list() == metrics["ap"].to_list() * 8
        return
    of_categories = impact.filter(pl.col("category_id").is_not_null())
    assert of_categories.filter(error="fp").select("category_id", "ap").equals(metrics.select("category_id", "ap"))
    for kind, row in mean.items():
        each = of_categories.filter(error=kind)
        assert each["n"].sum() == row["n"]
        rises = each["delta_ap"].drop_nulls()
        assert row["delta_ap"] == (pytest.approx(rises.mean(), abs=1e-12) if len(rises) else None)


@half_as_often
@given(
    cases(), st.sampled_from(OF_LISTS), st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from([[1], [2, 100], [None]]),
    st.booleans(),
)  # fmt: skip
def test_sums_of_boxes(case: Case, matching: str, threshold: float, limits: list[Any], agnostic: bool) -> None:
    options: dict[str, Any] = {"matching": matching, "max_detections": limits, "agnostic": agnostic}
    assert_sums(apf.evaluate(case.truth, case.results, iou_thresholds=[threshold, 1.0][: 1 + (threshold < 1)], **options))


def voc(data: tuple[Truth, list[Row]]) -> apf.Evaluation:
    return apf.evaluate(*tables(*data, "ignore"), apf.VOC2012)


def lvis(data: tuple[Truth, list[Row]]) -> apf.Evaluation:
    truth, results = data
    for number, image in enumerate(truth["images"]):
        image |= {"neg_category_ids": [1 + number % 3], "not_exhaustive_category_ids": [1 + number % 2]}
    return apf.evaluate(truth, results, apf.LVIS)


def open_images(protocol: apf.Protocol, data: tuple[Truth, list[Row]]) -> apf.Evaluation:
    truth, results = data
    annotations = [row | {"is_crowd": bool(row["iscrowd"])} for row in truth["annotations"]]
    dataset, detections = tables(truth | {"annotations": annotations}, results, "is_crowd")
    above = pl.Series("parent_ids", [[], [1], [1]], dtype=pl.List(pl.Int64))  # of categories 1, 2 and 3
    dataset = apf.Dataset(dataset.images, dataset.categories.sort("category_id").with_columns(above), dataset.annotations)
    return apf.evaluate(dataset, detections, protocol)


def nearness(data: tuple[Truth, list[Row]]) -> apf.Evaluation:
    return apf.evaluate(*data, similarity=lambda _: 1 / (1 + (pl.col("x") - pl.col("x_right")).abs() / 10))


FAMILIES: dict[str, tuple[Maker, Callable[[tuple[Truth, list[Row]]], apf.Evaluation]]] = {
    "masks": (masks, lambda data: apf.evaluate(*data, iou_type="segm")),
    "boundaries": (masks, lambda data: apf.evaluate(*data, iou_type="boundary")),
    "keypoints": (people, lambda data: apf.evaluate(*data, iou_type="keypoints")),
    "VOC": (boxes, voc),
    "LVIS": (boxes, lvis),
    "Open Images": (boxes, lambda data: open_images(apf.OPEN_IMAGES, data)),
    "its challenge": (boxes, lambda data: open_images(apf.OPEN_IMAGES_CHALLENGE, data)),
    "proposals": (boxes, lambda data: apf.evaluate(*data, apf.PROPOSALS)),
    "a function": (boxes, nearness),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [3, 11])
def test_sums_of_every_family(family: str, seed: int) -> None:
    make, evaluate = FAMILIES[family]
    assert_sums(evaluate(make(np.random.default_rng(seed), 8)))


@pytest.mark.parametrize("family", SCENES)
@settings(max_examples=max(settings().max_examples // 4, 1))
@given(data=st.data())
def test_sums_of_every_family_and_policy(family: str, data: st.DataObject) -> None:
    """The scenes come with every matching policy that the protocol allows, and with and without max_detections."""
    if family == "rotated":
        pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")
    assert_sums(data.draw(scenes(family)).evaluate(), data.draw(st.sampled_from([0.3, 0.5])))


def test_sums_of_rotated_boxes() -> None:
    pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")
    from tests.benchmarks.aerial.dota import test_protocol as test_dota

    truth, results = test_dota.rotated(np.random.default_rng(5), 8)
    dataset = test_dota.dataset(truth, test_dota.by_angle(truth["annotations"]))
    assert_sums(apf.evaluate(dataset, test_dota.by_angle(results), apf.DOTA))


def test_sums_of_intervals() -> None:
    from tests.benchmarks.video.activitynet.test_protocol import evaluate, videos

    assert_sums(evaluate(*videos(np.random.default_rng(5), 8)), 0.75)


@half_as_often
@given(cases(), st.sampled_from(OF_LISTS))
def test_ground_truth_as_detections_has_no_errors(case: Case, matching: str) -> None:
    # of boxes alike in one cell it is by chance which is found; boxes without area overlap nothing; crowds are left out
    ordinary = [
        row for row in case.truth["annotations"] if row["bbox"][2] > 0 and row["bbox"][3] > 0 and not row.get("iscrowd")
    ]
    rows = {(row["image_id"], row["category_id"], *row["bbox"]): row for row in ordinary}
    names = ("id", "image_id", "category_id", "bbox")  # without an area, which may be beyond what counts
    rows = {key: {name: row[name] for name in names} for key, row in rows.items()}
    detections = [row | {"score": 1.0} for row in rows.values()]
    evaluation = apf.evaluate(
        case.truth | {"annotations": list(rows.values())},
        detections,
        matching=matching,
        max_detections=[None],
        iou_thresholds=[0.9],
    )
    assert evaluation.errors(0.9).is_empty()
    assert set(evaluation.error_impact(0.9)["n"]) <= {0}


@half_as_often
@given(
    cases(ties=False),
    st.sampled_from([name for name in OF_LISTS if name != "file_order"]),  # which goes by the order of annotations
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter(case: Case, matching: str, random: Any) -> None:
    order = list(range(len(case.results)))
    random.shuffle(order)
    shuffled = {name: random.sample(rows, len(rows)) for name, rows in case.truth.items()}
    detections = [row | {"id": number} for number, row in enumerate(case.results, 1)]
    one = apf.evaluate(case.truth, detections, matching=matching)
    other = apf.evaluate(shuffled, [detections[place] for place in order], matching=matching)
    columns = ["image_id", "category_id", "score", "error", "annotation_id", "same", "other", "is_fixable"]
    order_by = ["error", "image_id", "category_id", "score", "annotation_id"]
    rows = [evaluation.errors().select(columns).sort(order_by) for evaluation in (one, other)]
    assert rows[0].equals(rows[1])
    assert one.error_impact().equals(other.error_impact())


# ---- plain loops


def as_rule_says(truth: Truth, results: list[Row], matches: pl.DataFrame) -> dict[int, tuple[str, int | None, bool]]:
    """The error of each false positive by number: its name, what it is about, and whether it is fixable; DIAGNOSIS.md 1.2."""
    outcome = {row["detection_id"]: row for row in matches.drop_nulls("detection_id").rows(named=True)}
    found_by = {row["annotation_id"] for row in outcome.values() if row["outcome"] == "tp"}
    errors: dict[int, tuple[str, int | None, bool]] = {}
    for number, row in enumerate(results, 1):
        if number not in outcome or outcome[number]["outcome"] != "fp":
            continue
        same: tuple[float, int | None] = (0.0, None)
        other: tuple[float, int | None] = (0.0, None)
        matched: tuple[float, int | None] = (0.0, None)
        for annotation in truth["annotations"]:
            if annotation["image_id"] != row["image_id"] or annotation["iscrowd"]:
                continue
            iou = box_iou(row["bbox"], annotation["bbox"])
            if annotation["category_id"] == row["category_id"]:
                same = max(same, (iou, annotation["id"]), key=lambda pair: pair[0])
                if iou >= 0.5 and annotation["id"] in found_by:
                    matched = max(matched, (iou, annotation["id"]), key=lambda pair: pair[0])
            else:
                other = max(other, (iou, annotation["id"]), key=lambda pair: pair[0])
        if 0.1 <= same[0] <= 0.5:
            errors[number] = ("loc", same[1], False)
        elif other[0] >= 0.5:
            errors[number] = ("cls", other[1], False)
        elif matched[1] is not None:
            errors[number] = ("dupe", matched[1], False)
        elif max(same[0], other[0]) <= 0.1:
            errors[number] = ("bkg", None, False)
        else:
            errors[number] = ("both", other[1], False)
    claimed = set(found_by)
    for number in sorted(errors, key=lambda number: (-results[number - 1]["score"], number)):
        kind, target, _ = errors[number]
        if kind in ("loc", "cls") and target not in claimed:
            claimed.add(target)
            errors[number] = (kind, target, True)
    return errors


def average_precision(flags: list[bool], n_positives: int) -> float:
    """COCO's, of the true and false positives of a list; 1 for nothing found of nothing."""
    if not n_positives:
        return float(not flags)
    precision = [sum(flags[: place + 1]) / (place + 1) for place in range(len(flags))]
    recall = [sum(flags[: place + 1]) / n_positives for place in range(len(flags))]
    levels = np.linspace(0, 1, 101)
    return sum(max((p for p, r in zip(precision, recall, strict=True) if r >= level), default=0.0) for level in levels) / 101


def impact_by_loops(truth: Truth, results: list[Row], matches: pl.DataFrame) -> dict[tuple[int, str], float]:
    """By how much the AP of each category with positives rises, by category and kind; DIAGNOSIS.md 1.3."""
    errors = as_rule_says(truth, results, matches)
    outcome = dict(matches.drop_nulls("detection_id").select("detection_id", "outcome").rows())
    counted = [(number, row) for number, row in enumerate(results, 1) if outcome.get(number) in ("tp", "fp")]
    missed = set(matches.filter(outcome="fn")["annotation_id"])
    targeted = {target for kind, target, _ in errors.values() if kind in ("loc", "cls")}
    category_of = {row["id"]: row["category_id"] for row in truth["annotations"]}
    positives = Counter(row["category_id"] for row in truth["annotations"] if not row["iscrowd"])
    rises = {}
    for kind in (None, *OF_DETECTIONS, "miss", "fp", "fn"):
        lists: dict[int, list[tuple[float, int, int, bool]]] = {category["id"]: [] for category in truth["categories"]}
        left = Counter(positives)
        for number, row in counted:
            name, target, is_fixable = errors.get(number, ("tp", None, False))
            at = (-row["score"], row["image_id"], number)
            if name == "tp":
                lists[row["category_id"]].append((*at, True))
            elif kind == name and is_fixable and target is not None:
                lists[category_of[target]].append((*at, True))
            elif kind not in (name, "fp"):
                lists[row["category_id"]].append((*at, False))
        if kind in ("miss", "fn"):
            left.subtract(category_of[key] for key in missed if kind == "fn" or key not in targeted)
        for category, rows in lists.items():
            if positives[category]:
                ap = average_precision([flag for *_, flag in sorted(rows)], left[category])
                rises[category, str(kind)] = ap if kind is None else ap - rises[category, "None"]
    return rises


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_boxes_are_as_plain_loops_say(seed: int, n_images: int) -> None:
    random = np.random.default_rng(seed)
    truth, results = boxes(random, n_images)
    truth["annotations"] = [row | {"area": 100.0} for row in truth["annotations"]]
    evaluation = apf.evaluate(truth, results)
    matches = evaluation.matches(0.5)
    expected = as_rule_says(truth, results, matches)
    errors = evaluation.errors().drop_nulls("detection_id")
    diagnoses = {row[0]: row[1:] for row in errors.select("detection_id", "error", "annotation_id", "is_fixable").rows()}
    assert diagnoses == expected
    rises = evaluation.error_impact().drop_nulls(["category_id", "delta_ap"])
    by_loops = {key: rise for key, rise in impact_by_loops(truth, results, matches).items() if key[1] != "None"}
    assert {row[:2]: row[2] for row in rises.select("category_id", "error", "delta_ap").rows()} == pytest.approx(by_loops)
