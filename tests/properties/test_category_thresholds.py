"""One threshold for each category: the numbers of a category are those of it alone, evaluated at its own threshold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.matching.matchers import MATCHERS
from tests.cli.test_command import command
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}Warning")
    for name in ("NoAnnotations", "NothingMatches", "MissedCategory")
]

POLICIES_WITH_THRESHOLDS = [name for name in OF_LISTS if MATCHERS[name].wants not in ("nearest", "crowds")]


def at_own(case: Case, own: dict[str, float], **options: Any) -> apf.Evaluation:
    return apf.evaluate(case.truth, case.results, **options, iou_thresholds=own)


def names(case: Case) -> list[str]:
    return [row["name"] for row in case.truth["categories"]]


@half_as_often
@given(
    cases(), st.sampled_from(POLICIES_WITH_THRESHOLDS), st.lists(st.sampled_from([0.1, 0.5, 0.75, 1.0]), min_size=4, max_size=4)
)
def test_a_category_is_as_it_is_alone(case: Case, matching: str, thresholds: list[float]) -> None:
    own = dict(zip(names(case), thresholds, strict=False))
    options: dict[str, Any] = {"matching": matching, "area_ranges": {"small": (0, 1023)}}
    evaluation = at_own(case, {name.upper(): threshold for name, threshold in own.items()}, **options)
    lowest = min(own.values())
    assert evaluation.protocol.iou_thresholds == (lowest,)
    for name, threshold in own.items():
        one = apf.evaluate(case.truth, case.results, **options, categories=[name], iou_thresholds=threshold)
        category = one.metrics["category_id"][0]
        for table in ("metrics", "matches", "curves", "thresholds"):
            both = [getattr(each, table) for each in (evaluation, one)]
            mine, alone = both if table == "metrics" else [call() for call in both]
            mine = mine.filter(pl.col("category_id") == category)
            assert mine["iou_threshold"].unique().to_list() in ([], [lowest])
            left_out = [column for column in ("match_id", "iou_threshold") if column in mine.columns]
            assert_frame_equal(mine.drop(left_out), alone.drop(left_out))


@half_as_often
@given(cases(), st.lists(st.sampled_from([0.3, 0.5, 0.9]), min_size=4, max_size=4), st.sampled_from(["summary", "by", "where"]))
def test_equal_thresholds_are_one(case: Case, thresholds: list[float], question: str) -> None:
    """With the same threshold everywhere, all numbers are those of the one threshold, errors and slices included."""
    one, own = thresholds[0], dict.fromkeys(names(case), thresholds[0])
    both = [at_own(case, own), apf.evaluate(case.truth, case.results, iou_thresholds=one)]
    if question == "where":
        both = [each.where(pl.col("image_id") == case.truth["images"][0]["id"]) for each in both]
    first, second = both
    shared = second.summary.filter(pl.col("metric").is_in(first.summary["metric"].implode()))
    assert first.summary.equals(shared) and first.summary.height < second.summary.height
    assert first.errors(one).equals(second.errors(one))
    assert first.confusion(one).equals(second.confusion(one))
    assert first.label_errors(one).equals(second.label_errors(one))
    assert first.lrp(one).equals(second.lrp(one))
    if question == "by":
        for key in ("image_id", "area"):
            slices = first.by(key)
            assert slices.equals(second.by(key).select(slices.columns))


BOXES: dict[str, list[dict[str, Any]]] = {
    "images": [{"id": 1}],
    "categories": [{"id": 1, "name": "Car"}, {"id": 2, "name": "Pedestrian"}],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]},
        {"id": 2, "image_id": 1, "category_id": 2, "bbox": [50, 0, 10, 10]},
    ],
}
FOUND = [  # each covers .6 of what it is about
    {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [0, 0, 10, 6]},
    {"image_id": 1, "category_id": 2, "score": 0.8, "bbox": [50, 0, 10, 6]},
]
OWN = {"Car": 0.7, "pedestrian": 0.5}


def test_by_hand() -> None:
    evaluation = apf.evaluate(BOXES, FOUND, iou_thresholds=OWN)
    assert evaluation.by("name")["AP"].round(9).to_list() == [0, 1]
    assert evaluation.matches()["outcome"].to_list() == ["fp", "tp", "fn"]
    assert evaluation.pairs.height == 1  # those that can match
    errors = evaluation.errors(0.5)
    assert errors.select("error", "annotation_id", "similarity").rows() == [("loc", 1, 0.6)]
    loss = evaluation.thresholds()["lrp_loc"].to_list(), evaluation.thresholds()["lrp"].to_list()
    assert loss == ([None, pytest.approx(0.4)], [1.0, pytest.approx(0.8)])


def test_a_mistaken_category_reaches_the_annotations_threshold() -> None:
    swapped = [row | {"category_id": 3 - row["category_id"]} for row in FOUND]
    evaluation = apf.evaluate(BOXES, swapped, iou_thresholds=OWN)
    assert evaluation.errors(0.5).filter(pl.col("detection_id").is_not_null())["error"].to_list() == ["cls", "both"]
    pairs = evaluation.confusion_pairs(0.5).drop_nulls(["detection_id", "annotation_id"])
    assert pairs.select("detection_id", "annotation_id").rows() == [(2, 2)]


def test_described_and_printed() -> None:
    protocol = apf.COCO.with_options(iou_thresholds=OWN)
    assert "thresholds  similarity of at least 0.7 (Car), 0.5 (pedestrian)\n" in str(protocol)
    printed = str(apf.evaluate(BOXES, FOUND, protocol))
    assert "@[ IoU=0.50:0.70 | area=   all" in printed
    assert apf.Protocol.from_dict(json.loads(json.dumps(protocol.as_dict()))) == protocol
    assert protocol.lines == ("AP", "AP{area}", "AR{limit}", "AR{area}")  # AP50 would be that of no category's threshold
    assert protocol.with_options(iou_thresholds=[0.5, 0.75]).category_thresholds == ()
    distances = apf.COCO.with_options(similarity=apf.similarity.CentreDistance(), iou_thresholds=[-4, -0.5])
    assert "thresholds  distance of at most 0.5, 4 m; tables show it as a negative similarity\n" in str(distances)


def test_stored_and_read(tmp_path: Path) -> None:
    evaluation = apf.evaluate(BOXES, FOUND, iou_thresholds=OWN)
    evaluation.write_parquet(tmp_path / "run", matches=[0.5])
    again = apf.read_evaluation(tmp_path / "run")
    assert again.protocol == evaluation.protocol
    assert again.summary.equals(evaluation.summary) and again.errors(0.5).equals(evaluation.errors(0.5))
    assert again.matches().equals(evaluation.matches())
    assert again.where(pl.col("image_id") == 1).summary.equals(evaluation.summary)


def test_in_shards(tmp_path: Path) -> None:
    apf.write_shards(BOXES, FOUND, tmp_path / "shards", n=1)
    parts = apf.evaluate_shards(tmp_path / "shards", iou_thresholds=OWN)
    assert parts.summary.equals(apf.evaluate(BOXES, FOUND, iou_thresholds=OWN).summary)


def test_errors_in_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`errors` and `confusion` of a stored evaluation go by its own thresholds."""
    apf.evaluate(BOXES, FOUND, iou_thresholds=OWN).write_parquet(tmp_path / "run")
    code, out, _ = command(capsys, monkeypatch, "errors", str(tmp_path / "run"))
    assert code == 0 and out.startswith("AP at IoU 0.5 to 0.7 by category: 0.500\n")
    code, out, _ = command(capsys, monkeypatch, "confusion", str(tmp_path / "run"))
    assert code == 0 and out.startswith("At IoU 0.5 to 0.7 by category, all scores: 1 ")


