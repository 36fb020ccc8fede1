"""Evaluation as torchvision, DETR, detectron2, mmdetection and YOLOX do it, run after `patch_pycocotools()`.

Their evaluators are written anew here, by the calls that they make and the fields that they read; the numbers are those of
pycocotools under the same evaluator.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apframe.exceptions import RowError
from apframe.pycocotools import patch_pycocotools
from tests.protocols.generated import Row, Truth, boxes, masks, people
from tests.pycocotools.both import CELLS, as_coco, assert_same, assert_same_arrays, evaluated, in_files, lines, printed, summary

MAKERS = {"bbox": boxes, "segm": masks, "keypoints": people}
MODULES = ("pycocotools", "pycocotools.coco", "pycocotools.cocoeval", "pycocotools.mask")


@pytest.fixture
def patched() -> Iterator[None]:
    """pycocotools' names give the drop-in, within one test."""
    before = {name: module for name, module in sys.modules.items() if name in MODULES}
    patch_pycocotools()
    yield
    for name in MODULES:
        del sys.modules[name]
    sys.modules.update(before)


def evaluate_quietly(coco_eval: Any) -> tuple[list[Any], np.ndarray]:
    """What torchvision does for a batch."""
    coco_eval.evaluate()
    shape = -1, len(coco_eval.params.areaRng), len(coco_eval.params.imgIds)
    return coco_eval.params.imgIds, np.asarray(coco_eval.evalImgs, dtype=object).reshape(shape)


def evaluate_by_cells(coco_eval: Any) -> tuple[list[Any], np.ndarray]:
    """What DETR does for a batch: the loop over cells is its own."""
    p = coco_eval.params
    p.imgIds, p.catIds, p.maxDets = list(np.unique(p.imgIds)), list(np.unique(p.catIds)), sorted(p.maxDets)
    coco_eval._prepare()
    compute = coco_eval.computeOks if p.iouType == "keypoints" else coco_eval.computeIoU
    coco_eval.ious = {
        (image_id, category_id): compute(image_id, category_id) for image_id in p.imgIds for category_id in p.catIds
    }
    cells = [
        coco_eval.evaluateImg(image_id, category_id, area, p.maxDets[-1])
        for category_id in p.catIds
        for area in p.areaRng
        for image_id in p.imgIds
    ]
    coco_eval._paramsEval = copy.deepcopy(p)
    return p.imgIds, np.asarray(cells, dtype=object).reshape(len(p.catIds), len(p.areaRng), len(p.imgIds))


class Evaluator:
    """Batches of results are evaluated one by one; cells of all of them, and of all processes, are put together at the end."""

    def __init__(self, truth: Any, iou_type: str, evaluate: Any) -> None:
        from pycocotools.cocoeval import COCOeval

        self.truth = copy.deepcopy(truth)
        self.coco_eval = COCOeval(self.truth, iouType=iou_type)
        self.evaluate, self.image_ids, self.cells = evaluate, [], []

    def update(self, image_ids: list[int], results: list[Row]) -> None:
        from pycocotools.coco import COCO

        self.image_ids += np.unique(image_ids).tolist()
        self.coco_eval.cocoDt = COCO.loadRes(self.truth, results) if results else COCO()
        self.coco_eval.params.imgIds = list(image_ids)
        self.cells.append(self.evaluate(self.coco_eval)[1])

    def finish(self, *others: Evaluator) -> Any:
        """All processes' cells, an image that several of them have only once."""
        cells = np.concatenate([each for evaluator in (self, *others) for each in evaluator.cells], 2)
        image_ids, first = np.unique([key for evaluator in (self, *others) for key in evaluator.image_ids], return_index=True)
        self.coco_eval.evalImgs = list(cells[..., first].flatten())
        self.coco_eval.params.imgIds = list(image_ids)
        self.coco_eval._paramsEval = copy.deepcopy(self.coco_eval.params)
        self.coco_eval.accumulate()
        return self.coco_eval


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", list(MAKERS))
@pytest.mark.parametrize("evaluate", [evaluate_quietly, evaluate_by_cells], ids=["torchvision", "DETR"])
@pytest.mark.usefixtures("patched")
def test_batches_of_two_processes_merged_equal_reference(iou_type: str, evaluate: Any) -> None:
    truth, results = MAKERS[iou_type](np.random.default_rng(8), 11)
    # another process pads with images that the first one has
    shards = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 1]]
    from pycocotools.coco import COCO

    with printed():
        evaluators = [Evaluator(as_coco(COCO, truth), iou_type, evaluate) for _ in shards]
        for evaluator, shard in zip(evaluators, shards, strict=True):
            for start in range(0, len(shard), 2):
                batch = shard[start : start + 2]
                evaluator.update(batch, [dict(row) for row in results if row["image_id"] in batch])
        ours = evaluators[0].finish(*evaluators[1:])
    assert type(ours).__module__ == "apframe.pycocotools.cocoeval"
    assert_same(ours, by_reference(truth, results, iou_type))


