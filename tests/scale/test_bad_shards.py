"""Shards that cannot be evaluated, or not together: one error, which says what is wrong, where, and what to do."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.options import choose
from apframe.exceptions import (
    ApframeError,
    ApframeWarning,
    FormatError,
    InvalidRowsWarning,
    NoAnnotationsWarning,
    ParameterError,
    SecondPassWarning,
    ShardError,
    ShardsLeftOutWarning,
    UnknownCategoryWarning,
)
from apframe.scale.job import Job
from apframe.scale.layout import SHARD_TABLES
from apframe.scale.shards import find_shards
from tests.scale.cutting_anyhow import write_listing

Change = Callable[[pl.DataFrame], pl.DataFrame]
BOX = {"x": 0.0, "y": 0.0, "width": 10.0, "height": 10.0}
TRUTH = apf.Dataset(
    images={"image_id": [1, 2, 3, 4]},
    categories={"category_id": [1, 2], "name": ["cat", "dog"]},
    annotations=[{"annotation_id": n, "image_id": n, "category_id": 1 + n % 2, **BOX} for n in (1, 2, 3, 4)],
)
FOUND = pl.DataFrame(
    [{"detection_id": 10 + n, "image_id": n, "category_id": 1 + n % 2, **BOX, "score": n / 10} for n in (1, 2, 3, 4)]
)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Images 1 and 2 are in shard 00000, 3 and 4 in shard 00001."""
    apf.write_shards(TRUTH, FOUND, tmp_path / "shards", n=2)
    return tmp_path / "shards"


def change(path: Path, how: Change, *, listed: bool = False) -> None:
    """Write a table anew; unless it is `listed`, without shards.json, which says how many rows there are."""
    how(pl.read_parquet(path, memory_map=False)).write_parquet(path)
    if not listed:
        (path.parents[1] / "shards.json").unlink(missing_ok=True)


