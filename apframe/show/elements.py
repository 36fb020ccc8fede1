"""Elements of HTML and SVG. All text in them is escaped, whatever its source."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is HTML or SVG already, so it is not escaped again."""

    __slots__ = ()


Child = str | Iterable["Child"] | None
_EMPTY = {"br", "meta", "link", "input", "img", "hr"}  # elements of HTML without an end tag


def element(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return one element. Children are text, which is escaped, markup, or lists of these; None adds nothing.

    Attributes are escaped too. Those that are None or False are left out, and True makes an attribute without a value. An
    underscore at the end of a name is dropped, and others become hyphens: `class_`, `data_kind`.

    >>> element("td", "a<b", class_="name", data_kind='"cls"', hidden=False)
    '<td class="name" data-kind="&quot;cls&quot;">a&lt;b</td>'
    >>> element("p", "AP ", [element("b", "up"), " again"])
    '<p>AP <b>up</b> again</p>'
    """
    attribute_text = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{name}{attribute_text}>")
    return Markup(f"<{name}{attribute_text}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Return the children that `element` accepts, one after the other.

    >>> joined("a&b", None, [element("br")])
    'a&amp;b<br>'
    """
    parts = list[str]()
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child))
        elif child is not None:
            parts.append(joined(*child))
    return Markup("".join(parts))


def svg(parts: Child, class_: str, width: int, height: int, label: str | None = None, role: str = "img") -> Markup:
    """Return a drawing of this size. Screen readers read its label, or skip a drawing without one.

    A drawing with links has the role "group", as links inside an "img" are not read.

    >>> svg([], "bars", 4, 3)
    '<svg class="bars" viewBox="0 0 4 3" width="4" height="3" aria-hidden="true"></svg>'
    """
    accessibility = {"aria_hidden": "true"} if label is None else {"role": role, "aria_label": label}
    return element("svg", parts, class_=class_, viewBox=f"0 0 {width} {height}", width=width, height=height, **accessibility)


def scrolling(content: Markup, class_: str, label: str) -> Markup:
    """Return a box for content that may be larger than the screen; the keyboard scrolls it too.

    >>> scrolling(Markup("..."), "wide", "a chart")
    '<div class="wide" tabindex="0" role="region" aria-label="a chart">...</div>'
    """
    return element("div", content, class_=class_, tabindex=0, role="region", aria_label=label)
