"""HTML of the contents of a data set."""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import TYPE_CHECKING

from apframe.listing import html_table
from apframe.tables.schemas import GROUND_TRUTH

if TYPE_CHECKING:
    from apframe.tables.dataset import Dataset


def as_html(dataset: Dataset, tables: Collection[str] = GROUND_TRUTH) -> str:
    """Return HTML with the number of rows of each table of a data set, and its columns, which evaluations can slice by.

    Only the columns of `tables` are listed: the annotations of shards are not read for this.

    >>> from apframe.tables.dataset import Dataset
    >>> as_html(Dataset({"image_id": [1]}, {"category_id": [1]}, {}))[:57]
    '<p>Dataset(1 image, 1 category, 0 annotations)</p><table>'
    """
    rows = [[table, ", ".join(getattr(dataset, table).columns)] for table in GROUND_TRUTH if table in tables]
    return f"<p>{escape(repr(dataset))}</p>" + html_table(["table", "columns"], rows, align="left")
