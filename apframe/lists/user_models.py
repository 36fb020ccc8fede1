"""Measures of a user who may stop at any rank: the C/W/L family, written as the chance to go on from a rank to the next.

W_i, the share of the user's attention that rank i gets, is the product of the chances C_j of all ranks j above it, over the sum
of these products; a measure is the sum of W_i times the gain at i. The gain is grade / max_grade, at most 1, and 0 without a
judgement. Lists are looked at down to rank k, at most to rank 1000, and shorter ones go on with documents without a gain, as
in cwl_eval. Moffat, Bailey, Scholer and Thomas 2017; Azzopardi, Thomas and Moffat 2019.
"""

from __future__ import annotations

import polars as pl

from apframe.lists.kinds import Asked, max_grade, measure

DEPTH = 1000
_RANK, _GRADE = pl.col("rank"), pl.col("relevance")


@measure("BPM", hits="graded", cutoff="required rank", of="ranks", T=1.0, max_grade=None)
def bejeweled_player_model(asked: Asked) -> pl.Expr:
    """The mean gain of the ranks down to k, or to the one at which T was gained, if that comes first; Zhang et al. 2017."""
    goes_on = pl.min_horizontal(_GRADE, max_grade(asked)).cum_sum() < asked.parameters["T"] * max_grade(asked)
    return _expected_gain(goes_on.cast(pl.Float64), asked)


@measure("SDCG", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def scaled_gain(asked: Asked) -> pl.Expr:
    """DCG@k over that of k documents of the highest grade."""
    return _expected_gain((_RANK + 1).log(2) / (_RANK + 2).log(2), asked)


@measure("INSQ", hits="graded", of="ranks", T=1.0, max_grade=None)
def inverse_squares(asked: Asked) -> pl.Expr:
    """C_i = ((i + 2T - 1) / (i + 2T))², for a user who wants to gain T; Moffat, Scholer and Thomas 2012."""
    return _expected_gain(_patience(2 * asked.parameters["T"]), asked)


@measure("INST", hits="graded", of="ranks", T=1.0, max_grade=None)
def adaptive_inverse_squares(asked: Asked) -> pl.Expr:
    """C_i = ((i + T + T_i - 1) / (i + T + T_i))², where T_i = T - the gain down to i is still wanted; Bailey et al. 2015."""
    return _expected_gain(_patience(2 * asked.parameters["T"] - _gain(asked).cum_sum()), asked)


@measure("NERR8", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def nearly_err_8(asked: Asked) -> pl.Expr:
    """C_i = 1 - gain_i; equation 8 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain(1 - _gain(asked), asked)


@measure("NERR9", hits="graded", cutoff="required rank", of="ranks", max_grade=None)
def nearly_err_9(asked: Asked) -> pl.Expr:
    """C_i = (1 - gain_i) i / (i + 1); equation 9 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain((1 - _gain(asked)) * _RANK / (_RANK + 1), asked)


@measure("NERR10", hits="graded", of="ranks", p=0.9, max_grade=None)
def nearly_err_10(asked: Asked) -> pl.Expr:
    """C_i = p (1 - gain_i); equation 10 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain(asked.parameters["p"] * (1 - _gain(asked)), asked)


@measure("NERR11", hits="graded", of="ranks", T=1.0, max_grade=None)
def nearly_err_11(asked: Asked) -> pl.Expr:
    """C_i = (1 - gain_i) ((i + 2T - 1) / (i + 2T))²; equation 11 of Azzopardi, Mackenzie and Moffat 2021."""
    return _expected_gain((1 - _gain(asked)) * _patience(2 * asked.parameters["T"]), asked)


def _gain(asked: Asked) -> pl.Expr:
    return pl.min_horizontal(_GRADE, max_grade(asked)) / max_grade(asked)


def _patience(wanted: pl.Expr | float) -> pl.Expr:
    return ((_RANK + wanted - 1) / (_RANK + wanted)) ** 2


def _expected_gain(goes_on: pl.Expr, asked: Asked) -> pl.Expr:
    """The sum of W_i times the gain, of the chances to go on from each rank to the next."""
    looked_at = goes_on.cum_prod().shift(1).fill_null(1.0)
    return (looked_at * _gain(asked)).sum() / looked_at.sum()
