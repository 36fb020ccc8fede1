"""Shards matched by executors: the numbers of the whole, whatever happens to workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, SecondPassWarning, ShardError, ShardsLeftOutWarning
from apframe.scale import job
from apframe.scale.job import Job
from apframe.scale.shards import Shard
from tests.parity.strategies import Case, cases_with_attributes, half_as_often
from tests.scale.cutting import cut

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
CAT = {"id": 1, "name": "cat"}
N = 4


def few(tmp_path: Path) -> Path:
    """Four shards of an image each, with two equal objects, of which one is found."""
    truth: dict[str, Any] = {"images": [{"id": k} for k in range(N)], "categories": [CAT]}
    truth["annotations"] = [
        {"id": k, "image_id": k // 2, "category_id": 1, "bbox": [20 * (k % 2), 0, 9, 9]} for k in range(2 * N)
    ]
    detections = [{"image_id": k, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for k in range(N)]
    return cut(truth, detections, list(range(N)), tmp_path / "shards")


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.mark.slow
@half_as_often
@given(case=cases_with_attributes(), protocol=st.sampled_from(["coco", "voc2007", "proposals"]), data=st.data())
def test_threads_of_an_executor_change_nothing(case: Case, protocol: str, data: st.DataObject) -> None:
    with ThreadPoolExecutor(2) as executor:
        same_as_whole(case, protocol, data, executor)


@pytest.mark.slow
def test_processes_change_nothing(processes: ProcessPoolExecutor) -> None:
    @half_as_often
    @given(case=cases_with_attributes(), protocol=st.sampled_from(["coco", "voc2007", "proposals"]), data=st.data())
    def check(case: Case, protocol: str, data: st.DataObject) -> None:
        same_as_whole(case, protocol, data, processes)

    check()


def same_as_whole(case: Case, protocol: str, data: st.DataObject, executor: Executor) -> None:
    n = len(case.truth["images"])
    shard_of = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    whole = apf.evaluate(case.truth, case.results, protocol)
    with tempfile.TemporaryDirectory() as folder:
        shards = cut(case.truth, case.results, shard_of, Path(folder) / "shards")
        parts = apf.evaluate_shards(shards, None, protocol, executor=executor)
        for table in ("metrics", "summary"):
            mine, theirs = (getattr(each, table) for each in (parts, whole))
            assert_frame_equal(mine, theirs, check_exact=False, rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(parts.by("weather"), whole.by("weather"), check_exact=False, rel_tol=0, abs_tol=1e-12)


class Dying(Executor):
    """Does the work at once, but for some shards, in place of which the worker dies; `n_made` counts these executors."""

    n_made = 0

    def __init__(self, *names: str) -> None:
        type(self).n_made += 1
        self._names, self._is_broken = names, False
        self.is_on_this_machine = True

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        shard: Shard = arguments[0]
        if self._is_broken:
            raise BrokenExecutor("a worker died before")
        done = Future[Any]()
        if shard.name in self._names:
            self._is_broken = True
            done.set_exception(BrokenExecutor("a worker died"))
        else:
            done.set_result(function(*arguments, **options))
        return done


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the shards that are matched, one after the other."""
    names: list[str] = []
    match = Job.match
    monkeypatch.setattr(Job, "match", lambda self, shard: names.append(shard.name) or match(self, shard))
    return names


@pytest.mark.slow
@pytest.mark.parametrize("is_kept", [True, False])
def test_shards_of_a_dead_worker_are_submitted_once_more(tmp_path: Path, matched: list[str], is_kept: bool) -> None:
    shards, makers = few(tmp_path), iter([Dying("00001"), Dying()])
    work = tmp_path / "work" if is_kept else None
    evaluation = apf.evaluate_shards(shards, executor=lambda: next(makers), work=work)
    assert matched == ["00000", "00001", "00002", "00003"]  # each once
    assert_frame_equal(evaluation.metrics, apf.evaluate_shards(shards).metrics)


@pytest.mark.slow
def test_workers_that_die_again_name_the_shards(tmp_path: Path, matched: list[str]) -> None:
    shards, Dying.n_made = few(tmp_path), 0
    missing = r"^workers died before they had matched 3 shards: '00001', '00002', '00003'; "
    with pytest.raises(ShardError, match=f"{missing}repeat the call to resume from here; did they run out of memory") as caught:
        apf.evaluate_shards(shards, executor=lambda: Dying("00001"), work=tmp_path / "work")
    assert caught.value.shard == "00001" and Dying.n_made == 2
    with pytest.raises(ShardError, match=f"{missing}name a folder with work= to resume from here"):
        apf.evaluate_shards(shards, executor=Dying("00001"))
    assert Dying.n_made == 3  # one that was given is not made anew
    del matched[:]
    evaluation = apf.evaluate_shards(shards, work=tmp_path / "work")
    assert sorted(matched) == ["00001", "00002", "00003"]
    assert_frame_equal(evaluation.metrics, apf.evaluate_shards(shards).metrics)


