"""An evaluation of shards: what needs only verdicts works from them, what needs the objects reads the shards again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.detection.diagnose.implausible import Evaluated
from apframe.detection.evaluation import Evaluation
from apframe.detection.pipeline import Pipeline
from apframe.detection.slices.measure import finish, shape_of, sum_lists
from apframe.exceptions import ParameterError
from apframe.lazily import cached_property
from apframe.ranking.arrays import compute_arrays
from apframe.ranking.definitions import Levels
from apframe.ranking.metrics import compute_metrics
from apframe.ranking.ranking import rank
from apframe.scale.inputs import ShardedInputs

if TYPE_CHECKING:
    from apframe.detection.slices.slices import Slicing
    from apframe.matching.verdicts import Verdicts
    from apframe.rule_sets.protocol import Protocol
    from apframe.scale.store import Store


class ShardedPipeline(Pipeline):
    """The steps from verdicts to metrics, some lists at a time; what needs the objects reads them again."""

    inputs: ShardedInputs

    def __init__(self, store: Store, inputs: ShardedInputs, protocol: Protocol) -> None:
        super().__init__(inputs, protocol, store.read)
        self.store = store

    @property
    def outline(self) -> Verdicts:
        """See `Pipeline.outline`: without rows."""
        return self.store.outline

    def compute(self, ap_at: Sequence[int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """See `Pipeline.compute`."""
        parts = self.store.map(partial(_compute, protocol=self.protocol, ap_at=tuple(ap_at)))
        values = {name: np.concatenate([part[name] for part, _ in parts], axis=1) for name in parts[0][0]}
        return values, np.concatenate([positives for _, positives in parts])

    def arrays(self, *, headlines_only: bool = False) -> dict[str, np.ndarray]:
        """See `Pipeline.arrays`."""
        n_limits = len(self.outline.limits)
        limits = range(n_limits - 1 if headlines_only else 0, n_limits)
        parts = self.store.map(partial(_arrays, protocol=self.protocol, limits=limits))
        axes = {"precision": 2, "recall": 1, "scores": 2}  # of the lists
        return {name: np.concatenate([part[name] for part in parts], axis=axis) for name, axis in axes.items()}

    def evaluated(self) -> Evaluated:
        """See `Pipeline.evaluated`; objects are those of the first shard."""
        ids, objects = self.outline.lists["category_id"], self.inputs.objects
        return Evaluated(
            n_annotations=objects.total("annotations"),
            n_detections=objects.total("detections"),
            nothing_matches=not objects.total("hits"),
            detected=lambda: ids.filter(pl.Series(self.store.together.counts.sum(axis=0) > 0)),
            inputs=lambda: self.inputs.first,
        )

    def slices(self, slicing: Slicing) -> dict[str, np.ndarray]:
        """See `Pipeline.slices`."""
        if 0 in shape_of(slicing):
            return finish({}, self.protocol, slicing)
        parts = self.store.map(partial(sum_lists, protocol=self.protocol, slicing=slicing))
        return finish({name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}, self.protocol, slicing)


class ShardedEvaluation(Evaluation):
    """The result of `evaluate_shards`: an `Evaluation` whose objects are not in memory.

    Everything that needs only verdicts works from them: metrics, `by` and `where` on images and categories, `intervals`,
    `compare`. What needs the objects reads the shards again, and a SecondPassWarning says so.
    """

    def __init__(
        self,
        store: Store,
        inputs: ShardedInputs,
        protocol: Protocol,
        conditions: Sequence[str] = (),
        notes: Sequence[str] = (),
        *,
        name: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(lambda: inputs, protocol, conditions=conditions, notes=notes, name=name, source=source)
        self._store = store

    @cached_property
    def _pipeline(self) -> ShardedPipeline:
        inputs: Any = self._inputs
        return ShardedPipeline(self._store, inputs, self.protocol)


def _compute(_: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, ap_at: Sequence[int]) -> Any:
    ranking = rank(verdicts, protocol.definition, protocol.addend)
    return compute_metrics(ranking, ap_at), ranking.positives


def _arrays(_: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, limits: Sequence[int]) -> dict[str, np.ndarray]:
    definition = protocol.definition
    if not isinstance(definition, Levels):
        raise ParameterError(f"arrays: {definition.name} has no recall levels, which the reference's arrays are over")
    ranking = rank(verdicts, definition, protocol.addend)
    return compute_arrays(ranking, definition, verdicts.detections["score"].to_numpy(), limits)
