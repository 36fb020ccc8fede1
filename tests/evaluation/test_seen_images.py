"""An epoch of which only a part was updated: a warning, and the number of the images that were updated."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ColumnError,
    IdTypeError,
    MissingResultsWarning,
    NoDetectionsWarning,
    ParameterError,
    UnknownIdError,
)
from apframe.protocols.rules.known import DetectedImagesOnly

STREET = Path(__file__).parents[2] / "data" / "street"
TRUTH = apf.read_dataset(STREET / "instances.json")
FOUND = apf.read_results(STREET / "model_a.json")
BATCHES = FOUND.drop("detection_id").partition_by("image_id", maintain_order=True)  # 295 of 300 images
FIRST = [batch["image_id"][0] for batch in BATCHES[:30]]
ALL = TRUTH.images["image_id"].to_list()
BOX = {"x": 0.0, "y": 0.0, "width": 9.0, "height": 9.0}


def output(image_id: int) -> dict[str, Any]:
    """As torchvision's detectors return it, which may be empty."""
    rows = FOUND.filter(image_id=image_id)
    boxes = np.stack([rows["x"], rows["y"], rows["x"] + rows["width"], rows["y"] + rows["height"]], axis=1)
    return {"boxes": boxes, "labels": rows["category_id"].to_numpy(), "scores": rows["score"].to_numpy()}


