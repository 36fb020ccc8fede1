"""Corrected annotations, merged back into their data set."""

from __future__ import annotations

from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, DuplicateIdError
from apframe.formats.by_name import with_ids_by_name
from apframe.formats.catalogue import read_dataset
from apframe.rows import MALFORMED_KEPT, treating_malformed
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known, new_ids, replaced
from apframe.tables.names import ORIGINAL, labels_of
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.corners import upright
from apframe.tables.shapes.declarations import OTHERS
from apframe.wording import counted, first_line

_SAME = 0.02  # pixels by which a tool may round a side
_CORRECTIONS = "corrections"  # name of the corrected images in errors
_FLAGS = ("is_crowd", "ignore")


def correct(dataset: Any, corrections: Any) -> Dataset:
    """Return a data set in which the annotations of some images are replaced by corrected ones.

    The annotations of all images in the corrections are replaced by the corrected ones. All other annotations, and the
    tables of images and categories, are unchanged.

    An annotation whose box is the same, to .02 pixels on each side, keeps its identity: its id, and values that are missing
    in the corrected file, such as a mask in a format without masks. It stays a crowd or ignored. With outlines, areas
    are those of the outlines. Equal boxes are matched within the same category first, in their order. If the data set has no
    boxes, only masks or corners, all annotations of a corrected image are new. Columns that are not in the data set are left
    out: those that labelling tools add, and `doubt`, `suspicion` and `proposed`.

    Parameters
    ----------
    dataset
        the whole ground truth, as `read_dataset` accepts it
    corrections
        the corrected images, as `read_dataset` accepts them, in any format. Images are matched by `original_file_name`, which
        `Evaluation.write_tasks` writes, or by `file_name`, with or without folders and extension; without a name, by id.
        Categories are matched by name

    Raises
    ------
    UnknownIdError
        the data set has no image, or no category, with this name
    RowError
        several images or categories have the same name
    DuplicateIdError
        several corrected images match the same image
    ColumnError
        an attribute has values of another type than in the data set

    >>> image, category = {"image_id": [7, 8], "file_name": ["a.jpg", "b.jpg"]}, {"category_id": [1, 2], "name": ["cat", "dog"]}
    >>> box = {"x": [0.0, 5.0], "y": [0.0, 5.0], "width": [9.0, 9.0], "height": [9.0, 9.0]}
    >>> truth = Dataset(image, category, {"annotation_id": [3, 4], "image_id": [7, 8], "category_id": [1, 1], **box})
    >>> names = {"category_id": ["dog"], "name": ["dog"]}
    >>> fixed = Dataset({"image_id": [0], "file_name": ["b.jpg"]}, names, {"image_id": [0], "category_id": ["dog"],
    ...                 **{name: values[1:] for name, values in box.items()}})
    >>> correct(truth, fixed).annotations.select("annotation_id", "image_id", "category_id").rows()
    [(3, 7, 1), (4, 8, 2)]
    """
    whole, fixed = read_dataset(dataset), read_dataset(corrections)
    image_ids = _image_ids(whole, fixed.images)
    before = whole.annotations
    is_replaced = is_known(before["image_id"], image_ids)
    after = _in_columns_of(before, fixed.annotations).with_columns(
        replaced(fixed.annotations["image_id"], fixed.images["image_id"], image_ids), _category_ids(whole, fixed)
    )
    # images that are left out, for example with `images=`, may be named, but have no annotations here
    after = after.filter(is_known(after["image_id"], whole.images["image_id"]))
    after = _with_kept(before.filter(is_replaced), after, before["annotation_id"])
    table = pl.concat([before.filter(~is_replaced), after], how="diagonal")
    with treating_malformed(MALFORMED_KEPT):  # rows that were kept when the data set was made
        return whole.part(whole.images, canonical("annotations", table))


def described_changes(before: Dataset, after: Dataset) -> str:
    """Describe how many annotations `correct` changed, added and removed.

    >>> box = {"image_id": [1, 1], "category_id": [1, 1], "x": [1, 9], "y": [1, 1], "width": [4, 4], "height": [4, 4]}
    >>> one, other = (Dataset({"image_id": [1]}, {"category_id": [1]}, {"annotation_id": [1, k]} | box) for k in (2, 3))
    >>> described_changes(one, other)
    '0 annotations changed, 1 added, 1 removed'
    """
    key, old, new = "annotation_id", before.annotations, after.annotations
    both = old.join(new, on=key, suffix=" after")
    differs = [pl.col(name).ne_missing(pl.col(f"{name} after")) for name in old.columns if name != key]
    changed = counted(both.filter(pl.any_horizontal(differs)).height, "annotation")
    return f"{changed} changed, {new.height - both.height:,} added, {old.height - both.height:,} removed"


