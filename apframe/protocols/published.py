"""All published protocols by name, and the differences between an evaluation's protocol and the published one.

In the module of a protocol, PURPOSES has its purpose, and TWINS has the options that turn it into another protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe import static_table
from apframe.protocols.given import OPTIONS
from apframe.registry import Registry
from apframe.wording import same_name

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_CORE = {
    "COCO": "apframe.protocols.coco:COCO",
    "VOC2007": "apframe.protocols.voc:VOC2007",
    "VOC2012": "apframe.protocols.voc:VOC2012",
    "LVIS": "apframe.protocols.lvis:LVIS",
    "OPEN_IMAGES": "apframe.protocols.open_images:OPEN_IMAGES",
    "OPEN_IMAGES_CHALLENGE": "apframe.protocols.open_images:OPEN_IMAGES_CHALLENGE",
    "PROPOSALS": "apframe.protocols.proposals:PROPOSALS",
}
PUBLISHED: Registry[Protocol] = Registry(_CORE | {name: home for name, (home, _) in static_table.PROTOCOLS.items()})
"""The published protocols by name, each imported when it is first used."""


def add_plugins() -> None:
    """Add the protocols of other packages to PUBLISHED; existing names are kept."""
    from apframe.plugins import LOCK, find_plugins

    with LOCK:
        for plugin in find_plugins("protocol"):
            if same_name(plugin.name, PUBLISHED) is None:
                PUBLISHED[plugin.name.upper()] = plugin


def departures(protocol: Protocol) -> list[str]:
    """Return the parameters in which a protocol differs from the published one with its name and iou_type; none for your own.

    If no variant is published for that iou_type, it is compared with the first one.

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
