"""The pixels that detected segments share with annotated ones, counted in the label maps of both sides."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.exceptions import ColumnError, SegmentsDifferWarning, warn
from apframe.rows import refuse_rows
from apframe.tables.shapes.label_maps import INNER, refuse_unlisted, share_pixels
from apframe.wording import counted, listed

_KEY = ["image", "segment_id"]


def count_overlaps(
    detections: pl.DataFrame,
    images: pl.DataFrame,
    void: Sequence[int] = (0,),
    *,
    annotations: pl.DataFrame | None = None,
    dilation: float | None = None,
    are_all_listed: bool = True,
) -> pl.DataFrame:
    """Add `area`, `void_area` and `overlaps` (see `apframe.tables.shapes.segments`) to the detections, from their label maps.

    Each thread holds one image of each side in memory at a time.

    Parameters
    ----------
    detections
        image_id, segment_id, label_map; one label map for each image
    images
        image_id, label_map
    void
        numbers of annotated label maps that stand for no segment
    annotations
        image_id, segment_id, area, is_crowd; a warning says if the annotated label maps have other segments, or other areas
    dilation
        width of the boundaries for `boundary_iou` of the overlaps, see `share_pixels`; None leaves it null
    are_all_listed
        whether a number other than 0 without a row in the detections is an error; otherwise it is skipped

    Raises
    ------
    ColumnError
        a table has no label maps
    RowError
        a segment that is not in its label map, is listed twice, or has no label map; names the ids
    FormatError
        a label map that has a number without a row, or that cannot be read or compared; names the file

    Warns
    -----
    SegmentsDifferWarning
        see `annotations`

    Source: `pq_compute_single_core` of panopticapi, which has the same checks.
    """
    for table, frame in (("images", images), ("detections", detections)):
        if "label_map" not in frame.columns and not detections.is_empty():
            remedy = "supply the paths of the label maps, or area, void_area and overlaps of the detections"
            raise ColumnError("no column label_map, in which pixels are counted", remedy, table=table)
    if detections.is_empty():
        return detections.with_columns(void_area=pl.lit(0.0), overlaps=pl.lit([]))
    rows = detections.select("image_id", "segment_id", "label_map")
    lacks = rows.select(pl.any_horizontal(pl.col("segment_id", "label_map").is_null())).to_series()
    refuse_rows("detections", detections, lacks, "segment_id or label_map is missing", "supply it or remove these rows")
    twice = rows.select(pl.struct("image_id", "segment_id").is_duplicated()).to_series()
    _refuse_segments(detections, twice, "segment_id is not unique in its image", "make the numbers unique", void)
    maps = rows.group_by("image_id", maintain_order=True).agg(pl.col("label_map").unique(maintain_order=True))
    several = rows["image_id"].is_in(maps.filter(pl.col("label_map").list.len() > 1)["image_id"].implode())
    refuse_rows("detections", detections, several, "their image has several label maps", "give one for each image")
    maps = maps.with_columns(pl.col("label_map").list.first()).with_row_index("image")
    expected = maps.join(images.select("image_id", expected="label_map"), on="image_id", how="left", maintain_order="left")
    if expected["expected"].null_count():
        lacking = expected.filter(pl.col("expected").is_null())["image_id"].to_list()
        raise ColumnError(f"no label_map for {counted(len(lacking), 'image')} ({listed(lacking)})", "supply it", table="images")
    paths = expected["expected"].to_list(), expected["label_map"].to_list()
    shared = share_pixels(*paths).rename({"detected": "segment_id"})
    rows = rows.join(maps.select("image", "image_id"), on="image_id", how="left", maintain_order="left")
    if are_all_listed:
        refuse_unlisted(shared, rows, maps)
    if annotations is not None and "segment_id" in annotations.columns:
        _warn_of_annotated(shared, maps, annotations, void)
    is_void = pl.col("annotated").is_in([*void])
    fields: dict[str, pl.Expr] = {
        "segment_id": pl.col("annotated"),
        "pixels": pl.col("pixels"),
        "boundary_iou": pl.lit(None, pl.Float64),
    }
    if dilation is not None:
        boundaries = _compare_boundaries(share_pixels(*paths, dilation).rename({"detected": "segment_id"}), void)
        shared = shared.join(boundaries, on=[*_KEY, "annotated"], how="left", maintain_order="left")
        fields["boundary_iou"] = pl.col("boundary_iou").fill_null(0.0)
    sums = shared.group_by(_KEY).agg(
        area=pl.col("pixels").sum().cast(pl.Float64),
        void_area=pl.col("pixels").filter(is_void).sum().cast(pl.Float64),
        overlaps=pl.struct(*(value.alias(name) for name, value in fields.items())).filter(~is_void),
    )
    segments = rows.join(sums, on=_KEY, how="left", maintain_order="left")
    remedy = "write the label map and the list of segments together, or remove these rows"
    _refuse_segments(detections, segments["area"].is_null(), "their label map has no pixel of the segment", remedy, void)
    return detections.with_columns(segments.select("area", "void_area", "overlaps"))


def _refuse_segments(detections: pl.DataFrame, broken: pl.Series, problem: str, remedy: str, void: Sequence[int]) -> None:
    """Raise an error that names the flagged rows, and the image and label map of the first segment."""
    if not broken.any():
        return
    segments = detections.filter(broken).unique(["image_id", "segment_id"], keep="first", maintain_order=True)
    first = segments.row(0, named=True)
    which = f"segment {first['segment_id']} of image {first['image_id']}, {first['label_map']}"
    which += f"; and {counted(segments.height - 1, 'other segment')}" if segments.height > 1 else ""
    which += "; the number 0 stands for no segment" if 0 in void and first["segment_id"] == 0 else ""
    refuse_rows("detections", detections, broken, f"{problem} ({which})", remedy)


def _warn_of_annotated(shared: pl.DataFrame, maps: pl.DataFrame, annotations: pl.DataFrame, void: Sequence[int]) -> None:
    """Warn if label maps of the ground truth have other segments than its annotations, or other areas."""
    key, is_void = ["image", "annotated"], pl.col("annotated").is_in([*void])
    columns = [name for name in ("image_id", "area", "is_crowd") if name in annotations.columns]
    listed_ones = annotations.select(*columns, annotated=pl.col("segment_id").cast(pl.Int64)).filter(~is_void)
    listed_ones = listed_ones.join(maps.select("image", "image_id"), on="image_id")
    painted = shared.filter(~is_void).group_by(key).agg(pl.col("pixels").sum())
    of_listed, of_painted = (
        one.join(other, on=key, how="anti").sort(key) for one, other in ((listed_ones, painted), (painted, listed_ones))
    )
    differences = [
        (of_listed, "the ground truth lists segments that their label maps lack", "they count as missed"),
        (
            of_painted,
            "label maps of the ground truth have segments that are not listed",
            "their pixels count against detections there",
        ),
    ]
    parts = [f"{words}: {_named(rows, maps)}; {become}" for rows, words, become in differences if not rows.is_empty()]
    parts += _other_areas(listed_ones, painted, maps)
    if parts:
        warn("; ".join(parts), SegmentsDifferWarning)


def _other_areas(listed_ones: pl.DataFrame, painted: pl.DataFrame, maps: pl.DataFrame) -> list[str]:
    """Describe segments whose listed area is not the number of their pixels; crowds are skipped, as their area is not read."""
    if not {"area", "is_crowd"} <= set(listed_ones.columns):
        return []
    compared = listed_ones.filter(~pl.col("is_crowd")).join(painted, on=["image", "annotated"])
    wrong = compared.filter(pl.col("area") != pl.col("pixels")).sort("image", "annotated")
    if wrong.is_empty():
        return []
    first = wrong.row(0, named=True)
    images = maps["image_id"].gather(wrong["image"].unique().sort()).to_list()
    of = f"{counted(wrong.height, 'segment')} of {counted(len(images), 'image')} ({listed(images)})"
    such = f"segment {first['annotated']} of image {first['image_id']} has {first['pixels']:,} pixels, not {first['area']:,g}"
    return [f"the ground truth lists another area than its label maps have for {of}: {such}; the listed areas are used"]


def _named(rows: pl.DataFrame, maps: pl.DataFrame) -> str:
    """Name the segments and their image; of several images only the first.

    >>> _named(pl.DataFrame({"image": [0, 1], "annotated": [7, 9]}), pl.DataFrame({"image_id": ["a", "b"]}))
    '7 (image a, and others of 1 other image)'
    """
    first = rows.filter(pl.col("image") == rows["image"][0])["annotated"].to_list()
    others = rows["image"].n_unique() - 1
    more = f", and others of {counted(others, 'other image')}" if others else ""
    return f"{listed(first)} (image {maps['image_id'][int(rows['image'][0])]}{more})"


def _compare_boundaries(shared: pl.DataFrame, void: Sequence[int]) -> pl.DataFrame:
    """Return image, segment_id, annotated and `boundary_iou` of segments whose boundaries share pixels."""
    is_detected, is_annotated = pl.col("segment_id") != INNER, pl.col("annotated") != INNER
    is_void = pl.col("annotated").is_in([*void])
    of_detected = shared.group_by(_KEY).agg(left=pl.col("pixels").sum(), void=pl.col("pixels").filter(is_void).sum())
    of_annotated = shared.group_by("image", "annotated").agg(right=pl.col("pixels").sum())
    both = shared.filter(is_detected, is_annotated, ~is_void)
    both = both.join(of_detected, on=_KEY).join(of_annotated, on=["image", "annotated"])
    union = pl.col("left") + pl.col("right") - pl.col("pixels") - pl.col("void")
    return both.select(*_KEY, "annotated", boundary_iou=pl.col("pixels") / union)
