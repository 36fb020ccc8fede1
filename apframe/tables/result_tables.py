"""The tables of results: their columns, types and meanings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.tables.metric_columns import AREA_RANGE, AREAS, CATEGORY, METRICS, THRESHOLD
from apframe.tables.schemas import OUTCOMES, id_column

LABEL_ERRORS = pl.Enum(["missing", "wrong_class", "misplaced", "duplicate", "spurious"])
ERRORS = pl.Enum(["cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn"])
_DETECTION = id_column("detection_id", "the detection", required=False)
_ANNOTATION = id_column("annotation_id", "the annotation", required=False)
_CATEGORY_OR_MEAN = id_column(
    "category_id", "the category; null: the mean over categories, or pooled categories", required=False
)
_POSITIVES = Column("n_annotations", pl.Int64, "annotations that count")
_SIMILARITY = Column(
    "similarity", pl.Float64, "IoU of the pair, or the protocol's similarity; of distances, minus the distance"
)
_TARGET = Column("target", pl.String, "outcome: 1 for a true positive, 0 for a false one; similarity: that instead of 1")
_MIN_SCORE = Column("min_score", pl.Float64, "detections below this score are left out")
_COUNTS = (
    Column("tp", pl.Int64, "true positives"),
    Column("fp", pl.Int64, "false positives"),
    Column("fn", pl.Int64, "annotations that were missed"),
)
_INTERVAL = (
    Column("low", pl.Float64, "lower end of the 95 % interval"),
    Column("high", pl.Float64, "upper end of that interval"),
    Column("se", pl.Float64, "standard error"),
    Column("bias", pl.Float64, "by how much the number is too high; null if it is not known"),
    Column("n_units", pl.Int64, "images, or units of several"),
    Column("n_resamples", pl.Int64, "resamples in which the number has a value; null if nothing was drawn"),
    Column("method", pl.String, "influence or bootstrap"),
    Column("reason", pl.String, "why there is no interval"),
)
RESULTS: dict[str, tuple[Column, ...]] = {
    "pairs": (_DETECTION, _ANNOTATION, _SIMILARITY),
    "assignments": (
        _DETECTION,
        id_column("annotation_id", "the matched annotation", required=False),
        _SIMILARITY,
        Column("area_range", AREAS, "area range where the match holds; null: in all"),
        Column("iou_from", pl.Float64, "the lowest threshold at which it holds"),
        Column("iou_to", pl.Float64, "the highest threshold at which it holds"),
    ),
    "matches": (
        Column("match_id", pl.Int64, "key"),
        id_column("image_id", "the image", required=False),
        id_column("category_id", "the category", required=False),
        id_column("detection_id", "the detection; null for a missed annotation", required=False),
        id_column("annotation_id", "the matched annotation; null if none", required=False),
        THRESHOLD,
        AREA_RANGE,
        Column("score", pl.Float64, "score of the detection"),
        Column("rank", pl.Int64, "rank of the detection within its category, ties resolved, from 1"),
        Column("similarity", pl.Float64, "similarity of the matched pair"),
        Column("outcome", OUTCOMES, "tp, fp, fn (a missed annotation) or ignored"),
    ),
    "curves": (
        CATEGORY,
        AREA_RANGE,
        THRESHOLD,
        Column("rank", pl.UInt32, "rank in the list, from 1; ignored detections have none"),
        _DETECTION,
        Column("score", pl.Float64, "score of the detection"),
        Column("tp", pl.UInt32, "true positives down to this rank"),
        Column("fp", pl.UInt32, "false positives down to this rank"),
        Column("precision", pl.Float64, "tp / (tp + fp)"),
        Column("recall", pl.Float64, "tp / n_positives; null without positives"),
        Column("envelope", pl.Float64, "the largest precision at this rank or below it"),
    ),
    "metrics": METRICS,
    "summary": (
        Column("metric", pl.String, "name of the headline number"),
        Column("value", pl.Float64, "mean over categories and thresholds; null where nothing could be evaluated"),
    ),
    "per_image": (
        AREA_RANGE,
        THRESHOLD,
        id_column("image_id", "the image", required=False),
        *_COUNTS,
        Column("mean_similarity", pl.Float64, "mean similarity of the true positives; null without any"),
    ),
    "thresholds": (
        CATEGORY,
        AREA_RANGE,
        THRESHOLD,
        Column("score_threshold", pl.Float64, "detections with at least this score count"),
        *_COUNTS,
        Column("precision", pl.Float64, "tp / (tp + fp)"),
        Column("recall", pl.Float64, "tp / (tp + fn); null without positives"),
        Column("f1", pl.Float64, "2 tp / (2 tp + fp + fn); null without positives"),
        Column("is_best", pl.Boolean, "true at the largest f1 of the category (the highest such threshold)"),
        Column("lrp", pl.Float64, "localization recall precision error, lower is better; null without positives"),
        Column("lrp_loc", pl.Float64, "mean of 1 - similarity over the true positives; null without any"),
        Column("lrp_fp", pl.Float64, "fp / (tp + fp); null without positives"),
        Column("lrp_fn", pl.Float64, "fn / (tp + fn); null without positives"),
        Column("is_best_lrp", pl.Boolean, "true at the smallest lrp of the category (the highest such threshold)"),
        Column("fppi", pl.Float64, "false positives per image: fp / the number of evaluated images"),
        Column("miss_rate", pl.Float64, "1 - recall; null without positives"),
    ),
    "confusion": (
        id_column("true_category_id", "the category of the annotation; null: background", required=False),
        id_column("found_category_id", "the category of the detection; null: missed", required=False),
        AREA_RANGE,
        THRESHOLD,
        Column("min_score", pl.Float64, "detections of the found category below this score are left out; null: none are"),
        Column("n", pl.Int64, "pairs of an annotation and a detection; detections of nothing; missed annotations"),
        Column("share_of_true", pl.Float64, "of the annotations of the true category that count; null for background"),
        Column("share_of_found", pl.Float64, "of the detections of the found category that count; null for missed"),
    ),
    "lrp": (
        _CATEGORY_OR_MEAN,
        AREA_RANGE,
        THRESHOLD,
        _POSITIVES,
        Column("olrp", pl.Float64, "the smallest lrp of any score threshold; null without positives"),
        Column("lrp_loc", pl.Float64, "mean of 1 - similarity over its true positives; null without any"),
        Column("lrp_fp", pl.Float64, "fp / (tp + fp) there; null without true positives"),
        Column("lrp_fn", pl.Float64, "fn / (tp + fn) there; null without positives"),
        Column("score_threshold", pl.Float64, "the highest score with that lrp; null without true positives"),
    ),
    "miss_rates": (
        _CATEGORY_OR_MEAN,
        AREA_RANGE,
        THRESHOLD,
        _POSITIVES,
        Column("lamr", pl.Float64, "log-average miss rate; null without positives"),
    ),
    "froc": (
        _CATEGORY_OR_MEAN,
        AREA_RANGE,
        THRESHOLD,
        _POSITIVES,
        Column("cpm", pl.Float64, "mean recall at 1/8 to 8 false positives per image; null without positives"),
    ),
    "calibration": (
        CATEGORY,
        AREA_RANGE,
        THRESHOLD,
        _TARGET,
        Column("bins", pl.String, "uniform or quantile"),
        Column("n_bins", pl.Int64, "number of bins, before equal edges are merged"),
        _MIN_SCORE,
        Column("n", pl.Int64, "detections that count; without any, what follows is null"),
        Column("ece", pl.Float64, "mean of |gap| over the bins, weighted by n: expected calibration error"),
        Column("mce", pl.Float64, "the largest |gap| of a bin"),
        Column("brier", pl.Float64, "mean of (score - target)²"),
        Column("mean_gap", pl.Float64, "mean target - mean score; negative where scores are too high"),
        Column("mae", pl.Float64, "mean of |score - target|"),
    ),
    "reliability": (
        CATEGORY,
        AREA_RANGE,
        THRESHOLD,
        _TARGET,
        _MIN_SCORE,
        Column("bin", pl.Int64, "number of the bin, from 1"),
        Column("score_from", pl.Float64, "its lower edge"),
        Column("score_to", pl.Float64, "its upper edge"),
        Column("n", pl.Int64, "detections that count; without any, what follows is null"),
        Column("mean_score", pl.Float64, "mean of their scores"),
        Column("mean_target", pl.Float64, "mean of their targets"),
        Column("gap", pl.Float64, "mean_target - mean_score; negative where scores are too high"),
        Column("low", pl.Float64, "lower end of Wilson's 95 % interval of mean_target; null for similarities"),
        Column("high", pl.Float64, "upper end of that interval"),
    ),
    "errors": (
        THRESHOLD,
        id_column("image_id", "the image", required=False),
        id_column("category_id", "category of the detection; of a missed annotation, its own", required=False),
        id_column("detection_id", "the false positive; null for a missed annotation", required=False),
        Column("score", pl.Float64, "score of the detection; null for a missed annotation"),
        Column("error", ERRORS, "its kind: cls, loc, both, dupe, bkg or miss; see `apframe.error_kinds`"),
        id_column("annotation_id", "the annotation that the error is about; null for bkg", required=False),
        id_column("target_category_id", "the category of that annotation", required=False),
        Column("similarity", pl.Float64, "similarity of the detection and that annotation"),
        Column("same", pl.Float64, "largest similarity to annotations of its category; null below the background threshold"),
        Column("other", pl.Float64, "largest similarity to those of other categories; null below the background threshold"),
        Column("is_fixable", pl.Boolean, "fixing it gives a true positive, as with some of cls and loc; null for miss"),
    ),
    "error_impact": (
        THRESHOLD,
        id_column("category_id", "the category; null: the mean over the categories with positives", required=False),
        Column("error", ERRORS, "the error type; fp and fn are all false positives and all missed annotations"),
        Column("n", pl.Int64, "number of errors; those of detections count in the category of the detection"),
        Column("ap", pl.Float64, "average precision as it is; null without positives"),
        Column("delta_ap", pl.Float64, "by how much it rises if all errors of the type are fixed; null without positives"),
    ),
    "label_errors": (
        Column("kind", LABEL_ERRORS, "missing, wrong_class, misplaced or duplicate; of several runs also spurious"),
        id_column("image_id", "the image", required=False),
        id_column("detection_id", "the detection that contradicts; null for a duplicate", required=False),
        id_column("annotation_id", "the annotation that may be wrong; null for a missing one", required=False),
        id_column("other_annotation_id", "the other annotation of a duplicate; otherwise null", required=False),
        id_column("category_id", "the category that is labelled; null for a missing annotation", required=False),
        id_column("proposed_category_id", "the category of the detection; null for a duplicate", required=False),
        Column("score", pl.Float64, "score of the detection; null for a duplicate"),
        Column("similarity", pl.Float64, "similarity of the two; null for a missing annotation"),
        Column("suspicion", pl.Float64, "how likely it is wrong, from 0 to 1; comparable within a kind"),
    ),
    "intervals": (
        Column("metric", pl.String, "name of the headline number"),
        Column("estimate", pl.Float64, "the number itself"),
        *_INTERVAL,
    ),
    "influence": (
        Column("metric", pl.String, "name of the headline number, a mean over categories"),
        id_column("image_id", "the image", required=False),
        Column("influence", pl.Float64, "by how much the number would rise if the image counted twice, to first order"),
    ),
}
"""The tables of an evaluation."""
_QUERY, _RUN = (
    id_column("query_id", "the query", required=False),
    Column("run", pl.String, "the run; no such column if there is only one"),
)
RUN_RESULTS: dict[str, tuple[Column, ...]] = {
    "matches": (
        _RUN,
        _QUERY,
        id_column("document_id", "the judged document", required=False),
        Column("relevance", pl.Float64, "its grade"),
        Column("score", pl.Float64, "score in the run; null: not retrieved"),
        Column("rank", pl.Int64, "rank among all retrieved documents, from 1; null: not retrieved"),
    ),
    "per_query": (
        _RUN,
        _QUERY,
        Column("measure", pl.String, "name of the measure"),
        Column("value", pl.Float64, "value for this query; null if the query is left out"),
    ),
    "summary": (
        _RUN,
        Column("measure", pl.String, "name of the measure"),
        Column("value", pl.Float64, "the mean over queries"),
        Column("n_queries", pl.UInt32, "number of queries averaged"),
    ),
    "coverage": (
        _RUN,
        Column("n_judged", pl.Int64, "queries with judgements"),
        Column("n_evaluated", pl.Int64, "queries included in the means"),
        Column("n_missing", pl.Int64, "judged queries missing from the run"),
        Column("n_without_relevant", pl.Int64, "judged queries without a document of relevance 1 or more"),
        Column("n_not_judged", pl.Int64, "queries of the run without judgements"),
    ),
}
"""The tables of an evaluation of search runs."""
SLICES = (
    Column("rolled_up", pl.String, "with marginals: the keys that this row is totalled over"),
    Column("n_images", pl.Int64, "images in the slice; keys of objects do not change it"),
    Column("n_annotations", pl.Int64, "annotations that count: inside the slice, not crowds"),
    Column("n_detections", pl.Int64, "true and false positives at the lowest threshold, all areas"),
    Column("n_categories", pl.Int64, "categories that the means are taken over"),
)
"""The columns of a table of slices, beside its keys and the metrics."""
DIFFERENCES = (
    Column("metric", pl.String, "name of the headline number"),
    Column("run_a", pl.String, "one run"),
    Column("run_b", pl.String, "the run that it is compared with"),
    Column("estimate_a", pl.Float64, "the number of run_a"),
    Column("estimate_b", pl.Float64, "the number of run_b"),
    Column("difference", pl.Float64, "estimate_b - estimate_a"),
    *_INTERVAL[:4],
    Column("share_better", pl.Float64, "how sure it is that run_b is better, from 0 to 1"),
    Column("p", pl.Float64, "p value, two-sided; below .05 where the 95 % interval excludes 0"),
    Column("p_holm", pl.Float64, "p corrected for the pairs of runs"),
    Column("q", pl.Float64, "false discovery rate over the categories or slices of the metric and pair"),
    Column("detectable", pl.Float64, "the difference that such a set shows in four of five cases: 2.8 se"),
    *_INTERVAL[4:],
)
"""The columns of a table of differences, beside its keys."""
SUPPORT = tuple(column.name for column in SLICES if column.name.startswith("n_"))


def result_schema(table: str, ids: Mapping[str, Any], areas: Any, further: Collection[str] = ()) -> dict[str, Any]:
    """Return names and dtypes of one of the `RESULTS`, with the dtypes of ids and the area ranges of an evaluation.

    A column of ids has the type of the ids that its name ends with: `true_category_id` has that of category_id. Columns that
    only some protocols have are included if they are in `further`. Other names in `further` are numbers in the table
    `metrics`, from a protocol's own metrics, whose docstrings explain them.

    >>> result_schema("summary", {}, pl.Enum(["all"]))
    {'metric': String, 'value': Float64}
    """

    def dtype(column: Column) -> Any:
        if column.is_id:
            return next((ids[key] for key in ids if column.name.endswith(key)), column.dtype)
        return areas if column.dtype is AREAS else column.dtype

    schema = {column.name: dtype(column) for column in RESULTS[table] if column.standard or column.name in further}
    return schema | {name: pl.Float64 for name in further if table == "metrics" and name not in schema}
