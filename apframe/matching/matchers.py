"""The matchers: rules of who is matched with whom, as frozen values with their parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

PairsRead = Literal["reaching", "nearest", "crowds", "copies"]
TIES = {
    "image": "equal scores are ordered by image",
    "input": "equal scores stay in the order of the input",
    "later": "of equal scores, the last in the input comes first",
}
"""The order of detections with equal scores."""


@dataclass(frozen=True)
class Matcher:
    """A rule of who is matched with whom; each subclass is one rule.

    Attributes
    ----------
    ties
        order of detections with equal scores: "image" (by image id, pooled categories one after the other), "input" or
        "later" (the last in the input first)
    strict
        whether a similarity must exceed the threshold; otherwise reaching it is enough
    name
        the name that `matching=` accepts
    description
        the rule in words
    cutting_is_filtering
        whether leaving out the detections below a score changes no match of the others. If not, verdicts belong to an
        operating point, and every cut by score matches again
    wants
        the pairs that it reads: "reaching" a threshold; "nearest", the most similar annotation of each detection, however far
        away; "crowds", those that reach a threshold, and of crowds all that overlap; "copies", each on a copy of its detection
    at_score_cutoffs
        whether average precision is computed from the counts at score cut-offs, each matched anew; only some definitions are
    counts_everywhere
        whether a match with an annotation that counts in some area range is a true positive in all of them
    knows_void
        whether it supports void detections, which use up what they match and count for nothing; see `Level.detections`
    """

    ties: str = "image"
    strict: bool = False
    name: ClassVar[str]
    description: ClassVar[str]
    home: ClassVar[str]
    cutting_is_filtering: ClassVar[bool] = True
    wants: ClassVar[PairsRead] = "reaching"
    at_score_cutoffs: ClassVar[bool] = False
    counts_everywhere: ClassVar[bool] = False
    knows_void: ClassVar[bool] = False

    @property
    def finds_groups(self) -> bool:
        """True if a detection can be a true positive of a group of objects that counts; otherwise the group is missed."""
        return False

    @property
    def first_pass(self) -> Matcher | None:
        """The matcher that finds the scores from which cut-offs are chosen, if cut-offs depend on the data."""
        return None

    def require_reaching(self, what: str, remedy: str, option: str) -> None:
        """Raise an error if the matcher uses other pairs than those that reach a threshold, which `what` requires.

        Raises
        ------
        ParameterError
            the matcher uses other pairs; the error names `option`, which requested `what`, and the remedy
        """
        if self.wants in ("nearest", "crowds"):
            raise ParameterError(f"matching {self.name!r} does not accept {what}", remedy, option=option)

    def match(self, pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray) -> pl.DataFrame:
        """Return the assignments, see `apframe.matching.assignments`.

        >>> import numpy as np
        >>> import polars as pl
        >>> pairs = pl.DataFrame({"detection": [0], "annotation": [0], "similarity": [0.5]})
        >>> ByScore(strict=True).match(pairs, np.array([False]), np.array([[False]]), np.array([0.5])).height
        0
        """
        return self._assign(pairs, is_crowd, ignored, thresholds)

    def _assign(self, *arrays: pl.DataFrame | np.ndarray, **options: bool) -> pl.DataFrame:
        module, function = self.home.split(":")  # imported when something is matched
        assign = getattr(import_module(module), function)
        assigned: pl.DataFrame = assign(*arrays, strict=self.strict, **options)
        return assigned

    def like(self, other: Matcher) -> Self:
        """Return this matcher with the ties and the strictness of another one.

        >>> Optimal().like(ByScore(ties="input", strict=True))
        Optimal(ties='input', strict=True)
        """
        return replace(self, ties=other.ties, strict=other.strict)

    def named(self, name: str) -> Matcher:
        """Return the matcher with a name, in any case and with any joining of words, with the ties and strictness of this one.

        Raises
        ------
        ParameterError
            no matcher has this name

        >>> ByBestOverlap(ties="later").named("Best-Overlap"), ByBestOverlap(ties="later").named("score")
        (ByBestOverlap(ties='later', strict=False, counts_groups=False), ByScore(ties='later', strict=False))
        """
        matching = one_of("matching", MATCHERS.resolve(name) or name, list(MATCHERS))
        return self if matching == self.name else MATCHERS[matching]().like(self)


@dataclass(frozen=True)
class ByScore(Matcher):
    """Matching as in COCO: each detection, best score first, takes the most similar free annotation; of equal ones the last."""

    name: ClassVar[str] = "score"
    description: ClassVar[str] = "each detection, best score first, takes the most similar free annotation"
    home: ClassVar[str] = "apframe.matching.by_score:match_by_score"


@dataclass(frozen=True)
class ByScoreFirstOfEquals(Matcher):
    """Matching by score as in COCO, but the first of equally similar annotations is taken."""

    name: ClassVar[str] = "nearest"
    description: ClassVar[str] = (
        "each detection, best score first, takes the most similar free annotation; of equally similar ones the first"
    )
    home: ClassVar[str] = "apframe.matching.by_score:match_nearest"


@dataclass(frozen=True)
class ByBestOverlap(Matcher):
    """Matching as in VOC and Open Images: a detection considers only its most similar annotation, free or not.

    Attributes
    ----------
    counts_groups
        whether one detection of each group of objects is a true positive, as in Open Images' challenges
    """

    name: ClassVar[str] = "best_overlap"
    description: ClassVar[str] = (
        "a detection can match only its most similar annotation; if a better detection has it, it is a false positive"
    )
    home: ClassVar[str] = "apframe.matching.by_best_overlap:match_by_best_overlap"
    counts_groups: bool = False

    @property
    def finds_groups(self) -> bool:
        """True if the best detection of a group is a true positive."""
        return self.counts_groups

    def match(self, pairs: pl.DataFrame, is_crowd: np.ndarray, ignored: np.ndarray, thresholds: np.ndarray) -> pl.DataFrame:
        """Return the assignments, see `match_by_best_overlap`."""
        return self._assign(pairs, is_crowd, ignored, thresholds, count_groups=self.counts_groups)


@dataclass(frozen=True)
class Shared(Matcher):
    """Matching that shares annotations: a detection matches every annotation whose similarity reaches the threshold."""

    name: ClassVar[str] = "shared"
    description: ClassVar[str] = (
        "a detection matches every annotation that it is similar enough to; of several detections, the best ranked counts and "
        "the others are ignored"
    )
    home: ClassVar[str] = "apframe.matching.shared:match_shared"
    wants: ClassVar[PairsRead] = "copies"


@dataclass(frozen=True)
class BySimilarity(Matcher):
    """Matching as in Detectron's proposal recall: the most similar pair first, then the next, whatever the scores."""

    name: ClassVar[str] = "similarity"
    description: ClassVar[str] = (
        "the most similar pair is matched first, then the next, whatever the scores; ignored annotations are left out"
    )
    home: ClassVar[str] = "apframe.matching.by_similarity:match_by_similarity"
    cutting_is_filtering: ClassVar[bool] = False


