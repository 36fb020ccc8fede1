"""Shards in any number and order give the numbers of the whole, in memory or from files."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    FormatError,
    LargeResultWarning,
    NoAnnotationsWarning,
    ParameterError,
    SecondPassWarning,
    ShardError,
    ShardsLeftOutWarning,
)
from apframe.matching.verdicts import Verdicts, example
from apframe.scale.shard_source import Shards
from apframe.scale.verdict_files import read_verdicts, to_arrow, write_verdicts
from tests.parity.strategies import Case, Condition, Key, cases_with_attributes, conditions, half_as_often, keys
from tests.scale.cutting import cut

DRIVING = Path(__file__).parents[2] / "data" / "driving" / "kitti"

pytestmark = [
    pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning"),
    pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning"),
    pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning"),
]
STREET = Path(__file__).parents[2] / "data" / "street"
PROTOCOLS = ["coco", "voc2007", "voc2012", "lvis", "open_images", "open_images_challenge", "proposals"]


@pytest.mark.slow
@half_as_often
@given(cases_with_attributes(), st.sampled_from(PROTOCOLS), st.booleans(), st.sampled_from([1, 10**9]), st.data())
def test_any_cut_gives_the_numbers_of_the_whole(
    case: Case, protocol: str, agnostic: bool, memory: int, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"protocol": protocol, "agnostic": agnostic or None}
    whole = apf.evaluate(case.truth, case.results, **options)
    n = len(case.truth["images"])
    shard_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    with tempfile.TemporaryDirectory() as folder:
        shards = cut(case.truth, case.results, shard_of, Path(folder) / "shards")
        parts = apf.evaluate_shards(shards, memory=memory, **options)
        assert_frame_equal(parts.metrics, whole.metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(parts.summary, whole.summary, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(parts.by("weather"), whole.by("weather"), check_exact=False, rel_tol=0, abs_tol=1e-12)


def street(tmp_path: Path, n: int = 5, **options: Any) -> Path:
    return cut(
        STREET / "instances.json", STREET / "model_a.json", [k * n // 300 for k in range(300)], tmp_path / "shards", **options
    )


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return street(tmp_path)


@pytest.mark.slow
def test_damaged_shards_are_named_or_left_out(shards: Path) -> None:
    (shards / "00003" / "detections.parquet").write_bytes(b"PAR1")
    with pytest.raises(ShardError, match=r"^shard 00003: .*00003/detections.parquet: cannot be read"):
        apf.evaluate_shards(shards)
    with pytest.warns(ShardsLeftOutWarning, match="left out: 1 damaged shard of 5: '00003'"):
        ev = apf.evaluate_shards(shards, skip_bad_shards=True)
    assert "left out: 1 damaged shard of 5: '00003'" in str(ev)


@pytest.mark.slow
def test_an_image_in_two_shards_is_named(shards: Path) -> None:
    image = pl.read_parquet(shards / "00001" / "images.parquet")
    path = shards / "00004" / "images.parquet"
    pl.concat([pl.read_parquet(path), image.head(1)]).write_parquet(path)
    (shards / "shards.json").unlink()
    with pytest.raises(FormatError, match=rf"image {image['image_id'][0]} is in several shards: '00001', '00004'; put each"):
        apf.evaluate_shards(f"{shards}/*")


@pytest.mark.slow
def test_other_columns_are_named_with_both_schemas(shards: Path) -> None:
    path = shards / "00002" / "detections.parquet"
    pl.read_parquet(path).with_columns(pl.col("score").cast(pl.Float32), extra=1).write_parquet(path)
    with pytest.raises(
        FormatError, match="shards 00000 and 00002 differ in the columns of detections: score Float64 and score Float32, extra"
    ):
        apf.evaluate_shards(shards)


def files(folder: Path, truth: dict[str, Any], found: list[dict[str, Any]], n: int = 3) -> tuple[Path, Path]:
    """Patterns of files of ground truth and of results; image k is in the k-th of them, again from the first."""
    folder.mkdir()
    for number in range(n):
        images = truth["images"][number::n]
        ids = {image["id"] for image in images}
        annotations = [row for row in truth["annotations"] if row["image_id"] in ids]
        (folder / f"gt{number}.json").write_text(json.dumps(truth | {"images": images, "annotations": annotations}))
        (folder / f"dt{number}.json").write_text(json.dumps([row for row in found if row["image_id"] in ids]))
    return folder / "gt*.json", folder / "dt*.json"


@pytest.mark.slow
def test_pairs_of_files(tmp_path: Path) -> None:
    truth, detections = json.loads((STREET / "instances.json").read_text()), json.loads((STREET / "model_a.json").read_text())
    patterns = files(tmp_path / "files", truth, detections)
    parts = apf.evaluate_shards(*patterns)
    whole = apf.evaluate(truth, detections)
    assert_frame_equal(parts.metrics, whole.metrics)
    (tmp_path / "files" / "dt2.json").unlink()
    with pytest.raises(ParameterError, match="3 files of ground truth, but 2 of detections"):
        apf.evaluate_shards(*patterns)


@pytest.mark.slow
def test_work_is_used_again_unless_something_changes(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from apframe.scale.job import Job

    first = apf.evaluate_shards(shards, work=tmp_path / "work").summary
    files = sorted((tmp_path / "work").iterdir())
    assert len(files) == 5
    matched: list[str] = []
    match = Job.match
    monkeypatch.setattr(Job, "match", lambda self, shard: matched.append(shard.name) or match(self, shard))
    files[0].write_bytes(b"half of it")
    again = apf.evaluate_shards(shards, work=tmp_path / "work").summary
    assert first.equals(again) and len(matched) == 1
    table = pl.read_parquet(shards / "00001" / "detections.parquet")
    table.with_columns(score=pl.lit(0.5)).write_parquet(shards / "00001" / "detections.parquet")
    changed = apf.evaluate_shards(shards, work=tmp_path / "work").summary
    assert not changed.equals(first) and matched[1:] == ["00001"]
    apf.evaluate_shards(shards, protocol="voc2007", work=tmp_path / "work")
    assert len(matched) == 7


@pytest.mark.slow
def test_damaged_verdicts_are_computed_again(shards: Path, tmp_path: Path) -> None:
    work, random = tmp_path / "work", Random(0)
    expected = apf.evaluate_shards(shards, work=work).metrics
    files = sorted(work.iterdir())
    whole = {path: path.read_bytes() for path in files}
    for number in range(5):
        for path, content in whole.items():
            at = random.randrange(len(content))
            zeros = bytes(min(len(content) - at, 1 + 100 * number))
            path.write_bytes(content[:at] + zeros + content[at + len(zeros) :])
        assert apf.evaluate_shards(shards, work=work).metrics.equals(expected)


@pytest.mark.slow
def test_files_that_change_after_they_were_matched_are_an_error(shards: Path) -> None:
    parts = apf.evaluate_shards(shards)
    table = pl.read_parquet(shards / "00001" / "detections.parquet")
    table.with_columns(score=pl.col("score") / 2).write_parquet(shards / "00001" / "detections.parquet")
    assert parts.by("weather").height  # from the verdicts
    for call in (parts.errors, lambda: parts.by("occlusion"), lambda: parts.sql("SELECT * FROM pairs")):
        with (
            pytest.warns(SecondPassWarning),
            pytest.raises(ShardError, match=r"^shard 00001: .*00001: the files have changed since they were matched; "),
        ):
            call()


@pytest.mark.slow
def test_the_same_verdicts_may_be_written_at_once(tmp_path: Path) -> None:
    table, path = to_arrow(example(), {"shard": "x" * 100_000}), tmp_path / "verdicts.arrow"
    (tmp_path / ".verdicts.arrow.0.part").write_bytes(b"of a killed process")
    with ThreadPoolExecutor(8) as others:
        for _ in others.map(lambda _: write_verdicts(table, path), range(100)):
            assert read_verdicts(path).equals(table)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def pair() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"model_{name}.json") for name in "ab"]


def sharded(folder: Path, **options: Any) -> list[apf.Evaluation]:
    shard_of = [k * 7 % 5 for k in range(300)]
    return [
        apf.evaluate_shards(cut(STREET / "instances.json", STREET / f"model_{name}.json", shard_of, folder / name), **options)
        for name in "ab"
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the verdicts of all categories at once:apframe.exceptions.LargeResultWarning")
@pytest.mark.parametrize("memory", [None, 1])
def test_nothing_is_read_again_for_verdicts_alone(tmp_path: Path, pair: list[apf.Evaluation], memory: int | None) -> None:
    one, other = sharded(tmp_path, memory=memory)
    whole = pair[0]
    assert str(one) == str(whole)
    assert repr(one) == repr(whole).replace("model_a: ", "")
    assert_frame_equal(one.by("weather", "supercategory", marginals=True), whole.by("weather", "supercategory", marginals=True))
    assert_frame_equal(one.where("weather = 'fog'").by("name"), whole.where("weather = 'fog'").by("name"))
    assert_frame_equal(one.where("name = 'car'").metrics, whole.where("name = 'car'").metrics)
    np.testing.assert_array_equal(one.arrays()["precision"], whole.arrays()["precision"])
    for method in ("influence", "bootstrap"):
        options: dict[str, Any] = {"by": "weather", "n_resamples": 160, "metrics": ["AP", "AR100"], "method": method}
        assert_frame_equal(one.intervals(**options), whole.intervals(**options))
        compared = one.compare(other, names=["a", "b"], **options)
        assert_frame_equal(compared, whole.compare(pair[1], names=["a", "b"], **options))
    query = "SELECT name, avg(ap) AS ap FROM metrics JOIN categories USING (category_id) GROUP BY name ORDER BY name"
    assert_frame_equal(one.sql(query), whole.sql(query))
    assert_frame_equal(one.thresholds(0.5), whole.thresholds(0.5))
    assert_frame_equal(one.lrp(), whole.lrp())
    copied = pickle.loads(pickle.dumps(one))
    assert_frame_equal(copied.metrics, whole.metrics)


@pytest.mark.slow
def test_standard_errors_read_some_lists_at_a_time(
    tmp_path: Path, pair: list[apf.Evaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of shards as of the whole; never the verdicts of all lists at once."""
    one, other = sharded(tmp_path)
    monkeypatch.setattr("apframe.evaluation.comparison.influences._MOST", 30_000)
    read, sizes = Shards.verdicts, []

    def watched(source: Shards, lists: tuple[int, int] | None = None) -> Verdicts:
        verdicts = read(source, lists)
        sizes.append(verdicts.lists.height)
        return verdicts

    monkeypatch.setattr(Shards, "verdicts", watched)
    for level in ("summary", "category"):
        options: dict[str, Any] = {"metrics": ["AP", "AR100"], "level": level}
        for by in ((), "weather"):
            found, expected = one.intervals(by=by, **options), pair[0].intervals(by=by, **options)
            assert_frame_equal(found, expected, check_exact=False, abs_tol=1e-12)
        found, expected = (a.compare(b, names=["a", "b"], **options) for a, b in ((one, other), pair))
        assert_frame_equal(found, expected, check_exact=False, abs_tol=1e-12)
    assert len(sizes) > 8
    assert max(sizes) < 12
    found, expected = (each.influence(["AP", "AR100"], by="weather") for each in (one, pair[0]))
    assert_frame_equal(found, expected, check_exact=False, abs_tol=1e-12)


