"""The classes of a protocol that has a fixed list of them, and other names for some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError, UnknownCategoryWarning, did_you_mean, listed, nearest, warn
from apframe.rule_sets.bdd100k import CLASSES, IGNORED, RENAMED
from apframe.rule_sets.protocol import Protocol
from apframe.schema import Dataset, called, is_known, map_ids, merge_categories

if TYPE_CHECKING:
    from apframe.detection.prepare.inputs import Inputs

_BECAME = {name: name for name in CLASSES} | RENAMED | IGNORED


def with_classes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The inputs with BDD100K's classes as their categories; objects of others are left out.

    Raises
    ------
    ParameterError
        no category has one of the names

    Warns
    -----
    UnknownCategoryWarning
        categories that have annotations are left out
    """
    found = inputs.detections
    named = found["category_id"].unique() if found.schema["category_id"] == pl.String else ()
    dataset, merged = _merged(inputs.dataset, protocol, named)
    chosen = dataset.core("categories")["category_id"]
    if len(inputs.category_ids) < inputs.dataset.core("categories").height:  # some were asked for
        asked = merged.filter(is_known(merged["category_id"], inputs.category_ids))["new_category_id"]
        chosen = asked.drop_nulls().unique()
    return replace(
        inputs,
        dataset=dataset,
        annotations=dataset.core("annotations"),
        detections=map_ids("detections", found, merged),
        category_ids=chosen.sort().alias("category_id"),
    )


def classes_of(dataset: Dataset, protocol: Protocol) -> Dataset:
    """The data set with the categories that `with_classes` gives it, for what looks at categories alone.

    >>> from apframe.rule_sets.bdd100k import BDD100K
    >>> classes_of(Dataset({}, {"category_id": [1, 2], "name": ["van", "lane"]}, {}), BDD100K).categories["name"].to_list()
    ['car']
    """
    return _merged(dataset, protocol, ())[0] if "bdd100k_classes" in protocol.further_rules else dataset


def _merged(dataset: Dataset, protocol: Protocol, further: Iterable[str]) -> tuple[Dataset, pl.DataFrame]:
    """The data set with the classes, found by their names in any case, and what its categories and `further` names became."""
    categories, annotations = dataset.core("categories"), dataset.annotations
    names = called("categories", categories)
    known = {name: _BECAME[name.lower()] for name in sorted({*names, *further}) if name.lower() in _BECAME}
    if not names.is_in(list(known)).any():
        there_are = (
            f"{protocol.name} evaluates {', '.join(CLASSES)}, but the categories are {listed(names.to_list()) or 'none'}"
        )
        raise ParameterError(there_are, did_you_mean(names[0], list(_BECAME)) if len(names) else "", option="protocol")
    is_used = is_known(categories["category_id"], annotations["category_id"].unique())
    left_out = names.filter(~names.is_in(list(known)) & is_used)
    if len(left_out):
        question = nearest(left_out[0], CLASSES)
        which = f"{protocol.name} leaves out {listed(left_out.to_list())}, which it does not evaluate"
        warn(f"{which}; {question}" if question else which, UnknownCategoryWarning)
    merged = merge_categories(categories, dict.fromkeys(names) | known, "drop")
    of_crowds = categories["category_id"].filter(names.str.to_lowercase().is_in(list(IGNORED)))
    is_crowd = annotations["is_crowd"] | is_known(annotations["category_id"], of_crowds)
    dataset = dataset.part(dataset.images, annotations.with_columns(is_crowd=is_crowd)).merge(merged)
    return dataset.with_categories(CLASSES), merged
