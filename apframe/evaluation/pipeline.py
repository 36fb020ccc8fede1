"""The steps of one evaluation from verdicts to numbers; each step is computed once, when it is needed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.exceptions import warn_again
from apframe.lazily import cached_property
from apframe.matching.match import match
from apframe.matching.verdicts import range_names, threshold_names
from apframe.metrics.cells import Cells, columns_of
from apframe.protocols.list_thresholds import thresholds_of
from apframe.protocols.metrics_table import arrays_of, compute_columns, tabulate_columns
from apframe.protocols.refused import refuse_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apframe.evaluation.slices.slices import Slicing
    from apframe.evaluation.source import Source
    from apframe.matching.match_input import MatchInput
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol

Made = TypeVar("Made")


class Pipeline:
    """The steps from the verdicts of a source to metrics, by the rules of a protocol."""

    def __init__(self, source: Source, protocol: Protocol) -> None:
        self.source, self.protocol, self.matcher = source, protocol, protocol.matcher
        self._last: dict[Callable[..., Any], tuple[Any, Any]] = {}

    @property
    def inputs(self) -> Inputs:
        """The input of an evaluation whose tables are in memory."""
        return self.source.inputs

    @property
    def rows(self) -> MatchInput:
        """The rows to match."""
        return self.source.rows

    @cached_property
    def verdicts(self) -> Verdicts:
        """The verdicts of matching."""
        return self.source.verdicts()

    @property
    def outline(self) -> Verdicts:
        """The verdicts without their rows; nothing is matched."""
        return self.source.outline

    def last(self, function: Callable[..., Made], *options: Any) -> Made:
        """Call a function with this pipeline and options, and keep its latest result."""
        if function not in self._last or self._last[function][0] != options:
            self._last[function] = options, function(self, *options)
        result: Made = self._last[function][1]
        return result

    @cached_property
    def cells(self) -> Cells:
        """The verdicts as arrays, which metrics read."""
        return Cells.of(self.verdicts)

    def cells_of(self, begin: int, end: int) -> Cells:
        """Return the cells of the lists with numbers begin .. end - 1."""
        return self.cells if end - begin == self.outline.lists.height else Cells.of(self.source.verdicts((begin, end)))

    def slices(self, slicing: Slicing) -> dict[str, np.ndarray]:
        """Return the headline numbers and the support of every slice by name.

        They are arrays over the groups of images, detections, objects and categories.
        """
        from apframe.evaluation.slices.measure import finish, measure, shape_of, sum_lists
        from apframe.evaluation.slices.slices import parts_of_objects

        if not self.source.reads_again:
            return measure(self.verdicts, lambda: self.rows, self.protocol, slicing)
        if 0 in shape_of(slicing):
            return finish({}, self.protocol, slicing)
        sums_of_groups = []  # for each group of objects: arrays over groups of images, this one, and groups of categories
        with collecting() as warnings:
            for masks, one in parts_of_objects(slicing, self.source.heights):
                source = self.source.part(masks) if masks else self.source
                sums = source.map(partial(sum_lists, protocol=self.protocol, slicing=one))
                sums_of_groups.append({name: np.sum([each[name] for each in sums], axis=0) for name in sums[0]})
        warn_again(dict.fromkeys(warnings))
        joined = {name: np.concatenate([each[name] for each in sums_of_groups], axis=1) for name in sums_of_groups[0]}
        return finish(joined, self.protocol, slicing)

    def _of_lists(self, function: Callable[[Cells], dict[str, np.ndarray]], axes: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Call a function with the cells of all lists, and join its arrays if the lists are read block by block."""
        if not self.source.reads_again:
            return function(self.cells)
        parts = self.source.map(lambda _, verdicts: function(Cells.of(verdicts)))
        return {name: np.concatenate([part[name] for part in parts], axes.get(name, 0)) for name in parts[0]}

    def columns(self, *, headlines_only: bool) -> dict[str, np.ndarray]:
        """See `compute_columns`."""
        return self._of_lists(partial(compute_columns, protocol=self.protocol, headlines_only=headlines_only), {})

    def metrics(self, *, headlines_only: bool = False) -> pl.DataFrame:
        """See `Evaluation.metrics`; with `headlines_only`, `ap` is null at smaller max_detections."""
        return tabulate_columns(self.columns(headlines_only=headlines_only), self.outline, self.protocol)

    def arrays(self, *, headlines_only: bool = False) -> dict[str, np.ndarray]:
        """See `Evaluation.arrays`; with `headlines_only`, `precision` is -1 at smaller max_detections."""
        refuse_scores(self.protocol, "arrays of precision")
        axes = {"precision": 2, "recall": 1, "scores": 2}  # the axes of the lists
        return self._of_lists(partial(arrays_of, protocol=self.protocol, headlines_only=headlines_only), axes)

    def matches(self, threshold: int | None = None, area: int | None = None) -> pl.LazyFrame:
        """Return the matches table as a plan, for all thresholds and area ranges unless their numbers are given."""
        from apframe.matching.matches_table import expand_matches

        return expand_matches(self.verdicts, self.inputs.detections, self.inputs.annotations, threshold, area)

    def curves(self, threshold: int | None = None, area: int | None = None) -> pl.LazyFrame:
        """Return the curves table as a plan, with arguments as in `matches`; pooled categories have one curve."""
        from apframe.evaluation.curves import compute_curves, curves_of_thresholds

        refuse_scores(self.protocol, "curves")
        if self.matcher.at_score_cutoffs:
            return curves_of_thresholds(self.thresholds(threshold, area), self.inputs.detections.schema["detection_id"])
        return compute_curves(self._pooled(self.matches(threshold, area)), self.protocol.addend)

    def thresholds(
        self, threshold: int | None = None, area: int | None = None, *, beta: float = 1, pooled: bool = False
    ) -> pl.LazyFrame:
        """Return the thresholds table for the numbers of a threshold and an area range; otherwise a plan to filter by these.

        Columns: category_id (null for all categories together), area_range, iou_threshold, and those of `sweep_thresholds`.
        `pooled` counts all categories together.
        """
        from apframe.matching.matches_table import every

        refuse_scores(self.protocol, "score thresholds")
        compute = partial(self._thresholds_at, beta=beta, pooled=pooled)
        if threshold is not None and area is not None:
            return compute([(threshold, area)])[0].lazy()
        at = ["iou_threshold", "area_range"]
        shown = compute([(0, 0)])[0].drop(at).schema

        def compute_rows(cells: pl.Series) -> pl.Series:
            tables = compute(cells.struct.unnest().rows())
            rows = [table.drop(at).to_struct() for table in tables]
            # a dtype is only given if it cannot be inferred: with a dtype, every value is converted separately
            return pl.Series(rows) if rows else pl.Series(dtype=pl.List(pl.Struct(shown)))

        rows = pl.struct("first", "slice").map_batches(
            compute_rows, return_dtype=pl.List(pl.Struct(shown)), is_elementwise=True
        )
        grid = every(self.verdicts, threshold, area).with_columns(rows=rows)
        fields = {name: pl.col("rows").struct.field(name) for name in shown}
        plan = grid.filter(pl.col("rows").list.len() > 0).explode("rows")
        return plan.select(fields.pop("category_id"), *reversed(at), *fields.values())

    def _thresholds_at(self, cells: Sequence[tuple[int, int]], *, beta: float = 1, pooled: bool = False) -> list[pl.DataFrame]:
        """Compute the thresholds tables of cells, which are pairs of numbers: of a threshold and of an area range."""
        from apframe.evaluation.thresholds.sweep import changes_of_verdicts, sweep_thresholds
        from apframe.matching.cutoff_hits import hits_by_score
        from apframe.metrics.count_changes import changes_of_hits

        verdicts, hits = self.verdicts, None
        if self.matcher.at_score_cutoffs:
            hits = self.cells.at_cut_offs
        elif cells and not self.matcher.cutting_is_filtering:
            begin, end = min(t for t, _ in cells), max(t for t, _ in cells) + 1
            rows = replace(self.rows, cuts=self.rows.cuts[begin:end])
            by_score = hits_by_score(rows, verdicts.limits[-1]).with_columns(
                pl.col("first", "last") + begin
            )  # numbers among all thresholds
            hits = columns_of(by_score)
        names, areas = threshold_names(verdicts.thresholds), range_names(verdicts.ranges)
        max_similarity, tables = self.protocol.similarity.bounds[1], []
        for t, k in cells:
            changes = (
                changes_of_verdicts(verdicts, t, k, max_similarity)
                if hits is None
                else changes_of_hits(self.cells, hits, t, k, max_similarity, self.rows.score_cutoffs)
            )
            reach = max_similarity - thresholds_of(self.source, self.protocol, verdicts.thresholds[t]).round(10)
            if pooled:
                changes, reach = changes.pooled(), np.where(np.ptp(reach) == 0, reach[:1], np.nan)
            table = sweep_thresholds(changes, reach, verdicts.images.height, beta)
            number = table["list"].clear(table.height) if pooled else table["list"]
            category = verdicts.lists["category_id"].gather(number)
            where = [category, areas.gather([k] * table.height), names.gather([t] * table.height)]
            tables.append(table.drop("list").select(*where, pl.all()))
        return tables

    def positives(self, threshold: int, area: int, *, pooled: bool = False) -> pl.DataFrame:
        """Count the annotations of each category that count: category_id, area_range, iou_threshold, n_annotations.

        There is a row for each category, including those without detections. `pooled` gives one row, for all categories.
        """
        verdicts = self.verdicts
        counts = verdicts.lists.select("category_id", n_annotations=pl.Series(verdicts.positives[:, area], dtype=pl.Int64))
        if pooled:
            sums = counts.select(pl.lit(None, counts.schema["category_id"]).alias("category_id"), pl.sum("n_annotations"))
            counts = sums.head(1)
        names, areas = threshold_names(verdicts.thresholds), range_names(verdicts.ranges)
        n = counts.height
        return counts.select("category_id", areas.gather([area] * n), names.gather([threshold] * n), "n_annotations")

    def per_image(self, threshold: int | None = None, area: int | None = None, min_score: float | None = None) -> pl.LazyFrame:
        """Return the table of images as a plan, for detections from a score upwards; other arguments as in `matches`."""
        from apframe.evaluation.diagnose.per_image import count_per_image
        from apframe.matching.matches_table import every, expand_matches

        verdicts = self.verdicts if min_score is None else self.at_score(min_score)
        matches = expand_matches(verdicts, self.inputs.detections, self.inputs.annotations, threshold, area)
        grid = every(verdicts, threshold, area).select("area_range", "iou_threshold")
        return count_per_image(matches, grid.join(verdicts.images.lazy(), how="cross"))

    def at_score(self, min_score: float | pl.Series) -> Verdicts:
        """Return the verdicts of detections with at least this score, or one score for each list, at the largest limit."""
        refuse_scores(self.protocol, "score thresholds")
        detections = self.verdicts.detections
        cut = min_score.gather(detections["list"]) if isinstance(min_score, pl.Series) else min_score
        low = (detections["score"] < cut).fill_null(False)
        if not low.any():
            return self.verdicts
        if self.matcher.cutting_is_filtering:
            return self.verdicts.without(low.arg_true().to_numpy())
        pairs = self.rows.pairs.filter(~low.gather(self.rows.pairs["detection"]))
        rows = replace(self.rows, pairs=pairs)
        judged = match(rows, replace(self.verdicts, limits=self.verdicts.limits[-1:]))
        return judged.without(low.arg_true().to_numpy())

    def _pooled(self, matches: pl.LazyFrame) -> pl.LazyFrame:
        if self.outline.is_pooled:
            matches = matches.with_columns(category_id=pl.lit(None, self.source.category_ids.dtype))
        return matches
