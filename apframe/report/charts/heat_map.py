"""A confusion matrix as a table of shaded cells, which follow the slider of the page."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.report.marks import Mark, link
from apframe.report.matrix import Matrix
from apframe.report.operating_point import series
from apframe.show.confusion_marks import SHARES, shade_steps
from apframe.show.elements import Markup, element, scrolling
from apframe.wording import cut

_LONGEST = 20  # maximum number of letters of a label


def heat_map(matrix: Matrix, model: int, name: str, *, is_linked: bool) -> Markup:
    """Draw a model's confusion matrix. A cell shows its count, and its shade is the share of the row.

    Parameters
    ----------
    model
        the number of the model
    name
        the name of the model
    is_linked
        True if the gallery has the rows of the model

    >>> counts = np.array([[[3, 2], [1, 2]], [[0, 0], [0, 0]]])
    >>> one = Matrix(["cat"], "background", "missed", [""], [counts], [])
    >>> drawn = heat_map(one, 0, "new", is_linked=True)
    >>> '<a href="#gallery" data-select="model=new&amp;true=cat&amp;found=cat" data-at="3 2">3</a>' in drawn
    True
    """
    counts = matrix.counts[model]
    now = counts[:, :, 0]
    shares = now / np.maximum(now.sum(axis=1, keepdims=True), 1)
    steps = shade_steps(pl.Series(shares.ravel())).to_numpy().reshape(shares.shape)
    heads = [
        element("th", element("span", cut(label, _LONGEST)), scope="col", title=label, data_group=group or None)
        for label, group in zip(matrix.columns, [*matrix.groups, ""], strict=True)
    ]
    rows = []
    for row, (label, group) in enumerate(zip(matrix.rows, [*matrix.groups, ""], strict=True)):
        cells = [element("th", cut(label, _LONGEST), scope="row", title=label, data_group=group or None)]
        for column, predicted in enumerate(matrix.columns):
            at = counts[row, column]
            if not at.any():
                cells.append(element("td"))
                continue
            mark = Mark({"model": name, "true": label, "found": predicted}) if is_linked else None
            texts = [f"{n:,}" for n in at]
            number: dict[str, str | bool] = {"data_at": series(texts), "hidden": not at[0]}
            inside = link(mark, texts[0], **number) if mark else element("span", texts[0], **number)
            right = " right" * (row == column and row < len(matrix.labels))
            cells.append(element("td", inside, class_=f"s{steps[row, column]}{right}" if at[0] else right.strip() or None))
        rows.append(element("tr", cells))
    caption = f"{name}: annotated as (rows), predicted as (columns); the shade is the share of the row"
    head = element("thead", element("tr", element("td"), heads))
    table = element(
        "table", element("caption", caption), head, element("tbody", rows), class_="matrix", data_shares=str([*SHARES])
    )
    return scrolling(table, "wide", caption)
