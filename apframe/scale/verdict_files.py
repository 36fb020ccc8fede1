"""The verdicts of a shard as a file of Arrow rows, one for each list, and the merge of rows of all shards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import polars as pl
import pyarrow as pa

from apframe.exceptions import FormatError, OutputError
from apframe.matching.concatenation import merge
from apframe.matching.verdicts import Verdicts, list_bounds
from apframe.scale.sharded_merge import Head
from apframe.wording import option_name, reason

_HEAD, _IMAGES = b"apframe", b"images"
_SUM = 4  # bytes of the checksum at the end of a file
_ENDS = ("detection", "annotation")  # the two ends of a hit
_WIDE = dict.fromkeys(("list", "image", "place", "detection", "annotation"), np.uint32) | dict.fromkeys(
    ("first", "last"), np.uint16
)
_ORDER = ("list", "image", "row", "place", "score", "inside", "counts", "weight")


def to_arrow(verdicts: Verdicts, facts: Mapping[str, Any]) -> pa.RecordBatch:
    """Convert verdicts to Arrow rows, one for each list, in the order of the lists.

    Parameters
    ----------
    verdicts
        of one shard
    facts
        further facts about the shard, as JSON

    Returns
    -------
    Columns `detection.image`, `detection.score`, ..., `annotation.image`, ..., `hit.detection`, ..., each a list of numbers:
    the columns of `Verdicts` except the number of the list. Images are numbered within the shard, and a hit has the positions
    of both ends in their list. 18 bytes for each detection, 9 for each annotation and 20 or more for each hit.

    >>> from apframe.matching.verdicts import example
    >>> table = to_arrow(example(), {"shard": "00000"})
    >>> table["detection.score"].to_pylist(), head_of(table).facts["shard"]
    ([[0.9, 0.8]], '00000')
    """
    n = verdicts.lists.height
    detections, annotations, hits = verdicts.detections, verdicts.annotations, verdicts.hits
    hits = hits.sort("detection", maintain_order=True)  # at each limit they are sorted already
    bounds = [list_bounds(table["list"].to_numpy(), n) for table in (detections, annotations)]
    bounds.append(np.searchsorted(hits["detection"].to_numpy(), bounds[0]))
    number = detections["list"].gather(hits["detection"]).to_numpy()
    within = {name: hits[name].to_numpy() - starts[number] for name, starts in zip(_ENDS, bounds, strict=False)}
    hits = hits.with_columns(pl.Series(name, place.astype(np.uint32)) for name, place in within.items())
    columns: dict[str, pa.Array] = {}
    for kind, table, offsets in zip(("detection", "annotation", "hit"), (detections, annotations, hits), bounds, strict=True):
        for column in table:
            if column.name != "list":
                values = column.to_numpy()
                small = values if column.name not in ("place", "first", "last") else _small(values)
                bounds_of_lists = pl.Series(offsets, dtype=pl.Int64).to_arrow()
                columns[f"{kind}.{column.name}"] = pa.LargeListArray.from_arrays(bounds_of_lists, pl.Series(small).to_arrow())
    ids = BytesIO()
    verdicts.images.write_ipc(ids)
    return pa.record_batch(columns).replace_schema_metadata({_HEAD: json.dumps(facts).encode(), _IMAGES: ids.getvalue()})


def head_of(table: pa.RecordBatch) -> Head:
    """Return the facts about a shard that are stored with its verdicts."""
    facts: dict[str, Any] = json.loads(table.schema.metadata[_HEAD])
    images = pl.read_ipc(BytesIO(table.schema.metadata[_IMAGES]))["image_id"]
    return Head(facts, images, np.diff(_bounds(table["detection.image"])))


def write_verdicts(table: pa.RecordBatch, path: Path) -> None:
    """Write verdicts as an Arrow file with a checksum at the end, which appears completely or not at all.

    Others may write the same file at the same time: a task may run twice, and processes may share a folder. Remainders of a
    killed process are removed.

    Raises
    ------
    OutputError
        there is no space, or the folder cannot be written to
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    content = pa.BufferOutputStream()
    with pa.ipc.new_file(content, table.schema) as writer:
        writer.write_batch(table)
    content = content.getvalue()
    try:
        with part.open("wb") as file:
            file.write(content)
            file.write(crc32(content).to_bytes(_SUM))
        with suppress(FileNotFoundError):  # another process was faster and has removed this part
            part.replace(path)
        for left in path.parent.glob(f".{path.name}.*.part"):
            left.unlink(missing_ok=True)
    except OSError as error:
        part.unlink(missing_ok=True)
        remedy = f"name another folder with {option_name('work', '')}"
        raise OutputError(f"cannot be written ({reason(error)})", remedy, path=path.parent) from error


