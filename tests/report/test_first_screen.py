"""The first screen of a page as HTML and as text."""

from __future__ import annotations

from apframe.report.first_screen import Chip, Figure, FirstScreen, first_screen_markup
from apframe.report.marks import Mark

BAD = "<img src=x onerror=alert(1)>"
SCREEN = FirstScreen(
    "-0.5 AP.",
    [Figure("old", "AP", "0.500", "0.400 to 0.600"), Figure("new", "AP", "–", "")],
    "Clear:",
    [Chip("night -0.1", "worse", Mark({"time": "night"}, 3)), Chip("day +0.1", "better", "slices")],
    ["A doubt."],
    ["A note."],
)


def test_every_part_is_there() -> None:
    drawn = first_screen_markup("old and new", SCREEN)
    for part in (
        "<h1>old and new</h1>",
        '<p class="sentence">−0.5 AP.</p>',
        '<p class="figure a"><span>AP of old</span><strong>0.500</strong><span>95 % interval 0.400 to 0.600</span>',
        '<p class="figure b"><span>AP of new</span><strong>–</strong><span>no interval</span>',
        '<p class="note">A doubt.</p><p class="note">A note.</p>',
    ):
        assert part in drawn


def test_chips_are_links_and_say_their_verdict_in_words() -> None:
    """Neither the colour nor the sign alone says whether it is better."""
    drawn = first_screen_markup("x", SCREEN)
    assert 'href="#gallery" data-select="time=night" data-rows="3"' in drawn
    assert 'aria-label="▼ night −0.1, worse">▼ night −0.1</a>' in drawn
    assert '<a href="#slices" class="chip better" aria-label="▲ day +0.1, better">▲ day +0.1</a>' in drawn


def test_what_there_is_not_has_no_markup() -> None:
    drawn = first_screen_markup("x", FirstScreen("AP is 0.5."))
    assert drawn == '<header><h1>x</h1><p class="sentence">AP is 0.5.</p></header>'
    assert first_screen_markup("x", None) == "<header><h1>x</h1></header>"


def test_names_are_text() -> None:
    screen = FirstScreen(BAD, [Figure(BAD, BAD, BAD, BAD)], BAD, [Chip(BAD, "better", Mark({BAD: BAD}, 1))], [BAD])
    assert "<img" not in first_screen_markup(BAD, screen)


def test_text_has_the_sentence_and_the_chips() -> None:
    assert SCREEN.lines == ["−0.5 AP.", "Clear: ▼ night −0.1, ▲ day +0.1"]
    assert FirstScreen("AP is 0.5.").lines == ["AP is 0.5."]
    assert FirstScreen("AP is 0.5.", chips_about="None is clear.").lines == ["AP is 0.5.", "None is clear."]
