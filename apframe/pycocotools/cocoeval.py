"""`COCOeval`: pycocotools' steps and results, computed by `apframe.evaluate`."""
# ruff: noqa: N802, N803, N812, T201 - names and prints are those that training code knows

from __future__ import annotations

import copy
import time
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from apframe.evaluation.pipeline import Pipeline
from apframe.exceptions import LostAnnotationsWarning, ParameterError, warn
from apframe.lazily import cached_property
from apframe.protocols.coco import COCO as COCO_RULES
from apframe.protocols.protocol import Protocol
from apframe.pycocotools import mask as maskUtils
from apframe.pycocotools.coco import COCO, tables_of
from apframe.pycocotools.coco_files import Row
from apframe.pycocotools.coco_tables import found_tables, pooled_in_order, truth_tables
from apframe.pycocotools.dictionaries import are_few_and_sound, group_annotations, group_results
from apframe.pycocotools.eval_images import Cell, Layout, loses_matches, make_cells, make_similarities, rank_cells, take
from apframe.pycocotools.one_cell import compare_keypoints, compare_masks, compare_shapes, judge_cell
from apframe.pycocotools.params import Order, Params, categories_of, order_of, protocol_of, refuse_changes
from apframe.pycocotools.summary_lines import headlines, mean, words
from apframe.wording import counted

__all__ = ["COCOeval", "Params", "maskUtils"]

# created at their first use, and again after the next evaluation
_MADE = ("eval", "evalImgs", "ious", "_gts", "_dts", "_layout", "_cells", "_similarities", "_places")


