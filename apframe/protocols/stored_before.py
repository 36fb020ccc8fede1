"""Protocols in the format of 0.5.0: flags, and fields that other values replace today."""

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
    """Convert the choices of a protocol from the format of 0.5.0 to today's.

    0.5.0 did not store the treatment of malformed rows. It is copied from the published protocol of this name, or else from the
    most similar one.

    >>> brought_up({"name": "COCO", "crowds": "ignored"})["rules"][0]
    {'rule': 'MalformedIgnoredByArea'}
    """
    plain = Protocol("", "")
    own = plain.as_dict() | from_0_5(choices, plain.malformed)
    return own | from_0_5(choices, _like(own).malformed)


def _like(choices: Mapping[str, Any]) -> Protocol:
    """Return the published protocol of this name, or else the most similar one."""
    if choices["name"] in PUBLISHED:
        return PUBLISHED[choices["name"]]

    def n_alike(published: Protocol) -> int:
        published_choices = {name: frozen(choice) for name, choice in published.as_dict().items()}
        n_rules = sum(frozen(rule) in published_choices["rules"] for rule in choices["rules"])
        return n_rules + sum(frozen(choice) == published_choices[name] for name, choice in choices.items())

    of_all = [each.variant(iou_type) for each in PUBLISHED.values() for iou_type in each.iou_types]
    return max(Protocol("", ""), *of_all, key=n_alike)


def rules_of_0_5(choices: Mapping[str, Any], malformed: Rule) -> list[Mapping[str, Any]]:
    """Return the rules for the flags of a protocol that 0.5.0 stored.

    Parameters
    ----------
    choices
        the protocol; flags that are not set may be absent
    malformed
        the rule for malformed rows, which 0.5.0 did not store

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
    """Return a protocol in the format of `as_dict` from the format of 0.5.0: flags, and fields that other values replace.

    >>> from apframe.protocols.rules.malformed import MalformedCounts
    >>> stored = {"name": "mine", "definition": {"name": "step"}, "matching": "score", "ties": "input", "report": ["AP"]}
    >>> choices = from_0_5(stored, MalformedCounts())
    >>> choices["matcher"], choices["headlines"], choices["metrics"][0]["definition"]
    ({'matcher': 'score', 'ties': 'input'}, ['AP'], {'definition': 'step'})
    """
    own = dict(choices)
    definition, crowds = dict(own.pop("definition", {"name": COCO_101.name})), own.get("crowds")
    matcher = {"matcher": own.pop("matching", "score")} | {name: own.pop(name) for name in ("ties", "strict") if name in own}
    definition["definition"] = definition.pop("name")
    metric = {"metric": "average_precision", "definition": definition, "addend": SPACING, "counts_absent": False}
    ranges = own.pop("area_ranges", [["all", 0.0, 1e10]])
    new = {
        "rules": rules_of_0_5(own, malformed),
        "matcher": matcher | ({"counts_groups": True} if crowds == "counted" else {}),
        "metrics": [metric],
        "ranges": [{"range": "area", "name": name, "low": low, "high": high} for name, low, high in ranges],
        "headlines": [*own.pop("report", ()), *own.pop("parts", ())],
    }
    return {name: value for name, value in own.items() if name not in _FLAGS} | new
