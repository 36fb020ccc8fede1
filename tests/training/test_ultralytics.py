"""The callback for Ultralytics, under a small validator here, and under the real package in a slow test."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import ApframeError, InputError
from apframe.training.ultralytics import AveragePrecisionCallback
from tests.kits import ROOT, run_kit

NAMES = {0: "car", 1: "bus"}
SCRIPT = """
import importlib.metadata, os
from pathlib import Path
from types import ModuleType

folder = Path(given["folder"])
os.environ |= {"YOLO_CONFIG_DIR": str(folder), "YOLO_OFFLINE": "true", "YOLO_VERBOSE": "false"}
sys.path.insert(0, given["root"])
import torch

# torchvision for the CPU is not to be had everywhere; the validator imports it for the suppression of boxes alone
version = importlib.metadata.version
importlib.metadata.version = lambda name: "0.28.0" if name == "torchvision" else version(name)
sys.modules["torchvision"] = ModuleType("torchvision")
from ultralytics import YOLO
from ultralytics.models.yolo.detect import DetectionValidator
from apframe.training.ultralytics import AveragePrecisionCallback

batches, found = [], []
preprocess = DetectionValidator.preprocess

def keep_batch(self, batch):
    batches[:] = [preprocess(self, batch)]
    return batches[0]

def find(self, preds):  # instead of a trained model: the labels, moved by as many pixels as the image has in its name
    (batch,) = batches
    height, width = batch["img"].shape[2:]
    results = []
    for k, path in enumerate(batch["im_file"]):
        here = batch["batch_idx"] == k
        x, y, w, h = batch["bboxes"][here].T * torch.tensor([width, height, width, height])[:, None]
        boxes = torch.stack([x - w / 2 + int(Path(path).stem), y - h / 2, x + w / 2, y + h / 2], 1)
        scores = torch.linspace(0.9, 0.5, len(boxes)) - 0.01 * int(Path(path).stem)
        results.append({"bboxes": boxes, "conf": scores, "cls": batch["cls"][here].ravel(), "extra": boxes[:, :0]})
    return results

DetectionValidator.preprocess, DetectionValidator.postprocess = keep_batch, find
data = str(folder / "data.yaml")
model = YOLO("yolov8n.yaml")
ours = [AveragePrecisionCallback(protocol="ultralytics"), AveragePrecisionCallback(data, prefix="coco/", per_category=True)]
for each in ours:
    each.add_to(model)
