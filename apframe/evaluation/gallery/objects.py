"""The objects of some images: annotations and detections in one table, each with who drew it and what became of it."""

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
    """The annotations of some images, and the detections of each evaluation that take part, with what became of them.

    Parameters
    ----------
    evaluations, names
        evaluations that can be compared, and what they are called
    image_ids
        the images; those without objects have no rows
    iou_threshold
        one of the protocol's; the lowest by default. The area range is that of the headline numbers
    min_score
        use only detections of at least this score: annotations that others alone match are missed

    Returns
    -------
    image_id, role ("truth", then "a", "b", ... for the evaluations), outcome,
    label and title (a few words, and all in words), detection_id, annotation_id (of a true positive: what it matches), score,
    category_id, name, x, y, width, height and the columns of the shape that is compared, as `draw_objects` takes them; masks
    are added by `with_outlines`.

    The outcome of a detection is that of `matches`. An annotation is `tp` if each evaluation has a true positive for it, `fn`
    if one has not, and otherwise `ignored`. Annotations come first, then the detections by score, the highest last.

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
    """The shape of the objects that are compared; None if a function compares whatever it reads."""
    return self.protocol.similarity.shape


def with_outlines(evaluations: Sequence[Evaluation], objects: pl.DataFrame) -> pl.DataFrame:
    """Rows of `objects_of` with the column outline, if masks are compared: the outlines of the masks, see `outlines`.

    Masks are decoded here, so it is best to leave out rows before.

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
        if part.height:  # a table without rows may have no masks
            parts.append(_outlined(each, table, part))
    return pl.concat(parts).sort("row").drop("row") if parts else objects


def _outlined(self: Evaluation, table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of annotations or detections with the outlines of their masks."""
    from apframe.tables.shapes.mask_columns import read_masks  # these bring in NumPy
    from apframe.tables.shapes.outlines import outlines

    key, objects = KEY_OF[table], self._inputs.annotations if table == "annotations" else self._inputs.detections
    objects = objects.filter(is_known(objects[key], rows[key]))
    objects = objects.join(self.dataset.core("images"), on="image_id", how="left", maintain_order="left")
    masks = objects.select(key, outlines(read_masks(table, objects)))
    return rows.join(masks, on=key, how="left", maintain_order="left")


def _matches(self: Evaluation, image_ids: pl.Series, threshold: int, min_score: float | None) -> pl.DataFrame:
    """The table of matches of some images, as `matches` has it without a lowest score."""
    from apframe.matching.matches_table import expand_matches  # brings in NumPy

    verdicts = self._pipeline.verdicts if min_score is None else self._pipeline.at_score(min_score)
    part = verdicts.of_images(is_known(verdicts.images["image_id"], image_ids).to_numpy())
    inputs = self._inputs
    return expand_matches(part, inputs.detections, inputs.annotations, threshold, area_at(self.protocol, None)).collect()


def _annotations(self: Evaluation, image_ids: pl.Series, matches: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.DataFrame:
    """The annotations with their outcome, the scores of their true positives, and in words who missed them."""
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
    found = _with_shape(self, "annotations", annotations.filter(is_known(annotations["image_id"], image_ids)))
    found = found.join(missed_by, on="annotation_id", how="left", maintain_order="left")
    by = pl.when(pl.col("scores") == "").then(pl.lit("missed")).otherwise(pl.lit("missed by ") + pl.col("missed"))
    return found.with_columns(
        role=pl.lit(TRUTH),
        who=pl.lit("ground truth"),
        outcome=pl.when(pl.col("missed").is_null()).then(pl.lit("ignored", OUTCOMES))
        .when(pl.col("missed") == "").then(pl.lit("tp", OUTCOMES))
        .otherwise(pl.lit("fn", OUTCOMES)),
        missed=pl.when(pl.col("missed") != "").then(by),
    )  # fmt: skip


def _detections(self: Evaluation, image_ids: pl.Series, matches: pl.DataFrame) -> pl.DataFrame:
    """The detections that take part, the highest score last, with their outcome and what they match."""
    detections = self._inputs.detections
    found = _with_shape(self, "detections", detections.filter(is_known(detections["image_id"], image_ids)))
    outcomes = matches.select("detection_id", "annotation_id", "similarity", "outcome").drop_nulls("detection_id")
    found = found.join(outcomes, on="detection_id", maintain_order="left")
    return found.sort("score", nulls_last=False, maintain_order=True)


def _with_shape(self: Evaluation, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The ids, boxes and scores, and the columns of the shape that is compared, but for masks."""
    shape = shape_compared(self)
    columns = [KEY_OF[table], "image_id", "category_id", *(["score"] if "score" in frame.columns else []), *BOX]
    own = [column.name for column in shape.columns if column.name in frame.columns] if shape in _DRAWN else []
    return frame.select(*columns, *own)


def _categories(self: Evaluation) -> pl.DataFrame:
    """category_id, name, and skeleton where keypoints are compared and the categories say which of them are joined."""
    categories = self.dataset.categories
    if shape_compared(self) is not KEYPOINTS or "skeleton" not in categories.columns:
        return categories.select("category_id", "name")
    skeleton = categories["skeleton"]
    try:
        skeleton = skeleton.str.json_decode(_SKELETON) if skeleton.dtype == pl.String else skeleton.cast(_SKELETON)
    except pl.exceptions.PolarsError:  # an attribute of that name is something else
        return categories.select("category_id", "name")
    return categories.select("category_id", "name", skeleton)


def _in_words(objects: pl.DataFrame) -> pl.DataFrame:
    """The objects with a label of a few words, and a title that says all."""
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
