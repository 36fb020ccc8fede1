"""The manifest of a stored run, and differences between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apframe.exceptions import FormatError
from apframe.formats.stored_sets import MANIFEST
from apframe.paths import absolute
from apframe.protocols.given import OPTIONS
from apframe.store.parquet import labels
from apframe.tables.schemas import GROUND_TRUTH

_TABLES = (*GROUND_TRUTH, "detections", "summary")


@dataclass(frozen=True)
class StoredRun:
    """A run with its manifest. `folder` is the path as written by the user, `path` is absolute."""

    name: str
    folder: Path
    path: Path
    created: datetime
    protocol_name: str
    protocol: dict[str, Any]
    category_ids: list[Any]
    conditions: list[str]
    data: str
    heights: dict[str, int]
    version: str
    label: str | None
    tags: dict[str, Any]
    manifest: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, folder: Path, manifest: dict[str, Any]) -> StoredRun:
        """Return the run of a manifest.

        Raises
        ------
        FormatError
            the manifest is damaged, or lacks a table
        """
        lacking = [table for table in _TABLES if table not in manifest["tables"]]
        if lacking:
            raise FormatError(f"{MANIFEST} has no table {', '.join(lacking)}", "evaluate again", path=folder)
        try:
            labelled = labels(manifest.get("name"), manifest.get("tags"))
            hashes = "".join(manifest["inputs"][table] for table in GROUND_TRUTH)
            return cls(
                name=name,
                folder=folder,
                path=absolute(folder),
                created=datetime.fromisoformat(manifest["created"]).astimezone(UTC),
                protocol_name=str(manifest["protocol"]["name"]),
                protocol=dict(manifest["protocol"]),
                category_ids=manifest["category_ids"],
                conditions=manifest["conditions"],
                data=hashlib.sha256(hashes.encode()).hexdigest(),
                heights={table: int(height) for table, height in manifest["tables"].items()},
                version=str(manifest["versions"]["apframe"]),
                label=labelled.get("name"),
                tags=labelled.get("tags", {}),
                manifest=manifest,
            )
        except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise FormatError(f"{MANIFEST} is damaged ({what})", "evaluate again", path=folder) from error


def differences(runs: Sequence[StoredRun]) -> list[str]:
    """Return the differences between the runs, each with the groups of equal runs: `data: a, b | c`."""
    choices = dict.fromkeys(choice for run in runs for choice in run.protocol)
    changed = [choice for choice in choices if any(run.protocol.get(choice) != runs[0].protocol.get(choice) for run in runs)]
    aspects: dict[str, list[Any]] = {
        "data": [run.data for run in runs],
        f"protocol ({', '.join(OPTIONS.get(choice, choice) for choice in changed)})": [run.protocol for run in runs],
        "the categories that were evaluated": [run.category_ids for run in runs],
        "the evaluated subset": [run.conditions for run in runs],
    }
    texts = []
    for aspect, values in aspects.items():
        groups: list[tuple[Any, list[str]]] = []
        for run, value in zip(runs, values, strict=True):
            members = next((members for other, members in groups if other == value), None)
            if members is None:
                groups.append((value, [run.name]))
            else:
                members.append(run.name)
        if len(groups) > 1:
            texts.append(f"{aspect}: {' | '.join(_members(members) for _, members in groups)}")
    return texts


def _members(names: Sequence[str], max_names: int = 5) -> str:
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return f"{', '.join(names[:max_names])}{more}"
