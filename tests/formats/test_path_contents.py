"""What is seen at a path, as one value, for which the path is opened once."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError
from apframe.formats.catalogue import choose_format
from apframe.formats.path_contents import see
from apframe.paths import absolute, holding, opened, reading_once
from tests.formats.folders import written

TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg"}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
}
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
NAMES = {
    "csv": "a.csv",
    "open_images": "a.csv",
    "arrow": "a.arrow",
    "coco": "a.json",
    "label_studio": "a.json",
    "cvat": "a.xml",
}
NAMES |= dict.fromkeys(("parquet", "hugging_face", "boxes", "voc", "yolo", "dota", "kitti"), "a.parquet")
SEEN: list[Counter[str]] = []  # what counts at the moment


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if SEEN and event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], (str, bytes, os.PathLike)):
        SEEN[-1][str(absolute(Path(os.fsdecode(arguments[0]))))] += 1


@contextmanager
def openings(root: Path) -> Iterator[Counter[str]]:
    """How often each path at and below the root is opened or listed."""
    if not getattr(_hook, "is_added", False):
        sys.addaudithook(_hook)
        _hook.is_added = True  # type: ignore[attr-defined]
    SEEN.append(Counter())
    counts: Counter[str] = Counter()
    try:
        yield counts
    finally:
        counts.update({path: n for path, n in SEEN.pop().items() if path.startswith(str(root))})


@pytest.fixture
def dataset() -> apf.Dataset:
    images = {"image_id": ["a"], "file_name": ["a.jpg"], "image_width": [99], "image_height": [99]}
    box = {"x": [1.0], "y": [2.0], "width": [30.0], "height": [40.0]}
    return apf.Dataset(
        images | {"neg_category_ids": [[]], "not_exhaustive_category_ids": [[]]},
        {"category_id": ["cat"], "name": ["cat"], "frequency": ["f"]},
        {"image_id": ["a"], "category_id": ["cat"], **box},
    )


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("role", ["dataset", "results"])
@pytest.mark.parametrize("name", NAMES)
def test_recognising_opens_each_path_once(name: str, role: str, dataset: apf.Dataset, tmp_path: Path) -> None:
    path = tmp_path / NAMES[name]
    if role == "dataset":
        apf.write_dataset(dataset, path, name)
    else:
        detections = dataset.annotations.select("image_id", "category_id", "x", "y", "width", "height", score=pl.lit(0.5))
        apf.write_results(detections, path, name, dataset=dataset)
    with openings(path) as found:
        assert choose_format(path, None, role).name == name
    assert found[str(path)] == 1 and set(found.values()) == {1}


@pytest.mark.slow
def test_an_evaluation_opens_each_file_once(tmp_path: Path) -> None:
    truth, results = tmp_path / "truth.json", tmp_path / "found.json.gz"
    truth.write_text(json.dumps(TRUTH))
    results.write_bytes(gzip.compress(json.dumps(FOUND).encode()))
    for options in ({}, {"invalid": "drop"}):
        with openings(tmp_path) as found:
            assert apf.evaluate(truth, results, **options)["AP"] == pytest.approx(1)
        assert found == {str(truth): 1, str(results): 1}
    with openings(tmp_path) as found:
        assert apf.check(truth, results) is not None
    assert found == {str(truth): 1, str(results): 1}


def test_files_that_were_looked_at_are_not_opened_again(tmp_path: Path) -> None:
    written(tmp_path / "truth", {f"{k}.txt": "cat 1 2 3 4\n" for k in range(3)})
    with openings(tmp_path) as found:
        apf.read_dataset(tmp_path / "truth")
    assert {path: n for path, n in found.items() if path.endswith(".txt")} == {
        str(tmp_path / "truth" / f"{k}.txt"): 1 for k in range(3)
    }


def test_what_was_looked_at_is_read_although_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with reading_once(path):
        assert see(path).head == b"before"
        path.write_text("after")
        assert opened(path).read() == b"before" and see(path).line == "before"
    with opened(path) as file:
        assert file.read() == b"after" and see(path).line == "after"


def test_large_files_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"begins")
        file.truncate((1 << 25) + 1)
    with openings(path) as found, reading_once(path), reading_once(path):
        assert see(path) is see(path)
        with opened(path) as file:
            assert file.read(6) == b"begins"
    assert found[str(path)] == 2


def test_a_file_that_was_read_is_kept_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_text(json.dumps(FOUND))
    with openings(path) as found, reading_once(path):
        apf.read_results(path)
        opened(path), opened(path)
    assert found[str(path)] == 2


def test_a_file_is_released_after_reading(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("text")
    with openings(path) as found:
        with reading_once(path), reading_once(path):
            opened(path), opened(path)
        opened(path).close()
    assert found[str(path)] == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes")
def test_a_pipe_is_looked_at_and_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(json.dumps(TRUTH)))
    writer.start()
    assert apf.read_dataset(pipe).images.height == 1
    writer.join()


def test_links_that_cannot_be_followed_are_no_folders(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / ".hidden").touch()
    seen = see(tmp_path)
    assert seen.names == ("gone", "inside/", "loop")
    assert seen.child("gone") is not None and seen.child("nowhere") is None
    assert [folder.path.name for folder in seen.folders] == ["inside"]


def test_files_at_any_depth_are_found_without_following_links(tmp_path: Path) -> None:
    written(tmp_path, {"a/b/c.PNG": "", "a/d.txt": ""})
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert [each.path.name for each in see(tmp_path).deep(".png")] == ["c.PNG"]
    assert see(tmp_path).has_deep(".txt") and not see(tmp_path).has_deep(".json")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'\xef\xbb\xbf{"a": {"x": 1}, "b": 2}', "JSON with keys a, b"),
        ("a", b"[1, 2]", "JSON without keys"),
        ("a.csv", b"one;two\n1;2\n", "a table with columns one, two"),
        ("a.txt", b"\n hello you\n", "text that begins with ' hello you'"),
        ("a.bin", b"\0\1", "no text"),
    ],
)
def test_what_is_seen_is_said(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert see(tmp_path / name).words == words


def test_columns_of_tables(tmp_path: Path) -> None:
    frame = pl.DataFrame({"image_id": [1], "score": [0.5]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    (tmp_path / "a.jsonl").write_text('{"image_id": 1, "score": 0.5}\n{')
    for name in ("a.parquet", "a.arrow", "a.jsonl"):
        assert see(tmp_path / name).columns == frame.schema
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    assert see(tmp_path / "b.parquet").columns == {}


def test_near_misses_are_told_by_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "found.csv").write_text("seriesuid,coordX,coordY,coordZ,score\n1.3,1,2,3,0.5\n")
    with pytest.raises(
        FormatError,
        match=r"like this: a table with columns seriesuid, coordX, .*, score; luna16 needs the column probability; choose",
    ):
        apf.read_results(tmp_path / "found.csv")
    (tmp_path / "a.json").write_text('{"licenses": [], "frames": []}')
    with pytest.raises(FormatError, match=r"no list named images, categories, annotations; .* found: licenses, frames"):
        apf.read_dataset(tmp_path / "a.json")


def test_maps_in_a_data_root_are_no_label_maps_to_nuscenes(tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "a.png").write_bytes(b"\x89PNG")
    tables = written(tmp_path / "v1.0-mini", {"sample.json": "[]", "sample_annotation.json": "[]"})
    assert choose_format(tmp_path, None, "dataset").name == "label_maps"
    with pytest.raises(FormatError, match=rf"^{tables}/scene\.json: there is no such file$"):  # these are its tables
        apf.evaluate(tmp_path, FOUND, "nuscenes")


@pytest.mark.slow
def test_folders_of_any_depth_are_looked_through(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(400):
        folder /= "a"
    folder.mkdir(parents=True)
    assert not see(tmp_path).has_deep(".txt") and list(see(tmp_path).deep(".txt")) == []
    (folder / "b.txt").write_text("cat")
    assert see(tmp_path).has_deep(".txt") and [each.line for each in see(tmp_path).deep(".txt")] == ["cat"]


def test_what_was_seen_of_many_files_is_not_kept(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:02d}.txt").write_text("cat")
    seen = see(tmp_path)
    assert len(list(seen.children("*.txt"))) == 100
    assert len(seen._inside) == 64


def test_the_size_of_what_is_kept_is_counted_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apframe.paths._MOST_KEPT", 10)
    for name in "abc":
        (tmp_path / name).write_text("four")
    with reading_once(tmp_path):
        held = holding(tmp_path, exact=True)
        assert held is not None
        for name in "abc":
            held.open(tmp_path / name).close()
        assert [held.has(tmp_path / name) for name in "abc"] == [True, True, False]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"ab\x1b[31m,\0,c", "no text"),
        (b"a,\x1b[31m,c\n1,2,3", r"text that begins with 'a,\x1b[31m,c'"),
        (b"Make the sample, and the large sets\n", "text that begins with 'Make the sample, and the large sets'"),
        (b"image_id,class\n1,2\n", "a table with columns image_id, class"),
    ],
)
def test_words_show_no_control_characters_and_no_prose(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    assert see(tmp_path / "x").words == words
