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
        a frame with `image_id, category_id, score, x, y, width, height` (anything that holds columns), a path of any format, or
        a list of dicts as COCO's results; their numbers and lists may be NumPy's. Other shapes than boxes are possible: `mask`,
        `keypoints`, `corners`, `segment_id`, or `start_time` and `end_time`. Two paths are read side by side. Also:

        - what a detector returns, by image id, as in `{22: output}`: torchvision's dicts, ultralytics' `Results`, supervision's
          `Detections`; see `from_torchvision`, `from_ultralytics` and `from_supervision`. `Results` also as they come, alone or
          in a list: their images are then called as their files, and are joined by name if the ground truth numbers its images.
          Classes that have names are joined by name to categories that have some, otherwise by number;
        - an array of n × 7 numbers: image_id, x, y, width, height, score, category_id, as pycocotools' `loadRes` takes it.
    protocol
        the rules, `apframe.COCO` by default; a published one by its name, as in "voc2007".
    iou_type
        which of the protocol's variants ("segm", "keypoints", ...); its first by default.
    iou_thresholds, recall_levels, recall_positions, area_ranges, max_detections, agnostic, similarity, matching
        depart from the protocol; see `Protocol.with_options`. In `max_detections`, None stands for all of them, as in
        [1, 10, None]. `iou_thresholds` may be one for each category: {"Car": 0.7, "Cyclist": 0.5}.
    categories
        evaluate only these, given by name or id; one or several.
    unknown_images
        "error" refuses detections of images that the ground truth does not have, "drop" leaves them out.
    invalid
        what to do with rows that cannot be evaluated (negative sides, NaN, missing values, repeated ids, corners that do not go
        around a convex shape, annotations of unknown images, ...). "error" refuses them. "drop" leaves them out with a
        warning, and `Evaluation.notes` keeps their number, which is printed and stored. "keep" does what the benchmark's own
        program does with rows whose shape cannot be right: sides and areas that are negative, intervals that end before they
        start, such corners, cuboids with a side of 0 or less. `print(protocol)` says what that is (`malformed`): as a rule
        an annotation counts and is missed, and a detection is a false positive. Other rows are errors with "keep" too.
    image_attributes
        further columns of the images, such as weather or tags, for `Evaluation.by` and `Evaluation.where`: a frame, or a CSV,
        JSON or Parquet file, with `image_id` or `file_name`; see `Dataset.with_images`.
    name
        what comparisons and stored runs call the evaluation; by default comparisons use the name of the results' file or
        folder, without the ending.

    Returns
    -------
    An `Evaluation`; nothing is computed yet.

    Raises
    ------
    InputError
        bad data, with the rows named.
    ParameterError
        bad options.

    Warns
    -----
    UnknownCategoryWarning
        detections of categories that the ground truth does not have were dropped; a `MostlyUnknownCategoriesWarning` if these
        are more than half.
    ClassNumbersWarning
        the results count the classes from 1, as Ultralytics does, and the ground truth from 0: 1 was subtracted, or may have to
        be; see `apframe.formats.class_names.with_known_classes`.
    UnnamedCategoryWarning
        labels of the ground truth count as classes, but `classes.txt` does not name them.
    UnknownImageWarning
        detections were dropped, because their images are unknown: all of them, or some by the rules of the protocol; a
        `MostlyUnknownImagesWarning` if these are more than half.
    InvalidRowsWarning
        rows were left out, with `invalid="drop"`.
    UnmatchedAttributesWarning
        rows of `image_attributes` match no image, or images have no row.
    NoAnnotationsWarning
        there are no annotations.
    BoxFormatWarning
        no `box_format` is given, but boxes look like corners or fractions; or a protocol that counts pixels inclusively gets
        fractions of the image; or detections have keypoints and no boxes, and boxes are compared.
    TurnedBoxesWarning
        boxes are turned by `angle`, and the protocol compares the upright boxes around them.
    NothingMatchesWarning
        at the first metrics or summary: there are 10 detections or more, and none of them is near an annotation (IoU .1), on an
        image with annotations, or of the category of what it overlaps.
    LowPrecisionWarning, MissedCategoryWarning
        then too: AP50 is below .01, or categories with annotations have no detections.
    NoDetectionsWarning
        then too: there are annotations, but no detections.
    FilteredResultsWarning
        then too: the lowest score is above .1, and the median is below 20 detections per image. There must be 10 images and 10
        detections, and the protocol must measure AP or AR. Of scores above 1, a tenth of the highest takes the place of .1.

    >>> from apframe import Dataset
    >>> truth = Dataset(
    ...     images={"image_id": [1]}, categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]})
    >>> found = {"image_id": [1], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [10], "height": [8]}
    >>> ev = evaluate(truth, found)
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
    from apframe.evaluation.evaluation import Evaluation  # with many modules, which are imported while files are read
    from apframe.evaluation.in_memory import InMemory

    return Evaluation(InMemory.of(inputs), choice.protocol, notes=notes, name=choice.name, path=path)


def read_inputs(truth: Any, detections: Any, choice: Choice) -> tuple[Inputs, Sequence[str]]:
    """Read what is evaluated, and what was done to the data before, in words; see `evaluate`."""
    inputs, faults = read_valid(truth, detections, choice)
    return inputs, inputs.saying(*left_out(faults)).notes


def read_valid(truth: Any, detections: Any, choice: Choice) -> tuple[Inputs, list[Fault]]:
    """Read what is evaluated, and the rows that cannot be evaluated, where these are to be left out; see `evaluate`."""
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
    """The inputs of sound rows, and what is wrong with the others; unless these are left out, it is raised.

    What is raised counts all rows but those whose masks or other shapes are refused where they are compared: to look at these
    before would decode them twice. `invalid="drop"` does.
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
        found = check_detections(raw, dataset, chosen, choice.protocol)
        if report.raises and report.found and not choice.drop_unknown_images:
            with naming_format(detections, reading.results_format):
                on_known_images(found, dataset, drop=False)  # an error that comes with the others
    dataset = choice.with_attributes(dataset)
    if choice.invalid == "drop":
        dataset, found = without_invalid_shapes(dataset, found, choice.protocol, report)
    with naming_format(detections, reading.results_format):
        drops = choice.drop_unknown_images
        inputs = make_inputs(dataset, found, chosen, choice.protocol, drop_unknown_images=drops, are_checked=True)
    return inputs.of_sound_rows(report.faults), report.faults


def path_of_results(results: Any) -> str | None:
    """The path that an evaluation of these results is named after, without its ending; None where no path is a name.

    That is the case for tables, patterns, the standard input, and names that are not text.

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
