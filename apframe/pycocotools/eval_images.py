"""pycocotools' `evalImgs`, `ious` and `eval`: cells of an image and a category, cut out of tables and ranked again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl

from apframe.evaluation.in_memory import InMemory
from apframe.evaluation.pipeline import Pipeline
from apframe.exceptions import MaskSizeWarning, NoAnnotationsWarning, ParameterError
from apframe.matching.verdicts import Verdicts, as_bits, has_bit
from apframe.metrics.cells import Cells
from apframe.protocols.application import make_inputs
from apframe.protocols.metrics_table import arrays_of
from apframe.protocols.pairing import pair
from apframe.protocols.preparation import outline_of
from apframe.protocols.protocol import Protocol
from apframe.pycocotools.mask_sizes import SMALLEST
from apframe.tables.dataset import Dataset
from apframe.tables.ids import with_id_types
from apframe.wording import counted

Cell = dict[str, Any]


def take(truth: Dataset, detections: pl.DataFrame, protocol: Protocol, *, are_checked: bool) -> Pipeline:
    """Prepare the tables to evaluate, without warnings of missing annotations (shown as -1) or of mask sizes.

    Detections that `are_checked` are canonical already, on images of the ground truth.
    """
    with warnings.catch_warnings():
        for category in (NoAnnotationsWarning, MaskSizeWarning):
            warnings.simplefilter("ignore", category)
        if are_checked:
            detections = with_id_types("detections", detections, truth)
        return Pipeline(InMemory.of(make_inputs(truth, detections, None, protocol, are_checked=are_checked)), protocol)


class Layout:
    """The rows of an evaluation, grouped by cell, as arrays from which cells are cut.

    Cells are numbered by category, then image. Detections are in the order of their scores, up to the limit of a cell;
    annotations are in their original order.

    Parameters
    ----------
    pipeline
        the pipeline of the evaluation
    image_ids, category_ids
        in the order of the cells; the single category -1 if they are pooled
    """

    def __init__(self, pipeline: Pipeline, image_ids: Sequence[Any], category_ids: Sequence[Any]) -> None:
        self.pipeline, self.image_ids, self.category_ids = pipeline, image_ids, category_ids
        verdicts, inputs = pipeline.verdicts, pipeline.inputs
        image = _places(verdicts.images["image_id"], image_ids)
        category = np.zeros(1, dtype=np.int64)
        if not verdicts.is_pooled:
            category = _places(verdicts.lists["category_id"], category_ids)
        laid = []
        for table in (verdicts.detections.filter(pl.col("place") <= verdicts.limits[-1]), verdicts.annotations):
            number, of_image = (table[name].to_numpy() for name in ("list", "image"))
            laid.append(
                table.with_columns(cell=category[number] * len(image_ids) + image[of_image]).sort("cell", maintain_order=True)
            )
        self.in_detections, self.in_annotations = laid
        self.detected, self.annotated = (table["cell"].to_numpy() for table in laid)
        self.detection_ids = inputs.detections["detection_id"].gather(self.in_detections["row"])
        self.annotation_ids = inputs.annotations["annotation_id"].gather(self.in_annotations["row"])
        # the position of each of the inputs' rows, -1 without one
        self.place_of_detection, self.place_of_annotation = (
            _inverse(table["row"].to_numpy(), rows.height)
            for table, rows in ((self.in_detections, inputs.detections), (self.in_annotations, inputs.annotations))
        )
        self.cells = np.unique(np.concatenate([self.detected, self.annotated]))
        self.detection_bounds, self.annotation_bounds = (
            np.searchsorted(of, [*self.cells, np.iinfo(np.int64).max]).tolist() for of in (self.detected, self.annotated)
        )


def _places(ids: pl.Series, values: Sequence[Any]) -> np.ndarray:
    """Return the position of each id in a list."""
    if ids.is_empty():
        return np.zeros(0, dtype=np.int64)
    places = pl.int_range(len(values), dtype=pl.Int64, eager=True)
    return ids.replace_strict(pl.Series(values, dtype=ids.dtype), places, return_dtype=pl.Int64).to_numpy()


def _inverse(rows: np.ndarray, n: int) -> np.ndarray:
    places = np.full(n, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return places


def make_similarities(layout: Layout) -> dict[tuple[Any, Any], Any]:
    """Return `ious` by image and category: arrays of detections, best score first, × annotations; [] without either."""
    pairs = pair(layout.pipeline.inputs, min_similarity=SMALLEST)
    detection = layout.place_of_detection[pairs["detection"].to_numpy()]
    pairs, detection = pairs.filter(pl.Series(detection >= 0)), detection[detection >= 0]
    annotation = layout.place_of_annotation[pairs["annotation"].to_numpy()]
    similarities: dict[tuple[Any, Any], Any] = {
        (image_id, category_id): [] for image_id, category_id in product(layout.image_ids, layout.category_ids)
    }
    starts = np.array(layout.annotation_bounds[:-1], dtype=np.int64)
    at = np.searchsorted(layout.cells, layout.detected[detection])
    widths = np.diff(layout.annotation_bounds)
    rows = np.repeat(widths, np.diff(layout.detection_bounds))  # the length of the row of each detection
    row_starts = np.cumsum(rows) - rows
    flat = np.zeros(int(rows.sum()))
    flat[row_starts[detection] + annotation - starts[at]] = pairs["similarity"].to_numpy()
    for cell, (begin, end), width in zip(layout.cells.tolist(), pairwise(layout.detection_bounds), widths, strict=True):
        if width and end > begin:
            category, image = divmod(cell, len(layout.image_ids))
            start = int(row_starts[begin])
            matrix = flat[start : start + (end - begin) * width].reshape(-1, width)
            similarities[layout.image_ids[image], layout.category_ids[category]] = matrix
    return similarities


def make_cells(layout: Layout, thresholds: Sequence[int], areas: Sequence[Any], limit: int) -> list[Cell | None]:
    """Return `evalImgs` by category, area range and image; None for cells without detections and annotations.

    `thresholds` are the numbers of the protocol's thresholds, in the order of the cells' rows.

    As in the reference, an id of 0 in `dtMatches` and `gtMatches` is no match, see `loses_matches`.
    """
    n_images, hits = len(layout.image_ids), _hits_of_cells(layout)
    cells: list[Cell | None] = [None] * (len(layout.category_ids) * len(areas) * n_images)
    detection_ids, scores = layout.detection_ids.to_list(), layout.in_detections["score"].to_list()
    numbers = layout.cells.tolist()
    for a in range(len(areas)):
        columns, annotation_ids = _match(layout, hits, a)
        columns |= {name: columns[name][thresholds] for name in ("dtMatches", "gtMatches", "dtIgnore")}
        bounds = zip(numbers, pairwise(layout.detection_bounds), pairwise(layout.annotation_bounds), strict=True)
        for number, detected, annotated in bounds:
            category, image = divmod(number, n_images)
            d, g = slice(*detected), slice(*annotated)
            cells[(category * len(areas) + a) * n_images + image] = {
                "image_id": layout.image_ids[image],
                "category_id": layout.category_ids[category],
                "aRng": areas[a],
                "maxDet": limit,
                "dtIds": detection_ids[d],
                "gtIds": annotation_ids[g],
                "dtMatches": columns["dtMatches"][:, d],
                "gtMatches": columns["gtMatches"][:, g],
                "dtScores": scores[d],
                "gtIgnore": columns["gtIgnore"][g],
                "dtIgnore": columns["dtIgnore"][:, d],
            }
    return cells


def loses_matches(pipeline: Pipeline) -> bool:
    """Return True if the reference ignores some matches because they lack an id above 0.

    A detection matched with annotation 0 is a false positive, or outside the area range. An annotation matched with a detection
    of an id below 1 remains free for others to match.

    Source: `gtm[tind,gind]>0` and `dtm==0` in `COCOeval.evaluateImg`, `np.logical_not(dtm)` in `COCOeval.accumulate`.
    """
    annotation_ids = pipeline.inputs.annotations["annotation_id"]
    below = _below_1(pipeline.inputs.detections["detection_id"])
    return below.any() or (annotation_ids.dtype.is_integer() and bool((annotation_ids == 0).any()))


def _below_1(ids: pl.Series) -> pl.Series:
    """Flag ids below 1."""
    return ids < 1 if ids.dtype.is_integer() else pl.repeat(False, len(ids), eager=True)


def _hits_of_cells(layout: Layout) -> pl.DataFrame:
    """Return the hits, one row per threshold: threshold (its number), detection and annotation (positions), ranges.

    Detections of ids below 1 take no annotation away from others, see `loses_matches`: each is matched in its own run with the
    others.
    """
    pipeline, below = layout.pipeline, _below_1(layout.detection_ids)
    if not below.any():
        return _places_of_hits(layout, pipeline.verdicts, np.arange(pipeline.inputs.detections.height))
    in_cell = pl.DataFrame({"cell": layout.detected, "below": below, "row": layout.in_detections["row"]})
    number = pl.when("below").then(pl.col("below").cum_sum().over("cell")).otherwise(0)  # of such detections in a cell, from 1
    numbered, parts = in_cell.with_columns(number=number), []
    for each in numbered["number"].unique().to_list():
        rows = numbered.filter(pl.col("number").is_in([0, each]))["row"].sort()
        inputs = replace(pipeline.inputs, detections=pipeline.inputs.detections[rows], prepared={})
        hits = _places_of_hits(layout, InMemory.of(inputs).verdicts(), rows.to_numpy())
        own = np.flatnonzero((numbered["number"] == each).to_numpy())
        parts.append(hits.filter(pl.col("detection").is_in(own)))
    return pl.concat(parts)


def _places_of_hits(layout: Layout, verdicts: Verdicts, rows: np.ndarray) -> pl.DataFrame:
    """Return the hits of verdicts whose detections are these rows of the inputs."""
    hits = verdicts.hits_at(-1)
    detection = rows[verdicts.detections["row"].to_numpy()[hits["detection"].to_numpy()]]
    annotation = verdicts.annotations["row"].to_numpy()[hits["annotation"].to_numpy()]
    hits_by_threshold = hits.select("ranges", threshold=pl.int_ranges("first", "last", dtype=pl.Int64)).with_columns(
        detection=layout.place_of_detection[detection], annotation=layout.place_of_annotation[annotation]
    )
    return hits_by_threshold.explode("threshold", empty_as_null=False)


def _match(layout: Layout, hits: pl.DataFrame, a: int) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Return the matches and ignored objects in area range number a; ignored annotations come last in their cell."""
    hits = hits.filter(pl.Series(has_bit(hits["ranges"].to_numpy(), a)))
    n_thresholds = len(layout.pipeline.outline.thresholds)
    outside = ~has_bit(layout.in_detections["inside"].to_numpy(), a)
    ignored = ~has_bit(layout.in_annotations["counts"].to_numpy(), a)
    order = np.lexsort((ignored, layout.annotated))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    threshold, detection, annotation = (hits[name].to_numpy() for name in ("threshold", "detection", "annotation"))
    matched = np.full((n_thresholds, len(outside)), -1)
    matched[threshold, detection] = annotation
    last = np.full((n_thresholds, len(order)), -1)  # a crowd may be matched by many, and has the id of the last one
    np.maximum.at(last, (threshold, place[annotation]), detection)
    is_ignored = (matched >= 0) & np.append(ignored, False)[matched]
    matches = _ids(layout.annotation_ids, matched)
    columns = {
        "dtMatches": matches,
        "gtMatches": _ids(layout.detection_ids, last),
        "gtIgnore": ignored[order].astype(np.int64),
        "dtIgnore": is_ignored | ((matches == 0) & outside),
    }
    return columns, layout.annotation_ids.gather(order).to_list()


