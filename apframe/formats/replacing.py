"""Files and folders that appear under their names only when they are complete."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from apframe.formats.files import write_text, writing
from apframe.formats.hidden_folders import finish, folders_beside, hidden_folders, new_folder
from apframe.paths import Kind, kind_at


def write_whole(path: Path, text: str) -> None:
    """Write a text file that appears under its name only when it is complete; its folder must exist."""
    with writing(path):
        path.parent.stat()
    with replacing(path) as part:
        write_text(part, text)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give the path at which to write a file or folder, which takes the target's place, whole, when the block ends.

    All of it happens in one hidden folder beside the target, `.{name}.{8 digits}.part`, as in `new_folder`. It holds what is
    written (`new/{name}`), and for a moment what it replaces (`earlier`).

    A file is replaced in one step. For a folder no single step works on Linux, macOS and Windows alike, so there are two: the
    target becomes `earlier`, and `new/{name}` becomes the target. If a process is killed between them, its hidden folder holds
    both, which nothing else does. Whoever reads or writes the target next then takes the second step (`finish_replacing`).
    This needs no lock: moving succeeds for one process only, and a living writer that finds its second step taken is done.
    Two writers that meet go round again: the last one stays.

    Before something is replaced, the new files and their folders are flushed to disk.

    Raises
    ------
    OutputError
        something cannot be written, in the block too; the target is as it was
    """
    with writing(target):
        finish_replacing(target)
        with new_folder(target) as work:
            part, earlier = work / "new" / target.name, work / "earlier"
            part.parent.mkdir()
            try:
                yield part
                replaces = target.exists()
                if replaces:
                    _flush(part)
                if part.is_dir():
                    _swap(part, target, earlier)
                else:
                    part.replace(target)
                if replaces:
                    _flush_folder(target.parent)
            except BaseException:  # an interruption too must not lose the earlier one
                if earlier.exists() and not target.exists():
                    earlier.rename(target)
                raise


def _swap(part: Path, target: Path, earlier: Path) -> None:
    """Put a folder in the target's place, in the two steps that `replacing` explains."""
    while True:
        with suppress(FileNotFoundError):  # there is none, or another writer took it away
            target.rename(earlier)
        try:
            part.rename(target)
            return
        except OSError:
            if not part.exists():  # a reader took this step
                return
            if not target.is_dir():
                raise
            shutil.rmtree(earlier, ignore_errors=True)  # another writer's is there by now


def finish_replacing(path: Path) -> bool:
    """If a writer was stopped while it replaced what is at the path, put the new one in its place; is there anything now?

    See `replacing`. Where there is nothing to finish, nothing is done.
    """
    try:
        target = path.resolve()
    except (OSError, ValueError, RuntimeError):  # a name that nothing can have
        return False
    for _ in range(10):  # other writers may take away at once what was put there
        works = [] if kind_at(target) is not None else folders_beside(target)
        if not works:
            break
        for work in works:
            finish(work, target)
    return kind_at(target) is not None


def finish_replacing_in(folder: Path) -> None:
    """Finish every replacement in a folder that was interrupted."""
    for work in hidden_folders(folder, ".+"):
        finish_replacing(folder / work.name[1:].rsplit(".", 2)[0])


def _flush(path: Path) -> None:
    """Flush a file, or a folder and all below it, to disk."""
    for each in [path, *path.rglob("*")]:
        if each.is_dir():
            _flush_folder(each)
        else:
            with each.open("r+b") as file:
                os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    if sys.platform == "win32":  # cannot open folders
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def settled_kind(path: Path) -> Kind | None:
    """`kind_at`, but not of the moment in which a writer has taken away what it replaces and put nothing there yet."""
    kind = kind_at(path)
    for _ in range(10):
        if kind is not None or not finish_replacing(path):
            break
        kind = kind_at(path)
    return kind
