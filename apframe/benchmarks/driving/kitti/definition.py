"""KITTI's definitions of average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from apframe.exceptions import ParameterError
from apframe.metrics.score_cutoffs import AtCutOffs

if TYPE_CHECKING:
    import numpy as np


class R11(AtCutOffs):
    """Eleven of KITTI's 41 positions, from the first one on: `(P_0 + P_4 + ... + P_40) / 11`.

    A position is a score cut-off, chosen so that recall rises by about 1/40 from one to the next: see
    `apframe.metrics.cutoff_counts.choose_copies`. There is at most one for each true positive, and a missing position has
    precision 0, so that fewer than 41 perfect results do not reach 1.

    Source: KITTI's `evaluate_object.cpp` until October 2019, with N_SAMPLE_PTS 41.
    """

    name = "r11"
    precision = "envelope over positions"
    weights = "1/11 each, of every fourth of 41 positions, from the first on"
    formula = "mean over positions 0, 4 ... 40 of P at cut-offs of scores that are chosen to be 1/40 of recall apart"
    used_by = "KITTI until October 2019"
    source = "KITTI development kit for objects, evaluate_object.cpp"
    example = "KITTI"
    chooses = True
    positions: ClassVar[slice] = slice(0, 41, 4)

    def area(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        """Return the mean of the envelope at the positions."""
        del recall
        import numpy as np

        best: np.ndarray = np.maximum.accumulate(precision[::-1], axis=0)[::-1][self.positions].mean(axis=0)
        return best

    def at_positions(self, positions: int) -> R11:
        """See `Definition.at_positions`.

        >>> R40().at_positions(11)
        R11()
        """
        definitions = {11: R11(), 40: R40()}
        if positions not in definitions:
            raise ParameterError(f"are 40 or 11, not {positions!r}", option="recall_positions")
        return definitions[positions]


class R40(R11):
    """Forty of KITTI's 41 positions, all but the first: `(P_1 + ... + P_40) / 40`. For the rest see `R11`.

    Source: KITTI's `evaluate_object.cpp` from October 2019 on.
    """

    name = "r40"
    precision = "envelope over positions"
    weights = "1/40 each, of 41 positions but the first"
    formula = "mean over positions 1 ... 40 of P at cut-offs of scores that are chosen to be 1/40 of recall apart"
    used_by = "KITTI from October 2019 on"
    source = "Simonelli et al. 2019; KITTI development kit for objects, evaluate_object.cpp"
    positions = slice(1, 41)
