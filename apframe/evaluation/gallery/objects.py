"""The objects of some images: annotations and detections in one table, each with its source and outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.protocols.lookups import area_at, threshold_at
from apframe.rows import KEY_OF
from apframe.show.drawings import IN_WORDS, MODELS, TRUTH
from apframe.tables.ids import is_known
from apframe.tables.schemas import OUTCOMES
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import CORNERS, CUBOIDS, INTERVALS, KEYPOINTS, MASKS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.tables.shapes.shape import Shape

_SKELETON = pl.List(pl.List(pl.Int64))
_DRAWN = (KEYPOINTS, CORNERS, INTERVALS, CUBOIDS)
_SCORE = pl.col("score").round(2).cast(pl.String).str.pad_end(4, "0")


def objects_of(
    evaluations: Sequence[Evaluation],
    names: Sequence[str],
    image_ids: pl.Series,
    iou_threshold: float | None = None,
    min_score: float | None = None,
) -> pl.DataFrame:
    """Return the annotations of some images, and the detections of each evaluation that count, with their outcomes.

    Parameters
    ----------
    evaluations, names
        comparable evaluations, and their names
    image_ids
        the images; those without objects have no rows
    iou_threshold
        one of the protocol's thresholds; the lowest by default. The area range is that of the headline numbers
    min_score
        use only detections with at least this score: annotations that only match others are missed

    Returns
    -------
    image_id, role ("truth", then "a", "b", ... for the evaluations), outcome, label and title (a few words, and all in words),
    detection_id, annotation_id (for a true positive: its match), score, category_id, name, x, y, width, height and the columns
    of the compared shape, for `draw_objects`; `with_outlines` adds masks.

    The outcome of a detection is the same as in `matches`. An annotation is `tp` if each evaluation has a true positive for it,
    `fn` if one does not, and otherwise `ignored`. Annotations come first, then the detections by score, the highest last.

    Raises
    ------
    ParameterError
        a threshold that was not evaluated

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 5, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> ev = evaluate(truth, [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 3], "score": 0.5}])
    >>> objects_of([ev], ["a"], pl.Series([1])).select("role", "outcome", "title").rows()
    [('truth', 'fn', 'ground truth: cat, missed, annotation 5'), ('a', 'fp', 'a: cat 0.50, false positive, detection 1')]
    """
    first = evaluations[0]
    threshold = threshold_at(first.protocol, iou_threshold)
    matches = [_matches(each, image_ids, threshold, min_score) for each in evaluations]
    parts = [_annotations(first, image_ids, matches, names)]
    for each, role, name, table in zip(evaluations, MODELS, names, matches, strict=False):
        parts.append(_detections(each, image_ids, table).with_columns(role=pl.lit(role), who=pl.lit(name)))
    objects = pl.concat(parts, how="diagonal_relaxed")
    objects = objects.join(_categories(first), on="category_id", how="left", maintain_order="left")
    return _in_words(objects)


def shape_compared(self: Evaluation) -> Shape | None:
    """Return the shape of the compared objects; None if a function compares anything it reads."""
    return self.protocol.similarity.shape


def with_outlines(evaluations: Sequence[Evaluation], objects: pl.DataFrame) -> pl.DataFrame:
    """Add the column outline to rows of `objects_of`, if masks are compared: the outlines of the masks, see `outlines`.

    Masks are decoded here, so remove rows before if possible.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> mask = {"image_id": 1, "category_id": 1, "segmentation": [[0, 0, 4, 0, 4, 2, 0, 2]]}
    >>> truth = {"images": [{"id": 1, "width": 9, "height": 9}], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [mask | {"id": 5, "area": 8, "bbox": [0, 0, 4, 2]}]}
    >>> ev = evaluate(truth, [], iou_type="segm")
    >>> with_outlines([ev], objects_of([ev], ["a"], pl.Series([1])))["outline"].to_list()
    [[[0.0, 0.0, 4.0, 0.0, 4.0, 2.0, 0.0, 2.0]]]
    """
    if shape_compared(evaluations[0]) is not MASKS:
        return objects
    tables = [("annotations", evaluations[0]), *(("detections", each) for each in evaluations)]
    rows, parts = objects.with_row_index("row"), []
    for role, (table, each) in zip((TRUTH, *MODELS), tables, strict=False):
        part = rows.filter(pl.col("role") == role)
        if part.height:  # an empty table may have no masks
            parts.append(_outlined(each, table, part))
    return pl.concat(parts).sort("row").drop("row") if parts else objects


def _outlined(self: Evaluation, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the outlines of masks to rows of annotations or detections."""
    from apframe.tables.shapes.mask_columns import read_masks  # these import NumPy
    from apframe.tables.shapes.outlines import outlines

    key, objects = KEY_OF[table], self._inputs.annotations if table == "annotations" else self._inputs.detections
    objects = objects.filter(is_known(objects[key], rows[key]))
    objects = objects.join(self.dataset.core("images"), on="image_id", how="left", maintain_order="left")
    masks = objects.select(key, outlines(read_masks(table, objects)))
    return rows.join(masks, on=key, how="left", maintain_order="left")


