"""Label errors that several models agree on, and annotations that no model detects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.diagnose.errors import BACKGROUND
from apframe.evaluation.diagnose.label_errors import suspicious_labels, untouched_annotations
from apframe.evaluation.diagnose.missing_objects import detections_of, objects_of
from apframe.evaluation.diagnose.tasks import LabelErrors
from apframe.evaluation.tables_at_threshold import with_labels
from apframe.evaluation.thresholds.min_scores import MinScore
from apframe.tables.result_tables import LABEL_ERRORS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.runs.run_sets import RunSets

_FAINT = 0.05  # score from which a detection touches an annotation
_BY = ["kind", "n_runs", "suspicion", "image_id", "annotation_id", "detection_id"]


def label_errors(
    self: RunSets,
    iou_threshold: float | None = 0.5,
    *,
    min_score: MinScore = 0.5,
    background: float = BACKGROUND,
) -> LabelErrors:
    """List annotations that are probably wrong, with the number of models that agree, which is the strongest evidence.

    The label errors of each run (see `Evaluation.label_errors`) are merged into one row if they have the same kind and
    annotation, and for `wrong_class` the same proposed category. Missing objects are merged if their detections, on one image
    and of one category, have a similarity of .5 or more, directly or through a chain of others.

    One more kind needs several models: an annotation is `spurious` if no detection of any run with a score of .05 or more
    touches it, that is, has a similarity of `background` or more to it.

    Parameters
    ----------
    iou_threshold, min_score, background
        as in `Evaluation.label_errors`, for every run

    Returns
    -------
    kind, image_id, file_name, annotation_id, other_annotation_id, category_id, name, proposed_category_id, proposed_name,
    n_runs (that report this error; all runs for `spurious`), run (with the highest suspicion; the first of equal ones), and the
    detection_id, score, similarity and suspicion of that run; null for `spurious`. Sorted by kind, n_runs and suspicion
    (largest first), and ids. `write` of the table writes the images for a labelling tool; see `Evaluation.write_tasks`.

    Raises
    ------
    NotComparableError
        the runs differ in protocol, categories, images or ground truth
    ParameterError
        see `Evaluation.label_errors`

    >>> import tempfile, warnings
    >>> from apframe import evaluate, scan_runs
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # there are no annotations
    ...     for name, score in {"a": 0.9, "b": 0.8}.items():
    ...         detections = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": score}]
    ...         evaluate(truth, detections).write_parquet(f"{folder}/{name}")
    ...     scan_runs(f"{folder}/*").label_errors().select("kind", "n_runs", "run", "suspicion").rows()
    [('missing', 2, 'a', 0.9)]
    """
    names = self.runs["run"].to_list()
    evaluations = agree([self.evaluation(name) for name in names], names)
    tables = [suspicious_labels(each, iou_threshold, min_score, background) for each in evaluations]
    numbered = [each.with_columns(run=pl.lit(number, pl.Int64)) for number, each in enumerate(tables)]
    table = pl.concat(numbered, how="vertical_relaxed")
    table = table.with_columns(_groups(table, evaluations))
    best_first = ["suspicion", "run", "detection_id"]
    groups = table.sort("group", *best_first, descending=[False, True, False, False]).group_by("group", maintain_order=True)
    one_each = groups.agg(pl.col("run").n_unique().cast(pl.Int64).alias("n_runs"), pl.exclude("group").first())
    spurious = _spurious(evaluations, background).with_columns(
        kind=pl.lit("spurious", LABEL_ERRORS), n_runs=pl.lit(len(names), pl.Int64)
    )
    columns = [
        "kind", "image_id", "annotation_id", "other_annotation_id", "category_id", "proposed_category_id", "n_runs", "run",
        "detection_id", "score", "similarity", "suspicion",
    ]  # fmt: skip
    numbers = pl.DataFrame({"run": names}).with_row_index("number").cast({"number": pl.Int64})
    table = pl.concat([one_each, spurious], how="diagonal").rename({"run": "number"})
    table = table.join(numbers, on="number", how="left").select(columns)
    table = with_labels(evaluations[0], table.sort(_BY, descending=[False, True, True, False, False, False]))
    return LabelErrors(table, evaluations, names)


def _groups(table: pl.DataFrame, evaluations: list[Evaluation]) -> pl.Series:
    """Return the number of the group of each row; the rows of a group report the same error."""
    import numpy as np

    is_missing = table["kind"] == "missing"
    keys = pl.struct("kind", "annotation_id", pl.when(pl.col("kind") == "wrong_class").then("proposed_category_id"))
    group = table.select(keys.rank("dense")).to_series().to_numpy().astype(np.int64)
    at = is_missing.arg_true().to_numpy()
    group[at] = len(table) + 1 + objects_of(detections_of(table.filter(is_missing), evaluations), evaluations[0])
    return pl.Series("group", group)


def _spurious(evaluations: list[Evaluation], background: float) -> pl.DataFrame:
    """Return the annotations that no run touches: annotation_id, image_id, category_id."""
    first, *others = (untouched_annotations(each, _FAINT, background) for each in evaluations)
    for other in others:
        first = first.join(other, on="annotation_id", how="semi")
    return first
