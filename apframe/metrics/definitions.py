"""The published definitions of average precision, as values under one interface.

Walk down a ranking; at the k-th true positive, let `p` be the precision there, `P` its right-to-left maximum (the envelope),
and `r = k / R` the recall, where R counts all positives, retrieved or not. Nearly every definition is a
weighted sum

    AP = sum over k of precision * (reached(k) - reached(k - 1))

where `reached` is the share of the recall axis that k positives cover. They differ in the precision (p or P) and in `reached`;
the few definitions of another form have their own modules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.metric import KINDS, Metric
from apframe.metrics.points import Definition, WeightedSum, read_texts, recall_of
from apframe.option_values import by_name
from apframe.registry import Registry
from apframe.wording import did_you_mean, short

if TYPE_CHECKING:
    import numpy as np

    from apframe.listing import Listing
    from apframe.metrics.cells import Cells
    from apframe.metrics.rankings import WeightsDown


LEAST_LEVELS = 40  # the mean over at least this many recall levels varies as the area does; with fewer, single levels matter
EVEN = 1e-9  # the tolerance of even spacing


def increasing(values: Sequence[float]) -> bool:
    """Return True if each value is larger than the one before it.

    >>> increasing([1, 2]), increasing([2, 2])
    (True, False)
    """
    return all(a < b for a, b in pairwise(values))


class Step(WeightedSum):
    """The precision at each true positive, averaged over all positives: `sum(p_k) / R`.

    Source: Buckley and Voorhees 2000; trec_eval `map` (with a cut-off k, `map_cut`). Also called approximated AP; VLFeat's
    `ap`; scikit-learn's `average_precision_score` is the same with ties="group". Unlike `interpolated`, it reads the precision
    as observed.
    """

    name = "step"
    interpolated = False

    def reached(self, k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
        """Return recall itself."""
        return recall_of(k, n_positives)

    def reached_in_sql(self) -> str:
        """Return recall itself."""
        return "_ap_k / _ap.n"

    @property
    def varies_as_area(self) -> bool:
        """See `Definition`: True if each true positive is weighted by the recall that it adds."""
        return type(self).reached is Step.reached


class Interpolated(Step):
    """The area under the envelope: `sum(P_k) / R`.

    Source: PASCAL VOC development kit 2010 and later ("all points"); VLFeat with Interpolate. At least as large as `step`, and
    the limit of the level-based definitions as their levels grow dense.
    """

    name = "interpolated"
    interpolated = True


@dataclass(frozen=True, repr=False)
class Levels(WeightedSum):
    """The mean of the envelope at fixed levels of recall: `P` at the first recall >= level, 0 if no recall reaches it."""

    levels: tuple[float, ...]
    interpolated = True
    level_in_sql: ClassVar[str] = "_ap_level <= _ap_k / _ap.n"  # whether `_ap_k` true positives reach `_ap_level`

    def __post_init__(self) -> None:
        levels = self.levels
        if not (levels and increasing(levels) and levels[0] >= 0 and levels[-1] <= 1):
            raise ParameterError(f"must lie in [0, 1] and increase, got {short(levels)}", option="recall_levels")

    def __repr__(self) -> str:
        own = self.levels != getattr(type(self), "levels", None)  # not the default levels, which are too many to print
        return f"{type(self).__name__}({f'levels={self.levels}' if own else ''})"

    def levels_reached(self, k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
        """Count the levels that are at most `k / n_positives`; 0 for k = 0, so that level 0 is reached with k = 1.

        >>> frame = pl.DataFrame({"k": [0, 1, 2, 3], "R": [10, 10, 10, 10]})
        >>> frame.select(Coco101().levels_reached(pl.col("k"), pl.col("R"))).to_series().to_list()
        [0, 11, 21, 31]
        """
        reached = pl.lit(pl.Series(self.levels, dtype=pl.Float64)).search_sorted(recall_of(k, n_positives), side="right")
        return pl.when(k > 0).then(reached.cast(pl.Int32)).otherwise(0)

    def reached(self, k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
        """Return the share of the levels that are reached."""
        return self.levels_reached(k, n_positives) / len(self.levels)

    def reached_in_sql(self) -> str:
        """Return the share of the levels, written as doubles: 0.3 alone is a decimal number in SQL."""
        levels = ", ".join(f"{level!r}::DOUBLE" for level in self.levels)
        return f"len(list_filter([{levels}], lambda _ap_level: {self.level_in_sql})) / {len(self.levels)}"

    @property
    def are_recalls(self) -> bool:
        """True if a level is reached by all recalls that are at least as large, as `levels_reached` of this class does."""
        return type(self).levels_reached is Levels.levels_reached

    def gains(self, down: WeightsDown, slack: float) -> np.ndarray:
        """See `WeightedSum.gains`; here, the share of the levels."""
        from apframe.metrics.weighted_sums import levels_reached

        reached = levels_reached(self)(down.k, down.positives, slack)  # in place of k
        return down.gains(reached) / len(self.levels)

    @property
    def recall_levels(self) -> tuple[float, ...]:
        """See `Definition`."""
        return self.levels

    @property
    def varies_as_area(self) -> bool:
        """See `Definition`: True with at least 40 levels, evenly spaced from 0 to 1.

        >>> Coco101().varies_as_area, ElevenPoint().varies_as_area, Coco101(tuple(k / 200 for k in range(101))).varies_as_area
        (True, False, False)
        """
        n = len(self.levels) - 1
        return n >= LEAST_LEVELS and all(abs(level - k / n) < EVEN for k, level in enumerate(self.levels))

    def at_levels(self, levels: Any) -> Levels:
        """See `Definition.at_levels`.

        >>> Coco101().at_levels([0, 0.5, 1])
        Coco101(levels=(0.0, 0.5, 1.0))
        """
        try:
            numbers = tuple(float(level) for level in ([levels] if isinstance(levels, (Real, str)) else levels))
        except (TypeError, ValueError) as error:
            raise ParameterError(f"has the wrong type ({error}): recall_levels={levels!r}", option="recall_levels") from error
        return replace(self, levels=numbers)

    def arrays(self, cells: Cells, addend: float, precision_at: Sequence[int]) -> dict[str, np.ndarray]:
        """See `apframe.metrics.coco_arrays.compute_arrays`."""
        from apframe.metrics.coco_arrays import compute_arrays

        return compute_arrays(cells, self, addend, precision_at)


@dataclass(frozen=True, repr=False)
class Voc2007(Levels):
    """Eleven levels as `np.arange(0, 1.1, .1)` computes them: .3, .6 and .7 come out a bit too large.

    Source: PASCAL VOC 2007, as its Python ports compute it. Three of ten positives do not reach the level .30000000000000004,
    but they do reach that level of `eleven_point`.
    """

    levels: tuple[float, ...] = tuple(level * 0.1 for level in range(11))
    name = "voc2007"


@dataclass(frozen=True, repr=False)
class ElevenPoint(Levels):
    """Eleven levels k/10 as doubles.

    Source: VLFeat `ap_interp_11` (which also counts a point at recall 0 and precision 1; see `vl_pr`); Manning, Raghavan and
    Schütze 2008. `voc2007` differs only in the last bit of three levels.
    """

    levels: tuple[float, ...] = tuple(level / 10 for level in range(11))
    name = "eleven_point"


class Trec9ElevenPoint(ElevenPoint):
    """Eleven levels, each assigned to a positive by rounding up: the envelope at the `int(level * R + .9)`-th positive.

    Source: trec_eval 9, `11pt_avg` and `iprec_at_recall`. If level · R is less than .1 above a whole number, the level is
    reached one positive earlier than in `eleven_point`.
    """

    name = "eleven_point_trec9"
    level_in_sql = "floor(_ap_level * _ap.n + 0.9::DOUBLE) <= _ap_k"

    def given_to(self, level: float, n_positives: pl.Expr) -> pl.Expr:
        """Return the number of the positive to which a level is assigned."""
        return (level * n_positives + 0.9).floor()

    def levels_reached(self, k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
        """Count the levels that are assigned to the first k positives."""
        is_reached = [(self.given_to(level, n_positives) <= k).cast(pl.Int32) for level in self.levels]
        return pl.when(k > 0).then(pl.sum_horizontal(is_reached)).otherwise(0)


class Trec10ElevenPoint(Trec9ElevenPoint):
    """Eleven levels, each assigned to a positive by rounding to the nearest whole number, halves up.

    Source: trec_eval 10, `11pt_avg` and `iprec_at_recall`; its version 9 rounds up (`eleven_point_trec9`).
    """

    name = "eleven_point_trec10"
    level_in_sql = "round(_ap_level * _ap.n) <= _ap_k"

    def given_to(self, level: float, n_positives: pl.Expr) -> pl.Expr:
        """Return the number of the positive to which a level is assigned."""
        return (level * n_positives).round(0, mode="half_away_from_zero")


@dataclass(frozen=True, repr=False)
class Coco101(Levels):
    """101 levels, `linspace(0, 1, 101)`.

    Source: COCO, `COCOeval.accumulate`, which also adds 2.2e-16 to the divisor of every precision; so does the detection
    protocol, but not this definition (the numbers agree to 1e-15). Finer than `voc2007`, so nearer to `interpolated`.
    """

    levels: tuple[float, ...] = (*(level * 0.01 for level in range(100)), 1.0)
    name = "coco101"


COCO_101 = Coco101()
IN_SQL: tuple[WeightedSum, ...] = (
    Step(), Interpolated(), Voc2007(), ElevenPoint(), Coco101(), Trec9ElevenPoint(), Trec10ElevenPoint(),
)  # fmt: skip
_CORE = {
    "step": "apframe.metrics.definitions:Step",
    "interpolated": "apframe.metrics.definitions:Interpolated",
    "voc2007": "apframe.metrics.definitions:Voc2007",
    "eleven_point": "apframe.metrics.definitions:ElevenPoint",
    "eleven_point_trec9": "apframe.metrics.definitions:Trec9ElevenPoint",
    "eleven_point_trec10": "apframe.metrics.definitions:Trec10ElevenPoint",
    "coco101": "apframe.metrics.definitions:Coco101",
    "trapezoid": "apframe.lists.list_average_precision:Trapezoid",
    "davis_goadrich": "apframe.lists.list_average_precision:DavisGoadrich",
    "waymo": "apframe.metrics.score_cutoffs:Waymo",
    "normalized": "apframe.lists.list_average_precision:Normalized",
    "set": "apframe.lists.list_average_precision:SetAP",
}
DEFINITIONS: Registry[type[Definition]] = Registry(_CORE | static_table.DEFINITIONS)
"""The definitions by the names that `definition=` accepts. Add your own as "its_module:ItsClass"."""


def list_definitions(name: str | None = None) -> Listing:
    """List the definitions of average precision, or describe the one with this name.

    The frame has name, used_by, precision, weights, formula and source, and prints within 80 columns. `definition=` accepts
    these names; `normalized` requires a number, as in "normalized(5)", and `waymo` accepts one. An unknown name is a
    ParameterError.

    >>> list_definitions("step")["formula"].item()
    'sum over k of p_k (r_k - r_(k-1))'
    """
    from apframe.listing import Listing

    texts = read_texts()
    others = [DEFINITIONS[each] for each in DEFINITIONS if each not in texts["name"]]
    of_benchmarks = [[getattr(each, column, "") for column in texts.columns] for each in others]
    return Listing(texts.vstack(pl.DataFrame(of_benchmarks, texts.schema, orient="row"))).named("definition", name)


def choices_of(value: Any) -> dict[str, Any]:
    """Return name and fields of a definition as JSON values; an empty dict for other values.

    >>> choices_of(Interpolated()), choices_of(3)
    ({'definition': 'interpolated'}, {})
    """
    return {"definition": value.name} | asdict(value) if isinstance(value, Definition) else {}


def as_metrics(values: Any) -> tuple[Metric, ...]:
    """Return one metric or several as a tuple; a definition of average precision, or its name, stands for AP by it.

    Raises
    ------
    ParameterError
        a value is not a metric, is not frozen, or its headline numbers are of columns that it does not have

    >>> as_metrics(int)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: metrics: <class 'int'> is not a metric; give values of frozen dataclasses with ...
    """
    metrics = tuple(_of_definition(each) for each in (values if isinstance(values, (list, tuple)) else (values,)))
    for each in metrics:
        is_metric = isinstance(each, Metric) and is_dataclass(each) and not isinstance(each, type)
        if not is_metric or type(each).read is Metric.read:
            remedy = "give values of frozen dataclasses with `columns` and `read`, see apframe.metrics.metric.Metric"
            raise ParameterError(f"{each!r} is not a metric", remedy, option="metrics")
        try:
            hash(each)
        except TypeError as error:
            remedy = "write @dataclass(frozen=True) above its class, and use tuples in place of lists"
            raise ParameterError(f"{each!r} is not frozen", remedy, option="metrics") from error
        if not isinstance(each.columns, tuple) or not {*each.lines.values()} <= {*each.columns}:
            problem = f"{each!r} has columns={each.columns!r} and lines={dict(each.lines)}"
            raise ParameterError(problem, "columns are a tuple, and lines name some of them", option="metrics")
    return metrics


def _of_definition(value: Any) -> Any:
    """Return the metric for a definition or its name: average precision by it. Other values are returned unchanged.

    >>> _of_definition("step")
    AveragePrecision(definition=Step(), addend=0.0, counts_absent=False)
    """
    if not isinstance(value, (str, Definition)) or isinstance(value, Metric):
        return value
    definition = as_definition(value)
    return definition if isinstance(definition, Metric) else AveragePrecision(definition)


def as_definition(definition: str | Definition) -> Definition:
    """Return the definition with a name such as "coco101" or "normalized(5)"; a definition is returned unchanged.

    Raises
    ------
    ParameterError
        no definition has that name; the message lists similar names

    >>> as_definition("normalized(5)")
    Normalized(n=5.0)
    """
    if isinstance(definition, Definition):
        return definition
    if not isinstance(definition, str):
        raise ParameterError(f"a definition must be a name or one of apframe's values, not {definition!r}")
    parts = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", definition)
    name, number = parts.groups() if parts else (definition, None)
    kind = KINDS.get(name) or by_name("definition", DEFINITIONS.resolve(name) or name, DEFINITIONS)
    if not issubclass(kind, Definition):
        raise ParameterError(f"{name} is not a definition but a metric", "give it as a metric", option="definition")
    if number and kind.name not in ("waymo", "normalized"):
        raise ParameterError(f"no definition {definition!r}", did_you_mean(definition, [*DEFINITIONS]))
    if kind.name == "normalized" and not number:
        raise ParameterError('definition "normalized" needs its number of positives, as in "normalized(5)"')
    try:
        numbers = [float(number)] if number else []
    except ValueError:
        raise ParameterError(f"definition {name}: the argument must be a number, not {number!r}") from None
    return kind(*numbers)
