"""The callback for Lightning, under a small trainer here, and under those of the real packages in slow tests."""

from __future__ import annotations

import copy
import pickle
import re
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.exceptions import MissingResultsWarning, ParameterError, RowError
from apframe.training.lightning import AveragePrecisionCallback
from tests.kits import ROOT, run_kit

BOXES = [[0.0, 0, 9, 9]]
SCRIPT = """
import os, pickle
if given["rank"] is not None:  # as one of the processes that a launcher starts
    os.environ |= {"LOCAL_RANK": str(given["rank"]), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(given["port"])}
sys.path.insert(0, given["root"])
import importlib, torch
import apframe as apf
from apframe.training.lightning import AveragePrecisionCallback

package = importlib.import_module(given["package"])
boxes, one = torch.tensor([[0.0, 0, 9, 9]]), torch.tensor([1])
truth = apf.targets_from_torchvision([{"image_id": k, "boxes": boxes, "labels": one} for k in range(5)])
seen = []

class Model(package.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        return self.layer(batch[:, None].float()).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.001)

    def validation_step(self, batch, batch_idx):  # finds the first image alone in the second epoch
        images = [int(k) for k in batch]
        return {k: {"boxes": boxes + 9 * k * self.current_epoch, "labels": one, "scores": one * (0.9 - k / 9)} for k in images}

class Spy(package.Callback):
    def on_sanity_check_end(self, trainer, pl_module):
        seen.append(sorted(trainer.callback_metrics))

    def on_validation_end(self, trainer, pl_module):
        if not trainer.sanity_checking:
            seen.append({name: float(trainer.callback_metrics[name]) for name in ("val/AP50", "own/AP50")})

def read_batch(outputs, batch):
    return [{"image_id": k, "boxes": boxes, "labels": one} for k in batch], [*outputs.values()]

ours = [AveragePrecisionCallback(truth), AveragePrecisionCallback(read_batch=read_batch, prefix="own/")]
assert all(isinstance(each, package.Callback) for each in ours)
assert [type(pickle.loads(pickle.dumps(each))) for each in ours] == [type(each) for each in ours]
data = torch.utils.data.DataLoader(list(range(5)), batch_size=2)
trainer = package.Trainer(
    accelerator="cpu", devices=given["processes"], strategy="ddp" if given["processes"] > 1 else "auto", max_epochs=2,
    callbacks=[*ours, Spy()], logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Model(), data, data)
trainer.validate(Model(), data, verbose=False)
print(json.dumps(seen))
"""


def found(*image_ids: int, label: int = 1) -> dict[int, Any]:
    """What `validation_step` returns: a box on each image, as a detector of torchvision gives it."""
    return {k: {"boxes": BOXES, "labels": [label], "scores": [0.9 - k / 10]} for k in image_ids}


def targets(*image_ids: int) -> list[dict[str, Any]]:
    return [{"image_id": np.array(k), "boxes": np.array(BOXES), "labels": np.array([1])} for k in image_ids]


@pytest.fixture
def truth() -> apf.Dataset:
    """A box on each of four images."""
    return apf.targets_from_torchvision(targets(1, 2, 3, 4))


def package(monkeypatch: pytest.MonkeyPatch, name: str) -> type:
    """An imported package with a class of callbacks."""
    module: Any = ModuleType(name)
    module.Callback = type("Callback", (), {"on_fit_start": lambda *_: name})
    monkeypatch.setitem(sys.modules, name.partition(".")[0], ModuleType(name.partition(".")[0]))
    monkeypatch.setitem(sys.modules, name, module)
    return module.Callback  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def base(monkeypatch: pytest.MonkeyPatch) -> type:
    return package(monkeypatch, "lightning.pytorch")


def epoch(callback: Any, *batches: Any, sanity_checking: bool = False, ranks: tuple[int, int] = (0, 1)) -> dict[str, float]:
    """What is logged by an epoch of these batches, each with what `validation_step` returned for it."""
    rank, world_size = ranks
    trainer = SimpleNamespace(sanity_checking=sanity_checking, global_rank=rank, world_size=world_size)
    logged = {}
    module = SimpleNamespace(log_dict=lambda numbers, sync_dist: logged.update(numbers | {"sync_dist": sync_dist}))
    callback.on_validation_epoch_start(trainer, module)
    for number, (outputs, batch) in enumerate(batches):
        callback.on_validation_batch_end(trainer, module, outputs, batch, number)
    callback.on_validation_epoch_end(trainer, module)
    return logged


