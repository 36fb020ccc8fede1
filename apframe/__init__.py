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

import apframe.ctrl_c  # first of all: what follows takes a while

# isort: split
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import apframe.lists.expressions  # noqa: F401 - puts `ap` on Polars expressions
from apframe import static_table

if TYPE_CHECKING:  # with aliases, which say to type checkers that the names are public
    from apframe import formats as formats
    from apframe import protocols as protocols
    from apframe.adapters.supervision import from_supervision as from_supervision
    from apframe.adapters.torchvision import from_torchvision as from_torchvision
    from apframe.adapters.torchvision import targets_from_torchvision as targets_from_torchvision
    from apframe.adapters.ultralytics import from_ultralytics as from_ultralytics
    from apframe.benchmarks.medical.luna16.sphere_distance import SphereDistance as SphereDistance
    from apframe.benchmarks.pixels.panoptic.panoptic_boundary_iou import PanopticBoundaryIoU as PanopticBoundaryIoU
    from apframe.benchmarks.pixels.panoptic.panoptic_iou import PanopticIoU as PanopticIoU
    from apframe.benchmarks.pixels.semantic.label_iou import LabelIoU as LabelIoU
    from apframe.benchmarks.relations.visual_genome.relation_iou import PhraseIoU as PhraseIoU
    from apframe.benchmarks.relations.visual_genome.relation_iou import RelationIoU as RelationIoU
    from apframe.benchmarks.trainers.ultralytics.single_iou import SingleBoxIoU as SingleBoxIoU
    from apframe.benchmarks.trainers.ultralytics.single_iou import SingleMaskIoU as SingleMaskIoU
    from apframe.checks.check import check as check
    from apframe.checks.runs import check_run as check_run
    from apframe.checks.statistics import stats as stats
    from apframe.compare.agreement import kendall_tau as kendall_tau
    from apframe.compare.agreement import rank_biased_overlap as rank_biased_overlap
    from apframe.compare.agreement import tau_ap as tau_ap
    from apframe.compare.comparison import bootstrap_mean as bootstrap_mean
    from apframe.compare.comparison import compare_runs as compare_runs
    from apframe.compare.standard_errors import n_needed as n_needed
    from apframe.evaluation.diagnose.at_thresholds import CutEvaluation as CutEvaluation
    from apframe.evaluation.diagnose.error_kinds import error_kinds as error_kinds
    from apframe.evaluation.evaluate import evaluate as evaluate
    from apframe.evaluation.evaluation import Evaluation as Evaluation
    from apframe.evaluation.evaluator import Evaluator as Evaluator
    from apframe.evaluation.restored import read_evaluation as read_evaluation
    from apframe.evaluation.slices.keys import bins as bins
    from apframe.evaluation.slices.keys import quantiles as quantiles
    from apframe.formats.catalogue import list_formats as list_formats
    from apframe.formats.catalogue import read_dataset as read_dataset
    from apframe.formats.catalogue import read_results as read_results
    from apframe.formats.coco.format import read_coco as read_coco
    from apframe.formats.coco.format import read_coco_results as read_coco_results
    from apframe.formats.coco.format import write_coco as write_coco
    from apframe.formats.coco.format import write_coco_results as write_coco_results
    from apframe.formats.writing import write_dataset as write_dataset
    from apframe.formats.writing import write_results as write_results
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
    from apframe.lists.measures import list_measures as list_measures
    from apframe.lists.vl_pr import vl_pr as vl_pr
    from apframe.metrics.definitions import as_definition as as_definition
    from apframe.metrics.definitions import list_definitions as list_definitions
    from apframe.metrics.points import Definition as Definition
    from apframe.protocols.coco import COCO as COCO
    from apframe.protocols.headlines import Part as Part
    from apframe.protocols.lvis import LVIS as LVIS
    from apframe.protocols.open_images import OPEN_IMAGES as OPEN_IMAGES
    from apframe.protocols.open_images import OPEN_IMAGES_CHALLENGE as OPEN_IMAGES_CHALLENGE
    from apframe.protocols.proposals import PROPOSALS as PROPOSALS
    from apframe.protocols.protocol import Protocol as Protocol
    from apframe.protocols.published import PUBLISHED as PUBLISHED
    from apframe.protocols.published import list_protocols as list_protocols
    from apframe.protocols.voc import VOC2007 as VOC2007
    from apframe.protocols.voc import VOC2012 as VOC2012
    from apframe.pycocotools import patch_pycocotools as patch_pycocotools
    from apframe.report.write import write_report as write_report
    from apframe.retrieval.agreement import leaderboard_agreement as leaderboard_agreement
    from apframe.retrieval.evaluation import RunEvaluation as RunEvaluation
    from apframe.retrieval.evaluation import evaluate_run as evaluate_run
    from apframe.retrieval.evaluation import read_run_evaluation as read_run_evaluation
    from apframe.retrieval.patches import evaluate_patches as evaluate_patches
    from apframe.retrieval.reidentification import evaluate_reidentification as evaluate_reidentification
    from apframe.retrieval.trec import read_qrels as read_qrels
    from apframe.retrieval.trec import read_run as read_run
    from apframe.runs.run_sets import RunSets as RunSets
    from apframe.runs.run_sets import scan_runs as scan_runs
    from apframe.scale.evaluate_shards import evaluate_shards as evaluate_shards
    from apframe.scale.write_shards import write_shards as write_shards
    from apframe.show.charts import plot_precision_recall as plot_precision_recall
    from apframe.show.charts import plot_roc as plot_roc
    from apframe.show.charts import plot_vl_pr as plot_vl_pr
    from apframe.show.confusion_chart import plot_confusion as plot_confusion
    from apframe.show.draw_charts import plot_draws as plot_draws
    from apframe.show.error_chart import plot_error_impact as plot_error_impact
    from apframe.show.interval_charts import plot_intervals as plot_intervals
    from apframe.show.interval_charts import plot_leaderboard as plot_leaderboard
    from apframe.show.interval_charts import plot_over_tag as plot_over_tag
    from apframe.show.markup import to_latex as to_latex
    from apframe.show.markup import to_markdown as to_markdown
    from apframe.show.operating_charts import plot_miss_rates as plot_miss_rates
    from apframe.show.operating_charts import plot_operating_points as plot_operating_points
    from apframe.show.reliability_chart import plot_reliability as plot_reliability
    from apframe.show.score_charts import plot_scores as plot_scores
    from apframe.show.score_charts import plot_thresholds as plot_thresholds
    from apframe.show.slice_charts import plot_slice_heatmap as plot_slice_heatmap
    from apframe.show.slice_charts import plot_slices as plot_slices
    from apframe.similarity.bev_iou import BevIoU as BevIoU
    from apframe.similarity.boundary_iou import BoundaryIoU as BoundaryIoU
    from apframe.similarity.box_iou import BoxIoU as BoxIoU
    from apframe.similarity.centre_distance import CentreDistance as CentreDistance
    from apframe.similarity.cuboid_iou import CuboidIoU as CuboidIoU
    from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU as InclusiveBoxIoU
    from apframe.similarity.intersection_over_detection import IntersectionOverDetection as IntersectionOverDetection
    from apframe.similarity.interval_iou import IntervalIoU as IntervalIoU
    from apframe.similarity.keypoints import OKS as OKS
    from apframe.similarity.mask_iou import MaskIoU as MaskIoU
    from apframe.similarity.mask_or_box_iou import MaskOrBoxIoU as MaskOrBoxIoU
    from apframe.similarity.pairs import Similarity as Similarity
    from apframe.similarity.rotated_iou import RotatedIoU as RotatedIoU
    from apframe.similarity.user import UserSimilarity as UserSimilarity
    from apframe.static_names import *  # noqa: F403 - the errors, and the protocols of benchmarks
    from apframe.store.parquet import upgrade_evaluation as upgrade_evaluation
    from apframe.tables.dataset import Dataset as Dataset
    from apframe.tables.merging import merge as merge
    from apframe.threads import set_threads as set_threads
    from apframe.training.losses import fast_ap as fast_ap
    from apframe.training.losses import quantized_ap as quantized_ap
    from apframe.training.losses import smooth_ap as smooth_ap
    from apframe.training.torch_losses import ap_loss as ap_loss
    from apframe.training.torchmetrics import MeanAveragePrecision as MeanAveragePrecision

