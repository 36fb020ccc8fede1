"""One evaluation on its way through the rooms: pairs, matches, counts, metrics; each step taken when asked for, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from apframe.detection.diagnose.per_image import count_per_image
from apframe.detection.diagnose.thresholds import sweep_thresholds
from apframe.detection.prepare.counting import crowds, ignored_annotations, ignored_detections
from apframe.detection.prepare.extents import with_image_sizes
from apframe.detection.prepare.inputs import Inputs
from apframe.detection.slices.slices import ObjectGroups, Slicing
from apframe.exceptions import ParameterError
from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.order import order_detections
from apframe.matching.outcomes import expand_matches
from apframe.matching.policies import match
from apframe.matching.reached import NEARLY_ONE
from apframe.matching.regroup import Lists, Side, add_competitors, regroup
from apframe.protocols.protocol import Protocol
from apframe.protocols.summary import Headline, headlines
from apframe.ranking.curves import compute_curves
from apframe.ranking.definitions import Levels
from apframe.ranking.metrics import Cells, Ranking, Rest, compute_arrays, compute_cells, compute_metrics
from apframe.schema import SUPPORT
from apframe.similarity.mask_iou import MaskSimilarity
from apframe.similarity.pairs import require

_MOST_ROWS = 1 << 21  # of groups of objects that are put into lists together


class Pipeline:
    """The steps from the canonical tables to metrics.

    Parameters
    ----------
    inputs
        what is evaluated
    protocol
        the rules
    """

    def __init__(self, inputs: Inputs, protocol: Protocol) -> None:
        self.detections, self.annotations = inputs.detections, inputs.annotations
        self.image_ids, self.category_ids = inputs.image_ids, inputs.category_ids
        self.images, self._masks = inputs.dataset.images, (inputs.masks, inputs.annotation_masks)
        self.protocol = protocol
        names = [name for name, *_ in protocol.area_ranges]
        self.area_names = pl.Series(names, dtype=pl.Enum(names))
        # as tables show them, so that a look-up of 0.9 finds 0.8999999999999999
        self.iou_thresholds = pl.Series([round(threshold, 10) for threshold in protocol.iou_thresholds], dtype=pl.Float64)

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
    def _detection_codes(self) -> pl.DataFrame:
        return self._codes(self.detections)

    @cached_property
    def _order_and_pairs(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The order of the detections, and the pairs, whose `detection` is a place in that order."""
        codes = self._detection_codes
        with ThreadPoolExecutor(1) as other_thread:
            to_order = codes.with_columns(self.detections["score"])
            ordering = other_thread.submit(order_detections, to_order, by_image=self.protocol.ties == "image")
            pairs = self._pair(codes["cell"])
            order = ordering.result()
        place = np.empty(order.height, dtype=np.uint32)
        place[order["row"].to_numpy()] = np.arange(order.height, dtype=np.uint32)
        return order, pairs.with_columns(detection=place[pairs["detection"].to_numpy()])

    @property
    def pairs_nothing(self) -> bool:
        """Does no detection reach the lowest threshold with any annotation of its image and category?"""
        return self._order_and_pairs[1].is_empty()

    def _pair(self, cell: pl.Series) -> pl.DataFrame:
        if self.detections.is_empty() or self.annotations.is_empty():  # which may lack columns that they never had values of
            return pl.DataFrame(schema={"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64})
        similarity = self.protocol.similarity
        detections = self.detections.with_columns(cell)
        annotations = self.annotations.with_columns(
            self._annotation_codes["cell"], is_crowd=crowds(self.annotations, self.protocol)
        )
        require(similarity, detections, annotations)
        if similarity.uses_images:
            detections, annotations = (with_image_sizes(frame, self.images) for frame in (detections, annotations))
        least = min(self.protocol.iou_thresholds[0], NEARLY_ONE)
        if isinstance(similarity, MaskSimilarity):
            return similarity.pair(detections, annotations, least, *self._masks)
        return similarity.pair(detections, annotations, least)

    @cached_property
    def _ignored_annotations(self) -> pl.Series:
        return ignored_annotations(self.annotations, self.protocol)

    def _inside(self, frame: pl.DataFrame, ignored: pl.Series) -> list[np.ndarray]:
        """Flags of the rows for each area range: in it, and not ignored anyway."""
        return [(frame["area"].is_between(low, high) & ~ignored).to_numpy() for _, low, high in self.protocol.area_ranges]

    @cached_property
    def _inside_annotations(self) -> list[np.ndarray]:
        return self._inside(self.annotations, self._ignored_annotations)

    @cached_property
    def _inside_detections(self) -> list[np.ndarray]:
        return self._inside(self.detections, ignored_detections(self.detections, self.protocol))

    @cached_property
    def _n_categories(self) -> int:
        return 1 if self.protocol.agnostic else len(self.category_ids)

    @cached_property
    def _ranking(self) -> Ranking:
        return self._rank(self._whole, self._inside_annotations, self._inside_detections)

    @property
    def _whole(self) -> Lists:
        """A list for each category."""
        annotations = self._annotation_codes["category"].cast(pl.Int64).alias("list").to_frame().with_row_index("annotation")
        n = self._n_categories
        return Lists(*self._order_and_pairs, annotations, np.zeros(n, dtype=np.int64), np.arange(n))

    def _rank(
        self,
        lists: Lists,
        inside_annotations: Sequence[np.ndarray],
        inside_detections: Sequence[np.ndarray],
        rest: Rest | None = None,
    ) -> Ranking:
        """Match, and put together what metrics are computed from; the flags are of the rows, for each area range."""
        row, number = (lists.annotations[name].to_numpy() for name in ("annotation", "list"))
        ignored = np.array([~flags[row] for flags in inside_annotations])
        is_crowd = crowds(self.annotations, self.protocol).to_numpy()[row]
        in_order = lists.order["row"].to_numpy()
        counts = [flags[in_order] for flags in inside_detections]
        if "inside" in lists.order.columns:
            ignored |= ~lists.annotations["inside"].to_numpy()
            counts = [flags & lists.order["inside"].to_numpy() for flags in counts]
        return Ranking(
            assignments=match(
                self.protocol.matching,
                lists,
                is_crowd,
                ignored,
                self.protocol.iou_thresholds,
                self.protocol.limits,
                strict=self.protocol.strict,
                count_groups=self.protocol.crowds == "counted",
            ),
            order=lists.order,
            counts=counts,
            ignored=ignored,
            n_positives=np.stack([np.bincount(number[~out], minlength=len(lists.group)) for out in ignored], axis=1),
            max_detections=self.protocol.limits,
            definition=self.protocol.definition,
            n_thresholds=len(self.protocol.iou_thresholds),
            rest=rest,
        )

    def slices(self, slicing: Slicing) -> dict[str, np.ndarray]:
        """The headline numbers and the support of every slice: by name, arrays over the groups of images, detections, objects
        and categories.
        """
        metrics = [line.metric for line in headlines(self.protocol)]
        shape = (len(slicing.images), len(slicing.detections), len(slicing.objects), len(slicing.categories))
        if 0 in shape:  # of a table without rows
            empty = {name: np.zeros(shape) for name in metrics}
            return empty | {name: np.zeros(shape, dtype=np.int64) for name in SUPPORT}
        base = self._lists(slicing)
        parts = [self._measure(ranking, lists, n, base, slicing) for ranking, lists, n in self._rankings(base, slicing.objects)]
        joined = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
        values = {name: array.reshape(shape) for name, array in joined.items()}
        n_images = np.bincount(slicing.images.members["group"].to_numpy(), minlength=len(slicing.images))
        values["n_images"] = np.broadcast_to(n_images[:, None, None, None], shape)
        return {name: values[name] for name in (*metrics, *SUPPORT)}

    def _lists(self, slicing: Slicing) -> Lists:
        """The lists of every group of images and of detections: group number `image group * n_detections_groups + ...`."""
        if slicing.images.is_whole(len(self.image_ids)) and slicing.detections.is_whole(self.detections.height):
            return self._whole
        order, pairs = self._order_and_pairs
        order = order.with_columns(self._detection_codes[name].gather(order["row"]) for name in ("image", "cell"))
        n_parts = len(slicing.detections)
        found = order.lazy().select("image", "row").with_row_index("detection")
        of_images = slicing.images.members.lazy().select(image="row", of_images="group")
        found = found.join(of_images, on="image")
        found = found.join(slicing.detections.members.lazy().select("row", part="group"), on="row")
        group = pl.col("of_images").cast(pl.Int64) * n_parts + pl.col("part")
        expected = self._annotation_codes.lazy().select("image", "category").with_row_index("annotation")
        expected = expected.join(of_images, on="image", maintain_order="left")  # of equal boxes, their order decides
        expected = expected.join(pl.LazyFrame({"part": range(n_parts)}), how="cross", maintain_order="left")
        return regroup(
            order,
            pairs,
            found.select("detection", group=group, inside=pl.lit(True)).collect(),
            expected.select("annotation", "category", group=group, inside=pl.lit(True)).collect(),
            self._n_categories,
            len(slicing.images) * n_parts,
            rank_anew=not slicing.detections.is_whole(self.detections.height),
        )

    def _rankings(self, base: Lists, objects: ObjectGroups) -> Iterator[tuple[Ranking, Lists, int]]:
        """The rankings of some groups of objects at a time: each with its lists, and the number of groups that these are of."""
        flags = (
            objects.restrict(self._inside_annotations, "annotations"),
            objects.restrict(self._inside_detections, "detections"),
        )
        if not objects.keys:
            yield self._rank(base, *flags), base, 1
            return
        detections = base.order.select("row", list="category", image=self._detection_codes["image"].gather(base.order["row"]))
        annotations = base.annotations.select("list", row="annotation")
        annotations = annotations.with_columns(image=self._annotation_codes["image"].gather(annotations["row"]))
        found_by = self._side(detections, base.pairs["detection"], objects.members("detections"))
        expected_by = self._side(annotations, base.pairs["annotation"], objects.members("annotations"))
        whole = None
        if found_by.members is None:  # all detections count in all groups
            whole = self._rank(base, [np.zeros_like(row) for row in flags[0]], flags[1])
        order = base.order.with_row_index("place")
        for n, (found, expected) in add_competitors([found_by, expected_by], len(objects), _MOST_ROWS):
            expected = expected.sort("item")  # of equal boxes, their order decides
            lists = regroup(
                order,
                base.pairs,
                found.rename({"item": "detection"}),
                expected.select(
                    "group", "inside", annotation="item", category=base.annotations["list"].gather(expected["item"])
                ),
                len(base.group),
                n,
                rank_anew=False,
            )
            of = lists.category  # the list of `base` that each is a part of
            of_rows = base.annotations["annotation"].gather(lists.annotations["annotation"])
            lists = replace(
                lists,
                annotations=lists.annotations.with_columns(of_rows.alias("annotation")),
                group=base.group[of] * n + lists.group,
                category=base.category[of],
            )
            rest = None if whole is None else Rest(whole, lists.order["place"].to_numpy().astype(np.int64), of)
            yield self._rank(lists, *flags, rest), lists, n

    def _side(self, rows: pl.DataFrame, paired: pl.Series, members: pl.DataFrame | None) -> Side:
        """The side of lists whose `row`, `list` and `image` these are, with the members of each group by `row`."""
        is_paired = np.zeros(rows.height, dtype=bool)
        is_paired[paired.to_numpy()] = True
        if members is not None:
            members = members.join(rows.with_row_index("item"), on="row").select("item", "group")
        return Side(rows["list"].cast(pl.Int64) * len(self.image_ids) + rows["image"], pl.Series(is_paired), members)

    def _measure(self, ranking: Ranking, lists: Lists, n_objects: int, base: Lists, slicing: Slicing) -> dict[str, np.ndarray]:
        """The headline numbers and counts of some groups of objects: arrays over images and detections, objects, categories."""
        ranges, last = [name for name, *_ in self.protocol.area_ranges], len(self.protocol.max_detections) - 1
        lines = headlines(self.protocol)
        sums = self._summing(lists, n_objects, slicing)

        def of_range(s: int) -> dict[str, np.ndarray]:
            own = [line for line in lines if line.area_range == ranges[s]]
            cells = compute_cells(ranking, s, [self.protocol.max_detections.index(line.max_detections) for line in own], ())
            positives = ranking.n_positives[:, s]
            n_categories = sums(positives > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                values = {line.metric: self._values(line, cells, positives) for line in own}
                means = {metric: sums(np.where(positives > 0, value, 0)) / n_categories for metric, value in values.items()}
            if ranges[s] != self.protocol.whole:
                return means
            n_detections = cells[last].n_detections[0]
            if ranking.rest is None:
                counted = sums(n_detections)
            else:  # groups that have no list of their own in a category have the whole one there
                of_whole = ranking.rest.n_detections(s, last)[0]
                counted = self._summing(base, 1, slicing)(of_whole) + sums(n_detections - of_whole[ranking.rest.whole])
            counts = {"n_annotations": sums(positives), "n_detections": counted, "n_categories": n_categories}
            return means | {name: count.astype(np.int64) for name, count in counts.items()}

        ranking.prepare()
        with ThreadPoolExecutor(2) as threads:
            return {name: value for part in threads.map(of_range, range(len(ranges))) for name, value in part.items()}

    def _summing(self, lists: Lists, n_objects: int, slicing: Slicing) -> Callable[[np.ndarray], np.ndarray]:
        """What sums values of the lists: each list counts in every group of categories that its category is in."""
        shape = (len(slicing.images) * len(slicing.detections), n_objects, len(slicing.categories))
        members = slicing.categories.members.with_columns(pl.col("row").cast(pl.Int64))
        summed = pl.DataFrame({"row": lists.category}).with_row_index("list").join(members, on="row", maintain_order="left")
        number = summed["list"].to_numpy()
        target = lists.group[number] * len(slicing.categories) + summed["group"].to_numpy()

        def sums(per_list: np.ndarray) -> np.ndarray:
            return np.bincount(target, weights=per_list[number], minlength=math.prod(shape)).reshape(shape)

        return sums

    def _values(self, line: Headline, cells: Mapping[int, Cells], positives: np.ndarray) -> np.ndarray:
        """One headline number of every list."""
        cell = cells[self.protocol.max_detections.index(line.max_detections)]
        values = cell.hits / positives if line.column == "recall" else cell.ap
        assert values is not None
        if line.iou_threshold is None:
            return values.mean(axis=0)
        number = self.protocol.threshold_number(line.iou_threshold)
        return np.full(values.shape[1], np.nan) if number is None else values[number]

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
                "iou_threshold": self.iou_thresholds.gather(threshold),
                "max_detections": pl.Series(self.protocol.max_detections, dtype=pl.Int64).gather(limit),
                "ap": values["ap"].transpose(axes).ravel(),
                "recall": values["recall"].transpose(axes).ravel(),
                "n_positives": ranking.n_positives[category, area].astype(np.int64),
                "n_detections": values["n_detections"].transpose(axes).ravel(),
            }
        ).with_columns(pl.col("ap", "recall").fill_nan(None))

    def arrays(self, *, headlines_only: bool = False) -> dict[str, np.ndarray]:
        """See `Evaluation.arrays`; the headline numbers need no `precision` at smaller max_detections, and leave it -1."""
        definition = self.protocol.definition
        if not isinstance(definition, Levels):
            raise ParameterError(f"arrays: {definition.name} has no recall levels, which the reference's arrays are over")
        ranking = self._ranking
        scores = self.detections["score"].gather(ranking.order["row"]).to_numpy()
        category = ranking.order["category"].to_numpy()
        first_scores = np.zeros(ranking.shape[1])
        first_scores[category[::-1]] = scores[::-1]  # the first of each category is written last
        n_limits = ranking.shape[-1]
        return compute_arrays(ranking, definition, first_scores, scores, range(n_limits - 1 if headlines_only else 0, n_limits))

    def _ids(self, rows: pl.DataFrame) -> list[pl.Series]:
        """detection_id and annotation_id of rows that hold places in the order, and row numbers."""
        order = self._order_and_pairs[0]
        return [
            self.detections["detection_id"].gather(order["row"].gather(rows["detection"])),
            self.annotations["annotation_id"].gather(rows["annotation"]),
        ]

    def pairs(self) -> pl.DataFrame:
        """See `Evaluation.pairs`."""
        order, pairs = self._order_and_pairs
        within = order["cell_rank"] <= self.protocol.limits[-1]
        pairs = pairs.filter(within.gather(pairs["detection"]))
        return pl.DataFrame([*self._ids(pairs), pairs["similarity"]]).sort("detection_id", "annotation_id")

    def assignments(self) -> pl.DataFrame:
        """See `Evaluation.assignments`."""
        rows = self._ranking.assignments[-1]
        return pl.DataFrame([*self._ids(rows), rows["similarity"]]).with_columns(
            area_range=self.area_names.gather(rows["slice"].replace(EVERY_SLICE, None)),
            iou_from=self.iou_thresholds.gather(rows["first"]),
            iou_to=self.iou_thresholds.gather(rows["last"] - 1),
        )

    def matches(self, threshold: int | None = None, area: int | None = None) -> pl.LazyFrame:
        """The matches table as a plan, of all thresholds and area ranges unless one is named by its number."""
        order = self._order_and_pairs[0]
        thresholds, ranges = self._grid(threshold, area)
        columns = ["detection_id", "image_id", "category_id", "score", "area"]
        detections = (
            order.lazy()
            .with_row_index("detection")
            .with_columns(self.detections[name].gather(order["row"]) for name in columns)
            .with_columns(is_ignored=ignored_detections(self.detections, self.protocol).gather(order["row"]))
            .filter(pl.col("cell_rank") <= self.protocol.limits[-1])
        )
        return expand_matches(
            detections.select("detection", *columns, "is_ignored", rank=pl.int_range(1, pl.len() + 1).over("category")),
            self.annotations.lazy()
            .with_row_index("annotation")
            .select("annotation", "annotation_id", "image_id", "category_id", "area", is_ignored=self._ignored_annotations),
            self._ranking.assignments[-1].lazy(),
            thresholds,
            ranges,
        )

    def _grid(self, threshold: int | None, area: int | None) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """The thresholds and the area ranges, all of them unless one is named by its number."""
        thresholds = pl.LazyFrame({"iou_threshold": self.iou_thresholds}).with_row_index("first")
        low, high = ([bounds[place] for bounds in self.protocol.area_ranges] for place in (1, 2))
        columns = {"area_range": self.area_names, "low": low, "high": high}
        ranges = pl.LazyFrame(columns, schema_overrides={"low": pl.Float64, "high": pl.Float64})
        thresholds = thresholds.with_columns(pl.col("first").cast(pl.UInt16))
        ranges = ranges.with_row_index("slice").with_columns(pl.col("slice").cast(pl.Int16))
        return (
            thresholds if threshold is None else thresholds.filter(pl.col("first") == threshold),
            ranges if area is None else ranges.filter(pl.col("slice") == area),
        )

    def curves(self, matches: pl.LazyFrame) -> pl.LazyFrame:
        """The curves table as a plan; pooled categories have one curve."""
        return compute_curves(self._pooled(matches))

    def thresholds(self, matches: pl.LazyFrame) -> pl.LazyFrame:
        """The thresholds table as a plan; as `curves`."""
        return sweep_thresholds(self._pooled(matches))

    def per_image(self, threshold: int | None = None, area: int | None = None, min_score: float | None = None) -> pl.LazyFrame:
        """The table of images as a plan; thresholds and area ranges as in `matches`."""
        thresholds, ranges = self._grid(threshold, area)
        every = ranges.join(thresholds, how="cross").select("area_range", "iou_threshold")
        images = pl.LazyFrame({"image_id": self.image_ids})
        return count_per_image(self.matches(threshold, area), every.join(images, how="cross"), min_score)

    def _pooled(self, matches: pl.LazyFrame) -> pl.LazyFrame:
        if self.protocol.agnostic:
            matches = matches.with_columns(category_id=pl.lit(None, self.category_ids.dtype))
        return matches


def _code(column: str, ids: pl.Series) -> pl.Expr:
    """The place of each value among the sorted ids."""
    if ids.is_empty():  # then there are no rows
        return pl.col(column).cast(pl.UInt32)
    return pl.col(column).replace_strict(ids, pl.int_range(len(ids), dtype=pl.UInt32, eager=True), return_dtype=pl.UInt32)
