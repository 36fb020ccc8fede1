"""Type checks of the values in a JSON list of objects, as fast readers cast values of other types.

Nothing is parsed: only the quotes of keys and the first characters of values are examined.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import BinaryIO

import numpy as np

from apframe.formats.coco.split_points import last_cut

_BLOCK = 1 << 17  # bytes of a block, which fits a processor's cache together with derived arrays
_QUOTE, _COLON, _BACKSLASH, _SPACE = b'":\\ '


def has_other_types(file: BinaryIO, *, numbers: Collection[str], ids: Collection[str], texts: Collection[str]) -> bool:
    """Return True if a text is in place of a number, or in its list; true or false in place of an id; or no text for a text.

    Parameters
    ----------
    file
        a JSON list, which is read piece by piece; for invalid JSON, the result means nothing
    numbers, ids, texts
        names of fields: ids are numbers too. Nested fields with the same names are examined as well.

    >>> from io import BytesIO
    >>> rows = b'[{"id": 7, "box": [1, "2"], "name": "a"}, {"name": null}]'
    >>> [has_other_types(BytesIO(rows), numbers=[name], ids=[], texts=["name"]) for name in ("id", "box")]
    [False, True]
    >>> has_other_types(BytesIO(b'[{"name": 5}]'), numbers=[], ids=[], texts=["name"])
    True
    """
    if not (numbers or texts):
        return False
    names = [[name.encode(errors="surrogatepass") for name in each] for each in (numbers, ids, texts)]
    rest, size, is_end = b"", _BLOCK, False
    while not is_end:
        block = file.read(size)
        is_end = not block
        piece = rest + block
        end = len(piece) if is_end else last_cut(piece)
        has_others = _has_others(piece[:end], *names, is_whole=is_end) if end else None
        if has_others:
            return True
        if has_others is None:
            rest, size = piece, 2 * size
        else:
            rest, size = piece[end:], _BLOCK
    return False


def _has_others(piece: bytes, numbers: list[bytes], ids: list[bytes], texts: list[bytes], *, is_whole: bool) -> bool | None:
    """Return the result of `has_other_types` for a piece; None if it ends inside a text."""
    characters = np.frombuffer(piece, dtype=np.uint8)
    if not texts and _has_keys_alone(characters):
        return _has_flags(characters, ids)
    quotes = _quotes(characters)
    if len(quotes) % 2 and not is_whole:
        return None
    return _has_other_values(characters, quotes, numbers, ids, texts)


def _has_keys_alone(characters: np.ndarray) -> bool:
    """Return True if all texts are keys, as in most files; a fast check.

    A quote between a lower-case letter and a colon ends a key, wherever it is. Keys that end otherwise are not recognized.
    """
    before, here, behind = characters[:-2], characters[1:-1], characters[2:]
    is_quote = here == _QUOTE
    n_quotes = np.count_nonzero(is_quote)
    is_quote &= behind == _COLON
    is_quote &= before - ord("a") < 26  # bytes wrap around
    return bool(n_quotes == 2 * np.count_nonzero(is_quote))


def _has_flags(characters: np.ndarray, ids: list[bytes]) -> bool:
    """Return True if one of the ids is true or false; all texts must be keys."""
    for flag in (b"true", b"false"):
        flags = _where(characters, np.flatnonzero(characters == flag[2]) - 2, flag)  # few keys have a u or an l
        if len(flags):
            colon = _solid(characters, flags - 1, -1)
            quote = _solid(characters, colon[_at(characters, colon) == _COLON] - 1, -1)
            if any(len(_where(characters, quote - len(name) - 1, b'"' + name + b'"')) for name in ids):
                return True
    return False


def _has_other_values(
    characters: np.ndarray, quotes: np.ndarray, numbers: list[bytes], ids: list[bytes], texts: list[bytes]
) -> bool:
    """Return the result of `has_other_types` for any text, from the places of its quotes."""
    begin, end = quotes[0 : len(quotes) - 1 : 2], quotes[1::2]
    colon = _solid(characters, end + 1)
    is_key = _at(characters, colon) == _COLON
    keys = np.flatnonzero(is_key)
    if not len(keys):
        return False
    first = _at(characters, _solid(characters, colon[keys] + 1))
    n_texts = np.bincount(
        np.maximum(np.cumsum(is_key)[~is_key] - 1, 0), minlength=len(keys)
    )  # the value of a key, or in its list

    def among(names: list[bytes], suspects: np.ndarray) -> bool:
        """Return True if one of the suspects, given as flags of the keys, has one of the names."""
        key = keys[suspects]
        start = begin[key] + 1
        length = end[key] - start
        lengths = set(np.flatnonzero(np.bincount(length)))
        return any(len(_where(characters, start[length == len(name)], name)) for name in names if len(name) in lengths)

    is_flag, is_no_text = np.isin(first, list(b"tf")), ~np.isin(first, list(b'"n'))
    return among(numbers, n_texts > 0) or among(ids, is_flag) or among(texts, is_no_text)


def _where(characters: np.ndarray, places: np.ndarray, word: bytes) -> np.ndarray:
    """Return the places where the word begins."""
    for offset, letter in enumerate(word):
        if not len(places):
            break
        places = places[_at(characters, places + offset) == letter]
    return places


def _quotes(characters: np.ndarray) -> np.ndarray:
    """Return the places of the quotes that begin or end a text, without quotes after an odd number of backslashes."""
    quotes = np.flatnonzero(characters == _QUOTE)
    is_escaped = np.zeros(len(quotes), dtype=bool)
    row, before = np.arange(len(quotes)), quotes - 1
    while len(row := row[_at(characters, before[row]) == _BACKSLASH]):
        is_escaped[row] ^= True
        before[row] -= 1
    return quotes[~is_escaped]


def _solid(characters: np.ndarray, places: np.ndarray, step: int = 1) -> np.ndarray:
    """Return the first places from the given ones on, or before them, without white space."""
    places, row = places.copy(), np.arange(len(places))
    while len(row := row[_at(characters, places[row]) <= _SPACE]):
        places[row] += step
    return places


def _at(characters: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the characters at some places; beyond the ends, the last ones, which are not white space in a list."""
    return characters.take(places, mode="clip")
