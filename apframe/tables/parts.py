"""Parts of a data set. Random samples and splits depend on a hash of the ids, not on the order of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose, isfinite
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError
from apframe.rows import PLACE
from apframe.tables.category_map import map_images, map_lists
from apframe.tables.column_sources import from_arrow_stream
from apframe.tables.ids import is_known
from apframe.tables.schemas import GROUND_TRUTH
from apframe.tables.types import with_ids
from apframe.wording import counted, did_you_mean


def consistent(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Remove references to images and categories that were left out of the tables of a data set.

    >>> tables = {"images": pl.DataFrame({"image_id": [1]}), "categories": pl.DataFrame({"category_id": [1]})}
    >>> annotations = pl.DataFrame({"image_id": [1, 2, 1], "category_id": [1, 1, 2]})
    >>> consistent(tables | {"annotations": annotations})["annotations"].rows()
    [(1, 1)]
    """
    images, categories, annotations = (tables[name] for name in GROUND_TRUTH)
    ids = categories.select("category_id", new_category_id="category_id")
    annotations = annotations.filter(
        is_known(annotations["image_id"], images["image_id"]) & is_known(annotations["category_id"], ids["category_id"])
    )
    if "parent_ids" in categories.columns:
        categories = categories.with_columns(parent_ids=map_lists(categories["parent_ids"], ids))
    return {"images": map_images(images, ids), "categories": categories, "annotations": annotations}


def without_left_out(detections: pl.DataFrame, left_out: pl.DataFrame | None) -> pl.DataFrame:
    """Return the detections without those on images that were left out of their data set; rows keep their numbers.

    >>> without_left_out(pl.DataFrame({"image_id": [8, 7]}), pl.DataFrame({"image_id": [8]}))["image_id"].to_list()
    [7]
    """
    if left_out is None or "image_id" not in detections.columns:
        return detections
    detections, ids = with_ids("detections", detections, "image_id")
    is_left = (
        is_known(ids, left_out["image_id"]).fill_null(False) if ids.dtype == left_out.schema["image_id"] else pl.Series([False])
    )
    if not is_left.any():
        return detections
    if not {PLACE, "detection_id"} & set(detections.columns):
        detections = detections.with_row_index(PLACE, offset=1)
    return detections.filter(~is_left)


def sampled(image_ids: pl.Series, n: Any, seed: Any) -> pl.Series:
    """Flag the images of a random sample of `n`.

    >>> sampled(pl.Series([3, 1, 2]), 2, seed=7).to_list(), sampled(pl.Series([1, 2, 3]), 2, seed=7).to_list()
    ([True, True, False], [True, False, True])
    """
    if not isinstance(n, int) or not 1 <= n <= len(image_ids):
        raise ParameterError(
            f"must be between 1 and the {counted(len(image_ids), 'image')} there are, not {n!r}", option="sample"
        )
    hashes = _hashed(image_ids.cast(pl.String), seed)
    return hashes.is_in(hashes.sort().head(n).implode())


def part_of_split(images: pl.DataFrame, shares: Mapping[str, float], by: str | Sequence[str], seed: Any) -> pl.Series:
    """Return the name of the part of each image.

    Groups of images, or single images, are sorted by a hash. Each goes to the part in whose share the middle of the group lies.

    Parameters
    ----------
    images
        canonical table
    shares
        the share of each part, which sum to 1
    by
        columns whose values define groups, which stay together; null is a group too. By default each image is a group
    seed
        a whole number; another seed gives another split

    Raises
    ------
    ParameterError
        shares that do not sum to 1, unknown columns, or a part that gets no image

    >>> images = pl.DataFrame({"image_id": [1, 2, 3, 4], "scene": ["a", "b", "a", "b"]})
    >>> part_of_split(images, {"train": 0.5, "val": 0.5}, "scene", 0).to_list()
    ['train', 'val', 'train', 'val']
    """
    if not isinstance(shares, Mapping):
        raise ParameterError(
            f"must be the share of each part, not {shares!r}", 'as in {"train": 0.8, "val": 0.2}', option="split"
        )
    values = list(shares.values())
    is_share = [isinstance(share, (int, float)) and isfinite(share) and share > 0 for share in values]
    if not (values and all(is_share) and isclose(sum(values), 1, abs_tol=1e-6)):
        parts = ",".join(f"{name}={share}" for name, share in shares.items())
        raise ParameterError(f"needs positive shares that sum to 1, not {parts or 'none'}", option="split")
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in images.columns:
            raise ParameterError(f"the images have no column {name!r}", did_you_mean(name, images.columns), option="by")
    text = pl.struct(*map(exact, names)).struct.json_encode() if names else pl.col("image_id").cast(pl.String)
    keys = images.select(key=text)
    groups = keys.group_by("key", maintain_order=True).len()
    groups = groups.with_columns(order=_hashed(groups["key"], seed)).sort("order")
    middle = (pl.col("len").cum_sum() - pl.col("len") / 2) / pl.lit(images.height)
    ends = pl.Series(values).cum_sum().head(len(values) - 1)
    places = ends.search_sorted(groups.select(middle).to_series(), side="right")
    groups = groups.with_columns(part=pl.Series(list(shares)).gather(places))
    empty = [name for name in shares if name not in groups["part"]]
    if empty:
        remedy = "try other shares or another seed"
        raise ParameterError(
            f"{', '.join(empty)} gets no images: only {counted(groups.height, 'group')} to share",
            remedy,
            option="split",
        )
    return keys.join(groups, on="key", how="left", maintain_order="left")["part"]


def _hashed(texts: pl.Series, seed: Any) -> pl.Series:
    """Return a hash of each text, which is the same for all versions of all libraries."""
    import duckdb  # takes a while to import

    if not isinstance(seed, int):
        raise ParameterError(f"must be a whole number, not {seed!r}", option="seed")
    rows = pl.DataFrame({"text": texts.cast(pl.String)})
    with duckdb.connect() as connection:
        connection.register("texts", rows)
        return from_arrow_stream(connection.sql("SELECT md5(? || text) AS hash FROM texts", params=[f"{seed} "]))["hash"]
