"""What is seen at a path, as one value: a file or a folder is opened once, and every format looks at this alone."""

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
"""What readers of damaged files raise, those of Polars and of pyarrow; a damaged length asks for too much memory."""
_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[\[\]{}]', re.DOTALL)
_MOST_KEYS = 8
_IS_NAME = re.compile(r"[\w.:/#-]{1,40}")  # of a column, as far as messages show it
_MOST_FOLDERS = 50  # in a folder, of which one may be meant
_MOST_INSIDE = 64  # of the files in a folder, what is seen is kept


def is_number(text: str) -> bool:
    """Whether a field is a number.

    >>> is_number("-.5e3"), is_number("person")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # which Python takes for a separator of digits


@dataclass(frozen=True)
class PathContents:
    """What is seen at a path. What follows from it is found when it is asked for, and once.

    Attributes
    ----------
    path, kind
        which path, and whether a "file" (a pipe too) or a "folder" is there
    head, tail
        of a file, the first 64 kB, unpacked, without a byte order mark, and as many last bytes as they are in the file; nothing
        where it cannot be read
    is_packed
        whether the file is gzip
    names
        what is in a folder, sorted, where names of folders end with a slash; hidden names are left out
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
        r"""The first character that is not blank; \0 of what is no text, none of a folder."""
        if b"\0" in self.head:
            return "\0"
        return self.head.lstrip()[:1].decode("latin-1")

    @property
    def is_json(self) -> bool:
        """Whether a file is JSON, by its name or how it begins."""
        return self.kind == "file" and (".json" in self.path.name or self.begins in ("{", "["))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of a file's head that are not blank; the last one may be cut."""
        return [line for line in self.head.decode("utf-8-sig", "replace").splitlines() if line.strip()]

    @property
    def fields(self) -> list[str]:
        """The fields of the first line, parted by blanks."""
        return self.lines[0].split() if self.lines else []

    @cached_property
    def line(self) -> str:
        """The first line with single blanks between its fields, and # in the place of each number: "cat # # # #"."""
        return " ".join("#" if is_number(each) else each for each in self.fields)

    @cached_property
    def columns(self) -> Mapping[str, Any]:
        """The columns and dtypes of Parquet, Arrow and JSON lines, by the ending; the header of other text, all of them text.

        None of JSON, and where they cannot be read: whoever reads the file says what is wrong.
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
        if self.begins in ("[", "{", "\0"):  # JSON, whose first line may be all of it, or no text
            return []
        return [name.strip(' \r"') for name in self._first.split(self.separator)]

    @property
    def _first(self) -> str:
        return self.head.partition(b"\n")[0].decode(errors="replace")

    @property
    def separator(self) -> str:
        """The comma, semicolon or tab that the first line has most of."""
        return max(",", ";", "\t", key=self._first.count)

    def has_key(self, name: str) -> bool:
        """Whether a name stands in quotes in the head or the tail, as the keys of JSON do."""
        quoted = f'"{name}"'.encode()
        return quoted in self.head or quoted in self.tail

    def has_value(self, name: str) -> bool:
        """Tell whether a name stands in quotes where `has_key` looks, other than as a key of null.

        >>> PathContents(Path("a.json"), "file", b'{"score": null}').has_value("score")
        False
        """
        found = re.compile(b'"%s"(?!\\s*:\\s*null)' % re.escape(name.encode())).search
        return found(self.head) is not None or found(self.tail) is not None

    @property
    def content(self) -> bytes:
        """All of a file, unpacked, which is not kept. A large file is opened again for it."""
        return read_unpacked(self.path)

    @property
    def keys(self) -> list[str]:
        """The keys of a JSON object, or of the objects in a list, that stand in the head, for messages; at most eight.

        >>> PathContents(Path("a.json"), "file", b'[{"a": {"b": 1}, "c": "d"}, {"a": 2}]').keys
        ['a', 'c']
        """
        found, depth, level = dict[str, None](), 0, 2 if self.begins == "[" else 1
        for token in _TOKEN.finditer(self.head):
            if token[0] in (b"{", b"["):
                depth += 1
            elif token[0] in (b"}", b"]"):
                depth -= 1
            elif token[2] is not None and depth == level:
                found[token[1].decode(errors="replace")] = None
            if len(found) == _MOST_KEYS:
                break
        return [*found]

    @property
    def words(self) -> str:
        """What is seen, in words.

        >>> PathContents(Path("a.json"), "file", b'{"a": 1, "b": 2}').words, PathContents(Path("a"), "file", b"hello").words
        ('JSON with keys a, b', "text that begins with 'hello'")
        """
        if self.kind == "folder":
            endings = {"folders" if name.endswith("/") else f"{Path(name).suffix or 'other'} files" for name in self.names}
            return f"a folder with {', '.join(sorted(endings)[:_MOST_KEYS])}"
        if self.begins in ("{", "["):
            return f"JSON with keys {', '.join(self.keys)}" if self.keys else "JSON without keys"
        columns = [name for name in self.columns if _IS_NAME.fullmatch(name)]
        if 1 < len(columns) == len(self.columns):  # else it is prose
            return f"a table with columns {', '.join(columns[:_MOST_KEYS])}"
        return f"text that begins with {self.lines[0][:40]!r}" if self.lines and self.begins != "\0" else "no text"

    def of_names(self, *patterns: str) -> list[str]:
        """The names in a folder that have one of these patterns (`*`, `?`, `[]`), in upper or lower case.

        Raises
        ------
        FormatError
            such a name is that of a pipe, a device or a socket, or not UTF-8, so that it can be no id
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
        """The files of a folder with one of these endings, as `files_in` gives them; none of a file."""
        return [self.path / name for name in self.of_names(*(f"*{ending}" for ending in endings))]

    @property
    def folders(self) -> list[PathContents]:
        """The folders in a folder."""
        return [inside for name in self.names if name.endswith("/") and (inside := self.child(name[:-1])) is not None]

    def child(self, name: str) -> PathContents | None:
        """What is in a folder under this name; None where there is nothing, or a folder that cannot be read."""
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
        """What is seen of the files in a folder whose names have one of these patterns, one after the other."""
        for name in self.of_names(*patterns):
            if not name.endswith("/") and (inside := self.child(name)) is not None:
                yield inside

    @property
    def beside(self) -> PathContents | None:
        """The JSON file beside a folder that has its name; None where there is none."""
        path = self.path.absolute().with_name(f"{self.path.absolute().name}.json")
        if self.kind == "folder" and ".json" not in self._inside and kind_at(path) == "file":
            self._inside[".json"] = _file(path)
        return self._inside.get(".json")

    def place(self, fits: Callable[[PathContents], bool], split: Any = None) -> PathContents:
        """Find the ground truth to read: this if it fits, else the folder of the split inside, else the only folder that fits.

        Folders inside are not searched if there are files beside them or if there are many: they may hold something else.
        """
        if self.kind == "file" or fits(self):
            return self
        if split is not None and (inside := self.child(str(split))) is not None:
            return inside.place(fits)
        has_files = any(Path(name).suffix and not name.endswith("/") for name in self.names)
        found = [] if has_files or len(self.names) > _MOST_FOLDERS else [*filter(fits, self.folders)]
        return found[0] if len(found) == 1 else self

    def deep(self, ending: str) -> Iterator[PathContents]:
        """The files with an ending in a folder and in those inside, no links to folders followed; see `files_in`."""
        for folder in self._all_folders():
            yield from folder.children(f"*{ending}")

    def has_deep(self, ending: str) -> bool:
        """Whether there is such a file as `deep` gives, none of which is opened."""
        return any(folder.files(ending) for folder in self._all_folders())

    def _all_folders(self) -> Iterator[PathContents]:
        """This folder, and all inside, no links followed; each before what is in it."""
        waiting = [self]
        while waiting:
            yield (folder := waiting.pop())
            names = [name for name in folder.names if name.endswith("/") and name not in folder._links]
            waiting += [inside for name in reversed(names) if (inside := folder.child(name[:-1])) is not None]


def see(path: Path) -> PathContents:
    """What is seen at a path where a file, a pipe or a folder is; inside `reading_once` one value for all who ask.

    Raises
    ------
    FormatError
        the folder cannot be read; a device or a socket

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
    """The reader of an open file or stream of Arrow IPC."""
    import pyarrow as pa  # takes a while to import, but checks what it reads: damaged files make Polars panic or abort

    is_file_of_it = file.read(len(_IPC_FILE)) == _IPC_FILE
    file.seek(0)
    return pa.ipc.open_file(file) if is_file_of_it else pa.ipc.open_stream(file)


def _file(path: Path) -> PathContents:
    held = holding(path)
    if held is not None and not held.has(path):
        try:
            held.open(path).close()  # a file of a folder that is read once, of which this one is kept
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


def _is(asked: Any) -> bool:
    """Whether an entry is a folder, or a file; a link that cannot be followed is neither."""
    try:
        return bool(asked())
    except OSError:
        return False
