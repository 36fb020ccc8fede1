"""The errors of an evaluation, and the cost of each type in AP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.comparison.headline_intervals import units_if_asked
from apframe.evaluation.diagnose.error_kinds import ENDS, ERROR_KINDS, OF_DETECTIONS
from apframe.evaluation.slices.by import masks_of_slices
from apframe.evaluation.slices.keys import as_keys
from apframe.evaluation.tables_at_threshold import columns_at, with_labels
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import threshold_at
from apframe.protocols.refused import refuse_scores
from apframe.tables.result_tables import ERRORS, RESULTS

if TYPE_CHECKING:
    import numpy as np

    from apframe.compare.resampling import Units
    from apframe.evaluation.diagnose.find_errors import Errors
    from apframe.evaluation.diagnose.outcomes import Outcomes
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.matching.verdicts import Verdicts
    from apframe.tables.conditions import Masks

BACKGROUND = 0.1


def errors(self: Evaluation, iou_threshold: float | None = 0.5, *, background: float | None = None) -> pl.DataFrame:
    """List false positives and missed annotations, one row each, with their type of error (TIDE).

    `apf.error_kinds()` lists the types with their conditions and the effects of fixing them. Annotations of other categories
    are compared by the similarity of the protocol. Crowds and ignored annotations are never the target of an error, and ignored
    detections and those beyond max_detections are not errors. If categories are pooled, there are no errors `cls` and `both`.
    With a hierarchy, copies of annotations for categories above their own, and annotations of categories above or below the
    detection's, are not annotations of another category, as in `confusion`.

    Parameters
    ----------
    iou_threshold
        one of the protocol's thresholds, within 1e-9; None for the lowest
    background
        a false positive whose similarity to every annotation is at most this value is an error `bkg`; in [0, iou_threshold).
        None: 0.1, or 0 if the threshold is not above that; or twice the threshold, if the protocol compares distances, which
        are negative

    Returns
    -------
    iou_threshold, image_id, file_name, category_id, name, detection_id, score (these two are null for missed annotations),
    error, annotation_id (the target; null for `bkg`), target_category_id and target_name (its category), similarity (to it;
    null for missed ones), same and other (largest similarity to an annotation of the detection's category, and of other
    categories; null below `background`), and is_fixable: whether fixing the error gives a true positive, null for missed
    annotations. Detections come by category and rank, followed by missed annotations by category. A missed annotation that is
    the target of an error `cls` or `loc` has no row of its own.

    Raises
    ------
    ParameterError
        a threshold was not evaluated, or `background` is not below it

    Warns
    -----
    CategoriesNotComparedWarning
        keypoints are compared, and categories have different ones: then there are no errors `cls` and `both`

    Source: Bolya et al., TIDE, ECCV 2020, with COCO's rules for crowds, limits and ties.

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    ...          "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}]}
    >>> detections = [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 10, 10], "score": 0.9},
    ...          {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 4], "score": 0.8}]
    >>> evaluate(truth, detections).errors().select("detection_id", "error", "annotation_id", "is_fixable").rows()
    [(2, 'loc', 5, False), (1, 'cls', 5, True)]
    """
    return with_labels(self, error_rows(self, iou_threshold, background))


def error_rows(self: Evaluation, iou_threshold: float | None, background: float | None = None) -> pl.DataFrame:
    """Compute `errors` without file_name and the names of categories."""
    refuse_scores(self.protocol, "kinds of errors")
    return stored_or_computed(self, "errors", *checked_thresholds(self, iou_threshold, background))


def error_impact(
    self: Evaluation,
    iou_threshold: float | None = 0.5,
    *,
    by: SliceKey | Sequence[SliceKey] = (),
    background: float | None = None,
    intervals: bool = False,
    unit: str | None = None,
    within: str | None = None,
) -> pl.DataFrame:
    """Compute the rise of AP at one threshold if all errors of a type are fixed (TIDE), which ranks types by cost.

    Each type is fixed separately, by editing the verdicts of matching, and AP is computed again by the protocol's definition.
    `apf.error_kinds()` describes each fix. The rises do not add up: fixing two types at once may give more than both, or less.
    A rise can be slightly negative, for `cls`, `loc`, `miss` and `fn`.

    Parameters
    ----------
    iou_threshold, background
        as in `errors`
    by
        keys as in the method `by`: a row for each slice and type, with the keys first. Images and objects are those of the
        slice, as in `by`. A key of the categories averages over the categories of the slice, and the errors are those of the
        whole evaluation
    intervals
        adds low, high (the 95 % interval of delta_ap) and se: how far the rise would move with other images of the same kind.
        An error keeps its type. See `Evaluation.intervals`, which also says when they are null
    unit, within
        the units and strata of the intervals, see `Evaluation.intervals`

    Returns
    -------
    category_id, name (both null for the mean over the categories with positives, which comes first), iou_threshold, error (`fp`
    and `fn` are all false positives and all missed annotations), n (number of errors; those of detections count in the category
    of the detection), ap and delta_ap (both null without positives). If no positives remain after errors are fixed, AP is 1 if
    no detection counts, and 0 otherwise. With `by`, the keys replace category_id and name, and `ap` and `delta_ap` are means.

    Raises
    ------
    ParameterError
        a threshold was not evaluated, `background` is not below it, or `by` rejects the keys

    Source: Bolya et al., TIDE, ECCV 2020.

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    ...          "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}]}
    >>> detections = [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 10, 10], "score": 0.9}]
    >>> impact = evaluate(truth, detections).error_impact()
    >>> impact.filter(pl.col("name").is_null(), error="cls").select("n", "ap", "delta_ap").rows()
    [(1, 0.0, 0.9999999999999998)]
    """
    refuse_scores(self.protocol, "effects of errors on average precision")
    threshold, background = checked_thresholds(self, iou_threshold, background)
    units = units_if_asked(self, unit, within, intervals=intervals)
    if keys := as_keys(by):
        return _of_slices(self, keys, threshold, background, units)
    if units is None:
        table = stored_or_computed(self, "error_impact", threshold, background)
    else:
        table = _impact_table(self, threshold, background, units)
    names = self.dataset.categories.select("category_id", "name")
    table = table.join(names, on="category_id", how="left", maintain_order="left")
    return table.select("category_id", "name", pl.exclude("category_id", "name"))


def usual_background(self: Evaluation, threshold: int = 0) -> float:
    """Return the default background at a threshold (number): 0 if that is not above the usual one; twice a distance."""
    foreground = self._pipeline.outline.thresholds[threshold]
    return BACKGROUND if foreground > BACKGROUND else min(2 * foreground, 0.0)


def stored_or_computed(self: Evaluation, name: str, threshold: int = 0, background: float | None = None) -> pl.DataFrame:
    """Return the table of a name at a threshold (number): stored, if it was stored, or computed."""
    background = usual_background(self) if background is None else background
    compute = _errors_table if name == "errors" else _impact_table
    if threshold == 0 and background == usual_background(self):
        return self._kept(name, lambda: compute(self, threshold, background))
    return compute(self, threshold, background)


def checked_thresholds(self: Evaluation, iou_threshold: float | None, background: float | None) -> tuple[int, float]:
    """Validate the threshold and the background, and return the number of the former and the value of the latter."""
    threshold = threshold_at(self.protocol, iou_threshold)
    foreground = self._pipeline.outline.thresholds[threshold]
    min_background = self.protocol.similarity.bounds[0]
    if background is None:
        background = usual_background(self, threshold)
    if (
        isinstance(background, bool)
        or not isinstance(background, (int, float))
        or not min_background <= background < foreground
    ):
        lowest = "below the" if min_background < 0 else "at least 0 and below the IoU"
        problem = f"must be {lowest} threshold {foreground:.10g}, not {background!r}"
        raise ParameterError(problem, option="background")
    return threshold, float(background)


def _find(self: Evaluation, threshold: int, background: float) -> tuple[Verdicts, Outcomes, Errors]:
    """Return the verdicts at a threshold (number), with their outcomes and errors."""
    from apframe.evaluation.diagnose.find_errors import errors_of  # imports NumPy

    return errors_of(self._pipeline, threshold, background)


def _errors_table(self: Evaluation, threshold: int, background: float) -> pl.DataFrame:
    """Compute the table of `errors` without names."""
    import numpy as np

    from apframe.evaluation.diagnose.find_errors import NONE

    verdicts, _, errors = _find(self, threshold, background)
    detections, annotations = self._inputs.detections, self._inputs.annotations
    at, missed = np.flatnonzero(errors.kind != NONE), np.flatnonzero(errors.is_miss)
    target = pl.Series(np.concatenate([errors.target[at], missed]))
    target = verdicts.annotations["row"].gather(target.set(target == NONE, None))
    rows = [verdicts.detections["row"].gather(at), verdicts.annotations["row"].gather(missed)]

    def of_both(name: str) -> pl.Series:
        return pl.concat([frame[name].gather(row) for frame, row in zip((detections, annotations), rows, strict=True)])

    def of_detections(values: pl.Series) -> pl.Series:
        return values.extend_constant(None, len(missed))

    def numbers(values: np.ndarray) -> pl.Series:
        return of_detections(pl.Series(values[at], nan_to_null=True, dtype=pl.Float64))

    kinds = pl.Series([*OF_DETECTIONS, "miss"], dtype=ERRORS)
    columns = {
        "image_id": of_both("image_id"),
        "category_id": of_both("category_id"),
        "detection_id": of_detections(detections["detection_id"].gather(rows[0])),
        "score": of_detections(verdicts.detections["score"].gather(at)),
        "error": kinds.gather(np.concatenate([errors.kind[at], np.full(len(missed), len(OF_DETECTIONS))])),
        "annotation_id": annotations["annotation_id"].gather(target),
        "target_category_id": annotations["category_id"].gather(target),
        "similarity": numbers(errors.similarity),
        "same": numbers(errors.same),
        "other": numbers(errors.other),
        "is_fixable": of_detections(pl.Series(errors.is_fixable[at], dtype=pl.Boolean)),
    }
    table = _with_threshold(self, pl.DataFrame(columns), threshold)
    return table.select(column.name for column in RESULTS["errors"])


def _impact_table(self: Evaluation, threshold: int, background: float, units: Units | None = None) -> pl.DataFrame:
    """Compute the table of `error_impact` without `name`; with units also the intervals."""
    import numpy as np

    from apframe.evaluation.diagnose.fixes import Impact
    from apframe.evaluation.diagnose.rises import Sampled

    verdicts, became, each = _find(self, threshold, background)
    sampled = None if units is None else Sampled(units, np.arange(verdicts.images.height))
    impact = Impact.of(verdicts, became, each, self.protocol, sampled=sampled)
    ids = verdicts.lists["category_id"]
    table = impact.mean(np.ones(len(ids), dtype=bool)).with_columns(category_id=pl.lit(None, ids.dtype))
    if not verdicts.is_pooled:
        of_lists = ids.gather(np.repeat(np.arange(len(ids)), len(ERROR_KINDS)))
        table = pl.concat([table, impact.table().with_columns(of_lists.alias("category_id"))])
    columns = [column.name for column in RESULTS["error_impact"]]
    return _with_ends(_with_threshold(self, table, threshold), columns, units)


def _of_slices(
    self: Evaluation, keys: Sequence[SliceKey], threshold: int, background: float, units: Units | None
) -> pl.DataFrame:
    """Compute `error_impact` with `by`."""
    import numpy as np

    from apframe.evaluation.comparison.slice_rows import numbers_of_images
    from apframe.evaluation.diagnose.fixes import Impact, fix_all
    from apframe.evaluation.diagnose.rises import Sampled

    columns = ["iou_threshold", "error", "n", "ap", "delta_ap"]
    errors_of_all = _find(self, threshold, background)
    fixed: dict[str, Verdicts] = {}
    last: Masks | None = None  # slices that only differ in their categories follow one another
    slices, tables = [], []
    for values, masks in masks_of_slices(self, keys, {*columns, *ENDS}):
        masks_of_objects = {table: masks[table] for table in ("images", "detections", "annotations")}
        if last is None or not _are_equal(last, masks_of_objects):
            last = masks_of_objects
            if masks["annotations"] or not all(mask.all() for mask in masks["detections"].values()):  # matches anew
                errors_of_slice = _find(self._subset(masks_of_objects), threshold, background)
                of_kinds, images = fix_all(*errors_of_slice), None
            else:
                errors_of_slice, fixed = errors_of_all, fixed or fix_all(*errors_of_all)
                of_kinds, images = fixed, masks["images"]["images"].to_numpy()
            numbers = numbers_of_images(errors_of_all[0].images, errors_of_slice[0])
            sampled = None if units is None else Sampled(units, numbers if images is None else numbers[images])
            impact = Impact.of(*errors_of_slice, self.protocol, of_kinds, images, sampled)
        categories = masks["categories"]["categories"].to_numpy()
        kept = np.array([True]) if errors_of_all[0].is_pooled else categories
        slices.append(values)
        tables.append(impact.mean(kept))
    if not slices:
        raise ParameterError("there are no slices, as the table of the keys has no rows", option="by")
    of_slices = pl.concat(slices, how="vertical_relaxed")[np.repeat(np.arange(len(slices)), len(ERROR_KINDS))]
    table = _with_threshold(self, pl.concat(tables), threshold)
    return of_slices.hstack(_with_ends(table, columns, units))


def _with_ends(table: pl.DataFrame, columns: Sequence[str], units: Units | None) -> pl.DataFrame:
    """Select the columns, and with units the intervals, which are null if AP has no derivative."""
    if units is None:
        return table.select(columns)
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ENDS if name not in table.columns]
    return table.with_columns(nothing).select(*columns, *ENDS)


def _are_equal(one: Masks, other: Masks) -> bool:
    """Return True if two slices have the same images, detections and annotations."""
    return all(
        one[table] is masks
        or (one[table].keys() == masks.keys() and all(one[table][name].equals(mask) for name, mask in masks.items()))
        for table, masks in other.items()
    )


def _with_threshold(self: Evaluation, table: pl.DataFrame, threshold: int) -> pl.DataFrame:
    """Add the threshold with this number, rounded as in other tables."""
    return table.with_columns(iou_threshold=columns_at(self, threshold, 0)["iou_threshold"])
