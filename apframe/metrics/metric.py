"""What a metric is: a small frozen value that reads cells of verdicts under weights of the images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from apframe.exceptions import FormatError, ParameterError
from apframe.wording import shown

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import Influence
    from apframe.metrics.weights import Weights

KINDS = {
    "lamr": "apframe.metrics.miss_rates:MissRates",
    "cpm": "apframe.metrics.miss_rates:Froc",
    "panoptic_quality": "apframe.metrics.sums_of_matches:PanopticQuality",
    "pixel_iou": "apframe.metrics.sums_of_matches:PixelIoU",
    "recall_by_image": "apframe.metrics.sums_of_matches:RecallByImage",
    "success": "apframe.metrics.sums_of_matches:Success",
}
"""Module and class of metrics by the names that stored evaluations have for them; a class is imported when one is read."""


@runtime_checkable
class Metric(Protocol):
    """Numbers of every list. A metric is frozen, and can be compared and hashed.

    What is said here is what most metrics share; a metric that is a subclass need not repeat it.

    Attributes
    ----------
    columns
        what it adds to the metrics table
    lines
        headline numbers of its own: names of lines of a report, and the column that each is the mean of
    at_cut_offs, cut_offs
        whether it reads the matches of score cut-offs, which matching must then give; and what these are, where they are fixed
    counts_pixels
        whether detections and annotations count by their pixels
    reads_remainder
        whether it counts detections that lists do not have, see `Cells.remainder`; otherwise it reads lists of all detections
    """

    lines: ClassVar[Mapping[str, str]] = {}
    at_cut_offs: ClassVar[bool] = False
    cut_offs: ClassVar[tuple[float, ...]] = ()
    counts_pixels: ClassVar[bool] = False

    @property
    def reads_remainder(self) -> bool:
        """See above."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the numbers."""
        ...

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The numbers of what is wanted of every list, by column, each of shape (cells, lists, weightings).

        NaN where there is no value. A plain number is the number under `Weights.once`.
        """
        ...

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, Influence]:
        """What rows contribute to the numbers, by column, under a single weighting; see `Influence`.

        A column that is not there has no derivative: it is resampled.
        """
        del cells, weights
        return {}


def as_metrics(values: Any) -> tuple[Metric, ...]:
    """One metric or several as a tuple.

    Raises
    ------
    ParameterError
        one is not a metric, is not frozen, or its headline numbers are of columns that it does not have

    >>> as_metrics(int)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: own_metrics: <class 'int'> is not a metric; give values of frozen dataclasses with ...
    """
    metrics = tuple(values) if isinstance(values, (list, tuple)) else (values,)
    for each in metrics:
        is_metric = isinstance(each, Metric) and is_dataclass(each) and not isinstance(each, type)
        if not is_metric or type(each).read is Metric.read:
            remedy = "give values of frozen dataclasses with `columns` and `read`, see apframe.metrics.metric.Metric"
            raise ParameterError(f"{each!r} is not a metric", remedy, option="own_metrics")
        try:
            hash(each)
        except TypeError as error:
            remedy = "write @dataclass(frozen=True) above its class, and use tuples in place of lists"
            raise ParameterError(f"{each!r} is not frozen", remedy, option="own_metrics") from error
        if not isinstance(each.columns, tuple) or not {*each.lines.values()} <= {*each.columns}:
            problem = f"{each!r} has columns={each.columns!r} and lines={dict(each.lines)}"
            raise ParameterError(problem, "columns are a tuple, and lines name some of them", option="own_metrics")
    return metrics


def read_columns(metric: Metric, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
    """What a metric reads.

    Raises
    ------
    ParameterError
        a column is not there, or has another shape than (cells, lists, weightings)
    """
    found, shape = metric.read(cells, weights), (len(cells.wanted), cells.n_lists, weights.n)
    for name in metric.columns:
        own = getattr(found.get(name), "shape", None)
        if own != shape:
            problem = f"{metric!r}.read gives {name!r} " + ("no values" if own is None else f"the shape {own}")
            raise ParameterError(problem, f"it must be an array of shape (cells, lists, weightings), here {shape}")
    return found


def choices_of(metric: Metric) -> dict[str, Any]:
    """Name and parameters of a metric as what JSON holds.

    Raises
    ------
    ParameterError
        the metric has no name in `KINDS`, or a parameter that cannot be stored

    >>> from apframe.metrics.sums_of_matches import PanopticQuality
    >>> choices_of(PanopticQuality())
    {'metric': 'panoptic_quality'}
    """
    home = f"{type(metric).__module__}:{type(metric).__qualname__}"
    name = next((name for name, known in KINDS.items() if known == home), None)
    if name is None:
        remedy = f'add it first: apframe.metrics.metric.KINDS["a_name"] = "{home}"'
        raise ParameterError(f"{metric!r} has no name to be stored by", remedy, option="own_metrics")
    choices = {"metric": name} | {each.name: getattr(metric, each.name) for each in fields(metric)}  # type: ignore[arg-type]
    try:
        json.dumps(choices)
    except TypeError as error:
        remedy = "its fields must be numbers, text, flags, None, or tuples of these"
        raise ParameterError(f"{metric!r} cannot be stored", remedy, option="own_metrics") from error
    return choices


def metric_of(choices: Mapping[str, Any]) -> Metric:
    """The metric that `choices_of` was taken of.

    Raises
    ------
    FormatError
        no metric of that name is in `KINDS`, or its entry is wrong; what a stored evaluation names is never imported

    >>> metric_of({"metric": "panoptic_quality"})
    PanopticQuality()
    """
    given = dict(choices)
    name = given.pop("metric")
    if name not in KINDS:
        remedy = f'add it before you read: apframe.metrics.metric.KINDS[{shown(name)}] = "its_module:ItsClass"'
        raise FormatError(f"the metric {shown(name)} is not known here", remedy)
    try:
        module, kind = KINDS[name].split(":")
        made: Metric = getattr(import_module(module), kind)(**given)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        problem = f"the metric {shown(name)} cannot be made ({error})"
        remedy = f"check apframe.metrics.metric.KINDS[{shown(name)}], which is {KINDS[name]!r}, or evaluate again"
        raise FormatError(problem, remedy) from error
    return made
