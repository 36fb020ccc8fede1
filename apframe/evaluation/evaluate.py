"""`evaluate`: from detections and ground truth to an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe import static_table
from apframe.evaluation.options import Choice, choose
from apframe.formats.catalogue import as_format, naming_format
from apframe.formats.coco.format import Coco
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import names_keywords
from apframe.paths import absolute, is_pattern, is_utf8, kind_at, reading_once
from apframe.protocols.application import check_detections, make_inputs, on_known_images, without_invalid_shapes
from apframe.protocols.coco import COCO
from apframe.protocols.inputs import Inputs
from apframe.protocols.protocol import Protocol
from apframe.registry import published_for
from apframe.rows import treating_malformed
from apframe.similarity.pairs import Similarity
from apframe.threads import pool
from apframe.validation import Fault, Report, left_out, validating
from apframe.wording import Note, option_name

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.formats.input_types import DetectionsLike, TruthLike

_PACKED = (".gz", ".zip", ".bz2", ".xz", ".zst")


@names_keywords
def evaluate(
    truth: TruthLike,
    detections: DetectionsLike,
    protocol: Protocol | str = COCO,
    *,
    iou_type: str | None = None,
    iou_thresholds: Sequence[float] | Mapping[str, float] | None = None,
    recall_levels: Sequence[float] | None = None,
    recall_positions: int | None = None,
    area_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_detections: Sequence[int | None] | None = None,
    categories: Sequence[int | str] | None = None,
    agnostic: bool | None = None,
    similarity: Similarity | Callable[[pl.DataFrame], Any] | None = None,
    matching: str | None = None,
    unknown_images: str = "error",
    invalid: str = "error",
    image_attributes: Any = None,
    name: str | None = None,
    **reading: Unpack[ReadingOptions],
) -> Evaluation:
    """Evaluate detections against ground truth.

    Parameters
    ----------
    truth
        a `Dataset`, a path of any format, see `formats`, or a dict of `images`, `categories` and `annotations`: frames, or
        lists as `json.load` returns them for COCO.
    detections
        a frame with `image_id, category_id, score, x, y, width, height` (any object with columns), a path of any format, or a
        list of dicts like COCO's results; their numbers and lists may be NumPy's. Other shapes than boxes are possible: `mask`,
        `keypoints`, `corners`, `segment_id`, or `start_time` and `end_time`. Two paths are read side by side. Also:

        - outputs of a detector, by image id, as in `{22: output}`: torchvision's dicts, ultralytics' `Results`, supervision's
          `Detections`; see `from_torchvision`, `from_ultralytics` and `from_supervision`. `Results` are also accepted alone or
          in a list: their image ids are then file names, which are matched by name if the ground truth numbers its images.
          Classes with names are matched to categories by name if these have names, otherwise by number;
        - an array of n × 7 numbers: image_id, x, y, width, height, score, category_id, as for pycocotools' `loadRes`.
    protocol
        the rules, `apframe.COCO` by default; or the name of a published protocol, such as "voc2007".
    iou_type
        the variant of the protocol ("segm", "keypoints", ...); by default, its first one.
    iou_thresholds, recall_levels, recall_positions, area_ranges, max_detections, agnostic, similarity, matching
        changes to the protocol; see `Protocol.with_options`. In `max_detections`, None stands for all detections, as in [1, 10,
        None]. `iou_thresholds` may be one for each category: {"Car": 0.7, "Cyclist": 0.5}.
    categories
        the only categories to evaluate, by name or id; one or several.
    unknown_images
        "error" rejects detections on images that the ground truth lacks, "drop" removes them.
    invalid
        the treatment of rows that cannot be evaluated (negative sides, NaN, missing values, repeated ids, corners that do not
        form a convex shape, annotations of unknown images, ...). "error" rejects them. "drop" removes them with a warning, and
        their number is in `Evaluation.notes`, which are printed and stored. "keep" treats malformed rows as the benchmark's own
        program does: negative sides and areas, intervals that end before they start, such corners, cuboids with a side of 0 or
        less. `print(protocol)` describes this treatment (`malformed`): usually an annotation counts and is missed, and a
        detection is a false positive. Other rows are errors with "keep" too.
    image_attributes
        further columns of the images, such as weather or tags, for `Evaluation.by` and `Evaluation.where`: a frame, or a CSV,
        JSON or Parquet file, with `image_id` or `file_name`; see `Dataset.with_images`.
    name
        the name of the evaluation in comparisons and stored runs; by default, comparisons use the name of the results' file or
        folder, without its extension.

    Returns
    -------
    An `Evaluation`; nothing is computed yet.

    Raises
    ------
    InputError
        bad data; the error names the rows.
    ParameterError
        invalid options.

    Warns
    -----
    UnknownCategoryWarning
        detections of categories that the ground truth lacks were dropped; a `MostlyUnknownCategoriesWarning` if these are more
        than half.
    ClassNumbersWarning
        the results number the classes from 1, as Ultralytics does, and the ground truth from 0: 1 was subtracted, or may have
        to be; see `apframe.formats.class_names.with_known_classes`.
    UnnamedCategoryWarning
        labels of the ground truth count as classes, but are not in `classes.txt`.
    UnknownImageWarning
        detections were dropped because their images are unknown: all of them, or some by the rules of the protocol; a
        `MostlyUnknownImagesWarning` if these are more than half.
    InvalidRowsWarning
        rows were removed by `invalid="drop"`.
    UnmatchedAttributesWarning
        rows of `image_attributes` match no image, or images have no row.
    NoAnnotationsWarning
        there are no annotations.
    BoxFormatWarning
        no `box_format` is given, but boxes look like corners or fractions; or a protocol that counts pixels inclusively gets
        fractions of the image; or boxes are compared, but detections have keypoints and no boxes.
    TurnedBoxesWarning
        boxes are turned by `angle`, and the protocol compares the upright boxes around them.
    NothingMatchesWarning
        with the first metrics or summary: there are 10 detections or more, and none of them is near an annotation (IoU .1), on
        an image with annotations, or of the same category as an annotation that it overlaps.
    LowPrecisionWarning, MissedCategoryWarning
        at the same time: AP50 is below .01, or categories with annotations have no detections.
    NoDetectionsWarning
        at the same time: there are annotations, but no detections.
    FilteredResultsWarning
        at the same time: the lowest score is above .1, and the median is below 20 detections per image. This requires 10
        images, 10 detections, and a protocol that measures AP or AR. If scores exceed 1, a tenth of the highest score replaces
        .1.

    >>> from apframe import Dataset
    >>> truth = Dataset(
    ...     images={"image_id": [1]}, categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]})
    >>> detections = {"image_id": [1], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [10], "height": [8]}
    >>> ev = evaluate(truth, detections)
    >>> ev.summary.head(3).with_columns(pl.col("value").round(3)).rows()
    [('AP', 0.7), ('AP50', 1.0), ('AP75', 1.0)]
    """
    choice = choose(
        protocol, iou_type=iou_type, iou_thresholds=iou_thresholds, recall_levels=recall_levels,
        recall_positions=recall_positions, area_ranges=area_ranges,
        max_detections=max_detections, categories=categories, agnostic=agnostic, similarity=similarity, matching=matching,
        unknown_images=unknown_images, invalid=invalid, image_attributes=image_attributes, name=name, **reading,
    )  # fmt: skip
    path = path_of_results(detections)
    inputs, notes = read_inputs(truth, detections, choice)
    from apframe.evaluation.evaluation import Evaluation  # imports many modules, while files are read
    from apframe.evaluation.in_memory import InMemory

    return Evaluation(InMemory.of(inputs), choice.protocol, notes=notes, name=choice.name, path=path)


def read_inputs(truth: Any, detections: Any, choice: Choice) -> tuple[Inputs, Sequence[str]]:
    """Read the input of an evaluation, and notes on changes to the data in words; see `evaluate`."""
    inputs, faults = read_valid(truth, detections, choice)
    return inputs, inputs.saying(*left_out(faults)).notes


def read_valid(truth: Any, detections: Any, choice: Choice) -> tuple[Inputs, list[Fault]]:
    """Read the input of an evaluation, and the faults of rows that were removed because they cannot be evaluated."""
    with reading_once(truth), reading_once(detections), treating_malformed(choice.malformed):
        choice = replace(choice, reading=choice.reading.of_files(truth, detections))
        inputs, faults = _sound_inputs(truth, choice.reading.recognized(detections), choice)
    if choice.protocol.name == COCO.name:
        for name in published_for(choice.protocol.iou_type):
            format_ = static_table.FILES.get(name, Coco.name)
            if format_ != Coco.name and choice.reading.both_are(format_, truth):
                number = f"the number that their own program prints comes from {option_name('protocol', name)}"
                inputs = inputs.saying(Note(f"both sides are {as_format(format_).title}: {number}"))
    return inputs, faults


def _sound_inputs(truth: Any, detections: Any, choice: Choice) -> tuple[Inputs, list[Fault]]:
    """Return the input with sound rows, and the faults of the others; raise these unless the rows are to be dropped.

    The raised error counts all rows except those whose masks or other shapes are rejected when they are compared: validating
    these earlier would decode them twice. `invalid="drop"` does that.
    """
    reading, report = choice.reading, Report(raises=choice.invalid != "drop")
    with validating(report):
        with pool() as other_threads:
            read = other_threads.submit(reading.dataset, truth)
            for module in (
                "apframe.evaluation.evaluation",
                "apframe.evaluation.pipeline",
                "numpy.ma",
            ):  # Polars imports the last
                other_threads.submit(import_module, module)
            raw = reading.raw_results(detections, read.result)
            dataset = read.result()
        chosen = None
        if choice.categories is not None:
            from apframe.tables.conditions import choose_categories

            chosen = choose_categories(dataset.core("categories"), choice.categories)
        checked = check_detections(raw, dataset, chosen, choice.protocol)
        if report.raises and report.found and not choice.drop_unknown_images:
            with naming_format(detections, reading.results_format):
                on_known_images(checked, dataset, drop=False)  # raises its error together with the others
    dataset = choice.with_attributes(dataset)
    if choice.invalid == "drop":
        dataset, checked = without_invalid_shapes(dataset, checked, choice.protocol, report)
    with naming_format(detections, reading.results_format):
        drops = choice.drop_unknown_images
        inputs = make_inputs(dataset, checked, chosen, choice.protocol, drop_unknown_images=drops, are_checked=True)
    return inputs.of_sound_rows(report.faults), report.faults


def path_of_results(results: Any) -> str | None:
    """Return the path after which an evaluation of these results is named, without extension; None if there is no name.

    Tables, patterns, the standard input, and names that are not text have no name.

    >>> Path(path_of_results("runs/model_a.json.gz")).name, path_of_results({"image_id": [1]}), path_of_results("runs/*.json")
    ('model_a', None, None)
    """
    if not isinstance(results, (str, Path)) or is_pattern(results) or kind_at(results) in ("pipe", "device"):
        return None
    path = absolute(Path(results))
    if path.parts[1:2] == ("dev",):  # the standard input may be a file
        return None
    if kind_at(path) != "folder":
        path = path.with_suffix("") if path.suffix in _PACKED else path
        path = path.with_suffix("")
    return str(path) if path.name and is_utf8(str(path)) else None
