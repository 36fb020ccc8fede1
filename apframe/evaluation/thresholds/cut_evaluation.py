"""An evaluation at score thresholds that were chosen on other data: counts and rates, overall and in slices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.comparison.headline_intervals import units_if_asked
from apframe.evaluation.slices.keys import check_level
from apframe.evaluation.tables_at_threshold import with_names
from apframe.evaluation.thresholds.chosen_scores import place_of, read_thresholds
from apframe.option_values import proper_share
from apframe.protocols.lookups import area_at, threshold_at
from apframe.protocols.refused import refuse_scores

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey

_RATES = ("precision", "recall", "f1", "fppi")


@dataclass(frozen=True, repr=False, eq=False)
class CutEvaluation:
    """An evaluation whose detections are cut at one score threshold for each category; the result of `Evaluation.at`.

    Attributes
    ----------
    evaluation
        the whole evaluation
    thresholds
        category_id, name and score_threshold: detections of the category below that score are removed; null removes all. One
        row without a category_id if the categories are pooled
    iou_threshold, area_range
        the threshold and range for matching detections and annotations
    """

    evaluation: Evaluation
    thresholds: pl.DataFrame
    iou_threshold: float
    area_range: str

    @property
    def overall(self) -> pl.DataFrame:
        """One row for everything: the columns of `by`, without keys."""
        return self.by()

    def by(
        self,
        *keys: SliceKey,
        level: str = "summary",
        marginals: bool = False,
        intervals: bool = False,
        unit: str | None = None,
        within: str | None = None,
        confidence: float = 0.95,
    ) -> pl.DataFrame:
        """Count the outcomes of every slice at the thresholds, with precision, recall, F1 and false positives per image.

        The rates are computed from summed counts: the categories of a slice are added up, so large ones have more weight.

        Parameters
        ----------
        keys, marginals
            as in `Evaluation.by`; the rules of slices are the same. Slices of objects and of detections are matched again
        level
            "summary": one row per slice. "category": one row per slice and category
        intervals
            adds the standard error and the interval of each rate; thresholds do not change
        unit, within, confidence
            as in `Evaluation.intervals`

        Returns
        -------
        The keys, with level="category" category_id and name, with marginals rolled_up, then tp, fp, fn, precision (null without
        detections), recall and f1 (null without annotations), fppi (false positives per image of the slice) and n_images. With
        intervals, precision_se, precision_low and precision_high follow precision, and so on: null if annotations that count
        are in fewer than ten units, or if a rate is 0 or 1 whatever the images.

        Raises
        ------
        ParameterError
            as in `Evaluation.by` and `Evaluation.intervals`; level="category" if the categories are pooled

        Warns
        -----
        FewUnitsWarning
            fewer than 20 units

        >>> from apframe import Dataset, evaluate
        >>> box = {"image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]}
        >>> truth = Dataset({"image_id": [1, 2], "weather": ["fog", "clear"]}, {"category_id": [1]}, box)
        >>> cut = evaluate(truth, box | {"score": [0.4, 0.9]}).at(0.5)
        >>> cut.by("weather").select("weather", "tp", "fp", "fn", "recall").rows()
        [('clear', 1, 0, 0, 1.0), ('fog', 0, 0, 1, 0.0)]
        """
        from apframe.evaluation.thresholds.cut_counts import tabulate_cut  # imports NumPy
        from apframe.show.fitted import SliceTable

        check_level(self.evaluation, level)
        proper_share("confidence", confidence)
        units = units_if_asked(self.evaluation, unit, within, intervals=intervals)
        shape = {"each_category": level == "category", "marginals": marginals}
        table = tabulate_cut(self.evaluation, _cut(self), keys, units, confidence, **shape)
        return SliceTable(table if marginals else table.drop("rolled_up"))

    def per_image(self) -> pl.DataFrame:
        """Count the outcomes of every image and category at the thresholds: all rates are computed from their sums.

        Columns: image_id, category_id, name, tp, fp, fn. Images and categories without any of these have no row. Sorted by
        image_id, then category_id, which is null if the categories are pooled.
        """
        return per_image(self.evaluation, self)

    def __repr__(self) -> str:
        row = self.overall.row(0, named=True)
        shown = ", ".join(f"{name} {'–' if row[name] is None else format(row[name], '.3f')}" for name in _RATES)
        return f"CutEvaluation(IoU {self.iou_threshold:g}, {self.area_range}: {shown})"


def at(self: Evaluation, thresholds: Any, iou_threshold: float | None = None, area_range: str | None = None) -> CutEvaluation:
    """Evaluate at score thresholds that were chosen on other data: precision, recall, F1, overall and in slices.

    Detections below the threshold of their category are removed, and their matches count as missed. If the matcher then changes
    the matches of others, these are matched again.

    Parameters
    ----------
    thresholds
        a table from `operating_points` of another evaluation, with the same categories; any frame or file with the columns
        category_id and score_threshold, in which one row without a category_id applies to all; one number; or a dict with a
        number for each category, by name or id. Null: no detection of the category counts
    iou_threshold, area_range
        as in `matches`; by default those at which the table was chosen, if it has these columns

    Raises
    ------
    ParameterError
        a threshold or an area range that was not evaluated, or one row per category if the categories are pooled
    ColumnError, InputError
        missing columns, or other categories than those of the evaluation

    Warns
    -----
    MissingThresholdWarning
        some thresholds are null

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> truth = Dataset({"image_id": [1]}, {"category_id": [1]}, box)
    >>> validated, tested = (evaluate(truth, box | {"score": [score]}) for score in (0.5, 0.7))
    >>> cut = tested.at(validated.operating_points("f1", 0.5))
    >>> cut.overall.select("tp", "fp", "fn", "recall").rows()
    [(1, 0, 0, 1.0)]
    """
    refuse_scores(self.protocol, "score thresholds")
    chosen = read_thresholds(self, thresholds)
    threshold = threshold_at(self.protocol, place_of(thresholds, "iou_threshold") if iou_threshold is None else iou_threshold)
    area = area_at(self.protocol, place_of(thresholds, "area_range") if area_range is None else area_range)
    outline = self._pipeline.outline
    return CutEvaluation(self, chosen, round(outline.thresholds[threshold], 10), outline.ranges[area])


def per_image(self: Evaluation, cut: CutEvaluation) -> pl.DataFrame:
    """Compute `CutEvaluation.per_image`."""
    from apframe.evaluation.thresholds.cut_counts import cells_of

    cells, verdicts = cells_of(self, _cut(cut)), self._pipeline.verdicts
    ids = [verdicts.images["image_id"].gather(cells["image"]), verdicts.lists["category_id"].gather(cells["list"])]
    table = cells.drop("image", "list").select(*ids, pl.all())
    return with_names(self, table).select("image_id", "category_id", "name", "tp", "fp", "fn")


def _cut(self: CutEvaluation) -> Any:
    from apframe.evaluation.thresholds.cut_counts import ScoreCut

    evaluation = self.evaluation
    place = threshold_at(evaluation.protocol, self.iou_threshold), area_at(evaluation.protocol, self.area_range)
    return ScoreCut(self.thresholds["score_threshold"], *place)
