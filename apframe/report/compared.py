"""What a report is about: evaluations with their names and options, and the tables that several sections read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.collecting import collecting
from apframe.compare.intervals import COARSE
from apframe.evaluation.gallery.pictures import Pictures
from apframe.exceptions import FewResamplesWarning, warn_again
from apframe.lazily import cached_property
from apframe.protocols.headlines import headlines, is_of_whole, main_headline
from apframe.protocols.places import threshold_words
from apframe.tables.names import label_of

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import SliceKey

    SliceKeys = SliceKey | Sequence[SliceKey]

_PAIR = 2


@dataclass(frozen=True, eq=False)
class Compared:
    """Evaluations that can be compared, and what was asked for.

    Attributes
    ----------
    evaluations, names
        the models, the first one first; what they are called, all different
    by
        keys of slices; a list of keys stands for the combinations of their values
    pictures, max_images
        where the pictures are, and how many cards are shown
    command
        what makes the page again
    n_resamples
        for numbers without a derivative
    seed
        of what is random
    """

    evaluations: Sequence[Evaluation]
    names: Sequence[str]
    by: Sequence[SliceKeys] = ()
    pictures: Pictures = field(default_factory=lambda: Pictures(None))
    max_images: int = 300
    command: str = ""
    n_resamples: int = 1_000
    seed: int = 0

    @property
    def first(self) -> Evaluation:
        """The model that others are compared with."""
        return self.evaluations[0]

    @property
    def is_pair(self) -> bool:
        """Whether there are two models."""
        return len(self.evaluations) == _PAIR

    @property
    def are_several(self) -> bool:
        """Whether there are three models or more."""
        return len(self.evaluations) > _PAIR

    @cached_property
    def metrics(self) -> list[str]:
        """The headline numbers that the protocol's thresholds give, and that have intervals."""
        protocol = self.first.protocol
        lines = [line for line in headlines(protocol, with_parts=True) if not line.kind.table]
        return [line.metric for line in lines if line.is_evaluated(protocol)]

    @property
    def metric(self) -> str:
        """The headline number that stands for all, AP in most protocols; see `main_headline`."""
        return main_headline(self.first.protocol).metric

    @cached_property
    def iou_threshold(self) -> float:
        """The threshold at which errors are looked at: 0.5 if it was evaluated, otherwise the lowest."""
        return self.first.protocol.usual_threshold

    @property
    def threshold(self) -> str:
        """That threshold in words: "IoU 0.5"."""
        return threshold_words(self.first.protocol, self.iou_threshold)

    @cached_property
    def are_pooled(self) -> bool:
        """Whether the categories are pooled: the metrics are of all together."""
        return self.first.metrics["category_id"].null_count() > 0

    @property
    def is_drawn(self) -> bool:
        """Whether some numbers have no derivative, so that their intervals are from resamples."""
        return bool((self._of_all[0]["method"] == "bootstrap").any())

    @cached_property
    def _of_all(self) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
        """The numbers of all categories together and of each one, and what was warned of while they were made."""
        with collecting() as found:
            return self._numbers(level="summary" if self.are_pooled else "both"), found

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The headline numbers, as `intervals` (one model) or `compare` has them."""
        rows, found = self._of_all
        warn_again(each for each in found if not self._is_of_categories(*each))
        return rows if self.are_pooled else rows.filter(pl.col("category_id").is_null()).drop("category_id", "name")

    @cached_property
    def by_category(self) -> pl.DataFrame:
        """The same for each category, with n_positives; empty where categories are pooled."""
        rows, found = self._of_all
        if self.are_pooled:
            return rows.clear().with_columns(name=pl.lit(None, pl.String), n_positives=pl.lit(None, pl.Int64))
        warn_again(each for each in found if self._is_of_categories(*each))
        rows = rows.filter(pl.col("category_id").is_not_null())
        return rows.join(self._positives(), on="category_id", how="left", maintain_order="left")

    def _is_of_categories(self, warning: str, message: str) -> bool:
        """Whether a warning is of p values that are corrected for the number of categories: they are more than the pairs."""
        is_of_rows = warning == FewResamplesWarning.__name__ and message.startswith(COARSE)
        return is_of_rows and self.categories.height > len(self.evaluations) - 1

    @cached_property
    def categories(self) -> pl.DataFrame:
        """category_id of the evaluated categories, in the order of the ground truth, and their label: the name, or the id."""
        evaluated = self.first.metrics.select("category_id").unique()
        known = self.first.dataset.categories.join(evaluated, on="category_id", how="semi", maintain_order="left")
        return known.select("category_id", label=label_of("categories"))

    @cached_property
    def error_impact(self) -> pl.DataFrame:
        """What each kind of error costs, as `error_impact` has it, of all models one after the other: `model` is the name."""
        tables = (each.error_impact(self.iou_threshold) for each in self.evaluations)
        return pl.concat(
            table.select(pl.lit(name).alias("model"), pl.all()) for name, table in zip(self.names, tables, strict=True)
        )

    @cached_property
    def ranks(self) -> pl.DataFrame:
        """The first headline number of each model, its interval, how sure it is that it leads, and its ranks."""
        from apframe.evaluation.comparison.ranks import ranks
        from apframe.evaluation.comparison.sampling import Sampling

        sampling = Sampling(metrics=self.metric, n_resamples=self.n_resamples, seed=self.seed)
        return ranks(self.evaluations, self.names, sampling)

    def by_key(self, key: SliceKeys) -> pl.DataFrame:
        """The first headline number for each slice, as `intervals` or `compare` has it, and the slice's support."""
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
        whole = is_of_whole(self.first.protocol) & (pl.col("iou_threshold") == pl.col("iou_threshold").first())
        rows = self.first.metrics.filter(whole)
        return rows.select("category_id", "n_positives")


def in_words(names: Sequence[str]) -> str:
    """Return names as one text.

    >>> in_words(["a", "b", "c"]), in_words(["a"])
    ('a, b and c', 'a')
    """
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last
