"""The evaluated lists, one for each category or one for all, and the similarity threshold of each."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Protocol as PlainProtocol

import polars as pl

from apframe.exceptions import ParameterError
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of
from apframe.wording import listed, option_name

if TYPE_CHECKING:
    import numpy as np

    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol
    from apframe.tables.dataset import Dataset


class _Categories(PlainProtocol):
    """An object with categories, some of which are evaluated, such as `Inputs` and `Source`."""

    @property
    def dataset(self) -> Dataset: ...

    @property
    def category_ids(self) -> pl.Series: ...


def thresholds_of(of: _Categories, protocol: Protocol, threshold: float | None = None) -> np.ndarray:
    """Return the threshold of each list: one of the protocol's, the lowest by default; or its own, if categories have one each.

    Names of categories are case-insensitive.

    Raises
    ------
    ParameterError
        a category has no threshold

    >>> from apframe.protocols.application import make_inputs
    >>> from apframe.protocols.coco import COCO
    >>> from apframe.tables.dataset import Dataset
    >>> box = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["Car", "Cyclist"]}, box)
    >>> own = COCO.with_options(iou_thresholds={"car": 0.7, "cyclist": 0.5})
    >>> thresholds_of(make_inputs(dataset, {}, None, own), own).tolist()
    [0.7, 0.5]
    """
    import numpy as np

    if not protocol.category_thresholds:
        n = 1 if protocol.agnostic else len(of.category_ids)
        return np.full(n, protocol.iou_thresholds[0] if threshold is None else threshold)
    categories = of.dataset.core("categories")
    evaluated = categories.filter(is_known(categories["category_id"], of.category_ids)).sort("category_id")
    threshold_of = {name.lower(): own for name, own in protocol.category_thresholds}
    own = evaluated["name"].str.to_lowercase().replace_strict(threshold_of, default=None, return_dtype=pl.Float64)
    if own.null_count():
        without = labels_of("categories", evaluated).filter(own.is_null())
        choices = f"there are {', '.join(name for name, _ in protocol.category_thresholds)}"
        remedy = f"{choices}; add them, or name the others in {option_name('categories')}"
        raise ParameterError(f"has no threshold for {listed(without.to_list())}", remedy, option="iou_thresholds")
    return own.to_numpy()


def lists_of(categories: pl.DataFrame, category_ids: pl.Series, protocol: Protocol) -> pl.DataFrame:
    """Return the lists of verdicts: category_id (null if all are pooled), and `undefined_errors` if errors are averaged.

    `categories` has the names; `category_ids` are the evaluated ones, sorted.

    >>> from apframe.protocols.coco import COCO
    >>> lists_of(pl.DataFrame({"category_id": [1, 2], "name": ["car", "bus"]}), pl.Series([1, 2]), COCO).columns
    ['category_id']
    """
    ids = pl.Series([None], dtype=category_ids.dtype) if protocol.agnostic else category_ids
    lists = ids.alias("category_id").to_frame()
    if protocol.errors is None:
        return lists
    names = lists.join(categories, on="category_id", how="left", maintain_order="left", nulls_equal=True)["name"]
    return lists.with_columns(protocol.errors.undefined_of(names).fill_null(0))


def cuts_of(protocol: Protocol) -> np.ndarray:
    """Return the thresholds to compare similarities with, ascending; only -inf if each category has its own threshold.

    >>> from apframe.protocols.voc import VOC2012
    >>> cuts_of(VOC2012).tolist(), cuts_of(VOC2012.with_options(iou_thresholds={"car": 0.7})).tolist()
    ([0.5], [-inf])
    """
    import numpy as np

    cuts = (-np.inf,) if protocol.category_thresholds else protocol.iou_thresholds
    return np.array([protocol.similarity.as_compared(cut) for cut in cuts])


def reaching_list_threshold(pairs: pl.DataFrame, inputs: Inputs, lists: pl.Series) -> pl.DataFrame:
    """Return the pairs that reach their category's threshold, if categories have their own; `lists` is by annotation."""
    from apframe.matching.reached import compared_columns, reaches

    if not inputs.protocol.category_thresholds:
        return pairs
    own = thresholds_of(inputs, inputs.protocol)[lists.gather(pairs["annotation"]).to_numpy()]
    similarities = compared_columns(pairs.columns)
    reached = [pl.Series(reaches(pairs[name].to_numpy(), own, strict=inputs.protocol.matcher.strict)) for name in similarities]
    pairs = pairs.with_columns(pl.when(flags).then(name).alias(name) for name, flags in zip(similarities, reached, strict=True))
    return pairs.filter(pl.any_horizontal(pl.col(similarities).is_not_null()))
