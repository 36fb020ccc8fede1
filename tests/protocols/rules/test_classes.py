"""The classes of a protocol: names in any case, and one number for all of its spellings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.driving.kitti.protocol import RequireAlpha
from tests.benchmarks.driving.kitti.test_protocol import ELSEWHERE, REGION, VAN, cars, dt, found, numbers

Row = dict[str, Any]


def lower(rows: list[Row]) -> list[Row]:
    return [row | {"category_id": row["category_id"].lower()} for row in rows]


def evaluated(annotations: list[Row], detections: list[Row], *, numbered: bool = False, **options: Any) -> apf.Evaluation:
    """Rows that name their categories, those of the annotations alone; or with numbers in place of the names."""
    names = list(dict.fromkeys(row["category_id"] for row in annotations))
    ids: list[Any] = list(range(1, len(names) + 1)) if numbered else names
    number = dict(zip(names, ids, strict=True))
    sides = [[row | {"category_id": number.get(row["category_id"], row["category_id"])} for row in rows]
             for rows in (annotations, detections)]  # fmt: skip
    truth = apf.Dataset({"image_id": ["000000"]}, {"category_id": ids, "name": names}, sides[0])
    return apf.evaluate(truth, pl.DataFrame(sides[1]), apf.KITTI, **options)


@pytest.mark.slow
@pytest.mark.parametrize("numbered", [False, True])
def test_two_spellings_in_one_file_are_one_class(numbered: bool) -> None:
    mixed = [row if place % 2 else lower([row])[0] for place, row in enumerate(cars())]
    ev = evaluated(mixed, found(), numbered=numbered)
    assert ev.dataset.categories["name"].to_list() == ["Car"] and ev.metrics["n_positives"].to_list() == [8, 8, 8]
    assert numbers(ev) == pytest.approx([17.5] * 3) and ev["AP_easy"] == pytest.approx(0.175)
    assert numbers(evaluated(mixed, found(), numbered=numbered, categories=["Car"])) == pytest.approx([17.5] * 3)


@pytest.mark.slow
@pytest.mark.parametrize("lowered", [(True, True), (True, False), (False, True)])
def test_names_are_found_in_any_case_on_either_side(lowered: tuple[bool, bool]) -> None:
    for further, more in ((VAN, ELSEWHERE), (REGION, dt("Car", 1800, 120, 1900, 220, 0.95))):
        sides = ([*cars(), further], [*found(), more])
        annotations, detections = (lower(rows) if is_low else rows for rows, is_low in zip(sides, lowered, strict=True))
        ev = evaluated(annotations, detections)
        assert numbers(ev) == pytest.approx([17.5] * 3) and ev.detections.height == 9


@pytest.mark.slow
def test_waymo_and_nuscenes_take_any_case() -> None:
    box: Row = {"image_id": "s", "cuboid_x": 1.0, "cuboid_y": 0.0, "cuboid_z": 0.0, "cuboid_yaw": 0.0, "level": 1}
    box |= {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5}
    for protocol, name, metric in ((apf.WAYMO, "TYPE_VEHICLE", "AP_Vehicle_L1"), (apf.NUSCENES, "car", "AP")):
        values = set()
        for truth, result in ((name, name), (name.title(), name.upper()), (name.lower(), name.title())):
            dataset = apf.Dataset({"image_id": ["s"]}, {"category_id": [truth]}, [box | {"category_id": truth}])
            values.add(apf.evaluate(dataset, [box | {"category_id": result, "score": 0.9}], protocol)[metric])
        assert len(values) == 1 and values.pop() > 0


@pytest.mark.slow
def test_shards_may_spell_names_differently(tmp_path: Path) -> None:
    for shard, change in enumerate((list, lower)):
        folder = tmp_path / str(shard)
        folder.mkdir()
        sides = {"annotations": cars(), "detections": found()}
        for name, rows in sides.items():
            pl.DataFrame(change(rows)).with_columns(image_id=pl.lit(str(shard))).write_parquet(folder / f"{name}.parquet")
        pl.DataFrame({"image_id": [str(shard)]}).write_parquet(folder / "images.parquet")
        pl.DataFrame({"category_id": [change(cars())[0]["category_id"]]}).write_parquet(folder / "categories.parquet")
    ev = apf.evaluate_shards(str(tmp_path / "*"), protocol=apf.KITTI)
    assert ev.metrics["n_positives"].to_list() == [16, 16, 16] and numbers(ev)[0] == pytest.approx(37.5)


@pytest.mark.slow
def test_a_shard_without_alpha_turns_orientations_off_for_all(tmp_path: Path) -> None:
    for shard, further in enumerate(([], [dt("Car", 2000, 0, 2100, 100, 0.5, alpha=None)])):
        folder = tmp_path / str(shard)
        folder.mkdir()
        for name, rows in {"annotations": cars(), "detections": [*found(), *further]}.items():
            pl.DataFrame(rows).with_columns(image_id=pl.lit(str(shard))).write_parquet(folder / f"{name}.parquet")
        pl.DataFrame({"image_id": [str(shard)]}).write_parquet(folder / "images.parquet")
        pl.DataFrame({"category_id": ["Car"]}).write_parquet(folder / "categories.parquet")
    ev = apf.evaluate_shards(str(tmp_path / "*"), protocol=apf.KITTI)
    assert numbers(ev, metric="AOS") == [None] * 3 and numbers(ev)[0] == pytest.approx(37.5)


@pytest.mark.slow
def test_an_update_without_alpha_turns_orientations_off_for_all() -> None:
    """As in shards: the rule needs all detections, and one without alpha may come last."""
    names = ["000000", "000001"]
    sides = [[row | {"image_id": name} for name in names for row in rows] for rows in (cars(), found())]
    evaluator = apf.Evaluator(apf.Dataset({"image_id": names}, {"category_id": ["Car"]}, sides[0]), apf.KITTI)
    evaluator.update(pl.DataFrame(sides[1][: len(found())]))
    assert None not in numbers(evaluator.compute(), metric="AOS")
    evaluator.update(
        pl.DataFrame([*sides[1][len(found()) :], dt("Car", 2000, 0, 2100, 100, 0.5, alpha=None, image_id=names[1])])
    )
    assert numbers(evaluator.compute(), metric="AOS") == [None] * 3
    assert apf.KITTI.rule(RequireAlpha) == RequireAlpha() and RequireAlpha.needs_all_data
