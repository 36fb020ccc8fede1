"""Doubtful labels of a report as files: those of the section, of two models, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import NotComparableError, OutputError, ParameterError, RowError
from apframe.report.compared import Compared
from apframe.report.relabel import FILES, write_label_tasks
from apframe.report.write import about
from tests.report.conftest import STREET


def of(models: list[apf.Evaluation]) -> Compared:
    """What a report of the models is about."""
    compared = about(models)
    assert isinstance(compared, Compared)
    return compared


@pytest.mark.slow
def test_labels_of_both_models_in_each_format(models: list[apf.Evaluation], tmp_path: Path) -> None:
    rows = Compared(models, ["a", "b"]).label_rows
    n_images = rows["image_id"].n_unique()
    line = write_label_tasks(tmp_path / "new", of(models))
    files = "coco.json, cvat.xml, label_studio.json"
    assert line == f"{tmp_path / 'new'}: {rows.height} doubtful labels on {n_images} images ({files})"
    tasks = {name: apf.read_dataset(tmp_path / "new" / file, name) for name, file in FILES.items()}
    assert [*{path.name for path in (tmp_path / "new").iterdir()} ^ {*FILES.values()}] == []
    order = rows.unique("image_id", keep="first", maintain_order=True)["file_name"].to_list()
    for each in tasks.values():
        assert each.images["file_name"].to_list() == order
        corrected = apf.correct(STREET / "instances.json", each).annotations.sort("annotation_id")
        assert_frame_equal(corrected.head(models[0].dataset.annotations.height), models[0].dataset.annotations)
    for name in ("coco", "cvat"):
        marked = tasks[name].annotations.drop_nulls("doubt")
        assert marked.filter(pl.col("doubt") != "missing").height == rows["annotation_id"].drop_nulls().n_unique()


@pytest.mark.slow
def test_no_doubtful_label(tmp_path: Path) -> None:
    evaluation = apf.evaluate(STREET / "instances.json", [])
    duplicates = evaluation.label_errors()["image_id"]
    sure = evaluation.dataset.where(~pl.col("image_id").is_in(duplicates.implode()))
    line = write_label_tasks(tmp_path / "new", of([apf.evaluate(sure, [])]))
    assert line == f"{tmp_path / 'new'}: not written, no label looks doubtful"
    assert [*tmp_path.iterdir()] == []


def of_unknown_size() -> apf.Evaluation:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [{"id": 1} | box]}
    return apf.evaluate(truth, [{"score": 0.9} | box | {"bbox": [20, 0, 9, 9]}])


@pytest.mark.slow
def test_what_one_format_cannot_store_is_left_out(tmp_path: Path) -> None:
    line = write_label_tasks(tmp_path / "new", of([of_unknown_size()]))
    why = "label_studio.json cannot be written: the image size is unknown or 0, and boxes are percentages of it"
    assert line == f"{tmp_path / 'new'}: 1 doubtful label on 1 image (coco.json, cvat.xml); {why}"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["coco.json", "cvat.xml"]


def test_what_no_format_can_store_leaves_nothing_behind(tmp_path: Path) -> None:
    evaluation = of_unknown_size()
    error, message = RowError("annotations", "no box", "annotation_id", [1], ""), "coco.json cannot be written: no box; cvat"
    failing = patch("apframe.report.relabel.write_dataset", side_effect=error)
    with failing, pytest.raises(ParameterError, match=f"these labels cannot be written; {message}"):
        write_label_tasks(tmp_path / "new", of([evaluation]))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.slow
def test_other_ground_truth_and_folders_in_use(models: list[apf.Evaluation], tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(OutputError, match="is not empty"):
        write_label_tasks(tmp_path, of(models))
    part = apf.evaluate(models[0].dataset.sample(20), [])
    with pytest.raises(NotComparableError):
        write_label_tasks(tmp_path / "new", of([models[0], part]))
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_protocols_without_label_errors(tmp_path: Path) -> None:
    relations = STREET.parent / "relations"
    recall = apf.evaluate(relations / "phrases.json", relations / "phrases_found.json", protocol="flickr30k")
    with pytest.raises(ParameterError, match="so it has no annotations that confident detections contradict"):
        write_label_tasks(tmp_path / "new", of([recall]))
    assert [*tmp_path.iterdir()] == []