logged = []
model.add_callback("on_fit_epoch_end", lambda trainer: logged.append({**trainer.metrics}))
options = dict(data=data, imgsz=64, batch=3, workers=0, device="cpu", project=str(folder / "runs"), plots=False)
model.train(**options, epochs=2, amp=False)
csv = (model.trainer.save_dir / "results.csv").read_text().splitlines()[0]
written = sorted(path.name for path in model.trainer.save_dir.rglob("*"))
alone = model.val(**options)
logged = [{name: float(value) for name, value in each.items()} for each in logged]
print(json.dumps([logged, csv, written, float(alone.box.map), ours[0].evaluation.to_dict(), str(ours[1].evaluation.dataset)]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three images of 100 × 50 pixels, with a car, with a car and a bus, and without anything."""
    for split in ("train", "val"):
        for kind in ("images", "labels"):
            (tmp_path / kind / split).mkdir(parents=True)
        for name, text in {"000000": "", "000001": "0 .2 .4 .2 .4\n", "000002": "0 .2 .4 .2 .4\n1 .6 .4 .2 .4\n"}.items():
            Image.new("RGB", (100, 50)).save(tmp_path / "images" / split / f"{name}.png")
            (tmp_path / "labels" / split / f"{name}.txt").write_text(text)
    (tmp_path / "data.yaml").write_text(f"path: {tmp_path}\ntrain: images/train\nval: images/val\nnames: [car, bus]\n")
    return tmp_path


CAR, BUS = {"category_id": 1, "bbox": [10, 10, 20, 20]}, {"category_id": 2, "bbox": [50, 10, 20, 20]}
BATCHES = [
    [{"image_id": 1, "file_name": "000001.png", "score": 0.9} | CAR],
    [{"image_id": 2, "score": 0.8} | CAR, {"image_id": 2, "score": 0.7} | BUS],  # as of versions that write no file_name
]


class Validator:
    """What the callback uses of a validator of Ultralytics, which runs its events in the same order."""

    def __init__(self, folder: Path, *, save_json: bool = False) -> None:
        boxes = np.array([[0.2, 0.4, 0.2, 0.4], [0.6, 0.4, 0.2, 0.4]], dtype=np.float32)
        classes = np.array([[0.0], [1.0]], dtype=np.float32)
        files = [folder / "images/val" / f"00000{k}.png" for k in range(3)]
        labels = [{"im_file": str(path), "cls": classes[:k], "bboxes": boxes[:k]} for k, path in enumerate(files)]
        self.dataloader = SimpleNamespace(dataset=SimpleNamespace(labels=labels))
        self.args = SimpleNamespace(save_json=save_json)
        self.callbacks: dict[str, list[Any]] = {}
        self.saved: list[bool] = []

    def add_callback(self, event: str, function: Any) -> None:
        self.callbacks.setdefault(event, []).append(function)

    def run(self, event: str) -> None:
        for function in self.callbacks.get(event, []):
            function(self)

    def __call__(self, batches: list[list[dict[str, Any]]]) -> None:
        self.run("on_val_start")
        self.names, self.class_map, self.jdict = NAMES, [1, 2], []
        self.saved.append(self.args.save_json)
        for batch in batches:
            self.run("on_val_batch_start")
            if self.args.save_json:
                self.jdict += batch
            self.run("on_val_batch_end")
            self.saved.append(self.args.save_json)
        self.run("on_val_end")


def ids(callback: AveragePrecisionCallback) -> list[Any]:
    assert callback.evaluation is not None
    return callback.evaluation.dataset.images["image_id"].to_list()


@pytest.mark.slow
def test_the_boxes_of_the_labels_are_the_ground_truth(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(), Validator(folder)
    callback.add_to(validator)
    for n, ar in ((2, 1), (1, 0.25), (2, 1)):  # validations: of one class half is found, of the other one nothing
        validator(BATCHES[:n])
        assert callback.evaluation is not None and callback.evaluation["AR100"] == ar
    assert callback.evaluation is not None
    expected = apf.read_dataset(folder / "data.yaml", split="val")
    truth = callback.evaluation.dataset
    columns = ["image_id", "category_id", "x", "y", "width", "height"]
    assert truth.annotations[columns].rows() == [
        (image_id, category_id, *(pytest.approx(each, abs=1e-5) for each in box))
        for image_id, category_id, *box in expected.annotations[columns].rows()
    ]
    columns = ["image_id", "file_name", "image_width", "image_height"]
    assert truth.images[columns].rows() == [(f"00000{k}", f"00000{k}.png", 100, 50) for k in range(3)]
    assert truth.categories["category_id", "name"].rows() == [(0, "car"), (1, "bus")]


@pytest.mark.slow
def test_the_ground_truth_may_be_a_file(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(folder / "data.yaml", "ultralytics", split="val"), Validator(folder)
    callback.add_to(validator)
    validator(BATCHES)
    assert callback.evaluation is not None and callback.evaluation["AP75"] == 0.995


@pytest.mark.slow
def test_other_labels_are_another_ground_truth(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(), Validator(folder)
    callback.add_to(validator)
    validator(BATCHES)
    assert ids(callback) == ["000000", "000001", "000002"]
    validator.dataloader.dataset.labels = validator.dataloader.dataset.labels[:2]
    validator(BATCHES[:1])
    assert ids(callback) == ["000000", "000001"]


@pytest.mark.slow
@pytest.mark.parametrize("save_json", [False, True])
def test_the_validator_is_left_as_it_was(save_json: bool, folder: Path) -> None:
    """Between its batches, and with several callbacks."""
    validator = Validator(folder, save_json=save_json)
    both = [AveragePrecisionCallback(), AveragePrecisionCallback(protocol="voc2012")]
    for callback in both:
        callback.add_to(validator)
    validator(BATCHES)
    assert validator.saved == [save_json] * 3
    assert [len(ids(callback)) for callback in both] == [3, 3]


@pytest.mark.slow
def test_loggers_get_the_numbers_of_the_epoch(folder: Path) -> None:
    """Ultralytics writes its metrics to results.csv first; an epoch without validation has those of the last one."""
    trainer = Validator(folder)
    callback = AveragePrecisionCallback(prefix="ap/", protocol="voc2012", per_category=True)
    callback.add_to(trainer)
    metrics: dict[str, float] = {"mAP50": 0.5}
    trainer.metrics = metrics  # type: ignore[attr-defined]
    trainer.run("on_train_epoch_start")
    trainer(BATCHES)
    trainer.run("on_fit_epoch_end")
    assert metrics == {"mAP50": 0.5, "ap/AP": 1, "ap/AP/car": 1, "ap/AP/bus": 1}
    trainer.run("on_train_epoch_start")
    assert metrics == {"mAP50": 0.5}
    trainer.run("on_fit_epoch_end")
    assert metrics == {"mAP50": 0.5}
    trainer.metrics = None  # type: ignore[attr-defined]  # as in other processes than the first
    trainer.run("on_train_epoch_start")
    trainer.run("on_fit_epoch_end")


@pytest.mark.slow
def test_nothing_found_is_evaluated(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(), Validator(folder)
    callback.add_to(validator)
    validator([[], []])
    assert callback.evaluation is not None and callback.evaluation["AP"] == 0


def test_nothing_validated_is_no_evaluation(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(), Validator(folder)
    callback.add_to(validator)
    validator([])
    assert callback.evaluation is None


def test_images_of_one_name_are_an_error(folder: Path) -> None:
    callback, validator = AveragePrecisionCallback(), Validator(folder)
    callback.add_to(validator)
    labels = validator.dataloader.dataset.labels
    validator.dataloader.dataset.labels = [labels[1], labels[2] | {"im_file": "elsewhere/000001.png"}]
    with pytest.raises(InputError, match=r"^images: images have the same name, .*: '1'; rename them$"):
        validator(BATCHES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"protocol": "ultralytic"}, "no protocol 'ultralytic'; did you mean ultralytics,"),
        ({"per_categories": True}, "no option 'per_categories'; did you mean per_category, categories?"),
        ({"truth": "nothere.json"}, "nothere.json: there is no such file or folder"),
    ],
)
def test_typos_are_errors_before_the_first_epoch(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ApframeError) as error:
        AveragePrecisionCallback(**arguments)
    assert str(error.value).startswith(message)


@pytest.mark.slow
def test_it_is_pickled_for_other_processes(folder: Path) -> None:
    callback, validator = pickle.loads(pickle.dumps(AveragePrecisionCallback())), Validator(folder)
    callback.add_to(validator)
    validator(BATCHES)
    assert ids(callback) == ["000000", "000001", "000002"]


@pytest.mark.slow
def test_a_real_model_is_trained_and_validated(folder: Path) -> None:
    """By the rules of Ultralytics the numbers are those of its own."""
    logged, csv, written, alone, numbers, dataset = run_kit("training", SCRIPT, {"root": str(ROOT), "folder": str(folder)})
    assert len(logged) == 3  # two epochs, and the best model in the end
    for metrics in logged:
        assert 0.2 < metrics["metrics/mAP50-95(B)"] < 0.9
        assert metrics["metrics/AP"] == pytest.approx(metrics["metrics/mAP50-95(B)"], abs=1e-4)
        assert metrics["metrics/AP50"] == pytest.approx(metrics["metrics/mAP50(B)"], abs=1e-4)
        assert {"coco/AP", "coco/AP/car", "coco/AP/bus"} <= metrics.keys()
    assert "metrics/mAP50(B)" in csv and "metrics/AP" not in csv
    assert "predictions.json" not in written
    assert numbers["AP"] == pytest.approx(alone, abs=1e-4)
    assert dataset == "Dataset(3 images, 2 categories, 3 annotations)"
