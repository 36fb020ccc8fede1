"""Which detections are judged at all (LVIS, Open Images): joins with what was annotated and verified on each image."""

from __future__ import annotations

import polars as pl

_AT = ["image_id", "category_id"]


def limit_per_image(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The detections of the highest scores of each image, over all categories; the order of the rows stays.

    Of equal scores the first rows are kept. Source: `LVISResults.limit_dets_per_image`.

    >>> found = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> limit_per_image(found, 2).rows()
    [(1, 0.3), (1, 0.9), (2, 0.1)]
    """
    place = pl.int_range(pl.len()).over("image_id")
    rows = detections.lazy().select("image_id", "score").with_row_index("row")
    ranked = rows.sort("score", descending=True, maintain_order=True)
    kept = ranked.filter(place < limit).select(pl.col("row").sort()).collect()["row"]
    return detections if len(kept) == detections.height else detections[kept]


def keep_above_limit(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The detections of each image, over all categories; where they are more than the limit, those above the next score.

    So detections whose scores are equal across the limit are all left out. Source: `noduleCADEvaluationLUNA16.py`.

    >>> found = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> keep_above_limit(found, 2).rows()
    [(1, 0.9), (2, 0.1)]
    """
    next_score = pl.col("score").sort(descending=True).get(limit, null_on_oob=True).over("image_id")
    return detections.filter((pl.col("score") > next_score).fill_null(True))


def keep_judged(detections: pl.DataFrame, annotations: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """The detections of categories that are annotated on their image, or named in its lists of verified ones.

    `images` may have `pos_category_ids` and `neg_category_ids`. Source: `LVISEval._prepare`, `OpenImagesChallengeEvaluator`.

    >>> images = pl.DataFrame({"image_id": [1], "neg_category_ids": [[7]]})
    >>> keep_judged(
    ...     pl.DataFrame({"image_id": [1, 1, 1], "category_id": [5, 6, 7]}),
    ...     pl.DataFrame({"image_id": [1], "category_id": [5]}), images)["category_id"].to_list()
    [5, 7]
    """
    ids = annotations.schema["category_id"]
    judged = [annotations.select(_AT), *(named(images, f"{kind}_category_ids", ids) for kind in ("pos", "neg"))]
    return detections.join(pl.concat(judged).unique(), on=_AT, how="semi", maintain_order="left")


def flag_not_exhaustive(detections: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """The detections, with `ignore` (if not matched) where the image's annotations of their category are not exhaustive.

    `images` may have `not_exhaustive_category_ids`. Source: `LVISEval.evaluate_img`.

    >>> images = pl.DataFrame({"image_id": [1], "not_exhaustive_category_ids": [[7]]})
    >>> flag_not_exhaustive(pl.DataFrame({"image_id": [1, 1], "category_id": [6, 7]}), images)["ignore"].to_list()
    [False, True]
    """
    unsure = named(images, "not_exhaustive_category_ids", detections.schema["category_id"]).unique()
    given = pl.col("ignore") if "ignore" in detections.columns else pl.lit(False)
    flagged = detections.join(unsure.with_columns(is_unsure=pl.lit(True)), on=_AT, how="left", maintain_order="left")
    return flagged.with_columns(ignore=given | pl.col("is_unsure").is_not_null()).drop("is_unsure")


def named(images: pl.DataFrame, column: str, dtype: pl.DataType) -> pl.DataFrame:
    """image_id and category_id (of that dtype) of what a column of lists names; no rows where there is no such column.

    >>> named(pl.DataFrame({"image_id": [1, 2], "neg_category_ids": [[7, 8], []]}), "neg_category_ids", pl.Int64()).rows()
    [(1, 7), (1, 8)]
    """
    if column not in images.columns:
        return images.select("image_id", category_id=pl.lit(None, dtype)).clear()
    return images.select("image_id", category_id=column).explode("category_id", empty_as_null=False, keep_nulls=False)