def read_verdicts(path: Path) -> pa.RecordBatch:
    """Open the verdicts in a file, which are read only as far as they are used.

    Raises
    ------
    FormatError
        the file cannot be read
    """
    try:
        return pa.ipc.open_file(pa.memory_map(str(path)).read_buffer()[:-_SUM]).get_batch(0)
    except FileNotFoundError:
        remedy = f"{option_name('work', '')} must be a folder that all workers share with this process and that is kept"
        raise FormatError("the verdicts of a shard are missing", remedy, path=path) from None
    except (OSError, ValueError, pa.ArrowException) as error:  # the latter two for damaged files
        raise FormatError(f"cannot be read ({reason(error)})", "remove it; it is computed again", path=path) from error


def is_intact(path: Path) -> bool:
    """Return True if the checksum of a file is right; a machine that loses power may leave zeros in the file."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return len(content) > _SUM and crc32(content[:-_SUM]).to_bytes(_SUM) == content[-_SUM:]


def join_arrow(
    parts: Sequence[pa.RecordBatch], whole: Verdicts, codes: Sequence[np.ndarray], first_rows: Sequence[tuple[int, int]]
) -> Verdicts:
    """Merge the verdicts of the same lists of several shards.

    Parameters
    ----------
    parts
        the tables, or the same rows of each
    whole
        verdicts without rows that have the lists, and the images of all shards
    codes
        the number among all images of each image of a shard
    first_rows
        the offsets of `row` of the detections and of the annotations of each shard

    >>> from apframe.matching.verdicts import example
    >>> table = to_arrow(example(), {})
    >>> joined = join_arrow([table], example(), [np.array([0, 1])], [(0, 0)])
    >>> joined.detections.equals(example().detections), joined.hits.equals(example().hits)
    (True, True)
    """
    n = whole.lists.height
    tables: dict[str, dict[str, np.ndarray]] = {}
    lengths: dict[str, np.ndarray] = {}  # lengths of the lists of one part after the other
    common = set(parts[0].schema.names).intersection(*(part.schema.names for part in parts))  # all parts or none have weights
    for kind in (*_ENDS, "hit"):
        names = [name for name in parts[0].schema.names if name.startswith(f"{kind}.") and name in common]
        tables[kind] = {name.split(".")[1]: np.concatenate([_numbers(part[name]) for part in parts]) for name in names}
        lengths[kind] = np.concatenate([np.diff(_bounds(part[names[0]])) for part in parts])
    number, code = np.tile(np.arange(n, dtype=np.uint32), len(parts)), np.concatenate(codes)
    first_image = np.cumsum([0, *(len(each) for each in codes[:-1])])
    for at, kind in enumerate(_ENDS):
        columns, each = tables[kind], lengths[kind]

        def spread(of_parts: Any, dtype: Any, each: np.ndarray = each) -> np.ndarray:
            return np.repeat(np.repeat(np.array(of_parts, dtype=dtype), n), each)

        columns["list"] = np.repeat(number, each)
        columns["image"] = code[columns["image"] + spread(first_image, np.int64)]
        before = [rows[at] for rows in first_rows]
        is_wide = max(before) + int(columns["row"].max(initial=0)) >= 1 << 32
        columns["row"] = columns["row"] + spread(before, np.uint64 if is_wide else np.uint32)
        tables["hit"][kind] = tables["hit"][kind] + np.repeat(np.cumsum(each) - each, lengths["hit"])
    for columns in tables.values():
        columns |= {name: columns[name].astype(dtype, copy=False) for name, dtype in _WIDE.items() if name in columns}
    detections, annotations = ({name: tables[kind][name] for name in _ORDER if name in tables[kind]} for kind in _ENDS)
    return merge(whole, detections, annotations, tables["hit"])


def _numbers(lists: pa.LargeListArray) -> np.ndarray:
    """Return all numbers in a column of lists, without a copy; `to_numpy` would import pandas if it is installed."""
    numbers, bounds = np.frombuffer(lists.buffers()[3] or b"", dtype=str(lists.type.value_type)), _bounds(lists)
    return numbers[bounds[0] : bounds[-1]]


def _bounds(lists: pa.LargeListArray) -> np.ndarray:
    """Return the positions where each list of a column begins among its numbers, and where the last one ends."""
    return np.frombuffer(lists.buffers()[1], dtype=np.int64)[lists.offset : lists.offset + len(lists) + 1]


def _small(values: np.ndarray) -> np.ndarray:
    """Cast numbers to the smallest type that fits them, of at least 8 bits."""
    return values.astype(np.min_scalar_type(values.max(initial=0)))
