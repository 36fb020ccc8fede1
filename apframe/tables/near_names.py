"""Hints for errors about unknown names: some of the names that exist, and the one that was probably meant."""

from __future__ import annotations

import re

import polars as pl

from apframe.tables.names import stems
from apframe.wording import listed, nearest

_SHOWN = 2


def say_names(unknown: pl.Series, known: pl.Series, table: str) -> str:
    """Say how images or categories are called, and which ones unknown names probably mean; "" if there are none.

    Names of images may lack leading zeros, or the beginning: this is said if each unknown name fits one image in this way.

    >>> say_names(pl.Series(["139"]), pl.Series(["000000000139.jpg", "000000000285.jpg"]), "images")
    "the images are called '000000000139.jpg', '000000000285.jpg'; '139' is '000000000139.jpg' without leading zeros"
    >>> say_names(pl.Series(["b_7.png"]), pl.Series(["a_b_7.jpg", "a_c_7.jpg"]), "images")
    "the images are called 'a_b_7.jpg', 'a_c_7.jpg'; 'b_7.png' may be 'a_b_7.jpg'"
    >>> say_names(pl.Series(["persn"]), pl.Series(["person", "car"]), "categories")
    "the categories are called 'person', 'car'; did you mean person?"
    """
    if unknown.is_empty() or known.drop_nulls().is_empty():
        return ""
    known, first = known.drop_nulls().cast(pl.String), unknown[0]
    if table == "images":
        meant = _without_zeros(unknown, known) or _with_ending(first, known)
    else:
        meant = nearest(first, known.to_list())
    return "; ".join(filter(None, (f"the {table} are called {listed(known.head(_SHOWN).to_list())}", meant)))


def _without_zeros(unknown: pl.Series, known: pl.Series) -> str:
    """Say which image the first name means, if all names become names of images without their leading zeros."""
    rows = pl.DataFrame({"known": known}).with_columns(form=_bare(pl.col("known"))).unique("form", keep="none")
    found = pl.DataFrame({"unknown": unknown}).with_columns(form=_bare(pl.col("unknown"))).join(rows, on="form", how="left")
    if found["known"].null_count():
        return ""
    name, there = unknown[0], found.filter(unknown=unknown[0])["known"][0]
    mine, theirs = (len(_stem(pl.Series([each]))) for each in (name, there))
    return "" if mine == theirs else f"{name!r} is {there!r} {'without' if mine < theirs else 'with'} leading zeros"


def _with_ending(name: str, known: pl.Series) -> str:
    """Name the one image whose name ends with this one, or that this one ends with, without the endings of files."""
    stem, texts = _stem(pl.Series([name])), known.to_frame("known").with_columns(stem=stems(pl.col("known")))
    longer = texts.filter(
        pl.col("stem").str.contains(f"[^A-Za-z1-9]{re.escape(stem)}$")
    )  # at the beginning of a word or number
    shorter = texts.filter(pl.lit(stem).str.ends_with(pl.col("stem")), pl.col("stem") != "")
    found = longer if longer.height else shorter
    return f"{name!r} may be {found['known'][0]!r}" if stem and found.height == 1 else ""


def _bare(names: pl.Expr) -> pl.Expr:
    return stems(names).str.replace("^0+(.)", "$1")


def _stem(names: pl.Series) -> str:
    return str(names.to_frame("name").select(stems(pl.col("name")))["name"][0])
