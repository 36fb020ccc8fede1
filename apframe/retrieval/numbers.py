"""Means of runs by the names of their measures, as training code logs them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError
from apframe.lists.measures import Measure, as_measure
from apframe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from apframe.retrieval.evaluation import RunEvaluation


def number(self: RunEvaluation, measure: str | Measure) -> float | None:
    """Return the value of a measure in the summary, as `ev["nDCG@10"]`, or `ev["nDCG@10/bm25"]` for a named run.

    Any name of a measure that `evaluate_run` accepts works. None if no query has a value.

    Raises
    ------
    ParameterError
        the measure was not evaluated, or several runs were evaluated and none is named; similar names are suggested
    """
    values = _values(self)
    name = str(measure)
    if len(self.runs) == 1:  # the name of a single run may follow, too
        name = name.removesuffix(f"/{next(iter(self.runs))}")
    if name not in values:
        measure_name, slash, run = name.partition("/")
        with suppress(ParameterError):  # which suggests measures that were not evaluated
            name = f"{as_measure(measure_name)}{slash}{run}"
    if name not in values:
        raise ParameterError(f"no measure {shown(str(measure))}", did_you_mean(str(measure), list(values)))
    return values[name]


def to_dict(self: RunEvaluation, prefix: str = "") -> dict[str, float]:
    """Return the values of the summary as a dict of floats, for loggers, without measures that have no value.

    The keys are the names of the measures. If several runs were evaluated, the name of the run follows, as in "AP/bm25".

    Parameters
    ----------
    prefix
        prefix of every name, such as "val/"

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"q1": {"d1": 1}}, {"q1": {"d0": 0.9, "d1": 0.8}}, "RR P@1")
    >>> ev["RR"], ev.to_dict(prefix="val/")
    (0.5, {'val/RR': 0.5, 'val/P@1': 0.0})
    """
    return {f"{prefix}{name}": value for name, value in _values(self).items() if value is not None}


def _values(self: RunEvaluation) -> dict[str, float | None]:
    """Return the values of the summary by name."""
    several = len(self.runs) > 1
    return {f"{row['measure']}/{row['run']}" if several else row["measure"]: row["value"] for row in self.summary.to_dicts()}