class COCOeval:
    """pycocotools' `COCOeval`: `evaluate`, `accumulate`, `summarize`.

    Numbers equal pycocotools' to the last bit, even for annotations with id 0, whose matches count as false positives there.

    `evalImgs`, `ious`, `eval`, `_gts` and `_dts` are created at their first use. From then on, and if they are assigned, they
    are the data: `evaluateImg` reads `_gts`, `_dts` and `ious`, `accumulate` ranks `evalImgs`, and `summarize` averages `eval`.
    Overridden and assigned methods are called.

    Rows are evaluated as tables. They are matched cell by cell, which takes as long as in pycocotools, if methods that prepare
    or compare them are overridden, if `_gts`, `_dts` or `ious` were edited, or if there are few rows.

    Differences from pycocotools: invalid data are rejected, while pycocotools continues and returns numbers (NaN scores,
    negative sizes, ids that are not unique); so are thresholds of 0, keypoints with `useCats` 0, and `accumulate` with other
    images, categories, thresholds or areas than were evaluated.

    Parameters
    ----------
    cocoGt, cocoDt
        ground truth, and results from its `loadRes`
    iouType
        "bbox", "segm" or "keypoints"

    >>> truth, box = COCO(), {"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0}
    >>> truth.dataset = {"images": [{"id": 7}], "categories": [{"id": 1}], "annotations": [box]}
    >>> from contextlib import redirect_stdout
    >>> from io import StringIO
    >>> with redirect_stdout(StringIO()):
    ...     truth.createIndex()
    ...     evaluation = COCOeval(truth, truth.loadRes([box | {"bbox": [0, 0, 10, 8], "score": 0.9}]), "bbox")
    ...     evaluation.evaluate()
    ...     evaluation.accumulate()
    ...     evaluation.summarize()
    >>> evaluation.stats[:3].round(3).tolist()
    [0.7, 1.0, 1.0]
    """

    _few = 1000  # rows up to which matching cell by cell is faster than tables

    def __init__(self, cocoGt: COCO | None = None, cocoDt: COCO | None = None, iouType: str = "segm") -> None:
        if not iouType:
            print("iouType not specified. use default iouType segm")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params = Params(iouType=iouType)
        self.stats: Any = []
        self.evalImgs, self._gts, self._dts = defaultdict(list), defaultdict(list), defaultdict(list)
        self.eval, self.ious = {}, {}
        self._paramsEval: Any = {}
        self._evaluation: Pipeline | None = None
        self._prepared = self.params  # the parameters when the tables were prepared
        self._accumulated: tuple[Pipeline, dict[str, Any], Order] | None = None  # the source of `eval`
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.getCatIds())

    @cached_property
    def eval(self) -> Any:
        """pycocotools' arrays of the accumulated results."""
        if self._accumulated is None:
            return {}
        evaluation, about, order = self._accumulated
        return _eval(evaluation.arrays(), about, order)

    @cached_property
    def evalImgs(self) -> Any:
        """The cells of categories, area ranges and images."""
        return self._made_cells()

    @cached_property
    def ious(self) -> Any:
        """The similarities by image and category."""
        return {key: copy.copy(values) for key, values in self._similarities.items()} if self._evaluation else {}

    @cached_property
    def _gts(self) -> Any:
        """The annotations by image and category."""
        return group_annotations(self.cocoGt, self._prepared)

    @cached_property
    def _dts(self) -> Any:
        """The results by image and category."""
        return group_results(self.cocoDt, self._prepared)

    @cached_property
    def _layout(self) -> Layout:
        p = self._prepared
        if self._evaluation is None:
            raise ParameterError("Please run evaluate() first")
        return Layout(self._evaluation, list(p.imgIds), list(categories_of(p)))

    @cached_property
    def _cells(self) -> list[Cell | None]:  # others than those of evalImgs, which may be changed
        return self._made_cells()

    @cached_property
    def _similarities(self) -> dict[tuple[Any, Any], Any]:
        return make_similarities(self._layout)

    @cached_property
    def _places(self) -> list[dict[Any, int]]:
        p = self._prepared
        return [{key: n for n, key in enumerate(keys)} for keys in (p.imgIds, categories_of(p), map(tuple, p.areaRng))]

    def _made_cells(self) -> list[Cell | None]:
        p, evaluation = self._prepared, self._layout.pipeline
        return make_cells(self._layout, order_of(p, evaluation.protocol)[0], p.areaRng, max(p.maxDets))

    @property
    def _are_tables_the_data(self) -> bool:
        """True if the dictionaries of the cells were not accessed yet, because they may be edited afterwards."""
        return self._evaluation is not None and not {"_gts", "_dts"} & self.__dict__.keys()

    def _of_cell(self, image_id: Any, category_id: Any) -> tuple[list[Row], list[Row]]:
        """Return the annotations and results of a cell, of all evaluated categories if they are pooled."""
        if self.params.useCats:
            return self._gts.get((image_id, category_id), []), self._dts.get((image_id, category_id), [])
        keys = [(image_id, each) for each in self.params.catIds]
        expected, results = ([row for key in keys for row in groups.get(key, ())] for groups in (self._gts, self._dts))
        return expected, results

    def _is_changed(self, name: str) -> bool:
        """Return True if a method was overridden in a subclass, assigned to the object, or patched into the class."""
        return getattr(getattr(self, name), "__func__", None) is not _METHODS[name]

    def __getstate__(self) -> Row:
        accessed = {name: getattr(self, name) for name in ("eval", "evalImgs", "ious")}
        others = {name: value for name, value in self.__dict__.items() if name not in _MADE}
        return others | accessed | {"_evaluation": None, "_accumulated": None}

    def _prepare(self) -> None:
        """Select the tables by the current parameters, without computing anything yet."""
        p = self.params
        if self.cocoGt is None or self.cocoDt is None:
            raise ParameterError("COCOeval needs cocoGt and cocoDt before it can evaluate")
        if not p.useCats and len(set(p.catIds)) < len(p.catIds):
            raise ParameterError("params.catIds must not repeat if useCats is 0: annotations would count twice")
        if not p.useCats and p.iouType == "keypoints":
            raise ParameterError(
                "useCats = 0 is not possible with keypoints: pycocotools compares nothing",
                "pool categories with apframe.evaluate",
            )
        for name in _MADE:
            self.__dict__.pop(name, None)
        self.eval, self._accumulated, self._evaluation = {}, None, None
        self._prepared = copy.deepcopy(p)
        protocol = protocol_of(p)
        if not (any(map(self._is_changed, _PREPARING)) or are_few_and_sound(self.cocoGt, self.cocoDt, p, self._few)):
            self._evaluation = _selected(self.cocoGt, self.cocoDt, p, protocol)

    def evaluate(self) -> None:
        """Evaluate by `params`; matches are computed when they are first needed.

        Raises
        ------
        InputError
            data that cannot be evaluated; the message has the rows
        ParameterError
            parameters that are not supported
        """
        tic = time.time()
        print("Running per image evaluation...")
        p = self.params
        if p.useSegm is not None:
            p.iouType = "segm" if p.useSegm == 1 else "bbox"
            print(f"useSegm (deprecated) is not None. Running {p.iouType} evaluation")
        print(f"Evaluate annotation type *{p.iouType}*")
        p.imgIds = list(np.unique(p.imgIds))
        if p.useCats:
            p.catIds = list(np.unique(p.catIds))
        p.maxDets = sorted(p.maxDets)
        self._prepare()
        if n_lost := self._n_lost():
            warn(
                f"{counted(n_lost, 'annotation')} with id 0 cannot be matched, as in pycocotools, which takes 0 for no match; "
                "number annotations from 1, or use apframe.evaluate, which matches them",
                LostAnnotationsWarning,
            )
        category_ids = list(categories_of(p))
        if self._evaluation is None:
            self.ious = self._compared([(image_id, category_id) for image_id in p.imgIds for category_id in category_ids])
        if self._evaluation is None or self._is_changed("evaluateImg"):
            self.evalImgs = [self.evaluateImg(image_id, category_id, area, p.maxDets[-1]) for category_id in category_ids
                             for area in p.areaRng for image_id in p.imgIds]  # fmt: skip
        self._paramsEval = copy.deepcopy(p)
        print(f"DONE (t={time.time() - tic:0.2f}s).")

    def _n_lost(self) -> int:
        """Return the number of evaluated annotations with id 0."""
        if self._evaluation is None:
            return sum(row["id"] == 0 for rows in self._gts.values() for row in rows)
        ids = self._evaluation.inputs.annotations["annotation_id"]
        return int((ids == 0).sum()) if ids.dtype.is_integer() else 0

    def _compared(self, cells: list[tuple[Any, Any]]) -> dict[tuple[Any, Any], Any]:
        """Compute `ious` from the dictionaries, for masks of all cells at once."""
        if self.params.iouType == "segm" and not self._is_changed("computeIoU"):
            return dict(zip(cells, compare_masks([self._of_cell(*cell) for cell in cells], self.params), strict=True))
        compute = self.computeOks if self.params.iouType == "keypoints" else self.computeIoU
        return {cell: compute(*cell) for cell in cells}

    def computeIoU(self, imgId: Any, catId: Any) -> Any:
        """Return the similarities of an image and category: detections, best score first, × annotations; [] without either."""
        if self._are_tables_the_data:
            return copy.copy(self._similarities.get((imgId, catId if self._prepared.useCats else -1), []))
        return compare_shapes(*self._of_cell(imgId, catId), self.params)

    def computeOks(self, imgId: Any, catId: Any) -> Any:
        """Return the keypoint similarities of one image and category."""
        if self._are_tables_the_data:
            return self.computeIoU(imgId, catId)
        return compare_keypoints(*self._of_cell(imgId, catId), self.params)

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> Cell | None:
        """Return one of the cells of `evalImgs`; None without detections and annotations."""
        if self._are_tables_the_data and self._is_of_tables(imgId, catId, aRng, maxDet):
            images, categories, areas = self._places
            category_id = catId if self._prepared.useCats else -1
            if imgId not in images or category_id not in categories:
                return None
            cell = self._cells[(categories[category_id] * len(areas) + areas[tuple(aRng)]) * len(images) + images[imgId]]
            return cell and {name: copy.copy(value) for name, value in cell.items()}
        expected, results = self._of_cell(imgId, catId)
        if not expected and not results:
            return None
        about = {"image_id": imgId, "category_id": catId, "aRng": aRng, "maxDet": maxDet}
        return about | judge_cell(expected, results, self.ious[imgId, catId], self.params.iouThrs, aRng, maxDet)

    def _is_of_tables(self, image_id: Any, category_id: Any, area: Any, limit: int) -> bool:
        """Return True if the tables contain a cell, and its `ious`, if any, come from the tables too."""
        if tuple(area) not in self._places[2] or limit != max(self._prepared.maxDets):
            return False
        if not (assigned := self.__dict__.get("ious")):
            return True
        own = self._similarities.get((image_id, category_id if self._prepared.useCats else -1), ())
        return np.array_equal(assigned.get((image_id, category_id), own), own)

    def accumulate(self, p: Params | None = None) -> None:
        """Rank the evaluated detections; `eval` is computed at its first use.

        `recThrs` may have changed since `evaluate`, and `maxDets` to others that were evaluated.

        Raises
        ------
        ParameterError
            nothing was evaluated; other parameters have changed since; `evalImgs` that do not fit them
        """
        print("Accumulating evaluation results...")
        tic = time.time()
        by_cells = self._evaluation is not None and loses_matches(self._evaluation)
        cells = self.evalImgs if by_cells else self.__dict__.get("evalImgs")
        if not self._paramsEval or (self._evaluation is None and cells is None):
            raise ParameterError("Please run evaluate() first")
        p = self.params if p is None else p
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        refuse_changes(p, self._paramsEval)
        protocol, evaluation = protocol_of(p), self._evaluation
        about = {"params": p, "date": datetime.now().strftime("%Y-%m-%d %H:%M:%S")}
        self.__dict__.pop("eval", None)
        if cells is not None:
            shape = len(p.catIds), len(p.areaRng), len(p.imgIds)
            in_order = list(range(len(p.iouThrs))), order_of(p, protocol)[1]
            arrays = rank_cells(list(cells), shape, list(p.iouThrs), protocol)
            self.eval, self._accumulated = _eval(arrays, about, in_order), None
        else:
            assert evaluation is not None
            if protocol != evaluation.protocol:
                inputs = evaluation.inputs
                evaluation = take(inputs.dataset, inputs.detections, protocol, are_checked=True)
            self._accumulated = evaluation, about, order_of(p, protocol)
        print(f"DONE (t={time.time() - tic:0.2f}s).")

    def summarize(self) -> None:
        """Print the headline numbers, and store them as `stats`: -1 if nothing could be evaluated.

        As in pycocotools, the first line is at 100 detections, and -1 if `maxDets` does not contain 100.

        Raises
        ------
        ParameterError
            nothing was accumulated; boxes and masks need at least three `maxDets`
        """
        if self._accumulated is None and not self.__dict__.get("eval"):
            raise ParameterError("Please run accumulate() first")
        lines = headlines(self.params)
        arrays = self._headline_arrays()
        stats = np.array([mean(arrays, self.params, *line) for line in lines])
        for line, value in zip(lines, stats, strict=True):
            print(words(self.params, *line, value))
        self.stats = stats

    def _headline_arrays(self) -> dict[str, Any]:
        """Return `eval`, or before its first use only the arrays behind the headline numbers, which takes less time."""
        if "eval" in self.__dict__ or self._accumulated is None:
            return self.eval
        evaluation, published = self._accumulated[0], COCO_RULES.variant(self.params.iouType)
        needed, done = (  # the same but for what leaves the lines of the summary as they are
            replace(protocol, agnostic=False, similarity=published.similarity)
            for protocol in (protocol_of(self.params), evaluation.protocol)
        )
        usual = Params(self.params.iouType)  # lists must also be in the usual order
        in_order = (
            list(getattr(self.params, name)) == list(getattr(usual, name)) for name in ("areaRngLbl", "maxDets", "iouThrs")
        )
        if not (needed == done == published and all(in_order)):
            return self.eval
        return evaluation.arrays(headlines_only=True)

    def __str__(self) -> str:
        self.summarize()
        return ""


