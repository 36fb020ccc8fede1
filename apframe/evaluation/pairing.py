"""From the canonical tables to what is matched: pairs, and the rows in rank order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.cuboid_errors import with_errors
from apframe.evaluation.prepare.counting import can_match, crowds, ignored_annotations, ignored_detections, without_mask
from apframe.evaluation.prepare.excluded import PLACE
from apframe.evaluation.prepare.extents import with_image_sizes
from apframe.evaluation.prepare.list_thresholds import lists_of, thresholds_of
from apframe.matching.by_best_overlap import find_best
from apframe.matching.judge import MatchingRules
from apframe.matching.order import order_detections
from apframe.matching.policies import POLICIES
from apframe.matching.reached import NEARLY_ONE, reaches
from apframe.matching.regroup import Rows
from apframe.matching.verdicts import as_bits
from apframe.protocols.orientation import agreement
from apframe.rows import treating_malformed
from apframe.similarity.pairs import require
from apframe.threads import pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apframe.evaluation.prepare.inputs import Inputs
    from apframe.protocols.protocol import Protocol

_MOST_IDS = 1 << 24  # in a table of 64 MB, of which only the parts with ids are ever touched


def pair(
    inputs: Inputs,
    protocol: Protocol,
    *,
    least: float | None = None,
    across_categories: bool = False,
    is_crowd: pl.Series | None = None,
) -> pl.DataFrame:
    """The pairs of an image and category that are similar enough.

    Parameters
    ----------
    inputs
        what is evaluated
    protocol
        whose similarity compares, and whose categories may be pooled
    least
        the lowest similarity of interest; by default the lowest threshold
    across_categories
        also pair detections with annotations of other categories
    is_crowd
        flags of the annotations where intersections are over the detection alone; by default those of crowds

    Returns
    -------
    detection, annotation (row numbers of the inputs' tables), similarity; in no order. Pairs below `least` may be there.
    """
    pooled = protocol.agnostic or across_categories
    cells = [codes(frame, inputs, pooled=pooled)["cell"] for frame in (inputs.detections, inputs.annotations)]
    return _pair(inputs, protocol, cells, protocol.iou_thresholds[0] if least is None else least, is_crowd)


def _pair(
    inputs: Inputs, protocol: Protocol, cells: Sequence[pl.Series], least: float, is_crowd: pl.Series | None = None
) -> pl.DataFrame:
    """The pairs within the cells, which are one number for each detection and one for each annotation."""
    if inputs.detections.is_empty() or inputs.annotations.is_empty():  # which may lack columns that they never had values of
        return pl.DataFrame(schema={"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64})
    similarity = protocol.similarity
    detections = inputs.detections.with_columns(cells[0])
    annotations = inputs.annotations.with_columns(
        cells[1], is_crowd=crowds(inputs.annotations, protocol) if is_crowd is None else is_crowd
    )
    require(similarity, detections, annotations)
    if similarity.uses_images:
        detections, annotations = (with_image_sizes(frame, inputs.dataset.images) for frame in (detections, annotations))
    with treating_malformed(inputs.malformed):
        pairs = similarity.pair(detections, annotations, min(least, NEARLY_ONE), **inputs.prepared)
    for name, objects in (("detection", detections), ("annotation", annotations)):
        usable = can_match(objects, protocol)
        pairs = pairs if usable.all() else pairs.filter(usable.gather(pairs[name]))
    return pairs


def arrange(inputs: Inputs, protocol: Protocol) -> Rows:
    """The detections in rank order, the annotations by list, and the pairs of them; a list is a category, or all of them."""
    found, expected = (codes(frame, inputs, pooled=protocol.agnostic) for frame in (inputs.detections, inputs.annotations))
    with pool() as threads:
        pairing = threads.submit(_links, inputs, protocol, found, expected)
        void = [each.void(inputs.detections) for each in protocol.difficulties]
        gone = [each.left_out(inputs.detections) for each in protocol.difficulties]
        nowhere = [one | other for one, other in zip(void, gone, strict=True)]
        inside = _bits("inside", inputs.detections, ignored_detections(inputs.detections, protocol), protocol, nowhere)
        to_order = found.select(pl.col("category").alias("list"), "image", inputs.detections["score"], inside)
        detections = order_detections(to_order, ties=protocol.ties)
        if protocol.limits_images:
            detections = detections.with_columns(place=inputs.detections[PLACE].gather(detections["row"]))
        by_list = np.argsort(expected["category"].to_numpy(), kind="stable")
        annotations = expected.select(
            pl.col("category").alias("list"),
            "image",
            pl.Series("row", np.arange(expected.height, dtype=np.uint32)),
            _bits(
                "counts",
                inputs.annotations,
                ignored_annotations(inputs.annotations, protocol),
                protocol,
                [~each.counts(inputs.annotations) for each in protocol.difficulties],
            ),
            is_crowd=crowds(inputs.annotations, protocol),
        )[by_list]
        pairs = pairing.result()
    if POLICIES[protocol.matching].at_cut_offs:
        pairs = _described(pairs, inputs, protocol, void)
    if any(each.keeps for each in protocol.difficulties):
        kept = pl.Series("kept", as_bits([~flags.to_numpy() for flags in gone]))
        pairs = pairs.with_columns(kept.gather(pairs["detection"]))
    if "no_mask" in protocol.ignores:
        pairs = pairs.with_columns(is_last=without_mask(inputs.annotations).gather(pairs["annotation"]))
    if protocol.errors is not None and protocol.errors.threshold_number(protocol.iou_thresholds) is not None:
        pairs = with_errors(pairs, inputs.detections, inputs.annotations, _half_turns(inputs, protocol), protocol.errors)
    # a limit per image has been applied already, before detections were copied
    has_copies = POLICIES[protocol.matching].is_shared and protocol.per_image
    of_limit = pl.col("place").clip(upper_bound=protocol.limits[-1]) if has_copies else pl.col("place")
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
    return Rows(detections, annotations, links, lists)


def _links(inputs: Inputs, protocol: Protocol, found: pl.DataFrame, expected: pl.DataFrame) -> pl.DataFrame:
    """The pairs that can match, see `Rows.links`, by row numbers of the inputs' tables; `found` and `expected` are `codes`."""
    cells, least = [found["cell"], expected["cell"]], protocol.iou_thresholds[0]
    if POLICIES[protocol.matching].is_of_nearest:
        pairs = _pair(inputs, protocol, cells, protocol.similarity.bounds[0])
        return pairs[find_best(np.arange(pairs.height), *(pairs[name].to_numpy() for name in pairs.columns))]
    if POLICIES[protocol.matching].touches_crowds:
        pairs = _pair(inputs, protocol, cells, 0.0)
        of_crowd = crowds(inputs.annotations, protocol).gather(pairs["annotation"])
        return pairs.filter((pl.col("similarity") >= least) | (of_crowd & (pl.col("similarity") > 0)))
    pairs = _pair(inputs, protocol, cells, least)
    if protocol.crowds == "ignored_by_iou":
        pairs = pairs.with_columns(inside="similarity")
    elif protocol.crowds == "all_ignored":
        inside = _pair(inputs, protocol, cells, least, pl.repeat(True, inputs.annotations.height, eager=True))
        pairs = pairs.join(inside.rename({"similarity": "inside"}), on=["detection", "annotation"], how="full", coalesce=True)
    if not protocol.category_thresholds:
        return pairs
    own = thresholds_of(inputs, protocol)[expected["category"].gather(pairs["annotation"]).to_numpy()]
    similarities = pairs.columns[2:]
    reached = [pl.Series(reaches(pairs[name].to_numpy(), own, strict=protocol.strict)) for name in similarities]
    pairs = pairs.with_columns(pl.when(flags).then(name).alias(name) for name, flags in zip(similarities, reached, strict=True))
    return pairs.filter(pl.any_horizontal(pl.col(similarities).is_not_null()))


def _described(pairs: pl.DataFrame, inputs: Inputs, protocol: Protocol, void: Sequence[pl.Series]) -> pl.DataFrame:
    """The pairs with what matching at cut-offs needs.

    That is `row` of the detection; `ranges`, where the two can be matched (a copy of a detection only where it is void), and
    `void`, where the detection is void, if some are; and `weight`, how well the orientations agree, if all have one.
    """
    found, at = inputs.detections, pairs["detection"]
    described = [at.alias("row")]
    if any(each.detections for each in protocol.difficulties):
        is_copy = found["expanded_from"].is_not_null().to_numpy()
        bits = as_bits([flags.to_numpy() for flags in void])
        everywhere = bits.dtype.type((1 << len(void)) - 1)
        described += [pl.Series("ranges", np.where(is_copy, bits, everywhere)).gather(at), pl.Series("void", bits).gather(at)]
    if protocol.orientation:
        weight = agreement(protocol.orientation, found, inputs.annotations, pairs)
        described += [] if weight is None else [weight.alias("weight")]
    return pairs.with_columns(described)


def _half_turns(inputs: Inputs, protocol: Protocol) -> pl.Series:
    """Flags of the annotations whose front and back cannot be told apart."""
    assert protocol.errors is not None
    categories = inputs.dataset.core("categories")
    names = pl.Series([name.lower() for name in protocol.errors.half_turns], dtype=pl.String)
    ids = categories.filter(categories["name"].cast(pl.String).str.to_lowercase().is_in(names.implode()))["category_id"]
    return inputs.annotations["category_id"].is_in(ids.implode())


def matching_rules(protocol: Protocol) -> MatchingRules:
    """The rule of matching under a protocol."""
    return MatchingRules(
        policy=POLICIES[protocol.matching],
        thresholds=protocol.iou_thresholds,
        ranges=tuple(name for name, *_ in protocol.area_ranges),
        limits=protocol.limits,
        ties=protocol.ties,
        strict=protocol.strict,
        count_groups=protocol.crowds == "counted",
        misses_groups=protocol.crowds == "missed",
        own_limits="limits_by_rows" in protocol.further_rules,
        all_reach=bool(protocol.category_thresholds),
        in_single=protocol.similarity.in_single,
        cut_offs=protocol.definition.cut_offs,
    )


def codes(frame: pl.DataFrame, inputs: Inputs, *, pooled: bool) -> pl.DataFrame:
    """Dense numbers of each row's image and category, in the order of the ids, and one number for both (`cell`)."""
    image = _code(frame["image_id"], inputs.image_ids)
    category = pl.zeros(frame.height, pl.UInt32, eager=True) if pooled else _code(frame["category_id"], inputs.category_ids)
    cell = category.cast(pl.Int64) * len(inputs.image_ids) + image
    return pl.DataFrame([image.alias("image"), category.alias("category"), cell.alias("cell")])


def _code(values: pl.Series, ids: pl.Series) -> pl.Series:
    """The place of each value among the sorted ids."""
    if ids.is_empty():  # then there are no rows
        return values.cast(pl.UInt32)
    place = np.arange(len(ids), dtype=np.uint32)
    if ids.dtype.is_integer() and ids[-1] - ids[0] < _MOST_IDS:  # looked up in a table of all ids in between
        table = np.empty(ids[-1] - ids[0] + 1, dtype=np.uint32)
        table[ids.to_numpy() - ids[0]] = place
        return pl.Series(table[values.to_numpy() - ids[0]])
    return values.replace_strict(ids, pl.Series(place), return_dtype=pl.UInt32)


def _bits(
    name: str, frame: pl.DataFrame, ignored: pl.Series, protocol: Protocol, ignored_there: Sequence[pl.Series] = ()
) -> pl.Series:
    """In which area ranges each row is, and not ignored anyway, nor ignored there.

    A negative area, which malformed rows have that are kept, is in those from 0 unless it decides what becomes of them.
    """
    area, counts = frame["area"].to_numpy(), ~ignored.to_numpy()
    least = 0.0 if protocol.malformed == "by_area" else -np.inf
    flags = [(area >= (low or least)) & (area <= high) & counts for _, low, high in protocol.area_ranges]
    if ignored_there:
        flags = [inside & ~each.to_numpy() for inside, each in zip(flags, ignored_there, strict=True)]
    return pl.Series(name, as_bits(flags))
