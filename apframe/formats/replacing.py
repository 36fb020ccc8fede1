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
    """Yield a path to write a file or folder, which replaces the target as a whole when the context ends.

    Everything happens in one hidden folder beside the target, `.{name}.{8 digits}.part`, as in `new_folder`. It holds the new
    output (`new/{name}`), and for a moment the output that is replaced (`earlier`).

    A file is replaced in one step. For a folder no single step works on Linux, macOS and Windows, so there are two: the target
    becomes `earlier`, and `new/{name}` becomes the target. If a process is killed between them, its hidden folder holds both,
    and only then. The next reader or writer of the target then takes the second step (`finish_replacing`). This requires no
    lock: moving succeeds for only one process, and a writer that finds its second step done is finished. Two writers that
    meet try again: the last one wins.

    Before something is replaced, the new files and their folders are flushed to disk.

    Raises
    ------
    OutputError
        something cannot be written, even within the context; the target is unchanged
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
            except BaseException:  # even an interruption must not lose the earlier output
                if earlier.exists() and not target.exists():
                    earlier.rename(target)
                raise


def _swap(part: Path, target: Path, earlier: Path) -> None:
    """Replace the target by a folder, in the two steps that `replacing` explains."""
    while True:
        with suppress(FileNotFoundError):  # there is none, or another writer moved it
            target.rename(earlier)
        try:
            part.rename(target)
            return
        except OSError:
            if not part.exists():  # a reader took this step
                return
            if not target.is_dir():
                raise
            shutil.rmtree(earlier, ignore_errors=True)  # by now it is another writer's output


def finish_replacing(path: Path) -> bool:
    """Finish the replacement of a path whose writer was stopped; return True if something exists there then.

    See `replacing`. Without a replacement to finish, nothing is done.
    """
    try:
        target = path.resolve()
    except (OSError, ValueError, RuntimeError):  # an impossible name
        return False
    for _ in range(10):  # other writers may move the new output immediately
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
    """Flush a file, or a folder and everything in it, to disk."""
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
    """Return the kind of thing at a path, see `kind_at`, after finishing a replacement that is under way."""
    kind = kind_at(path)
    for _ in range(10):
        if kind is not None or not finish_replacing(path):
            break
        kind = kind_at(path)
    return kind
