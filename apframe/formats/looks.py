"""The looks of the files of formats, declared as data, so that formats are recognised without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from re import fullmatch
from typing import NamedTuple

from apframe.formats.path_contents import PathContents

TEXT = "^[{\0"
"""The beginning of text that is not JSON, for `Look.begins`."""
NAME = r"(?!#( |$))\S+"
"""A field that is not a number, in `Look.line`."""
JSON_WORDS = {"{": "a JSON object", "[": "a JSON list", "[{": "JSON", TEXT: "text that is not JSON", "<": "XML"}


class Look(NamedTuple):
    """A possible look of a data set or results of a format: a path must meet all conditions that are given here.

    For a folder, `begins`, `keys`, `columns` and `line` apply to the first file that `names` or `endings` select (for `line`,
    the first file that is not blank).

    Attributes
    ----------
    kind
        "file" or "folder"
    endings
        extensions of the file, or of a file in the folder, in upper or lower case: ".txt"
    names, n_names, no_names
        patterns of names in the folder, at least `n_names` of which must match; and patterns that must not match:
        "*_det_*.txt", "labels/"
    begins
        the possible first characters of the content or, after ^, the impossible ones: "{", "^[{"
    keys, any_keys, no_keys
        names in quotes, near the beginning or the end: all must be there, at least one must, none may with a value but null
    columns
        names of columns, or in the header of a table, in upper or lower case
    line
        a regular expression for the whole first line, with # in place of each number: NAME + "( #){4}"
    beside
        for a folder, the content is that of the JSON file beside it with the same name
    only_named
        such files are never recognised: the format must be named

    >>> from pathlib import Path
    >>> seen = PathContents(Path("a.json"), "file", b'{"images": [], "license": ""}')
    >>> Look("file", begins="{", keys=("images",)).fits(seen), [*Look("file", keys=("images", "taxonomy")).lacks(seen)]
    (True, ['the key taxonomy'])
    """

    kind: str
    endings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    n_names: int = 1
    no_names: tuple[str, ...] = ()
    begins: str = ""
    keys: tuple[str, ...] = ()
    any_keys: tuple[str, ...] = ()
    no_keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    line: str = ""
    beside: bool = False
    only_named: bool = False

    def fits(self, seen: PathContents) -> bool:
        """Return True if a path meets all conditions."""
        return next(self.lacks(seen), None) is None

    def near(self, seen: PathContents) -> str:
        """Return the only unmet condition, if some of the keys, columns or names match; otherwise "".

        >>> from pathlib import Path
        >>> Look("file", keys=("images", "taxonomy")).near(PathContents(Path("a.json"), "file", b'{"images": []}'))
        'the key taxonomy'
        """
        there = {name.lower() for name in seen.columns}
        has_some = (seen.is_json and any(map(seen.has_key, self.keys))) or not there.isdisjoint(map(str.lower, self.columns))
        lacking = [*self.lacks(seen)]
        return lacking[0] if len(lacking) == 1 and (has_some or (self.n_names > 1 and seen.of_names(*self.names))) else ""

    def lacks(self, seen: PathContents) -> Iterator[str]:
        """Yield the unmet conditions, in words."""
        if seen.kind != self.kind or self.only_named:
            yield "its name" if self.only_named else f"a {self.kind}"
            return
        patterns = self.names or tuple(f"*{ending}" for ending in self.endings)
        if self.kind == "file":
            if self.endings and not seen.path.name.lower().endswith(self.endings):
                yield f"the ending {' or '.join(self.endings)}"
        else:
            if patterns and len(seen.of_names(*patterns)) < self.n_names:
                yield f"{self.n_names if self.n_names > 1 else 'one'} of {', '.join(patterns)}"
                return
            if self.no_names and (others := seen.of_names(*self.no_names)):
                yield f"no {others[0]}"
        if self.begins or self.keys or self.any_keys or self.no_keys or self.columns or self.line:
            own = seen.beside if self.beside else seen
            files = filter(None, [own]) if self.beside or self.kind == "file" else seen.children(*patterns)
            file = next((each for each in files if self.kind == "file" or each.lines or not self.line), None)
            yield from ["a file that can be read"] if file is None else self._lacks_in(file)

    def _lacks_in(self, file: PathContents) -> Iterator[str]:
        if self.begins and not _begins(file.begins, self.begins):
            yield JSON_WORDS.get(self.begins, self.begins)
        if missing := [key for key in self.keys if not file.has_key(key)]:
            yield f"the key{'s' * (len(missing) > 1)} {', '.join(missing)}"
        if self.any_keys and not any(map(file.has_key, self.any_keys)):
            yield f"one of the keys {', '.join(self.any_keys)}"
        if others := [key for key in self.no_keys if file.has_value(key)]:
            yield f"no key {', '.join(others)}"
        if self.columns:
            there = {name.lower() for name in file.columns}
            if missing := [name for name in self.columns if name.lower() not in there]:
                yield f"the column{'s' * (len(missing) > 1)} {', '.join(missing)}"
        if self.line and not fullmatch(self.line, file.line):
            yield "another first line"


def looks(*ways: Look) -> tuple[Look, ...]:
    """Return the possible looks of a data set or results of a format; none for a format without such files.

    >>> looks(Look("folder", names=("labels/",)))[0].kind
    'folder'
    """
    return ways


def _begins(first: str, allowed: str) -> bool:
    if allowed.startswith("^"):
        return bool(first) and first not in allowed[1:]
    return bool(first) and first in allowed
