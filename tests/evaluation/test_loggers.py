"""What loggers get: scalars, tables and curves, by small writers here, and by those of the real packages in slow tests."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.exceptions import NotComputedWarning, ParameterError
from tests.kits import ROOT, run_kit

BOX = {"y": 0, "width": 9, "height": 9}
SCRIPT = """
import pickle, struct, sys, tempfile
from pathlib import Path
sys.path.insert(0, given["root"])
import numpy, tensorboardX, wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator, TENSORS
from torch.utils import tensorboard
import apframe as apf

street = Path(given["root"], "data/street")
ev = apf.evaluate(street / "instances.json", street / "model_a.json")
written = []
for package in (tensorboard, tensorboardX):
    with tempfile.TemporaryDirectory() as folder:
        with package.SummaryWriter(folder) as writer:
            ev.write_tensorboard(writer, 3, "val/", per_category=True)
        events = EventAccumulator(folder, size_guidance={TENSORS: 0}).Reload()
        tags = events.Tags()
        names = [name for name in tags["tensors"] if "precision_recall" in name]
        ((event,),) = [events.Tensors(name) for name in ("val/precision_recall",)]
        curve = numpy.array(event.tensor_proto.float_val).reshape(6, -1)
        plugin = events.summary_metadata["val/precision_recall"].plugin_data.plugin_name
        (scalar,) = events.Scalars("val/AP50") if "val/AP50" in tags["scalars"] else [None]
        written.append([sorted(names), plugin, event.step, curve[:, 0].tolist(), curve[:4].sum(axis=1).tolist(), scalar.value])
with tempfile.TemporaryDirectory() as folder:
    run = wandb.init(mode="offline", dir=folder, settings=wandb.Settings(silent=True))
    values = ev.to_wandb("val/")
    run.log(values)
    logged = sorted(key for key in dict(run.summary))
    run.finish()
kinds = {name: type(value).__name__ for name, value in values.items() if not isinstance(value, float)}
print(json.dumps([written, kinds, logged, values["val/categories"].columns, len(values["val/categories"].data)]))
"""


class Writer:
    """A SummaryWriter that keeps what it is given."""

    def __init__(self) -> None:
        self.scalars: dict[tuple[str, int | None], float] = {}
        self.curves: dict[str, Any] = {}

    def add_scalar(self, tag: str, value: float, step: int | None) -> None:
        self.scalars[tag, step] = value

    def add_pr_curve_raw(self, tag: str, *numbers: Any) -> None:
        *columns, step, n = numbers
        assert {column.shape for column in columns} == {(127,)} and n == 127
        self.curves[tag] = step, np.array(columns)


def evaluation(scores: tuple[float, float, float] = (0.75, 0.5, 0.25), **options: Any) -> apf.Evaluation:
    """Two cats and a dog; of the cats one is found, between a false one before and a false dog."""
    truth = apf.Dataset(
        {"image_id": [1]},
        {"category_id": [1, 2, 3], "name": ["cat", "dog", "bird"]},
        {"image_id": [1] * 3, "category_id": [1, 1, 2], "x": [0, 20, 40]} | {name: [size] * 3 for name, size in BOX.items()},
    )
    detections = {"image_id": [1] * 3, "category_id": [1, 1, 2], "score": list(scores), "x": [60, 0, 60]}
    return apf.evaluate(truth, detections | {name: [size] * 3 for name, size in BOX.items()}, **options)


def test_scalars_are_those_of_to_dict() -> None:
    writer, ev = Writer(), evaluation()
    ev.write_tensorboard(writer, 7, "val/", per_category=True)
    assert writer.scalars == {(name, 7): value for name, value in ev.to_dict("val/", per_category=True).items()}


def test_a_curve_has_the_counts_from_each_score_upwards() -> None:
    writer = Writer()
    evaluation().write_tensorboard(writer, 7, "val/")
    ((tag, (step, curve)),) = writer.curves.items()
    assert (tag, step) == ("val/precision_recall", 7)
    at = dict(zip([k / 126 for k in range(127)], curve.T.tolist(), strict=True))
    assert at[0] == [1, 2, 0, 2, 1 / 3, 1 / 3]
    assert at[32 / 126] == at[63 / 126] == [1, 1, 0, 2, 1 / 2, 1 / 3]  # .25397: the dog's .25 is lower
    assert at[64 / 126] == [0, 1, 0, 3, 0, 0]
    assert at[1] == [0, 0, 0, 3, 0, 0]  # no detection has this score: the precision of the highest one, .75


def test_each_category_with_annotations_has_a_curve_of_its_own() -> None:
    writer = Writer()
    evaluation().write_tensorboard(writer, per_category=True)
    assert {tag: curve[:, 0].tolist() for tag, (_, curve) in writer.curves.items()} == {
        "precision_recall": [1, 2, 0, 2, 1 / 3, 1 / 3],
        "precision_recall/cat": [1, 1, 0, 1, 1 / 2, 1 / 2],
        "precision_recall/dog": [0, 1, 0, 1, 0, 0],
    }


def test_curves_are_left_out_where_scores_are_no_probabilities() -> None:
    writer = Writer()
    with pytest.warns(NotComputedWarning, match=r"scores from 0 to 1, but these are 0\.25 to 75$"):
        evaluation((75, 0.5, 0.25)).write_tensorboard(writer)
    assert writer.curves == {} and ("AP", None) in writer.scalars


@pytest.mark.slow
def test_without_scores_or_detections_there_is_no_curve() -> None:
    truth = {"image_id": [1], "category_id": [1], "x": [0]} | {name: [size] for name, size in BOX.items()}
    detections: dict[str, list[float]] = {name: [] for name in (*truth, "score")}
    writer = Writer()
    apf.evaluate(apf.Dataset({"image_id": [1]}, {"category_id": [1]}, truth), detections).write_tensorboard(writer)
    assert writer.curves == {} and writer.scalars["AP", None] == 0
    panoptic = ROOT / "data/segments/panoptic"
    ev = apf.evaluate(panoptic / "truth.json", panoptic / "model_a.json", "coco_panoptic")  # which does not rank by a score
    ev.write_tensorboard(writer, per_category=True)
    assert writer.curves == {} and {name for name, _ in writer.scalars} >= ev.to_dict(per_category=True).keys()


def test_what_is_no_writer_is_an_error() -> None:
    with pytest.raises(ParameterError, match=r"^writer must be a SummaryWriter .*, not str; .*: pip install tensorboardX$"):
        evaluation().write_tensorboard("runs")


def test_categories_are_refused_where_they_are_pooled() -> None:
    with pytest.raises(ParameterError, match="pooled"):
        evaluation(agnostic=True).write_tensorboard(Writer(), per_category=True)


def test_without_wandb_there_are_the_scalars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    ev = evaluation()
    assert ev.to_wandb("val/") == ev.to_dict("val/")


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two names of wandb that are used: both give their arguments back."""
    module: Any = ModuleType("wandb")
    module.Table = lambda columns, data: {"columns": columns, "data": data}
    module.plot = SimpleNamespace(line=lambda table, x, y, title: (table, x, y, title))
    monkeypatch.setitem(sys.modules, "wandb", module)


