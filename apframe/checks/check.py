"""`check`: find everything wrong or suspicious in a data set and its results, as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe.checks.boxes import check_areas, check_boxes, check_image_sizes, check_near_duplicates
from apframe.checks.cuboids import check_sides, check_yaws
from apframe.checks.findings import Finding, Findings, as_table, of_fault
from apframe.checks.label_maps import check_label_maps, check_labels
from apframe.checks.masks import check_masks
from apframe.checks.misplaced import check_misplaced
from apframe.checks.overlap_checks import check_overlaps
from apframe.checks.plugin_checks import check_plugins
from apframe.checks.references import check_references, check_shifts, check_truth
from apframe.checks.result_checks import check_filtered, check_missing, check_numbers, check_repeats, check_scores
from apframe.checks.run_checks import check_run
from apframe.checks.shapes import check_shapes
from apframe.collecting import collecting
from apframe.exceptions import (
    BoxFormatWarning,
    ColumnError,
    IdTypeError,
    MissingResultsWarning,
    ParameterError,
    RowError,
    warn_again,
)
from apframe.formats.reading import Reading
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import names_keywords
from apframe.paths import reading_once
from apframe.retrieval.run_inputs import is_for_search
from apframe.similarity.extents import with_upright_boxes
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset, canonical_detections
from apframe.tables.schemas import GROUND_TRUTH
from apframe.tables.shapes.corners import upright
from apframe.threads import pool
from apframe.validation import Report, validating

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

_WRITTEN = {"fractions", "corners"}  # findings about one table, which a comparison of both explains better
_MISPLACED = _WRITTEN | {
    "field_order",
    "shifted_ids",
    "centres",
    "swapped_axes",
    "scaled",
    "resized_images",
}  # which say why detections do not overlap anything


@names_keywords
def check(truth: TruthLike, detections: DetectionsLike | None = None, **options: Unpack[ReadingOptions]) -> Findings:
    """Find errors and suspicious values in a data set and, if given, in its results.

    Errors are the rows that `evaluate` rejects, or drops with `invalid="drop"`. All other checks, for doubtful values, look at
    the remaining rows.

    Parameters
    ----------
    truth
        as for `evaluate`: a `Dataset`, a path of any format, a dict as `json.load` returns it for COCO; also a dict of the
        tables `images`, `categories` and `annotations`, each a dict of columns. The path of judgements of search runs is
        accepted too: see `check_run`.
    detections
        as for `evaluate`; None checks only the ground truth.

    Returns
    -------
    A frame with a row for each finding, empty without findings; the most severe first, then those with the most rows. It
    prints a line for each finding.

    - `severity`: "error" (evaluation rejects it), "warning" (numbers are probably wrong), "note" (worth knowing)
    - `check`: the name of the check
    - `table`, `n_rows`, `rows`: the table, the number of rows, and the ids of the first five ("row 3" is the third row if ids
      are missing; empty if the finding is about the table as a whole)
    - `problem`, `remedy`: the problem in words, and what to do; "3 of 10 annotations" counts all 10 of the source, including
      rows that were left out

    The checks are

    - errors: `duplicate_id`, `unknown_reference` (of annotations and lists of categories), `unknown_image` (of detections),
      `id_types` (text on one side, numbers on the other), `column` (missing, or of another type), `invalid_value` (missing,
      NaN, negative, of another type), `invalid_shape` (keypoints, corners, intervals, cuboids), `label_map` (of segments:
      missing, of another size, with other segments than those listed)
    - warnings: `duplicate_name`, `annotation_id_0`, `no_annotations`, `image_size`, `mask_size`, `area_of_box`,
      `area_of_mask`, `near_duplicate`, `no_detections`, `score_outside_0_1`, `equal_scores`, `filtered_results`,
      `repeated_image`, `unknown_category`, `missing_results`, `too_many_detections` (of a benchmark), `shifted_ids`,
      `no_overlap`, `field_order` (of YOLO's text), `corners`, `centres`, `fractions`, `swapped_axes`, `scaled`,
      `resized_images`, `degrees` and `swapped_sides` (of cuboids), `listed_segments` (of ground truth, unlike its label
      maps), `unnamed_label` (of ground truth), `broken_plugin` (of another package, which cannot be imported)
    - notes: `unused_category`, `image_without_annotations`, `missing_mask`, `many_of_category`, `many_detections`
    - errors or warnings: `invalid_mask` (a warning where there are boxes)
    - warnings or notes: `outside_image` (a note where a part is inside), `empty_box` (a note of detections)

    Raises
    ------
    FormatError
        a path that is missing or of an unrecognized format, a file that cannot be parsed.
    ParameterError
        an unknown format, an option that it does not accept, or options of files with data in memory.

    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]},
    ...     {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> check(truth).select("severity", "check", "rows", "problem").rows()  # doctest: +NORMALIZE_WHITESPACE
    [('error', 'unknown_reference', ['2'], '1 of 2 annotations: image_id is not among the images'),
     ('note', 'unused_category', ['2'], '1 of 2 categories has no annotations')]
    """
    reading = Reading.of_options(options)
    with reading_once(truth), reading_once(detections):
        if not reading.given_options and isinstance(truth, (str, Path)) and is_for_search(Path(truth)):
            return check_run(truth, detections)
        reading = reading.of_files(truth, detections)
        report = Report()
        with collecting() as warnings_, validating(report), pool() as others:
            read = others.submit(_truth, truth, reading, report, alone=detections is None)
            detections_ = None if detections is None else _detections_of(detections, reading, report, read.result)
            dataset = read.result()
    dataset, detections_ = dataset and with_upright_boxes(dataset), None if detections_ is None else upright(detections_)
    findings = [of_fault(each) for each in report.faults]
    missing = MissingResultsWarning.__name__
    findings += check_plugins()
    findings += [check_missing(message) for category, message in warnings_ if category == missing]
    warn_again(each for each in warnings_ if each[0] not in (missing, BoxFormatWarning.__name__))
    refused_of = {finding.table for finding in findings}
    if dataset is not None:
        findings += _check_dataset(dataset)
    if detections_ is not None:
        findings += _check_results(detections_, dataset)
    if dataset is not None and detections_ is not None and "shifted_ids" not in {finding.check for finding in findings}:
        are_yolo = reading.results_format == "yolo" and not {"mask", "keypoints"} & set(detections_.columns)
        misplaced = list(check_misplaced(detections_, dataset, are_yolo=are_yolo))
        explained = _WRITTEN if misplaced else set()
        if any(each.check == "field_order" for each in misplaced):  # another field was read as the score
            explained = {*_WRITTEN, "filtered_results"}
        findings = [each for each in findings if each.check not in explained] + misplaced
    if dataset is not None and detections_ is not None and not _MISPLACED & {finding.check for finding in findings}:
        findings += check_overlaps(detections_, dataset.core("annotations"))
    empty = {"no_annotations": "annotations", "no_detections": "detections"}  # possibly because all rows were rejected
    return as_table((finding for finding in findings if empty.get(finding.check) not in refused_of), report.n_rows)


def _truth(source: Any, reading: Reading, report: Report, *, alone: bool) -> Dataset | None:
    """Return the valid rows as a data set, with their masks; None if a whole table cannot be read."""
    try:
        dataset = replace(reading, masks=True).dataset(source, beside_results=not alone).with_masks
    except (ColumnError, IdTypeError, RowError) as error:
        report.add_error(error)
        return None
    report.n_rows.update({table: dataset.core(table).height for table in GROUND_TRUTH if table not in report.n_rows})
    return dataset


def _detections_of(source: Any, reading: Reading, report: Report, truth: Callable[[], Dataset | None]) -> pl.DataFrame | None:
    """Return the valid rows as canonical detections; None if the table cannot be read.

    Without a data set, the results are checked on their own, if their format allows it.
    """
    try:
        raw = reading.raw_results(source, truth)
        dataset = truth()
        return canonical("detections", raw) if dataset is None else canonical_detections(raw, dataset)
    except (ColumnError, IdTypeError, RowError) as error:
        report.add_error(error)
    except ParameterError:
        if truth() is not None:
            raise
        report.add_error(ColumnError("cannot be read without their ground truth", "correct that first", table="detections"))
    return None


def worst(findings: pl.DataFrame) -> str | None:
    """Return the highest severity among findings, None without findings.

    >>> worst(check({"images": [], "categories": [], "annotations": []}))
    'warning'
    """
    return None if findings.is_empty() else findings["severity"].min()  # type: ignore[return-value]


def _check_dataset(dataset: Dataset) -> Iterable[Finding]:
    images, annotations = dataset.core("images"), dataset.core("annotations")
    yield from check_truth(dataset)
    yield from check_labels(dataset)
    yield from check_image_sizes(images)
    yield from check_boxes("annotations", annotations, images)
    yield from check_areas(annotations)
    yield from check_near_duplicates(annotations)
    yield from check_masks("annotations", annotations, images)
    yield from check_shapes("annotations", annotations)
    yield from check_yaws("annotations", annotations)


def _check_results(detections: pl.DataFrame, dataset: Dataset | None) -> Iterable[Finding]:
    yield from check_scores(detections)
    yield from check_shapes("detections", detections)
    yield from check_yaws("detections", detections)
    yield from check_repeats(detections)
    yield from check_numbers(detections)
    if dataset is not None:
        images = dataset.core("images")
        yield from check_filtered(detections, images.height)
        yield from check_references(detections, dataset)
        yield from check_boxes("detections", detections, images)
        yield from check_masks("detections", detections, images)
        yield from check_label_maps(detections, dataset)
        yield from check_shifts(detections, dataset)
        yield from check_sides(detections, dataset.core("annotations"))
