"""Names of images and categories, and lookup by name; file names match with or without folders and ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from apframe.tables.schemas import KEYS, NAMES

Form = Callable[[pl.Expr], pl.Expr]

ORIGINAL = "original_file_name"
"""The column of images that keeps the name of a file where a tool or a format changes it."""
_STEM = r"\.[^./\\]*$"


def stems(files: pl.Expr) -> pl.Expr:
    r"""The names of files without folders and without ending.

    >>> pl.DataFrame({"a": ["train\\1.jpg", "x/000007.b.png", "9"]}).select(stems(pl.col("a")))["a"].to_list()
    ['1', '000007.b', '9']
    """
    return bare(files).str.replace(_STEM, "")


def bare(files: pl.Expr) -> pl.Expr:
    """The names of files without folders."""
    return files.str.replace(r"^.*[/\\]", "")


def _as_is(files: pl.Expr) -> pl.Expr:
    return files


# By what the names of images in results, and those in their data set, may be equal, in this order. Each may lack its ending,
# and a dot need not begin one: `frame_jpg.rf.8d3` is the name of frame_jpg.rf.8d3.jpg.
_FORMS: tuple[tuple[tuple[Form, Form], ...], ...] = (
    ((_as_is, _as_is),),
    ((bare, bare),),
    ((bare, bare), (bare, stems), (stems, bare), (stems, stems)),
)


def label_of(table: str) -> pl.Expr:
    """The name of an image or a category; the id as text if there is none."""
    return pl.coalesce(NAMES[table], pl.col(KEYS[table]).cast(pl.String))


def unique_names(categories: pl.DataFrame) -> pl.DataFrame:
    """Return category_id and label of categories: the name, with the id behind it where several have the same, or the id.

    >>> unique_names(pl.DataFrame({"category_id": [7, 8, 9], "name": ["cat", "cat", None]}))["label"].to_list()
    ['cat (7)', 'cat (8)', 'category 9']
    """
    known = pl.coalesce("name", pl.format("category {}", "category_id"))
    table = categories.select("category_id", name=known)
    is_double = pl.col("name").is_duplicated()
    with_id = pl.format("{} ({})", "name", "category_id")
    return table.select("category_id", label=pl.when(is_double).then(with_id).otherwise("name"))


def called(table: str, frame: pl.DataFrame) -> pl.Series:
    """Return `label_of` each image or category.

    >>> called("images", pl.DataFrame({"image_id": [7, 8], "file_name": ["a.jpg", None]})).to_list()
    ['a.jpg', '8']
    """
    return frame.select(label_of(table)).to_series()


def places_of(asked: pl.Series, called: pl.Series, table: str) -> pl.Series:
    """The rows that names mean, a list for each.

    Names of images are compared as they are, without folders, or without folders with or without ending: by the first of these
    that finds the most. Those of categories are compared as they are.

    >>> places_of(pl.Series(["a", "b"]), pl.Series(["x/b.png", "x/a.jpg"]), "images").to_list()
    [[1], [0]]
    """
    best, most = pl.Series([], dtype=pl.List(pl.UInt32)), -1
    for forms in _FORMS if table == "images" else _FORMS[:1]:
        places = _places(asked, called, forms)
        n_found = len((places.list.len() > 0).arg_true())
        if n_found > most:
            best, most = places, n_found
        if n_found == len(asked):
            break
    return best


def _places(asked: pl.Series, called: pl.Series, forms: Sequence[tuple[Form, Form]]) -> pl.Series:
    """The rows in which names stand: those of the first pair of forms that are equal."""
    found = asked.alias("asked").to_frame()
    for number, (of_asked, of_called) in enumerate(forms):
        rows = called.alias("called").to_frame().with_row_index(str(number))
        rows = rows.group_by(form=of_called(pl.col("called"))).agg(str(number))
        found = found.with_columns(form=of_asked(pl.col("asked"))).join(rows, on="form", how="left", maintain_order="left")
    return found.select(pl.coalesce(map(str, range(len(forms)))).fill_null([])).to_series()
