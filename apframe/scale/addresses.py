"""Where shards are: local paths, and addresses such as s3:// in object stores, which fsspec lists. Polars reads the tables."""

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

# what fsspec needs for each scheme; Polars reads these without a further package
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_ACCESS = "is the address right, and do you have access?"


def expand(pattern: str | Path) -> list[str]:
    """The paths or addresses that a pattern stands for, sorted; a name that is no pattern stands for itself.

    In a pattern, `*`, `?` and `[...]` stand for parts of a name, and `**` for folders at any depth. Hidden names do not match.
    Credentials for object stores come from the environment, where both fsspec and Polars find them: AWS_ACCESS_KEY_ID and
    AWS_ENDPOINT_URL, for example.

    Returns
    -------
    Local names as they are given, addresses with their scheme; an empty list if there is nothing of such a name.

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
        found = [str(path).rstrip("/") for path in system.glob(rest)]
    fixed = next(place for place, part in enumerate(rest.split("/")) if glob.has_magic(part))
    return sorted(f"{scheme}://{path}" for path in found if not any(part[:1] == "." for part in path.split("/")[fixed:]))


def normal(source: str | Path) -> str:
    """The one spelling of a path or address: file:// becomes a path, and none ends with a slash.

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
        known = ", ".join(f"{name}://" for name in (*_PACKAGES, "file"))
        raise ParameterError(f"{url}: shards are not read from {scheme}:// addresses", f"use a local path or one of {known}")
    return url.rstrip("/")


def is_remote(address: str) -> bool:
    """Whether an address from `normal` or `expand` is one of an object store.

    >>> is_remote("s3://bucket/shards"), is_remote("shards")
    (True, False)
    """
    return "://" in address


def absolute(address: str) -> str:
    """The address as it is right in any folder.

    >>> absolute("s3://bucket/shards"), absolute("/data/../shards")
    ('s3://bucket/shards', '/shards')
    """
    return address if is_remote(address) else os.path.abspath(address)  # noqa: PTH100 - which leaves ".." in


def exists(address: str) -> bool:
    """Whether there is a file or folder at an address.

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
    """A text that changes when a file, or one in a folder, is written anew: of sizes and times, or of tags in an object store.

    Raises
    ------
    ParameterError
        fsspec's package for this scheme is missing
    FormatError
        there is no such file, or it cannot be read
    """
    if is_remote(address):
        with _listing(address) as system:
            known = system.info(address.partition("://")[2])
        return " ".join(str(known[name]) for name in ("size", "ETag", "etag", "updated") if name in known)
    with reading(address):
        path = Path(address)
        files = files_in(path, "", deep=True) if kind_at(address) == "folder" else [path]  # a folder's own time says nothing
        found = ((file.relative_to(path), file.stat()) for file in files)
        return " ".join(f"{file} {status.st_size} {status.st_mtime_ns}" for file, status in found)


def read_bytes(address: str) -> bytes:
    """The content of a small file, such as shards.json.

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
    """A plan that reads the table in one file of exactly this name: Arrow IPC if it ends with .arrow, otherwise Parquet.

    What is wrong with the file is found when its schema or rows are collected: do that within `reading`.
    """
    source: Any = address if is_remote(address) else literal(address)
    if address.endswith(".arrow"):
        return pl.scan_ipc(source, glob=False, hive_partitioning=False)
    return pl.scan_parquet(source, glob=False, hive_partitioning=False)


def read_table(address: str) -> pl.DataFrame:
    """The table in one file; see `scan`.

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
    """Turn what goes wrong while a table is read into one FormatError, which names the file.

    >>> with reading("nowhere.parquet"):
    ...     scan("nowhere.parquet").collect()
    Traceback (most recent call last):
    apframe.exceptions.FormatError: nowhere.parquet: there is no such file
    """
    try:
        yield
    except FileNotFoundError:
        raise FormatError("there is no such file", path=address) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # the last of damaged files
        what = reason(error) if isinstance(error, OSError) and not is_remote(address) else first_line(error)
        raise FormatError(f"cannot be read ({what})", _ACCESS if is_remote(address) else "", path=address) from error


@contextmanager
def _listing(address: str) -> Iterator[Any]:
    """The file system of fsspec for an address, which looks anew; what goes wrong in it is a FormatError."""
    scheme = address.partition("://")[0]
    package = _PACKAGES[scheme]
    import_optional(package, f"{scheme}:// addresses need {package}", package)  # which brings fsspec
    import fsspec

    try:
        system = fsspec.filesystem(scheme)
        system.invalidate_cache()  # shards may have been written since
        yield system
    except FormatError:
        raise
    except FileNotFoundError:
        raise FormatError("there is no such file", path=address) from None
    except Exception as error:  # each package has errors of its own: no credentials, no network, no rights
        raise FormatError(f"cannot be read ({first_line(error)})", _ACCESS, path=address) from error
