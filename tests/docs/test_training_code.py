"""The lines for loggers and the callbacks of the guide on training loops, run against stubs of the libraries that call them."""

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
GUIDE = (ROOT / "docs/guides/training_loops.md").read_text()
STREET = ROOT / "data" / "street"
LIGHTNING, ULTRALYTICS = re.findall(r"```py\n(.*?)```", GUIDE, re.DOTALL)


def stub(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    """A module of that name, and the packages that it is in."""
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:n]), ModuleType(".".join(parts[:n])))
    for n in range(1, len(parts)):
        setattr(sys.modules[".".join(parts[:n])], parts[n], sys.modules[".".join(parts[: n + 1])])
    vars(sys.modules[name]).update(members)


def outputs(image_ids: list[int]) -> dict[int, dict[str, Any]]:
    """What a detector of torchvision returns: model a's results as corners."""
    found = apf.read_coco_results(STREET / "model_a.json")
    return {
        image_id: {
            "boxes": np.stack([rows["x"], rows["y"], rows["x"] + rows["width"], rows["y"] + rows["height"]], axis=1),
            "labels": rows["category_id"].to_numpy(),
            "scores": rows["score"].to_numpy(),
        }
        for image_id in image_ids
        for rows in [found.filter(image_id=image_id)]
    }


@pytest.fixture(scope="module")
def expected() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


def test_every_logger_gets_the_numbers(expected: apf.Evaluation) -> None:
    lines = re.findall(r"^\| (TensorBoard|MLflow|Weights & Biases) \| `(.*)` \|$", GUIDE, re.MULTILINE)
    assert [name for name, _ in lines] == ["TensorBoard", "MLflow", "Weights & Biases"]
    logged: list[dict[str, float]] = []
    writer = SimpleNamespace(add_scalar=lambda name, value, step: logged.append({name: value, "step": step}))
    mlflow = SimpleNamespace(log_metrics=lambda values, step: logged.append(values | {"step": step}))
    run = SimpleNamespace(log=lambda values, step: logged.append(values | {"step": step}))
    for _, line in lines:
        exec(line, {"ev": expected, "epoch": 3, "writer": writer, "mlflow": mlflow, "run": run})
    numbers = {f"val/{name}": value for name, value in expected.summary.rows()}
    assert {name: value for each in logged[:-2] for name, value in each.items()} == numbers | {"step": 3}
    assert logged[-2:] == [numbers | {"step": 3}] * 2


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [1, 2])
def test_lightning_callback(world_size: int, expected: apf.Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    others: list[Any] = []
    stub(monkeypatch, "lightning.pytorch", Callback=object, Trainer=SimpleNamespace)
    stub(
        monkeypatch, "torch.distributed", all_gather_object=lambda states, own: states.__setitem__(slice(None), [own, *others])
    )
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"apf": apf}
    exec(LIGHTNING, names)
    trainer, logged = SimpleNamespace(world_size=world_size), dict[str, float]()
    (callback,) = names["trainer"].callbacks
    ids = apf.read_coco(STREET / "instances.json").images["image_id"].to_list()
    if world_size == 2:  # the other process has padded its share with an image of this one
        other = apf.Evaluator(STREET / "instances.json")
        other.update(outputs(ids[100:] + ids[:1]))
        others.append(other.state())
        ids = ids[:100]
    module = SimpleNamespace(log_dict=logged.update)
    for _ in range(2):  # epochs
        callback.on_validation_epoch_start(trainer, module)
        for number in range(0, len(ids), 50):
            callback.on_validation_batch_end(trainer, module, outputs(ids[number : number + 50]), None, number)
        callback.on_validation_epoch_end(trainer, module)
    assert logged == pytest.approx(expected.to_dict("val/"))


def test_ultralytics_callback(
    expected: apf.Evaluation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = apf.read_coco(STREET / "instances.json")
    stems = {row["image_id"]: Path(row["file_name"]).stem for row in truth.images.iter_rows(named=True)}
    class_of = {category_id: number for number, category_id in enumerate(truth.categories["category_id"])}
    found = apf.read_coco_results(STREET / "model_a.json").iter_rows(named=True)
    rows = [
        {
            "image_id": stems[row["image_id"]],
            "category_id": class_of[row["category_id"]] + 1,
            "bbox": [row[name] for name in ("x", "y", "width", "height")],
            "score": row["score"],
        }
        for row in found
    ]

    class Model:
        def __init__(self, weights: str) -> None:
            assert weights.endswith(".pt")

        def add_callback(self, event: str, callback: Any) -> None:
            assert event == "on_val_end"
            self.callback = callback

        def val(self, *, data: str, save_json: bool) -> None:
            assert data.endswith(".yaml")
            names = dict(enumerate(truth.categories["name"]))
            self.callback(
                SimpleNamespace(class_map=list(range(1, len(names) + 1)), names=names, jdict=rows if save_json else [])
            )

    stub(monkeypatch, "ultralytics", YOLO=Model)
    monkeypatch.chdir(ROOT)
    exec(ULTRALYTICS, {"apf": apf})
    assert eval(capsys.readouterr().out) == pytest.approx(expected.to_dict("val/"))