@pytest.mark.slow
def test_an_epoch_is_evaluated_by_itself(truth: apf.Dataset) -> None:
    callback = AveragePrecisionCallback(truth)
    assert callback.evaluation is None
    for images in ([1, 2, 3, 4], [1, 2]):
        logged = epoch(callback, *((found(k), None) for k in images), *(({}, None),))
        expected = apf.evaluate(truth, found(*images))
        assert logged == expected.to_dict("val/") | {"sync_dist": False}
        assert callback.evaluation is not None and callback.evaluation.summary.equals(expected.summary)


@pytest.mark.slow
def test_options_are_those_of_evaluate(truth: apf.Dataset) -> None:
    callback = AveragePrecisionCallback(truth, "voc2012", prefix="", per_category=True, iou_thresholds=[0.75])
    assert epoch(callback, (found(1, 2, 3, 4), None)) == {"AP": 1, "AP/1": 1, "sync_dist": False}
    with pytest.raises(ParameterError, match=r"images is .all. or .seen., not .some."):
        AveragePrecisionCallback(truth, count_images="some")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocol": "cocoo"}, "no protocol 'cocoo'; did you mean coco, refcoco?"),
        ({"iou_type": "maks"}, "COCO has no iou_type 'maks'; "),
        ({"prefx": "val/"}, "no option 'prefx'; did you mean prefix?"),
        ({"iouThrs": [0.5]}, "no option 'iouThrs'; did you mean iou_thresholds?"),
    ],
)
def test_typos_are_errors_before_the_first_epoch(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}"):
        AveragePrecisionCallback(**arguments)


@pytest.mark.parametrize(
    ("has_truth", "read_batch", "message"),
    [
        (False, None, "validation_step returned None; return (targets, outputs), or give read_batch"),
        (True, None, "validation_step returned None; return detections, or give read_batch"),
        (True, lambda *_: None, "read_batch returned None; return detections"),
    ],
)
def test_a_step_that_returns_nothing(has_truth: bool, read_batch: Any, message: str, truth: apf.Dataset) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        epoch(AveragePrecisionCallback(truth if has_truth else None, read_batch=read_batch), (None, None))


def test_the_sanity_check_evaluates_nothing(truth: apf.Dataset) -> None:
    callback = AveragePrecisionCallback(truth)
    assert epoch(callback, (found(1), None), sanity_checking=True) == {}
    assert callback.evaluation is None
    own = AveragePrecisionCallback()
    assert epoch(own, ((targets(1), [*found(1).values()]), None), sanity_checking=True) == {}


@pytest.mark.slow
def test_read_batch_turns_a_batch_into_detections(truth: apf.Dataset) -> None:
    callback = AveragePrecisionCallback(truth, read_batch=lambda outputs, batch: dict(zip(batch["ids"], outputs, strict=True)))
    assert epoch(callback, ([*found(1, 2, 3, 4).values()], {"ids": [1, 2, 3, 4]}))["val/AP50"] == pytest.approx(1)


@pytest.mark.slow
def test_ground_truth_may_come_with_the_batches() -> None:
    """One of two objects is found, and something else on a third image, of which there was no annotation."""
    nothing = {"boxes": np.zeros((0, 4)), "labels": np.zeros(0, dtype=int)}
    batches = [
        ((targets(1), [*found(1).values()]), None),
        ((targets(2), [nothing | {"scores": np.zeros(0)}]), None),
        (([nothing | {"image_id": 3}], [*found(3, label=7).values()]), None),
    ]
    callback = AveragePrecisionCallback()
    for _ in range(2):  # epochs
        assert epoch(callback, *batches)["val/AR100"] == 0.5
        assert callback.evaluation is not None
        assert callback.evaluation.dataset.images["image_id"].to_list() == [1, 2, 3]
        assert callback.evaluation.dataset.categories["category_id"].to_list() == [1, 7]
    with pytest.raises(RowError, match="image_id is missing"):
        epoch(callback, (([nothing], [nothing]), None))


@pytest.mark.slow
def test_other_data_loaders_are_left_alone(truth: apf.Dataset) -> None:
    second: Any = AveragePrecisionCallback(truth, dataloader_idx=1)
    trainer = SimpleNamespace(sanity_checking=False, world_size=1)
    second.on_validation_batch_end(trainer, None, found(99), None, 0)
    second.on_validation_batch_end(trainer, None, found(1, 2, 3, 4), None, 0, 1)
    second.on_validation_epoch_end(trainer, SimpleNamespace(log_dict=lambda *_, **__: None))
    assert second.evaluation["AR100"] == 1


