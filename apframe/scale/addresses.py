"""Where shards are: local paths, and addresses such as s3:// in object stores, which fsspec lists. Polars reads the tables."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from apframe.exceptions import FormatError, ParameterError, first_line, import_optional, reason
from apframe.file_formats.urls import url_of
from apframe.paths import is_pattern, kind_at, literal, matching, opened

# what fsspec needs for each scheme; Polars reads these without a further package
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
TABLES = (".parquet", ".arrow")  # the endings of the files that `scan` reads


def expand(pattern: str | Path) -> list[str]:
    """The paths or addresses that a pattern stands for, sorted; a name that is no pattern stands for itself.

    In a pattern, `*`, `?` and `[...]` stand for parts of a name, and `**` for folders at any depth. Hidden names do not match.
    Credentials for object stores come from the environment, where both fsspec and Polars find them: AWS_ACCESS_KEY_ID and
    AWS_ENDPOINT_URL, for example.

    Returns
    -------
    Local names as they are given, addresses with their scheme; an empty list if nothing matches. Whether a name that is no
    pattern exists is not looked up.

    Raises
    ------
    ParameterError
        an address with a scheme other than s3, s3a, gs, gcs, az, abfs or file, or fsspec's package for it is missing
    FormatError
        the object store cannot be listed

    >>> expand("shards/00000"), expand("file:///shards/00000"), expand("s3://bucket/shards/00000/")
    (['shards/00000'], ['/shards/00000'], ['s3://bucket/shards/00000'])
    """
    name = normal(pattern)
    scheme, _, rest = name.rpartition("://")
    if not scheme:
        return [str(path) for path in matching(name)] if is_pattern(name) else [name]
    if not glob.has_magic(rest):
        return [name]
    with _listing(name) as system:
        found = [str(path).rstrip("/") for path in system.glob(rest)]
    fixed = next(place for place, part in enumerate(rest.split("/")) if glob.has_magic(part))
    return sorted(f"{scheme}://{path}" for path in found if not any(part[:1] == "." for part in path.split("/")[fixed:]))


def normal(source: str | Path) -> str:
    """The one spelling of a path or address: file:// becomes a path, and no address ends with a slash.

    Raises
    ------
    ParameterError
        an address whose scheme is not supported

    >>> normal("file:///data/a%20b"), normal("s3://bucket/shards/"), normal("shards/*")
    ('/data/a b', 's3://bucket/shards', 'shards/*')
    """
    text = str(source)
    if text.startswith("file://"):
        return unquote(text.removeprefix("file://").removeprefix("localhost"))
    url = url_of(source)
    if url is None:
        return text
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


def join(folder: str, *names: str) -> str:
    """The address of something inside a folder.

    >>> join("s3://bucket/shards", "00000", "images.parquet"), join("shards/", "shards.json")
    ('s3://bucket/shards/00000/images.parquet', 'shards/shards.json')
    """
    return "/".join((folder.rstrip("/") or "", *names))


def parent(address: str) -> str:
    """The folder that something is in.

    >>> parent("s3://bucket/shards/00000"), parent("shards/00000"), parent("shards")
    ('s3://bucket/shards', 'shards', '.')
    """
    return address.rpartition("/")[0] if is_remote(address) else str(Path(address).parent)


def names_in(folder: str) -> list[str]:
    """The names of the files and folders inside a folder that are not hidden, sorted; none if there is no such folder.

    Raises
    ------
    ParameterError
        fsspec's package for this scheme is missing
    FormatError
        the folder cannot be listed

    >>> names_in("nowhere")
    []
    """
    if is_remote(folder):
        with _listing(folder) as system:
            try:
                names = [
                    str(path).rstrip("/").rpartition("/")[2] for path in system.ls(folder.partition("://")[2], detail=False)
                ]
            except FileNotFoundError:
                names = []
    elif kind_at(folder) != "folder":
        names = []
    else:
        try:
            names = [path.name for path in Path(folder).iterdir()]
        except OSError as error:
            raise FormatError(f"the folder cannot be read ({reason(error)})", path=folder) from error
    return sorted(name for name in names if name and not name.startswith("."))


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
            try:
                return bytes(system.cat_file(address.partition("://")[2]))
            except FileNotFoundError:
                raise FormatError("there is no such file", path=address) from None
    try:
        with opened(Path(address)) as file:
            return file.read()
    except OSError as error:
        raise FormatError(f"cannot be read ({reason(error)})", path=address) from error


def scan(address: str) -> pl.LazyFrame:
    """A plan that reads the table in one file of exactly this name: Arrow IPC if it ends with .arrow, otherwise Parquet.

    What is wrong with the file is found when its schema or rows are collected: do that within `reading`.
    """
    source: Any = address if is_remote(address) else literal(address)
    if address.endswith(".arrow"):
        return pl.scan_ipc(source, glob=False, hive_partitioning=False)
    return pl.scan_parquet(source, glob=False, hive_partitioning=False)


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


_ACCESS = "is the address right, and do you have access?"


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
    except Exception as error:  # each package has errors of its own: no credentials, no network, no rights
        raise FormatError(f"cannot be read ({first_line(error)})", _ACCESS, path=address) from error
