"""Metrics that are probably wrong, and the probable mistakes in the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.diagnose.filtered import why_filtered
from apframe.exceptions import (
    FilteredResultsWarning,
    LowPrecisionWarning,
    MissedCategoryWarning,
    NoDetectionsWarning,
    NothingMatchesWarning,
    warn,
)
from apframe.protocols.headlines import KINDS, HeadlineKind, headlines, is_of_whole
from apframe.protocols.lookups import threshold_words
from apframe.protocols.rules.known import FIND_OUT
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of
from apframe.wording import counted, listed, option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol
    from apframe.tables.shapes.shape import Shape

_LOW = 0.01  # AP below this, at the usual threshold, is unlikely for a trained model
_STRICT = 0.75  # above this threshold it is possible
_LEAST = 10  # the number of detections that cannot all overlap nothing by chance
_ENOUGH = 10  # the number of annotations of a category without detections that is suspicious
_FEW, _RARE = 5, 0.01  # as are these, if they are at least this share of all


@dataclass(frozen=True)
class Evaluated:
    """The facts about an evaluation that warnings need.

    Attributes
    ----------
    n_annotations, n_detections
        the numbers of annotations and of detections
    none_given
        whether the input had no detections, not even dropped ones
    n_left_out
        the number of detections of known images and categories, if all of them were left out; otherwise 0
    nothing_matches
        whether no detection is similar enough to any annotation
    is_pooled
        whether the categories are pooled
    detected
        a function that returns the ids of the categories with detections
    scores, per_image
        functions that return scores, including the lowest and the highest, and the number of detections of each image
    inputs
        a function that returns the objects, or some of them
    """

    n_annotations: int
    n_detections: int
    none_given: bool
    n_left_out: int
    nothing_matches: bool
    is_pooled: bool
    detected: Callable[[], pl.Series]
    scores: Callable[[], pl.Series]
    per_image: Callable[[], pl.Series]
    inputs: Callable[[], Inputs]


def warn_of_metrics(metrics: pl.DataFrame, evaluated: Evaluated, protocol: Protocol, name: str | None) -> None:
    """Warn if there are no detections, or of the probable cause of the metrics: nothing matches, or AP50 is below .01.

    Otherwise warn of filtered results, and of categories with annotations but no detections.

    `metrics` are those of the protocol, `name` is the name of the evaluation. With fewer than 10 detections, there are only
    warnings of missed categories; causes of the metrics require a similarity of shapes. If .5 was not evaluated, AP at the
    lowest threshold, up to .75, replaces AP50. A category counts as missed if it has 10 annotations, or 5 that are 1 % of all.
    For filtered results see `why_filtered`; they only matter to AP and AR: other numbers read a ranking down to a given rank or
    number of false positives, or have no scores.
    """
    if not evaluated.n_annotations:
        return None
    where = "" if name is None else f" in {name}"
    missed = f"so everything is missed ({counted(evaluated.n_annotations, 'annotation')})"
    if evaluated.none_given:
        return warn(
            f"there are no detections{where}, {missed}; check that this is the right file of results", NoDetectionsWarning
        )
    if evaluated.n_left_out:
        why = f"they are of other categories, or left out by the rules of {protocol.name}"
        return warn(f"no detection is left of {evaluated.n_left_out:,}{where}, {missed}: {why}", NoDetectionsWarning)
    at_low = _at_low_threshold(metrics, protocol)
    if evaluated.n_detections >= _LEAST and _warn_of_guesses(at_low, evaluated, protocol, where):
        return None
    if evaluated.n_detections and not evaluated.is_pooled:  # if all were dropped, there was a warning already
        _warn_of_missed(at_low, evaluated)
    return None


def _warn_of_guesses(at_low: pl.DataFrame, evaluated: Evaluated, protocol: Protocol, where: str) -> bool:
    """Warn of mistakes that enough detections show; return True if they explain the metrics."""
    problem = None
    if shape := protocol.similarity.shape:  # otherwise it may compare anything
        problem = _why_nothing_matches(evaluated, shape) if evaluated.nothing_matches else None
        if problem is not None:
            warn(f"{_with_shifts(problem, evaluated)}; {FIND_OUT}", NothingMatchesWarning)
            return True
        problem = _low_precision(at_low, evaluated, protocol)
        if problem is not None:
            warn(f"{_with_shifts(problem, evaluated)}; {FIND_OUT}", LowPrecisionWarning)
            return True
    kind = _doubted(protocol)
    if (
        kind is not None
        and (reason_and_remedy := why_filtered(evaluated.scores(), evaluated.per_image, kind.name, where)) is not None
    ):
        warn("; ".join(reason_and_remedy), FilteredResultsWarning)
    return False


def _why_nothing_matches(evaluated: Evaluated, shape: Shape) -> str | None:
    from apframe.evaluation.diagnose.rare_overlaps import why_nothing_matches

    inputs = evaluated.inputs()
    all_categories = len(inputs.category_ids) == inputs.dataset.core("categories").height
    by_category = all_categories and not evaluated.is_pooled
    annotations = inputs.dataset.core("annotations")
    return why_nothing_matches(inputs.detections, annotations, least=_LEAST, by_category=by_category, shape=shape)


def _doubted(protocol: Protocol) -> HeadlineKind | None:
    """Return the first kind of number in the report that warnings are about: AP or AR."""
    return next((line.kind for line in headlines(protocol) if line.kind.doubted_as), None)


def _low_precision(metrics: pl.DataFrame, evaluated: Evaluated, protocol: Protocol) -> str | None:
    kind = _doubted(protocol) or KINDS["AR"]
    values = metrics[kind.column].drop_nulls()
    if values.is_empty() or values.sum() / len(values) >= _LOW or metrics["iou_threshold"][0] > _STRICT:
        return None
    of = f"{counted(evaluated.n_detections, 'detection')} and {counted(evaluated.n_annotations, 'annotation')}"
    at, value = threshold_words(protocol, metrics["iou_threshold"][0]), values.sum() / len(values)
    return f"{kind.doubted_as} at {at} is {value:.4f}, with {of}: that can hardly be right for a trained model"


def _with_shifts(problem: str, evaluated: Evaluated) -> str:
    """Describe the problem, and its possible relation to shifted ids."""
    from apframe.evaluation.diagnose.shifted_ids import find_shifts

    shifts = () if evaluated.is_pooled else find_shifts(evaluated.inputs().detections, evaluated.inputs().dataset)
    return "; ".join([problem, *("; ".join(shift) for shift in shifts)])


def _at_low_threshold(metrics: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """Return the metrics of all areas and the largest limit at IoU .5, or at the lowest threshold if .5 was not evaluated."""
    return metrics.filter((pl.col("iou_threshold") - protocol.usual_threshold).abs() < 1e-9, is_of_whole(protocol))


def _warn_of_missed(metrics: pl.DataFrame, evaluated: Evaluated) -> None:
    n_positives = pl.col("n_positives")
    annotated = metrics.filter(n_positives > 0)
    expected = annotated.filter((n_positives >= _ENOUGH) | (n_positives >= _FEW) & (n_positives >= _RARE * n_positives.sum()))
    missed = expected.filter(pl.col("n_detections") == 0)["category_id"]
    if len(missed):  # no detection counts, but some may be ignored
        missed = missed.filter(~is_known(missed, evaluated.detected()))
    if len(missed):
        categories = evaluated.inputs().dataset.core("categories")
        names = labels_of("categories", categories).filter(is_known(categories["category_id"], missed))
        have, of = "has" if len(missed) == 1 else "have", counted(annotated.height, "annotated category")
        warn(
            f"{len(missed):,} of {of} {have} no detections: {listed(names.to_list())}; "
            f"AP counts them as 0; if the model does not know them, name the others with {option_name('categories')}",
            MissedCategoryWarning,
        )
