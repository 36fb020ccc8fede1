"""Whether the values of a JSON list of objects are of the types that its fields have: fast readers cast the others.

Nothing is parsed: it is enough to see which quotes belong to keys, and what the values begin with.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from apframe.threads import pool

if TYPE_CHECKING:
    import numpy as np

_BLOCK = 1 << 17
_QUOTE, _COLON, _BACKSLASH, _SPACE = b'":\\ '


def has_other_types(text: memoryview, *, numbers: Collection[str], ids: Collection[str], texts: Collection[str]) -> bool:
    """Whether a text stands where numbers belong, or in a list there; true or false for a number that is an id; or no text.

    Parameters
    ----------
    text
        a JSON list; of what is no JSON nothing is said
    numbers, ids, texts
        names of fields: ids are numbers too. Nested objects may have fields of the same names; these are looked at as well.

    >>> rows = b'[{"id": 7, "box": [1, "2"], "name": "a"}, {"name": null}]'
    >>> [has_other_types(memoryview(rows), numbers=[name], ids=[], texts=["name"]) for name in ("id", "box")]
    [False, True]
    >>> has_other_types(memoryview(b'[{"name": 5}]'), numbers=[], ids=[], texts=["name"])
    True
    """
    import numpy as np  # `import apframe` does without

    characters = np.frombuffer(text, dtype=np.uint8)
    if not (numbers or texts) or (not texts and _has_keys_alone(characters)):
        return False
    quotes = _quotes(characters)
    begin, end = quotes[0 : len(quotes) - 1 : 2], quotes[1::2]
    colon = _next_solid(characters, end + 1)
    is_key = _at(characters, colon) == _COLON
    keys = np.flatnonzero(is_key)
    if not len(keys):
        return False
    first = _at(characters, _next_solid(characters, colon[keys] + 1))
    n_texts = np.bincount(np.maximum(np.cumsum(is_key)[~is_key] - 1, 0), minlength=len(keys))  # a key's, or in a list there

    def among(names: Collection[str], suspects: np.ndarray) -> bool:
        """Whether one of the suspects, which are flags of the keys, is called by one of the names."""
        key = keys[suspects]
        called = begin[key] + 1
        length = end[key] - called
        return any(
            (characters[called[length == len(name), None] + np.arange(len(name))] == list(name)).all(axis=1).any()
            for name in (each.encode(errors="surrogatepass") for each in names)
        )

    is_flag, is_no_text = np.isin(first, list(b"tf")), ~np.isin(first, list(b'"n'))
    return among(numbers, n_texts > 0) or among(ids, is_flag) or among(texts, is_no_text)


def _has_keys_alone(characters: np.ndarray) -> bool:
    """Whether all texts are keys, and neither true nor false is there: the case of most files, and quickly seen.

    A quote between a small letter and a colon ends a key, wherever it stands. Keys that end otherwise are not recognized here.
    """
    import numpy as np

    def of_block(start: int) -> tuple[int, int, bool]:
        """How many quotes there are, how many of them end a key, and whether there may be true or false."""
        block = characters[start : start + _BLOCK + 2]
        before, here, behind = block[:-2], block[1:-1], block[2:]
        is_quote = here == _QUOTE
        is_letter = before - ord("a") < 26  # bytes wrap around
        has_flags = any(((here == one) & (behind == two)).any() for one, two in (b"ru", b"ls"))
        return int(np.count_nonzero(is_quote)), int(np.count_nonzero(is_quote & (behind == _COLON) & is_letter)), has_flags

    with pool() as others:
        n_quotes, n_keys, have_flags = zip(*others.map(of_block, range(0, max(len(characters) - 2, 1), _BLOCK)), strict=True)
    return sum(n_quotes) == 2 * sum(n_keys) and not any(have_flags)


def _quotes(characters: np.ndarray) -> np.ndarray:
    """The places of the quotes that begin or end a text: those behind an odd number of backslashes do neither."""
    import numpy as np

    blocks = range(0, len(characters), _BLOCK)
    quotes = np.concatenate([np.flatnonzero(characters[start : start + _BLOCK] == _QUOTE) + start for start in blocks])
    is_escaped = np.zeros(len(quotes), dtype=bool)
    row, before = np.arange(len(quotes)), quotes - 1
    while len(row := row[_at(characters, before[row]) == _BACKSLASH]):
        is_escaped[row] ^= True
        before[row] -= 1
    return quotes[~is_escaped]


def _next_solid(characters: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The first places from here on that hold no white space."""
    import numpy as np

    places, row = places.copy(), np.arange(len(places))
    while len(row := row[_at(characters, places[row]) <= _SPACE]):
        places[row] += 1
    return places


def _at(characters: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The characters at some places; beyond the end the last one, which is no white space in a list."""
    return characters.take(places, mode="clip")
