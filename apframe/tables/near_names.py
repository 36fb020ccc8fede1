"""Hints for errors about unknown names: some existing names, and the one that was probably meant."""

from __future__ import annotations

import re

import polars as pl

from apframe.tables.names import stems
from apframe.wording import listed, nearest

_SHOWN = 2


def say_names(unknown: pl.Series, names: pl.Series, table: str) -> str:
    """Name some images or categories, and the ones that unknown names probably mean; "" if there are none.

    Image names may lack leading zeros, or the beginning: the hint says so if each unknown name fits one image in this way.

    >>> say_names(pl.Series(["139"]), pl.Series(["000000000139.jpg", "000000000285.jpg"]), "images")
    "the images are called '000000000139.jpg', '000000000285.jpg'; '139' is '000000000139.jpg' without leading zeros"
    >>> say_names(pl.Series(["b_7.png"]), pl.Series(["a_b_7.jpg", "a_c_7.jpg"]), "images")
    "the images are called 'a_b_7.jpg', 'a_c_7.jpg'; 'b_7.png' may be 'a_b_7.jpg'"
    >>> say_names(pl.Series(["persn"]), pl.Series(["person", "car"]), "categories")
    "the categories are called 'person', 'car'; did you mean person?"
    """
    if unknown.is_empty() or names.drop_nulls().is_empty():
        return ""
    names, first = names.drop_nulls().cast(pl.String), unknown[0]
    if table == "images":
        suggestion = _without_zeros(unknown, names) or _with_ending(first, names)
    else:
        suggestion = nearest(first, names.to_list())
    return "; ".join(filter(None, (f"the {table} are called {listed(names.head(_SHOWN).to_list())}", suggestion)))


def _without_zeros(unknown: pl.Series, names: pl.Series) -> str:
    """Name the image that the first name means, if all names match images once leading zeros are removed."""
    rows = pl.DataFrame({"known": names}).with_columns(form=_bare(pl.col("known"))).unique("form", keep="none")
    matches = pl.DataFrame({"unknown": unknown}).with_columns(form=_bare(pl.col("unknown"))).join(rows, on="form", how="left")
    if matches["known"].null_count():
        return ""
    name, there = unknown[0], matches.filter(unknown=unknown[0])["known"][0]
    mine, theirs = (len(_stem(pl.Series([each]))) for each in (name, there))
    return "" if mine == theirs else f"{name!r} is {there!r} {'without' if mine < theirs else 'with'} leading zeros"


def _with_ending(name: str, names: pl.Series) -> str:
    """Name the only image whose name ends with this name, or the reverse, without extensions."""
    stem, texts = _stem(pl.Series([name])), names.to_frame("known").with_columns(stem=stems(pl.col("known")))
    longer = texts.filter(
        pl.col("stem").str.contains(f"[^A-Za-z1-9]{re.escape(stem)}$")
    )  # at the beginning of a word or number
    shorter = texts.filter(pl.lit(stem).str.ends_with(pl.col("stem")), pl.col("stem") != "")
    matches = longer if longer.height else shorter
    return f"{name!r} may be {matches['known'][0]!r}" if stem and matches.height == 1 else ""


def _bare(names: pl.Expr) -> pl.Expr:
    return stems(names).str.replace("^0+(.)", "$1")


def _stem(names: pl.Series) -> str:
    return str(names.to_frame("name").select(stems(pl.col("name")))["name"][0])
