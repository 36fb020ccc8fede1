"""Keyword options that are declared once for all functions that accept them, and errors for unknown ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, cleandoc, formatannotation, signature
from re import MULTILINE, search, sub
from typing import Any, NamedTuple, ParamSpec, TypeVar, Unpack, get_args, get_origin, get_type_hints

from apframe.exceptions import ParameterError
from apframe.wording import nearest, same_name

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Keyword(NamedTuple):
    """The declaration of an option, as an annotation of its name in a `TypedDict`: `Annotated[str | None, Keyword(...)]`.

    A function that accepts it has `**options: Unpack[...]` of this `TypedDict`; see `names_keywords`.

    Attributes
    ----------
    text
        its description in docstrings
    default
        its default value
    help, metavar, flag
        on the command line: its help text; an example of its value, empty for a flag; and its name, if that differs
    several
        True if the command accepts several values, separated by commas
    advanced
        True if the command shows it only with --help-all
    """

    text: str
    help: str
    default: Any = None
    metavar: str = ""
    flag: str = ""
    several: bool = False
    advanced: bool = False


def declared_keywords(options: Any) -> dict[str, tuple[Any, Keyword]]:
    """Return the type and the declaration of each option in a `TypedDict`, by name.

    >>> from typing import Annotated, TypedDict
    >>> Options = TypedDict("Options", {"split": Annotated[str, Keyword("the part", "part to read", "val")]})
    >>> declared_keywords(Options)["split"][1].default
    'val'
    """
    hints = get_type_hints(options, include_extras=True)
    return {name: (get_args(hint)[0], get_args(hint)[1]) for name, hint in hints.items() if get_args(hint)[1:]}


# the names of these options in pycocotools, and in libraries that return its numbers
_ELSEWHERE = {
    "maxDets": "max_detections", "max_dets": "max_detections", "max_detection_thresholds": "max_detections",
    "iouThrs": "iou_thresholds", "iou_thrs": "iou_thresholds", "thresholds": "iou_thresholds",
    "recThrs": "recall_levels", "rec_thresholds": "recall_levels", "recall_thresholds": "recall_levels",
    "areaRng": "area_ranges", "areaRngLbl": "area_ranges", "catIds": "categories", "classes": "categories",
    "metrics": "measures", "metric": "measures", "useCats": "agnostic", "class_agnostic": "agnostic", "iouType": "iou_type",
    "imgIds": "images", "image_ids": "images",
}  # fmt: skip


def names_keywords(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Wrap a function so that an unknown keyword is a `ParameterError` that suggests the right one.

    If it has `**options: Unpack[Options]`, its signature and its docstring get the options that this `TypedDict` declares, see
    `Keyword`. The docstring gets them at the end of its section Parameters.

    >>> @names_keywords
    ... def evaluate(*, max_detections: int = 100) -> int:
    ...     return max_detections
    >>> evaluate(maxDets=10)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no option 'maxDets'; did you mean max_detections?
    """
    parameters = list(signature(function).parameters.values())
    declared = _declared_by(function, parameters[-1])
    if declared:
        parameters[-1:] = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=keyword.default, annotation=_words(kind))
            for name, (kind, keyword) in declared.items()
        ]

    @wraps(function)
    def checked(*args: Given.args, **options: Given.kwargs) -> Result:
        refuse_unknown(options, known_keywords)
        return function(*args, **options)

    known_keywords = [each.name for each in parameters]
    checked.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    checked.__doc__ = _documented(function.__doc__, {name: keyword.text for name, (_, keyword) in declared.items()})
    return checked


def _declared_by(function: Callable[..., Any], last: Parameter) -> dict[str, tuple[Any, Keyword]]:
    """Return the options declared for the last parameter of a function, `**options: Unpack[...]`; none for any other kind."""
    if last.kind is not Parameter.VAR_KEYWORD:
        return {}
    annotation = last.annotation
    if isinstance(annotation, str):
        annotation = eval(annotation, getattr(function, "__globals__", {}))
    return declared_keywords(get_args(annotation)[0]) if get_origin(annotation) is Unpack else {}


def _words(kind: Any) -> str:
    return sub(r"\b(typing|collections\.abc)\.", "", formatannotation(kind))


def _documented(text: str | None, options: Mapping[str, str]) -> str | None:
    """Add the descriptions of options at the end of the section Parameters of a docstring."""
    doc = cleandoc(text or "")
    section = search(r"(?s)^Parameters\n-+\n.*?(?=\n\n\w+\n---|\Z)", doc, MULTILINE)
    if section is None or not options:
        return text
    wrapped = {name: textwrap.indent(textwrap.fill(words, 120), " " * 4) for name, words in options.items()}
    entries = (f"\n{name}\n{words}" for name, words in wrapped.items())
    return doc[: section.end()] + "".join(entries) + doc[section.end() :]


def refuse_unknown(keywords: Iterable[str], known_keywords: Iterable[str]) -> None:
    """Raise an error for the first keyword that is not among the known ones."""
    names = list(known_keywords)
    for name in keywords:
        if name not in names:
            similar = same_name(name, _ELSEWHERE)
            if similar is not None and _ELSEWHERE[similar] in names:
                remedy = f"did you mean {_ELSEWHERE[similar]}?"
            else:
                remedy = nearest(name, names) or f"there are {', '.join(names)}"
            raise ParameterError(f"no option {name!r}", remedy)
