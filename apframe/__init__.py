"""apframe: average precision as tables. Every number is a group-by, and every step is a frame to look at."""

from apframe.evaluation import Evaluation, evaluate, read_evaluation
from apframe.io.coco import read_coco, read_coco_results, write_coco, write_coco_results
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.schema import Dataset

__all__ = [
    "COCO",
    "Dataset",
    "Evaluation",
    "Protocol",
    "evaluate",
    "read_coco",
    "read_coco_results",
    "read_evaluation",
    "write_coco",
    "write_coco_results",
]