@pytest.mark.slow
def test_a_stored_set_is_that_of_the_whole(tmp_path: Path, pair: list[apf.Evaluation]) -> None:
    with pytest.warns(SecondPassWarning, match="the objects of 5 shards are read again for the tables of annotations and det"):
        sharded(tmp_path)[0].write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert_frame_equal(stored.metrics, pair[0].metrics)
    for name, key in (
        ("pairs", ["detection_id", "annotation_id"]),
        ("assignments", ["detection_id", "area_range", "iou_from"]),
    ):
        mine, theirs = (getattr(each, name).sort(key) for each in (stored, pair[0]))
        assert_frame_equal(mine, theirs)
    assert_frame_equal(
        stored.detections.sort("detection_id"), pair[0].detections.sort("detection_id"), check_column_order=False
    )
    assert_frame_equal(stored.by("occlusion"), pair[0].by("occlusion"))


@pytest.mark.slow
@half_as_often
@given(cases_with_attributes(), st.sampled_from(["coco", "voc2007", "proposals"]), st.data())
def test_tables_of_objects_are_those_of_the_whole(case: Case, protocol: str, data: st.DataObject) -> None:
    """Of the whole and of a part; rows come in the order of the shards, or of the input where that resolves ties."""
    n = len(case.truth["images"])
    shard_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    wholes = [apf.evaluate(case.truth, case.results, protocol)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SecondPassWarning)
        parts: list[apf.Evaluation] = [
            apf.evaluate_shards(cut(case.truth, case.results, shard_of, Path(folder) / "shards"), protocol=protocol)
        ]
        kept = [image["id"] for image in case.truth["images"]][: max(1, n - 1)]
        for each in (wholes, parts):
            each.append(each[0].where(kept))
        for part, whole in zip(parts, wholes, strict=True):
            keys = ["iou_threshold", "area_range", "image_id", "detection_id", "annotation_id"]
            mine, theirs = (each.matches().drop("match_id").sort(keys) for each in (part, whole))
            assert_frame_equal(mine, theirs)
            mine, theirs = (each.errors(whole.protocol.iou_thresholds[0]) for each in (part, whole))
            by = ["detection_id", "annotation_id"]
            assert_frame_equal(mine.sort(by), theirs.sort(by), check_column_order=False)


