"""Rows of images with lists of objects: in memory, in the files of Hugging Face's `datasets`, and round trips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, FormatError, ParameterError, RowError
from apframe.formats.nested_rows import frame_of_rows, tables_of_rows
from tests.formats.folders import written

STREET = Path(__file__).parents[2] / "data" / "street"
BOXES = pa.list_(pa.list_(pa.float32(), 4))
OBJECTS = pa.struct([("id", pa.list_(pa.int64())), ("bbox", BOXES), ("category", pa.list_(pa.int64()))])
ROWS = {
    "image_id": [5, 6, 7],
    "image": [{"bytes": b"pixels", "path": f"{name}.png"} for name in "abc"],
    "width": [64, 64, 64],
    "height": [48, 48, 48],
    "weather": ["rain", "sun", "sun"],
    "objects": pa.array(
        [
            {"id": [11, 12], "bbox": [[1, 2, 3, 4], [5, 6, 7, 8]], "category": [1, 0]},
            {"id": [], "bbox": [], "category": []},
            {"id": [13], "bbox": [[9, 8, 7, 6.5]], "category": [1]},
        ],
        OBJECTS,
    ),
}
LABEL = {"feature": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "_type": "List"}
FEATURES = {"objects": {"category": LABEL, "bbox": {"feature": {}, "_type": "List"}}}
METADATA = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
FOUND: dict[str, Any] = {
    "image_id": [5, 7],
    "boxes": [[[1.0, 2.0, 3.0, 4.0]], [[9.0, 8.0, 7.0, 6.5], [0.0, 0.0, 1.0, 1.0]]],
    "labels": [[1], [1, 0]],
    "scores": [[0.9], [0.8, 0.3]],
}
BOX = ["x", "y", "width", "height"]


def table() -> pa.Table:
    return pa.table(ROWS).replace_schema_metadata(METADATA)


def test_rows_of_images_are_ground_truth() -> None:
    truth = apf.read_dataset(table())
    assert truth.images.select("image_id", "image_width", "image_height", "file_name", "weather").rows() == [
        (5, 64, 48, "a.png", "rain"), (6, 64, 48, "b.png", "sun"), (7, 64, 48, "c.png", "sun"),
    ]  # fmt: skip
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog")]
    assert truth.annotations.select("annotation_id", "image_id", "category_id", *BOX).rows() == [
        (11, 5, 1, 1, 2, 3, 4), (12, 5, 0, 5, 6, 7, 8), (13, 7, 1, 9, 8, 7, 6.5),
    ]  # fmt: skip


@pytest.mark.parametrize("found", [FOUND, pl.DataFrame(FOUND)], ids=["dict", "frame"])
def test_lists_beside_each_other_are_results(found: Any) -> None:
    ev = apf.evaluate(table(), found)
    assert dict(ev.matches(0.5, area_range="all")["outcome"].value_counts().rows()) == {"tp": 2, "fp": 1, "fn": 1}


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow", "dict", "list", "list of structs"])
def test_every_kind_of_frame_is_taken(kind: str) -> None:
    rows = pa.table({name: ROWS[name] for name in ("image_id", "objects")})
    objects = pl.DataFrame(rows)["objects"]
    structs = [[dict(zip(each, row, strict=True)) for row in zip(*each.values(), strict=True)] for each in objects]
    frame = {
        "polars": lambda: pl.DataFrame(rows),
        "lazy": lambda: pl.DataFrame(rows).lazy(),
        "pandas": lambda: pl.DataFrame(rows).to_pandas(use_pyarrow_extension_array=True),
        "arrow": lambda: rows,
        "dict": lambda: rows.to_pydict(),
        "list": lambda: rows.to_pylist(),
        "list of structs": lambda: pl.DataFrame({"image_id": rows["image_id"], "annotations": structs}),
    }[kind]()
    assert apf.read_dataset(frame).annotations.select("image_id", "category_id", *BOX).rows() == [
        (5, 1, 1, 2, 3, 4), (5, 0, 5, 6, 7, 8), (7, 1, 9, 8, 7, 6.5),
    ]  # fmt: skip


class Dataset:
    """What apframe asks of a Dataset of Hugging Face."""

    features: ClassVar = {"image_id": 0, "objects": 0, "weather": 0}

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    def select_columns(self, names: list[str]) -> Dataset:
        return Dataset(self.rows.select(names))

    def with_format(self, kind: str) -> pa.Table:
        assert kind == "arrow"
        return self.rows


def test_a_dataset_of_hugging_face_is_ground_truth_and_results() -> None:
    truth = apf.read_dataset(Dataset(table()))
    assert truth.categories["name"].to_list() == ["cat", "dog"]
    assert "weather" in truth.images.columns
    assert apf.read_results(pa.table(FOUND)).height == 3


def test_numbers_are_not_copied_on_the_way_to_columns() -> None:
    rows = table()
    annotations = tables_of_rows(*frame_of_rows("images", rows))["annotations"]
    address = rows["objects"].chunk(0).field("category").values.buffers()[1].address
    assert annotations["category_id"].to_numpy(allow_copy=False).__array_interface__["data"][0] == address


@pytest.mark.slow
def test_files_are_read_without_pixels(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "truth.parquet")
    pq.write_table(pa.table(FOUND), tmp_path / "found.parquet")
    with pa.ipc.new_stream(tmp_path / "truth.arrow", table().schema) as stream:
        stream.write_table(table())
    expected = apf.read_dataset(table())
    for name in ("truth.parquet", "truth.arrow"):
        truth = apf.read_dataset(tmp_path / name)
        for each in ("images", "categories", "annotations"):
            assert_frame_equal(getattr(truth, each), getattr(expected, each))
    ev = apf.evaluate(tmp_path / "truth.parquet", tmp_path / "found.parquet")
    assert ev.summary["value"][1] == apf.evaluate(table(), pl.DataFrame(FOUND)).summary["value"][1]


def test_json_lines_of_an_image_folder(tmp_path: Path) -> None:
    lines = '{"file_name": "a.png", "objects": {"bbox": [[1, 2, 3, 4.5]], "categories": ["cat"]}}\n'
    folder = written(tmp_path, {"train/metadata.jsonl": lines, "test/metadata.jsonl": lines.replace('"cat"', '"dog"')})
    assert apf.read_dataset(folder, split="train").annotations.select("image_id", "category_id", *BOX).rows() == [
        (0, "cat", 1, 2, 3, 4.5)
    ]
    assert apf.read_dataset(folder).categories["name"].to_list() == ["dog"]
    alone = folder / "train" / "metadata.jsonl"  # whose word "categories" is not that of COCO
    assert apf.read_dataset(alone).categories["name"].to_list() == ["cat"]
    with pytest.raises(ParameterError, match="no split 'tain'; did you mean train"):
        apf.read_dataset(folder, split="tain")


def test_splits_are_files_that_begin_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for number in range(2):
        pq.write_table(table()[2 * number : 2 * number + 2], tmp_path / "data" / f"train-0000{number}-of-00002.parquet")
    pq.write_table(table()[:1], tmp_path / "data" / "validation-00000-of-00001.parquet")
    assert apf.read_dataset(tmp_path).images.height == 1
    assert apf.read_dataset(tmp_path, split="train").images["image_id"].to_list() == [5, 6, 7]


def test_truth_and_predictions_in_one_table() -> None:
    predictions = [
        {"bbox": [[1.0, 2, 3, 4]], "label": [1], "confidence": [0.5]},
        {"bbox": [], "label": [], "confidence": []},
        None,
    ]
    both = pl.DataFrame(table()).with_columns(pl.Series("predictions", predictions))
    ev = apf.evaluate(both, both)
    assert (ev.dataset.annotations.height, ev.detections.height) == (3, 1)


@pytest.mark.slow
def test_round_trip(tmp_path: Path) -> None:
    street = apf.read_dataset(STREET / "instances.json")
    lost = apf.write_dataset(street, tmp_path / "street.parquet", "hugging_face")
    assert lost.select("table", "column", "what").rows() == [
        ("categories", "category_id", "numbered anew"), ("categories", "supercategory", "left out"),
    ]  # fmt: skip
    again = apf.read_dataset(tmp_path / "street.parquet")
    assert_frame_equal(again.images, street.images, check_column_order=False)
    numbers = street.categories["category_id"]
    expected = street.annotations.with_columns(pl.col("category_id").replace_strict(numbers, range(len(numbers))))
    by_id = again.annotations.sort("annotation_id").select(expected.columns)
    assert_frame_equal(by_id, expected.sort("annotation_id"))
    schema = pq.read_schema(tmp_path / "street.parquet")  # `datasets` takes the names of classes only with types of its own
    assert schema.field("file_name").type == pa.string()
    assert schema.field("objects").type.field("bbox").type == pa.list_(pa.list_(pa.float64()))
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["objects"]["category"]["feature"]["_type"] == "ClassLabel"
    detections = apf.read_results(STREET / "model_a.json")
    apf.write_results(detections, tmp_path / "found.parquet", "hugging_face", dataset=street)
    ev = apf.evaluate(tmp_path / "street.parquet", tmp_path / "found.parquet")
    assert str(ev) == str(apf.evaluate(street, detections))


def test_lists_of_other_lengths_are_named() -> None:
    rows = pl.DataFrame({"image_id": [3, 4], "objects": [{"bbox": [[1.0, 2, 3, 4]], "category": [1, 2]}, None]})
    with pytest.raises(RowError, match=r"category and bbox in objects differ in length for image_id 3; correct"):
        apf.read_dataset(rows)


def test_missing_scores_and_missing_classes_are_told(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "truth.parquet")
    with pytest.raises(FormatError, match="looks like a data set of hugging_face, but results are needed here"):
        apf.read_results(tmp_path / "truth.parquet")
    with pytest.raises(ColumnError, match="no column score"):
        apf.read_results(table())
    with pytest.raises(ColumnError, match="no column category_id"):
        apf.read_dataset(pl.DataFrame({"image_id": [1], "objects": [{"bbox": [[1.0, 2, 3, 4]]}]}))


def test_what_is_no_such_file_is_told(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="no column with boxes; there are a"):
        apf.read_dataset(tmp_path / "a.parquet", "hugging_face")
    for name in ("a.jsonl", "b.parquet", "b.arrow"):
        (tmp_path / name).write_text("{")
        with pytest.raises(FormatError, match="cannot be read as"):
            apf.read_dataset(tmp_path / name, "hugging_face")
