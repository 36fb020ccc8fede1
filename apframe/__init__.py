"""Average precision for object detection, search and any other ranked list, with every step as a Polars frame.

Evaluate detections    evaluate(truth, detections) returns an Evaluation; Evaluator takes batch after batch
Look into the result   Evaluation: summary, by (slices), where, sql, metrics, matches, curves, thresholds, per_image
Find what costs AP     Evaluation: errors, error_impact, confusion, calibration, label_errors; error_kinds() lists kinds
Choose a threshold     Evaluation: thresholds, operating_points, at, lrp, miss_rates, froc; CutEvaluation
Choose the rules       COCO, VOC2007, ...; Protocol for your own; list_protocols, list_definitions, list_measures
Compare shapes         BoxIoU, MaskIoU, BoundaryIoU, OKS, RotatedIoU, IntervalIoU, or Similarity for your own
Compare cuboids        BevIoU, CuboidIoU, CentreDistance; SphereDistance for nodules
Compare pixels         PanopticIoU, PanopticBoundaryIoU, LabelIoU
Compare relations      RelationIoU, PhraseIoU
Make slices            bins, quantiles: intervals of a column, for Evaluation.by
Evaluate search runs   evaluate_run(qrels, run) returns a RunEvaluation; evaluate_reidentification, evaluate_patches
Any ranked list        average_precision, precision, recall, ndcg, ... in a frame; pl.col("score").ap; Measure
Draw curves            precision_recall_curve, roc_curve, vl_pr, and plot_precision_recall, plot_roc, plot_vl_pr
Draw slices, scores    plot_slices, plot_slice_heatmap, plot_scores, plot_thresholds, plot_reliability, plot_confusion
Draw operating points  plot_operating_points, plot_miss_rates
Draw comparisons       plot_intervals, plot_draws, plot_leaderboard, plot_over_tag
Draw errors            plot_error_impact
Compare runs           compare_runs, bootstrap_mean, n_needed; scan_runs reads many stored runs for a leaderboard
Compare rankings       kendall_tau, tau_ap, rank_biased_overlap, leaderboard_agreement
Read and write files   read_dataset, read_results, read_qrels, read_run, write_dataset, write_results; list_formats
Correct labels         Evaluation.label_errors and write_tasks for a labelling tool; correct puts the images back
Describe, check data   stats, check, check_run; Dataset holds images, categories and annotations; merge
Cut into shards        write_shards: a folder of shards of whole images, from data of any format and size
Store evaluations      Evaluation.write_parquet, read_evaluation, read_run_evaluation, upgrade_evaluation
Print tables           to_markdown, to_latex
Write a report         write_report: one HTML page about one model, two or more
Use other libraries    patch_pycocotools, MeanAveragePrecision, from_torchvision, from_ultralytics, from_supervision
Train with AP          ap_loss, smooth_ap, fast_ap, quantized_ap
Evaluate in training   apframe.training.lightning and .ultralytics: AveragePrecisionCallback
Use fewer cores        set_threads
Catch errors           ApframeError; InputError for bad data, ParameterError for a bad option, and more precise ones
Filter warnings        ApframeWarning; DoubtfulNumberWarning if the number is probably wrong

All errors and warnings are in apframe.exceptions. help(apframe.evaluate) and so on describe one function with its options;
the classes follow here in full, and the functions after them.
"""

import apframe.ctrl_c  # first of all, as what follows takes a while

# isort: split
import apframe.allocators  # noqa: F401 - before Polars is loaded

# isort: split
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe import static_table

if TYPE_CHECKING:
    from apframe.public_names import *  # noqa: F403
    from apframe.static_names import *  # noqa: F403 - the protocols of benchmarks


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
_HOME_OF = {name: home for home, names in static_table.NAMES.items() for name in names.split()}
_HOME_OF |= {name: home.partition(":")[0] for name, (home, _) in static_table.PROTOCOLS.items()}
_PACKAGES = ("formats", "protocols")  # which are imported when they are first used, too
_RENAMED = {"definitions": "list_definitions", "measures": "list_measures"}  # since 0.6

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # read from the metadata only when asked for: `import apframe` stays short
        from importlib.metadata import version

        return version("apframe")
    if name in _PACKAGES:
        return import_module(f"apframe.{name}")
    if name in _RENAMED:
        # with no object, so that Python does not ask "Did you mean"
        raise AttributeError(f"apframe.{name} is now apframe.{_RENAMED[name]}", name=name, obj=None)
    if name not in _HOME_OF:
        # with both, Python asks "Did you mean"
        raise AttributeError(f"module 'apframe' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    globals()[name] = value = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