@pytest.mark.slow
def test_objects_are_read_again_and_that_is_said(shards: Path) -> None:
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    with pytest.warns(SecondPassWarning, match="the objects of 5 shards are read again"):
        assert_frame_equal(apf.evaluate_shards(shards).matches(), whole.matches(), check_column_order=False)
    with (
        pytest.warns(LargeResultWarning, match=r"the verdicts of all categories at once take about .* MB; memory is 0.001 MB"),
        pytest.raises(ParameterError, match=r"needs all annotations and detections in memory, about .* MB; 0.001 MB is"),
    ):
        apf.evaluate_shards(shards, memory=1000).errors()
    with pytest.raises(ParameterError, match="this needs all annotations and detections in memory"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apf.evaluate_shards(shards, memory=1000).sql("SELECT * FROM errors")


@pytest.mark.slow
def test_a_part_needs_the_memory_of_its_own_objects(shards: Path) -> None:
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json").where("weather = 'fog'")
    ev = apf.evaluate_shards(shards, memory=250_000)
    with pytest.raises(
        ParameterError, match=r"in memory, about 0.34 MB; 0.25 MB is allowed; allow more, or select fewer images"
    ):
        ev.errors()
    with pytest.warns(SecondPassWarning, match=r"are read again to have them all in memory, about 0.0\d+ MB"):
        errors = ev.where("weather = 'fog'").errors()
    assert_frame_equal(errors, whole.errors(), check_column_order=False)


@pytest.mark.slow
def test_a_warning_of_sql_names_the_line_of_the_caller(shards: Path) -> None:
    with pytest.warns(SecondPassWarning, match="are read again for the tables of annotations and detections") as caught:
        assert apf.evaluate_shards(shards).sql("SELECT count(*) FROM annotations").item() == 2400
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.slow
@half_as_often
@given(
    cases_with_attributes(),
    st.sampled_from(["coco", "voc2012", "lvis"]),
    st.lists(st.sampled_from(keys()), min_size=1, max_size=2, unique_by=lambda key: key.column),
    st.data(),
)
def test_slices_of_objects_are_those_of_the_whole(case: Case, protocol: str, by: list[Key], data: st.DataObject) -> None:
    whole = apf.evaluate(case.truth, case.results, protocol)
    n = len(case.truth["images"])
    shard_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    with tempfile.TemporaryDirectory() as folder:
        parts = apf.evaluate_shards(cut(case.truth, case.results, shard_of, Path(folder) / "shards"), protocol=protocol)
        arguments = [key.given for key in by]
        try:
            expected = whole.by(*arguments)
        except ParameterError as error:
            with pytest.raises(ParameterError, match=re.escape(str(error))):
                parts.by(*arguments)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecondPassWarning)
            assert_frame_equal(parts.by(*arguments), expected, check_exact=False, rel_tol=0, abs_tol=1e-12)


