"""The kinds of errors as values: when a detection or an annotation is one, and what fixing it does."""

from __future__ import annotations

from dataclasses import dataclass

from apframe.listing import Listing


@dataclass(frozen=True)
class ErrorKind:
    """One kind of error.

    Attributes
    ----------
    name
        as the column `error` has it
    description
        in one sentence
    condition
        when a false positive or a missed annotation is of this kind, if it is of none before. t is the IoU threshold, b the
        background threshold; `same` and `other` are the largest similarities to annotations of its own and of other categories
    fix
        what fixing all errors of this kind does
    is_special
        whether it is not a kind of its own, but all false positives or all missed annotations
    """

    name: str
    description: str
    condition: str
    fix: str
    is_special: bool = False


ERROR_KINDS = {
    kind.name: kind
    for kind in (
        ErrorKind(
            "cls",
            "The detection fits an annotation of another category.",
            "not loc, and other >= t",
            "becomes a true positive of that category if the annotation was missed and no better error is for it; else removed",
        ),
        ErrorKind(
            "loc",
            "The category is right, but the place is too far off.",
            "b <= same <= t",
            "becomes a true positive if the annotation was missed and no better error is for it; else removed",
        ),
        ErrorKind(
            "both",
            "The category is wrong, and the place is too far off.",
            "none of the others, usually b < other < t",
            "removed",
        ),
        ErrorKind(
            "dupe",
            "Another detection matches the annotation already.",
            "neither loc nor cls, and an annotation with same >= t is matched",
            "removed",
        ),
        ErrorKind(
            "bkg",
            "The detection shows no object.",
            "same <= b and other <= b",
            "removed",
        ),
        ErrorKind(
            "miss",
            "No detection matches the annotation.",
            "a missed annotation that no error loc or cls is for",
            "the annotation is removed",
        ),
        ErrorKind(
            "fp",
            "All false positives: cls, loc, both, dupe and bkg.",
            "any false positive",
            "removed",
            is_special=True,
        ),
        ErrorKind(
            "fn",
            "All missed annotations, with those of cls and loc.",
            "any missed annotation",
            "the annotation is removed",
            is_special=True,
        ),
    )
}
"""By name, in the order of tables."""
ENDS = ("low", "high", "se")  # the columns of the intervals of what errors cost
OF_DETECTIONS = ("cls", "loc", "both", "dupe", "bkg")
KINDS = tuple(name for name, kind in ERROR_KINDS.items() if not kind.is_special)


def error_kinds(name: str | None = None) -> Listing:
    """List the kinds of errors of `Evaluation.errors` and `Evaluation.error_impact`, or describe the one of this name.

    The frame has name, description, condition, fix and is_special, and prints within 80 columns. In a condition, t is the IoU
    threshold, b the background threshold, and `same` and `other` are the largest similarities of a detection to annotations of
    its own and of other categories. The order of decision is loc, cls, dupe, bkg, both. An unknown name is a ParameterError.

    Source: Bolya et al., TIDE, ECCV 2020.

    >>> error_kinds("loc")["condition"].item()
    'b <= same <= t'
    """
    columns = ["name", "description", "condition", "fix", "is_special"]
    table = Listing({column: [getattr(kind, column) for kind in ERROR_KINDS.values()] for column in columns})
    return table.named("error kind", name)
