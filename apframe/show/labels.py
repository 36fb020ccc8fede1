"""Labels on pictures: their lines and their places."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import product
from unicodedata import east_asian_width

import polars as pl

from apframe.tables.shapes.boxes import BOX

_SIZE = 13  # pixels: of the font
_LETTER = 8.8  # pixels: about how wide a letter is, bold and in a wide font such as DejaVu Sans
_WIDE = 1.5  # letters: how wide one of Chinese, Japanese or Korean is
_LINE = 1.3  # of the size of the font: from one line to the next
_HIGHEST = 0.7  # of the width of pictures on the screen: their height, if they are upright
_GAP = 0.3  # of the size of the font: between an object and a label beside it
_ROOMY = 3  # times the height of a label: objects at least this high may have it inside
_COLUMN = 4  # lines: the width of the cells in which labels are looked for
_FARTHEST = 6  # lines: the largest distance of a label from its object


def place_labels(labels: pl.DataFrame, pixels: int) -> pl.Series:
    """Find a place for each label beside its object, where no other label is if there is such a place.

    Labels are placed one after the other, those of subjects first. Each takes the first place that is free: on the side of the
    object that it prefers, inside, on the other side, beside it, then farther away. If none is free, it takes the one where it
    covers the least of others. All of a label is inside the picture: longer ones are broken into lines, and if these are too
    many, the middle of the label is left out.

    Parameters
    ----------
    labels
        image_id, across and down (the size of the picture), x, y, width, height, words (null for no label), is_below
        (true if the label prefers the place below its object to the one above) and is_subject
    pixels
        the approximate width of pictures on the screen; their height is at most 0.7 of it

    Returns
    -------
    The labels as SVG: everything after the class in a `text` element

    >>> box = {"x": [5.0], "y": [30.0], "width": [10.0], "height": [20.0], "is_below": [True], "is_subject": [False]}
    >>> labels = pl.DataFrame({"image_id": [1], "across": [400], "down": [280], "words": ["✓ car"], **box})
    >>> place_labels(labels, 400).item()
    'x="5" y="63" font-size="13">✓ car</text>'
    """
    rows = labels.select("image_id", "across", "down", "words", "is_below", *BOX).rows()
    is_subject = labels["is_subject"].to_list()
    sheets: dict[object, _Sheet] = {}
    placed: list[str | None] = [None] * len(rows)
    for number in sorted(range(len(rows)), key=lambda number: not is_subject[number]):
        image_id, across, down, words, is_below, *box = rows[number]
        if words is not None and None not in box:
            if image_id not in sheets:
                sheets[image_id] = _Sheet(across, down, max(across / pixels, down / (_HIGHEST * pixels)))
            placed[number] = sheets[image_id].add(words, is_below, *box)
    return pl.Series("text", placed, pl.String)


@dataclass
class _Sheet:
    """A picture and the labels on it. All lengths are in the units of the picture, `pixel` too."""

    across: float
    down: float
    pixel: float
    places: defaultdict[tuple[int, int], list[tuple[float, ...]]] = field(default_factory=lambda: defaultdict(list))  # by cell

    def add(self, words: str, is_below: bool, x: float, y: float, width: float, height: float) -> str:
        size, line = self.pixel * _SIZE, self.pixel * _SIZE * _LINE
        y, height = max(0.0, y), min(y + height, self.down) - max(0.0, y)  # the part in the picture
        lines = _broken(words, self.across / (self.pixel * _LETTER), max(1, int(self.down / line)))
        long, high = max(map(_letters, lines)) * self.pixel * _LETTER, len(lines) * line
        is_last = x + long > self.across  # ends where its object ends
        left = max(0.0, min(x + width, self.across) - long) if is_last else max(0.0, x)
        starts = _starts(is_below, left, x + width, y, height, high, size)
        places = [(start, top, start + long, top + high) for start, top in starts]
        fitting = [p for p in places if 0 <= p[1] <= self.down - high and p[0] <= max(left, self.across - long)]
        top = max(0.0, min(y, self.down - high))
        places = fitting or [(left, top, left + long, top + high)]
        best = next((place for place in places if not self.covered(place)), None) or min(places, key=self.covered)
        for cell in self.cells(best):
            self.places[cell].append(best)
        if is_last and len(lines) == 1:  # letters may be narrower than expected
            return f'x="{best[2]:.5g}" y="{best[1] + size:.5g}" font-size="{size:.4g}" text-anchor="end">{escape(words)}</text>'
        start, *others = map(escape, lines)
        more = "".join(f' <tspan x="{best[0]:.5g}" dy="{_LINE}em">{each}</tspan>' for each in others)
        return f'x="{best[0]:.5g}" y="{best[1] + size:.5g}" font-size="{size:.4g}">{start}{more}</text>'

    def cells(self, place: tuple[float, ...]) -> Iterator[tuple[int, int]]:
        """Return the cells with labels that a label at this place may cover."""
        side = self.pixel * _SIZE * _LINE
        left, top, right, bottom = (int(edge / side) for edge in place)
        return product(range(left // _COLUMN, right // _COLUMN + 1), range(top, bottom + 1))

    def covered(self, place: tuple[float, ...]) -> float:
        """Return the area of other labels that a label at this place covers."""
        left, top, right, bottom = place
        others = (other for cell in self.cells(place) for other in self.places[cell])
        sides = ((min(right, o[2]) - max(left, o[0]), min(bottom, o[3]) - max(top, o[1])) for o in others)
        return sum(wide * tall for wide, tall in sides if wide > 0 and tall > self.pixel / 100)  # lines may touch


def _starts(
    is_below: bool, left: float, right: float, y: float, height: float, high: float, size: float
) -> Iterator[tuple[float, float]]:
    """Return the positions where a label may begin, the best first: at `left`, or next to the right edge of its object."""
    below, above, low, step = y + height, y - high, y + height - high, size * _LINE
    near, far, inside, other, step = (below, above, low, y, step) if is_below else (above, below, y, low, -step)
    is_roomy = height >= _ROOMY * high
    yield (left, near)
    if is_roomy:
        yield (left, inside)
    yield (left, far)
    yield (right + _GAP * size, y + (height - high) / 2)
    if is_roomy:
        yield (left, other)
    for number in range(1, _FARTHEST):
        yield from ((left, near + number * step), (left, far - number * step))
        if is_roomy:
            yield (left, inside - number * step)


def _broken(words: str, most: float, rows: int) -> list[str]:
    """Break a label into at most `rows` lines of at most `most` letters."""
    if _letters(words) <= most:
        return [words]
    width = max(1, int(most * len(words) / _letters(words)))
    kept, part = min(len(words), width * rows), words
    while len(lines := textwrap.wrap(part, width)) > rows and kept > 3:
        kept -= 1
        part = f"{words[: kept // 2]}…{words[-(kept // 2) :]}"
    longest = min(width, max(map(len, part.split())))
    narrower = (textwrap.wrap(part, each) for each in range(longest, width))  # the lines are about as long as each other
    return next((each for each in narrower if len(each) <= len(lines)), lines)


def _letters(words: str) -> float:
    return sum(_WIDE if east_asian_width(letter) in "WF" else 1 for letter in words)
