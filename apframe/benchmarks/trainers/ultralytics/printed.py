"""The table that Ultralytics prints after validation: precision and recall at one score, mAP50 and mAP50-95."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.tables.ids import is_known
from apframe.tables.schemas import OUTSIDE

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.evaluation import Evaluation

_N_SCORES, _SMOOTHED = 1000, 0.1


def validation_table(evaluation: Evaluation) -> pl.DataFrame:
    """Return the columns Class, Images (with the class), Instances, P, R, mAP50, mAP50-95; the first row is of all classes.

    P and R are at the lowest IoU threshold and at one score for all classes: the one of 1,000 evenly spaced scores in [0, 1]
    with the largest F1, averaged over the classes with instances and smoothed. Between the scores of detections, precision and
    recall of a class are interpolated linearly; above the first score they are 1 and 0. They are null without instances.

    Source: `ap_per_class` and `smooth` in `utils/metrics.py` of Ultralytics, `print_results` in `models/yolo/detect/val.py`.
    """
    import numpy as np  # needed for this table alone

    from apframe.evaluation.pivot import labelled_categories, numbers_of_categories

    categories, truth = labelled_categories(evaluation), evaluation.dataset.annotations
    if categories.height:  # without categories, all count
        truth = truth.filter(is_known(truth["category_id"], categories["category_id"]))
    truth = truth.filter(~truth[OUTSIDE]) if OUTSIDE in truth.columns else truth  # outside the evaluated part
    of_each = truth.group_by("category_id").agg(Images=pl.col("image_id").n_unique(), Instances=pl.len())
    counts = categories.join(of_each, on="category_id", how="left", maintain_order="left").select("Images", "Instances")
    classes = pl.DataFrame({"Class": categories["label"], **counts.fill_null(0).to_dict()})
    instances = classes["Instances"].to_numpy() if classes.height else np.array([truth.height])
    curves = _curves(evaluation, categories["category_id"])
    there = instances > 0
    precision, recall = (np.where(there[:, None], curve, np.nan) for curve in curves)
    best = _best_score(precision[there], recall[there])
    means = numbers_of_categories(evaluation)
    numbers = {"P": precision[:, best], "R": recall[:, best], "mAP50": means["AP50"], "mAP50-95": means["AP"]}
    whole = {"P": _mean(numbers["P"]), "R": _mean(numbers["R"]), "mAP50": evaluation["AP50"], "mAP50-95": evaluation["AP"]}
    first = {"Class": "all", "Images": evaluation.dataset.images.height, "Instances": truth.height, **whole}
    shown = classes.with_columns(pl.Series(name, values[: classes.height]) for name, values in numbers.items())
    return pl.concat([pl.DataFrame([first], schema=shown.schema), shown]).with_columns(pl.col(*numbers).fill_nan(None))


def _curves(evaluation: Evaluation, category_ids: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return precision and recall of each class (of all pooled if there are none) at the scores; shape (classes, scores)."""
    import numpy as np

    rows = evaluation.curves(evaluation.protocol.iou_thresholds[0]).select("category_id", "score", "precision", "recall")
    places = pl.DataFrame({"category_id": category_ids, "place": range(len(category_ids))})
    rows = rows.join(places, on="category_id", how="left").with_columns(pl.col("place").fill_null(0)).drop_nulls("recall")
    rows = rows.with_row_index("rank").sort("place", "rank")
    place, score = rows["place"].to_numpy(), rows["score"].to_numpy()
    n, levels = max(1, len(category_ids)), np.linspace(0, 1, _N_SCORES)
    reached = np.searchsorted(levels, score, side="right")  # the number of levels that each detection reaches
    counted = np.bincount(place * (_N_SCORES + 1) + reached, minlength=n * (_N_SCORES + 1)).reshape(n, -1)
    within = counted[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]  # the number of detections of each class that reach each level
    begin = np.searchsorted(place, np.arange(n))[:, None]
    end = np.searchsorted(place, np.arange(n), side="right")[:, None]
    last, following = begin + within - 1, np.minimum(begin + within, end - 1)
    padded = np.append(score, 0.0)
    span = padded[following] - padded[last]
    share = np.divide(levels - padded[last], span, out=np.zeros_like(span), where=span != 0)
    curves = []
    for name, before in (("precision", 1.0), ("recall", 0.0)):
        values = np.append(rows[name].to_numpy(), 0.0)
        line = values[last] + (values[following] - values[last]) * share
        curves.append(np.where(begin == end, 0.0, np.where(within > 0, line, before)))
    return curves[0], curves[1]


def _best_score(precision: np.ndarray, recall: np.ndarray) -> int:
    """Return the index of the score with the largest mean F1 of classes, smoothed by a running mean; 0 without classes."""
    import numpy as np

    if not len(precision):
        return 0
    f1 = (2 * precision * recall / (precision + recall + 1e-16)).mean(axis=0)
    width = round(len(f1) * _SMOOTHED * 2) // 2 + 1
    ends = np.ones(width // 2)
    return int(np.convolve(np.concatenate([ends * f1[0], f1, ends * f1[-1]]), np.ones(width) / width, mode="valid").argmax())


def _mean(values: np.ndarray) -> float | None:
    finite = values[values == values]
    return float(finite.mean()) if len(finite) else None
