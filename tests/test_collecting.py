"""Warnings are collected in the thread that asks for it, and nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apframe.collecting import collecting
from apframe.exceptions import UnitWarning, warn


def test_other_threads_still_warn() -> None:
    with ThreadPoolExecutor(1) as other, collecting() as found, pytest.warns(UnitWarning, match="there"):
        warn("here", UnitWarning)
        other.submit(warn, "there", UnitWarning).result()
    assert found == [("UnitWarning", "here")]


def test_the_inner_one_collects() -> None:
    with collecting() as outer:
        with collecting() as inner:
            warn("a", UnitWarning)
        warn("b", UnitWarning)
    assert [message for _, message in inner + outer] == ["a", "b"]
