"""Protocols as 0.5.0 stored them: flags, and fields that other values stand for today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import SPACING
from apframe.protocols.protocol import Protocol
from apframe.protocols.protocol_json import STORED_RULES
from apframe.protocols.published import PUBLISHED
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.wording import frozen

_FLAGS = (
    "crowds", "ignores", "per_image", "judged_only", "expands_hierarchy", "detected_images_only", "with_area_only",
)  # fmt: skip


def brought_up(choices: Mapping[str, Any]) -> dict[str, Any]:
    """The choices of a protocol as they are stored today, from those that 0.5.0 stored.

    What becomes of malformed rows, which 0.5.0 did not store, is as in the published protocol of this name, or else in the one
    that is most like it.

    >>> brought_up({"name": "COCO", "crowds": "ignored"})["rules"][0]
    {'rule': 'MalformedIgnoredByArea'}
    """
    plain = Protocol("", "")
    own = plain.as_dict() | from_0_5(choices, plain.malformed)
    return own | from_0_5(choices, _like(own).malformed)


def _like(choices: Mapping[str, Any]) -> Protocol:
    """The published protocol of this name, or else the one that is most like it."""
    if choices["name"] in PUBLISHED:
        return PUBLISHED[choices["name"]]

    def n_alike(published: Protocol) -> int:
        known = {name: frozen(choice) for name, choice in published.as_dict().items()}
        n_rules = sum(frozen(rule) in known["rules"] for rule in choices["rules"])
        return n_rules + sum(frozen(choice) == known[name] for name, choice in choices.items())

    of_all = [each.variant(iou_type) for each in PUBLISHED.values() for iou_type in each.iou_types]
    return max(Protocol("", ""), *of_all, key=n_alike)


def rules_of_0_5(choices: Mapping[str, Any], malformed: Rule) -> list[Mapping[str, Any]]:
    """The rules that the flags of a protocol stand for, as 0.5.0 stored it.

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
    return [{"rule": rule} if isinstance(rule, str) else STORED_RULES.choices(rule) for rule in rules]


def from_0_5(choices: Mapping[str, Any], malformed: Rule) -> dict[str, Any]:
    """A protocol as `as_dict` has it, from what 0.5.0 stored: flags, and fields that other values stand for today.

    >>> from apframe.protocols.rules.malformed import MalformedCounts
    >>> given = {"name": "mine", "definition": {"name": "step"}, "matching": "score", "ties": "input", "report": ["AP"]}
    >>> made = from_0_5(given, MalformedCounts())
    >>> made["matcher"], made["headlines"], made["metrics"][0]["definition"]
    ({'matcher': 'score', 'ties': 'input'}, ['AP'], {'definition': 'step'})
    """
    own = dict(choices)
    definition, crowds = dict(own.pop("definition", {"name": COCO_101.name})), own.get("crowds")
    matcher = {"matcher": own.pop("matching", "score")} | {name: own.pop(name) for name in ("ties", "strict") if name in own}
    definition["definition"] = definition.pop("name")
    metric = {"metric": "average_precision", "definition": definition, "addend": SPACING, "counts_absent": False}
    ranges = own.pop("area_ranges", [["all", 0.0, 1e10]])
    made = {
        "rules": rules_of_0_5(own, malformed),
        "matcher": matcher | ({"counts_groups": True} if crowds == "counted" else {}),
        "metrics": [metric],
        "ranges": [{"range": "area", "name": name, "low": low, "high": high} for name, low, high in ranges],
        "headlines": [*own.pop("report", ()), *own.pop("parts", ())],
    }
    return {name: value for name, value in own.items() if name not in _FLAGS} | made
