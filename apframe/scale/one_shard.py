"""One shard matched on its own: what is done with each is a frozen value, which can be sent to another process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.detection.options import Choice
from apframe.detection.pipeline import Pipeline
from apframe.detection.prepare.inputs import Inputs
from apframe.exceptions import ApframeError, ParameterError, ShardError
from apframe.scale.layout import INPUT_ROW
from apframe.scale.shards import Shard
from apframe.scale.verdict_tables import to_arrow
from apframe.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Job:
    """How each shard is evaluated: the options, and the version of apframe."""

    choice: Choice
    version: str

    def key(self, shard: Shard) -> str:
        """A name for the result of `match`: that of other data, other options or another version is another one."""
        choice = self.choice
        options = [choice.protocol.as_dict(), choice.categories, choice.invalid, choice.drop_unknown_images, choice.reading]
        said = json.dumps([shard.mark(), self.version, *options], default=repr)
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def match(self, shard: Shard) -> pa.Table:
        """The verdicts of the shard, as `to_arrow` makes them, with what else is to be known of it.

        Raises
        ------
        ShardError
            the shard is damaged, or has rows that cannot be evaluated
        """
        with collecting() as caught:
            inputs, notes, schemas = self._read(shard)
        said = {
            "shard": shard.name,
            "schemas": schemas,
            "notes": list(notes),
            "warnings": caught,
        }
        return self._verdicts(inputs, said)

    def inputs(self, shard: Shard) -> Inputs:
        """What is evaluated of the shard, read once more: what there is to warn of was said the first time."""
        with collecting():
            return self._read(shard)[0]

    def is_numbered(self, detections: pl.DataFrame) -> bool:
        """Whether detections are ordered by their numbers in the whole input, and not by their shards."""
        return self.choice.protocol.ties == "input" and INPUT_ROW in detections.columns

    def _read(self, shard: Shard) -> tuple[Inputs, Sequence[str], dict[str, Any]]:
        try:
            return shard.inputs(self.choice)
        except ParameterError:
            raise  # an option that is wrong for every shard
        except ApframeError as error:
            named = ShardError(f"shard {shard.name}: {error}")
            named.shard = shard.name
            raise named from error

    def _verdicts(self, inputs: Inputs, said: dict[str, Any]) -> pa.Table:
        """The verdicts; where equal scores are ordered by their place in the input, with their number there, if it is known."""
        verdicts = Pipeline(inputs, self.choice.protocol).verdicts
        is_numbered = self.is_numbered(inputs.detections)
        if is_numbered:
            number = inputs.detections[INPUT_ROW].gather(verdicts.detections["row"])
            verdicts = replace(verdicts, detections=verdicts.detections.with_columns(row=number))
        tables = {"annotations": inputs.annotations, "detections": inputs.detections}
        known = {
            "is_numbered": is_numbered,
            "heights": {name: frame.height for name, frame in tables.items()} | {"hits": verdicts.hits.height},
            "truth": _hash_of(inputs.annotations),
            "n_bytes": sum(frame.estimated_size() for frame in tables.values()),
            "categories": inputs.dataset.core("categories").sort("category_id").select("category_id", "name").rows(),
        }
        return to_arrow(verdicts, said | known)


def _hash_of(annotations: pl.DataFrame) -> int | None:
    """A number that is the same for the same rows in any order, and adds up over shards; None where columns are nested."""
    columns = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
    plain = annotations.select(columns)
    if any(dtype.is_nested() for dtype in plain.dtypes):
        return None
    return int(plain.hash_rows(seed=0).to_numpy().sum(dtype=np.uint64))
