"""The classes of a protocol: which categories are evaluated, and copies of objects of others that matter to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.detection.prepare.hierarchy import expand_annotations
from apframe.exceptions import ColumnError, ParameterError, listed
from apframe.rule_sets.protocol import Protocol
from apframe.schema import TABLES

if TYPE_CHECKING:
    from apframe.detection.prepare.inputs import Inputs

COPIED = "expanded_from"  # the column of copies that names what they are copies of


def with_own_classes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The inputs with the protocol's classes as the categories that are evaluated, found by their names in any case.

    Objects of other categories that matter to a class are copied into it, in the place that they have in the input. Copies
    name the object that they are of in `expanded_from`. They are annotations of its neighbours (`ignore`), regions
    (`is_crowd`), and detections that are void at some level of difficulty.

    Raises
    ------
    ColumnError
        a column is missing by which levels of difficulty are told apart
    ParameterError
        no category has the name of a class
    """
    classes, dataset = protocol.classes, inputs.dataset
    _refuse_missing(inputs, protocol)
    categories = dataset.core("categories")
    names = categories["name"].cast(pl.String).str.to_lowercase().to_list()
    ids = dict(zip(names, categories["category_id"].to_list(), strict=True))
    known = [ids[name.lower()] for name in classes.names if name.lower() in ids]
    if not known:
        problem = f"{protocol.name} evaluates {listed(list(classes.names))}"
        raise ParameterError(
            f"{problem}, but the categories are {listed(categories['name'].to_list())}",
            'rename them, as in category_map={"car": "Car"}',
            option="protocol",
        )
    chosen = inputs.category_ids.filter(inputs.category_ids.is_in(known))
    annotations, found = dataset.annotations, inputs.detections
    neighbours = [(ids.get(other.lower()), ids.get(name.lower())) for name, other in classes.neighbours]
    regions = [ids[name.lower()] for name in classes.regions if name.lower() in ids]
    if neighbours or regions:
        of_region = annotations["category_id"].is_in(pl.Series(regions, dtype=chosen.dtype).implode())
        annotations = annotations.with_columns(is_crowd=annotations["is_crowd"] | of_region)
        targets = [*neighbours, *((region, of) for region in regions for of in chosen)]
        annotations = _with_copies(annotations, targets, "annotation_id")
        ignore = annotations["ignore"] if "ignore" in annotations.columns else False
        annotations = annotations.with_columns(ignore=pl.col(COPIED).is_not_null() | ignore)
        known = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
        dataset = dataset.part(dataset.images, annotations.select(*known, pl.exclude(known)))
    if any(each.detections for each in protocol.difficulties):
        others = found["category_id"].unique().to_list()
        found = _with_copies(found, [(other, of) for other in others for of in chosen if of != other], "detection_id")
        is_void = reduce(or_, [each.void(found) for each in protocol.difficulties])
        found = found.filter(found[COPIED].is_null() | is_void)
    return replace(inputs, dataset=dataset, annotations=dataset.annotations, detections=found, category_ids=chosen)


def _refuse_missing(inputs: Inputs, protocol: Protocol) -> None:
    """An error where a table lacks columns that the levels of difficulty are told apart by."""
    needed = {
        "annotations": [column for each in protocol.difficulties for column, *_ in each.annotations],
        "detections": [column for each in protocol.difficulties for column, _ in each.detections],
    }
    for table, frame in (("annotations", inputs.dataset.annotations), ("detections", inputs.detections)):
        missing = [column for column in dict.fromkeys(needed[table]) if column not in frame.columns]
        if missing and frame.height:
            remedy = f"add it, as null where it is unknown; {protocol.name} uses it to tell levels of difficulty apart"
            raise ColumnError(f"no column {', '.join(missing)}", remedy, table=table)


def _with_copies(frame: pl.DataFrame, targets: Sequence[tuple[Any, Any]], key: str) -> pl.DataFrame:
    """The rows, each with its copies for other categories right behind it; `targets` are pairs of a category and another."""
    ids = frame.schema["category_id"]
    chosen = [pair for pair in targets if None not in pair]
    pairs = pl.DataFrame(chosen, schema={"category_id": ids, "ancestor_id": ids}, orient="row")
    place = "place of the original"
    return expand_annotations(frame.with_row_index(place), pairs, key).sort(place, maintain_order=True).drop(place)
