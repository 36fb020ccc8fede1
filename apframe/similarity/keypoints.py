"""Object keypoint similarity: how near the keypoints of a detection are to those of an annotation (COCO, CrowdPose)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.rows import refuse_rows
from apframe.shapes.keypoints import KEYPOINTS, REMEDY, are_not_finite, keypoint_lengths
from apframe.shapes.shape import Shape
from apframe.similarity.pairs import Similarity, join_on_cell, require
from apframe.threads import pool

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# tenths, as the references write them: 0.35 / 10 is another double than 0.035
COCO_SIGMAS = tuple(
    tenfold / 10
    for tenfold in (0.26, 0.25, 0.25, 0.35, 0.35, 0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89)
)
"""Sigmas for COCO's 17 keypoints: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles."""
CROWDPOSE_SIGMAS = (*COCO_SIGMAS[5:], COCO_SIGMAS[5], COCO_SIGMAS[6])
"""Sigmas for CrowdPose's 14 keypoints: shoulders, elbows, wrists, hips, knees, ankles, top of the head, neck."""

_BLOCK = 1 << 17  # distances at a time: a few arrays of this size stay in the processor's cache


@dataclass(frozen=True)
class OKS(Similarity):
    """Object keypoint similarity: the mean of `exp(-e)` over the annotation's visible keypoints.

    `e = d² / (2 sigma)² / (area + 2.2e-16) / 2`, where d is the distance of the two keypoints. A keypoint is visible if its
    visibility in the annotation is above 0; that of the detection is not used. Where an annotation has no visible
    keypoint, d is the distance of the detection's keypoint from the annotation's box enlarged by its size on every side,
    and the mean is over all. A crowd is compared as any other annotation.

    Source: `COCOeval.computeOks` of pycocotools; the order of the operations is kept, so that the last bit agrees.

    Attributes
    ----------
    sigmas
        one for each keypoint, in the order of the `keypoints` columns
    box_area_factor
        None: `area` is that of the annotation. A number: `area` is that number times the annotation's width and height
        (CrowdPose, whose annotations have no area: 0.53)

    >>> person = pl.DataFrame({"cell": [7], "x": [0.0], "y": [0.0], "width": [4.0], "height": [4.0], "area": [16.0],
    ...                        "keypoints": [[1.0, 1.0, 2.0, 9.0, 9.0, 0.0]], "is_crowd": [False]})
    >>> found = pl.DataFrame({"cell": [7], "keypoints": [[2.0, 1.0, 1.0, 0.0, 0.0, 1.0]]})
    >>> OKS(sigmas=(0.125, 0.125)).pair(found, person, least=0.5).rows()
    [(0, 0, 0.6065306597126334)]
    """

    name: ClassVar[str] = "oks"
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
            raise ParameterError(f"must be positive numbers, one for each keypoint, got {self.sigmas}", option="sigmas")
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

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, least: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        import numpy as np

        require(self, detections, annotations)
        self._refuse_other_number(detections, annotations)
        found = self._points("detections", detections)
        truth = self._points("annotations", annotations)
        pairs = self._near(detections, annotations, found, truth, least)
        similarity = np.empty(pairs.height)
        d, a = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
        shared = found, truth, _enlarged(annotations), (np.array(self.sigmas) * 2) ** 2, self._areas(annotations)

        def fill(rows: Array) -> None:
            similarity[rows] = _compare(d[rows], a[rows], *shared)

        with pool() as others:
            list(others.map(fill, _alike((truth[2] > 0).sum(axis=1)[a], max(1, _BLOCK // len(self.sigmas)))))
        return pairs.with_columns(similarity=pl.Series(similarity)).filter(pl.col("similarity") >= least)

    def _near(
        self, detections: pl.DataFrame, annotations: pl.DataFrame, found: Array, truth: Array, least: float
    ) -> pl.DataFrame:
        """The pairs of a cell that may be so similar: no keypoint is nearer than the gap between the hulls of both.

        A keypoint at that distance adds at most `exp(-gap² / (2 sigma)² / area / 2)` to the mean, with the largest sigma.
        """
        import numpy as np

        visible = truth[2] > 0
        # a little more than the bound, for what rounding may add; anything is near to a person without visible keypoints
        reach = -2.0001 * math.log(max(least, 1e-300)) * (2 * max(self.sigmas)) ** 2 * (self._areas(annotations) + 1e-9)
        right = annotations.select("cell", "is_crowd", reach=pl.Series(np.where(visible.any(axis=1), reach, np.inf)))
        left = detections.select("cell", reach=pl.lit(None))
        for side in (0, 1):
            low, high = f"low_{side}", f"high_{side}"
            left = left.with_columns(pl.Series(low, found[side].min(axis=1)), pl.Series(high, found[side].max(axis=1)))
            first = truth[side].min(axis=1, where=visible, initial=np.inf)
            last = truth[side].max(axis=1, where=visible, initial=-np.inf)
            right = right.with_columns(pl.Series(low, first), pl.Series(high, last))
        gaps = [
            pl.max_horizontal(
                0, pl.col(f"low_{side}_right") - pl.col(f"high_{side}"), pl.col(f"low_{side}") - pl.col(f"high_{side}_right")
            )
            for side in (0, 1)
        ]
        near = gaps[0] * gaps[0] + gaps[1] * gaps[1] <= pl.col("reach_right")
        columns = ["reach", *(f"{end}_{side}" for side in (0, 1) for end in ("low", "high"))]
        return join_on_cell(left, right, columns).filter(near).select("detection", "annotation").collect(engine="streaming")

    def _areas(self, annotations: pl.DataFrame) -> Array:
        if self.box_area_factor is None:
            return annotations["area"].to_numpy()
        return annotations["height"].to_numpy() * annotations["width"].to_numpy() * self.box_area_factor

    def _refuse_other_number(self, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
        """An error where all keypoint lists have one length, and it is that of other sigmas."""
        lengths = pl.concat([detections["keypoints"].list.len(), annotations["keypoints"].list.len()]).unique().to_list()
        if len(lengths) == 1 and lengths[0] and lengths[0] % 3 == 0 and lengths[0] != 3 * len(self.sigmas):
            number = lengths[0] // 3
            or_crowdpose = ", or choose the protocol crowdpose" if number == len(CROWDPOSE_SIGMAS) else ""
            raise ParameterError(
                f"all objects have {number} keypoints, but there are {len(self.sigmas)} sigmas",
                f"give {number} sigmas, one for each keypoint: similarity=apf.OKS(sigmas=...){or_crowdpose}",
            )

    def _points(self, table: str, frame: pl.DataFrame) -> Array:
        """x, y and visibility, each of shape (rows, keypoints)."""
        import numpy as np

        number = len(self.sigmas)
        length = keypoint_lengths(table, frame)
        problem = f"keypoints is not a list of {3 * number} numbers, x, y, visibility for each of {number} sigmas,"
        refuse_rows(table, frame, length != 3 * number, problem, "correct these rows, or give other sigmas to OKS(sigmas=...)")
        refuse_rows(table, frame, are_not_finite(frame), "keypoints holds a number that is missing or not finite", REMEDY)
        numbers = frame["keypoints"].explode().to_numpy().reshape(-1, number, 3)
        return np.ascontiguousarray(numbers.transpose(2, 0, 1))


def _alike(n_visible: Array, size: int) -> Iterator[Array]:
    """Rows that go together: their annotations have equally many visible keypoints, and there are at most so many.

    The sum over a row is then NumPy's own over the visible keypoints alone, in the same order.
    """
    import numpy as np

    by_number = np.argsort(n_visible, kind="stable")
    starts = np.flatnonzero(np.diff(n_visible[by_number]) != 0) + 1
    for group in np.split(by_number, starts):
        yield from (group[start : start + size] for start in range(0, len(group), size))


def _compare(
    detection: Array, annotation: Array, found: Array, truth: Array, enlarged: Array, variances: Array, areas: Array
) -> Array:
    """The similarity of pairs whose annotations have equally many visible keypoints."""
    import numpy as np

    visible = truth[2][annotation] > 0
    number = int(visible[0].sum())
    if number:
        dx, dy = (found[side][detection] - truth[side][annotation] for side in (0, 1))
    else:
        dx, dy = (_outside(found[side][detection], *enlarged[side][:, annotation, None]) for side in (0, 1))
    with np.errstate(over="ignore"):  # what is so far away has exp(-inf) = 0
        dx *= dx
        dy *= dy
        dx += dy
        dx /= variances
        dx /= -2 * (areas[annotation, None] + np.spacing(1))
    exponents = dx[visible].reshape(-1, number) if 0 < number < len(variances) else dx
    return np.exp(exponents, out=exponents).sum(axis=1) / exponents.shape[1]


def _enlarged(annotations: pl.DataFrame) -> Array:
    """The boxes with their size added on every side, of shape (x and y, first and last, rows)."""
    import numpy as np

    first, size = annotations.select("x", "y").to_numpy().T, annotations.select("width", "height").to_numpy().T
    return np.stack([first - size, first + size * 2], axis=1)


def _outside(places: Array, first: Array, last: Array) -> Array:
    """How far places are from the stretch between two others."""
    import numpy as np

    return np.maximum(0, first - places) + np.maximum(0, places - last)
