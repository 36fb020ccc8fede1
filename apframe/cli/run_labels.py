"""The name and the tags of a stored run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apframe.exceptions import ParameterError
from apframe.store.parquet import labels, refuse_foreign


def labels_of(name: str | None, tags: Sequence[str], out: Path, kind: str) -> dict[str, Any]:
    """Return the arguments of `write_parquet` from --name and --tag; an error if the folder contains something else."""
    values: dict[str, Any] = {}
    for tag in tags:
        key, equals, text = tag.partition("=")
        if not (key and equals) or key in values:
            raise ParameterError(f"--tag takes NAME=VALUE, each NAME once, not {tag!r}")
        values[key] = _value(text)
    labelled = labels(name, values)
    refuse_foreign(out, kind)
    return labelled


def _value(text: str) -> str | float | bool:
    """Convert the text to a flag (true or false) or a number if it is one; otherwise return the text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text) else text
