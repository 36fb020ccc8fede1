"""Rules as what JSON holds, and the rules of protocols that 0.5 stored as flags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

from apframe.exceptions import FormatError, ParameterError
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.wording import shown

_HOMES = {
    "bdd100k": "DisjointMasks",
    "citypersons": "AddVisibility",
    "crowdhuman": "ClipBoxes",
    "dota": "LeaveOutNarrow",
    "kitti": "RequireAlpha",
    "panoptic": "IgnoreMostlyVoid",
    "tinyperson": "IgnoreUncertain",
    "ultralytics": "LeaveOutRepeated",
    "visdrone": "ExclusionRegions",
    "waymo": "AddDifficultyLevel LimitSides NoLabelZones WarnOfScores",
    "wider_face": "AnnotatedImagesOnly",
    "rules.classes": "Classes",
    "rules.crowds": "CrowdsAsMisses CrowdsCountOnce CrowdsIgnored IgnoredAsCrowds",
    "rules.pair_columns": "MeasureErrors OrientationWeights",
    "rules.filters": "KeepObjects",
    "rules.hierarchy": "ExpandHierarchy",
    "rules.ignored": "AnnotationsWithArea DetectionsWithArea IgnoreFlagged IgnoreWithoutKeypoints IgnoreWithoutMask",
    "rules.judged": "JudgedOnly",
    "rules.levels": "ApplyLevels RequireImageBoxes",
    "rules.limits": "DetectedImagesOnly KnownImagesOnly LimitPerImage MeansByImages RankInImage RequireAtMost "
    "RequireKnownCategories ZeroWithoutDetections",
    "rules.malformed": "MalformedByHeight MalformedCounts MalformedDetectionsLeftOut MalformedEnclosed "
    "MalformedIgnoredByArea MalformedIntervalsTurned MalformedRefused MalformedSigned",
    "rules.standard": "BoxAnnotations BoxDetections CompleteSegments CopyShared EvaluatedCategories OrderByCategory "
    "ReadMasks TurnUpright",
}
RULES = {name: f"apframe.protocols.{module}:{name}" for module, names in _HOMES.items() for name in names.split()}
"""The rules by the names under which protocols are stored, and where each is. Add your own as "its_module:ItsClass"."""


def rule_choices(rule: Rule) -> dict[str, Any]:
    """Name and parameters of a rule as what JSON holds.

    Raises
    ------
    ParameterError
        the rule has no name in `RULES`, or a parameter that cannot be stored

    >>> from apframe.protocols.rules.limits import RequireAtMost
    >>> rule_choices(RequireAtMost(500))
    {'rule': 'RequireAtMost', 'limit': 500}
    """
    home = f"{type(rule).__module__}:{type(rule).__qualname__}"
    name = next((name for name, known in RULES.items() if known == home), None)
    if name is None:
        remedy = f'add it first: apframe.protocols.rules.stored.RULES["{type(rule).__name__}"] = "{home}"'
        raise ParameterError(f"{rule!r} has no name to be stored by", remedy, option="rules")
    choices = {"rule": name} | asdict(rule)
    try:
        json.dumps(choices)
    except TypeError as error:
        remedy = "its fields must be numbers, text, flags, None, or tuples of these"
        raise ParameterError(f"{rule!r} cannot be stored", remedy, option="rules") from error
    return choices


def rule_of(choices: Mapping[str, Any]) -> Rule:
    """The rule that `rule_choices` was taken of.

    Raises
    ------
    FormatError
        no rule of that name is in `RULES`, or its entry is wrong; what a stored evaluation names is never imported

    >>> rule_of({"rule": "RequireAtMost", "limit": 500})
    RequireAtMost(limit=500)
    """
    given = dict(choices)
    name = given.pop("rule")
    if name not in RULES:
        remedy = f'add it before you read: apframe.protocols.rules.stored.RULES[{shown(name)}] = "its_module:ItsClass"'
        raise FormatError(f"the rule {shown(name)} is not known here", remedy)
    try:
        module, kind = RULES[name].split(":")
        made: Rule = getattr(import_module(module), kind)(**given)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        problem = f"the rule {shown(name)} cannot be made ({error})"
        remedy = f"check apframe.protocols.rules.stored.RULES[{shown(name)}], which is {RULES[name]!r}, or evaluate again"
        raise FormatError(problem, remedy) from error
    return made


def rules_of_0_5(choices: Mapping[str, Any], malformed: Rule) -> list[Mapping[str, Any]]:
    """The rules that the flags of a protocol stand for, as 0.5.0 stored it, as `rule_choices` has them.

    Parameters
    ----------
    choices
        the protocol; they may lack flags that are not set
    malformed
        what becomes of malformed rows, which 0.5.0 did not store

    >>> from apframe.protocols.rules.malformed import MalformedCounts
    >>> [rule["rule"] for rule in rules_of_0_5({"crowds": "ordinary", "judged_only": True}, MalformedCounts())][-3:]
    ['BoxDetections', 'CopyShared', 'JudgedOnly']
    """
    flags = {*choices.get("ignores", ()), *(name for name, value in choices.items() if value is True)}
    crowds = {"ignored": ["CrowdsIgnored"], "counted": ["CrowdsCountOnce"], "ordinary": list[str]()}
    rules: list[str | Rule] = [
        *(["LimitPerImage"] if "per_image" in flags else []),
        malformed,
        *STANDARD_SHAPES,
        *(["AnnotationsWithArea"] if "with_area_only" in flags else []),
        *(["ExpandHierarchy"] if "expands_hierarchy" in flags else []),
        *STANDARD_LISTS,
        *(["JudgedOnly"] if "judged_only" in flags else []),
        *(["DetectionsWithArea"] if "with_area_only" in flags else []),
        *(["DetectedImagesOnly"] if "detected_images_only" in flags else []),
        *crowds[choices.get("crowds", "ignored")],
        *(["IgnoreFlagged"] if "ignore" in flags else []),
        *(["IgnoreWithoutKeypoints"] if "no_keypoints" in flags else []),
    ]
    return [rule_choices(rule_of({"rule": rule}) if isinstance(rule, str) else rule) for rule in rules]


def matcher_of_0_5(choices: Mapping[str, Any]) -> dict[str, Any]:
    """The matcher of a protocol as 0.5.0 stored it.

    >>> matcher_of_0_5({"matching": "score", "ties": "input", "crowds": "ignored"})
    {'ties': 'input', 'matcher': 'score'}
    """
    own = {name: choices[name] for name in ("ties", "strict") if name in choices}
    groups = {"counts_groups": True} if choices.get("crowds") == "counted" else {}
    return own | {"matcher": choices.get("matching", "score")} | groups


FLAGS_OF_0_5 = (
    "crowds", "ignores", "per_image", "judged_only", "expands_hierarchy", "detected_images_only", "with_area_only",
    "matching", "strict", "ties",
)  # fmt: skip
"""What rules and matchers stand for today."""
