"""Shards: parts of a data set, each of whole images, and their addresses."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from apframe.evaluation.evaluate import read_valid
from apframe.evaluation.options import Choice
from apframe.exceptions import ColumnError, FormatError, ParameterError
from apframe.formats.reading import Reading
from apframe.formats.reading_options import PathOptions
from apframe.paths import kind_at
from apframe.protocols.inputs import Inputs
from apframe.protocols.rules.classes import with_own_classes
from apframe.rows import MALFORMED_KEPT, treating_malformed
from apframe.scale.addresses import absolute, exists, expand, is_remote, mark_of, normal, read_bytes, read_table
from apframe.scale.layout import INPUT_ROW, LISTING, SHARD_TABLES, parse_layout
from apframe.tables.conditions import Masks
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import GROUND_TRUTH, noun
from apframe.tables.shapes.declarations import LABEL_MAP
from apframe.validation import Fault, Report, validating
from apframe.wording import counted, listed

_ENDINGS = (".parquet", ".arrow")
_FILES = (*_ENDINGS, ".json")  # files that may be next to the folders
_AGAIN = "write the shards again"


@dataclass(frozen=True)
class Shard:
    """One shard: whole images with their annotations and detections.

    Attributes
    ----------
    name
        its name in messages: the name of its folder, or of its file of detections
    truth, detections
        addresses of ground truth and detections; `detections` is None if `truth` is a folder with both
    counts
        the numbers of images, annotations and detections in shards.json; None without that file
    masks
        the masks of successive subsets, as for `Inputs.subset`
    matched
        the value of `mark_of_files` when it was matched; None before
    """

    name: str
    truth: str
    detections: str | None = None
    counts: tuple[int, ...] | None = None
    masks: tuple[Masks, ...] = ()
    matched: str | None = None

    def mark(self) -> str:
        """A text that changes when a file is rewritten or another part is selected."""
        each = ((table, owner, mask) for masks in self.masks for table, of in masks.items() for owner, mask in of.items())
        parts = [(table, owner, hashlib.sha256(mask.to_numpy().tobytes()).hexdigest()) for table, owner, mask in each]
        return json.dumps([self.mark_of_files(), parts])

    def mark_of_files(self) -> str:
        """A text that changes when a file is rewritten: the names, sizes and times of its files."""
        files = list(_files(self.truth).values()) if self.detections is None else [self.truth, self.detections]
        return json.dumps([[absolute(file), mark_of(file)] for file in files])

    def inputs(self, choice: Choice) -> tuple[Inputs, list[Fault], dict[str, Any]]:
        """Return the result of `read` for the selected part."""
        inputs, faults, schemas = self.read(choice)
        for masks in self.masks:
            inputs = inputs.subset(masks)
        return inputs, faults, schemas

    def read(self, choice: Choice) -> tuple[Inputs, list[Fault], dict[str, Any]]:
        """Return the evaluated tables, the faults of rows that were left out, and the original columns and types of each table.

        Raises
        ------
        FormatError
            files are missing, cannot be read, have changed, or have other numbers of rows than in shards.json
        InputError
            rows cannot be evaluated
        """
        choice = replace(choice, reading=choice.reading.of_part())
        if self.matched is not None and self.matched != self.mark_of_files():
            raise FormatError("the files have changed since they were matched", "evaluate again", path=self.truth)
        if self.detections is not None:
            inputs, faults = read_valid(self.truth, self.detections, choice)
            _refuse_numbers("detections", inputs.detections)
            ids = {"image_id": inputs.image_ids, "category_id": inputs.category_ids}
            return inputs, faults, {"ids": {name: str(each.dtype) for name, each in ids.items() if len(each)}}
        frames = {name: _in_order(name, frame) for name, frame in _tables(self.truth).items()}
        for table, n in zip(SHARD_TABLES, self.counts or (), strict=False):
            if frames[table].height != n:
                problem = f"{LISTING} says that it has {counted(n, noun(table))}, but there are {frames[table].height:,}"
                raise FormatError(problem, _AGAIN, path=self.truth)
        report = Report(raises=choice.invalid != "drop")
        with treating_malformed(choice.malformed), validating(report):
            truth = Dataset(*(frames[name] for name in GROUND_TRUTH), box_format="xywh")
        inputs, faults = read_valid(truth, frames["detections"], choice)
        schemas = {name: {column: str(dtype) for column, dtype in frame.schema.items()} for name, frame in frames.items()}
        return inputs, report.faults + faults, schemas

    def read_known(self, choice: Choice) -> Dataset:
        """Return the images and the categories of the protocol, with their attributes; usually no annotations."""
        truth: Any = self.truth
        if self.detections is None:
            tables = _tables(self.truth, GROUND_TRUTH[:2])
            truth = Dataset(tables["images"], tables["categories"], {})
        with treating_malformed(MALFORMED_KEPT):  # malformed rows are not used here
            dataset = replace(choice.reading, masks=False).dataset(truth)
        return with_own_classes(dataset, dataset.core("categories")["category_id"], choice.protocol)[0]


def find_shards(truth: Any, detections: Any = None) -> list[Shard]:
    """Return the shards at addresses or patterns, sorted by name.

    Parameters
    ----------
    truth
        a folder with shards.json, or folders: a pattern such as "shards/*", or a list. Each has tables images, annotations and
        detections, as Parquet or Arrow files; categories are next to the folders, or in each. With `detections`, files of
        ground truth of any format
    detections
        files of detections, as many as of ground truth; both pair up in the order of their names

    Raises
    ------
    ParameterError
        an empty list, or something other than paths; different numbers of files
    FormatError
        nothing matches, or only files match where folders are expected; shards.json or a folder that it lists is missing or
        damaged
    """
    patterns = _patterns("truth", truth)
    if detections is None:
        addresses = _folders(patterns)
        if len(addresses) == 1 and (layout := _layout(addresses[0])):
            patterns = [f"{glob.escape(addresses[0])}/*"]
            addresses = [f"{addresses[0]}/{name}" for name in layout]
        elif len(addresses) == 1 and not is_shard(addresses[0]):
            remedy = "name a folder that `apframe shard` wrote, or a pattern of folders such as 'shards/*'"
            raise FormatError(f"contains neither {LISTING} nor images.parquet", remedy, path=addresses[0])
        return _in_folders(addresses, patterns)
    truths, others = _addresses(patterns), _patterns("detections", detections)
    if has_listing(truths[0]):
        problem = f"{truths[0]} is a folder of shards, which have their detections already"
        raise ParameterError(problem, "leave out the other detections, or write other shards")
    addresses = _addresses(others)
    if len(truths) != len(addresses):
        raise ParameterError(
            f"{counted(len(truths), 'file')} of ground truth, but {len(addresses):,} of detections: they pair up one by "
            "one, in the order of their names",
            "join them with `apframe shard`",
        )
    return [Shard(name, a, b) for name, a, b in zip(_names(addresses), truths, addresses, strict=True)]


def _in_folders(folders: Sequence[str], patterns: Sequence[str]) -> list[Shard]:
    """Return the shards in folders; raise an error if a pattern selects all of a folder but shards.json lists more."""
    layouts = {parent: _layout(parent) for parent in dict.fromkeys(map(_parent, folders))}
    for parent, layout in layouts.items():
        of_all = f"{glob.escape(parent)}/*"
        if layout and of_all in map(normal, patterns):
            there = set(map(_name, expand(of_all)))
            if lacking := [name for name in layout if name not in there]:
                raise FormatError(f"{LISTING} lists shards that are missing ({listed(lacking)})", _AGAIN, path=parent)
    return [
        Shard(name, each, None, layouts[_parent(each)].get(_name(each)))
        for name, each in zip(_names(folders), folders, strict=True)
    ]


def _names(addresses: Sequence[str]) -> list[str]:
    """Return the last part of each address, or the whole addresses if several have the same last part."""
    names = [_name(each) for each in addresses]
    return names if len(set(names)) == len(names) else list(addresses)


def has_listing(address: str) -> bool:
    """Return True if an address is a folder of shards with a list of them, as `apframe shard` writes it."""
    return exists(f"{address}/{LISTING}")


def is_shard(address: str, *, with_detections: bool = False) -> bool:
    """Return True if an address has a table of images, and with `with_detections` one of detections, as folders of shards do.

    >>> is_shard(".")
    False
    """
    tables = ("images", "detections") if with_detections else ("images",)
    return all(any(exists(f"{address}/{table}{ending}") for ending in _ENDINGS) for table in tables)


def refuse_options_of_files(reading: Reading) -> None:
    """Raise an error for an option for reading files, because the tables of shards need none.

    Raises
    ------
    ParameterError
        such an option is set

    >>> refuse_options_of_files(Reading(split="val"))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: split is about files; shards are tables, which are read without it; leave...
    """
    remedy = "leave it out, or write the shards with it"
    for option in reading.given_options:
        if option in PathOptions.__annotations__:
            raise ParameterError("is about files; shards are tables, which are read without it", remedy, option=option)


def _folders(patterns: Sequence[str]) -> list[str]:
    """Return the folders that patterns match; files that they match too are ignored."""
    addresses = _addresses(patterns)
    folders = [each for each in addresses if (not each.endswith(_FILES) if is_remote(each) else kind_at(each) == "folder")]
    if not folders:
        raise FormatError(
            "is not a folder with shards",
            "write shards with `apframe shard`, or name files of ground truth and files of detections",
            path=addresses[0],
        )
    return folders


def _addresses(patterns: Sequence[str]) -> list[str]:
    """Return the addresses that match patterns, each once, sorted by name."""
    addresses: dict[str, None] = {}
    for pattern in patterns:
        matching = expand(pattern)
        if not matching:
            is_one = glob.has_magic(pattern)
            problem = "no file or folder matches this pattern" if is_one else "there is no such file or folder"
            raise FormatError(problem, path=pattern)
        addresses |= dict.fromkeys(matching)
    return sorted(addresses, key=lambda address: (_name(address), address))


def _patterns(option: str, value: Any) -> list[str]:
    """Return the patterns of an option: one, or many in a list or another iterable, such as `Path.glob`."""
    is_many = isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) and not hasattr(value, "__fspath__")
    patterns = list(value) if is_many else [value]
    if not patterns:
        raise ParameterError("is an empty list", "name at least one shard", option=option)
    for each in patterns:
        if not (isinstance(each, str) or hasattr(each, "__fspath__")) or not str(each):
            name = repr(each) if isinstance(each, (str, int, float)) or each is None else f"a {type(value).__name__}"
            problem = f"must be a path, a pattern of paths or a list of them, not {name}"
            raise ParameterError(problem, "use evaluate for data in memory", option=option)
    return [str(each) for each in patterns]


def _layout(folder: str) -> dict[str, tuple[int, ...]]:
    """Return the numbers of rows of the tables of each shard by its name; empty without shards.json."""
    path = f"{folder}/{LISTING}"
    if not exists(path):
        return {}
    return {name: tuple(counts) for name, *counts in parse_layout(read_bytes(path), path).iter_rows()}


def _files(folder: str, tables: Sequence[str] = (*GROUND_TRUTH, "detections")) -> dict[str, str]:
    """Return the addresses of the tables of a shard; categories may be next to it."""
    return {name: _file([folder, _parent(folder)] if name == "categories" else [folder], name) for name in tables}


def _file(folders: Sequence[str], name: str) -> str:
    """Return the address of a table in the first of the folders that has it."""
    for folder in folders:
        addresses = [f"{folder}/{name}{ending}" for ending in _ENDINGS if exists(f"{folder}/{name}{ending}")]
        if len(addresses) == 1:
            return addresses[0]
        if addresses:
            raise FormatError(f"{name}.parquet and {name}.arrow both exist", "keep one of them", path=folder)
    remedy = "a shard is a folder with images.parquet, annotations.parquet and detections.parquet, as `apframe shard` writes it"
    if has_listing(folders[0]):
        remedy = "it contains shards: name them, or only this folder"
    elif name == "categories":
        remedy = "put the categories of all shards there"
    raise FormatError(f"there is no {name}.parquet", remedy, path=folders[-1])


def _tables(folder: str, tables: Sequence[str] = (*GROUND_TRUTH, "detections")) -> dict[str, pl.DataFrame]:
    frames = {name: read_table(address) for name, address in _files(folder, tables).items()}
    if not any(LABEL_MAP.name in frame.columns for frame in frames.values()):
        return frames
    if is_remote(folder):
        raise FormatError("label maps are not read from object stores", "copy the shards to this machine", path=folder)
    from apframe.tables.label_map_paths import with_whole_paths

    return {name: with_whole_paths(name, frame, folder, Path(_parent(folder))) for name, frame in frames.items()}


def _in_order(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by their numbers in the whole input, if they have such numbers."""
    _refuse_numbers(table, frame)
    return frame if INPUT_ROW not in frame.columns or frame[INPUT_ROW].is_sorted() else frame.sort(INPUT_ROW)


def _refuse_numbers(table: str, frame: pl.DataFrame) -> None:
    """Raise an error if the column of numbers in the whole input has other values."""
    if INPUT_ROW not in frame.columns:
        return
    number, remedy = frame[INPUT_ROW], "number the rows of all shards consecutively from 0, or leave the column out"
    if not number.dtype.is_integer() or number.null_count():
        raise ColumnError("is not a whole number in every row", remedy, table=table, column=INPUT_ROW)
    number = number.sort()
    twice = number.filter((number == number.shift()).fill_null(value=False))
    if len(twice):
        raise ColumnError(f"has the number {twice[0]} in several rows", remedy, table=table, column=INPUT_ROW)


def _parent(address: str) -> str:
    return address.rstrip("/").rpartition("/")[0] or ("/" if address.startswith("/") else ".")


def _name(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]
