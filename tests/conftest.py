"""How many data sets hypothesis makes for each test (APFRAME_EXAMPLES), and whether they are new ones (APFRAME_NEW_EXAMPLES).

They are the same in every run unless new ones are asked for, so that no run fails by chance; `make test-full` looks further.
Of the cases of each slow test, one in APFRAME_SHARE is run; all of those of the documentation, and of tests that are marked
`slow(every=True)`, as each case reaches code of its own.
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, Phase, settings

from tests.disks import small_disk as small_disk
from tests.share import share

settings.register_profile(
    "apframe",
    max_examples=int(os.environ.get("APFRAME_EXAMPLES", "20")),
    deadline=None,
    derandomize="APFRAME_NEW_EXAMPLES" not in os.environ,
    print_blob=True,
    phases=set(Phase) - {Phase.explain},  # which takes as long again
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("apframe")
# otherwise Ray kills workers when other processes use up the memory, and stores nothing when the disk is nearly full
os.environ |= {"RAY_memory_monitor_refresh_ms": "0", "RAY_local_fs_capacity_threshold": "1"}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Modules of tests have no doctests, and looking for them takes time."""
    return [each for each in (yield) if not (isinstance(each, DoctestModule) and file_path.name.startswith("test_"))]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a share of the cases of each slow test, the same in every run; each test begins with another one of its cases.

    Comparisons with references and properties on generated data sets are slow tests of which every case is run.
    """
    cases, kept = defaultdict(list), set()
    for item in items:
        if {"parity", "properties"} & {*item.path.parts}:
            item.add_marker(pytest.mark.slow(every=True), append=False)
        slow = item.get_closest_marker("slow")
        if slow and not slow.kwargs.get("every") and "docs" not in item.path.parts:
            cases[item.nodeid.partition("[")[0]].append(item)
        else:
            kept.add(item)
    kept.update(item for test, of_test in cases.items() for item in share(of_test, test))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection() -> None:
    """Thousands of tests are not garbage: looking through them again and again takes time."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()
