"""What users of apframe hold on to, as text: names and signatures, tables, rules in words, help, errors, stored names."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from importlib import import_module
from operator import attrgetter
from typing import Any

import apframe as apf
from apframe import exceptions
from apframe.cli import command as cli
from apframe.formats.stored_sets import FORMAT
from apframe.store.parquet import SCHEMA_VERSION
from apframe.tables.dictionary import dictionary
from tests.names import HOMES

COMMANDS = ("", "eval", "errors", "check", "convert", "formats", "protocols", "rank", "sql", "upgrade")


def signatures() -> Iterator[str]:
    """Every public name, and what its methods and attributes are called with."""
    for name in sorted(HOMES):
        yield from _signature(f"apframe.{name}", attrgetter(name)(apf))
    for module, name in (("coco", "COCO"), ("cocoeval", "COCOeval"), ("cocoeval", "Params")):
        yield from _signature(
            f"apframe.pycocotools.{module}.{name}", getattr(import_module(f"apframe.pycocotools.{module}"), name)
        )


def _signature(name: str, value: Any) -> Iterator[str]:
    if value in vars(exceptions).values():
        yield f"class {name}"  # which `errors` describes
    elif inspect.isclass(value):
        yield f"class {name}{inspect.signature(value)}"
        for member, found in sorted(inspect.getmembers(value)):
            if not member.startswith("_") and not issubclass(
                value, apf.similarity.Similarity
            ):  # whose methods are its own affair
                yield f"  {name}.{member}{_called_with(found) if callable(found) else ''}"
    elif callable(value):
        yield f"{name}{inspect.signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _called_with(method: Any) -> inspect.Signature:
    """The signature of a method; functions that are bound in a class body say what `self` is."""
    signature = inspect.signature(method)
    parameters = [
        each.replace(annotation=each.empty) if each.name == "self" else each for each in signature.parameters.values()
    ]
    return signature.replace(parameters=parameters)


def tables() -> Iterator[str]:
    """The dictionary of the tables."""
    for row in dictionary().rows():
        yield " | ".join(map(str, row))


def protocols() -> Iterator[str]:
    """The rules of every published protocol and variant, as they are printed."""
    for name, protocol in apf.PUBLISHED.items():
        for label in protocol.iou_types:
            yield f"== {name} {label}"
            yield from str(protocol.variant(label)).splitlines()


def help_texts() -> Iterator[str]:
    """The help of every command."""
    for command in COMMANDS:
        yield f"== apframe {command}".rstrip()
        printed = io.StringIO()
        with redirect_stdout(printed), suppress(SystemExit):
            cli.app.main([*command.split(), "--help-all" if command else "--help"], prog_name="apframe", terminal_width=120)
        yield from (line.rstrip() for line in printed.getvalue().splitlines())


def errors() -> Iterator[str]:
    """Every class of errors and warnings with those it comes from."""
    for name, value in vars(exceptions).items():
        if inspect.isclass(value) and issubclass(value, (exceptions.ApframeError, exceptions.ApframeWarning)):
            yield f"{name}({', '.join(base.__name__ for base in value.__mro__[1:-2])})"


def stored_names() -> Iterator[str]:
    """What stands in the manifest of a stored set: its version, and every protocol as it is written."""
    yield f"{FORMAT}, schema version {SCHEMA_VERSION}"
    yield f"definitions: {', '.join(apf.list_definitions()['name'])}"
    for name, protocol in apf.PUBLISHED.items():
        for label in protocol.iou_types:
            yield f"{name} {label}: {json.dumps(protocol.variant(label).as_dict(), sort_keys=True)}"


TEXTS: tuple[Callable[[], Iterator[str]], ...] = (signatures, tables, protocols, help_texts, errors, stored_names)
