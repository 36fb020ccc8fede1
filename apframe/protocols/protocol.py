"""A protocol: one choice on each axis of an evaluation, as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from apframe.exceptions import ParameterError
from apframe.keywords import names_keywords
from apframe.lazily import cached_property, methods_of
from apframe.matching.matchers import TIES, ByScore, Matcher
from apframe.metrics.average_precision import AveragePrecision, DetectionCount, ImageCount, Recall
from apframe.metrics.definitions import COCO_101, increasing
from apframe.metrics.metric import ErrorAverages, Metric
from apframe.metrics.points import Definition
from apframe.option_values import one_of
from apframe.protocols.combinations import refuse_combinations
from apframe.protocols.given import OPTIONS, TAKES, UNLIMITED, linspace
from apframe.protocols.headlines import Headline, Part, lines_of, refuse_lines
from apframe.protocols.published import PUBLISHED, add_plugins
from apframe.protocols.ranges import ALL, AreaRange, Range
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.means import MeansByImages
from apframe.protocols.rules.rule import Limit, Rule
from apframe.protocols.rules.standard import STANDARD_ROWS, STANDARD_RULES
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.named import as_iou_type, as_similarity, iou_type_of, refuse_other_similarity
from apframe.similarity.pairs import Similarity
from apframe.wording import listed, option_name, same_name

if TYPE_CHECKING:
    from apframe.protocols import twins
    from apframe.protocols.kit_table import KitTable
    from apframe.protocols.levels import Level
else:
    (twins,) = methods_of("apframe.protocols", "twins")

Kind = TypeVar("Kind", bound=Rule)
_USUAL = 0.5
_MOST_AREAS = 64  # verdicts hold them as bits of one integer
COCO_LINES = ("AP", "AP50", "AP75", "AP{area}", "AR{limit}", "AR{area}")


@dataclass(frozen=True, repr=False)
class Protocol:
    """One choice on each axis of an evaluation; a frozen value that can be compared, hashed and printed in plain words.

    Attributes
    ----------
    name
        the name by which it is cited
    citation
        the publication of the rules
    iou_type
        the kind of objects to compare: bbox, segm, keypoints, boundary, rotated, interval, bev, 3d, distance, sphere, relation,
        phrase, panoptic, panoptic_boundary, semantic (case-insensitive; "mask" is segm, "box" is bbox). It is a label, which
        must be the one of the similarity; for a function of your own, any name is accepted
    similarity
        the similarity of two objects, a value such as `apframe.similarity.MaskIoU()`; or a function of your own, see
        `apframe.similarity.UserSimilarity`
    matcher
        how pairs become matches, a value such as `ByBestOverlap(ties="input", strict=True)`, see `apframe.matching.matchers`
    iou_thresholds
        strictly increasing, in (0, 1]; a single number is accepted. Distances are negative: -2 is 2 m. With a mapping from
        names of categories (case-insensitive) to one threshold each, this is the lowest of them, which tables show
    category_thresholds
        (name, threshold) of each category, if `iou_thresholds` was a mapping. The summary then has no AP50 or AP75
    metrics
        numbers of every list, such as `AveragePrecision(Interpolated())`: values of `apframe.metrics`, or of your own, see
        `apframe.metrics.metric.Metric`. Definitions of average precision, or their names, stand for AP by that definition. The
        first column of the first metric decides which categories are counted; recall and counts are always included
    ranges
        parts that are evaluated separately: `AreaRange` values, or levels of difficulty, see `apframe.protocols.levels`. The
        headline numbers are for the level with `is_headline`, the range named "all", or else the first. A mapping of names to
        (lowest, highest) area gets "all" as its first range if it is missing
    max_detections
        at most this many detections per image and category, in any order; AP uses the largest. None: all of them
    agnostic
        whether to pool the categories
    headlines
        the lines of the summary: AP or AR, then nothing (all thresholds), a threshold in percent, or one of {area} {limit}
        {part}, which make a line for each; and the parts of the images or categories for {part}, as `apframe.protocols.Part`
    rules
        further steps, in this order: see `apframe.protocols.rules`. `STANDARD_ROWS` are the steps that every protocol has
    variants
        the same protocol for other `iou_type`s
    tables
        the tables that evaluations print, in the layout of papers; if empty, a line for each headline number

    >>> Protocol("mine", "", iou_thresholds=(0.5,)).with_options(max_detections=[10]).max_detections
    (10,)
    >>> Protocol("mine", "", iou_thresholds=(1.5,))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: iou_thresholds must lie in (0, 1] and increase, got (1.5,)
    """

    name: str
    citation: str
    iou_type: str = "bbox"
    similarity: Similarity = BoxIoU()
    matcher: Matcher = ByScore()
    iou_thresholds: tuple[float, ...] = linspace(0.5, 0.95, 10)
    category_thresholds: tuple[tuple[str, float], ...] = ()
    metrics: tuple[Metric, ...] = (AveragePrecision(COCO_101),)
    ranges: tuple[Range, ...] = (ALL,)
    max_detections: tuple[int | None, ...] = (100,)
    agnostic: bool = False
    headlines: tuple[str | Part, ...] = COCO_LINES
    rules: tuple[Rule, ...] = STANDARD_RULES
    variants: tuple[Self, ...] = field(default=(), compare=False)
    tables: tuple[KitTable, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        from apframe.protocols.words import in_short

        return in_short(self)

    def __str__(self) -> str:
        from apframe.protocols.words import describe

        return describe(self)

    def _repr_html_(self) -> str:
        from apframe.protocols.words import as_html

        return as_html(self)

    def __post_init__(self) -> None:
        if isinstance(self.iou_thresholds, Mapping):
            object.__setattr__(self, "category_thresholds", tuple(self.iou_thresholds.items()))
        for name, take in TAKES.items():
            argument = getattr(self, name)
            try:
                object.__setattr__(self, name, take(argument))
            except ParameterError:
                raise
            except (TypeError, ValueError, AttributeError) as error:
                option = OPTIONS.get(name, name)
                raise ParameterError(f"has the wrong type ({error}): {option}={argument!r}", option=option) from error
        own = tuple(threshold for _, threshold in self.category_thresholds)
        if own:
            object.__setattr__(self, "iou_thresholds", (min(own),))
            of_all = tuple(line for line in self.headlines if isinstance(line, Part) or not line[2:4].isdecimal())
            object.__setattr__(self, "headlines", of_all)
        thresholds, limits = self.iou_thresholds, self.limits
        if not isinstance(self.matcher, Matcher) or type(self.matcher) is Matcher:
            raise ParameterError(f"{self.matcher!r} is not a matcher", "use one such as ByScore()", option="matcher")
        one_of("ties", self.matcher.ties, list(TIES))
        one_of("strict", self.matcher.strict, [False, True])
        if wrong := [rule for rule in self.rules if not isinstance(rule, Rule)]:
            raise ParameterError(f"{wrong[0]!r} is not a rule", "see apframe.protocols.rules", option="rules")
        if lacking := [rule for rule in STANDARD_ROWS if rule not in self.rules]:
            raise ParameterError(f"lack {lacking[0]!r}", "begin with *STANDARD_ROWS", option="rules")
        if not any(metric.by_definition for metric in self.metrics):
            remedy = "add AveragePrecision(COCO_101), or another definition"
            raise ParameterError("none ranks detections by a definition of average precision", remedy, option="metrics")
        refuse_lines(self)
        refuse_other_similarity(self.iou_type, self.similarity)
        low, high = self.similarity.bounds
        if not (thresholds and increasing(thresholds) and thresholds[0] > low and max(own or thresholds) <= high):
            problem = f"must lie in ({low:g}, {high:g}] and increase, got {listed([*(own or thresholds)]) or 'none'}"
            raise ParameterError(problem, "a distance of 2 m is -2" if high == 0 else "", option="iou_thresholds")
        if own and self.agnostic:
            raise ParameterError("must be numbers where categories are pooled, not one for each", option="iou_thresholds")
        if not (limits and increasing(limits) and limits[0] >= 1):
            problem = f"must be different numbers, at least 1, not {listed([*self.max_detections]) or 'none'}"
            raise ParameterError(problem, option="max_detections")
        if limits[-1] > UNLIMITED:
            raise ParameterError(f"must be below 2^31, got {limits[-1]}", "use None for no limit", option="max_detections")
        names = self.range_names
        if self.levels and len(self.levels) < len(names):
            raise ParameterError("must all be of areas, or all be levels of difficulty", option="area_ranges")
        if not names or len(set(names)) < len(names):
            raise ParameterError(f"must have at least one name and no duplicates, not {[*names]}", option="area_ranges")
        if len(names) > _MOST_AREAS:
            raise ParameterError(
                f"can have at most {_MOST_AREAS} ranges, not {len(names)}; use `by` with bins of area", option="area_ranges"
            )
        for each in self.ranges:
            if isinstance(each, AreaRange) and not 0 <= each.low <= each.high:
                bounds = f"{each.low}, {each.high}"
                raise ParameterError(f"area range {each.name!r} must have 0 <= low <= high, got {bounds}")
        refuse_combinations(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the summary."""
        return tuple(line for line in self.headlines if isinstance(line, str))

    @cached_property
    def all_headlines(self) -> tuple[Headline, ...]:
        """Every line of the summary in order, including the lines of parts."""
        return tuple(line for template in self.lines for line in lines_of(template, self))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the images or categories with their own numbers in the summary."""
        return tuple(part for part in self.headlines if isinstance(part, Part))

    @property
    def limits(self) -> tuple[int, ...]:
        """`max_detections` as numbers, where the largest possible number stands for all of them."""
        return tuple(UNLIMITED if limit is None else limit for limit in self.max_detections)

    @property
    def by_category(self) -> bool:
        """True if pooled categories are walked one after the other, which decides ties of scores or similarities."""
        return self.agnostic and self.matcher.ties == "image"

    @property
    def iou_types(self) -> tuple[str, ...]:
        """The IoU types of the protocol, the default first."""
        return (self.iou_type, *(variant.iou_type for variant in self.variants))

    def variant(self, iou_type: str | None) -> Self:
        """Return the protocol for another `iou_type`; None returns the protocol itself.

        >>> from apframe.protocols.coco import COCO
        >>> COCO.variant("keypoints").max_detections
        (20,)
        >>> COCO.variant("lines")
        Traceback (most recent call last):
        apframe.exceptions.ParameterError: COCO has no iou_type 'lines'; it has bbox, segm, keypoints, boundary
        """
        if iou_type is None:
            return self
        iou_type = as_iou_type(iou_type)
        if iou_type == self.iou_type:
            return self
        for variant in self.variants:
            if variant.iou_type == iou_type:
                return variant
        raise ParameterError(
            f"{self.name} has no {option_name('iou_type')} {iou_type!r}", f"it has {', '.join(self.iou_types)}"
        )

    @property
    def all_metrics(self) -> tuple[Metric, ...]:
        """The metrics, with recall and counts, which every table of metrics has."""
        images = (ImageCount(),) if self.means_by_images else ()
        return (*self.metrics, *images, self.definition.recall, DetectionCount())

    @property
    def definition(self) -> Definition:
        """The definition by which detections are ranked: of average precision, or else of the first metric with one."""
        averages = self._averages
        return averages[0].definition if averages else next(each for metric in self.metrics if (each := metric.by_definition))

    @property
    def _averages(self) -> list[AveragePrecision]:
        return [average for metric in self.metrics if (average := metric.average_precision)]

    @property
    def errors(self) -> ErrorAverages | None:
        """The errors of boxes that a metric averages; None if there is no such metric."""
        return next((errors for metric in self.metrics if (errors := metric.box_errors)), None)

    @property
    def has_scores(self) -> bool:
        """True if scores decide which detections count and match."""
        return self.definition.by_score

    @property
    def has_precision(self) -> bool:
        """True if there is precision down the ranks, and so AP; otherwise numbers are sums over matches."""
        return self.definition.ranks

    @property
    def means_by_images(self) -> bool:
        """True if a category counts in every mean once for each image with an annotation of it."""
        return self.rule(MeansByImages) is not None

    @property
    def counts_absent(self) -> bool:
        """True if classes without annotations count in every mean, with an average precision of 0."""
        return any(each.counts_absent for each in self._averages)

    @property
    def malformed(self) -> MalformedCounts:
        """The rule for malformed rows."""
        return self.rule(MalformedCounts) or MalformedCounts()

    @property
    def limit_rule(self) -> Limit:
        """The rule that defines what `max_detections` counts: by default, the detections of each image and category."""
        return self.rule(Limit) or Limit()

    def rule(self, kind: type[Kind]) -> Kind | None:
        """Return the first rule of a class, or None.

        >>> from apframe.protocols.rules.crowds import Crowds
        >>> Protocol("mine", "").rule(Crowds)
        CrowdsIgnored()
        """
        return next((rule for rule in self.rules if isinstance(rule, kind)), None)

    @property
    def of_truth(self) -> Self:
        """The protocol for ground truth alone: without the rules that require all detections."""
        return replace(self, rules=tuple(rule for rule in self.rules if not rule.needs_all_data))

    @property
    def addend(self) -> float:
        """The number added to the divisor of precision."""
        return max((each.addend for each in self._averages), default=0.0)

    @property
    def recall_levels(self) -> tuple[float, ...]:
        """The recall levels of the definition; empty if it has none."""
        return self.definition.recall_levels

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of difficulty; empty if the ranges are ranges of areas."""
        return tuple(cast("Level", each) for each in self.ranges if each.is_level)

    @property
    def range_names(self) -> tuple[str, ...]:
        """The names of the ranges, as tables show them in `area_range`."""
        return tuple(each.name for each in self.ranges)

    @property
    def headline_range(self) -> str:
        """The name of the range of the headline numbers."""
        usual = ALL.name if ALL.name in self.range_names else self.range_names[0]
        return next((each.name for each in self.levels if each.is_headline), usual)

    @property
    def further_columns(self) -> tuple[str, ...]:
        """The columns of the metrics that not every protocol has."""
        usual = {"ap", *Recall.columns, *DetectionCount.columns}
        return tuple(name for metric in self.all_metrics for name in metric.columns if name not in usual)

    @property
    def usual_threshold(self) -> float:
        """The default threshold for looking at errors: .5 if it is among `iou_thresholds`, otherwise the lowest."""
        return self.iou_thresholds[self.threshold_number(_USUAL) or 0]

    def threshold_number(self, iou_threshold: float) -> int | None:
        """Return the position of a threshold among `iou_thresholds`, within 1e-9; None if it is not among them.

        >>> Protocol("mine", "").threshold_number(0.9)
        8
        """
        near = (number for number, threshold in enumerate(self.iou_thresholds) if abs(threshold - iou_threshold) < 1e-9)
        return next(near, None)

    @names_keywords
    def with_options(
        self,
        *,
        iou_thresholds: Sequence[float] | Mapping[str, float] | float | None = None,
        recall_levels: Sequence[float] | float | None = None,
        recall_positions: int | None = None,
        area_ranges: Mapping[str, tuple[float, float]] | None = None,
        max_detections: Sequence[int | None] | int | None = None,
        agnostic: bool | None = None,
        matching: str | None = None,
        similarity: Any = None,
        mean: str | None = None,
    ) -> Protocol:
        """Return the protocol with some of its choices changed; None keeps the published choice.

        `area_ranges` maps names to (lowest, highest) area; the range "all" is added in front if it is missing. `max_detections`
        may be in any order, as in the reference; None among them stands for all detections, as in [100, None]. A single number
        is accepted as well; a mapping of `iou_thresholds` has one for each category. `recall_positions`, if the definition has
        them, are 40 or 11. `similarity` is a value, or a function of your own, see `apframe.similarity.UserSimilarity`; the
        protocol then has the `iou_type` of the similarity. `mean` is "plain" for the plain mean over categories, for benchmarks
        that are also published with a different mean.
        """
        if mean is not None:
            return self._twin("mean", mean).with_options(
                iou_thresholds=iou_thresholds, recall_levels=recall_levels, recall_positions=recall_positions,
                area_ranges=area_ranges, max_detections=max_detections, agnostic=agnostic, matching=matching,
                similarity=similarity,
            )  # fmt: skip
        options = {"iou_thresholds": iou_thresholds, "max_detections": max_detections,
                   "agnostic": None if agnostic is None else bool(agnostic), "similarity": similarity}  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if area_ranges is not None:
            if self.levels:
                raise ParameterError(f"{self.name} has levels of difficulty in place of area ranges", option="area_ranges")
            changes["ranges"] = area_ranges
        if matching is not None:
            changes["matcher"] = self.matcher.named(matching)
        if iou_thresholds is not None:
            changes["category_thresholds"] = ()
        if recall_levels is not None:
            changes["metrics"] = self._ranked_by(self.definition.at_levels(recall_levels))
        if recall_positions is not None:
            changes["metrics"] = self._ranked_by(self.definition.at_positions(recall_positions))
        if similarity is not None:
            changes["similarity"] = compared = as_similarity(similarity)
            return replace(self, **changes, iou_type=iou_type_of(compared) or self.iou_type, variants=())
        if not changes:
            return self
        return replace(self, **changes, variants=tuple(replace(variant, **changes) for variant in self.variants))

    _twin, at_version = twins.twin, twins.at_version

    def choices(self) -> dict[str, Any]:
        """Return every choice by the name of its parameter: all but the variants."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}

    def _ranked_by(self, definition: Definition) -> tuple[Metric, ...]:
        """Return the metrics, with another definition in place of the protocol's."""
        own = self.definition
        return tuple(each.with_definition(definition) if each.by_definition == own else each for each in self.metrics)

    def as_dict(self) -> dict[str, Any]:
        """Return all choices as JSON values, without the variants; `from_dict` restores the protocol from them."""
        from apframe.protocols.protocol_json import as_dict

        return as_dict(self)

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """Restore a protocol from the result of `as_dict`.

        >>> Protocol.from_dict(Protocol("mine", "").as_dict()) == Protocol("mine", "")
        True
        """
        from apframe.protocols.protocol_json import from_dict

        return cls(**from_dict(choices))


def as_protocol(value: Any) -> Protocol:
    """Return a protocol unchanged, or a published one by its name, case-insensitive and however its words are joined.

    >>> as_protocol("voc2007").name
    'VOC2007'
    >>> as_protocol("voc2008")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no protocol 'voc2008'; did you mean voc2007, voc2012?
    """
    if isinstance(value, Protocol):
        return value
    if same_name(value, PUBLISHED) is None:
        add_plugins()
    name = same_name(value, PUBLISHED)
    if name is None:
        from apframe.protocols.unknown import refuse_unknown_protocol  # only imported here

        refuse_unknown_protocol(value)
    return PUBLISHED[name]
