"""One evaluation on its way through the rooms: pairs, matches, counts, metrics; each step taken when asked for, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import polars as pl

from apframe.exceptions import ParameterError
from apframe.matching.by_score import EVERY_SLICE, match_by_score
from apframe.matching.order import order_detections
from apframe.matching.outcomes import expand_matches
from apframe.protocols.protocol import Protocol
from apframe.ranking.curves import compute_curves
from apframe.ranking.definitions import Levels
from apframe.ranking.metrics import Ranking, compute_arrays, compute_metrics
from apframe.similarity.box_iou import box_iou
from apframe.similarity.pairs import pair_boxes


class Pipeline:
    """The steps from two canonical tables to metrics.

    Parameters
    ----------
    detections, annotations
        canonical tables, restricted to the images and categories below; in the order in which ties are resolved
    image_ids, category_ids
        sorted
    protocol
        the rules
    """

    def __init__(
        self,
        detections: pl.DataFrame,
        annotations: pl.DataFrame,
        image_ids: pl.Series,
        category_ids: pl.Series,
        protocol: Protocol,
    ) -> None:
        self.detections, self.annotations = detections, annotations
        self.image_ids, self.category_ids = image_ids, category_ids
        self.protocol = protocol
        names = [name for name, *_ in protocol.area_ranges]
        self.area_names = pl.Series(names, dtype=pl.Enum(names))
        # as tables show them, so that a look-up of 0.9 finds 0.8999999999999999
        self.thresholds = pl.Series([round(threshold, 10) for threshold in protocol.iou_thresholds], dtype=pl.Float64)

    def _codes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Dense numbers of each row's image and category, in the order of the ids, and one number for both (`cell`)."""
        codes = frame.select(
            image=_code("image_id", self.image_ids),
            category=pl.lit(0, pl.UInt32) if self.protocol.agnostic else _code("category_id", self.category_ids),
        )
        return codes.with_columns(cell=pl.col("category").cast(pl.Int64) * len(self.image_ids) + pl.col("image"))

    @cached_property
    def _annotation_codes(self) -> pl.DataFrame:
        return self._codes(self.annotations)

    @cached_property
    def _order_and_pairs(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The order of the detections, and the pairs, whose `detection` is a place in that order."""
        codes = self._codes(self.detections)
        with ThreadPoolExecutor(1) as other_thread:
            ordering = other_thread.submit(order_detections, codes.with_columns(self.detections["score"]))
            pairs = pair_boxes(
                self.detections.with_columns(codes["cell"]),
                self.annotations.with_columns(self._annotation_codes["cell"]),
                box_iou(),
                min(self.protocol.iou_thresholds[0], 1 - 1e-10),
            )
            order = ordering.result()
        place = np.empty(order.height, dtype=np.uint32)
        place[order["row"].to_numpy()] = np.arange(order.height, dtype=np.uint32)
        detection = place[pairs["detection"].to_numpy()]
        within = order["cell_rank"].to_numpy()[detection] <= self.protocol.max_detections[-1]
        return order, pairs.with_columns(detection=detection).filter(within)

    @cached_property
    def _ignored(self) -> np.ndarray:
        """Flags (area ranges, annotations): crowds, and annotations outside the range."""
        return self.annotations["is_crowd"].to_numpy() | ~self._inside(self.annotations["area"])

    def _inside(self, area: pl.Series) -> np.ndarray:
        return np.array([area.is_between(low, high).to_numpy() for _, low, high in self.protocol.area_ranges])

    @cached_property
    def _assignments(self) -> pl.DataFrame:
        pairs, is_crowd = self._order_and_pairs[1], self.annotations["is_crowd"].to_numpy()
        return match_by_score(pairs, is_crowd, self._ignored, np.array(self.protocol.iou_thresholds))

    @cached_property
    def _ranking(self) -> Ranking:
        order = self._order_and_pairs[0]
        category = self._annotation_codes["category"].to_numpy()
        n_categories = 1 if self.protocol.agnostic else len(self.category_ids)
        counted = [np.bincount(category[~ignored], minlength=n_categories) for ignored in self._ignored]
        return Ranking(
            assignments=self._assignments,
            order=order,
            counts=self._inside(self.detections["area"].gather(order["row"])),
            ignored=self._ignored,
            n_positives=np.stack(counted, axis=1),
            max_detections=self.protocol.max_detections,
            definition=self.protocol.definition,
            n_thresholds=len(self.protocol.iou_thresholds),
        )

    def metrics(self, *, headlines_only: bool = False) -> pl.DataFrame:
        """See `Evaluation.metrics`; the headline numbers need no `ap` at smaller max_detections, and leave it null."""
        ranking = self._ranking
        values = compute_metrics(ranking, ap_at=() if headlines_only else range(len(self.protocol.max_detections)))
        axes = (1, 2, 0, 3)  # category, area range, threshold, max_detections: outermost first
        shape = tuple(np.array(ranking.shape)[list(axes)])
        category, area, threshold, limit = (index.ravel() for index in np.indices(shape, dtype=np.int32))
        ids = pl.Series([None], dtype=self.category_ids.dtype) if self.protocol.agnostic else self.category_ids
        return pl.DataFrame(
            {
                "category_id": ids.gather(category),
                "area_range": self.area_names.gather(area),
                "iou_threshold": self.thresholds.gather(threshold),
                "max_detections": pl.Series(self.protocol.max_detections, dtype=pl.Int64).gather(limit),
                "ap": values["ap"].transpose(axes).ravel(),
                "recall": values["recall"].transpose(axes).ravel(),
                "n_positives": ranking.n_positives[category, area].astype(np.int64),
                "n_detections": values["n_detections"].transpose(axes).ravel(),
            }
        ).with_columns(pl.col("ap", "recall").fill_nan(None))

    def arrays(self) -> dict[str, np.ndarray]:
        """See `Evaluation.arrays`."""
        definition = self.protocol.definition
        if not isinstance(definition, Levels):
            raise ParameterError(f"arrays: {definition.name} has no recall levels, which the reference's arrays are over")
        ranking = self._ranking
        scores = self.detections["score"].gather(ranking.order["row"]).to_numpy()
        category = ranking.order["category"].to_numpy()
        first_scores = np.zeros(ranking.shape[1])
        first_scores[category[::-1]] = scores[::-1]  # the first of each category is written last
        return compute_arrays(ranking, definition, first_scores, scores)

    def _ids(self, rows: pl.DataFrame) -> list[pl.Series]:
        """detection_id and annotation_id of rows that hold places in the order, and row numbers."""
        order = self._order_and_pairs[0]
        return [
            self.detections["detection_id"].gather(order["row"].gather(rows["detection"])),
            self.annotations["annotation_id"].gather(rows["annotation"]),
        ]

    def pairs(self) -> pl.DataFrame:
        """See `Evaluation.pairs`."""
        pairs = self._order_and_pairs[1]
        return pl.DataFrame([*self._ids(pairs), pairs["similarity"]]).sort("detection_id", "annotation_id")

    def assignments(self) -> pl.DataFrame:
        """See `Evaluation.assignments`."""
        rows = self._assignments
        return pl.DataFrame([*self._ids(rows), rows["similarity"]]).with_columns(
            area_range=self.area_names.gather(rows["slice"].replace(EVERY_SLICE, None)),
            iou_from=self.thresholds.gather(rows["first"]),
            iou_to=self.thresholds.gather(rows["last"] - 1),
        )

    def matches(self, threshold: int | None = None, area: int | None = None) -> pl.LazyFrame:
        """The matches table as a plan, of all thresholds and area ranges unless one is named by its number."""
        order = self._order_and_pairs[0]
        thresholds = pl.LazyFrame({"iou_threshold": self.thresholds}).with_row_index("first")
        ranges = pl.LazyFrame(
            {
                "area_range": self.area_names,
                "low": [low for _, low, _ in self.protocol.area_ranges],
                "high": [high for *_, high in self.protocol.area_ranges],
            },
            schema_overrides={"low": pl.Float64, "high": pl.Float64},
        ).with_row_index("slice")
        thresholds = thresholds.with_columns(pl.col("first").cast(pl.UInt16))
        ranges = ranges.with_columns(pl.col("slice").cast(pl.Int16))
        columns = ["detection_id", "image_id", "category_id", "score", "area"]
        detections = (
            order.lazy()
            .with_row_index("detection")
            .with_columns(self.detections[name].gather(order["row"]) for name in columns)
            .filter(pl.col("cell_rank") <= self.protocol.max_detections[-1])
        )
        return expand_matches(
            detections.select("detection", *columns, rank=pl.int_range(1, pl.len() + 1).over("category")),
            self.annotations.lazy()
            .with_row_index("annotation")
            .select("annotation", "annotation_id", "image_id", "category_id", "area", "is_crowd"),
            self._assignments.lazy(),
            thresholds if threshold is None else thresholds.filter(pl.col("first") == threshold),
            ranges if area is None else ranges.filter(pl.col("slice") == area),
        )

    def curves(self, matches: pl.LazyFrame | None = None) -> pl.LazyFrame:
        """The curves table as a plan, of all matches unless some are given; pooled categories have one curve."""
        matches = self.matches() if matches is None else matches
        if self.protocol.agnostic:
            matches = matches.with_columns(category_id=pl.lit(None, self.category_ids.dtype))
        return compute_curves(matches)


def _code(column: str, ids: pl.Series) -> pl.Expr:
    """The place of each value among the sorted ids."""
    if ids.is_empty():  # then there are no rows
        return pl.col(column).cast(pl.UInt32)
    return pl.col(column).replace_strict(ids, pl.int_range(len(ids), dtype=pl.UInt32, eager=True), return_dtype=pl.UInt32)
