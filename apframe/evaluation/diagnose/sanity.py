"""Metrics that can hardly be right, and what is likely to be wrong with the data."""

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
from apframe.tables.names import called
from apframe.wording import counted, listed, option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol
    from apframe.tables.shapes.shape import Shape

_LOW = 0.01  # AP below this, at the usual threshold, is hardly that of a trained model
_STRICT = 0.75  # above this threshold it may be
_LEAST = 10  # detections from which on it is no chance that none of them overlaps anything
_ENOUGH = 10  # annotations from which on finding nothing of a category says something
_FEW, _RARE = 5, 0.01  # so do these, if they are at least this share of all


@dataclass(frozen=True)
class Evaluated:
    """What has been evaluated, as far as warnings look at it.

    Attributes
    ----------
    n_annotations, n_detections
        how many there are
    none_given
        whether there were no detections at all, also none that were dropped
    n_left_out
        how many detections of known images and categories there were, if all of these were left out; otherwise 0
    nothing_matches
        whether no detection is similar enough to any annotation
    is_pooled
        whether the categories are pooled
    detected
        gives the ids of the categories that have detections
    scores, per_image
        give scores with the lowest and the highest of all, and the number of detections of each image
    inputs
        gives the objects, or some of them
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


def warn_of_metrics(metrics: pl.DataFrame, found: Evaluated, protocol: Protocol, name: str | None) -> None:
    """Warn that no detections are there or left, or of what explains the metrics: nothing matches, or AP50 is below .01.

    Otherwise of results that were filtered, and of categories that have annotations but no detections.

    `metrics` are those of the protocol, `name` that of the evaluation. Of fewer than 10 detections only missed categories are
    said, and what explains the metrics needs a similarity of shapes. AP at the lowest threshold, up to .75, stands for AP50
    where .5 is not evaluated. A category counts as missed if it has 10 annotations, or 5 that are 1 % of all. For filtered
    results see `why_filtered`; they matter to AP and AR alone: other numbers read a ranking down to a given rank or number of
    false positives, or have no scores.
    """
    if not found.n_annotations:
        return None
    where = "" if name is None else f" in {name}"
    missed = f"so everything is missed ({counted(found.n_annotations, 'annotation')})"
    if found.none_given:
        return warn(
            f"there are no detections{where}, {missed}; check that this is the right file of results", NoDetectionsWarning
        )
    if found.n_left_out:
        why = f"they are of other categories, or left out by the rules of {protocol.name}"
        return warn(f"no detection is left of {found.n_left_out:,}{where}, {missed}: {why}", NoDetectionsWarning)
    at_low = _at_low_threshold(metrics, protocol)
    if found.n_detections >= _LEAST and _warn_of_guesses(at_low, found, protocol, where):
        return None
    if found.n_detections and not found.is_pooled:  # where all were dropped, that was said
        _warn_of_missed(at_low, found)
    return None


def _warn_of_guesses(at_low: pl.DataFrame, found: Evaluated, protocol: Protocol, where: str) -> bool:
    """Warn of what enough detections show; whether that explains the metrics."""
    problem = None
    if shape := protocol.similarity.shape:  # else it may compare anything
        problem = _why_nothing_matches(found, shape) if found.nothing_matches else None
        if problem is not None:
            warn(f"{_with_shifts(problem, found)}; {FIND_OUT}", NothingMatchesWarning)
            return True
        problem = _low_precision(at_low, found, protocol)
        if problem is not None:
            warn(f"{_with_shifts(problem, found)}; {FIND_OUT}", LowPrecisionWarning)
            return True
    kind = _doubted(protocol)
    if kind is not None and (said := why_filtered(found.scores(), found.per_image, kind.name, where)) is not None:
        warn("; ".join(said), FilteredResultsWarning)
    return False


def _why_nothing_matches(found: Evaluated, shape: Shape) -> str | None:
    from apframe.evaluation.diagnose.rare_overlaps import why_nothing_matches

    inputs = found.inputs()
    all_categories = len(inputs.category_ids) == inputs.dataset.core("categories").height
    by_category = all_categories and not found.is_pooled
    annotations = inputs.dataset.core("annotations")
    return why_nothing_matches(inputs.detections, annotations, least=_LEAST, by_category=by_category, shape=shape)


def _doubted(protocol: Protocol) -> HeadlineKind | None:
    """The first kind of number in the report that warnings look at: AP or AR."""
    return next((line.kind for line in headlines(protocol) if line.kind.doubted_as), None)


def _low_precision(metrics: pl.DataFrame, found: Evaluated, protocol: Protocol) -> str | None:
    kind = _doubted(protocol) or KINDS["AR"]
    values = metrics[kind.column].drop_nulls()
    if values.is_empty() or values.sum() / len(values) >= _LOW or metrics["iou_threshold"][0] > _STRICT:
        return None
    of = f"{counted(found.n_detections, 'detection')} and {counted(found.n_annotations, 'annotation')}"
    at, value = threshold_words(protocol, metrics["iou_threshold"][0]), values.sum() / len(values)
    return f"{kind.doubted_as} at {at} is {value:.4f}, with {of}: that can hardly be right for a trained model"


def _with_shifts(problem: str, found: Evaluated) -> str:
    """The problem, and what ids that are shifted may have to do with it."""
    from apframe.evaluation.diagnose.shifted_ids import find_shifts

    shifts = () if found.is_pooled else find_shifts(found.inputs().detections, found.inputs().dataset)
    return "; ".join([problem, *("; ".join(shift) for shift in shifts)])


def _at_low_threshold(metrics: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """The metrics of all areas and the largest limit at IoU .5; at the lowest threshold where that is not evaluated."""
    return metrics.filter((pl.col("iou_threshold") - protocol.usual_threshold).abs() < 1e-9, is_of_whole(protocol))


def _warn_of_missed(metrics: pl.DataFrame, found: Evaluated) -> None:
    n_positives = pl.col("n_positives")
    annotated = metrics.filter(n_positives > 0)
    expected = annotated.filter((n_positives >= _ENOUGH) | (n_positives >= _FEW) & (n_positives >= _RARE * n_positives.sum()))
    missed = expected.filter(pl.col("n_detections") == 0)["category_id"]
    if len(missed):  # no detection counts; there may be some that are ignored
        missed = missed.filter(~is_known(missed, found.detected()))
    if len(missed):
        categories = found.inputs().dataset.core("categories")
        names = called("categories", categories).filter(is_known(categories["category_id"], missed))
        have, of = "has" if len(missed) == 1 else "have", counted(annotated.height, "annotated category")
        warn(
            f"{len(missed):,} of {of} {have} no detections: {listed(names.to_list())}; "
            f"AP counts them as 0; if the model does not know them, name the others with {option_name('categories')}",
            MissedCategoryWarning,
        )
