"""All published protocols by name, and where an evaluation departs from one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from apframe import static_table
from apframe.exceptions import ParameterError, PluginError, by_name, one_of
from apframe.protocols.given import OPTIONS
from apframe.registry import Registry
from apframe.wording import same_name

if TYPE_CHECKING:
    from apframe.listing import Listing
    from apframe.protocols.protocol import Protocol

_CORE = {  # where each protocol is, and what it is for
    "COCO": ("apframe.protocols.coco:COCO", "objects, masks, keypoints and boundaries; the usual choice"),
    "VOC2007": ("apframe.protocols.voc:VOC2007", "PASCAL VOC 2007: 11 recall levels, IoU 0.5"),
    "VOC2012": ("apframe.protocols.voc:VOC2012", "PASCAL VOC 2010 and later: every recall level, IoU 0.5"),
    "LVIS": ("apframe.protocols.lvis:LVIS", "many categories, each annotated in some images only"),
    "OPEN_IMAGES": ("apframe.protocols.open_images:OPEN_IMAGES", "Open Images: category hierarchy, boxes of groups"),
    "OPEN_IMAGES_CHALLENGE": (
        "apframe.protocols.open_images:OPEN_IMAGES_CHALLENGE",
        "Open Images challenges: verified labels, groups count once",
    ),
    "PROPOSALS": ("apframe.protocols.proposals:PROPOSALS", "recall of proposals without categories"),
}
_ROWS = _CORE | {name: row[:2] for name, row in static_table.PROTOCOLS.items()}
PUBLISHED: Registry[Protocol] = Registry({name: home for name, (home, _) in _ROWS.items()})
"""The published protocols by name, each imported when it is asked for."""


def add_plugins() -> None:
    """Enter the protocols of other packages into PUBLISHED; names that are there stay as they are."""
    from apframe.plugins import LOCK, find_plugins

    with LOCK:
        for plugin in find_plugins("protocol"):
            if same_name(plugin.name, PUBLISHED) is None:
                PUBLISHED.add_plugin(plugin.name.upper(), plugin)


def list_protocols(name: str | None = None) -> Listing:
    """List the published protocols, or describe one.

    Parameters
    ----------
    name
        the protocol to describe; None lists all of them

    Returns
    -------
    A frame with name, iou_types, purpose and citation; it prints within 80 columns. `print(apframe.COCO)` prints all rules.
    The purpose says which options stand for another protocol, and the list leaves that out. Protocols of other packages are in
    it; of one that cannot be imported, the purpose says why.

    Raises
    ------
    ParameterError
        no protocol has this name; near names are suggested

    >>> list_protocols("proposals").row(0)[:3]
    ('proposals', 'bbox', 'recall of proposals without categories')
    """
    add_plugins()
    twins = {twin for options in static_table.TWINS.values() for values in options.values() for twin in values.values()}
    known = {each.lower(): each for each in PUBLISHED}
    names = [each for each in PUBLISHED if each not in twins] if name is None else [by_name("protocol", name, known)]
    from apframe.listing import Listing

    return Listing(map(_described, names), schema=["name", "iou_types", "purpose", "citation"], orient="row")


def _described(name: str) -> tuple[str, str, str, str]:
    plugin = PUBLISHED.plugin(name)
    try:
        protocol = PUBLISHED[name]
    except PluginError as error:
        return name.lower(), "", str(error), ""
    purpose = _ROWS[name][1] if name in _ROWS else plugin.purpose if plugin else ""
    options = static_table.TWINS.get(name, {})
    twins = [
        f"; {'up to version' if option == 'version' else option} {value}: {twin.lower()}"
        for option in options
        for value, twin in options[option].items()
    ]
    return name.lower(), ", ".join(protocol.iou_types), "".join([purpose, *twins]), protocol.citation


def twin(protocol: Protocol, option: str, value: str) -> Protocol:
    """The published twin that an option of a protocol stands for, with what else was changed in the protocol.

    Raises
    ------
    ParameterError
        the protocol has no such option; the value is none of its values; what the option changes has been changed

    >>> twin(PUBLISHED["COCO"], "mean", "plain")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: mean: COCO does not depend on a mean; leave it out
    """
    _, twins = _twins(protocol, option)
    return _turned_into(twins[one_of(option, value, list(twins))], protocol, option)


def at_version(protocol: Protocol, version: str) -> Protocol:
    """The protocol as its program had it in a version, see `Protocol.at_version`."""
    latest, twins = _twins(protocol, "version")
    if not (isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)*", version)):
        raise ParameterError(f"must be numbers as text, such as '8.4.35', not {version!r}", option="version")
    until = min((last for last in twins if _numbers(last) >= _numbers(version)), key=_numbers, default=None)
    return _turned_into(latest if until is None else twins[until], protocol, "version")


def _twins(protocol: Protocol, option: str) -> tuple[str, dict[str, str]]:
    """The protocol without the option, of this one or of the one that it is a twin of, and the twins by value."""
    for name, options in static_table.TWINS.items():
        if option in options and protocol.name in (name, *options[option].values()):
            return name, options[option]
    raise ParameterError(f"{protocol.name} does not depend on a {option}", "leave it out", option=option)


def _turned_into(name: str, protocol: Protocol, option: str) -> Protocol:
    """A protocol with the choices of a published one of its family, in which these differ from each other."""
    base, twins = _twins(protocol, option)
    family = {each: PUBLISHED[each].variant(protocol.iou_type).choices() for each in (base, *twins.values())}
    changes = {each: choice for each, choice in family[name].items() if any(own[each] != choice for own in family.values())}
    other = [each for each in changes if all(getattr(protocol, each) != own[each] for own in family.values())]
    if other:
        raise ParameterError(f"{protocol.name} was changed in {', '.join(other)}", f"begin with apframe.{name}", option=option)
    variants = tuple(_turned_into(name, variant, option) for variant in protocol.variants)
    return replace(protocol, **changes, variants=variants)


def _numbers(version: str) -> list[int]:
    """The numbers of a version, without zeros at the end."""
    return [*map(int, re.sub(r"(\.0+)+$", "", version).split("."))]


def departures(protocol: Protocol) -> list[str]:
    """The parameters in which a protocol is not the published one of its name and iou_type; none for a user's own.

    Where nothing is published for that iou_type, it departs from what is published first.

    >>> departures(PUBLISHED["COCO"].with_options(max_detections=[1, 10, 300]))
    ['max_detections']
    """
    published = PUBLISHED.get(protocol.name)
    if published is None:
        return []
    if protocol.iou_type in published.iou_types:
        published = published.variant(protocol.iou_type)
    as_published = published.choices()
    changed = [name for name, choice in protocol.choices().items() if choice != as_published[name]]
    return [OPTIONS.get(name, name) for name in changed]
