"""Cards: a picture with drawings over it, and a description in words."""

from __future__ import annotations

from collections.abc import Mapping

from apframe.show.elements import Markup, element


def card(
    picture: str, heading: str, facts: str, ids: str, sql: str = "", data: Mapping[str, str] | None = None, name: str = "card"
) -> Markup:
    """Return a card as HTML.

    Parameters
    ----------
    picture
        the result of `drawings.picture`
    heading, facts
        the subject in a few words, and its details in a sentence
    ids, sql
        the ids, for copying, and a query that returns the same rows
    data
        the values by which galleries filter and sort, by name
    name
        the class of the card

    >>> print(card("<svg></svg>", "missed car", "by b", "image_id 7", data={"kind": "miss"}))
    <article class="card" tabindex="0" data-kind="miss"><figure><svg></svg><figcaption><strong>missed car</strong>\
<span>by b</span><code class="ids">image_id 7</code></figcaption></figure></article>
    """
    words = [element("strong", heading), element("span", facts), element("code", ids, class_="ids")]
    query = element("details", element("summary", "SQL"), element("code", sql, class_="sql")) if sql else None
    figure = element("figure", Markup(picture), element("figcaption", words, query))
    attributes = {f"data_{key}": value for key, value in (data or {}).items()}
    return element("article", figure, class_=name, tabindex=0, **attributes)
