"""The means of runs by the names of their measures, as training code logs them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError
from apframe.lists.measures import Measure, as_measure
from apframe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from apframe.retrieval.evaluation import RunEvaluation


def number(self: RunEvaluation, measure: str | Measure) -> float | None:
    """The value of a measure in the summary, as `ev["nDCG@10"]`, or `ev["nDCG@10/bm25"]` of a run that has a name.

    The measure may have any name that `evaluate_run` takes. None if no query has a value.

    Raises
    ------
    ParameterError
        the measure was not evaluated, or several runs were and none is named; near names are suggested
    """
    known = _values(self)
    name = str(measure)
    if len(self.runs) == 1:  # whose name may follow here, too
        name = name.removesuffix(f"/{next(iter(self.runs))}")
    if name not in known:
        asked, slash, run = name.partition("/")
        with suppress(ParameterError):  # which suggests measures that were not evaluated
            name = f"{as_measure(asked)}{slash}{run}"
    if name not in known:
        raise ParameterError(f"no measure {shown(str(measure))}", did_you_mean(str(measure), list(known)))
    return known[name]


def to_dict(self: RunEvaluation, prefix: str = "") -> dict[str, float]:
    """The values of the summary as a dict of floats, for loggers; those that no query has a value for are left out.

    The names are those of the measures. If several runs were evaluated, the name of the run follows, as in "AP/bm25".

    Parameters
    ----------
    prefix
        put in front of every name, such as "val/"

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"q1": {"d1": 1}}, {"q1": {"d0": 0.9, "d1": 0.8}}, "RR P@1")
    >>> ev["RR"], ev.to_dict(prefix="val/")
    (0.5, {'val/RR': 0.5, 'val/P@1': 0.0})
    """
    return {f"{prefix}{name}": value for name, value in _values(self).items() if value is not None}


def _values(self: RunEvaluation) -> dict[str, float | None]:
    """The values of the summary by their names."""
    several = len(self.runs) > 1
    return {f"{row['measure']}/{row['run']}" if several else row["measure"]: row["value"] for row in self.summary.to_dicts()}
