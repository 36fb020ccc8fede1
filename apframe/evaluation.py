"""Evaluation: the tables behind the numbers. The steps to them are taken when first asked for, once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe import sql
from apframe.exceptions import FormatError, NoAnnotationsWarning, ParameterError, UnknownCategoryWarning, listed
from apframe.io.coco import read_coco, read_coco_results
from apframe.io.parquet import DETECTION, read_manifest, read_table, write_tables
from apframe.protocols.coco import COCO
from apframe.protocols.protocol import Protocol
from apframe.protocols.summary import summarize
from apframe.report.console import summary_lines
from apframe.report.html import evaluation_html
from apframe.schema import OUTCOMES, Dataset, canonical_detections, is_known, unknown_ids

if TYPE_CHECKING:
    import numpy as np

    from apframe.pipeline import Pipeline


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
        evaluate only these, given by name or id; one or several
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
    if not isinstance(protocol, Protocol):
        raise ParameterError(f"protocol is a value such as apframe.COCO, not {protocol!r}; a similarity is named by iou_type=")
    if iou_type is not None and iou_type not in protocol.iou_types:
        raise ParameterError(f"{protocol.name} has no iou_type {iou_type!r}; it has {', '.join(protocol.iou_types)}")
    if unknown_images not in ("error", "drop"):
        raise ParameterError(f'unknown_images is "error" or "drop", not {unknown_images!r}')
    options = protocol.with_options(
        iou_thresholds=iou_thresholds, recall_levels=recall_levels, area_ranges=area_ranges,
        max_detections=max_detections, agnostic=agnostic,
    )  # fmt: skip
    with ThreadPoolExecutor(2) as other_threads:
        reading = other_threads.submit(_read_truth, truth)
        other_threads.submit(import_module, "apframe.pipeline")
        found = _read_detections(detections)
        dataset = reading.result()
    chosen = _chosen(dataset.core("categories"), categories)
    return Evaluation(dataset, found, options, chosen, drop_unknown_images=unknown_images == "drop")


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
        category_ids: pl.Series | None = None,
        *,
        drop_unknown_images: bool = False,
    ) -> None:
        self.dataset, self.protocol = dataset, protocol
        self._image_ids = dataset.core("images")["image_id"].sort()
        self._category_ids = (dataset.core("categories")["category_id"] if category_ids is None else category_ids).sort()
        found = canonical_detections(detections, dataset)
        self.detections = _of_known(found, dataset, self._category_ids, drop_unknown_images)
        annotations = dataset.core("annotations")
        self._annotations = annotations.filter(is_known(annotations["category_id"], self._category_ids))
        if self._annotations.is_empty():
            warnings.warn("there are no annotations to evaluate against: all metrics are null", NoAnnotationsWarning, 3)
        if protocol.agnostic:  # pooled categories are walked one after the other, which tells where scores or IoUs are equal
            self.detections = self.detections.sort("category_id", maintain_order=True)
            self._annotations = self._annotations.sort("category_id", maintain_order=True)

    @cached_property
    def _pipeline(self) -> Pipeline:
        # imported here, for it brings in NumPy: reading files does not wait for that, and `import apframe` stays light
        from apframe.pipeline import Pipeline

        return Pipeline(self.detections, self._annotations, self._image_ids, self._category_ids, self.protocol)

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per category × area range × IoU threshold × max_detections.

        Columns: category_id (null when categories are pooled), area_range, iou_threshold, max_detections, ap, recall (at the
        end of the list), n_positives, n_detections (counted ones: true and false positives). `ap` and `recall` are null
        where n_positives is 0.
        """
        return self._pipeline.metrics()

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The headline numbers: columns `metric` and `value` (null where nothing could be evaluated)."""
        complete = self.__dict__.get("metrics")
        metrics = self._pipeline.metrics(headlines_only=True) if complete is None else complete
        return summarize(metrics, self.protocol)

    @property
    def stats(self) -> np.ndarray:
        """The values of the summary as pycocotools has them in `COCOeval.stats`: -1 where not evaluated."""
        return self.summary["value"].fill_null(-1).to_numpy()

    def arrays(self) -> dict[str, np.ndarray]:
        """pycocotools' arrays: `precision` and `scores` (T, R, K, A, M) and `recall` (T, K, A, M).

        T thresholds, R recall levels, K categories in the order of their ids (1 when pooled), A area ranges, M
        max_detections. -1 where a category has no annotation that counts.
        """
        return self._pipeline.arrays()

    @property
    def pairs(self) -> pl.DataFrame:
        """detection_id, annotation_id, similarity: pairs of an image and category that reach the lowest threshold.

        Detections beyond the largest of max_detections have none; pooled categories pair by image alone.
        """
        return self._pipeline.pairs()

    @property
    def assignments(self) -> pl.DataFrame:
        """Who is matched with whom: the matches table of all thresholds and area ranges in its compact form.

        Columns: detection_id, annotation_id, similarity, area_range (null: in every one), and iou_from, iou_to: the lowest
        and the highest threshold at which the two are matched.
        """
        return self._pipeline.assignments()

    def matches(self, iou_threshold: float | None = None, area_range: str | None = None) -> pl.DataFrame:
        """One row per detection and per missed annotation, at one threshold and area range.

        Parameters
        ----------
        iou_threshold
            one of the protocol's, found to 1e-9; the lowest by default
        area_range
            the name of one of the protocol's; "all" by default

        Returns
        -------
        match_id, image_id, category_id, detection_id, annotation_id, iou_threshold, area_range, score, rank (within the
        category; among all when they are pooled), similarity, outcome: tp, fp, fn (no detection_id) or ignored.
        Detections by category and rank, missed annotations after them. Detections beyond max_detections take no part and
        have no row.
        """
        return self._pipeline.matches(self._threshold_at(iou_threshold), self._area_at(area_range)).collect()

    def curves(
        self, iou_threshold: float | None = None, area_range: str | None = None, category: int | str | None = None
    ) -> pl.DataFrame:
        """Precision and recall at every rank, at one threshold and area range, of one category or each.

        Columns: category_id, area_range, iou_threshold, rank (from 1, ignored detections take none), detection_id, score, tp,
        fp, precision, recall (null without annotations) and envelope (the best precision from here on). `category` is a name
        or an id. Defaults as in `matches`.
        """
        matches = self._pipeline.matches(self._threshold_at(iou_threshold), self._area_at(area_range))
        if category is not None and self.protocol.agnostic:
            raise ParameterError("the categories are pooled, and have one curve; leave out category")
        if category is not None:
            chosen = _chosen(self.dataset.core("categories"), [category])
            matches = matches.filter(pl.col("category_id").is_in(pl.lit(chosen).implode()))
        return self._pipeline.curves(matches).collect()

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """Answer an SQL query (DuckDB's dialect) over the tables of this evaluation; `$name` stands for a parameter.

        The tables are images, categories, annotations and detections with their attributes, and pairs, assignments, matches,
        curves, metrics and summary. Each is computed only if the query touches it; of `matches` and `curves` only what the
        filters of the query on iou_threshold and area_range let through.

        Raises
        ------
        QueryError
            with DuckDB's message and the names of the tables
        """
        return sql.query(self._tables(with_attributes="annotations" in query.lower()), query, parameters)

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
            "kind": DETECTION,
            "protocol": self.protocol.as_dict(),
            "category_ids": self._category_ids.to_list(),
            "json_columns": sorted(self.dataset.json_columns),
        }
        write_tables(folder, tables, manifest)

    def _tables(self, *, with_attributes: bool) -> dict[str, pl.LazyFrame]:
        """All tables by name, none of them computed yet; annotations with their attributes if these are wanted."""
        annotations = self.dataset.annotations if with_attributes else self.dataset.core("annotations")
        image, category = self._image_ids.dtype, self._category_ids.dtype
        detection, annotation = self.detections["detection_id"].dtype, self._annotations["annotation_id"].dtype
        areas = pl.Enum([name for name, *_ in self.protocol.area_ranges])
        at = {"category_id": category, "area_range": areas, "iou_threshold": pl.Float64}
        pair = {"detection_id": detection, "annotation_id": annotation, "similarity": pl.Float64}
        matches = {
            "match_id": pl.Int64, "image_id": image, "category_id": category, "detection_id": detection,
            "annotation_id": annotation, "iou_threshold": pl.Float64, "area_range": areas, "score": pl.Float64,
            "rank": pl.Int64, "similarity": pl.Float64, "outcome": OUTCOMES,
        }  # fmt: skip
        curves = at | {
            "rank": pl.UInt32, "detection_id": detection, "score": pl.Float64, "tp": pl.UInt32, "fp": pl.UInt32,
            "precision": pl.Float64, "recall": pl.Float64, "envelope": pl.Float64,
        }  # fmt: skip
        metrics = at | {
            "max_detections": pl.Int64, "ap": pl.Float64, "recall": pl.Float64, "n_positives": pl.Int64,
            "n_detections": pl.Int64,
        }  # fmt: skip
        return {
            "images": self.dataset.images.lazy(),
            "categories": self.dataset.categories.lazy(),
            "annotations": annotations.lazy(),
            "detections": self.detections.lazy(),
            "pairs": sql.deferred(lambda: self.pairs, pair),
            "assignments": sql.deferred(
                lambda: self.assignments, pair | {"area_range": areas, "iou_from": pl.Float64, "iou_to": pl.Float64}
            ),
            "matches": sql.deferred(lambda: self._pipeline.matches(), matches),
            "curves": sql.deferred(lambda: self._pipeline.curves(), curves),
            "metrics": sql.deferred(lambda: self.metrics, metrics),
            "summary": sql.deferred(lambda: self.summary, {"metric": pl.String, "value": pl.Float64}),
        }

    def _threshold_at(self, iou_threshold: float | None) -> int:
        if iou_threshold is None:
            return 0
        if not isinstance(iou_threshold, (int, float)):
            raise ParameterError(f"iou_threshold is a number, not {iou_threshold!r}")
        for number, threshold in enumerate(self.protocol.iou_thresholds):
            if abs(threshold - iou_threshold) < 1e-9:
                return number
        shown = ", ".join(f"{threshold:.10g}" for threshold in self.protocol.iou_thresholds)
        raise ParameterError(f"iou_threshold {iou_threshold} was not evaluated; there are {shown}")

    def _area_at(self, area_range: str | None) -> int:
        names = [name for name, *_ in self.protocol.area_ranges]
        if area_range is not None and area_range not in names:
            raise ParameterError(f"area_range {area_range!r} was not evaluated; there are {', '.join(names)}")
        return names.index(self.protocol.whole if area_range is None else area_range)

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
    manifest = read_manifest(folder, DETECTION, ["protocol", "category_ids", "json_columns"])
    images, categories, annotations, detections = (
        read_table(folder, name) for name in ("images", "categories", "annotations", "detections")
    )
    dataset = Dataset(images, categories, annotations)
    dataset.json_columns = {(table, name) for table, name in manifest["json_columns"]}
    try:
        protocol = Protocol.from_dict(manifest["protocol"])
    except (TypeError, AttributeError, LookupError, ValueError) as error:
        raise FormatError(f"{folder}: the manifest's protocol cannot be read ({error}); evaluate again") from error
    category_ids = pl.Series(manifest["category_ids"], dtype=categories["category_id"].dtype)
    evaluation = Evaluation(dataset, detections, protocol, category_ids)
    evaluation.__dict__ |= {name: read_table(folder, name) for name in ("metrics", "summary")}
    return evaluation


def _chosen(categories: pl.DataFrame, chosen: Sequence[int | str] | None) -> pl.Series | None:
    """The ids of the categories that were named, by id or by name; None for None."""
    if chosen is None:
        return None
    ids, names = categories["category_id"], categories["name"]
    as_text = ids.cast(pl.String)
    chosen = [chosen] if isinstance(chosen, (int, str)) else list(chosen)
    found: list[pl.Series] = []
    for value in chosen:
        # a text is a name, or an id where no category has that name; an integer is an id
        by_name = ids.filter(names == value) if isinstance(value, str) else ids.clear()
        found.append(ids.filter(as_text == str(value)) if by_name.is_empty() else by_name)
    unknown = [value for value, matching in zip(chosen, found, strict=True) if matching.is_empty()]
    if unknown or not found:
        known = listed(names.fill_null(as_text).to_list(), 12)
        raise ParameterError(f"no category {listed(unknown) or 'was named'}; there are {known}")
    return pl.concat(found).unique()


def _of_known(found: pl.DataFrame, dataset: Dataset, category_ids: pl.Series, drop_unknown_images: bool) -> pl.DataFrame:
    """The detections on images and of categories that are evaluated."""
    known = is_known(found["image_id"], dataset.core("images")["image_id"])
    if drop_unknown_images:
        found = found.filter(known)
    elif not known.all():
        remedy = 'give the ground truth of these results, or drop them (unknown_images="drop")'
        raise unknown_ids("detections", found, "image_id", "images", known, remedy)
    listed_ids = dataset.core("categories")["category_id"]
    unknown = ~is_known(found["category_id"], listed_ids)
    if unknown.any():
        which = listed(found["category_id"].filter(unknown).unique(maintain_order=True).to_list())
        warnings.warn(
            f"{unknown.sum():,} detections of categories that the ground truth does not have were dropped: {which}",
            UnknownCategoryWarning, 5,
        )  # fmt: skip
    if unknown.any() or len(category_ids) < len(listed_ids):
        found = found.filter(is_known(found["category_id"], category_ids))
    return found
