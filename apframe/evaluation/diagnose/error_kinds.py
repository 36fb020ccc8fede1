"""The types of errors as values: the condition for a detection or an annotation, and the effect of fixing it."""

from __future__ import annotations

from dataclasses import dataclass

from apframe.listing import Listing


@dataclass(frozen=True)
class ErrorKind:
    """One type of error.

    Attributes
    ----------
    name
        the value in the column `error`
    description
        one sentence
    condition
        the condition for a false positive or a missed annotation that is of no earlier type. t is the IoU threshold, b the
        background threshold; `same` and `other` are the largest similarities to annotations of its own and of other categories
    fix
        the effect of fixing all errors of this type
    is_special
        whether it is not a type of its own, but all false positives or all missed annotations
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
"""The types of errors by name, in the order of tables."""
ENDS = ("low", "high", "se")  # the columns of the intervals of errors' costs
OF_DETECTIONS = ("cls", "loc", "both", "dupe", "bkg")
KINDS = tuple(name for name, kind in ERROR_KINDS.items() if not kind.is_special)


def error_kinds(name: str | None = None) -> Listing:
    """List the kinds of errors of `Evaluation.errors` and `Evaluation.error_impact`, or describe the one with this name.

    The frame has name, description, condition, fix and is_special, and prints within 80 columns. In a condition, t is the IoU
    threshold, b the background threshold, and `same` and `other` are the largest similarities of a detection to annotations of
    its own and of other categories. They are decided in the order loc, cls, dupe, bkg, both. An unknown name is a
    ParameterError.

    Source: Bolya et al., TIDE, ECCV 2020.

    >>> error_kinds("loc")["condition"].item()
    'b <= same <= t'
    """
    columns = ["name", "description", "condition", "fix", "is_special"]
    table = Listing({column: [getattr(kind, column) for kind in ERROR_KINDS.values()] for column in columns})
    return table.named("error type", name)
