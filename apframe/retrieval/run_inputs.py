"""Judgements and runs from files, nested dicts, rows and objects of other tools, as columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, FormatError, import_optional
from apframe.formats.documents import parse_json
from apframe.formats.files import decoded, read_unpacked, reading_from
from apframe.formats.path_contents import see
from apframe.paths import kind_at, reading_once
from apframe.retrieval.trec_lines import QRELS, RUN, first_lines, read_lines
from apframe.tables.schemas import TABLES
from apframe.wording import first_line, listed

_LZ4 = b"\x04\x22\x4d\x18"
_MOST = 1 << 32  # maximum number of bytes of an unpacked LZ4 file
_VALUES = {"judgements": "relevance", "runs": "score"}
# the methods that return the rows of a data set of ir_datasets
_ROWS = {"judgements": "qrels_iter", "runs": "scoreddocs_iter", "queries": "queries_iter"}


def columns_of(table: str, source: Any) -> Any:
    """Return the columns of the table "judgements" or "runs" in any form, with the names of the source.

    Columns of "queries" only come from a data set of ir_datasets.

    Raises
    ------
    FormatError, ColumnError, ParameterError
        a file that cannot be read, values of several types, a package that is not installed
    """
    if isinstance(source, (str, Path)):
        return source if Path(source).suffix == ".parquet" else _of_file(table, Path(source))
    if hasattr(source, _ROWS[table]):
        source = getattr(source, _ROWS[table])()
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, pl.LazyFrame):
        return source
    if hasattr(source, "to_dict"):  # Qrels or a Run of ranx
        source = source.to_dict()
    if isinstance(source, Mapping):
        is_nested = source and all(isinstance(value, Mapping) for value in source.values())
        return _of_nested(table, source) if is_nested else source
    return _of_rows(source) if isinstance(source, Iterable) else source


def is_query_id(name: str) -> bool:
    """Return True if a column of this name contains the ids of queries."""
    return _names("judgements", name) == "query_id"


def is_for_search(path: Path) -> bool:
    """Return True if a file looks like judgements: lines of 3 or 4 fields ending with a number, a header, JSON, Parquet or LZ4.

    A TREC run looks like that too, so that an error can say that runs come second. A pipe must be inside `reading_once`, to be
    read again later.
    """
    if kind_at(path) not in ("file", "pipe"):
        return False
    seen = see(path)
    if path.suffix == ".parquet":
        return _has_pairs(seen.columns)
    head = seen.head
    if head.startswith(_LZ4):  # no other data of apframe are LZ4
        return True
    if head.lstrip()[:1] in (b"{", b"["):
        if _has_pairs(re.findall(r'"([^"]*)"\s*:', head.partition(b"}")[0].decode(errors="replace"))):
            return True
        # {"query": {"document": 1; COCO's {"info": {"year": 2017 begins like that, too, but has other values as well
        begins = re.match(rb'\s*\{\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*-?[\d.]+\s*[,}]', head)
        return begins is not None and not re.search(rb'"(images|annotations)"\s*:\s*\[', head)
    if _separator(head) is not None:
        return True
    lines = first_lines(path)["line"].head(100).to_list()
    is_run = all(len(line) >= len(RUN) and line[1] == "Q0" for line in lines)
    number = r"-?\d+(\.\d+)?"
    return bool(lines) and (is_run or all(len(line) in (3, 4) and re.fullmatch(number, line[-1]) for line in lines))


def _of_file(table: str, path: Path) -> Any:
    with reading_once(path), reading_from(path):
        head = see(path).head
        if head.startswith(_LZ4):
            return _of_packed(table, path)
        if head.lstrip()[:1] in (b"{", b"["):
            return _of_document(table, path, parse_json(path, read_unpacked(path)))
        separator = _separator(head)
        if separator is not None:
            return _of_table(table, path, separator)
        return read_lines(path, QRELS if table == "judgements" else RUN)


def _of_packed(table: str, path: Path) -> Any:
    """Read a file of LZ4 frames: JSON, or CBOR packed twice, as ranx writes it."""
    lz4 = import_optional("lz4.frame", "reading LZ4 needs a package", "lz4", "lz4")
    content = read_unpacked(path)
    while content.startswith(_LZ4):
        unpacker = lz4.LZ4FrameDecompressor()
        try:
            content = unpacker.decompress(content, max_length=_MOST)
        except RuntimeError as error:
            raise FormatError(f"the LZ4 file is damaged ({first_line(error)})", path=path) from error
        if not unpacker.eof:
            raise FormatError(f"the LZ4 file is cut off, or unpacks to more than {_MOST:,} bytes", path=path)
    if content.lstrip()[:1] in (b"{", b"["):
        return _of_document(table, path, parse_json(path, content))
    cbor2 = import_optional("cbor2", "reading CBOR in LZ4 needs a package", "cbor2", "lz4")
    try:
        document = cbor2.loads(content)
    except cbor2.CBORDecodeError as error:
        raise FormatError(f"contains neither JSON nor CBOR ({first_line(error)})", path=path) from error
    return _of_document(table, path, document)


def _of_document(table: str, path: Path, document: Any) -> Any:
    if isinstance(document, dict):
        is_right = all(isinstance(each, dict) for each in document.values()) or any(is_query_id(str(name)) for name in document)
    else:
        is_right = isinstance(document, list) and all(isinstance(row, dict) for row in document)
    if not is_right:
        value = _VALUES[table]
        problem = f"neither {{query: {{document: {value}}}}} nor a list of objects"
        raise FormatError(problem, "use one of these", path=path)
    return columns_of(table, document)


def _separator(head: bytes) -> str | None:
    """Return the separator if the first line names the columns; otherwise None."""
    first = head.partition(b"\n")[0].decode(errors="replace").strip("\r")
    for separator in ("\t", ",", ";"):
        if _has_pairs(name.strip('"') for name in first.split(separator)):
            return separator
    return None


def _has_pairs(names: Iterable[str]) -> bool:
    """Return True if there are columns with the ids of queries and of documents."""
    return {"query_id", "document_id"} <= {_names("judgements", name) for name in names}


def _names(table: str, name: str) -> str | None:
    """Return the column of the table that has this name or alias."""
    return next((column.name for column in TABLES[table] if name in (column.name, *column.aliases)), None)


def _of_table(table: str, path: Path, separator: str) -> pl.DataFrame:
    """Read a text table with a header: ids as text; relevance, score and rank as numbers."""
    content = read_unpacked(path)
    decoded(path, content)
    quote = None if separator == "\t" else '"'
    try:
        frame = pl.read_csv(content, separator=separator, infer_schema=False, quote_char=quote)
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"cannot be read as a table ({first_line(error)})", path=path) from error
    for name in frame.columns:
        if name == "rank" or _names(table, name) in _VALUES.values():
            numbers = frame[name].str.strip_chars().cast(pl.Float64, strict=False)
            lines = (numbers.is_null().arg_true() + 2).to_list()
            if lines:
                problem = f"the {name} is not a number in line {listed(lines)}"
                raise FormatError(problem, "correct these lines", path=path, rows=lines)
            frame = frame.with_columns(numbers)
    return frame


def _of_nested(table: str, nested: Mapping[Any, Mapping[Any, float]]) -> pl.DataFrame:
    value = _VALUES[table]
    columns = {
        "query_id": [query for query, documents in nested.items() for _ in documents],
        "document_id": [document for documents in nested.values() for document in documents],
        value: [number for documents in nested.values() for number in documents.values()],
    }
    try:
        return pl.DataFrame(columns, schema_overrides={value: pl.Float64})  # whole numbers may be mixed with others
    except (TypeError, pl.exceptions.PolarsError) as error:
        message = first_line(error)
        raise ColumnError(f"ids must have one type, and values must be numbers ({message})", table=table) from error


def _of_rows(source: Iterable[Any]) -> Any:
    """Convert named tuples or dicts to a dict of columns; return anything else unchanged."""
    rows = list(source)
    if all(isinstance(row, dict) for row in rows):
        return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
    fields = getattr(rows[0], "_fields", None) if rows else None
    if fields is None or any(getattr(row, "_fields", None) != fields for row in rows):
        return source
    return dict(zip(fields, map(list, zip(*rows, strict=True)), strict=True))
