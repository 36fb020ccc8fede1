"""What evaluations are called: by themselves, beside others, after storing and pickling."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.evaluate import path_of_results
from apframe.exceptions import ParameterError

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TRUTH = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}  # fmt: skip
FOUND = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("model_a.json", "one/best.json", "two/best.json", "v1.2.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(STREET / "model_a.json", tmp_path / name)
    return tmp_path


def of(path: Path, **options: Any) -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", path, **options)


@pytest.mark.parametrize(("path", "name"), [
    ("model_a.json", "model_a"), ("v1.2.json", "v1.2"), ("one/best.json", "best"), ("two/../model_a.json", "model_a"),
])  # fmt: skip
def test_the_name_of_a_file(files: Path, path: str, name: str) -> None:
    assert of(files / path).name == name
    assert repr(of(files / path)).startswith(f"Evaluation({name}: Dataset(300 images, ")


def test_the_name_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "labels.v2").mkdir()
    assert Path(str(path_of_results(tmp_path / "labels.v2"))).name == "labels.v2"


def test_what_gives_no_name(tmp_path: Path) -> None:
    for results in ("/dev/stdin", str(tmp_path / "*.json"), tmp_path / "not\udcfftext.json", [], None):
        assert path_of_results(results) is None


@pytest.mark.slow
def test_names_that_are_given(files: Path) -> None:
    named = of(files / "model_a.json", name="tuned")
    assert named.name == "tuned"
    evaluator = apf.Evaluator(TRUTH, name="tuned")
    evaluator.update(FOUND)
    assert evaluator.compute().name == "tuned"
    assert apf.evaluate(TRUTH, FOUND).name is None
    assert repr(apf.evaluate(TRUTH, FOUND)).startswith("Evaluation(Dataset(1 image,")
    assert apf.evaluate(TRUTH, FOUND, name="tuned", invalid="drop").name == "tuned"
    with pytest.raises(ParameterError, match=r"^name must be a non-empty text, not ''$"):
        apf.evaluate(TRUTH, FOUND, name="")


@pytest.mark.slow
def test_names_last(files: Path, tmp_path: Path) -> None:
    """In subsets, pickles and stored sets; a stored set without a name is called as its folder."""
    for evaluation, name in ((of(files / "model_a.json"), "model_a"), (of(files / "model_a.json", name="tuned"), "tuned")):
        assert evaluation.where("weather = 'fog'").name == name
        assert pickle.loads(pickle.dumps(evaluation)).name == name
    of(files / "model_a.json").write_parquet(tmp_path / "run")
    assert apf.read_evaluation(tmp_path / "run").name == "run"
    of(files / "model_a.json", name="tuned").write_parquet(tmp_path / "run")
    assert apf.read_evaluation(tmp_path / "run").name == "tuned"
    assert apf.scan_runs(tmp_path / "run").runs["name"].to_list() == ["tuned"]
    of(files / "model_a.json", name="tuned").write_parquet(tmp_path / "run", name="best")
    assert apf.scan_runs(tmp_path / "run").evaluation("run").name == "best"


@pytest.mark.slow
def test_names_beside_each_other(files: Path) -> None:
    a, one, two = (of(files / path) for path in ("model_a.json", "one/best.json", "two/best.json"))
    assert names_beside([a, one]) == ["model_a", "best"]
    assert names_beside([a, one, two]) == ["model_a", "one/best", "two/best"]
    assert names_beside([one, one, two]) == ["one/best", "one/best (2)", "two/best"]
    assert names_beside([one, of(files / "two/best.json", name="best")]) == ["best", "best (2)"]
    unnamed = apf.evaluate(TRUTH, FOUND)
    assert names_beside([unnamed, a, unnamed]) == ["a", "model_a", "c"]
    assert names_beside([unnamed] * 28)[-3:] == ["z", "model 27", "model 28"]


@pytest.mark.parametrize(("names", "message"), [
    (["old"], "names has 1 name for 2 evaluations"),
    (["old", "old"], "names has 'old' twice; give each evaluation a name of its own"),
    (["old", ""], "names is a list of texts, one for each evaluation, not ['old', '']"),
    ("ab", "names is a list of texts, one for each evaluation, not 'ab'"),
    (2, "names is a list of texts, one for each evaluation, not 2"),
])  # fmt: skip
def test_names_that_cannot_be(names: Any, message: str) -> None:
    evaluation = apf.evaluate(TRUTH, FOUND)
    with pytest.raises(ParameterError) as caught:
        names_beside([evaluation, evaluation], names)
    assert str(caught.value) == message
