"""The effect of fixing errors on AP: edit the verdicts, and rank again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import polars.selectors as cs

from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, OF_DETECTIONS
from apframe.evaluation.diagnose.find_errors import CLS, LOC, Errors
from apframe.evaluation.diagnose.outcomes import Outcomes
from apframe.evaluation.diagnose.rises import Ranked, Rises, Sampled, rank
from apframe.matching.verdicts import Verdicts
from apframe.tables.result_tables import ERRORS
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


def fix(kind: str, verdicts: Verdicts, became: Outcomes, errors: Errors) -> Verdicts:
    """Return the verdicts after fixing all errors of a type.

    A fixable error `loc` becomes a true positive in its list, a fixable `cls` becomes one in the list of its target, where its
    score ranks it. Other errors of detections are removed, as are missed annotations.

    Source: Bolya et al., TIDE, ECCV 2020.
    """
    if kind == "fp":
        return verdicts.without(np.flatnonzero(became.is_false))
    if kind in ("fn", "miss"):
        return verdicts.without_annotations(np.flatnonzero(became.is_missed if kind == "fn" else errors.is_miss))
    number = OF_DETECTIONS.index(kind)
    removed = np.flatnonzero((errors.kind == number) & ~errors.is_fixable)
    remaining = verdicts.without(removed)
    fixed = np.flatnonzero((errors.kind == number) & errors.is_fixable)
    if number not in (CLS, LOC) or not len(fixed):
        return remaining
    target = errors.target[fixed]
    rows = pl.DataFrame(
        {"detection": fixed - np.searchsorted(removed, fixed), "annotation": target, "similarity": errors.similarity[fixed]}
    ).with_columns(first=0, last=1, ranges=1, true=1)
    return remaining.with_hits(rows, verdicts.annotations["list"].to_numpy()[target] if number == CLS else None)


@dataclass(frozen=True, eq=False)
class Impact:
    """The costs of the errors of each type: arrays over the lists.

    Attributes
    ----------
    counts
        the number of errors, by type, each in the list of its detection
    ap, after
        average precision before, and by type after its errors are fixed; a list without positives has 1 if none of its
        detections counts, otherwise 0
    has_positives
        whether AP is defined
    weights
        the weight of each list in means
    rises
        the uncertainty of the rises; None if it was not requested, or AP has no derivative
    """

    counts: Mapping[str, np.ndarray]
    ap: np.ndarray
    after: Mapping[str, np.ndarray]
    has_positives: np.ndarray
    weights: np.ndarray
    rises: Rises | None = None

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        became: Outcomes,
        errors: Errors,
        protocol: Protocol,
        fixed: Mapping[str, Verdicts] | None = None,
        images: np.ndarray | None = None,
        sampled: Sampled | None = None,
    ) -> Impact:
        """Compute the costs over all images, or over some, given as flags; `fixed` are the fixed verdicts, if known.

        With `sampled`, which describes the remaining images, the rises have intervals.
        """

        def of_kind(kind: str) -> Ranked:
            edited = fix(kind, verdicts, became, errors) if fixed is None else fixed[kind]
            return rank(edited if images is None else edited.of_images(images), protocol, sampled)

        part = verdicts if images is None else verdicts.of_images(images)
        with pool() as threads:
            after = dict(zip(ERROR_KINDS, threads.map(of_kind, ERROR_KINDS), strict=True))
        before = rank(part, protocol, sampled)
        return cls(
            count_errors(verdicts, became, errors, images),
            before.ap,
            {kind: each.ap for kind, each in after.items()},
            before.has_positives,
            before.weights,
            Rises.of(before, [*after.values()], sampled),
        )

    def table(self) -> pl.DataFrame:
        """Return a row for each list and type: error, n, ap and delta_ap; the latter two are null without positives."""
        n, repeated = len(self.ap), len(ERROR_KINDS)
        ap = np.where(self.has_positives, self.ap, np.nan)
        after = np.stack([self.after[kind] for kind in ERROR_KINDS], axis=1)
        return pl.DataFrame(
            {
                "error": pl.Series(list(ERROR_KINDS) * n, dtype=ERRORS),
                "n": np.stack([self.counts[kind] for kind in ERROR_KINDS], axis=1).ravel(),
                "ap": np.repeat(ap, repeated),
                "delta_ap": (after - ap[:, None]).ravel(),
                **({} if self.rises is None else {name: each.T.ravel() for name, each in self.rises.each().items()}),
            },
            schema_overrides={"n": pl.Int64, "ap": pl.Float64, "delta_ap": pl.Float64},
        ).with_columns(cs.float().fill_nan(None))

    def mean(self, lists: np.ndarray) -> pl.DataFrame:
        """Return a row for each type, for some of the lists: the sum of n, and the means over lists with positives."""
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
                **({} if self.rises is None else self.rises.mean(lists)),
            },
            schema_overrides={"n": pl.Int64},
            nan_to_null=True,
        )


def fix_all(verdicts: Verdicts, became: Outcomes, errors: Errors) -> dict[str, Verdicts]:
    """Return the verdicts after fixing the errors of each type, by type."""
    with pool() as threads:
        return dict(zip(ERROR_KINDS, threads.map(lambda kind: fix(kind, verdicts, became, errors), ERROR_KINDS), strict=True))


def count_errors(
    verdicts: Verdicts, became: Outcomes, errors: Errors, images: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Count the errors of each type in every list, by type; optionally of some images, given as flags."""
    of_detections = {kind: errors.kind == number for number, kind in enumerate(OF_DETECTIONS)} | {"fp": became.is_false}
    of_annotations = {"miss": errors.is_miss, "fn": became.is_missed}

    def counts(table: pl.DataFrame, flags: np.ndarray) -> np.ndarray:
        kept = flags if images is None else flags & images[table["image"].to_numpy()]
        return np.bincount(table["list"].to_numpy()[kept], minlength=verdicts.lists.height)

    return {
        kind: counts(verdicts.detections, of_detections[kind])
        if kind in of_detections
        else counts(verdicts.annotations, of_annotations[kind])
        for kind in ERROR_KINDS
    }
