"""Shards of any partition of the images: in any order, some of them empty, as Parquet or Arrow files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
from hypothesis import strategies as st

import apframe as apf

TABLES = ("images", "annotations", "detections")


@dataclass(frozen=True)
class Cut:
    """How a data set is cut.

    Attributes
    ----------
    n_shards
        how many there are, those without images too
    seed
        of the partition, and of the order of the rows
    ending
        of the files
    numbered
        whether rows carry their number in the whole input, as `write_shards` writes it; then they come in any order
    listed
        whether there is a shards.json
    """

    n_shards: int
    seed: int = 0
    ending: str = "parquet"
    numbered: bool = True
    listed: bool = False

    def write(self, truth: Any, found: Any, folder: Path) -> dict[str, pl.DataFrame]:
        """Write the shards; the tables as they are one below the other, in the order of the names of the shards."""
        whole = tables_of(truth, found)
        random = Random(self.seed)
        ids = whole["images"]["image_id"].to_list()
        shard_of = {image_id: random.randrange(self.n_shards) for image_id in ids}
        folder.mkdir(parents=True)
        self._write(whole.pop("categories"), folder / "categories")
        written: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
        empty: dict[str, bytes] = {}
        for number in range(self.n_shards):
            part = folder / f"{number:05d}"
            part.mkdir()
            own = pl.Series([each for each in ids if shard_of[each] == number], dtype=whole["images"]["image_id"].dtype)
            for name, table in whole.items():
                rows = table.filter(pl.col("image_id").is_in(own.implode()))
                if self.numbered:
                    rows = rows.sample(fraction=1, shuffle=True, seed=self.seed)
                elif name != "images":
                    rows = rows.drop("input_row")
                written[name].append(rows)
                path = part / f"{name}.{self.ending}"
                if rows.is_empty() and name in empty:
                    path.write_bytes(empty[name])
                    continue
                self._write(rows, path.with_suffix(""))
                if rows.is_empty():
                    empty[name] = path.read_bytes()
        if self.listed:
            write_listing(
                folder, {f"{number:05d}": [each[number].height for each in written.values()] for number in range(self.n_shards)}
            )
        return {name: pl.concat(each) for name, each in written.items()}

    def _write(self, rows: pl.DataFrame, path: Path) -> None:
        (rows.write_ipc if self.ending == "arrow" else rows.write_parquet)(path.with_suffix(f".{self.ending}"))


cuts = st.builds(
    Cut,
    n_shards=st.sampled_from([1, 2, 2, 7, 7, 64]),
    seed=st.integers(0, 10**6),
    ending=st.sampled_from(["parquet", "arrow"]),
    listed=st.booleans(),
)


def tables_of(truth: Any, found: Any) -> dict[str, pl.DataFrame]:
    """The canonical tables, with the numbers of the rows, as `write_shards` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        apf.write_shards(truth, found, Path(folder) / "shards", n=1)
        tables = {
            name: pl.read_parquet(Path(folder) / "shards" / "00000" / f"{name}.parquet", memory_map=False) for name in TABLES
        }
        return tables | {"categories": pl.read_parquet(Path(folder) / "shards" / "categories.parquet", memory_map=False)}


def write_listing(folder: Path, counts: Mapping[str, list[int]]) -> None:
    """Write shards.json: the numbers of images, annotations and detections by the name of the shard."""
    from apframe.scale.layout import LAYOUT, write_layout

    write_layout(pl.DataFrame([(name, *each) for name, each in counts.items()], LAYOUT, orient="row"), folder)
