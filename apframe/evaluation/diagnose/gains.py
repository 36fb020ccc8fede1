"""The rise of overall AP if some errors are fixed: those of a slice, such as a category, or those of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from apframe.evaluation.diagnose.errors import checked_thresholds
from apframe.evaluation.slices.by import masks_of_slices
from apframe.evaluation.slices.keys import as_keys

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.matching.verdicts import Verdicts


class Gain(NamedTuple):
    """A rise of AP and its 95 % interval, whose ends are null if unknown."""

    rise: float
    low: float | None
    high: float | None


def gain_of_slice(
    self: Evaluation, iou_threshold: float, by: SliceKey | Sequence[SliceKey], values: Sequence[Any]
) -> Gain | None:
    """Return the gain if all false positives and missed annotations of a slice are fixed.

    Missed annotations are removed, as in `error_impact`. None if there is no such slice, or one of objects or detections.

    Parameters
    ----------
    iou_threshold
        as in `errors`
    the keys of slices as in `error_impact`, and the values of this slice: `"category_id"` for a category
        the keys of slices as `error_impact` takes them, and the values of this slice: `"category_id"` for a category

    Raises
    ------
    ParameterError
        as in `error_impact`

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1, "sky": "fog"}, {"id": 2, "sky": "sun"}],
    ...          "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    ...          "annotations": [{"id": k, "image_id": k, "category_id": k, "bbox": [0, 0, 10, 10]} for k in (1, 2)]}
    >>> detections = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9},
    ...          {"image_id": 2, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.95}]
    >>> ev = evaluate(truth, detections)
    >>> [round(gain_of_slice(ev, 0.5, *each).rise, 3) for each in (("category_id", [1]), ("sky", ["sun"]))]
    [0.25, 0.75]
    """
    import numpy as np

    from apframe.evaluation.diagnose.find_errors import errors_of

    masks = next((masks for row, masks in masks_of_slices(self, as_keys(by), set()) if row.row(0) == tuple(values)), None)
    if masks is None or not all(flags.all() for table in ("detections", "annotations") for flags in masks[table].values()):
        return None
    verdicts, became, _ = errors_of(self._pipeline, *checked_thresholds(self, iou_threshold, None))
    images, lists = (masks[name][name].to_numpy() for name in ("images", "categories"))
    lists = lists if not verdicts.is_pooled else np.array([True])

    def rows(table: Any, flags: np.ndarray) -> np.ndarray:
        return np.flatnonzero(flags & images[table["image"].to_numpy()] & lists[table["list"].to_numpy()])

    fixed = verdicts.without(rows(verdicts.detections, became.is_false))
    return _gain(self, verdicts, fixed.without_annotations(rows(verdicts.annotations, became.is_missed)))


def gain_of_kind(self: Evaluation, iou_threshold: float, kind: str) -> Gain:
    """Return the gain if all errors of a type are fixed: one row of `error_impact`.

    Parameters
    ----------
    iou_threshold, kind
        as in `errors`, and a name from `error_kinds`

    Raises
    ------
    ParameterError
        as in `error_impact`

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": k, "image_id": 1, "category_id": 1, "bbox": [50 * k, 0, 10, 10]} for k in (0, 1)]}
    >>> detections = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9}]
    >>> round(gain_of_kind(evaluate(truth, detections), 0.5, "miss").rise, 3)
    0.495
    """
    from apframe.evaluation.diagnose.find_errors import errors_of
    from apframe.evaluation.diagnose.fixes import fix

    errors = errors_of(self._pipeline, *checked_thresholds(self, iou_threshold, None))
    return _gain(self, errors[0], fix(kind, *errors))


def _gain(self: Evaluation, verdicts: Verdicts, fixed: Verdicts) -> Gain:
    """Return the rise of overall AP from the verdicts to the fixed ones."""
    import numpy as np

    from apframe.evaluation.comparison.sampling import image_units
    from apframe.evaluation.diagnose.rises import Rises, Sampled, rank

    sampled = Sampled(image_units(self, None, None), np.arange(verdicts.images.height))
    before, after = (rank(each, self.protocol, sampled) for each in (verdicts, fixed))
    every = before.has_positives
    rise = float(np.average(after.ap[every] - before.ap[every], weights=before.weights[every])) if every.any() else 0.0
    rises = Rises.of(before, [after], sampled)
    low, high = (None, None) if rises is None else (rises.mean(every)[name][0] for name in ("low", "high"))
    return Gain(rise, *(None if end is None or np.isnan(end) else float(end) for end in (low, high)))
