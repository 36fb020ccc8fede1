"""The gate of `apframe compare`: whether a model may replace another one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from apframe.cli.options import words
from apframe.exceptions import InputError, ParameterError, by_name
from apframe.protocols.headlines import headlines
from apframe.protocols.protocol import Protocol

FAILED = 4  # the exit status


@dataclass(frozen=True)
class Gate:
    """What a model must not lose.

    Attributes
    ----------
    worse
        metrics that must not be worse with an interval that excludes 0
    drops
        metrics that must not drop by more than a number, whatever the interval
    """

    worse: tuple[str, ...]
    drops: Mapping[str, float]

    @property
    def metrics(self) -> list[str]:
        """The metrics that are tested."""
        return list(dict.fromkeys([*self.worse, *self.drops]))

    def failures(self, table: pl.DataFrame) -> list[str]:
        """Say of each evaluation and metric that fails by how much it is worse.

        Parameters
        ----------
        table
            of `Evaluation.compare`, one row for each metric and pair

        Raises
        ------
        InputError
            a metric that is tested has no value or no interval

        >>> rows = [{"metric": "AP", "run_a": "old", "run_b": "new", "difference": -.02, "low": -.03, "high": -.01}]
        >>> Gate(("AP",), {}).failures(pl.DataFrame(rows))
        ['AP of new is worse than that of old by 0.0200, and the interval -0.0300 to -0.0100 excludes 0']
        """
        found = []
        for row in table.filter(pl.col("metric").is_in(self.metrics)).iter_rows(named=True):
            metric, difference, low, high = (row[name] for name in ("metric", "difference", "low", "high"))
            if difference is None or (metric in self.worse and low is None):
                lacks = "value" if difference is None else "interval, as too few images have annotations that count"
                raise InputError(f"{metric} has no {lacks}, so the gate cannot test it", "test another metric, or more images")
            is_worse = f"{metric} of {row['run_b']} is worse than that of {row['run_a']} by {-difference:.4f}"
            if metric in self.worse and high < 0:
                found.append(f"{is_worse}, and the interval {low:.4f} to {high:.4f} excludes 0")
            if -difference > self.drops.get(metric, math.inf):
                found.append(f"{is_worse}, more than {self.drops[metric]:g}")
        return found


def read_gate(worse: Sequence[str] | None, drops: Sequence[str] | None, protocol: Protocol) -> Gate:
    """The gate of --fail-if-worse AP,APs and --max-drop AP=0.005.

    Raises
    ------
    ParameterError
        a metric that the protocol does not have; a drop that is not a number of at least 0; a metric with two drops

    >>> from apframe.protocols.coco import COCO
    >>> read_gate(["AP,aps"], ["AP50=0.01"], COCO)
    Gate(worse=('AP', 'APs'), drops={'AP50': 0.01})
    """
    largest: dict[str, float] = {}
    for word in words(drops):
        name, equals, text = word.partition("=")
        metric = known_metric(name, protocol) if equals else ""
        if metric in largest or not metric or not _is_drop(text):
            raise ParameterError(f"--max-drop takes METRIC=NUMBER, each metric once and numbers from 0, not {word!r}")
        largest[metric] = float(text)
    return Gate(tuple(dict.fromkeys(known_metric(name, protocol) for name in words(worse))), largest)


def known_metric(name: str, protocol: Protocol) -> str:
    """The headline number of this name, in any case; an unknown name is a ParameterError.

    >>> from apframe.protocols.coco import COCO
    >>> known_metric("ap50", COCO)
    'AP50'
    """
    known = {line.metric: line.metric for line in headlines(protocol, with_parts=True)}
    return known[name] if name in known else by_name("metric", name, known)


def _is_drop(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False