def error_of(kind: type[Exception], shards: Path | str, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        apf.evaluate_shards(shards, **options)
    folder = shards if isinstance(shards, Path) else Path(shards.removesuffix("*"))
    return str(caught.value).replace(f"{folder.parent}/", "")


ELSEWHERE = "the tables were cut into shards differently: join them with `apframe shard`"
FIRST, SECOND = "00000/detections.parquet", "00001/detections.parquet"


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("unknown_images", ["error", "drop"])
def test_detections_of_an_image_of_another_shard(shards: Path, unknown_images: str) -> None:
    detections = pl.read_parquet(shards / SECOND)
    change(shards / FIRST, lambda table: pl.concat([table, detections.head(1)]))
    message = error_of(ShardError, f"{shards}/*", unknown_images=unknown_images)
    assert message == f"shard 00000: detections of image 3, which shard 00001 has; {ELSEWHERE}"
    change(shards / FIRST, lambda table: pl.concat([table, detections.tail(1)]))
    message = error_of(ShardError, f"{shards}/*", unknown_images=unknown_images)
    several = "2 images that other shards have: 3, 4 (3 is in shard 00001)"
    assert message == f"shard 00000: detections of {several}; {ELSEWHERE}"


@pytest.mark.slow
def test_detections_of_images_that_no_shard_has(shards: Path) -> None:
    change(shards / FIRST, lambda table: table.with_columns(image_id=pl.lit(99, pl.Int64)))
    message = "shard 00000: detections: image_id is not among the images for detection_id 11, 12; unknown: 99; "
    assert error_of(ShardError, f"{shards}/*").startswith(message)
    dropped = apf.evaluate_shards(f"{shards}/*", unknown_images="drop")
    assert_frame_equal(dropped.metrics, apf.evaluate(TRUTH, FOUND.filter(pl.col("image_id") > 2)).metrics)


def test_annotations_of_an_image_of_another_shard(shards: Path) -> None:
    change(shards / "00001/annotations.parquet", lambda table: table.with_columns(image_id=pl.lit(2, pl.Int64)))
    message = error_of(ShardError, f"{shards}/*")
    assert message == f"shard 00001: annotations of image 2, which shard 00000 has; {ELSEWHERE}"


@pytest.mark.slow
def test_detections_of_an_image_of_another_file(tmp_path: Path) -> None:
    for number, ids in enumerate([(1, 2), (3, 4)]):
        images = [{"id": image_id} for image_id in ids]
        categories = [{"id": 1, "name": "cat"}]
        (tmp_path / f"gt{number}.json").write_text(json.dumps({"images": images, "categories": categories, "annotations": []}))
        row = {"image_id": 2, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}
        (tmp_path / f"dt{number}.json").write_text(json.dumps([row]))
    for unknown_images in ("error", "drop"):
        with pytest.raises(ShardError) as caught:
            apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.json", unknown_images=unknown_images)
        assert str(caught.value) == f"shard dt1.json: detections of image 2, which shard dt0.json has; {ELSEWHERE}"


@pytest.mark.slow
def test_an_image_in_two_shards(shards: Path) -> None:
    images = pl.read_parquet(shards / "00000/images.parquet")
    change(shards / "00001/images.parquet", lambda table: pl.concat([table, images]))
    assert error_of(FormatError, f"{shards}/*") == (
        "image 1 (and 1 more image) is in several shards: '00000', '00001'; put each image with all its rows into one shard"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "how", "message"),
    [
        ("images", lambda table: table.cast({"image_id": pl.Int32}), "images: image_id Int64 and image_id Int32"),
        ("annotations", lambda table: table.with_columns(night=True), "annotations: nothing more and night Boolean"),
        ("annotations", lambda table: table.drop("input_row"), "annotations: input_row UInt32 and nothing more"),
        ("detections", lambda table: table.drop("input_row"), "detections: input_row UInt32 and nothing more"),
    ],
)
def test_other_columns_or_types(table: str, how: Change, message: str, shards: Path) -> None:
    change(shards / f"00001/{table}.parquet", how)
    assert error_of(FormatError, f"{shards}/*") == (
        f"shards 00000 and 00001 differ in the columns of {message}; make them equal, or join them with `apframe shard`"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            lambda table: table.with_columns(name=pl.lit("cow")),
            "their categories: 1 'cat', 2 'dog' and 1 'cow', 2 'cow'; make them equal, or join them with `apframe shard`",
        ),
        (lambda table: table.with_columns(kind=pl.lit("pet")), "the columns of categories: nothing more and kind String; "),
        (lambda table: table.with_columns(group=pl.lit("b")), "the attributes of their categories: group (checksum "),
    ],
)
def test_other_categories(how: Change, message: str, shards: Path) -> None:
    categories = pl.read_parquet(shards / "categories.parquet").with_columns(group=pl.lit("a"))
    categories.write_parquet(shards / "00000/categories.parquet")
    how(categories).write_parquet(shards / "00001/categories.parquet")
    assert error_of(FormatError, shards).startswith(f"shards 00000 and 00001 differ in {message}")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda table: table.with_columns(input_row=pl.lit(7)), "detections.input_row has the number 7 in several rows; "),
        (lambda table: table.cast({"input_row": pl.Float64}), "detections.input_row is not a whole number in every row; "),
        (lambda table: table.with_columns(input_row=pl.lit(None, pl.UInt32)), "detections.input_row is not a whole number"),
    ],
)
def test_numbers_that_are_none(how: Change, message: str, shards: Path) -> None:
    change(shards / SECOND, how)
    assert error_of(ShardError, f"{shards}/*").startswith(f"shard 00001: {message}")


@pytest.mark.slow
def test_numbers_of_each_shard_alone(shards: Path) -> None:
    change(shards / SECOND, lambda table: table.with_columns(input_row=pl.Series([0, 1], dtype=pl.UInt32)), listed=True)
    message = "input_row repeats in other shards: there are 4 detections, but no number above 1; number the rows of all shards"
    assert error_of(FormatError, shards, protocol="voc2012").startswith(message)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_numbers_that_two_shards_have(shards: Path) -> None:
    for path in shards.glob("*/detections.parquet"):
        change(path, lambda table: table.with_columns(input_row=pl.int_range(pl.len()) * 9))
    with pytest.raises(FormatError, match=r"^detections of different shards have the same input_row; number the rows of all"):
        apf.evaluate_shards(f"{shards}/*", protocol="voc2012").matches()


