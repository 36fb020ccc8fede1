"""The subject of a report: evaluations with their names and options, and the tables that several sections read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.collecting import collecting
from apframe.compare.inference import COARSE
from apframe.evaluation.gallery.card_slices import NOTHING
from apframe.evaluation.gallery.pictures import Pictures
from apframe.evaluation.side_by_side import of_each, stacked
from apframe.exceptions import FewResamplesWarning, ParameterError, warn_again
from apframe.lazily import cached_property
from apframe.protocols.headlines import headlines, is_of_whole, less_is_better, lines_of_ranges, main_headline
from apframe.protocols.lookups import threshold_words
from apframe.report.marks import Mark
from apframe.report.operating_point import OperatingPoint, operating_point
from apframe.tables.names import unique_names

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.report.checkpoints import History
    from apframe.report.matrix import Matrix
    from apframe.report.pictured import PicturedRows

    SliceKeys = SliceKey | Sequence[SliceKey]

ALL_SCORES = "all scores"
_PAIR = 2
_FIRST = 24  # the first images, which all have a card


@dataclass(frozen=True, eq=False)
class Compared:
    """Evaluations that can be compared, and the options of the report.

    Attributes
    ----------
    evaluations, names
        the models, the first one first, and their distinct names
    by
        keys of slices; a list of keys stands for the combinations of their values
    pictures, max_images
        the location of the pictures, and the maximum number of cards
    command
        the command that writes the page again
    folder
        the name of the folder of tables next to the page
    n_resamples
        the number of resamples, for metrics without a derivative
    seed
        the random seed
    history
        the history of all models, if the page is about one; the models here are the best and its rival
    """

    evaluations: Sequence[Evaluation]
    names: Sequence[str]
    by: Sequence[SliceKeys] = ()
    pictures: Pictures = field(default_factory=lambda: Pictures(None))
    max_images: int = 300
    command: str = ""
    folder: str = "report_tables"
    n_resamples: int = 1_000
    seed: int = 0
    history: History | None = None

    @property
    def first(self) -> Evaluation:
        """The model that others are compared with."""
        return self.evaluations[0]

    @property
    def is_pair(self) -> bool:
        """True if there are two models."""
        return len(self.evaluations) == _PAIR

    @property
    def are_several(self) -> bool:
        """True if there are three models or more."""
        return len(self.evaluations) > _PAIR

    @cached_property
    def metrics(self) -> list[str]:
        """The headline numbers at the protocol's thresholds, which have intervals."""
        protocol = self.first.protocol
        lines = [line for line in headlines(protocol, with_parts=True) if not line.kind.table]
        return [line.metric for line in lines if line.is_evaluated(protocol)]

    @property
    def metric(self) -> str:
        """The main metric, AP in most protocols; see `main_headline`."""
        return main_headline(self.first.protocol).metric

    @cached_property
    def leader(self) -> int:
        """The position of the model with the best main metric: the first of equal ones, or of all if none has a value."""
        rows = self.overall.filter(pl.col("metric") == self.metric)
        values = rows["estimate"] if len(self.names) == 1 else rows["estimate_a"].head(1).append(rows["estimate_b"])
        return (values.arg_min() if less_is_better(self.metric) else values.arg_max()) or 0

    @property
    def leading(self) -> tuple[str, Evaluation]:
        """The name and the evaluation of that model."""
        return self.names[self.leader], self.evaluations[self.leader]

    @cached_property
    def iou_threshold(self) -> float:
        """The threshold at which errors are counted: 0.5 if it was evaluated, otherwise the lowest."""
        return self.first.protocol.usual_threshold

    @property
    def all_scores(self) -> str:
        """The words in the headings of sections in which detections of all scores count; empty without scores."""
        return ALL_SCORES if self.has_precision else ""

    @property
    def has_precision(self) -> bool:
        """True if the protocol ranks detections by score, so that errors, thresholds and calibration are defined."""
        return self.first.protocol.has_precision

    @property
    def threshold(self) -> str:
        """That threshold in words: "IoU 0.5"."""
        return threshold_words(self.first.protocol, self.iou_threshold)

    @cached_property
    def are_pooled(self) -> bool:
        """True if the categories are pooled, so that metrics are about all of them together."""
        return self.first.metrics["category_id"].null_count() > 0

    @property
    def is_drawn(self) -> bool:
        """True if some metrics have no derivative, so that their intervals come from resamples."""
        return bool((self._of_all[0]["method"] == "bootstrap").any())

    @cached_property
    def _of_all(self) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
        """The numbers of all categories together and of each one, and the warnings of their computation."""
        with collecting() as caught:
            return self._numbers(level="summary" if self.are_pooled else "both"), caught

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The headline numbers, as in `intervals` (one model) or `compare`."""
        rows, caught = self._of_all
        warn_again(each for each in caught if not self._is_of_categories(*each))
        return rows if self.are_pooled else rows.filter(pl.col("category_id").is_null()).drop("category_id", "name")

    @cached_property
    def by_category(self) -> pl.DataFrame:
        """The same for each category, with n_positives; empty if categories are pooled."""
        rows, caught = self._of_all
        if self.are_pooled:
            return rows.clear().with_columns(name=pl.lit(None, pl.String), n_positives=pl.lit(None, pl.Int64))
        warn_again(each for each in caught if self._is_of_categories(*each))
        rows = rows.filter(pl.col("category_id").is_not_null())
        return rows.join(self._positives(), on="category_id", how="left", maintain_order="left")

    def _is_of_categories(self, warning: str, message: str) -> bool:
        """Return True if a warning is about p values corrected for the number of categories, which exceeds that of pairs."""
        is_of_rows = warning == FewResamplesWarning.__name__ and message.startswith(COARSE)
        return is_of_rows and self.categories.height > len(self.evaluations) - 1

    @cached_property
    def categories(self) -> pl.DataFrame:
        """category_id of the evaluated categories, in the order of the ground truth, and their label: the name, or the id."""
        evaluated = self.first.metrics.select("category_id").unique()
        evaluated_rows = self.first.dataset.categories.join(evaluated, on="category_id", how="semi", maintain_order="left")
        return unique_names(evaluated_rows)

    def labels(self, category_ids: pl.Series) -> pl.Series:
        """Return the labels of categories, as on cards; null without a category."""
        ids = pl.DataFrame({"category_id": category_ids})
        return ids.join(self.categories, on="category_id", how="left", maintain_order="left")["label"]

    @cached_property
    def error_impact(self) -> pl.DataFrame:
        """The cost of each error type, as in `error_impact`, stacked for all models: `model` is the name."""
        tables = of_each(lambda each: each.error_impact(self.iou_threshold), self.evaluations)
        return stacked("model", self.names, tables)

    @cached_property
    def curves(self) -> list[pl.DataFrame]:
        """Counts and rates of each model from each score upwards, over all categories; empty if nothing was detected.

        Raises
        ------
        ParameterError
            the protocol has no score thresholds
        """
        return of_each(lambda each: each.thresholds(self.iou_threshold, per_category=False), self.evaluations)

    @cached_property
    def point(self) -> OperatingPoint | None:
        """The operating point of the page; None if no score is best, or there are no scores."""
        try:
            curves = self.curves
        except ParameterError:
            return None
        n = next((table["tp"][0] + table["fn"][0] for table in curves if table.height), 0)
        return operating_point(curves, n)

    @cached_property
    def matrix(self) -> Matrix:
        """The confusion matrix of the models that charts show, at all positions of the slider.

        Raises
        ------
        ParameterError
            the categories are pooled
        """
        from apframe.report.charts.line_chart import CLASSES
        from apframe.report.matrix import matrix_of  # brings in NumPy

        categories = self.categories
        all_categories = self.first.dataset.categories
        if "supercategory" in all_categories.columns:
            groups = all_categories.select("category_id", "supercategory")
            categories = categories.join(groups, on="category_id", how="left", maintain_order="left")
        return matrix_of(self.evaluations[: len(CLASSES)], self.iou_threshold, self.point, categories)

    @property
    def pictured(self) -> tuple[Sequence[Evaluation], Sequence[str]]:
        """The models with cards, which are the first two, and their names."""
        return self.evaluations[:_PAIR], self.names[:_PAIR]

    @cached_property
    def rows(self) -> PicturedRows:
        """The rows that cards can show: the detections and missed annotations of the first two models.

        Raises
        ------
        ParameterError
            the protocol has no types of errors
        """
        from apframe.report.pictured import rows_of

        return rows_of(*self.pictured, self.iou_threshold, self.by)

    @cached_property
    def has_gallery(self) -> bool:
        """True if there are errors to show cards of, and cards were requested."""
        if not self.has_precision or not self.max_images:
            return False
        try:
            return not self.rows.errors.is_empty()
        except ParameterError:
            return False

    @cached_property
    def cells(self) -> pl.DataFrame | None:
        """The cells of the matrix with the rows, see `cells_of`; None without a matrix."""
        from apframe.report.pictured import cells_of

        try:
            return cells_of(self.rows, self.matrix) if self.point is not None and self.has_gallery else None
        except ParameterError:
            return None

    @cached_property
    def chosen(self) -> pl.DataFrame:
        """The rows with cards, with their number among all rows."""
        from apframe.report.pictured import chosen_rows

        return chosen_rows(self.rows, self.cells, self.point, self.worst_images["image_id"].head(_FIRST), self.max_images)

    @cached_property
    def worst_images(self) -> pl.DataFrame:
        """The images of the first two models, the worst first: image_id, file_name, and influence on the main metric.

        For two models, it is the influence on their difference. If the metric has no influences, the column is null, and the
        images with most errors come first.
        """
        from apframe.report.worst_images import worst_images

        return worst_images(self.pictured[0], self.metric, self.rows)

    @cached_property
    def label_rows(self) -> pl.DataFrame:
        """Annotations that are probably wrong, see `doubtful_labels`.

        Raises
        ------
        ParameterError
            the protocol compares distances, or has no scores
        """
        return doubtful_labels(self.pictured[0], self.iou_threshold)

    def _label_file(self) -> pl.DataFrame:
        """The doubtful labels with the names of models as on cards."""
        from apframe.evaluation.gallery.cards import MODELS, label_cards

        names_by_letter = dict(zip(MODELS, self.names, strict=False))
        names = label_cards(self.first, self.label_rows)["name"]
        model = pl.col("model").replace_strict(names_by_letter, return_dtype=pl.String)
        return self.label_rows.with_columns(names, model).with_row_index("row")

    def files(self) -> dict[str, pl.DataFrame]:
        """Return the tables for the queries of the page, by the names of their files."""
        files = dict[str, pl.DataFrame]()
        if self.has_gallery:
            files["outcomes"] = self.rows.table()
            if self.cells is not None:
                files["confusion_cells"] = self.cells.drop("is_first")
            with suppress(ParameterError):
                files["label_candidates"] = self._label_file()
        return files

    @cached_property
    def doubts(self) -> list[str]:
        """The warnings about the data of the models, for readers of the page, who have not seen the terminal."""
        with collecting() as doubts:
            for each in self.history.evaluations if self.history else self.evaluations:
                each.warn_if_doubtful()
        return [message for _, message in dict.fromkeys(doubts)]

    @cached_property
    def linked(self) -> Sequence[str]:
        """The models whose rows are in the gallery: the first two, if there is a gallery."""
        return self.pictured[1] if self.has_gallery else ()

    def category_marks(self, category_ids: pl.Series) -> list[Mark | None]:
        """Return the errors behind categories."""
        n = self.rows.counts("name") if self.has_gallery else {}
        return [Mark({"category": name}, n[name,]) if (name,) in n else None for name in self.labels(category_ids)]

    def slice_marks(self, frame: pl.DataFrame, columns: Mapping[str, str]) -> list[Mark | None]:
        """Return the errors behind slices: the values of keys, each in a column of a frame."""
        if not self.has_gallery:
            return [None] * frame.height
        keys = {each.name: key for each, key in zip(self.rows.slices, self.rows.keys, strict=True)}
        if not {*columns} <= {*keys}:
            return [None] * frame.height
        key_names = [keys[name] for name in columns]
        n = self.rows.counts(*key_names)
        values = frame.select(pl.col([*columns.values()]).cast(pl.String).fill_null(NOTHING)).rows()
        return [Mark(dict(zip(key_names, each, strict=True)), n[each]) if each in n else None for each in values]

    def size_marks(self, metrics: Iterable[str]) -> list[Mark | None]:
        """Return the errors behind headline numbers of a range of areas; None for other numbers."""
        of_size = {line.metric: line.area_range for line in lines_of_ranges(self.first.protocol)}
        frame = pl.DataFrame({"size": [of_size.get(name) for name in metrics]}, schema={"size": pl.String})
        return self.slice_marks(frame, {"area": "size"})

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """The main metric of each model, its interval, the confidence that it leads, and its ranks."""
        from apframe.evaluation.comparison.ranks import ranks
        from apframe.evaluation.comparison.sampling import Sampling

        sampling = Sampling(metrics=self.metric, n_resamples=self.n_resamples, seed=self.seed)
        return ranks(self.evaluations, self.names, sampling)

    @cached_property
    def sliced(self) -> list[tuple[list[str], pl.DataFrame]]:
        """For each key of slices, the columns that name its slices, and the numbers of `by_key`."""
        tables = [self.by_key(key) for key in self.by]
        return [(rows.columns[: rows.columns.index("metric")], rows) for rows in tables]

    def by_key(self, key: SliceKeys) -> pl.DataFrame:
        """Return the main metric for each slice, as in `intervals` or `compare`, and the slice's support."""
        keys: list[Any] = list(key) if isinstance(key, (list, tuple)) else [key]
        rows = self._numbers(by=keys, metrics=[self.metric])
        support = self.first.by(*keys)
        names = [name for name in support.columns if name in rows.columns]
        counts = support.select(*names, "n_images", "n_annotations")
        return rows.join(counts, on=names, how="left", nulls_equal=True, maintain_order="left")

    def _numbers(self, **options: Any) -> pl.DataFrame:
        options |= {"n_resamples": self.n_resamples, "seed": self.seed}
        if len(self.evaluations) == 1:
            return self.first.intervals(**options)
        return self.first.compare(self.evaluations[1:], names=self.names, **options)

    def _positives(self) -> pl.DataFrame:
        is_headline = is_of_whole(self.first.protocol) & (pl.col("iou_threshold") == pl.col("iou_threshold").first())
        rows = self.first.metrics.filter(is_headline)
        return rows.select("category_id", "n_positives")


