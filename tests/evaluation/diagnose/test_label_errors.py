"""Label errors: the worked example, reference values, each condition on a table of its own, and bad options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.protocols.rules.limits import LimitPerImage, RankInImage
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_RULES
from tests.evaluation.diagnose.test_errors import STREET, A, B, C, found, truth
from tests.properties.test_errors import FAMILIES

Rows = list[dict[str, Any]]
NEAR_B, INSIDE = [54, 50, 10, 10], [20, 20, 10, 10]
CROWD = ((1, [0, 0, 60, 60]),)
COLUMNS = ["kind", "detection_id", "annotation_id", "category_id", "proposed_category_id"]


@pytest.mark.slow
def test_the_worked_example() -> None:
    evaluation = apf.evaluate(truth((1, A), (1, B)), found((2, A, 0.9), (1, C, 0.8), (1, NEAR_B, 0.7)))
    assert evaluation.sql("FROM label_errors").drop("image_id").rows(named=True) == [
        {
            "kind": "missing", "detection_id": 2, "annotation_id": None, "other_annotation_id": None, "category_id": None,
            "proposed_category_id": 1, "score": 0.8, "similarity": None, "suspicion": 0.8,
        },
        {
            "kind": "wrong_class", "detection_id": 1, "annotation_id": 1, "other_annotation_id": None, "category_id": 1,
            "proposed_category_id": 2, "score": 0.9, "similarity": 1.0, "suspicion": 0.9,
        },
        {
            "kind": "misplaced", "detection_id": 3, "annotation_id": 2, "other_annotation_id": None, "category_id": 1,
            "proposed_category_id": 1, "score": 0.7, "similarity": 60 / 140, "suspicion": pytest.approx(0.4),
        },
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("model", "counts"), [("a", {"missing": 27, "wrong_class": 2}), ("b", {"missing": 13})])
def test_reference_values(model: str, counts: dict[str, int]) -> None:
    table = apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json").label_errors()
    first_two = table.filter(pl.col("kind").is_in(["missing", "wrong_class"]))["kind"]
    assert {row[0]: row[1] for row in first_two.value_counts().rows()} == counts


# ground truth, detections, options, and kind, detection, annotation, category now and proposed of each row
CASES: dict[str, tuple[Any, Any, dict[str, Any], list[tuple[Any, ...]]]] = {
    "the score is too low": (truth((1, A)), found((1, C, 0.49)), {}, []),
    "it is high enough": (truth((1, A)), found((1, C, 0.49)), {"min_score": 0.4}, [("missing", 1, None, None, 1)]),
    "of one category": (
        truth((1, A)), found((1, C, 0.4), (2, [200, 0, 9, 9], 0.4)), {"min_score": {"c1": 0.5, "c2": 0.3, 3: 0.5}},
        [("missing", 2, None, None, 2)],
    ),
    "it touches an annotation of another category": (truth((2, A)), found((1, [7, 0, 10, 10], 0.9)), {}, []),
    "it hardly touches one": (truth((2, A)), found((1, [9, 0, 10, 10], 0.9)), {}, [("missing", 1, None, None, 1)]),
    "inside a crowd of another category": (truth((2, C), crowds=CROWD), found((2, INSIDE, 0.9)), {}, []),
    "a little inside a crowd": (
        truth((2, C), crowds=CROWD), found((2, [56, 0, 10, 10], 0.9)), {}, [("missing", 1, None, None, 2)],
    ),
    "the annotation is found": (truth((1, A)), found((1, A, 0.8), (2, A, 0.9)), {}, []),
    "the largest of several missed ones": (
        truth((1, A), (2, [3, 0, 10, 10])), found((3, [2, 0, 10, 10], 0.9)), {}, [("wrong_class", 1, 2, 2, 3)],
    ),
    "wrong class before misplaced": (
        truth((1, A), (2, [5, 0, 10, 10])), found((1, [5, 0, 10, 10], 0.9)), {}, [("wrong_class", 1, 2, 2, 1)],
    ),
    "only the best of the errors is a label error": (
        truth((1, A)), found((1, [4, 0, 10, 10], 0.8), (1, [4, 0, 10, 10], 0.9)), {}, [("misplaced", 2, 1, 1, 1)],
    ),
    "one object twice, one found": (
        truth((1, A), (2, A)), found((1, A, 0.9)), {}, [("duplicate", None, 2, 2, None)],
    ),
    "two objects next to each other": (truth((1, A), (2, [2, 0, 10, 10])), found((1, A, 0.9)), {}, []),
    "a crowd is no duplicate": (truth((1, A), crowds=((1, A),)), found(), {}, []),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
def test_conditions_one_by_one(case: tuple[Any, Any, dict[str, Any], list[tuple[Any, ...]]]) -> None:
    annotations, detections, options, expected = case
    assert apf.evaluate(annotations, detections).label_errors(**options).select(COLUMNS).rows() == expected


def test_both_of_two_missed_annotations_are_duplicates() -> None:
    table = apf.evaluate(truth((1, A), (2, [0, 0, 10, 9])), found((1, C, 0.1))).label_errors()
    columns = ["kind", "annotation_id", "other_annotation_id", "similarity", "suspicion"]
    assert table.select(columns).rows() == [("duplicate", 1, 2, 0.9, 0.9), ("duplicate", 2, 1, 0.9, 0.9)]


@pytest.mark.slow
@pytest.mark.parametrize("rule", [LimitPerImage(), RankInImage(), RankInImage(by="row")])
def test_duplicates_are_found_whatever_max_detections_counts(rule: Rule) -> None:
    protocol = apf.Protocol("MINE", "", rules=(rule, *STANDARD_RULES), max_detections=1)
    table = apf.evaluate(truth((1, A), (2, A)), found((1, A, 0.9), (1, C, 0.1)), protocol).label_errors()
    assert table.select(COLUMNS).rows() == [("duplicate", None, 2, 2, None)]


@pytest.mark.slow
def test_precision_chooses_the_lowest_score_that_has_it() -> None:
    # of category 1: true at .9 and .7, false at .8 and .6; of category 2: all false
    far = [[300, 20 * k, 10, 10] for k in range(3)]
    detections = found((1, A, 0.9), (1, far[0], 0.8), (1, B, 0.7), (1, far[1], 0.6), (2, far[2], 0.95))
    evaluation = apf.evaluate(truth((1, A), (1, B), (2, C)), detections)

    def missing(min_score: Any) -> list[int]:
        return evaluation.label_errors(min_score=min_score).filter(kind="missing")["detection_id"].sort().to_list()

    assert missing("precision:.9") == []  # from .9 on
    assert missing("precision:0.6") == [2]  # from .7 on, where it is 2 of 3
    assert missing("precision:.5") == [2, 4]
    assert missing("best_f1") == [2, 5]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
def test_every_family_has_label_errors(family: str) -> None:
    make, evaluate = FAMILIES[family]
    evaluation = evaluate(make(np.random.default_rng(7), 12))
    table = evaluation.label_errors(evaluation.protocol.iou_thresholds[0], min_score=0.1)
    assert table["detection_id"].drop_nulls().is_unique().all()
    false = evaluation.matches(evaluation.protocol.iou_thresholds[0]).filter(outcome="fp")["detection_id"]
    missed = evaluation.matches(evaluation.protocol.iou_thresholds[0]).filter(outcome="fn")["annotation_id"]
    assert set(table["detection_id"].drop_nulls()) <= set(false)
    assert set(table["annotation_id"].drop_nulls()) <= set(missed)
    assert table["suspicion"].is_between(0, 1).all()
    assert not table.filter(pl.col("kind") != "duplicate").is_empty()


def test_copies_for_categories_above_are_no_duplicates() -> None:
    hierarchy = {"category_id": [1, 2], "name": ["animal", "dog"], "parent_ids": [[], [1]]}
    box = {"x": [0.0], "y": [0.0], "width": [10.0], "height": [10.0]}
    dataset = apf.Dataset({"image_id": [1]}, hierarchy, {"annotation_id": [1], "image_id": [1], "category_id": [2]} | box)
    nothing = {"image_id": [1], "category_id": [2], "score": [0.1]} | box | {"x": [50.0]}
    assert apf.evaluate(dataset, nothing, apf.OPEN_IMAGES).label_errors().is_empty()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": "precision:2"}, 'min_score: \'precision:2\' is not "precision:" and a number'),
        ({"min_score": "precision:x"}, "is not \"precision:\" and a number"),
        ({"min_score": "f2"}, 'must be a number, a dict of numbers by category, "best_f1" or "precision:0.9", not .f2.'),
        ({"min_score": {"c1": 0.5}}, "no number for 'c2', 'c3'"),
        ({"min_score": [0.5]}, "min_score must be a number"),
        ({"iou_threshold": 0.51}, "was not evaluated"),
        ({"background": 0.6}, "background must be at least 0 and below"),
    ],
)  # fmt: skip
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        apf.evaluate(truth((1, A)), found((1, A, 0.9))).label_errors(**options)


def test_pooled_categories_propose_none() -> None:
    evaluation = apf.evaluate(truth((1, A)), found((2, C, 0.9)), agnostic=True)
    assert evaluation.label_errors().select(COLUMNS).rows() == [("missing", 1, None, None, None)]
    with pytest.raises(ParameterError, match="min_score must be a number if categories are pooled"):
        evaluation.label_errors(min_score="precision:.9")


@pytest.mark.slow
def test_the_table_in_sql_and_stored_sets(tmp_path: Path) -> None:
    evaluation = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    evaluation.write_parquet(tmp_path / "run", tables="label_errors")
    assert apf.read_evaluation(tmp_path / "run").sql("FROM label_errors").equals(evaluation.sql("FROM label_errors"))
    assert evaluation.sql("FROM label_errors").height == evaluation.label_errors().height
