"""How many threads there are: what users choose, and what they cannot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import apframe as apf
from apframe.collecting import collecting
from apframe.exceptions import ParameterError, UnitWarning, warn
from apframe.threads import alone, map_lazily, pool, threads


@pytest.fixture(autouse=True)
def default_afterwards() -> Iterator[None]:
    yield
    apf.set_threads(None)


@pytest.mark.parametrize("n", [0, -1, 1.5, 2.0, "2", True, float("nan")])
def test_threads_are_a_whole_number(n: Any) -> None:
    with pytest.raises(ParameterError, match="whole number of at least 1"):
        apf.set_threads(n)


@pytest.mark.parametrize("given", ["many", "0", "-2", "1.5", "²"])
def test_the_variable_is_a_whole_number(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APFRAME_THREADS", given)
    with pytest.raises(ParameterError, match=f"APFRAME_THREADS={given}: .* unset it"):
        threads()


def test_what_is_set_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    default = threads()
    monkeypatch.setenv("APFRAME_THREADS", " 3 ")
    assert threads() == 3
    apf.set_threads(5)
    assert threads() == 5
    apf.set_threads(None)
    monkeypatch.setenv("APFRAME_THREADS", "")
    assert threads() == default


def test_one_thread_is_none() -> None:
    apf.set_threads(1)
    with pool() as others:
        assert others.submit(threading.get_ident).result() == threading.get_ident()
        assert list(others.map(abs, [-1, 2])) == [1, 2]
        failed = others.submit(int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result()
    apf.set_threads(2)
    with pool() as others:
        assert others.submit(threading.get_ident).result() != threading.get_ident()


def test_ctrl_c_stops_work_that_is_done_in_place() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        raise KeyboardInterrupt

    apf.set_threads(1)
    with pool() as others, pytest.raises(KeyboardInterrupt):
        others.map(work, [1, 2, 3])
    assert begun == [1]


def test_work_has_the_context_of_whoever_gives_it() -> None:
    apf.set_threads(2)
    with collecting() as found, pool() as others:
        others.submit(warn, "angles look like degrees", UnitWarning).result()
        with alone():
            assert others.submit(threads).result() == 1
        assert others.submit(threads).result() == 2
    assert found == [("UnitWarning", "angles look like degrees")]


def test_what_has_not_begun_is_not_done_after_an_error() -> None:
    apf.set_threads(2)
    begun: list[int] = []
    goes_on = threading.Event()

    def work(number: int) -> int:
        begun.append(number)
        goes_on.wait(10)
        return 1 // number

    with pool() as others:
        outcomes = map_lazily(others, work, range(100))
        threading.Timer(0.05, goes_on.set).start()
        with pytest.raises(ZeroDivisionError):
            next(outcomes)
    assert len(begun) < 6
