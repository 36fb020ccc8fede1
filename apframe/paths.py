"""Paths: the kind of thing at a path, patterns, reading once, and exact file names for Polars and DuckDB."""

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

_MOST_KEPT = 1 << 25  # largest number of bytes that are kept for each path that is read once
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
        mode = os.stat(path).st_mode  # noqa: PTH116 - fast, because it is called for every file of a folder
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
    """Return True if there is a folder at a path."""
    return kind_at(path) == "folder"


def is_file(path: str | Path) -> bool:
    """Return True if there is a file at a path inside a data set.

    Raises
    ------
    FormatError
        there is a pipe, a device or a socket instead: reading it might never end
    """
    kind = kind_at(path)
    if kind in ("pipe", "device"):
        what = "a pipe" if kind == "pipe" else "a device or a socket"
        raise FormatError(f"this is {what} where a file is expected", "remove it", path=path)
    return kind == "file"


def refuse_pipe(path: str | Path) -> None:
    """Raise the error of `is_file`, for a path that is opened without looking first."""
    is_file(path)


def is_pattern(path: str | Path) -> bool:
    """Return True if a path is a pattern of paths: it has `*`, `?` or `[`, and nothing with exactly this name exists.

    >>> is_pattern("runs/*"), is_pattern("runs")
    (True, False)
    """
    return glob.has_magic(str(path)) and kind_at(path) is None


class Held:
    """The bytes that were read from a path, and from files in it, while `reading_once` lasts.

    Attributes
    ----------
    root
        the path
    seen
        the result of `apframe.formats.path_contents.see` for it
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
        """Return True if the path is this one, or a file in it that is kept."""
        return self._lasts and (path == self.root or path in self._contents)

    def stamp(self, path: Path) -> tuple[int, int, int] | None:
        """Return the stamp of a file that is kept, from before it was read; None for all others."""
        return self._stamps.get(path)

    def open(self, path: Path) -> BinaryIO:
        """Open the bytes that are kept, or else the file, which is kept from then on if it is a pipe or small."""
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
        """Drop the bytes; they are read again if needed."""
        with self._lock:
            self._contents.clear()
            self._stamps.clear()
            self._size = 0

    def end(self) -> None:
        """Drop the bytes and keep nothing from then on."""
        self._lasts, self.seen = False, None
        self.release()


_HELD: ContextVar[Mapping[Path, Held]] = ContextVar("held", default=MappingProxyType({}))


@contextmanager
def reading_once(source: Any) -> Iterator[None]:
    """Within this context, open a path only once: its bytes are kept, to recognize the format and then to read it.

    A pipe is kept as a whole. Files are kept up to 32 MB, for a folder up to 32 MB in all; larger files are opened again. So
    the bytes that were recognized are the bytes that are read, even if the file is replaced in the meantime. Sources other than
    paths are not affected.

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
    """Drop the bytes that `reading_once` keeps of a path that has been read; the bytes of a pipe stay."""
    held = holding(path, exact=True)
    if held is not None and kind_at(path) != "pipe":
        held.release()


def holding(path: Path, *, exact: bool = False) -> Held | None:
    """Return the bytes that `reading_once` keeps of a path, or of a folder around it unless `exact`; None without any."""
    for root, held in _HELD.get().items():
        if held.has(root) and (root == path or (not exact and root in path.parents)):
            return held
    return None


def read_since(path: Path) -> tuple[int, int, int] | None:
    """Return the `stamp` of a file; for a file that `reading_once` keeps, the stamp from before it was read."""
    held = holding(path)
    return (held and held.stamp(path)) or stamp(path)


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return an identity of the file's content: number on disk, time of the last change, size; None if it does not exist."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # gone, or a name that nothing can have
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def opened(path: Path) -> BinaryIO:
    """Open a file for reading; a pipe is read to its end first. Files that `reading_once` keeps are not opened again.

    Raises
    ------
    FormatError
        a device or a socket, a name that no file can have
    OSError
        as `open` raises it
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
    """Return the open file, and whether it is a pipe."""
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
    """Return a plan that reads the CSV file of exactly this name, or its bytes; `options` as for `polars.scan_csv`."""
    return pl.scan_csv(source if isinstance(source, bytes) else literal(source), glob=False, **options)


def literal(path: str | Path) -> Path:
    """Return the absolute path, so that `~` or `s3://` at its beginning has no meaning. An error if it is not UTF-8."""
    full = Path(path).absolute()
    return utf8_path(full, str(full))


def to_write(path: str | Path) -> Path:
    """Return the absolute path of a file or folder to write, with links resolved.

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
    """Return the path; raise an error if `text`, a part of it, is not UTF-8."""
    if not is_utf8(text):
        raise FormatError("the name is not UTF-8 text", "rename it", path=path)
    return path


def is_utf8(text: str) -> bool:
    """Return True if a text is valid UTF-8: no undecodable bytes of a file name, no lone surrogates from JSON.

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
    """Return the absolute path, with links unresolved."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - a link is a run of its own name, resolve() would follow it


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Return True if a path is inside one of the folders, by the text of both: `..` is resolved, links are not.

    >>> is_inside(Path("data/images/../a.jpg"), [Path("data")]), is_inside(Path("data/../a.jpg"), [Path("data")])
    (True, False)
    """
    # not resolve(), which follows links: download caches consist of them
    written = os.path.abspath(path)  # noqa: PTH100
    return any(written.startswith(os.path.join(os.path.abspath(folder), "")) for folder in folders)  # noqa: PTH100, PTH118


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return the last parts of the paths, as few as distinguish them.

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
    """Return the URL in a text or `Path`; None for paths and everything else.

    >>> url_of("https://example.org/a.parquet"), url_of(Path("s3://a/b.csv")), url_of("data:/a.csv"), url_of("a.csv")
    ('https://example.org/a.parquet', 's3://a/b.csv', None, None)
    """
    match = _URL.fullmatch(str(source)) if isinstance(source, (str, Path)) else None
    if match is None or not ("://" in str(source) or (match[1] in SCHEMES and kind_at(source) is None)):
        return None
    return f"{match[1]}://{match[2]}"
