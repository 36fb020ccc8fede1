"""Results to which a score threshold was applied: a warning where the number needs all scores, however they come."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.diagnose.filtered import why_filtered
from apframe.evaluation.diagnose.sanity import Evaluated, warn_of_metrics
from apframe.exceptions import FilteredResultsWarning, NoDetectionsWarning
from apframe.protocols.protocol import Protocol, as_protocol

STREET = Path(__file__).parents[3] / "data" / "street"
TRUTH, FULL = STREET / "instances.json", STREET / "model_a.json"
HALF = [row for row in json.loads(FULL.read_text()) if row["score"] >= 0.5]
SAID = (
    "the lowest score is 0.50; was a threshold applied before evaluation? AP needs all scores "
    "(images have a median of 1 detection"
)
PROTOCOLS = {
    f"{name} {iou_type}": as_protocol(name).variant(iou_type)
    for name in apf.PUBLISHED
    for iou_type in as_protocol(name).iou_types
}
# their numbers are read at a given rank or number of false positives, or have no scores
OTHERS = {"COCO_PANOPTIC", "CITYSCAPES_PANOPTIC", "SEMANTIC", "VISUAL_GENOME", "VISUAL_GENOME_MEAN", "FLICKR30K", "REFCOCO",
          "LUNA16", "CITYPERSONS", "CALTECH", "EUROCITY"}  # fmt: skip


def warned(evaluate: Callable[[], apf.Evaluation]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation = evaluate()
        _ = evaluation.summary, evaluation.metrics
    return [str(each.message) for each in caught if each.category is FilteredResultsWarning]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_numbers_that_need_all_scores_are_doubted(name: str) -> None:
    """Of ten images with two detections each, whatever the protocol compares."""
    protocol: Protocol = PROTOCOLS[name]
    metrics = pl.DataFrame({
        "category_id": [1], "area_range": [protocol.headline_range], "iou_threshold": [protocol.iou_thresholds[0]],
        "max_detections": [protocol.max_detections[-1]], "ap": [0.5], "recall": [0.5], "n_positives": [20],
        "n_detections": [20],
    })  # fmt: skip
    facts = Evaluated(
        n_annotations=20, n_detections=20, none_given=False, n_left_out=0, nothing_matches=False, is_pooled=False,
        detected=lambda: pl.Series([1]), scores=lambda: pl.Series([0.5, 0.9]),
        per_image=lambda: pl.Series([2] * 10), inputs=lambda: pytest.fail("not needed"),
    )  # fmt: skip
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_of_metrics(metrics, facts, protocol, None)
    number = "AR" if name.startswith("PROPOSALS") else "AP"
    expected = f"the lowest score is 0.50; was a threshold applied before evaluation? {number} needs all scores"
    assert [str(each.message).partition(" (")[0] for each in caught] == [expected] * (name.split()[0] not in OTHERS)


@pytest.mark.parametrize(
    ("scores", "counts", "is_said"),
    [([0.1, 0.9], [1] * 10, False), ([0.11, 0.9], [1] * 10, True), ([0.11, 0.9], [20] * 10, False),
     ([0.11, 0.9], [19] * 5 + [21] * 5, False), ([0.11, 0.9], [19] * 6 + [900] * 5, True),
     ([0.11, 0.9], [0] * 6 + [900] * 5, True),  # images without detections count
     ([0.11, 0.9], [9] * 9, False),  # too few images
     ([9.0, 99.0], [1] * 10, False), ([50.0, 99.0], [1] * 10, True),  # percent
     ([-5.0, 9.0], [1] * 10, False)],
)  # fmt: skip
def test_the_lowest_score_and_the_median(scores: list[float], counts: list[int], is_said: bool) -> None:
    assert (why_filtered(pl.Series(scores), lambda: pl.Series(counts)) is not None) == is_said


def test_scores_that_are_missing_or_low_are_not_counted_by_image() -> None:
    for scores in ([None, None], [0.05, 0.9]):
        assert why_filtered(pl.Series(scores, dtype=pl.Float64), lambda: pytest.fail("not needed")) is None


def in_memory(_: Path) -> apf.Evaluation:
    return apf.evaluate(TRUTH, HALF)


def as_frame(_: Path) -> apf.Evaluation:
    return apf.evaluate(TRUTH, pl.DataFrame(HALF))


def as_coco_file(folder: Path) -> apf.Evaluation:
    path = folder / "model_a.json"
    path.write_text(json.dumps(HALF))
    return apf.evaluate(TRUTH, path)


def as_parquet(folder: Path) -> apf.Evaluation:
    pl.DataFrame(HALF).write_parquet(folder / "model_a.parquet")
    return apf.evaluate(TRUTH, folder / "model_a.parquet")


def in_updates(_: Path) -> apf.Evaluation:
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(HALF[:100])
    evaluator.update(HALF[100:])
    return evaluator.compute()


def in_shards(folder: Path) -> apf.Evaluation:
    as_coco_file(folder)
    apf.write_shards(TRUTH, folder / "model_a.json", folder / "shards", n=3)
    return apf.evaluate_shards(folder / "shards")


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingResultsWarning")
@pytest.mark.parametrize("evaluate", [in_memory, as_frame, as_coco_file, as_parquet, in_updates, in_shards])
def test_however_results_come(evaluate: Callable[[Path], apf.Evaluation], tmp_path: Path) -> None:
    """The numbers are those of the filtered results: AP .160, where it is .268 with all of them."""
    evaluations: list[apf.Evaluation] = []

    def evaluated() -> apf.Evaluation:
        evaluations.append(evaluate(tmp_path))
        return evaluations[0]

    where = " in model_a" if evaluate in (as_coco_file, as_parquet) else ""
    assert warned(evaluated) == [f"{SAID}{where}); write the results again with a score threshold of 0.001 or none"]
    assert evaluations[0].summary["value"][0] == pytest.approx(0.160, abs=5e-4)


@pytest.mark.slow
def test_all_scores_and_parts_of_the_images_cause_no_warning() -> None:
    assert warned(lambda: apf.evaluate(TRUTH, FULL)) == []
    half = apf.evaluate(TRUTH, HALF)
    assert warned(lambda: half.where(pl.col("weather") == "fog")) == []


@pytest.mark.slow
@pytest.mark.parametrize("score", [1, 0.25])
def test_equal_scores_are_said_as_such(score: float) -> None:
    """By `evaluate` and `check` in the same words; neither asks about a threshold."""
    equal = [row | {"score": score} for row in json.loads(FULL.read_text())]
    problem = f"all detections have score {score}, so they are ranked in the order of the input"
    assert warned(lambda: apf.evaluate(TRUTH, equal)) == [f"{problem}; use the confidence of each detection as its score"]
    findings = apf.check(TRUTH, equal).filter(pl.col("check").is_in(["equal_scores", "filtered_results"]))
    assert findings.select("check", "problem", "remedy").rows() == [
        ("equal_scores", problem, "Use the confidence of each detection as its score.")
    ]


@pytest.mark.slow
def test_check_names_it() -> None:
    findings = apf.check(TRUTH, HALF).filter(pl.col("check") == "filtered_results")
    assert findings.select("severity", "table", "n_rows", "problem").rows() == [
        ("warning", "detections", len(HALF), f"{SAID})")
    ]
    assert apf.check(TRUTH, FULL).filter(pl.col("check") == "filtered_results").is_empty()


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("results", "said"), [(HALF, SAID), ([], "so everything is missed (2,400 annotations)")])
def test_the_report_says_it_even_after_a_terminal_did(results: list[Any], said: str, tmp_path: Path) -> None:
    evaluation = apf.evaluate(TRUTH, results)
    with pytest.warns((FilteredResultsWarning, NoDetectionsWarning), match=re.escape(said)):
        _ = evaluation.summary
    evaluation.write_parquet(tmp_path / "run")
    for each in (evaluation, apf.read_evaluation(tmp_path / "run")):
        page = apf.write_report(tmp_path / "report.html", each, n_resamples=20, max_images=0)
        assert page.read_text().count(said[1:]) == 1