def test_numbers_of_files_that_are_none(tmp_path: Path) -> None:
    apf.write_coco(TRUTH, tmp_path / "gt.json")
    FOUND.with_columns(input_row=pl.lit("a")).write_parquet(tmp_path / "dt.parquet")
    with pytest.raises(ShardError, match=r"^shard dt.parquet: detections.input_row is not a whole number in every row; "):
        apf.evaluate_shards(tmp_path / "gt.json", tmp_path / "dt.parquet")


@pytest.mark.slow
def test_numbers_in_one_file_only(tmp_path: Path) -> None:
    for number, ids in enumerate([(1, 2), (3, 4)]):
        part = TRUTH.images.filter(pl.col("image_id").is_in(ids))
        own = TRUTH.annotations.filter(pl.col("image_id").is_in(ids))
        apf.write_coco(apf.Dataset(part, TRUTH.categories, own), tmp_path / f"gt{number}.json")
        detections = FOUND.filter(pl.col("image_id").is_in(ids))
        (detections.with_row_index("input_row") if number else detections).write_parquet(tmp_path / f"dt{number}.parquet")
    with pytest.raises(FormatError) as caught:
        apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.parquet", "voc2012")
    problem = "the detections of shard dt1.parquet have input_row, and those of shard dt0.parquet do not"
    assert str(caught.value) == f"{problem}; number the rows of all shards consecutively from 0, or of none"
    FOUND.head(0).write_parquet(tmp_path / "dt0.parquet")  # of which there is nothing to number
    metrics = apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.parquet", "voc2012").metrics
    assert_frame_equal(metrics, apf.evaluate(TRUTH, FOUND.filter(pl.col("image_id") > 2), "voc2012").metrics)


@pytest.mark.slow
def test_a_missing_table(shards: Path) -> None:
    (shards / FIRST).unlink()
    for work in (None, shards.parent / "work"):
        assert error_of(ShardError, shards, work=work) == (
            "shard 00000: shards/00000: there is no detections.parquet; a shard is a folder with images.parquet, "
            "annotations.parquet and detections.parquet, as `apframe shard` writes it"
        )
        with pytest.warns(ShardsLeftOutWarning, match="left out: 1 damaged shard of 2: '00000'"):
            apf.evaluate_shards(shards, work=work, skip_bad_shards=True)


def test_two_files_of_one_table(shards: Path) -> None:
    pl.read_parquet(shards / FIRST).write_ipc(shards / "00000/detections.arrow")
    message = "shard 00000: shards/00000: detections.parquet and detections.arrow both exist; keep one of them"
    assert error_of(ShardError, shards) == message


def test_a_table_that_is_not_parquet(shards: Path) -> None:
    (shards / SECOND).write_text("image_id,score\n1,0.5\n")
    assert error_of(ShardError, shards).startswith("shard 00001: shards/00001/detections.parquet: cannot be read (")


def test_no_shard_can_be_read(shards: Path) -> None:
    for name in (FIRST, SECOND):
        (shards / name).write_text("")
    with warnings.catch_warnings(action="error"):
        message = error_of(ShardError, shards, skip_bad_shards=True)
    assert message.startswith("shard 00000: shards/00000/detections.parquet: cannot be read (")


@pytest.mark.parametrize("pattern", ["", "/", "/*"])
def test_a_listing_of_other_shards(pattern: str, shards: Path) -> None:
    write_listing(shards, {"00000": [2, 2, 2], "00001": [2, 2, 2], "00002": [0, 0, 0]})
    message = "shards: shards.json lists shards that are missing ('00002'); write the shards again"
    assert error_of(FormatError, f"{shards}{pattern}") == message
    write_listing(shards, {"00000": [2, 2, 2], "00001": [2, 2, 3]})
    assert error_of(ShardError, f"{shards}{pattern}").endswith(
        "00001: shards.json says that it has 3 detections, but there are 2; write the shards again"
    )


