"""Tables at URLs: Parquet and CSV, which Polars reads over the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.csv_table import typed
from apframe.formats.nested_rows import METADATA, features_of
from apframe.paths import kind_at
from apframe.wording import first_line

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}([^/].*)")  # a `Path` keeps one slash
_SCHEMES = ("http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "hf")


def url_of(source: Any) -> str | None:
    """The URL that a text or `Path` is; None for paths, and all else.

    >>> url_of("https://example.org/a.parquet"), url_of(Path("s3://a/b.csv")), url_of("data:/a.csv"), url_of("a.csv")
    ('https://example.org/a.parquet', 's3://a/b.csv', None, None)
    """
    found = _URL.fullmatch(str(source)) if isinstance(source, (str, Path)) else None
    if found is None or not ("://" in str(source) or (found[1] in _SCHEMES and kind_at(source) is None)):
        return None
    return f"{found[1]}://{found[2]}"


def read_url(url: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table at a URL, and its features if it has those of Hugging Face; pixels are not read.

    Raises
    ------
    ParameterError
        a URL of something else than Parquet or CSV, or that Polars does not read
    FormatError
        what cannot be read

    >>> read_url("ftp://a.org/b.csv")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: ftp://a.org/b.csv: only .parquet and .csv are read from a URL (http, https, ...
    """
    name = re.split("[?#]", url)[0].lower()
    is_parquet, is_csv = name.endswith(".parquet"), name.endswith((".csv", ".csv.gz"))
    if name.partition("://")[0] not in _SCHEMES or not (is_parquet or is_csv):
        problem = f"{url}: only .parquet and .csv are read from a URL ({', '.join(_SCHEMES)})"
        raise ParameterError(problem, "download the file and name its path")
    try:
        if is_csv:
            return typed(pl.read_csv(url, infer_schema=False, glob=False)), {}
        rows = pl.scan_parquet(url, glob=False, hive_partitioning=False)
        kept = [name for name, dtype in rows.collect_schema().items() if not _holds_bytes(dtype)]
        return rows.select(pl.col(kept)).collect(), features_of(pl.read_parquet_metadata(url).get(METADATA))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(
            f"cannot be read ({first_line(error)})", "is the URL right, and do you have access?", path=url
        ) from None


def _holds_bytes(dtype: Any) -> bool:
    return dtype == pl.Binary or (isinstance(dtype, pl.Struct) and any(field.dtype == pl.Binary for field in dtype.fields))
