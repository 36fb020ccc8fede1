"""Shards: parts of a data set, each of whole images, and where they are."""

from __future__ import annotations

import glob
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.detection.evaluate import read_inputs
from apframe.detection.options import Choice
from apframe.detection.prepare.inputs import Inputs
from apframe.exceptions import FormatError, ParameterError, counted
from apframe.file_formats.reading import Reading
from apframe.paths import kind_at
from apframe.scale.addresses import exists, expand, is_remote, mark_of, read_bytes, read_table
from apframe.scale.layout import LISTING, SHARD_TABLES, parse_layout
from apframe.schema import GROUND_TRUTH, Dataset, noun
from apframe.schema.conditions import Masks

_ENDINGS = (".parquet", ".arrow")
_FILES = (*_ENDINGS, ".json")  # what may be beside the folders
# the options that say how files are read
_OF_FILES = ("format", "results_format", "split", "image_sizes", "box_format", "relative", "join_by_name", "names")


@dataclass(frozen=True)
class Shard:
    """One shard: whole images with their annotations and detections.

    Attributes
    ----------
    name
        what messages call it: the name of its folder, or of its file of detections
    truth, detections
        addresses of ground truth and detections; `detections` is None where `truth` is a folder that has both
    counts
        how many images, annotations and detections shards.json says there are; None if it says nothing
    masks
        the parts of it that are taken one after the other, as `Inputs.subset` takes them
    """

    name: str
    truth: str
    detections: str | None = None
    counts: tuple[int, ...] | None = None
    masks: tuple[Masks, ...] = ()

    def mark(self) -> str:
        """A text that changes when a file is written anew: of the names, sizes and times of its files."""
        files = list(_files(self.truth).values()) if self.detections is None else [self.truth, self.detections]
        parts = [
            [table, owner, _hash(mask)] for masks in self.masks for table, of in masks.items() for owner, mask in of.items()
        ]
        return json.dumps([[[file, mark_of(file)] for file in files], parts])

    def inputs(self, choice: Choice) -> tuple[Inputs, Sequence[str], dict[str, Any]]:
        """What `read` gives, of the part that is taken."""
        inputs, notes, schemas = self.read(choice)
        for masks in self.masks:
            inputs = inputs.subset(masks)
        return inputs, notes, schemas

    def read(self, choice: Choice) -> tuple[Inputs, Sequence[str], dict[str, Any]]:
        """What is evaluated, what was done to the data before, and the columns and types of each table as it was found.

        Raises
        ------
        FormatError
            files are missing or cannot be read, or have other numbers of rows than shards.json says
        InputError
            rows cannot be evaluated
        """
        if self.detections is not None:
            inputs, notes = read_inputs(self.truth, self.detections, choice)
            types = {"image_id": inputs.image_ids.dtype, "category_id": inputs.category_ids.dtype}
            return inputs, notes, {"ids": _as_text(types)}
        frames = _tables(self.truth)
        for table, n in zip(SHARD_TABLES, self.counts or (), strict=False):
            if frames[table].height != n:
                problem = f"{LISTING} says that it has {counted(n, noun(table))}, but there are {frames[table].height:,}"
                raise FormatError(problem, "write the shards again", path=self.truth)
        truth = Dataset(*(frames[name] for name in GROUND_TRUTH), box_format="xywh")
        inputs, notes = read_inputs(truth, frames["detections"], choice)
        return inputs, notes, {name: _as_text(frame.schema) for name, frame in frames.items()}

    def read_known(self, choice: Choice) -> Dataset:
        """The images and categories with their attributes, and as a rule no annotations."""
        if self.detections is not None:
            return choice.reading.dataset(self.truth)
        tables = _tables(self.truth, GROUND_TRUTH[:2])
        return choice.reading.dataset(Dataset(tables["images"], tables["categories"], {}))


def find_shards(truth: Any, detections: Any = None) -> list[Shard]:
    """The shards that addresses or patterns of them name, sorted by name.

    Parameters
    ----------
    truth
        a folder with shards.json, or folders: a pattern such as "shards/*", or a list. Each has tables images, annotations and
        detections, as Parquet or Arrow files; categories are beside the folders, or in each. With `detections`, files of ground
        truth of any format
    detections
        files of detections, as many as of ground truth; the first of both in the order of their names belong together

    Raises
    ------
    ParameterError
        an empty list; there are more of one than of the other
    FormatError
        nothing has such a name, or only files have where folders are expected; shards.json or a folder that it names is
        missing or damaged
    """
    if detections is None:
        found = _folders(truth)
        if len(found) == 1 and exists(f"{found[0]}/{LISTING}"):
            return [Shard(name, f"{found[0]}/{name}", None, counts) for name, counts in _layout(found[0]).items()]
        if len(found) == 1 and not is_shard(found[0]):
            remedy = "name a folder that `apframe shard` wrote, or a pattern of folders such as 'shards/*'"
            raise FormatError(f"has neither {LISTING} nor images.parquet in it", remedy, path=found[0])
        layouts = {folder: _layout(folder) for folder in dict.fromkeys(map(_parent, found))}
        repeated = {name for name, n in Counter(map(_name, found)).items() if n > 1}
        return [
            Shard(each if _name(each) in repeated else _name(each), each, None, layouts[_parent(each)].get(_name(each)))
            for each in found
        ]
    truths, found = _addresses("truth", truth), _addresses("detections", detections)
    if exists(f"{truths[0]}/{LISTING}"):
        problem = f"{truths[0]} is a folder of shards, which have their detections already"
        raise ParameterError(problem, "leave out the other detections, or write other shards")
    if len(truths) != len(found):
        raise ParameterError(
            f"{counted(len(truths), 'file')} of ground truth, but {len(found):,} of detections: they belong together one by "
            "one, in the order of their names",
            "join them with `apframe shard`",
        )
    return [Shard(_name(b), a, b) for a, b in zip(truths, found, strict=True)]