def _ids(ids: pl.Series, places: np.ndarray) -> np.ndarray:
    """Return the ids at some positions, 0 at position -1; numeric ids as doubles."""
    ids_or_zero = np.array([*ids.to_list(), 0], dtype=float if ids.dtype.is_integer() else object)
    return ids_or_zero[places]


def rank_cells(
    cells: Sequence[Cell | None], shape: tuple[int, int, int], thresholds: Sequence[float], protocol: Protocol
) -> dict[str, np.ndarray]:
    """Return `precision`, `recall` and `scores` of cells, which the user may have changed.

    The cells are ordered as by `make_cells`: by category, area range and image, whose numbers are `shape`. Only their matches
    and flags are read, not their names. Their rows are the thresholds, in any order.

    Raises
    ------
    ParameterError
        the number of cells is wrong, or they do not fit together
    """
    n_categories, n_areas, n_images = shape
    if len(cells) != n_categories * n_areas * n_images:
        raise ParameterError(
            f"evalImgs has {counted(len(cells), 'cell')}, not {counted(n_categories, 'category')} × "
            f"{counted(n_areas, 'area range')} × {counted(n_images, 'image')}",
            "params and _paramsEval must belong to the cells",
        )
    places = [k * n_areas * n_images + i for k, i in product(range(n_categories), range(n_images))]
    in_areas = [[cells[place + a * n_images] for place in places] for a in range(n_areas)]
    numbers = [number for number, cell in enumerate(in_areas[0]) if cell is not None] if in_areas else []
    category_of = np.array(numbers, dtype=np.int64) // max(n_images, 1)
    try:
        judged = [_merged_states([of_area[number] for number in numbers], len(thresholds)) for of_area in in_areas]
        state, outside = (np.stack([part[name] for part in judged]) for name in ("state", "outside"))
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ParameterError(f"evalImgs: cells do not fit together, or iouThrs differ from params ({error})") from error
    lengths = np.array([len(in_areas[0][number]["dtScores"]) for number in numbers], dtype=np.int64)  # type: ignore[index]
    category, scores = np.repeat(category_of, lengths), judged[0]["scores"]
    order = np.lexsort((-scores, category))
    place = (np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1)[order]
    positives = [np.bincount(category_of, weights=part["positives"], minlength=n_categories) for part in judged]
    categories = pl.DataFrame({"category_id": range(n_categories)})
    verdicts = replace(
        outline_of(categories, categories["category_id"], pl.Series(range(n_images)), protocol),
        thresholds=tuple(thresholds),
        detections=pl.DataFrame(
            {
                "list": category[order],
                "image": np.repeat(np.array(numbers, dtype=np.int64) % max(n_images, 1), lengths)[order],
                "row": order,
                "place": place,
                "score": scores[order],
                "inside": as_bits(list(~outside[:, order])),
            }
        ),
        annotations=_counted(np.stack(positives, axis=1).astype(np.int64)),
        hits=_hits(state[:, :, order]),
    )
    return arrays_of(Cells.of(verdicts), protocol)


