"""Protocols in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from apframe.listing import html_table
from apframe.matching.matchers import TIES
from apframe.protocols.headlines import Headline, headlines
from apframe.protocols.published import departures
from apframe.protocols.ranges import ALL, AreaRange
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.wording import short

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_WITHOUT_SCORES = "a detection and an annotation that reach the threshold; segments do not overlap, so there is at most one"

_ORDINARY = "crowds are annotations like any other"


def describe(protocol: Protocol) -> str:
    """Describe the rules of a protocol, one line each, with the citation.

    >>> from apframe.protocols.voc import VOC2007
    >>> print("\\n".join(describe(VOC2007).splitlines()[4:6]))
    matching    a detection can match only its most similar annotation; if a better detection has it, it is a false positive
    thresholds  similarity above 0.5
    """
    return "\n".join([protocol.name, protocol.citation, *(f"{name:<12}{text}" for name, text in _rules(protocol))])


def in_short(protocol: Protocol) -> str:
    """Describe the rules in which most protocols differ, in one line.

    >>> from apframe.protocols.voc import VOC2007
    >>> in_short(VOC2007)[:60]
    'Protocol(VOC2007, bbox: matcher best_overlap; IoU above 0.5;'
    """
    areas = ", ".join(map(str, protocol.ranges))
    bound = ("below " if _is_distance(protocol) else "above ") * protocol.matcher.strict
    levels = f", recall levels {short(protocol.recall_levels)}" if protocol.recall_levels else ""
    pooled = "; categories pooled" if protocol.agnostic else ""
    return (
        f"Protocol({protocol.name}, {protocol.iou_type}: matcher {protocol.matcher.name}; "
        f"{protocol.similarity.measure} {bound}{_values(protocol)}; {protocol.definition}{levels}; areas {areas}; "
        f"max_detections {protocol.max_detections}{pooled})"
    )


def as_html(protocol: Protocol) -> str:
    """Return the lines of `describe` as HTML: the name and the citation, then a table of the rules.

    >>> from apframe.protocols.voc import VOC2007
    >>> as_html(VOC2007)[:63]
    '<p>VOC2007: Everingham et al., The PASCAL Visual Object Classes'
    """
    head = f"<p>{escape(f'{protocol.name}: {protocol.citation}')}</p>"
    return head + html_table(["rule", "meaning"], _rules(protocol), align="left")


def _rules(protocol: Protocol) -> list[tuple[str, str]]:
    """Return the name of each rule, and the rule in words."""
    others = f" (also {', '.join(protocol.iou_types[1:])})" if protocol.variants else ""
    areas = [each.words for each in protocol.ranges if isinstance(each, AreaRange)]
    summary = headlines(protocol, with_parts=True)
    by_definition = any(line.kind.is_by_definition for line in summary)
    texts: dict[str, list[str]] = {}
    for metric in protocol.metrics:
        texts.setdefault(metric.line, []).append(metric.describe())
    if protocol.errors is not None:
        formulas = (f"{line.metric} is {own.formula}" for line in summary if (own := line.kind.composition) and own.formula)
        texts["errors"] = [protocol.errors.describe(), *formulas]
    changed = departures(protocol)
    null = [line.metric for line in summary if not line.is_evaluated(protocol)]
    lines = [
        ("compares", f"{protocol.iou_type}: {protocol.similarity.words}{others}"),
        ("needs", _needs(protocol)),
        ("matching", protocol.matcher.description if protocol.has_scores else _WITHOUT_SCORES),
        ("thresholds", _thresholds(protocol)),
        ("precision", "; ".join(texts.get("precision", ())) if by_definition else ""),
        ("detections", _limits(protocol)),
        ("crowds", _said(protocol, "crowds") or _ORDINARY),
        ("numbers", "; ".join(texts.get("numbers", ()))),
        ("ties", TIES[protocol.matcher.ties] if protocol.has_scores else ""),
        ("kept", _said(protocol, "kept")),
        ("ignored", _ignored(protocol)),
        ("categories", _categories(protocol)),
        ("areas", f"{', '.join(areas)} square pixels" if areas and protocol.ranges != (ALL,) else ""),
        ("levels", "; ".join(each.words for each in protocol.levels)),
        ("oriented", f"{_oriented(summary)}: {oriented}" if (oriented := _said(protocol, "oriented")) else ""),
        ("also", _said(protocol, "also")),
        *((line, "; ".join(texts.get(line, ()))) for line in ("errors", "miss rates", "metrics")),
        ("malformed", protocol.malformed.says["malformed"]),
        ("parts", "; ".join(part.words for part in protocol.parts)),
        ("summary", " ".join(line.metric for line in summary) + (f"; not evaluated: {', '.join(null)}" if null else "")),
        ("departs", f"from {protocol.name} as published in {', '.join(changed)}" if changed else ""),
    ]
    return [line for line in lines if line[1]]


_OR = {"annotations.level": "n_points", "annotations.vis_ratio": "vis_bbox"}  # columns that may replace others


def _said(protocol: Protocol, line: str, separator: str = "; ") -> str:
    """Return the rules' texts for a line of the description."""
    return separator.join(words for rule in protocol.rules if (words := rule.says.get(line)))


