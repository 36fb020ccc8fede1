"""The classes of a protocol: which categories are evaluated, and copies of objects of others that matter to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.prepare.hierarchy import expand_annotations
from apframe.exceptions import ColumnError, ParameterError, UnknownCategoryWarning, warn
from apframe.protocols.protocol import Protocol
from apframe.rows import refuse_rows
from apframe.tables.category_map import map_ids, merge_categories
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import called
from apframe.tables.tables import TABLES
from apframe.wording import listed, nearest, spelled

if TYPE_CHECKING:
    from apframe.evaluation.prepare.inputs import Inputs

_FEW = 5  # points, of which an object is at level 2
COPIED = "expanded_from"  # the column of copies that names what they are copies of


def with_own_classes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The inputs with the protocol's classes as the categories that are evaluated: see `own_categories`.

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
    classes, found = protocol.classes, inputs.detections
    _refuse_missing(inputs, protocol)
    named = found["category_id"].unique().to_list() if found.schema["category_id"] == pl.String else []
    dataset, chosen, merged = own_categories(inputs.dataset, inputs.category_ids, protocol, named)
    found = found if merged is None else map_ids("detections", found, merged)
    annotations, ids = dataset.annotations, _ids_by_name(dataset)
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


def own_categories(
    dataset: Dataset, category_ids: pl.Series, protocol: Protocol, further: Sequence[str] = ()
) -> tuple[Dataset, pl.Series, pl.DataFrame | None]:
    """The data set with the classes under the protocol's names, found in any case, and which of some ids are evaluated.

    `further` are names that detections have beside those of the categories. Classes that count without annotations too become
    categories, unless categories were chosen. The last result says what categories became, see
    `apframe.tables.category_map.merge_categories`; None if all have the names of the protocol.

    Raises
    ------
    ParameterError
        no category has the name of a class

    Warns
    -----
    UnknownCategoryWarning
        a category with annotations is not evaluated, and its name is nearly that of a class

    >>> from apframe.protocols.bdd100k import BDD100K
    >>> dataset = Dataset({}, {"category_id": [1, 2], "name": ["van", "lane"]}, {})
    >>> dataset, chosen, _ = own_categories(dataset, pl.Series([1, 2]), BDD100K)
    >>> dataset.categories["name"].to_list(), chosen.to_list()
    (['car', 'lane'], [1])
    """
    classes, merged = protocol.classes, None
    if not classes.names:
        return dataset, category_ids, None
    categories, annotations = dataset.core("categories"), dataset.core("annotations")
    names = called("categories", categories)
    became = {name.lower(): name for name in classes.names} | dict(classes.renamed) | dict(classes.crowds)
    is_ours = names.str.to_lowercase().is_in(list(became))
    if not is_ours.any():
        problem = f"{protocol.name} evaluates {listed(list(classes.names))}, but the categories are {listed(names.to_list())}"
        remedy = f"rename yours with {spelled('category_map')}, a map from each name to one of these"
        raise ParameterError(problem, remedy, option="protocol")
    _ask_about(names.filter(~is_ours & is_known(categories["category_id"], annotations["category_id"].unique())), protocol)
    became |= {name.lower(): name for name in (*(other for _, other in classes.neighbours), *classes.regions)}
    new = {name: became.get(name.lower(), name) for name in dict.fromkeys([*names, *further])}
    is_new = [*categories["name"], *further] != [new[name] for name in (*names, *further)]  # the names may be null
    if is_new or classes.renamed or classes.crowds:
        merged = merge_categories(categories, new, "keep")
        of_crowds = categories["category_id"].filter(names.str.to_lowercase().is_in([name for name, _ in classes.crowds]))
        is_crowd = annotations["is_crowd"] | is_known(annotations["category_id"], of_crowds)
        flagged = dataset.annotations.with_columns(is_crowd=is_crowd)
        dataset = dataset.part(dataset.images, flagged).merge(merged)
        dataset = dataset.with_categories(classes.names) if classes.renamed or classes.crowds else dataset
        asked = merged["new_category_id"].filter(is_known(merged["category_id"], category_ids)).unique()
        category_ids = asked if len(category_ids) < categories.height else dataset.core("categories")["category_id"]
    if classes.counts_absent and len(category_ids) == categories.height:  # not where some are chosen
        ids = _ids_by_name(dataset)
        dataset = dataset.with_categories([name for name in classes.names if name.lower() not in ids], numbered=True)
        category_ids = dataset.core("categories")["category_id"]
    ids = _ids_by_name(dataset)
    known = pl.Series([ids[name.lower()] for name in classes.names if name.lower() in ids], dtype=category_ids.dtype)
    return dataset, category_ids.filter(is_known(category_ids, known)).sort().alias("category_id"), merged


def _ids_by_name(dataset: Dataset) -> dict[str, Any]:
    """The ids of the categories by their names in lower case."""
    categories = dataset.core("categories")
    return dict(zip(called("categories", categories).str.to_lowercase(), categories["category_id"], strict=True))


def _ask_about(names: pl.Series, protocol: Protocol) -> None:
    """A warning if categories that are not evaluated are nearly called as a class."""
    classes = protocol.classes
    related = {name.lower() for name in (*(other for _, other in classes.neighbours), *classes.regions, *classes.excluded)}
    near = {name: nearest(name, classes.names) for name in names if name.lower() not in related}
    if questions := [f"{name!r}, {question}" for name, question in near.items() if question]:
        warn(f"{protocol.name} does not evaluate {'; nor '.join(questions)}", UnknownCategoryWarning)


def with_levels(inputs: Inputs) -> Inputs:
    """The inputs with a `level` for each annotation: where it is null or 0, 2 for few points or an unknown number, otherwise 1.

    Levels may be whole floats, which pandas makes of integers where one is missing.

    Source: `compute_detection_metrics_main.cc` of waymo-open-dataset, where 0 stands for an unknown level.

    Raises
    ------
    ColumnError
        levels are true and false
    RowError
        a level is none of 0, 1 and 2
    """
    annotations, dataset = inputs.dataset.annotations, inputs.dataset
    known, few = "level" in annotations.columns, pl.lit(2)
    if "n_points" in annotations.columns:
        few = pl.when(pl.col("n_points").fill_null(0) <= _FEW).then(2).otherwise(1)
    elif not known:
        return inputs
    if known:
        given = annotations["level"]
        if given.dtype == pl.Boolean:
            raise ColumnError("must hold 1, 2 or null, not true and false", table="annotations", column="level")
        unknown = ~given.cast(pl.Float64).is_in([0.0, 1.0, 2.0])
        refuse_rows("annotations", annotations, unknown, "level is not 1 or 2", "give null if it is unknown")
        annotations = annotations if given.dtype.is_integer() else annotations.with_columns(given.cast(pl.Int64))
    level = pl.when(pl.col("level") != 0).then("level").otherwise(few) if known else few
    annotations = annotations.with_columns(level=level)
    dataset = dataset.part(dataset.images, annotations)
    return replace(inputs, dataset=dataset, annotations=annotations)


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
            called = ["vis_ratio (or vis_bbox)" if column == "vis_ratio" else column for column in missing]
            raise ColumnError(f"no column {', '.join(called)}", remedy, table=table)


def _with_copies(frame: pl.DataFrame, targets: Sequence[tuple[Any, Any]], key: str) -> pl.DataFrame:
    """The rows, each with its copies for other categories right behind it; `targets` are pairs of a category and another."""
    ids = frame.schema["category_id"]
    chosen = [pair for pair in targets if None not in pair]
    pairs = pl.DataFrame(chosen, schema={"category_id": ids, "ancestor_id": ids}, orient="row")
    place = "place of the original"
    return expand_annotations(frame.with_row_index(place), pairs, key).sort(place, maintain_order=True).drop(place)
