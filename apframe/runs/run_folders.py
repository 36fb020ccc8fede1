"""Folders of stored runs, from names and patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from apframe.exceptions import FormatError, ParameterError
from apframe.folders import matching
from apframe.formats.replacing import finish_replacing_in
from apframe.formats.stored_sets import MANIFEST
from apframe.paths import absolute, is_file, is_folder, is_pattern
from apframe.wording import listed


def named_folders(folders: Any) -> tuple[list[Path], bool]:
    """Return the named folders, and True if they are the matches of a pattern."""
    if isinstance(folders, (str, Path)):
        if is_pattern(folders):
            return _matching(str(folders)), True
        return [Path(folders)], False
    paths = list(folders) if isinstance(folders, Iterable) else [folders]
    if not paths or not all(isinstance(folder, (str, Path)) for folder in paths):
        raise ParameterError(f'scan_runs takes a folder, a list of folders, or a pattern such as "runs/*", not {folders!r}')
    count = Counter(absolute(Path(folder)) for folder in paths)
    doubled = [str(folder) for folder in paths if count[absolute(Path(folder))] > 1]
    if doubled:
        raise ParameterError(f"a folder is named twice ({listed(doubled)})", "name each folder once")
    return [Path(folder) for folder in paths], False


def _matching(pattern: str) -> list[Path]:
    """Return the folders that a pattern matches, without parents of other matches that are no stored sets themselves."""
    for folder in {Path(pattern).parent, *matching(Path(pattern).parent), *(matching(pattern) if "**" in pattern else [])}:
        finish_replacing_in(folder)
    paths = matching(pattern)
    folders = [path for path in paths if is_folder(path)]
    above = {parent for path in folders for parent in path.parents}
    runs = [path for path in folders if path not in above or is_file(path / MANIFEST)]
    if not runs:
        what = f"matches only files ({listed([str(path) for path in paths])})" if paths else "nothing matches"
        raise FormatError(f"{pattern}: {what}", "name folders written by Evaluation.write_parquet")
    return runs