def _needs(protocol: Protocol) -> str:
    """Describe the compared shape and the columns that ranges require, then the columns that rules read if present."""
    similarity = protocol.similarity
    of_ranges = dict.fromkeys(name for each in protocol.ranges for name in each.reads)
    columns = [name for name in of_ranges if similarity.shape is not BOXES or name.split(".")[1] not in BOX]
    required = [similarity.reads, *(f"{name} (or {_OR[name]})" if name in _OR else name for name in columns)]
    read = ["annotations.area"] if protocol.ranges != (ALL,) and not protocol.levels else []
    read += [name for rule in protocol.rules for name in rule.reads]
    read += ["images.image_width, images.image_height (width, height in JSON)"] if "mask" in similarity.needs else []
    for place in dict.fromkeys(f"{part.table}.{part.column}" for part in protocol.parts):
        values = [value for part in protocol.parts if f"{part.table}.{part.column}" == place for value in part.values]
        read.append(f"{place} ({', '.join(dict.fromkeys(values))})" if values else place)
    optional = f"; if given: {', '.join(dict.fromkeys(read))}" if read else ""
    optional += f"; for errors, of both: {', '.join(protocol.errors.needs)}" if protocol.errors else ""
    return f"annotations and detections: {', '.join(required)}{optional}"


def _few(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values) if len(values) <= 4 else short(values)


def _is_distance(protocol: Protocol) -> bool:
    return protocol.similarity.bounds[1] <= 0


def _values(protocol: Protocol) -> str:
    """Return the thresholds as text; distances have no sign and begin with the shortest."""
    values = protocol.iou_thresholds
    return _few([-value for value in reversed(values)] if _is_distance(protocol) else values)


def _thresholds(protocol: Protocol) -> str:
    values = ", ".join(f"{abs(threshold):g} ({name})" for name, threshold in protocol.category_thresholds) or _values(protocol)
    if not _is_distance(protocol):
        return f"similarity {'above' if protocol.matcher.strict else 'of at least'} {values}"
    bound = f"{'below' if protocol.matcher.strict else 'of at most'} {values} {protocol.similarity.unit}"
    return f"distance {bound}; tables show it as a negative similarity"


def _limits(protocol: Protocol) -> str:
    limits = ["all" if limit is None else str(limit) for limit in protocol.max_detections]
    most = "all of them" if limits == ["all"] else f"at most {', '.join(limits)} {protocol.limit_rule.counted(protocol)}"
    return "; ".join(filter(None, [most, _said(protocol, "detections")]))


def _ignored(protocol: Protocol) -> str:
    outside = "" if protocol.ranges == (ALL,) else protocol.ranges[0].outside
    flags = [outside, *(_said(protocol, line, " or ") for line in ("ignored", "ignored as"))]
    if not any(flags):
        return ""
    which = f"annotations {' or '.join(filter(None, flags))}"
    if protocol.matcher.counts_everywhere:
        return f"{which}; but what matches an annotation of another level is a true positive"
    return f"{which}, and what is {_said(protocol, 'matched') or 'matched to'} them"


def _categories(protocol: Protocol) -> str:
    averaged = "averaged over all of them" if protocol.counts_absent else "averaged over those with annotations"
    averaged += "" if protocol.has_scores else " or false positives"
    lists = "pooled" if protocol.agnostic else f"evaluated separately, then {averaged}"
    return "; ".join(filter(None, [_said(protocol, "classes"), lists, _said(protocol, "categories")]))


def _oriented(summary: Sequence[Headline]) -> str:
    return next(line.kind.name for line in summary if line.kind.is_oriented)