def test_intervals_and_comparison() -> None:
    many: dict[str, list[dict[str, Any]]] = {"images": [], "categories": BOXES["categories"], "annotations": []}
    detections: list[dict[str, Any]] = []
    for image in range(1, 31):
        many["images"].append({"id": image})
        rows = [row | {"id": 2 * image + row["id"], "image_id": image} for row in BOXES["annotations"]]
        many["annotations"] += rows
        detections += [row | {"image_id": image, "score": row["score"] - image / 100} for row in FOUND]
    evaluation = apf.evaluate(many, detections, iou_thresholds=OWN)
    interval = evaluation.intervals(n_resamples=200).filter(pl.col("metric") == "AP").row(0, named=True)
    assert interval["estimate"] == pytest.approx(0.5) and interval["low"] == pytest.approx(0.5)
    low = apf.evaluate(many, detections, iou_thresholds=0.5)
    with pytest.raises(apf.exceptions.NotComparableError, match=r"category_thresholds \(\(.Car., 0.7\), "):
        evaluation.compare(low)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"Car": 0.7}, r"iou_thresholds has no threshold for 'Pedestrian'; there are Car; add them, or name the others in cat"),
        ({"Car": 0.7, "Pedestrian": 1.2}, r"iou_thresholds must lie in \(0, 1\] and increase, got 0.7, 1.2"),
        ({"Car": 0.7, "Pedestrian": "half"}, r"iou_thresholds has the wrong type .*half"),
        ({"Car": 0.7, 2: 0.5}, r"iou_thresholds has the wrong type"),
        ({}, r"iou_thresholds must lie in \(0, 1\] and increase, got none"),
    ],
)
def test_wrong_thresholds(thresholds: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        apf.evaluate(BOXES, FOUND, iou_thresholds=thresholds)


def test_pooled_categories_have_one_threshold() -> None:
    with pytest.raises(ParameterError, match=r"^iou_thresholds must be numbers where categories are pooled, not one for each"):
        apf.evaluate(BOXES, FOUND, iou_thresholds=OWN, agnostic=True)
    alone = apf.evaluate(BOXES, FOUND, iou_thresholds={"Car": 0.5}, categories=["Car"])
    assert alone.summary["value"][0] == pytest.approx(1)
