"""A hierarchy of categories: an annotation also belongs to every category above its own (Open Images)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ColumnError, RowError
from apframe.protocols.rules.rule import Rule

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs


@dataclass(frozen=True)
class ExpandHierarchy(Rule):
    """An annotation also counts for all categories above its own: the `parent_ids` of its category, and their parents."""

    line: ClassVar[str] = "categories"
    description: ClassVar[str] = "annotations also count for the parents of their category"
    columns: ClassVar[tuple[str, ...]] = ("categories.parent_ids",)

    def rows(self, inputs: Inputs) -> Inputs:
        """Copy each annotation for all categories above its own, unless there are copies already.

        Raises
        ------
        ColumnError
            there is `parent_id`, but not `parent_ids`
        RowError
            a category is above itself
        """
        dataset = inputs.dataset
        parents = {"parent_id", "parent_ids"} & set(dataset.categories.columns)
        if not parents or "expanded_from" in inputs.annotations.columns:
            return inputs
        if parents == {"parent_id"}:
            remedy = "make it from parent_id: a list, [7] for 7 and [] for none"
            raise ColumnError("no column parent_ids", remedy, table="categories")
        ancestors = find_ancestors(dataset.categories)
        images, annotations = expand_lists(dataset.images, ancestors), expand_annotations(dataset.annotations, ancestors)
        return inputs.with_dataset(dataset.part(images, annotations))


def find_ancestors(categories: pl.DataFrame) -> pl.DataFrame:
    """Return category_id and ancestor_id of every category and each category above it, on any path.

    Parameters
    ----------
    categories
        category_id and `parent_ids`, the categories directly above: several, one or none

    Raises
    ------
    RowError
        a category is above itself; the error names all categories of the cycle

    >>> find_ancestors(pl.DataFrame({"category_id": [1, 2, 3], "parent_ids": [[], [1], [2]]})).sort(pl.all()).rows()
    [(2, 1), (3, 1), (3, 2)]
    """
    up = categories.select("category_id", ancestor_id="parent_ids")
    up = up.explode("ancestor_id", empty_as_null=False, keep_nulls=False).unique()
    pairs = step = up
    upwards = {"ancestor_id_right": "ancestor_id"}
    for _ in range(categories.height):
        # one level further up: the categories above those of the last step
        step = step.join(up, left_on="ancestor_id", right_on="category_id").drop("ancestor_id").rename(upwards).unique()
        step = step.join(pairs, on=["category_id", "ancestor_id"], how="anti")
        if step.is_empty():
            break
        pairs = pl.concat([pairs, step])
    own = pairs.filter(pl.col("category_id") == pl.col("ancestor_id"))["category_id"].sort().to_list()
    if own:
        problem, remedy = "the hierarchy has a cycle: a category is above itself", "remove one of these parent_ids"
        raise RowError("categories", problem, "category_id", own, remedy)
    return pairs


def expand_annotations(annotations: pl.DataFrame, ancestors: pl.DataFrame, key: str = "annotation_id") -> pl.DataFrame:
    """Return the annotations, followed by a copy of each for every category above its own; or detections, by their `key`.

    Copies have their own ids: the next free numbers, or the id and the category if ids are strings. `expanded_from` is the
    original's id. Source: Open Images, `oid_hierarchical_labels_expansion.py`.

    >>> ancestors = pl.DataFrame({"category_id": [2], "ancestor_id": [1]})
    >>> expand_annotations(pl.DataFrame({"annotation_id": [5], "category_id": [2]}), ancestors).rows()
    [(5, 2, None), (6, 1, 5)]
    """
    ids = annotations[key]
    above = ancestors.sort("category_id", "ancestor_id")
    copies = annotations.join(above, on="category_id", maintain_order="left_right").with_columns(expanded_from=key)
    if ids.dtype == pl.String:
        between = "/"
        while ids.str.contains(between, literal=True).any():
            between += "/"  # no id contains this many
        number = pl.concat_str(key, pl.lit(between), pl.col("ancestor_id").cast(pl.String))
    else:
        number = pl.int_range(pl.len(), dtype=pl.Int64) + (ids.max() or 0) + 1
    copies = copies.with_columns(number.alias(key), category_id="ancestor_id").drop("ancestor_id")
    return pl.concat([annotations.with_columns(expanded_from=pl.lit(None, ids.dtype)), copies])


def expand_lists(images: pl.DataFrame, ancestors: pl.DataFrame) -> pl.DataFrame:
    """Add to `pos_category_ids` of images all categories above, and to `neg_category_ids` all categories below.

    If a category is present, so are more general ones; if it is absent, so are more specific ones.

    >>> images = pl.DataFrame({"image_id": [1], "pos_category_ids": [[2]], "neg_category_ids": [[1]]})
    >>> expand_lists(images, pl.DataFrame({"category_id": [2], "ancestor_id": [1]})).rows()
    [(1, [1, 2], [1, 2])]
    """
    for column, own, other in (
        ("pos_category_ids", "category_id", "ancestor_id"), ("neg_category_ids", "ancestor_id", "category_id"),
    ):  # fmt: skip
        if column in images.columns:
            listed = images.select("image_id", named=column).explode("named", empty_as_null=False, keep_nulls=False)
            further = listed.join(ancestors, left_on="named", right_on=own).select("image_id", named=other)
            lists = pl.concat([listed, further]).unique().group_by("image_id").agg(pl.col("named").sort())
            lists = images.select("image_id").join(lists, on="image_id", how="left", maintain_order="left")
            images = images.with_columns(lists["named"].fill_null([]).alias(column))
    return images
