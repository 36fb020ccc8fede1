"""Object keypoint similarity: how near the keypoints of a detection are to those of an annotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.registry import imported, published_for
from apframe.similarity.pairs import Similarity, require
from apframe.static_table import PROTOCOLS
from apframe.tables.shapes.declarations import KEYPOINTS
from apframe.tables.shapes.shape import Shape

if TYPE_CHECKING:
    from apframe.tables.shapes.keypoints import Places

# in tenths, as in the references: 0.35 / 10 is another double than 0.035
COCO_SIGMAS = tuple(
    tenfold / 10
    for tenfold in (0.26, 0.25, 0.25, 0.35, 0.35, 0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89)
)
"""Sigmas for COCO's 17 keypoints: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles."""


@dataclass(frozen=True)
class OKS(Similarity):
    """Object keypoint similarity: the mean of `exp(-e)` over the annotation's visible keypoints.

    `e = d² / (2 sigma)² / (area + 2.2e-16) / 2`, where d is the distance of the two keypoints. A keypoint is visible if its
    visibility in the annotation is above 0; the detection's visibility is not used. If an annotation has no visible
    keypoint, d is the distance of the detection's keypoint from the annotation's box enlarged by its size on every side,
    and the mean is over all keypoints. A crowd is compared like any other annotation.

    Source: `COCOeval.computeOks` of pycocotools; the order of the operations is kept, so that the last bit agrees.

    Attributes
    ----------
    sigmas
        one for each keypoint, in the order of the `keypoints` columns
    box_area_factor
        None: `area` is the annotation's area. A number: `area` is this number times the annotation's width and height
        (0.53 is common for annotations without areas)

    >>> person = pl.DataFrame({"cell": [7], "x": [0.0], "y": [0.0], "width": [4.0], "height": [4.0], "area": [16.0],
    ...                        "keypoints": [[1.0, 1.0, 2.0, 9.0, 9.0, 0.0]], "is_crowd": [False]})
    >>> detections = pl.DataFrame({"cell": [7], "keypoints": [[2.0, 1.0, 1.0, 0.0, 0.0, 1.0]]})
    >>> OKS(sigmas=(0.125, 0.125)).pair(detections, person, min_similarity=0.5).rows()
    [(0, 0, 0.6065306597126334)]
    """

    name: ClassVar[str] = "oks"
    threshold_word: ClassVar[str] = "OKS"
    shape: ClassVar[Shape] = KEYPOINTS
    needs: ClassVar[tuple[str, ...]] = KEYPOINTS.needs

    sigmas: tuple[float, ...] = COCO_SIGMAS
    box_area_factor: float | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "sigmas", tuple(float(sigma) for sigma in self.sigmas))
            if self.box_area_factor is not None:
                object.__setattr__(self, "box_area_factor", float(self.box_area_factor))
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"must be numbers, one for each keypoint, and box_area_factor a number: {error}", option="sigmas"
            ) from error
        if not self.sigmas or not all(0 < sigma < math.inf for sigma in self.sigmas):
            raise ParameterError(f"must be positive numbers, one for each keypoint, got {list(self.sigmas)}", option="sigmas")
        if self.box_area_factor is not None and not 0 < self.box_area_factor < math.inf:
            raise ParameterError(f"must be a positive number, got {self.box_area_factor}", option="box_area_factor")

    @property
    def words(self) -> str:
        """The rule in plain words."""
        area = "" if self.box_area_factor is None else f", area {self.box_area_factor:g} of the box"
        return f"object keypoint similarity of {len(self.sigmas)} keypoints{area}"

    @property
    def reads(self) -> str:
        """The columns that it compares in plain words."""
        return f"keypoints (x, y, visibility of {len(self.sigmas)})"

    def prepare(self, table: str, objects: pl.DataFrame) -> Places | None:
        """Return the keypoints as arrays, see `Similarity.prepare`; None if some are invalid, which `pair` reports."""
        from apframe.tables.shapes.keypoints import are_sound, place_keypoints

        del table
        lists, number = objects["keypoints"].rechunk(), len(self.sigmas)
        return place_keypoints(lists, number) if are_sound(lists, number) else None

    def pair(
        self,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        min_similarity: float,
        detection_shapes: Places | None = None,
        annotation_shapes: Places | None = None,
    ) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`. `detection_shapes` and `annotation_shapes` come from `prepare`."""
        from apframe.similarity.poses import pair_poses

        require(self, detections, annotations)
        self._refuse_other_number(detections, annotations)
        return pair_poses(self, detections, annotations, min_similarity, (detection_shapes, annotation_shapes))

    def check(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """Report objects that cannot be compared: see `Similarity.check`."""
        self._refuse_other_number(detections, annotations)
        from apframe.tables.shapes.keypoints import check_keypoints

        for table, frame in (("annotations", annotations), ("detections", detections)):
            check_keypoints(table, frame, len(self.sigmas))

    def _refuse_other_number(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """Raise an error if all keypoint lists have one length that requires another number of sigmas."""
        lengths = pl.concat([detections["keypoints"].list.len(), annotations["keypoints"].list.len()]).unique().to_list()
        if len(lengths) == 1 and lengths[0] and lengths[0] % 3 == 0 and lengths[0] != 3 * len(self.sigmas):
            number = lengths[0] // 3
            sigmas = {name: imported(PROTOCOLS[name.upper()][0]).similarity.sigmas for name in published_for("keypoints")}
            or_another = "".join(f", or choose the protocol {name}" for name, own in sigmas.items() if len(own) == number)
            raise ParameterError(
                f"all objects have {number} keypoints, but there are {len(self.sigmas)} sigmas",
                f"give {number} sigmas, one for each keypoint: similarity=apf.similarity.OKS(sigmas=...), "
                f"or --sigmas in the command{or_another}",
            )
