"""The tables of benchmarks: their numbers are those of the summary and of the categories, in every way that they are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.pivot import kit_frame, kit_lines
from apframe.protocols.kit_table import EachCategory, KitColumn, KitRow, KitTable
from tests.conformance.variants import TOY_NAME, VARIANTS, Variant

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
BOX: dict[str, Any] = {"x": 0.0, "y": 0.0, "width": 10.0, "height": 10.0}
TRUTH = apf.Dataset(
    {"image_id": [1, 2], "weather": ["fog", "clear"]},
    {"category_id": [1, 2, 3], "name": ["cat", None, "a|b"]},
    pl.DataFrame([BOX | {"image_id": 1, "category_id": 1}, BOX | {"image_id": 2, "category_id": 2}]),
)
FOUND = pl.DataFrame([BOX | {"image_id": 1, "category_id": 1, "score": 0.9}])
TABLE = KitTable(
    (KitColumn("mAP", "AP"), KitColumn("recall", "AR100"), KitColumn("small", "APs")), (EachCategory(), KitRow(("all",))),
    head=("class",), digits=1,
)  # fmt: skip
LINES = [
    " class      mAP   recall    small", " cat      100.0    100.0    100.0", " 2          0.0      0.0      0.0",
    " a|b          –        –        –", " all       50.0     50.0     50.0",
]  # fmt: skip


def mine(*tables: KitTable, **options: Any) -> apf.Evaluation:
    return apf.evaluate(TRUTH, FOUND, replace(apf.COCO, name="mine", tables=tables), **options)


def test_a_row_of_each_category_and_one_of_all() -> None:
    """Categories without a name have their id; one without annotations has dashes."""
    assert str(mine(TABLE)).splitlines() == LINES


def test_in_markdown_and_latex() -> None:
    ev = mine(replace(TABLE, factor=1))
    assert ev.to_markdown().splitlines() == [
        "| class | mAP | recall | small |", "|:------|----:|-------:|------:|", "| cat   | 1.0 |    1.0 |   1.0 |",
        "| 2     | 0.0 |    0.0 |   0.0 |", "| a\\|b  |   – |      – |     – |", "| all   | 0.5 |    0.5 |   0.5 |",
    ]  # fmt: skip
    assert "cat & 1.000 & 1.000 & 1.000" in ev.to_latex(digits=3)


def test_tables_follow_each_other() -> None:
    ev = mine(TABLE, KitTable((KitColumn("AP", "AP"), KitColumn("AP50", "AP50"))))
    assert str(ev).splitlines() == [*LINES, "", "      AP     AP50", "   50.00    50.00"]
    assert ev.to_markdown().split("\n\n")[1].splitlines() == ["|    AP |  AP50 |", "|------:|------:|", "| 50.00 | 50.00 |"]


def test_narrow_terminals_get_blocks() -> None:
    lines = kit_lines(mine(TABLE), width=30)
    assert lines[:2] == [" class      mAP   recall", " cat      100.0    100.0"]
    assert lines[5:8] == ["", " class    small", " cat      100.0"]


def test_departures_and_notes_stand_below() -> None:
    ev = apf.evaluate(TRUTH, FOUND, replace(apf.COCO, tables=(TABLE,)), max_detections=[100, 10])
    assert str(ev).splitlines()[5:] == [" not COCO as published: other max_detections"]
    part = mine(TABLE, invalid="drop").where("weather = 'clear'")
    assert str(part).splitlines()[-1] == " all        0.0      0.0      0.0"


def test_other_headline_numbers_have_their_lines() -> None:
    ev = apf.evaluate(TRUTH, FOUND, replace(apf.VOC2012, headlines=("AP", "AR")))
    assert [line.split(" @")[0] for line in str(ev).splitlines()[:2]] == [
        " Average Precision  (AP)", " Average Recall     (AR)",
    ]  # fmt: skip
    assert ev.to_markdown() == apf.to_markdown(ev.summary)
    named = apf.evaluate(TRUTH, FOUND, replace(apf.VOC2012, name="mine", headlines=("AP", "AR")))
    assert str(named).splitlines()[0] == " class       AP"


def test_columns_of_variants() -> None:
    table = KitTable((KitColumn("boxes", "AP"), KitColumn("masks", "AP", "segm"), KitColumn("poses", "AP", "keypoints")))
    assert str(mine(table)).splitlines() == [
        "   boxes", "   50.00", " no masks: none of the detections has mask",
        " no poses: none of the detections has keypoints",
    ]  # fmt: skip


PUBLISHED = [each for each in VARIANTS if each.name != TOY_NAME and each.protocol.tables]


@pytest.mark.parametrize("variant", PUBLISHED, ids=str)
def test_numbers_are_those_of_the_summary(variant: Variant) -> None:
    """And of the slices by category."""
    evaluation = variant.evaluation
    for table in variant.protocol.tables:
        frame, _ = kit_frame(evaluation, table)
        for title, metric, iou_type in table.columns:
            if title not in frame:  # the generated set has no cuboids
                continue
            own = Variant(variant.name, iou_type).evaluate(variant.dataset, variant.found) if iou_type else evaluation
            whole, expected = dict(own.summary.rows()), list[float | None]()
            for row in table.rows:
                if isinstance(row, EachCategory):
                    expected += own.by(level="category").sort("category_id")[metric].to_list()
                else:
                    expected.append(whole[metric + row.ending])
            values = [None if value is None else value * table.factor for value in expected]
            assert frame[title].to_list() == pytest.approx(values, abs=1e-9)
