"""The job of matching one shard, a frozen value that can be sent to another process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.evaluation.in_memory import InMemory
from apframe.evaluation.options import Choice
from apframe.exceptions import InputError, ParameterError, ShardError, UnknownIdError
from apframe.paths import kind_at
from apframe.protocols.inputs import Inputs
from apframe.scale.addresses import mark_of
from apframe.scale.layout import INPUT_ROW
from apframe.scale.shards import Shard
from apframe.scale.verdict_files import is_intact, to_arrow, write_verdicts
from apframe.store.parquet import content_hash
from apframe.tables.column_sources import to_polars
from apframe.tables.schemas import TABLES
from apframe.threads import alone
from apframe.validation import left_out

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Job:
    """The rules by which each shard is evaluated: the options, and the version of apframe."""

    choice: Choice
    version: str

    def key(self, shard: Shard) -> str:
        """Return a name for the result of `match`: the hash of its files, options, protocol and version, as JSON."""
        choice = self.choice
        with errors_name_shard(shard):
            content = {
                "files": shard.mark(),
                "version": self.version,
                "protocol": choice.protocol.as_dict(),
                "categories": _content("categories", choice.categories),
                "invalid": choice.invalid,
                "drop_unknown_images": choice.drop_unknown_images,
                "reading": {name: _content(name, value) for name, value in vars(choice.reading).items()},
            }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def match(self, shard: Shard) -> pa.RecordBatch:
        """Return the verdicts of the shard from `to_arrow`, with further facts about the shard.

        Raises
        ------
        ShardError
            the shard is damaged, or has rows that cannot be evaluated
        """
        with errors_name_shard(shard):
            with collecting() as caught:
                files = shard.mark_of_files()
                inputs, faults, schemas = shard.inputs(self.choice)
                notes = [*inputs.remarks, *left_out(faults)]
            verdicts = InMemory.of(inputs).verdicts()
        is_numbered, last_number = self.is_numbered(inputs.detections), -1
        if is_numbered:  # equal scores are ordered by their position in the whole input
            number = inputs.detections[INPUT_ROW].gather(verdicts.detections["row"])
            verdicts = replace(verdicts, detections=verdicts.detections.with_columns(row=number))
            last_number = int(number.to_numpy().max(initial=0))
        tables = {"annotations": inputs.annotations, "detections": inputs.detections}
        counts = {"hits": verdicts.hits.height, "positives": (verdicts.annotations["counts"] > 0).sum()}
        counts |= {"given": int(not inputs.none_given), "left_out": inputs.n_left_out}
        categories = inputs.dataset.categories.sort("category_id")
        common = {f"the columns of {table}": schema for table, schema in schemas.items()}
        names = categories.select("category_id", "name").iter_rows()
        common["their categories"] = {str(category_id): repr(name) for category_id, name in names}
        hashes = ((each.name, hashlib.sha256(each.to_frame().write_json().encode()).hexdigest()) for each in categories)
        common["the attributes of their categories"] = {name: f"(checksum {text[:8]})" for name, text in hashes}
        facts = {
            "shard": shard.name,
            "files": files,
            "common": common,
            "category_ids": inputs.category_ids.to_list(),
            "notes": notes,
            "unknown_images": [] if inputs.unknown_images is None else inputs.unknown_images.to_list(),
            "warnings": caught,
            "is_numbered": is_numbered,
            "last_number": last_number,
            "heights": {name: frame.height for name, frame in tables.items()} | counts,
            "scores": [inputs.detections["score"].min(), inputs.detections["score"].max()],
            "truth": _hash_of(inputs.annotations),
            "n_bytes": sum(frame.estimated_size() for frame in tables.values()),
        }
        return to_arrow(verdicts, facts)

    def inputs(self, shard: Shard) -> Inputs:
        """Read the evaluated tables of the shard again, without the warnings, which were given the first time."""
        with collecting(), errors_name_shard(shard):
            return shard.inputs(self.choice)[0]

    def is_numbered(self, detections: pl.DataFrame) -> bool:
        """Return True if detections are ordered by their numbers in the whole input instead of by shard."""
        protocol = self.choice.protocol
        matcher = protocol.matcher
        # copies have the number of their original
        has_copies = any(each.detections for each in protocol.levels) or matcher.wants == "copies"
        return matcher.ties != "image" and not has_copies and INPUT_ROW in detections.columns


def _hash_of(annotations: pl.DataFrame) -> int | None:
    """Return a hash that is equal for the same rows in any order, and adds up over shards; None if columns are nested."""
    columns = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
    plain = annotations.select(columns)
    if any(dtype.is_nested() for dtype in plain.dtypes):
        return None
    return int(plain.hash_rows(seed=0).to_numpy().sum(dtype=np.uint64))


def match_one(job: Job, work: Path | None, shard: Shard, *, resumes: bool) -> Path | pa.RecordBatch:
    """Match a shard with one thread, unless an earlier run did.

    Returns
    -------
    A file with its verdicts, in the folder `work`; the verdicts themselves without such a folder.

    Raises
    ------
    ParameterError
        this process has another version of apframe than the one that began the work
    ShardError
        the shard is damaged, or has rows that cannot be evaluated
    OutputError
        the file cannot be written
    """
    if job.version != (own := own_version()):
        problem = f"a worker has apframe {own}, but this process has {job.version}"
        raise ParameterError(problem, "install the same version everywhere")
    with alone():
        if work is None:
            return job.match(shard)
        path = work / f"{job.key(shard) if resumes else uuid4().hex}.arrow"
        if not (resumes and is_intact(path)):
            write_verdicts(job.match(shard), path)
    return path


@cache
def own_version() -> str:
    """Return the version of apframe in this process."""
    return version("apframe")


@contextmanager
def errors_name_shard(shard: Shard) -> Iterator[None]:
    """Turn an error about data in the block into a ShardError, which names the shard."""
    try:
        yield
    except ShardError:
        raise
    except InputError as error:
        raise named(error, shard) from error


def named(error: InputError, shard: Shard) -> ShardError:
    """Return the error as a ShardError that names the shard."""
    shard_error = ShardError(f"shard {shard.name}: {error}")
    shard_error.shard, shard_error.table = shard.name, error.table
    if isinstance(error, UnknownIdError) and error.owner == "images":
        shard_error.unknown_images = error.unknown
    return shard_error


def _content(option: str, value: Any) -> Any:
    """Return an option as JSON, which changes if the content of a file or table that it names changes."""
    if isinstance(value, (str, Path)):
        return [str(value), None if kind_at(value) is None else mark_of(str(value))]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (pl.Series, np.ndarray, np.generic)):
        return _content(option, value.to_list() if isinstance(value, pl.Series) else value.tolist())
    if isinstance(value, (set, frozenset)):
        return sorted((_content(option, each) for each in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_content(option, each) for each in value]
    if isinstance(value, Mapping):
        return [[_content(option, key), _content(option, item)] for key, item in value.items()]
    return content_hash(to_polars(value, option))
