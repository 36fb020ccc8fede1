"""Checks of labels: annotations that confident detections contradict, and annotations that no model detects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.diagnose.errors import BACKGROUND, checked_thresholds, usual_background
from apframe.evaluation.diagnose.tasks import LabelErrors
from apframe.evaluation.tables_at_threshold import with_labels
from apframe.evaluation.thresholds.min_scores import BEST_F1, MinScore, cut_scores
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import area_at
from apframe.protocols.refused import refuse_distances, refuse_scores
from apframe.tables.result_tables import LABEL_ERRORS, RESULTS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_USUAL_SCORE = 0.5
_PRECISION = re.compile(r"precision:(\d*\.?\d+)")


def label_errors(
    self: Evaluation,
    iou_threshold: float | None = 0.5,
    *,
    min_score: MinScore = _USUAL_SCORE,
    background: float = BACKGROUND,
) -> LabelErrors:
    """List annotations that are probably wrong, most suspicious first: check them before you blame the model.

    The detections must come from a model that was not trained on these images, otherwise it may have learned their errors.
    There are four kinds of label errors:

    - `missing`: a confident false positive that touches no annotation, and is not inside a crowd or an ignored one. Its
      suspicion is the score.
    - `wrong_class`: a confident false positive on a missed annotation of another category. Its suspicion is score × similarity.
    - `misplaced`: a confident error `loc` (see `errors`) that is the best one for a missed annotation. Its suspicion is score ×
      (1 - similarity).
    - `duplicate`: a missed annotation whose similarity with another one of the image is .8 or more, which is its suspicion.
      Similarity functions of your own give no duplicates.

    If categories are pooled, there are no `wrong_class`, and no category is proposed.

    Parameters
    ----------
    iou_threshold, background
        as in `errors`
    min_score
        detections with at least this score are confident: a number, a dict with a number for every category, "precision:.9" for
        the lowest score of each category with a precision of .9 or more (none if there is no such score), or "best_f1" for the
        score with the best F1

    Returns
    -------
    kind, image_id, file_name, detection_id, annotation_id, other_annotation_id (the other one of a duplicate), category_id and
    name (the current label), proposed_category_id, proposed_name, score, similarity, suspicion; null if a kind has no such
    value. Sorted by kind, suspicion (largest first) and ids. `write` of the table writes the images for a labelling tool, in
    which you can correct them; see `LabelErrors`.

    Raises
    ------
    ParameterError
        a threshold was not evaluated, `background` is not below it, or min_score is none of the above

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    ...          "annotations": [{"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}]}
    >>> detections = [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 10, 10], "score": 0.9},
    ...          {"image_id": 1, "category_id": 1, "bbox": [50, 0, 10, 10], "score": 0.8}]
    >>> table = evaluate(truth, detections).label_errors()
    >>> table.select("kind", "annotation_id", "proposed_category_id", "suspicion").rows()
    [('missing', None, 1, 0.8), ('wrong_class', 5, 2, 0.9)]
    """
    refuse_scores(self.protocol, "annotations that confident detections contradict")
    return LabelErrors(with_labels(self, suspicious_labels(self, iou_threshold, min_score, background)), [self])


def suspicious_labels(self: Evaluation, iou_threshold: float | None, min_score: MinScore, background: float) -> pl.DataFrame:
    """Compute the table of `label_errors`, without the names of files and categories."""
    import numpy as np

    from apframe.evaluation.diagnose.find_errors import errors_of, pairs_of
    from apframe.evaluation.diagnose.suspects import Evidence, find_suspects
    from apframe.protocols.list_thresholds import thresholds_of

    refuse_distances(self.protocol, "label errors need")
    threshold, background = checked_thresholds(self, iou_threshold, background)
    min_scores = _cuts(self, min_score, threshold)
    inputs, outline = self._inputs, self._pipeline.outline
    verdicts, outcomes, errors = errors_of(self._pipeline, threshold, background)
    of_row = inputs.detections.select("category_id").join(min_scores, on="category_id", how="left", maintain_order="left")
    score = verdicts.detections["score"].to_numpy()
    confident = score >= of_row["min_score"].fill_null(-np.inf).gather(verdicts.detections["row"]).to_numpy()
    evidence = Evidence(verdicts, outcomes, errors, pairs_of(self._pipeline, background), confident)
    suspects = find_suspects(evidence, inputs, thresholds_of(inputs, inputs.protocol, verdicts.thresholds[0]), background)

    detections, annotations = inputs.detections, inputs.annotations
    kind = suspects["kind"].cast(LABEL_ERRORS)
    images = [detections["image_id"].gather(suspects["detection"]), annotations["image_id"].gather(suspects["annotation"])]
    now = annotations["category_id"].gather(suspects["annotation"])
    proposed = detections["category_id"].gather(suspects["detection"])
    table = pl.DataFrame(
        {
            "kind": kind,
            "image_id": pl.select(pl.coalesce(*images)).to_series(),
            "detection_id": detections["detection_id"].gather(suspects["detection"]),
            "annotation_id": annotations["annotation_id"].gather(suspects["annotation"]),
            "other_annotation_id": annotations["annotation_id"].gather(suspects["same_as"]),
            "category_id": now,
            "proposed_category_id": proposed.clear(len(proposed)) if outline.is_pooled else proposed,
            "score": detections["score"].gather(suspects["detection"]),
            "similarity": suspects["similarity"],
        }
    )
    kinds = pl.col("kind")
    suspicion = (
        pl.when(kinds == "missing").then("score")
        .when(kinds == "wrong_class").then(pl.col("score") * pl.col("similarity"))
        .when(kinds == "misplaced").then(pl.col("score") * (1 - pl.col("similarity")))
        .otherwise("similarity")
    )  # fmt: skip
    table = table.with_columns(suspicion=suspicion)
    return table.select(column.name for column in RESULTS["label_errors"]).sort(
        "kind", "suspicion", "image_id", "annotation_id", "detection_id", descending=[False, True, False, False, False]
    )


def untouched_annotations(self: Evaluation, min_score: float, background: float = BACKGROUND) -> pl.DataFrame:
    """Return the annotations that count, in the headline's area range, and that no detection of any category touches.

    Parameters
    ----------
    min_score
        detections below this score do not touch anything
    background
        the lowest similarity at which a detection touches an annotation

    Returns
    -------
    annotation_id, image_id, category_id. Crowds, and copies of annotations for categories above their own, are excluded.
    """
    import numpy as np

    from apframe.evaluation.diagnose.outcomes import verdicts_at
    from apframe.evaluation.diagnose.suspects import of_detections
    from apframe.protocols.pairing import pair

    inputs = self._inputs
    verdicts = verdicts_at(self._pipeline.verdicts, 0, area_at(self.protocol, None))
    rows = verdicts.annotations.filter(pl.col("counts") > 0)["row"]
    touching = of_detections(inputs, (inputs.detections["score"] >= min_score).arg_true().to_numpy())
    pairs = pair(touching, min_similarity=background, across_categories=True).filter(pl.col("similarity") >= background)
    is_untouched = np.zeros(inputs.annotations.height, dtype=bool)
    is_untouched[rows.to_numpy()] = True
    is_untouched[pairs["annotation"].to_numpy()] = False
    is_listed = pl.Series(is_untouched) & ~inputs.crowds
    if "expanded_from" in inputs.annotations.columns:
        is_listed = is_listed & inputs.annotations["expanded_from"].is_null()
    return inputs.annotations.filter(is_listed).select("annotation_id", "image_id", "category_id")


def label_errors_table(self: Evaluation) -> pl.DataFrame:
    """Compute the table at the lowest threshold, with the default score."""
    return suspicious_labels(self, None, _USUAL_SCORE, usual_background(self))


def _cuts(self: Evaluation, min_score: Any, threshold: int) -> pl.DataFrame:
    """Return category_id and min_score: the lowest score of confident detections of each category."""
    area = area_at(self.protocol, None)
    text = min_score if isinstance(min_score, str) else ""
    if text and self._pipeline.outline.is_pooled:
        raise ParameterError(f"must be a number if categories are pooled, not {text!r}", option="min_score")
    if text and text != BEST_F1 and not text.startswith("precision:"):
        raise ParameterError(
            f'must be a number, a dict of numbers by category, "{BEST_F1}" or "precision:0.9", not {text!r}', option="min_score"
        )
    if not text.startswith("precision:"):
        return cut_scores(self, min_score, threshold, area)
    number = _PRECISION.fullmatch(text)
    if number is None or not 0 < float(number[1]) <= 1:
        raise ParameterError(f'{text!r} is not "precision:" and a number in (0, 1]', option="min_score")
    table = self._pipeline.thresholds(threshold, area).filter(pl.col("precision") >= float(number[1])).collect()
    lowest = table.group_by("category_id").agg(min_score=pl.col("score_threshold").min())
    categories = self._source.category_ids.alias("category_id").to_frame()
    lowest = categories.join(lowest, on="category_id", how="left", maintain_order="left")
    return lowest.with_columns(pl.col("min_score").fill_null(float("inf")))