def _merged_states(cells: Sequence[Any], n_thresholds: int) -> dict[str, np.ndarray]:
    """Merge the detections of an area range: 0 not matched, 1 true, 2 matched and ignored, by threshold; flag those outside."""
    empty = np.zeros((n_thresholds, 0))
    matched = np.concatenate([empty, *(np.asarray(cell["dtMatches"]) != 0 for cell in cells)], axis=1).astype(bool)
    ignored = np.concatenate([empty, *(np.asarray(cell["dtIgnore"]) for cell in cells)], axis=1).astype(bool)
    # usually all ignored detections are unmatched; if some unmatched ones are not ignored, as with an annotation of id 0, the
    # ignored ones were matched with an ignored annotation
    outside = (ignored | matched).all(axis=0) & (ignored & ~matched).any(axis=0)
    return {
        "state": np.where(matched, 1 + ignored, np.where(ignored & ~outside, 2, 0)),
        "outside": outside,
        "scores": np.concatenate([empty[0], *(np.asarray(cell["dtScores"], dtype=float) for cell in cells)]),
        "positives": np.array([np.count_nonzero(np.asarray(cell["gtIgnore"]) == 0) for cell in cells], dtype=float),
    }


def _counted(positives: np.ndarray) -> pl.DataFrame:
    """Return annotations in the form of a table from their counts, of shape (lists, ranges).

    >>> _counted(np.array([[2, 1]])).rows()
    [(0, 3), (0, 1)]
    """
    n = positives.max(axis=1, initial=0)
    number = np.repeat(np.arange(len(n)), n)
    place = np.arange(len(number)) - np.repeat(np.cumsum(n) - n, n)
    return pl.DataFrame({"list": number, "counts": as_bits(list((place[:, None] < positives[number]).T))})


def _hits(state: np.ndarray) -> pl.DataFrame:
    """Return the hits of states of shape (areas, thresholds, detections): 0 none, 1 true, 2 matched and ignored.

    >>> _hits(np.array([[[1, 0], [1, 2]]])).select("detection", "first", "last", "ranges", "true").rows()
    [(0, 0, 2, 1, 1), (1, 1, 2, 1, 0)]
    """
    n_areas = len(state)
    state = np.pad(state.transpose(2, 0, 1), ((0, 0), (0, 0), (1, 1)))
    changes = np.diff(state, axis=2) != 0
    detection, area, first = np.nonzero(changes & (state[..., 1:] != 0))
    last = np.nonzero(changes & (state[..., :-1] != 0))[2]
    ranges = as_bits(list(area == np.arange(n_areas)[:, None]))
    is_true = state[detection, area, first + 1] == 1
    return pl.DataFrame(
        {"detection": detection, "first": first, "last": last, "ranges": ranges, "true": np.where(is_true, ranges, 0)},
        schema_overrides={"true": pl.Series(ranges).dtype},
    )
