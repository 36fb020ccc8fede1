"""The lines that a protocol's summary has, and what each of them needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

REPORT_LINE = re.compile(
    r"(AP|AR|AOS|APH|ATE|ASE|AOE|AVE|AAE|NDS|CDS|LAMR|CPM|PQ|SQ|RQ|mIoU|fwIoU|mACC|pACC|m?R@|Success@)(\d\d)?(_[^{]+)?(\{\w+\})?"
)
_NDS_NEEDS = {"AP", "ATE", "ASE", "AOE", "AVE", "AAE"}


def refuse_lines(protocol: Protocol) -> None:
    """An error where a line of the report is none, or lacks something that it is made of.

    Raises
    ------
    ParameterError
        it names the line

    >>> from apframe.protocols.coco import COCO
    >>> refuse_lines(COCO)
    """
    for line in protocol.report:
        read = REPORT_LINE.fullmatch(line)
        kinds = [None, "{area}", "{limit}", "{part}", *(f"{{{each.name}}}" for each in protocol.difficulties)]
        if read is None or read[4] not in kinds:
            raise ParameterError(
                f"{line!r} is not AP or AR, optionally with a threshold, {{area}}, {{limit}} or {{part}}", option="report"
            )
        whole = line.replace(read[3] or "{part}", "", 1)
        if whole not in protocol.report:
            raise ParameterError(f"{line!r} needs {whole!r} beside it", option="report")
        if read[3] is not None and read[3] not in [part.name for part in protocol.parts]:
            raise ParameterError(f"{line!r}: {protocol.name} has no part {read[3]!r}", option="report")
        column = None if protocol.miss_rates is None else protocol.miss_rates.column
        if read[1] in ("LAMR", "CPM") and column != read[1].lower():
            raise ParameterError(f"{read[1]} needs `miss_rates`, which say how it is read", option="report")
    if "NDS" in protocol.report and not {*protocol.report} >= _NDS_NEEDS:
        raise ParameterError("NDS needs AP and the five errors beside it", option="report")
