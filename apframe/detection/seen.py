"""Which images the updates of an `Evaluator` were about, and a warning where some are missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl

from apframe.exceptions import MissingResultsWarning, counted, listed, warn
from apframe.schema import is_known

_FEW, _LEAST = 0.25, 10  # a detector may find nothing on a share of the annotated images, and on fewer than so many


@dataclass
class Seen:
    """The images that updates were about, beside those of their detections.

    Attributes
    ----------
    image_ids
        those that updates named, also where nothing was detected
    are_all_named
        whether each update named its images; otherwise images without detections may have been updated too
    is_merged
        whether updates of another process were merged
    """

    image_ids: set[int | str] = field(default_factory=set)
    are_all_named: bool = True
    is_merged: bool = False

    def add(self, image_ids: Iterable[int | str] | None) -> None:
        """Add an update; None: it did not name its images."""
        self.are_all_named &= image_ids is not None
        self.image_ids.update(image_ids or ())

    def merge(self, other: Seen | None) -> None:
        """Add the updates of another process; None: they came as a table of detections."""
        self.add(other.image_ids if other is not None and other.are_all_named else None)
        self.image_ids |= set() if other is None else other.image_ids
        self.is_merged = True

    def among(self, images: pl.Series, detected: pl.Series) -> pl.Series:
        """Flags of images that updates were about; `detected` are the images of the detections.

        >>> Seen({7}).among(pl.Series([7, 8, 9]), pl.Series([9, 9])).to_list()
        [True, False, True]
        """
        named = [each for each in self.image_ids if isinstance(each, int) == images.dtype.is_integer()]
        return is_known(images, detected.unique()) | is_known(images, pl.Series(named, dtype=images.dtype))

    def warn_of_missing(self, images: pl.Series, seen: pl.Series, annotated: pl.Series) -> None:
        """Warn of images that no update was about.

        Where not all updates named their images, nothing may have been detected on the others. Then there is a warning if more
        than a quarter of the images with annotations are missing, and 10 at least. One of several processes has a part of the
        images until it has merged those of the others.

        Parameters
        ----------
        images, seen
            the ids of all images, and flags from `among`
        annotated
            the images of the annotations
        """
        if seen.all() or (not self.is_merged and is_one_of_many()):
            return
        if not self.are_all_named:
            with_annotations = is_known(images, annotated.unique())
            n_missing = int((with_annotations & ~seen).sum())
            if n_missing < _LEAST or n_missing <= _FEW * int(with_annotations.sum()):
                return
        missing = images.filter(~seen)
        of_all = f"{len(missing):,} of {counted(len(images), 'image')} {'was' if len(missing) == 1 else 'were'}"
        warn(
            f"{of_all} in no update ({listed(missing.to_list())}), evaluated as without detections; update all of them, merge "
            "those of other processes, name images where nothing was found with image_ids, or evaluate the others alone with "
            'compute(images="seen")',
            MissingResultsWarning,
        )


def is_one_of_many() -> bool:
    """Whether this is one of several processes that PyTorch, or a launcher such as torchrun, has started."""
    distributed = sys.modules.get("torch.distributed")
    if getattr(distributed, "is_initialized", bool)():
        return int(getattr(distributed, "get_world_size", int)()) > 1
    return os.environ.get("WORLD_SIZE", "1") not in ("", "0", "1")
