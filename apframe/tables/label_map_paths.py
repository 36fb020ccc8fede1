"""Paths of label maps in tables from files: none may lead out of the folder of its file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl

from apframe.exceptions import FormatError
from apframe.paths import absolute, is_file, is_folder, is_inside
from apframe.tables.shapes.declarations import LABEL_MAP
from apframe.wording import listed

_OWN = "label_maps"  # the folder for label maps that are written with tables
_REMEDY = "put the label maps into the folder, and name them from there; paths of tables in memory are trusted"
_BEFORE_WRITING = "put the label maps into the folder before"


def with_whole_paths(table: str, frame: pl.DataFrame, source: str | Path, within: Path | None = None) -> pl.DataFrame:
    """Make the paths of label maps in the table of a file absolute; `source` is the file or its folder.

    Paths are relative to the folder, and must stay in it, or in the larger folder `within`. Links are followed.

    Raises
    ------
    FormatError
        a path leads out of the folder; the message does not reveal whether it exists

    >>> with_whole_paths("images", pl.DataFrame({"label_map": ["maps/1.png"]}), "/data/tables.parquet").rows()
    [('/data/maps/1.png',)]
    >>> with_whole_paths("images", pl.DataFrame({"label_map": ["../1.png"]}), "/tables.parquet", Path("/data"))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: /tables.parquet: label_map of images leads out of the folder /data (../1.png); put the \
label maps into the folder, and name them from there; paths of tables in memory are trusted
    """
    path = Path(source)

    def whole(named: list[str]) -> list[str]:
        folder = absolute(path if is_folder(path) else path.parent)
        paths = [str(folder / each) for each in named]
        _refuse_outside(table, named, paths, within or folder, path, _REMEDY)
        return paths

    return _with_paths(frame, whole)


def with_paths_from(table: str, frame: pl.DataFrame, target: Path) -> pl.DataFrame:
    """Make the paths of label maps in a table relative to the folder of the file to which it will be written.

    Raises
    ------
    FormatError
        a label map is outside the folder, so that reading the file would fail
    """

    def relative(named: list[str]) -> list[str]:
        folder = absolute(target.parent)
        _refuse_outside(table, named, named, folder, target, _BEFORE_WRITING)
        return [absolute(Path(each)).relative_to(folder).as_posix() for each in named]

    return _with_paths(frame, relative)


def with_own_copies(table: str, frame: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """Copy the label maps of a table into a folder, and return the table with paths relative to the folder.

    Raises
    ------
    FormatError
        there is no such label map
    """

    def copied(named: list[str]) -> list[str]:
        names = [Path(each).name for each in named]
        if len(set(names)) < len(names):  # in several folders
            names = [f"{number}_{name}" for number, name in enumerate(names)]
        own = [f"{_OWN}/{table}/{name}" for name in names]
        (folder / _OWN / table).mkdir(parents=True)
        for each, copy in zip(named, own, strict=True):
            if not is_file(each):
                raise FormatError("there is no such label map", path=each)
            shutil.copyfile(each, folder / copy)
        return own

    return _with_paths(frame, copied)


def _with_paths(frame: pl.DataFrame, change: Callable[[list[str]], list[str]]) -> pl.DataFrame:
    """Return the frame with changed paths of its label maps; each path is changed once."""
    if frame.schema.get(LABEL_MAP.name) != pl.String:
        return frame
    named = frame[LABEL_MAP.name].drop_nulls().unique(maintain_order=True).to_list()
    return frame.with_columns(pl.col(LABEL_MAP.name).replace(named, change(named))) if named else frame


def _refuse_outside(table: str, named: list[str], paths: list[str], folder: Path, source: Path, remedy: str) -> None:
    outside = [each for each, path in zip(named, paths, strict=True) if not is_inside(Path(path), [folder])]
    if outside:
        problem = f"{LABEL_MAP.name} of {table} leads out of the folder {folder} ({listed(outside)})"
        raise FormatError(problem, remedy, path=source)