def test_dead_workers_are_no_damaged_shards(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="workers died"):
        apf.evaluate_shards(few(tmp_path), executor=Dying("00001"), skip_bad_shards=True)


def killed_once(marker: Path, table: Any, path: Path) -> None:
    """Kill this process, once, in place of writing a file; only the first of several workers does."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        write(table, path)
        return
    os.kill(os.getpid(), signal.SIGKILL)


write = job.write_verdicts


def dangerous(marker: Path) -> None:
    job.write_verdicts = partial(killed_once, marker)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_killed_process_changes_nothing(tmp_path: Path, is_kept: bool) -> None:
    shards, marker = few(tmp_path), tmp_path / "killed"

    def executor() -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(2, context, initializer=dangerous, initargs=(marker,))

    evaluation = apf.evaluate_shards(shards, executor=executor, work=tmp_path / "work" if is_kept else None)
    assert marker.exists()
    assert_frame_equal(evaluation.metrics, apf.evaluate_shards(shards).metrics)
    if is_kept:
        assert len(list((tmp_path / "work").iterdir())) == N


@pytest.mark.slow
def test_a_damaged_shard_ends_the_work_or_is_left_out(tmp_path: Path, matched: list[str]) -> None:
    shards = few(tmp_path)
    (shards / "00001" / "detections.parquet").write_bytes(b"PAR1")
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ShardError, match=r"^shard 00001: .*00001/detections.parquet: cannot be read"):
            apf.evaluate_shards(shards, executor=executor)
        with pytest.warns(ShardsLeftOutWarning, match="1 damaged shard of 4: '00001'"):
            evaluation = apf.evaluate_shards(shards, executor=executor, skip_bad_shards=True)
    assert evaluation.metrics["n_positives"][0] == 6 and set(matched) <= {f"0000{k}" for k in range(N)}


def test_workers_elsewhere_need_a_folder(tmp_path: Path) -> None:
    executor = Dying()
    executor.is_on_this_machine = False
    with pytest.raises(ParameterError, match=r"^work is needed: workers of Dying may be on other machines; name a folder that"):
        apf.evaluate_shards(few(tmp_path), executor=executor)
    with pytest.raises(ParameterError, match=r'^executor: cannot be combined with engine="ray"; leave one out$'):
        apf.evaluate_shards(tmp_path / "shards", executor=executor, engine="ray")


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (4, "executor is not an executor: 4; pass an object with the interface"),
        (lambda: 5, "executor is not an executor: 5; pass an object with the interface"),
        (
            lambda: ProcessPoolExecutor(2, multiprocessing.get_context("fork")),
            "executor: forks processes, which hang once Polars has run; give it mp_context=",
        ),
    ],
)
def test_what_cannot_match_shards_is_refused(tmp_path: Path, executor: Any, message: str) -> None:
    if os.name != "posix" and "forks" in message:
        pytest.skip("there is no fork")
    with pytest.raises(ParameterError, match=f"^{message}"):
        apf.evaluate_shards(few(tmp_path), executor=executor)


def test_an_executor_that_is_shut_down_is_refused(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(
        ParameterError, match=r"^executor accepts no work \(cannot schedule new futures after shutdown\); pass one"
    ):
        apf.evaluate_shards(few(tmp_path), executor=executor)


@pytest.mark.slow
def test_a_function_that_cannot_be_sent_is_named(tmp_path: Path, processes: ProcessPoolExecutor) -> None:
    shards = few(tmp_path)
    with pytest.raises(
        ParameterError, match=r"^executor: cannot be sent to workers \(.*pickle.*\); functions of your own must"
    ):
        apf.evaluate_shards(shards, executor=processes, similarity=lambda pairs: pairs["x"] * 0.0)


@pytest.mark.slow
def test_a_similarity_of_ones_own_is_not_resumed(tmp_path: Path) -> None:
    shards, work = few(tmp_path), tmp_path / "work"

    def same(pairs: pl.DataFrame) -> Any:
        return (pairs["x"] == pairs["x_right"]).cast(pl.Float64)

    with ThreadPoolExecutor(2) as executor:
        for n in (N, 2 * N):  # each call has files of its own
            evaluation = apf.evaluate_shards(shards, executor=executor, work=work, similarity=same)
            assert len(list(work.iterdir())) == n
    assert_frame_equal(evaluation.metrics, apf.evaluate_shards(shards, similarity=same).metrics)


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("categories", [np.array([1]), [np.int64(1)], {1}, pl.Series([1]), ["cat"]])
def test_options_of_any_kind_name_files(tmp_path: Path, categories: Any) -> None:
    shards, work = few(tmp_path), tmp_path / "work"
    for _ in range(2):
        apf.evaluate_shards(shards, work=work, categories=categories)
        assert len(list(work.iterdir())) == N


@pytest.mark.slow
def test_a_mistake_in_this_process_is_no_worker_s(tmp_path: Path) -> None:
    def lacking(pairs: pl.DataFrame) -> Any:
        del pairs
        raise ModuleNotFoundError("No module named 'shapely'", name="shapely")

    with pytest.raises(ModuleNotFoundError, match="shapely"):
        apf.evaluate_shards(few(tmp_path), similarity=lacking)


@pytest.mark.slow
def test_verdicts_that_are_not_there(tmp_path: Path) -> None:
    evaluation = apf.evaluate_shards(few(tmp_path), work=tmp_path / "work")
    shutil.rmtree(tmp_path / "work")
    with pytest.raises(
        FormatError, match=r"the verdicts of a shard are missing; work= must be a folder that all workers share"
    ):
        _ = evaluation.metrics


@pytest.mark.slow
def test_threads_may_ask_for_tables_of_objects_at_once(tmp_path: Path) -> None:
    """Of files whose ids repeat, and are numbered anew."""
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    for k in range(8):
        truth = {"images": [{"id": k}], "categories": [CAT], "annotations": [{"id": 1, "image_id": k} | box]}
        (tmp_path / f"gt{k}.json").write_text(json.dumps(truth))
        (tmp_path / f"dt{k}.json").write_text(json.dumps([{"image_id": k, "score": 0.5} | box] * 2))
    for _ in range(3):
        evaluation = apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.json")
        query = "select sum(detection_id)::int, count(distinct detection_id) from detections"
        with warnings.catch_warnings(), ThreadPoolExecutor(4) as others:
            warnings.simplefilter("ignore")
            pairs = [others.submit(getattr, evaluation, "pairs") for _ in range(2)]
            sums = [others.submit(evaluation.sql, query) for _ in range(2)]
            assert [each.result().rows() for each in sums] == [[(136, 16)]] * 2
            assert all(each.result().height == 16 for each in pairs)


@pytest.mark.slow
def test_slices_by_a_column_of_several_types(tmp_path: Path) -> None:
    """0 in one file and 0.5 in another: each has the type that JSON gives it."""
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    both: list[dict[str, Any]] = []
    for k, values in enumerate([(0, 1), (0.5, 0.25)]):
        rows = [{"id": 2 * k + n, "image_id": k, "occ": value} | box for n, value in enumerate(values)]
        truth = {"images": [{"id": k}], "categories": [CAT], "annotations": rows}
        detections = [{"image_id": k, "score": 0.5} | box]
        both += [{"truth": truth, "found": detections}]
        (tmp_path / f"gt{k}.json").write_text(json.dumps(truth))
        (tmp_path / f"dt{k}.json").write_text(json.dumps(detections))
    merged = {name: [row for each in both for row in each["truth"][name]] for name in ("images", "annotations")}
    whole = apf.evaluate(merged | {"categories": [CAT]}, [row for each in both for row in each["found"]])
    parts = apf.evaluate_shards(tmp_path / "gt*.json", tmp_path / "dt*.json")
    key = apf.bins("occ", [0, 0.3, 2])
    with pytest.warns(SecondPassWarning) as caught:
        assert_frame_equal(parts.by(key), whole.by(key))
        assert_frame_equal(parts.where("occ < 0.3").metrics, whole.where("occ < 0.3").metrics)
    assert {each.filename for each in caught} == {__file__}


@pytest.mark.slow
def test_parts_are_matched_after_the_executor_is_shut_down(tmp_path: Path) -> None:
    shards = few(tmp_path)
    with ThreadPoolExecutor(2) as executor:
        evaluation = apf.evaluate_shards(shards, executor=executor)
    with pytest.warns(SecondPassWarning):
        part = evaluation.where(pl.col("score") > 0.1)
    assert part.metrics.height == evaluation.metrics.height
