"""`apframe formats` and `apframe protocols`: names to choose from."""

from __future__ import annotations

from typing import Annotated

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.output import stdout, terminal_width
from apframe.listing import Listing

Name = Annotated[str | None, Argument(metavar="[NAME]", help="describe only this one")]
Json = Annotated[bool, Option("--json", help="print a list of JSON objects")]


def list_formats(name: Name = None, as_json: Json = False) -> None:
    """List the file formats of data sets and results, or describe one."""
    _show(apf.list_formats(name), as_json=as_json)


def list_protocols(name: Name = None, as_json: Json = False) -> None:
    """List the protocols, which are published rules of evaluation, or print the rules of one."""
    table = apf.list_protocols(name)
    if name is None or as_json:
        _show(table, as_json=as_json)
    else:
        print(apf.PUBLISHED[table["name"].item().upper()])


def _show(table: Listing, *, as_json: bool) -> None:
    if as_json:
        stdout().write_json(table.write_json())
    else:
        print(table.lines(terminal_width() or 80))
