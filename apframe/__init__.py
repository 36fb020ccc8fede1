"""Average precision for object detection, search and any other ranked list, with every step as a Polars frame.

Evaluate detections    evaluate(truth, detections) returns an Evaluation; Evaluator takes batch after batch
Inspect the result     Evaluation: summary, by (slices), where, sql, metrics, matches, curves, thresholds, per_image
Find what costs AP     Evaluation: errors, error_impact, confusion, calibration, label_errors; error_kinds
Choose a threshold     Evaluation: thresholds, operating_points, at, lrp, miss_rates, froc; CutEvaluation
Choose the rules       apframe.protocols: COCO, VOC2007, KITTI, ...; Protocol for your own
                       list_protocols, list_definitions, list_measures
Compare shapes         apframe.similarity: BoxIoU, MaskIoU, OKS, RotatedIoU, CuboidIoU, ..., or Similarity for your own
Make slices            bins, quantiles: intervals of a column, for Evaluation.by
Evaluate search runs   evaluate_run(qrels, run) returns a RunEvaluation; evaluate_reidentification, evaluate_patches
Any ranked list        apframe.lists: average_precision, ndcg, precision_recall_curve, ...; pl.col("score").ap
Draw charts            apframe.plot: precision_recall, slices, confusion, thresholds, error_impact, leaderboard, ...
Compare runs           Evaluation.compare; compare_runs, n_needed; scan_runs reads many stored runs for a leaderboard
Read and write files   read_dataset, read_results, read_qrels, read_run, write_dataset, write_results; list_formats
Correct labels         Evaluation.label_errors and write_tasks for a labelling tool; correct puts the images back
Describe, check data   stats, check, check_run; Dataset holds images, categories and annotations; merge
Divide into shards     write_shards: shards of whole images, from data of any format and size; evaluate_shards
Store evaluations      Evaluation.write_parquet, read_evaluation, read_run_evaluation, upgrade_evaluation
Print tables           to_markdown, to_latex
Write a report         write_report: one HTML page about one model, two or more
Use other libraries    patch_pycocotools, MeanAveragePrecision, from_torchvision, from_ultralytics, from_supervision
Train with AP          apframe.training: ap_loss, smooth_ap, fast_ap, quantized_ap
Evaluate in training   apframe.training.lightning and .ultralytics: AveragePrecisionCallback
Use fewer cores        set_threads
Catch errors           apframe.exceptions: ApframeError; InputError for bad data, ParameterError for a bad option
Filter warnings        apframe.exceptions: ApframeWarning; DoubtfulNumberWarning if the number is probably wrong

help(apframe.evaluate), help(apframe.Evaluation), help(apframe.plot) and so on describe each of these in full.
"""

import apframe.ctrl_c  # first of all, as what follows takes a while

# isort: split
import apframe.allocators  # noqa: F401 - before Polars is loaded

# isort: split
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.lazily import homes_of

if TYPE_CHECKING:
    from apframe.public_names import *  # noqa: F403
    from apframe.static_names import *  # noqa: F403 - protocols


class _AllMeasures(type):
    def __getattr__(cls, name: str) -> Any:
        from apframe.lists.expressions import RankedList

        return getattr(RankedList, name)


@pl.api.register_expr_namespace("ap")
class _RankedList(metaclass=_AllMeasures):
    """Measures of a ranked list, such as `pl.col("relevant").ap.average_precision("score", n_positives=2)`."""

    def __new__(cls, relevant: pl.Expr) -> Any:
        from apframe.lists.expressions import RankedList

        return RankedList(relevant)


# where the public names live: a module is imported when a name of it is first used, which keeps `import apframe` short
_HOME_OF = homes_of("apframe")
_SPACES = ("exceptions", "lists", "plot", "protocols", "similarity", "training")  # packages with names of their own

__all__: list[str] = []  # pydoc prints the classes and functions of `__all__` in full: 4,600 lines

if TYPE_CHECKING:
    __version__: str

else:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name == "__version__":  # read from the metadata only when asked for: `import apframe` stays short
            from importlib.metadata import version

            return version("apframe")
        if name in (*_SPACES, "formats"):
            return import_module(f"apframe.{name}")
        if name not in _HOME_OF:
            from apframe.former_names import find_name

            return find_name(name, __dir__())
        globals()[name] = value = getattr(import_module(_HOME_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted([*_HOME_OF, *_SPACES])
