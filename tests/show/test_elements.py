"""Elements, in which all text is escaped."""

from __future__ import annotations

from apframe.show.elements import Markup, element, joined

BAD = '<img src=x onerror="alert(1)">'


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", BAD) == "<p>&lt;img src=x onerror=&quot;alert(1)&quot;&gt;</p>"
    assert element("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"
    assert element("p", [BAD, [Markup("<br>")]]) == "<p>&lt;img src=x onerror=&quot;alert(1)&quot;&gt;<br></p>"


def test_attributes_are_escaped() -> None:
    assert element("p", data_name=BAD) == '<p data-name="&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"></p>'
    assert element("p", hidden=True, title=None, lang=False, tabindex=0) == '<p hidden tabindex="0"></p>'


def test_elements_without_an_end() -> None:
    assert element("img", alt="") == '<img alt="">'
    assert joined(None, "a", ["b", None]) == "ab"
