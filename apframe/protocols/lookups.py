"""Look up thresholds and area ranges of a protocol, as tables and users name them, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe.exceptions import ParameterError
from apframe.wording import did_you_mean, option_name

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


def place_at(protocol: Protocol, iou_threshold: float | None, area_range: str | None) -> tuple[int, int]:
    """Return the numbers of a threshold and an area range; by default the lowest, and that of the headline numbers.

    Raises
    ------
    ParameterError
        one of them was not evaluated

    >>> from apframe.protocols.coco import COCO
    >>> place_at(COCO, 0.75, "small"), place_at(COCO, None, None)
    ((5, 1), (0, 0))
    """
    return threshold_at(protocol, iou_threshold), area_at(protocol, area_range)


def threshold_at(protocol: Protocol, iou_threshold: float | None) -> int:
    """Return the number of a threshold of the protocol; the lowest by default."""
    if iou_threshold is None:
        return 0
    if not isinstance(iou_threshold, (int, float)):
        raise ParameterError(f"is a number, not {iou_threshold!r}", option="iou_threshold")
    number = protocol.threshold_number(iou_threshold)
    if number is not None:
        return number
    choices = ", ".join(f"{threshold:.10g}" for threshold in protocol.iou_thresholds)
    choose = "use" if len(protocol.iou_thresholds) == 1 else "choose from"
    remedy = f"{choose} {choices}, or add it with {option_name('iou_thresholds')}"
    raise ParameterError(f"iou_threshold {iou_threshold} was not evaluated", remedy)


def area_at(protocol: Protocol, area_range: str | None) -> int:
    """Return the number of an area range by its name; that of the headline numbers by default."""
    names = protocol.range_names
    if area_range is not None and area_range not in names:
        raise ParameterError(f"area_range {area_range!r} was not evaluated", did_you_mean(str(area_range), names))
    return names.index(protocol.headline_range if area_range is None else area_range)


def threshold_words(protocol: Protocol, threshold: float) -> str:
    """Describe one of the thresholds for use in sentences.

    >>> from apframe.protocols.coco import COCO
    >>> own = COCO.with_options(iou_thresholds={"car": 0.7, "bus": 0.5})
    >>> threshold_words(COCO, 0.5), threshold_words(own, 0.5)
    ('IoU 0.5', 'IoU 0.5 to 0.7 by category')
    """
    if threshold < 0:
        return f"a distance of {-threshold:.10g} {protocol.similarity.unit}"
    own = [each for _, each in protocol.category_thresholds]
    return f"{protocol.similarity.threshold_word} {threshold:.10g}{f' to {max(own):.10g} by category' if own else ''}"
