"""`COCOeval` gives pycocotools' numbers, lines, `eval`, `evalImgs` and `ious`, or says why it does not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.exceptions import LostAnnotationsWarning, ParameterError, RowError, UnknownCategoryWarning
from apframe.pycocotools import COCO, COCOeval, Params, mask
from tests.parity.strategies import Case, cases
from tests.protocols.generated import Row, Truth, boxes, half_as_often, masks, people, sets, with_boxes
from tests.pycocotools.both import (
    CELLS,
    OURS,
    REFERENCE,
    as_coco,
    assert_same,
    assert_same_arrays,
    assert_same_cells,
    evaluated,
    in_files,
    lines,
    printed,
    summary,
)

STREET = Path(__file__).parents[2] / "data" / "street"
REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco-val2014-100"
MAKERS = {"bbox": boxes, "segm": masks, "keypoints": people}
iou_types = st.sampled_from(list(MAKERS))
seeds = st.integers(0, 2**32)


def completed(case: Case) -> Truth:
    """With the fields that pycocotools needs."""
    rows = [
        {"iscrowd": 0} | row | {"area": row["bbox"][2] * row["bbox"][3] if row.get("area") is None else row["area"]}
        for row in case.truth["annotations"]
    ]
    return {**case.truth, "annotations": rows}


def made(iou_type: str, seed: int = 3, n_images: int = 8) -> tuple[Truth, list[Row]]:
    return MAKERS[iou_type](np.random.default_rng(seed), n_images)


def both(*given: Any, ours: tuple[Any, Any] = OURS, **options: Any) -> tuple[Any, Any]:
    return evaluated(ours, *given, **options), evaluated(REFERENCE, *given, **options)


as_tables_and_by_cells = pytest.mark.parametrize("kinds", [OURS, CELLS], ids=["as tables", "cell by cell"])


@pytest.mark.slow
@pytest.mark.parametrize("results", [pytest.param("model_a.json", marks=pytest.mark.slow), "model_b.json"])
def test_sample_from_files_equals_reference(results: str) -> None:
    ours, reference = both(STREET / "instances.json", str(STREET / results))
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="the sample of COCO val2014 is not beside this checkout")
@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
def test_real_data_equals_reference(iou_type: str) -> None:
    assert_same(*both(REAL / "instances.json", str(REAL / f"detections_{iou_type}.json"), iou_type))


@pytest.mark.slow
@as_tables_and_by_cells
@given(case=cases())
def test_generated_boxes_equal_reference(case: Case, kinds: Any) -> None:
    ours, reference = both(completed(case), case.results, ours=kinds)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow(every=True)
@as_tables_and_by_cells
@half_as_often
@given(data=iou_types.flatmap(lambda name: st.tuples(st.just(name), sets(MAKERS[name]))))
def test_boxes_masks_and_keypoints_equal_reference(data: tuple[str, tuple[Truth, list[Row]]], kinds: Any) -> None:
    iou_type, (truth, results) = data
    ours, reference = both(truth, results, iou_type, ours=kinds)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@pytest.mark.parametrize("as_polygons", [False, True])
def test_masks_with_boxes_of_their_own_equal_reference(as_polygons: bool) -> None:
    truth, results = made("segm")
    results = with_boxes(np.random.default_rng(1), results, as_polygons=as_polygons)
    assert_same(*both(truth, results, "segm"))


def taller(encoding: Row, by: int) -> Row:
    """Run lengths with rows below the image."""
    pixels = mask.decode(mask.frPyObjects(encoding, *encoding["size"]) if isinstance(encoding["counts"], list) else encoding)
    longer = mask.encode(np.asfortranarray(np.pad(pixels, ((0, by), (0, 0)))))
    return {"size": longer["size"], "counts": longer["counts"].decode()}


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])
@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
@pytest.mark.parametrize("other", ["images", "one result", "some annotations"])
def test_masks_of_another_size_than_their_image_equal_reference(
    other: str, from_files: bool, iou_type: str, tmp_path: Path
) -> None:
    truth, results = made("segm")
    if other == "images":  # polygons are of their size, run lengths are not
        truth["images"] = [row | {"width": row["width"] + 7, "height": row["height"] - 3} for row in truth["images"]]
    for row in {"images": [], "one result": results[1:2], "some annotations": truth["annotations"][::2]}[other]:
        if isinstance(row["segmentation"], dict):
            row["segmentation"] = taller(row["segmentation"], 2)
    inputs = truth, results
    ours, reference = both(*(in_files(tmp_path, *inputs) if from_files else inputs), iou_type)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)
    assert iou_type == "bbox" or any((ious == -1).any() for ious in ours.ious.values() if len(ious))


def without(name: str, rows: list[Row], *, every: int) -> list[Row]:
    """The rows, every second or third of them without a field."""
    return [row if number % every else {key: row[key] for key in row if key != name} for number, row in enumerate(rows, 1)]


SHAPES_IN_PART: dict[str, Callable[[list[Row]], list[Row]]] = {
    "boxes alone": lambda rows: without("segmentation", rows, every=1),
    "the first has no mask": lambda rows: without("segmentation", rows[::-1], every=len(rows))[::-1],
    "some have no mask": lambda rows: without("segmentation", rows, every=3),
    "some have boxes": lambda rows: without("bbox", rows[:1], every=1) + without("bbox", rows[1:], every=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])
@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
@pytest.mark.parametrize("part", SHAPES_IN_PART.values(), ids=SHAPES_IN_PART.keys())
def test_results_of_which_some_lack_a_shape_equal_reference(
    part: Callable[[list[Row]], list[Row]], from_files: bool, iou_type: str, tmp_path: Path
) -> None:
    truth, results = made("segm")
    inputs = truth, part(with_boxes(np.random.default_rng(1), results, as_polygons=False))
    ours, reference = both(*(in_files(tmp_path, *inputs) if from_files else inputs), iou_type)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
def test_results_with_neither_box_nor_mask_are_named(from_files: bool, tmp_path: Path) -> None:
    truth, results = made("segm")
    inputs = truth, without("segmentation", results, every=3)
    with pytest.raises(RowError, match=r"results: segmentation is missing for row 3, 6.*supply it in all rows"):
        evaluated(OURS, *(in_files(tmp_path, *inputs) if from_files else inputs), "segm")


@pytest.mark.slow
@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
def test_masks_of_annotations_without_boxes_equal_reference(from_files: bool, tmp_path: Path) -> None:
    truth, results = made("segm")
    inputs = truth | {"annotations": without("bbox", truth["annotations"], every=1)}, results
    ours, reference = both(*(in_files(tmp_path, *inputs) if from_files else inputs), "segm")
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", list(MAKERS))
def test_files_equal_reference(iou_type: str, tmp_path: Path) -> None:
    ours, reference = both(*in_files(tmp_path, *made(iou_type)), iou_type)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.parametrize("iou_type", list(MAKERS))
def test_summary_does_without_eval_until_it_is_looked_at(iou_type: str, tmp_path: Path) -> None:
    ours = evaluated(OURS, *in_files(tmp_path, *made(iou_type)), iou_type)
    before = summary(ours)
    assert "eval" not in ours.__dict__
    assert ours.eval["counts"][-1] == len(ours.params.maxDets)
    assert summary(ours) == before


PARAMETERS: dict[str, Any] = {
    "imgIds": {"imgIds": [5, 2, 2, 1]},
    "an unknown image": {"imgIds": [1, 3, 99]},
    "none": {"imgIds": []},
    "catIds": {"catIds": [3, 1]},
    "an unknown category": {"catIds": [1, 9]},
    "iouThrs": {"iouThrs": np.array([0.3, 0.5, 0.75, 1.0])},
    "iouThrs in another order": {"iouThrs": np.array([0.75, 0.5, 0.9, 0.1])},
    "iouThrs twice": {"iouThrs": np.array([0.5, 0.75, 0.5])},
    "recThrs": {"recThrs": np.linspace(0, 1, 11)},
    "maxDets": {"maxDets": [3, 100, 1]},
    "maxDets without 100": {"maxDets": [1, 2, 5]},
    "four maxDets": {"maxDets": [1, 2, 5, 100]},
    "equal maxDets": {"maxDets": [100, 100, 100]},
    "areaRng": {"areaRng": [[0, 1e10], [0, 1024], [1024, 5000]], "areaRngLbl": ["all", "small", "large"]},
    "areaRng of the same label": {"areaRng": [[0, 1e10], [0, 1024]], "areaRngLbl": ["all", "all"]},
    "areaRngLbl": {"areaRngLbl": ["small", "all", "x", "y"]},
    "useCats": {"useCats": 0},
    "useCats and catIds": {"useCats": 0, "catIds": [1, 3]},
    "useCats and catIds in another order": {"useCats": 0, "catIds": [3, 1, 2]},
    "useSegm": {"useSegm": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("changes", PARAMETERS.values(), ids=PARAMETERS.keys())
@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
@pytest.mark.parametrize("from_cells", [False, True], ids=["tables", "cells"])
@as_tables_and_by_cells
def test_parameters_have_their_effect_as_in_reference(
    changes: dict[str, Any], from_files: bool, from_cells: bool, kinds: Any, tmp_path: Path
) -> None:
    def change(params: Any) -> None:
        for name, value in changes.items():
            setattr(params, name, copy.copy(value))

    def touch(coco_eval: Any) -> None:
        _ = coco_eval.evalImgs if from_cells else None

    data = made("bbox")
    inputs = in_files(tmp_path, *data) if from_files else data
    ours, reference = both(*inputs, change=change, after=touch, ours=kinds)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)
    assert ours.params.catIds == reference.params.catIds
    default = evaluated(OURS, *data)
    same_arrays = [np.array_equal(ours.eval[name], default.eval[name]) for name in ("precision", "recall", "scores")]
    is_label = set(changes) <= {"areaRngLbl", "useSegm"}
    assert all(same_arrays) == is_label, "the parameter changed nothing, or too much"


@pytest.mark.slow
@as_tables_and_by_cells
def test_sigmas_have_their_effect_as_in_reference(kinds: Any) -> None:
    def change(params: Any) -> None:
        params.kpt_oks_sigmas = np.linspace(0.01, 0.2, 17)

    ours, reference = both(*made("keypoints"), "keypoints", change=change, ours=kinds)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)
    assert not np.array_equal(ours.eval["precision"], evaluated(OURS, *made("keypoints"), "keypoints").eval["precision"])


@pytest.mark.parametrize("from_cells", [False, True], ids=["tables", "cells"])
@pytest.mark.parametrize("name", ["recThrs", "maxDets"])
def test_some_parameters_may_change_before_accumulate(name: str, from_cells: bool) -> None:
    values: dict[str, Any] = {"recThrs": np.linspace(0, 1, 5), "maxDets": [1, 10]}

    def after(coco_eval: Any) -> None:
        _ = coco_eval.evalImgs if from_cells else None
        setattr(coco_eval.params, name, values[name])

    assert_same_arrays(*both(*made("bbox"), after=after))


@pytest.mark.slow
def test_parameters_given_to_accumulate_are_those_of_reference() -> None:
    def after(coco_eval: Any) -> None:
        p = copy.deepcopy(coco_eval.params)
        p.recThrs = np.array([0.0, 0.5])
        coco_eval.accumulate(p)
        coco_eval.halves = coco_eval.eval

    ours, reference = both(*made("bbox"), after=after)
    np.testing.assert_array_equal(ours.halves["precision"], reference.halves["precision"])
    assert ours.halves["params"].recThrs.tolist() == [0.0, 0.5]
    assert_same(ours, reference)


@pytest.mark.parametrize(
    ("name", "value"),
    [("imgIds", [1]), ("catIds", [2]), ("iouThrs", np.array([0.5])), ("areaRng", [[0, 5]]), ("maxDets", [300]), ("useCats", 0)],
)
def test_other_parameters_must_be_evaluated_anew(name: str, value: Any) -> None:
    coco_eval = evaluated(OURS, *made("bbox"))
    setattr(coco_eval.params, name, value)
    with pytest.raises(ParameterError, match=f"{name}.*call evaluate"), printed():
        coco_eval.accumulate()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iouThrs": [0.0, 0.5]}, "iou_thresholds must lie in"),
        ({"iouThrs": []}, "iou_thresholds must lie in"),
        ({"recThrs": [1.0, 0.5]}, "recall_levels must lie in .* and increase"),
        ({"areaRng": [[5, 1]]}, "low <= high"),
        ({"maxDets": [0]}, "max_detections must be different numbers"),
        ({"useCats": 0, "catIds": [3, 1, 3]}, "catIds must not repeat"),
    ],
)
def test_parameters_that_cannot_be_honoured_are_refused(changes: dict[str, Any], message: str) -> None:
    def change(params: Any) -> None:
        for name, value in changes.items():
            setattr(params, name, value)

    with pytest.raises(ParameterError, match=message):
        evaluated(OURS, *made("bbox"), change=change)


@pytest.mark.slow
def test_what_is_looked_at_late_is_as_it_was_evaluated() -> None:
    def spoil(coco_eval: Any) -> Any:
        p = coco_eval.params
        p.imgIds, p.catIds, p.maxDets, p.areaRng, p.recThrs = [2], [1], [7], [[0, 5]], np.array([0.5])
        return coco_eval

    ours, reference = (spoil(each) for each in both(*made("bbox")))
    assert_same_arrays(ours, reference)
    assert_same_cells(ours, reference)


def test_no_category_is_as_in_reference() -> None:
    assert_same(*both(*made("bbox"), change=lambda params: setattr(params, "catIds", [])))


def test_pooled_keypoints_are_refused() -> None:
    with pytest.raises(ParameterError, match="pycocotools compares nothing"):
        evaluated(OURS, *made("keypoints"), "keypoints", change=lambda params: setattr(params, "useCats", 0))


def test_steps_out_of_order_are_refused() -> None:
    coco_eval = COCOeval(as_coco(COCO, made("bbox")[0]), None, "bbox")
    with pytest.raises(ParameterError, match="cocoGt and cocoDt"), printed():
        coco_eval.evaluate()
    with pytest.raises(ParameterError, match="run evaluate"), printed():
        coco_eval.accumulate()
    with pytest.raises(ParameterError, match="run accumulate"):
        coco_eval.summarize()
    with pytest.raises(ParameterError, match="iouType not supported: 'lines'"):
        Params("lines")


def test_two_limits_have_arrays_but_no_summary() -> None:
    coco_eval = evaluated(OURS, *made("bbox"), change=lambda params: setattr(params, "maxDets", [1, 100]))
    assert coco_eval.eval["recall"].shape[-1] == 2
    with pytest.raises(ParameterError, match="three numbers"):
        coco_eval.summarize()


@pytest.mark.slow
@half_as_often
@given(iou_types, seeds)
def test_cells_ranked_again_equal_the_tables(iou_type: str, seed: int) -> None:
    of_tables = evaluated(OURS, *made(iou_type, seed, 4), iou_type)
    of_cells = evaluated(OURS, *made(iou_type, seed, 4), iou_type, after=lambda coco_eval: coco_eval.evalImgs)
    assert_same(of_cells, of_tables)


@pytest.mark.slow
def test_cells_that_were_changed_are_what_is_accumulated() -> None:
    def after(coco_eval: Any) -> None:
        coco_eval.evalImgs = [cell if n % 3 else None for n, cell in enumerate(coco_eval.evalImgs)]
        for cell in filter(None, coco_eval.evalImgs):
            cell["dtIgnore"][:, :1] = True

    # a cell is left out of all areas or of none, as there are three times as many images as cells left out
    data = made("bbox", n_images=9)
    ours, reference = both(*data, after=after)
    assert_same_arrays(ours, reference)
    assert not np.array_equal(ours.eval["recall"], evaluated(OURS, *data).eval["recall"])


@pytest.mark.slow
def test_cells_of_other_parameters_are_refused() -> None:
    def drop(coco_eval: Any) -> None:
        coco_eval.evalImgs = coco_eval.evalImgs[:-1]

    def cut(coco_eval: Any) -> None:
        for cell in filter(None, coco_eval.evalImgs):
            cell["dtMatches"] = cell["dtMatches"][:3]

    with pytest.raises(ParameterError, match="evalImgs has 95 cells, not 3 categories × 4 area ranges × 8 images"):
        _ = evaluated(OURS, *made("bbox"), after=drop).eval
    with pytest.raises(ParameterError, match="do not fit together"):
        _ = evaluated(OURS, *made("bbox"), after=cut).eval


@pytest.mark.slow
def test_arrays_that_were_changed_are_what_is_summarized() -> None:
    def halve(coco_eval: Any) -> Any:
        coco_eval.eval["precision"] = coco_eval.eval["precision"] / 2
        return summary(coco_eval)

    ours, reference = both(*made("bbox"))
    assert halve(ours)[0] == halve(reference)[0]
    assert ours.stats[0] < evaluated_stats(made("bbox"))[0]


def evaluated_stats(data: Any) -> list[float]:
    return summary(evaluated(OURS, *data))[1]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("iou_type", list(MAKERS))
@as_tables_and_by_cells
def test_single_cells_equal_reference(iou_type: str, kinds: Any) -> None:
    ours, reference = both(*made(iou_type), iou_type, ours=kinds)
    p = reference.params
    compute = "computeOks" if iou_type == "keypoints" else "computeIoU"
    for image_id in p.imgIds:
        for category_id in p.catIds:
            expected = getattr(reference, compute)(image_id, category_id)
            np.testing.assert_array_equal(getattr(ours, compute)(image_id, category_id), expected)
            for area in p.areaRng:
                mine, theirs = (each.evaluateImg(image_id, category_id, area, p.maxDets[-1]) for each in (ours, reference))
                assert (mine is None) == (theirs is None)
                for name in theirs or ():
                    np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
    assert ours.evaluateImg(99, 1, p.areaRng[0], p.maxDets[-1]) is None


def assert_same_single_cells(ours: Any, reference: Any, areas: Any, limit: int) -> None:
    for key in reference.ious:
        for area in areas:
            mine, theirs = (each.evaluateImg(*key, area, limit) for each in (ours, reference))
            assert (mine is None) == (theirs is None)
            for name in theirs or ():
                np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)


@pytest.mark.slow(every=True)
@as_tables_and_by_cells
def test_single_cells_of_other_areas_and_limits_equal_reference(kinds: Any) -> None:
    assert_same_single_cells(*both(*made("bbox"), ours=kinds), areas=[[900, 3000], [0, 1e10]], limit=2)


@pytest.mark.slow
@as_tables_and_by_cells
@pytest.mark.parametrize("in_place", [False, True])
def test_single_cells_go_by_the_ious_that_were_edited(kinds: Any, in_place: bool) -> None:
    made_cells = both(*made("bbox"), ours=kinds)
    for coco_eval in made_cells:
        for key, values in coco_eval.ious.items():
            if not in_place:
                coco_eval.ious[key] = values if len(values) == 0 else values * 0.9
            elif len(values):
                values *= 0.9
    assert_same_single_cells(*made_cells, areas=made_cells[0].params.areaRng, limit=100)


def halved(base: Any) -> Any:
    class Halved(base):
        def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            ious = super().computeIoU(imgId, catId)
            return ious if len(ious) == 0 else ious / 2

        def computeOks(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            ious = super().computeOks(imgId, catId)
            return ious if len(ious) == 0 else ious / 2

    return Halved


def without_small_ones(base: Any) -> Any:
    class WithoutSmallOnes(base):
        def _prepare(self) -> None:
            super()._prepare()
            for groups in (self._gts, self._dts):
                for key, rows in groups.items():
                    groups[key] = [row for row in rows if row["area"] > 1500]
            for rows in self._gts.values():
                for row in rows[::2]:
                    row["ignore"] = 1

    return WithoutSmallOnes


def centred(base: Any) -> Any:
    """Prepares and compares all on its own, by the distance of the boxes' corners."""

    class Centred(base):
        def _prepare(self) -> None:
            self._gts, self._dts = {}, {}
            for groups, coco in ((self._gts, self.cocoGt), (self._dts, self.cocoDt)):
                for row in coco.loadAnns(coco.getAnnIds(imgIds=self.params.imgIds)):
                    groups.setdefault((row["image_id"], row["category_id"]), []).append(row | {"ignore": row["iscrowd"]})

        def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            expected, detections = (groups.get((imgId, catId), []) for groups in (self._gts, self._dts))
            detections = sorted(detections, key=lambda row: -row["score"])
            gaps = [[abs(a["bbox"][0] - b["bbox"][0]) + abs(a["bbox"][1] - b["bbox"][1]) for a in expected] for b in detections]
            return 1 / (1 + np.array(gaps) / 20) if expected and detections else []

        def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: Any) -> Any:  # noqa: N802, N803
            sides = [self._gts.get((imgId, catId)), self._dts.get((imgId, catId))]
            self._gts, self._dts = ({(imgId, catId): rows or []} | groups for groups, rows in
                                    zip((self._gts, self._dts), sides, strict=True))  # fmt: skip
            return super().evaluateImg(imgId, catId, aRng, maxDet)

    return Centred


