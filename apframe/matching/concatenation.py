"""Verdicts of disjoint images, combined into those of all images at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from apframe.exceptions import ParameterError
from apframe.matching.order import merge_order
from apframe.matching.verdicts import Verdicts

Columns = Mapping[str, np.ndarray]


def concat(parts: Sequence[Verdicts]) -> Verdicts:
    """Combine the verdicts of disjoint images into those of all images; the order of a detection's hits may differ.

    `row` is unchanged: with ties="input" or "later", number the rows consecutively over all parts before.

    Raises
    ------
    ParameterError
        there are no parts, or parts differ in thresholds, area ranges, limits, ties or types of ids, or share an image

    >>> from apframe.matching.verdicts import example
    >>> whole = example()
    >>> parts = [whole.of_images(np.array(kept)) for kept in ([False, True], [True, False])]
    >>> concat(parts).detections.equals(whole.detections), concat(parts).hits.equals(whole.hits)
    (True, True)
    """
    if not parts:
        raise ParameterError("there are no verdicts to combine")
    first, *others = parts
    if any(part.header != first.header for part in others):
        raise ParameterError(
            "verdicts with different thresholds, area ranges, max_detections, ties or id types cannot be combined"
        )
    images = pl.concat([part.images for part in parts])
    if images["image_id"].is_duplicated().any():
        twice = images["image_id"].filter(images["image_id"].is_duplicated())[0]
        raise ParameterError(f"image {twice!r} is in two of the parts", "give parts with different images")
    images = images.sort("image_id")
    keys = first.lists.columns
    lists = pl.concat([part.lists for part in parts]).unique().sort(keys)
    tables: dict[str, list[pl.DataFrame]] = {"detections": [], "annotations": [], "hits": []}
    n_before = {"detection": 0, "annotation": 0}
    for part in parts:
        image = part.images.join(images.with_row_index("to"), on="image_id", how="left", maintain_order="left")["to"]
        number = part.lists.join(lists.with_row_index("to"), on=keys, how="left", maintain_order="left", nulls_equal=True)["to"]
        tables["hits"].append(part.hits.with_columns(pl.col(name) + n for name, n in n_before.items()))
        for name in n_before:
            table = getattr(part, f"{name}s")
            tables[f"{name}s"].append(table.with_columns(list=number.gather(table["list"]), image=image.gather(table["image"])))
            n_before[name] += table.height
    merged = ({column.name: column.to_numpy() for column in pl.concat(each)} for each in tables.values())
    return merge(replace(first, images=images, lists=lists), *merged)


def merge(outline: Verdicts, detections: Columns, annotations: Columns, hits: Columns) -> Verdicts:
    """Merge the rows of several parts, given one part after the other, into verdicts.

    Parameters
    ----------
    outline
        verdicts with everything but these rows: thresholds, images, lists, ...
    detections, annotations, hits
        columns as in `Verdicts`: images and lists by their numbers in `outline`, and rows of the first two by their positions
        here. Detections of one part are in rank order

    >>> from apframe.matching.verdicts import example
    >>> columns = ({column.name: column.to_numpy() for column in table}
    ...     for table in (example().detections[::-1], example().annotations, example().hits.clear()))
    >>> merge(example(), *columns).detections["score"].to_list()
    [0.9, 0.8]
    """
    tie = detections["image" if outline.ties == "image" else "row"]
    if outline.ties == "later":
        tie = -tie.astype(np.int64)
    order = merge_order(detections["list"], detections["score"], tie)
    annotation_order = np.lexsort((annotations["row"], annotations["list"]))
    places = {}
    for name, rows in (("detection", order), ("annotation", annotation_order)):
        places[name] = np.empty(len(rows), dtype=np.uint32)
        places[name][rows] = np.arange(len(rows), dtype=np.uint32)
    at = {name: place[hits[name]] for name, place in places.items()}
    of_detections = np.argsort(at["detection"], kind="stable")
    return replace(
        outline,
        detections=_gather(detections, order),
        annotations=_gather(annotations, annotation_order),
        hits=_gather({**hits, **at}, of_detections),
    )


def _gather(columns: Columns, rows: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({name: column[rows] for name, column in columns.items()})