def doubtful_labels(evaluations: Sequence[Evaluation], iou_threshold: float) -> pl.DataFrame:
    """Return `label_errors` of one model or two, the most suspicious first: each annotation and missing object once.

    The column `model` is the model with the most suspicious detection.
    """
    from apframe.evaluation.diagnose.missing_objects import detections_of, objects_of
    from apframe.evaluation.gallery.cards import MODELS

    tables = of_each(lambda each: each.label_errors(iou_threshold), evaluations)
    of_models = [table.with_columns(model=pl.lit(model)) for model, table in zip(MODELS, tables, strict=False)]
    rows = pl.concat(of_models).with_columns(pl.col("kind").cast(pl.String))
    rows = rows.sort("suspicion", descending=True, maintain_order=True)
    # both models may report the same annotation or missing object, and either one of a pair
    is_missing, run = pl.col("kind") == "missing", pl.col("model").replace_strict(MODELS, range(len(MODELS)))
    objects = objects_of(detections_of(rows.filter(is_missing).with_columns(run=run), evaluations), evaluations[0])
    same = pl.struct("kind", "image_id", pl.concat_list("annotation_id", "other_annotation_id").list.sort())
    best_of_each = [
        rows.filter(is_missing).filter(pl.Series(objects, dtype=pl.Int64).is_first_distinct()),
        rows.filter(~is_missing).filter(same.is_first_distinct()),
    ]
    return pl.concat(best_of_each).sort("suspicion", descending=True, maintain_order=True)


def in_words(names: Sequence[str]) -> str:
    """Return names as one text.

    >>> in_words(["a", "b", "c"]), in_words(["a"])
    ('a, b and c', 'a')
    """
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last
