"""Evaluation: the tables behind the numbers, each computed when it is first asked for, once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from apframe.exceptions import (
    NoAnnotationsWarning,
    ParameterError,
    UnknownCategoryWarning,
    UnknownIdError,
    listed,
)
from apframe.io.coco import read_coco, read_coco_results
from apframe.io.parquet import read_manifest, read_table, write_tables
from apframe.matching.by_score import match_by_score
from apframe.matching.order import order_detections
from apframe.matching.outcomes import OUTCOMES, expand_matches
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.protocols.summary import summarize
from apframe.ranking.curves import compute_curves
from apframe.ranking.metrics import Ranking, compute_arrays, compute_metrics
from apframe.report.console import summary_lines
from apframe.report.html import evaluation_html
from apframe import sql
from apframe.matching.by_score import EVERY_SLICE
from apframe.schema import Dataset, canonical_detections
from apframe.similarity.box_iou import box_iou
from apframe.similarity.pairs import pair_boxes


def evaluate(
    truth: Any,
    detections: Any,
    protocol: Protocol = COCO,
    *,
    iou_type: str | None = None,
    iou_thresholds: Sequence[float] | None = None,
    recall_levels: Sequence[float] | None = None,
    area_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_detections: Sequence[int] | None = None,
    categories: Sequence[int | str] | None = None,
    agnostic: bool | None = None,
    unknown_images: str = "error",
) -> Evaluation:
    """Evaluate detections against ground truth.

    Parameters
    ----------
    truth
        a `Dataset`, or what `read_coco` reads (a path, a dict)
    detections
        a frame with `image_id, category_id, score, x, y, width, height` (anything that holds columns, or a Parquet
        file), or what `read_coco_results` reads (a path, a list). Two paths are read side by side.
    protocol
        the rules, `apframe.COCO` by default
    iou_type
        which of the protocol's similarities; its first by default
    iou_thresholds, recall_levels, area_ranges, max_detections, agnostic
        depart from the protocol; see `Protocol.with_options`
    categories
        evaluate only these, given by name or id
    unknown_images
        "error" refuses detections of images that the ground truth does not have, "drop" leaves them out

    Returns
    -------
    An `Evaluation`; nothing is computed yet.

    Raises
    ------
    InputError
        bad data, with the rows named
    ParameterError
        bad options

    >>> truth = Dataset(
    ...     images={"image_id": [1]}, categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]})
    >>> found = {"image_id": [1], "category_id": [1], "score": [0.9], "x": [0], "y": [0], "width": [10], "height": [8]}
    >>> ev = evaluate(truth, found)
    >>> ev.summary.head(3).with_columns(pl.col("value").round(3)).rows()
    [('AP', 0.7), ('AP50', 1.0), ('AP75', 1.0)]
    """
    if iou_type is not None and iou_type not in protocol.iou_types:
        raise ParameterError(f"{protocol.name} has no iou_type {iou_type!r}; it has {', '.join(protocol.iou_types)}")
    if unknown_images not in ("error", "drop"):
        raise ParameterError(f'unknown_images is "error" or "drop", not {unknown_images!r}')
    options = protocol.with_options(
        iou_thresholds=iou_thresholds, recall_levels=recall_levels, area_ranges=area_ranges,
        max_detections=max_detections, agnostic=agnostic,
    )  # fmt: skip
    with ThreadPoolExecutor(1) as other_thread:
        reading = other_thread.submit(_read_truth, truth)
        found = _read_detections(detections)
        dataset = reading.result()
    return Evaluation(dataset, found, options, categories, drop_unknown_images=unknown_images == "drop")


def _read_truth(truth: Any) -> Dataset:
    return truth if isinstance(truth, Dataset) else read_coco(truth)


def _read_detections(detections: Any) -> Any:
    is_json = isinstance(detections, (str, Path)) and not str(detections).endswith(".parquet")
    return read_coco_results(detections) if is_json or isinstance(detections, list) else detections


class Evaluation:
    """The result of `evaluate`: lazy tables, from the headline numbers down to every single match.

    Attributes
    ----------
    dataset
        the ground truth
    detections
        the canonical table of those detections that are evaluated
    protocol
        the rules, options included
    """

    def __init__(
        self,
        dataset: Dataset,
        detections: Any,
        protocol: Protocol = COCO,
        categories: Sequence[int | str] | None = None,
        *,
        drop_unknown_images: bool = False,
    ) -> None:
        self.dataset, self.protocol = dataset, protocol
        self._image_ids = dataset.core("images")["image_id"].sort()
        self._category_ids = _chosen(dataset.core("categories"), categories)["category_id"].sort()
        found = canonical_detections(detections, dataset)
        self.detections = self._in_order(_of_known(found, dataset, self._category_ids, drop_unknown_images))
        annotations = dataset.core("annotations")
        self._annotations = self._in_order(annotations.filter(annotations["category_id"].is_in(self._category_ids.implode())))
        if self._annotations.is_empty():
            warnings.warn("there are no annotations to evaluate against: all metrics are null", NoAnnotationsWarning, 3)

    def _in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        """As it came; pooled categories are walked one after the other, which tells where scores or IoUs are equal."""
        return frame.sort("category_id", maintain_order=True) if self.protocol.agnostic else frame

    def _codes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Dense numbers of each row's image and category, in the order of the ids, and one number for both (`cell`)."""
        codes = frame.select(
            image=_code(frame["image_id"], self._image_ids),
            category=pl.lit(0, pl.UInt32) if self.protocol.agnostic else _code(frame["category_id"], self._category_ids),
        )
        return codes.with_columns(cell=pl.col("category").cast(pl.Int64) * len(self._image_ids) + pl.col("image"))

    @cached_property
    def _ordered_and_paired(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The order of the detections, and the pairs, whose `detection` is a place in that order."""
        codes = self._codes(self.detections)
        order = order_detections(codes.with_columns(self.detections["score"]))
        pairs = pair_boxes(
            self.detections.with_columns(codes["cell"]),
            self._annotations.with_columns(self._codes(self._annotations)["cell"]),
            box_iou(),
            min(self.protocol.iou_thresholds[0], 1 - 1e-10),
        )
        place = np.empty(order.height, dtype=np.uint32)
        place[order["row"].to_numpy()] = np.arange(order.height, dtype=np.uint32)
        pairs = pairs.with_columns(detection=place[pairs["detection"].to_numpy()])
        within = order["cell_rank"].to_numpy()[pairs["detection"].to_numpy()] <= self.protocol.max_detections[-1]
        return order, pairs.filter(within)

    @cached_property
    def _ignored(self) -> np.ndarray:
        """Flags (area ranges, annotations): crowds, and annotations outside the range."""
        return self._annotations["is_crowd"].to_numpy() | ~self._inside(self._annotations["area"])

    def _inside(self, area: pl.Series) -> np.ndarray:
        return np.array([area.is_between(low, high).to_numpy() for _, low, high in self.protocol.area_ranges])

    @cached_property
    def _assignments(self) -> pl.DataFrame:
        return match_by_score(
            self._ordered_and_paired[1], self._annotations["is_crowd"].to_numpy(), self._ignored,
            np.array(self.protocol.iou_thresholds),
        )  # fmt: skip

    @cached_property
    def _ranking(self) -> Ranking:
        order, assignments = self._ordered_and_paired[0], self._assignments
        category = self._codes(self._annotations)["category"].to_numpy()
        n_categories = 1 if self.protocol.agnostic else len(self._category_ids)
        counted = [np.bincount(category[~ignored], minlength=n_categories) for ignored in self._ignored]
        return Ranking(
            assignments=assignments,
            order=order,
            counts=self._inside(self.detections["area"].gather(order["row"])),
            ignored=self._ignored,
            n_positives=np.stack(counted, axis=1),
            max_detections=self.protocol.max_detections,
            recall_levels=self.protocol.recall_levels,
            n_thresholds=len(self.protocol.iou_thresholds),
        )

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per category × area range × IoU threshold × max_detections.

        Columns: category_id (null when categories are pooled), area_range, iou_threshold, max_detections, ap, recall (at the
        end of the list), n_positives, n_detections (counted ones: true and false positives). `ap` and `recall` are null
        where n_positives is 0.
        """
        ranking = self._ranking
        values = compute_metrics(ranking)
        axes = (1, 2, 0, 3)  # category, area range, threshold, max_detections: outermost first
        shape = tuple(np.array(ranking.shape)[list(axes)])
        category, area, threshold, limit = (index.ravel() for index in np.indices(shape, dtype=np.int32))
        ids = pl.Series([None], dtype=self._category_ids.dtype) if self.protocol.agnostic else self._category_ids
        return pl.DataFrame(
            {
                "category_id": ids.gather(category),
                "area_range": self._area_names.gather(area),
                "iou_threshold": self._thresholds.gather(threshold),
                "max_detections": pl.Series(self.protocol.max_detections, dtype=pl.Int64).gather(limit),
                "ap": values["ap"].transpose(axes).ravel(),
                "recall": values["recall"].transpose(axes).ravel(),
                "n_positives": ranking.n_positives[category, area].astype(np.int64),
                "n_detections": values["n_detections"].transpose(axes).ravel(),
            }
        ).with_columns(pl.col("ap", "recall").fill_nan(None))

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The headline numbers: columns `metric` and `value` (null where nothing could be evaluated)."""
        return summarize(self.metrics, self.protocol)

    @property
    def stats(self) -> np.ndarray:
        """The values of the summary as pycocotools has them in `COCOeval.stats`: -1 where not evaluated."""
        return self.summary["value"].fill_null(-1).to_numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """pycocotools' arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M).

        T thresholds, R recall levels, K categories in the order of their ids (1 when pooled), A area ranges, M
        max_detections. -1 where a category has no annotation that counts.
        """
        ranking = self._ranking
        scores = self.detections["score"].gather(ranking.order["row"]).to_numpy()
        category = ranking.order["category"].to_numpy()
        first_scores = np.zeros(ranking.shape[1])
        first_scores[category[::-1]] = scores[::-1]  # the first of each category is written last
        return compute_arrays(ranking, first_scores, scores)

    @property
    def pairs(self) -> pl.DataFrame:
        """detection_id, annotation_id, similarity: all pairs of an image and category that reach the lowest threshold."""
        order, pairs = self._ordered_and_paired
        detection_ids = self.detections["detection_id"].gather(order["row"].gather(pairs["detection"]))
        annotation_ids = self._annotations["annotation_id"].gather(pairs["annotation"])
        return pl.DataFrame([detection_ids, annotation_ids, pairs["similarity"]]).sort("detection_id", "annotation_id")

    @property
    def assignments(self) -> pl.DataFrame:
        """Who is matched with whom: the matches table of all thresholds and area ranges in its compact form.

        Columns: detection_id, annotation_id, similarity, area_range (null: in every one), and iou_from, iou_to: the lowest
        and the highest threshold at which the two are matched.
        """
        rows = self._assignments
        order = self._ordered_and_paired[0]
        return pl.DataFrame(
            {
                "detection_id": self.detections["detection_id"].gather(order["row"].gather(rows["detection"])),
                "annotation_id": self._annotations["annotation_id"].gather(rows["annotation"]),
                "similarity": rows["similarity"],
                "area_range": self._area_names.gather(rows["slice"].replace(EVERY_SLICE, None)),
                "iou_from": self._thresholds.gather(rows["first"]),
                "iou_to": self._thresholds.gather(rows["last"] - 1),
            }
        )

    def matches(self, iou_threshold: float | None = None, area_range: str | None = None) -> pl.DataFrame:
        """One row per detection and per missed annotation, at one threshold and area range.

        Parameters
        ----------
        iou_threshold
            one of the protocol's, found to 1e-9; the lowest by default
        area_range
            the name of one of the protocol's; the first ("all") by default

        Returns
        -------
        match_id, image_id, category_id, detection_id, annotation_id, iou_threshold, area_range, score, rank (within the
        category), similarity, outcome: tp, fp, fn (no detection_id) or ignored. Detections by category and rank, missed
        annotations after them. Detections beyond max_detections take no part and have no row.
        """
        return self._matches_plan(self._threshold_at(iou_threshold), self._area_at(area_range)).collect()

    def curves(
        self, iou_threshold: float | None = None, area_range: str | None = None, category: int | str | None = None
    ) -> pl.DataFrame:
        """Precision and recall at every rank, at one threshold and area range, of one category or each.

        Columns: category_id, area_range, iou_threshold, rank, detection_id, score, tp, fp, precision, recall, envelope; see
        `compute_curves`. `category` is a name or an id. Defaults as in `matches`.
        """
        matches = self._matches_plan(self._threshold_at(iou_threshold), self._area_at(area_range))
        if category is not None:
            chosen = _chosen(self.dataset.core("categories"), [category])["category_id"]
            matches = matches.filter(pl.col("category_id").is_in(chosen.implode()))
        return compute_curves(matches).collect()

    def _matches_plan(self, threshold: int | None = None, area: int | None = None) -> pl.LazyFrame:
        """The matches table as a plan, of all thresholds and area ranges unless one is named by its number."""
        order = self._ordered_and_paired[0]
        thresholds = pl.LazyFrame({"iou_threshold": self._thresholds}).with_row_index("first")
        ranges = pl.LazyFrame(
            {
                "area_range": self._area_names,
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
            self._annotations.lazy()
            .with_row_index("annotation")
            .select("annotation", "annotation_id", "image_id", "category_id", "area", "is_crowd"),
            self._assignments.lazy(),
            thresholds if threshold is None else thresholds.filter(pl.col("first") == threshold),
            ranges if area is None else ranges.filter(pl.col("slice") == area),
        )

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """Answer an SQL query (DuckDB's dialect) over the tables of this evaluation; `$name` stands for a parameter.

        The tables are images, categories, annotations and detections with their attributes, and pairs, assignments, matches,
        curves, metrics and summary. Each is computed only if the query touches it; `matches` and `curves` only for the
        thresholds and area ranges that the query asks for.

        Raises
        ------
        QueryError
            with DuckDB's message and the names of the tables
        """
        return sql.query(self._tables(), query, parameters)

    def write_parquet(self, folder: str | Path) -> None:
        """Write the evaluation as a folder: a Parquet file for each table and `manifest.json`.

        The folder appears whole or not at all; an earlier evaluation there is replaced whole. `read_evaluation` reads it
        back. The files are images, categories, annotations, detections, pairs, assignments (the matches of all thresholds
        and area ranges, see there), metrics and summary.

        Raises
        ------
        OutputError
            the folder holds something else, or cannot be written
        """
        tables = {
            "images": self.dataset.images, "categories": self.dataset.categories, "annotations": self.dataset.annotations,
            "detections": self.detections, "pairs": self.pairs, "assignments": self.assignments, "metrics": self.metrics,
            "summary": self.summary,
        }  # fmt: skip
        manifest = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {name: version(name) for name in ("apframe", "polars", "duckdb", "numpy")},
            "protocol": asdict(self.protocol),
            "categories": self._category_ids.to_list(),
        }
        write_tables(folder, tables, manifest)

    def _tables(self) -> dict[str, pl.LazyFrame]:
        """All tables by name, none of them computed yet."""
        ids = {
            "image_id": self._image_ids.dtype,
            "category_id": self._category_ids.dtype,
            "detection_id": self.detections["detection_id"].dtype,
            "annotation_id": self._annotations["annotation_id"].dtype,
        }
        areas = self._area_names.dtype
        at = {"category_id": ids["category_id"], "area_range": areas, "iou_threshold": pl.Float64}
        pair = {"detection_id": ids["detection_id"], "annotation_id": ids["annotation_id"], "similarity": pl.Float64}
        matches = {
            "match_id": pl.Int64, "image_id": ids["image_id"], "category_id": ids["category_id"],
            "detection_id": ids["detection_id"], "annotation_id": ids["annotation_id"], "iou_threshold": pl.Float64,
            "area_range": areas, "score": pl.Float64, "rank": pl.Int64, "similarity": pl.Float64, "outcome": OUTCOMES,
        }  # fmt: skip
        curves = at | {
            "rank": pl.UInt32, "detection_id": ids["detection_id"], "score": pl.Float64, "tp": pl.UInt32, "fp": pl.UInt32,
            "precision": pl.Float64, "recall": pl.Float64, "envelope": pl.Float64,
        }  # fmt: skip
        metrics = at | {
            "max_detections": pl.Int64, "ap": pl.Float64, "recall": pl.Float64, "n_positives": pl.Int64,
            "n_detections": pl.Int64,
        }  # fmt: skip
        return {
            **{name: getattr(self.dataset, name).lazy() for name in ("images", "categories", "annotations")},
            "detections": self.detections.lazy(),
            "pairs": sql.deferred(lambda: self.pairs, pair),
            "assignments": sql.deferred(
                lambda: self.assignments, pair | {"area_range": areas, "iou_from": pl.Float64, "iou_to": pl.Float64}
            ),
            "matches": sql.deferred(self._matches_plan, matches),
            "curves": sql.deferred(lambda: compute_curves(self._matches_plan()), curves),
            "metrics": sql.deferred(lambda: self.metrics, metrics),
            "summary": sql.deferred(lambda: self.summary, {"metric": pl.String, "value": pl.Float64}),
        }

    @property
    def _thresholds(self) -> pl.Series:
        """The thresholds as tables show them, so that a look-up of 0.9 finds 0.8999999999999999."""
        return pl.Series([round(threshold, 10) for threshold in self.protocol.iou_thresholds], dtype=pl.Float64)

    @property
    def _area_names(self) -> pl.Series:
        names = [name for name, *_ in self.protocol.area_ranges]
        return pl.Series(names, dtype=pl.Enum(names))

    def _threshold_at(self, iou_threshold: float | None) -> int:
        if iou_threshold is None:
            return 0
        for number, threshold in enumerate(self.protocol.iou_thresholds):
            if abs(threshold - iou_threshold) < 1e-9:
                return number
        shown = ", ".join(f"{threshold:.10g}" for threshold in self.protocol.iou_thresholds)
        raise ParameterError(f"iou_threshold {iou_threshold} was not evaluated; there are {shown}")

    def _area_at(self, area_range: str | None) -> int:
        names = self._area_names.to_list()
        if area_range is not None and area_range not in names:
            raise ParameterError(f"area_range {area_range!r} was not evaluated; there are {', '.join(names)}")
        return 0 if area_range is None else names.index(area_range)

    def __str__(self) -> str:
        return "\n".join(summary_lines(self.summary, self.protocol))

    def __repr__(self) -> str:
        return f"Evaluation({self.dataset!r}, {self.detections.height:,} detections, protocol={self.protocol.name})"

    def _repr_html_(self) -> str:
        return evaluation_html(self.summary, self.protocol, repr(self.dataset), self.detections.height)


def read_evaluation(folder: str | Path) -> Evaluation:
    """An evaluation that `Evaluation.write_parquet` wrote; the files that it was made from are not needed.

    Metrics and summary are read, not computed again; everything else is computed from the tables when asked for.

    Raises
    ------
    FormatError
        not such a folder, of another schema version, or incomplete
    """
    manifest = read_manifest(folder)
    images, categories, annotations, detections = (
        read_table(folder, name) for name in ("images", "categories", "annotations", "detections")
    )
    protocol = Protocol(**{name: _frozen(value) for name, value in manifest["protocol"].items()})
    evaluation = Evaluation(Dataset(images, categories, annotations), detections, protocol, manifest["categories"])
    evaluation.__dict__ |= {name: read_table(folder, name) for name in ("metrics", "summary")}
    return evaluation


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _chosen(categories: pl.DataFrame, chosen: Sequence[int | str] | None) -> pl.DataFrame:
    """The rows of the categories that were named, by name or id; all when None."""
    if chosen is None:
        return categories
    if isinstance(chosen, (int, str)):
        chosen = [chosen]
    wanted = {str(value) for value in chosen}
    by_name, by_id = pl.col("name").is_in(wanted), pl.col("category_id").cast(pl.String).is_in(wanted)
    found = categories.filter(by_name | by_id)
    unknown = sorted(wanted - set(found["name"]) - set(found["category_id"].cast(pl.String)))
    if unknown or not wanted:
        names = listed(categories["name"].fill_null("").to_list(), 12)
        raise ParameterError(f"no category {listed(unknown) or 'was named'}; there are {names}")
    return found


def _code(values: pl.Series, ids: pl.Series) -> pl.Series:
    """The place of each value among the sorted ids, null where it is not among them."""
    if ids.is_empty():
        return pl.Series(values.name, [None] * len(values), dtype=pl.UInt32)
    return values.replace_strict(ids, pl.int_range(len(ids), dtype=pl.UInt32, eager=True), default=None, return_dtype=pl.UInt32)


def _of_known(found: pl.DataFrame, dataset: Dataset, category_ids: pl.Series, drop_unknown_images: bool) -> pl.DataFrame:
    """The detections on images and of categories that are evaluated."""
    known = found["image_id"].is_in(dataset.core("images")["image_id"].implode())
    if not known.all():
        if not drop_unknown_images:
            raise UnknownIdError(
                "detections", "image_id is not among the images", "detection_id", found["detection_id"].filter(~known),
                f"images {listed(found['image_id'].filter(~known).unique(maintain_order=True).to_list())} are unknown; give the "
                'ground truth that belongs to these results, or unknown_images="drop" to leave them out',
            )  # fmt: skip
        found = found.filter(known)
    listed_ids = dataset.core("categories")["category_id"]
    unknown = ~found["category_id"].is_in(listed_ids.implode())
    if unknown.any():
        which = listed(found["category_id"].filter(unknown).unique(maintain_order=True).to_list())
        warnings.warn(
            f"{unknown.sum():,} detections of categories that the ground truth does not have were dropped: {which}",
            UnknownCategoryWarning, 5,
        )  # fmt: skip
    if unknown.any() or len(category_ids) < len(listed_ids):
        found = found.filter(found["category_id"].is_in(category_ids.implode()))
    return found
