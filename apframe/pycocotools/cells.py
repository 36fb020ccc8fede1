"""pycocotools' `evalImgs`, `ious` and `eval`: cells of an image and a category, made of tables and ranked again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl

from apframe.detection.evaluation import Evaluation, evaluate
from apframe.detection.prepare.counting import ignored_annotations
from apframe.detection.prepare.inputs import make_inputs
from apframe.exceptions import MaskSizeWarning, NoAnnotationsWarning, ParameterError, counted
from apframe.matching.verdicts import Verdicts, as_bits
from apframe.protocols.protocol import Protocol
from apframe.pycocotools.mask_sizes import SMALLEST
from apframe.ranking.arrays import compute_arrays
from apframe.ranking.definitions import Levels
from apframe.ranking.ranking import rank
from apframe.schema import Dataset, with_id_types

Cell = dict[str, Any]


def evaluate_quietly(truth: Dataset, found: pl.DataFrame, protocol: Protocol, *, are_checked: bool) -> Evaluation:
    """`evaluate` without three warnings: that there are no annotations, of which numbers of -1 tell here, that nothing matches,
    and that masks are of other sizes than their images, which does not matter here.

    Detections that `are_checked` are canonical already, of images that the truth has.
    """
    with warnings.catch_warnings():
        for category in (NoAnnotationsWarning, MaskSizeWarning):
            warnings.simplefilter("ignore", category)
        if are_checked:
            found = with_id_types("detections", found, truth)
            inputs = make_inputs(truth, found, None, protocol, are_checked=True)
            evaluation = Evaluation(lambda: inputs, protocol)
        else:
            evaluation = evaluate(truth, found, protocol)
    evaluation._may_warn = False
    return evaluation


class Layout:
    """The rows of an evaluation, those of a cell together, as arrays that cells are cut out of.

    Cells are numbered by category, then image. Detections are in the order of their scores, at most so many of a cell;
    annotations as they came.

    Parameters
    ----------
    evaluation
        what was evaluated
    image_ids, category_ids
        in the order of the cells; the one category -1 where they are pooled
    limit
        the largest of `maxDets`
    """

    def __init__(self, evaluation: Evaluation, image_ids: Sequence[Any], category_ids: Sequence[Any], limit: int) -> None:
        self.evaluation, self.image_ids, self.category_ids = evaluation, image_ids, category_ids
        annotations = evaluation.dataset.core("annotations")
        if evaluation.protocol.by_category:
            annotations = annotations.sort("category_id", maintain_order=True)
        detections = self._with_cell(evaluation.detections)
        rank = pl.int_range(1, pl.len() + 1).over("cell")
        self.detections = detections.sort("cell", "score", descending=[False, True], maintain_order=True).filter(rank <= limit)
        self.annotations = self._with_cell(annotations).sort("cell", maintain_order=True)
        self.detected, self.annotated = (table["cell"].to_numpy() for table in (self.detections, self.annotations))
        self.cells = np.unique(np.concatenate([self.detected, self.annotated]))
        self.detection_bounds, self.annotation_bounds = (
            np.searchsorted(of, [*self.cells, np.iinfo(np.int64).max]).tolist() for of in (self.detected, self.annotated)
        )

    def _with_cell(self, frame: pl.DataFrame) -> pl.DataFrame:
        number: pl.Expr = pl.lit(0, pl.Int64)
        for column, ids in (("category_id", self.category_ids), ("image_id", self.image_ids)):
            if column == "category_id" and self.evaluation.protocol.agnostic:
                continue
            places = pl.int_range(len(ids), dtype=pl.Int64, eager=True)
            known = pl.Series(ids, dtype=frame[column].dtype)
            place = pl.col(column).replace_strict(known, places, return_dtype=pl.Int64) if len(ids) else pl.lit(0, pl.Int64)
            number = number * len(ids) + place
        return frame.with_columns(cell=number)

    def places(self, table: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Where the detections and annotations of a table of pairs stand."""
        found = ((self.detections, "detection_id"), (self.annotations, "annotation_id"))
        rows = [of.select(key).with_row_index(f"of_{key}") for of, key in found]
        for of, (_, key) in zip(rows, found, strict=True):
            table = table.join(of, on=key, how="left", maintain_order="left")
        return table["of_detection_id"].to_numpy(), table["of_annotation_id"].to_numpy()


def make_similarities(layout: Layout) -> dict[tuple[Any, Any], Any]:
    """`ious` by image and category: arrays of detections, best score first, × annotations; [] without either."""
    evaluation = layout.evaluation
    of_all = evaluation.protocol.with_options(iou_thresholds=[SMALLEST])
    pairs = evaluate_quietly(evaluation.dataset, evaluation.detections, of_all, are_checked=True).pairs
    detection, annotation = layout.places(pairs)
    similarities: dict[tuple[Any, Any], Any] = {
        (image_id, category_id): [] for image_id, category_id in product(layout.image_ids, layout.category_ids)
    }
    starts = np.array(layout.annotation_bounds[:-1], dtype=np.int64)
    at = np.searchsorted(layout.cells, layout.detected[detection])
    widths = np.diff(layout.annotation_bounds)
    rows = np.repeat(widths, np.diff(layout.detection_bounds))  # how long the row of each detection is
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


