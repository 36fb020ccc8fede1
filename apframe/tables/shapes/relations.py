"""Relations: a subject and an object, each a box with a class, as in "man riding horse"."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import ColumnError
from apframe.tables.shapes.declarations import EDGES, RELATION, RELATIONS
from apframe.validation import Sieve

SIDES = ("subject", "object")
NAMES = tuple(f"{side}_name" for side in SIDES)


def relation_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the box columns of relations: the smallest box around subject and object.

    Rows stay in their order. Raises the errors of `check_relations`; `table` is used in their messages.

    >>> relation_extents("annotations", pl.DataFrame({
    ...     "subject_x": [0.0], "subject_y": 0.0, "subject_width": 2.0, "subject_height": 2.0, "subject_name": "man",
    ...     "object_x": 1.0, "object_y": 1.0, "object_width": 3.0, "object_height": 1.0, "object_name": "horse"})).rows()
    [(0.0, 0.0, 4.0, 2.0, 8.0)]
    """
    frame = check_relations(table, frame)
    return frame.select(around()).with_columns(area=pl.col("width") * pl.col("height"))


def around() -> list[pl.Expr]:
    """Return the smallest box around subject and object: x, y, width, height."""
    starts, lengths = [], []
    for start, length in (("x", "width"), ("y", "height")):
        first = pl.min_horizontal(f"{side}_{start}" for side in SIDES)
        last = pl.max_horizontal(pl.col(f"{side}_{start}") + pl.col(f"{side}_{length}") for side in SIDES)
        starts.append(first.alias(start))
        lengths.append((last - first).alias(length))
    return [*starts, *lengths]


def check_relations(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with finite values and no negative sides, see `sound_rows`; raise `ColumnError` without the columns.

    >>> check_relations("detections", pl.DataFrame({name: [1.0] for name in EDGES}))
    Traceback (most recent call last):
    apframe.exceptions.ColumnError: detections: no column subject_name; relations are subject_x, subject_y, ...
    """
    if missing := [name for name in RELATION if name not in frame.columns]:
        raise ColumnError(f"no column {missing[0]}", f"relations are {RELATIONS.words}", table=table)
    sieve = Sieve(table, frame)
    for name in EDGES:
        sieve.refuse_no_number(name, "supply it or remove these rows")
        if name.endswith(("width", "height")):
            sieve.refuse_malformed(frame[name] < 0, f"{name} is negative", "correct it")
    for name in NAMES:
        sieve.refuse(frame[name].is_null(), f"{name} is missing", "supply it or remove these rows")
    return sieve.sound(frame)
