"""Names of images and categories, and lookup by name; file names match with or without folders and ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from apframe.tables.schemas import KEYS, NAMES

Form = Callable[[pl.Expr], pl.Expr]

ORIGINAL = "original_file_name"
"""The column of images that keeps the original file name if a tool or a format changes it."""
_STEM = r"\.[^./\\]*$"


def stems(files: pl.Expr) -> pl.Expr:
    r"""Return file names without folders and extension.

    >>> pl.DataFrame({"a": ["train\\1.jpg", "x/000007.b.png", "9"]}).select(stems(pl.col("a")))["a"].to_list()
    ['1', '000007.b', '9']
    """
    return bare(files).str.replace(_STEM, "")


def bare(files: pl.Expr) -> pl.Expr:
    """Return file names without folders."""
    return files.str.replace(r"^.*[/\\]", "")


def _as_is(files: pl.Expr) -> pl.Expr:
    return files


# Forms in which image names in results and in their data set are compared, in this order. Either may lack its extension,
# and a dot need not begin one: `frame_jpg.rf.8d3` is the name of frame_jpg.rf.8d3.jpg.
_FORMS: tuple[tuple[tuple[Form, Form], ...], ...] = (
    ((_as_is, _as_is),),
    ((bare, bare),),
    ((bare, bare), (bare, stems), (stems, bare), (stems, stems)),
)


def label_of(table: str) -> pl.Expr:
    """Return the name of an image or a category; the id as text if there is none."""
    return pl.coalesce(NAMES[table], pl.col(KEYS[table]).cast(pl.String))


def unique_names(categories: pl.DataFrame) -> pl.DataFrame:
    """Return category_id and label of categories: the name, followed by the id if several have this name, or the id alone.

    >>> unique_names(pl.DataFrame({"category_id": [7, 8, 9], "name": ["cat", "cat", None]}))["label"].to_list()
    ['cat (7)', 'cat (8)', 'category 9']
    """
    name = pl.coalesce("name", pl.format("category {}", "category_id"))
    table = categories.select("category_id", name=name)
    is_double = pl.col("name").is_duplicated()
    with_id = pl.format("{} ({})", "name", "category_id")
    return table.select("category_id", label=pl.when(is_double).then(with_id).otherwise("name"))


def labels_of(table: str, frame: pl.DataFrame) -> pl.Series:
    """Return the label of each image or category, see `label_of`.

    >>> labels_of("images", pl.DataFrame({"image_id": [7, 8], "file_name": ["a.jpg", None]})).to_list()
    ['a.jpg', '8']
    """
    return frame.select(label_of(table)).to_series()


def places_of(names: pl.Series, labels: pl.Series, table: str) -> pl.Series:
    """Return the rows that match each name, as lists.

    Image names are compared exactly, without folders, or without folders and extensions: the first of these that finds the
    most names is used. Category names are compared exactly.

    >>> places_of(pl.Series(["a", "b"]), pl.Series(["x/b.png", "x/a.jpg"]), "images").to_list()
    [[1], [0]]
    """
    best, n_best = pl.Series([], dtype=pl.List(pl.UInt32)), -1
    for forms in _FORMS if table == "images" else _FORMS[:1]:
        places = _places(names, labels, forms)
        n_found = len((places.list.len() > 0).arg_true())
        if n_found > n_best:
            best, n_best = places, n_found
        if n_found == len(names):
            break
    return best


def _places(names: pl.Series, labels: pl.Series, forms: Sequence[tuple[Form, Form]]) -> pl.Series:
    """Return the rows that match names by the first pair of forms that are equal."""
    matches = names.alias("name").to_frame()
    for number, (of_name, of_label) in enumerate(forms):
        rows = labels.alias("label").to_frame().with_row_index(str(number))
        rows = rows.group_by(form=of_label(pl.col("label"))).agg(str(number))
        matches = matches.with_columns(form=of_name(pl.col("name"))).join(rows, on="form", how="left", maintain_order="left")
    return matches.select(pl.coalesce(map(str, range(len(forms)))).fill_null([])).to_series()
