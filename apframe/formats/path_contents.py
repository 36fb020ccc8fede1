"""The visible contents of a path, as one value: a file or a folder is opened once, and all formats use this value."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.files import read_ends, read_unpacked, reading_from
from apframe.paths import holding, is_file, is_utf8, kind_at, opened
from apframe.tables.column_sources import from_arrow_stream

_PARQUET, _ARROW, _LINES = (".parquet",), (".arrow", ".feather", ".ipc"), (".jsonl",)
_IPC_FILE = b"ARROW1"
UNREADABLE = (OSError, ValueError, NotImplementedError, MemoryError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""The errors that Polars and pyarrow raise for damaged files; a damaged length may require too much memory."""
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[\[\]{}]', re.DOTALL)
_MOST_KEYS = 8
_IS_NAME = re.compile(r"[\w.:/#-]{1,40}")  # names of columns that messages show
_MOST_FOLDERS = 50  # subfolders that are searched for the ground truth
_MOST_INSIDE = 64  # files of a folder whose contents are kept


def is_number(text: str) -> bool:
    """Return True if a field is a number.

    >>> is_number("-.5e3"), is_number("person")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # a separator of digits in Python


@dataclass(frozen=True)
class PathContents:
    """The visible contents of a path. Derived values are computed once, when they are first used.

    Attributes
    ----------
    path, kind
        the path, and whether it is a "file" (or a pipe) or a "folder"
    head, tail
        the first 64 kB of a file, unpacked, without a byte order mark; and as many last bytes, not unpacked; empty if the file
        cannot be read
    is_packed
        whether the file is gzip
    names
        the sorted names in a folder, where names of folders end with a slash; hidden names are left out
    """

    path: Path
    kind: Literal["file", "folder"]
    head: bytes = field(default=b"", repr=False)
    tail: bytes = field(default=b"", repr=False)
    is_packed: bool = False
    names: tuple[str, ...] = field(default=(), repr=False)
    _links: frozenset[str] = field(default=frozenset(), repr=False)
    _odd: frozenset[str] = field(default=frozenset(), repr=False)  # neither files nor folders, or links to nothing
    _inside: dict[str, PathContents] = field(default_factory=dict, repr=False, compare=False)
    _found: dict[tuple[str, ...], list[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def begins(self) -> str:
        r"""The first character that is not blank; \0 if the file is not text, "" for a folder."""
        if b"\0" in self.head:
            return "\0"
        return self.head.lstrip()[:1].decode("latin-1")

    @property
    def is_json(self) -> bool:
        """True if a file is JSON, by its name or its beginning."""
        return self.kind == "file" and (".json" in self.path.name or self.begins in ("{", "["))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of a file's head that are not blank; the last one may be cut."""
        return [line for line in self.head.decode("utf-8-sig", "replace").splitlines() if line.strip()]

    @property
    def fields(self) -> list[str]:
        """The fields of the first line, separated by blanks."""
        return self.lines[0].split() if self.lines else []

    @cached_property
    def line(self) -> str:
        """The first line with single blanks between its fields, and # in place of each number: "cat # # # #"."""
        return " ".join("#" if is_number(each) else each for each in self.fields)

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """The columns and dtypes of Parquet, Arrow and JSON lines, by extension; for other text, the header with text columns.

        Empty for JSON, and if the columns cannot be read: the reader of the file then raises the error.
        """
        ending = self.path.suffix.lower()
        if self.kind == "folder" or ending not in (*_PARQUET, *_ARROW, *_LINES):
            return dict.fromkeys(self._header(), pl.String())
        try:
            with opened(self.path) as file:
                if ending in _PARQUET:
                    return pl.read_parquet_schema(file)
                if ending in _LINES:
                    from apframe.tables.table_files import not_deep

                    return pl.DataFrame([json.loads(not_deep(file.readline()))], strict=False).schema
                return from_arrow_stream(open_ipc(file).schema.empty_table()).schema
        except (*UNREADABLE, RecursionError, TypeError):
            return {}

    def _header(self) -> list[str]:
        if self.begins in ("[", "{", "\0"):  # JSON, which may be one line, or not text
            return []
        return [name.strip(' \r"') for name in self._first.split(self.separator)]

    @property
    def _first(self) -> str:
        return self.head.partition(b"\n")[0].decode(errors="replace")

    @property
    def separator(self) -> str:
        """The separator that occurs most often in the first line: comma, semicolon or tab."""
        return max(",", ";", "\t", key=self._first.count)

    def has_key(self, name: str) -> bool:
        """Return True if the head or the tail contains a name in quotes, like the keys of JSON."""
        quoted = f'"{name}"'.encode()
        return quoted in self.head or quoted in self.tail

    def has_value(self, name: str) -> bool:
        """Return True if the head or the tail contains a name in quotes, other than as a key of null.

        >>> PathContents(Path("a.json"), "file", b'{"score": null}').has_value("score")
        False
        """
        search = re.compile(b'"%s"(?!\\s*:\\s*null)' % re.escape(name.encode())).search
        return search(self.head) is not None or search(self.tail) is not None

    @property
    def content(self) -> bytes:
        """The whole content of a file, unpacked, which is not kept. A large file is opened again."""
        return read_unpacked(self.path)

    @property
    def keys(self) -> list[str]:
        """The keys of a JSON object, or of the objects in a list, in the head, for messages; at most eight.

        >>> PathContents(Path("a.json"), "file", b'[{"a": {"b": 1}, "c": "d"}, {"a": 2}]').keys
        ['a', 'c']
        """
        names, depth, level = dict[str, None](), 0, 2 if self.begins == "[" else 1
        for token in _TOKEN.finditer(self.head):
            if token[0] in (b"{", b"["):
                depth += 1
            elif token[0] in (b"}", b"]"):
                depth -= 1
            elif token[2] is not None and depth == level:
                names[token[1].decode(errors="replace")] = None
            if len(names) == _MOST_KEYS:
                break
        return [*names]

    @property
    def words(self) -> str:
        """A description of the contents.

        >>> PathContents(Path("a.json"), "file", b'{"a": 1, "b": 2}').words, PathContents(Path("a"), "file", b"hello").words
        ('JSON with keys a, b', "text that begins with 'hello'")
        """
        if self.kind == "folder":
            endings = {"folders" if name.endswith("/") else f"{Path(name).suffix or 'other'} files" for name in self.names}
            return f"a folder with {', '.join(sorted(endings)[:_MOST_KEYS])}"
        if self.begins in ("{", "["):
            return f"JSON with keys {', '.join(self.keys)}" if self.keys else "JSON without keys"
        columns = [name for name in self.columns if _IS_NAME.fullmatch(name)]
        if 1 < len(columns) == len(self.columns):  # otherwise it is prose
            return f"a table with columns {', '.join(columns[:_MOST_KEYS])}"
        return f"text that begins with {self.lines[0][:40]!r}" if self.lines and self.begins != "\0" else "no text"

    def of_names(self, *patterns: str) -> list[str]:
        """Return the names in a folder that match one of these patterns (`*`, `?`, `[]`), in upper or lower case.

        Raises
        ------
        FormatError
            such a name belongs to a pipe, a device or a socket, or is not UTF-8 and cannot be an id
        """
        if patterns not in self._found:
            matches = re.compile("|".join(translate(pattern.lower()) for pattern in patterns)).match
            self._found[patterns] = [name for name in self.names if matches(name.lower())]
            for name in self._found[patterns]:
                if name in self._odd:
                    is_file(self.path / name)
                if not is_utf8(name):
                    raise FormatError("the name is not UTF-8 text", "rename it", path=self.path / name)
        return self._found[patterns]

    def files(self, *endings: str) -> list[Path]:
        """Return the files of a folder with one of these extensions, like `files_in`; none for a file."""
        return [self.path / name for name in self.of_names(*(f"*{ending}" for ending in endings))]

    @property
    def folders(self) -> list[PathContents]:
        """The folders in a folder."""
        return [inside for name in self.names if name.endswith("/") and (inside := self.child(name[:-1])) is not None]

    def child(self, name: str) -> PathContents | None:
        """Return the contents of an entry of a folder; None if it does not exist, or is a folder that cannot be read."""
        if name not in self._inside and (name in self.names or f"{name}/" in self.names):
            if f"{name}/" in self.names:
                try:
                    self._inside[name] = _folder(self.path / name)
                except OSError:
                    return None
            elif is_file(self.path / name) or name in self._odd:
                seen = _file(self.path / name)
                if len(self._inside) >= _MOST_INSIDE:
                    return seen
                self._inside[name] = seen
        return self._inside.get(name)

    def children(self, *patterns: str) -> Iterator[PathContents]:
        """Yield the contents of the files in a folder whose names match one of these patterns."""
        for name in self.of_names(*patterns):
            if not name.endswith("/") and (inside := self.child(name)) is not None:
                yield inside

    @property
    def beside(self) -> PathContents | None:
        """The JSON file beside a folder with the same name; None without one."""
        path = self.path.absolute().with_name(f"{self.path.absolute().name}.json")
        if self.kind == "folder" and ".json" not in self._inside and kind_at(path) == "file":
            self._inside[".json"] = _file(path)
        return self._inside.get(".json")

    def place(self, fits: Callable[[PathContents], bool], split: Any = None) -> PathContents:
        """Find the ground truth to read: this path if it fits, or the subfolder of the split, or the only subfolder that fits.

        Subfolders are not searched if there are files beside them or if there are many: they may hold something else.
        """
        if self.kind == "file" or fits(self):
            return self
        if split is not None and (inside := self.child(str(split))) is not None:
            return inside.place(fits)
        has_files = any(Path(name).suffix and not name.endswith("/") for name in self.names)
        candidates = [] if has_files or len(self.names) > _MOST_FOLDERS else [*filter(fits, self.folders)]
        return candidates[0] if len(candidates) == 1 else self

    def deep(self, ending: str) -> Iterator[PathContents]:
        """Yield the files with an extension in a folder and its subfolders, not following links to folders; see `files_in`."""
        for folder in self._all_folders():
            yield from folder.children(f"*{ending}")

    def has_deep(self, ending: str) -> bool:
        """Return True if `deep` would yield a file, without opening any."""
        return any(folder.files(ending) for folder in self._all_folders())

    def _all_folders(self) -> Iterator[PathContents]:
        """Yield this folder and all subfolders, without following links; each folder before its contents."""
        waiting = [self]
        while waiting:
            yield (folder := waiting.pop())
            names = [name for name in folder.names if name.endswith("/") and name not in folder._links]
            waiting += [inside for name in reversed(names) if (inside := folder.child(name[:-1])) is not None]


