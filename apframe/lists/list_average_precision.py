"""Definitions of average precision for ranked lists only; `apframe.metrics.definitions` registers their names."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.points import GAIN, N_POSITIVES, N_RANKED, NEW_N, NEW_TP, PRECISION, RANK, TP, Definition, envelope


class Trapezoid(Definition):
    """The area under straight lines between the observed points, starting at recall 0 and precision 1.

    Source: VLFeat `auc`; the Oxford and Paris retrieval benchmarks (Philbin et al. 2007; revisitop). Straight lines between
    points of a precision–recall curve are too high if false positives are between them; `davis_goadrich` is exact there.
    """

    name = "trapezoid"

    def of_points(self) -> pl.Expr:
        """Return the sum of the trapezoids."""
        n_before = RANK - NEW_N
        before = pl.when(n_before > 0).then((TP - NEW_TP) / n_before).otherwise(1.0)
        return ((before + PRECISION) / 2 * GAIN).sum()


class DavisGoadrich(Definition):
    """The area under the achievable curve: between two points, each new true positive comes with h false ones, evenly.

    Source: Davis and Goadrich 2006. Between (tp, fp) and (tp + t, fp + h t) precision at x is (tp + x) / (tp + x + fp + h x),
    integrated exactly. Without ties h is 0; with ties="group" a block of equal scores is the expectation over its orders.
    """

    name = "davis_goadrich"

    def of_points(self) -> pl.Expr:
        """Return the sum of the integrals of (a + x) / (b + c x)."""
        a, b, c = TP - NEW_TP, RANK - NEW_N, NEW_N / NEW_TP
        curved = (a - b / c) / c * (RANK / b.clip(1)).log()
        area = NEW_TP / c + pl.when(b > 0).then(curved).otherwise(0.0)
        return (area / N_POSITIVES).sum()


@dataclass(frozen=True)
class Normalized(Definition):
    """AP as if there were `n` positives: precision from `tp n / R`, its envelope, averaged at the hits, times final recall.

    Source: Hoiem, Chodpathumwan and Dai 2012, "Diagnosing error in object detectors", to compare categories of different sizes.
    The number of false positives does not change.
    """

    n: float
    name = "normalized"

    def __post_init__(self) -> None:
        if not 0 < self.n < float("inf"):
            raise ParameterError(f"normalized: the number of positives must be above 0, not {self.n}")

    def of_points(self) -> pl.Expr:
        """Return the envelope of the normalized precision, weighted by recall."""
        tp = TP * self.n / N_POSITIVES
        return (envelope(tp / (tp + RANK - TP)) * GAIN).sum()

    def __str__(self) -> str:
        return f"{self.name}({str(self.n).removesuffix('.0')})"


class SetAP(Definition):
    """Precision times recall of the whole list, as a set.

    Source: trec_eval `set_map`. The order does not matter.
    """

    name = "set"

    def of_points(self) -> pl.Expr:
        """Return hits / list · hits / R."""
        hits = NEW_TP.sum()
        return (hits / N_RANKED.first() * hits / N_POSITIVES.first()).fill_null(0.0)
