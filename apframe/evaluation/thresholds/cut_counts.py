"""Counts of an evaluation at chosen score thresholds: sums over images, which slices and resamples add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.resampling import Units
from apframe.evaluation.diagnose.outcomes import outcomes, verdicts_at
from apframe.evaluation.slices.keys import SliceKey, heights_of, make_keys, names_of_categories, refuse_keys
from apframe.evaluation.slices.slices import Slicing, make_slicings, tabulate
from apframe.evaluation.thresholds.cut_intervals import COUNTS, RATES, rate_intervals, rates
from apframe.matching.verdicts import Verdicts

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.tables.conditions import Masks

_NAMES = (*COUNTS, *RATES, *(f"{name}_{end}" for name in RATES for end in ("se", "low", "high")), "n_images")
_NO_CELLS = pl.DataFrame(schema=dict.fromkeys(("image", "slice", *COUNTS), pl.Int64))


@dataclass(frozen=True)
class ScoreCut:
    """A cut of an evaluation: the lowest score of each list (null if nothing counts), and numbers of IoU threshold and area."""

    scores: pl.Series
    threshold: int
    area: int


def count_cells(verdicts: Verdicts, threshold: int, k: int) -> pl.DataFrame:
    """Count the outcomes of each image and list, at one threshold and area range, by number.

    Returns
    -------
    image and list (their numbers), tp, fp, fn: the cells with any of these, by image, then list.

    >>> from apframe.matching.verdicts import example
    >>> count_cells(example(), 0, 0).rows()
    [(0, 0, 1, 0, 0), (1, 0, 0, 1, 0)]
    """
    at_one = verdicts_at(verdicts, threshold, k)
    became, rows, expected = outcomes(at_one), at_one.detections, at_one.annotations
    flags = {"tp": (rows, became.is_true), "fp": (rows, became.is_false), "fn": (expected, became.is_missed)}
    n_lists = max(verdicts.lists.height, 1)
    cell = {
        name: table["image"].to_numpy()[is_one].astype(np.int64) * n_lists + table["list"].to_numpy()[is_one]
        for name, (table, is_one) in flags.items()
    }
    cells = np.unique(np.concatenate(list(cell.values())))
    counts = {
        name: np.bincount(np.searchsorted(cells, each), minlength=len(cells)).astype(np.int64) for name, each in cell.items()
    }
    return pl.DataFrame({"image": cells // n_lists, "list": cells % n_lists, **counts})


def cells_of(self: Evaluation, cut: ScoreCut) -> pl.DataFrame:
    """Return the cells of an evaluation at the cut, see `count_cells`; verdicts come from the matcher."""
    verdicts = self._pipeline.at_score(cut.scores.fill_null(float("inf")))
    return count_cells(verdicts, cut.threshold, cut.area)


def cells_of_slices(self: Evaluation, cut: ScoreCut, slicing: Slicing) -> pl.DataFrame:
    """Return the counts of each image in each slice.

    Groups of images and of categories share the verdicts of the whole. Groups of detections and of objects are evaluated
    separately, because their detections are matched anew.

    Returns
    -------
    image, slice (the position in an array over the groups of images, detections, objects and categories), tp, fp, fn; by slice,
    then image.
    """
    shape = tuple(len(groups) for groups in slicing.axes.values())
    images, categories = (
        groups.members.select(pl.col("row").cast(pl.Int64), pl.col("group").cast(pl.Int64).alias(name))
        for groups, name in ((slicing.images, "of_image"), (slicing.categories, "of_category"))
    )
    parts = []
    for (of_detection, of_object), masks in _parts(self, slicing):
        part = self._subset(masks) if masks else self
        number = pl.col("of_image") * shape[1] + of_detection
        number = (number * shape[2] + of_object) * shape[3] + pl.col("of_category")
        parts.append(
            cells_of(part, cut)
            .join(images, left_on="image", right_on="row")
            .join(categories, left_on="list", right_on="row")
            .group_by("image", number.alias("slice"))
            .agg(pl.col(COUNTS).sum())
        )
    return pl.concat(parts).select("image", "slice", *COUNTS).sort("slice", "image")


def tabulate_cut(
    self: Evaluation,
    cut: ScoreCut,
    keys: Sequence[SliceKey],
    units: Units | None = None,
    confidence: float = 0.95,
    *,
    each_category: bool = False,
    marginals: bool = False,
) -> pl.DataFrame:
    """Return the table of slices at a cut: see `CutEvaluation.by`; `rolled_up` follows the keys. No `units`, no intervals."""
    slice_keys = make_keys(keys, self._source.tables())
    refuse_keys(self, slice_keys, {"rolled_up", *_NAMES} | ({"category_id", "name"} if each_category else set()))
    heights = heights_of(self)
    slicings = make_slicings(slice_keys, heights, marginals=marginals, each_category=each_category)
    parts = []
    for slicing in slicings:
        shape = tuple(len(groups) for groups in slicing.axes.values())
        cells = cells_of_slices(self, cut, slicing) if 0 not in shape else _NO_CELLS
        values = measure_slices(cells, slicing)
        if units is not None:
            ends = rate_intervals(cells, slicing, units, confidence)
            values = {name: each for name in values for name, each in _beside(name, values, ends)}
        parts.append((slicing, values))
    return tabulate(parts, slice_keys, names_of_categories(self) if each_category else None)


def _beside(name: str, values: Mapping[str, np.ndarray], ends: Mapping[str, np.ndarray]) -> list[tuple[str, np.ndarray]]:
    """Return a column, followed by the columns of its interval."""
    own = [f"{name}_se", f"{name}_low", f"{name}_high"]
    return [(name, values[name]), *((end, ends[end]) for end in own if end in ends)]


def measure_slices(cells: pl.DataFrame, slicing: Slicing) -> dict[str, np.ndarray]:
    """Compute counts and rates of every slice by name: arrays over the groups of images, detections, objects, categories."""
    shape = tuple(len(groups) for groups in slicing.axes.values())
    size = int(np.prod(shape))
    n_images = np.bincount(slicing.images.members["group"].to_numpy(), minlength=shape[0])
    support = np.broadcast_to(n_images[:, None, None, None], shape)
    counts = {name: np.bincount(cells["slice"], weights=cells[name], minlength=size) for name in COUNTS}
    values: dict[str, np.ndarray] = {name: each.astype(np.int64) for name, each in counts.items()}
    values |= rates(counts["tp"], counts["fp"], counts["fn"], support.ravel().astype(np.float64)) | {"n_images": support}
    return {name: each.reshape(shape) for name, each in values.items()}


def _parts(self: Evaluation, slicing: Slicing) -> Iterator[tuple[tuple[int, int], Masks]]:
    """Yield each group of detections and of objects by its numbers, with its masks; no masks for everything."""
    heights = self._source.heights
    detections, objects = slicing.detections, slicing.objects
    for d, o in product(range(len(detections)), range(len(objects))):
        masks: dict[str, dict[str, pl.Series]] = {}
        if not detections.is_whole(heights["detections"]):
            rows = detections.members["row"].filter(detections.members["group"] == d)
            masks["detections"] = {"detections": pl.int_range(heights["detections"], eager=True).is_in(rows.implode())}
        inside = {owner: objects.inside(o, owner) for owner in ("annotations", "detections")}
        flags = {owner: pl.Series(each) for owner, each in inside.items() if each is not None}
        if flags:
            masks["annotations"] = flags
        yield (d, o), masks
