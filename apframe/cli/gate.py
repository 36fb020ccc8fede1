"""The gate of `apframe compare`, which a model must pass to replace another one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.cli.command_options import words
from apframe.exceptions import ParameterError
from apframe.option_values import by_name
from apframe.protocols.headlines import headlines, less_is_better
from apframe.protocols.protocol import Protocol
from apframe.show.comparison_text import reason_of
from apframe.show.markup import markdown_text

FAILED = 4  # the exit status


@dataclass(frozen=True)
class Gate:
    """The metrics in which a model must not be worse than another one, and by how much.

    Attributes
    ----------
    worse
        metrics that fail if they are worse and the interval excludes 0
    drops
        metrics that must not drop by more than this number
    is_sure
        True if the interval must exclude a larger drop (a test of non-inferiority); otherwise only the numbers count
    """

    worse: tuple[str, ...]
    drops: Mapping[str, float]
    is_sure: bool = False

    @property
    def metrics(self) -> list[str]:
        """Return the tested metrics."""
        return list(dict.fromkeys([*self.worse, *self.drops]))

    def in_markdown(self, failures: Sequence[str]) -> str:
        """Say in Markdown if the gate is passed, and what failed; empty if nothing is tested.

        >>> Gate(("AP",), {"AP50": 0.01}).in_markdown([])
        '**Gate: passed** (tested: AP, AP50)'
        """
        if not self.metrics:
            return ""
        lines = [f"**Gate: {'failed' if failures else 'passed'}** (tested: {', '.join(self.metrics)})"]
        return "\n".join([*lines, *[""] * bool(failures), *(f"- {markdown_text(failure)}" for failure in failures)])

    def failures(self, table: pl.DataFrame, unit: str = "image") -> list[str]:
        """Return a sentence for each failure: by how much a metric of an evaluation is worse, or why it cannot be tested.

        Parameters
        ----------
        table
            the table of `Evaluation.compare`, one row for each metric and pair
        unit
            the noun for the resampled units

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
        low, high = sorted(sign * row[end] for end in ("low", "high")) if row["low"] is not None else (math.nan, math.nan)
        is_worse = f"{of} is worse than that of {row['run_a']} by {loss:.4f}"
        if row["low"] is None and (metric in self.worse or self.is_sure):
            yield f"{of} cannot be tested: {reason_of(row, unit)}"
        if metric in self.worse and low > 0:
            yield f"{is_worse} (95 % CI {low:.4f} to {high:.4f})"
        if loss > largest:
            yield f"{is_worse}, more than {largest:g}"
        elif self.is_sure and high > largest:
            yield f"{of} may be worse than that of {row['run_a']} by up to {high:.4f} (95 % CI), more than {largest:g}"


def read_gate(worse: Sequence[str] | None, drops: Sequence[str] | None, protocol: Protocol, *, sure: bool = False) -> Gate:
    """Return the gate of --fail-if-worse AP,APs, --max-drop AP=0.005 and --sure.

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
    """Return the headline number of this name, ignoring case; an unknown name is a ParameterError.

    >>> from apframe.protocols.coco import COCO
    >>> known_metric("ap50", COCO)
    'AP50'
    """
    metrics = {line.metric: line.metric for line in headlines(protocol, with_parts=True)}
    return metrics[name] if name in metrics else by_name("metric", name, metrics)


def _is_drop(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False
