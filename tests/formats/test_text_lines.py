"""What all formats share whose files are lines of text."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from apframe.exceptions import FormatError
from apframe.formats.catalogue import FORMATS
from apframe.formats.text_lines import Lines
from tests.formats.folders import text_folder, written

CALLED = "Task1_a"  # as DOTA needs results to be called
READERS = [
    *((name, "read_tables") for name in ("boxes", "kitti", "dota")),
    *((name, "read_results") for name in ("boxes", "kitti", "dota", "voc", "yolo")),
]


def read(path: Path, name: str, reader: str) -> object:
    form = FORMATS[name]
    return form.read_tables(path) if reader == "read_tables" else form.read_results(path, None)


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_a_file_that_is_no_text_is_named(name: str, reader: str, tmp_path: Path) -> None:
    text_folder(tmp_path, **{CALLED: b"\nc\xe4t 1 2 3 4\n"})
    message = rf"{CALLED}\.txt: line 2 is not UTF-8 text \(invalid continuation byte\); convert the file$"
    with pytest.raises(FormatError, match=message):
        read(tmp_path, name, reader)


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_a_folder_without_text_files_is_refused(name: str, reader: str, tmp_path: Path) -> None:
    written(tmp_path, {"notes.md": "", "._a.txt": ""})
    with pytest.raises(FormatError, match=r"holds no text file \(\.txt\)"):
        read(tmp_path, name, reader)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"file": [0, 0, 0], "object": [1, 2, 3]}, "a.xml: no good in object 1, 3; correct it"),
        ({"file": [1, 1, 0], "object": [1, 2, 7]}, "b.xml: no good in object 1, and in 1 more file; correct it"),
        ({"file": [0, 1, 2]}, "a.xml: no good, and in 1 more file; correct it"),
    ],
)
def test_the_first_file_is_named_with_its_objects(rows: dict[str, list[int]], message: str) -> None:
    paths = [Path("a.xml"), Path("b.xml"), Path("c.xml")]
    with pytest.raises(FormatError) as error:
        Lines("", paths, pl.DataFrame(rows), "object").refuse(pl.Series([True, False, True]), "no good")
    assert str(error.value) == message
