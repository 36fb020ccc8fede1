"""Shards as the source of an evaluation: verdicts come from files, some lists at a time; objects are read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.sanity import Evaluated
from apframe.evaluation.in_memory import with_places
from apframe.evaluation.links import LINKS
from apframe.exceptions import FormatError, LargeResultWarning, ParameterError, warn
from apframe.lazily import cached_property
from apframe.protocols.inputs import Inputs
from apframe.protocols.preparation import outline_of, prepare_matching
from apframe.rows import KEY_OF
from apframe.scale.budget import in_words
from apframe.scale.layout import INPUT_ROW
from apframe.scale.running import KEPT, Engine, Matched
from apframe.scale.shard_objects import OBJECTS, Objects, unique_ids
from apframe.scale.sharded_merge import Together, put_together
from apframe.scale.verdict_files import head_of, join_arrow
from apframe.tables.ids import is_known
from apframe.tables.lazy_table import LazyTable
from apframe.threads import alone, map_lazily, pool, threads
from apframe.wording import option_name

if TYPE_CHECKING:
    from apframe.evaluation.source import Lists
    from apframe.matching.match_input import MatchInput
    from apframe.matching.verdicts import Verdicts
    from apframe.tables.conditions import Masks, Tables
    from apframe.tables.dataset import Dataset

Made = TypeVar("Made")
_EACH = 100  # bytes for each detection, including all results
_BLOCK = 1 << 19  # detections that are merged at once: larger blocks are not faster
_PIECE = 1 << 15  # detections of one shard in a block: smaller pieces take longer to open than to read
_WORK = 256  # bytes needed for each detection while merging and ranking


@dataclass(frozen=True, eq=False)
class Shards:
    """Matched shards, or some of their images and categories; see `Source`.

    Attributes
    ----------
    read_known
        returns the images and categories of all shards, with their attributes
    category_ids
        see `Source`
    engine
        the engine that matches shards
    matched
        the files of their verdicts, or, after pickle, the verdicts
    together
        the merge of the shards
    objects
        the objects, which are read again when needed
    images, lists
        flags of the selected ones among all that the shards were matched for
    """

    read_known: Callable[[], Dataset]
    category_ids: pl.Series
    engine: Engine
    matched: Matched
    together: Together
    objects: Objects
    images: np.ndarray
    lists: np.ndarray

    stored: ClassVar[Mapping[str, pl.LazyFrame]] = {}
    reads_again: ClassVar[bool] = True

    @classmethod
    def of(cls, matched: Matched, read_known: Callable[[], Dataset], categories: pl.DataFrame, engine: Engine) -> Shards:
        """Merge the shards; `categories` is their table.

        Raises
        ------
        FormatError, ShardError
            the shards cannot be merged; see `put_together`
        """
        heads = [head_of(table) for table in matched.tables()]
        ids = pl.Series("category_id", heads[0].facts["category_ids"], categories["category_id"].dtype)
        outline = outline_of(categories, ids, heads[0].images.clear(), engine.job.choice.protocol)
        together = put_together(heads, outline)
        shards = [
            replace(shard, matched=str(facts["files"])) for shard, facts in zip(matched.shards, together.facts, strict=True)
        ]
        every = (np.ones(table.height, dtype=bool) for table in (together.whole.images, together.whole.lists))
        return cls(read_known, ids, engine.again, matched, together, Objects(shards, engine.job), *every)

    def __getstate__(self) -> dict[str, Any]:
        """Support pickle and copies, with the verdicts but without anything that can be read again."""
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"matched": self.matched.held(), "engine": replace(self.engine, workers=None)}

    @cached_property
    def dataset(self) -> Dataset:
        """See `Source`; annotations are read when they are used."""
        dataset = self.read_known()
        dataset = dataset.part(dataset.images.filter(is_known(dataset.images["image_id"], self.image_ids)), pl.DataFrame())
        return dataset.with_late_annotations(lambda: self.inputs.dataset.annotations, self.heights["annotations"])

    @cached_property
    def outline(self) -> Verdicts:
        """See `Source`."""
        return self.together.whole.of_lists(self.lists).of_images(self.images)

    @property
    def image_ids(self) -> pl.Series:
        """See `Source`."""
        return self.outline.images["image_id"]

    @property
    def _is_all(self) -> bool:
        """True if all matched images and categories are selected."""
        return bool(self.images.all() and self.lists.all())

    @cached_property
    def _heights(self) -> Sequence[Mapping[str, int]]:
        """The numbers of annotations, detections and counted annotations of each shard."""
        if self._is_all:
            return [facts["heights"] for facts in self.together.facts]
        each = self.map(partial(_per_image, len(self.image_ids)))
        counts = {name: np.sum([part[name] for part in each], axis=0) for name in each[0]}
        return [{name: int(count[codes].sum()) for name, count in counts.items()} for codes in self._codes]

    @cached_property
    def _totals(self) -> Mapping[str, int]:
        """The sums of these numbers over all shards."""
        return {name: sum(each[name] for each in self._heights) for name in self._heights[0]}

    @property
    def _codes(self) -> Sequence[np.ndarray]:
        """For each shard, the numbers of its selected images among all selected images."""
        number = np.cumsum(self.images) - 1
        return [number[codes[self.images[codes]]] for codes in self.together.codes]

    @property
    def heights(self) -> dict[str, int]:
        """See `Source`."""
        ids = {"images": len(self.image_ids), "categories": len(self.category_ids)}
        return ids | {name: self._totals[name] for name in OBJECTS}

    @property
    def n_detections(self) -> int:
        """See `Source`; includes copies for other classes."""
        return self._totals["detections"]

    @property
    def has_annotations(self) -> bool:
        """See `Source`; annotations in no area range are not counted."""
        return self._totals["positives"] > 0

    @property
    def truth_mark(self) -> str | None:
        """See `Source`; unknown for objects that are matched again."""
        return None if any(shard.masks for shard in self.objects.shards) else self.together.truth_mark

    @property
    def list_sizes(self) -> np.ndarray:
        """See `Source`."""
        return self.together.counts.sum(axis=0)[self.lists]

    def verdicts(self, lists: Lists | None = None) -> Verdicts:
        """See `Source`; warns if the verdicts of all lists need more memory than allowed."""
        selected = np.flatnonzero(self.lists)
        if lists is not None:
            return self._read(selected[slice(*lists)])
        n_bytes = _EACH * self._totals["detections"]
        if n_bytes > self.engine.memory:
            what = f"the verdicts of all categories at once take about {in_words(n_bytes)}"
            warn(f"{what}; {option_name('memory')} is {in_words(self.engine.memory)}", LargeResultWarning)
        verdicts = with_places(self._read(selected))
        for name in OBJECTS:
            rows = getattr(verdicts, name)["row"]
            if len(rows) and rows.max() + 1 < len(rows):  # type: ignore[operator]
                remedy = "number the rows of all shards consecutively from 0, or leave the column out"
                raise FormatError(f"{name} of different shards have the same {INPUT_ROW}", remedy)
        return verdicts

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """See `Source`."""

        selected = np.flatnonzero(self.lists)

        def apply(block: tuple[int, int]) -> Made:
            with alone():
                return function(np.arange(*block), self._read(selected[slice(*block)]))

        with pool() as others:
            return list(map_lazily(others, apply, self._blocks()))

    def _blocks(self) -> list[tuple[int, int]]:
        """Return the first of each block of selected lists, and the first after it."""
        n_rows = min(self.engine.memory // KEPT // (_WORK * threads()), max(_BLOCK, _PIECE * len(self.matched.files)))
        ends = np.cumsum(self.list_sizes)
        cuts = np.searchsorted(ends, np.arange(0, ends[-1] if len(ends) else 0, max(1, n_rows))[1:]) + 1
        return list(pairwise(sorted({0, *cuts.tolist(), len(ends)}))) or [(0, 0)]

    def _read(self, selected: np.ndarray) -> Verdicts:
        """Read the verdicts of lists with rising numbers, on the selected images."""
        together, n = self.together, len(selected)
        first, last = (int(selected[0]), int(selected[-1])) if n else (0, -1)
        follow = last - first == n - 1  # then nothing is copied
        parts = [table.slice(first, n) if follow else table.take(selected) for table in self.matched.tables()]
        whole = replace(together.whole, lists=together.whole.lists[selected])
        verdicts = join_arrow(parts, whole, together.codes, together.first_rows)
        return verdicts if self.images.all() else verdicts.of_images(self.images)

    @cached_property
    def inputs(self) -> Inputs:
        """See `Source`.

        Raises
        ------
        ParameterError
            they need more memory than allowed
        """
        of_all = self.together.facts
        n_rows = sum(facts["heights"][name] for facts in of_all for name in OBJECTS)
        n_bytes = sum(facts["n_bytes"] for facts in of_all) * sum(self._totals[name] for name in OBJECTS) // max(1, n_rows)
        if n_bytes > self.engine.memory:
            raise ParameterError(
                f"this needs all annotations and detections in memory, about {in_words(n_bytes)}; "
                f"{in_words(self.engine.memory)} is allowed",
                "allow more, or select fewer images with `where`",
                option="memory",
            )
        parts: dict[str, list[pl.DataFrame]] = {name: [] for name in OBJECTS}
        for source in self.objects.each(f"to have them all in memory, about {in_words(n_bytes)}"):
            for name in OBJECTS:
                parts[name].append(self._of_part(source.inputs.table(name).lazy()).collect())
        tables = {name: pl.concat(frames, how="diagonal_relaxed") for name, frames in parts.items()}
        annotations, detections = (table.with_columns(unique_ids(table, name)) for name, table in tables.items())
        if self.engine.job.is_numbered(detections):
            detections = detections.sort(INPUT_ROW)
        annotations, detections = (table.drop(INPUT_ROW, strict=False) for table in (annotations, detections))
        first = self.objects.first
        dataset = first.dataset.part(self.dataset.images.sort("image_id"), annotations)
        own = self.image_ids, self.category_ids
        altered = "they were read in parts"
        return Inputs(first.protocol, dataset, annotations, detections, *own, malformed=first.malformed, altered=altered)

    @cached_property
    def rows(self) -> MatchInput:
        """See `Source`."""
        return prepare_matching(self.inputs)

    def _of_part(self, plan: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows of the selected images and categories."""
        for flags, ids in ((self.images, self.image_ids), (self.lists, self.category_ids)):
            if not flags.all():
                plan = plan.join(ids.to_frame().lazy(), on=ids.name, how="semi", maintain_order="left")
        return plan

    def table(self, name: str) -> LazyTable:
        """See `Source`; tables of objects are written to files, and read from there as far as a query needs them."""
        if name not in (*OBJECTS, *LINKS):
            return LazyTable(lambda: getattr(self.dataset, name).lazy())
        if name in LINKS:
            return LazyTable(lambda: self._pairs(name))
        empty = pl.LazyFrame(schema=self.objects.schemas[name])

        def select(*columns: Any) -> pl.DataFrame:
            each = self.objects.each(f"for columns of {name}")
            return pl.concat(
                [self._of_part(source.inputs.table(name).lazy()).select(*columns).collect() for source in each],
                how="vertical_relaxed",
            )

        def plan() -> pl.LazyFrame:
            return self._of_part(self.objects.table(name)).drop(INPUT_ROW, strict=False)

        return LazyTable(plan, lambda: empty, select)

    def _pairs(self, name: str) -> pl.LazyFrame:
        pairs = self.objects.table(name)
        for table in () if self._is_all else OBJECTS:
            key = KEY_OF[table]
            pairs = pairs.join(self._of_part(self.objects.table(table)), on=key, how="semi", maintain_order="left")
        return pairs

    def tables(self) -> Tables:
        """See `Source`; tables of objects are read when their columns are used."""
        categories = self.dataset.categories.sort("category_id")
        return {
            "images": self.dataset.images.sort("image_id"),
            "categories": categories.filter(is_known(categories["category_id"], self.category_ids)),
            **{name: self.table(name) for name in OBJECTS},
        }

    def evaluated(self) -> Evaluated:
        """See `Source`; objects are those of the first shard."""
        totals = self._totals
        return Evaluated(
            n_annotations=totals["annotations"],
            n_detections=totals["detections"],
            none_given=not totals["given"],
            n_left_out=totals["left_out"],
            nothing_matches=not totals["hits"],
            is_pooled=self.outline.is_pooled,
            detected=lambda: self.outline.lists["category_id"].filter(pl.Series(self.list_sizes > 0)),
            scores=lambda: pl.Series([score for facts in self.together.facts for score in facts["scores"]], dtype=pl.Float64),
            per_image=lambda: pl.Series(
                np.sum([each["detections"] for each in self.map(partial(_per_image, len(self.image_ids)))], axis=0)
            ),
            inputs=lambda: self.objects.first,
        )

    def part(self, masks: Masks) -> Shards:
        """See `Source`; the shards are matched again unless the part consists of whole images and categories."""
        effective = {table: of for table, of in masks.items() if of and not all(mask.all() for mask in of.values())}
        ids = self.category_ids
        ids = ids.filter(effective["categories"]["categories"]) if "categories" in effective else ids
        if effective.keys() <= {"images", "categories"} and not (self.outline.is_pooled and "categories" in effective):
            images, lists = _among(self.images, effective.get("images")), _among(self.lists, effective.get("categories"))
            return replace(self, images=images, lists=lists, category_ids=ids)
        masks_of_shards = self._split(effective)
        self.objects.say("and matched again for each part")
        shards = [
            replace(shard, masks=(*shard.masks, *own)) for shard, own in zip(self.objects.shards, masks_of_shards, strict=True)
        ]
        return Shards.of(self.engine.match(shards), self.read_known, self.dataset.core("categories"), self.engine)

    def _split(self, masks: Masks) -> Iterator[list[dict[str, dict[str, pl.Series]]]]:
        """Yield for each shard the masks that make this part, if it is one, and then the masks of its own rows among these."""
        bounds = {name: np.cumsum([0, *(each[name] for each in self._heights)]) for name in OBJECTS}
        for number, (codes, of_part) in enumerate(zip(self.together.codes, self._codes, strict=True)):
            part: dict[str, dict[str, pl.Series]] = {}
            if not self.images.all():
                part["images"] = {"images": pl.Series(self.images[codes])}
            if not self.lists.all():
                part["categories"] = {"categories": pl.Series(self.lists)}
            rows = {name: slice(*ends[number : number + 2].tolist()) for name, ends in bounds.items()}
            own = {
                table: {
                    owner: mask.gather(of_part) if owner == "images" else mask[rows.get(owner, slice(None))]
                    for owner, mask in of.items()
                }
                for table, of in masks.items()
            }
            yield [part, own] if part else [own]


def _among(selected: np.ndarray, further: Mapping[str, pl.Series] | None) -> np.ndarray:
    """Combine flags with the only mask in `further`, which has an entry for each flagged item."""
    flags = selected.copy()
    for mask in (further or {}).values():
        flags[selected] = mask.to_numpy()
    return flags


def _per_image(n_images: int, _: np.ndarray, verdicts: Verdicts) -> dict[str, np.ndarray]:
    """Count the annotations, detections and counted annotations of each image."""
    tables = {name: getattr(verdicts, name) for name in OBJECTS}
    tables["positives"] = verdicts.annotations.filter(pl.col("counts") > 0)
    return {name: np.bincount(table["image"].to_numpy(), minlength=n_images) for name, table in tables.items()}
