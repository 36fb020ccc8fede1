"""Every file of pins by its name: how it is computed, compared and written."""

from __future__ import annotations

from collections.abc import Callable
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import apframe as apf
from tests.pins.messages import messages
from tests.pins.numbers import SCHEMA, arrays, differences, lists, protocol
from tests.pins.surface import TEXTS

HERE = Path(__file__).parent
FILES: dict[str, Callable[[], Any]] = {
    **{f"{text.__name__}.txt": text for text in (*TEXTS, messages, arrays)},
    **{f"protocols/{name}.parquet": partial(protocol, name) for name in apf.PUBLISHED},
    "lists.parquet": lists,
}


def compare(name: str, folder: Path = HERE) -> tuple[Any, list[str]]:
    """What is computed, and how it differs from the file: none of it if it is the same."""
    path, computed = folder / name, FILES[name]()
    if path.suffix == ".parquet":
        return computed, [*differences(computed, pl.read_parquet(path) if path.is_file() else pl.DataFrame(schema=SCHEMA))]
    lines = list(computed)
    return lines, [
        *unified_diff(path.read_text().splitlines() if path.is_file() else [], lines, "stored", "computed", "", "", 0, "")
    ]


def rewrite(name: str, folder: Path = HERE) -> bool:
    """Write the file if it differs; whether it did."""
    computed, different = compare(name, folder)
    path = folder / name
    if different:
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".parquet":
            computed.write_parquet(path, compression="zstd")
        else:
            path.write_text("\n".join(computed) + "\n")
    return bool(different)
