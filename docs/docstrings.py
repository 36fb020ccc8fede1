"""Facts about the package that mkdocstrings cannot read from its source: bound methods, options and where doctests begin."""

from __future__ import annotations

import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

import griffe

import apframe as apf


class HouseStyle(griffe.Extension):
    """Show functions that are bound in a class body as methods, doctests as examples, and each parameter with its own type."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change the package once it is loaded."""
        for name in dir(apf):
            if inspect.isclass(value := getattr(apf, name)):
                _bind_methods(pkg[value.__module__.partition(".")[2]][value.__name__], value)
        for documented in _functions_and_classes(pkg):
            _declare_options(documented)
            if any(str(decorator.value) == "cached_property" for decorator in getattr(documented, "decorators", ())):
                _make_property(documented)
            if documented.docstring is not None:
                documented.docstring.value = _with_headings(documented.docstring.value)
                _set_types(documented)


def _declare_options(documented: griffe.Function | griffe.Class) -> None:
    """Show the options that a `TypedDict` declares in place of `**options`, as `apframe.keywords` does."""
    last = [*documented.parameters][-1:] if documented.is_function else []
    if not (last and "Unpack" in str(last[0].annotation) and documented.parent.is_module):
        return
    value = getattr(import_module(documented.parent.path), documented.name)
    if not hasattr(value, "__wrapped__") or documented.docstring is None:
        return
    documented.docstring.value = value.__doc__
    del documented.parameters[last[0].name]
    for each in inspect.signature(value).parameters.values():
        if each.name not in documented.parameters:
            kind = griffe.ParameterKind.keyword_only
            documented.parameters.add(
                griffe.Parameter(each.name, annotation=each.annotation, kind=kind, default=repr(each.default))
            )


def _bind_methods(documented: griffe.Class, value: type) -> None:
    for name in list(vars(value)):
        member = getattr(value, name)  # which imports a method that is imported when it is first used
        bound = inspect.isfunction(member) and member.__module__ != value.__module__
        if bound and not name.startswith("_"):
            documented.set_member(name, griffe.Alias(name, f"{member.__module__}.{member.__name__}"))


def _make_property(documented: griffe.Function) -> None:
    """Show a method that is computed once as an attribute, as griffe does with the cached_property of Python alone."""
    attribute = griffe.Attribute(documented.name, annotation=documented.returns, docstring=documented.docstring)
    attribute.labels = {"cached", "property"}
    documented.parent.set_member(documented.name, attribute)


def _functions_and_classes(documented: griffe.Module | griffe.Class) -> list[griffe.Function | griffe.Class]:
    found: list[griffe.Function | griffe.Class] = []
    for member in documented.members.values():
        if isinstance(member, (griffe.Function, griffe.Class)):
            found.append(member)
        if isinstance(member, (griffe.Module, griffe.Class)):
            found += _functions_and_classes(member)
    return found


def _with_headings(text: str) -> str:
    """A docstring in which doctests and remarks that follow a section have a section of their own, as griffe expects it."""
    paragraphs, section = [], ""
    for paragraph in text.split("\n\n"):
        heading = re.match(r"(\w+)\n-+\n", paragraph)
        entry = re.match(r"\S.*\n    ", paragraph) or paragraph.startswith(" ")
        if heading:
            section = heading[1]
        elif paragraph.startswith(">>>") and section != "Examples":
            section, paragraph = "Examples", f"Examples\n--------\n{paragraph}"
        elif section not in ("", "Examples", "Notes", "Returns") and not entry:
            section, paragraph = "Notes", f"Notes\n-----\n{paragraph}"
        if section == "Returns":
            body = paragraph[heading.end() :] if heading else paragraph
            if not re.match(r".+\n    ", body):  # prose, where griffe expects a name or a type and an indented description
                paragraph = ("Returns\n-------\nprose\n" if heading else "") + textwrap.indent(body, "    ")
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _set_types(documented: griffe.Function | griffe.Class) -> None:
    """Types come from the signature: of parameters that share a description, and of what is returned."""
    assert documented.docstring is not None
    documented.docstring.parser = griffe.Parser.numpy
    documented.docstring.parser_options = {"warn_unknown_params": False, "warn_missing_types": False}
    for section in documented.docstring.parsed:
        if isinstance(section, griffe.DocstringSectionParameters):
            for parameter in section.value:
                if parameter.name in documented.parameters:
                    parameter.annotation = documented.parameters[parameter.name].annotation
        elif isinstance(section, griffe.DocstringSectionReturns) and len(section.value) == 1 and documented.is_function:
            section.value[0].annotation = documented.returns