def by_reference(truth: Truth, results: list[Row], iou_type: str) -> Any:
    from tests.pycocotools.both import REFERENCE

    return evaluated(REFERENCE, truth, results, iou_type)


@pytest.mark.usefixtures("patched")
def test_grouped_dictionaries_are_enough_for_compiled_evaluators() -> None:
    # what they take: the annotations and results of each cell, and the similarities
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, results = boxes(np.random.default_rng(8), 5)
    reference = by_reference(truth, results, "bbox")
    with printed():
        coco = as_coco(COCO, truth)
        coco_eval = COCOeval(coco, coco.loadRes([dict(row) for row in results]), "bbox")
        coco_eval._prepare()
    for key, ious in reference.ious.items():
        assert [row["id"] for row in coco_eval._gts[key]] == [row["id"] for row in reference._gts[key]]
        assert [row["ignore"] for row in coco_eval._gts[key]] == [row["ignore"] for row in reference._gts[key]]
        assert [row["id"] for row in coco_eval._dts[key]] == [row["id"] for row in reference._dts[key]]
        np.testing.assert_array_equal(coco_eval.computeIoU(*key), ious)


def of_each_class(coco_eval: Any) -> dict[int, float]:
    """AP by class of the array, at the first area range and the last limit."""
    precision = coco_eval.eval["precision"]
    values = {number: precision[:, :, number, 0, -1] for number in range(precision.shape[2])}
    return {number: float(np.mean(each[each > -1])) if (each > -1).any() else -1.0 for number, each in values.items()}


def as_detectron2(truth: Path, results: list[Row], iou_type: str) -> Any:
    """All results at once, masks without their boxes; a subclass has its own lines for its own limits."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    class OwnLimits(COCOeval):  # type: ignore[misc]
        def summarize(self) -> None:
            most = self.params.maxDets.index(max(self.params.maxDets))
            precision, recall = self.eval["precision"][..., 0, most], self.eval["recall"][..., 0, most]
            at_50 = precision[np.where(self.params.iouThrs == 0.5)[0]]
            means = [each[each > -1].mean() if (each > -1).any() else -1 for each in (precision, at_50, recall)]
            self.stats = np.array(means)

    coco, rows = COCO(truth), copy.deepcopy(results)
    has_annotations = len(coco.getAnnIds()) > 0
    if iou_type == "segm":
        for row in rows:
            row.pop("bbox", None)
    coco_eval = OwnLimits(coco, coco.loadRes(rows), iou_type)
    if iou_type == "keypoints":
        coco_eval.params.kpt_oks_sigmas = np.linspace(0.02, 0.1, 17)
    else:
        coco_eval.params.maxDets = [1, 5, 50]
    coco_eval.evaluate()
    coco_eval.accumulate()
    coco_eval.summarize()
    return has_annotations, coco_eval.stats.tolist(), of_each_class(coco_eval)


def as_compiled_detectron2(truth: Path, results: list[Row], iou_type: str) -> Any:
    """A subclass evaluates and accumulates on its own, of the dictionaries and similarities that the class makes."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    class Compiled(COCOeval):  # type: ignore[misc]
        def evaluate(self) -> None:
            p = self.params
            p.imgIds, p.catIds, p.maxDets = list(np.unique(p.imgIds)), list(np.unique(p.catIds)), sorted(p.maxDets)
            self._prepare()
            compute = self.computeOks if p.iouType == "keypoints" else self.computeIoU
            self.ious = {(image_id, key): compute(image_id, key) for image_id in p.imgIds for key in p.catIds}
            self.rows = [
                [(row["id"], row["area"], int(row["iscrowd"]), row["ignore"]) for row in self._gts[key]]
                + [(row["id"], row["area"], row["score"]) for row in self._dts[key]]
                for key in self.ious
            ]
            self._paramsEval = copy.deepcopy(p)

        def accumulate(self) -> None:
            self.best = [np.asarray(ious).max(initial=0) for ious in self.ious.values()]

    coco = COCO(truth)
    coco_eval = Compiled(coco, coco.loadRes(copy.deepcopy(results)), iou_type)
    coco_eval.evaluate()
    coco_eval.accumulate()
    return coco_eval.rows, coco_eval.best