def make_cells(layout: Layout, areas: Sequence[Any], limit: int) -> list[Cell | None]:
    """`evalImgs`: by category, area range and image; None where there is neither a detection nor an annotation.

    As in the reference, an id of 0 in `dtMatches` and `gtMatches` is no match, see `loses_matches`.
    """
    protocol, n_images = layout.evaluation.protocol, len(layout.image_ids)
    held = _hold(layout)
    cells: list[Cell | None] = [None] * (len(layout.category_ids) * len(areas) * n_images)
    detection_ids, scores = (layout.detections[name].to_list() for name in ("detection_id", "score"))
    numbers = layout.cells.tolist()
    for a, (name, low, high) in enumerate(protocol.area_ranges):
        here = held.filter(pl.col("area_range").is_null() | (pl.col("area_range") == name))
        columns, annotation_ids = _judge(layout, here, low, high)
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


def loses_matches(evaluation: Evaluation) -> bool:
    """Whether there are matches that the reference takes for none, for want of an id above 0.

    A detection that is matched with annotation 0 is a false positive, or outside the area range. An annotation that is matched
    with a detection of an id below 1 is free for others to match.

    Source: `gtm[tind,gind]>0` and `dtm==0` in `COCOeval.evaluateImg`, `np.logical_not(dtm)` in `COCOeval.accumulate`.
    """
    annotation_ids = evaluation.dataset.core("annotations")["annotation_id"]
    return _below_1(evaluation.detections).any() or (annotation_ids.dtype.is_integer() and bool((annotation_ids == 0).any()))


def _below_1(detections: pl.DataFrame) -> pl.Series:
    """Flags of the detections whose id is below 1."""
    ids = detections["detection_id"]
    return ids < 1 if ids.dtype.is_integer() else pl.repeat(False, len(ids), eager=True)


def _assignments(layout: Layout) -> pl.DataFrame:
    """Those of the evaluation; but detections of ids below 1 take an annotation from nobody, see `loses_matches`."""
    evaluation = layout.evaluation
    below = _below_1(layout.detections)
    if not below.any():
        return evaluation.assignments
    number = pl.when("below").then(pl.col("below").cum_sum().over("cell")).otherwise(0)  # of such detections in a cell, from 1
    found = layout.detections.with_columns(below=below).with_columns(number=number)
    parts = []
    for each in found["number"].unique().to_list():
        some = found.filter(pl.col("number").is_in([0, each]))
        part = evaluate_quietly(evaluation.dataset, some.drop("cell", "below", "number"), evaluation.protocol, are_checked=True)
        own = some.filter(number=each)["detection_id"]
        parts.append(part.assignments.filter(pl.col("detection_id").is_in(own.implode())))
    return pl.concat(parts)


def _hold(layout: Layout) -> pl.DataFrame:
    """The assignments, a row for each threshold at which one holds: places of the two, number of the threshold, area range."""
    assignments = _assignments(layout)
    thresholds = pl.Series([round(threshold, 10) for threshold in layout.evaluation.protocol.iou_thresholds])
    numbers = pl.int_range(len(thresholds), dtype=pl.Int64, eager=True)
    first, last = (pl.col(end).replace_strict(thresholds, numbers, return_dtype=pl.Int64) for end in ("iou_from", "iou_to"))
    detection, annotation = layout.places(assignments)
    held = assignments.select("area_range", threshold=pl.int_ranges(first, last + 1))
    held = held.with_columns(detection=pl.Series(detection, dtype=pl.Int64), annotation=pl.Series(annotation, dtype=pl.Int64))
    return held.explode("threshold", empty_as_null=False)


