"""A data set is a frozen value; what is read later is there when it is looked at, and does not change what was there before."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import apframe as apf

TRUTH = {
    "info": {"year": 2026},
    "images": [{"id": 1, "width": 9, "height": 9}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [
        {
            "id": 1,
            "image_id": 1,
            "category_id": 1,
            "bbox": [0, 0, 4, 4],
            "segmentation": [[0, 0, 4, 0, 4, 4]],
            "pose": {"yaw": 3},
        }
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(TRUTH))
    return path


@pytest.mark.parametrize("name", ["images", "annotations", "json_columns", "other_sections", "anything"])
def test_nothing_is_assigned(name: str, path: Path) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(apf.read_coco(path), name, {})


def test_reading_masks_leaves_the_data_set_as_it_was(path: Path) -> None:
    dataset = apf.read_coco(path)
    assert dataset.with_masks.core("annotations")["mask"].to_list() == ["[[0,0,4,0,4,4]]"]
    assert dataset.with_masks is dataset.with_masks  # read once
    assert "mask" not in dataset.core("annotations").columns
    assert dataset.with_masks.annotations.columns == dataset.annotations.columns


def test_attributes_nobody_looked_at_are_written_as_they_were(path: Path, tmp_path: Path) -> None:
    apf.write_coco(apf.read_coco(path), tmp_path / "written.json")
    written: Any = json.loads((tmp_path / "written.json").read_text())
    assert written["annotations"][0]["pose"] == {"yaw": 3}
    assert written["info"] == {"year": 2026}


def test_a_part_keeps_what_is_beside_the_tables(path: Path) -> None:
    dataset = apf.read_coco(path)
    part = dataset.part(dataset.images, dataset.annotations.clear())
    assert (part.json_columns, part.other_sections) == ({("annotations", "pose")}, {"info": {"year": 2026}})
    assert part.annotations.height == 0


def test_annotations_that_are_read_late_are_read_once() -> None:
    box = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    rows = {"image_id": [1], "category_id": [1], **box}
    whole = apf.Dataset({"image_id": [1]}, {"category_id": [1], "name": ["cat"]}, rows)
    calls: list[int] = []
    late = whole.with_late_annotations(lambda: calls.append(1) or whole.annotations, 1)
    changed = late.with_images({"image_id": [1], "weather": ["fog"]})
    assert repr(changed) == repr(whole) and not calls
    assert changed.annotations.equals(whole.annotations) and late.core("annotations").equals(whole.annotations)
    assert changed.where("weather = 'fog'").annotations.height == 1 and len(calls) == 1
    assert pickle.loads(pickle.dumps(late)).annotations.equals(whole.annotations)
