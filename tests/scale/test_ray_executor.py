"""Shards on Ray give the numbers of this process, whatever happens to workers. One Ray with two workers for the module."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError, SecondPassWarning, ShardError, ShardsLeftOutWarning
from apframe.scale.ray_executor import RayExecutor, running_ray
from apframe.threads import alone, threads
from tests.parity.families import FAMILIES, Scene, scenes
from tests.parity.strategies import half_as_often
from tests.scale.cutting import cut

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # the files and processes of Ray itself
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"),
]
STREET = Path(__file__).parents[2] / "data" / "street"
N_SHARDS = 5
CAT = {"id": 1, "name": "cat"}


@pytest.fixture(scope="module")
def ray(s3_port: int) -> Iterator[Any]:
    """Ray with two workers, which find the local object store."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
            patch.setenv(name, "0")
        for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3_port}")
        quietly = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
        ray.init("local", num_cpus=2, object_store_memory=200_000_000, **quietly)  # not a share of what others leave
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The street set, its images dealt out to the shards."""
    folder = tmp_path_factory.mktemp("ray") / "shards"
    return cut(STREET / "instances.json", STREET / "model_a.json", [k % N_SHARDS for k in range(300)], folder)


def few(tmp_path: Path) -> Path:
    """Three shards of an image each, with two equal objects, of which one is found."""
    truth: dict[str, Any] = {"images": [{"id": k} for k in range(3)], "categories": [CAT]}
    truth["annotations"] = [{"id": k, "image_id": k // 2, "category_id": 1, "bbox": [20 * (k % 2), 0, 9, 9]} for k in range(6)]
    detections = [{"image_id": k, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for k in range(3)]
    return cut(truth, detections, [0, 1, 2], tmp_path / "shards")


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("protocol", ["coco", "voc2012"])
def test_ray_gives_the_numbers_of_this_process(shards: Path, protocol: str) -> None:
    local, on_ray = (apf.evaluate_shards(shards, protocol=protocol, engine=engine) for engine in ("local", "ray"))
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json", protocol=protocol)
    for other in (local, whole):
        assert_frame_equal(on_ray.metrics, other.metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(on_ray.summary, other.summary, check_exact=False, rel_tol=0, abs_tol=1e-12)
        slices = [ev.by("weather", "supercategory") for ev in (on_ray, other)]
        assert_frame_equal(*slices, check_exact=False, rel_tol=0, abs_tol=1e-12)
    sunny = [ev.where(pl.col("weather") == "clear", pl.col("supercategory") == "vehicle") for ev in (on_ray, whole)]
    assert_frame_equal(sunny[0].metrics, sunny[1].metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)


@pytest.mark.usefixtures("ray")
def test_objects_are_read_again_here_and_matched_again_on_ray(shards: Path) -> None:
    local, on_ray = (apf.evaluate_shards(shards, engine=engine) for engine in ("local", "ray"))
    with pytest.warns(SecondPassWarning, match="the objects of 5 shards are read again"):
        assert_frame_equal(on_ray.matches(), local.matches())
    with pytest.warns(SecondPassWarning, match="the objects of 5 shards are read again"):
        assert_frame_equal(on_ray.by(apf.bins("occlusion", [0, 0.5, 1])), local.by(apf.bins("occlusion", [0, 0.5, 1])))


@pytest.mark.usefixtures("ray")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NothingMatchesWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_gives_the_numbers_of_the_whole(family: str) -> None:
    @half_as_often
    @given(scenes(family), st.lists(st.integers(0, 2), min_size=3, max_size=3))
    def check(scene: Scene, shard_of: list[int]) -> None:
        whole = scene.evaluate()
        with tempfile.TemporaryDirectory() as folder:
            shards = cut(scene.truth, scene.results, shard_of, Path(folder) / "shards")
            parts = apf.evaluate_shards(shards, protocol=scene.protocol, engine="ray", **scene.options)
            assert_frame_equal(parts.metrics, whole.metrics, check_exact=False, rel_tol=0, abs_tol=1e-12)
            assert_frame_equal(parts.summary, whole.summary, check_exact=False, rel_tol=0, abs_tol=1e-12)

    check()


@pytest.mark.usefixtures("ray")
def test_arrays(shards: Path) -> None:
    whole, on_ray = apf.evaluate(STREET / "instances.json", STREET / "model_a.json"), apf.evaluate_shards(shards, engine="ray")
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(on_ray.arrays()[name], array)


@pytest.mark.usefixtures("ray")
def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def nearness(pairs: pl.DataFrame) -> Any:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return (pairs["x"] == pairs["x_right"]).cast(pl.Float64)

    shards = few(tmp_path)
    on_ray = apf.evaluate_shards(shards, engine="ray", similarity=nearness)
    assert marker.exists()
    assert_frame_equal(on_ray.metrics, apf.evaluate_shards(shards, similarity=nearness).metrics)
    assert on_ray.metrics["recall"].to_list()[0] == 0.5


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("skip_bad_shards", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_worker_that_dies_three_times_names_the_shard(tmp_path: Path, skip_bad_shards: bool) -> None:
    attempts = tmp_path / "attempts"

    def nearness(pairs: pl.DataFrame) -> Any:
        if pairs["score"][0] == 0.25:
            with attempts.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return (pairs["x"] == pairs["x_right"]).cast(pl.Float64)

    shards = few(tmp_path)
    path = shards / "00001" / "detections.parquet"
    pl.read_parquet(path).with_columns(score=0.25).write_parquet(path)
    options: dict[str, Any] = {"engine": "ray", "similarity": nearness}
    if skip_bad_shards:
        with pytest.warns(ShardsLeftOutWarning, match=r"1 damaged shard of 3: '00001'"):
            assert apf.evaluate_shards(shards, skip_bad_shards=True, **options).metrics["n_positives"][0] == 4
    else:
        died = r"^shard 00001: its Ray worker died 3 times \(.*\); did it run out of memory\?"
        with pytest.raises(ShardError, match=died) as caught:
            apf.evaluate_shards(shards, **options)
        assert caught.value.shard == "00001"
    assert attempts.read_text() == "xxx"


@pytest.mark.usefixtures("ray")
def test_damaged_shards_are_named_or_left_out_as_in_this_process(tmp_path: Path) -> None:
    shards = few(tmp_path)
    (shards / "00001" / "detections.parquet").write_bytes(b"PAR1")
    outcomes = []
    for engine in ("local", "ray"):
        with pytest.raises(ShardError, match=r"^shard 00001: .*00001/detections.parquet: cannot be read") as caught:
            apf.evaluate_shards(shards, engine=engine)
        with pytest.warns(ShardsLeftOutWarning) as warned:
            ev = apf.evaluate_shards(shards, engine=engine, skip_bad_shards=True)
        outcomes.append((str(caught.value), caught.value.shard, [str(each.message) for each in warned], str(ev)))
    assert outcomes[0] == outcomes[1]
    assert "in run" in str(caught.value.__cause__)  # the traceback of the worker


@pytest.mark.usefixtures("ray")
def test_work_is_kept_and_used_by_either_engine(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shards.parent)
    first = apf.evaluate_shards("shards", engine="ray", work=tmp_path / "a" / "work")
    files = sorted((tmp_path / "a" / "work").iterdir())
    times = [path.stat().st_mtime_ns for path in files]
    assert len(files) == N_SHARDS
    files[2].unlink()
    again = apf.evaluate_shards("shards", engine="ray", work=tmp_path / "a" / "work")
    local = apf.evaluate_shards(shards, work=tmp_path / "a" / "work")
    assert sorted((tmp_path / "a" / "work").iterdir()) == files
    assert [k for k in range(N_SHARDS) if files[k].stat().st_mtime_ns != times[k]] == [2]
    assert first.metrics.equals(again.metrics) and first.metrics.equals(local.metrics)


@pytest.mark.usefixtures("ray")
def test_shards_in_an_object_store(tmp_path: Path, s3: Any) -> None:
    shards = few(tmp_path)
    s3.put(str(shards), "shards/few", recursive=True)
    local = apf.evaluate_shards(shards).metrics
    for address, engine in (("s3://shards/few", "local"), ("s3://shards/few/*", "ray")):
        assert apf.evaluate_shards(address, engine=engine).metrics.equals(local)


@pytest.mark.usefixtures("ray")
def test_a_task_has_one_thread() -> None:
    with RayExecutor() as executor:
        assert executor.submit(_used).result() == (1, 1)
    assert threads() == apf.threads.threads()


def _used() -> tuple[int, int]:
    with alone():
        return pl.thread_pool_size(), threads()


@pytest.mark.usefixtures("ray")
def test_an_error_is_that_of_the_work() -> None:
    with RayExecutor() as executor:
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
        assert list(executor.map(abs, [-1, 2])) == [1, 2]


@pytest.mark.usefixtures("ray")
def test_what_differs_on_the_nodes_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = few(tmp_path)
    monkeypatch.setattr("apframe.scale.job.own_version", lambda: "0.0.1")
    with pytest.raises(ParameterError, match=r"a worker has apframe .*, but this process has 0.0.1; install the same version"):
        apf.evaluate_shards(shards, engine="ray")

    def lacking(pairs: pl.DataFrame) -> Any:
        del pairs
        raise ModuleNotFoundError("No module named 'shapely'", name="shapely")

    monkeypatch.undo()
    with pytest.raises(ParameterError, match=r"^a worker cannot import shapely; install the same packages everywhere$"):
        apf.evaluate_shards(shards, engine="ray", similarity=lacking)


@pytest.mark.usefixtures("ray")
def test_another_machine_needs_a_folder_that_all_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = few(tmp_path)
    monkeypatch.setattr(RayExecutor, "is_on_this_machine", False)
    with pytest.raises(
        ParameterError, match=r"^work is needed: workers of RayExecutor may be on other machines; name a folder"
    ):
        apf.evaluate_shards(shards, engine="ray")
    assert apf.evaluate_shards(shards, engine="ray", work=tmp_path / "work").metrics.height


@pytest.mark.usefixtures("ray")
def test_pickle_has_the_verdicts_themselves(tmp_path: Path) -> None:
    ev = apf.evaluate_shards(few(tmp_path), engine="ray", work=tmp_path / "work")
    stored = pickle.dumps(ev)
    shutil.rmtree(tmp_path / "work")
    assert_frame_equal(pickle.loads(stored).metrics, apf.evaluate_shards(tmp_path / "shards").metrics)


@pytest.mark.parametrize("address", [None, "10.0.0.1:6379"])
def test_ray_is_started_where_it_does_not_run(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    calls: list[tuple[Any, ...]] = []
    fake = SimpleNamespace(is_initialized=lambda: False, init=lambda *given, **options: calls.append((given, options)))
    monkeypatch.setitem(sys.modules, "ray", fake)
    for name in ("RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.delenv(name, raising=False)
    if address:
        monkeypatch.setenv("RAY_ADDRESS", address)
    assert running_ray() is fake
    quietly = {"log_to_driver": False, "logging_level": logging.ERROR}
    local = (("local",), {"num_cpus": threads(), "include_dashboard": False} | quietly)
    assert calls == [((), quietly) if address else local]
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    fake.is_initialized = lambda: True
    assert running_ray() is fake and len(calls) == 1


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r'^engine="ray" needs Ray: pip install ray, or the extra "ray"'):
        apf.evaluate_shards(few(tmp_path), engine="ray")