def as_mmdetection(truth: Path, results: list[Row], iou_type: str) -> Any:
    """The class of the data set has second names in another style; parameters are set, categories pooled for proposals."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    class Renamed(COCO):  # type: ignore[misc]
        def __init__(self, annotation_file: Any = None) -> None:
            super().__init__(annotation_file=annotation_file)
            self.img_ann_map, self.cat_img_map = self.imgToAnns, self.catToImgs

        def get_ann_ids(self, img_ids: Any = ()) -> Any:
            return self.getAnnIds(img_ids, [], [], None)

        def load_anns(self, ids: Any) -> Any:
            return self.loadAnns(ids)

    coco, found = Renamed(str(truth)), {}
    n_annotations = {key: len(coco.load_anns(coco.get_ann_ids(img_ids=[key]))) for key in coco.getImgIds()}
    for metric in (iou_type, "proposal"):
        coco_eval = COCOeval(coco, coco.loadRes(copy.deepcopy(results)), "bbox" if metric == "proposal" else iou_type)
        coco_eval.params.catIds, coco_eval.params.imgIds = coco.getCatIds(), coco.getImgIds()
        if iou_type != "keypoints":
            coco_eval.params.maxDets, coco_eval.params.iouThrs = [100, 300, 1000], np.linspace(0.5, 0.95, 10)
        coco_eval.params.useCats = int(metric != "proposal")
        coco_eval.evaluate()
        coco_eval.accumulate()
        coco_eval.summarize()
        found[metric] = coco_eval.stats.tolist(), of_each_class(coco_eval)
    return n_annotations, found, len(coco.img_ann_map), len(coco.cat_img_map)


def as_yolox(truth: Path, results: list[Row], iou_type: str) -> Any:
    """Results go through a file, boxes with an empty `segmentation`; what is printed goes into the log."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    path = truth.with_name("yolox.json")
    path.write_text(json.dumps([{"segmentation": []} | row for row in results]))
    coco, log = COCO(truth), StringIO()
    coco_eval = COCOeval(coco, coco.loadRes(str(path)), iou_type)
    coco_eval.evaluate()
    coco_eval.accumulate()
    with redirect_stdout(log):
        coco_eval.summarize()
    return coco_eval.stats[:2].tolist(), lines(log), of_each_class(coco_eval)


EVALUATORS = {"detectron2": as_detectron2, "compiled detectron2": as_compiled_detectron2, "mmdetection": as_mmdetection}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("evaluator", "iou_type"),
    [
        *(pytest.param(evaluator, iou_type, id=f"{name} {iou_type}")
          for name, evaluator in EVALUATORS.items() for iou_type in MAKERS),
        pytest.param(as_yolox, "bbox", id="YOLOX"),
    ],
)  # fmt: skip
def test_evaluators_give_the_numbers_of_pycocotools(
    evaluator: Callable[..., Any], iou_type: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    truth, results = MAKERS[iou_type](np.random.default_rng(5), 9)
    path, _ = in_files(tmp_path, truth, results)
    with printed():
        expected = evaluator(path, results, iou_type)
        request.getfixturevalue("patched")
        numbers = evaluator(path, results, iou_type)
    assert numbers == expected


SCRIPT = """
from apframe.exceptions import RowError
from apframe.pycocotools import patch_pycocotools
patch_pycocotools()
import pycocotools
import pycocotools.coco as coco_module
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval, Params
import pycocotools.mask as mask_utils
for each in (COCO, COCOeval, Params, mask.encode, pycocotools.coco.COCO, coco_module.COCO, mask_utils.iou):
    assert each.__module__.startswith("apframe.pycocotools."), each
"""


@pytest.mark.slow
def test_patched_imports_give_the_drop_in_in_every_form() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("patched")
def test_accumulating_some_batches_equals_reference_on_them() -> None:
    truth, results = boxes(np.random.default_rng(9), 8)
    from pycocotools.coco import COCO

    with printed():
        evaluator = Evaluator(as_coco(COCO, truth), "bbox", evaluate_quietly)
        for batch in ([3, 4], [1], [8, 6]):
            evaluator.update(batch, [dict(row) for row in results if row["image_id"] in batch])
        ours = evaluator.finish()

    from tests.pycocotools.both import REFERENCE

    reference = evaluated(REFERENCE, truth, results, change=lambda params: setattr(params, "imgIds", [1, 3, 4, 6, 8]))
    assert_same_arrays(ours, reference)


@pytest.mark.parametrize("wrong", [{"size": [4, 5], "counts": "zz"}, [[0, 0, 2, float("nan"), 2, 2]], []])
def test_a_wrong_mask_among_few_is_named_by_its_annotation(wrong: Any) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 0}
    truth = {"images": [{"id": 1, "width": 5, "height": 4}], "categories": [{"id": 1, "name": "cat"}]}
    annotations = [{**box, "id": 7, "segmentation": wrong}]
    result = {"image_id": 1, "category_id": 1, "score": 0.9, "segmentation": {"size": [4, 5], "counts": "0310008"}}
    with pytest.raises(RowError, match="annotation_id 7"):
        summary(evaluated(CELLS, {**truth, "annotations": annotations}, [result], "segm"))
