"""Names that were in `apframe` itself before 0.6, which work until 0.7, and the short names of protocols, which stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from apframe import exceptions
from apframe.lazily import homes_of
from apframe.wording import nearest

_LISTS = {"definitions": "list_definitions", "measures": "list_measures"}  # `apf.formats`, the third of these, is a package


def find_name(name: str, public: Sequence[str]) -> Any:
    """Return the value of a former name of `apframe`, with a warning that says the new name.

    Parameters
    ----------
    name
        a name that `apframe` does not have
    public
        the names that it has, to suggest one of them

    Raises
    ------
    AttributeError
        there was no such name; similar ones are suggested

    >>> find_name("COCO", []).name
    'COCO'
    >>> find_name("ndgc", ["stats"])
    Traceback (most recent call last):
    AttributeError: module 'apframe' has no attribute 'ndgc'; did you mean lists.ndcg?
    """
    message = f"module 'apframe' has no attribute {name!r}"
    if name.startswith("_"):  # tools such as pytest and IPython ask for these again and again
        raise AttributeError(message, name=name, obj=None)
    if name in _LISTS:
        raise AttributeError(f"apframe.{name} is now apframe.{_LISTS[name]}", name=name, obj=None)
    names = {f"plot_{each}": f"plot.{each}" for each in homes_of("apframe.plot")}
    for package in ("lists", "protocols", "similarity", "training"):
        names |= {each: f"{package}.{each}" for each in homes_of(f"apframe.{package}")}
    names |= {each: f"exceptions.{each}" for each in exceptions.__all__}
    if name not in names:
        near = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), nearest(name, [*public, *names]))
        raise AttributeError(f"{message}; {near}" if near else message, name=name, obj=None)
    package, new = names[name].split(".")
    if package != "protocols" or not name.isupper():
        message = f"apframe.{name} is now apframe.{package}.{new}; the old name works until 0.7"
        exceptions.warn(message, exceptions.RenamedWarning)
    return getattr(import_module(f"apframe.{package}"), new)
