"""The headline numbers of an evaluation by name, for the loggers of training code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apframe.option_values import by_name

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


def number(self: Evaluation, metric: str) -> float | None:
    """Return a headline number by its name (case-insensitive), as in `ev["AP50"]`; None if nothing could be evaluated.

    Raises
    ------
    ParameterError
        the summary has no such number
    """
    return by_name("metric", metric, dict(self.summary.rows()))


def to_dict(self: Evaluation, prefix: str = "", *, per_category: bool = False) -> dict[str, float]:
    """Return the headline numbers as a dict of floats, for loggers, without those that could not be evaluated.

    Parameters
    ----------
    prefix
        the beginning of every name, such as "val/"
    per_category
        whether to add the first number of the summary for each category, as "AP/person": by `name`, or by id if there is no
        name or several categories have the same

    Raises
    ------
    ParameterError
        per_category is set, but the protocol pools the categories

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.tables.dataset import Dataset
    >>> box = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [7], "name": ["cat"]}, box), box | {"score": [0.9]})
    >>> round(ev["AP50"], 9), ev["APl"]
    (1.0, None)
    >>> list(ev.to_dict(prefix="val/", per_category=True))[-2:]
    ['val/ARs', 'val/AP/cat']
    """
    values = dict(self.summary.drop_nulls().rows())
    if per_category:
        from apframe.evaluation.loggers import category_values

        values |= category_values(self)
    return {f"{prefix}{name}": value for name, value in values.items()}


def to_wandb(self: Evaluation, prefix: str = "") -> dict[str, Any]:
    """Return the headline numbers, a table of categories and a precision-recall curve for `run.log` of Weights & Biases.

    Parameters
    ----------
    prefix
        the beginning of every name, such as "val/"

    Returns
    -------
    The numbers of `to_dict`. If wandb can be imported, also "categories", a `wandb.Table` with the first number of the summary
    for each category, and "precision_recall", a line chart of all categories together at the lowest threshold, with at most
    1,000 points. There is no table if the protocol pools the categories, and no chart if it does not rank detections by score,
    or without annotations or detections.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.tables.dataset import Dataset
    >>> box = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [7]}, box), box | {"score": [0.9]})
    >>> round(ev.to_wandb("val/")["val/AP"], 9)
    1.0
    """
    from apframe.evaluation.loggers import wandb_charts

    return self.to_dict(prefix) | {f"{prefix}{name}": value for name, value in wandb_charts(self).items()}


def write_tensorboard(
    self: Evaluation, writer: Any, step: int | None = None, prefix: str = "", *, per_category: bool = False
) -> None:
    """Write the headline numbers and a precision-recall curve to a `SummaryWriter` of TensorBoard.

    Parameters
    ----------
    writer
        a writer of torch.utils.tensorboard or tensorboardX; in Lightning, `trainer.logger.experiment`
    step
        the epoch or step
    prefix
        the beginning of every name, such as "val/"
    per_category
        whether to add the numbers of `to_dict(per_category=True)` and a curve of each category

    The scalars are those of `to_dict`. The curve "precision_recall" is for all categories together, and
    "precision_recall/person" for one category, at the lowest threshold: counts of the detections from each of 127 scores
    upwards, as TensorBoard requires, so scores must be between 0 and 1. True negatives do not exist, and are 0. Beyond the
    highest score, precision is that of the highest scores. Curves require annotations and detections.

    Raises
    ------
    ParameterError
        `writer` is not a SummaryWriter, or per_category is set, but the protocol pools the categories

    Warns
    -----
    NotComputedWarning
        scores are outside of 0 to 1; the curves are not written

    >>> from types import SimpleNamespace
    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.tables.dataset import Dataset
    >>> box = {"image_id": [1], "category_id": [7], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> ev = evaluate(Dataset({"image_id": [1]}, {"category_id": [7]}, box), box | {"score": [0.9]})
    >>> def add_pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, step, num_thresholds):
    ...     print(tag, tp[0], fp[0], fn[0], fn[-1], precision[-1], step)
    >>> writer = SimpleNamespace(add_scalar=lambda name, value, step: None, add_pr_curve_raw=add_pr_curve_raw)
    >>> ev.write_tensorboard(writer, 3, "val/")
    val/precision_recall 1 0 0 1 1.0 3
    """
    from apframe.evaluation.loggers import add_to_tensorboard

    add_to_tensorboard(self, writer, step, prefix, per_category)
