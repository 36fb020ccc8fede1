"""Protocols as JSON values with tags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from apframe import static_table
from apframe.exceptions import FormatError, ParameterError
from apframe.matching.matchers import MATCHERS
from apframe.metrics.definitions import DEFINITIONS, as_definition, choices_of
from apframe.metrics.metric import KINDS
from apframe.protocols.headlines import Part
from apframe.protocols.published import PUBLISHED
from apframe.registry import Registry
from apframe.similarity.named import SIMILARITIES, as_choices, as_similarity
from apframe.wording import frozen, shown

if TYPE_CHECKING:
    from apframe.protocols.kit_table import KitTable
    from apframe.protocols.protocol import Protocol

_HOMES = {
    "rules.classes": "Classes",
    "rules.crowds": "CrowdsAsMisses CrowdsCountOnce CrowdsIgnored IgnoredAsCrowds",
    "rules.filters": "KeepObjects",
    "rules.hierarchy": "ExpandHierarchy",
    "rules.ignored": "AnnotationsWithArea DetectionsWithArea IgnoreFlagged IgnoreWithoutKeypoints IgnoreWithoutMask",
    "levels": "ApplyLevels RequireImageBoxes",
    "rules.judged": "JudgedOnly",
    "rules.known": "DetectedImagesOnly KnownImagesOnly RequireKnownCategories",
    "rules.limits": "LimitPerImage RankInImage RequireAtMost",
    "rules.malformed": "MalformedCounts MalformedDetectionsLeftOut MalformedIgnoredByArea MalformedRefused",
    "rules.means": "MeansByImages ZeroWithoutDetections",
    "rules.standard": "BoxAnnotations BoxDetections CompleteSegments CopyShared EvaluatedCategories OrderByCategory "
    "ReadMasks TurnUpright",
}
_CORE = {name: f"apframe.protocols.{module}:{name}" for module, names in _HOMES.items() for name in names.split()}
RULES: Registry[type] = Registry(_CORE | static_table.RULES)
"""The rules by the names under which protocols are stored, and their places. Add your own as "its_module:ItsClass"."""


RANGES: Registry[type] = Registry({"area": "apframe.protocols.ranges:AreaRange", "level": "apframe.protocols.levels:Level"})
"""The same for ranges and levels."""


@dataclass(frozen=True)
class _Kinds:
    """One kind of values that a stored protocol names, and the registry to which users add theirs."""

    tag: str
    homes: Registry[Any]
    place: str
    option: str

    def choices(self, value: Any) -> dict[str, Any]:
        """Return name and parameters of a value as JSON values, with its package unless that is apframe.

        Raises
        ------
        ParameterError
            the value has no name, or a parameter that cannot be stored
        """
        name = self.homes.name_of(type(value))
        if name is None:
            remedy = f'add it first: {self.place}["a_name"] = "{type(value).__module__}:{type(value).__qualname__}"'
            raise ParameterError(f"{value!r} has no name to be stored by", remedy, option=self.option)
        choices = (
            {self.tag: name} | package_of(value) | {each.name: _stored(getattr(value, each.name)) for each in fields(value)}
        )
        try:
            json.dumps(choices)
        except TypeError as error:
            remedy = "its fields must be numbers, text, flags, None, or tuples of these"
            raise ParameterError(f"{value!r} cannot be stored", remedy, option=self.option) from error
        return choices

    def value(self, choices: Mapping[str, Any]) -> Any:
        """Restore the value from the result of `choices`.

        Raises
        ------
        FormatError
            no value has that name, or its entry is wrong; names from a stored evaluation are never imported
        """
        parameters = dict(choices)
        name = parameters.pop(self.tag)
        self.refuse_unknown(name, parameters.pop("package", None))
        try:
            return self.homes[name](**{name: _restored(value) for name, value in parameters.items()})
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            problem = f"the {self.tag} {shown(name)} cannot be made ({error})"
            entry = f"{self.place}[{shown(name)}]"
            raise FormatError(problem, f"check {entry}, which is {self.homes.home(name)!r}, or evaluate again") from error

    def refuse_unknown(self, name: Any, package: str | None) -> None:
        """Raise a `FormatError` if no value has a stored name, which was from this package."""
        if not self.homes.knows(name):
            package_note = f"it is from the package {shown(package)}: " if package else ""
            remedy = f'{package_note}add it before you read: {self.place}[{shown(name)}] = "its_module:ItsClass"'
            raise FormatError(f"the {self.tag} {shown(name)} is not known here", remedy)


_RANGES = _Kinds("range", RANGES, "apframe.protocols.protocol_json.RANGES", "ranges")
STORED_RULES = _Kinds("rule", RULES, "apframe.protocols.protocol_json.RULES", "rules")
_METRICS = _Kinds("metric", KINDS, "apframe.metrics.metric.KINDS", "metrics")
_MATCHERS = _Kinds("matcher", MATCHERS, "apframe.matching.matchers.MATCHERS", "matcher")
_DEFINITIONS = _Kinds("definition", DEFINITIONS, "apframe.metrics.definitions.DEFINITIONS", "metrics")
_SIMILARITIES = _Kinds("similarity", SIMILARITIES, "apframe.similarity.named.SIMILARITIES", "similarity")


def package_of(value: Any) -> dict[str, str]:
    """Return the package of a value that is not apframe's, which is stored next to its name.

    >>> from fractions import Fraction
    >>> package_of(Fraction(1))
    {'package': 'fractions'}
    """
    package = type(value).__module__.split(".")[0]
    return {} if package == "apframe" else {"package": package}


def _stored(value: Any) -> Any:
    """Return a parameter as JSON values: metrics and definitions by name, other dataclasses by their fields."""
    if isinstance(value, (tuple, list)):
        return [_stored(each) for each in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if KINDS.name_of(type(value)) is not None:
        return _METRICS.choices(value)
    if choices := choices_of(value):
        return choices | package_of(value)
    return {each.name: _stored(getattr(value, each.name)) for each in fields(value)}


def _restored(value: Any) -> Any:
    """Restore a parameter from the result of `_stored`, with tuples instead of lists."""
    if isinstance(value, (tuple, list)):
        return tuple(_restored(each) for each in value)
    if isinstance(value, Mapping) and "metric" in value:
        return _METRICS.value(value)
    if isinstance(value, Mapping) and "definition" in value:
        own = {name: _restored(each) for name, each in value.items()}
        _DEFINITIONS.refuse_unknown(own["definition"], own.pop("package", None))
        return replace(as_definition(own.pop("definition")), **own)
    return value


def as_dict(protocol: Protocol) -> dict[str, Any]:
    """Return all choices of a protocol as JSON values, without the variants: see `Protocol.as_dict`."""
    own = {
        "similarity": as_choices(protocol.similarity) | package_of(protocol.similarity),
        "matcher": _MATCHERS.choices(protocol.matcher),
        "ranges": [_RANGES.choices(each) for each in protocol.ranges],
        "rules": [STORED_RULES.choices(rule) for rule in protocol.rules],
        "metrics": [_METRICS.choices(metric) for metric in protocol.metrics],
        "headlines": [line if isinstance(line, str) else asdict(line) for line in protocol.headlines],
    }
    return {name: own[name] if name in own else _stored(choice) for name, choice in protocol.choices().items()}


def from_dict(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Restore the choices of a protocol from the result of `as_dict`.

    Raises
    ------
    FormatError
        a rule, a matcher or a metric is unknown; the error says what to add
    """
    restored = {name: frozen(value) for name, value in choices.items()}
    similarity = dict(restored["similarity"])
    _SIMILARITIES.refuse_unknown(similarity["name"], similarity.pop("package", None))
    return restored | {
        "similarity": as_similarity(similarity),
        "matcher": _MATCHERS.value(restored["matcher"]),
        "ranges": tuple(_RANGES.value(each) for each in restored["ranges"]),
        "rules": tuple(STORED_RULES.value(each) for each in restored["rules"]),
        "metrics": tuple(_METRICS.value(each) for each in restored["metrics"]),
        "headlines": tuple(line if isinstance(line, str) else Part(**line) for line in restored["headlines"]),
        "tables": _published_tables(restored["name"], restored["iou_type"]),
    }


def _published_tables(name: str, iou_type: str) -> tuple[KitTable, ...]:
    """Return the tables that the published protocol of this name prints for an IoU type; empty if there is none."""
    published = PUBLISHED.get(name)
    return () if published is None or iou_type not in published.iou_types else published.variant(iou_type).tables
