"""`check`: everything that is wrong or suspicious in a data set and its results, as one table."""

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

_WRITTEN = {"fractions", "corners"}  # what a table looks like by itself, which is said better where both are compared
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

    Errors are the rows that `evaluate` refuses, or leaves out with `invalid="drop"`. The other checks, of what is only
    doubtful, are of the other rows.

    Parameters
    ----------
    truth
        as `evaluate` takes it: a `Dataset`, a path of any format, a dict as `json.load` returns it for COCO; also a dict of
        the tables `images`, `categories` and `annotations`, which hold columns. The path of judgements of search runs is taken
        too: see `check_run`.
    detections
        as `evaluate` takes them; None checks the ground truth alone.

    Returns
    -------
    A frame with a row for each finding, none where all is well; the most severe first, then those of most rows. It is
    printed as a line for each.

    - `severity`: "error" (evaluation refuses it), "warning" (numbers are probably not what is meant), "note" (worth knowing)
    - `check`: a short name of what was looked for
    - `table`, `n_rows`, `rows`: where it is, in how many rows, and the ids of the first five ("row 3": the third one, where
      ids are missing; none where it is about the table as a whole)
    - `problem`, `remedy`: in words, and what to do; "3 of 10 annotations" are 3 of all 10 that the source has, including those
      that were left out

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
        a path that is missing or of no format that can be told, a file that cannot be parsed.
    ParameterError
        no such format, an option that it does not take, or options of files with what is in memory.

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
        with collecting() as said, validating(report), pool() as others:
            read = others.submit(_truth, truth, reading, report, alone=detections is None)
            found = None if detections is None else _found(detections, reading, report, read.result)
            dataset = read.result()
    dataset, found = dataset and with_upright_boxes(dataset), None if found is None else upright(found)
    findings = [of_fault(each) for each in report.faults]
    missing = MissingResultsWarning.__name__
    findings += check_plugins()
    findings += [check_missing(message) for category, message in said if category == missing]
    warn_again(each for each in said if each[0] not in (missing, BoxFormatWarning.__name__))
    refused_of = {finding.table for finding in findings}
    if dataset is not None:
        findings += _check_dataset(dataset)
    if found is not None:
        findings += _check_results(found, dataset)
    if dataset is not None and found is not None and "shifted_ids" not in {finding.check for finding in findings}:
        are_yolo = reading.results_format == "yolo" and not {"mask", "keypoints"} & set(found.columns)
        misplaced = list(check_misplaced(found, dataset, are_yolo=are_yolo))
        explained = _WRITTEN if misplaced else set()
        if any(each.check == "field_order" for each in misplaced):  # another field was read as the score
            explained = {*_WRITTEN, "filtered_results"}
        findings = [each for each in findings if each.check not in explained] + misplaced
    if dataset is not None and found is not None and not _MISPLACED & {finding.check for finding in findings}:
        findings += check_overlaps(found, dataset.core("annotations"))
    empty = {"no_annotations": "annotations", "no_detections": "detections"}  # which may be so because all were refused
    return as_table((finding for finding in findings if empty.get(finding.check) not in refused_of), report.n_rows)


def _truth(source: Any, reading: Reading, report: Report, *, alone: bool) -> Dataset | None:
    """The valid rows as a data set, with their masks; None if a whole table cannot be read."""
    try:
        dataset = replace(reading, masks=True).dataset(source, beside_results=not alone).with_masks
    except (ColumnError, IdTypeError, RowError) as error:
        report.add_error(error)
        return None
    report.n_rows.update({table: dataset.core(table).height for table in GROUND_TRUTH if table not in report.n_rows})
    return dataset


def _found(source: Any, reading: Reading, report: Report, truth: Callable[[], Dataset | None]) -> pl.DataFrame | None:
    """Canonical detections of what is right; None where there are none, as the table cannot be read.

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
    """The highest severity among findings, None if there are none.

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


def _check_results(found: pl.DataFrame, dataset: Dataset | None) -> Iterable[Finding]:
    yield from check_scores(found)
    yield from check_shapes("detections", found)
    yield from check_yaws("detections", found)
    yield from check_repeats(found)
    yield from check_numbers(found)
    if dataset is not None:
        images = dataset.core("images")
        yield from check_filtered(found, images.height)
        yield from check_references(found, dataset)
        yield from check_boxes("detections", found, images)
        yield from check_masks("detections", found, images)
        yield from check_label_maps(found, dataset)
        yield from check_shifts(found, dataset)
        yield from check_sides(found, dataset.core("annotations"))
