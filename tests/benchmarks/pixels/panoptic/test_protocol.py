"""COCO_PANOPTIC: the cases of the kit, the rules as a plain loop on generated sets, and tables without scores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError
from tests.benchmarks.pixels.panoptic.panoptic_maps import Side, evaluate, generated, means, quality
from tests.protocols.generated import on_many_sets

CAR, PERSON, ROAD, SKY = 1, 2, 3, 4
MEANS = ("PQ", "SQ", "RQ")


def rows(top: int, bottom: int, left: int = 0, right: int = 10) -> tuple[slice, slice]:
    return slice(top, bottom), slice(left, right)


def of(*regions: tuple[Any, ...], **areas: int) -> Side:
    """A 10 x 10 label map of categories, where they are, and maybe whether it is a crowd; the later ones are on top."""
    side = Side(np.zeros((10, 10), dtype=int))
    for number, (_, where, *_) in enumerate(regions, 1):
        for each in where if isinstance(where, list) else [where]:
            side.pixels[each] = number
    for number, (category, _, *crowd) in enumerate(regions, 1):
        area = areas.get(f"area_{category}", int((side.pixels == number).sum()))
        side.segments.append({"id": number, "category_id": category, "iscrowd": int(any(crowd)), "area": area})
    return side


A = of((ROAD, rows(0, 10)), (CAR, rows(0, 4))), of((ROAD, rows(0, 10)), (CAR, rows(0, 3)))
CASES = {
    "A": (*A, {CAR: (0.75, 1, 0, 0), ROAD: (6 / 7, 1, 0, 0)}, (0.803571429, 0.803571429, 1, 2)),
    "B": (
        of((ROAD, rows(4, 10)), (CAR, rows(0, 4, 0, 5))), of((ROAD, rows(4, 10)), (CAR, rows(0, 4))),
        {CAR: (1, 1, 0, 0), ROAD: (1, 1, 0, 0)}, (1, 1, 1, 2),
    ),
    "C": (
        of((ROAD, rows(0, 10)), (CAR, rows(0, 2))), of((ROAD, rows(0, 10)), (CAR, rows(0, 4))),
        {CAR: (0, 0, 1, 1), ROAD: (0.75, 1, 0, 0)}, (0.375, 0.375, 0.5, 2),
    ),
    "D": (
        of((ROAD, rows(0, 10)), (CAR, rows(0, 2), True)),
        of((ROAD, rows(0, 10)), (PERSON, rows(1, 2)), (CAR, [rows(0, 1), rows(2, 3, 0, 9)])),
        {CAR: (0, 0, 0, 0), PERSON: (0, 0, 1, 0), ROAD: (0.8875, 1, 0, 0)}, (0.44375, 0.44375, 0.5, 2),
    ),
    "E": (
        of((ROAD, rows(0, 10)), (CAR, rows(0, 2), True), (CAR, rows(2, 4), True)),
        of((ROAD, rows(0, 10)), (CAR, rows(0, 2)), (CAR, rows(2, 4))),
        {CAR: (0, 0, 1, 0), ROAD: (1, 1, 0, 0)}, (0.5, 0.5, 0.5, 2),
    ),
    "F": (
        of((ROAD, rows(0, 10)), (CAR, rows(0, 4)), area_1=70), A[1],
        {CAR: (0, 0, 1, 1), ROAD: (6 / 7, 1, 0, 0)}, (0.428571429, 0.428571429, 0.5, 2),
    ),
    "G": (
        of((ROAD, rows(0, 10)), (CAR, rows(0, 5))), of((SKY, rows(5, 10)), (CAR, rows(0, 5))),
        {CAR: (1, 1, 0, 0), ROAD: (0, 0, 0, 1), SKY: (0, 0, 1, 0)}, (1 / 3, 1 / 3, 1 / 3, 3),
    ),
    "H": (
        of((ROAD, rows(2, 10)), (CAR, rows(0, 1), True)), of((ROAD, rows(4, 10)), (CAR, rows(0, 4))),
        {CAR: (0, 0, 1, 0), ROAD: (0.75, 1, 0, 0)}, (0.375, 0.375, 0.5, 2),
    ),
    "L": (
        of((ROAD, rows(2, 10)), (CAR, rows(0, 1), True)), of((ROAD, rows(3, 10)), (CAR, rows(0, 3))),
        {CAR: (0, 0, 0, 0), ROAD: (0.875, 1, 0, 0)}, (0.875, 0.875, 1, 1),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the ground truth lists another area:apframe.exceptions.SegmentsDifferWarning")  # F
@pytest.mark.parametrize("name", CASES)
def test_cases_of_the_kit(name: str, tmp_path: Path) -> None:
    truth, detections, expected, of_all = CASES[name]
    evaluation = evaluate(tmp_path, [(truth, detections)])
    assert of_summary(evaluation) == pytest.approx(of_all[:3], abs=1e-9)
    assert evaluation.by("isthing")["n_categories"].sum() == of_all[3]
    sums = {category: counts(evaluation.matches(0.5), category) for category in expected}
    assert {category: pytest.approx(values, abs=1e-9) for category, values in expected.items()} == sums
    in_loop = quality([(truth, detections)])
    assert means(in_loop) == pytest.approx(of_all, abs=1e-9)


def of_summary(evaluation: apf.Evaluation, part: str = "") -> list[Any]:
    summary = dict(evaluation.summary.rows())
    return [summary[f"{name}{part}"] for name in MEANS]


def counts(matches: pl.DataFrame, category: int) -> tuple[float, int, int, int]:
    """The sum of IoU, and the numbers of tp, fp, fn of a category, from the matches."""
    matches = matches.filter(category_id=category)
    n = dict(matches.group_by("outcome").len().rows())
    iou = matches.filter(outcome="tp")["similarity"].sum()
    return iou, *(n.get(outcome, 0) for outcome in ("tp", "fp", "fn"))  # type: ignore[return-value]


def by(evaluation: apf.Evaluation, *keys: str) -> dict[Any, list[Any]]:
    """PQ, SQ, RQ and the number of categories of each slice."""
    return {row[: len(keys)]: row[len(keys) :] for row in evaluation.by(*keys).select(*keys, *MEANS, "n_categories").rows()}


def exactly(sums: dict[int, list[float]], categories: tuple[int, ...] = (1, 2, 3, 4)) -> Any:
    expected = means(sums, categories)
    return (None, None, None, 0) if expected is None else pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@on_many_sets
@pytest.mark.parametrize("dilation", [None, 0.02])
def test_plain_loop_on_generated_sets(dilation: float | None, seeds: range, tmp_path: Path) -> None:
    """Every set, its things and stuff and each half of it, with all of them evaluated at once."""
    sets = [generated(seed) for seed in seeds]
    every = [pair for images in sets for pair in images]
    evaluation = evaluate(tmp_path, every, iou_type="panoptic" if dilation is None else "panoptic_boundary")
    of_set, of_part, of_half = (by(evaluation, "set", *further) for further in ((), ("isthing",), ("weather",)))
    matches = evaluation.matches(0.5).join(evaluation.dataset.images, on="image_id")
    matched = matches.partition_by("set", as_dict=True)
    for number, images in enumerate(sets):
        sums = quality(images, dilation=dilation)
        assert of_set[number,] == exactly(sums), number
        for is_thing, categories in ((1, (1, 2)), (0, (3, 4))):
            assert of_part[number, is_thing] == exactly(sums, categories), number
        for category in (1, 2, 3, 4):
            assert counts(matched.get((number,), matches.clear()), category) == pytest.approx(sums[category], abs=1e-9), number
        for weather, kept in (("wet", images[::2]), ("dry", images[1::2])):
            assert of_half[number, weather] == exactly(quality(kept, dilation=dilation)), number
    sums = quality(every, dilation=dilation)
    for part, categories in (("", (1, 2, 3, 4)), ("_things", (1, 2)), ("_stuff", (3, 4))):
        assert (*of_summary(evaluation, part), len(categories)) == exactly(sums, categories)


@pytest.mark.slow
def test_stored_and_read_again(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, generated(3))
    evaluation.write_parquet(tmp_path / "stored")
    for path in tmp_path.glob("*.png"):
        path.unlink()
    again = apf.read_evaluation(tmp_path / "stored")
    assert again.summary.equals(evaluation.summary)
    assert again.by("weather").equals(evaluation.by("weather"))
    assert again.sql("SELECT round(avg(pq), 9) AS pq FROM metrics").item() == pytest.approx(of_summary(evaluation)[0], abs=1e-8)


@pytest.mark.slow
def test_reports_leave_out_what_needs_scores(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, generated(3, n_images=24))
    written = apf.write_report(tmp_path / "report.html", evaluation, n_resamples=100).read_text()
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", written)
    assert [heading.split(" ")[0] for heading in headings] == ["How", "Where?", "Confusion", "How"]
    assert f"{of_summary(evaluation)[0]:.3f}" in written


@pytest.mark.slow
def test_stored_with_the_tables_that_need_no_scores(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, generated(3))
    evaluation.write_duckdb(tmp_path / "all.duckdb")
    evaluation.write_parquet(tmp_path / "stored", tables="confusion", matches=0.5)
    again = apf.read_evaluation(tmp_path / "stored")
    assert again.confusion(0.5).equals(evaluation.confusion(0.5))
    with pytest.raises(ParameterError, match="COCO_PANOPTIC does not rank detections by score, so it has no"):
        evaluation.write_parquet(tmp_path / "other", tables="lrp")


@pytest.mark.parametrize("iou_type", ["panoptic", "panoptic_boundary"])
def test_a_segment_that_is_listed_twice_is_an_error(iou_type: str, tmp_path: Path) -> None:
    truth, detections = of((ROAD, rows(0, 5)), (CAR, rows(5, 10))), of((ROAD, rows(0, 5)), (CAR, rows(5, 10)))
    truth.segments.insert(0, truth.segments[1] | {"category_id": PERSON})
    with pytest.raises(RowError, match=r"segment_id is not unique in its image for annotation_id 1, 3; keep one row of"):
        evaluate(tmp_path, [(truth, detections)], iou_type=iou_type)


@pytest.mark.slow
def test_boundaries_are_counted_where_they_are_missing(tmp_path: Path) -> None:
    evaluation = evaluate(tmp_path, generated(3))
    again = apf.evaluate(evaluation.dataset, evaluation.detections, apf.COCO_PANOPTIC, iou_type="panoptic_boundary")
    assert again.summary.equals(evaluate(tmp_path, generated(3), iou_type="panoptic_boundary").summary)
    with pytest.raises(ColumnError, match="no column label_map, in which pixels are counted"):
        detections = evaluation.detections.drop("label_map")
        apf.evaluate(evaluation.dataset, detections, apf.COCO_PANOPTIC, iou_type="panoptic_boundary")
