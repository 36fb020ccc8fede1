"""The images that the updates of an `Evaluator` were about, with a warning if some are missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from apframe.adapters.arrays import column_of_ids
from apframe.exceptions import MissingResultsWarning, warn
from apframe.formats.by_name import tables_named, with_ids_by_name
from apframe.formats.outputs import Outputs
from apframe.tables.dataset import Dataset
from apframe.tables.ids import different_id_types, is_known, unknown_ids
from apframe.tables.parts import without_left_out
from apframe.wording import counted, listed, option_name

_FEW, _LEAST = 0.25, 10  # a detector may detect nothing on a share of the annotated images, or on fewer images than this


@dataclass
class SeenImages:
    """The images that updates named, in addition to those of their detections.

    Attributes
    ----------
    image_ids
        the images that updates named, including those without detections
    are_all_named
        whether each update named its images; otherwise other images without detections may have been updated
    is_merged
        whether updates of another process were merged
    """

    image_ids: set[int | str] = field(default_factory=set)
    are_all_named: bool = True
    is_merged: bool = False

    def add(self, image_ids: Iterable[int | str] | None) -> None:
        """Add an update; None means that it did not name its images."""
        self.are_all_named &= image_ids is not None
        self.image_ids.update(image_ids or ())

    def merge(self, other: SeenImages | None) -> None:
        """Add the updates of another process; None means that they came as a table of detections."""
        self.add(other.image_ids if other is not None and other.are_all_named else None)
        self.image_ids |= set() if other is None else other.image_ids
        self.is_merged = True

    def among(self, images: pl.Series, detected: pl.Series) -> pl.Series:
        """True for images that updates were about; `detected` are the images of the detections.

        >>> SeenImages({7}).among(pl.Series([7, 8, 9]), pl.Series([9, 9])).to_list()
        [True, False, True]
        """
        named = [each for each in self.image_ids if isinstance(each, int) == images.dtype.is_integer()]
        return is_known(images, detected.unique()) | is_known(images, pl.Series(named, dtype=images.dtype))

    def warn_of_left_out(self, images: pl.Series, seen: pl.Series) -> None:
        """Warn, if only `seen` images are evaluated, that there are none, or that others may have been updated too."""
        if seen.all():
            return
        if not seen.any():
            remedy = "update some, and name those without detections with image_ids"
            warn(f"no image was updated, so there is nothing to evaluate; {remedy}", MissingResultsWarning)
        elif not self.are_all_named:
            missing = images.filter(~seen)
            of_all = f"{len(missing):,} of {counted(len(images), 'image')} {'was' if len(missing) == 1 else 'were'}"
            warn(
                f"{of_all} left out ({listed(missing.to_list())}), but may have been updated without detections: not all "
                "updates named their images; name them with image_ids, and merge evaluators rather than their states",
                MissingResultsWarning,
            )

    def warn_of_missing(self, images: pl.Series, seen: pl.Series, annotated: pl.Series) -> bool:
        """Warn of images that were in no update, and return True if there was a warning.

        If not all updates named their images, the others may just have no detections. Then there is a warning only if more than
        a quarter of the images with annotations are missing, and 10 at least. One of several processes has only a part of the
        images until it has merged those of the others.

        Parameters
        ----------
        images, seen
            the ids of all images, and flags from `among`
        annotated
            the images of the annotations
        """
        if seen.all() or (not self.is_merged and is_one_of_many()):
            return False
        if not self.are_all_named:
            with_annotations = is_known(images, annotated.unique())
            n_missing = int((with_annotations & ~seen).sum())
            if n_missing < _LEAST or n_missing <= _FEW * int(with_annotations.sum()):
                return False
        missing = images.filter(~seen)
        were, count = ("was", "counts as an image") if len(missing) == 1 else ("were", "count as images")
        of_all = f"{len(missing):,} of {counted(len(images), 'image')}"
        warn(
            f"{of_all} {were} in no update ({listed(missing.to_list())}) and {count} without detections; update all of them, "
            "merge those of other processes, name images without detections with image_ids, or evaluate the others alone with "
            'compute(images="seen")',
            MissingResultsWarning,
        )
        return True


@dataclass(frozen=True)
class NamedImages:
    """A lookup of the images of a data set that updates name.

    Attributes
    ----------
    dataset
        the data set of the images
    joined
        the tables to which results are joined by name
    drop_unknown
        whether images that the data set lacks are dropped; otherwise they are an error
    """

    dataset: Dataset
    joined: Collection[str]
    drop_unknown: bool

    def ids_of(self, outputs: Outputs | None, named_ids: list[int | str] | None) -> list[int | str] | None:
        """Return the ids of the images of an update: those of its outputs, or the named ones; None if it names none.

        Raises
        ------
        UnknownIdError, IdTypeError
            the data set has no such images; `rows` are their positions, from 1

        >>> images = NamedImages(Dataset({"image_id": [7, 8]}, {}, {}), [], drop_unknown=False)
        >>> images.ids_of(None, [8])
        [8]
        """
        images = None if outputs is None else outputs.images
        if images is None:
            if named_ids is None or ("images" not in self.joined and self._known.issuperset(named_ids)):
                return named_ids
            images = pl.DataFrame([column_of_ids(named_ids)])
        if "images" in tables_named(images, self.dataset, self.joined):
            if outputs is not None:  # detections already name their images
                images = images.filter(~is_known(images["image_id"], outputs.table["image_id"]))
                if images.is_empty():
                    return []
            are_outputs = "images" not in self.joined  # their files have names
            images = with_ids_by_name(images, self.dataset, "images", of="image_ids", are_outputs=are_outputs)
        images = without_left_out(images, self.dataset.left_out)
        ids, existing_ids = images["image_id"], self.dataset.core("images")["image_id"]
        if not self._known.issuperset(ids):
            if ids.dtype != existing_ids.dtype and len(existing_ids):
                remedy = f"give the ids of the images, or join them by name ({option_name('join_by_name', 'images')})"
                raise different_id_types("", "image_ids", ids.dtype, "images.image_id", existing_ids.dtype, remedy)
            if not self.drop_unknown:
                remedy = f"correct them, or drop them ({option_name('unknown_images', 'drop')})"
                raise unknown_ids("image_ids", images, "image_id", "images", is_known(ids, existing_ids), remedy, existing_ids)
        return ids.to_list()

    @cached_property
    def _known(self) -> frozenset[int | str]:
        """The ids of all images."""
        return frozenset(self.dataset.core("images")["image_id"])


def is_one_of_many() -> bool:
    """Return True if this is one of several processes started by PyTorch, or by a launcher such as torchrun."""
    distributed = sys.modules.get("torch.distributed")
    if getattr(distributed, "is_initialized", bool)():
        return int(getattr(distributed, "get_world_size", int)()) > 1
    return os.environ.get("WORLD_SIZE", "1") not in ("", "0", "1")
