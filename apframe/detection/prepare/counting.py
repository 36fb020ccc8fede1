"""Which annotations are crowds, and which are ignored regardless of area, by the rules of a protocol."""

from __future__ import annotations

import polars as pl

from apframe.rule_sets.protocol import Protocol
from apframe.schema import OUTSIDE


def outside(frame: pl.DataFrame) -> pl.Series:
    """Flags: rows outside the subset that `Evaluation.where` took."""
    return frame[OUTSIDE] if OUTSIDE in frame.columns else pl.repeat(False, frame.height, eager=True)


def crowds(annotations: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: annotations of groups, where the protocol knows such."""
    flags = annotations["is_crowd"]
    return flags & False if protocol.crowds == "ordinary" else flags


def ignored_annotations(annotations: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: annotations that do not count.

    >>> from apframe.rule_sets.voc import VOC2007
    >>> ignored_annotations(pl.DataFrame({"is_crowd": [False, False], "ignore": [True, False]}), VOC2007).to_list()
    [True, False]
    """
    ignored = outside(annotations)
    if protocol.crowds in ("ignored", "all_ignored"):
        ignored = ignored | annotations["is_crowd"]
    if "ignore" in protocol.ignores and "ignore" in annotations.columns:
        ignored = ignored | annotations["ignore"]
    if "no_keypoints" in protocol.ignores and "keypoints" in annotations.columns:
        ignored = ignored | (_count_labelled(annotations) == 0)
    return ignored


def ignored_detections(detections: pl.DataFrame, protocol: Protocol) -> pl.Series:
    """Flags: detections that are ignored where they are not matched."""
    ignored = outside(detections)
    if "expanded_from" in detections.columns:  # a copy for another class, which uses up what it is matched with
        ignored = ignored | detections["expanded_from"].is_not_null()
    if "no_label_zones" in protocol.further_rules and "no_label_zone" in detections.columns:
        ignored = ignored | detections["no_label_zone"].fill_null(False)
    honoured = protocol.judged_only or "ignore" in protocol.ignores
    return ignored | detections["ignore"] if honoured and "ignore" in detections.columns else ignored


def _count_labelled(annotations: pl.DataFrame) -> pl.Series:
    """How many keypoints of each annotation are labelled: as the data says, else those of a visibility above 0."""
    if "num_keypoints" in annotations.columns and not annotations["num_keypoints"].null_count():
        return annotations["num_keypoints"]
    labelled = pl.col("keypoints").list.gather_every(3, 2).list.eval(pl.element() > 0).list.sum()
    given = [pl.col("num_keypoints")] if "num_keypoints" in annotations.columns else []
    return annotations.select(pl.coalesce(*given, labelled, 0)).to_series()
