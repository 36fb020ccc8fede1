"""An evaluation of shards: what needs only verdicts works from them, what needs the objects reads the shards again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.implausible import Evaluated
from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.pipeline import Pipeline
from apframe.evaluation.slices.measure import finish, shape_of, sum_lists
from apframe.evaluation.slices.slices import Groups, mask_of
from apframe.exceptions import FormatError, LargeResultWarning, warn
from apframe.lazily import cached_property
from apframe.metrics.cells import Cells
from apframe.protocols.metrics_table import arrays_of, compute_columns
from apframe.protocols.preparation import outline_of
from apframe.scale.budget import in_words
from apframe.scale.inputs import ShardedInputs
from apframe.scale.layout import INPUT_ROW
from apframe.scale.objects import OBJECTS
from apframe.scale.spool import LINKS, Spool
from apframe.scale.together import heights_of
from apframe.store.results import LazyTable
from apframe.tables.conditions import refuse_nothing
from apframe.wording import counted, spelled

if TYPE_CHECKING:
    from apframe.evaluation.slices.slices import Slicing
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.headlines import Headline
    from apframe.protocols.protocol import Protocol
    from apframe.scale.store import Store
    from apframe.tables.conditions import Masks


_EACH = 100  # bytes for each detection, with what is made of all of them


class ShardedPipeline(Pipeline):
    """The steps from verdicts to metrics, some lists at a time; what needs the objects reads them again."""

    inputs: ShardedInputs

    def __init__(self, store: Store, inputs: ShardedInputs) -> None:
        super().__init__(inputs, self._read)
        self.store = store

    def _read(self) -> Verdicts:
        """All verdicts at once, whose rows are numbers of the objects as `Objects.load` has them."""
        n_bytes, memory = _EACH * self.inputs.n_detections, self.inputs.objects.memory
        if n_bytes > memory:
            what = f"the verdicts of all categories at once take about {in_words(n_bytes)}"
            warn(f"{what}; {spelled('memory')} is {in_words(memory)}", LargeResultWarning)
        verdicts = self.store.read()
        tables = {}
        for name in OBJECTS:
            table = getattr(verdicts, name)
            numbers, row = np.unique(table["row"].to_numpy(), return_inverse=True)
            if len(numbers) < table.height:
                remedy = "number the rows of all shards through, from 0, or leave the column out"
                raise FormatError(f"{name} of different shards have the same {INPUT_ROW}", remedy)
            if len(numbers) and numbers[-1] >= len(numbers):  # of a part, or numbers in the whole input
                table = table.with_columns(pl.Series("row", row, dtype=pl.UInt32))
            tables[name] = table
        return replace(verdicts, **tables)

    @property
    def outline(self) -> Verdicts:
        """See `Pipeline.outline`: without rows."""
        return self.store.outline

    @property
    def n_matched(self) -> int:
        """See `Pipeline`."""
        return self.inputs.objects.total("detections")

    @property
    def list_sizes(self) -> np.ndarray:
        """See `Pipeline`."""
        sizes = self.store.together.counts.sum(axis=0)
        return sizes if self.store.lists is None else sizes[self.store.lists]

    def verdicts_of(self, begin: int, end: int) -> Verdicts:
        """See `Pipeline`; only these are read."""
        number = np.arange(self.outline.lists.height)
        return self.store.of(None, (begin <= number) & (number < end)).read()

    def cells_of(self, begin: int, end: int) -> Cells:
        """See `Pipeline`."""
        return Cells.of(self.verdicts_of(begin, end))

    def columns(self, *, headlines_only: bool) -> dict[str, np.ndarray]:
        """See `Pipeline.columns`."""
        parts = self.store.map(partial(_columns, protocol=self.protocol, headlines_only=headlines_only))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def arrays(self, *, headlines_only: bool = False) -> dict[str, np.ndarray]:
        """See `Pipeline.arrays`."""
        parts = self.store.map(partial(_arrays, protocol=self.protocol, headlines_only=headlines_only))
        axes = {"precision": 2, "recall": 1, "scores": 2}  # of the lists
        return {name: np.concatenate([part[name] for part in parts], axis=axis) for name, axis in axes.items()}

    def evaluated(self) -> Evaluated:
        """See `Pipeline.evaluated`; objects are those of the first shard."""
        ids, objects = self.outline.lists["category_id"], self.inputs.objects
        return Evaluated(
            n_annotations=objects.total("annotations"),
            n_detections=objects.total("detections"),
            none_given=not objects.total("given"),
            n_left_out=objects.total("left_out"),
            nothing_matches=not objects.total("hits"),
            is_pooled=self.outline.is_pooled,
            detected=lambda: ids.filter(pl.Series(self.store.together.counts.sum(axis=0) > 0)),
            scores=lambda: self.store.together.scores,
            per_image=self._per_image,
            inputs=lambda: self.inputs.first,
        )

    def _per_image(self) -> pl.Series:
        """How many of its detections count, for each image."""
        each = self.store.map(partial(_per_image, n_images=self.outline.images.height))
        return pl.Series(np.sum([part["detections"] for part in each], axis=0))

    def slices(self, slicing: Slicing) -> dict[str, np.ndarray]:
        """See `Pipeline.slices`; for each group of detections and objects, the shards are matched again."""
        if 0 in shape_of(slicing):
            return finish({}, self.protocol, slicing)
        objects = self.inputs.objects
        if not slicing.matches_again(objects.total("detections")):
            return finish(self._sums(self.store, slicing), self.protocol, slicing)
        groups = list(product(range(len(slicing.detections)), range(len(slicing.objects))))
        objects.say(f"and matched for each of {counted(len(groups), 'slice')}")
        one = replace(slicing, detections=Groups(pl.DataFrame({"": [0]}), pl.DataFrame()))
        found = []
        for part, group in groups:
            masks = {
                "detections": mask_of(slicing.detections, part, "detections", objects.total("detections")),
                "annotations": mask_of(slicing.objects, group, "annotations", objects.total("annotations")),
            }
            found.append(self._sums(self.part_of(masks)[0], one))
        shape = shape_of(slicing)
        sums = {}
        for name in found[0]:  # each of groups of images, one group of objects, groups of categories
            stacked = np.stack([each[name][:, 0] for each in found], axis=1)
            sums[name] = stacked.reshape(shape[0], shape[1] * shape[2], shape[3])
        return finish(sums, self.protocol, slicing)

    def _sums(self, store: Store, slicing: Slicing) -> dict[str, np.ndarray]:
        """What `finish` takes, for groups of images and categories."""
        parts = store.map(partial(sum_lists, protocol=self.protocol, slicing=slicing))
        return {name: np.sum([part[name] for part in parts], axis=0) for name in parts[0]}

    def part_of(self, masks: Masks) -> tuple[Store, ShardedInputs]:
        """The verdicts of a part, and what they are of: matched again unless it is of whole images and categories."""
        inputs, pooled = self.inputs, self.outline.is_pooled and "categories" in masks
        taken = {table: of for table, of in masks.items() if of and not all(mask.all() for mask in of.values())}
        category_ids = inputs.category_ids
        if "categories" in taken:
            category_ids = category_ids.filter(taken["categories"]["categories"])
        if taken.keys() <= {"images", "categories"} and not pooled:
            flags = {table: taken[table][table].to_numpy() for table in taken}
            store = self.store.of(flags.get("images"), flags.get("categories"))
            objects = inputs.objects.part(taken, partial(_heights, store))
        else:
            objects = inputs.objects.part(taken, inputs.objects.count)
            matched, _, _ = objects.match(objects.shards)
            categories, no_images = inputs.dataset.core("categories"), inputs.image_ids.clear()
            store = matched.store(outline_of(categories, category_ids, no_images, self.protocol))
            said = [head.said for head in matched.heads]
            count = partial(heights_of, said)
            objects = replace(objects, codes=store.together.codes, count=count, truth_mark=None)
        image_ids = store.outline.images["image_id"]
        return store, ShardedInputs(inputs.read_known, objects, image_ids, category_ids, inputs.protocol)


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
        *,
        notes: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        super().__init__(lambda: inputs, protocol, notes=notes, name=name)
        self._store = store

    @cached_property
    def _pipeline(self) -> ShardedPipeline:
        inputs: Any = self._inputs
        return ShardedPipeline(self._store, inputs)

    @cached_property
    def _spool(self) -> Spool:
        return Spool(self._pipeline.inputs.objects)

    def _mean_of_table(self, line: Headline) -> None:
        """Nothing: such a table reads the shards again."""

    @property
    def pairs(self) -> pl.DataFrame:
        """Pairs that reach the lowest threshold, computed shard by shard; see `Evaluation.pairs`."""
        return self._spool.plan("pairs").collect()

    @property
    def assignments(self) -> pl.DataFrame:
        """Who is matched with whom, computed shard by shard; see `Evaluation.assignments`."""
        return self._spool.plan("assignments").collect()

    def _input_tables(self) -> dict[str, LazyTable]:
        known, first = self._pipeline.inputs.known, self._pipeline.inputs.first.tables()
        tables = {name: LazyTable(getattr(known, name).lazy) for name in ("images", "categories")}
        for name in OBJECTS:
            empty = first[name].clear().drop(INPUT_ROW, strict=False)
            tables[name] = LazyTable(partial(self._spooled, name), empty.lazy)
        return tables

    def _spooled(self, name: str) -> pl.LazyFrame:
        return self._spool.plan(name)

    def _to_store(self) -> tuple[dict[str, pl.DataFrame | pl.LazyFrame], dict[str, pl.DataFrame | pl.LazyFrame]]:
        inputs = {name: table.plan() for name, table in self._input_tables().items()}
        return dict(inputs), {name: self._spool.plan(name) for name in LINKS}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_spool"}

    def _subset(self, masks: Masks) -> ShardedEvaluation:
        refuse_nothing("where", masks)
        part = ShardedEvaluation(*self._pipeline.part_of(masks), self.protocol, notes=self.notes, name=self._label)
        part._may_warn = False
        return part


def _heights(store: Store, codes: Sequence[np.ndarray]) -> list[dict[str, int]]:
    """How many annotations, positives and detections of each shard are among the verdicts, by the numbers of its images."""
    each = store.map(partial(_per_image, n_images=store.outline.images.height))
    counts = {name: np.sum([part[name] for part in each], axis=0) for name in (*OBJECTS, "positives")}
    return [{name: int(count[own].sum()) for name, count in counts.items()} for own in codes]


def _per_image(_: np.ndarray, verdicts: Verdicts, *, n_images: int) -> dict[str, np.ndarray]:
    tables = {name: getattr(verdicts, name) for name in OBJECTS}
    tables["positives"] = verdicts.annotations.filter(pl.col("counts") > 0)
    return {name: np.bincount(table["image"].to_numpy(), minlength=n_images) for name, table in tables.items()}


def _columns(_: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, headlines_only: bool) -> dict[str, np.ndarray]:
    return compute_columns(Cells.of(verdicts), protocol, headlines_only=headlines_only)


def _arrays(_: np.ndarray, verdicts: Verdicts, *, protocol: Protocol, headlines_only: bool) -> dict[str, np.ndarray]:
    return arrays_of(Cells.of(verdicts), protocol, headlines_only=headlines_only)