def by_frames(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    for batch in BATCHES:
        if batch["image_id"][0] in image_ids:
            evaluator.update(batch)


def by_named_frames(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    for image_id in image_ids:
        evaluator.update(FOUND.drop("detection_id").filter(image_id=image_id), image_ids=[image_id])


def by_outputs(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    evaluator.update({image_id: output(image_id) for image_id in image_ids})


def by_lists(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    evaluator.update([output(image_id) for image_id in image_ids], image_ids=image_ids)


def by_merging(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    other = apf.Evaluator(TRUTH)
    by_outputs(evaluator, image_ids[::2])
    by_outputs(other, image_ids[1::2])
    evaluator.merge(other)


def by_states(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    other = apf.Evaluator(TRUTH)
    by_outputs(evaluator, image_ids[::2])
    by_outputs(other, image_ids[1::2])
    evaluator.merge(other.state())


def by_outputs_with_ids(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    evaluator.update([{"image_id": image_id} | output(image_id) for image_id in image_ids])


def by_results(evaluator: apf.Evaluator, image_ids: list[int]) -> None:
    """Of ultralytics, which name their files."""
    files = dict(TRUTH.images.select("image_id", "file_name").iter_rows())
    results = []
    for image_id in image_ids:
        prediction = output(image_id)
        boxes = SimpleNamespace(xyxy=prediction["boxes"], conf=prediction["scores"], cls=prediction["labels"])
        results.append(SimpleNamespace(boxes=boxes, names={}, path=f"elsewhere/{files[image_id]}"))
    for part in (results[::2], results[1::2]):
        evaluator.update(part)


WAYS = [by_frames, by_named_frames, by_outputs, by_lists, by_outputs_with_ids, by_results, by_merging, by_states]
UNNAMED: dict[Any, int] = {by_frames: 5, by_states: 2}  # of all images these do not name those without detections
EXACT = [each for each in WAYS if each not in UNNAMED]  # these name images without detections too
Way = Callable[[apf.Evaluator, list[int]], None]


def said(evaluator: apf.Evaluator, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        evaluator.compute(**options)
    return [str(each.message).split(" (")[0] for each in caught if each.category is MissingResultsWarning]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("update", WAYS)
def test_a_part_of_an_epoch(update: Way) -> None:
    """AP .268 of the whole is .029 if only 30 images come; these images alone give what `evaluate` gives of them."""
    evaluator = apf.Evaluator(TRUTH)
    update(evaluator, FIRST)
    with pytest.warns(MissingResultsWarning, match=r"270 of 300 images were in no update \(\d+, .*compute\(images=\"seen\"\)"):
        assert evaluator.compute().summary["value"][0] == pytest.approx(0.029, abs=5e-4)
    assert said(evaluator, images="seen") == ["270 of 300 images were left out"] * (update in UNNAMED)
    with warnings.catch_warnings(action="ignore", category=MissingResultsWarning):
        seen = evaluator.compute(images="seen")
    kept = [frame.filter(pl.col("image_id").is_in(FIRST)) for frame in (TRUTH.images, TRUTH.annotations, FOUND)]
    expected = apf.evaluate(TRUTH.part(*kept[:2]), kept[2])
    assert seen.summary.equals(expected.summary)
    assert seen.summary["value"][0] > 0.2
    assert seen.notes[-1] == "only the 30 of 300 images that were updated"
    evaluator.reset()
    update(evaluator, ALL)
    assert said(evaluator) == []
    assert said(evaluator, images="seen") == [f"{UNNAMED.get(update)} of 300 images were left out"] * (update in UNNAMED)
    with warnings.catch_warnings(action="ignore", category=MissingResultsWarning):
        assert evaluator.compute(images="seen").summary["value"][0] == pytest.approx(0.268, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("update", EXACT)
def test_one_missing_image_is_said_where_images_are_named(update: Way) -> None:
    evaluator = apf.Evaluator(TRUTH)
    update(evaluator, ALL[:-1])
    assert said(evaluator) == ["1 of 300 images was in no update"]
    update(evaluator, ALL[-1:])
    assert said(evaluator) == []


@pytest.mark.parametrize(("n", "is_said"), [(69, False), (70, True)])
def test_tables_may_lack_a_quarter_of_the_annotated_images(n: int, is_said: bool) -> None:
    """As a detector may find nothing on some of the 278; images without annotations do not matter."""
    annotated = TRUTH.annotations["image_id"].unique().sort().to_list()
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(pl.DataFrame({"image_id": annotated[n:], "category_id": 1, "score": 0.5} | BOX))
    assert said(evaluator) == [f"{n + 22} of 300 images were in no update"] * is_said


@pytest.mark.slow
def test_an_image_that_may_be_updated_is_left_out_and_warned_of() -> None:
    evaluator = apf.Evaluator(TRUTH)
    by_outputs(evaluator, ALL[:-1])
    assert said(evaluator, images="seen") == []
    evaluator.update(BATCHES[0].clear())
    with pytest.warns(MissingResultsWarning, match=r"1 of 300 images was left out \(\d+\), but may .*; name them wi"):
        evaluator.compute(images="seen")
    by_outputs(evaluator, ALL[-1:])
    assert said(evaluator, images="seen") == []


@pytest.mark.parametrize("protocol", ["coco", "voc2012", "ultralytics"])
@pytest.mark.parametrize("updates", [[], [BATCHES[0].clear()]])
def test_no_image_that_was_seen_is_one_warning(updates: list[pl.DataFrame], protocol: str) -> None:
    evaluator = apf.Evaluator(TRUTH, protocol)
    for each in updates:
        evaluator.update(each)
    with warnings.catch_warnings(record=True, action="always") as caught:
        ev = evaluator.compute(images="seen")
        assert not any(ev.summary["value"].fill_null(0))
    assert [str(each.message).split(";")[0] for each in caught] == ["no image was updated, so there is nothing to evaluate"]


@pytest.mark.parametrize(("n", "names", "expected"), [
    (9, False, NoDetectionsWarning), (10, False, MissingResultsWarning), (9, True, NoDetectionsWarning),
])  # fmt: skip
def test_nothing_found_is_one_warning(n: int, names: bool, expected: type[Warning]) -> None:
    """Of fewer than 10 images none needs to be in an update; that nothing was found is said then."""
    ids = range(n)
    boxes = pl.DataFrame({"image_id": ids, "category_id": 1} | BOX)
    evaluator = apf.Evaluator(apf.Dataset({"image_id": ids}, {"category_id": [1]}, boxes))
    evaluator.update(boxes.with_columns(score=0.5).clear(), list(ids) if names else None)
    with warnings.catch_warnings(record=True, action="always") as caught:
        assert evaluator.compute().summary["value"][0] == 0
    assert [each.category for each in caught] == [expected]


@pytest.mark.slow
def test_seen_images_without_detections_count() -> None:
    """Of two cats, one is found on a named image and the other one missed on another."""
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": n} for n in range(4)], "categories": [{"id": 1, "name": "cat"}],
             "annotations": [{"id": n + 1, "image_id": n} | box for n in range(4)]}  # fmt: skip
    evaluator = apf.Evaluator(truth)
    cat = pl.DataFrame({"image_id": [0], "category_id": [1], "score": [0.9]} | {name: [side] for name, side in BOX.items()})
    evaluator.update(cat, image_ids=[0])
    assert evaluator.compute(images="seen").summary["value"][0] == pytest.approx(1)
    evaluator.update(cat.clear(), image_ids=[1])
    assert evaluator.compute(images="seen").summary["value"][0] == pytest.approx(51 / 101)
    assert pickle.loads(pickle.dumps(evaluator)).compute(images="seen").dataset.images["image_id"].to_list() == [0, 1]


PAIR = {"images": [{"id": 7, "file_name": "val/a.jpg"}, {"id": 8, "file_name": "val/b.jpg"}, {"id": 9}],
        "categories": TRUTH.categories.select(id="category_id").to_dicts(),
        "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9]}]}  # fmt: skip
NAMED: dict[str, Any] = {
    "outputs by file": ({"a": output(FIRST[0]), "b.jpg": output(-1)}, None),
    "outputs in a list": ([output(FIRST[0]), output(-1)], ["val/a.jpg", "val/b.jpg"]),
    "a table": (FOUND.filter(image_id=FIRST[0]).drop("detection_id").with_columns(image_id=pl.lit("a")), ["a", "b"]),
    "nothing": ([], ["a", "b"]),
}


@pytest.mark.parametrize("invalid", ["error", "drop"])
@pytest.mark.parametrize(("found", "image_ids"), NAMED.values(), ids=NAMED)
def test_images_are_named_as_they_are_joined(found: Any, image_ids: list[int | str] | None, invalid: str) -> None:
    evaluator = apf.Evaluator(PAIR, join_by_name="images", invalid=invalid)
    evaluator.update(found, image_ids)
    assert evaluator.compute(images="seen").dataset.images["image_id"].to_list() == [7, 8]
    with pytest.raises(UnknownIdError, match="image_ids: image_id is not among the images for row 2; unknown: 'c'; the images"):
        evaluator.update([], ["a", "c"])


def test_named_images_must_be_those_of_the_ground_truth() -> None:
    evaluator, dropping = apf.Evaluator(TRUTH), apf.Evaluator(TRUTH, unknown_images="drop")
    for found in (BATCHES[0], BATCHES[0].clear(), BATCHES[0].to_dicts(), []):  # the second time such a frame is not read
        for _ in range(2):
            with pytest.raises(UnknownIdError, match=r"row 2; unknown: -1; correct them, or drop them \(unknown_im"):
                evaluator.update(found, image_ids=[FIRST[0], -1])
            with pytest.raises(IdTypeError, match=r"^image_ids holds strings, not integers .* \(join_by_name="):
                dropping.update(found, image_ids=[str(FIRST[0])])
        dropping.update(found, image_ids=[FIRST[0], -1])
    with pytest.raises(UnknownIdError, match="row 2; unknown: -1; correct"):
        evaluator.update({FIRST[0]: output(FIRST[0]), -1: output(-1)})
    assert evaluator.state().is_empty()
    assert said(evaluator) == ["300 of 300 images were in no update"]
    assert said(dropping) == ["299 of 300 images were in no update"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["launcher", "torch"])
def test_one_of_several_processes_warns_after_merging(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "launcher":
        monkeypatch.setenv("WORLD_SIZE", "2")
    else:
        distributed: Any = ModuleType("torch.distributed")
        distributed.is_initialized, distributed.get_world_size = (lambda: True), (lambda: 2)
        monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    evaluator, other = apf.Evaluator(TRUTH), apf.Evaluator(TRUTH)
    by_outputs(evaluator, ALL[:10])
    by_outputs(other, ALL[10:20])
    assert said(evaluator) == []
    evaluator.merge(other)
    assert said(evaluator) == ["280 of 300 images were in no update"]
    evaluator.reset()
    by_outputs(evaluator, ALL[:10])
    assert said(evaluator) == []  # not merged again


def test_one_process_alone_warns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert said(apf.Evaluator(TRUTH)) == ["300 of 300 images were in no update"]


@pytest.mark.slow
def test_a_refused_update_names_no_images() -> None:
    evaluator = apf.Evaluator(TRUTH)
    by_outputs(evaluator, ALL[1:])
    with pytest.raises(ColumnError):
        evaluator.update(pl.DataFrame({"image_id": ALL[:1]}), image_ids=ALL[:1])
    assert said(evaluator) == ["1 of 300 images was in no update"]
    with pytest.raises(ParameterError, match="given more than once"):
        evaluator.update(BATCHES[0], image_ids=[FIRST[0], FIRST[0]])
    with pytest.raises(ParameterError, match='images is "all" or "seen"'):
        evaluator.compute(images="updated")


def test_protocols_that_leave_out_empty_images_do_not_warn() -> None:
    evaluator = apf.Evaluator(TRUTH, "open_images")
    assert bool(evaluator.protocol.rule(DetectedImagesOnly)) == (said(evaluator) == [])
