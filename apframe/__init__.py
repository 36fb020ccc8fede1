"""apframe: average precision as tables. Every number is a group-by, and every step is a frame to look at."""

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
from apframe.ranking.measures import Measure, as_measure, measures
from apframe.retrieval import RunEvaluation, evaluate_run, read_run_evaluation
from apframe.schema import Dataset

__all__ = [
    "COCO",
    "Dataset",
    "Definition",
    "Evaluation",
    "Measure",
    "Protocol",
    "RunEvaluation",
    "as_definition",
    "as_measure",
    "average_precision",
    "best_f_beta",
    "dcg",
    "definitions",
    "evaluate",
    "evaluate_run",
    "f_beta",
    "measures",
    "ndcg",
    "precision",
    "precision_at_recall",
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
    "success",
    "write_coco",
    "write_coco_results",
]
