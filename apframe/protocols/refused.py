"""Questions that some protocols cannot answer: those without precision, and those that match anew at each score cut-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import AveragePrecision
from apframe.protocols.protocol import Protocol
from apframe.tables.shapes.boxes import BOXES
from apframe.tables.shapes.declarations import CORNERS, KEYPOINTS, MASKS

if TYPE_CHECKING:
    from apframe.metrics.metric import Metric


def refuse_scores(protocol: Protocol, what: str) -> None:
    """Raise an error if `what` requires scores or precision, which the protocol does not have.

    >>> from apframe.protocols.coco import COCO
    >>> refuse_scores(COCO, "curves")
    """
    if not protocol.has_precision:
        problem = f"{why_no_precision(protocol)}, so it has no {what}"
        raise ParameterError(problem, "use summary, metrics, by, intervals, compare, matches, per_image, changes or confusion")


def why_no_precision(protocol: Protocol) -> str:
    """Return why a protocol has no precision.

    >>> from apframe.protocols.protocol import Protocol
    >>> why_no_precision(Protocol("mine", ""))
    'mine measures recall alone'
    """
    return f"{protocol.name} {'measures recall alone' if protocol.has_scores else 'does not rank detections by score'}"


def refuse_distances(protocol: Protocol, what: str, option: str = "") -> None:
    """Raise an error if `what` requires similarities, but distances are compared.

    >>> from apframe.protocols.coco import COCO
    >>> refuse_distances(COCO, "label errors need")
    """
    if protocol.similarity.bounds[1] < 1:
        raise ParameterError(f"{what} similarities from 0 to 1, and {protocol.name} compares distances", option=option)


def refuse_undrawn(protocol: Protocol) -> None:
    """Raise an error if a protocol compares shapes that cannot be drawn in an image, such as intervals.

    >>> from apframe.protocols.coco import COCO
    >>> refuse_undrawn(COCO)
    """
    if protocol.similarity.shape not in (None, BOXES, MASKS, KEYPOINTS, CORNERS):
        raise ParameterError(
            f"{protocol.name} compares {protocol.iou_type}, and tasks for labelling tools need shapes in images",
            "write tasks where boxes, masks or keypoints are compared",
        )


def counts_mistakes(protocol: Protocol) -> bool:
    """Return True if a detection can be mistaken for another category: with precision, or if scores do not matter.

    It cannot if any overlap is a match, as in semantic segmentation, where pixels are mistaken instead of segments.

    >>> from apframe.protocols.coco import COCO
    >>> counts_mistakes(COCO)
    True
    """
    return protocol.has_precision or (not protocol.has_scores and protocol.iou_thresholds[0] > 0)


def metric_of_edits(protocol: Protocol) -> Metric:
    """Return the metric for edited verdicts: average precision, which is undefined for lists without positives.

    Raises
    ------
    ParameterError
        the protocol has no average precision; or it ranks by score cut-offs, each of which has its own matches

    >>> from apframe.protocols.coco import COCO
    >>> metric_of_edits(COCO).columns
    ('ap',)
    """
    refuse_scores(protocol, "average precision that errors cost")
    if protocol.definition.at_cut_offs:
        raise ParameterError(
            f"{protocol.name} matches again at every score cut-off, so an error has no single cost in AP",
            "evaluate with another protocol, such as COCO, to see what errors cost",
            option="protocol",
        )
    return AveragePrecision(protocol.definition, protocol.addend)
