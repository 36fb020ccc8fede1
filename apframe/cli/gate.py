"""The gate of `apframe compare`: whether a model may replace another one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.cli.command_options import words
from apframe.exceptions import ParameterError, by_name
from apframe.protocols.headlines import headlines, less_is_better
from apframe.protocols.protocol import Protocol
from apframe.show.comparison_text import reason_of
from apframe.show.markup import markdown_text

FAILED = 4  # the exit status


@dataclass(frozen=True)
class Gate:
    """What a model must not lose.

    Attributes
    ----------
    worse
        metrics that must not be worse with an interval that excludes 0
    drops
        metrics that must not drop by more than a number
    is_sure
        whether the interval must exclude a larger drop (a test of non-inferiority), or the numbers alone count
    """

    worse: tuple[str, ...]
    drops: Mapping[str, float]
    is_sure: bool = False

    @property
    def metrics(self) -> list[str]:
        """The metrics that are tested."""
        return list(dict.fromkeys([*self.worse, *self.drops]))

    def in_markdown(self, failures: Sequence[str]) -> str:
        """Say in Markdown whether the gate is passed, and what failed; nothing if nothing is tested.

        >>> Gate(("AP",), {"AP50": 0.01}).in_markdown([])
        '**Gate: passed** (tested: AP, AP50)'
        """
        if not self.metrics:
            return ""
        lines = [f"**Gate: {'failed' if failures else 'passed'}** (tested: {', '.join(self.metrics)})"]
        return "\n".join([*lines, *[""] * bool(failures), *(f"- {markdown_text(failure)}" for failure in failures)])

    def failures(self, table: pl.DataFrame, unit: str = "image") -> list[str]:
        """Say of each evaluation and metric that fails by how much it is worse, or why it cannot be tested.

        Parameters
        ----------
        table
            of `Evaluation.compare`, one row for each metric and pair
        unit
            what was counted as one

        >>> rows = [{"metric": "AP", "run_a": "old", "run_b": "new", "difference": -.02, "low": -.03, "high": -.01}]
        >>> Gate(("AP",), {}).failures(pl.DataFrame(rows))
        ['AP of new is worse than that of old by 0.0200 (95 % CI 0.0100 to 0.0300)']
        """
        rows = table.filter(pl.col("metric").is_in(self.metrics)).iter_rows(named=True)
        return [failure for row in rows for failure in self._failures(row, unit)]

    def _failures(self, row: dict[str, Any], unit: str) -> Iterator[str]:
        metric, of = row["metric"], f"{row['metric']} of {row['run_b']}"
        if row["difference"] is None:
            yield f"{of} cannot be tested: it has no value in both models"
            return
        sign = 1 if less_is_better(metric) else -1
        loss, largest = sign * row["difference"], self.drops.get(metric, math.inf)
        least, most = sorted(sign * row[end] for end in ("low", "high")) if row["low"] is not None else (math.nan, math.nan)
        is_worse = f"{of} is worse than that of {row['run_a']} by {loss:.4f}"
        if row["low"] is None and (metric in self.worse or self.is_sure):
            yield f"{of} cannot be tested: {reason_of(row, unit)}"
        if metric in self.worse and least > 0:
            yield f"{is_worse} (95 % CI {least:.4f} to {most:.4f})"
        if loss > largest:
            yield f"{is_worse}, more than {largest:g}"
        elif self.is_sure and most > largest:
            yield f"{of} may be worse than that of {row['run_a']} by up to {most:.4f} (95 % CI), more than {largest:g}"


def read_gate(worse: Sequence[str] | None, drops: Sequence[str] | None, protocol: Protocol, *, sure: bool = False) -> Gate:
    """The gate of --fail-if-worse AP,APs, --max-drop AP=0.005 and --sure.

    Raises
    ------
    ParameterError
        a metric that the protocol does not have; a drop that is not a number of at least 0; a metric with two drops; --sure
        without drops

    >>> from apframe.protocols.coco import COCO
    >>> read_gate(["AP,aps"], ["AP50=0.01"], COCO)
    Gate(worse=('AP', 'APs'), drops={'AP50': 0.01}, is_sure=False)
    """
    if sure and not drops:
        raise ParameterError("--sure needs --max-drop", "say which drop the interval must exclude, as in --max-drop AP=0.005")
    largest: dict[str, float] = {}
    for word in words(drops):
        name, equals, text = word.partition("=")
        metric = known_metric(name, protocol) if equals else ""
        if metric in largest or not metric or not _is_drop(text):
            raise ParameterError(f"--max-drop takes METRIC=NUMBER, each metric once and numbers from 0, not {word!r}")
        largest[metric] = float(text)
    return Gate(tuple(dict.fromkeys(known_metric(name, protocol) for name in words(worse))), largest, sure)


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
