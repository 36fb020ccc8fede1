"""Files and folders that appear whole or not at all, and what writers leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from apframe.exceptions import OutputError
from apframe.formats.files import reading_from
from apframe.formats.hidden_folders import new_folder
from apframe.formats.replacing import finish_replacing, replacing, write_whole
from apframe.wording import reason


def write_folder(target: Path, text: str) -> None:
    with replacing(target) as part:
        part.mkdir()
        (part / "text").write_text(text)


def write_file(target: Path, text: str) -> None:
    with replacing(target) as part:
        part.write_text(text)


def text_of(target: Path) -> str:
    return (target / "text" if target.is_dir() else target).read_text()


WRITES: dict[str, Callable[[Path, str], None]] = {"a folder": write_folder, "a file": write_file, "a text": write_whole}


def left_behind(folder: Path, *parts: str) -> Path:
    """What a killed writer of `target` leaves: its hidden folder, a lock that nobody holds, and these."""
    hidden = folder / ".target.0123abcd.part"
    hidden.mkdir()
    (hidden / "lock").touch()
    for part in parts:
        write_folder(hidden / part, part)
    return hidden


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_the_next_writer_removes_what_a_killed_one_left(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    left_behind(tmp_path, "new/target")
    write(tmp_path / "target", "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert text_of(tmp_path / "target") == "mine"


def test_what_a_living_writer_writes_is_left_alone(tmp_path: Path) -> None:
    with replacing(tmp_path / "target") as part:
        part.write_text("first")
        write_file(tmp_path / "target", "second")
        assert text_of(tmp_path / "target") == "second"
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert text_of(tmp_path / "target") == "first"


@pytest.mark.parametrize(
    "name", [".target", ".target.mine", ".target.0123abcd", ".other.0123abcd.part", ".target.0123ABCD.part"]
)
def test_folders_of_others_are_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    write_folder(tmp_path / "target", "mine")
    assert {path.name for path in tmp_path.iterdir()} == {"target", name}


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / ".target.0123abcd.part").symlink_to(tmp_path / "mine")
    write_folder(tmp_path / "target", "new")
    assert {path.name for path in tmp_path.iterdir()} == {"target", "mine", ".target.0123abcd.part"}
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_reader_finishes_what_a_killed_writer_began(tmp_path: Path) -> None:
    left_behind(tmp_path, "new/target", "earlier")
    assert finish_replacing(tmp_path / "target")
    assert text_of(tmp_path / "target") == "new/target"
    write_folder(tmp_path / "target", "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_writer_that_fails_keeps_what_a_killed_one_replaced(tmp_path: Path) -> None:
    left_behind(tmp_path, "new/target", "earlier")
    with (
        pytest.raises(OutputError, match=r"target: cannot be written \(no space left on device\)$"),
        replacing(tmp_path / "target"),
    ):
        raise OSError(28, None)
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert text_of(tmp_path / "target") == "new/target"


@pytest.mark.parametrize("parts", [["new/target"], ["earlier"], []], ids=str)
def test_what_was_never_complete_is_not_put_in_place(parts: list[str], tmp_path: Path) -> None:
    left_behind(tmp_path, *parts)
    assert not finish_replacing(tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_the_only_copy_is_never_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A swap of which the second step fails, and the way back too, for which nothing can be done then."""
    write_folder(tmp_path / "target", "old")
    rename = Path.rename

    def once(path: Path, target: Path) -> Path:
        if target == tmp_path / "target":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", once)
        with pytest.raises(OutputError, match=r"cannot be written \(input/output error\)"):
            write_folder(tmp_path / "target", "new")
    assert finish_replacing(tmp_path / "target")
    assert text_of(tmp_path / "target") == "new"


def test_a_writer_meets_another_in_the_middle_of_its_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "target", "old")
    rename, met = Path.rename, []
    another = replacing(tmp_path / "target")
    part = another.__enter__()
    part.mkdir()
    (part / "text").write_text("another's")

    def meets_another(path: Path, target: Path) -> Path:
        if target == tmp_path / "target" and not met:
            met.append(path)
            another.__exit__(None, None, None)
            assert text_of(target) == "another's"
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", meets_another)
    write_folder(tmp_path / "target", "mine")
    assert met and text_of(tmp_path / "target") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_a_reader_takes_the_second_step_of_a_living_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "target", "old")
    rename, seen = Path.rename, []

    def meets_reader(path: Path, target: Path) -> Path:
        if target == tmp_path / "target" and not seen:
            seen.append(path)
            assert finish_replacing(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", meets_reader)
    write_folder(tmp_path / "target", "new")
    assert seen and text_of(tmp_path / "target") == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_replaces_something_is_flushed_first(
    write: Callable[[Path, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def remember(file: int) -> None:
        flushed.append("folder" if Path(f"/proc/self/fd/{file}").is_dir() else "file")
        fsync(file)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("what a number of a file stands for is looked up in /proc")
    monkeypatch.setattr(os, "fsync", remember)
    write(tmp_path / "target", "old")
    assert flushed == []
    write(tmp_path / "target", "new")
    assert flushed[-2:] == ["file", "folder"]


def test_a_folder_beside_is_closed_to_others_and_gone_at_the_end(tmp_path: Path) -> None:
    with new_folder(tmp_path / "target") as folder:
        if os.name == "posix":
            assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "more").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_errors_of_reading_name_what_could_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^set: there is no such file$"), reading_from("set"):
        (tmp_path / "nowhere").read_text()
    with pytest.raises(ValueError, match=r"inner: cannot be read \(permission denied\)$"), reading_from("set"):
        raise PermissionError(13, "Permission denied", str(tmp_path / "inner"))


@pytest.mark.parametrize(
    "text",
    [
        "parquet: File out of specification: underlying IO error: No space left on device (os error 28)",
        'TransactionContext Error: Failed to commit: Could not write file "a.wal": No space left on device',
        "[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device",
    ],
)
def test_a_full_disk_is_called_so_whoever_says_it(text: str) -> None:
    assert reason(RuntimeError(text)) == reason(OSError(text)) == "no space left on device"
