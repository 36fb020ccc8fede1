"""Tables at URLs: Parquet and CSV, which Polars reads over the network."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.csv_table import typed
from apframe.formats.nested_rows import METADATA, features_of
from apframe.paths import SCHEMES
from apframe.wording import first_line


def read_url(url: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read the table at a URL, and its features if they are in Hugging Face's metadata; pixels are not read.

    Raises
    ------
    ParameterError
        the URL is not for Parquet or CSV, or Polars cannot read it
    FormatError
        the table cannot be read

    >>> read_url("ftp://a.org/b.csv")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: ftp://a.org/b.csv: only .parquet and .csv are read from a URL (http, https, ...
    """
    name = re.split("[?#]", url)[0].lower()
    is_parquet, is_csv = name.endswith(".parquet"), name.endswith((".csv", ".csv.gz"))
    if name.partition("://")[0] not in SCHEMES or not (is_parquet or is_csv):
        problem = f"{url}: only .parquet and .csv are read from a URL ({', '.join(SCHEMES)})"
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
