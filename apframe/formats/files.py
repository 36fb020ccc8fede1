"""Opening, unpacking, writing and replacing files, with errors that say what is wrong with them."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl

from apframe.exceptions import ApframeError, FormatError, OutputError
from apframe.paths import kind_at, opened
from apframe.wording import reason

_GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
_USUAL, _MOST = 1 << 30, 100  # bytes that any file may unpack to; beyond these, so many times its own size
_LARGEST = 1 << 31  # bytes that no file may exceed
_PIECE = 1 << 26  # bytes that are unpacked at once
_PART = ".part"


def read_unpacked(path: Path) -> bytes:
    """The file's bytes, unpacked if it is gzip, which its content shows, whatever its name.

    A file that unpacks to more than 1 GB and 100 times its size, or to more than 2 GB, is a `FormatError`, before the memory is
    full: files that were made to fill it do.
    """
    with reading(path) as file:
        content = file.read()
        return _unpacked(path, content) if content.startswith(_GZIP) else content


@contextmanager
def reading_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open the file, to be read as `read_unpacked` reads it; a plain file need not be read at once."""
    with reading(path) as file:
        head = file.read(len(_GZIP))
        file.seek(0)
        yield BytesIO(_unpacked(path, file.read())) if head == _GZIP else file


def _unpacked(path: Path, content: bytes) -> bytes:
    most, size, pieces = min(max(_USUAL, _MOST * len(content)), _LARGEST), 0, []
    while content:  # a file may have several parts, and zeros after the last
        unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not unpacker.eof:
            pieces.append(unpacker.decompress(content, _PIECE))
            content = unpacker.unconsumed_tail
            size += len(pieces[-1])
            if size > most:
                raise FormatError(f"unpacks to more than {most:,} bytes", "unpack it yourself if you trust it", path=path)
            if not pieces[-1] and not unpacker.eof:
                raise EOFError("it ends before its end-of-stream marker")
        content = unpacker.unused_data.lstrip(b"\0")
    return b"".join(pieces)


def is_packed(path: Path) -> bool:
    """Whether the file is gzip."""
    with reading(path) as file:
        return file.read(len(_GZIP)) == _GZIP


def read_ends(path: Path, size: int = 1 << 16) -> tuple[bytes, bytes, bool]:
    """The first bytes of a file, unpacked when it is gzip, without a byte order mark; as many last ones; whether it is gzip.

    The last ones are as they are in the file, none where it cannot be read from its end. Nothing where it cannot be read.
    """
    try:
        with opened(path) as file:
            is_gzip = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            head = (gzip.GzipFile(fileobj=file) if is_gzip else file).read(size).removeprefix(BOM)
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - len(head)))
            return head, file.read(len(head)), is_gzip
    except (OSError, EOFError, zlib.error):
        return b"", b"", False


def read_text(path: Path) -> str:
    """A text file, unpacked when it is gzip, without a byte order mark; an error names the line that is no UTF-8."""
    return decoded(path, read_unpacked(path))


def decoded(path: Path, content: bytes) -> str:
    """Decode bytes that were read from the path, as `read_text` does."""
    content = content.removeprefix(BOM)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(f"line {line} is not UTF-8 text ({error.reason})", "convert the file", path=path) from error


@contextmanager
def reading_from(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system in the block into a FormatError that names the path and what is wrong with it."""
    try:
        yield
    except ApframeError:
        raise  # an OutputError is an OSError too
    except FileNotFoundError:
        raise FormatError("there is no such file", path=path) from None
    except IsADirectoryError:
        raise FormatError("this is a folder, but a file is needed", path=path) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"the gzip file is damaged or cut off ({error})", path=path) from error
    except OSError as error:
        raise FormatError(f"cannot be read ({reason(error)})", path=error.filename or path) from error


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """The open file; what goes wrong while it is opened or read is a `FormatError`. A pipe is read to its end first."""
    with reading_from(path), opened(path) as file:
        yield file


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system and of Polars in the block into an OutputError that names the path and the reason."""
    try:
        yield
    except ApframeError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"cannot be written ({reason(error)})", path=path) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, lines as they are; packed when the name ends in .gz."""
    content = text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


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
        works = [] if kind_at(target) is not None else _folders_beside(target)
        if not works:
            break
        for work in works:
            _finish(work, target)
    return kind_at(target) is not None


def settled_kind(path: Path) -> str | None:
    """`kind_at`, but not of the moment in which a writer has taken away what it replaces and put nothing there yet."""
    kind = kind_at(path)
    for _ in range(10):
        if kind is not None or not finish_replacing(path):
            break
        kind = kind_at(path)
    return kind


def finish_replacing_in(folder: Path) -> None:
    """Finish every replacement in a folder that was interrupted."""
    for work in _hidden_folders(folder, ".+"):
        finish_replacing(folder / work.name[1:].rsplit(".", 2)[0])


def _finish(work: Path, target: Path) -> None:
    part = work / "new" / target.name
    if (work / "earlier").exists() and part.exists() and not target.exists():
        try:
            part.rename(target)
        except OSError:
            if part.exists() and not target.exists():  # otherwise the writer itself, or another reader, was faster
                raise


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A new hidden folder beside the target, which nobody else can enter; gone at the end.

    A process that is killed leaves its folder behind, and the next call for the same target removes it. That its process is
    gone shows by the lock on the file `lock`, which the operating system takes away with the process. Where a file system has
    no locks, folders that were left behind stay.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_left_behind(target)
    while True:
        work = target.with_name(f".{target.name}.{os.urandom(4).hex()}{_PART}")
        work.mkdir(0o700)
        try:
            lock = _open_lock(work)
            break
        except (BlockingIOError, FileNotFoundError):  # another writer took it for abandoned, in the moment without a lock
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
    for work in _folders_beside(target):
        _remove_abandoned(work, target)


def _folders_beside(target: Path) -> list[Path]:
    """The folders that `new_folder` made for this target and that are still there."""
    return _hidden_folders(target.parent, re.escape(target.name))


def _hidden_folders(folder: Path, name: str) -> list[Path]:
    pattern = re.compile(rf"\.{name}\.[0-9a-f]{{8}}{re.escape(_PART)}")
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if pattern.fullmatch(entry.name)]
            return [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:  # the folder above is not there, or cannot be listed
        return []


def _remove_abandoned(work: Path, target: Path) -> None:
    """Remove the hidden folder of a process that is gone, one of this user's; what it has not finished is finished first."""
    try:
        if hasattr(os, "geteuid") and work.stat().st_uid != os.geteuid():
            return
        lock = _open_lock(work)
        if lock is None:
            return
    except OSError:  # its process lives, or it is gone already
        return
    with suppress(OSError):
        _finish(work, target)
    _remove(work, lock, target)


def _remove(work: Path, lock: int | None, target: Path) -> None:
    """Remove a hidden folder and its lock, unless it holds the only copy of what it was to replace."""
    is_needed = (work / "earlier").exists() and not target.exists()
    if not is_needed:
        for each in (work / "earlier", work):  # in this order: a part of what is new must not look like all of it
            shutil.rmtree(each, ignore_errors=True)
    if lock is not None:
        os.close(lock)
    if not is_needed:
        with suppress(OSError):  # an open file cannot be removed on Windows
            (work / "lock").unlink()
            work.rmdir()


def _open_lock(work: Path) -> int | None:
    """Lock a hidden folder until the file that is returned is closed; None where the file system has no locks.

    Raises
    ------
    BlockingIOError
        another process, or another thread, holds the lock
    FileNotFoundError
        the folder is no longer there
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
