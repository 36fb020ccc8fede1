"""Pictures in notebooks: all objects on one image, or some errors of a kind, drawn as on the page of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS
from apframe.evaluation.gallery.cards import by_score, card_kinds, cards_of_kind, choose_cards, marks_by
from apframe.evaluation.gallery.gallery import draw_cards, images_of
from apframe.evaluation.gallery.objects import objects_of, with_outlines
from apframe.evaluation.gallery.pictures import PicturesInside
from apframe.evaluation.thresholds.min_scores import as_score
from apframe.exceptions import ParameterError
from apframe.option_values import whole_number
from apframe.protocols.lookups import threshold_at, threshold_words
from apframe.protocols.refused import refuse_scores
from apframe.show.card_markup import card
from apframe.show.drawings import MODELS, TRUTH, draw_objects, legend, picture, picture_sizes, style
from apframe.show.elements import Markup, element
from apframe.tables.schemas import SIZE
from apframe.wording import counted, did_you_mean, nearest, shown

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_USUAL_SCORE = 0.3
_PIXELS = 1_100  # across, for the picture of one image
_FIRST = ("image_id", "role", "outcome", "name", "score", "annotation_id", "detection_id")
_USUAL_SIZE = (640, 480)  # for images of unknown size and without objects


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """The result of `show` and `show_errors`: pictures in a notebook, and the table behind them elsewhere.

    Attributes
    ----------
    title
        a description of the contents
    table
        a row for each object, or for each error
    html
        the pictures, as text that needs no other file
    """

    title: str
    table: pl.DataFrame
    html: str

    def __repr__(self) -> str:
        return f"{self.title}\n{self.table}" if self.table.height else self.title

    def _repr_html_(self) -> str:
        return self.html


def show(
    self: Evaluation,
    image_id: Any,
    *others: Evaluation,
    images: str | Path | None = None,
    iou_threshold: float | None = None,
    min_score: float | None = _USUAL_SCORE,
    names: Sequence[str] | None = None,
) -> Shown:
    """Show one image in a notebook: its picture, the ground truth, and the detections of this evaluation and others.

    Annotations are solid lines, detections are dashed and dotted. A sign shows the outcome of each object: ✓ found, ✗ false
    positive, ○ missed, – ignored. An annotation has the scores of its true positives next to it.

    Parameters
    ----------
    image_id
        the image
    others
        further evaluations of the same ground truth by the same rules
    images
        the folder of the pictures. The picture is found by the name of the image, if necessary without its folder, or with
        another extension. Without a picture, objects are drawn on grey
    iou_threshold
        one of the protocol's thresholds; the lowest by default
    min_score
        use only detections with at least this score; annotations that only match others are missed. None uses all of them
    names
        names of the evaluations; by default their own names

    Returns
    -------
    A value that notebooks show as a picture. Its `table` has a row for each object: image_id, role ("truth", or "a", "b", ...
    for the evaluations), outcome (tp, fp, fn or ignored), name, score, annotation_id (for a true positive: its match),
    detection_id, category_id, x, y, width, height, and the compared shape. Its `html` is the picture, self-contained.

    Raises
    ------
    ParameterError
        there is no such image, or a threshold was not evaluated; or the protocol has no precision, as for segments
    FormatError
        the folder of pictures does not exist
    NotComparableError
        the evaluations differ in ground truth, images, categories or protocol

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 7, "width": 40, "height": 30}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 5, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> detections = [{"image_id": 7, "category_id": 1, "bbox": [20, 0, 9, 9], "score": 0.9}]
    >>> shown = evaluate(truth, detections, name="mine").show(7)
    >>> shown.title
    'image 7. mine: 0 found, 1 missed, 1 false positive, from a score of 0.3 at IoU 0.5'
    >>> shown.table.select("role", "outcome", "annotation_id", "detection_id").rows()
    [('truth', 'fn', 5, None), ('a', 'fp', None, 1)]
    """
    min_score = None if min_score is None else as_score(min_score)
    refuse_scores(self.protocol, "pictures of single images")
    evaluations, model_names = _beside(self, others, names)
    image_ids = _known_image(self, image_id)
    image = images_of(self, image_ids, PicturesInside(images))
    objects = objects_of(evaluations, model_names, image_ids, iou_threshold, min_score)
    rows = with_outlines(evaluations, objects).join(image, on="image_id", how="left", maintain_order="left")
    file_name, href, *size = image.select("file_name", "href", *SIZE).row(0)
    width, height = picture_sizes(rows).row(0)[1:] if rows.height else (size if all(size) else _USUAL_SIZE)
    threshold = self._pipeline.outline.thresholds[threshold_at(self.protocol, iou_threshold)]
    scores = "of all scores" if min_score is None else f"from a score of {min_score:g}"
    facts = _counts(objects, model_names) + f", {scores} at {threshold_words(self.protocol, threshold)}"
    what = f"image {image_id}" + (f", {file_name}" if file_name else "")
    elements = draw_objects(rows, _PIXELS)
    drawing = picture([*elements["shape"], *elements["text"].drop_nulls()], width, height, href=href, title=f"{what}. {facts}")
    article = card(drawing, file_name or what, facts, f"image_id {image_id}", name="card whole")
    table = objects.select(*_FIRST, pl.exclude(*_FIRST, "label", "title"))
    return Shown(f"{what}. {facts}", table, _page(model_names, article))


def show_errors(
    self: Evaluation,
    kind: str,
    n: int = 6,
    *others: Evaluation,
    images: str | Path | None = None,
    iou_threshold: float | None = None,
    names: Sequence[str] | None = None,
) -> Shown:
    """Show some errors of one kind in a notebook, each on its picture: the highest scores of every category in turn.

    Strokes and signs are the same as in `show`. The objects of an error are bold, with the objects nearest to them, and the
    part of the picture around them is visible. Other detections are drawn if their score is at least 0.3.

    Parameters
    ----------
    kind
        - an error: `cls`, `loc`, `both`, `dupe`, `bkg`, `miss`, `fp` or `fn`, see `apframe.error_kinds`
        - a label error: `missing`, `wrong_class`, `misplaced` or `duplicate`, see `label_errors`; the most suspicious first
        - `lost` or `won`: objects that this evaluation detected and another one did not, or the other way round
    n
        the largest number of pictures
    others
        further evaluations of the same ground truth by the same rules, which are drawn too. `lost` and `won` refer to the first
        one
    images, iou_threshold, names
        as in `show`

    Returns
    -------
    A value that notebooks show as pictures. Its `table` has a row for each picture: model ("a" is this evaluation, "b" the
    next), kind, image_id, file_name, category_id, name, detection_id, score, annotation_id, target_name (the category of the
    annotation), similarity, change and found_score (with which the other model detected an object). Label errors also have
    other_annotation_id and suspicion, and their target_name is the proposed category; for duplicates, it is that of the other
    annotation. Columns are in this order, other_annotation_id after annotation_id and suspicion after similarity.

    Raises
    ------
    ParameterError
        an unknown kind, `lost` or `won` without another evaluation, an `n` below 1, or a threshold that was not evaluated
    FormatError
        the folder of pictures does not exist
    NotComparableError
        the evaluations differ in ground truth, images, categories or protocol

    >>> from apframe import evaluate
    >>> truth = {"images": [{"id": 7}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}], "annotations": [
    ...     {"id": 5, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> detections = [{"image_id": 7, "category_id": 2, "bbox": [0, 0, 9, 9], "score": 0.9}]
    >>> shown = evaluate(truth, detections).show_errors("cls")
    >>> shown.table.select("kind", "name", "target_name", "score").rows()
    [('cls', 'dog', 'cat', 0.9)]
    """
    kinds = card_kinds(are_two=bool(others))
    if kind not in kinds:
        if kind in card_kinds(are_two=True):
            remedy = f'give the other evaluation: show_errors("{kind}", 6, other)'
            raise ParameterError(f"{kind} is a change from one evaluation to another", remedy)
        raise ParameterError(f"no error type {shown(kind)}", did_you_mean(str(kind), kinds))
    n = whole_number("n", n)
    evaluations, model_names = _beside(self, others, names)
    threshold = self._pipeline.outline.thresholds[threshold_at(self.protocol, iou_threshold)]
    cards = cards_of_kind(evaluations, kind, threshold)
    chosen = cards.head(n) if "suspicion" in cards.columns else _chosen(cards, n)
    what = f" {ERROR_KINDS[kind].description}" if kind in ERROR_KINDS else ""
    title = f"{kind} at {threshold_words(self.protocol, threshold)}: {chosen.height:,} of {cards.height:,}.{what}"
    articles = draw_cards(evaluations, model_names, chosen, PicturesInside(images), threshold)
    return Shown(title, chosen, _page(model_names, element("p", title), element("div", articles, class_="cards")))


def _chosen(cards: pl.DataFrame, n: int) -> pl.DataFrame:
    """Select n errors of one kind, some of each change and category."""
    rows = by_score(cards)
    return choose_cards(rows, [marks_by(rows, "category_id"), marks_by(rows, "change")], n)


def _beside(
    self: Evaluation, others: Sequence[Evaluation], names: Sequence[str] | None
) -> tuple[Sequence[Evaluation], Sequence[str]]:
    """Return all evaluations in comparable form, and their names."""
    model_names = names_beside([self, *others], names)
    return agree([self, *others], model_names, has_option=False) if others else [self], model_names


def _known_image(self: Evaluation, image_id: Any) -> pl.Series:
    """Return the id of an image as a column.

    Raises
    ------
    ParameterError
        there is no such image
    """
    ids, images = self._source.image_ids, self.dataset.images
    texts = ids.cast(pl.String).to_list()
    if str(image_id) not in texts or isinstance(image_id, str) != (ids.dtype == pl.String):
        named = images.filter(file_name=image_id)["image_id"].to_list() if isinstance(image_id, str) else []
        usual = f"there are {counted(len(ids), 'image')}, such as {shown(ids[0])}"
        remedy = (
            f"that is the file of image {shown(named[0])}"
            if named
            else (isinstance(image_id, str) and nearest(image_id, texts)) or usual
        )
        raise ParameterError(f"no image {shown(image_id)}", remedy)
    return ids.gather([texts.index(str(image_id))])


def _counts(objects: pl.DataFrame, model_names: Sequence[str]) -> str:
    """Describe the number of objects that each evaluation detected and missed, and of its false positives."""
    n_objects = objects.filter(pl.col("role") == TRUTH, pl.col("outcome") != "ignored").height
    words = []
    for name, role in zip(model_names, MODELS, strict=False):
        own = objects.filter(pl.col("role") == role)["outcome"]
        n_found, wrong = (own.eq(outcome).arg_true().len() for outcome in ("tp", "fp"))
        words.append(f"{name}: {n_found:,} found, {n_objects - n_found:,} missed, {counted(wrong, 'false positive')}")
    return "; ".join(words)


def _page(model_names: Sequence[str], *parts: Markup) -> str:
    """Return the HTML for a notebook: the style, the legend of strokes and signs, and the parts."""
    return element("div", element("style", Markup(style())), Markup(legend(model_names)), parts)
