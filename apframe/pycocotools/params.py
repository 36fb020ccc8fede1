"""`Params`: the parameters of an evaluation under pycocotools' names, and the protocol for them."""
# ruff: noqa: N802, N803 - names are those that training code knows

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from apframe.exceptions import ParameterError
from apframe.protocols.coco import COCO as COCO_RULES
from apframe.protocols.protocol import Protocol
from apframe.protocols.ranges import AreaRange
from apframe.pycocotools.coco_tables import SHAPES
from apframe.pycocotools.mask_sizes import MaskIoUOfAnySize
from apframe.similarity.oks import COCO_SIGMAS, OKS
from apframe.similarity.pairs import Similarity


class Params:
    """Parameters of an evaluation: pycocotools' names, COCO's values.

    Parameters
    ----------
    iouType
        "bbox", "segm" or "keypoints"

    >>> params = Params("keypoints")
    >>> params.maxDets, params.areaRngLbl
    ([20], ['all', 'medium', 'large'])
    """

    def __init__(self, iouType: str = "segm") -> None:
        if iouType not in SHAPES:
            raise ParameterError(f"iouType not supported: {iouType!r}", f"there are {', '.join(SHAPES)}")
        (self.setKpParams if iouType == "keypoints" else self.setDetParams)()
        self.iouType = iouType
        self.useSegm: int | None = None

    def setDetParams(self) -> None:
        """Set the values for boxes and masks."""
        self._set("bbox")

    def setKpParams(self) -> None:
        """Set the values for keypoints."""
        self._set("keypoints")
        self.kpt_oks_sigmas = np.array(COCO_SIGMAS)

    def _set(self, iou_type: str) -> None:
        protocol = COCO_RULES.variant(iou_type)
        self.imgIds: Any = []
        self.catIds: Any = []
        self.iouThrs: Any = np.array(protocol.iou_thresholds)
        self.recThrs: Any = np.array(protocol.recall_levels)
        self.maxDets: Any = list(protocol.limits)
        self.areaRng: Any = [[each.low, each.high] for each in _areas_of(protocol)]
        self.areaRngLbl: Any = [*protocol.range_names]
        self.useCats = 1


def categories_of(p: Params) -> Any:
    """Return the categories of the cells, the single category -1 if they are pooled."""
    return p.catIds if p.useCats else [-1]


def _areas_of(protocol: Protocol) -> list[AreaRange]:
    return [each for each in protocol.ranges if isinstance(each, AreaRange)]


def protocol_of(p: Params) -> Protocol:
    """Return the parameters as a protocol, COCO's own if they are equal."""
    published = COCO_RULES.variant(p.iouType)
    bounds = [tuple(bounds) for bounds in p.areaRng]
    areas = _areas_of(published)
    if bounds != [(each.low, each.high) for each in areas]:
        areas = [AreaRange(str(number), *each) for number, each in enumerate(bounds)]  # labels may repeat in params
    return replace(
        published.with_options(recall_levels=p.recThrs),
        iou_thresholds=tuple(np.unique(p.iouThrs).tolist()),
        ranges=tuple(areas),
        max_detections=tuple(set(p.maxDets)),
        agnostic=not p.useCats,
        similarity=_similarity(p, published),
        variants=(),
    )


Order = tuple[list[int], list[int]]  # numbers of thresholds, and of limits


def order_of(p: Params, protocol: Protocol) -> Order:
    """Return the positions of the parameters' thresholds and limits, which may be in any order, in their protocol.

    >>> p = Params("bbox")
    >>> p.iouThrs, p.maxDets = [0.75, 0.5], [1, 100, 10]
    >>> order_of(p, protocol_of(p))
    ([1, 0], [0, 2, 1])
    """
    thresholds = np.searchsorted(protocol.iou_thresholds, p.iouThrs).tolist()
    return thresholds, [protocol.limits.index(limit) for limit in p.maxDets]


def _similarity(p: Params, published: Protocol) -> Similarity:
    if p.iouType == "keypoints":
        return OKS(tuple(p.kpt_oks_sigmas))
    return MaskIoUOfAnySize() if p.iouType == "segm" else published.similarity


def refuse_changes(p: Params, evaluated: Params) -> None:
    """Raise an error if `accumulate` would need other cells than were evaluated."""
    same = {
        "useCats": bool(p.useCats) == bool(evaluated.useCats),
        "catIds": list(categories_of(p)) == list(categories_of(evaluated)),
        "imgIds": list(p.imgIds) == list(evaluated.imgIds),
        "iouThrs": list(p.iouThrs) == list(evaluated.iouThrs),
        "areaRng": list(map(tuple, p.areaRng)) == list(map(tuple, evaluated.areaRng)),
        "maxDets": set(p.maxDets) <= set(evaluated.maxDets),
    }
    if changed := [name for name, is_same in same.items() if not is_same]:
        raise ParameterError(f"params.{', '.join(changed)}: changed since evaluate()", "call evaluate() again")
