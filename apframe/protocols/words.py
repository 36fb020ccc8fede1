"""A protocol in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from apframe.protocols.protocol import ALL_AREAS, CROWDS, IGNORES, MATCHINGS, TIES, Part, Protocol, short
from apframe.protocols.published import departures
from apframe.protocols.summary import headlines


def describe(protocol: Protocol) -> str:
    """The rules of a protocol, a line for each, with the citation.

    >>> from apframe.protocols.voc import VOC2007
    >>> print("\\n".join(describe(VOC2007).splitlines()[2:5]))
    compares    bbox: intersection over union of boxes, one pixel added to widths and heights
    matching    a detection looks at its most similar annotation only; if a better one has that, it is a false positive
    thresholds  similarity above 0.5
    """
    others = f" (also {', '.join(protocol.iou_types[1:])})" if protocol.variants else ""
    removes = protocol.matching == "similarity"
    above = "above" if protocol.strict else "of at least"
    areas = ", ".join(f"{name} {low:g} to {high:g}" for name, low, high in protocol.area_ranges)
    lines = [
        ("compares", f"{protocol.iou_type}: {protocol.similarity.words}{others}"),
        ("matching", MATCHINGS[protocol.matching]),
        ("thresholds", f"similarity {above} {_few(protocol.iou_thresholds)}"),
        ("precision", f"AP by the definition {protocol.definition}: {protocol.definition.formula}"),
        ("detections", _limits(protocol)),
        ("crowds", "left out" if removes else CROWDS[protocol.crowds]),
        ("ties", TIES[protocol.ties]),
        ("ignored", _ignored(protocol)),
        ("categories", _categories(protocol)),
        ("areas", "" if protocol.area_ranges == (ALL_AREAS,) else f"{areas} square pixels"),
        ("parts", "; ".join(_part(part) for part in protocol.parts)),
        ("summary", " ".join(line.metric for line in headlines(protocol, with_parts=True))),
        ("departs", f"from {protocol.name} as published in {', '.join(departures(protocol))}" if departures(protocol) else ""),
    ]
    return "\n".join([protocol.name, protocol.citation, *(f"{name:<12}{text}" for name, text in lines if text)])


def _few(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values) if len(values) <= 4 else short(values)


def _limits(protocol: Protocol) -> str:
    limits = ["all" if limit is None else str(limit) for limit in protocol.max_detections]
    left_out = "; images without any are left out" if protocol.detected_images_only else ""
    left_out += "; objects without area are left out" if protocol.with_area_only else ""
    if limits == ["all"]:
        return f"all of them{left_out}"
    of = "image" if protocol.per_image or protocol.agnostic else "image and category"
    return f"at most {', '.join(limits)} per {of}, by score{left_out}"


def _ignored(protocol: Protocol) -> str:
    outside = [] if protocol.area_ranges == (ALL_AREAS,) else ["outside the area range"]
    flags = [*outside, *(IGNORES[name] for name in protocol.ignores)]
    if not flags:
        return ""
    which = f"annotations {' or '.join(flags)}"
    return f"nothing: {which} are left out" if protocol.matching == "similarity" else f"{which}, and what is matched to them"


def _categories(protocol: Protocol) -> str:
    words = ["pooled" if protocol.agnostic else "each on its own, then the mean over those with annotations"]
    if protocol.expands_hierarchy:
        words.append("annotations count for the parents of their category too")
    if protocol.judged_only:
        words.append("judged only on images where they are annotated or verified")
    return "; ".join(words)


def _part(part: Part) -> str:
    low = "" if part.above == float("-inf") else f" above {part.above:g}"
    high = "" if part.up_to == float("inf") else f" up to {part.up_to:g}"
    return f"{part.name}: {part.table} with {part.column} {part.equals if part.equals is not None else (low + high).strip()}"
