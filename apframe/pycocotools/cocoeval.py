"""`COCOeval`: pycocotools' steps and results, computed by `apframe.evaluate`."""
# ruff: noqa: N802, N803, N812, T201 - names and prints are those that training code knows

from __future__ import annotations

import copy
import pickle
import time
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from apframe.detection.pipeline import Pipeline
from apframe.exceptions import ParameterError
from apframe.protocols import coco as protocols
from apframe.pycocotools import mask as maskUtils
from apframe.pycocotools.cells import Cell, Layout, loses_matches, make_cells, make_similarities, rank_cells, take
from apframe.pycocotools.coco import COCO, tables_of
from apframe.pycocotools.headlines import headlines, mean, words
from apframe.pycocotools.params import Params, categories_of, protocol_of, refuse_changes
from apframe.pycocotools.source import Row
from apframe.pycocotools.tables import found_tables, pooled_in_order, truth_tables

__all__ = ["COCOeval", "Params", "maskUtils"]

# made when they are first looked at, and again after the next evaluation
_MADE = ("eval", "evalImgs", "ious", "_gts", "_dts", "_layout", "_cells", "_similarities", "_places")


class COCOeval:
    """pycocotools' `COCOeval`: `evaluate`, `accumulate`, `summarize`.

    Numbers are pycocotools' to the last bit, with annotations of id 0 too, whose matches it counts as false positives.

    `evalImgs`, `ious` and `eval` are made when they are first looked at. From then on, and where they are assigned, they are
    the data: `accumulate` ranks `evalImgs`, and `summarize` takes means of `eval`. Methods of a subclass are called, and those
    that are assigned, but for those that `evaluate` refuses, because no table passes through them.

    Other than in pycocotools: data that cannot be right is refused where pycocotools goes on, and gives numbers (a score that
    is NaN, negative sizes, ids that are not unique); and so are thresholds of 0 or that do not increase, keypoints with
    `useCats` 0, changed `_gts` and `_dts`, and `accumulate` by other images, categories, thresholds or areas than were
    evaluated.

    Parameters
    ----------
    cocoGt, cocoDt
        ground truth, and results that its `loadRes` gave
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
        self._shown: dict[str, dict[Any, bytes]] = {}  # _gts and _dts as they were made
        self._prepared = self.params  # as they were when the tables were taken
        self._accumulated: tuple[Pipeline, dict[str, Any], list[int]] | None = None  # what `eval` is made of
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.getCatIds())

    @cached_property
    def eval(self) -> Any:
        """pycocotools' arrays of what was accumulated."""
        if self._accumulated is None:
            return {}
        evaluation, about, chosen = self._accumulated
        return _eval(evaluation.arrays(), about, chosen)

    @cached_property
    def evalImgs(self) -> Any:
        """The cells of categories, area ranges and images."""
        return self._made_cells()

    @cached_property
    def ious(self) -> Any:
        """The similarities by image and category."""
        return dict(self._similarities)

    @cached_property
    def _gts(self) -> Any:
        return self._grouped("_gts", self.cocoGt)

    @cached_property
    def _dts(self) -> Any:
        return self._grouped("_dts", self.cocoDt)

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
        return make_cells(self._layout, self._prepared.areaRng, max(self._prepared.maxDets))

    def _grouped(self, name: str, coco: Any) -> Any:
        """Annotations or results as dictionaries by image and category, those of ground truth with the flag `ignore`."""
        groups, p = defaultdict(list), self._prepared
        ids = coco.getAnnIds(imgIds=p.imgIds, catIds=p.catIds if p.useCats else ()) if coco.imgToAnns else ()
        for row in coco.loadAnns(ids):
            if name == "_gts":
                without = p.iouType == "keypoints" and row["num_keypoints"] == 0
                row["ignore"] = int(bool(row.get("iscrowd")) or without)
            groups[row["image_id"], row["category_id"]].append(row)
        self._shown[name] = {key: pickle.dumps(rows) for key, rows in groups.items()}
        return groups

    def _refuse_changed_rows(self, imgId: Any, catId: Any) -> None:
        """An error where the dictionaries of a cell were changed after they had been evaluated."""
        p = self._prepared
        for name in ("_gts", "_dts"):
            groups, shown = self.__dict__.get(name), self._shown.get(name, {})
            keys = [(imgId, category_id) for category_id in ([catId] if p.useCats else p.catIds)]
            if groups is not None and any(pickle.dumps(groups.get(key, [])) != shown.get(key, _NO_ROWS) for key in keys):
                raise ParameterError(f"{name} were changed, which are not read", "change the annotations before _prepare()")

    def _is_changed(self, name: str) -> bool:
        """Whether a method is not that of this module: of a subclass, assigned to the object, or patched into the class."""
        return getattr(getattr(self, name), "__func__", None) is not _METHODS[name]

    def __getstate__(self) -> Row:
        made = {name: getattr(self, name) for name in ("eval", "evalImgs", "ious")}
        kept = {name: value for name, value in self.__dict__.items() if name not in _MADE}
        return kept | made | {"_evaluation": None, "_accumulated": None}

    def _prepare(self) -> None:
        """Take the tables by the parameters as they are now; nothing is computed yet."""
        p = self.params
        if self.cocoGt is None or self.cocoDt is None:
            raise ParameterError("COCOeval needs cocoGt and cocoDt before it can evaluate")
        image_ids, category_ids = np.asarray(p.imgIds).tolist(), np.asarray(p.catIds).tolist()
        if not p.useCats and len(set(category_ids)) < len(category_ids):
            raise ParameterError("params.catIds must be different where useCats is 0: annotations would count twice")
        if not p.useCats and p.iouType == "keypoints":
            raise ParameterError(
                "useCats = 0 with keypoints, where pycocotools compares nothing", "pool them with apframe.evaluate"
            )
        hidden = sorted(set(self.cocoGt.getCatIds()) - set(category_ids))
        truth = truth_tables(self.cocoGt, image_ids, category_ids, p.iouType)
        found = found_tables(self.cocoDt, image_ids, hidden, p.iouType)
        if not p.useCats and category_ids != sorted(category_ids):
            truth, found = pooled_in_order(truth, found, category_ids)
        are_checked = isinstance(tables_of(self.cocoDt), pl.DataFrame)
        self._evaluation = take(truth, found, protocol_of(p), are_checked=are_checked)
        self._prepared = copy.deepcopy(p)
        for name in _MADE:
            self.__dict__.pop(name, None)
        self.eval, self._accumulated, self._shown = {}, None, {}

    def evaluate(self) -> None:
        """Evaluate by `params`; matches are computed when they are first needed.

        Raises
        ------
        InputError
            data that cannot be evaluated, with the rows named
        ParameterError
            parameters that cannot be honoured; another `_prepare`, `computeIoU` or `computeOks` than those of this class
        """
        for name in ("_prepare", "computeIoU", "computeOks"):
            if self._is_changed(name):
                raise ParameterError(
                    f"{type(self).__name__} has a {name} of its own, which tables do not pass through",
                    "give apframe.evaluate a similarity=, or change the annotations before",
                )
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
        self._paramsEval = copy.copy(self._prepared)
        if self._is_changed("evaluateImg"):
            self.evalImgs = [
                self.evaluateImg(image_id, category_id, area, p.maxDets[-1])
                for category_id in categories_of(p)
                for area in p.areaRng
                for image_id in p.imgIds
            ]
        print(f"DONE (t={time.time() - tic:0.2f}s).")

    def computeIoU(self, imgId: Any, catId: Any) -> Any:
        """The similarities of an image and category: detections, best score first, × annotations; [] without either.

        Raises
        ------
        ParameterError
            `_gts` or `_dts` were changed
        """
        self._refuse_changed_rows(imgId, catId)
        return self._similarities.get((imgId, catId if self._prepared.useCats else -1), [])

    def computeOks(self, imgId: Any, catId: Any) -> Any:
        """The same of keypoints."""
        return self.computeIoU(imgId, catId)

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> Cell | None:
        """One of the cells of `evalImgs`; the area range and the number of detections are those of `params`.

        Raises
        ------
        ParameterError
            they are others; `ious` were assigned that `computeIoU` did not give; `_gts` or `_dts` were changed
        """
        self._refuse_changed_rows(imgId, catId)
        p = self._prepared
        category_id = catId if p.useCats else -1
        assigned = (self.__dict__.get("ious") or {}).get((imgId, catId), ())
        if len(assigned) and assigned is not self._similarities.get((imgId, category_id)):
            raise ParameterError("ious were assigned, which are not read", "give apframe.evaluate a similarity= of your own")
        images, categories, areas = self._places
        if tuple(aRng) not in areas or maxDet != max(p.maxDets):
            raise ParameterError(
                "evaluateImg: aRng is one of params.areaRng, maxDet the largest of params.maxDets", "set them there"
            )
        if imgId not in images or category_id not in categories:
            return None
        cell = self._cells[(categories[category_id] * len(areas) + areas[tuple(aRng)]) * len(images) + images[imgId]]
        return cell and {name: copy.copy(value) for name, value in cell.items()}

    def accumulate(self, p: Params | None = None) -> None:
        """Rank what was evaluated; `eval` is computed when it is first looked at.

        `recThrs`, and `maxDets` that were evaluated, may have changed since `evaluate`.

        Raises
        ------
        ParameterError
            nothing was evaluated; other parameters have changed since; `evalImgs` that do not fit them
        """
        print("Accumulating evaluation results...")
        tic = time.time()
        by_cells = self._evaluation is not None and loses_matches(self._evaluation)
        given = self.evalImgs if by_cells else self.__dict__.get("evalImgs")
        if not self._paramsEval or (self._evaluation is None and not given):
            raise ParameterError("Please run evaluate() first")
        p = self.params if p is None else p
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        refuse_changes(p, self._paramsEval)
        protocol, evaluation = protocol_of(p), self._evaluation
        about = {"params": p, "date": datetime.now().strftime("%Y-%m-%d %H:%M:%S")}
        chosen = [protocol.limits.index(limit) for limit in p.maxDets]
        self.__dict__.pop("eval", None)
        if given is not None:
            shape = len(p.catIds), len(p.areaRng), len(p.imgIds)
            self.eval, self._accumulated = _eval(rank_cells(list(given), shape, protocol), about, chosen), None
        else:
            assert evaluation is not None
            if protocol != evaluation.protocol:
                inputs = evaluation.inputs
                evaluation = take(inputs.dataset, inputs.detections, protocol, are_checked=True)
            self._accumulated = evaluation, about, chosen
        print(f"DONE (t={time.time() - tic:0.2f}s).")

    def summarize(self) -> None:
        """Print the headline numbers, and keep them as `stats`: -1 where nothing could be evaluated.

        As in pycocotools, the first line is at 100 detections, and -1 if `maxDets` does not have 100.

        Raises
        ------
        ParameterError
            nothing was accumulated; boxes and masks need three or more `maxDets`
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
        """`eval`; or, until someone looks at it, what the headline numbers are means of, which takes less time."""
        if "eval" in self.__dict__ or self._accumulated is None:
            return self.eval
        evaluation, published = self._accumulated[0], protocols.COCO.variant(self.params.iouType)
        names, labels = [name for name, *_ in published.area_ranges], list(self.params.areaRngLbl)
        wanted, done = (  # the same but for what leaves the lines of the summary as they are
            replace(protocol, agnostic=False, similarity=published.similarity)
            for protocol in (protocol_of(self.params), evaluation.protocol)
        )
        as_published = wanted == done == published and labels == names
        if not (as_published and list(self.params.maxDets) == list(published.limits)):
            return self.eval
        return evaluation.arrays(headlines_only=True)

    def __str__(self) -> str:
        self.summarize()
        return ""


def _eval(arrays: dict[str, np.ndarray], about: dict[str, Any], chosen: list[int]) -> dict[str, Any]:
    """The dictionary `eval`, its `maxDets` in the order of the params."""
    values = {name: np.ascontiguousarray(array[..., chosen]) for name, array in arrays.items()}
    return {**about, "counts": list(values["precision"].shape), **values}


_NO_ROWS = pickle.dumps([])
_METHODS = {name: vars(COCOeval)[name] for name in ("_prepare", "computeIoU", "computeOks", "evaluateImg")}