def test_a_listing_of_a_later_version(shards: Path) -> None:
    listing = json.loads((shards / "shards.json").read_text())
    (shards / "shards.json").write_text(json.dumps(listing | {"format_version": 2}))
    for each in (shards, f"{shards}/*"):
        assert "shards.json: has format version 2; this apframe reads version 1; update apframe" in error_of(FormatError, each)


@pytest.mark.slow
def test_some_of_the_shards_that_are_listed(shards: Path) -> None:
    part = apf.evaluate_shards(shards / "0000[1-9]")
    truth = apf.Dataset(TRUTH.images[2:], TRUTH.categories, TRUTH.annotations[2:])
    assert_frame_equal(part.metrics, apf.evaluate(truth, FOUND[2:]).metrics)


def test_a_folder_of_shards_without_a_listing(shards: Path) -> None:
    (shards / "shards.json").unlink()
    assert error_of(FormatError, shards) == (
        "shards: contains neither shards.json nor images.parquet; "
        "name a folder that `apframe shard` wrote, or a pattern of folders such as 'shards/*'"
    )


@pytest.mark.slow
def test_shards_of_the_same_name(tmp_path: Path) -> None:
    for number, images in enumerate([TRUTH.images[:2], TRUTH.images[2:]]):
        ids = images["image_id"].implode()
        own = apf.Dataset(images, TRUTH.categories, TRUTH.annotations.filter(pl.col("image_id").is_in(ids)))
        apf.write_shards(own, FOUND.filter(pl.col("image_id").is_in(ids)), tmp_path / f"part{number}", n=1)
    metrics = apf.evaluate_shards([tmp_path / "part0/*", tmp_path / "part1/*"]).metrics
    assert_frame_equal(metrics, apf.evaluate(TRUTH, FOUND).metrics)
    (tmp_path / "part1/00000/images.parquet").unlink()
    with pytest.raises(ShardError, match=rf"^shard {re.escape(str(tmp_path))}/part1/00000: "):
        apf.evaluate_shards([tmp_path / "part0/*", tmp_path / "part1/*"])


@pytest.mark.slow
def test_a_score_that_is_not_a_number(shards: Path) -> None:
    change(shards / SECOND, lambda table: table.with_columns(score=pl.Series([0.5, float("nan")])), listed=True)
    assert error_of(ShardError, shards) == (
        "shard 00001: detections: score is not a finite number for detection_id 14; correct or remove them"
    )
    with pytest.warns(ShardsLeftOutWarning, match=r"left out: 1 damaged shard of 2: '00001'; the first one: shard 00001"):
        ev = apf.evaluate_shards(shards, skip_bad_shards=True)
    assert list(ev.notes) == ["left out: 1 damaged shard of 2: '00001'"]


def test_options_that_are_wrong_are_not_the_fault_of_a_shard(shards: Path) -> None:
    assert "shard" not in error_of(ParameterError, shards, categories=["horse"], skip_bad_shards=True)


@pytest.mark.slow
def test_rows_that_are_left_out_are_counted_over_all_shards(shards: Path) -> None:
    change(shards / FIRST, lambda table: table.with_columns(width=pl.Series([-1.0, 10.0])), listed=True)
    change(shards / SECOND, lambda table: table.with_columns(width=pl.Series([-1.0, -1.0])), listed=True)
    with pytest.warns(InvalidRowsWarning, match=r"^shard 00000 and 1 more: .* 1 detection \(width is negative: ") as caught:
        ev = apf.evaluate_shards(shards, invalid="drop")
    assert len(caught) == 1
    bad = FOUND.with_columns(width=pl.Series([-1.0, 10.0, -1.0, -1.0]))
    with pytest.warns(InvalidRowsWarning):
        whole = apf.evaluate(TRUTH, bad, invalid="drop")
    assert list(ev.notes) == list(whole.notes) == ["left out: 3 detections (width is negative)"]
    assert_frame_equal(ev.metrics, whole.metrics)


