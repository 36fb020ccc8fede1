"""The Evaluator, which collects detections step by step from a training loop, in one process or many."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from inspect import signature
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from apframe.adapters.arrays import check_ids
from apframe.collecting import collecting
from apframe.evaluation.evaluate import evaluate
from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.in_memory import InMemory
from apframe.evaluation.options import Options, choose
from apframe.evaluation.repeated import UPDATE, keep_one_of_each
from apframe.evaluation.seen_images import NamedImages, SeenImages
from apframe.exceptions import ColumnError, DuplicateIdError, RepeatedImageWarning, RowError, warn
from apframe.formats.outputs import Outputs
from apframe.option_values import one_of
from apframe.protocols.application import (
    check_detections,
    make_inputs,
    on_known_images,
    warn_of_dropped,
    without_invalid_shapes,
)
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.known import DetectedImagesOnly
from apframe.rows import treating_malformed
from apframe.similarity.extents import prepare_shapes
from apframe.similarity.pairs import require
from apframe.tables.box_formats import warn_of_boxes
from apframe.tables.canonical import canonical
from apframe.tables.column_sources import to_polars
from apframe.tables.conditions import choose_categories
from apframe.tables.dataset import canonical_detections
from apframe.tables.ids import is_known
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.boxes import BOX
from apframe.validation import Fault, Report, left_out, validating
from apframe.wording import Note, counted, first_line, in_words, listed, merged

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

_GIVEN = "detection_id_of_evaluator"  # the caller's `detection_id`, which need not be unique yet


class Evaluator:
    """Evaluate detections that come in updates; the ground truth is read, checked and prepared once, for many epochs.

    An update contains all detections of its images. An image that comes again, in another update or from another process, is
    treated as padding added by a distributed sampler: one of its results is kept. If they differ (in more than the order of the
    rows and `detection_id`), a `RepeatedImageWarning` names the images, and the result with the most detections is kept; if
    several have equally many, a hash of their contents decides. So neither the order of the updates nor their distribution
    among processes changes any number.

    An `Evaluator` stays in its process; to move results, use `state()`, a Polars frame that can be pickled, sent as an Arrow
    stream and written to a file. (The evaluator can be pickled itself, but carries its ground truth.) Threads may call it at
    the same time.

    Start worker processes, including those of a data loader, with "spawn" or "forkserver". A process that was forked after
    Polars has run hangs as soon as it uses Polars, which has its own threads; Linux forks by default before Python 3.14.

    Parameters
    ----------
    truth, protocol, and all others
        as in `evaluate`.

    Raises
    ------
    InputError
        bad ground truth.
    ParameterError
        invalid options.

    >>> from apframe.tables.dataset import Dataset
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

    __signature__ = signature(evaluate).replace(
        parameters=[each for each in signature(evaluate).parameters.values() if each.name != "detections"],
        return_annotation="None",
    )

    def __init__(self, truth: TruthLike, protocol: Protocol | str = COCO, **options: Unpack[Options]) -> None:
        choice = choose(protocol, **options)
        self.protocol, self._drop, self._reading = choice.protocol, choice.drop_unknown_images, choice.reading.of_part()
        self._name, self._similarity = choice.name, self.protocol.similarity
        self._invalid, self._malformed = choice.invalid, choice.malformed
        report = Report(raises=self._invalid != "drop")
        with treating_malformed(self._malformed):
            with validating(report):
                dataset = self._reading.dataset(truth)
            dataset = choice.with_attributes(dataset)
            if self._invalid == "drop":
                dataset, _ = without_invalid_shapes(dataset, canonical_detections({}, dataset), self.protocol, report)
            self._faults_of_truth = report.faults
            self._category_ids = choose_categories(dataset.core("categories"), choice.categories)
            inputs = make_inputs(dataset, {}, self._category_ids, self.protocol.of_truth)
        self._dataset, self._annotations = inputs.dataset, inputs.annotations
        self._altered = inputs.of_sound_rows(report.faults).altered
        self._remarks = [note for note in inputs.remarks if note.counts]  # others do not change
        self._require(pl.DataFrame(schema=list(self._similarity.needs)))
        changes_rows = self._dataset.merged is not None or self._dataset.left_out is not None
        changes_values = self._reading.joined or any(self._reading.boxes.values()) or changes_rows
        self._reads_types_alone = not changes_values and self._invalid != "drop"
        self._prepared: dict[str, Any] = {}
        self._evaluates_all = self.protocol.rule(DetectedImagesOnly) is None
        if self._annotations.height and self._evaluates_all:
            expected = prepare_shapes("annotations", self._annotations, self._dataset.images, self._similarity)
            self._prepared = {} if expected is None else {"annotation_shapes": expected}
        self._empty = canonical_detections({}, self._dataset).drop("detection_id")
        self._images = NamedImages(self._dataset, self._reading.joined, drop_unknown=self._drop)
        # held while detections are added or joined; a hook for warnings may print this evaluator meanwhile
        self._lock = RLock()
        self.reset()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copies: everything except the lock, which stays in its process."""
        with self._lock:
            state = self.__dict__ | {
                "_updates": deepcopy(self._updates),
                "_seen": deepcopy(self._seen),
            }  # to which more may be added while it is pickled
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state with a new lock."""
        self.__dict__ = state | {"_lock": RLock()}

    def reset(self) -> None:
        """Remove all detections; the ground truth stays."""
        with self._lock:
            self._table = self._empty  # the updates that have been joined
            self._updates: dict[tuple[Any, ...], _Updates] = {}  # later updates, by columns and types
            self._columns: set[str] = set()
            self._n_updates = 0
            self._faults: list[Fault] = []  # of the updates
            self._seen = SeenImages()

    def update(self, detections: DetectionsLike, image_ids: Sequence[int | str] | None = None) -> None:
        """Add the detections of some images; each image must be complete.

        They are copied. Columns, types and `image_ids` are checked immediately, as are the values and images of the first
        update. Those of later updates are checked by the next `state` or `compute`, whose error names the update and its rows:
        then `reset`, and start again. Masks that cannot be decoded are reported by `compute`. A rejected update changes
        nothing. Several threads may call this at the same time.

        Parameters
        ----------
        detections
            as in `evaluate`: any object with columns, a path, a list of dicts like COCO's results, outputs of detectors by
            image id or with `image_ids`. Each update must have the same columns; attributes may be missing, and are then null.
            If `detection_id` is given, the ids must be unique over all updates; otherwise the detections are numbered in the
            order of `state`.
        image_ids
            the images of outputs in a list, in their order; or all images that a table, array or list of rows is about,
            including those without detections. Outputs by image id, outputs with an `image_id`, and results of ultralytics
            already name their images. If images are matched by name, these are names of files.

        Raises
        ------
        ColumnError
            columns are missing, cannot be read, or differ from those of earlier updates.
        RowError, DuplicateIdError, UnknownIdError
            the error names the rows of this update, or the positions in `image_ids` of images that the ground truth lacks.
        IdTypeError
            ids are integers on one side and strings on the other.
        """
        known_ids = None if image_ids is None else check_ids("update", None, image_ids)
        outputs, number = self._reading.recognized(detections, known_ids), self._next_number()
        ids = self._images.ids_of(outputs if isinstance(outputs, Outputs) else None, known_ids)
        if not (isinstance(outputs, pl.DataFrame) and self._add_alike(outputs, number)):
            self._read(outputs, number)
        with self._lock:
            self._seen.add(ids)

    def _read(self, detections: Any, number: int) -> None:
        report = Report(raises=self._invalid != "drop")
        with treating_malformed(self._malformed), validating(report):
            raw = self._reading.raw_results(detections, lambda: self._dataset, warns=False)
            rows = to_polars(raw, "detections")
            if self._invalid == "drop":
                numbered = canonical_detections(rows, self._dataset)
                rows = numbered if "detection_id" in rows.columns else numbered.drop("detection_id")
        with self._lock:
            self._faults += report.faults
        self._add(rows, number, as_given=rows is detections)

    def merge(self, other: Any) -> None:
        """Add the detections of another `Evaluator`, or its state: any object with columns, or the path of a Parquet file.

        Paths of label maps in a file must be inside its folder. If label maps are elsewhere, pass the state as a frame
        (`pl.read_parquet`). The options of the other evaluator are not used. A state does not know images that were updated
        without detections.

        Raises
        ------
        ColumnError, RowError, DuplicateIdError, UnknownIdError, IdTypeError
            as `update`; merged states are counted as updates
        """
        number = self._next_number()
        seen = None
        if isinstance(other, Evaluator):
            with other._lock:
                other, seen = other.state(), deepcopy(other._seen)
        self._add(to_polars(other, "detections"), number)
        with self._lock:
            self._seen.merge(seen)

    def state(self) -> pl.DataFrame:
        """Return all detections so far: a canonical table sorted by `image_id`, and within an image by order of arrival.

        It has `detection_id` if the updates had it. Attributes follow, sorted by name.

        Raises
        ------
        ColumnError
            an attribute has incompatible types.
        RowError, UnknownIdError
            the error names an update with invalid values or images, and its rows; updates, including merged states, are
            numbered from 1 since the start or `reset`.
        DuplicateIdError
            a `detection_id` is in several rows.

        Warns
        -----
        RepeatedImageWarning
            images came more than once, with different results
        """
        with self._lock:
            return self._collect().clone()

    def compute(self, images: str = "all") -> Evaluation:
        """Return the evaluation of all detections so far; images without detections are missed, as in `evaluate`.

        It can be called at any time, and again after further updates. Raises and warns as `state` and `evaluate` do.

        Parameters
        ----------
        images
            "all" images of the ground truth, or those "seen" so far: those with detections, and those that updates named (see
            `image_ids` of `update`). Updates by tables or rows without `image_ids`, and merged states, do not name images
            without detections

        Warns
        -----
        MissingResultsWarning
            images were in no update, as in an epoch that stopped early. If not every update named its images, the others may
            just have no detections; then there is a warning if more than a quarter of the annotated images are missing, and 10
            at least. One of several processes of `torch.distributed`, or of a launcher that sets `WORLD_SIZE`, warns only after
            `merge`. With "seen", there is a warning if no image was updated; or if some were excluded, and not every update
            named its images.
        """
        one_of("images", images, ("all", "seen"))
        with self._lock:
            detections, seen = self._collect(), deepcopy(self._seen)
        image_ids = self._dataset.core("images")["image_id"]
        were_seen = seen.among(image_ids, detections["image_id"])
        if "detection_id" not in detections.columns:
            detections = detections.with_row_index("detection_id", 1).cast({"detection_id": pl.Int64})
        if not any(self._reading.boxes.values()):
            warn_of_boxes("detections", detections, lambda: self._dataset.core("images"))
        report = Report()
        if self._invalid == "drop":
            _, detections = without_invalid_shapes(self._dataset, detections, self.protocol, report)
        notes = left_out([*self._faults_of_truth, *self._faults, *report.faults])
        dataset, prepared = self._dataset, self._prepared
        is_said = False
        if images == "all":
            if self._evaluates_all:
                is_said = seen.warn_of_missing(image_ids, were_seen, self._annotations["image_id"])
        elif not were_seen.all():
            seen.warn_of_left_out(image_ids, were_seen)
            kept = is_known(dataset.annotations["image_id"], image_ids.filter(were_seen))
            dataset = dataset.part(dataset.images.filter(were_seen), dataset.annotations.filter(kept))
            only = f"only the {were_seen.sum():,} of {len(image_ids):,} images that were updated"
            prepared, notes = {}, [*notes, Note(only)]
        none_seen = dataset.images.is_empty() and len(image_ids) > 0  # already in a warning
        with treating_malformed(self._malformed), collecting() if none_seen else nullcontext():
            inputs = make_inputs(dataset, detections, self._category_ids, self.protocol, are_checked=True)
        none_given = inputs.none_given and not is_said
        inputs = replace(inputs, prepared={**inputs.prepared, **prepared}, none_given=none_given, altered=self._altered)
        notes = [*merged([*self._remarks, *inputs.remarks], max), *notes]
        return Evaluation(InMemory.of(inputs), self.protocol, notes=in_words(notes), name=self._name)

    def _next_number(self) -> int:
        with self._lock:
            self._n_updates += 1
            return self._n_updates

    def _add_alike(self, frame: pl.DataFrame, number: int) -> bool:
        """Add a frame immediately if a frame with its columns and types needed no reading, and return True in this case."""
        with self._lock:
            alike = self._updates.get(_kind(frame))
            if alike is None or not alike.as_given:
                return False
            alike.add(frame, number)
            return True

    def _add(self, frame: pl.DataFrame, number: int, *, as_given: bool = False) -> None:
        kind = _kind(frame)
        with self._lock:
            if kind in self._updates:
                self._updates[kind].add(frame, number)
                return
            checked = self._checked(frame)
            if checked.is_empty():
                return
            self._require(checked)
            columns = _columns(checked) - ({"detection_id"} - set(frame.columns))
            _refuse_other_columns(columns, self._columns or columns)
            self._columns, self._updates[kind] = columns, _Updates(frame, number, as_given=as_given and self._reads_types_alone)

    def _checked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return detections on known images as a canonical table."""
        with treating_malformed(self._malformed):
            checked = check_detections(frame, self._dataset, self._category_ids, self.protocol)
        is_known_image = on_known_images(checked, self._dataset, drop=self._drop)
        if is_known_image.any():
            warn_of_dropped(checked, is_known_image, self._dataset, self.protocol)
        return checked if is_known_image.all() else checked.filter(is_known_image)

    def _require(self, detections: pl.DataFrame) -> None:
        if self._annotations.height:  # otherwise nothing is compared
            require(self._similarity, detections, self._annotations)

    def _collect(self) -> pl.DataFrame:
        """Join the updates, see `state`, and warn about them once."""
        if not self._updates:
            return self._table
        tables = [self._table.with_columns(pl.lit(0, pl.Int64).alias(UPDATE))] if self._table.height else []
        tables += [self._put_together(updates) for updates in self._updates.values()]
        try:
            table = pl.concat(tables, how="diagonal_relaxed", rechunk=True)
        except pl.exceptions.PolarsError as error:
            raise ColumnError(f"columns of different updates do not fit: {first_line(error)}", table="detections") from error
        table, differ = keep_one_of_each(table)
        if not table["image_id"].is_sorted():
            table = table.sort("image_id", maintain_order=True)
        if "detection_id" in table.columns:
            try:
                with treating_malformed(self._malformed):
                    table = canonical("detections", table)
            except DuplicateIdError as error:  # happens if each update numbers its own
                remedy = "make the ids unique, or drop the column from all updates: the detections are numbered then"
                problem = "detection_id is not unique over all updates"
                raise DuplicateIdError(error.table, problem, error.key, error.rows, remedy) from None
        standard = [column.name for column in TABLES["detections"] if column.name in table.columns]
        self._table, self._updates = table[[*standard, *sorted(set(table.columns) - {*standard, UPDATE})]], {}
        if differ:
            warn(
                f"{counted(len(differ), 'image')} came more than once with different results; one result of each is kept: "
                f"{listed(differ)}; give all detections of an image in one update, and call reset() before the next epoch",
                RepeatedImageWarning,
            )
        return self._table

    def _put_together(self, updates: _Updates) -> pl.DataFrame:
        """Return the updates as a canonical table with their numbers, and `detection_id` as in the updates."""
        numbers = updates.number_rows()
        try:
            checked = self._checked(updates.rows.rename({"detection_id": _GIVEN}, strict=False).with_columns(numbers))
        except RowError as error:
            raise _name_update(error, numbers) from None
        return checked.drop("detection_id").rename({_GIVEN: "detection_id"}, strict=False)

    def __repr__(self) -> str:
        with self._lock:
            n_detections = self._table.height + sum(updates.rows.height for updates in self._updates.values())
        return f"Evaluator({self._dataset!r}, {counted(n_detections, 'detection')}, protocol={self.protocol.name})"


class _Updates:
    """Updates with the same columns and types, joined in their own memory, because the caller may refill its buffers.

    They are `as_given` if a frame with these columns and types needs no reading.
    """

    def __init__(self, first: pl.DataFrame, number: int, *, as_given: bool) -> None:
        self.as_given = as_given
        self.rows, self._numbers, self._heights = _copy(first), [number], [first.height]
        self._is_flat = not any(dtype.is_nested() or dtype.is_object() for dtype in first.dtypes)

    def add(self, frame: pl.DataFrame, number: int) -> None:
        if self._is_flat:
            self.rows.extend(frame)
        else:  # `extend` would not copy lists and structs
            self.rows.vstack(_copy(frame), in_place=True)
        self._numbers.append(number)
        self._heights.append(frame.height)

    def number_rows(self) -> pl.Series:
        return pl.Series(UPDATE, np.repeat(self._numbers, self._heights))


def _kind(frame: pl.DataFrame) -> tuple[Any, ...]:
    return (*frame.columns, *frame.dtypes)


def _copy(frame: pl.DataFrame) -> pl.DataFrame:
    """Copy the memory too, by joining two frames."""
    return frame.vstack(frame.head(1)).rechunk().head(frame.height)


def _name_update(error: RowError, numbers: pl.Series) -> RowError:
    """Convert an error about rows of many updates (from 1) to one about the first update with such rows."""
    of_rows = numbers.gather([row - 1 for row in error.rows])
    first = of_rows[0]
    start = numbers.index_of(first)
    rows = [row - start for row, number in zip(error.rows, of_rows, strict=True) if number == first]
    problem, remedy = f"in update {first}, {error.problem}", f"{error.remedy}, and start again with reset()"
    return type(error)(error.table, problem, "row", rows, remedy)


def _columns(detections: pl.DataFrame) -> set[str]:
    """Return the canonical columns that exist; those of a box only if boxes are given."""
    columns = {column.name for column in TABLES["detections"]} & set(detections.columns)
    return columns if detections["x"].count() else columns - set(BOX)


def _refuse_other_columns(columns: set[str], earlier: set[str]) -> None:
    lacking, more = sorted(earlier - columns), sorted(columns - earlier)
    problems = [f"no column {', '.join(lacking)}, which earlier updates have"] if lacking else []
    problems += [f"column {', '.join(more)}, which earlier updates do not have"] if more else []
    if problems:
        raise ColumnError(f"{'; '.join(problems)}", "give the same columns in each update", table="detections")