def _image_ids(whole: Dataset, images: pl.DataFrame) -> pl.Series:
    """Return the id of each corrected image in the whole data set."""
    name = labels_of("images", images)
    if ORIGINAL in images.columns:
        name = images.select(pl.coalesce(pl.col(ORIGINAL).cast(pl.String), name)).to_series()
    named = images.select("image_id").with_columns(name.alias("file_name"))
    ids = with_ids_by_name(named, whole, "images", of=_CORRECTIONS)["image_id"]
    if ids.is_duplicated().any():
        names = name.filter(ids.is_duplicated()).unique(maintain_order=True).to_list()
        raise DuplicateIdError(_CORRECTIONS, "several images are the same one", "file_name", names, "keep one of them")
    return ids


def _category_ids(whole: Dataset, fixed: Dataset) -> pl.Series:
    """Return the category id of each corrected annotation in the whole data set."""
    of_row, categories = fixed.annotations["category_id"], fixed.categories
    names = replaced(of_row, categories["category_id"], labels_of("categories", categories))
    return with_ids_by_name(names.alias("name").to_frame(), whole, "categories", of=_CORRECTIONS)["category_id"]


def _in_columns_of(before: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
    """Return corrected annotations with the columns of the data set, in its types, and with unchanged ids."""
    if "angle" not in before.columns:
        annotations = upright(annotations)
    keys = ("annotation_id", "image_id", "category_id")
    columns = [name for name in before.columns if name in annotations.columns and name not in keys]
    try:
        return annotations.select(*keys, *(exact(name).cast(before.schema[name]) for name in columns))
    except pl.exceptions.PolarsError as error:
        problem = f"an attribute has another type than in the data set: {first_line(error)}"
        raise ColumnError(problem, "correct its values, or leave it out", table=_CORRECTIONS) from error


def _with_kept(before: pl.DataFrame, after: pl.DataFrame, used_ids: pl.Series) -> pl.DataFrame:
    """Return corrected annotations; those with the box of an earlier one get its id and its values if they have none."""
    pairs = _same_boxes(before, after)
    old, new = before[pairs["before"]], after[pairs["after"]]
    stay = ("annotation_id", "area", *BOX, *_FLAGS)
    values = [new[name].zip_with(new[name].is_not_null(), old[name]) for name in new.columns if name not in stay]
    matched = old.with_columns(*values, *(old[name] | new[name] for name in _FLAGS if name in new.columns))
    for shape in OTHERS:  # an area is that of the outline, if there is one
        if shape.column in new.columns:
            matched = matched.with_columns(new["area"].zip_with(new[shape.column].is_not_null(), matched["area"]))
    others = after.filter(~is_known(pl.int_range(after.height, eager=True), pairs["after"].cast(pl.Int64)))
    return pl.concat([matched, others.with_columns(new_ids(used_ids, others.height))], how="diagonal")


def _same_boxes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of rows `before` and `after` with the same box, each row at most once, the same category first."""
    names = ["image_id", "category_id", *BOX]
    if not {*names} <= {*before.columns} & {*after.columns}:
        return pl.DataFrame(schema={"before": pl.UInt32, "after": pl.UInt32})
    one, other = (frame.select(names).with_row_index(row) for frame, row in ((before, "before"), (after, "after")))
    x, y, width, height = ((pl.col(name), pl.col(f"{name}_right")) for name in BOX)
    sides = [(a - b).abs() for a, b in (x, y, (x[0] + width[0], x[1] + width[1]), (y[0] + height[0], y[1] + height[1]))]
    pairs = one.join(other, on="image_id").select(
        "before", "after", other=pl.col("category_id") != pl.col("category_id_right"), apart=pl.max_horizontal(sides)
    )
    pairs = pairs.filter(pl.col("apart") < _SAME).sort("other", "apart", "before", "after")
    matches = pairs.clear()
    while pairs.height:  # once, and again for each further box that equals another one of its image
        best = pairs.filter(pl.col("other") == pl.col("other").first())
        best = best.unique("after", keep="first", maintain_order=True).unique("before", keep="first", maintain_order=True)
        matches = matches.extend(best)
        pairs = pairs.filter(~pl.col(name).is_in(best[name].implode()) for name in ("before", "after"))
    return matches.select("before", "after").sort("after")
