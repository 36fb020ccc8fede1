"""Preparation of matching: from the canonical tables to pairs and rows in rank order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.match_input import MatchInput
from apframe.matching.order import order_detections
from apframe.matching.verdicts import Verdicts, as_bits, example
from apframe.protocols.list_thresholds import cuts_of, lists_of, reaching_list_threshold
from apframe.protocols.pairing import number_cells, pairs_for_matcher
from apframe.threads import pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


def prepare_matching(inputs: Inputs) -> MatchInput:
    """Return detections in rank order, annotations by list, and their pairs; a list is a category, or all of them."""
    protocol, matcher, states = inputs.protocol, inputs.protocol.matcher, inputs.states
    detection_cells, annotation_cells = cells = number_cells(inputs)
    with pool() as threads:
        pairing = threads.submit(_pairs, inputs, cells)
        counted = [each.counts_unmatched(inputs.detections) for each in protocol.ranges]
        inside = _bits("inside", counted, states.unmatched_ignored)
        to_order = detection_cells.select(pl.col("category").alias("list"), "image", inputs.detections["score"], inside)
        detections = order_detections(to_order, ties=matcher.ties)
        by_list = np.argsort(annotation_cells["category"].to_numpy(), kind="stable")
        counted = [each.counts(inputs.annotations) for each in protocol.ranges]
        annotations = annotation_cells.select(
            pl.col("category").alias("list"),
            "image",
            pl.Series("row", np.arange(annotation_cells.height, dtype=np.uint32)),
            _bits("counts", counted, states.ignored),
            is_crowd=inputs.crowds,
        )[by_list]
        pairs = pairing.result()
    places = protocol.limit_rule.places(inputs)
    place = detections["place"] if places is None else places.gather(detections["row"]).alias("place")
    score = detections["score"].fill_nan(None) if inputs.detections["score"].null_count() else detections["score"]
    detections = detections.select("list", "image", "row", place, score, "inside")
    of_detections, of_annotations = protocol.definition.row_weights
    lists = lists_of(inputs.dataset.core("categories"), inputs.category_ids, protocol)
    numbered = {"group": [0] * lists.height, "category": range(lists.height)}
    return MatchInput(
        _weighted(detections, inputs.detections, of_detections),
        _weighted(annotations, inputs.annotations, of_annotations),
        pairs.with_columns(
            _position_of(detections["row"].to_numpy(), pairs["detection"]), _position_of(by_list, pairs["annotation"])
        ),
        pl.DataFrame(numbered, dict.fromkeys(numbered, pl.Int64)).hstack(lists.drop("category_id")),
        cuts_of(protocol),
        n_ranges=len(protocol.ranges),
        matcher=matcher,
        own_places=places is not None,
        keeps_empty=protocol.counts_absent,
        own_limits=protocol.limit_rule.by_row,
        score_cutoffs=protocol.definition.cut_offs,
    )


def _pairs(inputs: Inputs, cells: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Return the possible matches, by row numbers of the inputs' tables; `cells` is the result of `number_cells`."""
    pairs = pairs_for_matcher(inputs, cells)
    for rule in inputs.protocol.rules:
        pairs = rule.pairs(inputs, pairs)
    pairs = reaching_list_threshold(pairs, inputs, cells[1]["category"])
    detections, ranges = inputs.detections, inputs.protocol.ranges
    left_out = _flagged("left_out", [each.left_out(detections) for each in ranges])
    void = _flagged("void", [each.void(detections) for each in ranges])
    columns = [flags.gather(pairs["detection"]) for flags in (left_out, void) if flags is not None]
    if void is not None:  # a copy of a detection exists only where its original is void
        everywhere = pl.Series([(1 << len(ranges)) - 1], dtype=void.dtype)
        can_match = void.zip_with(detections["expanded_from"].is_not_null(), everywhere)
        columns.append(can_match.gather(pairs["detection"]).alias("ranges"))
    if inputs.states.fallback is not None:
        columns.append(inputs.states.fallback.gather(pairs["annotation"]).alias("is_fallback"))
    return pairs.hstack(columns) if columns else pairs


def _weighted(rows: pl.DataFrame, table: pl.DataFrame, weight: pl.Expr | None) -> pl.DataFrame:
    """Add a column `weight` to the rows, unless each row counts once."""
    return rows if weight is None else rows.with_columns(table.select(weight=weight)["weight"].gather(rows["row"]))


def _position_of(order: np.ndarray, rows: pl.Series) -> pl.Series:
    """Return the position of each row in an order of all rows."""
    position = np.empty(len(order), dtype=np.uint32)
    position[order] = np.arange(len(order), dtype=np.uint32)
    return pl.Series(rows.name, position[rows.to_numpy()])


def outline_of(categories: pl.DataFrame, category_ids: pl.Series, image_ids: pl.Series, protocol: Protocol) -> Verdicts:
    """Return verdicts without rows under a protocol; the evaluated categories and images are sorted.

    >>> from apframe.protocols.coco import COCO
    >>> named = pl.DataFrame({"category_id": [3, 7], "name": ["a", "b"]})
    >>> outline_of(named, pl.Series([3, 7]), pl.Series([1]), COCO).lists.rows()
    [(3,), (7,)]
    """
    return replace(
        _nothing(),
        thresholds=protocol.iou_thresholds,
        ranges=protocol.range_names,
        limits=protocol.limits,
        ties=protocol.matcher.ties,
        lists=lists_of(categories, category_ids, protocol),
        images=image_ids.alias("image_id").to_frame(),
        keeps_empty=protocol.counts_absent,
    )


@cache
def _nothing() -> Verdicts:
    some = example()
    return replace(some, detections=some.detections.clear(), annotations=some.annotations.clear(), hits=some.hits.clear())


def _flagged(name: str, flags: Sequence[pl.Series | None]) -> pl.Series | None:
    """Return bits of the area ranges that flag each row; None if no range has flags."""
    height = next((len(each) for each in flags if each is not None), None)
    if height is None:
        return None
    return _bits(name, [pl.repeat(False, height, eager=True) if each is None else each for each in flags])


def _bits(name: str, flags: Sequence[pl.Series], ignored: pl.Series | None = None) -> pl.Series:
    """Return bits of the area ranges that flag each row, unless it is ignored anyway."""
    is_counted = None if ignored is None else ~ignored.to_numpy()
    return pl.Series(name, as_bits([each.to_numpy() if is_counted is None else each.to_numpy() & is_counted for each in flags]))
