"""Measures as trec_eval, ranx and ir_measures write them."""

from __future__ import annotations

import math

import pytest

import apframe as apf
from apframe.lists.measures import as_measures

# as others write it -> what it is here
NAMES = {
    "P.5": "P@5", "P_5": "P@5", "P.5,10": "P@5 P@10", "P_5,10": "P@5 P@10", "P@5,10": "P@5 P@10",
    "ndcg_cut.10,20": "nDCG@10 nDCG@20", "ndcg_cut.10": "nDCG@10", "map_cut.5": "AP@5", "success.1": "Success@1",
    "iprec_at_recall.0.1,.20": "IPrec@0.1 IPrec@0.2", "set_F.2": "SetF(x=2)", "set_F_0.5": "SetF(x=0.5)",
    "set_relative_P": "SetP(relative=True)", "gm_bpref": "GMBpref", "num_rel_ret": "NumRelRet", "num_q": "NumQ",
    "AP(rel=2)@5,10": "AP(rel=2)@5 AP(rel=2)@10", "map,P.5,10 recip_rank": "AP P@5 P@10 RR",
    # ranx
    "hits@10": "Hits@10", "hit_rate@10": "Success@10", "precision@5": "P@5", "recall@5": "R@5", "f1@5": "F@5",
    "mrr@10": "RR@10", "r-precision": "Rprec", "rbp.95": "RBP(p=0.95)", "ndcg_burges@5": "nDCG(gain=exp)@5",
    # ir_measures
    "SetRelP": "SetP(relative=True)", "NumRet(rel=1)": "NumRelRet", "NumRet(rel=2)": "NumRelRet(rel=2)",
    "nDCG(dcg='exp-log2')@5": "nDCG(gain=exp)@5", "nDCG(dcg='log2')": "nDCG", "AP(judged_only=True, rel=2)@5":
    "AP(judged_only=True, rel=2)@5", "NERR8(max_rel=4)@5": "NERR8(max_grade=4)@5", "RBP(p=0.5)@10": "RBP(p=0.5)@10",
}  # fmt: skip


@pytest.mark.parametrize("text", NAMES)
def test_names_of_others(text: str) -> None:
    assert " ".join(map(str, as_measures(text))) == NAMES[text]
    assert as_measures([text]) == as_measures(text)


def test_names_of_several() -> None:
    cutoffs = ["5", "10", "15", "20", "30", "100", "200", "500", "1000"]
    assert [str(each) for each in as_measures("ndcg_cut")] == [f"nDCG@{k}" for k in cutoffs]
    official = [str(each) for each in as_measures("official")]
    assert official[:9] == ["NumQ", "NumRet", "NumRel", "NumRelRet", "AP", "GMAP", "Rprec", "Bpref", "RR"]
    assert official[9:20] == [f"IPrec@{level / 10:g}" for level in range(11)]
    assert official[20:] == [f"P@{k}" for k in cutoffs]


def test_gain_and_highest_grade_by_hand() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2, "b": 1}}
    evaluation = apf.evaluate_run(qrels, run, "nDCG(gain=exp) ERR(max_grade=3) ERR(max_grade=1)")
    log3 = 1 / math.log2(3)
    assert evaluation.summary["value"].to_list() == pytest.approx(
        [(1 + 3 * log3) / (3 + log3), 1 / 8 + 1 / 2 * 7 / 8 * 3 / 8, 1 / 2 + 1 / 2 * 1 / 2 * 1 / 2]
    )
