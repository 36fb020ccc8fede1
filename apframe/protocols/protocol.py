"""A protocol: one choice on each axis of an evaluation, as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from apframe.exceptions import ParameterError, increasing, one_of
from apframe.keywords import names_keywords
from apframe.matching.matchers import TIES, ByScore, Matcher, matcher_of
from apframe.metrics.average_precision import AveragePrecision, DetectionCount, ImageCount, Recall
from apframe.metrics.box_errors import BoxErrors, as_errors
from apframe.metrics.definitions import COCO_101, as_definition
from apframe.metrics.metric import Metric, choices_of, metric_of
from apframe.metrics.miss_rates import Froc, MissRates
from apframe.metrics.points import SPACING, Definition
from apframe.metrics.score_cutoffs import OrientedPrecision
from apframe.protocols.combinations import refuse_combinations
from apframe.protocols.given import ALL_AREAS, TAKES, UNLIMITED, frozen, linspace
from apframe.protocols.headlines import Part, refuse_lines
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.levels import Difficulty
from apframe.protocols.rules.limits import LimitPerImage, MeansByImages, RankInImage
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.pair_columns import OrientationWeights
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_RULES
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.named import as_choices, as_iou_type, as_similarity, iou_type_of, refuse_other_similarity
from apframe.similarity.pairs import Similarity
from apframe.wording import short, spelled

Kind = TypeVar("Kind", bound=Rule)
_USUAL = 0.5
_MOST_AREAS = 64  # verdicts hold them as bits of one integer
COCO_REPORT = ("AP", "AP50", "AP75", "AP{area}", "AR{limit}", "AR{area}")


@dataclass(frozen=True, repr=False)
class Protocol:
    """One choice on each axis of an evaluation; a frozen value that can be compared, hashed and printed in plain words.

    Attributes
    ----------
    name
        as it is cited
    citation
        where the rules are published
    iou_type
        what is compared, as users name it: bbox, segm, keypoints, boundary, rotated, interval, bev, 3d, distance, sphere,
        relation, phrase, panoptic, panoptic_boundary, semantic (in any case; "mask" is segm, "box" bbox). A label: it must be
        that of the similarity, and any name does where that is a function of your own
    similarity
        how alike two are, a value such as `apframe.MaskIoU()`; or a function of your own, see `apframe.UserSimilarity`
    matcher
        who is matched with whom, a value such as `ByBestOverlap(ties="input", strict=True)`, see `apframe.matching.matchers`
    iou_thresholds
        strictly increasing, in (0, 1]; one number stands for itself alone. Distances are negative: -2 is 2 m. A mapping of
        names of categories, in any case, to one threshold each: the lowest of them stays here, and is what tables show
    category_thresholds
        (name, threshold) of each category, where `iou_thresholds` was a mapping. The summary then has no AP50 or AP75
    definition
        that of average precision, one of `apframe.list_definitions()` that is a weighted sum, or its name; its recall levels,
        where it has some, increase strictly and lie in [0, 1]
    area_ranges
        (name, lowest, highest) area in square pixels, both bounds inclusive; that named "all" (or else the first) is that
        of the headline numbers. A mapping of names to (lowest, highest) has "all" added in front if it is missing
    max_detections
        at most this many detections per image and category, in any order; the largest is that of AP. None: all of them
    agnostic
        pool the categories
    parts
        parts of the images or categories that the summary has numbers of
    report
        the lines of the summary: AP or AR, then nothing (all thresholds), a threshold in percent, or one of {area} {limit}
        {part}, a line for each
    adds_spacing
        2.2e-16 is added to the divisor of every precision, as pycocotools and what is derived from it do
    difficulties
        levels of difficulty, see `Difficulty`; they replace `area_ranges`, which then have their names
    errors
        which errors of true positives are averaged, see `apframe.metrics.box_errors`; None: none
    miss_rates
        how the log-average miss rate or CPM is read, see `MissRates` and `Froc` of `apframe.metrics.miss_rates`; None: neither
    rules
        what else is done, in this order: see `apframe.protocols.rules`. What every protocol does to rows are `STANDARD_ROWS`
    variants
        the same protocol for other `iou_type`s
    own_metrics
        metrics of yours, or of other protocols, which come before those that the definition brings; the first column of the
        first one says which categories are counted. The report can have the lines that they name

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
    definition: Definition = COCO_101
    area_ranges: tuple[tuple[str, float, float], ...] = (ALL_AREAS,)
    max_detections: tuple[int | None, ...] = (100,)
    agnostic: bool = False
    parts: tuple[Part, ...] = ()
    report: tuple[str, ...] = COCO_REPORT
    adds_spacing: bool = False
    difficulties: tuple[Difficulty, ...] = ()
    errors: BoxErrors | None = None
    miss_rates: MissRates | Froc | None = None
    rules: tuple[Rule, ...] = STANDARD_RULES
    variants: tuple[Self, ...] = field(default=(), compare=False)
    own_metrics: tuple[Metric, ...] = ()

    def __repr__(self) -> str:
        areas = ", ".join(f"{name} {low:g}–{high:g}" for name, low, high in self.area_ranges)
        above = "above " if self.matcher.strict else ""
        levels = f", recall levels {short(self.recall_levels)}" if self.recall_levels else ""
        return (
            f"Protocol({self.name}, {self.iou_type}: matching by {self.matcher.name}; IoU {above}{short(self.iou_thresholds)}; "
            f"{self.definition}{levels}; "
            f"areas {areas}; "
            f"max_detections {self.max_detections}{'; categories pooled' if self.agnostic else ''})"
        )

    def __str__(self) -> str:
        from apframe.protocols.words import describe

        return describe(self)

    def __post_init__(self) -> None:
        if isinstance(self.iou_thresholds, Mapping):
            object.__setattr__(self, "category_thresholds", tuple(self.iou_thresholds.items()))
        for name, take in TAKES.items():
            given = getattr(self, name)
            try:
                object.__setattr__(self, name, take(given))
            except ParameterError:
                raise
            except (TypeError, ValueError, AttributeError) as error:
                raise ParameterError(f"has the wrong type ({error}): {name}={given!r}", option=name) from error
        own = tuple(threshold for _, threshold in self.category_thresholds)
        if own:
            object.__setattr__(self, "iou_thresholds", (min(own),))
            of_all = tuple(line for line in self.report if not line[2:4].isdecimal())
            object.__setattr__(self, "report", of_all)
        thresholds, limits = self.iou_thresholds, self.limits
        one_of("ties", self.matcher.ties, list(TIES))
        if wrong := [rule for rule in self.rules if not isinstance(rule, Rule)]:
            raise ParameterError(f"{wrong[0]!r} is not a rule", "see apframe.protocols.rules", option="rules")
        refuse_lines(self)
        refuse_other_similarity(self.iou_type, self.similarity)
        if not self.definition.reads_cells:
            problem = f"{self.definition!r} is not a weighted sum, see apframe.list_definitions()"
            raise ParameterError(problem, option="definition")
        of_levels = tuple((each.name, *ALL_AREAS[1:]) for each in self.difficulties)
        if self.difficulties and self.area_ranges not in ((ALL_AREAS,), of_levels):
            raise ParameterError(f"{self.name} has levels of difficulty in place of area ranges", option="area_ranges")
        if self.difficulties:
            object.__setattr__(self, "area_ranges", of_levels)
        refuse_combinations(self)
        low, high = self.similarity.bounds
        if not (thresholds and increasing(thresholds) and thresholds[0] > low and max(own or thresholds) <= high):
            problem = f"must lie in ({low:g}, {high:g}] and increase, got {own or thresholds}"
            raise ParameterError(problem, "a distance of 2 m is -2" if high == 0 else "", option="iou_thresholds")
        if own and self.agnostic:
            raise ParameterError("must be numbers where categories are pooled, not one for each", option="iou_thresholds")
        if not (limits and increasing(limits) and limits[0] >= 1):
            raise ParameterError(f"must be different numbers, at least 1, not {self.max_detections}", option="max_detections")
        if limits[-1] > UNLIMITED:
            raise ParameterError(f"must be below 2^31, got {limits[-1]}", "use None for no limit", option="max_detections")
        if self.rule(LimitPerImage) and len(limits) > 1:
            problem = f"{self.name} limits detections per image"
            raise ParameterError(f"{problem}: {spelled('max_detections')} must be one number, not {limits}")
        names = [name for name, *_ in self.area_ranges]
        if not names or len(set(names)) < len(names):
            raise ParameterError(f"must have at least one name and no duplicates, not {names}", option="area_ranges")
        if len(names) > _MOST_AREAS:
            raise ParameterError(
                f"can have at most {_MOST_AREAS} ranges, not {len(names)}; use `by` with bins of area", option="area_ranges"
            )
        for name, low, high in self.area_ranges:
            if not 0 <= low <= high:
                raise ParameterError(f"area range {name!r} must have 0 <= low <= high, got {low}, {high}")

    @property
    def limits(self) -> tuple[int, ...]:
        """`max_detections` as numbers: the largest there can be stands for all of them."""
        return tuple(UNLIMITED if limit is None else limit for limit in self.max_detections)

    @property
    def by_category(self) -> bool:
        """Whether pooled categories are walked one after the other, which tells where scores or similarities are equal."""
        return self.agnostic and self.matcher.ties == "image"

    @property
    def iou_types(self) -> tuple[str, ...]:
        """The IoU types of the protocol, the default first."""
        return (self.iou_type, *(variant.iou_type for variant in self.variants))

    def variant(self, iou_type: str | None) -> Self:
        """The protocol for another `iou_type`; itself for None.

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
        raise ParameterError(f"{self.name} has no {spelled('iou_type')} {iou_type!r}", f"it has {', '.join(self.iou_types)}")

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The numbers of every list; the first column of the first metric says which lists count."""
        average = AveragePrecision(self.definition, self.addend, self.counts_absent)
        metrics = [self.definition.as_metric(self.addend, self.counts_absent)]
        if self.rule(OrientationWeights):
            metrics = [OrientedPrecision(average)]
        if self.errors is not None:
            metrics = [*self.errors.beside(average)]
        if self.miss_rates is not None:
            metrics.append(self.miss_rates)
        if self.means_by_images:
            metrics.append(ImageCount())
        return (*self.own_metrics, *metrics, self.definition.recall, DetectionCount())

    @property
    def has_scores(self) -> bool:
        """Whether scores decide which detections count and match."""
        return self.definition.by_score

    @property
    def has_precision(self) -> bool:
        """Whether there is precision down the ranks, and so AP; otherwise numbers are made of sums over matches."""
        return self.definition.ranks

    @property
    def limits_images(self) -> bool:
        """Whether each of `max_detections` is over all categories of an image, before detections are copied."""
        return self.rule(RankInImage) is not None

    @property
    def means_by_images(self) -> bool:
        """Whether a category counts in every mean once for each image with an annotation of it."""
        return self.rule(MeansByImages) is not None

    @property
    def counts_absent(self) -> bool:
        """Whether classes without annotations count in every mean, with an average precision of 0."""
        classes = self.rule(Classes)
        return classes is not None and classes.counts_absent

    @property
    def malformed(self) -> MalformedCounts:
        """The rule on rows whose shape cannot be right."""
        return self.rule(MalformedCounts) or MalformedCounts()

    def rule(self, kind: type[Kind]) -> Kind | None:
        """The first rule of a class, or None.

        >>> from apframe.protocols.rules.crowds import Crowds
        >>> Protocol("mine", "").rule(Crowds)
        CrowdsIgnored()
        """
        return next((rule for rule in self.rules if isinstance(rule, kind)), None)

    @property
    def addend(self) -> float:
        """The number added to the divisor of precision."""
        return SPACING if self.adds_spacing else 0.0

    @property
    def recall_levels(self) -> tuple[float, ...]:
        """The levels of the definition; none where it has none."""
        return self.definition.recall_levels

    @property
    def whole(self) -> str:
        """The name of the area range that the headline numbers are of."""
        names = [name for name, *_ in self.area_ranges]
        usual = ALL_AREAS[0] if ALL_AREAS[0] in names else names[0]
        return next((each.name for each in self.difficulties if each.is_ranked_by), usual)

    @property
    def further_columns(self) -> tuple[str, ...]:
        """The columns of the metrics that other protocols do not have."""
        usual = {"ap", *Recall.columns, *DetectionCount.columns}
        return tuple(name for metric in self.metrics for name in metric.columns if name not in usual)

    @property
    def usual_threshold(self) -> float:
        """The threshold at which one looks at errors: .5 if it is among `iou_thresholds`, otherwise the lowest."""
        return self.iou_thresholds[self.threshold_number(_USUAL) or 0]

    def threshold_number(self, iou_threshold: float) -> int | None:
        """The place of a threshold among `iou_thresholds`, found to 1e-9; None if it is not there.

        >>> Protocol("mine", "").threshold_number(0.9)
        8
        """
        near = (number for number, known in enumerate(self.iou_thresholds) if abs(known - iou_threshold) < 1e-9)
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
    ) -> Self:
        """Return the protocol with some of its choices changed; None keeps the published one.

        `area_ranges` maps names to (lowest, highest) area; the range "all" is added in front if it is missing.
        `max_detections` may come in any order, as in the reference; None among them stands for all detections, as in
        [100, None]. One number stands for a list of one; a mapping of `iou_thresholds` has one for each category.
        `recall_positions`, of KITTI, are 40, or 11 as until 2019. `similarity` is a value, or a function of your own, see
        `apframe.UserSimilarity`; the `iou_type` becomes that of the similarity, where it has another.
        """
        options = {"iou_thresholds": iou_thresholds, "area_ranges": area_ranges, "max_detections": max_detections,
                   "agnostic": agnostic, "similarity": similarity}  # fmt: skip
        changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        if matching is not None:
            changes["matcher"] = self.matcher.named(matching)
        if iou_thresholds is not None:
            changes["category_thresholds"] = ()
        if recall_levels is not None:
            changes["definition"] = self.definition.at_levels(recall_levels)
        if recall_positions is not None:
            changes["definition"] = self.definition.at_positions(recall_positions)
        if agnostic is not None:
            changes["agnostic"] = bool(agnostic)
        if similarity is not None:
            changes["similarity"] = as_similarity(similarity)
            compared = iou_type_of(changes["similarity"])
            if compared not in (None, self.iou_type):
                changes |= {"iou_type": compared}
            return replace(self, **changes, variants=())
        return replace(self, **changes, variants=tuple(replace(variant, **changes) for variant in self.variants))

    def choices(self) -> dict[str, Any]:
        """Every choice by the name of its parameter: all but the variants."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}

    def as_dict(self) -> dict[str, Any]:
        """All choices as what JSON holds, without the variants; `from_dict` makes the protocol of them."""
        from apframe.protocols.rules.stored import rule_choices

        choices = self.choices() | {
            "parts": [asdict(part) for part in self.parts],
            "difficulties": [asdict(each) for each in self.difficulties],
            "matcher": {"matcher": self.matcher.name} | asdict(self.matcher),
            "rules": [rule_choices(rule) for rule in self.rules],
            "errors": None if self.errors is None else asdict(self.errors),
            "miss_rates": None if self.miss_rates is None else {"column": self.miss_rates.columns[0]} | asdict(self.miss_rates),
            "similarity": as_choices(self.similarity),
            "definition": {"name": self.definition.name} | asdict(self.definition),
            "own_metrics": [choices_of(metric) for metric in self.own_metrics],
        }
        return {name: choice for name, choice in choices.items() if name != "own_metrics" or choice}

    @classmethod
    def from_dict(cls, choices: Mapping[str, Any]) -> Self:
        """The protocol that `as_dict` was taken of.

        >>> Protocol.from_dict(Protocol("mine", "").as_dict()) == Protocol("mine", "")
        True
        """
        from apframe.protocols.rules.stored import rule_of

        made = {name: frozen(value) for name, value in choices.items()}
        chosen = dict(made.pop("definition"))
        definition: Any = as_definition(chosen.pop("name"))
        definition = replace(definition, **{name: frozen(value) for name, value in chosen.items()})
        rates = made["miss_rates"] and {**made["miss_rates"]}
        made |= {
            "parts": tuple(Part(**part) for part in made["parts"]),
            "similarity": as_similarity(made["similarity"]),
            "difficulties": tuple(Difficulty(**each) for each in made["difficulties"]),
            "matcher": matcher_of(made["matcher"]),
            "rules": tuple(rule_of(each) for each in made["rules"]),
            "errors": None if made["errors"] is None else as_errors(made["errors"]),
            "miss_rates": rates and metric_of({"metric": rates.pop("column"), **rates}),
            "own_metrics": tuple(metric_of(each) for each in made.get("own_metrics", ())),
        }
        return cls(definition=definition, **made)