def see(path: Path) -> PathContents:
    """Return the contents of a file, a pipe or a folder; within `reading_once`, the same value for all calls.

    Raises
    ------
    FormatError
        the folder cannot be read; or the path is a device or a socket

    >>> see(Path("README.md")).begins, "apframe/" in see(Path()).names
    ('#', True)
    """
    held = holding(path, exact=True)
    if held is not None and held.seen is not None:
        return held.seen  # type: ignore[no-any-return]
    with reading_from(path):
        seen = _folder(path) if kind_at(path) == "folder" else _file(path)
    if held is not None:
        held.seen = seen
    return seen


def open_ipc(file: BinaryIO) -> Any:
    """Return the reader of an open file or stream of Arrow IPC."""
    import pyarrow as pa  # slow to import, but it checks its input: damaged files make Polars panic or abort

    is_file_of_it = file.read(len(_IPC_FILE)) == _IPC_FILE
    file.seek(0)
    return pa.ipc.open_file(file) if is_file_of_it else pa.ipc.open_stream(file)


def _file(path: Path) -> PathContents:
    held = holding(path)
    if held is not None and not held.has(path):
        try:
            held.open(path).close()  # keeps this file of a folder that is read once
        except OSError:
            return PathContents(path, "file")
    return PathContents(path, "file", *read_ends(path))


def _folder(path: Path) -> PathContents:
    names, links, odd = list[str](), set[str](), set[str]()
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            name = f"{entry.name}/" if _is(entry.is_dir) else entry.name
            names.append(name)
            if entry.is_symlink():
                links.add(name)
            if not name.endswith("/") and not _is(entry.is_file):
                odd.add(name)
    return PathContents(path, "folder", names=tuple(sorted(names)), _links=frozenset(links), _odd=frozenset(odd))


def _is(check: Any) -> bool:
    """Return the result of a check for a folder or a file; a link that cannot be followed is neither."""
    try:
        return bool(check())
    except OSError:
        return False
