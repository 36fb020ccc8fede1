"""Rules of a protocol as values, and the rule that defines what `max_detections` counts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.wording import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class States:
    """States of annotations and detections that rules set: a flag for each row, or None if no rule sets it.

    Attributes
    ----------
    ignored
        annotations that do not count
    crowds
        annotations of groups: any number of detections can match one, and intersections are over the detection
    fallback
        annotations that only otherwise unmatched detections can match
    unmatched_ignored
        detections that are ignored if they match nothing
    incomparable_annotations, incomparable_detections
        objects that cannot match
    """

    ignored: pl.Series | None = None
    crowds: pl.Series | None = None
    fallback: pl.Series | None = None
    unmatched_ignored: pl.Series | None = None
    incomparable_annotations: pl.Series | None = None
    incomparable_detections: pl.Series | None = None

    @classmethod
    def combine(cls, states: Iterable[States]) -> States:
        """Set each flag that one of the states sets.

        >>> flags = [pl.Series([True, False, False]), pl.Series([False, False, True])]
        >>> States.combine([States(ignored=flags[0]), States(), States(ignored=flags[1])]).ignored.to_list()
        [True, False, True]
        """
        states = list(states)
        flags_by_name = {
            each.name: [flags for one in states if (flags := getattr(one, each.name)) is not None] for each in fields(cls)
        }
        return cls(**{name: reduce(or_, flags) for name, flags in flags_by_name.items() if flags})


@dataclass(frozen=True)
class Rule:
    """A rule of a protocol, as a value. A protocol applies its rules in their order; each method below is optional.

    Attributes
    ----------
    choices
        the allowed values of parameters that are words, by name
    line, description
        the line of `print(protocol)` that the rule is part of, and its text there; empty for no text
    columns
        the columns that the rule reads if the data have them, such as "annotations.alpha"
    applies_again
        whether the rule also applies to a stored evaluation, whose tables are already the result of the other rules
    needs_all_data
        whether the rule is about all detections of the data, so that it does not apply to ground truth alone. In shards, its
        decision about one of them holds for all
    """

    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    line: ClassVar[str] = "also"
    description: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]] = ()
    applies_again: ClassVar[bool] = False
    needs_all_data: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for each in fields(self):
            value = frozen(getattr(self, each.name))  # stored lists become tuples
            object.__setattr__(self, each.name, value)
            if each.name in self.choices:
                one_of(each.name, value, self.choices[each.name])

    @property
    def words(self) -> str:
        """The text of the rule in its line: the description, unless parameters change it."""
        return self.description

    @property
    def says(self) -> dict[str, str]:
        """The rule's texts by line of `print(protocol)`; most rules have one.

        Some keys are fragments of another line: "classes" lists the categories, "ignored as" lists categories whose annotations
        are ignored, and "matched" says which detections are ignored with ignored annotations.
        """
        return {self.line: self.words}

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the rule reads, which may depend on its parameters."""
        return self.columns

    def refuse(self, protocol: Protocol) -> None:
        """Raise a `ParameterError` if the rule does not fit the rest of a protocol that lists it."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the input with rows removed or added, or with changed columns."""
        return inputs

    def states(self, inputs: Inputs) -> States:
        """Return the states of the rows for matching. Optional columns may be missing."""
        del inputs
        return States()

    def pairs(self, inputs: Inputs, pairs: pl.DataFrame) -> pl.DataFrame:
        """Return the pairs (detection and annotation, by row numbers, and similarity), with further columns.

        A rule that adds pairs comes before rules that add columns.
        """
        del inputs
        return pairs


@dataclass(frozen=True)
class Limit(Rule):
    """The rule for what `max_detections` counts: the best detections of each image and category, unless a subclass differs.

    Attributes
    ----------
    by_row
        whether the first rows are counted, so that a detection beyond a limit may have a higher score
    of_images
        whether the detections of an image are counted, whatever their category
    """

    of_images: ClassVar[bool] = False

    @property
    def by_row(self) -> bool:
        """True if the first rows are counted, whatever their scores."""
        return False

    def counted(self, protocol: Protocol) -> str:
        """Describe what is counted, in words such as "per image, best scores first"."""
        of = "image" if self.of_images or protocol.agnostic else "image and category"
        return f"per {of}, {'the first rows' if self.by_row else 'best scores first'}"

    def places(self, inputs: Inputs) -> pl.Series | None:
        """Return each detection's place, from 1, to compare with limits; None for its rank in its image and category."""
        del inputs
        return None

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has another rule about what is counted."""
        refuse_several(Limit, protocol)


def refuse_several(kind: type[Rule], protocol: Protocol) -> None:
    """Raise an error if a protocol has several rules of one kind, because they contradict each other."""
    rules = [rule for rule in protocol.rules if isinstance(rule, kind)]
    if len(rules) > 1:
        raise ParameterError(f"{rules[0]!r} and {rules[1]!r} contradict each other", "keep one", option="rules")
