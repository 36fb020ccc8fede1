"""`apframe formats` and `apframe protocols`: names to choose from."""

from __future__ import annotations

from typing import Any

import click

import apframe as apf
from apframe.cli.command_options import Command, argument, output
from apframe.cli.output import stdout, terminal_width
from apframe.listing import Listing


def _names_like(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Complete the name."""
    from apframe.cli.completion import values_like  # needed only for completion

    return values_like(ctx, param, [], incomplete)


_name = argument("name", "[NAME]", required=False, type=str, shell_complete=_names_like, help="describe only this one")
_json = output("--json", "as_json", help="print a list of JSON objects")


@click.command("formats", cls=Command)
@_name
@_json
def list_formats(name: str | None, as_json: bool) -> None:
    """List the file formats of data sets and results, or describe one."""
    _show(apf.list_formats(name), as_json=as_json)


@click.command("protocols", cls=Command)
@_name
@_json
def list_protocols(name: str | None, as_json: bool) -> None:
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
