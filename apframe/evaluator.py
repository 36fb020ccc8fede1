"""Evaluator: an evaluation that is fed step by step from a training loop, in one process or many."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from polars import selectors

from apframe.evaluation import Evaluation
from apframe.exceptions import ColumnError, DuplicateIdError, ParameterError, RepeatedImageWarning, first_line, listed
from apframe.inputs import check_detections, choose_categories, make_inputs, on_known_images
from apframe.io.formats import read_dataset, read_result_table
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.protocols.published import as_protocol
from apframe.schema import TABLES, canonical, canonical_detections, is_known, to_polars
from apframe.similarity.box_iou import BOX
from apframe.similarity.extents import with_image_sizes
from apframe.similarity.pairs import Similarity, require

_UPDATE = "update_of_evaluator"  # a column: which update a row came in
_NUMBERS = {column.name for column in TABLES["detections"] if column.dtype == pl.Float64}
_LOOKED_AT = {column.name for column in TABLES["detections"] if column.is_id} | _NUMBERS
_MANY = 5_000  # rows from which it pays to find the different ids before they become Python's


class Evaluator:
    """`evaluate` for detections that come in updates; the ground truth is read, checked and prepared once, for many epochs.

    An update holds all detections of its images. An image that comes again, in another update or from another process, is
    taken for the padding of a distributed sampler: one of its results is kept. Where they differ (in more than the order of
    the rows and `detection_id`), a `RepeatedImageWarning` names the images, and that with the most detections is kept; of as
    many, one that a hash of their contents tells. So neither the order of the updates nor how they are divided among
    processes changes any number.

    An `Evaluator` stays in its process; what travels is `state()`, a Polars frame that can be pickled, sent as an Arrow stream
    and written to a file.

    Parameters
    ----------
    truth, protocol, and all others
        as `evaluate` takes them

    Raises
    ------
    InputError
        bad ground truth
    ParameterError
        bad options

    >>> from apframe.schema import Dataset
    >>> evaluator = Evaluator(Dataset(
    ...     images={"image_id": [1, 2]}, categories={"category_id": [1]},
    ...     annotations={
    ...         "image_id": [1, 2], "category_id": [1, 1], "x": [0, 0], "y": [0, 0], "width": [9, 9], "height": [9, 9]}))
    >>> for image_id in (2, 1):
    ...     evaluator.update({
    ...         "image_id": [image_id], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> evaluator.compute().summary.row(0)
    ('AP', 1.0)
    >>> evaluator.state()["image_id"].to_list()
    [1, 2]
    """

    def __init__(
        self,
        truth: Any,
        protocol: Protocol | str = COCO,
        *,
        iou_type: str | None = None,
        iou_thresholds: Sequence[float] | None = None,
        recall_levels: Sequence[float] | None = None,
        area_ranges: Mapping[str, tuple[float, float]] | None = None,
        max_detections: Sequence[int | None] | None = None,
        categories: Sequence[int | str] | None = None,
        agnostic: bool | None = None,
        similarity: Similarity | Callable[[pl.DataFrame], Any] | None = None,
        matching: str | None = None,
        unknown_images: str = "error",
        join_by_name: str | Sequence[str] = (),
    ) -> None:
        if unknown_images not in ("error", "drop"):
            raise ParameterError(f'unknown_images is "error" or "drop", not {unknown_images!r}')
        self.protocol = as_protocol(protocol).variant(iou_type).with_options(
            iou_thresholds=iou_thresholds, recall_levels=recall_levels, area_ranges=area_ranges,
            max_detections=max_detections, agnostic=agnostic, similarity=similarity, matching=matching,
        )  # fmt: skip
        self._drop, self._join_by_name = unknown_images == "drop", join_by_name
        needs = self.protocol.similarity.needs
        dataset = read_dataset(truth, masks="mask" in needs)
        self._category_ids = choose_categories(dataset.core("categories"), categories)
        of_all_images = replace(self.protocol, detected_images_only=False)
        inputs = make_inputs(dataset, {}, self._category_ids, of_all_images)
        self._dataset, self._annotations = inputs.dataset, inputs.annotations
        self._require(pl.DataFrame(schema=list(needs)))
        self._masks = None
        if "mask" in needs and self._annotations.height and not self.protocol.detected_images_only:
            from apframe.similarity.mask_columns import read_masks  # which brings in NumPy

            self._masks = read_masks("annotations", with_image_sizes(self._annotations, self._dataset.images))
        self._known = set(inputs.image_ids.to_list())
        self.reset()

    def reset(self) -> None:
        """Forget all detections; the ground truth stays."""
        self._updates: dict[tuple[Any, ...], list[pl.DataFrame]] = {}  # by their kind
        self._plain: tuple[Any, ...] | None = None  # a kind that has passed all checks: a look at further values is enough
        self._columns: set[str] = set()
        self._seen: set[Any] = set()
        self._repeated: set[Any] = set()

    def update(self, detections: Any) -> None:
        """Add the detections of some images: all that each of them has.

        They are checked now, and copied. A refused update changes nothing. What only a comparison finds out, such as masks that
        cannot be decoded, is told by `compute`.

        Parameters
        ----------
        detections
            as `evaluate` takes them: anything that holds columns, a path, a list of dicts as COCO's results. The same columns
            in each update; attributes may be missing, and are null there. If `detection_id` is given, the ids are unique over
            all updates; else the detections are numbered in the order of `state`.

        Raises
        ------
        ColumnError
            columns are missing, cannot be read, or are not those of earlier updates
        RowError, DuplicateIdError, UnknownIdError
            naming the rows of this update
        """
        found = read_result_table(detections, None, lambda: self._dataset, self._join_by_name)
        self._add(to_polars(found, "detections"))

    def merge(self, other: Any) -> None:
        """Add the detections of another `Evaluator`, or its state: anything that holds columns, or the path of a Parquet file.

        The options of the other one play no part.

        Raises
        ------
        As `update`
        """
        self._add(to_polars(other.state() if isinstance(other, Evaluator) else other, "detections"))

    def state(self) -> pl.DataFrame:
        """All detections so far: a canonical table sorted by `image_id`, within an image as they came.

        It has `detection_id` if the updates had it. Attributes follow in the order of their names.

        Raises
        ------
        ColumnError
            an attribute has types that have nothing in common
        DuplicateIdError
            a `detection_id` stands in several rows

        Warns
        -----
        RepeatedImageWarning
            images came more than once, with different results
        """
        return self._collect().clone()

    def compute(self) -> Evaluation:
        """The evaluation of all detections so far; images without any are missed, as in `evaluate`.

        It may be asked for at any time, and again after further updates. Raises and warns as `state` and `evaluate` do.
        """
        inputs = make_inputs(self._dataset, self._collect(), self._category_ids, self.protocol)
        if self._masks is not None:
            inputs = replace(inputs, annotation_masks=self._masks)
        return Evaluation(lambda: inputs, self.protocol)

    def _add(self, frame: pl.DataFrame) -> None:
        found, kind = frame, _kind(frame)
        columns, plain = self._columns, self._plain
        if kind != plain or not _looks_right(frame):
            found = check_detections(frame, self._dataset, self._category_ids, self.protocol)
            if found.is_empty():
                return
            self._require(found)
            columns = _columns(found) - ({"detection_id"} - set(frame.columns))
            _refuse_other_columns(columns, self._columns or columns)
            plain = kind if _is_plain(frame.schema) else None
        image_id = found["image_id"]
        ids = set((image_id if image_id.len() < _MANY else image_id.unique()).to_list())
        if not ids <= self._known:
            frame = frame.filter(on_known_images(found, self._dataset, drop=self._drop))
            ids &= self._known
        if ids:
            # the frame may lie in memory that is not its own, such as arrays that the next step fills again; what is put
            # together of two is a copy
            own = frame.vstack(frame.head(1)).rechunk().head(frame.height)
            self._updates.setdefault(kind, []).append(own)
            self._columns, self._plain = columns, plain
            self._repeated |= ids & self._seen
            self._seen |= ids

    def _require(self, found: pl.DataFrame) -> None:
        if self._annotations.height:  # else nothing is compared
            require(self.protocol.similarity, found, self._annotations)

    def _collect(self) -> pl.DataFrame:
        """See `state`. What has been put together stays so, and is told once."""
        if not self._updates:
            return canonical_detections({}, self._dataset).drop("detection_id")
        try:
            table = pl.concat([self._together(updates) for updates in self._updates.values()], how="diagonal_relaxed")
        except pl.exceptions.PolarsError as error:
            raise ColumnError(f"detections: columns of different updates do not fit: {first_line(error)}") from error
        table, differ = self._without_repeated(table) if self._repeated else (table, [])
        if not table["image_id"].is_sorted():
            table = table.sort("image_id", maintain_order=True)
        if "detection_id" in table.columns:
            try:
                table = canonical("detections", table)
            except DuplicateIdError as error:  # as it is where each update numbers its own
                remedy = "make the ids unique, or drop the column from all updates: the detections are numbered then"
                problem = "detection_id is not unique over all updates"
                raise DuplicateIdError(error.table, problem, error.key, error.rows, remedy) from None
        known = [column.name for column in TABLES["detections"] if column.name in table.columns]
        table = table.select(*known, *sorted(set(table.columns) - set(known)))
        self._updates, self._repeated = {_kind(table): [table]}, set()
        if differ:
            warnings.warn(
                f"{len(differ):,} images came more than once with different results, of which one is kept: {listed(differ)}; "
                "give all detections of an image in one update, and call reset() before the next epoch",
                RepeatedImageWarning, 3,
            )  # fmt: skip
        return table

    def _together(self, updates: Iterable[pl.DataFrame]) -> pl.DataFrame:
        """Updates of one schema as a canonical table, with `detection_id` as it was given."""
        frame = pl.concat(updates, rechunk=True)
        found = check_detections(
            frame.drop("detection_id", strict=False), self._dataset, self._category_ids, self.protocol
        ).drop("detection_id")
        return found.with_columns(frame["detection_id"]) if "detection_id" in frame.columns else found

    def _without_repeated(self, table: pl.DataFrame) -> tuple[pl.DataFrame, list[Any]]:
        """What was put together, with one update of each image; and the images of which they differ."""
        heights = pl.Series([frame.height for updates in self._updates.values() for frame in updates])
        number = pl.int_range(len(heights), eager=True).repeat_by(heights).explode()
        again = is_known(table["image_id"], pl.Series(sorted(self._repeated)))
        one_of_each, differ = keep_one_of_each(table.with_columns(number.alias(_UPDATE)).filter(again))
        return pl.concat([table.filter(~again), one_of_each.drop(_UPDATE)]), differ

    def __repr__(self) -> str:
        n_detections = sum(frame.height for updates in self._updates.values() for frame in updates)
        what = f"{n_detections:,} detections on {len(self._seen):,} images"
        return f"Evaluator({self._dataset!r}, {what}, protocol={self.protocol.name})"


def keep_one_of_each(detections: pl.DataFrame) -> tuple[pl.DataFrame, list[Any]]:
    """Of each image the rows of one update, and the ids of the images whose updates differ, sorted.

    Parameters
    ----------
    detections
        canonical, and a column that numbers the updates

    >>> twice = pl.DataFrame({"image_id": [7, 7, 7, 8, 8], "score": [.5, .5, .6, .9, .9], _UPDATE: [0, 1, 1, 0, 1]})
    >>> rows, differ = keep_one_of_each(twice)
    >>> rows.rows(), differ
    ([(7, 0.5, 1), (7, 0.6, 1), (8, 0.9, 0)], [7])
    """
    ids = selectors.by_name("detection_id", require_all=False)
    contents = detections.drop(ids, _UPDATE)
    updates = (
        detections.select("image_id", _UPDATE, row=contents.hash_rows(), id=detections.select(ids, "image_id").hash_rows())
        .group_by("image_id", _UPDATE, maintain_order=True)
        .agg(pl.len(), contents=pl.col("row").sort(), in_order=pl.col("row"), ids=pl.col("id"))
        .with_columns(pl.col("contents", "in_order", "ids").hash())
    )
    best_first = updates.sort("len", "contents", "in_order", "ids", descending=[True, False, False, False])
    kept = best_first.unique("image_id", keep="first", maintain_order=True).select("image_id", _UPDATE)
    differ = updates.group_by("image_id").agg(pl.col("contents").n_unique()).filter(pl.col("contents") > 1)
    rows = detections.join(kept, on=["image_id", _UPDATE], how="semi", maintain_order="left")
    return rows, differ["image_id"].sort().to_list()


def _columns(found: pl.DataFrame) -> set[str]:
    """The canonical columns there are; those of a box only if it is given."""
    columns = {column.name for column in TABLES["detections"]} & set(found.columns)
    return columns if found["x"].count() else columns - set(BOX)


def _refuse_other_columns(columns: set[str], earlier: set[str]) -> None:
    lacking, more = sorted(earlier - columns), sorted(columns - earlier)
    problems = [f"no column {', '.join(lacking)}, which earlier updates have"] if lacking else []
    problems += [f"column {', '.join(more)}, which earlier updates do not have"] if more else []
    if problems:
        raise ColumnError(f"detections: {'; '.join(problems)}; give the same columns in each update")


def _kind(frame: pl.DataFrame) -> tuple[Any, ...]:
    return *frame.columns, *frame.dtypes


def _is_plain(schema: pl.Schema) -> bool:
    """Whether of columns like these only such values can be refused as `_looks_right` sees."""
    for column in TABLES["detections"]:
        dtype = schema.get(column.name, column.dtype)
        if column.is_id:
            fits = dtype == pl.String or dtype.is_integer()
        elif column.dtype == pl.Float64:
            fits = dtype.is_numeric()
        else:
            fits = column.dtype in (None, dtype)
        if not fits:
            return False
    return "bbox" not in schema


def _looks_right(frame: pl.DataFrame) -> bool:
    """Whether a look at some sums finds nothing to refuse; if it does, the full checks say what."""
    for values in frame:
        if values.name in _LOOKED_AT and (values.null_count() or not len(values)):
            return False
        if values.name in _NUMBERS and not math.isfinite(values.sum()):
            return False
        if values.name in ("width", "height", "area") and values.min() < 0:  # type: ignore[operator]
            return False
    return "detection_id" not in frame.columns or frame["detection_id"].n_unique() == frame.height
