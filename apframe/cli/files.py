"""The options of files: how ground truth and results are read, and by which rules they are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import apframe as apf
from apframe.cli.declared import Option
from apframe.cli.options import (
    BoxFormat,
    Categories,
    CategoryMap,
    DropUnknownImages,
    DtFormat,
    GtFormat,
    ImageAttributes,
    ImageSizes,
    IouType,
    JoinByName,
    Names,
    ProtocolName,
    Relative,
    Split,
    Unmapped,
    numbers,
    words,
)
from apframe.protocols.protocol import Protocol
from apframe.protocols.published import as_protocol


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading ground truth and results. Each field is an option of the command."""

    gt_format: GtFormat = None
    dt_format: DtFormat = None
    split: Split = None
    image_sizes: ImageSizes = None
    box_format: BoxFormat = None
    relative: Relative = False
    join_by_name: JoinByName = None
    names: Names = None
    category_map: CategoryMap = None
    unmapped: Unmapped = "keep"

    def reading(self) -> dict[str, Any]:
        """The arguments for `apf.check`, `apf.stats` and `apf.write_shards`."""
        return {
            "format": self.gt_format,
            "results_format": self.dt_format,
            "split": self.split,
            "image_sizes": self.image_sizes,
            "box_format": self.box_format,
            "relative": self.relative,
            "join_by_name": words(self.join_by_name),
            "names": self.names,
            "category_map": self.category_map,
            "unmapped": self.unmapped,
        }


@dataclass(frozen=True)
class Files(ReadingOptions):
    """The options for reading and evaluating files."""

    image_attributes: ImageAttributes = None
    protocol: ProtocolName = "coco"
    iou_type: IouType = None
    max_detections: Annotated[
        list[str] | None,
        Option(metavar="1,10,100", help="detections to keep per image and category, or all; AP uses the largest"),
    ] = None
    recall_positions: Annotated[int | None, Option(metavar="11", help="recall positions, if the protocol has them: 40, 11")] = (
        None
    )
    categories: Categories = None
    agnostic: Annotated[bool, Option("--agnostic", help="treat all categories as one")] = False
    drop_unknown_images: DropUnknownImages = False
    invalid: Annotated[
        str,
        Option(
            metavar="error|drop|keep",
            help="rows that cannot be evaluated: stop, leave them out, or do with negative sides and the like what the "
            "benchmark's own program does",
        ),
    ] = "error"

    def rules(self, **changes: Any) -> Protocol:
        """The protocol; `changes` are those of `Protocol.with_options`."""
        return (
            as_protocol(self.protocol)
            .variant(self.iou_type)
            .with_options(
                max_detections=numbers("--max-detections", self.max_detections, _limit, "whole numbers, or all,"),
                agnostic=self.agnostic or None,
                recall_positions=self.recall_positions,
                **changes,
            )
        )

    def rules_at(self, iou_threshold: float | None) -> Protocol:
        """The protocol at one threshold; if none is given, at .5 unless it has other ones: of distances, or of categories."""
        published = self.rules()
        if iou_threshold is None and (published.category_thresholds or published.iou_thresholds[0] < 0):
            return published
        return published.with_options(iou_thresholds=[0.5 if iou_threshold is None else iou_threshold])

    def reading(self) -> dict[str, Any]:
        """The arguments for `apf.evaluate`, without the protocol."""
        return super().reading() | {
            "categories": words(self.categories) or None,
            "unknown_images": "drop" if self.drop_unknown_images else "error",
            "invalid": self.invalid,
            "image_attributes": self.image_attributes,
        }

    def evaluate(self, truth: Path, results: Path | None, rules: Protocol) -> apf.Evaluation:
        """The evaluation of two files."""
        return apf.evaluate(truth, results, rules, **self.reading())


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)