@pytest.mark.slow
def test_warnings_come_once(shards: Path) -> None:
    for name in (FIRST, SECOND):
        change(shards / name, lambda table: table.with_columns(category_id=pl.Series([7, 1])), listed=True)
    with pytest.warns(ApframeWarning) as caught:
        ev = apf.evaluate_shards(shards)
    assert [each.category for each in caught] == [UnknownCategoryWarning]
    assert str(caught[0].message).startswith("shard 00000 and 1 more: 1 of 2 detections has an unknown category_id and was")
    assert caught[0].filename == __file__
    with pytest.warns(ApframeWarning) as caught:  # when they are read again, there is nothing new
        ev.matches()
    assert [each.category for each in caught] == [SecondPassWarning]


@pytest.mark.slow
def test_no_annotations_are_a_warning_where_no_shard_has_any(shards: Path) -> None:
    change(shards / "00000/annotations.parquet", lambda table: table.clear())
    with warnings.catch_warnings(action="error"):
        apf.evaluate_shards(f"{shards}/*")
    change(shards / "00001/annotations.parquet", lambda table: table.clear())
    with pytest.warns(NoAnnotationsWarning) as caught:
        apf.evaluate_shards(f"{shards}/*")
    assert len(caught) == 1


@pytest.mark.slow
def test_empty_shards(shards: Path) -> None:
    """Without images, with images that show nothing, and without detections."""
    for name in ("images", "annotations", "detections"):
        for number, kept in (("00002", 0), ("00003", 1 if name == "images" else 0)):
            table = pl.read_parquet(shards / f"00001/{name}.parquet").head(kept)
            (shards / number).mkdir(exist_ok=True)
            table.with_columns(image_id=pl.lit(9, pl.Int64)).write_parquet(shards / number / f"{name}.parquet")
    change(shards / SECOND, lambda table: table.clear())
    images = pl.concat([TRUTH.images.select("image_id"), pl.DataFrame({"image_id": [9]})])
    whole = apf.evaluate(apf.Dataset(images, TRUTH.categories, TRUTH.annotations), FOUND[:2])
    parts = apf.evaluate_shards(f"{shards}/*")
    assert_frame_equal(parts.metrics, whole.metrics)
    assert_frame_equal(parts.by("image_id"), whole.by("image_id"))
    with pytest.warns(NoAnnotationsWarning):
        nothing = apf.evaluate_shards(f"{shards}/0000[23]")
    assert nothing.metrics["ap"].null_count() == nothing.metrics.height > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.parametrize("memory", [None, 1])
def test_shards_without_categories(memory: int | None, tmp_path: Path) -> None:
    truth: dict[str, Any] = {"images": [{"id": 1}, {"id": 2}], "categories": [], "annotations": []}
    apf.write_shards(truth, [], tmp_path / "shards", n=2)
    parts, whole = apf.evaluate_shards(tmp_path / "shards", memory=memory), apf.evaluate(truth, [])
    assert_frame_equal(parts.metrics, whole.metrics)
    assert_frame_equal(parts.where("image_id = 1").metrics, whole.where("image_id = 1").metrics)


@pytest.mark.slow
def test_files_without_images_beside_ids_that_are_text(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"images": [], "categories": [{"id": "c", "name": "cat"}], "annotations": []}
    box = {"image_id": "a", "category_id": "c", "bbox": [0, 0, 9, 9]}
    full = empty | {"images": [{"id": "a"}], "annotations": [{"id": "x", **box}]}
    for number, (truth, found) in enumerate([(empty, []), (full, [box | {"score": 0.5}]), (empty, [])]):
        (tmp_path / f"gt{number}.json").write_text(json.dumps(truth))
        (tmp_path / f"dt{number}.json").write_text(json.dumps(found))
    parts = apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.json")
    assert_frame_equal(parts.metrics, apf.evaluate(full, [box | {"score": 0.5}]).metrics)


def test_work_that_cannot_be_a_folder(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "work").write_text("")
    with pytest.raises(apf.exceptions.OutputError) as caught:
        apf.evaluate_shards(shards, work=tmp_path / "work")
    assert str(caught.value) == f"{tmp_path}/work: cannot be written (file exists); name another folder with work="


