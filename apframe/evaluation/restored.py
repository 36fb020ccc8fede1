"""Evaluations that are read from stored sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.in_memory import Stored
from apframe.evaluation.on_request import ON_REQUEST
from apframe.evaluation.stored import INPUTS, LINKS
from apframe.exceptions import FormatError
from apframe.formats.stored_sets import read_table, scan_table
from apframe.paths import absolute
from apframe.protocols.application import stored_inputs
from apframe.protocols.protocol import Protocol
from apframe.rows import MALFORMED_KEPT, treating_malformed
from apframe.store.parquet import DETECTION, read_manifest, refuse_changed
from apframe.tables.dataset import Dataset
from apframe.tables.result_tables import result_schema
from apframe.tables.schemas import TABLES
from apframe.wording import as_keyword, option_style

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

NEEDED = ("protocol", "inputs", "category_ids", "json_columns", "conditions")  # in the manifest of a stored evaluation
_RESULTS = (*LINKS, "metrics", "summary")
_UNKNOWN = "they were stored by an earlier version"  # earlier versions did not store if annotations were `altered`


def read_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that `Evaluation.write_parquet` wrote; the original files are not needed.

    Only the manifest is read immediately. Metrics, summary, pairs and assignments are read, not computed again; everything
    else, including slices, is computed from the tables. Tables of two evaluations are never mixed: once another one is written
    to the folder, tables that were not read before raise a FormatError.

    Raises
    ------
    FormatError
        not such a folder, another schema version, or incomplete
    """
    return stored_evaluation(folder, read_manifest(folder, DETECTION, NEEDED))


def stored_protocol(folder: str | Path, manifest: Mapping[str, Any]) -> Protocol:
    """Return the protocol in a manifest; no other file is read."""
    try:
        with option_style(as_keyword):  # a manifest has keys, not flags
            return Protocol.from_dict(manifest["protocol"])
    except FormatError as error:  # the error has a remedy already
        raise FormatError(error.problem, error.remedy, path=folder) from None
    except (TypeError, AttributeError, LookupError, ValueError) as error:
        raise FormatError(f"the manifest's protocol cannot be read ({error})", "evaluate again", path=folder) from error


def stored_evaluation(folder: str | Path, manifest: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation in the folder that has this manifest; see `read_evaluation`."""
    set_id, protocol = manifest.get("set_id"), stored_protocol(folder, manifest)
    stored = {name: scan_table(folder, name, set_id) for name in manifest["tables"]}
    _refuse_changed_tables(folder, {name: table.collect_schema() for name, table in stored.items()}, protocol)

    def read_inputs() -> Inputs:
        images, categories, annotations, detections = (
            read_table(folder, name, set_id) for name in ("images", "categories", "annotations", "detections")
        )
        json_columns = {(table, name) for table, name in manifest["json_columns"]}
        with treating_malformed(MALFORMED_KEPT):
            dataset = Dataset(images, categories, annotations, box_format="xywh").with_rest(json_columns, {})
        try:
            category_ids = pl.Series(manifest["category_ids"], dtype=categories["category_id"].dtype)
        except TypeError:
            problem = "category_ids are of another type than those of the categories"
            raise FormatError(f"the manifest's {problem}", "evaluate again", path=folder) from None
        return stored_inputs(dataset, detections, category_ids, protocol, manifest.get("altered", _UNKNOWN))

    return Evaluation(
        Stored(read_inputs, stored), protocol, conditions=manifest["conditions"], notes=manifest.get("notes", ()),
        name=manifest.get("name"), path=str(absolute(Path(folder))), tags=manifest.get("tags"),
    )  # fmt: skip


def _refuse_changed_tables(folder: str | Path, tables: Mapping[str, pl.Schema], protocol: Protocol) -> None:
    """Raise an error if tables lack required columns; the contents of inputs are checked when they are read."""
    inputs = {name: {c.name: None for c in TABLES[name] if c.standard} for name in INPUTS}
    refuse_changed(folder, tables, inputs)
    ids = {TABLES[name][0].name: tables[name][TABLES[name][0].name] for name in inputs}
    areas = pl.Enum(protocol.range_names)
    added = [name for name in ("matches", *ON_REQUEST) if name in tables]
    refuse_changed(
        folder, tables, {name: result_schema(name, ids, areas, protocol.further_columns) for name in (*_RESULTS, *added)}
    )
