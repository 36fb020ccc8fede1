"""Protocols that an option of another protocol selects, such as the version of its program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.protocols.published import PUBLISHED

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


def twin(protocol: Protocol, option: str, value: str) -> Protocol:
    """Return the published twin that an option of a protocol selects, with the protocol's other changes.

    Raises
    ------
    ParameterError
        the protocol has no such option or value, or choices that the option changes were changed before

    >>> twin(PUBLISHED["COCO"], "mean", "plain")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: mean: COCO does not depend on a mean; leave it out
    """
    _, twins = _twins(protocol, option)
    return _turned_into(twins[one_of(option, value, list(twins))], protocol, option)


def at_version(self: Protocol, version: str) -> Protocol:
    """Return the protocol as its program implemented it in a version, such as "8.4.35".

    Raises
    ------
    ParameterError
        the protocol does not depend on a version, or this is not a version
    """
    latest, twins = _twins(self, "version")
    if not (isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)*", version)):
        raise ParameterError(f"must be numbers as text, such as '8.4.35', not {version!r}", option="version")
    until = min((last for last in twins if _numbers(last) >= _numbers(version)), key=_numbers, default=None)
    return _turned_into(latest if until is None else twins[until], self, "version")


def _twins(protocol: Protocol, option: str) -> tuple[str, dict[str, str]]:
    """Return the protocol without the option, from this one or its twin, and the twins by value."""
    for name, options in static_table.TWINS.items():
        if option in options and protocol.name in (name, *options[option].values()):
            return name, options[option]
    raise ParameterError(f"{protocol.name} does not depend on a {option}", "leave it out", option=option)


def _turned_into(name: str, protocol: Protocol, option: str) -> Protocol:
    """Apply to a protocol the choices of a published one of its family that differ within the family."""
    base, twins = _twins(protocol, option)
    family = {each: PUBLISHED[each].variant(protocol.iou_type).choices() for each in (base, *twins.values())}
    changes = {each: choice for each, choice in family[name].items() if any(own[each] != choice for own in family.values())}
    other = [each for each in changes if all(getattr(protocol, each) != own[each] for own in family.values())]
    if other:
        raise ParameterError(f"{protocol.name} was changed in {', '.join(other)}", f"begin with apframe.{name}", option=option)
    variants = tuple(_turned_into(name, variant, option) for variant in protocol.variants)
    return replace(protocol, **changes, variants=variants)


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, without trailing zeros."""
    return [*map(int, re.sub(r"(\.0+)+$", "", version).split("."))]
