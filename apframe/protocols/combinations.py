"""Choices of a protocol that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError
from apframe.matching.matchers import MATCHERS
from apframe.metrics.average_precision import DetectionCount, Recall
from apframe.metrics.definitions import DEFINITIONS
from apframe.protocols.headlines import KINDS
from apframe.protocols.rules.crowds import CrowdsCountOnce
from apframe.tables.metric_columns import METRICS
from apframe.wording import listed

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


def refuse_combinations(protocol: Protocol) -> None:
    """Raise an error if definition and matching disagree on cut-offs, or a rule requires another definition or matcher.

    Raises
    ------
    ParameterError
        the error names the option to change

    >>> from apframe.protocols.coco import COCO
    >>> COCO.with_options(matching="by_annotation")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: matching: definition coco101 does not go with matching 'by_annotation'; use both of one \
protocol; coco101 goes with score, best_overlap, nearest, shared, similarity, optimal, file_order, claimant
    """
    matcher, definition = protocol.matcher, protocol.definition
    _refuse_metrics(protocol)
    has_void = any(level.detections for level in protocol.levels)
    if matcher.at_score_cutoffs != definition.at_cut_offs:
        fitting = [name for name in _able_to_match(has_void) if MATCHERS[name].at_score_cutoffs != matcher.at_score_cutoffs]
        fit = ", ".join(fitting) or "no matching where levels have `detections`"
        problem = f"definition {definition} does not go with matching {matcher.name!r}"
        raise ParameterError(problem, f"use both of one protocol; {definition} goes with {fit}", option="matching")
    if matcher.at_score_cutoffs and len(protocol.max_detections) > 1:
        problem = f"matching {matcher.name!r} takes one number, not {listed([*protocol.max_detections])}"
        raise ParameterError(problem, option="max_detections")
    if matcher.wants == "copies" and protocol.similarity.uses_images:
        problem = f"matching {matcher.name!r} does not go with similarity {protocol.similarity.name}"
        raise ParameterError(problem, "choose another", option="matching")
    for rule in protocol.rules:
        rule.refuse(protocol)
    if has_void and not matcher.knows_void:
        problem = f"{matcher.name!r} cannot handle levels with `detections`, which count for nothing"
        raise ParameterError(problem, f"choose {', '.join(_able_to_match(has_void))}, or other levels", option="matching")
    if has_void:
        from apframe.protocols.levels import ApplyLevels  # only for protocols with levels

        if not protocol.rule(ApplyLevels):
            raise ParameterError("lack ApplyLevels(), which levels with `detections` need", "add it", option="rules")
    if matcher.finds_groups and not protocol.rule(CrowdsCountOnce):
        raise ParameterError(f"{matcher!r} needs the rule CrowdsCountOnce()", "or counts_groups=False", option="rules")
    if protocol.category_thresholds:
        matcher.require_reaching("thresholds by category", "give one for all", "iou_thresholds")
    if protocol.errors is not None and not definition.averages_errors:
        able = ", ".join(name for name, each in DEFINITIONS.items() if each.averages_errors)
        raise ParameterError(f"errors of boxes are averaged with {able}, not {definition}", option="metrics")
    one_list = next((metric for metric in protocol.metrics if metric.reads_one_list), None)
    if one_list is not None and (matcher.at_score_cutoffs or not protocol.has_precision):
        how = "matches anew at each score cut-off" if protocol.has_precision else "has no precision"
        raise ParameterError(f"{type(one_list).__name__} reads one list, and this protocol {how}", option="metrics")


def _able_to_match(has_void: bool) -> list[str]:
    """Return the names of the matchers that support these levels; imports all matchers."""
    return [name for name, each in MATCHERS.items() if each.knows_void or not has_void]


def _refuse_metrics(protocol: Protocol) -> None:
    matcher, definition = protocol.matcher, protocol.definition
    if not definition.reads_cells:
        problem = f"{definition!r} is not a weighted sum, see apframe.list_definitions()"
        raise ParameterError(problem, option="metrics")
    every = [name for each in protocol.all_metrics for name in each.columns]
    own = {"ap", *Recall.columns, *DetectionCount.columns}
    always = {column.name for column in METRICS if column.standard} - own
    if used_names := [name for name in dict.fromkeys(every) if name in always or every.count(name) > 1]:
        raise ParameterError(f"the metrics table already has {listed(used_names)}", "rename yours", option="metrics")
    for each in protocol.metrics:
        if used_lines := [name for name, column in each.lines.items() if name in KINDS and KINDS[name].column != column]:
            problem = f"{each!r} has a line {used_lines[0]}, which is the mean of {KINDS[used_lines[0]].column}"
            raise ParameterError(problem, "choose another name", option="metrics")
        if each.at_cut_offs and not (matcher.at_score_cutoffs and each.cut_offs == definition.cut_offs):
            problem = f"{each!r} reads score cut-offs that matching {matcher.name!r} with {definition} does not have"
            raise ParameterError(problem, "choose a definition and a matching with its cut-offs", option="metrics")
        if each.counts_pixels and all(weight is None for weight in definition.row_weights):
            raise ParameterError(f"{each!r} counts pixels, and {definition} does not", option="metrics")
