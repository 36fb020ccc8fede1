"""Evaluation: the tables behind the numbers. The steps to them are taken when first asked for, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.detection.diagnose.overlaps import why_nothing_matches
from apframe.detection.options import choose
from apframe.detection.prepare.counting import ignored_annotations
from apframe.detection.prepare.inputs import Inputs, choose_categories, make_inputs, stored_inputs
from apframe.detection.slices.keys import Bins, Key, Masks, conjunction, make_keys, refuse_nothing
from apframe.detection.slices.parts import conditions_of_parts
from apframe.exceptions import FormatError, NoAnnotationsWarning, NothingMatchesWarning, ParameterError, counted, one_of, warn
from apframe.file_formats.catalogue import naming_format
from apframe.file_formats.stored_sets import read_table, scan_table
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.protocols.summary import headlines, summarize
from apframe.schema import GROUND_TRUTH, RESULTS, SUPPORT, TABLES, Dataset, result_schema
from apframe.show.console import summary_lines
from apframe.show.html import evaluation_html
from apframe.similarity.pairs import Similarity
from apframe.store import sql
from apframe.store.parquet import (
    DETECTION,
    input_hash,
    labels,
    read_manifest,
    refuse_changed,
    write_tables,
)
from apframe.store.results import LazyTable, WritableResult

if TYPE_CHECKING:
    import numpy as np

    from apframe.detection.pipeline import Pipeline
    from apframe.matching.verdicts import Verdicts

Condition = pl.Expr | Sequence[int | str] | pl.Series  # of a subset: an expression over columns of one table, or image ids
SliceKey = str | Bins | Mapping[str, Condition | Sequence[pl.Expr]]  # of slices: a column, bins of one, named conditions
NEEDED = ("protocol", "inputs", "category_ids", "json_columns", "conditions")  # in the manifest of a stored evaluation


def evaluate(
    truth: Any,
    detections: Any,
    protocol: Protocol | str = COCO,
    *,
    iou_type: str | None = None,
    iou_thresholds: Sequence[float] | None = None,
    recall_levels: Sequence[float] | None = None,
    area_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_detections: Sequence[int | None] | None = None,
    categories: Sequence[int | str] | None = None,
    agnostic: bool | None = None,
    similarity: Similarity | Callable[[pl.DataFrame], Any] | None = None,
    matching: str | None = None,
    unknown_images: str = "error",
    format: str | None = None,
    results_format: str | None = None,
    split: str | None = None,
    image_sizes: Any = None,
    join_by_name: str | Sequence[str] = (),
) -> Evaluation:
    """Evaluate detections against ground truth.

    Parameters
    ----------
    truth
        a `Dataset`, a path of any format, see `formats`, or a dict as `json.load` returns it for COCO
    detections
        a frame with `image_id, category_id, score, x, y, width, height` (anything that holds columns), a path of any format, or
        a list of dicts as COCO's results. In the place of a box there may be another shape: `mask`, `keypoints`, `corners`, or
        `start_time` and `end_time`. Two paths are read side by side.
    protocol
        the rules, `apframe.COCO` by default; a published one by its name, as in "voc2007"
    iou_type
        which of the protocol's variants ("segm", "keypoints", ...); its first by default
    iou_thresholds, recall_levels, area_ranges, max_detections, agnostic, similarity, matching
        depart from the protocol; see `Protocol.with_options`. In `max_detections`, None stands for all of them, as in
        [1, 10, None]
    categories
        evaluate only these, given by name or id; one or several
    unknown_images
        "error" refuses detections of images that the ground truth does not have, "drop" leaves them out
    format, results_format
        of paths, where these do not tell; see `formats`
    split, image_sizes
        of the ground truth at a path, see `read_dataset`
    join_by_name
        "images", "categories" or both, where the detections have not the ids of the ground truth, but names of files and of
        categories; see `apframe.file_formats.ids.with_ids_by_name`

    Returns
    -------
    An `Evaluation`; nothing is computed yet.

    Raises
    ------
    InputError
        bad data, with the rows named
    ParameterError
        bad options

    Warns
    -----
    UnknownCategoryWarning
        detections of categories that the ground truth does not have were dropped
    UnknownImageWarning
        all detections were dropped as of unknown images
    NoAnnotationsWarning
        there is nothing to find
    NothingMatchesWarning
        when metrics or the summary are asked for: 10 detections or more, and none of them is near an annotation (IoU .1), on an
        image with annotations, or of the category of what it overlaps

    >>> truth = Dataset(
    ...     images={"image_id": [1]}, categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]})
    >>> found = {"image_id": [1], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [10], "height": [8]}
    >>> ev = evaluate(truth, found)
    >>> ev.summary.head(3).with_columns(pl.col("value").round(3)).rows()
    [('AP', 0.7), ('AP50', 1.0), ('AP75', 1.0)]
    """
    choice = choose(
        protocol, iou_type=iou_type, iou_thresholds=iou_thresholds, recall_levels=recall_levels, area_ranges=area_ranges,
        max_detections=max_detections, categories=categories, agnostic=agnostic, similarity=similarity, matching=matching,
        unknown_images=unknown_images, format=format, results_format=results_format, split=split, image_sizes=image_sizes,
        join_by_name=join_by_name,
    )  # fmt: skip
    reading = choice.reading
    with ThreadPoolExecutor(2) as other_threads:
        read = other_threads.submit(reading.dataset, truth, masks="mask" in choice.protocol.similarity.needs)
        other_threads.submit(import_module, "apframe.detection.pipeline")
        found = reading.raw_results(detections, read.result)
        dataset = read.result()
    chosen = choose_categories(dataset.core("categories"), choice.categories)
    with naming_format(detections, reading.results_format):
        inputs = make_inputs(dataset, found, chosen, choice.protocol, drop_unknown_images=choice.drop_unknown_images)
    return Evaluation(lambda: inputs, choice.protocol)


class Evaluation(WritableResult):
    """The result of `evaluate`: lazy tables, from the headline numbers down to every single match.

    It can be pickled and sent to another process, with its data: one that was read from a folder no longer needs the folder
    there. What is not in the pickle is computed again when it is asked for.

    The tables in SQL are images, categories, annotations and detections with their attributes, and pairs, assignments, matches,
    curves, metrics, summary, per_image and thresholds. `matches`, `curves`, `per_image` and `thresholds` are of every threshold
    and area range; of these only what the filters of a query on iou_threshold and area_range let through is computed.

    Attributes
    ----------
    protocol
        the rules, options included
    conditions
        of the subset that `where` took, in words; none where everything is evaluated
    """

    def __init__(
        self,
        inputs: Callable[[], Inputs],
        protocol: Protocol,
        stored: Mapping[str, pl.LazyFrame] | None = None,
        conditions: Sequence[str] = (),
    ) -> None:
        """`inputs` is called when they are first needed; `stored` are tables that were computed before."""
        self.protocol, self.conditions = protocol, tuple(conditions)
        self._read_inputs, self._stored = inputs, stored or {}
        self._may_warn = not conditions  # if nothing matches
        self._judged: Callable[[], Verdicts] | None = None  # gives the verdicts, where they are a part of others

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: the data itself, and the metrics as far as they are known, but neither files nor matches."""
        if self._stored:  # what was stored is not computed again
            _ = self.metrics, self.summary
        state = {name: value for name, value in self.__dict__.items() if name != "_pipeline"}
        return state | {"_inputs": self._inputs, "_read_inputs": None, "_stored": {}, "_judged": None}

    @cached_property
    def _inputs(self) -> Inputs:
        return self._read_inputs()

    @property
    def dataset(self) -> Dataset:
        """The ground truth."""
        return self._inputs.dataset

    @property
    def detections(self) -> pl.DataFrame:
        """The canonical table of those detections that are evaluated."""
        return self._inputs.detections

    @cached_property
    def _pipeline(self) -> Pipeline:
        # imported here, for it brings in NumPy: reading files does not wait for that, and `import apframe` stays light
        from apframe.detection.pipeline import Pipeline

        return Pipeline(self._inputs, self.protocol, self._judged)

    def _kept(self, name: str, compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """A table as it was stored, or computed."""
        return self._stored[name].collect() if name in self._stored else compute()

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per category × area range × IoU threshold × max_detections.

        Columns: category_id (null when categories are pooled), area_range, iou_threshold, max_detections, ap, recall (at the
        end of the list), n_positives, n_detections (counted ones: true and false positives). `ap` and `recall` are null
        where n_positives is 0.
        """
        return self._kept("metrics", self._measure)

    def _measure(self, *, headlines_only: bool = False) -> pl.DataFrame:
        """The metrics; a warning, once, if nothing matches because the data do not belong together."""
        metrics = self._pipeline.metrics(headlines_only=headlines_only)
        if self._may_warn and self._pipeline.rows.links.is_empty() and self._inputs.annotations.height:
            self._warn_that_nothing_matches()
        self._may_warn = False
        return metrics

    def _warn_that_nothing_matches(self) -> None:
        if self.protocol.similarity.shape is None:  # it may compare anything
            return
        all_categories = len(self._inputs.category_ids) == self.dataset.core("categories").height
        by_category = all_categories and not self.protocol.agnostic
        why = why_nothing_matches(self.detections, self.dataset.core("annotations"), by_category=by_category)
        if why is not None:
            warn(f"{why}; run `apframe check` on both to find out why", NothingMatchesWarning)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The headline numbers: columns `metric` and `value` (null where nothing could be evaluated)."""
        return self._kept("summary", self._summarize)

    def _summarize(self) -> pl.DataFrame:
        complete = self.__dict__.get("metrics")
        metrics = self._measure(headlines_only=True) if complete is None else complete
        summary = summarize(metrics, headlines(self.protocol))
        lines = headlines(self.protocol, with_parts=True)
        if len(lines) == summary.height:
            return summary
        parts = conditions_of_parts(self.protocol, self._inputs.tables())
        table = self.by(parts) if parts else pl.DataFrame({"slice": []})
        rows = {row.pop("slice"): row for row in table.to_dicts()}
        values = dict(summary.rows())
        values |= {line.metric: rows.get(line.part, {}).get(line.of_whole) for line in lines if line.part is not None}
        names = [line.metric for line in lines]
        return pl.DataFrame({"metric": names, "value": pl.Series([values[name] for name in names], dtype=pl.Float64)})

    @property
    def stats(self) -> np.ndarray:
        """The values of the summary as pycocotools has them in `COCOeval.stats`: -1 where not evaluated."""
        return self.summary["value"].fill_null(-1).to_numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """pycocotools' arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M).

        T thresholds, R recall levels, K categories in the order of their ids (1 when pooled), A area ranges, M
        max_detections. -1 where a category has no annotation that counts.
        """
        return self._pipeline.arrays()

    @property
    def pairs(self) -> pl.DataFrame:
        """detection_id, annotation_id, similarity: pairs of an image and category that reach the lowest threshold.

        Detections beyond the largest of max_detections have none; pooled categories pair by image alone.
        """
        return self._kept("pairs", lambda: self._pipeline.pairs())

    @property
    def assignments(self) -> pl.DataFrame:
        """Who is matched with whom: the matches table of all thresholds and area ranges in its compact form.

        Columns: detection_id, annotation_id, similarity, area_range (null: in every one), and iou_from, iou_to: the lowest
        and the highest threshold at which the two are matched.
        """
        return self._kept("assignments", lambda: self._pipeline.assignments())

    def matches(self, iou_threshold: float | None = None, area_range: str | None = None) -> pl.DataFrame:
        """One row per detection and per missed annotation, at one threshold and area range.

        Parameters
        ----------
        iou_threshold
            one of the protocol's, found to 1e-9; the lowest by default
        area_range
            the name of one of the protocol's; "all" by default

        Returns
        -------
        match_id, image_id, category_id, detection_id, annotation_id, iou_threshold, area_range, score, rank (within the
        category; among all when they are pooled), similarity, outcome: tp, fp, fn (no detection_id) or ignored.
        Detections by category and rank, missed annotations after them. Detections beyond max_detections take no part and
        have no row.
        """
        return self._matches(iou_threshold, area_range).collect()

    def _matches(self, iou_threshold: float | None, area_range: str | None, category: int | str | None = None) -> pl.LazyFrame:
        matches = self._pipeline.matches(self._threshold_at(iou_threshold), self._area_at(area_range))
        return self._of_category(matches, category)

    def _of_category(self, table: pl.LazyFrame, category: int | str | None) -> pl.LazyFrame:
        if category is None:
            return table
        if self.protocol.agnostic:
            raise ParameterError("the categories are pooled: leave out category")
        chosen = choose_categories(self.dataset.core("categories"), [category])
        return table.filter(pl.col("category_id").is_in(pl.lit(chosen).implode()))

    def curves(
        self,
        iou_threshold: float | None = None,
        area_range: str | None = None,
        category: int | str | None = None,
        *,
        by: SliceKey | Sequence[SliceKey] = (),
    ) -> pl.DataFrame:
        """Precision and recall at every rank, at one threshold and area range, of one category or each.

        Columns: category_id, name, area_range, iou_threshold, rank (from 1, ignored detections take none), detection_id,
        score, tp, fp, precision, recall (null without annotations) and envelope (the best precision from here on). `category`
        is a name or an id. Defaults as in `matches`. With `by`, which takes keys as the method `by` does, the curves of every
        slice, its keys in front.
        """
        if keys := [by] if isinstance(by, (str, Bins, Mapping)) else list(by):
            parts = [
                values.join(part.curves(iou_threshold, area_range, category), how="cross")
                for values, part in self._each_slice(keys)
            ]
            if not parts:
                raise ParameterError("there are no slices, as the table of the keys has no rows", option="by")
            return pl.concat(parts, how="vertical_relaxed")
        return self._with_names(self._pipeline.curves(self._matches(iou_threshold, area_range, category)).collect())

    def _with_names(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with the names of the categories beside their ids."""
        names = self.dataset.categories.select("category_id", "name")
        table = table.join(names, on="category_id", how="left", maintain_order="left")
        return table.select("category_id", "name", pl.exclude("category_id", "name"))

    def per_image(
        self, iou_threshold: float | None = None, area_range: str | None = None, *, min_score: float | None = None
    ) -> pl.DataFrame:
        """What became of every image at one threshold and area range, the worst first.

        Columns: image_id, file_name, tp, fp, fn, mean_similarity (of the true positives, null without any). Most errors first,
        then the least similar. With `min_score`, only detections of at least that score count; what they would have found is
        missed then. Defaults as in `matches`.
        """
        if min_score is not None and not (isinstance(min_score, (int, float)) and min_score == min_score):
            raise ParameterError(f"is a number, not {min_score!r}", option="min_score")
        counts = self._pipeline.per_image(self._threshold_at(iou_threshold), self._area_at(area_range), min_score).collect()
        counts = counts.drop("area_range", "iou_threshold")
        names = self.dataset.images.select("image_id", "file_name")
        return counts.join(names, on="image_id", how="left", maintain_order="left").select(
            "image_id", "file_name", pl.exclude("image_id", "file_name")
        )

    def thresholds(
        self, iou_threshold: float | None = None, area_range: str | None = None, category: int | str | None = None
    ) -> pl.DataFrame:
        """Precision, recall and F1 of the detections from each score upwards, for one category or each.

        Columns: category_id, name, area_range, iou_threshold, score_threshold, tp, fp, fn, precision, recall and f1 (null
        without annotations), is_best (the largest f1 of the category). Highest threshold first.
        `filter("is_best")` gives the best threshold of each category. Parameters as in `curves`.
        """
        table = self._pipeline.thresholds(self._threshold_at(iou_threshold), self._area_at(area_range))
        return self._with_names(self._of_category(table, category).collect())

    def by(self, *keys: SliceKey, level: str = "summary", marginals: bool = False) -> pl.DataFrame:
        """The headline numbers of every slice, with its support.

        The slices are all combinations of the values of the keys that occur in a table, times those of the other tables;
        without keys there is one, of everything. A key is a column. One of the images or of the categories tells these apart.
        One of the annotations, and of the detections where they have it too, follows COCO's rule for area ranges: annotations
        outside the slice are ignored, an unmatched detection is ignored if it carries the key itself and falls outside, and
        what is matched goes with its annotation. One that only the detections have leaves the others out before matching. Null
        is a slice of its own.

        A detection that does not carry the key of the objects is a false positive in every slice of it, if nothing is
        matched. AP then falls with the slice's share of the annotations: compare models within a slice, or slices by AR.
        Qualifying a column that both have, "annotations.area", takes the detections' side away, and has that effect.

        Parameters
        ----------
        keys
            names of columns ("name" is that of the categories), "images.weather" where several tables have one;
            `apframe.bins` and `apframe.quantiles` for numbers; or a dict from names to conditions (see `where`; several in a
            list), for slices that overlap
        level
            "summary": means over the categories of the slice. "category": a row for each category
        marginals
            also a row for every combination of the keys with some of them rolled up, down to that of everything

        Returns
        -------
        The keys (`slice` for named ones); with level="category" category_id and name; with marginals rolled_up, the names of
        the keys of which the row takes all values; the metrics as columns, named as in `summary`, null where nothing could be
        evaluated; and the support: n_images (keys of the objects leave it as it is), n_annotations (counted: inside, no crowd),
        n_detections (true and false positives at the lowest threshold), n_categories (averaged over). By key, null last,
        roll-ups below.

        Raises
        ------
        ParameterError
            unknown or ambiguous columns, bad conditions, slices without images, more than 1,000 slices of the objects

        >>> truth = Dataset(
        ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
        ...     annotations={
        ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
        >>> found = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
        >>> evaluate(truth, found).by("weather").select("weather", "AR100", "n_annotations").rows()
        [('clear', 1.0, 1), ('fog', 0.0, 1)]
        """
        one_of("level", level, ("summary", "category"))
        if self.protocol.agnostic and level == "category":
            raise ParameterError('the categories are pooled: there is no level="category"')
        from apframe.detection.slices.slices import make_slicings, tabulate  # brings in NumPy

        each_category = level == "category"
        tables = self._inputs.tables()
        made = make_keys(keys, tables)
        taken = {"rolled_up", *(line.metric for line in headlines(self.protocol)), *SUPPORT}
        self._refuse_keys(made, taken | ({"category_id", "name"} if each_category else set()))
        heights = {name: table.height for name, table in tables.items()}
        if self.protocol.agnostic:
            heights["categories"] = 1  # they are one
        slicings = make_slicings(made, heights, marginals=marginals, each_category=each_category)
        parts = [(slicing, self._pipeline.slices(slicing)) for slicing in slicings]
        table = tabulate(parts, made, tables["categories"].select("category_id", "name") if each_category else None)
        return table if marginals else table.drop("rolled_up")

    def _refuse_keys(self, keys: Sequence[Key], taken: set[str]) -> None:
        for place, key in enumerate(keys):
            if key.name in [other.name for other in keys[:place]]:
                raise ParameterError(f"{key.name} is given twice", option="by")
            if key.name in taken:
                raise ParameterError(
                    f"the result has a column {key.name!r} of its own", f"rename that of the {key.table}", option="by"
                )
            about = {key.table, *(table for masks in key.masks.values() for table in masks)}
            if "categories" in about and self.protocol.agnostic:
                raise ParameterError(f"{key.name} is of the categories, which are pooled", option="by")

    def _each_slice(self, keys: Sequence[SliceKey]) -> Iterator[tuple[pl.DataFrame, Evaluation]]:
        """Every slice: the values of the keys as a table of one row, and the evaluation of the slice."""
        from apframe.detection.slices.slices import make_slicings, walk

        tables = self._inputs.tables()
        made = make_keys(keys, tables)
        self._refuse_keys(made, {"name", *(column.name for column in RESULTS["curves"])})
        heights = {name: table.height for name, table in tables.items()}
        for values, masks in walk(make_slicings(made, heights), made, heights):
            yield values, self._subset(masks)

    def where(self, *conditions: Condition) -> Evaluation:
        """The evaluation of a subset, with the rules of a slice: all tables, metrics, slices of it.

        Parameters
        ----------
        conditions
            expressions, each over columns of one table (`pl.col("annotations.occlusion")` where several have one), or lists of
            image ids; all must hold. Null is outside.

        Raises
        ------
        ParameterError
            unknown, ambiguous or mixed columns; no expression; nothing left

        >>> truth = Dataset(
        ...     images={"image_id": [1, 2], "weather": ["fog", "clear"]}, categories={"category_id": [1]},
        ...     annotations={
        ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]})
        >>> found = {"image_id": [2], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]}
        >>> evaluate(truth, found).where(pl.col("weather") == "fog").summary["value"][0]
        0.0
        """
        part = self._subset(conjunction(conditions, self._inputs.tables()))
        words = [str(each) if isinstance(each, pl.Expr) else counted(len(each), "image") for each in conditions]
        part.conditions = (*self.conditions, *words)
        if ignored_annotations(part._inputs.annotations, self.protocol).all():
            warn("where: no annotation that counts meets the conditions: all metrics are null", NoAnnotationsWarning)
        return part

    def _subset(self, masks: Masks) -> Evaluation:
        refuse_nothing("where", masks)
        inputs = self._inputs.subset(masks)
        part = Evaluation(lambda: inputs, self.protocol)
        part._may_warn, part._judged = False, self._pipeline.part(masks)
        return part

    def write_parquet(self, folder: str | Path, *, name: str | None = None, tags: Mapping[str, Any] | None = None) -> None:
        """Write the evaluation as a folder: a Parquet file for each table and `manifest.json`.

        The folder appears whole or not at all; an earlier evaluation there is replaced whole. `read_evaluation` reads it
        back. The files are images, categories, annotations, detections, pairs, assignments (the matches of all thresholds
        and area ranges, see there), metrics and summary. The manifest says by which protocol, of what data (hashes of the four
        tables), by which versions and when.

        Parameters
        ----------
        folder
            the place, the name of which is that of the run in `scan_runs`
        name
            another name, as people know the run
        tags
            texts, numbers and flags by name, such as {"lr": 0.1, "epoch": 7}. Both become columns of `RunSets.runs` and
            `RunSets.leaderboard`, which selects runs by them

        Raises
        ------
        OutputError
            the folder holds something else, or cannot be written
        ParameterError
            a name or tags that cannot be stored
        """
        labelled = labels(name, tags)
        computed = {"pairs": self.pairs, "assignments": self.assignments, "metrics": self.metrics, "summary": self.summary}
        inputs = {name: table.plan().collect() for name, table in self._input_tables().items()}
        manifest = {
            "kind": DETECTION,
            "protocol": self.protocol.as_dict(),
            "inputs": {table: input_hash(table, frame) for table, frame in inputs.items()},
            "category_ids": self._inputs.category_ids.to_list(),
            "json_columns": sorted(self.dataset.json_columns),
            "conditions": list(self.conditions),
        } | labelled
        write_tables(folder, inputs | computed, manifest)

    def _lazy_tables(self) -> dict[str, LazyTable]:
        """All tables by name, none of the results computed yet; those of every threshold and area range also in parts."""
        inputs = self._input_tables()
        keys = {"images": "image_id", "categories": "category_id", "annotations": "annotation_id", "detections": "detection_id"}
        ids = {key: (inputs[name].unnamed or inputs[name].plan)().collect_schema()[key] for name, key in keys.items()}
        areas = pl.Enum([name for name, *_ in self.protocol.area_ranges])
        grid = [(t, a) for a in range(len(self.protocol.area_ranges)) for t in range(len(self.protocol.iou_thresholds))]

        def result(name: str, make: Callable[[], pl.DataFrame | pl.LazyFrame]) -> LazyTable:
            return LazyTable(lambda: self._stored.get(name, sql.deferred(make, result_schema(name, ids, areas))))

        def in_parts(name: str, make: Callable[..., pl.LazyFrame]) -> LazyTable:
            return replace(result(name, make), parts=lambda: (make(*at) for at in grid))

        return inputs | {
            "pairs": result("pairs", lambda: self.pairs),
            "assignments": result("assignments", lambda: self.assignments),
            "matches": in_parts("matches", lambda *at: self._pipeline.matches(*at)),
            "curves": in_parts("curves", lambda *at: self._pipeline.curves(self._pipeline.matches(*at))),
            "metrics": result("metrics", lambda: self.metrics),
            "summary": result("summary", lambda: self.summary),
            "per_image": in_parts("per_image", lambda *at: self._pipeline.per_image(*at)),
            "thresholds": in_parts("thresholds", lambda *at: self._pipeline.thresholds(*at)),
        }

    def _input_tables(self) -> dict[str, LazyTable]:
        """The four tables; queries that do not name the annotations leave attributes of theirs unread that still are."""
        if self._stored:
            return {name: LazyTable(partial(self._stored.__getitem__, name)) for name in (*GROUND_TRUTH, "detections")}
        dataset = self.dataset
        return {
            "images": LazyTable(lambda: dataset.images.lazy()),
            "categories": LazyTable(lambda: dataset.categories.lazy()),
            "annotations": LazyTable(lambda: dataset.annotations.lazy(), lambda: dataset.core("annotations").lazy()),
            "detections": LazyTable(lambda: self.detections.lazy()),
        }

    def _threshold_at(self, iou_threshold: float | None) -> int:
        if iou_threshold is None:
            return 0
        if not isinstance(iou_threshold, (int, float)):
            raise ParameterError(f"is a number, not {iou_threshold!r}", option="iou_threshold")
        number = self.protocol.threshold_number(iou_threshold)
        if number is not None:
            return number
        shown = ", ".join(f"{threshold:.10g}" for threshold in self.protocol.iou_thresholds)
        raise ParameterError(f"iou_threshold {iou_threshold} was not evaluated; there are {shown}")

    def _area_at(self, area_range: str | None) -> int:
        names = [name for name, *_ in self.protocol.area_ranges]
        if area_range is not None and area_range not in names:
            raise ParameterError(f"area_range {area_range!r} was not evaluated; there are {', '.join(names)}")
        return names.index(self.protocol.whole if area_range is None else area_range)

    def __str__(self) -> str:
        return "\n".join(summary_lines(self.summary, self.protocol))

    def __repr__(self) -> str:
        where = f", where {' and '.join(self.conditions)}" if self.conditions else ""
        found = counted(self.detections.height, "detection")
        return f"Evaluation({self.dataset!r}, {found}, protocol={self.protocol.name}{where})"

    def _repr_html_(self) -> str:
        return evaluation_html(self.summary, self.protocol, repr(self.dataset), self.detections.height)


def read_evaluation(folder: str | Path) -> Evaluation:
    """An evaluation that `Evaluation.write_parquet` wrote; the files that it was made from are not needed.

    Nothing but the manifest is read until it is asked for. Metrics, summary, pairs and assignments are read, not computed
    again; everything else, slices too, is computed from the tables. Tables of two evaluations are never mixed: once another
    one is written to the folder, tables that were not read before are a FormatError.

    Raises
    ------
    FormatError
        not such a folder, of a schema version that is not read (`upgrade_evaluation` says which are), or incomplete
    """
    return stored_evaluation(folder, read_manifest(folder, DETECTION, NEEDED))


def stored_evaluation(folder: str | Path, manifest: Mapping[str, Any]) -> Evaluation:
    """The evaluation in the folder that has this manifest; see `read_evaluation`."""
    set_id = manifest.get("set_id")
    try:
        protocol = Protocol.from_dict(manifest["protocol"])
    except (TypeError, AttributeError, LookupError, ValueError) as error:
        raise FormatError(f"{folder}: the manifest's protocol cannot be read ({error}); evaluate again") from error
    stored = {name: scan_table(folder, name, set_id) for name in manifest["tables"]}
    _refuse_changed_tables(folder, {name: table.collect_schema() for name, table in stored.items()}, protocol)

    def read_inputs() -> Inputs:
        images, categories, annotations, detections = (
            read_table(folder, name, set_id) for name in ("images", "categories", "annotations", "detections")
        )
        json_columns = {(table, name) for table, name in manifest["json_columns"]}
        dataset = Dataset(images, categories, annotations).with_rest(json_columns, {})
        try:
            category_ids = pl.Series(manifest["category_ids"], dtype=categories["category_id"].dtype)
        except TypeError:
            problem = "category_ids are of another type than those of the categories"
            raise FormatError(f"{folder}: the manifest's {problem}; evaluate again") from None
        return stored_inputs(dataset, detections, category_ids, protocol)

    return Evaluation(read_inputs, protocol, stored, manifest["conditions"])


def _refuse_changed_tables(folder: str | Path, tables: Mapping[str, pl.Schema], protocol: Protocol) -> None:
    """An error where tables lack what they are read by; what inputs hold is checked when they are read."""
    inputs = {name: {c.name: None for c in TABLES[name] if c.standard} for name in (*GROUND_TRUTH, "detections")}
    refuse_changed(folder, tables, inputs)
    ids = {TABLES[name][0].name: tables[name][TABLES[name][0].name] for name in inputs}
    areas = pl.Enum([name for name, *_ in protocol.area_ranges])
    refuse_changed(
        folder, tables, {name: result_schema(name, ids, areas) for name in ("pairs", "assignments", "metrics", "summary")}
    )
