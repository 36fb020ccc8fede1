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


@pytest.mark.slow
def test_notebooks_show_the_table() -> None:
    page = mine(TABLE)._repr_html_()
    assert "<tr><td>all</td><td>50.0</td><td>50.0</td><td>50.0</td></tr>" in page and page.count("<table>") == 1
    assert mine(TABLE, max_detections=[50])._repr_html_().count("<p>no table: AR100 is not among") == 1
    assert "max. detections" in mine()._repr_html_()


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
    ev = apf.evaluate(TRUTH, FOUND, replace(apf.VOC2012, headlines=("AR", "AR50")))
    assert [line.split(" @")[0] for line in str(ev).splitlines()[:2]] == [
        " Average Recall     (AR)", " Average Recall     (AR)",
    ]  # fmt: skip
    assert str(ev).splitlines()[2:] == [
        " not VOC2012 as published: other headlines", " no table: AP is not among the headline numbers",
    ]  # fmt: skip
    assert ev.to_markdown() == apf.to_markdown(ev.summary)


def test_columns_of_variants() -> None:
    table = KitTable((KitColumn("boxes", "AP"), KitColumn("masks", "AP", "segm"), KitColumn("poses", "AP", "keypoints")))
    assert str(mine(table)).splitlines() == [
        "   boxes", "   50.00", " no masks: none of the detections has mask",
        " no poses: none of the detections has keypoints",
    ]  # fmt: skip


OWN = replace(apf.COCO, name="mine", tables=(TABLE,))


@pytest.mark.parametrize(
    ("protocol", "options", "reason"),
    [
        (OWN, {"max_detections": [50]}, "AR100 is not among the headline numbers"),
        (OWN, {"area_ranges": {"large": (9216, 1e10)}}, "APs is not among the headline numbers"),
        (OWN, {"max_detections": [1], "area_ranges": {}}, "AR100, APs are not among the headline numbers"),
        (replace(apf.VOC2007, name="mine", headlines=("AP50",)), {}, "AP is not among the headline numbers"),
        (replace(apf.ULTRALYTICS, headlines=("AP75",), variants=()), {}, "AP, AP50 are not among the headline numbers"),
        ("ultralytics", {"iou_thresholds": [0.3, 0.5]}, "its titles stand for other IoU thresholds"),
    ],
)  # fmt: skip
def test_a_table_without_its_numbers_gives_lines(protocol: Any, options: dict[str, Any], reason: str) -> None:
    ev = apf.evaluate(TRUTH, FOUND, protocol, **options)
    assert str(ev).splitlines()[-1] == f" no table: {reason}"
    assert str(ev).startswith(" Average Precision  (AP) @[")
    assert ev.to_markdown() == apf.to_markdown(ev.summary)


@pytest.mark.slow
def test_sensitivities_are_of_one_distance() -> None:
    nodule = {"image_id": [1], "category_id": [1], "sphere_x": [0.0], "sphere_y": [0.0], "sphere_z": [0.0]}
    nodule |= {"sphere_diameter": [10.0]}
    scans = apf.Dataset({"image_id": [1]}, {"category_id": [1], "name": ["nodule"]}, nodule)
    marks = {**nodule, "sphere_x": [3.0], "score": [0.9]}
    assert str(apf.evaluate(scans, marks, "luna16")).splitlines()[0].split()[-1] == "CPM"
    several = apf.evaluate(scans, marks, "luna16", iou_thresholds=[-1, -0.5])
    assert str(several).splitlines()[-1] == " no table: its titles stand for other IoU thresholds"


def cars(n: int, **changes: Any) -> apf.Evaluation:
    """So many cars and what is detected there, by a protocol with a column for boxes and one for cuboids."""
    table = KitTable((KitColumn("boxes", "AP_easy"), KitColumn("cuboids", "AP_easy", "3d")))
    shape: dict[str, Any] = {"x": 0.0, "y": 0.0, "width": 50.0, "height": 50.0, "cuboid_x": 0.0, "cuboid_y": 0.0}
    shape |= {"cuboid_z": 9.0, "cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 2.0, "cuboid_yaw": 0.0}
    rows = pl.DataFrame({"image_id": range(n), "category_id": [1] * n}).with_columns(**{k: pl.lit(v) for k, v in shape.items()})
    categories = {"category_id": [1], "name": ["Car"]}
    truth = apf.Dataset(rows.select("image_id"), categories, rows.with_columns(occluded=0, truncated=0.0))
    detections = rows.with_columns(score=0.9).with_columns(pl.Series(name, values) for name, values in changes.items())
    return apf.evaluate(truth, detections, replace(apf.KITTI, name="mine", tables=(table,)))


@pytest.mark.slow
def test_bad_cuboids_are_no_error_below_boxes() -> None:
    lines = str(cars(2, cuboid_height=[2.0, 0.0])).splitlines()
    assert lines[0].split() == ["boxes"] and lines[2].startswith(" no cuboids: ") and "cuboid_height" in lines[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_doubts_about_variants_are_notes() -> None:
    lines = str(cars(40, cuboid_z=[99.0] * 40)).splitlines()
    assert lines[0].split() == ["boxes", "cuboids"] and lines[2].startswith(" 3d: ")


@pytest.mark.slow
def test_how_to_get_other_variants_is_said() -> None:
    lines = str(cars(2).where("annotations.x < 9")).splitlines()
    assert lines[0].split() == ["boxes"] and lines[2:] == [' no cuboids: evaluate it with iou_type="3d"']
    table = KitTable((KitColumn("boxes", "AP"), KitColumn("masks", "AP", "seg")))
    assert str(mine(table)).splitlines()[-1].startswith(" no masks: mine has no iou_type 'seg'")


def test_tables_without_rows_are_left_out() -> None:
    rows = KitTable((KitColumn("AP", "AP"),), (EachCategory(),), head=("class",))
    assert str(mine(rows, KitTable((KitColumn("AP", "AP"),)), agnostic=True)).splitlines() == ["      AP", "   50.50"]
    assert str(mine(rows, agnostic=True)).startswith(" Average Precision  (AP) @[")


PUBLISHED = [each for each in VARIANTS if each.name != TOY_NAME and each.protocol.tables]


@pytest.mark.slow
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


def test_categories_of_one_name_have_their_ids() -> None:
    categories = {"category_id": [1, 2, 3], "name": ["cat", "cat", "dog"]}
    truth = apf.Dataset(TRUTH.images, categories, TRUTH.annotations)
    ev = apf.evaluate(truth, FOUND, replace(apf.COCO, name="mine", tables=(TABLE,)))
    assert [line.split()[0] for line in str(ev).splitlines()] == ["class", "1", "2", "dog", "all"]
    assert list(ev.to_dict(per_category=True))[-2:] == ["AP/1", "AP/2"]
