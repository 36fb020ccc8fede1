"""The first screen of a page: the answer in a sentence, its numbers, and clear differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apframe.report.html_tables import minus
from apframe.report.marks import Mark, link_to
from apframe.show.elements import Markup, element

MOST_CHIPS = 5
_SIGNS = {"better": "▲", "worse": "▼"}


@dataclass(frozen=True)
class Figure:
    """A number of a model: its name, the metric, the number, and the ends of its 95 % interval in words, if it has one."""

    name: str
    metric: str
    value: str
    interval: str


@dataclass(frozen=True)
class Chip:
    """A clear difference, "better" or "worse": a few words, and the rows or the section to which they lead."""

    words: str
    verdict: str
    mark: Mark | str


@dataclass(frozen=True)
class FirstScreen:
    """The first screen of a page.

    Attributes
    ----------
    sentence
        the answer
    figures
        the headline number of each model
    chips_about
        the heading of the chips, or the reason why there are none
    chips
        at most five
    doubts
        warnings about the data, which come first
    notes
        the operating point
    """

    sentence: str
    figures: Sequence[Figure] = ()
    chips_about: str = ""
    chips: Sequence[Chip] = ()
    doubts: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """Return the answer as text for a terminal: the sentence, and the clear differences."""
        chips = ", ".join(f"{_SIGNS[chip.verdict]} {chip.words}" for chip in self.chips)
        return [minus(self.sentence), *[minus(f"{self.chips_about} {chips}".strip())] * bool(self.chips_about)]


def first_screen_markup(title: str, first: FirstScreen | None) -> Markup:
    """Return the head of the page.

    >>> screen = FirstScreen("AP is 0.5.", [Figure("new", "AP", "0.500", "0.4 to 0.6")])
    >>> print(first_screen_markup("new", screen))
    <header><h1>new</h1><p class="sentence">AP is 0.5.</p><div class="figures"><p class="figure a"><span>AP of new</span>\
<strong>0.500</strong><span>95 % interval 0.4 to 0.6</span></p></div></header>
    """
    if first is None:
        return element("header", element("h1", title))
    figures = [
        element(
            "p",
            element("span", f"{each.metric} of {each.name}"),
            element("strong", each.value),
            element("span", f"95 % interval {each.interval}" if each.interval else "no interval"),
            class_=f"figure {class_}",
        )
        for each, class_ in zip(first.figures, "abcdef", strict=False)
    ]
    chips = [_chip(each) for each in first.chips]
    return element(
        "header",
        element("h1", title),
        element("p", minus(first.sentence), class_="sentence"),
        element("div", figures, class_="figures") if figures else None,
        element("p", element("span", first.chips_about), chips, class_="chips") if first.chips_about else None,
        [element("p", note, class_="note") for note in (*first.doubts, *first.notes)],
    )


def _chip(chip: Chip) -> Markup:
    words = f"{_SIGNS[chip.verdict]} {minus(chip.words)}"
    return link_to(chip.mark, words, class_=f"chip {chip.verdict}", aria_label=f"{words}, {chip.verdict}")
