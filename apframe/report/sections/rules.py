"""How it was computed: the rules in words, and what the numbers do not say."""

from __future__ import annotations

from apframe.report.compared import Compared
from apframe.report.section import Fragment, Section
from apframe.show.elements import element


def section(compared: Compared) -> Section:
    """Return the section."""
    protocol, several = compared.first.protocol, len(compared.names) > 1
    rules = [
        f"Numbers follow the rules of {protocol.name}, which the first section has in full ({protocol.citation}).",
        f"Errors, confusions, score thresholds and calibration are those at IoU {compared.iou_threshold:g}.",
        "What an error costs is how much AP rises if all errors of its kind are fixed, and nothing else (TIDE).",
    ]
    if compared.has_intervals:
        same = ", the same images for all models" if several else ""
        rules += [
            f"Intervals are of 95 %: images were drawn with replacement {compared.n_resamples:,} times, starting from seed "
            f"{compared.seed}{same}.",
            "They say how far a number would move with other images of the same kind, not with another training run.",
        ]
    if several:
        rules += [
            "p is how surprising a difference would be if the models were equal. q is corrected for the rows of its table.",
            "This set would show a detectable difference in four of five cases. A smaller one may be real and not seen.",
        ]
    rules.append("Where rows or pictures were left out, a line below them says how many, and by which rule.")
    calls = element("p", "The same tables in Python: ", element("code", _calls(compared)))
    return Section("rules", "How was it computed?", rules, (Fragment(calls),))


def _calls(compared: Compared) -> str:
    numbers = "a.compare(b)" if len(compared.names) > 1 else "a.intervals()"
    names = ("errors", "error_impact", "confusion", "thresholds", "calibration", "label_errors")
    return ", ".join([numbers, *(f"a.{name}({compared.iou_threshold:g})" for name in names)])
