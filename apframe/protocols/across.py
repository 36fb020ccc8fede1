"""Pairs across categories: each detection with every annotation of its image that is similar enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.exceptions import CategoriesNotComparedWarning, warn
from apframe.protocols.pairing import number_cells, pair
from apframe.protocols.rules.hierarchy import ExpandHierarchy, find_ancestors
from apframe.tables.ids import is_known
from apframe.tables.shapes.declarations import KEYPOINTS

if TYPE_CHECKING:
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs


def pair_across(inputs: Inputs, least: float) -> pl.DataFrame:
    """The pairs of an image that are at least so similar, whatever their categories: what detections may be mistaken for.

    Errors, the confusion matrix and label errors all read these pairs. Left out are crowds, which are nobody's target. With a
    hierarchy (Open Images), two kinds of pairs of different categories are left out too: one category is an ancestor of the
    other, or the annotation is a copy for a category above its own. So what shows one object is never mistaken for itself, and
    an object has one annotation that others are mistaken for. Pooled categories are one. Where keypoints are compared whose
    names differ between categories, only pairs of one category are there, with a warning.

    Parameters
    ----------
    inputs
        what is evaluated; a crowd's union is the detection alone, if the protocol knows crowds
    least
        the lowest similarity, in [0, 1)

    Returns
    -------
    detection, annotation (row numbers of the inputs' tables), similarity, is_same (of one category); in no order.
    """
    protocol = inputs.protocol
    is_apart = protocol.similarity.shape is KEYPOINTS and _have_other_keypoints(inputs)
    if is_apart:
        warn(
            "the categories have different keypoints, so detections are not compared with annotations of other categories",
            CategoriesNotComparedWarning,
        )
    pairs = pair(inputs, min_similarity=least, across_categories=not is_apart).filter(pl.col("similarity") >= least)
    is_crowd = inputs.crowds
    if is_crowd.any():
        pairs = pairs.filter(~is_crowd.gather(pairs["annotation"]))
    if protocol.agnostic:
        return pairs.with_columns(is_same=pl.lit(True))
    found, expected = (
        of_table["category"].gather(pairs[name])
        for of_table, name in zip(number_cells(inputs), ("detection", "annotation"), strict=True)
    )
    pairs = pairs.with_columns(is_same=found == expected)
    return _without_kin(pairs, inputs, found, expected) if protocol.rule(ExpandHierarchy) else pairs


def _have_other_keypoints(inputs: Inputs) -> bool:
    categories = inputs.dataset.categories
    if "keypoints" not in categories.columns:
        return False
    return categories.filter(is_known(categories["category_id"], inputs.category_ids))["keypoints"].n_unique() > 1


def _without_kin(pairs: pl.DataFrame, inputs: Inputs, found: pl.Series, expected: pl.Series) -> pl.DataFrame:
    """The pairs without those of different categories that stand for one object; `found`, `expected` are their categories."""
    is_kin = np.zeros(pairs.height, dtype=bool)
    categories = inputs.dataset.categories
    if "parent_ids" in categories.columns:
        n = len(inputs.category_ids)
        number = found.to_numpy().astype(np.int64) * n + expected.to_numpy()
        places = pl.DataFrame({"id": inputs.category_ids}).with_row_index("place")
        above = find_ancestors(categories.select("category_id", "parent_ids"))
        for name in above.columns:
            above = above.join(places.rename({"id": name, "place": f"{name}_at"}), on=name)
        low, high = (above[f"{name}_at"].to_numpy().astype(np.int64) for name in ("category_id", "ancestor_id"))
        is_kin |= np.isin(number, np.concatenate([low * n + high, high * n + low]))
    if "expanded_from" in inputs.annotations.columns:
        is_kin |= inputs.annotations["expanded_from"].is_not_null().gather(pairs["annotation"]).to_numpy()
    return pairs.filter(pairs["is_same"] | ~pl.Series(is_kin))


def place_pairs(pairs: pl.DataFrame, verdicts: Verdicts, inputs: Inputs) -> pl.DataFrame:
    """The pairs of `pair_across` by positions in verdicts instead of row numbers, without those of rows that are not there."""
    columns = []
    there = np.ones(pairs.height, dtype=bool)
    for name, table, n in (
        ("detection", verdicts.detections, inputs.detections.height),
        ("annotation", verdicts.annotations, inputs.annotations.height),
    ):
        place = np.full(n, -1, dtype=np.int64)
        place[table["row"].to_numpy()] = np.arange(table.height)
        at = place[pairs[name].to_numpy()]
        there &= at >= 0
        columns.append(pl.Series(name, at))
    pairs = pairs.with_columns(columns).select("detection", "annotation", "similarity", "is_same")
    return pairs if there.all() else pairs.filter(pl.Series(there))
