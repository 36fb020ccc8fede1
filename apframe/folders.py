"""Files and folders inside folders, by extension and by pattern."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from apframe.exceptions import FormatError
from apframe.paths import is_file, is_folder, utf8_path
from apframe.wording import reason


def files_in(folder: Path, *endings: str, deep: bool = False) -> list[Path]:
    """Return the sorted files of a folder with one of these extensions, in upper or lower case; none if it is no folder.

    Hidden files are skipped, such as the `._name` that macOS leaves beside each file. With `deep`, files in subfolders are
    included; hidden folders and links to folders are skipped.

    Raises
    ------
    FormatError
        a folder cannot be read; a pipe, a device or a socket has such a name; a name is not UTF-8 and cannot be an id
    """
    files, folders = [], [folder] if is_folder(folder) else []
    while folders:
        here = folders.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if deep and entry.is_dir(follow_symlinks=False):
                        folders.append(utf8_path(here / entry.name, entry.name))
                    elif entry.name.lower().endswith(endings) and (entry.is_file() or not is_file(entry.path)):
                        files.append(utf8_path(here / entry.name, entry.name))  # even a broken link, which its reader reports
        except OSError as error:
            raise FormatError(f"the folder cannot be read ({reason(error)})", path=here) from error
    return sorted(files)


def folders_in(folder: Path) -> list[Path]:
    """Return the sorted folders inside a folder, without hidden ones; none if it is no folder or cannot be read.

    >>> folders_in(Path("nowhere"))
    []
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return []


def matching(pattern: str | Path) -> list[Path]:
    """Return the sorted paths that match a pattern: `*`, `?` and `[...]` inside a name, `**` for folders at any depth.

    Hidden names do not match. `**` follows links to folders, but enters no folder twice, so circular links end.
    """
    return sorted(set(_matching(Path(pattern))))


def _matching(pattern: Path) -> Iterator[Path]:
    parts = pattern.parts
    if "**" not in parts:
        yield from map(Path, glob.glob(str(pattern)))  # noqa: PTH207 - Path.glob matches hidden names
        return
    place = parts.index("**")
    rest = parts[place + 1 :]
    while rest and rest[0] == "**":
        rest = rest[1:]
    for base in _matching(Path(*parts[:place])) if place else [Path()]:
        for folder in _folders_below(base):
            if rest:
                yield from _matching(Path(glob.escape(str(folder)), *rest))
            elif folder != Path():
                yield folder


def _folders_below(base: Path) -> Iterator[Path]:
    """Yield the folder and all folders inside, each once; by a link only if there is no other way."""
    seen, folders, links = set(), [base], list[Path]()
    while folders or links:
        folder = folders.pop() if folders else links.pop(0)
        try:
            status = os.stat(folder)  # noqa: PTH116
            with os.scandir(folder) as entries:
                visible = sorted((each for each in entries if not each.name.startswith(".")), key=lambda each: each.name)
        except OSError:  # a file, or a folder that cannot be read: `glob` skips these too
            continue
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield folder
            folders += [folder / each.name for each in visible if each.is_dir(follow_symlinks=False)]
            links += [folder / each.name for each in visible if each.is_symlink()]