@pytest.mark.slow
@pytest.mark.parametrize("own", [halved, without_small_ones])
@half_as_often
@given(data=iou_types.flatmap(lambda name: st.tuples(st.just(name), sets(MAKERS[name]))))
def test_subclasses_that_prepare_or_compare_equal_reference(own: Any, data: Any) -> None:
    iou_type, (truth, results) = data
    ours, reference = (evaluated((kinds[0], own(kinds[1])), truth, results, iou_type) for kinds in (OURS, REFERENCE))
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@half_as_often
@given(cases())
def test_subclasses_that_prepare_and_compare_equal_reference(case: Case) -> None:
    inputs = completed(case), case.results
    ours, reference = (evaluated((kinds[0], centred(kinds[1])), *inputs) for kinds in (OURS, REFERENCE))
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.parametrize("own", [halved, without_small_ones, centred])
def test_methods_of_subclasses_have_their_effect(own: Any) -> None:
    data = made("bbox")
    assert not np.array_equal(evaluated((COCO, own(COCOeval)), *data).eval["recall"], evaluated(OURS, *data).eval["recall"])


@pytest.mark.parametrize("where", ["object", "class"])
def test_methods_that_were_assigned_are_called(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coco_eval = evaluated(OURS, *made("bbox"))
    nothing = lambda *_: []  # noqa: E731
    if where == "object":
        coco_eval.computeIoU = nothing
    else:
        monkeypatch.setattr(COCOeval, "computeIoU", nothing)
    with printed():
        coco_eval.evaluate()
        coco_eval.accumulate()
    assert coco_eval.eval["recall"].max() == 0


@pytest.mark.parametrize("where", ["object", "class"])
def test_evaluateimg_may_be_replaced(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coco_eval = evaluated(OURS, *made("bbox"))
    if where == "object":
        coco_eval.evaluateImg = lambda *_: None
    else:
        monkeypatch.setattr(COCOeval, "evaluateImg", lambda *_: None)
    with printed():
        coco_eval.evaluate()
        coco_eval.accumulate()
    assert set(coco_eval.evalImgs) == {None}
    assert (coco_eval.eval["precision"] == -1).all()


def _filter(coco_eval: Any, key: Any) -> None:
    coco_eval._dts[key] = coco_eval._dts[key][1:]


def _move(coco_eval: Any, key: Any) -> None:
    coco_eval._gts[key][0]["bbox"][0] += 1


def _assign(coco_eval: Any, key: Any) -> None:
    coco_eval._dts = dict(coco_eval._dts) | {key: []}


@pytest.mark.slow
@as_tables_and_by_cells
@pytest.mark.parametrize("change", [_filter, _move, _assign])
def test_dictionaries_that_were_edited_are_what_is_judged(change: Any, kinds: Any) -> None:
    edited = both(*made("bbox"), ours=kinds)
    key = next(key for key, ious in edited[1].ious.items() if len(ious))
    before = edited[0].computeIoU(*key)
    for coco_eval in edited:
        change(coco_eval, key)
        coco_eval.ious = {each: coco_eval.computeIoU(*each) for each in edited[1].ious}
    assert not np.array_equal(edited[0].computeIoU(*key), before)
    np.testing.assert_array_equal(edited[0].computeIoU(*key), edited[1].computeIoU(*key))
    assert_same_single_cells(*edited, areas=edited[0].params.areaRng, limit=100)


def test_cells_share_nothing() -> None:
    coco_eval = evaluated(OURS, *made("bbox"))
    cell = next(cell for cell in coco_eval.evalImgs if cell and cell["dtIds"])
    where = cell["image_id"], cell["category_id"], cell["aRng"], cell["maxDet"]
    before = copy.deepcopy(cell)
    for _ in range(2):
        twin = coco_eval.evaluateImg(*where)
        np.testing.assert_array_equal(twin["dtIgnore"], before["dtIgnore"])
        assert twin["dtIds"] == before["dtIds"]
        cell["dtIgnore"][:] = ~before["dtIgnore"]
        twin["dtIgnore"][:] = ~before["dtIgnore"]
        twin["dtIds"].clear()


@pytest.mark.slow
def test_subclasses_may_judge_and_summarize_on_their_own() -> None:
    def make(base: Any) -> Any:
        class Mine(base):
            def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: Any) -> Any:  # noqa: N802, N803
                return None if imgId % 2 else super().evaluateImg(imgId, catId, aRng, maxDet)

            def summarize(self) -> None:
                self.stats = np.array([self.eval["precision"].mean()])

        return Mine

    ours, reference = (evaluated((kinds[0], make(kinds[1])), *made("bbox")) for kinds in (OURS, REFERENCE))
    assert_same_arrays(ours, reference)
    assert summary(ours) == summary(reference)
    assert ours.eval["recall"].sum() != evaluated(OURS, *made("bbox")).eval["recall"].sum()


@pytest.mark.slow
def test_dictionaries_of_cells_are_those_of_reference() -> None:
    for iou_type in ("bbox", "keypoints"):
        ours, reference = both(*made(iou_type), iou_type)
        for name, fields in (("_gts", ("id", "ignore")), ("_dts", ("id", "score", "area"))):
            groups = [
                {key: [[row[f] for f in fields] for row in rows] for key, rows in getattr(each, name).items() if rows}
                for each in (ours, reference)
            ]
            assert groups[0] == groups[1]


@pytest.mark.slow
def test_annotations_that_were_changed_are_evaluated_again() -> None:
    def again(coco_eval: Any) -> Any:
        for row in coco_eval.cocoGt.anns.values():
            row["area"] = 500.0
        coco_eval.cocoGt.dataset["annotations"][0]["iscrowd"] = 1
        for row in coco_eval.cocoDt.anns.values():
            row["area"] = 5000.0
        with printed():
            coco_eval.evaluate()
            coco_eval.accumulate()
        return coco_eval

    for kinds in (str, list):
        data = (STREET / "instances.json", str(STREET / "model_a.json")) if kinds is str else made("bbox")
        before = evaluated(OURS, *data).eval["recall"]
        ours, reference = (again(each) for each in both(*data))
        assert_same(ours, reference)
        assert not np.array_equal(ours.eval["recall"], before)


def one_of_ten(n: int, *, ids: type[int] | type[float] = int) -> tuple[Truth, list[Row]]:
    """A box, and detections of four fifths of it, the first of which is a match up to .8."""
    row = {"image_id": ids(7), "category_id": ids(3), "bbox": [0, 0, 10, 10]}
    annotation = row | {"id": ids(5), "area": 100, "iscrowd": 0}
    truth = {"images": [{"id": ids(7)}], "categories": [{"id": ids(3)}], "annotations": [annotation]}
    return truth, [row | {"bbox": [0, 0, 8, 10], "score": 1 / k} for k in range(1, n + 1)]


@as_tables_and_by_cells
@pytest.mark.parametrize("n", [1, 1200], ids=["few", "many"])
@pytest.mark.parametrize(("dtype", "ap"), [(np.float32, 0.6), (np.float64, 0.7)])
def test_thresholds_in_single_precision_equal_reference(dtype: Any, ap: float, n: int, kinds: Any) -> None:
    thresholds = np.linspace(0.5, 0.95, 10).astype(dtype)
    ours, reference = both(*one_of_ten(n), ours=kinds, change=lambda p: setattr(p, "iouThrs", thresholds))
    assert_same(ours, reference)
    assert summary(ours)[1][0] == pytest.approx(ap)


@as_tables_and_by_cells
@pytest.mark.parametrize("n", [1, 1200], ids=["few", "many"])
def test_ids_that_are_whole_floats_equal_reference(n: int, kinds: Any) -> None:
    ours, reference = both(*one_of_ten(n, ids=float), ours=kinds)
    assert_same(ours, reference)
    assert summary(ours)[1][0] == pytest.approx(0.7)


@pytest.mark.slow
@pytest.mark.parametrize("from_files", [False, True], ids=["dicts", "files"])
def test_annotation_id_0_is_a_false_positive_as_in_reference(from_files: bool, tmp_path: Path) -> None:
    row = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [row | {"id": 0, "area": 81, "iscrowd": 0}]}
    inputs = truth, [row | {"score": 1.0}]
    with pytest.warns(LostAnnotationsWarning, match="^1 annotation with id 0 cannot be matched, as in pycocotools"):
        ours, reference = both(*(in_files(tmp_path, *inputs) if from_files else inputs))
    assert summary(ours)[1][0] == 0
    assert apf.evaluate(*inputs)["AP"] == pytest.approx(1)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.LostAnnotationsWarning")
