"""Hidden folders beside a target, which nobody else can enter, and which are removed at the end."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PART = ".part"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside the target, which nobody else can enter, and remove it at the end.

    A process that is killed leaves its folder behind, and the next call for the same target removes it. The lock on the file
    `lock` shows if the process is alive, as the operating system releases it with the process. On file systems without locks,
    folders that were left behind stay.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_left_behind(target)
    while True:
        work = target.with_name(f".{target.name}.{os.urandom(4).hex()}{_PART}")
        work.mkdir(0o700)
        try:
            lock = _open_lock(work)
            break
        except (BlockingIOError, FileNotFoundError):  # another writer found it without a lock and removed it
            continue
        except OSError:
            work.rmdir()
            raise
    try:
        yield work
    finally:
        _remove(work, lock, target)


def remove_left_behind(target: Path) -> None:
    """Remove the hidden folders that killed writers of a target left, as `new_folder` does first."""
    for work in folders_beside(target):
        _remove_abandoned(work, target)


def folders_beside(target: Path) -> list[Path]:
    """Return the folders that `new_folder` made for this target and that still exist."""
    return hidden_folders(target.parent, re.escape(target.name))


def hidden_folders(folder: Path, name: str) -> list[Path]:
    """Return such folders for targets in a folder whose names match a regular expression."""
    pattern = re.compile(rf"\.{name}\.[0-9a-f]{{8}}{re.escape(_PART)}")
    try:
        with os.scandir(folder) as entries:
            matches = [entry for entry in entries if pattern.fullmatch(entry.name)]
            return [Path(entry.path) for entry in matches if entry.is_dir(follow_symlinks=False)]
    except OSError:  # the folder above does not exist, or cannot be listed
        return []


def finish(work: Path, target: Path) -> None:
    """Move completely written output to the target, if its writer was stopped before doing so."""
    part = work / "new" / target.name
    if (work / "earlier").exists() and part.exists() and not target.exists():
        try:
            part.rename(target)
        except OSError:
            if part.exists() and not target.exists():  # otherwise the writer itself, or another reader, was faster
                raise


def _remove_abandoned(work: Path, target: Path) -> None:
    """Remove a hidden folder of this user whose process has ended, after finishing its work."""
    try:
        if hasattr(os, "geteuid") and work.stat().st_uid != os.geteuid():
            return
        lock = _open_lock(work)
        if lock is None:
            return
    except OSError:  # its process is alive, or the folder is gone already
        return
    with suppress(OSError):
        finish(work, target)
    _remove(work, lock, target)


def _remove(work: Path, lock: int | None, target: Path) -> None:
    """Remove a hidden folder and its lock, unless it has the only copy of the data that it was to replace."""
    is_needed = (work / "earlier").exists() and not target.exists()
    if not is_needed:
        for each in (work / "earlier", work):  # in this order: a part of the new output must not look complete
            shutil.rmtree(each, ignore_errors=True)
    if lock is not None:
        os.close(lock)
    if not is_needed:
        with suppress(OSError):  # an open file cannot be removed on Windows
            (work / "lock").unlink()
            work.rmdir()


def _open_lock(work: Path) -> int | None:
    """Lock a hidden folder until the returned file is closed; return None if the file system has no locks.

    Raises
    ------
    BlockingIOError
        another process, or another thread, holds the lock
    FileNotFoundError
        the folder no longer exists
    """
    path = work / "lock"
    lock = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            try:
                msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                raise BlockingIOError(error.errno, error.strerror) from None
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(lock), path.stat()):
            raise FileNotFoundError(path)
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock
