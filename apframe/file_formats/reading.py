"""How ground truth and results are read, as one value: the options that `evaluate`, `Evaluator` and `check` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from apframe.file_formats.catalogue import read_dataset, read_raw_results
from apframe.schema import Dataset


class ReadingOptions(TypedDict, total=False):
    """The keywords of `Reading`, for functions that take them beside others."""

    format: str | None
    results_format: str | None
    split: str | None
    image_sizes: Any
    join_by_name: str | Sequence[str]


@dataclass(frozen=True)
class Reading:
    """How ground truth and results are read.

    Attributes
    ----------
    format, results_format
        of paths, None: told from them; see `formats`
    split, image_sizes
        of the ground truth at a path, see `read_dataset`
    join_by_name
        see `read_results`

    >>> Reading(format="coco").dataset({"images": [], "categories": [], "annotations": []})
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: format=: for files and folders alone; leave it out for what is in memory already
    """

    format: str | None = None
    results_format: str | None = None
    split: str | None = None
    image_sizes: Any = None
    join_by_name: str | Sequence[str] = ()

    def dataset(self, truth: Any, *, masks: bool = False) -> Dataset:
        """The ground truth; see `read_dataset`."""
        return read_dataset(truth, self.format, split=self.split, image_sizes=self.image_sizes, masks=masks)

    def raw_results(self, detections: Any, dataset: Callable[[], Dataset | None]) -> Any:
        """Detections before they are checked; see `read_raw_results`."""
        return read_raw_results(detections, self.results_format, dataset, self.join_by_name)
