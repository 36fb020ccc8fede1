"""The confusion matrix: categories predicted as others, and the rows behind its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.tables_at_threshold import columns_at
from apframe.evaluation.thresholds.chosen_scores import read_thresholds
from apframe.evaluation.thresholds.min_scores import MinScore, cut_scores
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import area_at, place_at

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.matching.verdicts import Verdicts

ScoreCuts = MinScore | pl.DataFrame
_SIDES = ("true", "found")
_NAMES = [f"{side}_{column}" for side in _SIDES for column in ("category_id", "name")]


def confusion(
    self: Evaluation, iou_threshold: float | None = 0.5, area_range: str | None = None, *, min_score: ScoreCuts = None
) -> pl.DataFrame:
    """Count which categories are predicted as which others, which are missed, and detections on background.

    A true positive of the evaluation is on the diagonal. Each other detection, by score, is then matched to the most similar
    annotation of *another* category that is still unmatched and reaches the IoU threshold. The rest is background or missed. So
    the table agrees with `thresholds` and `per_image(min_score=)`: the diagonal is tp, the cells of a found category sum to tp
    + fp, and those of a true category to the annotations that count.

    Ignored detections and annotations are excluded, as are detections beyond max_detections. Groups of objects are never
    mistaken for another category. With a hierarchy, categories above each other are not mistaken either, and an object is
    mistaken only as its own category, not as those above it. Categories whose keypoints have different names are not mistaken
    for each other, with a `CategoriesNotComparedWarning`.

    Parameters
    ----------
    one of the protocol's thresholds, within 1e-9; None for the lowest
        one of the protocol's, found to 1e-9; None is the lowest
    the name of one of the protocol's area ranges; "all" by default
        the name of one of the protocol's; "all" by default
    min_score
        exclude detections below this score: a number; a dict with a number for every category, by name or id; "best_f1", the
        `is_best` row of `thresholds`, which excludes all detections of categories without annotations; or a frame from
        `operating_points` of other data. By default, all detections count

    Returns
    -------
    true_category_id, true_name (null for background), found_category_id, found_name (null for missed), area_range,
    iou_threshold, min_score (of the found category; null for none), n, share_of_true (of the annotations of the true category;
    null for background) and share_of_found (of the detections of the found category; null for missed). Only cells with n > 0,
    by true and found category, null last. `confusion_pairs` has the rows behind them.

    Raises
    ------
    ParameterError
        the categories are pooled; a threshold or area range was not evaluated; min_score is not one of the values above

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> truth = Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["cat", "dog"]}, box | {"category_id": [1]})
    >>> evaluate(truth, box | {"category_id": [2], "score": [0.9]}).confusion().select("true_name", "found_name", "n").rows()
    [('cat', 'dog', 1)]
    """
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    rows, _, cuts = _confused(self, threshold, area, min_score)
    return _with_names(self, _count(self, rows, cuts, threshold, area)).select(*_NAMES, pl.exclude(_NAMES))


def confusion_pairs(
    self: Evaluation, iou_threshold: float | None = 0.5, area_range: str | None = None, *, min_score: ScoreCuts = None
) -> pl.DataFrame:
    """List the detections and annotations behind the cells of `confusion`, one row for each count.

    Parameters and errors are the same as in `confusion`.

    Returns
    -------
    image_id, file_name, true_category_id, true_name, found_category_id, found_name, detection_id (null for missed),
    annotation_id (null for background), score of the detection and similarity of the pair. By true and found category, null
    last, then score, highest first.

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> truth = Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["cat", "dog"]}, box | {"category_id": [1]})
    >>> pairs = evaluate(truth, box | {"category_id": [2], "score": [0.9]}).confusion_pairs()
    >>> pairs.select("image_id", "true_name", "found_name", "score", "similarity").rows()
    [(1, 'cat', 'dog', 0.9, 1.0)]
    """
    rows, verdicts, _ = _confused(self, *place_at(self.protocol, iou_threshold, area_range), min_score)
    of_detections, of_annotations = (
        table.select("image", "row", *other)[rows[name]]
        for table, name, other in ((verdicts.detections, "detection", ["score"]), (verdicts.annotations, "annotation", []))
    )
    image = of_detections["image"].zip_with(of_detections["image"].is_not_null(), of_annotations["image"])
    inputs = self._inputs
    rows = rows.with_columns(
        verdicts.images["image_id"].gather(image),
        inputs.detections["detection_id"].gather(of_detections["row"]),
        inputs.annotations["annotation_id"].gather(of_annotations["row"]),
        of_detections["score"],
    )
    order = ["true", "found", "score", "detection", "annotation"]
    rows = rows.sort(order, descending=[name == "score" for name in order], nulls_last=True)
    columns = ["image_id", "file_name", *_NAMES, "detection_id", "annotation_id", "score", "similarity"]
    rows = rows.join(self.dataset.images.select("image_id", "file_name"), on="image_id", how="left", maintain_order="left")
    return _with_names(self, _with_ids(rows, self._source.category_ids)).select(columns)


def confusion_table(self: Evaluation) -> pl.DataFrame:
    """Compute the table in SQL: `confusion` at the lowest threshold, without names; empty if categories are pooled."""
    area = area_at(self.protocol, None)
    if self._pipeline.outline.is_pooled:
        no_rows = pl.DataFrame(schema={"true": pl.UInt32, "found": pl.UInt32})
        return _count(self, no_rows, pl.Series(dtype=pl.Float64), 0, area)
    rows, _, cuts = _confused(self, 0, area, None)
    return _count(self, rows, cuts, 0, area)


def require_categories(self: Evaluation) -> None:
    """Raise an error if the categories are pooled."""
    if self._pipeline.outline.is_pooled:
        problem = "the categories are pooled, so none can be mistaken for another"
        raise ParameterError(problem, "evaluate without pooling them to see which are")


def _confused(self: Evaluation, threshold: int, area: int, min_score: ScoreCuts) -> tuple[pl.DataFrame, Verdicts, pl.Series]:
    """Return the rows of `confuse`, the verdicts of their positions, and the cut-off of every list (null for none)."""
    require_categories(self)
    from apframe.evaluation.diagnose.category_mistakes import confuse  # imports NumPy, as does the next one
    from apframe.evaluation.diagnose.outcomes import verdicts_at

    if min_score is None or isinstance(min_score, (str, Mapping)) or not hasattr(min_score, "columns"):
        cuts = cut_scores(self, min_score, threshold, area)["min_score"]
    else:
        cuts = read_thresholds(self, min_score)["score_threshold"].fill_null(math.inf).alias("min_score")
    verdicts = self._pipeline.verdicts if min_score is None else self._pipeline.at_score(cuts)
    verdicts = verdicts_at(verdicts, threshold, area)
    return confuse(verdicts, self._inputs), verdicts, cuts


def _count(self: Evaluation, rows: pl.DataFrame, cuts: pl.Series, threshold: int, area: int) -> pl.DataFrame:
    """Return the cells with the ids of their categories, from the rows of `confuse`."""
    n, counts = pl.col("n"), rows.group_by(_SIDES).agg(n=pl.len().cast(pl.Int64)).sort(_SIDES, nulls_last=True)
    shares = {f"share_of_{side}": pl.when(pl.col(side).is_not_null()).then(n / n.sum().over(side)) for side in _SIDES}
    return _with_ids(counts, self._source.category_ids).select(
        "true_category_id",
        "found_category_id",
        **columns_at(self, threshold, area),
        min_score=cuts.gather(counts["found"]),
        n="n",
        **shares,
    )


def _with_ids(table: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Add the categories of the lists `true` and `found`."""
    return table.with_columns(ids.gather(table[side]).alias(f"{side}_category_id") for side in _SIDES)


def _with_names(self: Evaluation, table: pl.DataFrame) -> pl.DataFrame:
    """Add the names of both categories."""
    names = self.dataset.categories.select("category_id", "name")
    for side in _SIDES:
        of_side = names.rename(lambda column, side=side: f"{side}_{column}")  # type: ignore[misc]
        table = table.join(of_side, on=f"{side}_category_id", how="left", maintain_order="left")
    return table
