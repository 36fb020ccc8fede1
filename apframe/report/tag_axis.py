"""The values of a tag as an axis: numbers and dates in ascending order, other texts in the order of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apframe.exceptions import ParameterError
from apframe.show.tag_values import tag_values
from apframe.wording import did_you_mean, listed, shown

_LONGEST = 60  # maximum number of characters of a value in a message


@dataclass(frozen=True)
class TagAxis:
    """The values of a tag in ascending order.

    Attributes
    ----------
    tag
        its name
    labels
        the values as texts
    places
        their positions, see `TagValues`
    are_numbers
        True if the values are numbers
    """

    tag: str
    labels: Sequence[str]
    places: Sequence[float]
    are_numbers: bool = True

    @property
    def names(self) -> list[str]:
        """The names of the checkpoints on the page: "epoch 7"; dates and other texts stand alone."""
        return [f"{self._before}{label}" for label in self.labels]

    @property
    def _before(self) -> str:
        return f"{self.tag} " * self.are_numbers

    def some_names(self, at: Sequence[int]) -> str:
        """Return some of the values in words, with neighbours joined: "epoch 1 to 4 and 6".

        >>> axis = TagAxis("epoch", "12345678", range(8))
        >>> axis.some_names([0, 1, 2, 4]), axis.some_names([0, 1, 3, 4, 6])
        ('epoch 1 to 3 and 5', 'epoch 1, 2, 4, 5 and 7')
        """
        stretches: list[list[int]] = []
        for each in at:
            if stretches and each == stretches[-1][-1] + 1:
                stretches[-1].append(each)
            else:
                stretches.append([each])
        parts = [
            part
            for each in stretches
            for part in (
                [f"{self.labels[each[0]]} to {self.labels[each[-1]]}"] if each[2:] else [self.labels[one] for one in each]
            )
        ]
        *front, final = parts
        return f"{self._before}{', '.join(front)} and {final}" if front else f"{self._before}{final}"


def tag_axis(over: Any, tags: Sequence[Mapping[str, Any]], runs: Sequence[str]) -> tuple[TagAxis, list[int]]:
    """Return the values of a tag in ascending order, and the number of the run with each value.

    Parameters
    ----------
    over
        the name of a tag that all runs have, or the name with a value for each run: {"epoch": [1, 2, 3]}
    tags, runs
        the tags and the name of each run, in their order

    Raises
    ------
    ParameterError
        a run without the tag, a value that two runs have, or values of which some are numbers or dates and others are not

    >>> axis, order = tag_axis("epoch", [{"epoch": 10}, {"epoch": 9}], ["new", "old"])
    >>> axis.labels, order
    (['9', '10'], [1, 0])
    >>> tag_axis({"night": ["2026-11-02", "2026-10-31"]}, [{}, {}], ["a", "b"])[0].labels
    ['2026-10-31', '2026-11-02']
    """
    tag, values = _values(over, tags, runs)
    if len(runs) < 2:
        raise ParameterError("needs at least two evaluations", "name the other ones too", option="over")
    kind, labels, places = tag_values(tag, values, runs, "over")
    order = sorted(range(len(runs)), key=places.__getitem__)
    for k in range(len(runs)):
        if (first := min(places.index(places[k]), labels.index(labels[k]))) < k:
            problem = f"{tag} is {labels[k]} in both {runs[first]} and {runs[k]}"
            raise ParameterError(problem, "leave one of them out", option="over")
    return TagAxis(tag, [labels[k] for k in order], [places[k] for k in order], kind == "number"), order


def _values(over: Any, tags: Sequence[Mapping[str, Any]], runs: Sequence[str]) -> tuple[str, list[Any]]:
    """Return the name of the tag, and its value for each run."""
    if isinstance(over, Mapping) and len(over) == 1 and isinstance(tag := next(iter(over)), str):
        values = over[tag]
        if isinstance(values, (str, Mapping)) or not hasattr(values, "__iter__") or len(values := [*values]) != len(runs):
            raise ParameterError(f"needs a list with a value of {tag} for each of {len(runs)} evaluations", option="over")
        return tag, values
    if not isinstance(over, str):
        problem = f'is the name of a tag, or values such as {{"epoch": [1, 2, 3]}}, not {shown(over, _LONGEST)}'
        raise ParameterError(problem, option="over")
    if lacking := [run for run, each in zip(runs, tags, strict=True) if over not in each]:
        who = "no run has the" if len(lacking) == len(runs) else f"{listed(lacking)} {'have' if lacking[1:] else 'has'} no"
        names = list(dict.fromkeys(name for each in tags for name in each if name != over))
        store = "store each with the tag, as in --out DIR --tag epoch=3"
        remedy = did_you_mean(over, names) if names and len(lacking) == len(runs) else store
        raise ParameterError(f"{who} tag {over!r}", remedy, option="over")
    return over, [each[over] for each in tags]
