"""The public names of `apframe.lists`."""

from apframe.compare.comparison import bootstrap_mean as bootstrap_mean
from apframe.compare.rank_correlation import kendall_tau as kendall_tau
from apframe.compare.rank_correlation import rank_biased_overlap as rank_biased_overlap
from apframe.compare.rank_correlation import tau_ap as tau_ap
from apframe.lists.expressions import average_precision as average_precision
from apframe.lists.expressions import best_f_beta as best_f_beta
from apframe.lists.expressions import dcg as dcg
from apframe.lists.expressions import f_beta as f_beta
from apframe.lists.expressions import ndcg as ndcg
from apframe.lists.expressions import precision as precision
from apframe.lists.expressions import precision_at_recall as precision_at_recall
from apframe.lists.expressions import r_precision as r_precision
from apframe.lists.expressions import recall as recall
from apframe.lists.expressions import recall_at_precision as recall_at_precision
from apframe.lists.expressions import reciprocal_rank as reciprocal_rank
from apframe.lists.expressions import success as success
from apframe.lists.list_curves import pr_from_roc as pr_from_roc
from apframe.lists.list_curves import precision_recall_curve as precision_recall_curve
from apframe.lists.list_curves import roc_curve as roc_curve
from apframe.lists.measures import Measure as Measure
from apframe.lists.measures import as_measure as as_measure
from apframe.lists.vlfeat_pr import vl_pr as vl_pr
from apframe.retrieval.agreement import leaderboard_agreement as leaderboard_agreement