def is_shard(address: str) -> bool:
    """Whether there is a table of images at an address, as in the folder of each shard.

    >>> is_shard(".")
    False
    """
    return any(exists(f"{address}/images{ending}") for ending in _ENDINGS)


def refuse_options_of_files(reading: Reading) -> None:
    """An error if an option is given that says how files are read: the tables of shards are read without.

    Raises
    ------
    ParameterError
        it names the option

    >>> refuse_options_of_files(Reading(split="val"))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: split is about files; shards are tables, which are read without it; leave it out
    """
    for option in _OF_FILES:
        given = getattr(reading, option)
        if not any(given is none for none in (None, False)) and not (isinstance(given, Sequence) and not given):
            raise ParameterError("is about files; shards are tables, which are read without it", "leave it out", option=option)


def _folders(truth: Any) -> list[str]:
    """The folders that patterns name; files of which a pattern names some too are left out."""
    found = _addresses("truth", truth)
    folders = [each for each in found if (not each.endswith(_FILES) if is_remote(each) else kind_at(each) == "folder")]
    if not folders:
        raise FormatError(
            "is not a folder with shards",
            "write shards with `apframe shard`, or name files of ground truth and files of detections",
            path=found[0],
        )
    return folders


def _addresses(option: str, given: Any) -> list[str]:
    """The addresses that match patterns, each once, sorted by name."""
    patterns = [given] if isinstance(given, str) or hasattr(given, "__fspath__") else list(given)
    if not patterns:
        raise ParameterError("is an empty list", "name at least one shard", option=option)
    found: dict[str, None] = {}
    for pattern in patterns:
        matching = expand(str(pattern))
        if not matching:
            is_one = glob.has_magic(str(pattern))
            problem = "no file or folder matches this pattern" if is_one else "there is no such file or folder"
            raise FormatError(problem, path=pattern)
        found |= dict.fromkeys(matching)
    return sorted(found, key=lambda address: (_name(address), address))


def _layout(folder: str) -> dict[str, tuple[int, ...]]:
    """How many rows the tables of each shard have, by its name; nothing where there is no shards.json."""
    path = f"{folder}/{LISTING}"
    if not exists(path):
        return {}
    layout = parse_layout(read_bytes(path), path)
    counts = layout.n_images, layout.n_annotations, layout.n_detections
    return {name: tuple(each[name] for each in counts) for name in layout.names}


def _files(folder: str, tables: Sequence[str] = (*GROUND_TRUTH, "detections")) -> dict[str, str]:
    """The addresses of the tables of a shard; categories may be beside it."""
    return {name: _file([folder, _parent(folder)] if name == "categories" else [folder], name) for name in tables}


def _file(folders: Sequence[str], name: str) -> str:
    """The address of a table in the first of the folders that has it."""
    for folder in folders:
        found = [f"{folder}/{name}{ending}" for ending in _ENDINGS if exists(f"{folder}/{name}{ending}")]
        if len(found) == 1:
            return found[0]
        if found:
            raise FormatError(f"{name}.parquet and {name}.arrow both exist", "keep one of them", path=folder)
    remedy = "a shard is a folder with images.parquet, annotations.parquet and detections.parquet, as `apframe shard` writes it"
    if exists(f"{folders[0]}/{LISTING}"):
        remedy = "it has shards in it: name them, or this folder alone"
    elif name == "categories":
        remedy = "put the categories of all shards there"
    raise FormatError(f"there is no {name}.parquet", remedy, path=folders[-1])


def _tables(folder: str, tables: Sequence[str] = (*GROUND_TRUTH, "detections")) -> dict[str, pl.DataFrame]:
    return {name: read_table(address) for name, address in _files(folder, tables).items()}


def _parent(address: str) -> str:
    return address.rstrip("/").rpartition("/")[0] or ("/" if address.startswith("/") else ".")


def _name(address: str) -> str:
    return address.rstrip("/").rpartition("/")[2]


def _as_text(schema: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in schema.items()}


def _hash(mask: pl.Series) -> str:
    return hashlib.sha256(mask.to_numpy().tobytes()).hexdigest()
