"""The lines for loggers and the callbacks that pages show, run against stubs of the libraries that call them.

What the callbacks do is tested in `tests/training`, and under the real libraries.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import apframe as apf

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/get_started/training_loop.md").read_text()
STREET = ROOT / "data" / "street"
BLOCKS = re.compile(r"```py\n(.*?)```", re.DOTALL)
LIGHTNING, READ_BATCH, WITHOUT_FILE, ULTRALYTICS = BLOCKS.findall(GUIDE)
LOGGERS = (ROOT / "docs/guides/loggers.md").read_text()
(FROM_ULTRALYTICS,) = BLOCKS.findall((ROOT / "docs/coming_from/ultralytics.md").read_text())


class Model:
    """A model of Ultralytics that keeps its callbacks."""

    def __init__(self, weights: str = "best.pt") -> None:
        assert weights.endswith(".pt")
        self.events: list[str] = []

    def add_callback(self, event: str, function: Any) -> None:
        assert callable(function)
        self.events.append(event)

    def train(self, *, data: str, epochs: int) -> None:
        assert data.endswith(".yaml") and epochs
        assert {"on_val_end", "on_fit_epoch_end"} <= {*self.events}


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    packages: dict[str, dict[str, Any]] = {
        "lightning": {},
        "lightning.pytorch": {"Callback": type("Callback", (), {}), "Trainer": SimpleNamespace},
        "ultralytics": {"YOLO": Model},
    }
    for name, members in packages.items():
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        vars(sys.modules[name]).update(members)


def output(image_id: int, rows: Any) -> dict[str, Any]:
    """What a detector of torchvision returns, or is trained with: corners."""
    here = rows.filter(image_id=image_id)
    corners = np.stack([here["x"], here["y"], here["x"] + here["width"], here["y"] + here["height"]], axis=1)
    scores = {"scores": here["score"].to_numpy()} if "score" in here.columns else {"iscrowd": here["is_crowd"].to_numpy()}
    return {"boxes": corners, "labels": here["category_id"].to_numpy(), **scores}


@pytest.fixture(scope="module")
def expected() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


def test_every_logger_gets_the_numbers(expected: apf.Evaluation) -> None:
    lines = re.findall(r"^\| (TensorBoard|MLflow|Weights & Biases) \| `(.*?)` \|", LOGGERS, re.MULTILINE)
    assert [name for name, _ in lines] == ["TensorBoard", "Weights & Biases", "MLflow"]
    logged: list[dict[str, Any]] = []
    writer = SimpleNamespace(
        add_scalar=lambda name, value, step: logged.append({name: value, "step": step}), add_pr_curve_raw=lambda *_: None
    )
    mlflow = SimpleNamespace(log_metrics=lambda values, step: logged.append(values | {"step": step}))
    run = SimpleNamespace(log=lambda values, step: logged.append(values | {"step": step}))
    for _, line in lines:
        exec(line, {"ev": expected, "epoch": 3, "writer": writer, "mlflow": mlflow, "run": run})
    numbers = {f"val/{name}": value for name, value in expected.summary.rows()}
    assert {name: value for each in logged[:-2] for name, value in each.items()} == numbers | {"step": 3}
    assert [{name: each[name] for name in (*numbers, "step")} for each in logged[-2:]] == [numbers | {"step": 3}] * 2


@pytest.mark.slow
@pytest.mark.parametrize("block", [LIGHTNING, READ_BATCH, WITHOUT_FILE])
def test_callbacks_of_lightning(block: str, expected: apf.Evaluation) -> None:
    from lightning.pytorch import Trainer  # type: ignore[import-not-found]  # the stub

    truth, detections = apf.read_coco(STREET / "instances.json"), apf.read_coco_results(STREET / "model_a.json")
    names: dict[str, Any] = {"Trainer": Trainer}
    exec(LIGHTNING, names)
    exec(block, names)
    callback = names["callback"] if block in (READ_BATCH, WITHOUT_FILE) else names["trainer"].callbacks[0]
    trainer, logged = SimpleNamespace(world_size=1, sanity_checking=False), dict[str, float]()
    module = SimpleNamespace(log_dict=lambda numbers, sync_dist: logged.update(numbers, sync_dist=sync_dist))
    callback.on_validation_epoch_start(trainer, module)
    for number, image_id in enumerate(truth.images["image_id"]):
        returned = output(image_id, detections)
        if block in (READ_BATCH, WITHOUT_FILE):
            batch = (None, [output(image_id, truth.annotations) | {"image_id": image_id}])
            callback.on_validation_batch_end(trainer, module, [returned], batch, number)
        else:
            callback.on_validation_batch_end(trainer, module, {image_id: returned}, None, number)
    callback.on_validation_epoch_end(trainer, module)
    numbers = {name: expected.to_dict("val/")[name] for name in ("val/AP", "val/AP50")}
    assert {name: logged[name] for name in numbers} == pytest.approx(numbers)


def test_the_callback_is_added_to_a_model_of_ultralytics() -> None:
    names: dict[str, Any] = {}
    *lines, last = ULTRALYTICS.strip().split("\n")
    exec("\n".join(lines), names)
    assert last == 'callback.evaluation.by("name")' and names["callback"].evaluation is None  # nothing was trained
    model = Model()
    exec(FROM_ULTRALYTICS, {"model": model})
    assert model.events == names["model"].events
