"""What fixing errors does to AP: edit the verdicts, and rank again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, OF_DETECTIONS
from apframe.evaluation.diagnose.find_errors import CLS, LOC, Errors
from apframe.evaluation.diagnose.outcomes import Outcomes
from apframe.matching.verdicts import Verdicts
from apframe.metrics.average_precision import DetectionCount
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.weights import Weights
from apframe.protocols.headline_values import images_of_lists
from apframe.protocols.refused import metric_of_edits
from apframe.tables.results import ERRORS
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

THE_CELL = Cell((0,), area_range=0, limit=0)  # of verdicts at one threshold, area range and limit


def fix(kind: str, verdicts: Verdicts, found: Outcomes, errors: Errors) -> Verdicts:
    """The verdicts as they are once all errors of a kind are fixed.

    A fixable error `loc` becomes a true positive in its place, a fixable `cls` one in the list of its target, where it ranks by
    its score. Other errors of detections are removed. Missed annotations are removed, too.

    Source: Bolya et al., TIDE, ECCV 2020.
    """
    if kind == "fp":
        return verdicts.without(np.flatnonzero(found.is_false))
    if kind in ("fn", "miss"):
        return verdicts.without_annotations(np.flatnonzero(found.is_missed if kind == "fn" else errors.is_miss))
    number = OF_DETECTIONS.index(kind)
    removed = np.flatnonzero((errors.kind == number) & ~errors.is_fixable)
    left = verdicts.without(removed)
    fixed = np.flatnonzero((errors.kind == number) & errors.is_fixable)
    if number not in (CLS, LOC) or not len(fixed):
        return left
    target = errors.target[fixed]
    rows = pl.DataFrame(
        {"detection": fixed - np.searchsorted(removed, fixed), "annotation": target, "similarity": errors.similarity[fixed]}
    ).with_columns(first=0, last=1, ranges=1, true=1)
    return left.with_hits(rows, verdicts.annotations["list"].to_numpy()[target] if number == CLS else None)


def average_precisions(verdicts: Verdicts, protocol: Protocol) -> np.ndarray:
    """AP of every list of verdicts at one threshold and area range; without positives 1 if no detection counts, else 0.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.protocols.voc import VOC2012
    >>> average_precisions(example(), VOC2012).tolist()
    [1.0]
    >>> average_precisions(example().without_annotations([0]), VOC2012).tolist()
    [0.0]
    """
    cells, once = Cells.of(verdicts, [THE_CELL]), Weights.once(verdicts.images.height)
    ap = metric_of_edits(protocol).read(cells, once)["ap"][0, :, 0]
    n_detections = DetectionCount().read(cells, once)["n_detections"][0, :, 0]
    return np.where(cells.positives[:, 0] > 0, ap, n_detections == 0)


@dataclass(frozen=True)
class Impact:
    """What the errors of each kind cost: arrays over the lists.

    Attributes
    ----------
    counts
        how many errors there are, by kind: those of detections in the list that these are in
    ap, after
        average precision as it is, and by kind once its errors are fixed; see `average_precisions`
    has_positives
        whether AP is defined
    weights
        how often each list counts in means
    """

    counts: Mapping[str, np.ndarray]
    ap: np.ndarray
    after: Mapping[str, np.ndarray]
    has_positives: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        found: Outcomes,
        errors: Errors,
        protocol: Protocol,
        fixed: Mapping[str, Verdicts] | None = None,
        images: np.ndarray | None = None,
    ) -> Impact:
        """Of the whole, or of some images, which are given as one flag each; `fixed` are the verdicts once fixed, if known."""

        def precisions(edited: Verdicts) -> np.ndarray:
            return average_precisions(edited if images is None else edited.of_images(images), protocol)

        def of_kind(kind: str) -> np.ndarray:
            return precisions(fix(kind, verdicts, found, errors) if fixed is None else fixed[kind])

        part = verdicts if images is None else verdicts.of_images(images)
        with pool() as threads:
            after = dict(zip(ERROR_KINDS, threads.map(of_kind, ERROR_KINDS), strict=True))
        cells = Cells.of(part, [THE_CELL])
        n_images = images_of_lists(cells, protocol, Weights.once(cells.n_images))
        return cls(
            count_errors(verdicts, found, errors, images),
            average_precisions(part, protocol),
            after,
            cells.positives[:, 0] > 0,
            np.ones(cells.n_lists) if n_images is None else next(iter(n_images.values()))[:, 0],
        )

    def table(self) -> pl.DataFrame:
        """A row for each list and kind: error, n, ap and delta_ap, these two null without positives."""
        n, repeated = len(self.ap), len(ERROR_KINDS)
        ap = np.where(self.has_positives, self.ap, np.nan)
        after = np.stack([self.after[kind] for kind in ERROR_KINDS], axis=1)
        return pl.DataFrame(
            {
                "error": pl.Series(list(ERROR_KINDS) * n, dtype=ERRORS),
                "n": np.stack([self.counts[kind] for kind in ERROR_KINDS], axis=1).ravel(),
                "ap": np.repeat(ap, repeated),
                "delta_ap": (after - ap[:, None]).ravel(),
            },
            schema_overrides={"n": pl.Int64, "ap": pl.Float64, "delta_ap": pl.Float64},
        ).with_columns(pl.col("ap", "delta_ap").fill_nan(None))

    def mean(self, lists: np.ndarray) -> pl.DataFrame:
        """A row for each kind, of some of the lists: the sum of n, and the means over those with positives."""
        kept = lists & self.has_positives
        ap = self.ap[kept]
        values = [ap, *(self.after[kind][kept] - ap for kind in ERROR_KINDS)]
        means = np.average(values, axis=1, weights=self.weights[kept]) if kept.any() else np.full(len(values), np.nan)
        return pl.DataFrame(
            {
                "error": pl.Series(list(ERROR_KINDS), dtype=ERRORS),
                "n": [int(self.counts[kind][lists].sum()) for kind in ERROR_KINDS],
                "ap": np.repeat(means[:1], len(ERROR_KINDS)),
                "delta_ap": means[1:],
            },
            schema_overrides={"n": pl.Int64},
            nan_to_null=True,
        )


def fix_all(verdicts: Verdicts, found: Outcomes, errors: Errors) -> dict[str, Verdicts]:
    """The verdicts once the errors of each kind are fixed, by kind."""
    with pool() as threads:
        return dict(zip(ERROR_KINDS, threads.map(lambda kind: fix(kind, verdicts, found, errors), ERROR_KINDS), strict=True))


def count_errors(
    verdicts: Verdicts, found: Outcomes, errors: Errors, images: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """How many errors of each kind every list has, by kind; those of some images, if these are given as one flag each."""
    of_detections = {kind: errors.kind == number for number, kind in enumerate(OF_DETECTIONS)} | {"fp": found.is_false}
    of_annotations = {"miss": errors.is_miss, "fn": found.is_missed}

    def counts(table: pl.DataFrame, flags: np.ndarray) -> np.ndarray:
        kept = flags if images is None else flags & images[table["image"].to_numpy()]
        return np.bincount(table["list"].to_numpy()[kept], minlength=verdicts.lists.height)

    return {
        kind: counts(verdicts.detections, of_detections[kind])
        if kind in of_detections
        else counts(verdicts.annotations, of_annotations[kind])
        for kind in ERROR_KINDS
    }