# where the public names live: a module is imported when a name of it is first used, which keeps `import apframe` short
_HOMES = {
    "apframe.adapters.supervision": "from_supervision",
    "apframe.adapters.torchvision": "from_torchvision targets_from_torchvision",
    "apframe.adapters.ultralytics": "from_ultralytics",
    "apframe.checks.check": "check",
    "apframe.checks.runs": "check_run",
    "apframe.checks.statistics": "stats",
    "apframe.compare.agreement": "kendall_tau rank_biased_overlap tau_ap",
    "apframe.compare.comparison": "bootstrap_mean compare_runs",
    "apframe.compare.standard_errors": "n_needed",
    "apframe.evaluation.diagnose.error_kinds": "error_kinds",
    "apframe.evaluation.diagnose.at_thresholds": "CutEvaluation",
    "apframe.evaluation.evaluate": "evaluate",
    "apframe.evaluation.evaluation": "Evaluation",
    "apframe.evaluation.evaluator": "Evaluator",
    "apframe.evaluation.slices.keys": "bins quantiles",
    "apframe.evaluation.restored": "read_evaluation",
    "apframe.exceptions": "ApframeError ApframeWarning ColumnError DoubtfulNumberWarning DuplicateIdError FormatError "
    "IdTypeError InputError NotComparableError OutputError ParameterError PluginError QueryError RowError ScoreError "
    "ShardError UnknownIdError",
    "apframe.formats.catalogue": "list_formats read_dataset read_results",
    "apframe.formats.writing": "write_dataset write_results",
    "apframe.formats.coco.format": "read_coco read_coco_results write_coco write_coco_results",
    "apframe.lists.expressions": "average_precision best_f_beta dcg f_beta ndcg precision precision_at_recall "
    "r_precision recall recall_at_precision reciprocal_rank success",
    "apframe.lists.list_curves": "pr_from_roc precision_recall_curve roc_curve",
    "apframe.lists.measures": "Measure as_measure list_measures",
    "apframe.lists.vl_pr": "vl_pr",
    "apframe.protocols.headlines": "Part",
    "apframe.protocols.coco": "COCO",
    "apframe.protocols.lvis": "LVIS",
    "apframe.protocols.open_images": "OPEN_IMAGES OPEN_IMAGES_CHALLENGE",
    "apframe.protocols.proposals": "PROPOSALS",
    "apframe.protocols.protocol": "Protocol",
    "apframe.protocols.published": "PUBLISHED list_protocols",
    "apframe.protocols.voc": "VOC2007 VOC2012",
    "apframe.pycocotools": "patch_pycocotools",
    "apframe.metrics.points": "Definition",
    "apframe.metrics.definitions": "as_definition list_definitions",
    "apframe.report.write": "write_report",
    "apframe.retrieval.agreement": "leaderboard_agreement",
    "apframe.retrieval.evaluation": "RunEvaluation evaluate_run read_run_evaluation",
    "apframe.retrieval.patches": "evaluate_patches",
    "apframe.retrieval.reidentification": "evaluate_reidentification",
    "apframe.retrieval.trec": "read_qrels read_run",
    "apframe.runs.run_sets": "RunSets scan_runs",
    "apframe.scale.evaluate_shards": "evaluate_shards",
    "apframe.scale.write_shards": "write_shards",
    "apframe.tables.dataset": "Dataset",
    "apframe.tables.merging": "merge",
    "apframe.show.charts": "plot_precision_recall plot_roc plot_vl_pr",
    "apframe.show.confusion_chart": "plot_confusion",
    "apframe.show.draw_charts": "plot_draws",
    "apframe.show.interval_charts": "plot_intervals plot_leaderboard plot_over_tag",
    "apframe.show.error_chart": "plot_error_impact",
    "apframe.show.markup": "to_latex to_markdown",
    "apframe.show.operating_charts": "plot_miss_rates plot_operating_points",
    "apframe.show.reliability_chart": "plot_reliability",
    "apframe.show.score_charts": "plot_scores plot_thresholds",
    "apframe.show.slice_charts": "plot_slice_heatmap plot_slices",
    "apframe.similarity.bev_iou": "BevIoU",
    "apframe.similarity.boundary_iou": "BoundaryIoU",
    "apframe.similarity.box_iou": "BoxIoU",
    "apframe.similarity.centre_distance": "CentreDistance",
    "apframe.benchmarks.medical.luna16.sphere_distance": "SphereDistance",
    "apframe.similarity.cuboid_iou": "CuboidIoU",
    "apframe.similarity.inclusive_box_iou": "InclusiveBoxIoU",
    "apframe.similarity.intersection_over_detection": "IntersectionOverDetection",
    "apframe.similarity.interval_iou": "IntervalIoU",
    "apframe.similarity.keypoints": "OKS",
    "apframe.benchmarks.pixels.semantic.label_iou": "LabelIoU",
    "apframe.similarity.mask_iou": "MaskIoU",
    "apframe.similarity.mask_or_box_iou": "MaskOrBoxIoU",
    "apframe.similarity.pairs": "Similarity",
    "apframe.benchmarks.pixels.panoptic.panoptic_boundary_iou": "PanopticBoundaryIoU",
    "apframe.benchmarks.pixels.panoptic.panoptic_iou": "PanopticIoU",
    "apframe.benchmarks.relations.visual_genome.relation_iou": "PhraseIoU RelationIoU",
    "apframe.similarity.rotated_iou": "RotatedIoU",
    "apframe.benchmarks.trainers.ultralytics.single_iou": "SingleBoxIoU SingleMaskIoU",
    "apframe.similarity.user": "UserSimilarity",
    "apframe.store.parquet": "upgrade_evaluation",
    "apframe.threads": "set_threads",
    "apframe.training.losses": "fast_ap quantized_ap smooth_ap",
    "apframe.training.torch_losses": "ap_loss",
    "apframe.training.torchmetrics": "MeanAveragePrecision",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_HOME_OF |= {name: home.partition(":")[0] for name, (home, *_) in static_table.PROTOCOLS.items()}

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
