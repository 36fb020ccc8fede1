"""How many data sets hypothesis makes for each test (APFRAME_EXAMPLES), and whether they are new ones (APFRAME_NEW_EXAMPLES).

They are the same in every run unless new ones are asked for, so that no run fails by chance; `make test-full` looks further.
"""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, Phase, settings

from tests.disks import small_disk as small_disk

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


def pytest_collection_finish() -> None:
    """Thousands of tests are not garbage: looking through them again and again takes time."""
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()
