"""The options for files: how to read ground truth and results, and by which rules to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apframe as apf
from apframe.cli.command_options import (
    Declared,
    categories_option,
    drop_unknown_images_option,
    grouped,
    image_attributes_option,
    numbers,
    option,
    under_reading,
    words,
)
from apframe.exceptions import ParameterError
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import declared_keywords

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol
    from apframe.similarity.pairs import Similarity

_DECLARED = declared_keywords(ReadingOptions)
# the parameter of each option: --gt-format is gt_format
_PARAMETERS = {name: keyword.flag.lstrip("-").replace("-", "_") or name for name, (_, keyword) in _DECLARED.items()}
_Given: Any = make_dataclass("_Given", _PARAMETERS.values(), frozen=True)


def reading_option(name: str) -> Callable[[Declared], Declared]:
    """Return a reading option for the command line, as `apframe.formats.reading_options` declares it."""
    keyword = _DECLARED[name][1]
    settings = {"default": keyword.default} if isinstance(keyword.default, str) else {"multiple": keyword.several}
    flag, advanced = keyword.flag or f"--{name.replace('_', '-')}", keyword.advanced
    return under_reading(flag, metavar=keyword.metavar or None, help=keyword.help, advanced=advanced, **settings)


class FilesToRead(_Given):  # type: ignore[misc]
    """The options for reading ground truth and results, one field for each option in `apframe.formats.reading_options`."""

    def reading(self) -> dict[str, Any]:
        """Return the arguments for `apf.check`, `apf.stats` and `apf.write_shards`."""
        arguments = {name: getattr(self, parameter) for name, parameter in _PARAMETERS.items()}
        return arguments | {name: words(value) for name, value in arguments.items() if isinstance(value, tuple)}


@dataclass(frozen=True)
class Files(FilesToRead):
    """The options for reading files and evaluating them."""

    image_attributes: Path | None
    protocol: str
    iou_type: str | None
    max_detections: Sequence[str]
    recall_positions: int | None
    sigmas: Sequence[str]
    categories: Sequence[str]
    agnostic: bool
    drop_unknown_images: bool
    invalid: str

    def rules(self, **changes: Any) -> Protocol:
        """Return the protocol with these options; `changes` are further options of `Protocol.with_options`."""
        from apframe.protocols.protocol import as_protocol  # not for help

        protocol = as_protocol(self.protocol).variant(self.iou_type)
        return protocol.with_options(
            max_detections=numbers("--max-detections", self.max_detections, _limit, "whole numbers, or all,"),
            agnostic=self.agnostic or None,
            recall_positions=self.recall_positions,
            similarity=self._with_sigmas(protocol.similarity),
            **changes,
        )

    def _with_sigmas(self, similarity: Similarity) -> Similarity | None:
        """Return the similarity of the protocol with the sigmas of --sigmas; None without that option."""
        sigmas = numbers("--sigmas", self.sigmas, float, "numbers")
        if sigmas is None:
            return None
        if not hasattr(similarity, "sigmas"):
            raise ParameterError(
                "--sigmas applies to object keypoint similarity", "compare keypoints with --iou-type keypoints, or leave it out"
            )
        changes: Any = {"sigmas": tuple(sigmas)}
        return replace(similarity, **changes)  # type: ignore[type-var]

    def rules_at(self, iou_threshold: float | None) -> Protocol:
        """Return the protocol at one threshold, by default .5 unless its thresholds are distances or depend on the category."""
        published = self.rules()
        if iou_threshold is None and (published.category_thresholds or published.iou_thresholds[0] < 0):
            return published
        return published.with_options(iou_thresholds=[0.5 if iou_threshold is None else iou_threshold])

    def reading(self) -> dict[str, Any]:
        """Return the arguments for `apf.evaluate`, without the protocol."""
        return super().reading() | {
            "categories": words(self.categories) or None,
            "unknown_images": "drop" if self.drop_unknown_images else "error",
            "invalid": self.invalid,
            "image_attributes": self.image_attributes,
        }

    def evaluate(self, truth: Path, results: Path, rules: Protocol) -> apf.Evaluation:
        """Evaluate two files."""
        return apf.evaluate(truth, results, rules, **self.reading())


_READING = [reading_option(name) for name in _DECLARED]
reading_options = grouped("files", FilesToRead, *_READING)
evaluation_options = grouped(
    "files", Files,
    option("--protocol", metavar="NAME", default="coco", help="the rules of evaluation; `apframe protocols` lists them"),
    option("--iou-type", metavar="segm", help="what to compare: bbox, segm, keypoints, ...; see `apframe protocols`"),
    option(
        "--max-detections", multiple=True, metavar="1,10,100",
        help="numbers of detections to keep per image and category, or all; AP uses the largest",
    ),
    option(
        "--recall-positions", type=int, metavar="11", advanced=True, help="recall positions, if the protocol uses them: 40, 11"
    ),
    option(
        "--sigmas", multiple=True, metavar=".1,.2", advanced=True,
        help="sigmas of the keypoints, in the order of the files",
    ),
    categories_option,
    option("--agnostic", help="treat all categories as one"),
    *_READING,
    image_attributes_option,
    drop_unknown_images_option,
    under_reading(
        "--invalid", metavar="error|drop|keep", default="error",
        help="rows that cannot be evaluated: stop, drop them, or treat them as the benchmark's own program does",
    ),
)  # fmt: skip


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)
