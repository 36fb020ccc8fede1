"""Visual Genome's relations: R@k and mR@k are those of loops over the rules of neural-motifs' sg_eval.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError
from tests.metrics.reading import under_weights
from tests.parity.reference import close
from tests.protocols.generated import joined_by_name, on_many_sets

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
Edges = tuple[float, float, float, float]
LIMITS = [1, 3, 7]
RELATIONS, CLASSES = ["riding", "wearing"], ["man", "horse"]
EDGES = ("x", "y", "width", "height")


def relation(image: Any, name: str, subject: tuple[str, Any], object_: tuple[str, Any], **more: Any) -> Row:
    row = {"image_id": image, "category_id": name}
    for side, (kind, box) in (("subject", subject), ("object", object_)):
        row |= {f"{side}_name": kind, **{f"{side}_{edge}": float(value) for edge, value in zip(EDGES, box, strict=True)}}
    return row | more


def sides(row: Row) -> list[Edges]:
    """Left, top, right, bottom of subject and object, the last pixels included."""
    made = []
    for side in ("subject", "object"):
        x, y, width, height = (row[f"{side}_{edge}"] for edge in EDGES)
        made.append((x, y, x + width, y + height))
    return made


def around(row: Row) -> Edges:
    one, other = sides(row)
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def iou(one: Edges, other: Edges) -> float:
    """`bbox_overlaps` with an added pixel."""
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def fits(found: Row, truth: Row, *, phrase: bool) -> bool:
    if any(found[key] != truth[key] for key in ("image_id", "category_id", "subject_name", "object_name")):
        return False
    if phrase:
        return iou(around(found), around(truth)) >= 0.5
    return all(iou(one, other) >= 0.5 for one, other in zip(sides(found), sides(truth), strict=True))


def recalls(data: Data, k: int, *, phrase: bool = False, of: str | None = None) -> list[float]:
    """The share of the relations of each image that its k best detections find; of one relation, if `of` names it."""
    truth, results = data
    shares = []
    for image in truth["images"]:
        own = [row for row in results if row["image_id"] == image["image_id"]]
        best = sorted(own, key=lambda row: -row["score"])[:k]  # stable
        wanted = [row for row in truth["annotations"] if row["image_id"] == image["image_id"]]
        wanted = [row for row in wanted if of in (None, row["category_id"])]
        if wanted:
            shares.append(sum(any(fits(row, each, phrase=phrase) for row in best) for each in wanted) / len(wanted))
    return shares


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def scenes(random: np.random.Generator, n_images: int) -> Data:
    """Relations between boxes that overlap, detections near them in which classes are mistaken, with many equal scores."""
    images = [{"image_id": f"i{key}", "place": "in" if key % 3 else "out"} for key in range(n_images)]
    annotations: list[Row] = []
    results: list[Row] = []

    def box() -> np.ndarray:
        return np.concatenate([random.integers(0, 12, 2), random.integers(4, 20, 2)])

    for image in images:
        for _ in range(random.integers(0, 6)):
            name, *kinds = random.choice(RELATIONS), random.choice(CLASSES), random.choice(CLASSES)
            boxes = [box(), box()]
            again = np.maximum(boxes[0] + random.integers(-1, 2, 4), 0)
            subjects = (boxes[0], *([again] if random.random() < 0.3 else []))
            annotations += [relation(image["image_id"], name, (kinds[0], each), (kinds[1], boxes[1])) for each in subjects]
            for _ in range(random.integers(0, 4)):
                near = [np.maximum(each + random.integers(-2, 3, 4), (0, 0, 0, 0)) for each in boxes]
                name = name if random.random() < 0.9 else random.choice(RELATIONS)
                score = float(random.integers(1, 6)) / 6
                results.append(relation(image["image_id"], name, (kinds[0], near[0]), (kinds[1], near[1]), score=score))
    return {"images": images, "annotations": annotations}, [results[place] for place in random.permutation(len(results))]


def evaluate(data: Data, protocol: str = "visual_genome", **options: Any) -> apf.Evaluation:
    truth, results = data
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": RELATIONS}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), protocol, **({"max_detections": LIMITS} | options))


@on_many_sets
def test_recall_equals_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    parts = {f"{seed:03}": scenes(np.random.default_rng(seed), 1 + seed % 6) for seed in seeds}
    data = joined_by_name(parts)
    assert len(evaluate(data).detections) - len(data[1]) > 20  # detections that find several relations
    for iou_type, phrase in (("relation", False), ("phrase", True)):
        found = evaluate(data, iou_type=iou_type).by("set")
        assert found["set"].to_list() == list(parts)
        for k in LIMITS:
            assert found[f"R@{k}"].to_list() == close([mean(recalls(part, k, phrase=phrase)) for part in parts.values()])
        found = evaluate(data, "visual_genome_mean", iou_type=iou_type).by("set")
        for k in LIMITS:
            of_each = [[mean(recalls(part, k, phrase=phrase, of=of)) for of in RELATIONS] for part in parts.values()]
            assert found[f"mR@{k}"].to_list() == close([mean([each for each in some if each is not None]) for some in of_each])


SMALL, FAR = (0, 0, 9, 9), (50, 0, 9, 9)
RIDING = relation(1, "riding", ("man", SMALL), ("horse", FAR))


def small(annotations: list[Row], results: list[Row]) -> Data:
    return {"images": [{"image_id": 1}, {"image_id": 2}], "annotations": annotations}, results


def test_one_detection_finds_several_relations() -> None:
    """Two that are the same but for a pixel; images without relations do not count."""
    near = relation(1, "riding", ("man", (1, 0, 9, 9)), ("horse", FAR))
    evaluation = evaluate(small([RIDING, near], [RIDING | {"score": 0.9}]), max_detections=[1])
    assert evaluation.summary.rows() == [("R@1", 1.0)]
    assert evaluation.matches()["outcome"].to_list() == ["tp", "tp"]
    assert evaluation.detections["expanded_from"].to_list() == [None, 1]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 1.0),
        ({"subject_name": "horse"}, 0.0),
        ({"category_id": "wearing"}, 0.0),
        ({"subject_width": 4.0}, 1.0),  # 5 of 10 pixels
        ({"subject_width": 3.0}, 0.0),
        ({"object_x": 60.0}, 0.0),
    ],
)
def test_classes_are_equal_and_both_boxes_fit(change: Row, value: float) -> None:
    evaluation = evaluate(small([RIDING], [RIDING | {"score": 0.5} | change]), max_detections=[1])
    assert evaluation.summary["value"].to_list() == [value]


def test_the_limit_is_over_all_relations_of_an_image() -> None:
    wearing = relation(1, "wearing", ("man", SMALL), ("horse", SMALL))
    data = small([RIDING, wearing], [RIDING | {"score": 0.5}, wearing | {"score": 0.9}])
    for protocol in ("visual_genome", "visual_genome_mean"):
        assert evaluate(data, protocol, max_detections=[1, 2]).summary["value"].to_list() == [0.5, 1.0]


def test_equal_scores_stay_in_the_order_of_the_input() -> None:
    false = RIDING | {"object_x": 0.0}
    for rows, value in (([RIDING, false], 1.0), ([false, RIDING], 0.0)):
        evaluation = evaluate(small([RIDING], [row | {"score": 0.5} for row in rows]), max_detections=[1])
        assert evaluation.summary["value"].to_list() == [value]


@pytest.mark.slow
def test_slices_stored_sets_and_updates(tmp_path: Path) -> None:
    data = scenes(np.random.default_rng(4), 14)
    for protocol in ("visual_genome", "visual_genome_mean"):
        whole = evaluate(data, protocol)
        whole.write_parquet(tmp_path / protocol)
        for each in (whole, apf.read_evaluation(tmp_path / protocol)):
            assert_frame_equal(each.summary, whole.summary)
            by = each.by("place")
            for place in ("in", "out"):
                images = [image for image in data[0]["images"] if image["place"] == place]
                part = {**data[0], "images": images}, data[1]
                own = each.where(pl.col("place") == place).summary
                assert by.filter(place=place).select(own["metric"].to_list()).row(0) == tuple(own["value"])
                if protocol == "visual_genome":
                    assert own["value"].to_list() == close([mean(recalls(part, k)) for k in LIMITS])
    by_name = evaluate(data, "visual_genome_mean").by("category_id")
    for name in RELATIONS:
        expected = close([mean(recalls(data, k, of=name)) for k in LIMITS])
        assert [*by_name.filter(category_id=name).select(f"mR@{k}" for k in LIMITS).row(0)] == expected
    evaluator = apf.Evaluator(evaluate(data).dataset, "visual_genome", max_detections=LIMITS)
    found = pl.DataFrame(data[1])
    for name in found["image_id"].unique().sort():
        evaluator.update(found.filter(pl.col("image_id") == name))
    assert_frame_equal(evaluator.compute().summary, evaluate(data).summary)


@pytest.mark.slow
def test_shards_have_the_same_numbers(tmp_path: Path) -> None:
    data = scenes(np.random.default_rng(6), 12)
    for protocol in ("visual_genome", "visual_genome_mean"):
        whole = evaluate(data, protocol)
        apf.write_shards(whole.dataset, pl.DataFrame(data[1]), tmp_path / protocol, n=3)
        again = apf.evaluate_shards(f"{tmp_path / protocol}/*", protocol=protocol, max_detections=LIMITS)
        assert_frame_equal(again.summary, whole.summary)
        assert_frame_equal(again.by("place"), whole.by("place"))


def test_weights_are_copies_of_images() -> None:
    random = np.random.default_rng(5)
    data = scenes(random, 6)
    weights = random.integers(0, 4, (6, 5)).astype(float)
    found = under_weights(evaluate(data), "mean_recall", weights, limit=2)
    of_each = {row["image_id"]: recalls(({**data[0], "images": [row]}, data[1]), LIMITS[2]) for row in data[0]["images"]}
    for weighting in range(5):
        copies = [share for k, shares in enumerate(of_each.values()) for share in shares * int(weights[k, weighting])]
        assert found[0, weighting] == pytest.approx(mean(copies), abs=1e-12)


@pytest.mark.slow
def test_intervals_comparisons_and_reports(tmp_path: Path) -> None:
    truth, results = scenes(np.random.default_rng(7), 40)
    a, b = (evaluate((truth, rows), max_detections=None) for rows in (results, results[::2]))
    intervals = a.intervals(n_resamples=100)
    assert intervals["metric"].to_list() == ["R@20", "R@50", "R@100"]
    assert intervals.select((pl.col("low") < pl.col("estimate")) & (pl.col("estimate") < pl.col("high"))).to_series().all()
    assert (a.compare(b, n_resamples=100)["difference"] < 0).all()
    page = apf.write_report(tmp_path / "page.html", a, b, by="place").read_text()
    assert "R@20" in page and "Which threshold?" not in page
    assert set(a.changes(b)["change"]) >= {"lost"}
    assert a.sql("SELECT count(*) AS n FROM matches WHERE outcome = 'tp'")["n"].item() > 0


@pytest.mark.parametrize("method", ["curves", "thresholds", "errors", "error_impact", "calibration", "label_errors", "froc"])
def test_what_needs_precision_is_an_error(method: str) -> None:
    evaluation = evaluate(small([RIDING], [RIDING | {"score": 0.5}]))
    with pytest.raises(ParameterError, match="VISUAL_GENOME measures recall alone, so it has no "):
        getattr(evaluation, method)()


@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"subject_x": None}, "subject_x is missing or not a finite number"),
        ({"object_height": float("nan")}, "object_height is not a finite number"),
        ({"object_width": -1.0}, "object_width is negative"),
        ({"subject_name": None}, "subject_name is missing"),
    ],
)
def test_bad_rows_are_named(table: str, change: Row, problem: str) -> None:
    rows = {"annotations": [RIDING, RIDING], "detections": [RIDING | {"score": 0.5}, RIDING | {"score": 0.4}]}
    rows[table][1] = rows[table][1] | change
    with pytest.raises(RowError) as caught:
        evaluate(small(rows["annotations"], rows["detections"]))
    assert problem in str(caught.value) and table in str(caught.value)


def test_a_column_is_missing() -> None:
    without = {name: value for name, value in RIDING.items() if name != "object_name"}
    with pytest.raises(ColumnError, match="detections: no column object_name"):
        evaluate(small([RIDING], [without | {"score": 0.5}]))


def test_the_mean_over_relations_is_an_option() -> None:
    made = apf.VISUAL_GENOME.with_options(mean="plain")
    assert made == apf.VISUAL_GENOME_MEAN and made.variants == apf.VISUAL_GENOME_MEAN.variants