@half_as_often
@given(cases(), st.data())
def test_any_annotation_may_have_id_0(case: Case, data: st.DataObject) -> None:
    truth = completed(case)
    if truth["annotations"]:
        data.draw(st.sampled_from(truth["annotations"]))["id"] = 0
    ours, reference = both(truth, case.results)
    assert_same(ours, reference)
    assert_same_cells(ours, reference)


@pytest.mark.slow
@half_as_often
@given(cases(), st.integers(-9, 0), st.booleans())
def test_detection_ids_of_0_and_less_leave_annotations_free(case: Case, first: int, looked_at: bool) -> None:
    coco_evals = []
    for make, evaluate in (OURS, REFERENCE):
        with printed():
            coco = as_coco(make, completed(case))
            dataset = coco.loadRes(copy.deepcopy(case.results)).dataset if case.results else {**case.truth, "annotations": []}
            rows = [row | {"id": number} for number, row in enumerate(dataset["annotations"], first)]
            coco_eval = evaluate(coco, as_coco(make, dataset | {"annotations": rows}), "bbox")
            coco_eval.evaluate()
            _ = coco_eval.evalImgs if looked_at else None
            coco_eval.accumulate()
        coco_evals.append(coco_eval)
    assert_same(*coco_evals)
    assert_same_cells(*coco_evals)


