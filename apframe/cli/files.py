"""The options of files: how ground truth and results are read, and by which rules they are evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import apframe as apf
from apframe.cli.declared import Option
from apframe.cli.options import (
    DECLARED,
    Categories,
    DropUnknownImages,
    ImageAttributes,
    IouType,
    ProtocolName,
    declared_option,
    numbers,
    words,
)
from apframe.exceptions import ParameterError
from apframe.protocols.protocol import Protocol, as_protocol
from apframe.similarity.pairs import Similarity

# the parameter of each option: --gt-format is gt_format
_PARAMETERS = {name: keyword.flag.lstrip("-").replace("-", "_") or name for name, (_, keyword) in DECLARED.items()}
_fields = [
    (_PARAMETERS[name], Annotated[keyword.kind, declared_option(name)], field(default=keyword.default))
    for name, (_, keyword) in DECLARED.items()
]
_Declared: Any = make_dataclass("_Declared", _fields, frozen=True)


class ReadingOptions(_Declared):  # type: ignore[misc]
    """The options for reading ground truth and results, as `apframe.formats.options` declares them."""

    def reading(self) -> dict[str, Any]:
        """The arguments for `apf.check`, `apf.stats` and `apf.write_shards`."""
        given = {name: getattr(self, parameter) for name, parameter in _PARAMETERS.items()}
        several = [name for name, (_, keyword) in DECLARED.items() if keyword.kind == list[str] | None]
        return given | {name: words(given[name]) for name in several}


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
    sigmas: Annotated[
        list[str] | None, Option(metavar=".1,.2", help="for keypoints: the sigma of each, in the order of the files")
    ] = None
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
        protocol = as_protocol(self.protocol).variant(self.iou_type)
        return protocol.with_options(
            max_detections=numbers("--max-detections", self.max_detections, _limit, "whole numbers, or all,"),
            agnostic=self.agnostic or None,
            recall_positions=self.recall_positions,
            similarity=self._with_sigmas(protocol.similarity),
            **changes,
        )

    def _with_sigmas(self, similarity: Similarity) -> Similarity | None:
        """The similarity of the protocol with the given sigmas; None without any."""
        sigmas = numbers("--sigmas", self.sigmas, float, "numbers")
        if sigmas is None:
            return None
        if not hasattr(similarity, "sigmas"):
            raise ParameterError(
                "--sigmas is for object keypoint similarity", "compare keypoints: add --iou-type keypoints, or leave it out"
            )
        changes: Any = {"sigmas": tuple(sigmas)}
        return replace(similarity, **changes)  # type: ignore[type-var]

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

    def evaluate(self, truth: Path, results: Path, rules: Protocol) -> apf.Evaluation:
        """The evaluation of two files."""
        return apf.evaluate(truth, results, rules, **self.reading())


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)
