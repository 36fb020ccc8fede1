"""Full disks and folders that may not be entered: one line that names the path and says which of the two it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import OutputError
from apframe.formats.catalogue import FORMATS
from tests.disks import fill
from tests.formats.writes import NEVER_REPLACED, READS, WRITES, evaluation

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="mounts, limits and users are those of POSIX")]

ROOT = Path(__file__).parents[2]
STREET = ROOT / "data" / "street"


@pytest.mark.parametrize("kind", WRITES)
@pytest.mark.parametrize("leave", [0, 8192, 40_000])
def test_a_full_disk_is_called_so_and_what_was_there_stays(kind: str, leave: int, small_disk: Path) -> None:
    target, replaces = small_disk / kind, kind not in (*NEVER_REPLACED, "run.duckdb")  # the smallest database takes more
    if replaces:
        WRITES[kind](3, target)
    fill(small_disk, leave=leave)
    with pytest.raises(OutputError) as caught:
        WRITES[kind](20_000, target)
    assert str(caught.value) == f"{target}: cannot be written (no space left on device)"
    assert sorted(path.name for path in small_disk.iterdir()) == sorted(["fill", kind] if replaces else ["fill"])
    if replaces:
        assert READS[kind](target) == 3


@pytest.mark.parametrize("results", [False, True])
@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.writable])
def test_no_format_says_anything_else_of_a_full_disk(name: str, results: bool, small_disk: Path) -> None:
    intervals = {"start_time": [0.0], "end_time": [1.0]} if name == "activitynet" else {}
    boxes = {key: [value] for key, value in {"x": 0, "y": 0, "width": 9, "height": 9}.items()}
    lists = {"neg_category_ids": [[]], "not_exhaustive_category_ids": [[]]} if name == "lvis" else {}
    truth = apf.Dataset(
        images={"image_id": [1], "image_width": [10], "image_height": [10], "file_name": ["a.jpg"], **lists},
        categories={"category_id": [1], "name": ["cat"], **({"frequency": ["f"]} if lists else {})},
        annotations={"image_id": [1], "category_id": [1], **(intervals or boxes)},
    )
    detections = {"image_id": [1], "category_id": [1], "score": [0.5], **(intervals or boxes)}
    fill(small_disk, leave=0)
    with pytest.raises(OutputError) as caught:
        if results:
            apf.write_results(pl.DataFrame(detections), small_disk / "target", name, dataset=truth)
        else:
            apf.write_dataset(truth, small_disk / "target", name)
    assert str(caught.value) == f"{small_disk / 'target'}: cannot be written (no space left on device)"
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


LIMITED = """
import resource, sys
from pathlib import Path
from apframe.exceptions import OutputError
from tests.disks import fill
from tests.formats.writes import WRITES
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    WRITES[sys.argv[1]](20_000, Path(sys.argv[2]))
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", [kind for kind in WRITES if kind != "voc"])  # whose files are all smaller
def test_a_file_that_may_not_grow_is_told_likewise(kind: str, tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", LIMITED, kind, str(tmp_path / kind)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == (f"{tmp_path / kind}: cannot be written (file too large)\n", "")
    assert list(tmp_path.iterdir()) == []


def test_reading_goes_on_where_the_temporary_folder_is_full(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(small_disk, leave=0)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    assert apf.read_coco_results(STREET / "model_a.json").height == 2075
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


# runs a command where it may read all, which imports what it needs, and then where it may not
AS_NOBODY = """
import os, sys
from apframe.cli.command import main

def run(arguments):
    try:
        main(arguments)
    except SystemExit as ended:
        return ended.code

stdout, stderr = os.dup(1), os.dup(2)
for stream in (1, 2):
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
run([argument.replace("/closed", "/open").replace("/read_only", "/warm") for argument in sys.argv[1:]])
run([argument.replace("/street/", "/no/") for argument in sys.argv[1:]])
sys.stdout.flush(), os.dup2(stdout, 1), os.dup2(stderr, 2)
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def places() -> Iterator[Path]:
    """Folders that all users may enter, but for `closed`, which holds what the commands are asked for."""
    folder = Path(tempfile.mkdtemp())
    for name in ("open", "closed"):
        shutil.copytree(STREET, folder / name / "street")
        evaluation(5).write_parquet(folder / name / "run")
    shutil.copytree(STREET, folder / "street")
    (folder / "read_only").mkdir(mode=0o555)
    folder.chmod(0o755)
    (folder / "closed").chmod(0)
    yield folder
    (folder / "closed").chmod(0o755)
    (folder / "read_only").chmod(0o755)
    shutil.rmtree(folder)


TRUTH, FOUND, CLOSED = "{at}/street/instances.json", "{at}/street/model_a.json", "{at}/closed/street/instances.json"
# a command, and the beginning of what it prints
COMMANDS: dict[str, tuple[list[str], str]] = {
    "sql": (["sql", "{at}/closed/run", "FROM summary"], "{at}/closed/run: cannot be read"),
    "sql of many": (["sql", "{at}/closed/r[u]n", "FROM summary"], "{at}/closed/r[u]n: cannot be read"),
    "eval": (["eval", CLOSED, FOUND], CLOSED + ": cannot be read"),
    "eval, results": (["eval", TRUTH, "{at}/closed/street/model_a.json"], "{at}/closed/street/model_a.json: cannot be read"),
    "eval --out": (["eval", TRUTH, FOUND, "--out", "{at}/closed/a"], "{at}/closed/a: cannot be written"),
    "eval --out, read only": (["eval", TRUTH, FOUND, "--out", "{at}/read_only/a"], "{at}/read_only/a: cannot be written"),
    "check": (["check", CLOSED], CLOSED + ": cannot be read"),
    "convert": (["convert", CLOSED, "{at}/read_only/a", "--to", "voc"], CLOSED + ": cannot be read"),
    "convert to": (["convert", TRUTH, "{at}/closed/a", "--to", "voc"], "{at}/closed/a: cannot be written"),
    "convert, read only": (["convert", TRUTH, "{at}/read_only/a", "--to", "coco"], "{at}/read_only/a: cannot be written"),
    "convert a folder": (["convert", "{at}/closed", "{at}/a", "--to", "coco"], "{at}/closed: cannot be read"),
    "rank": (["rank", "{at}/closed/qrels.txt", "{at}/closed/run.txt"], "{at}/closed/"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), COMMANDS.values(), ids=COMMANDS)
def test_a_folder_that_may_not_be_entered(arguments: list[str], message: str, places: Path) -> None:
    command = [sys.executable, "-c", AS_NOBODY, *(argument.format(at=places) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {message.format(at=places)}")
    assert done.stderr.endswith("(permission denied)\n") and done.stderr.count("\n") == 1