def test_work_of_other_options_is_not_used(shards: Path, tmp_path: Path) -> None:
    """Files that options name may have been written anew, and tables may differ where they are not shown."""
    names, sizes = tmp_path / "names.txt", pl.DataFrame({"file_name": [str(n) for n in range(999)], "image_width": 640})
    shard = find_shards(shards)[0]
    keys = set()
    for text in ("cat\ndog\n", "cat\ncow\n\n"):
        names.write_text(text)
        keys |= {Job(choose("coco", names=names), "1").key(shard), Job(choose("coco", names=str(names)), "1").key(shard)}
    for width in (640, 641):
        changed = sizes.with_columns(image_width=pl.when(pl.col("file_name") == "500").then(width).otherwise(640))
        keys |= {Job(choose("coco", image_sizes=changed), "1").key(shard) for _ in range(2)}
    options: list[Any] = [{"category_map": {"cat": "pet"}}, {"category_map": {"cat": "dog"}}, {"invalid": "drop"}, {}]
    keys |= {Job(choose("coco", **each), "1").key(shard) for each in options}
    keys |= {Job(choose("coco"), "2").key(shard), Job(choose("voc2007"), "1").key(shard)}
    assert len(keys) == 2 + 2 + 4 + 2


@pytest.mark.slow
def test_two_threads_at_once(shards: Path) -> None:
    together = Barrier(2)

    def evaluate(protocol: str) -> pl.DataFrame:
        together.wait()
        return apf.evaluate_shards(shards, None, protocol, memory=1).metrics

    with ThreadPoolExecutor(2) as pool:
        metrics = list(pool.map(evaluate, ["coco", "voc2007"]))
    for protocol, each in zip(["coco", "voc2007"], metrics, strict=True):
        assert_frame_equal(each, apf.evaluate(TRUTH, FOUND, protocol).metrics)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "truth must be a path, a pattern of paths or a list of them, not None; use evaluate for data in memory"),
        (TRUTH, "truth must be a path, a pattern of paths or a list of them, not a Dataset; use evaluate for data in memory"),
        (FOUND, "truth must be a path, .*, not a DataFrame; use"),
        ({"a": 1}, "truth must be a path, .*, not a dict; use"),
        (["shards", 3], "truth must be a path, .*, not 3; use"),
        ("", "truth must be a path, .*, not ''; use"),
        ([], "truth is an empty list; name at least one shard"),
    ],
)
def test_what_is_no_path(given: Any, problem: str) -> None:
    with pytest.raises(ParameterError, match=f"^{problem}"):
        apf.evaluate_shards(given)


def test_detections_must_be_files(shards: Path) -> None:
    with pytest.raises(ParameterError, match=r'^voc2012 is a protocol, not a file of detections; write protocol="voc2012"$'):
        apf.evaluate_shards(shards, "voc2012")
    with pytest.raises(ParameterError, match=r"^detections must be a path, .*, not a DataFrame"):
        apf.evaluate_shards(shards, FOUND)
    with pytest.raises(ParameterError, match="which have their detections already; leave out the other detections"):
        apf.evaluate_shards(shards, "nowhere.json")


@pytest.mark.slow
def test_shards_may_come_from_an_iterator(shards: Path) -> None:
    assert apf.evaluate_shards(shards.glob("0*")).summary.equals(apf.evaluate_shards(shards).summary)


def test_unknown_options_are_listed_in_a_fixed_order() -> None:
    listed = r"there are engine, executor, memory, work, skip_bad_shards, format, .*, iou_type"
    with pytest.raises(ParameterError, match=listed):
        apf.evaluate_shards("shards", quux=1)  # type: ignore[call-arg]


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are a matter of Unix")
@pytest.mark.parametrize("table", ["shards.json", "categories.parquet", *(f"00000/{name}.parquet" for name in SHARD_TABLES)])
def test_pipes_are_never_opened(table: str, tmp_path: Path) -> None:
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    apf.write_shards(truth, [], tmp_path / "shards", n=1)
    (tmp_path / "shards" / table).unlink()
    os.mkfifo(tmp_path / "shards" / table)
    with pytest.raises(ApframeError, match="this is a pipe where a file is expected; remove it"):
        apf.evaluate_shards(tmp_path / "shards")
