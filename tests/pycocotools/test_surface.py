"""The whole public surface of pycocotools 2.0.11, name by name: what is the same here, and what is not.

Each name is "same", shown on data by the test that is named, or says in what it differs.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pycocotools.coco
import pycocotools.cocoeval
import pycocotools.mask
import pytest

import apframe.pycocotools.coco
import apframe.pycocotools.cocoeval
import apframe.pycocotools.mask
from tests.protocols.generated import boxes, people
from tests.pycocotools.both import OURS, REFERENCE, as_coco, evaluated

REAL = {"coco": pycocotools.coco, "cocoeval": pycocotools.cocoeval, "mask": pycocotools.mask}
DROP_IN = {"coco": apframe.pycocotools.coco, "cocoeval": apframe.pycocotools.cocoeval, "mask": apframe.pycocotools.mask}
FOLDER = Path(__file__).parent

SAME = {
    # classes and functions
    "coco.COCO": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO.annToMask": "test_coco.py::test_masks_of_annotations_are_those_of_reference",
    "coco.COCO.annToRLE": "test_coco.py::test_masks_of_annotations_are_those_of_reference",
    "coco.COCO.createIndex": "test_coco.py::test_captions_are_results",
    "coco.COCO.download": "test_coco.py::test_images_are_downloaded_where_they_are_missing",
    "coco.COCO.getAnnIds": "test_coco.py::test_annotation_ids_by_every_filter",
    "coco.COCO.getCatIds": "test_coco.py::test_category_ids_by_every_filter",
    "coco.COCO.getImgIds": "test_coco.py::test_image_ids_by_every_filter",
    "coco.COCO.info": "test_coco.py::test_info_is_printed",
    "coco.COCO.loadNumpyAnnotations": "test_coco.py::test_arrays_are_results",
    "coco.COCO.showAnns": "test_coco.py::test_annotations_are_drawn",
    "cocoeval.COCOeval": "test_cocoeval.py::test_sample_from_files_equals_reference",
    "cocoeval.COCOeval.computeIoU": "test_cocoeval.py::test_single_cells_equal_reference",
    "cocoeval.COCOeval.computeOks": "test_cocoeval.py::test_single_cells_equal_reference",
    "cocoeval.COCOeval.evaluateImg": "test_cocoeval.py::test_single_cells_equal_reference",
    "cocoeval.COCOeval.summarize": "test_cocoeval.py::test_steps_print_what_reference_prints",
    "cocoeval.Params": "test_surface.py::test_params_are_those_of_reference",
    "cocoeval.Params.setDetParams": "test_surface.py::test_params_are_those_of_reference",
    "cocoeval.Params.setKpParams": "test_surface.py::test_params_are_those_of_reference",
    # what else other code takes from the modules
    "coco.PYTHON_VERSION": "test_surface.py::test_names_of_the_modules_have_the_same_values",
    "coco._isArrayLike": "test_surface.py::test_names_of_the_modules_have_the_same_values",
    "coco.maskUtils": "test_surface.py::test_names_of_the_modules_have_the_same_values",
    "cocoeval.maskUtils": "test_surface.py::test_names_of_the_modules_have_the_same_values",
    # attributes of instances
    "coco.COCO().anns": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO().catToImgs": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO().cats": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO().dataset": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO().imgToAnns": "test_coco.py::test_dictionaries_are_those_of_reference",
    "coco.COCO().imgs": "test_coco.py::test_dictionaries_are_those_of_reference",
    "cocoeval.COCOeval().cocoDt": "test_training.py::test_batches_of_two_processes_merged_equal_reference",
    "cocoeval.COCOeval().cocoGt": "test_cocoeval.py::test_annotations_that_were_changed_are_evaluated_again",
    "cocoeval.COCOeval().ious": "test_cocoeval.py::test_single_cells_go_by_the_ious_that_were_edited",
    "cocoeval.COCOeval().eval": "test_cocoeval.py::test_arrays_that_were_changed_are_what_is_summarized",
    "cocoeval.COCOeval().evalImgs": "test_cocoeval.py::test_cells_that_were_changed_are_what_is_accumulated",
    "cocoeval.COCOeval().params": "test_cocoeval.py::test_parameters_have_their_effect_as_in_reference",
    "cocoeval.COCOeval().stats": "test_cocoeval.py::test_sample_from_files_equals_reference",
    **dict.fromkeys(
        [f"cocoeval.Params().{name}" for name in (
            "areaRng", "areaRngLbl", "catIds", "imgIds", "iouType", "maxDets", "recThrs", "useCats", "useSegm",
        )],
        "test_cocoeval.py::test_parameters_have_their_effect_as_in_reference",
    ),
    "cocoeval.Params().kpt_oks_sigmas": "test_cocoeval.py::test_sigmas_have_their_effect_as_in_reference",
    **dict.fromkeys(
        [f"mask.{name}" for name in ("area", "decode", "encode", "frPyObjects", "iou", "merge", "toBbox")], "test_mask.py"
    ),
}  # fmt: skip
_OF_ANY_TYPE = (
    "an id of any type is taken, where pycocotools gives None for one of NumPy",
    "test_coco.py::test_ids_of_numpy_are_ids",
)
# names that are there, but not for all that pycocotools does with them: what is different, and the test of it
DIFFERENT = {
    "coco.COCO.loadAnns": _OF_ANY_TYPE,
    "coco.COCO.loadCats": _OF_ANY_TYPE,
    "coco.COCO.loadImgs": _OF_ANY_TYPE,
    "coco.COCO.loadRes": (
        "an empty list is no results, where pycocotools fails; results that cannot be right are errors",
        "test_cocoeval.py::test_nothing_found_gives_zeros",
    ),
    "cocoeval.COCOeval.evaluate": (
        "data that cannot be right is refused",
        "test_cocoeval.py::test_parameters_that_cannot_be_honoured_are_refused",
    ),
    "cocoeval.COCOeval.accumulate": (
        "other images, categories, thresholds or areas than were evaluated are refused, part of them too",
        "test_cocoeval.py::test_other_parameters_must_be_evaluated_anew",
    ),
    "cocoeval.Params().iouThrs": (
        "thresholds are more than 0, and at most 1; others are refused",
        "test_cocoeval.py::test_parameters_that_cannot_be_honoured_are_refused",
    ),
}
# what the modules have of Python's library, NumPy and a compiled module
IMPORTED = {
    "coco.copy", "coco.defaultdict", "coco.itertools", "coco.json", "coco.np", "coco.os", "coco.sys", "coco.time",
    "coco.urlretrieve", "cocoeval.copy", "cocoeval.datetime", "cocoeval.defaultdict", "cocoeval.np", "cocoeval.time",
    "mask._mask",
}  # fmt: skip


def surface() -> list[str]:
    """All names of the modules, methods of the classes, and attributes that instances get."""
    names = []
    for module_name, module in REAL.items():
        for name, value in vars(module).items():
            if not name.startswith("__"):
                names.append(f"{module_name}.{name}")
            if inspect.isclass(value) and value.__module__ == module.__name__:
                names += [f"{module_name}.{name}.{method}" for method in vars(value) if not method.startswith("_")]
    for path, instance in instances(REFERENCE, pycocotools.cocoeval.Params).items():
        names += [f"{path}.{name}" for name in vars(instance) if not name.startswith("_")]
    return sorted({*names} - IMPORTED)


def instances(kinds: tuple[Any, Any], params: Any) -> dict[str, Any]:
    """One of each class, with all attributes that it ever gets."""
    coco_eval = evaluated(kinds, *people(np.random.default_rng(1), 3), "keypoints")
    return {"coco.COCO()": coco_eval.cocoGt, "cocoeval.COCOeval()": coco_eval, "cocoeval.Params()": params("keypoints")}


def test_every_name_is_accounted_for_once() -> None:
    assert sorted([*SAME, *DIFFERENT]) == surface()
    assert len(surface()) > 50


@pytest.mark.parametrize("name", surface())
def test_every_name_is_there_with_its_signature(name: str) -> None:
    module, *path = name.removesuffix("()").split(".")
    if "()" in name:
        at, _, attribute = name.rpartition(".")
        assert hasattr(ours_and_theirs()[0][at], attribute)
        return
    mine: Any = DROP_IN[module]
    theirs: Any = REAL[module]
    for part in path:
        mine, theirs = getattr(mine, part), getattr(theirs, part)
    assert callable(mine) == callable(theirs)
    if not callable(theirs):
        return
    try:
        expected = inspect.signature(theirs)
    except ValueError:  # a compiled function that does not tell
        return
    signature = inspect.signature(mine)
    assert [p.name for p in signature.parameters.values()][: len(expected.parameters)] == list(expected.parameters)
    for parameter in expected.parameters.values():
        default = signature.parameters[parameter.name].default
        assert (default if default != () else []) == parameter.default


def test_names_of_the_modules_have_the_same_values() -> None:
    mine, theirs = DROP_IN["coco"], REAL["coco"]
    assert mine.PYTHON_VERSION == theirs.PYTHON_VERSION
    for value in ("a", [1], (), np.zeros(2), {1: 2}, 5, None, np.float64(1)):
        assert mine._isArrayLike(value) == theirs._isArrayLike(value)
    assert DROP_IN["coco"].maskUtils is DROP_IN["cocoeval"].maskUtils is apframe.pycocotools.mask


def ours_and_theirs() -> list[dict[str, Any]]:
    if not _INSTANCES:
        _INSTANCES.append(instances(OURS, apframe.pycocotools.cocoeval.Params))
    return _INSTANCES


_INSTANCES: list[dict[str, Any]] = []


@pytest.mark.parametrize("name", [*SAME.values(), *(test for _, test in DIFFERENT.values())])
def test_every_test_that_is_named_is_there(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"def {function}" in (FOLDER / file).read_text()


@pytest.mark.parametrize("iou_type", ["bbox", "segm", "keypoints"])
def test_params_are_those_of_reference(iou_type: str) -> None:
    ours, reference = (module.Params(iou_type) for module in (DROP_IN["cocoeval"], REAL["cocoeval"]))
    assert set(vars(ours)) == set(vars(reference))
    for name, value in vars(reference).items():
        np.testing.assert_array_equal(getattr(ours, name), value, err_msg=name)
        assert type(getattr(ours, name)) is type(value)


def test_a_new_coco_eval_is_as_empty_as_the_reference() -> None:
    truth, _ = boxes(np.random.default_rng(2), 3)
    ours, reference = (kinds[1](as_coco(kinds[0], truth), iouType="bbox") for kinds in (OURS, REFERENCE))
    for name in ("evalImgs", "eval", "ious", "stats", "cocoDt", "_paramsEval"):
        assert getattr(ours, name) == getattr(reference, name)
    assert (ours.params.imgIds, ours.params.catIds) == (reference.params.imgIds, reference.params.catIds)


@pytest.mark.parametrize("name", list(REAL))
def test_the_reference_is_the_real_one(name: str) -> None:
    assert "site-packages" in str(importlib.import_module(f"pycocotools.{name}").__file__)
