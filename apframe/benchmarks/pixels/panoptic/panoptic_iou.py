"""IoU of the segments of label maps, with void pixels excluded from the union (panoptic segmentation)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.exceptions import ColumnError
from apframe.rows import refuse_rows
from apframe.similarity.pairs import Similarity, require
from apframe.tables.shapes.declarations import SEGMENTS
from apframe.tables.shapes.shape import Shape


@dataclass(frozen=True)
class PanopticIoU(Similarity):
    """Intersection over union of two segments, without the void pixels of the detection.

    The area of an annotation is that of its table; the area of a detection is counted. The similarity to a crowd is the share
    of the detection's pixels in the crowd or in void; of several crowds of a category on an image, only the last is compared.

    Source: `pq_compute_single_core` of panopticapi.

    >>> road = pl.DataFrame({"cell": [1], "segment_id": [5], "area": [80.0], "is_crowd": [False]})
    >>> overlaps = [[{"segment_id": 5, "pixels": 60}]]
    >>> detections = pl.DataFrame({"cell": [1], "segment_id": [9], "area": [90.0], "void_area": [20.0], "overlaps": overlaps})
    >>> PanopticIoU().pair(detections, road, min_similarity=0.5)["similarity"].round(4).to_list()
    [0.6667]
    """

    name: ClassVar[str] = "panoptic_iou"
    iou_type: ClassVar[str] = "panoptic"
    needs: ClassVar[tuple[str, ...]] = ("segment_id",)
    shape: ClassVar[Shape | None] = SEGMENTS

    @property
    def words(self) -> str:
        """Return the rule in plain words."""
        return "intersection over union of segments, without the void pixels of the detection"

    def complete(self, detections: pl.DataFrame, images: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
        """Add `area`, `void_area` and `overlaps` to detections, counted in the label maps unless supplied."""
        refuse_repeated(annotations)
        if are_counted(detections):
            return detections
        from apframe.similarity.label_map_overlaps import count_overlaps  # imports NumPy

        return count_overlaps(detections, images, annotations=annotations)

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        require(self, detections, annotations)
        detected, expected, shared = shared_pixels(detections, annotations)
        alike = shared.filter(~pl.col("is_crowd")).select("detection", "annotation", similarity=self.of_segments)
        crowds = expected.filter("is_crowd").unique("cell", keep="last", maintain_order=True)
        inside = detected.join(crowds, on="cell").join(
            shared.select("detection", "annotation", "pixels"), on=["detection", "annotation"], how="left"
        )
        share = (pl.col("void") + pl.col("pixels").fill_null(0)) / pl.col("found_area")
        pairs = pl.concat([alike, inside.select("detection", "annotation", similarity=share)])
        return pairs.filter(pl.col("similarity") >= min_similarity).sort("detection", "annotation").collect()

    @property
    def of_segments(self) -> pl.Expr:
        """Return the similarity to an annotation that is not a crowd, from the columns of `shared_pixels`."""
        return pl.col("pixels") / (pl.col("found_area") + pl.col("area") - pl.col("pixels") - pl.col("void"))


def refuse_repeated(annotations: pl.DataFrame) -> None:
    """Raise an error if several annotations of an image are the same segment; panopticapi uses the last one.

    >>> refuse_repeated(pl.DataFrame({"annotation_id": [3, 4], "image_id": [1, 1], "segment_id": [7, 7]}))
    Traceback (most recent call last):
    apframe.exceptions.RowError: annotations: segment_id is not unique in its image for annotation_id 3, 4; keep one ...
    """
    if "segment_id" in annotations.columns:
        doubled = annotations.select(pl.struct("image_id", "segment_id").is_duplicated()).to_series()
        doubled &= annotations["segment_id"].is_not_null()
        remedy = "keep one row of each segment, the last as panopticapi does"
        refuse_rows("annotations", annotations, doubled, "segment_id is not unique in its image", remedy)


def are_counted(detections: pl.DataFrame) -> bool:
    """Return True if detections have the pixels that they share with annotations.

    >>> are_counted(pl.DataFrame({"segment_id": [1]}))
    False
    """
    names = ("area", "void_area", "overlaps")
    return all(name in detections.columns and not detections[name].null_count() for name in names)


def shared_pixels(detections: pl.DataFrame, annotations: pl.DataFrame) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Return detections, annotations, and the pixels that a detection and an annotation of a cell share.

    Returns
    -------
    detection (row number), cell, found_area, void; annotation (row number), cell, segment_id, area, is_crowd; and all of these
    with pixels and boundary_iou, for each detection and annotation that share pixels.

    Raises
    ------
    ColumnError, RowError
        pixels have not been counted, or are invalid

    >>> road = pl.DataFrame({"cell": [1], "segment_id": [5], "area": [80.0], "is_crowd": [False]})
    >>> overlaps = [[{"segment_id": 5, "pixels": 60}, {"segment_id": 6, "pixels": 10}]]
    >>> detections = pl.DataFrame({"cell": [1], "area": [90.0], "void_area": [20.0], "overlaps": overlaps})
    >>> shared_pixels(detections, road)[2].select("detection", "annotation", "pixels").collect().rows()
    [(0, 0, 60)]
    """
    if missing := [name for name in ("void_area", "overlaps") if name not in detections.columns]:
        remedy = "supply them, or label_map of images and detections, in which pixels are counted"
        raise ColumnError(f"no column {', '.join(missing)}", remedy, table="detections")
    for name in ("area", "void_area"):
        wrong = ~(detections[name] >= (name == "area")).fill_null(False)
        problem = f"{name} is not {'a positive number' if name == 'area' else 'at least 0'}"
        refuse_rows("detections", detections, wrong, problem, "give numbers of pixels, or remove these rows")
    detected = detections.lazy().select("cell", found_area="area", void="void_area").with_row_index("detection")
    expected = annotations.lazy().select("cell", "segment_id", "area", "is_crowd").with_row_index("annotation")
    overlaps = detections.lazy().select("overlaps").with_row_index("detection").explode("overlaps").unnest("overlaps")
    shared = detected.join(overlaps.filter(pl.col("pixels") > 0), on="detection").join(expected, on=["cell", "segment_id"])
    return detected, expected, shared
