"""The matching policies, each a frozen value: who is matched with whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


@dataclass(frozen=True)
class MatchingPolicy:
    """One way to match detections with annotations.

    Attributes
    ----------
    name
        what `matching=` takes
    description
        the rule in words
    cutting_is_filtering
        whether leaving out the detections below a score changes no match of the others. If not, a verdict belongs to an
        operating point: whatever cuts by score matches again
    removes_ignored
        whether crowds and ignored annotations are left out before matching; otherwise what is matched to them is ignored
    counts_groups
        whether a group of objects can count as one positive (`crowds="counted"`)
    home
        the module and the name of the function, imported when something is matched
    chooses
        the same for the matches whose scores the cut-offs are chosen from, where the data decide about these
    touches_crowds
        whether a detection that matches nothing else matches every crowd that it overlaps at all
    is_shared
        whether a detection is matched with every annotation that it is similar enough to, as copies of it
    is_of_nearest
        whether all that matters of a detection is its most similar annotation, even if this reaches no threshold
    at_cut_offs
        whether average precision is made of the counts at score cut-offs, each matched anew, as only some definitions are
    counts_everywhere
        whether a match with an annotation that counts in some area range is a true positive in all of them
    """

    name: str
    description: str
    home: str
    cutting_is_filtering: bool = True
    removes_ignored: bool = False
    counts_groups: bool = False
    chooses: str = ""
    at_cut_offs: bool = False
    counts_everywhere: bool = False
    is_of_nearest: bool = False
    touches_crowds: bool = False
    is_shared: bool = False

    @property
    def first_pass(self) -> MatchingPolicy | None:
        """The policy that finds the scores to choose cut-offs from."""
        return replace(self, home=self.chooses, chooses="") if self.chooses else None

    def assign(
        self,
        pairs: pl.DataFrame,
        is_crowd: np.ndarray,
        ignored: np.ndarray,
        thresholds: np.ndarray,
        *,
        strict: bool,
        count_groups: bool = False,
    ) -> pl.DataFrame:
        """The assignments, see `apframe.matching.assignments`; `count_groups` only where the policy `counts_groups`."""
        module, function = self.home.split(":")
        options = {"count_groups": count_groups} if self.counts_groups else {}
        assigned: pl.DataFrame = getattr(import_module(f"apframe.matching.{module}"), function)(
            pairs, is_crowd, ignored, thresholds, strict=strict, **options
        )
        return assigned


TIES = {
    "image": "equal scores are ordered by image",
    "input": "equal scores stay in the order of the input",
    "later": "of equal scores, the last in the input comes first",
}
"""In what order detections of equal scores are."""
POLICIES = {
    policy.name: policy
    for policy in (
        MatchingPolicy(
            "score",
            "each detection, best score first, takes the most similar free annotation",
            "by_score:match_by_score",
        ),
        MatchingPolicy(
            "best_overlap",
            "a detection can match only its most similar annotation; if a better detection has it, it is a false positive",
            "by_best_overlap:match_by_best_overlap",
            counts_groups=True,
        ),
        MatchingPolicy(
            "nearest",
            "each detection, best score first, takes the most similar free annotation; of equally similar ones the first",
            "by_score:match_nearest",
        ),
        MatchingPolicy(
            "claimant",
            "each detection claims its most similar annotation, however far away; each annotation accepts the best ranked one",
            "by_claim:match_by_claim",
            is_of_nearest=True,
        ),
        MatchingPolicy(
            "shared",
            "a detection matches every annotation that it is similar enough to; of several detections, the best ranked counts "
            "and the others are ignored",
            "shared:match_shared",
            is_shared=True,
        ),
        MatchingPolicy(
            "similarity",
            "the most similar pair is matched first, then the next, whatever the scores",
            "by_similarity:match_by_similarity",
            cutting_is_filtering=False,
            removes_ignored=True,
        ),
        MatchingPolicy(
            "optimal",
            "the one-to-one assignment with the largest total similarity",
            "optimal:match_optimally",
            cutting_is_filtering=False,
        ),
        MatchingPolicy(
            "by_annotation",
            "each annotation, in the order of the file, takes the most similar free detection; anew at each score cut-off",
            "by_annotation:match_by_annotation",
            cutting_is_filtering=False,
            chooses="by_annotation:match_best_scores",
            at_cut_offs=True,
        ),
        MatchingPolicy(
            "file_order",
            "each annotation, in the order of the file, takes the most similar free detection; what is left over and overlaps "
            "a group at all is ignored",
            "by_annotation:match_in_file_order",
            cutting_is_filtering=False,
            touches_crowds=True,
        ),
        MatchingPolicy(
            "largest_sum",
            "the one-to-one assignment with the largest total of round(1e6 similarity); anew at each score cut-off",
            "largest_sum:match_largest_sum",
            cutting_is_filtering=False,
            at_cut_offs=True,
            counts_everywhere=True,
        ),
        MatchingPolicy(
            "score_first",
            "each detection, best score first, takes the most similar free annotation, whether it counts or not",
            "largest_sum:match_scores_first",
            at_cut_offs=True,
            counts_everywhere=True,
        ),
    )
}