def _matches(self: Evaluation, image_ids: pl.Series, threshold: int, min_score: float | None) -> pl.DataFrame:
    """Return the table of matches of some images, as `matches` does without a lowest score."""
    from apframe.matching.matches_table import expand_matches  # imports NumPy

    verdicts = self._pipeline.verdicts if min_score is None else self._pipeline.at_score(min_score)
    part = verdicts.of_images(is_known(verdicts.images["image_id"], image_ids).to_numpy())
    inputs = self._inputs
    return expand_matches(part, inputs.detections, inputs.annotations, threshold, area_at(self.protocol, None)).collect()


def _annotations(self: Evaluation, image_ids: pl.Series, matches: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    """Return the annotations with their outcomes, the scores of their true positives, and the names that missed them."""
    missed = pl.when(pl.col("outcome") == "fn")
    judged = pl.concat(
        table.filter(pl.col("outcome").is_in(["tp", "fn"])).select("annotation_id", "score", missed=missed.then(pl.lit(name)))
        for table, name in zip(matches, names, strict=True)
    )
    joined = [
        values.drop_nulls().str.join(", ").alias(name) for name, values in (("scores", _SCORE), ("missed", pl.col("missed")))
    ]
    missed_by = judged.group_by("annotation_id").agg(joined)
    annotations = self._inputs.annotations
    annotations_in_images = _with_shape(self, "annotations", annotations.filter(is_known(annotations["image_id"], image_ids)))
    annotations_in_images = annotations_in_images.join(missed_by, on="annotation_id", how="left", maintain_order="left")
    by = pl.when(pl.col("scores") == "").then(pl.lit("missed")).otherwise(pl.lit("missed by ") + pl.col("missed"))
    return annotations_in_images.with_columns(
        role=pl.lit(TRUTH),
        who=pl.lit("ground truth"),
        outcome=pl.when(pl.col("missed").is_null()).then(pl.lit("ignored", OUTCOMES))
        .when(pl.col("missed") == "").then(pl.lit("tp", OUTCOMES))
        .otherwise(pl.lit("fn", OUTCOMES)),
        missed=pl.when(pl.col("missed") != "").then(by),
    )  # fmt: skip


def _detections(self: Evaluation, image_ids: pl.Series, matches: pl.DataFrame) -> pl.DataFrame:
    """Return the detections that count, the highest score last, with their outcomes and matches."""
    detections = self._inputs.detections
    detections_in_images = _with_shape(self, "detections", detections.filter(is_known(detections["image_id"], image_ids)))
    outcomes = matches.select("detection_id", "annotation_id", "similarity", "outcome").drop_nulls("detection_id")
    detections_in_images = detections_in_images.join(outcomes, on="detection_id", maintain_order="left")
    return detections_in_images.sort("score", nulls_last=False, maintain_order=True)


def _with_shape(self: Evaluation, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Select the ids, boxes and scores, and the columns of the compared shape, except masks."""
    shape = shape_compared(self)
    columns = [KEY_OF[table], "image_id", "category_id", *(["score"] if "score" in frame.columns else []), *BOX]
    own = [column.name for column in shape.columns if column.name in frame.columns] if shape in _DRAWN else []
    return frame.select(*columns, *own)


def _categories(self: Evaluation) -> pl.DataFrame:
    """Return category_id, name, and skeleton if keypoints are compared and the categories have one."""
    categories = self.dataset.categories
    if shape_compared(self) is not KEYPOINTS or "skeleton" not in categories.columns:
        return categories.select("category_id", "name")
    skeleton = categories["skeleton"]
    try:
        skeleton = skeleton.str.json_decode(_SKELETON) if skeleton.dtype == pl.String else skeleton.cast(_SKELETON)
    except pl.exceptions.PolarsError:  # an attribute with this name contains something else
        return categories.select("category_id", "name")
    return categories.select("category_id", "name", skeleton)


def _in_words(objects: pl.DataFrame) -> pl.DataFrame:
    """Add a label of a few words, and a title with all facts, to the objects."""
    name = pl.coalesce("name", pl.format("category {}", pl.col("category_id")))
    what = pl.concat_str(name, pl.coalesce(_SCORE, pl.col("scores").replace("", None)), separator=" ", ignore_nulls=True)
    if INTERVALS.column in objects.columns:
        what = pl.format("{}, {} to {} s", what, *(pl.col(time).round(1) for time in INTERVALS.needs))
    is_hit = (pl.col("role") != TRUTH) & (pl.col("outcome") == "tp")
    in_words = pl.col("outcome").cast(pl.String).replace_strict(IN_WORDS)
    words = pl.coalesce("missed", pl.when(is_hit).then(pl.lit("true positive")).otherwise(in_words))
    match = pl.format("similarity {} to annotation {}", pl.col("similarity").round(3), pl.col("annotation_id"))
    ids = [
        pl.format(f"{kind} {{}}", pl.when(condition).then(f"{kind}_id"))
        for kind, condition in (("annotation", pl.col("role") == TRUTH), ("detection", pl.lit(True)))
    ]
    title = pl.concat_str(pl.format("{}: {}", pl.col("who"), what), words, match, *ids, separator=", ", ignore_nulls=True)
    label = pl.concat_str(what, "missed", separator=", ", ignore_nulls=True)
    return objects.with_columns(label=label, title=title).drop("who", "scores", "missed", "similarity")