@pytest.mark.slow
@half_as_often
@given(
    cases_with_attributes(),
    st.sampled_from(["coco", "voc2012", "lvis"]),
    st.booleans(),
    st.lists(st.sampled_from(conditions()), min_size=1, max_size=2),
    st.data(),
)
def test_parts_are_those_of_the_whole(
    case: Case, protocol: str, agnostic: bool, chosen: list[Condition], data: st.DataObject
) -> None:
    options: dict[str, Any] = {"protocol": protocol, "agnostic": agnostic or None}
    whole = apf.evaluate(case.truth, case.results, **options)
    n = len(case.truth["images"])
    shard_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    arguments = [condition.given for condition in chosen]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SecondPassWarning)
        parts = apf.evaluate_shards(cut(case.truth, case.results, shard_of, Path(folder) / "shards"), **options)
        try:
            expected = whole.where(*arguments)
        except ParameterError as error:
            with pytest.raises(ParameterError, match=re.escape(str(error))):
                parts.where(*arguments)
            return
        part = parts.where(*arguments)
        assert_frame_equal(part.metrics, expected.metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(part.by("weather"), expected.by("weather"), check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(part.by("colour"), expected.by("colour"), check_exact=False, rel_tol=0, abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
@pytest.mark.parametrize("table", ["confusion", "confusion_pairs", "errors", "label_errors", "calibration"])
def test_what_objects_say_is_that_of_the_whole(table: str, shards: Path) -> None:
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    parts = apf.evaluate_shards(shards)
    assert_frame_equal(getattr(parts, table)(), getattr(whole, table)(), check_exact=False, rel_tol=0, abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_ids_counted_in_each_file_are_numbered_through(tmp_path: Path) -> None:
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {
        "images": [{"id": n} for n in range(5)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 7 - n, "image_id": n} | box for n in range(3)],
    }
    detections = [{"image_id": n, "score": n / 10, "mark": n} | box for n in (3, 0, 1, 2, 4, 0)]
    parts, whole = apf.evaluate_shards(*files(tmp_path / "files", truth, detections)), apf.evaluate(truth, detections)
    assert parts.detections["detection_id"].to_list() == [1, 2, 3, 4, 5, 6]
    assert parts.dataset.annotations["annotation_id"].sort().to_list() == [5, 6, 7]
    query = "SELECT annotation_id, mark, similarity FROM pairs JOIN detections USING (detection_id) ORDER BY ALL"
    assert_frame_equal(parts.sql(query), whole.sql(query))
    parts.write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert_frame_equal(stored.detections, parts.detections)
    assert_frame_equal(stored.matches(), parts.matches())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_copies_of_annotations_have_ids_of_their_own(tmp_path: Path) -> None:
    categories = [{"id": 1, "name": "animal", "parent_ids": []}, {"id": 2, "name": "cat", "parent_ids": [1]}]
    boxes = [{"id": 2 * n + 1, "image_id": n, "category_id": 2, "bbox": [0, 0, 9, 9 + n]} for n in range(4)]
    truth = {"images": [{"id": n} for n in range(4)], "categories": categories, "annotations": boxes}
    detections = [row | {"score": 0.5} for row in boxes]
    parts = apf.evaluate_shards(cut(truth, detections, [0, 1, 1, 0], tmp_path / "shards"), protocol="open_images_challenge")
    whole = apf.evaluate(truth, detections, "open_images_challenge")
    of = ["expanded_from", "image_id", "category_id"]
    for each in (parts.dataset.annotations, parts.sql("SELECT * FROM annotations")):
        assert each["annotation_id"].sort().to_list() == [1, 3, 5, 7, 8, 9, 10, 11]
        assert_frame_equal(each.select(of).sort(of), whole.dataset.annotations.select(of).sort(of))
    query = "SELECT expanded_from, a.category_id, similarity FROM pairs JOIN annotations a USING (annotation_id) ORDER BY ALL"
    assert_frame_equal(parts.sql(query), whole.sql(query))


@pytest.mark.slow
def test_numbers_in_the_whole_input_stay_out_of_the_tables(shards: Path) -> None:
    parts = apf.evaluate_shards(shards, protocol="voc2007")
    with pytest.warns(SecondPassWarning):
        assert "input_row" not in {*parts.detections.columns, *parts.dataset.annotations.columns}


@pytest.mark.slow
@pytest.mark.filterwarnings("default::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
@pytest.mark.parametrize("condition", ["occlusion > 2", "name = 'car'"])
def test_parts_without_annotations_are_warned_of(condition: str, shards: Path) -> None:
    car = pl.read_parquet(shards / "categories.parquet").filter(name="car")["category_id"][0]
    for path in shards.glob("*/annotations.parquet"):
        table = pl.read_parquet(path)
        table.with_columns(is_crowd=pl.col("is_crowd") | (pl.col("category_id") == car)).write_parquet(path)
    with pytest.warns(NoAnnotationsWarning, match="where: no annotation meets the conditions"):
        apf.evaluate_shards(shards).where(condition)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["bbox", "3d"])
def test_classes_and_void_detections_of_kitti(iou_type: str, tmp_path: Path) -> None:
    """Detections that are copied for other classes share the number of their original."""
    files = DRIVING / "label_2", DRIVING / "model_a"
    options: dict[str, Any] = {"protocol": apf.KITTI, "iou_type": iou_type}
    whole = apf.evaluate(*files, **options)
    apf.write_shards(*files, tmp_path / "shards", 3)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), **options)
    assert sharded.summary.rows() == whole.summary.rows()
    assert sharded.by("name").rows() == whole.by("name").rows()
    assert sharded.by("name")["name"].to_list() == ["Car", "Cyclist", "Pedestrian"]


UPRIGHT, TURNED = {"angle": 0.0}, {"angle": 1.5}
COUNTED: dict[str, tuple[list[tuple[int, dict[str, Any]]], list[tuple[int, dict[str, Any]]], list[str]]] = {
    "ultralytics": (
        [(1, UPRIGHT), (2, TURNED), (2, TURNED), (3, UPRIGHT), (3, UPRIGHT), (3, TURNED)],
        [(1, UPRIGHT), (2, UPRIGHT), (3, TURNED)],
        [
            "boxes turned by angle: 3 of 6 annotations and 1 of 3 detections; ULTRALYTICS uses the upright boxes around them",
            "left out: 2 of 6 annotations that repeat another one of the same image, category and shape, as Ultralytics does",
        ],
    ),
    "wider_face": (
        [(1, {"easy": True, "medium": True, "hard": True})],
        [(1, {}), (2, {}), (2, {}), (3, {})],
        [
            "3 detections on 2 images without annotations (2, 3): ignored; the program of the benchmark WIDER_FACE skips these "
            "images"
        ],
    ),
    "citypersons": (
        [(1, {"vis_ratio": 1.0}), *[(2, {"vis_ratio": None})] * 5, (3, {"vis_ratio": None})],
        [(1, {})],
        ["6 annotations without vis_ratio or vis_bbox (2, 3, 4, 5, 6 and 1 more): counted in every subset of CITYPERSONS"],
    ),
    "crowdhuman": (
        [(1, {}), (2, {})],
        [(1, {}), (2, {}), (3, {})],
        ["2 images of unknown size: boxes are not cut off at the edges there"],
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.TurnedBoxesWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownValueWarning")
@pytest.mark.parametrize("protocol", COUNTED)
def test_notes_count_all_shards_and_updates_together(protocol: str, tmp_path: Path) -> None:
    annotations, detections, notes = COUNTED[protocol]
    box = {"category_id": 1, "x": 10.0, "y": 10.0, "width": 30.0, "height": 60.0}
    images = pl.DataFrame({"image_id": [1, 2, 3], "image_width": [100, None, None], "image_height": [100, None, None]})
    numbered = [{"annotation_id": n, "image_id": image} | box | more for n, (image, more) in enumerate(annotations, 1)]
    name = {"citypersons": "pedestrian", "crowdhuman": "person"}.get(protocol, "face")
    truth = apf.Dataset(images, {"category_id": [1], "name": [name]}, pl.DataFrame(numbered))
    predictions = pl.DataFrame([{"image_id": image, "score": 0.05} | box | more for image, more in detections])
    assert list(apf.evaluate(truth, predictions, protocol).notes) == notes
    apf.write_shards(truth, predictions, tmp_path / "shards", n=3)
    assert list(apf.evaluate_shards(tmp_path / "shards", protocol=protocol).notes) == notes
    evaluator = apf.Evaluator(truth, protocol)
    for of_image in predictions.partition_by("image_id"):
        evaluator.update(of_image)
    assert list(evaluator.compute().notes) == notes
    assert list(evaluator.compute().notes) == notes


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.SecondPassWarning")
def test_a_table_without_rows_has_no_slices(tmp_path: Path) -> None:
    box = {"image_id": [1], "category_id": [1], "x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame(box | {"colour": ["red"]}).clear())
    shards = cut(truth, pl.DataFrame({"detection_id": [1], **box, "score": [0.5]}), [0], tmp_path / "shards")
    assert apf.evaluate_shards(shards).by("colour").is_empty()
