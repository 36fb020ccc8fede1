"""Addresses of shards: local paths, and object stores such as s3://, which fsspec lists and Polars reads."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from apframe.exceptions import FormatError, ParameterError, import_optional
from apframe.folders import files_in, matching
from apframe.paths import is_pattern, kind_at, literal, opened, refuse_pipe, url_of
from apframe.wording import first_line, reason

# the package that fsspec needs for each scheme; Polars needs none
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_ACCESS = "is the address right, and do you have access?"


def expand(pattern: str | Path) -> list[str]:
    """Return the sorted paths or addresses that match a pattern; a name without wildcards matches itself.

    In a pattern, `*`, `?` and `[...]` match parts of a name, and `**` matches folders at any depth. Hidden names do not match.
    fsspec and Polars read the credentials for object stores from the environment, such as AWS_ACCESS_KEY_ID and
    AWS_ENDPOINT_URL.

    Returns
    -------
    Local names as written, addresses with their scheme; an empty list without matches.

    Raises
    ------
    ParameterError
        an address with a scheme other than s3, s3a, gs, gcs, az, abfs or file, or fsspec's package for it is missing
    FormatError
        the object store cannot be listed

    >>> expand("."), expand("file:///"), expand("nowhere/*")
    (['.'], ['/'], [])
    """
    name = normal(pattern)
    scheme, _, rest = name.rpartition("://")
    if not scheme and is_pattern(name):
        return [str(path) for path in matching(name)]
    if not scheme or not glob.has_magic(rest):
        return [name] if exists(name) else []
    with _listing(name) as system:
        paths = [str(path).rstrip("/") for path in system.glob(rest)]
    fixed = next(place for place, part in enumerate(rest.split("/")) if glob.has_magic(part))
    return sorted(f"{scheme}://{path}" for path in paths if not any(part[:1] == "." for part in path.split("/")[fixed:]))


def normal(source: str | Path) -> str:
    """Return the normal form of a path or address: file:// becomes a path, and trailing slashes are removed.

    Raises
    ------
    ParameterError
        an address whose scheme is not supported

    >>> normal("file:///data/a%20b"), normal("s3://bucket/shards/"), normal("shards/*")
    ('/data/a b', 's3://bucket/shards', 'shards/*')
    """
    text = str(source)
    if text.startswith("file://"):
        text = unquote(text.removeprefix("file://").removeprefix("localhost"))
    url = url_of(text)
    if url is None:
        return text.rstrip("/") or text[:1]
    scheme = url.partition("://")[0]
    if scheme not in _PACKAGES:
        schemes = ", ".join(f"{name}://" for name in (*_PACKAGES, "file"))
        raise ParameterError(f"{url}: shards are not read from {scheme}:// addresses", f"use a local path or one of {schemes}")
    return url.rstrip("/")


def is_remote(address: str) -> bool:
    """Return True if an address from `normal` or `expand` is in an object store.

    >>> is_remote("s3://bucket/shards"), is_remote("shards")
    (True, False)
    """
    return "://" in address


def absolute(address: str) -> str:
    """Return the address in a form that does not depend on the working folder.

    >>> absolute("s3://bucket/shards"), absolute("/data/../shards")
    ('s3://bucket/shards', '/shards')
    """
    return address if is_remote(address) else os.path.abspath(address)  # noqa: PTH100 - which leaves ".." in


def exists(address: str) -> bool:
    """Return True if there is a file or folder at an address.

    Raises
    ------
    ParameterError
        fsspec's package for this scheme is missing
    FormatError
        the object store, or a local folder on the way, cannot be read

    >>> exists("."), exists("nowhere")
    (True, False)
    """
    if not is_remote(address):
        return kind_at(address) is not None
    with _listing(address) as system:
        return bool(system.exists(address.partition("://")[2]))


def mark_of(address: str) -> str:
    """Return a text that changes when a file, or a file in a folder, is rewritten: sizes and times, or tags in an object store.

    Raises
    ------
    ParameterError
        fsspec's package for this scheme is missing
    FormatError
        there is no such file, or it cannot be read
    """
    if is_remote(address):
        with _listing(address) as system:
            info = system.info(address.partition("://")[2])
        return " ".join(str(info[name]) for name in ("size", "ETag", "etag", "updated") if name in info)
    with reading(address):
        path = Path(address)
        files = files_in(path, "", deep=True) if kind_at(address) == "folder" else [path]  # a folder's own time says nothing
        statuses = ((file.relative_to(path), file.stat()) for file in files)
        return " ".join(f"{file} {status.st_size} {status.st_mtime_ns}" for file, status in statuses)


def read_bytes(address: str) -> bytes:
    """Return the content of a small file, such as shards.json.

    Raises
    ------
    ParameterError
        fsspec's package for this scheme is missing
    FormatError
        there is no such file, or it cannot be read
    """
    if is_remote(address):
        with _listing(address) as system:
            return bytes(system.cat_file(address.partition("://")[2]))
    with reading(address):
        refuse_pipe(address)
        with opened(Path(address)) as file:
            return file.read()


def scan(address: str) -> pl.LazyFrame:
    """Return a lazy frame of one file of exactly this name: Arrow IPC if it ends with .arrow, otherwise Parquet.

    Errors of the file appear when its schema or rows are collected: do that within `reading`.
    """
    source: Any = address if is_remote(address) else literal(address)
    if address.endswith(".arrow"):
        return pl.scan_ipc(source, glob=False, hive_partitioning=False)
    return pl.scan_parquet(source, glob=False, hive_partitioning=False)


def read_table(address: str) -> pl.DataFrame:
    """Read the table in one file; see `scan`.

    Raises
    ------
    FormatError
        there is no such file, or it cannot be read
    """
    with reading(address):
        if not is_remote(address):
            refuse_pipe(address)
        return scan(address).collect()


@contextmanager
def reading(address: str) -> Iterator[None]:
    """Turn errors while a table is read into a FormatError, which names the file.

    >>> with reading("nowhere.parquet"):
    ...     scan("nowhere.parquet").collect()
    Traceback (most recent call last):
    apframe.exceptions.FormatError: nowhere.parquet: there is no such file
    """
    try:
        yield
    except FileNotFoundError:
        raise FormatError("there is no such file", path=address) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # the last one for damaged files
        what = reason(error) if isinstance(error, OSError) and not is_remote(address) else first_line(error)
        raise FormatError(f"cannot be read ({what})", _ACCESS if is_remote(address) else "", path=address) from error


@contextmanager
def _listing(address: str) -> Iterator[Any]:
    """Open fsspec's file system for an address, without cached listings; its errors become FormatErrors."""
    scheme = address.partition("://")[0]
    package = _PACKAGES[scheme]
    import_optional(package, f"{scheme}:// addresses need {package}", package)  # also installs fsspec
    import fsspec

    try:
        system = fsspec.filesystem(scheme)
        system.invalidate_cache()  # shards may have been written since
        yield system
    except FormatError:
        raise
    except FileNotFoundError:
        raise FormatError("there is no such file", path=address) from None
    except Exception as error:  # each package has its own errors: no credentials, no network, no rights
        raise FormatError(f"cannot be read ({first_line(error)})", _ACCESS, path=address) from error