def _selected(truth: COCO, results: COCO, p: Params, protocol: Protocol) -> Pipeline:
    """Select the tables to evaluate."""
    image_ids, category_ids = np.asarray(p.imgIds).tolist(), np.asarray(p.catIds).tolist()
    hidden = sorted(set(truth.getCatIds()) - set(category_ids))
    expected = truth_tables(truth, image_ids, category_ids, p.iouType)
    results_table = found_tables(results, image_ids, hidden, p.iouType)
    if not p.useCats and category_ids != sorted(category_ids):
        expected, results_table = pooled_in_order(expected, results_table, category_ids)
    return take(expected, results_table, protocol, are_checked=isinstance(tables_of(results), pl.DataFrame))


def _eval(arrays: dict[str, np.ndarray], about: dict[str, Any], order: Order) -> dict[str, Any]:
    """Return the dictionary `eval`, with its thresholds and limits in this order."""
    thresholds, limits = order
    values = {name: np.ascontiguousarray(array[thresholds][..., limits]) for name, array in arrays.items()}
    return {**about, "counts": list(values["precision"].shape), **values}


_METHODS = {name: vars(COCOeval)[name] for name in ("_prepare", "computeIoU", "computeOks", "evaluateImg")}
_PREPARING = ("_prepare", "computeIoU", "computeOks")  # overridden methods that tables would bypass