@dataclass(frozen=True)
class Optimal(Matcher):
    """One-to-one matching with the largest total similarity; requires SciPy."""

    name: ClassVar[str] = "optimal"
    description: ClassVar[str] = "the one-to-one assignment with the largest total similarity"
    home: ClassVar[str] = "apframe.matching.optimal:match_optimally"
    cutting_is_filtering: ClassVar[bool] = False


@dataclass(frozen=True)
class ByAnnotation(Matcher):
    """Matching by annotation: each annotation, in file order, takes a detection; anew at each score cut-off."""

    name: ClassVar[str] = "by_annotation"
    description: ClassVar[str] = (
        "each annotation, in the order of the file, takes the most similar free detection; anew at each score cut-off"
    )
    home: ClassVar[str] = "apframe.matching.by_annotation:match_by_annotation"
    cutting_is_filtering: ClassVar[bool] = False
    at_score_cutoffs: ClassVar[bool] = True
    knows_void: ClassVar[bool] = True

    @property
    def first_pass(self) -> Matcher:
        """The first pass, in which each annotation takes the free detection with the best score."""
        return _BestScores().like(self)


@dataclass(frozen=True)
class _BestScores(ByAnnotation):
    """The first pass, which chooses the score cut-offs: each annotation takes the detection with the best score."""

    home: ClassVar[str] = "apframe.matching.by_annotation:match_best_scores"


@dataclass(frozen=True)
class InFileOrder(Matcher):
    """Matching by annotation, once for all scores: each annotation, in file order, takes a detection."""

    name: ClassVar[str] = "file_order"
    description: ClassVar[str] = (
        "each annotation, in the order of the file, takes the most similar free detection; what is left over and overlaps a "
        "group at all is ignored"
    )
    home: ClassVar[str] = "apframe.matching.by_annotation:match_in_file_order"
    cutting_is_filtering: ClassVar[bool] = False
    wants: ClassVar[PairsRead] = "crowds"


@dataclass(frozen=True)
class LargestSum(Matcher):
    """Matching with the largest total similarity, anew at each score cut-off; requires SciPy."""

    name: ClassVar[str] = "largest_sum"
    description: ClassVar[str] = (
        "the one-to-one assignment with the largest total of round(1e6 similarity); anew at each score cut-off"
    )
    home: ClassVar[str] = "apframe.matching.largest_sum:match_largest_sum"
    cutting_is_filtering: ClassVar[bool] = False
    at_score_cutoffs: ClassVar[bool] = True
    counts_everywhere: ClassVar[bool] = True


_CORE = (ByScore, ByBestOverlap, ByScoreFirstOfEquals, Shared, BySimilarity, Optimal, ByAnnotation, InFileOrder, LargestSum)
MATCHERS: Registry[type[Matcher]] = Registry({**{kind.name: kind for kind in _CORE}, **static_table.MATCHERS})
"""The matchers by the names that `matching=` accepts. Add your own as "its_module:ItsClass"."""
