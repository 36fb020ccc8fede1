"""The section of the report: error types."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NoAnnotationsWarning
from apframe.protocols.protocol import Protocol
from apframe.report.compared import Compared
from apframe.report.section import Details, Section, Table
from apframe.report.sections import error_types, leaderboard
from tests.conformance.tiny import CATEGORIES, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny

KINDS = ["cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn"]


def of(*evaluations: apf.Evaluation, **options: Any) -> Compared:
    return Compared(evaluations, [f"model_{k}" for k in range(len(evaluations))], **options)


def tables(section: Section) -> dict[str, pl.DataFrame]:
    """All tables by their captions, also those that are shown on a click."""
    blocks = [each for block in section.blocks for each in (block.blocks if isinstance(block, Details) else [block])]
    return {each.caption: each.frame for each in blocks if isinstance(each, Table)}


@pytest.mark.slow
def test_numbers_are_those_of_error_impact(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = error_types.section(pair)
    shown = tables(section)["Errors at IoU 0.5, and AP that each type costs"]
    for k, each in enumerate(models):
        expected = each.error_impact(0.5).filter(pl.col("name").is_null())
        assert shown[f"errors {k}"].to_list() == expected["n"].to_list()
        assert shown[f"cost {k}"].to_list() == expected["delta_ap"].to_list()
    lost = tables(section)["AP lost by category and type, the largest differences first"]
    assert lost.height == 24
    bus = lost.filter(category="bus", model="model_b").row(0, named=True)
    expected = models[1].error_impact(0.5).filter(name="bus")
    assert [bus[kind] for kind in KINDS[:6]] == expected["delta_ap"].to_list()[:6]
    assert tables(section)["Errors by category and type, the largest differences first"]["miss"].sum() == 1192 + 1210


@pytest.mark.slow
def test_counts_link_to_their_errors(pair: Compared) -> None:
    """Each link selects as many rows as it says, in the table and behind the bars."""
    section = error_types.section(pair)
    table, details = section.blocks[:2]
    assert isinstance(table, Table) and isinstance(details, Details) and section.scope == "all scores"
    rows = pair.rows.table().explode("model")
    for k, name in enumerate(pair.names):
        of_model = rows.filter(model=name)
        for kind, n, mark in zip(KINDS, table.frame[f"errors {k}"], table.links[f"errors {k}"], strict=True):
            errors = of_model.filter(outcome=kind) if kind == "fp" else of_model.filter(error=kind)
            if kind == "fn":  # with those that another error is about
                errors = of_model.filter(pl.col("outcome") != "fp").filter(outcome="fn")
            assert (mark.n if mark else 0, errors.height) == (n, n), (name, kind)
    _, counts = details.blocks
    assert isinstance(counts, Table)
    for kind in KINDS[:6]:
        for model, category, n, mark in zip(*counts.frame.select("model", "category", kind), counts.links[kind], strict=True):
            assert rows.filter(model=model, name=category, error=kind).height == n
            assert mark is None if not n else mark.selection == {"model": model, "error": kind, "category": category}


def test_the_answer_in_words(pair: Compared, one: Compared) -> None:
    a, _, change = error_types.section(pair).sentences
    assert a.startswith("model_a has AP 0.458 at IoU 0.5, and loses most to missed annotations (0.421), then to detections on ")
    assert change == "They differ most in missed annotations, which cost model_b 0.035 AP more."
    assert error_types.section(one).sentences == [a]


def test_categories_come_by_their_largest_difference_or_number(pair: Compared, one: Compared) -> None:
    both, single = (error_types.section(each) for each in (pair, one))
    frame = tables(both)["AP lost by category and type, the largest differences first"]
    differences = frame.group_by("category", maintain_order=True).agg(pl.col(KINDS[:6]).max() - pl.col(KINDS[:6]).min())
    largest = differences.select(pl.max_horizontal(KINDS[:6])).to_series().to_list()
    assert largest == sorted(largest, reverse=True)
    alone = tables(single)["AP lost by category and type, the largest numbers first"]
    assert "model" not in alone.columns and alone["miss"].to_list() == sorted(alone["miss"], reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    section = error_types.section(of(tiny(name), tiny(name)))
    if name in ("kitti", "waymo"):
        why = f"{name.upper()} matches again at every score cut-off, so an error has no single cost in AP."
        assert section.sentences == (why,)
        assert section.notes == ("Evaluate with another protocol, such as COCO, to see what errors cost.",)
        return
    shown = next(iter(tables(section).values()))
    assert shown.height == len(KINDS) and len(section.sentences) == 2


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
def test_errors_without_costs_are_counted(n: int) -> None:
    models = [tiny("kitti")] * n
    section = (leaderboard.error_types if n > 2 else error_types.section)(of(*models))
    shown = next(iter(tables(section).values()))
    errors = models[0].errors(of(*models).iou_threshold)["error"].cast(pl.String).to_list()
    for k in range(n):
        assert shown[f"errors {k}"].to_list() == [errors.count(kind) for kind in KINDS[:6]] and errors


@pytest.mark.slow
def test_nothing_detected_or_annotated_and_one_category() -> None:
    nothing = error_types.section(of(apf.evaluate(ONE_OF_TWO, [])))
    assert nothing.sentences == ["model_0 has AP 0.000 at IoU 0.5, and loses most to missed annotations (1.000)."]
    with pytest.warns(NoAnnotationsWarning):
        empty = apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)
    assert error_types.section(of(empty)).sentences[0].startswith("AP of model_0 has no value, as no annotation counts")
    perfect = [{key: row[key] for key in ("image_id", "category_id", "bbox")} for row in ONE_OF_TWO["annotations"]]
    none = error_types.section(of(apf.evaluate(ONE_OF_TWO, [row | {"score": 0.5} for row in perfect])))
    assert none.sentences == ["model_0 has AP 1.000 at IoU 0.5; no error type costs any."]
    alone = error_types.section(of(apf.evaluate(ONE_OF_TWO, ONE_HIT, categories=[1])))
    assert [each.summary for each in alone.blocks if isinstance(each, Details)] == ["The error types"]


@pytest.mark.slow
def test_many_categories_are_cut_in_words() -> None:
    truth = ONE_OF_TWO | {"categories": [{"id": k, "name": f"c{k}"} for k in range(1, 1204)]}
    section = error_types.section(of(apf.evaluate(truth, ONE_HIT), apf.evaluate(truth, ONE_HIT)))
    details = section.blocks[1]
    assert isinstance(details, Details) and isinstance(details.blocks[0], Table)
    assert details.blocks[0].frame.height == 2 * 1203
    assert details.blocks[0].frame["category"].head(4).to_list() == ["c1", "c1", "c2", "c2"]


CUBOID = {"image_id": 1, "category_id": 1} | dict.fromkeys(
    ["cuboid_x", "cuboid_y", "cuboid_z", "cuboid_length", "cuboid_width", "cuboid_height", "cuboid_yaw"], 1.0
)
CUBOIDS = {"images": [{"id": 1}], "categories": CATEGORIES[:1], "annotations": [{"id": 1} | CUBOID]}
DISTANCES = Protocol(
    "distances", "", iou_type="distance", similarity=apf.similarity.CentreDistance(), iou_thresholds=(-4.0, -2.0)
)


@pytest.mark.slow
def test_thresholds_in_words() -> None:
    compared = of(apf.evaluate(CUBOIDS, [CUBOID | {"score": 0.5, "cuboid_x": 7.0}], DISTANCES))
    section = error_types.section(compared)
    assert section.sentences[0].startswith("model_0 has AP 0.000 at a distance of 4 m, and loses most to")
    shown = next(iter(tables(section).values()))
    assert dict(shown.select("error type", "errors 0").rows())["localization"] == 1
    own = of(apf.evaluate(ONE_OF_TWO, ONE_HIT, iou_thresholds={"cat": 0.7, "dog": 0.5}))
    assert own.threshold == "IoU 0.5 to 0.7 by category"


@pytest.mark.slow
def test_similarities_of_users_have_the_section() -> None:
    def same_place(pairs: pl.DataFrame) -> pl.Series:
        return (pairs["x"] == pairs["x_right"]).cast(pl.Float64)

    section = error_types.section(of(apf.evaluate(ONE_OF_TWO, ONE_HIT, similarity=same_place)))
    assert section.sentences[0].startswith("model_0 has AP 0.500 at a similarity of 0.5")


@pytest.mark.slow
def test_low_thresholds_have_error_types_too() -> None:
    """A threshold that is not above the usual background."""
    evaluation = tiny("coco", iou_thresholds=0.1)
    assert error_types.section(of(evaluation)).blocks
    assert evaluation.errors(0.1).equals(evaluation.errors(0.1, background=0.0))
