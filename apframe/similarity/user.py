"""Similarities that users write: any function of the columns of two objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.similarity.pairs import Similarity, join_on_cell
from apframe.tables.column_sources import kind_of
from apframe.wording import first_line

_ANNOTATIONS_OWN = ("annotation_id", "is_crowd")
_BLOCK = 1 << 20  # pairs at a time
_NAMELESS = (lambda: None).__name__
_WHOLE_COLUMN = "return a column, such as pl.repeat(1.0, pl.len()) for one value everywhere"


@dataclass(frozen=True, eq=False)
class UserSimilarity(Similarity):
    """A function of your own as a similarity.

    Attributes
    ----------
    function
        accepts a Polars frame of pairs, and returns one value for each of its rows: a Polars expression over its columns, a
        Series, a NumPy array or anything like one. The frame has the detection's columns under their own names and the
        annotation's with the suffix `_right`, except `annotation_id` and `is_crowd`, which keep theirs; both have `image_width`
        and `image_height`. Values are in [0, 1]; null means no pair. A value must not depend on other rows, because many pairs
        are split into several frames. A function cannot be stored: it is None in an evaluation that was read back.
    label
        its name in printed protocols; by default the name of the function, if it has one

    Two are equal if they hold the same function object and label.

    >>> nearness = UserSimilarity(lambda pairs: 1 / (1 + (pl.col("x") - pl.col("x_right")).abs()), "nearness")
    >>> detections = pl.DataFrame({"detection_id": [1], "cell": [7], "x": [3.0]})
    >>> boxes = pl.DataFrame({"annotation_id": [4, 5], "cell": [7, 7], "x": [6.0, 9.0], "is_crowd": [False, False]})
    >>> nearness.pair(detections, boxes, min_similarity=0.2).rows()
    [(0, 0, 0.25)]
    """

    name: ClassVar[str] = "user"
    threshold_word: ClassVar[str] = "a similarity of"
    uses_images: ClassVar[bool] = True

    function: Callable[[pl.DataFrame], Any] | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.function is not None and not callable(self.function):
            raise ParameterError(f"{self.function!r} is not callable", "pass a function of a frame of pairs", option="function")
        if not isinstance(self.label, str):
            raise ParameterError(f"must be text, not {self.label!r}", option="label")
        if not self.label:
            name = str(getattr(self.function, "__name__", _NAMELESS))
            object.__setattr__(self, "label", "a function of your own" if name == _NAMELESS else name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserSimilarity) and self.function is other.function and self.label == other.label

    def __hash__(self) -> int:
        return hash((id(self.function), self.label))

    @property
    def words(self) -> str:
        """The rule in plain words."""
        return self.label

    @property
    def reads(self) -> str:
        """The columns that it compares in plain words."""
        return "the columns that the function reads"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`. Anything but one number per row is a `ParameterError`."""
        if self.function is None:
            raise ParameterError(
                f"{self.label}: the function of this similarity was not stored with the evaluation",
                "evaluate again with apframe.similarity.UserSimilarity(function)",
            )
        parts = [block.with_columns(self._values(frame)) for block, frame in _blocks(detections, annotations)]
        schema = {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
        return pl.concat([pl.DataFrame(schema=schema), *parts]).filter(pl.col("similarity") >= min_similarity)

    def _values(self, pairs: pl.DataFrame) -> pl.Series:
        """Call the function on a frame of pairs; return Float64 in [0, 1] or null."""
        assert self.function is not None
        values = self._as_series(self.function(pairs), pairs)
        if len(values) != pairs.height:
            problem = f"{self.label} must return one value per row: {pairs.height}, not {len(values)}"
            raise ParameterError(f"{problem}; {_WHOLE_COLUMN}" if len(values) == 1 else problem)
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise ParameterError(f"{self.label} must return numbers in [0, 1], not {values.dtype}")
        values = values.cast(pl.Float64).alias("similarity")
        not_a_number = values.is_nan()
        outside = (not_a_number | (values < 0) | (values > 1)).fill_null(False)
        if outside.any():
            ids = pairs.filter(outside).select("detection_id", "annotation_id").sort(pl.all()).rows()
            key = "(detection_id, annotation_id)"
            remedy = f"return null where the two cannot be a pair{', not NaN' if not_a_number.any() else ''}"
            raise RowError("pairs", f"{self.label} is not in [0, 1]", key, ids, remedy)
        return values

    def _as_series(self, result: Any, pairs: pl.DataFrame) -> pl.Series:
        if isinstance(result, pl.Series):
            return result
        if isinstance(result, pl.Expr):
            try:
                return pairs.select(similarity=result)["similarity"]
            except pl.exceptions.PolarsError as error:
                message = first_line(error).split("; valid columns")[0]
                problem = f"{self.label}: the expression failed: {message}; the columns are {', '.join(pairs.columns)}"
                raise ParameterError(problem) from error
        return self._from_array(result)

    def _from_array(self, result: Any) -> pl.Series:
        import numpy as np

        if result is None:
            problem = "must return one number per row, not None"
            raise ParameterError(f"{self.label} {problem}; is a `return` missing?")
        try:
            if isinstance(result, (list, tuple)):  # as floats, even if whole numbers come first
                return pl.Series([float(item) if type(item) in (bool, int) else item for item in result])
            if hasattr(result, "__arrow_c_array__"):
                return pl.Series(result)
            array = np.asarray(result)
        except (TypeError, ValueError, RuntimeError, pl.exceptions.PolarsError) as error:
            raise ParameterError(f"{self.label}: {kind_of(result)} is not a column of numbers: {first_line(error)}") from error
        if array.ndim != 1 or array.dtype.kind not in "biuf":
            if array.ndim == 0 and array.dtype.kind in "biuf":
                raise ParameterError(f"{self.label} must return one value per row, not the number {result}; {_WHOLE_COLUMN}")
            shape = f"{kind_of(result)} of shape {array.shape} and type {array.dtype}"
            raise ParameterError(f"{self.label} must return one number per row, not {shape}")
        return pl.Series(array)


def _blocks(detections: pl.DataFrame, annotations: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield blocks of pairs, as row numbers and as the frame that the function receives."""
    left = detections.drop("cell")
    right = annotations.drop("cell").select(pl.col(*_own(annotations)), pl.exclude(_ANNOTATIONS_OWN).name.suffix("_right"))
    if doubled := [name for name in right.columns if name in left.columns]:
        raise ColumnError(
            f"the name {', '.join(doubled)} is reserved for the annotation's column", "rename it", table="detections"
        )
    numbers = join_on_cell(detections, annotations, []).select("detection", "annotation").collect(engine="streaming")
    for block in numbers.iter_slices(_BLOCK):
        yield block, left[block["detection"]].hstack(right[block["annotation"]])


def _own(annotations: pl.DataFrame) -> list[str]:
    return [name for name in _ANNOTATIONS_OWN if name in annotations.columns]
