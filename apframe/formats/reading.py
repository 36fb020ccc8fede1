"""The options of reading ground truth and results, as one value: common to `evaluate`, `Evaluator` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext, suppress
from dataclasses import field, make_dataclass, replace
from pathlib import Path
from typing import Any

from apframe.exceptions import FormatError, InputError, ParameterError
from apframe.formats.catalogue import (
    as_format,
    choose_format,
    format_of_truth,
    naming_format,
    read_truth,
    take_results,
    with_images_of,
)
from apframe.formats.files import reading_from
from apframe.formats.format import ANY_FILES, Expected, Format
from apframe.formats.joined import joined_results
from apframe.formats.reading_options import FileOptions, ReadingOptions, joined_tables
from apframe.keywords import declared_keywords, refuse_unknown
from apframe.paths import kind_at, reading_once
from apframe.tables.dataset import Dataset
from apframe.validation import amending, validating
from apframe.wording import option_name

_declared = declared_keywords(ReadingOptions)
_fields = [(name, kind, field(default=keyword.default)) for name, (kind, keyword) in _declared.items()]
_further = [
    ("compared", str | None, field(default=None)),
    ("masks", bool, field(default=False)),
    ("protocol", str, field(default="")),
    ("is_whole", bool, field(default=True)),
    ("sides", tuple[Any, ...], field(default=(None, None), compare=False)),
]
_Fields: Any = make_dataclass("_Fields", [*_fields, *_further], frozen=True)


class Reading(_Fields):  # type: ignore[misc]
    """The options of reading ground truth and results: a field for each option in `ReadingOptions`, and these.

    Attributes
    ----------
    compared
        the `iou_type` that is evaluated, the only shape to read from the outputs of torchvision's detectors; None reads all
    masks
        whether to read the masks of the ground truth immediately, rather than on demand
    protocol
        the name of the protocol, whose own file format is preferred; "" for none
    is_whole
        whether the results are complete: see `of_part`
    sides
        the paths of ground truth and results, if both are known

    >>> Reading(format="coco").dataset({"images": [], "categories": [], "annotations": []})
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: format=: only for files and folders; leave it out for data in memory
    """

    @classmethod
    def of_options(cls, options: ReadingOptions, *others: str) -> Reading:
        """Build a `Reading` from a user's options; an error lists these options and `others`.

        Raises
        ------
        ParameterError
            an unknown option

        >>> Reading.of_options({"splt": "val"})
        Traceback (most recent call last):
        apframe.exceptions.ParameterError: no option 'splt'; did you mean split?
        """
        refuse_unknown(options, [*others, *_declared])
        return cls(**options)

    def of_part(self) -> Reading:
        """Return the options for a part of the results, such as a shard, which does not show how all results number classes.

        >>> Reading().of_part().is_whole, Reading().is_whole
        (False, True)
        """
        return replace(self, is_whole=False)

    @property
    def given_options(self) -> list[str]:
        """The options that are not at their defaults.

        >>> Reading(split="val", join_by_name=[]).given_options
        ['split']
        """
        values = {name: getattr(self, name) for name in _declared}
        plain = (str, bool, list, tuple, type(None))
        return [
            name
            for name, value in values.items()
            if not isinstance(value, plain) or (value and value != _declared[name][1].default)
        ]

    @property
    def joined(self) -> Collection[str]:
        """The tables that results are joined to by name."""
        return joined_tables(self.join_by_name, self.names)

    @property
    def of_formats(self) -> dict[str, Any]:
        """The options that readers of data sets take, if their format has them in `Format.options`."""
        return {name: getattr(self, name) for name in FileOptions.__annotations__}

    @property
    def boxes(self) -> dict[str, Any]:
        """The options of boxes: `box_format` and `relative`."""
        return {"box_format": self.box_format, "relative": self.relative}

    @property
    def expected(self) -> Expected:
        """The files that the protocol is made for."""
        return Expected.of_protocol(self.protocol, self.compared or "") if self.protocol else ANY_FILES

    def of_files(self, truth: Any, detections: Any) -> Reading:
        """Return the options with the detected formats of paths; unrecognised results get the format of the ground truth.

        The format of a pipe is detected when it is read.

        >>> Reading().of_files("annotations", []) == Reading()
        True
        """
        format, results_format = self.format, self.results_format
        with suppress(FormatError):  # raised again when the data are read
            format = self._detect(truth, format, "dataset")
        with suppress(FormatError):
            results_format = self._detect(
                detections, results_format, "results", lambda: format_of_truth(truth, format, self.expected)
            )
        return replace(
            self,
            format=format,
            results_format=results_format,
            sides=tuple(each if isinstance(each, (str, Path)) else None for each in (truth, detections)),
        )

    def _detect(
        self, source: Any, name: str | None, role: str, beside: Callable[[], Format | None] = lambda: None
    ) -> str | None:
        """Return `name`, or else the name of the detected format of a file or folder; None for anything else."""
        is_path = isinstance(source, (str, Path)) and kind_at(source) in ("file", "folder")
        if name is not None or not is_path:
            return name
        option = "format" if role == "dataset" else "results_format"
        with reading_from(source):
            split = self.split if role == "dataset" else None
            other = self.sides[role == "dataset"]
            return choose_format(source, None, role, option, beside, self.expected, split, other).name

    def recognized(self, detections: Any, image_ids: Any = None) -> Any:
        """Convert outputs of a detector to `Outputs`, and return anything else unchanged.

        See `apframe.formats.outputs.recognize`.

        >>> Reading().recognized({42: {"boxes": [[10.0, 10, 30, 20]], "labels": [3], "scores": [0.75]}}).table.height
        1
        """
        if isinstance(detections, (str, Path)):
            return detections
        from apframe.formats.outputs import recognize

        return recognize(detections, image_ids, self.compared)

    def both_are(self, name: str, truth: Any) -> bool:
        """Return True if both ground truth and results have the named format. Call `of_files` first, to detect that of results.

        >>> Reading(results_format="yolo").both_are("yolo", "labels.json"), Reading().both_are("yolo", "labels.json")
        (False, False)
        """
        truth_format = format_of_truth(truth, self.format) if self.results_format == name else None
        return truth_format is not None and truth_format.name == name

    def dataset(self, truth: Any, *, beside_results: bool = True) -> Dataset:
        """Read the ground truth; see `read_dataset`. With `beside_results`, options of boxes also apply to results."""
        is_for_both = beside_results and any(self.boxes.values())
        with validating(), amending(_for_both_sides) if is_for_both else nullcontext(), reading_once(truth):
            format, options = self._detect(truth, self.format, "dataset"), self.of_formats
            if self.names is not None and format is not None and "names" in as_format(format).options:
                options["names"] = self.names  # which also apply to results
            truth = read_truth(truth, format, options, self.boxes, masks=self.masks, beside_results=beside_results)
        return self.selected(truth)

    def selected(self, dataset: Dataset) -> Dataset:
        """Return the ground truth of the requested images, with its categories mapped."""
        dataset = with_images_of(dataset, self.images)
        if self.category_map is not None:
            return dataset.map_categories(self.category_map, self.unmapped)
        if self.unmapped != "keep":
            raise ParameterError(
                f"is for categories that {option_name('category_map')} does not name", "give that too", option="unmapped"
            )
        return dataset

    def raw_results(self, detections: Any, dataset: Callable[[], Dataset | None], *, warns: bool = True) -> Any:
        """Read detections, unchecked; the data set is read after them if possible. See `joined_results`."""
        with reading_once(detections):
            format = self._detect(detections, self.results_format, "results")
            results, how = take_results(detections, format, dataset, self.boxes)
        return self._joined(detections, results, how, dataset, warns=warns)

    def results_in_parts(self, detections: Any, dataset: Dataset) -> Iterator[Any]:
        """Read detections in parts, unchecked; None means that the parts before it are void: see `Format.results_in_parts`.

        >>> rows = [{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]
        >>> truth = Dataset({"image_id": [7]}, {"category_id": [1]}, {})
        >>> [part.height for part in Reading().results_in_parts(rows, truth)]
        [1]
        """
        from apframe.formats.result_parts import take_results_in_parts  # only for shards and updates

        each = self.of_part()
        format = self._detect(detections, self.results_format, "results")
        parts = take_results_in_parts(detections, format, dataset, self.boxes)
        for number, (results, how) in enumerate(parts):
            yield None if results is None else each._joined(detections, results, how, lambda: dataset, warns=number == 0)

    def _joined(self, detections: Any, results: Any, how: str, dataset: Callable[[], Dataset | None], *, warns: bool) -> Any:
        """Join the results of a source, or a part of them, see `joined_results`."""
        options = {"names": self.names, "warns": warns, "is_whole": self.is_whole}
        with naming_format(detections, self.results_format):
            return joined_results(results, how, dataset, self.joined, self.boxes, **options)


def _for_both_sides(error: InputError) -> str:
    """Return the remedy for negative boxes of the ground truth: maybe only the results are in another format."""
    if error.table != "annotations" or not error.problem.endswith("is negative"):
        return error.remedy
    first = "read the ground truth first: apf.read_dataset, or `apframe convert`"
    return f"{option_name('box_format')} applies to both sides; if only the results are in this format, {first}"
