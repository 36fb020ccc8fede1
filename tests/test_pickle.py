"""What people send between processes can be pickled, and says the same on the other side."""

from __future__ import annotations

import copy
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf

STREET = Path(__file__).resolve().parents[1] / "data" / "street"
TRUTH, RESULTS = STREET / "instances.json", STREET / "model_a.json"
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d3": 2}}
RUN = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d1": 0.7, "d3": 0.6}}


def evaluated(folder: Path) -> dict[str, Any]:
    """One of each, by what it is."""
    whole = apf.evaluate(TRUTH, RESULTS)
    whole.write_parquet(folder / "run")
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(RESULTS)
    return {
        "evaluation": apf.evaluate(TRUTH, RESULTS),
        "subset": whole.where(pl.col("weather") == "fog"),
        "stored": apf.read_evaluation(folder / "run"),
        "evaluator": evaluator,
        "retrieval": apf.evaluate_run(QRELS, {"a": RUN, "b": RUN}, "AP nDCG@10"),
        "runs": apf.scan_runs(folder / "run"),
    }


def tables(result: Any) -> list[pl.DataFrame]:
    """What a result says: its numbers, and for an evaluation its slices, its pairs and its inputs."""
    if isinstance(result, apf.Evaluator):
        return [result.state(), *tables(result.compute())]
    if isinstance(result, apf.Evaluation):
        inputs = [result.detections, result.dataset.images, result.dataset.annotations]
        return [result.summary, result.metrics, result.by("weather"), result.pairs, result.sql("FROM summary"), *inputs]
    return [result.per_query, result.summary] if isinstance(result, apf.RunEvaluation) else [result.leaderboard()]


def answer(results: dict[str, Any]) -> tuple[dict[str, list[pl.DataFrame]], dict[str, Any]]:
    """What a worker process makes of them, and the results themselves, sent back."""
    return {name: tables(result) for name, result in results.items()}, results


def assert_same(mine: list[pl.DataFrame], theirs: list[pl.DataFrame]) -> None:
    for one, other in zip(mine, theirs, strict=True):
        assert_frame_equal(one, other, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_results_cross_processes(method: str, tmp_path: Path) -> None:
    results = evaluated(tmp_path)
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as processes:
        answers, sent_back = processes.submit(answer, results).result()
    for name, result in results.items():
        expected = tables(result)
        assert_same(answers[name], expected)
        assert_same(tables(sent_back[name]), expected)


@pytest.mark.slow
def test_copies_say_the_same(tmp_path: Path) -> None:
    for result in evaluated(tmp_path).values():
        assert_same(tables(copy.copy(result)), tables(result))
        assert_same(tables(copy.deepcopy(result)), tables(result))


@pytest.mark.slow
def test_a_pickle_of_a_stored_set_does_without_its_folder(tmp_path: Path) -> None:
    results = evaluated(tmp_path)
    sent = pickle.dumps(results["stored"])
    shutil.rmtree(tmp_path / "run")
    assert_same(tables(pickle.loads(sent)), tables(results["evaluation"]))


@pytest.mark.slow
def test_what_is_known_of_the_metrics_is_not_computed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = evaluated(tmp_path)
    metrics = results["evaluation"].metrics
    sent = [pickle.dumps(results[name]) for name in ("evaluation", "stored")]
    monkeypatch.setattr(apf.Evaluation, "_pipeline", property(lambda _: pytest.fail("computed again")))
    for one in sent:
        assert_frame_equal(pickle.loads(one).metrics, metrics)
