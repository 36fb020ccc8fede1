"""The list of published protocols."""

from __future__ import annotations

import sys

from apframe import static_table
from apframe.exceptions import PluginError
from apframe.listing import Listing
from apframe.option_values import by_name
from apframe.plugins import Plugin
from apframe.protocols.published import PUBLISHED, add_plugins


def list_protocols(name: str | None = None) -> Listing:
    """List the published protocols, or describe one.

    Parameters
    ----------
    name
        the protocol to describe; None lists all of them

    Returns
    -------
    A frame with name, iou_types, purpose and citation; it prints within 80 columns. `print(apframe.COCO)` prints all rules. A
    purpose mentions the options that turn the protocol into another one, which the list omits. Protocols of other packages are
    included; if one cannot be imported, its purpose says why.

    Raises
    ------
    ParameterError
        no protocol has this name; near names are suggested

    >>> list_protocols("proposals").row(0)[:3]
    ('proposals', 'bbox', 'recall of proposals without categories')
    """
    add_plugins()
    twins = {twin for options in static_table.TWINS.values() for values in options.values() for twin in values.values()}
    names_by_lower_case = {each.lower(): each for each in PUBLISHED}
    names = (
        [each for each in PUBLISHED if each not in twins] if name is None else [by_name("protocol", name, names_by_lower_case)]
    )
    return Listing(map(_described, names), schema=["name", "iou_types", "purpose", "citation"], orient="row")


def _described(name: str) -> tuple[str, str, str, str]:
    try:
        protocol = PUBLISHED[name]
    except PluginError as error:
        return name.lower(), "", str(error), ""
    options = static_table.TWINS.get(name, {})
    twins = [
        f"; {'up to version' if option == 'version' else option} {value}: {twin.lower()}"
        for option in options
        for value, twin in options[option].items()
    ]
    return name.lower(), ", ".join(protocol.iou_types), "".join([_purpose(name), *twins]), protocol.citation


def _purpose(name: str) -> str:
    """Return the purpose of a protocol from PURPOSES in its module; empty if there is none, as for a user's protocol."""
    home = PUBLISHED.home(name)
    if isinstance(home, Plugin):
        return home.purpose
    module = sys.modules.get(home.partition(":")[0]) if isinstance(home, str) else None
    return str(getattr(module, "PURPOSES", {}).get(name, ""))
