"""The rows, columns and shades of a confusion matrix, as pages and charts draw them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.wording import counted

MOST_CATEGORIES = 30
BACKGROUND, MISSED = "background", "missed"
SIDES = ("true", "found")
SHARES = (0.05, 0.2, 0.4, 0.6, 0.8)  # of the row, above which a cell is darker
DARK = 5  # from this shade on, numbers are light


def chosen_categories(cells: pl.DataFrame, categories: pl.DataFrame, most: int) -> tuple[pl.DataFrame, list[str]]:
    """Return the places of categories in a matrix, those with most confusions first, and the names of the places.

    Parameters
    ----------
    cells
        true_category_id and found_category_id, null for none, and n
    categories
        category_id, label and other columns; their order breaks ties
    most
        the number of places of their own; the other categories share the last place

    >>> cells = pl.DataFrame({"true_category_id": [1, 2], "found_category_id": [1, 3], "n": [9, 4]})
    >>> categories = pl.DataFrame({"category_id": [1, 2, 3], "label": ["cat", "dog", "fox"]})
    >>> places, labels = chosen_categories(cells, categories, 2)
    >>> places.select("label", "place").rows(), labels
    ([('dog', 0), ('fox', 1), ('cat', 2)], ['dog', 'fox', '1 other'])
    """
    sides = [f"{side}_category_id" for side in SIDES]
    mistaken = cells.filter(pl.col(sides[0]) != pl.col(sides[1]))
    lost = cells.filter(pl.any_horizontal(pl.col(sides).is_null()))
    ranked = categories.with_row_index("order")
    for name, table in (("mistakes", mistaken), ("losses", lost)):
        of_both = pl.concat([table.select(pl.col(side).alias("category_id"), "n") for side in sides], how="vertical_relaxed")
        n = of_both.drop_nulls("category_id").group_by("category_id").agg(pl.col("n").sum().alias(name))
        ranked = ranked.join(n.cast({"category_id": categories.schema["category_id"]}), on="category_id", how="left")
    ranked = ranked.sort("mistakes", "losses", "order", descending=[True, True, False], nulls_last=True)
    ranked = ranked.with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32).clip(upper_bound=most))
    labels: list[str] = ranked["label"].head(most).to_list()
    if ranked.height > most:
        labels.append(_unlike(counted(ranked.height - most, "other"), labels))
    return ranked, labels


def axes_of(labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of rows and columns: the categories, then background or missed, renamed if a category has the name.

    >>> axes_of(["cat", "missed"])
    {'true': ['cat', 'missed', 'background'], 'found': ['cat', 'missed', 'missed_']}
    """
    return {side: [*labels, _unlike(none, labels)] for side, none in zip(SIDES, (BACKGROUND, MISSED), strict=True)}


def _unlike(name: str, others: Sequence[str]) -> str:
    while name in others:
        name += "_"
    return name


def shade_steps(shares: pl.Series) -> pl.Series:
    """Return the shades of cells by their share of the row: from 1, for the smallest, to 6.

    >>> shade_steps(pl.Series([0.01, 0.05, 0.3, 1.0])).to_list()
    [1, 1, 3, 6]
    """
    return 1 + pl.Series(SHARES).search_sorted(shares, side="left")
