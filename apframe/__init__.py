"""apframe: average precision as tables. Every number is a group-by, and every step is a frame to look at."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from apframe.analysis.patches import evaluate_patches
from apframe.evaluation import Evaluation, evaluate, read_evaluation
from apframe.io.coco import read_coco, read_coco_results, write_coco, write_coco_results
from apframe.io.trec import read_qrels, read_run
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.ranking.definitions import Definition, as_definition, definitions
from apframe.ranking.expressions import (
    average_precision,
    best_f_beta,
    dcg,
    f_beta,
    ndcg,
    precision,
    precision_at_recall,
    r_precision,
    recall,
    recall_at_precision,
    reciprocal_rank,
    success,
)
from apframe.ranking.list_curves import pr_from_roc, precision_recall_curve, roc_curve
from apframe.ranking.measures import Measure, as_measure, measures
from apframe.ranking.vl_pr import vl_pr
from apframe.reidentification import evaluate_reidentification
from apframe.report.charts import plot_precision_recall, plot_roc, plot_vl_pr
from apframe.retrieval import RunEvaluation, evaluate_run, read_run_evaluation
from apframe.schema import Dataset

if TYPE_CHECKING:
    from apframe.analysis.comparison import bootstrap_mean, compare_runs
    from apframe.ranking.losses import fast_ap, quantized_ap, smooth_ap
    from apframe.ranking.torch_losses import ap_loss

# these bring in NumPy, which takes as long to import as all the others
_WITH_NUMPY = {
    "ap_loss": "apframe.ranking.torch_losses",
    "bootstrap_mean": "apframe.analysis.comparison",
    "compare_runs": "apframe.analysis.comparison",
    "fast_ap": "apframe.ranking.losses",
    "quantized_ap": "apframe.ranking.losses",
    "smooth_ap": "apframe.ranking.losses",
}


def __getattr__(name: str) -> Any:
    if name in _WITH_NUMPY:
        return getattr(import_module(_WITH_NUMPY[name]), name)
    raise AttributeError(f"module 'apframe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "COCO",
    "Dataset",
    "Definition",
    "Evaluation",
    "Measure",
    "Protocol",
    "RunEvaluation",
    "ap_loss",
    "as_definition",
    "as_measure",
    "average_precision",
    "best_f_beta",
    "bootstrap_mean",
    "compare_runs",
    "dcg",
    "definitions",
    "evaluate",
    "evaluate_patches",
    "evaluate_reidentification",
    "evaluate_run",
    "f_beta",
    "fast_ap",
    "measures",
    "ndcg",
    "plot_precision_recall",
    "plot_roc",
    "plot_vl_pr",
    "pr_from_roc",
    "precision",
    "precision_at_recall",
    "precision_recall_curve",
    "quantized_ap",
    "r_precision",
    "read_coco",
    "read_coco_results",
    "read_evaluation",
    "read_qrels",
    "read_run",
    "read_run_evaluation",
    "recall",
    "recall_at_precision",
    "reciprocal_rank",
    "roc_curve",
    "smooth_ap",
    "success",
    "vl_pr",
    "write_coco",
    "write_coco_results",
]
