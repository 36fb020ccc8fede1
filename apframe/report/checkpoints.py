"""The history of a model: its evaluations in the order of a tag, such as the epoch or the date."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.compare.inference import EQUAL
from apframe.evaluation.side_by_side import of_each, stacked
from apframe.exceptions import ParameterError
from apframe.lazily import cached_property
from apframe.protocols.headlines import less_is_better
from apframe.report.compared import Compared
from apframe.report.searched import Searched, merge_runs, only
from apframe.report.tag_axis import TagAxis, tag_axis

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class History:
    """Evaluations in the order of a tag. Each is compared with the last one.

    Attributes
    ----------
    axis
        the values of the tag
    runs
        the names of the evaluations, in this order
    metric, values
        the main metric, and its value in each evaluation; None without a value
    unit
        the unit of intervals: "image" or "query"
    measure, compare
        compute `levels` and `differences`
    evaluations, iou_threshold
        evaluations of detections, in this order, and the threshold at which errors are counted
    """

    axis: TagAxis
    runs: Sequence[str]
    metric: str
    values: Sequence[float | None]
    unit: str
    measure: Callable[[], pl.DataFrame]
    compare: Callable[[], pl.DataFrame]
    evaluations: Sequence[Evaluation] = ()
    iou_threshold: float = 0.0

    @property
    def names(self) -> Sequence[str]:
        """The names of the evaluations on the page: "epoch 7", or a date."""
        return self.axis.names

    @property
    def title(self) -> str:
        """The first and the last value in words: "epoch 1 to 8"."""
        return f"{self.names[0]} to {self.axis.labels[-1]}"

    @property
    def last(self) -> int:
        """The position of the last evaluation."""
        return len(self.runs) - 1

    @cached_property
    def best(self) -> int:
        """The position of the best evaluation; of equal ones the very last evaluation, or otherwise the first of them."""
        sign = -1 if less_is_better(self.metric) else 1
        values_and_places = [(sign * value, at) for at, value in enumerate(self.values) if value is not None]
        equal = [at for value, at in values_and_places if value >= max(values_and_places)[0] - EQUAL]
        return self.last if self.last in equal or not equal else equal[0]

    @property
    def rival(self) -> int:
        """The position of the rival of the best: the last evaluation, or the first one if the last is the best."""
        return self.last if self.best != self.last else 0

    @property
    def pair(self) -> list[int]:
        """The positions of the rival and of the best, which a page compares in detail."""
        return [self.rival, self.best]

    @property
    def words(self) -> dict[int, str]:
        """The words for some evaluations by their positions, the pair first: "best", "first", "last" or several."""
        places = {"best": self.best} if self.values[self.best] is not None else {}
        places |= {"first": 0, "last": self.last}
        return {at: ", ".join(word for word, place in places.items() if place == at) for at in (*self.pair, 0, self.last)}

    @cached_property
    def levels(self) -> pl.DataFrame:
        """The headline numbers of each evaluation: run (its name here), metric, estimate, low, high.

        The numbers of categories also have a category_id.
        """
        return self.measure()

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The differences of the others from the last one, as in `compare`: `p_holm` is corrected for all of them."""
        return self.compare()

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The levels of all categories merge_runs."""
        return _of_whole(self.levels)

    @property
    def points(self) -> pl.DataFrame:
        """The main metric of the evaluations: run, estimate, low and high."""
        return self.of(self.overall.filter(metric=self.metric))

    def of(self, levels: pl.DataFrame) -> pl.DataFrame:
        """Return the levels of one number, a row for each evaluation in their order, null without a value."""
        return pl.DataFrame({"run": self.names}).join(
            levels.select("run", "estimate", "low", "high"), on="run", how="left", maintain_order="left"
        )

    @property
    def tests(self) -> pl.DataFrame:
        """The differences in the main metric."""
        return _of_whole(self.differences).filter(metric=self.metric)

    @property
    def changes(self) -> pl.DataFrame:
        """The gain of the last evaluation over the first one in each category, as in `compare`."""
        rows = self.differences.filter(run_b=self.names[0], metric=self.metric)
        return other_way(rows.filter(pl.col("category_id").is_not_null()) if "category_id" in rows.columns else rows.clear())

    @cached_property
    def costs(self) -> pl.DataFrame:
        """The cost of each error type in each evaluation: run, and the columns of `error_impact`.

        Raises
        ------
        ParameterError
            the protocol has no such costs
        """
        tables = of_each(lambda each: each.error_impact(self.iou_threshold), self.evaluations)
        return stacked("run", self.names, tables)


def of_evaluations(over: Any, compared: Compared) -> Compared:
    """Return the subject of a page about a history of evaluations: the best one and its rival, with the history of all.

    Parameters
    ----------
    over
        see `tag_axis`, also for the errors
    compared
        all evaluations

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> evaluations = [evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(many)]) for many in (30, 36, 34)]
    >>> subject = of_evaluations({"epoch": [1, 2, 3]}, Compared(evaluations, ["a", "b", "c"]))
    >>> subject.names, subject.history.words, subject.history.title
    (['epoch 3', 'epoch 2'], {2: 'last', 1: 'best', 0: 'first'}, 'epoch 1 to 3')
    """
    axis, order = tag_axis(over, [each.tags for each in compared.evaluations], compared.names)
    *others, last = ordered = [compared.evaluations[at] for at in order]
    *names, newest = axis.names
    level = "summary" if compared.are_pooled else "both"
    options: dict[str, Any] = {"n_resamples": compared.n_resamples, "seed": compared.seed, "level": level}
    history = History(
        axis,
        [compared.names[at] for at in order],
        compared.metric,
        [each.summary.filter(metric=compared.metric)["value"].item() for each in ordered],
        "image",
        lambda: stacked("run", axis.names, of_each(lambda each: each.intervals(**options), ordered)),
        lambda: last.compare(others, names=[newest, *names], **options),
        ordered,
        compared.iou_threshold,
    )
    pair = [ordered[at] for at in history.pair]
    return replace(compared, evaluations=pair, names=[axis.names[at] for at in history.pair], history=history)


def of_runs(over: Any, searched: Searched, tags: Sequence[Mapping[str, Any]]) -> Searched:
    """Return the subject of a page about a history of search runs: the best one and its rival, with the history of all.

    Parameters
    ----------
    over
        see `tag_axis`, also for further errors
    searched
        all runs
    tags
        the tags of each run

    Raises
    ------
    ParameterError
        no measure is a plain mean
    """
    if not searched.plain:
        raise ParameterError("a history needs a measure that is a plain mean", "evaluate with another one too, such as AP")
    axis, order = tag_axis(over, tags, searched.names)
    name_of = {searched.names[at]: name for at, name in zip(order, axis.names, strict=True)}
    named, _ = merge_runs([searched.evaluation], [name_of[name] for name in searched.names])
    metric = searched.measure
    values = dict(named.summary.filter(measure=metric).select("run", "value").rows())
    history = History(
        axis,
        [searched.names[at] for at in order],
        metric,
        [values.get(name) for name in axis.names],
        "query",
        lambda: named.intervals().rename({"measure": "metric"}),
        lambda: named.compare(axis.names[-1]).rename({"measure": "metric"}),
    )
    pair = [axis.names[at] for at in history.pair]
    return replace(searched, evaluation=only(named, pair), names=pair, history=history)


def other_way(rows: pl.DataFrame) -> pl.DataFrame:
    """Reverse the direction of differences between two evaluations.

    >>> row = {"run_a": "new", "run_b": "old", "estimate_a": 0.75, "estimate_b": 0.5}
    >>> row |= {"difference": -0.25, "low": -0.5, "high": 0.0}
    >>> other_way(pl.DataFrame([row])).row(0)
    ('old', 'new', 0.5, 0.75, 0.25, 0.0, 0.5)
    """
    swapped = {f"{name}_{one}": f"{name}_{other}" for name in ("run", "estimate") for one, other in ("ab", "ba")}
    return rows.with_columns(
        *(pl.col(other).alias(one) for one, other in swapped.items()),
        difference=0.0 - pl.col("difference"), low=0.0 - pl.col("high"), high=0.0 - pl.col("low"),
    )  # fmt: skip


def _of_whole(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("category_id").is_null()) if "category_id" in rows.columns else rows
