"""Changes object by object: objects that another model lost and won, and false positives that it adds and removes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.thresholds.min_scores import as_score
from apframe.option_values import one_of
from apframe.protocols.lookups import place_at
from apframe.tables.shapes.boxes import BOX

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

CHANGES = pl.Enum(["lost", "won", "fp_added", "fp_removed", "found", "missed", "fp_kept"])
_OF_ONE = ["detection_id", "score", "similarity"]  # columns of each evaluation
_SAME = 0.5  # boxes of false positives with at least this IoU are the same, if the protocol compares distances


def changes(
    self: Evaluation,
    other: Evaluation,
    iou_threshold: float | None = None,
    *,
    area_range: str | None = None,
    min_score: float | None = None,
    level: str = "object",
    on_images: str = "same",
) -> pl.DataFrame:
    """List the objects that another evaluation lost and won, and the false positives that it adds and removes.

    An object is an annotation that counts. It is detected if it has a true positive. In the columns, `a` is this evaluation and
    `b` the other one. The counts of b minus those of a are won - lost true positives, fp_added - fp_removed false positives,
    and lost - won misses.

    A false positive of a and one of b are the same if they are on the same image, in the same category, and the IoU of their
    boxes is at least the threshold. They may be of any categories if these are pooled. Masks and other shapes are compared by
    the boxes around them. False positives are paired one to one, the most similar pair first.

    Parameters
    ----------
    other
        an evaluation of the same ground truth by the same rules
    iou_threshold
        one of the protocol's thresholds; the lowest by default
    area_range
        the name of one of the protocol's area ranges; "all" by default
    min_score
        use only detections with at least this score, in both evaluations
    level
        "object": a row for each object and false positive. "category": the counts of each category. "summary": one row of
        counts
    on_images
        "same": both must have the same images. "common": compare on the images that both have

    Returns
    -------
    With level="object": change, image_id, file_name, category_id, name, annotation_id (null for false positives),
    detection_id_a, score_a, similarity_a (to the annotation), detection_id_b, score_b, similarity_b. `change` is

    - `lost` (only a detected the object), `won` (only b), `found` (both), `missed` (neither)
    - `fp_added` (only b has the false positive), `fp_removed` (only a), `fp_kept` (both)

    The columns of a model are null if it has no true or false positive. Rows are sorted by change in the order lost, won,
    fp_added, fp_removed, found, missed, fp_kept, then by the higher of the two scores, highest first, then by ids.

    With the other levels there is a column for each change with its count; "category" has category_id and name in front, and
    a row for each evaluated category.

    Raises
    ------
    NotComparableError
        the evaluations differ in ground truth, images, categories or protocol
    ParameterError
        a threshold, area range or level that does not exist; a score that is not a number

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]},
    ...     {"id": 2, "image_id": 1, "category_id": 1, "bbox": [50, 0, 9, 9]}]}
    >>> def ev(*lefts):
    ...     return evaluate(truth, [
    ...         {"image_id": 1, "category_id": 1, "bbox": [left, 0, 9, 9], "score": 0.5} for left in lefts])
    >>> ev(0, 90).changes(ev(50, 91)).select("change", "annotation_id", "detection_id_a", "detection_id_b").rows()
    [('lost', 1, 1, None), ('won', 2, None, 1), ('fp_kept', None, 2, 2)]
    """
    one_of("level", level, ("object", "category", "summary"))
    min_score = None if min_score is None else as_score(min_score)
    threshold, area = place_at(self.protocol, iou_threshold, area_range)
    both = agree([self, other], names_beside([self, other]), on_images)
    table = change_rows(self, [outcomes_of(each, threshold, area, min_score) for each in both], threshold)
    return _listed(both[0], table) if level == "object" else _counted(both[0], table, level)


def change_rows(self: Evaluation, sides: Sequence[ObjectOutcomes], threshold: int) -> pl.DataFrame:
    """Return the rows of `changes` from the outcomes of two comparable evaluations, unordered and without names.

    `threshold` is the number of the outcomes' threshold.
    """
    objects = sides[0].objects
    for name, side in zip("ab", sides, strict=True):
        of_one = side.true_positives.rename({column: f"{column}_{name}" for column in _OF_ONE})
        objects = objects.join(of_one, on="annotation_id", how="left", maintain_order="left")
    is_found = [pl.col(f"detection_id_{name}").is_not_null() for name in "ab"]
    rows = [objects.with_columns(change=_change(is_found, ("found", "lost", "won", "missed")))]
    outline = self._pipeline.outline
    min_similarity = outline.thresholds[threshold]
    false_positives = _false_positives(
        sides[0].false_positives,
        sides[1].false_positives,
        min_similarity if min_similarity > 0 else _SAME,
        pooled=outline.is_pooled,
    )
    is_reported = [pl.col(f"detection_id_{name}").is_not_null() for name in "ab"]
    rows.append(false_positives.with_columns(change=_change(is_reported, ("fp_kept", "fp_removed", "fp_added", "fp_kept"))))
    return pl.concat(rows, how="diagonal")


class ObjectOutcomes(NamedTuple):
    """The objects and the detections of one evaluation, separated by outcome.

    Attributes
    ----------
    objects
        annotation_id, image_id and category_id of the annotations that count, detected or missed
    true_positives
        annotation_id, detection_id, score and similarity of the true positives
    false_positives
        detection_id, image_id, category_id, the box and score of the false positives
    """

    objects: pl.DataFrame
    true_positives: pl.DataFrame
    false_positives: pl.DataFrame


def outcomes_of(self: Evaluation, threshold: int, area: int, min_score: float | None = None) -> ObjectOutcomes:
    """Return the outcomes of `matches` at a threshold, area range and lowest score."""
    from apframe.evaluation.diagnose.outcomes import outcomes, verdicts_at  # imports NumPy

    verdicts = self._pipeline.verdicts if min_score is None else self._pipeline.at_score(min_score)
    verdicts = verdicts_at(verdicts, threshold, area)
    detections, annotations, hits = verdicts.detections, verdicts.annotations, verdicts.hits
    became = outcomes(verdicts)
    is_object = became.is_missed | became.is_found
    objects = self._inputs.annotations.select("annotation_id", "image_id", "category_id")
    true = hits.filter(hits["true"] > 0)
    false_positives = detections.select("row", "score").filter(pl.Series(became.is_false))
    return ObjectOutcomes(
        objects[annotations["row"].filter(pl.Series(is_object)).sort()],
        pl.DataFrame(
            [
                objects["annotation_id"].gather(annotations["row"].gather(true["annotation"])),
                self.detections["detection_id"].gather(detections["row"].gather(true["detection"])),
                detections["score"].gather(true["detection"]),
                true["similarity"],
            ]
        ),
        self.detections.select("detection_id", "image_id", "category_id", *BOX)[false_positives["row"]].with_columns(
            false_positives["score"]
        ),
    )


def _change(present: list[pl.Expr], words: tuple[str, str, str, str]) -> pl.Expr:
    """Return one word each for: in both, only in a, only in b, in neither."""
    a, b = present
    both, only_a, only_b, neither = (pl.lit(word, CHANGES) for word in words)
    return pl.when(a & b).then(both).when(a).then(only_a).when(b).then(only_b).otherwise(neither)


def _false_positives(a: pl.DataFrame, b: pl.DataFrame, min_similarity: float, *, pooled: bool) -> pl.DataFrame:
    """Join the false positives of both: image_id, category_id, and detection_id and score of each; a row for each pair."""
    pairs = _same(a, b, min_similarity, pooled=pooled)
    keys = ["image_id", "category_id"]
    of_a, of_b = (
        side.select(*keys, pl.col("detection_id", "score").name.suffix(f"_{name}")) for side, name in ((a, "a"), (b, "b"))
    )
    partner = pl.repeat(None, a.height, dtype=pl.UInt32, eager=True).scatter(pairs["detection"], pairs["annotation"])
    is_alone = pl.repeat(True, b.height, eager=True).scatter(pairs["annotation"], False)
    return pl.concat([of_a.hstack(of_b.drop(keys)[partner]), of_b.filter(is_alone)], how="diagonal")


def _same(a: pl.DataFrame, b: pl.DataFrame, min_similarity: float, *, pooled: bool) -> pl.DataFrame:
    """Pair equal false positives, most similar first: `detection` of a and `annotation` of b are row numbers, one to one."""
    import numpy as np

    from apframe.matching.by_similarity import match_by_similarity
    from apframe.similarity.box_iou import box_iou

    keys = ["image_id"] if pooled else ["image_id", "category_id"]
    left, right = (side.lazy().select(*keys, *BOX).with_row_index("row") for side in (a, b))
    equal = pl.all_horizontal(pl.col(name) == pl.col(f"{name}_right") for name in BOX)  # even without area
    pairs = (
        left.join(right.with_columns(is_crowd=pl.lit(False)), on=keys)
        .select(detection="row", annotation="row_right", similarity=pl.when(equal).then(1.0).otherwise(box_iou()))
        .filter(pl.col("similarity") >= min_similarity)
        .collect(engine="streaming")
    )
    ranked = {}  # the rows of each side that are in pairs; the highest scores come first among equally similar ones
    for name, side in (("detection", a), ("annotation", b)):
        rows = pairs.select(row=pl.col(name).unique())
        rows = rows.hstack(side.select("score", "detection_id")[rows["row"]])
        ranked[name] = rows.sort("score", "detection_id", descending=[True, False])["row"]
        rank = np.empty(side.height, dtype=np.uint32)
        rank[ranked[name].to_numpy()] = np.arange(len(ranked[name]))
        pairs = pairs.with_columns(pl.Series(name, rank[pairs[name].to_numpy()]))
    nothing = np.zeros(len(ranked["annotation"]), dtype=bool)
    matched = match_by_similarity(pairs, nothing, nothing[None], np.array([min_similarity]), strict=False)
    return matched.select(rows.gather(matched[name]).alias(name) for name, rows in ranked.items())


def _listed(self: Evaluation, table: pl.DataFrame) -> pl.DataFrame:
    """Return the sorted rows with names of files and categories."""
    files = self.dataset.images.select("image_id", "file_name")
    names = self.dataset.categories.select("category_id", "name")
    best = pl.max_horizontal("score_a", "score_b")
    ids = ["image_id", "annotation_id", "detection_id_a", "detection_id_b"]
    return (
        table.sort("change", best, *ids, descending=[False, True, *[False] * len(ids)], nulls_last=True)
        .join(files, on="image_id", how="left", maintain_order="left")
        .join(names, on="category_id", how="left", maintain_order="left")
        .select(
            "change", "image_id", "file_name", "category_id", "name", "annotation_id",
            *(f"{column}_{name}" for name in "ab" for column in _OF_ONE),
        )
    )  # fmt: skip


def _counted(self: Evaluation, table: pl.DataFrame, level: str) -> pl.DataFrame:
    """Count the rows of each change, for each category or in total."""
    counts = [(pl.col("change") == word).sum().cast(pl.Int64).alias(word) for word in CHANGES.categories]
    if level == "summary":
        return table.select(counts)
    every = self.dataset.categories.select("category_id", "name").join(
        self._source.category_ids.alias("category_id").to_frame(), on="category_id", how="semi"
    )
    of_each = table.group_by("category_id").agg(counts)
    return (
        every.join(of_each, on="category_id", how="left")
        .with_columns(pl.exclude("category_id", "name").fill_null(0))
        .sort("category_id")
    )
