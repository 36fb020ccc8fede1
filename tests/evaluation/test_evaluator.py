"""An evaluation fed in updates: however the images are divided, ordered and doubled, its numbers are those of `evaluate`."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import permutations
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.evaluator import Evaluator
from apframe.exceptions import (
    ColumnError,
    DuplicateIdError,
    IdTypeError,
    MissingResultsWarning,
    NoAnnotationsWarning,
    ParameterError,
    RepeatedImageWarning,
    RowError,
    UnknownCategoryWarning,
    UnknownIdError,
)
from apframe.formats.reading import Reading
from apframe.tables.shapes import mask_columns
from tests.parity.strategies import Case, cases
from tests.protocols.generated import masks

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TRUTH, RESULTS = STREET / "instances.json", STREET / "model_a.json"
BOX = {"x": [0.0], "y": [0.0], "width": [10.0], "height": [10.0]}


def dataset(*image_ids: int) -> apf.Dataset:
    """A cat in the same place of each image."""
    n = len(image_ids)
    boxes = {name: values * n for name, values in BOX.items()}
    annotations = {"image_id": image_ids, "category_id": [1] * n, **boxes}
    return apf.Dataset({"image_id": image_ids}, {"category_id": [1], "name": ["cat"]}, annotations)


def found(image_id: Any, score: float = 0.9, **columns: Any) -> dict[str, list[Any]]:
    """One detection, on the cat."""
    return {"image_id": [image_id], "category_id": [1], "score": [score], **BOX} | columns


def results(case: Case | Path) -> pl.DataFrame:
    return apf.read_coco_results(case.results if isinstance(case, Case) else case).drop("detection_id")


def on_images(detections: pl.DataFrame, image_ids: Any) -> pl.DataFrame:
    return detections.filter(pl.col("image_id").is_in(list(image_ids)))


def assert_same(one: apf.Evaluation, other: apf.Evaluation) -> None:
    """Bit for bit the same tables, matches by the ids of the detections included."""
    for table in ("detections", "metrics", "summary"):
        assert_frame_equal(getattr(one, table), getattr(other, table), check_exact=True)
    assert_frame_equal(one.matches(0.5), other.matches(0.5), check_exact=True)
    if one.protocol.name == "COCO":
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, other.arrays()[name])


# ---- divided, ordered and doubled in any way


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
@given(st.data(), st.sampled_from([apf.COCO, apf.VOC2007, apf.PROPOSALS]), st.booleans())
def test_any_division_into_updates_equals_one_evaluation(data: st.DataObject, protocol: Any, strings: bool) -> None:
    case = data.draw(cases(strings=strings))
    detections = results(case)
    image_ids = [image["id"] for image in case.truth["images"]]
    of_image = st.integers(0, 3)  # the update it is in, and those that have it once more
    places = {key: data.draw(st.lists(of_image, min_size=1, max_size=3, unique=True)) for key in image_ids}
    updates = [on_images(detections, [key for key in image_ids if number in places[key]]) for number in range(4)]

    truth = apf.read_coco(case.truth)
    shards = [Evaluator(truth, protocol) for _ in range(3)]
    for update in data.draw(st.permutations(updates)):
        shards[data.draw(st.integers(0, 2))].update(update)
    first, *others = data.draw(st.permutations(shards))
    for other in others:
        first.merge(other)

    # rows of an image stay in their order, the images are in the order of their ids
    assert_same(first.compute(), apf.evaluate(truth, detections.sort("image_id", maintain_order=True), protocol))


@pytest.mark.slow
@given(st.data())
def test_contents_alone_decide_what_results_are_kept(data: st.DataObject) -> None:
    rows = st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=1, max_size=3)
    versions = [
        pl.DataFrame([{name: values[0] for name, values in found(1, score).items()} for score in scores])
        for scores in data.draw(st.lists(rows, min_size=2, max_size=4))
    ]
    kept = []
    for order in (versions, data.draw(st.permutations(versions))):
        evaluators = [Evaluator(dataset(1)) for _ in range(2)]
        for place, version in enumerate(order):
            evaluators[place % data.draw(st.integers(1, 2))].update(version)
            if data.draw(st.booleans()):
                with warnings.catch_warnings(action="ignore", category=RepeatedImageWarning):
                    evaluators[0].state()
        with warnings.catch_warnings(action="ignore", category=RepeatedImageWarning):
            evaluators[0].merge(evaluators[1])
            kept.append(evaluators[0].state())
    assert_frame_equal(*kept, check_exact=True)
    assert kept[0].height == max(version.height for version in versions)


def evaluated_by(rank: int) -> pl.DataFrame:
    """What one of two processes knows at the end: every second image, and as padding the first one."""
    detections = results(RESULTS)
    image_ids = sorted(detections["image_id"].unique().to_list())
    evaluator = Evaluator(TRUTH)
    for image_id in image_ids[rank::2] + image_ids[:1]:
        evaluator.update(on_images(detections, [image_id]).to_dict(as_series=False))
    return evaluator.state()


@pytest.mark.slow
def test_two_processes_merged_equal_one() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        states = list(processes.map(evaluated_by, range(2)))
    evaluator = Evaluator(TRUTH)
    for state in states:
        evaluator.merge(state)
    assert_same(evaluator.compute(), apf.evaluate(TRUTH, results(RESULTS).sort("image_id", maintain_order=True)))


# ---- images that come again


def test_equal_results_of_an_image_are_kept_once_and_silently() -> None:
    evaluator = Evaluator(dataset(1, 2))
    one = {name: values * 2 for name, values in found(1).items()} | {"score": [0.9, 0.3]}
    for update in (one, found(2), {name: values[::-1] for name, values in one.items()}):
        evaluator.update(update)
    assert sorted(evaluator.state().select("image_id", "score").rows()) == [(1, 0.3), (1, 0.9), (2, 0.9)]


@pytest.mark.slow
def test_results_that_differ_in_their_ids_alone_are_equal() -> None:
    kept = set()
    for ids in ((8, 7), (7, 8)):
        evaluator = Evaluator(dataset(1))
        for detection_id in ids:
            evaluator.update(found(1, detection_id=[detection_id]))
        kept.add(evaluator.state()["detection_id"].item())
    assert len(kept) == 1


def test_of_different_results_of_an_image_the_longer_are_kept() -> None:
    evaluator = Evaluator(dataset(1, 2))
    longer = {name: values * 2 for name, values in found(1, 0.3).items()}
    for update in (found(1), longer, found(2), found(2)):
        evaluator.update(update)
    with pytest.warns(RepeatedImageWarning, match=r"^1 image came more than once with different .* kept: 1; give") as told:
        state = evaluator.state()
    assert told[0].filename == __file__
    assert state.select("image_id", "score").rows() == [(1, 0.3), (1, 0.3), (2, 0.9)]
    evaluator.compute()  # which would warn again


def test_equal_rows_of_one_update_are_all_kept() -> None:
    evaluator = Evaluator(dataset(1))
    evaluator.update({name: values * 3 for name, values in found(1).items()})
    assert evaluator.compute().detections.height == 3


def test_attributes_count_when_results_are_compared() -> None:
    evaluator = Evaluator(dataset(1))
    for source in ("camera", "lidar"):
        evaluator.update(found(1, source=pl.Series([source], dtype=pl.Categorical)))
    with pytest.warns(RepeatedImageWarning):
        evaluator.compute()


@pytest.mark.slow
def test_rows_have_the_same_order_whichever_update_is_first() -> None:
    one = {name: values * 2 for name, values in found(1).items()} | {"x": [0.0, 3.0]}
    other = one | {"x": [3.0, 0.0]}
    kept = []
    for updates in ((one, other), (other, one)):
        evaluator = Evaluator(dataset(1))
        for update in updates:
            evaluator.update(update)
        kept.append(evaluator.state())
    assert_frame_equal(*kept)


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_attributes_that_some_updates_lack_change_nothing(order: tuple[int, ...]) -> None:
    updates = [found(1, 0.5, model=["a"], epoch=[1]), found(1, 0.4, epoch=[1], model=["a"]), found(1, 0.3, rank=[0])]
    evaluator = Evaluator(dataset(1))
    with pytest.warns(RepeatedImageWarning):
        for place in order:
            evaluator.update(updates[place])
            score = evaluator.state()["score"].item()  # put together step by step
    at_once = Evaluator(dataset(1))
    for update in updates:
        at_once.update(update)
    with pytest.warns(RepeatedImageWarning):
        assert at_once.state()["score"].item() == score


@pytest.mark.slow
def test_the_codes_of_categoricals_do_not_matter_to_what_is_kept() -> None:
    kept = set()
    for name, met in (("one", ["red", "blue"]), ("other", ["blue", "red"])):
        colours = pl.Series(met, dtype=pl.Categorical(pl.Categories(f"colours of {name}")))
        evaluator = Evaluator(dataset(1))
        for place in range(2):
            evaluator.update(found(1, colour=colours[place : place + 1]))
        with pytest.warns(RepeatedImageWarning):
            kept.add(evaluator.state()["colour"].item())
    assert len(kept) == 1


# ---- the state


def test_state_is_a_canonical_table_sorted_by_image() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(2, colour=["red"], age=[3]))
    evaluator.update({name: values * 2 for name, values in found(1).items()} | {"score": [0.1, 0.9]})
    expected = {
        "image_id": [1, 1, 2], "category_id": [1, 1, 1], "score": [0.1, 0.9, 0.9], "x": [0.0] * 3, "y": [0.0] * 3,
        "width": [10.0] * 3, "height": [10.0] * 3, "area": [100.0] * 3, "age": [None, None, 3], "colour": [None, None, "red"],
    }  # fmt: skip
    assert_frame_equal(evaluator.state(), pl.DataFrame(expected))


def test_detections_are_numbered_in_the_order_of_the_state() -> None:
    evaluator = Evaluator(dataset(1, 2))
    for image_id in (2, 1):
        evaluator.update(found(image_id))
    assert evaluator.compute().detections.select("image_id", "detection_id").rows() == [(1, 1), (2, 2)]


def test_ids_that_are_given_are_kept() -> None:
    evaluator = Evaluator(dataset(1, 2))
    for image_id in (2, 1):
        evaluator.update(found(image_id, detection_id=[image_id * 10]))
    assert evaluator.state()["detection_id"].to_list() == [10, 20]
    assert evaluator.compute().detections["detection_id"].to_list() == [10, 20]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["evaluator", "pickle", "arrow stream", "parquet"])
def test_merge_takes(way: str, tmp_path: Path) -> None:
    evaluators = [Evaluator(dataset(1, 2)) for _ in range(2)]
    for place, evaluator in enumerate(evaluators):
        evaluator.update(found(place + 1))
    state = evaluators[1].state()
    other: Any = evaluators[1]
    if way == "pickle":
        other = pickle.loads(pickle.dumps(state))
    elif way == "arrow stream":
        state.write_ipc_stream(sent := io.BytesIO())
        other = pa.ipc.open_stream(sent.getvalue()).read_all()
    elif way == "parquet":
        other = tmp_path / "state.parquet"
        state.write_parquet(other)
    evaluators[0].merge(other)
    assert evaluators[0].state()["image_id"].to_list() == [1, 2]
    assert evaluators[1].state().equals(state)


@pytest.mark.slow
def test_merging_what_has_no_detections_changes_nothing() -> None:
    evaluator = Evaluator(dataset(1))
    evaluator.merge(Evaluator(dataset(1)))
    evaluator.update(found(1))
    before = evaluator.state()
    evaluator.merge(Evaluator(dataset(1)).state())
    for nothing in ({}, pl.DataFrame(found(1)).clear(), []):
        evaluator.update(nothing)
    assert evaluator.state().equals(before)


def test_a_state_stays_as_it_is_when_more_comes() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1))
    state = evaluator.state()
    evaluator.update(found(2))
    evaluator.merge(state)  # whose columns and types are those of the state itself
    evaluator.update(state.with_columns(image_id=pl.lit(2), score=pl.lit(0.1)))
    assert state.select("image_id", "score").rows() == [(1, 0.9)]
    state.insert_column(0, pl.Series("mine", [0]))
    with warnings.catch_warnings(action="ignore", category=RepeatedImageWarning):
        assert "mine" not in evaluator.state().columns


# ---- what an update may be


@pytest.mark.parametrize("n_rows", [1, 3])
def test_arrays_may_be_used_again_after_an_update(n_rows: int) -> None:
    evaluator = Evaluator(dataset(1, 2))
    buffers = {name: np.array(values * n_rows) for name, values in found(1).items()}
    for image_id in (1, 2):
        buffers["image_id"][:] = image_id
        buffers["score"][:] = image_id / 10
        evaluator.update(pl.DataFrame(buffers))
    assert evaluator.state().select("image_id", "score").rows() == [(1, 0.1)] * n_rows + [(2, 0.2)] * n_rows


NESTED = np.zeros((1, 3))


@pytest.mark.parametrize(
    "column",
    [
        lambda: NESTED,
        lambda: pl.from_arrow(pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), pa.array(NESTED.reshape(-1)))),
        lambda: pl.from_arrow(pa.StructArray.from_arrays([pa.array(NESTED[0, :1])], ["a"])),
    ],
    ids=["array", "list", "struct"],
)
def test_arrays_behind_nested_columns_may_be_used_again_too(column: Any) -> None:
    evaluator = Evaluator(dataset(1, 2, 3))
    for image_id in (1, 2, 3):
        NESTED[:] = image_id
        evaluator.update(pl.DataFrame(found(image_id)).with_columns(extra=pl.Series(column())))
    NESTED[:] = 99
    extra = evaluator.state()["extra"].to_list()
    assert [each["a"] if isinstance(each, dict) else each[0] for each in extra] == [1, 2, 3]


def test_attributes_may_be_any_objects() -> None:
    evaluator, things = Evaluator(dataset(1, 2)), [object(), object()]
    for image_id, thing in zip((1, 2), things, strict=True):
        evaluator.update(pl.DataFrame(found(image_id)).with_columns(pl.Series("thing", [thing], dtype=pl.Object)))
    assert evaluator.state()["thing"].to_list() == things


@pytest.mark.slow
def test_updates_of_any_kind_and_dtype_go_together() -> None:
    coco = [{"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [0, 0, 10, 10]}]
    narrow = {name: np.array(values, dtype=np.float32) for name, values in found(3).items()}
    narrow |= {"image_id": np.array([3], dtype=np.uint8), "category_id": np.array([1], dtype=np.int32)}
    whole = {name: [int(value) for value in values] for name, values in found(4, 1).items()}
    updates = [coco, pa.table(found(2)), narrow, narrow | {"image_id": np.array([5], dtype=np.uint8)}, pl.LazyFrame(whole)]
    evaluator = Evaluator(dataset(1, 2, 3, 4, 5))
    for update in updates:
        evaluator.update(update)
    scores = [0.5, 0.9, float(np.float32(0.9)), 1.0, float(np.float32(0.9))]
    expected = {"image_id": [1, 2, 3, 4, 5], "category_id": [1] * 5, "score": scores}
    assert_frame_equal(evaluator.state().select(*expected), pl.DataFrame(expected))
    assert evaluator.compute().summary["value"][0] == 1


@pytest.mark.slow
def test_detections_of_proposals_need_no_category() -> None:
    evaluator = Evaluator(dataset(1, 2), apf.PROPOSALS)
    without = {name: values for name, values in found(1).items() if name != "category_id"}
    evaluator.update(without)
    evaluator.update(found(2, category_id=[99]))
    frame = pl.concat([pl.DataFrame(without), pl.DataFrame(found(2)).drop("category_id")])
    assert evaluator.compute().summary.equals(apf.evaluate(dataset(1, 2), frame, apf.PROPOSALS).summary)


def test_results_may_be_joined_by_name() -> None:
    truth = apf.Dataset({"image_id": [7], "file_name": ["val/a.jpg"]}, {"category_id": [1], "name": ["cat"]},
                        {"image_id": [7], "category_id": [1], **BOX})  # fmt: skip
    evaluator = Evaluator(truth, join_by_name="images")
    evaluator.update(found("a"))
    other = Evaluator(truth, join_by_name="images")
    other.merge(evaluator)
    assert other.state()["image_id"].to_list() == [7]


# ---- bad updates

BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a missing column": ({"score": None}, ColumnError, "no column score"),
    "NaN": ({"score": [float("nan")]}, RowError, "score is not a finite number for detection_id 1"),
    "a null": ({"x": [None]}, RowError, "x is missing for"),
    "a null among numbers": ({"x": pl.Series([None], dtype=pl.Float64)}, RowError, "x is missing for"),
    "a null among ids": ({"category_id": pl.Series([None], dtype=pl.Int64)}, RowError, "category_id is missing for"),
    "a negative size": ({"width": [-1.0]}, RowError, "width is negative for"),
    "a text": ({"score": ["high"]}, ColumnError, "must be Float64, not String"),
    "an image without id": ({"image_id": [None]}, RowError, "image_id is missing"),
    "half an id": ({"image_id": [1.5]}, RowError, "image_id is not a whole number"),
    "an id of another type": ({"image_id": ["1"]}, IdTypeError, "image_id holds strings, not integers like images.image_id"),
    "an unknown image": ({"image_id": [99]}, UnknownIdError, r"image_id is not among the images .* unknown: 99; give"),
    "an unknown image in few bits": ({"image_id": np.array([99], dtype=np.uint8)}, UnknownIdError, "unknown: 99; give"),
    "another shape": ({"angle": [0.1]}, ColumnError, "column angle, which earlier updates do not have; give the same"),
    "ids all of a sudden": ({"detection_id": [3]}, ColumnError, "column detection_id, which earlier updates do not have"),
}


OUTPUT = {"boxes": np.array([[0.0, 0.0, 9.0, 9.0]]), "labels": np.array([1]), "scores": np.array([0.5])}


@pytest.mark.slow
def test_outputs_of_torchvision_are_taken_by_image_id() -> None:
    by_id, with_ids, converted = (Evaluator(dataset(2, 3)) for _ in range(3))
    outputs = {2: OUTPUT, 3: {name: values[:0] for name, values in OUTPUT.items()}}
    by_id.update(outputs)
    with_ids.update(list(outputs.values()), image_ids=list(outputs))
    converted.update(apf.from_torchvision(outputs))
    assert by_id.state().equals(converted.state())
    assert with_ids.state().equals(converted.state())
    assert by_id.state()["image_id"].to_list() == [2]


def test_outputs_that_lack_scores_are_named() -> None:
    with pytest.raises(RowError, match="scores"):
        Evaluator(dataset(1)).update({1: {"boxes": OUTPUT["boxes"], "labels": OUTPUT["labels"]}})


def test_masks_of_outputs_are_taken_where_masks_are_compared() -> None:
    masks = {"masks": np.ones((1, 1, 4, 4), dtype=np.float32)}
    evaluator = Evaluator(dataset(1))
    evaluator.update({1: OUTPUT | masks})
    assert "mask" not in evaluator.state().columns


def bad(name: str) -> pl.DataFrame:
    """One row."""
    return pl.DataFrame({column: values for column, values in (found(3) | BAD[name][0]).items() if values is not None})


AMONG_GOOD_TYPES = [name for name in BAD if bad(name).schema == pl.DataFrame(found(3)).schema]


@pytest.mark.parametrize(
    ("name", "asked_before"), [(name, True) for name in BAD] + [(name, False) for name in BAD if name not in AMONG_GOOD_TYPES]
)
def test_a_refused_update_is_told_at_once_and_changes_nothing(name: str, asked_before: bool) -> None:
    _, error, message = BAD[name]
    evaluator = Evaluator(dataset(1, 2, 3))
    for image_id in (1, 2):
        evaluator.update(found(image_id))
    if asked_before:
        evaluator.state()
    with pytest.raises(error, match=message):
        evaluator.update(bad(name))
    evaluator.update(found(3))
    assert evaluator.state()["image_id"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("name", AMONG_GOOD_TYPES)
def test_bad_values_of_earlier_updates_are_told_by_the_state(name: str) -> None:
    evaluator = Evaluator(dataset(1, 2, 3))
    evaluator.update(found(1))
    evaluator.update([])
    evaluator.update(pl.concat([pl.DataFrame(found(2)), bad(name), bad(name)]))
    evaluator.update(bad(name))
    for ask in (evaluator.state, evaluator.compute):
        with pytest.raises(BAD[name][1], match=r"^detections: in update 3, .*; .*, and start again with reset\(\)") as told:
            ask()
        assert isinstance(told.value, RowError)
        assert (told.value.key, told.value.rows) == ("row", [2, 3])
    evaluator.reset()
    evaluator.update(found(1))
    evaluator.merge(bad(name))
    with pytest.raises(BAD[name][1], match="in update 2, "):
        evaluator.compute()


def test_a_refused_update_says_nothing_of_the_columns_to_come() -> None:
    evaluator = Evaluator(dataset(1))
    with pytest.raises(UnknownIdError):
        evaluator.update(found(99, detection_id=[1]))
    evaluator.update(found(1))


def test_a_column_that_is_gone_is_told() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1, detection_id=[1]))
    with pytest.raises(ColumnError, match="no column detection_id, which earlier updates have; give the same"):
        evaluator.update(found(2))


def test_boxes_in_some_updates_and_shapes_in_others_are_told() -> None:
    square = [[[0.0, 0.0, 9.0, 0.0, 9.0, 9.0]]]
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1, mask=square))
    with pytest.raises(ColumnError, match="no column height, width, x, y, which earlier updates have"):
        evaluator.update({"image_id": [2], "category_id": [1], "score": [0.9], "mask": square})


def test_a_missing_column_that_is_compared_is_told_at_once() -> None:
    truth = apf.Dataset({"image_id": [1], "image_width": [20], "image_height": [20]}, {"category_id": [1]},
                        {"image_id": [1], "category_id": [1], "mask": [[[0.0, 0.0, 9.0, 0.0, 9.0, 9.0]]]})  # fmt: skip
    evaluator = Evaluator(truth, iou_type="segm")
    with pytest.raises(ColumnError, match="detections: no column mask"):
        evaluator.update(found(1))


def test_ids_that_come_twice_are_told() -> None:
    evaluator = Evaluator(dataset(1, 2, 3))
    twice = {name: values * 2 for name, values in found(1, detection_id=[5]).items()}
    with pytest.raises(DuplicateIdError, match="detection_id 5"):
        evaluator.update(twice)
    evaluator.update(found(1, detection_id=[4]))
    evaluator.update(found(2, detection_id=[4]))
    evaluator.update({name: values * 2 for name, values in found(3, detection_id=[6]).items()})
    with pytest.raises(DuplicateIdError, match=r"unique over all updates for detection_id 4, 6; .* drop the column"):
        evaluator.compute()


def test_an_id_that_is_missing_among_others_is_told() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1, detection_id=[4]))
    evaluator.update(found(2, detection_id=pl.Series([None], dtype=pl.Int64)))
    with pytest.raises(RowError, match="detection_id is missing for"):
        evaluator.state()


def test_attributes_of_types_that_cannot_be_joined_are_told() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1, extra=[[1, 2]]))
    evaluator.update(found(2, extra=[{"a": 1}]))
    with pytest.raises(ColumnError, match="columns of different updates do not fit"):
        evaluator.state()


def test_unknown_images_may_be_dropped() -> None:
    evaluator = Evaluator(dataset(1, 2), unknown_images="drop")
    evaluator.update({"image_id": [1, 99], **{name: values * 2 for name, values in found(1).items() if name != "image_id"}})
    evaluator.update(found(98))
    evaluator.update(pl.DataFrame(found(2)).cast({"score": pl.Float32}))
    evaluator.update(found(97))
    assert evaluator.state()["image_id"].to_list() == [1, 2]


def test_unknown_categories_are_told_by_compute() -> None:
    evaluator = Evaluator(dataset(1))
    evaluator.update(found(1, category_id=[7]))
    with pytest.warns(UnknownCategoryWarning, match="1 of 1 detection has an unknown category_id"):
        evaluator.compute()


# ---- the training loop


@pytest.mark.slow
def test_compute_at_any_time_and_again() -> None:
    evaluator = Evaluator(dataset(1, 2))
    values = []
    with pytest.warns(MissingResultsWarning, match=r"2 of 2 images were in no update \(1, 2\)"):
        values.append(evaluator.compute().summary["value"][0])
    evaluator.update(found(2), image_ids=[2])
    for _ in range(2):
        with pytest.warns(MissingResultsWarning, match=r"1 of 2 images was in no update \(1\)"):
            values.append(evaluator.compute().summary["value"][0])
    evaluator.update(found(1))
    values += [evaluator.compute().summary["value"][0] for _ in range(2)]
    half = apf.evaluate(dataset(1, 2), found(1)).summary["value"][0]
    assert values == [0, half, half, 1, 1]


def test_reset_forgets_the_detections() -> None:
    evaluator = Evaluator(dataset(1))
    evaluator.update(found(1, detection_id=[3]))
    evaluator.reset()
    assert evaluator.state().height == 0
    evaluator.update(found(1))
    assert evaluator.state().columns == ["image_id", "category_id", "score", "x", "y", "width", "height", "area"]


@pytest.mark.slow
def test_the_masks_of_the_truth_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, rows = masks(np.random.default_rng(3), 4)
    decoded = []
    read_masks = mask_columns.read_masks
    monkeypatch.setattr(mask_columns, "read_masks", lambda table, frame: decoded.append(table) or read_masks(table, frame))
    evaluator = Evaluator(truth, iou_type="segm", categories=[1, 2])
    assert "annotations" in decoded
    decoded.clear()
    expected = apf.evaluate(truth, rows, iou_type="segm", categories=[1, 2]).summary
    decoded.clear()
    for _ in range(2):
        evaluator.reset()
        evaluator.update(rows)
        assert evaluator.compute().summary.equals(expected)
    assert decoded == ["detections"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"protocol": "lvis"}, {"categories": ["car", "bus"], "max_detections": [5]}, {"agnostic": True, "area_ranges": {}},
     {"protocol": "open_images"}, {"protocol": "proposals"}, {"iou_thresholds": [0.5], "matching": "similarity"}],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownValueWarning")
def test_options_are_those_of_evaluate(options: dict[str, Any]) -> None:
    evaluator = Evaluator(TRUTH, **options)
    evaluator.update(results(RESULTS))
    detections = results(RESULTS).sort("image_id", maintain_order=True)
    assert_same(evaluator.compute(), apf.evaluate(TRUTH, detections, **options))


def test_signature_is_that_of_evaluate() -> None:
    own, other = (inspect.signature(function).parameters for function in (Evaluator, apf.evaluate))
    assert [str(each) for each in own.values()] == [str(each) for name, each in other.items() if name != "detections"]


def test_bad_truth_and_options_are_told_at_the_start() -> None:
    with pytest.raises(ParameterError, match="unknown_images"):
        Evaluator(dataset(1), unknown_images="skip")
    with pytest.raises(ColumnError, match="annotations: no column mask"):
        Evaluator(dataset(1), iou_type="segm")
    with pytest.raises(RowError, match="mask is neither polygons nor run lengths"):
        Evaluator(apf.Dataset({"image_id": [1]}, {"category_id": [1]},
                              {"image_id": [1], "category_id": [1], **BOX, "mask": ["?"]}), iou_type="segm")  # fmt: skip
    with pytest.warns(NoAnnotationsWarning):
        Evaluator(dataset())


def test_repr() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update({name: values * 2 for name, values in found(1).items()})
    truth = "Dataset(2 images, 1 category, 2 annotations)"
    assert repr(evaluator) == f"Evaluator({truth}, 2 detections, protocol=COCO)"


@pytest.mark.slow
def test_threads_that_update_at_the_same_moment_lose_nothing() -> None:
    rows = results(RESULTS)
    parts = [part for _, part in sorted(rows.partition_by("image_id", as_dict=True).items())]
    expected = apf.evaluate(TRUTH, rows)
    for _ in range(3):
        evaluator, start = Evaluator(TRUTH), Barrier(8)

        def update(thread: int, evaluator: Evaluator = evaluator, start: Barrier = start) -> None:
            start.wait()
            for part in parts[thread::8]:
                evaluator.update(part)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(update, range(8)))
        assert evaluator.state().height == rows.height
        assert_frame_equal(evaluator.compute().summary, expected.summary)


def test_frames_of_the_same_columns_and_types_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    raw_results = Reading.raw_results
    monkeypatch.setattr(Reading, "raw_results", lambda *of, **options: read.append(of[1]) or raw_results(*of, **options))
    evaluator = Evaluator(dataset(1, 2, 3, 4))
    for update in (found(1), found(2), found(3, score=1)):
        evaluator.update(pl.DataFrame(update))
    assert [frame["image_id"].item() for frame in read] == [1, 3]
    evaluator.state()
    evaluator.update(pl.DataFrame(found(4)))
    assert evaluator.state()["image_id"].to_list() == [1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "second"),
    [
        ({"category_map": {"dog": "cat"}}, found(2, category_id=[2])),
        ({"relative": True, "box_format": "xyxy"}, found(2, x=[0.5])),
        ({"invalid": "drop"}, found(2, width=[-1.0])),
        ({"invalid": "keep", "protocol": "voc2007"}, found(2, width=[-1.0])),
        ({"join_by_name": "images"}, found("b.png")),
        ({"names": ["dog", "cat"]}, found(2, category_id=[0])),
    ],
)
def test_what_reading_does_to_values_it_does_to_each_frame(options: dict[str, Any], second: dict[str, Any]) -> None:
    sizes = {"image_width": [10, 10], "image_height": [10, 10]}
    images = {"image_id": [1, 2], "file_name": ["a.png", "b.png"], **sizes}
    categories = {"category_id": [1, 2], "name": ["cat", "dog"]}
    both = {"image_id": [1, 2], "category_id": [1, 2], **{name: values * 2 for name, values in BOX.items()}}
    truth = apf.Dataset(images, categories, both)
    first = found("a.png" if "join_by_name" in options else 1)
    updates = [pl.DataFrame(first), pl.DataFrame(second)]
    evaluator = Evaluator(truth, **options)
    with warnings.catch_warnings(action="ignore"):
        for update in updates:
            evaluator.update(update)
        assert_same(evaluator.compute(), apf.evaluate(truth, pl.concat(updates), **options))


@pytest.mark.slow
def test_a_pickled_evaluator_goes_on() -> None:
    evaluator = Evaluator(dataset(1, 2))
    evaluator.update(found(1))
    for other in (pickle.loads(pickle.dumps(evaluator)), copy.copy(evaluator), copy.deepcopy(evaluator)):
        other.update(found(2))
        assert other.compute().summary["value"][0] == 1
        assert evaluator.state()["image_id"].to_list() == [1]
