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
    """Pair detections with all similar annotations of their image, whatever their categories: possible mistakes.

    Errors, the confusion matrix and label errors all read these pairs. Crowds are left out, because no detection is meant for
    them. With a hierarchy (Open Images), pairs of different categories are also left out if one category is an ancestor of the
    other, or if the annotation is a copy for a category above its own. So a detection of an object is never mistaken for that
    same object, and each object has only one annotation that others are mistaken for. Pooled categories count as one. If
    keypoints are compared and their names differ between categories, only pairs of one category are returned, with a warning.

    Parameters
    ----------
    inputs
        the input of the evaluation; intersections with a crowd are divided by the detection's area, if the protocol has crowds
    least
        the lowest similarity, in [0, 1)

    Returns
    -------
    detection, annotation (row numbers of the inputs' tables), similarity, is_same (True for the same category); unordered.
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
    detected, annotated = (
        of_table["category"].gather(pairs[name])
        for of_table, name in zip(number_cells(inputs), ("detection", "annotation"), strict=True)
    )
    pairs = pairs.with_columns(is_same=detected == annotated)
    return _without_kin(pairs, inputs, detected, annotated) if protocol.rule(ExpandHierarchy) else pairs


def _have_other_keypoints(inputs: Inputs) -> bool:
    categories = inputs.dataset.categories
    if "keypoints" not in categories.columns:
        return False
    return categories.filter(is_known(categories["category_id"], inputs.category_ids))["keypoints"].n_unique() > 1


def _without_kin(pairs: pl.DataFrame, inputs: Inputs, detected: pl.Series, annotated: pl.Series) -> pl.DataFrame:
    """Remove pairs of different categories that are the same object; `detected`, `annotated` are the pairs' categories."""
    is_kin = np.zeros(pairs.height, dtype=bool)
    categories = inputs.dataset.categories
    if "parent_ids" in categories.columns:
        n = len(inputs.category_ids)
        number = detected.to_numpy().astype(np.int64) * n + annotated.to_numpy()
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
    """Return the pairs of `pair_across` with positions in verdicts instead of row numbers, without rows that verdicts lack."""
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
