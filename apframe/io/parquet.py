"""A folder of Parquet files, one per table, with a manifest: how an evaluation is kept."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, OutputError

MANIFEST = "manifest.json"
FORMAT, SCHEMA_VERSION = "apframe evaluation", 2
DETECTION, RETRIEVAL = "detection", "retrieval"  # the kinds of evaluation


def write_tables(folder: str | Path, tables: Mapping[str, pl.DataFrame], manifest: Mapping[str, Any]) -> None:
    """Write every table as `{name}.parquet`, and the manifest. The folder appears whole or not at all.

    All is written beside it first. An earlier set at the same place is then moved aside, the new one takes its place, and the
    earlier one is removed: whoever reads in the moment between the two moves finds none. A folder that holds anything else
    is left alone.

    Raises
    ------
    OutputError
        the folder holds something else, is a file, or cannot be written
    """
    folder = Path(folder).resolve()
    work: Path | None = None
    try:
        refuse_foreign(folder, manifest["kind"])
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        part = work / "new"
        part.mkdir()
        for name, frame in tables.items():
            frame.write_parquet(part / f"{name}.parquet", compression="zstd")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        head = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "created": created, "versions": _versions()}
        contents = head | dict(manifest) | {"tables": {name: frame.height for name, frame in tables.items()}}
        (part / MANIFEST).write_text(json.dumps(contents, indent=2) + "\n")
        _replace(folder, part, work / "earlier")
    except OutputError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{folder}: cannot be written ({getattr(error, 'strerror', None) or error})") from error
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


def read_manifest(folder: str | Path, kind: str | None = None, needed: Sequence[str] = ()) -> dict[str, Any]:
    """The manifest of a folder that `write_tables` wrote, of the kind ("detection" or "retrieval") if one is named.

    Raises
    ------
    FormatError
        there is no such folder, it is no such set, it is of another schema version or kind, or parts of it are missing
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormatError(f"{folder}: there is no such folder")
    manifest = _manifest(folder)
    if manifest is None:
        raise FormatError(f"{folder}: not an apframe evaluation, it has no {MANIFEST} of one; write one with --out")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise FormatError(
            f"{folder}: written with schema version {manifest.get('schema_version')}, this apframe reads {SCHEMA_VERSION}; "
            "evaluate again"
        )
    if kind is not None and manifest.get("kind", kind) != kind:
        raise FormatError(f"{folder}: this is an evaluation of {manifest['kind']}, not of {kind}")
    lacking = {"kind", "tables", *needed} - set(manifest)
    if lacking:
        raise FormatError(f"{folder}: {MANIFEST} has no {', '.join(sorted(lacking))}; evaluate again")
    gone = [name for name in manifest["tables"] if not (folder / f"{name}.parquet").is_file()]
    if gone:
        raise FormatError(f"{folder}: {', '.join(f'{name}.parquet' for name in gone)} is missing; evaluate again")
    return manifest


def read_table(folder: str | Path, name: str) -> pl.DataFrame:
    """One table of the set."""
    path = Path(folder) / f"{name}.parquet"
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FormatError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]}); evaluate again") from error


def _versions() -> dict[str, str]:
    from importlib.metadata import version  # takes longer to import than a small evaluation to run

    return {name: version(name) for name in ("apframe", "polars", "duckdb", "numpy")}


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def refuse_foreign(folder: str | Path, kind: str) -> None:
    """Raise an OutputError if a set of this kind cannot be written there because the place holds something else."""
    folder = Path(folder).resolve()
    if folder == folder.parent:
        raise OutputError(f"{folder}: name a folder of its own")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: this is a file; name a folder")
    if not folder.is_dir():
        return
    manifest = _manifest(folder)
    other = (manifest or {}).get("kind", kind)
    if other != kind:
        raise OutputError(f"{folder}: holds an evaluation of {other}, not of {kind}; name another folder")
    known = {MANIFEST, *(f"{name}.parquet" for name in (manifest or {}).get("tables", ()))}
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in known or manifest is None)
    if foreign:
        raise OutputError(f"{folder}: holds something else ({', '.join(foreign[:3])}); name an empty or a new folder")


def _replace(folder: Path, part: Path, earlier: Path) -> None:
    """Put the finished part in the folder's place; the earlier one stays until then."""
    if folder.exists():
        folder.rename(earlier)
    try:
        part.rename(folder)
    except BaseException:  # an interruption too must not lose the earlier one
        if earlier.exists():
            earlier.rename(folder)
        raise
