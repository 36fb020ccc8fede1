"""Measures of a user who may stop at any rank: the C/W/L family, defined by the chance to go on from a rank to the next.

W_i, the share of the user's attention at rank i, is the product of the chances C_j of all ranks j above it, divided by the sum
of these products; a measure is the sum of W_i times the gain at i. The gain is grade / max_grade, at most 1, and 0 without a
judgement. Lists are read down to rank k, at most to rank 1000, and shorter ones continue with documents without a gain, as in
cwl_eval. Moffat, Bailey, Scholer and Thomas 2017; Azzopardi, Thomas and Moffat 2019.
"""

from __future__ import annotations

import polars as pl

from apframe.lists.kinds import Arguments, max_grade, measure

DEPTH = 1000
_RANK, _GRADE = pl.col("rank"), pl.col("relevance")


@measure("BPM", hits="graded", cutoff="required rank", of="ranks", T=1.0, max_grade=None)
def bejeweled_player_model(arguments: Arguments) -> pl.Expr:
    """The mean gain of the ranks down to k, or to the rank at which T was gained, if that comes first; Zhang et al. 2017."""
    goes_on = pl.min_horizontal(_GRADE, max_grade(arguments)).cum_sum() < arguments.parameters["T"] * max_grade(arguments)
    return _expected_gain(goes_on.cast(pl.Float64), arguments)


@measure("SDCG", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def scaled_gain(arguments: Arguments) -> pl.Expr:
    """DCG@k divided by the DCG of k documents of the highest grade."""
    return _expected_gain((_RANK + 1).log(2) / (_RANK + 2).log(2), arguments)


@measure("INSQ", hits="graded", of="ranks", T=1.0, max_grade=None)
def inverse_squares(arguments: Arguments) -> pl.Expr:
    """C_i = ((i + 2T - 1) / (i + 2T))², for a user who wants to gain T; Moffat, Scholer and Thomas 2012."""
    return _expected_gain(_patience(2 * arguments.parameters["T"]), arguments)


@measure("INST", hits="graded", of="ranks", T=1.0, max_grade=None)
def adaptive_inverse_squares(arguments: Arguments) -> pl.Expr:
    """C_i = ((i + T + T_i - 1) / (i + T + T_i))², where T_i = T - the gain down to i is still wanted; Bailey et al. 2015."""
    return _expected_gain(_patience(2 * arguments.parameters["T"] - _gain(arguments).cum_sum()), arguments)


@measure("NERR8", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def nearly_err_8(arguments: Arguments) -> pl.Expr:
    """C_i = 1 - gain_i; equation 8 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain(1 - _gain(arguments), arguments)


@measure("NERR9", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def nearly_err_9(arguments: Arguments) -> pl.Expr:
    """C_i = (1 - gain_i) i / (i + 1); equation 9 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain((1 - _gain(arguments)) * _RANK / (_RANK + 1), arguments)


@measure("NERR10", hits="graded", of="ranks", p=0.9, max_grade=None)
def nearly_err_10(arguments: Arguments) -> pl.Expr:
    """C_i = p (1 - gain_i); equation 10 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain(arguments.parameters["p"] * (1 - _gain(arguments)), arguments)


@measure("NERR11", hits="graded", of="ranks", T=1.0, max_grade=None)
def nearly_err_11(arguments: Arguments) -> pl.Expr:
    """C_i = (1 - gain_i) ((i + 2T - 1) / (i + 2T))²; equation 11 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain((1 - _gain(arguments)) * _patience(2 * arguments.parameters["T"]), arguments)


def _gain(arguments: Arguments) -> pl.Expr:
    return pl.min_horizontal(_GRADE, max_grade(arguments)) / max_grade(arguments)


def _patience(target: pl.Expr | float) -> pl.Expr:
    return ((_RANK + target - 1) / (_RANK + target)) ** 2


def _expected_gain(goes_on: pl.Expr, arguments: Arguments) -> pl.Expr:
    """Return the sum of W_i times the gain, from the chances to go on from each rank to the next."""
    looked_at = goes_on.cum_prod().shift(1).fill_null(1.0)
    return (looked_at * _gain(arguments)).sum() / looked_at.sum()
