"""CityPersons' and Caltech's benchmarks of pedestrians, as the script in use computes them, and EuroCity's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import UnknownValueWarning, warn
from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.metrics.miss_rates import MissRates
from apframe.protocols.kit_table import KitColumn, KitRow, KitTable
from apframe.protocols.levels import ApplyLevels, Closed, Level, RequireImageBoxes
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import IgnoredAsCrowds
from apframe.protocols.rules.filters import refuse_not_finite, refuse_unusable
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.malformed import MalformedCounts, MalformedRefused
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU
from apframe.wording import Count, Note, in_words

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "CITYPERSONS": "pedestrians by height and visible share: log-average miss rate",
    "CALTECH": "as CITYPERSONS, for Caltech's data",
    "EUROCITY": "pedestrians by height and occlusion: log-average miss rate",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = dict.fromkeys(("citypersons", "caltech", "eurocity"), "coco")
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class AddVisibility(Rule):
    """Add the visible share of each annotation (`vis_ratio`) from its visible box (`vis_bbox`) if it is missing."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Add `vis_ratio`, with a note and a warning of annotations that have neither, and so are in every subset."""
        annotations, name = inputs.dataset.annotations, "vis_ratio"
        refuse_unusable(inputs, "annotations", [name])
        visibility = pl.col(name).cast(pl.Float64) if name in annotations.columns else pl.lit(None, pl.Float64)
        if "vis_bbox" in annotations.columns:
            box, area = pl.col("vis_bbox"), annotations["width"] * annotations["height"]
            sides = (box if annotations.schema["vis_bbox"] != pl.String else box.str.json_decode(pl.List(pl.Float64))).list
            visible = sides.get(2, null_on_oob=True) * sides.get(3, null_on_oob=True)
            visibility = pl.coalesce(visibility, visible / area.set(area <= 0, None))
        elif name not in annotations.columns:
            return inputs
        annotations = annotations.with_columns(visibility.alias(name))
        refuse_not_finite("annotations", annotations, name)
        counts = ~annotations["ignore"] if "ignore" in annotations.columns else pl.repeat(True, annotations.height, eager=True)
        lacking = annotations["annotation_id"].filter(annotations[name].is_null() & counts).to_list()
        unknown = Count("annotation", len(lacking), detail=" without vis_ratio or vis_bbox", ids=lacking[:5])
        note = Note(f"{{}}: counted in every subset of {inputs.protocol.name}", [unknown])
        for text in in_words([note]):
            warn(f"{text}; supply the visible boxes", UnknownValueWarning)
        return inputs.with_annotations(annotations).saying(note)


_BEYOND = 1.25  # detections may be smaller or larger than the subset's limits by this factor
ROUNDED_POINTS = (0.01, 0.0178, 0.0316, 0.0562, 0.1, 0.1778, 0.3162, 0.5623, 1.0)
"""False positives per image, as in the scripts of CityPersons and CrowdHuman."""
_BELOW_40, _BELOW_80 = nextafter(0.4, 0), nextafter(0.8, 0)


def _subset(name: str, low: float, high: float, *others: tuple[str, float, float], keeps_closed: Closed = "left") -> Level:
    return Level(
        name,
        (("height", low, high), *others),
        is_headline=name == "reasonable",
        closed="both",
        keeps=(("height", low / _BEYOND, high * _BEYOND),),
        keeps_closed=keeps_closed,
    )


def _visible(low: float, high: float = inf) -> tuple[str, float, float]:
    return ("vis_ratio", low, high)


def _table(*names: str) -> KitTable:
    return KitTable((KitColumn("MR", "LAMR"),), tuple(KitRow((name,), f"_{name}") for name in names), head=("subset",))


_CLASSES = Classes(("pedestrian",), renamed=(("person", "pedestrian"),))
CITYPERSONS = Protocol(
    name="CITYPERSONS",
    citation="Zhang, Benenson, Schiele, CityPersons: A Diverse Dataset for Pedestrian Detection, CVPR 2017; CityPersons, "
    "evaluation/eval_script/eval_MR_multisetup.py; bare, partial and heavy_2019: Liu et al., High-level Semantic Feature "
    "Detection: A New Perspective for Pedestrian Detection, CVPR 2019; CSP, eval_city/eval_script/eval_MR_multisetup.py",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=(0.5,),
    metrics=(
        AveragePrecision(Interpolated()),
        MissRates(row="last_or_final", points=ROUNDED_POINTS, least=0.0, ties_together=False),
    ),
    max_detections=(1000,),
    headlines=("LAMR{area}",),
    ranges=(
        _subset("reasonable", 50, inf, _visible(0.65)),
        _subset("small", 50, 75, _visible(0.65)),
        _subset("heavy", 50, inf, _visible(0.2, 0.65)),
        _subset("all", 20, inf, _visible(0.2)),
        _subset("bare", 50, inf, _visible(0.9)),
        _subset("partial", 50, inf, _visible(0.65, 0.9)),
        _subset("heavy_2019", 50, inf, _visible(0, 0.65)),
    ),
    rules=(
        RequireImageBoxes(),
        MalformedCounts(),
        *STANDARD_SHAPES,
        AddVisibility(),
        _CLASSES,
        ApplyLevels(),
        *STANDARD_LISTS,
        IgnoredAsCrowds(),
        IgnoreFlagged(),
    ),
    tables=(_table("reasonable", "small", "heavy", "all", "bare", "partial", "heavy_2019"),),
)
"""Pedestrians by height and visible share; LAMR of the subsets of 2017 (reasonable, small, heavy, all) and of those that
papers report since 2019 (reasonable, bare, partial, heavy_2019). Both have a "heavy": that of 2017 begins at a share of .2."""

CALTECH = replace(
    CITYPERSONS,
    name="CALTECH",
    citation="Dollár et al., Pedestrian Detection: An Evaluation of the State of the Art, PAMI 2012; by the script of "
    "CityPersons",
)
"""As `CITYPERSONS`, whose script is used for Caltech's data too."""


def _of_eurocity(name: str, low: float, high: float, *others: tuple[str, float, float]) -> Level:
    return _subset(name, low, high, *others, keeps_closed="none")


EUROCITY = replace(
    CITYPERSONS,
    name="EUROCITY",
    citation="Braun et al., EuroCity Persons: A Novel Benchmark for Person Detection in Traffic Scenes, PAMI 2019; ECPB",
    ranges=(
        _of_eurocity("reasonable", 40, inf, ("occlusion", -inf, _BELOW_40), ("truncation", -inf, _BELOW_40)),
        _of_eurocity("small", 30, 60, ("occlusion", -inf, _BELOW_40), ("truncation", -inf, _BELOW_40)),
        _of_eurocity("occluded", 40, inf, ("occlusion", 0.4, _BELOW_80), ("truncation", -inf, _BELOW_80)),
        _of_eurocity("all", 20, inf, ("occlusion", -inf, _BELOW_80), ("truncation", -inf, _BELOW_80)),
    ),
    metrics=(AveragePrecision(Interpolated()), MissRates()),
    rules=(
        RequireImageBoxes(),
        MalformedRefused("stops"),
        *STANDARD_SHAPES,
        _CLASSES,
        ApplyLevels(),
        *STANDARD_LISTS,
        IgnoredAsCrowds(over="union"),
        IgnoreFlagged(),
    ),
    tables=(_table("reasonable", "small", "occluded", "all"),),
)
"""Pedestrians by height, occlusion and truncation; LAMR as published of the subsets reasonable, small, occluded and all."""
