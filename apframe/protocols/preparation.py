"""From the canonical tables to what is matched: pairs, and the rows in rank order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.by_best_overlap import find_best
from apframe.matching.order import order_detections
from apframe.matching.reached import reaches
from apframe.matching.regroup import Rows
from apframe.matching.verdicts import Verdicts, as_bits, example
from apframe.protocols.list_thresholds import lists_of, thresholds_of
from apframe.protocols.pairing import codes, pair
from apframe.protocols.rules.limits import PLACE, LimitPerImage, RankInImage
from apframe.threads import pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


def prepare_matching(inputs: Inputs) -> Rows:
    """The detections in rank order, the annotations by list, and the pairs of them; a list is a category, or all of them."""
    protocol, matcher, states = inputs.protocol, inputs.protocol.matcher, inputs.states
    ranked = protocol.rule(RankInImage)
    found, expected = (codes(frame, inputs) for frame in (inputs.detections, inputs.annotations))
    with pool() as threads:
        pairing = threads.submit(_links, inputs, expected["category"])
        counted = [each.counts_unmatched(inputs.detections) for each in protocol.ranges]
        inside = _bits("inside", counted, states.unmatched_ignored)
        to_order = found.select(pl.col("category").alias("list"), "image", inputs.detections["score"], inside)
        detections = order_detections(to_order, ties=matcher.ties)
        if ranked is not None:
            detections = detections.with_columns(place=inputs.detections[PLACE].gather(detections["row"]))
        by_list = np.argsort(expected["category"].to_numpy(), kind="stable")
        counted = [each.counts(inputs.annotations) for each in protocol.ranges]
        annotations = expected.select(
            pl.col("category").alias("list"),
            "image",
            pl.Series("row", np.arange(expected.height, dtype=np.uint32)),
            _bits("counts", counted, states.ignored),
            is_crowd=inputs.crowds,
        )[by_list]
        pairs = pairing.result()
    if matcher.at_cut_offs:
        pairs = _described(pairs, inputs)
    if any(each.keeps for each in protocol.levels):
        kept = _bits("kept", [~each.left_out(inputs.detections) for each in protocol.levels])
        pairs = pairs.with_columns(kept.gather(pairs["detection"]))
    if states.fallback is not None:
        pairs = pairs.with_columns(is_last=states.fallback.gather(pairs["annotation"]))
    # a limit per image has been applied already, before detections were copied
    limited = protocol.rule(LimitPerImage) is not None
    of_limit = pl.col("place").clip(upper_bound=protocol.limits[-1]) if limited else pl.col("place")
    detections = detections.select("list", "image", "row", of_limit, "score", "inside")
    if not protocol.has_scores:
        detections = detections.with_columns(pl.col("score").fill_nan(None))
    if protocol.definition.counts_pixels:
        pixels = (inputs.detections["area"] - inputs.detections["void_area"], inputs.annotations["area"])
        detections, annotations = (
            table.with_columns(weight=own.gather(table["row"]))
            for table, own in zip((detections, annotations), pixels, strict=True)
        )
    places = []
    for rows in (detections["row"].to_numpy(), by_list):
        place = np.empty(len(rows), dtype=np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        places.append(place)
    links = pairs.with_columns(
        detection=places[0][pairs["detection"].to_numpy()], annotation=places[1][pairs["annotation"].to_numpy()]
    )
    lists = lists_of(inputs.dataset.core("categories"), inputs.category_ids, protocol).drop("category_id")
    n = 1 if protocol.agnostic else len(inputs.category_ids)
    numbers = pl.DataFrame({"group": [0] * n, "category": range(n)}, schema={"group": pl.Int64, "category": pl.Int64})
    lists = numbers.hstack(lists) if lists.width else numbers
    cuts = np.array([-np.inf] if protocol.category_thresholds else protocol.iou_thresholds)
    if protocol.similarity.in_single:  # as similarities are
        cuts = cuts.astype(np.float32).astype(np.float64)
    return Rows(
        detections,
        annotations,
        links,
        lists,
        cuts,
        n_ranges=len(protocol.ranges),
        matcher=matcher,
        own_places=ranked is not None,
        keeps_empty=protocol.counts_absent,
        own_limits=ranked is not None and ranked.by == "row",
        cut_offs=protocol.definition.cut_offs,
    )


def _links(inputs: Inputs, categories: pl.Series) -> pl.DataFrame:
    """The pairs that can match, see `Rows.links`, by row numbers of the inputs' tables.

    `categories` are numbers of the annotations' categories.
    """
    protocol, matcher = inputs.protocol, inputs.protocol.matcher
    least = protocol.iou_thresholds[0]
    if matcher.wants == "nearest":
        pairs = pair(inputs, min_similarity=protocol.similarity.bounds[0])
        pairs = pairs[find_best(np.arange(pairs.height), *(pairs[name].to_numpy() for name in pairs.columns))]
    elif matcher.wants == "crowds":
        pairs = pair(inputs, min_similarity=0.0)
        of_crowd = inputs.crowds.gather(pairs["annotation"])
        pairs = pairs.filter((pl.col("similarity") >= least) | (of_crowd & (pl.col("similarity") > 0)))
    else:
        pairs = pair(inputs)
    for rule in protocol.rules:
        pairs = rule.pairs(inputs, pairs)
    if not protocol.category_thresholds:
        return pairs
    own = thresholds_of(inputs)[categories.gather(pairs["annotation"]).to_numpy()]
    similarities = [name for name in ("similarity", "inside") if name in pairs.columns]
    reached = [pl.Series(reaches(pairs[name].to_numpy(), own, strict=matcher.strict)) for name in similarities]
    pairs = pairs.with_columns(pl.when(flags).then(name).alias(name) for name, flags in zip(similarities, reached, strict=True))
    return pairs.filter(pl.any_horizontal(pl.col(similarities).is_not_null()))


def _described(pairs: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """The pairs with what matching at cut-offs needs.

    That is `row` of the detection; `ranges`, where the two can be matched (a copy of a detection only where it is void), and
    `void`, where the detection is void, if some are.
    """
    at = pairs["detection"]
    described = [at.alias("row")]
    levels = inputs.protocol.levels
    if any(each.detections for each in levels):
        void = _bits("void", [each.void(inputs.detections) for each in levels])
        everywhere = (1 << len(levels)) - 1
        ranges = void.zip_with(inputs.detections["expanded_from"].is_not_null(), pl.Series([everywhere], dtype=void.dtype))
        described += [ranges.alias("ranges").gather(at), void.gather(at)]
    return pairs.with_columns(described)


def outline_of(categories: pl.DataFrame, category_ids: pl.Series, image_ids: pl.Series, protocol: Protocol) -> Verdicts:
    """Verdicts without rows, under a protocol; the ids of categories and images that are evaluated are sorted.

    >>> from apframe.protocols.coco import COCO
    >>> named = pl.DataFrame({"category_id": [3, 7], "name": ["a", "b"]})
    >>> outline_of(named, pl.Series([3, 7]), pl.Series([1]), COCO).lists.rows()
    [(3,), (7,)]
    """
    some = example()
    return replace(
        some,
        detections=some.detections.clear(),
        annotations=some.annotations.clear(),
        hits=some.hits.clear(),
        thresholds=protocol.iou_thresholds,
        ranges=protocol.range_names,
        limits=protocol.limits,
        ties=protocol.matcher.ties,
        lists=lists_of(categories, category_ids, protocol),
        images=image_ids.alias("image_id").to_frame(),
        keeps_empty=protocol.counts_absent,
    )


def _bits(name: str, flags: Sequence[pl.Series], ignored: pl.Series | None = None) -> pl.Series:
    """The area ranges in which a row is flagged, and not ignored anyway."""
    counted = None if ignored is None else ~ignored.to_numpy()
    return pl.Series(name, as_bits([each.to_numpy() if counted is None else each.to_numpy() & counted for each in flags]))
