"""What formats declare of their files, compared with what is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from apframe.formats.looks import NAME, TEXT, Look
from apframe.formats.path_contents import PathContents, see
from tests.formats.folders import written

FILES = [
    (Look("file"), b"anything", []),
    (Look("folder"), b"anything", ["a folder"]),
    (Look("file", only_named=True), b"anything", ["its name"]),
    (Look("file", endings=(".csv",)), b"", ["the ending .csv"]),
    (Look("file", begins="{"), b" [1]", ["a JSON object"]),
    (Look("file", begins="[{"), b" [1]", []),
    (Look("file", begins=TEXT), b"hello", []),
    (Look("file", begins=TEXT), b"", ["text that is not JSON"]),
    (Look("file", begins=TEXT), b"PAR1\0", ["text that is not JSON"]),
    (Look("file", keys=("a", "b", "c")), b'{"a": 1}', ["the keys b, c"]),
    (Look("file", any_keys=("a", "b")), b'{"c": 1}', ["one of the keys a, b"]),
    (Look("file", no_keys=("a", "b")), b'{"a": 1}', ["no key a"]),
    (Look("file", columns=("X", "y")), b"x,z\n", ["the column y"]),
    (Look("file", columns=("X", "y")), b"x\ty\n", []),
    (Look("file", line=NAME + "( #){2}"), b"\ncat 1\t.5\n", []),
    (Look("file", line=NAME + "( #){2}"), b"7 1 .5\n", ["another first line"]),
]


@pytest.mark.parametrize(("look", "head", "lacking"), FILES)
def test_files(look: Look, head: bytes, lacking: list[str]) -> None:
    seen = PathContents(Path("a.txt"), "file", head)
    assert [*look.lacks(seen)] == lacking and look.fits(seen) == (not lacking)


FOLDERS = [
    (Look("folder", endings=(".txt",)), []),
    (Look("folder", endings=(".json",)), ["one of *.json"]),
    (Look("folder", names=("labels/", "A.TXT"), n_names=2), []),
    (Look("folder", names=("images/", "a.txt"), n_names=2), ["2 of images/, a.txt"]),
    (Look("folder", endings=(".txt",), no_names=("b.*",)), ["no b.txt"]),
    (Look("folder", endings=(".txt",), line="cat #"), []),  # of the first that is not blank
    (Look("folder", endings=(".txt",), line="dog #"), ["another first line"]),
    (Look("folder", names=("b.txt",), line="dog #"), []),
]


@pytest.mark.parametrize(("look", "lacking"), FOLDERS)
def test_folders(look: Look, lacking: list[str], tmp_path: Path) -> None:
    written(tmp_path, {"0.txt": "\n", "a.txt": "cat 1\n", "b.txt": "dog 1\n", "labels/x.txt": ""})
    assert [*look.lacks(see(tmp_path))] == lacking
