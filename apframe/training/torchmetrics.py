"""The metric `MeanAveragePrecision` of torchmetrics 1.x, with its names and numbers, from apframe's tables."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from apframe.adapters.arrays import Item, tabulate, tabulate_detections
from apframe.adapters.torchvision import dataset_of
from apframe.collecting import collecting
from apframe.evaluation.evaluate import evaluate
from apframe.evaluation.evaluation import Evaluation
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.protocols.coco import COCO
from apframe.tables.box_formats import BOX_FORMATS
from apframe.tables.shapes.mask_columns import read_masks

_ARRAYS = {"bbox": "boxes", "segm": "masks"}


class MeanAveragePrecision:
    """Mean average precision of detectors, updated batch by batch, with the interface of torchmetrics on arrays or tensors.

    Parameters
    ----------
    box_format
        "xyxy", "xywh" (from a corner) or "cxcywh" (from the centre)
    iou_type
        "bbox", "segm", or a tuple of both, which puts bbox_ and segm_ in front of the names of the results
    iou_thresholds, rec_thresholds
        lists of numbers. The defaults are torchmetrics': .5 to .95, and 0 to 1 in 101 steps, **rounded to 32 bits**, which
        changes some values; with `np.linspace(0.5, 0.95, 10).tolist()` and `np.linspace(0, 1, 101).tolist()` the numbers equal
        pycocotools'
    max_detection_thresholds
        three numbers, [1, 10, 100] by default
    class_metrics
        also return the numbers of every class
    average
        "macro", the mean over classes, or "micro", which counts all classes as one
    extended_summary
        True is rejected: use `evaluation` instead

        Not supported: `backend`, plots, and synchronisation of processes (`apframe.Evaluator` merges). Intended differences:
        with [1, 10, 300] `map` is at 300 as documented, while torchmetrics returns -1; with "segm", images without
        annotations count; with both types, "micro" and `class_metrics`, both are "micro", while torchmetrics computes the
        second as "macro".

    >>> metric = MeanAveragePrecision()
    >>> detections = {"boxes": [[258.0, 41.0, 606.0, 285.0]], "scores": [0.5], "labels": [0]}
    >>> metric.update([detections], [{"boxes": [[214.0, 41.0, 562.0, 285.0]], "labels": [0]}])
    >>> round(float(metric.compute()["map"]), 3)
    0.6
    """

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_type: str | tuple[str, ...] = "bbox",
        iou_thresholds: Sequence[float] | None = None,
        rec_thresholds: Sequence[float] | None = None,
        max_detection_thresholds: Sequence[int] | None = None,
        class_metrics: bool = False,
        extended_summary: bool = False,
        average: str = "macro",
    ) -> None:
        one_of("box_format", box_format, BOX_FORMATS)
        if extended_summary:
            raise ParameterError("call evaluation(), which has pairs, matches, curves and arrays()", option="extended_summary")
        self.iou_types = (iou_type,) if isinstance(iou_type, str) else tuple(iou_type)
        if not self.iou_types or not set(self.iou_types) <= _ARRAYS.keys():
            raise ParameterError(f'must be "bbox", "segm" or a tuple of them, not {iou_type!r}', option="iou_type")
        one_of("average", average, ("macro", "micro"))
        limits = [1, 10, 100] if max_detection_thresholds is None else sorted(max_detection_thresholds)
        if len(limits) != 3:
            raise ParameterError(f"must be three numbers, not {max_detection_thresholds!r}", option="max_detection_thresholds")
        self.box_format, self.class_metrics, self.average = box_format, class_metrics, average
        self.max_detection_thresholds = limits
        self._options: dict[str, Any] = {
            "iou_thresholds": _steps(0.5, 0.95, 10) if iou_thresholds is None else list(iou_thresholds),
            "recall_levels": _steps(0.0, 1.0, 101) if rec_thresholds is None else list(rec_thresholds),
            "max_detections": limits,
        }
        COCO.with_options(**self._options)  # rejects bad options
        self.reset()

    def reset(self) -> None:
        """Forget all updates."""
        self._n_images = 0
        self._detections: dict[str, list[pl.DataFrame]] = {name: [] for name in self.iou_types}
        self._expected: list[pl.DataFrame] = []

    def __call__(self, preds: Sequence[Item], target: Sequence[Item]) -> dict[str, Any]:
        """Add images as `update` does, and return the numbers of these images only."""
        batch = copy.copy(self)
        batch.reset()
        batch.update(preds, target)
        self.update(preds, target)
        with collecting():  # do not warn that a few images have no or few detections
            return batch.compute()

    def update(self, preds: Sequence[Item], target: Sequence[Item]) -> None:
        """Add images with their detections and annotations.

        Parameters
        ----------
        preds
            a dict for each image: `labels`, `scores`, and `boxes` or `masks` or both, as `iou_type` requires
        target
            the same without scores, and optionally `area` (0 means unknown: the area of the mask if masks are compared, else of
            the box) and `iscrowd`

        Raises
        ------
        ParameterError
            the numbers of targets and predictions differ
        RowError
            values are missing or invalid; `rows` are the positions in the list, from 0. Nothing is added
        """
        if len(preds) != len(target):
            raise ParameterError(f"update: {len(preds)} preds but {len(target)} targets", "pass one of each per image")
        ids = list(range(self._n_images, self._n_images + len(preds)))
        detections = {name: tabulate_detections("preds", preds, ids, name, self.box_format) for name in self.iou_types}
        needed = [_ARRAYS[name] for name in self.iou_types]
        expected = tabulate("target", target, ids, needed, optional=["area", "iscrowd"], box_format=self.box_format)
        for name, frame in detections.items():
            self._detections[name].append(frame)
        self._expected.append(expected)
        self._n_images += len(preds)

    def compute(self) -> dict[str, Any]:
        """Compute the numbers so far; -1 if nothing could be evaluated.

        Returns
        -------
        map, map_50, map_75, map_small, map_medium, map_large, mar_1, mar_10, mar_100 (by `max_detection_thresholds`),
        mar_small, mar_medium, mar_large as np.float32; map_per_class and mar_100_per_class, float32 in the order of `classes`,
        or -1 without `class_metrics`; classes, int32, all labels of detections or annotations. The numbers of classes are
        always arrays, while torchmetrics returns a number for a single class
        """
        results: dict[str, Any] = {}
        for iou_type in self.iou_types:
            prefix = f"{iou_type}_" if len(self.iou_types) > 1 else ""
            evaluation = self.evaluation(iou_type)
            values = dict(evaluation.summary.with_columns(pl.col("value").fill_null(-1)).iter_rows())
            areas = ("small", "medium", "large")
            names = {"map": "AP", "map_50": "AP50", "map_75": "AP75"} | {f"map_{name}": f"AP{name[0]}" for name in areas}
            names |= {f"mar_{n}": f"AR{n}" for n in self.max_detection_thresholds}
            names |= {f"mar_{name}": f"AR{name[0]}" for name in areas}
            results |= {prefix + name: np.float32(values[ours]) for name, ours in names.items()}
            of_classes = (np.float32(-1), np.float32(-1))
            if self.class_metrics:
                arrays = (evaluation if self.average == "macro" else self._evaluate(iou_type, "macro")).arrays()
                of_classes = (
                    arrays["precision"][:, :, :, 0, -1].mean(axis=(0, 1)).astype(np.float32),
                    arrays["recall"][:, :, 0, -1].mean(axis=0).astype(np.float32),
                )
            last = self.max_detection_thresholds[-1]
            results |= {f"{prefix}map_per_class": of_classes[0], f"{prefix}mar_{last}_per_class": of_classes[1]}
        frames = [*self._expected, *self._detections[self.iou_types[0]]]
        labels = [frame["category_id"].to_numpy() for frame in frames]
        return results | {"classes": np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *labels])).astype(np.int32)}

    def evaluation(self, iou_type: str | None = None) -> Evaluation:
        """Return the evaluation with all tables: matches, curves, slices, pycocotools' arrays; images are numbered from 0.

        >>> MeanAveragePrecision(iou_type="bbox").evaluation("segm")
        Traceback (most recent call last):
        apframe.exceptions.ParameterError: iou_type is "bbox", not 'segm'
        """
        selected = self.iou_types[0] if iou_type is None else iou_type
        one_of("iou_type", selected, self.iou_types)
        return self._evaluate(selected, self.average)

    def _evaluate(self, iou_type: str, average: str) -> Evaluation:
        empty = tabulate_detections("preds", [], [], iou_type)
        detections = pl.concat([empty, *self._detections[iou_type]], how="vertical_relaxed")
        annotations = pl.concat(self._expected, how="diagonal_relaxed") if self._expected else empty.drop("score")
        if "area" in annotations.columns:
            annotations = annotations.with_columns(pl.when(pl.col("area") > 0).then("area"))
        if {"mask", "x"} <= set(annotations.columns):
            annotations = _with_areas_of_masks(annotations)
        if average == "micro":
            detections, annotations = (
                frame.with_columns(category_id=pl.lit(0, pl.Int64)) for frame in (detections, annotations)
            )
        labels = pl.concat([detections["category_id"], annotations["category_id"]]).unique().sort().to_list()
        dataset = dataset_of(annotations, list(range(self._n_images)), {label: str(label) for label in labels})
        return evaluate(dataset, detections, iou_type=iou_type, **self._options)


def _with_areas_of_masks(annotations: pl.DataFrame) -> pl.DataFrame:
    """Fill unknown areas of annotations with the areas of their masks."""
    masks = read_masks("annotations", annotations.with_row_index("annotation_id"))
    areas = annotations["area"] if "area" in annotations.columns else pl.Series([None], dtype=pl.Float64)
    return annotations.with_columns(area=areas.cast(pl.Float64)).with_columns(pl.col("area").fill_null(pl.Series(masks.area)))


def _steps(first: float, last: float, n: int) -> list[float]:
    """Return evenly spaced numbers as `torch.linspace` computes them: in 32 bits, from both ends to the middle."""
    step, place = float(np.float32((last - first) / (n - 1))), np.arange(n)
    steps = np.where(place < n / 2, first + step * place, last - step * (n - 1 - place))
    return steps.astype(np.float32).astype(np.float64).tolist()
