"""Headline numbers as data: their kinds, those of a protocol's own metrics, and numbers that are made of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.metrics.cells import Cells
from apframe.metrics.metric import Metric
from apframe.metrics.weights import Weights
from apframe.protocols.headlines import (
    KINDS,
    HeadlineKind,
    composed,
    headlines,
    less_is_better,
    main_headline,
    read_line,
    terms_of,
    with_terms,
)
from apframe.protocols.ranges import ALL, AreaRange
from apframe.show.console import summary_lines


@dataclass(frozen=True)
class OwnNumber(Metric):
    """A metric from outside the package, which brings a headline number."""

    columns = ("f1",)
    lines: ClassVar = {"F1": "f1"}

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Not needed here."""
        raise NotImplementedError


OWN = apf.Protocol(
    "OWN", "", metrics=(OwnNumber(), "coco101"), headlines=("AP", "F1", "F150", "F1{area}", "AR"),
    ranges=(ALL, AreaRange("small", 0, 9)),
)  # fmt: skip


def test_kinds_are_found_by_their_names() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert {len(kind.words) for kind in KINDS.values()} == {23}  # so that the console's lines are aligned
    assert [name for name, kind in KINDS.items() if kind.is_main] == ["APH", "CDS"]
    assert [name for name in KINDS if less_is_better(name)] == ["ATE", "ASE", "AOE", "AVE", "AAE", "LAMR"]
    assert less_is_better("LAMR_small") and not less_is_better("F1")


def test_a_line_is_of_the_longest_name_it_can_begin_with() -> None:
    lines = ("AP", "APH", "AP50_small{area}", "R@{limit}", "mR@{limit}")
    read = [read_line(line, apf.COCO) for line in lines]
    assert [(each[0].name, *each[1:]) for each in read if each is not None] == [
        ("AP", "", "", ""),
        ("APH", "", "", ""),
        ("AP", "50", "_small", "{area}"),
        ("R@", "", "", "{limit}"),
        ("mR@", "", "", "{limit}"),
    ]
    assert [read_line(line, apf.COCO) for line in ("F1", "AP5", "ap", "AP{area}{limit}")] == [None] * 4


def test_a_metric_brings_headline_numbers_of_its_own() -> None:
    lines = headlines(OWN)
    assert [(line.metric, line.column, line.iou_threshold, line.area_range) for line in lines] == [
        ("AP", "ap", None, "all"),
        ("F1", "f1", None, "all"),
        ("F150", "f1", 0.5, "all"),
        ("F1s", "f1", None, "small"),
        ("AR", "recall", None, "all"),
    ]
    assert lines[1].kind == HeadlineKind("F1", "f1")
    assert lines[4].kind.words == KINDS["AR"].words
    summary = pl.DataFrame({"metric": [line.metric for line in lines], "value": [0.75, 0.5, 0.25, 0.125, 0.5]})
    printed = summary_lines(summary, OWN)
    assert printed[0] == " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.750"
    assert printed[1] == " F1                      @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.500"
    assert "F1 F150 F1s AR" in str(OWN)


def test_a_report_has_only_lines_that_it_can_make() -> None:
    with pytest.raises(ParameterError, match=r"^headlines: 'F1' is not AP or AR"):
        apf.Protocol("mine", "", headlines=("AP", "F1"))
    errors = ("ATE", "ASE", "AOE", "AVE", "AAE")
    for left_out in ("AP", *errors):
        report = tuple(name for name in ("AP", *errors, "NDS") if name != left_out)
        with pytest.raises(ParameterError, match=r"^headlines: NDS needs AP and the five errors beside it$"):
            replace(apf.NUSCENES, headlines=report)
    for wrong in (("JI",), ("AP", "JI50"), ("AP", "JI{area}")):
        with pytest.raises(ParameterError, match=r"^headlines: 'JI.*' must be 'JI', below a number that the metrics have$"):
            apf.Protocol("mine", "", headlines=wrong)


def test_numbers_are_made_of_lines_of_the_report_or_of_columns() -> None:
    score = main_headline(apf.NUSCENES)
    assert [term.metric for term in terms_of(score, apf.NUSCENES)] == ["AP", "ATE", "ASE", "AOE", "AVE", "AAE"]
    assert with_terms(headlines(apf.NUSCENES), apf.NUSCENES) == headlines(apf.NUSCENES)
    share = next(line for line in headlines(apf.SEMANTIC) if line.metric == "fwIoU")
    terms = terms_of(share, apf.SEMANTIC)
    assert [(term.metric, term.column, term.is_of_others) for term in terms] == [
        ("weighted_iou of fwIoU", "weighted_iou", False),
        ("pixels of fwIoU", "pixels", False),
    ]
    assert with_terms([share], apf.SEMANTIC) == [share, *terms]
    assert composed(share, {"weighted_iou of fwIoU": 3.0, "pixels of fwIoU": 4.0}, apf.SEMANTIC) == 0.75


def test_a_score_is_evaluated_if_the_errors_in_it_are() -> None:
    for protocol in (apf.NUSCENES, apf.ARGOVERSE2):
        lines = headlines(protocol.with_options(iou_thresholds=[-4.0]))
        assert [line.metric for line in lines if line.is_evaluated(protocol.with_options(iou_thresholds=[-4.0]))] == ["AP"]