@pytest.mark.slow
@half_as_often
@given(cases(strings=True))
def test_ids_may_be_strings_in_tables_and_in_cells(case: Case) -> None:
    of_tables = evaluated(OURS, completed(case), case.results)
    of_cells = evaluated(OURS, completed(case), case.results, after=lambda coco_eval: coco_eval.evalImgs)
    assert_same(of_cells, of_tables)
    matched = {key for cell in of_cells.evalImgs if cell for key in cell["dtMatches"].ravel()} - {0}
    assert matched <= {row["id"] for row in case.truth["annotations"]}


@pytest.mark.slow
@pytest.mark.parametrize("from_files", [False, True])
def test_results_of_unknown_categories_are_warned_of(from_files: bool, tmp_path: Path) -> None:
    truth, results = made("bbox")
    changed = [row | {"category_id": 99} if n % 3 == 0 else row for n, row in enumerate(results)]
    data = in_files(tmp_path, truth, changed) if from_files else (truth, changed)
    with pytest.warns(UnknownCategoryWarning, match="detections have an unknown category_id and were dropped: 99; "):
        ours = evaluated(OURS, *data)
    assert_same(ours, evaluated(REFERENCE, truth, changed))


@pytest.mark.slow
def test_nothing_found_gives_zeros() -> None:
    truth, _ = made("bbox")
    with printed():
        coco = as_coco(COCO, truth)
        for found in (coco.loadRes([]), COCO()):
            coco_eval = COCOeval(coco, found, "bbox")
            coco_eval.evaluate()
            coco_eval.accumulate()
            coco_eval.summarize()
            assert coco_eval.stats.tolist() == evaluated_stats((truth, []))
            assert coco_eval.stats[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))], ids=["copy", "pickle"])
def test_copies_hold_what_was_evaluated(copied: Any) -> None:
    ours = evaluated(OURS, STREET / "instances.json", str(STREET / "model_a.json"))
    twin = copied(ours)
    assert summary(twin)[0] == summary(ours)[0]
    with printed():
        twin.accumulate()
    assert_same_arrays(twin, ours)
    with printed():
        twin.evaluate()
        twin.accumulate()
    assert_same_arrays(twin, ours)


@pytest.mark.slow
def test_steps_print_what_reference_prints() -> None:
    texts = []
    for make, evaluate in (OURS, REFERENCE):
        with printed() as text:
            coco = make(STREET / "instances.json")
            coco_eval = evaluate(coco, coco.loadRes(str(STREET / "model_a.json")), "bbox")
            coco_eval.params.useSegm = 0
            coco_eval.evaluate()
            coco_eval.accumulate()
            coco_eval.summarize()
        texts.append(lines(text))
    assert texts[0] == texts[1]


def test_str_prints_the_summary() -> None:
    ours = evaluated(OURS, *made("bbox"))
    with printed() as text:
        assert str(ours) == ""
    assert lines(text) == summary(ours)[0]
