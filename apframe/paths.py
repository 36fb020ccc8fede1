"""Paths as they are named: what there is at one, which are patterns, and files that Polars and DuckDB take by their names."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, BinaryIO, Literal

import polars as pl

from apframe.exceptions import FormatError, OutputError
from apframe.wording import first_line, reason

_MOST_KEPT = 1 << 25  # bytes of files that are kept for each path that is read once
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}([^/].*)")  # a `Path` keeps one slash
SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "hf")

Kind = Literal["file", "folder", "pipe", "device"]


def kind_at(path: str | Path) -> Kind | None:
    """Return the kind of thing at a path: "device" includes sockets; None means nothing, or an impossible name.

    Raises
    ------
    FormatError
        a folder on the way may not be entered

    >>> kind_at("."), kind_at("x" * 10_000), kind_at("a\\0b")
    ('folder', None, None)
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - as the next function: these are asked of every file of a folder
    except PermissionError as error:
        raise FormatError(f"cannot be read ({reason(error)})", path=path) from error
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "pipe" if stat.S_ISFIFO(mode) else "device"


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder at a path."""
    return kind_at(path) == "folder"


def is_file(path: str | Path) -> bool:
    """Whether there is a file at a path inside a data set.

    Raises
    ------
    FormatError
        a pipe, a device or a socket is in its place: reading it might never end
    """
    kind = kind_at(path)
    if kind in ("pipe", "device"):
        what = "a pipe" if kind == "pipe" else "a device or a socket"
        raise FormatError(f"this is {what} where a file is expected", "remove it", path=path)
    return kind == "file"


def refuse_pipe(path: str | Path) -> None:
    """The error of `is_file` alone, for a path that is opened whatever is there."""
    is_file(path)


def is_pattern(path: str | Path) -> bool:
    """Whether a path is a pattern of many paths: it has `*`, `?` or `[`, and nothing is called exactly like it.

    >>> is_pattern("runs/*"), is_pattern("runs")
    (True, False)
    """
    return glob.has_magic(str(path)) and kind_at(path) is None


class Held:
    """What was read of a path, and of files in it, while `reading_once` lasts.

    Attributes
    ----------
    root
        the path
    seen
        what `apframe.formats.path_contents.see` made of it
    """

    def __init__(self, root: Path) -> None:
        """Begin with nothing."""
        self.root = root
        self.seen: Any = None
        self._contents: dict[Path, bytes] = {}
        self._stamps: dict[Path, tuple[int, int, int] | None] = {}
        self._size = 0  # bytes of all contents
        self._lasts = True
        self._lock = RLock()

    def has(self, path: Path) -> bool:
        """Whether the path is this one, or that of a file in it that is kept."""
        return self._lasts and (path == self.root or path in self._contents)

    def stamp(self, path: Path) -> tuple[int, int, int] | None:
        """The stamp of a file that is kept, from before it was read; None for all else."""
        return self._stamps.get(path)

    def open(self, path: Path) -> BinaryIO:
        """The bytes that are kept, or else the file, which is kept if it is a pipe, or small."""
        with self._lock:
            if path not in self._contents:
                before = stamp(path)
                file, is_pipe = _open(path)
                size = os.fstat(file.fileno()).st_size
                if not is_pipe and size + self._size > _MOST_KEPT:
                    return file
                with file:
                    content = file.read()
                if not self._lasts:
                    return BytesIO(content)
                self._contents[path], self._stamps[path] = content, before
                self._size += len(content)
            return BytesIO(self._contents[path])

    def release(self) -> None:
        """Drop the bytes, which are read again if they are needed."""
        with self._lock:
            self._contents.clear()
            self._stamps.clear()
            self._size = 0

    def end(self) -> None:
        """Keep nothing any longer."""
        self._lasts, self.seen = False, None
        self.release()


_HELD: ContextVar[Mapping[Path, Held]] = ContextVar("held", default=MappingProxyType({}))


@contextmanager
def reading_once(source: Any) -> Iterator[None]:
    """While this lasts, a path is opened once: what is read of it is kept, to be looked at and then read; nothing for all else.

    A pipe is kept whole. Files are kept up to 32 MB, those of a folder, as far as they are looked at, together; larger ones are
    opened again. So what was looked at is what is read, although the file may be replaced in the meantime.

    >>> with reading_once("README.md"):
    ...     opened(Path("README.md")).read(9) == opened(Path("README.md")).read(9)
    True
    """
    path = Path(source) if isinstance(source, (str, Path)) else None
    if path is None or holding(path, exact=True) is not None:
        yield
        return
    held = Held(path)
    _HELD.set({**_HELD.get(), path: held})
    try:
        yield
    finally:
        held.end()
        _HELD.set({root: each for root, each in _HELD.get().items() if each is not held})


def release(path: Path) -> None:
    """Drop the bytes that `reading_once` keeps of a path that has been read; those of a pipe stay."""
    held = holding(path, exact=True)
    if held is not None and kind_at(path) != "pipe":
        held.release()


def holding(path: Path, *, exact: bool = False) -> Held | None:
    """What `reading_once` keeps of a path, or of a folder around it unless `exact`; None where it keeps nothing."""
    for root, held in _HELD.get().items():
        if held.has(root) and (root == path or (not exact and root in path.parents)):
            return held
    return None


def read_since(path: Path) -> tuple[int, int, int] | None:
    """The `stamp` of a file, from before it was read: of one that `reading_once` keeps, from then."""
    held = holding(path)
    return (held and held.stamp(path)) or stamp(path)


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Tells a file from a later one of its name: number on disk, time of the last change, size; None when it is gone."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # gone, or a name that nothing can have
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def opened(path: Path) -> BinaryIO:
    """A file to read from; a pipe is read to its end first. What `reading_once` keeps is not opened again.

    Raises
    ------
    FormatError
        a device or a socket, a name that no file can have
    OSError
        what `open` raises
    """
    for held in _HELD.get().values():
        if held.has(path):
            return held.open(path)
    file, is_pipe = _open(path)
    if not is_pipe:
        return file
    with file:
        return BytesIO(file.read())


def _open(path: Path) -> tuple[BinaryIO, bool]:
    """The open file, and whether it is a pipe."""
    kind = kind_at(path)
    if kind == "device":
        raise FormatError("this is a device or a socket", "name a file", path=path)
    try:
        return path.open("rb"), kind == "pipe"
    except ValueError as error:
        raise FormatError(f"not a valid file name ({error})", path=path) from None


def scan_parquet(path: str | Path) -> pl.LazyFrame:
    """Return a plan that opens the file when it is collected."""
    return pl.scan_parquet(literal(path), glob=False, hive_partitioning=False)


def scan_csv(source: Path | bytes, **options: Any) -> pl.LazyFrame:
    """A plan that reads the CSV file of exactly this name, or its bytes; `options` are those of `polars.scan_csv`."""
    return pl.scan_csv(source if isinstance(source, bytes) else literal(source), glob=False, **options)


def literal(path: str | Path) -> Path:
    """The whole path: no home folder, `~`, or address, `s3://`, stands at its beginning. An error if it is not UTF-8."""
    full = Path(path).absolute()
    return utf8_path(full, str(full))


def to_write(path: str | Path) -> Path:
    """The whole path of what will be written, links followed.

    Raises
    ------
    OutputError
        a name that no file can have, links that lead in circles, or a folder on the way that may not be entered
    """
    try:
        full = Path(path).resolve()
        full.exists()
        return full
    except PermissionError as error:
        raise OutputError(f"cannot be written ({reason(error)})", path=path) from error
    except (OSError, ValueError, RuntimeError) as error:  # the last one is of the links, up to Python 3.12
        raise OutputError(f"nothing can be written there ({first_line(error)})", "name another place", path=path) from error


def utf8_path(path: Path, text: str) -> Path:
    """The path, and an error if this text, a part of it, holds bytes that are no UTF-8."""
    if not is_utf8(text):
        raise FormatError("the name is not UTF-8 text", "rename it", path=path)
    return path


def is_utf8(text: str) -> bool:
    """Whether a text has only whole characters: no bytes of a file's name that are none, no halves of pairs from JSON.

    >>> is_utf8("ä"), is_utf8(chr(0xD800))
    (True, False)
    """
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def duckdb_literal(path: str | Path) -> str:
    """Return a path that makes DuckDB read the file of exactly this name.

    >>> duckdb_literal("/runs[1]/a.json")
    '/runs[[]1]/a.json'
    """
    return glob.escape(str(literal(path)))


def absolute(path: Path) -> Path:
    """The path from the root, links and all."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - a link is a run of its own name, resolve() would follow it


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path lies in one of the folders, as both are written: `..` is followed, links are not.

    >>> is_inside(Path("data/images/../a.jpg"), [Path("data")]), is_inside(Path("data/../a.jpg"), [Path("data")])
    (True, False)
    """
    # not resolve(), which follows links: download caches consist of them
    written = os.path.abspath(path)  # noqa: PTH100
    return any(written.startswith(os.path.join(os.path.abspath(folder), "")) for folder in folders)  # noqa: PTH100, PTH118


def names_of(paths: Sequence[Path]) -> list[str]:
    """The last parts of the paths, as few as tell them apart.

    >>> names_of([Path("/runs/one/a"), Path("/runs/two/a"), Path("/runs/b")])
    ['one/a', 'two/a', 'b']
    """
    parts = [absolute(path).parts for path in paths]
    depths = [1] * len(paths)
    while True:
        names = ["/".join(path[-depth:]) for path, depth in zip(parts, depths, strict=True)]
        count = Counter(names)
        if len(count) == len(names):
            return names
        depths = [depth + (count[name] > 1) for name, depth in zip(names, depths, strict=True)]


def url_of(source: Any) -> str | None:
    """The URL that a text or `Path` is; None for paths, and all else.

    >>> url_of("https://example.org/a.parquet"), url_of(Path("s3://a/b.csv")), url_of("data:/a.csv"), url_of("a.csv")
    ('https://example.org/a.parquet', 's3://a/b.csv', None, None)
    """
    found = _URL.fullmatch(str(source)) if isinstance(source, (str, Path)) else None
    if found is None or not ("://" in str(source) or (found[1] in SCHEMES and kind_at(source) is None)):
        return None
    return f"{found[1]}://{found[2]}"
