"""Tasks for a labelling tool: images with doubtful labels, all their annotations, and the doubts about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from apframe.evaluation.diagnose.missing_objects import detections_of, objects_of
from apframe.exceptions import ColumnError, ParameterError
from apframe.protocols.refused import refuse_undrawn
from apframe.rows import refuse_rows
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import is_known, new_ids, replaced, unknown_ids
from apframe.tables.names import ORIGINAL
from apframe.tables.schemas import OUTSIDE
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import OTHERS
from apframe.tables.types import with_ids

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.tables.dataset import Dataset

_ROWS = "rows"  # as errors call them
_KINDS = ("kind", "error", "outcome")  # columns that describe the doubt; the first one that exists counts
_MARKS = ("doubt", "suspicion", "proposed")
_FLAGS = ("is_crowd", "ignore")


def write_tasks(self: Evaluation, rows: Any, path: str | Path, format: str = "cvat") -> pl.DataFrame:
    """Write the images that rows are about for a labelling tool, with all their annotations, for correction.

    `apframe.correct` puts the corrected images back into the ground truth.

    Annotations that rows are about have attributes: `doubt` (the kind of the label error, the type of the error, or the
    outcome), `suspicion`, and `proposed` (the name of the proposed category). An image has all of this in words, as `doubts`,
    and its name as `original_file_name`, for tools that change it. CVAT shows the attributes that the labels of its task
    declare; Label Studio has none for shapes, but shows `doubts` if its configuration contains `$doubts`.

    A missing object is already included: its detection is added as an annotation whose `doubt` is "missing". Delete it if it is
    wrong. Detections of one image and category with a similarity of .5 or more are one object.

    Parameters
    ----------
    rows
        image ids; or a table with `image_id` and, if rows are about annotations, `annotation_id`: from `label_errors`,
        `errors`, `matches` or a query, as any object with columns. Rows whose `kind` is missing require the `detection_id` of
        this evaluation. The most suspicious images come first if there is a column suspicion; otherwise they keep their order
    path, format
        the file or folder to write, and the name of its format; see `apframe.write_dataset`, whose errors are raised too

    Returns
    -------
    A row for each value that the format cannot store, as from `apframe.write_dataset`. `apframe.correct` restores it for
    annotations whose box does not change.

    Raises
    ------
    ParameterError
        annotations may differ from the ground truth, so that `apframe.correct` would lose some: categories were mapped, chosen
        or removed by `where`, invalid rows were removed, shards were read, there are no boxes, or the protocol changes
        annotations, as some benchmarks do; or annotations cannot be drawn in an image, such as intervals
    ColumnError
        there is no column image_id
    UnknownIdError
        the ground truth lacks an image
    RowError
        a missing object has no detection, because the rows are about another model

    >>> import tempfile
    >>> from apframe import evaluate, read_dataset
    >>> truth = {"images": [{"id": 7, "file_name": "a.jpg", "width": 99, "height": 99}], "annotations": [
    ...     {"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}], "categories": [{"id": 1, "name": "cat"}]}
    >>> ev = evaluate(truth, [{"image_id": 7, "category_id": 1, "bbox": [50, 0, 9, 9], "score": 0.9}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = ev.write_tasks(ev.label_errors(), f"{folder}/tasks.xml", "cvat")
    ...     read_dataset(f"{folder}/tasks.xml").annotations.select("x", "doubt", "suspicion", "proposed").rows()
    [(0.0, None, None, None), (50.0, 'missing', 0.9, 'cat')]
    """
    from apframe.formats.writing import write_dataset

    are_ids = isinstance(rows, pl.Series) or (
        isinstance(rows, (list, tuple)) and not any(isinstance(row, dict) for row in rows)
    )
    table = to_polars({"image_id": rows} if are_ids else rows, _ROWS)
    return write_dataset(task_dataset(table, [self]), path, format)


def refuse_tasks(self: Evaluation) -> None:
    """Raise an error if `correct` would lose or change annotations that these tasks do not contain as they were read.

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> refuse_tasks(evaluate(truth, []))
    >>> refuse_tasks(evaluate(truth, []).where("name = 'cat'"))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: corrected images could lose labels, as annotations may differ from the ...
    """
    refuse_undrawn(self.protocol)
    if (altered := self._inputs.altered) is not None:
        raise ParameterError(
            f"corrected images could lose labels, as annotations may differ from the ground truth: {altered}",
            "write tasks for boxes of all categories, without a map or shards, evaluated by a protocol such as COCO",
        )


def _keeping(step: Callable[..., pl.DataFrame]) -> Callable[..., LabelErrors]:
    """Wrap a method of Polars so that its result keeps the evaluation."""

    def method(self: LabelErrors, *args: Any, **options: Any) -> LabelErrors:
        return self.of_rows(step(self, *args, **options))

    method.__name__, method.__doc__ = step.__name__, f"Return what `polars.DataFrame.{step.__name__}` does, to be written too."
    return method


class LabelErrors(pl.DataFrame):
    """The table of `Evaluation.label_errors`: a frame like any other, which can be written for a labelling tool.

    Methods that select rows keep this type: filter, sort, head, tail, slice, sample, unique, top_k and others that are listed
    here. To write rows that were selected in another way, as by a join, use `Evaluation.write_tasks`.
    """

    _evaluations: Sequence[Evaluation] = ()  # empty for frames that Polars derives from this one
    _names: Sequence[str] = ()

    def __init__(self, table: pl.DataFrame, evaluations: Sequence[Evaluation], names: Sequence[str] = ()) -> None:
        super().__init__(table)
        self._evaluations, self._names = evaluations, names

    def write(self, path: str | Path, format: str = "cvat") -> pl.DataFrame:
        """Write the images of these rows for a labelling tool, the most suspicious first: see `Evaluation.write_tasks`.

        Raises
        ------
        ParameterError
            Polars derived this table by a step that does not keep the evaluation

        >>> import tempfile
        >>> from apframe import evaluate, read_dataset
        >>> box = {"image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}
        >>> ev = evaluate({"images": [{"id": 7}], "categories": [{"id": 1}], "annotations": [{"id": 1} | box]}, [
        ...     {"score": 0.9} | box, {"score": 0.8} | box | {"bbox": [50, 0, 9, 9]}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ev.label_errors().filter(kind="missing").head(50).write(f"{folder}/tasks.json", "coco")
        ...     read_dataset(f"{folder}/tasks.json").annotations["doubt"].to_list()
        [None, 'missing']
        """
        from apframe.formats.writing import write_dataset

        if not self._evaluations:
            raise ParameterError(
                "these rows no longer know their evaluation: filter, sort, head, slice and the like keep it",
                "write them with ev.write_tasks(rows, path, format)",
            )
        return write_dataset(task_dataset(self, self._evaluations, self._names), path, format)

    filter = _keeping(pl.DataFrame.filter)
    sort = _keeping(pl.DataFrame.sort)
    reverse = _keeping(pl.DataFrame.reverse)
    head = _keeping(pl.DataFrame.head)
    tail = _keeping(pl.DataFrame.tail)
    slice = _keeping(pl.DataFrame.slice)
    sample = _keeping(pl.DataFrame.sample)
    unique = _keeping(pl.DataFrame.unique)
    top_k = _keeping(pl.DataFrame.top_k)
    drop_nulls = _keeping(pl.DataFrame.drop_nulls)
    with_columns = _keeping(pl.DataFrame.with_columns)
    clone = _keeping(pl.DataFrame.clone)

    def of_rows(self, table: pl.DataFrame) -> Self:
        """Return rows that were selected from these."""
        return type(self)(table, self._evaluations, self._names)


def task_dataset(rows: pl.DataFrame, evaluations: Sequence[Evaluation], names: Sequence[str] = ()) -> Dataset:
    """Return the data set of the images that rows are about, with all their annotations, and the doubts about them.

    Parameters
    ----------
    rows
        as in `write_tasks`; with several evaluations, the column `run` is the name of the one whose detection a row is about
    evaluations, names
        evaluations of the same ground truth, and their names in the column `run`
    """
    first = evaluations[0]
    refuse_tasks(first)
    rows = _marked(rows, first, names).sort("suspicion", descending=True, nulls_last=True, maintain_order=True)
    words = rows.drop_nulls("words").group_by("image_id").agg(doubts=pl.col("words").unique(maintain_order=True).str.join("; "))
    images = rows.select("image_id").unique(maintain_order=True)
    for attributes in (
        first.dataset.images.with_columns(pl.col("file_name").alias(ORIGINAL)).drop("doubts", strict=False),
        words,
    ):
        images = images.join(attributes, on="image_id", how="left", maintain_order="left")
    annotations = first.dataset.annotations
    annotations = annotations.filter(is_known(annotations["image_id"], images["image_id"])).drop(*_MARKS, OUTSIDE, strict=False)
    marks = (
        rows.drop_nulls(["annotation_id", "doubt"])
        .group_by("annotation_id")
        .agg(
            pl.col("doubt").unique(maintain_order=True).str.join(", "),
            pl.col("suspicion").max(),
            pl.col("proposed").drop_nulls().first(),
        )
    )
    marked = annotations.join(marks, on="annotation_id", how="left", maintain_order="left")
    added = _added(rows.filter(pl.col("annotation_id").is_null(), doubt="missing"), evaluations)
    added = added.with_columns(new_ids(first.dataset.annotations["annotation_id"], added.height))
    both = pl.concat([marked, added.select(name for name in marked.columns if name in added.columns)], how="diagonal")
    both = both.with_columns(pl.col([name for name in _FLAGS if name in both.columns]).fill_null(False))
    return first.dataset.part(images, both)


def _marked(rows: pl.DataFrame, first: Evaluation, names: Sequence[str]) -> pl.DataFrame:
    """Return the ids in rows, the number of their run, and the doubts, also in words."""
    if "image_id" not in rows.columns:
        raise ColumnError("there is no column image_id", f"there are {', '.join(rows.columns)}", table=_ROWS)
    rows, requested_ids = with_ids(_ROWS, rows, "image_id")
    ids = first.dataset.images["image_id"]
    texts = ids.cast(pl.String)  # ids that were copied from a page are texts
    is_there = is_known(requested_ids.cast(pl.String), texts).fill_null(False)
    if not is_there.all():
        raise unknown_ids(_ROWS, rows, "image_id", "images", is_there, "pass ids of images of this ground truth", texts)

    def column_or_null(name: str, like: pl.DataFrame | None = None, dtype: Any = pl.String) -> pl.Expr:
        dtype = dtype if like is None else like.schema[name.removeprefix("proposed_")]
        return pl.col(name).cast(dtype, strict=False) if name in rows.columns else pl.lit(None, dtype).alias(name)

    marked = rows.select(
        replaced(requested_ids.cast(pl.String), texts, ids),
        column_or_null("annotation_id", first.dataset.core("annotations")),
        column_or_null("detection_id", first.detections),
        column_or_null("proposed_category_id", first.detections),
        column_or_null("score", dtype=pl.Float64),
        column_or_null("suspicion", dtype=pl.Float64),
        column_or_null("name"),
        doubt=pl.coalesce(column_or_null(name) for name in _KINDS),
        proposed=column_or_null("proposed_name"),
        run=pl.col("run").replace_strict(names, range(len(names)), default=0) if names else 0,
    )
    parts = (pl.col("doubt"), ": " + pl.col("name"), ", proposed " + pl.col("proposed"))
    return marked.with_columns(words=pl.when(pl.col("doubt").is_not_null()).then(pl.concat_str(parts, ignore_nulls=True)))


def _added(missing: pl.DataFrame, evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """Return the detections of missing objects as annotations, one for each object."""
    detections = detections_of(missing, evaluations)
    is_other = detections["image_id"].ne_missing(missing["image_id"]) | (detections["score"] != missing["score"]).fill_null(
        False
    )
    remedy = "pass rows of this evaluation, or write those of several with scan_runs(...).label_errors().write(...)"
    refuse_rows(_ROWS, missing, is_other, "a missing object is not a detection of this evaluation", remedy)
    columns = ["image_id", "category_id", *BOX, "area", *(shape.column for shape in OTHERS)]
    drawn = detections.select(name for name in columns if name in detections.columns).hstack(missing.select(_MARKS))
    return drawn.filter(pl.Series(objects_of(detections, evaluations[0])).is_first_distinct())
