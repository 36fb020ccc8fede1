"""Commands from functions: the annotation of a parameter says what it is on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import click

Made = TypeVar("Made", bound=click.Command)


class Option(NamedTuple):
    """An option of a command, as an annotation: `Annotated[bool, Option("--json", help="print JSON")]`.

    Without a name it has that of its parameter. A parameter of type bool is a flag; a list collects repetitions. The purpose is
    the heading in the help, where `help_pages` does not say it.
    """

    name: str = ""
    short: str = ""
    metavar: str | None = None
    help: str = ""
    purpose: str = ""


class Argument(NamedTuple):
    """An argument of a command, as an annotation; one without a default is required, and a list takes all that follow."""

    metavar: str
    help: str


class HelpedArgument(click.Argument):
    """An argument with a line of help."""

    def __init__(self, *args: Any, help: str, **kwargs: Any) -> None:  # noqa: A002
        super().__init__(*args, **kwargs)
        self.help = help


def declared(function: Callable[..., None], kind: type[Made], **options: Any) -> Made:
    """The command of a function: a parameter that is annotated as an option or an argument becomes one.

    A parameter whose type is a dataclass is a group of options, one for each field. A parameter `context` gets click's context.
    The docstring is the help.

    >>> from typing import Annotated
    >>> def greet(name: Annotated[str, Argument("NAME", "who")], times: Annotated[int, Option(metavar="2")] = 1) -> None:
    ...     '''Say hello.'''
    ...     print(*[f"hello {name}"] * times)
    >>> declared(greet, click.Command, name="greet").main(["you", "--times", "2"], standalone_mode=False)
    hello you hello you
    """
    hints = get_type_hints(function, include_extras=True)
    defaults = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    params, groups = list[click.Parameter](), dict[str, Any]()
    for name, default in defaults.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            types = get_type_hints(hints[name], include_extras=True)
            params += [_param(each.name, types[each.name], each.default) for each in fields(hints[name])]
        elif name != "context":
            params.append(_param(name, hints[name], default))

    @wraps(function)
    def call(*context: click.Context, **values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        function(*context, **values)

    callback = click.pass_context(call) if "context" in defaults else call
    return kind(callback=callback, params=params, help=inspect.getdoc(function), **options)


def _param(name: str, hint: Any, default: Any) -> click.Parameter:
    annotation, what = get_args(hint)
    if NoneType in get_args(annotation):  # str | None
        annotation = get_args(annotation)[0]
    several = get_origin(annotation) is list
    kind = get_args(annotation)[0] if several else annotation
    given = {"type": kind, "required": default is inspect.Parameter.empty, "callback": _listed if several else None}
    if not given["required"]:
        given["default"] = default
    if isinstance(what, Argument):
        return HelpedArgument([name], nargs=-1 if several else 1, metavar=what.metavar, help=what.help, **given)
    if kind is bool:
        given |= {"type": None, "is_flag": True}
    names = [each for each in (what.name or f"--{name.replace('_', '-')}", what.short, name) if each]
    made = click.Option(names, multiple=several, metavar=what.metavar, help=what.help, show_default=True, **given)
    made.purpose = what.purpose  # type: ignore[attr-defined]
    return made


def _listed(context: click.Context, param: click.Parameter, values: tuple[Any, ...]) -> list[Any] | None:  # noqa: ARG001
    """The values of an option or argument that takes several; None if there are none."""
    return list(values) or None
