"""Which folders are named."""

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
    """The folders that were named, and whether they are those that a pattern matches."""
    if isinstance(folders, (str, Path)):
        if is_pattern(folders):
            return _matching(str(folders)), True
        return [Path(folders)], False
    given = list(folders) if isinstance(folders, Iterable) else [folders]
    if not given or not all(isinstance(folder, (str, Path)) for folder in given):
        raise ParameterError(f'scan_runs takes a folder, a list of folders, or a pattern such as "runs/*", not {folders!r}')
    count = Counter(absolute(Path(folder)) for folder in given)
    doubled = [str(folder) for folder in given if count[absolute(Path(folder))] > 1]
    if doubled:
        raise ParameterError(f"a folder is named twice ({listed(doubled)})", "name each once")
    return [Path(folder) for folder in given], False


def _matching(pattern: str) -> list[Path]:
    """The folders that a pattern matches, without those that only lead to others of them."""
    for folder in {Path(pattern).parent, *matching(Path(pattern).parent), *(matching(pattern) if "**" in pattern else [])}:
        finish_replacing_in(folder)
    found = matching(pattern)
    folders = [path for path in found if is_folder(path)]
    above = {parent for path in folders for parent in path.parents}
    runs = [path for path in folders if path not in above or is_file(path / MANIFEST)]
    if not runs:
        what = f"matches files alone ({listed([str(path) for path in found])})" if found else "nothing matches"
        raise FormatError(f"{pattern}: {what}", "name folders that Evaluation.write_parquet wrote")
    return runs
