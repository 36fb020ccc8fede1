"""Which annotations are crowds, what is ignored regardless of area, and what can match, by the rules of a protocol."""

from __future__ import annotations

import polars as pl

from apframe.protocols.named_choices import IGNORED_AS_CROWDS
from apframe.protocols.protocol import Protocol
from apframe.tables.shapes.cuboids import CUBOIDS, SIZES
from apframe.tables.tables import OUTSIDE

_LEAST_SIDE, _MOST_SIDE = 0.01, 1e6  # of WAYMO, both exclusive


def outside(frame: pl.DataFrame) -> pl.Series:
    """Flags: rows outside the subset that `Evaluation.where` took."""
    return frame[OUTSIDE] if OUTSIDE in frame.columns else pl.repeat(False, frame.height, eager=True)


def crowds(annotations: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: annotations of groups, where the protocol knows such."""
    flags = annotations["is_crowd"]
    return flags & False if protocol.crowds == "ordinary" else flags


def ignored_annotations(annotations: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: annotations that do not count.

    >>> from apframe.protocols.voc import VOC2007
    >>> ignored_annotations(pl.DataFrame({"is_crowd": [False, False], "ignore": [True, False]}), VOC2007).to_list()
    [True, False]
    """
    ignored = outside(annotations)
    if protocol.crowds in ("ignored", *IGNORED_AS_CROWDS):
        ignored = ignored | annotations["is_crowd"]
    if "ignore" in protocol.ignores and "ignore" in annotations.columns:
        ignored = ignored | annotations["ignore"]
    if "no_keypoints" in protocol.ignores and "keypoints" in annotations.columns:
        ignored = ignored | (_count_labelled(annotations) == 0)
    return ignored | without_mask(annotations) if "no_mask" in protocol.ignores else ignored


def without_mask(annotations: pl.DataFrame) -> pl.Series:
    """Flags: annotations that have no mask, where others may have one.

    >>> without_mask(pl.DataFrame({"is_crowd": [False, False], "mask": ["[[0, 0, 9, 0, 9, 9]]", None]})).to_list()
    [False, True]
    """
    return annotations["mask" if "mask" in annotations.columns else "is_crowd"].is_null()


def ignored_detections(detections: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: detections that are ignored where they are not matched."""
    ignored = outside(detections)
    if "expanded_from" in detections.columns:  # a copy for another class, which uses up what it is matched with
        ignored = ignored | detections["expanded_from"].is_not_null()
    if "no_label_zones" in protocol.further_rules and "no_label_zone" in detections.columns:
        ignored = ignored | detections["no_label_zone"].cast(pl.Boolean).fill_null(False)
    if "mostly_void" in protocol.further_rules and "void_area" in detections.columns:
        ignored = ignored | (detections["void_area"] / detections["area"] > 0.5).fill_null(False)
    honoured = protocol.judged_only or "ignore" in protocol.ignores or "annotated_images_only" in protocol.further_rules
    return ignored | detections["ignore"] if honoured and "ignore" in detections.columns else ignored


def can_match(objects: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: objects whose sides a similarity compares; the others have no IoU with anything: WAYMO.

    Source: `iou.cc` of waymo-open-dataset.

    >>> from apframe.protocols.waymo import WAYMO
    >>> sides = pl.DataFrame({"cuboid_length": [4.0, 0.01, 1e6], "cuboid_width": [2, 2, 2], "cuboid_height": [1, 1, 1]})
    >>> can_match(sides, WAYMO).to_list()
    [True, False, False]
    """
    if "limits_of_sides" not in protocol.further_rules:
        return pl.repeat(True, objects.height, eager=True)
    sides = SIZES if protocol.similarity.shape == CUBOIDS else ("width", "height")
    compared = [name for name in sides if name in (protocol.similarity.needs or sides)]
    there = [name for name in sides if name in objects.columns]
    within = pl.all_horizontal(pl.col(compared) > _LEAST_SIDE, pl.col(there) < _MOST_SIDE)
    return objects.select(within.fill_null(True)).to_series()


def _count_labelled(annotations: pl.DataFrame) -> pl.Series:
    """How many keypoints of each annotation are labelled: as the data says, else those of a visibility above 0."""
    if "num_keypoints" in annotations.columns and not annotations["num_keypoints"].null_count():
        return annotations["num_keypoints"]
    labelled = pl.col("keypoints").list.gather_every(3, 2).list.eval(pl.element() > 0).list.sum()
    given = [pl.col("num_keypoints")] if "num_keypoints" in annotations.columns else []
    return annotations.select(pl.coalesce(*given, labelled, 0)).to_series()