@pytest.mark.usefixtures("wandb")
def test_with_wandb_there_are_a_table_and_a_chart() -> None:
    ev = evaluation()
    values = ev.to_wandb("val/")
    table, x, y, title = values.pop("val/precision_recall")
    of_cats = pytest.approx(25.5 / 101)
    assert values.pop("val/categories") == {"columns": ["category", "AP"], "data": [["cat", of_cats], ["dog", 0]]}
    assert values == ev.to_dict("val/")
    assert table == {"columns": ["recall", "precision"], "data": [[1 / 3, 1 / 3], [1 / 3, 1 / 2], [0, 0]]}
    assert (x, y, title) == ("recall", "precision", "All categories, IoU 0.5")


@pytest.mark.slow
@pytest.mark.usefixtures("wandb")
def test_a_chart_has_a_thousand_points_at_most() -> None:
    ev = apf.evaluate(ROOT / "data/street/instances.json", ROOT / "data/street/model_a.json", agnostic=True)
    assert ev.thresholds().height > 1000
    values = ev.to_wandb()
    table, *_ = values["precision_recall"]
    assert 500 <= len(table["data"]) <= 1000
    assert "categories" not in values  # which are pooled


@pytest.mark.slow
def test_the_real_loggers_take_all_of_it() -> None:
    ev = apf.evaluate(ROOT / "data/street/instances.json", ROOT / "data/street/model_a.json")
    written, kinds, logged, columns, n_categories = run_kit("training", SCRIPT, {"root": str(ROOT)})
    named = ev.by("name").filter(n_annotations=0).height
    counts = ev.thresholds(per_category=False).sort("score_threshold").row(0, named=True)
    for names, plugin, step, lowest, sums, ap50 in written:
        assert (plugin, step, names[0]) == ("pr_curves", 3, "val/precision_recall")
        assert len(names) == 1 + ev.dataset.categories.height - named
        assert lowest == pytest.approx([counts[name] if name else 0 for name in ("tp", "fp", "", "fn", "precision", "recall")])
        assert sums[0] + sums[3] == 127 * (counts["tp"] + counts["fn"])
        assert ap50 == pytest.approx(ev["AP50"])
    assert kinds == {"val/categories": "Table", "val/precision_recall": "CustomChart"}
    assert {"val/AP", "val/categories"} <= set(logged)
    assert (columns, n_categories) == (["category", "AP"], len(ev.to_dict(per_category=True)) - len(ev.to_dict()))