def _judge(layout: Layout, held: pl.DataFrame, low: float, high: float) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Who is matched with whom and what is ignored in an area range; annotations that are ignored come last in their cell."""
    n_thresholds = len(layout.evaluation.protocol.iou_thresholds)
    outside_d, outside_a = (~of["area"].is_between(low, high).to_numpy() for of in (layout.detections, layout.annotations))
    ignored = ignored_annotations(layout.annotations, layout.evaluation.protocol).to_numpy() | outside_a
    order = np.lexsort((ignored, layout.annotated))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    threshold, detection, annotation = (held[name].to_numpy() for name in ("threshold", "detection", "annotation"))
    matched = np.full((n_thresholds, len(outside_d)), -1)
    matched[threshold, detection] = annotation
    last = np.full((n_thresholds, len(order)), -1)  # a crowd may be matched by many, and names the last
    np.maximum.at(last, (threshold, place[annotation]), detection)
    is_ignored = (matched >= 0) & np.append(ignored, False)[matched]
    matches = _ids(layout.annotations["annotation_id"], matched)
    columns = {
        "dtMatches": matches,
        "gtMatches": _ids(layout.detections["detection_id"], last),
        "gtIgnore": ignored[order].astype(np.int64),
        "dtIgnore": is_ignored | ((matches == 0) & outside_d),
    }
    return columns, layout.annotations["annotation_id"].gather(order).to_list()


def _ids(ids: pl.Series, places: np.ndarray) -> np.ndarray:
    """The ids at some places, 0 at place -1; as doubles where they are numbers."""
    known = np.array([*ids.to_list(), 0], dtype=float if ids.dtype.is_integer() else object)
    return known[places]


def rank_cells(cells: Sequence[Cell | None], shape: tuple[int, int, int], protocol: Protocol) -> dict[str, np.ndarray]:
    """`precision`, `recall` and `scores` of cells, whoever put them together.

    The cells are those of `make_cells`, by category, area range and image, of which `shape` has the numbers; only their matches
    and flags are read, not what they are called.

    Raises
    ------
    ParameterError
        there are fewer or more cells than that, or they do not fit together
    """
    n_categories, n_areas, n_images = shape
    if len(cells) != n_categories * n_areas * n_images:
        raise ParameterError(
            f"evalImgs has {counted(len(cells), 'cell')}, not {counted(n_categories, 'category')} × "
            f"{counted(n_areas, 'area range')} × {counted(n_images, 'image')}; "
            "params and _paramsEval must be those of the cells"
        )
    places = [k * n_areas * n_images + i for k, i in product(range(n_categories), range(n_images))]
    in_areas = [[cells[place + a * n_images] for place in places] for a in range(n_areas)]
    numbers = [number for number, cell in enumerate(in_areas[0]) if cell is not None] if in_areas else []
    category_of = np.array(numbers, dtype=np.int64) // max(n_images, 1)
    try:
        judged = [_together([of_area[number] for number in numbers], protocol) for of_area in in_areas]
        state, outside = (np.stack([part[name] for part in judged]) for name in ("state", "outside"))
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ParameterError(f"evalImgs: cells that do not fit together, or other iouThrs than params ({error})") from error
    lengths = np.array([len(in_areas[0][number]["dtScores"]) for number in numbers], dtype=np.int64)  # type: ignore[index]
    category, scores = np.repeat(category_of, lengths), judged[0]["scores"]
    order = np.lexsort((-scores, category))
    place = (np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1)[order]
    positives = [np.bincount(category_of, weights=part["positives"], minlength=n_categories) for part in judged]
    definition = protocol.definition
    assert isinstance(definition, Levels)
    verdicts = Verdicts(
        thresholds=protocol.iou_thresholds,
        ranges=tuple(name for name, *_ in protocol.area_ranges),
        limits=protocol.limits,
        ties=protocol.ties,
        lists=pl.DataFrame({"category_id": range(n_categories)}),
        images=pl.DataFrame({"image_id": range(n_images)}),
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
    ranking = rank(verdicts, definition, protocol.addend)
    return compute_arrays(ranking, definition, scores[order], range(len(protocol.limits)))


def _together(cells: Sequence[Any], protocol: Protocol) -> dict[str, np.ndarray]:
    """The detections of an area range: 0 not matched, 1 true, 2 matched and ignored, by threshold; and who is outside it."""
    empty = np.zeros((len(protocol.iou_thresholds), 0))
    matched = np.concatenate([empty, *(np.asarray(cell["dtMatches"]) != 0 for cell in cells)], axis=1).astype(bool)
    ignored = np.concatenate([empty, *(np.asarray(cell["dtIgnore"]) for cell in cells)], axis=1).astype(bool)
    # nearly always all are ignored that are not matched; where some are not, as with an annotation of id 0, those that are have
    # been matched with one that is ignored
    outside = (ignored | matched).all(axis=0) & (ignored & ~matched).any(axis=0)
    return {
        "state": np.where(matched, 1 + ignored, np.where(ignored & ~outside, 2, 0)),
        "outside": outside,
        "scores": np.concatenate([empty[0], *(np.asarray(cell["dtScores"], dtype=float) for cell in cells)]),
        "positives": np.array([np.count_nonzero(np.asarray(cell["gtIgnore"]) == 0) for cell in cells], dtype=float),
    }


def _counted(positives: np.ndarray) -> pl.DataFrame:
    """Annotations of which so many count, of shape (lists, ranges).

    >>> _counted(np.array([[2, 1]])).rows()
    [(0, 3), (0, 1)]
    """
    n = positives.max(axis=1, initial=0)
    number = np.repeat(np.arange(len(n)), n)
    place = np.arange(len(number)) - np.repeat(np.cumsum(n) - n, n)
    return pl.DataFrame({"list": number, "counts": as_bits(list((place[:, None] < positives[number]).T))})


def _hits(state: np.ndarray) -> pl.DataFrame:
    """The hits of states of shape (areas, thresholds, detections): 0 none, 1 true, 2 matched and ignored.

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
