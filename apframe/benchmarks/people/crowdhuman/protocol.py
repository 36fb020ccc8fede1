"""CrowdHuman's benchmark of people in crowds, as CrowdDet's evaluation computes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.benchmarks.people.citypersons.protocol import ROUNDED_POINTS
from apframe.benchmarks.people.crowdhuman.definition import CrowdHuman
from apframe.matching.matchers import ByScoreFirstOfEquals
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.miss_rates import MissRates
from apframe.protocols.kit_table import KitColumn, KitTable
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import IgnoredAsCrowds
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU
from apframe.tables.ids import is_known
from apframe.tables.schemas import SIZE
from apframe.wording import Count, Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "CROWDHUMAN": "people in crowds: AP, log-average miss rate, Jaccard index",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""


_SIDES = ("width of the image", "height of the image")


@dataclass(frozen=True)
class ClipBoxes(Rule):
    """Clip boxes at the edges of their image, in which they keep at least a pixel.

    Sizes of images may come with the detections. Source: `clip_all_boader` of CrowdDet.
    """

    description: ClassVar[str] = "boxes are cut off at the edges of their image"
    columns: ClassVar[tuple[str, ...]] = ("images.image_width", "images.image_height")

    def rows(self, inputs: Inputs) -> Inputs:
        """Clip the boxes of annotations and detections.

        A note counts images of unknown size, whose boxes remain unchanged. It excludes images without detections, as nothing is
        compared with their boxes.
        """
        dataset, detections = inputs.dataset, inputs.detections
        images = dataset.images
        if set(SIZE) <= set(detections.columns):
            sizes_of_detections = detections.group_by("image_id").agg(pl.col(SIZE).max().name.suffix("_found"))
            images = images.join(sizes_of_detections, on="image_id", how="left", maintain_order="left")
            sizes = [pl.coalesce(name, f"{name}_found").alias(name) for name in SIZE]
            images = images.with_columns(sizes).drop(f"{name}_found" for name in SIZE)
            detections = detections.drop(SIZE)
        sized = images.select("image_id", *SIZE)
        unknown = sized.filter(pl.any_horizontal(pl.col(SIZE).is_null()))["image_id"]
        boxed = {"x", "width"} <= set(detections.columns)  # otherwise their boxes are derived from another shape later
        annotations, detections = _clipped(dataset.annotations, sized), _clipped(detections, sized) if boxed else detections
        n = int(is_known(unknown, detections["image_id"].unique()).sum())
        note = Note("{} of unknown size: boxes are not cut off at the edges there", [Count("image", n)])
        return replace(inputs.with_dataset(dataset.part(images, annotations)), detections=detections).saying(note)


def _clipped(frame: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """Clip each box at the edges of its image, and compute the area of changed boxes."""
    sided = frame.join(sizes.rename(dict(zip(SIZE, _SIDES, strict=True))), on="image_id", how="left", maintain_order="left")
    wide, high = (pl.col(name).cast(pl.Float64) for name in _SIDES)
    sides = []
    for start, extent, most in (("x", "width", wide), ("y", "height", high)):
        low = pl.when(most.is_null()).then(start).otherwise(pl.min_horizontal(pl.max_horizontal(start, 0.0), most - 1))
        end = pl.col(start) + pl.col(extent)
        top = pl.when(most.is_null()).then(end).otherwise(pl.min_horizontal(pl.max_horizontal(end, 0.0), most))
        # boxes that do not move remain identical to the last bit
        moved = (low != pl.col(start)) | (top != end)
        sides += [low.alias(start), pl.when(moved).then(top - low).otherwise(extent).alias(extent)]
    clipped = sided.with_columns(sides).drop(_SIDES)
    changed = pl.any_horizontal(clipped[name] != frame[name] for name in ("width", "height"))
    return clipped.with_columns(area=pl.when(changed).then(pl.col("width") * pl.col("height")).otherwise("area"))


CROWDHUMAN = Protocol(
    name="CROWDHUMAN",
    citation="Shao et al., CrowdHuman: A Benchmark for Detecting Human in a Crowd, 2018; CrowdDet, lib/evaluate",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScoreFirstOfEquals(ties="input", strict=True),
    iou_thresholds=(0.5,),
    metrics=(
        AveragePrecision(CrowdHuman()),
        MissRates(row="first", points=ROUNDED_POINTS, least=0.0, ties_together=False),
    ),
    max_detections=(None,),
    headlines=("AP", "LAMR", "JI"),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        ClipBoxes(),
        Classes(("person",)),
        *STANDARD_LISTS,
        IgnoredAsCrowds(),
        IgnoreFlagged(),
    ),
    tables=(KitTable((KitColumn("AP", "AP"), KitColumn("MR", "LAMR"), KitColumn("JI", "JI"))),),
)
"""People with their full boxes: AP without an envelope, LAMR (MR⁻²), and JI, see `Evaluation.jaccard_index`."""
