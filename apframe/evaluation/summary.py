"""The headline numbers as a table, with those of parts of the images or categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.protocols.headline_values import means_of_table, tabulate_values
from apframe.protocols.headlines import headlines
from apframe.protocols.rules.means import ZeroWithoutDetections

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.evaluation import Evaluation


def summarize(self: Evaluation, metrics: pl.DataFrame) -> pl.DataFrame:
    """Return `metric` and `value`, one row for each headline number; null if nothing was evaluated.

    Parts of the categories are means over some lists of the metrics table; parts of the images are slices. Means of other
    tables come from the evaluation.
    """
    lines = headlines(self.protocol, with_parts=True)
    parts: dict[str, np.ndarray] = {}
    of_images: dict[str, pl.Expr] = {}
    if any(line.part is not None for line in lines):
        parts, of_images = _parts(self)
    numbers = means_of_table(metrics, self.protocol, parts)
    values = {(name, part): of[row] for name, of in numbers.items() for row, part in enumerate([None, *parts])}
    if of_images:
        slices = self.by(of_images)
        of_slices = [name for name in numbers if name in slices.columns]
        values |= {(name, part): value for name in of_slices for part, value in slices.select("slice", name).rows()}
    values |= {(line.metric, None): self._mean_of_table(line) for line in lines if line.kind.table}
    is_zero = self.protocol.rule(ZeroWithoutDetections) is not None and not self._source.n_detections
    default = 0.0 if is_zero and self._source.heights["annotations"] else None
    return tabulate_values([values.get((line.of_whole, line.part)) for line in lines], lines, default)


def _parts(self: Evaluation) -> tuple[dict[str, np.ndarray], dict[str, pl.Expr]]:
    """Return flags of the lists of each part of the categories, and the conditions of the parts of the images, by name."""
    from apframe.protocols.summary_parts import conditions_of_parts
    from apframe.tables.conditions import columns_of

    tables = self._source.tables()
    conditions = conditions_of_parts(self.protocol, tables)
    of_images = {part.name: condition for part, condition in conditions.items() if part.table == "images"}
    of_categories = {part.name: each for part, each in conditions.items() if part.table == "categories"}
    flags = columns_of(tables["categories"], pl.all().name.prefix("categories.")).select(
        **{name: each.fill_null(value=False) for name, each in of_categories.items()}
    )  # fmt: skip
    return {each.name: each.to_numpy() for each in flags}, of_images