@pytest.mark.slow
def test_a_part_of_the_images_may_be_evaluated(truth: apf.Dataset) -> None:
    with pytest.warns(MissingResultsWarning, match="2 of 4 images were in no update"):
        assert epoch(AveragePrecisionCallback(truth), (found(1, 2), None))["val/AR100"] == 0.5
    assert epoch(AveragePrecisionCallback(truth, count_images="seen"), (found(1, 2), None))["val/AR100"] == 1


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("with_truth", [True, False])
def test_processes_exchange_what_they_have(with_truth: bool, truth: apf.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one has four images, the last of which pads its share."""
    shares = [[1, 2, 3], [4, 1]]
    sent: dict[int, Any] = {}

    def gather(rank: int, states: list[Any], own: Any) -> None:
        sent[rank] = pickle.loads(pickle.dumps(own))
        states[:] = [sent.get(0), sent.get(1, own)]

    def run(rank: int) -> dict[str, float]:
        distributed: Any = ModuleType("torch.distributed")
        distributed.all_gather_object = partial(gather, rank)
        monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
        monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
        callback = AveragePrecisionCallback(truth if with_truth else None)
        outputs = [found(k) if with_truth else (targets(k), [*found(k).values()]) for k in shares[rank]]
        return epoch(callback, *((each, None) for each in outputs), ranks=(rank, 2))

    run(0)  # which sends its share before there is another one
    expected = apf.evaluate(truth, found(1, 2, 3, 4)).to_dict("val/") | {"sync_dist": True}
    assert run(1) == expected
    assert run(0) == expected


def test_it_is_a_callback_of_each_package_that_is_imported(base: type, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(AveragePrecisionCallback(), base)
    other = package(monkeypatch, "pytorch_lightning")
    both: Any = AveragePrecisionCallback()
    assert both.on_fit_start() == "lightning.pytorch"  # whatever else it does is Lightning's
    assert isinstance(both, base) and isinstance(both, other) and isinstance(both, AveragePrecisionCallback)
    monkeypatch.delitem(sys.modules, "lightning.pytorch")
    alone: Any = AveragePrecisionCallback()
    assert not isinstance(alone, base) and alone.on_fit_start() == "pytorch_lightning"


def test_without_lightning_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lightning", "lightning.pytorch"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("apframe.training.lightning.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ParameterError, match=r"^the callback needs Lightning: pip install lightning$"):
        AveragePrecisionCallback()


def test_the_module_is_imported_without_lightning(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "apframe.training.lightning")
    assert import_module("apframe.training.lightning").AveragePrecisionCallback.__doc__


class Mine(AveragePrecisionCallback):
    """A subclass that has a name for each number."""

    def __init__(self, truth: apf.Dataset, names: list[str]) -> None:
        super().__init__(truth)
        self.names = names


@pytest.mark.slow
def test_it_is_copied_pickled_and_inherited_from(base: type, truth: apf.Dataset) -> None:
    mine = Mine(truth, ["a"])
    for other in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert type(other) is type(mine) and isinstance(other, base) and isinstance(other, Mine) and other.names == ["a"]
        assert epoch(other, (found(1, 2, 3, 4), None))["val/AP50"] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_real_trainers_log_the_numbers(package: str) -> None:
    arguments = {"root": str(ROOT), "package": package, "processes": 1, "rank": None, "port": None}
    assert run_kit("training", SCRIPT, arguments) == EXPECTED


@pytest.mark.slow
def test_real_trainers_log_the_numbers_of_two_processes() -> None:
    """Of five images, the second process has two and a copy of the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = {"root": str(ROOT), "package": "lightning.pytorch", "processes": 2, "port": port}
    with ThreadPoolExecutor(2) as both:
        each = both.map(lambda rank: run_kit("training", SCRIPT, arguments | {"rank": rank}), range(2))
        assert [*each] == [EXPECTED] * 2


FIRST = pytest.approx(21 / 101)  # the first of five objects alone: recall .2
EXPECTED: list[Any] = [
    [],  # the sanity check
    {"val/AP50": 1, "own/AP50": 1},
    {"val/AP50": FIRST, "own/AP50": FIRST},
    {"val/AP50": FIRST, "own/AP50": FIRST},  # of `validate`, for which the epoch stays
]
