"""What a protocol fixes: thresholds, recall levels, area ranges, numbers of detections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from operator import index
from typing import Any, Self

from apframe.exceptions import ParameterError
from apframe.ranking.definitions import COCO_101, Levels, WeightedSum, as_definition

ALL_AREAS = ("all", 0.0, 1e10)


def linspace(start: float, stop: float, n: int) -> tuple[float, ...]:
    """The same doubles as `numpy.linspace`: the reference's thresholds and levels are these, to the last bit.

    >>> linspace(0.5, 0.95, 10)[8]
    0.8999999999999999
    """
    step = (stop - start) / (n - 1)
    return (*(k * step + start for k in range(n - 1)), stop)


@dataclass(frozen=True, repr=False)
class Protocol:
    """One choice on each axis of an evaluation; a frozen value that can be compared, hashed and printed.

    Attributes
    ----------
    name
        as it is cited
    citation
        where the rules are published
    iou_types
        the similarities it defines, the default one first
    iou_thresholds
        strictly increasing, in (0, 1]
    definition
        that of average precision, one of `apframe.definitions()` that is a weighted sum; its recall levels, where it has some,
        increase strictly and lie in [0, 1]
    area_ranges
        (name, lowest, highest) area in square pixels, both bounds inclusive; that named "all" (or else the first) is that
        of the headline numbers
    max_detections
        strictly increasing: at most this many detections per image and category; the largest is that of AP
    agnostic
        pool the categories

    >>> Protocol("mine", "", iou_thresholds=(0.5,)).with_options(max_detections=[10]).max_detections
    (10,)
    >>> Protocol("mine", "", iou_thresholds=(1.5,))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: iou_thresholds must lie in (0, 1] and increase, got (1.5,)
    """

    name: str
    citation: str
    iou_types: tuple[str, ...] = ("bbox",)
    iou_thresholds: tuple[float, ...] = linspace(0.5, 0.95, 10)
    definition: WeightedSum = COCO_101
    area_ranges: tuple[tuple[str, float, float], ...] = (ALL_AREAS,)
    max_detections: tuple[int, ...] = (100,)
    agnostic: bool = False

    def __repr__(self) -> str:
        areas = ", ".join(f"{name} {low:g}–{high:g}" for name, low, high in self.area_ranges)
        levels = f", recall levels {_short(self.recall_levels)}" if self.recall_levels else ""
        return (
            f"Protocol({self.name}: IoU {_short(self.iou_thresholds)}; {self.definition}{levels}; "
            f"areas {areas}; "
            f"max_detections {self.max_detections}{'; categories pooled' if self.agnostic else ''})"
        )

    def __post_init__(self) -> None:
        thresholds, levels, limits = self.iou_thresholds, self.recall_levels, self.max_detections
        if not isinstance(self.definition, WeightedSum):
            raise ParameterError(f"definition: {self.definition!r} is not a weighted sum, see apframe.definitions()")
        if not (thresholds and _increasing(thresholds) and thresholds[0] > 0 and thresholds[-1] <= 1):
            raise ParameterError(f"iou_thresholds must lie in (0, 1] and increase, got {thresholds}")
        if isinstance(self.definition, Levels) and not (levels and _increasing(levels) and levels[0] >= 0 and levels[-1] <= 1):
            raise ParameterError(f"recall_levels must lie in [0, 1] and increase, got {_short(levels)}")
        if not (limits and _increasing(limits) and limits[0] >= 1):
            raise ParameterError(f"max_detections must be 1 or more, each once, got {limits}")
        names = [name for name, *_ in self.area_ranges]
        if not names or len(set(names)) < len(names):
            raise ParameterError(f"area_ranges must have at least one name, and different ones, got {names}")
        for name, low, high in self.area_ranges:
            if not 0 <= low <= high:
                raise ParameterError(f"area range {name!r} must have 0 <= low <= high, got {low}, {high}")

    @property
    def recall_levels(self) -> tuple[float, ...]:
        """The levels of the definition; none where it has none."""
        return self.definition.levels if isinstance(self.definition, Levels) else ()

    @property
    def whole(self) -> str:
        """The name of the area range that the headline numbers are of."""
        names = [name for name, *_ in self.area_ranges]
        return ALL_AREAS[0] if ALL_AREAS[0] in names else names[0]

    def threshold_number(self, iou_threshold: float) -> int | None:
        """The place of a threshold among `iou_thresholds`, found to 1e-9; None if it is not there.

        >>> Protocol("mine", "").threshold_number(0.9)
        8
        """
        near = (number for number, known in enumerate(self.iou_thresholds) if abs(known - iou_threshold) < 1e-9)
        return next(near, None)

    def with_options(
        self,
        *,
        iou_thresholds: Sequence[float] | None = None,
        recall_levels: Sequence[float] | None = None,
        area_ranges: Mapping[str, tuple[float, float]] | None = None,
        max_detections: Sequence[int] | None = None,
        agnostic: bool | None = None,
    ) -> Self:
        """The same protocol with some of its choices changed; None keeps the published one.

        `area_ranges` maps names to (lowest, highest) area; the range "all" is added in front if it is missing.
        `max_detections` may come in any order, as in the reference. One number stands for a list of one.
        """
        changes: dict[str, Any] = {}
        try:
            if iou_thresholds is not None:
                changes["iou_thresholds"] = tuple(float(t) for t in _several(iou_thresholds))
            if recall_levels is not None:
                changes["definition"] = self._at_levels(tuple(float(r) for r in _several(recall_levels)))
            if max_detections is not None:
                changes["max_detections"] = tuple(sorted(index(limit) for limit in _several(max_detections)))
            if area_ranges is not None:
                given = [(str(name), float(low), float(high)) for name, (low, high) in area_ranges.items()]
                changes["area_ranges"] = (*([] if ALL_AREAS[0] in area_ranges else [ALL_AREAS]), *given)
        except (TypeError, ValueError, AttributeError) as error:
            options = {"iou_thresholds": iou_thresholds, "recall_levels": recall_levels, "area_ranges": area_ranges,
                     "max_detections": max_detections}  # fmt: skip
            shown = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
            raise ParameterError(f"an option has the wrong type ({error}): {shown}") from error
        if agnostic is not None:
            changes["agnostic"] = bool(agnostic)
        return replace(self, **changes)

    def _at_levels(self, levels: tuple[float, ...]) -> Levels:
        if not isinstance(self.definition, Levels):
            raise ParameterError(f"recall_levels: the definition {self.definition} has none")
        return replace(self.definition, levels=levels)

    def as_dict(self) -> dict[str, Any]:
        """All choices as what JSON holds; `from_dict` makes the protocol of them."""
        return asdict(self) | {"definition": {"name": self.definition.name} | asdict(self.definition)}

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """The protocol that `as_dict` was taken of.

        >>> Protocol.from_dict(Protocol("mine", "").as_dict()) == Protocol("mine", "")
        True
        """
        fields = {name: _frozen(value) for name, value in choices.items()}
        chosen = dict(fields.pop("definition"))
        definition: Any = as_definition(chosen.pop("name"))
        return cls(definition=replace(definition, **{name: _frozen(value) for name, value in chosen.items()}), **fields)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _several(values: Any) -> Any:
    return [values] if isinstance(values, (int, float)) else values


def _increasing(values: Sequence[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def _short(values: Sequence[float]) -> str:
    return str(tuple(values)) if len(values) <= 4 else f"{values[0]:g} to {values[-1]:g} in {len(values)} steps"
