"""The options of an evaluation, declared once for all functions that accept those of `evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import polars as pl

from apframe.exceptions import ParameterError
from apframe.formats.reading import Reading
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import refuse_unknown
from apframe.option_values import one_of
from apframe.protocols.protocol import Protocol, as_protocol
from apframe.protocols.rules.known import KnownImagesOnly
from apframe.rows import Malformed
from apframe.similarity.pairs import Similarity
from apframe.tables.dataset import Dataset
from apframe.wording import option_name


class Options(ReadingOptions, total=False):
    """The keyword arguments of `evaluate`, which describes them."""

    iou_type: str | None
    iou_thresholds: Sequence[float] | Mapping[str, float] | None
    recall_levels: Sequence[float] | None
    recall_positions: int | None
    area_ranges: Mapping[str, tuple[float, float]] | None
    max_detections: Sequence[int | None] | None
    categories: Sequence[int | str] | None
    agnostic: bool | None
    similarity: Similarity | Callable[[pl.DataFrame], Any] | None
    matching: str | None
    unknown_images: str
    invalid: str
    image_attributes: Any
    name: str | None


@dataclass(frozen=True)
class Choice:
    """The choices of one evaluation.

    Attributes
    ----------
    protocol
        the rules
    categories
        the requested ones; None for all
    unknown_images
        the treatment of detections on images that the ground truth lacks: "error" or "drop"
    invalid
        the treatment of rows that cannot be evaluated: "error", "drop" or "keep"
    image_attributes
        further columns of the images; None for no columns
    reading
        the options for reading the data
    name
        the name of the evaluation
    """

    protocol: Protocol
    categories: Sequence[int | str] | None
    unknown_images: str
    invalid: str
    image_attributes: Any
    reading: Reading
    name: str | None = None

    @property
    def drop_unknown_images(self) -> bool:
        """True if detections on images that the ground truth lacks are dropped, as requested or as the protocol requires."""
        return self.unknown_images == "drop" or self.protocol.rule(KnownImagesOnly) is not None

    @property
    def malformed(self) -> Malformed:
        """The treatment of malformed rows."""
        rule = self.protocol.malformed
        return Malformed(rule.keepable if self.invalid == "keep" else (), rule.keepable, rule.words)

    def with_attributes(self, dataset: Dataset) -> Dataset:
        """Return the ground truth with the further columns of its images."""
        return dataset if self.image_attributes is None else dataset.with_images(self.image_attributes)


def choose(protocol: Protocol | str, **options: Unpack[Options]) -> Choice:
    """Combine a protocol and options into one choice; invalid options raise a `ParameterError`.

    >>> choose("coco", iou_type="segm", max_detections=[10]).protocol.max_detections
    (10,)
    """
    refuse_unknown(options, Options.__annotations__)
    others: dict[str, Any] = {**options}
    how: dict[str, Any] = {name: others.pop(name) for name in ReadingOptions.__annotations__ if name in others}
    categories = others.pop("categories", None)
    unknown_images = one_of("unknown_images", others.pop("unknown_images", "error"), ("error", "drop"))
    invalid = one_of("invalid", others.pop("invalid", "error"), ("error", "drop", "keep"))
    image_attributes, name = others.pop("image_attributes", None), others.pop("name", None)
    if name is not None:
        from apframe.store.parquet import labels  # validates names

        labels(name, None)
    chosen = as_protocol(protocol).variant(others.pop("iou_type", None)).with_options(**others)
    if invalid == "keep" and not chosen.malformed.keepable:
        problem = f"{option_name('invalid', 'keep')}: where a shape cannot be right, {chosen.malformed.words} ({chosen.name})"
        raise ParameterError(problem, f"leave such rows out with {option_name('invalid', 'drop')}")
    masks = "mask" in chosen.similarity.needs
    reading = Reading(**how, compared=chosen.iou_type, masks=masks, protocol=chosen.name)
    return Choice(chosen, categories, unknown_images, invalid, image_attributes, reading, name)
