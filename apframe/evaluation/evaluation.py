"""The evaluation with the tables behind the numbers. Each step is computed once, when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import NotComputedWarning, ParameterError, warn
from apframe.lazily import cached_property, methods_of
from apframe.protocols.protocol import Protocol
from apframe.show.console import summary_lines
from apframe.show.terminal import one_line
from apframe.store.queryable import QueryableResult
from apframe.tables.dataset import Dataset
from apframe.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation import numbers, stored, tables_at_threshold
    from apframe.evaluation.comparison import changes, draws, headline_intervals
    from apframe.evaluation.diagnose import calibration, confusion, error_rates, errors, jaccard, label_errors, tasks
    from apframe.evaluation.gallery import show
    from apframe.evaluation.pipeline import Pipeline
    from apframe.evaluation.slices import by
    from apframe.evaluation.source import Source
    from apframe.evaluation.thresholds import cut_evaluation, operating_points
    from apframe.protocols.headlines import Headline
    from apframe.protocols.inputs import Inputs
    from apframe.tables.conditions import Masks
    from apframe.tables.lazy_table import LazyTable
else:  # each is imported when one of its methods is first asked for
    numbers, stored, tables_at_threshold, show, by = methods_of(
        "apframe.evaluation", "numbers stored tables_at_threshold gallery.show slices.by"
    )
    changes, draws, headline_intervals = methods_of("apframe.evaluation.comparison", "changes draws headline_intervals")
    calibration, confusion, error_rates, errors, jaccard, label_errors, tasks = methods_of(
        "apframe.evaluation.diagnose", "calibration confusion error_rates errors jaccard label_errors tasks"
    )
    operating_points, cut_evaluation = methods_of("apframe.evaluation.thresholds", "operating_points cut_evaluation")


class Evaluation(QueryableResult):
    """The result of `evaluate`: lazy tables, from the headline numbers down to every single match.

    It can be pickled and sent to another process, with its data: if it was read from a folder, the other process does not need
    the folder. Values that are not in the pickle are computed again when they are needed.

    The tables in SQL are images, categories, annotations and detections with their attributes, and pairs, assignments, matches,
    curves, metrics, summary, per_image and thresholds. `matches`, `curves`, `per_image` and `thresholds` contain every
    threshold and area range; of these, only the rows that pass a query's filters on iou_threshold and area_range are computed.
    errors, error_impact, label_errors, confusion, calibration, reliability, lrp, miss_rates and froc are for the lowest
    threshold.

    Attributes
    ----------
    protocol
        the rules, options included
    conditions
        the conditions of the subset from `where`, in words; empty if everything is evaluated
    notes
        changes to the data before the evaluation, in words, such as merged categories
    tags
        the tags that it was stored with, such as {"epoch": 7}; empty before it is stored
    """

    matches, curves = tables_at_threshold.matches, tables_at_threshold.curves
    per_image, thresholds = tables_at_threshold.per_image, tables_at_threshold.thresholds
    lrp, miss_rates, froc = error_rates.lrp, error_rates.miss_rates, error_rates.froc
    jaccard_index = jaccard.jaccard_index
    operating_points, at = operating_points.operating_points, cut_evaluation.at
    by, where = by.by, by.where
    changes = changes.changes
    confusion, confusion_pairs = confusion.confusion, confusion.confusion_pairs
    calibration, reliability = calibration.calibration, calibration.reliability
    errors, error_impact, label_errors = errors.errors, errors.error_impact, label_errors.label_errors
    write_tasks = tasks.write_tasks
    show, show_errors = show.show, show.show_errors
    intervals, compare, influence = headline_intervals.intervals, headline_intervals.compare, headline_intervals.influence
    draws = draws.draws
    to_dict, to_wandb, write_tensorboard = numbers.to_dict, numbers.to_wandb, numbers.write_tensorboard
    __getitem__ = numbers.number
    write_parquet, write_duckdb = stored.write_parquet, stored.write_duckdb

    def __init__(
        self,
        source: Source,
        protocol: Protocol,
        *,
        conditions: Sequence[str] = (),
        notes: Sequence[str] = (),
        name: str | None = None,
        path: str | None = None,
        tags: Mapping[str, Any] | None = None,
    ) -> None:
        """Make an evaluation of `source`; `path` is the path of the results without extension."""
        self._source, self._label, self._path = source, name, path
        self.protocol, self.conditions, self.notes = protocol, tuple(conditions), tuple(notes)
        self.tags: Mapping[str, Any] = dict(tags or {})
        self._may_warn = not conditions  # if nothing matches
        self._variants: dict[str, Evaluation] = {}  # the variants that were printed

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copies: the data itself, and the known metrics, but neither files nor matches."""
        if self._source.stored:  # stored tables are not computed again
            _ = self.metrics, self.summary
        return {name: value for name, value in self.__dict__.items() if name != "_pipeline"} | {"_variants": {}}

    @property
    def name(self) -> str | None:
        """The name in comparisons, from `evaluate` or `write_parquet`, otherwise that of the results' file or folder.

        File extensions are removed. None for results in memory.
        """
        return self._label or (None if self._path is None else Path(self._path).name)

    @property
    def _inputs(self) -> Inputs:
        return self._source.inputs

    @property
    def dataset(self) -> Dataset:
        """The ground truth."""
        return self._source.dataset

    @property
    def detections(self) -> pl.DataFrame:
        """The canonical table of the detections that are evaluated."""
        return self._inputs.detections

    @cached_property
    def _pipeline(self) -> Pipeline:
        # imported here, because it imports NumPy: reading files does not wait for it, and `import apframe` stays fast
        from apframe.evaluation.pipeline import Pipeline

        return Pipeline(self._source, self.protocol)

    def _kept(self, name: str, compute: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """Return a stored table, or compute it."""
        stored = self._source.stored
        return stored[name].collect() if name in stored else compute()

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per category × area range × IoU threshold × max_detections.

        Columns: category_id (null if categories are pooled), area_range, iou_threshold, max_detections, ap, recall (at the end
        of the list), n_positives, n_detections (those that count: true and false positives). `ap` and `recall` are null if
        n_positives is 0.
        """
        return self._kept("metrics", self._measure)

    def _measure(self, *, headlines_only: bool = False) -> pl.DataFrame:
        """Compute the metrics, and warn once if they are probably wrong."""
        metrics = self._pipeline.metrics(headlines_only=headlines_only)
        if self._may_warn:
            self._warn_of(metrics)
        self._may_warn = False
        return metrics

    def _warn_of(self, metrics: pl.DataFrame) -> None:
        from apframe.evaluation.diagnose.sanity import warn_of_metrics

        warn_of_metrics(metrics, self._source.evaluated(), self.protocol, self.name)

    def warn_if_doubtful(self) -> None:
        """Warn if the numbers are probably wrong, as the first metrics or summary do; see `evaluate`.

        This warns again, even for a stored evaluation. There are no such warnings for a subset from `where`.

        >>> import warnings
        >>> from apframe.evaluation.evaluate import evaluate
        >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
        ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
        >>> with warnings.catch_warnings(record=True, action="always") as caught:
        ...     evaluate(truth, []).warn_if_doubtful()
        >>> [warning.category.__name__ for warning in caught]
        ['NoDetectionsWarning']
        """
        if not self.conditions:
            self._may_warn = False
            self._warn_of(self.metrics)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The headline numbers: columns `metric` and `value` (null if nothing could be evaluated)."""
        return self._kept("summary", self._summarize)

    def _summarize(self) -> pl.DataFrame:
        from apframe.evaluation.summary import summarize  # imports NumPy

        return summarize(self, self._headline_metrics)

    @cached_property
    def _headline_metrics(self) -> pl.DataFrame:
        """The metrics that the headline numbers require; null at other limits."""
        complete = "metrics" in self.__dict__ or "metrics" in self._source.stored
        return self.metrics if complete else self._measure(headlines_only=True)

    def _mean_of_table(self, line: Headline) -> float | None:
        """Return a headline number that averages a table's column; null, with a warning, if the table cannot be computed.

        It is also null if the table would have to read objects again that are not in memory.
        """
        if self._source.reads_again:
            return None
        try:
            value = getattr(self, line.kind.table)()[line.column].mean()
        except ParameterError as error:
            warn(f"{line.metric} is not computed: {error}", NotComputedWarning)
            return None
        return value if isinstance(value, float) else None

    @property
    def stats(self) -> np.ndarray:
        """The values of the summary as in pycocotools' `COCOeval.stats`: -1 if not evaluated."""
        return self.summary["value"].fill_null(-1).to_numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return pycocotools' arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M).

        T thresholds, R recall levels, K categories in the order of their ids (1 when pooled), A area ranges, M
        max_detections. -1 if a category has no annotation that counts.
        """
        return self._pipeline.arrays()

    @property
    def pairs(self) -> pl.DataFrame:
        """detection_id, annotation_id, similarity: pairs in an image and category that reach the lowest threshold.

        Detections beyond the largest of max_detections have no pairs; pooled categories pair by image alone. If each detection
        considers only its nearest annotation, these are the only pairs.
        """
        return self._source.table("pairs").plan().collect()

    @property
    def assignments(self) -> pl.DataFrame:
        """The matched pairs: the matches table of all thresholds and area ranges in its compact form.

        Columns: detection_id, annotation_id, similarity, area_range (null for all of them), and iou_from, iou_to: the lowest
        and the highest threshold at which the pair is matched.
        """
        return self._source.table("assignments").plan().collect()

    def _subset(self, masks: Masks) -> Evaluation:
        """Return the part inside the masks, see `Inputs.subset`."""
        from apframe.tables.conditions import refuse_nothing

        refuse_nothing("where", masks)
        return self._of(self._source.part(masks))

    def _of(self, source: Source, protocol: Protocol | None = None) -> Evaluation:
        """Return the evaluation of another source, by the same rules or by others."""
        part = Evaluation(
            source, protocol or self.protocol, notes=self.notes, name=self._label, path=self._path, tags=self.tags
        )
        part._may_warn = False
        return part

    def _lazy_tables(self) -> Mapping[str, LazyTable]:
        from apframe.evaluation.stored import lazy_tables

        return lazy_tables(self)

    def to_markdown(self, digits: int | None = None) -> str:
        """Return the summary in Markdown; for benchmarks with their own table, that table.

        `digits` is the number of decimals: by default 3, or the benchmark's. `apframe.to_markdown` accepts any table, such as
        that of `by`.
        """
        from apframe.show.markup import to_markdown

        return self._printed(to_markdown, digits)

    def to_latex(self, digits: int | None = None) -> str:
        """Return the result of `to_markdown` as LaTeX, which requires the package booktabs.

        `apframe.to_latex` accepts any table."""
        from apframe.show.markup import to_latex

        return self._printed(to_latex, digits)

    def __str__(self) -> str:
        return self._printed(None, None)

    def _printed(self, markup: Callable[[pl.DataFrame, int], str] | None, digits: int | None) -> str:
        if self.protocol.tables:
            from apframe.evaluation.pivot import kit_lines, kit_markup  # for benchmarks that have tables

            return "\n".join(kit_lines(self)) if markup is None else kit_markup(self, markup, digits)[0]
        if markup is None:
            return "\n".join(summary_lines(self.summary, self.protocol, self.notes))
        return markup(self.summary, 3 if digits is None else digits)

    def __repr__(self) -> str:
        where = f", where {' and '.join(self.conditions)}" if self.conditions else ""
        n_detections = counted(self._source.n_detections, "detection")
        name = f"{one_line(self.name)}: " if self.name else ""
        return f"Evaluation({name}{self.dataset!r}, {n_detections}, protocol={self.protocol.name}{where})"

    def _repr_html_(self) -> str:
        from apframe.evaluation.pivot import kit_html

        return kit_html(self)
