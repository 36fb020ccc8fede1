"""What must not matter: the order of rows, the names of ids, the container of the data, one image or the next first."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from tests.parity.strategies import Case, Row, cases

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
SECTIONS = ("images", "categories", "annotations")

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def evaluated(case: Case) -> apf.Evaluation:
    return apf.evaluate(case.truth, case.results)


@given(cases(ties=False), st.data())
def test_shuffling_rows_changes_nothing(case: Case, data: st.DataObject) -> None:
    before = evaluated(case)
    # of two annotations that a detection overlaps alike, the later one is taken: there the order does matter
    assume(not before.pairs.select("detection_id", "similarity").is_duplicated().any())
    shuffled = {name: data.draw(st.permutations(case.truth[name])) for name in SECTIONS}
    after = apf.evaluate(shuffled, data.draw(st.permutations(case.results)))
    assert_frame_equal(after.summary, before.summary, check_exact=True)
    assert_frame_equal(after.metrics, before.metrics, check_exact=True)


@given(cases(), st.sampled_from([lambda place: place * 7 + 3, "{:04}".format]))
def test_renaming_ids_in_the_same_order_changes_nothing(case: Case, rename: Callable[[int], Any]) -> None:
    before, after = evaluated(case), evaluated(renamed(case, rename))
    assert_frame_equal(after.summary, before.summary, check_exact=True)
    assert_frame_equal(after.metrics.drop("category_id"), before.metrics.drop("category_id"), check_exact=True)


@given(cases(), st.sampled_from([7, 8, 16, 32]), st.data())
def test_an_area_range_among_many_is_the_same_as_alone(case: Case, n: int, data: st.DataObject) -> None:
    """The numbers of ranges need integers of 8, 16, 32 and 64 bits."""
    ranges = {str(k): (40.0 * k * k, 3000.0 * (k + 1)) for k in range(n)}
    name = data.draw(st.sampled_from(list(ranges)))
    among, alone = (apf.evaluate(case.truth, case.results, area_ranges=each) for each in (ranges, {name: ranges[name]}))
    for area_range in ("all", name):
        of_range = [
            each.metrics.filter(pl.col("area_range") == area_range).drop("area_range").sort(pl.all()) for each in (among, alone)
        ]
        assert of_range[0].height
        assert_frame_equal(*of_range, check_exact=True)


def renamed(case: Case, rename: Callable[[int], Any]) -> Case:
    """All ids replaced by a name of their place in the sorted ids."""
    keys = dict(zip(SECTIONS, ("image_id", "category_id", "id"), strict=True))
    new = {
        key: {old: rename(place) for place, old in enumerate(sorted(row["id"] for row in case.truth[table]))}
        for table, key in keys.items()
    }

    def replaced(row: Row, **columns: str) -> Row:
        return row | {column: new[key][row[column]] for column, key in columns.items()}

    cell = {"image_id": "image_id", "category_id": "category_id"}
    return Case(
        truth={
            "images": [replaced(row, id="image_id") for row in case.truth["images"]],
            "categories": [replaced(row, id="category_id") for row in case.truth["categories"]],
            "annotations": [replaced(row, id="id", **cell) for row in case.truth["annotations"]],
        },
        results=[replaced(row, **cell) for row in case.results],
    )


@given(cases(ties=False), st.data())
def test_a_false_positive_after_the_last_hit_changes_no_ap(case: Case, data: st.DataObject) -> None:
    assume(case.results)
    before = evaluated(case)
    category_id = data.draw(st.sampled_from([category["id"] for category in case.truth["categories"]]))
    last = before.sql(
        "SELECT min(score) FROM matches WHERE outcome = 'tp' AND category_id = $category_id", category_id=category_id
    ).item()
    image_id = data.draw(st.sampled_from([image["id"] for image in case.truth["images"]]))
    score = (1 if last is None else last) - 0.5 / len(case.results)  # scores are that far from each other
    false = {"image_id": image_id, "category_id": category_id, "score": score, "bbox": [-1e4, -1e4, 32, 32]}
    after = apf.evaluate(case.truth, [*case.results, false])
    assert_frame_equal(after.metrics.drop("n_detections"), before.metrics.drop("n_detections"), check_exact=True)


@given(cases(), st.data(), st.sampled_from([0.5, 0.8]), st.sampled_from(["all", "medium"]))
def test_splitting_by_images_gives_the_same_matches(
    case: Case, data: st.DataObject, iou_threshold: float, area_range: str
) -> None:
    truth, detections = apf.read_coco(case.truth), apf.read_coco_results(case.results)
    image_ids = truth.images["image_id"]
    is_first = data.draw(st.lists(st.booleans(), min_size=len(image_ids), max_size=len(image_ids)))
    parts = [image_ids.filter(pl.Series(is_first)), image_ids.filter(~pl.Series(is_first))]
    of_parts = []
    for part in parts:
        inside = pl.col("image_id").is_in(part.implode())
        dataset = apf.Dataset(truth.images.filter(inside), truth.categories, truth.annotations.filter(inside))
        of_parts.append(apf.evaluate(dataset, detections.filter(inside)).matches(iou_threshold, area_range))
    of_whole = apf.evaluate(truth, detections).matches(iou_threshold, area_range)
    assert_frame_equal(by_ids(pl.concat(of_parts)), by_ids(of_whole), check_exact=True)


def by_ids(matches: pl.DataFrame) -> pl.DataFrame:
    """Without what numbers the rows within one evaluation."""
    return matches.drop("match_id", "rank").sort("image_id", "category_id", "detection_id", "annotation_id")


@given(st.booleans().flatmap(lambda strings: cases(strings=strings)))
def test_files_are_read_as_the_same_data_in_memory(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        truth, results = Path(folder) / "truth.json", Path(folder) / "results.json"
        truth.write_text(json.dumps(case.truth))
        results.write_text(json.dumps(case.results))
        of_files, of_memory = apf.evaluate(truth, results), evaluated(case)
        assert_frame_equal(of_files.detections, of_memory.detections, check_exact=True)
        for table in SECTIONS:
            of_file, expected = getattr(of_files.dataset, table), getattr(of_memory.dataset, table)
            assert_frame_equal(of_file, expected, check_exact=True)
    assert_frame_equal(of_files.metrics, of_memory.metrics, check_exact=True)


def packed(source: Path, target: Path) -> Path:
    target.write_bytes(gzip.compress(source.read_bytes()))
    return target


def as_parquet(frame: pl.DataFrame, path: Path) -> Path:
    frame.write_parquet(path)
    return path


def as_relation(frame: pl.DataFrame, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    return connection.from_arrow(frame.to_arrow())


@pytest.mark.parametrize("kind", ["dict", "gzip", "Polars", "lazy", "Parquet", "pandas", "pyarrow", "DuckDB"])
def test_every_container_gives_the_summary_of_the_json_files(kind: str, tmp_path: Path) -> None:
    truth, results = STREET / "instances.json", STREET / "model_a.json"
    expected = apf.evaluate(truth, results).summary
    if kind == "dict":
        evaluation = apf.evaluate(json.loads(truth.read_text()), json.loads(results.read_text()))
    elif kind == "gzip":
        evaluation = apf.evaluate(packed(truth, tmp_path / "a.json.gz"), packed(results, tmp_path / "b.json.gz"))
    else:
        connection = duckdb.connect()
        convert: Callable[[pl.DataFrame], Any] = {
            "Polars": lambda frame: frame,
            "lazy": lambda frame: frame.lazy(),
            "Parquet": lambda frame: as_parquet(frame, tmp_path / f"{frame.columns[0]}.parquet"),
            "pandas": lambda frame: frame.to_pandas(),
            "pyarrow": lambda frame: frame.to_arrow(),
            "DuckDB": lambda frame: as_relation(frame, connection),
        }[kind]
        dataset = apf.read_coco(truth)
        tables = [convert(getattr(dataset, table)) for table in SECTIONS]
        evaluation = apf.evaluate(apf.Dataset(*tables), convert(apf.read_coco_results(results)))
    assert_frame_equal(evaluation.summary, expected, check_exact=True)
