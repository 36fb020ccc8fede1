"""The interface of a similarity, and the join of every detection with every annotation of its image and category."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from apframe.exceptions import ColumnError
from apframe.tables.shapes.shape import Shape
from apframe.wording import option_name


@dataclass(frozen=True)
class Similarity(ABC):
    """A measure of how similar a detection and an annotation are: a frozen value, whose fields are its parameters.

    Attributes
    ----------
    name
        its name in stored protocols
    needs
        columns that detections and annotations require in addition to the canonical ones that always exist
    uses_images
        whether it also requires `image_width` and `image_height` (null where unknown) as columns of both tables
    shape
        the shape that it compares; None for one that may compare anything
    inclusive
        whether the last pixel of a box belongs to it, so that a box covers width + 1 pixels
    bounds
        thresholds are greater than the first number, and at most the second
    measure
        its name in printed summaries
    threshold_word
        the words before a threshold in sentences
    unit
        the unit of distances
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    uses_images: ClassVar[bool] = False
    shape: ClassVar[Shape | None] = None
    inclusive: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    measure: ClassVar[str] = "IoU"
    threshold_word: ClassVar[str] = "IoU"
    unit: ClassVar[str] = "m"

    @property
    def void_categories(self) -> tuple[int, ...]:
        """Ids of categories that are not evaluated."""
        return ()

    @property
    @abstractmethod
    def words(self) -> str:
        """The rule in plain words, as protocols print it."""

    @property
    def reads(self) -> str:
        """The columns that it compares in plain words, as protocols print them."""
        return ", ".join(self.needs) if self.shape is None else self.shape.words

    def as_compared(self, threshold: float) -> float:
        """Return a threshold in the precision in which similarities are computed."""
        return threshold

    def prepare(self, table: str, objects: pl.DataFrame) -> Any:
        """Return a faster form of a table's shapes, which `pair` accepts as `detection_shapes` or `annotation_shapes`.

        It avoids decoding twice if boxes are computed from the same shapes, or if a table is paired several times. The value
        is that of `shape.decode` and has a method `take(rows)`, to select rows. None, as here, if `pair` only reads columns.

        Parameters
        ----------
        table
            "detections" or "annotations"
        objects
            a canonical table, with `image_width` and `image_height` if `shape.uses_images`
        """
        del table, objects

    def check(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """Report the rows whose shapes `pair` would reject, without comparing any; see `apframe.validation`.

        Parameters
        ----------
        detections, annotations
            canonical tables as for `pair`, without `cell`

        Raises
        ------
        ColumnError
            a compared column is missing
        """
        for table, frame in (("annotations", annotations), ("detections", detections)):
            if self.shape is not None:
                self.shape.check(table, frame)

    def complete(self, detections: pl.DataFrame, images: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
        """Return the detections with columns computed from files of both sides, if it compares these; unchanged here.

        Parameters
        ----------
        detections, images, annotations
            canonical tables; the images name the files of the ground truth
        """
        del images, annotations
        return detections

    @abstractmethod
    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell that are at least `min_similarity` similar.

        Parameters
        ----------
        detections, annotations
            canonical tables, and `cell` (any integer; only rows of the same cell form pairs). If `is_crowd` holds for an
            annotation, intersections are divided by the size of the detection alone.
        min_similarity
            pairs below this similarity are dropped

        Returns
        -------
        `detection` and `annotation` (row numbers in the two frames, UInt32) and `similarity` (Float64), in no particular order.

        Raises
        ------
        ColumnError, RowError
            a compared column is missing or has invalid values; names the ids
        """


def require(similarity: Similarity, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
    """Raise an error if a table lacks a column that the similarity compares.

    >>> from apframe.similarity.box_iou import BoxIoU
    >>> require(BoxIoU(), pl.DataFrame(), pl.DataFrame())
    """
    for table, frame in (("detections", detections), ("annotations", annotations)):
        missing = [name for name in similarity.needs if name not in frame.columns]
        if missing:
            raise lacking(similarity, table, ", ".join(missing))


def lacking(similarity: Similarity, table: str, columns: str) -> ColumnError:
    """Return the error that a table lacks columns which the similarity compares.

    >>> from apframe.similarity.interval_iou import IntervalIoU
    >>> print(lacking(IntervalIoU(), "detections", "end_time"))  # doctest: +ELLIPSIS
    detections: no column end_time, needed to compare by intersection over union of intervals of time; supply it, or ...
    """
    of_coco = " (COCO's JSON has it as segmentation; in a frame, rename that to mask)" if columns == "mask" else ""
    return ColumnError(
        f"no column {columns}, needed to compare by {similarity.words}",
        f"supply it{of_coco}, or choose an {option_name('iou_type')} or a similarity that does not need it",
        table=table,
    )


def join_on_cell(detections: pl.DataFrame, annotations: pl.DataFrame, columns: Sequence[str]) -> pl.LazyFrame:
    """Return all pairs of a cell: `detection`, `annotation` (row numbers), the columns of both (`_right`), `is_crowd`.

    >>> left = pl.DataFrame({"cell": [7, 8], "x": [1.0, 2.0]})
    >>> right = pl.DataFrame({"cell": [8, 8], "x": [3.0, 4.0], "is_crowd": [False, True]})
    >>> join_on_cell(left, right, ["x"]).select("detection", "annotation", "x", "x_right").sort("annotation").collect().rows()
    [(1, 0, 2.0, 3.0), (1, 1, 2.0, 4.0)]
    """
    left = detections.lazy().select("cell", *columns).with_row_index("detection")
    right = annotations.lazy().select("cell", *columns, "is_crowd").with_row_index("annotation")
    return left.join(right, on="cell")


def overlap(low: str, high: str) -> pl.Expr:
    """Length that the interval from `low` to `high` shares with that of the right side; negative if they are apart.

    >>> pl.DataFrame({"a": [0], "b": [5], "a_right": [3], "b_right": [9]}).select(overlap("a", "b")).item()
    2
    """
    return pl.min_horizontal(high, f"{high}_right") - pl.max_horizontal(low, f"{low}_right")


def union_of(detected: pl.Expr, annotated: pl.Expr, intersection: pl.Expr) -> pl.Expr:
    """Size of the union of both; of the detection alone if `is_crowd` holds for the annotation.

    >>> pl.DataFrame({"is_crowd": [False, True]}).select(union=union_of(pl.lit(5), pl.lit(4), pl.lit(3)))["union"].to_list()
    [6, 5]
    """
    return pl.when("is_crowd").then(detected).otherwise(detected + annotated - intersection)


def most_alike() -> pl.Expr:
    """Upper bound of the IoU: that of shapes which fill the intersection of their upright rectangles; null if it is empty.

    The rectangles go from `left` to `right` and from `top` to `bottom`; `size` is the area of the shape.

    >>> pl.DataFrame({
    ...     "left": [0], "right": [2], "top": [0], "bottom": [2], "size": [4], "left_right": [1], "right_right": [3],
    ...     "top_right": [0], "bottom_right": [2], "size_right": [2], "is_crowd": [False],
    ... }).select(most=most_alike())["most"].to_list()
    [0.5]
    """
    width, height = overlap("left", "right"), overlap("top", "bottom")
    shared = pl.min_horizontal(width * height, "size", "size_right")
    meets = (width > 0) & (height > 0) & (pl.col("size") > 0) & (pl.col("size_right") > 0)
    return pl.when(meets).then(shared / union_of(pl.col("size"), pl.col("size_right"), shared))


def pair_by(
    expression: pl.Expr, detections: pl.DataFrame, annotations: pl.DataFrame, columns: Sequence[str], min_similarity: float
) -> pl.DataFrame:
    """Return the pairs as `Similarity.pair` does, by an expression over the joined columns; null means no pair.

    >>> left = pl.DataFrame({"cell": [7], "x": [1.0]})
    >>> right = pl.DataFrame({"cell": [7, 7], "x": [1.5, 9.0], "is_crowd": [False, False]})
    >>> pair_by(1 - (pl.col("x") - pl.col("x_right")).abs(), left, right, ["x"], 0.5).rows()
    [(0, 0, 0.5)]
    """
    return (
        join_on_cell(detections, annotations, columns)
        .select("detection", "annotation", similarity=expression)
        .filter(pl.col("similarity") >= min_similarity)
        .collect(engine="streaming")
    )
