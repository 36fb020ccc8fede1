"""How many data sets hypothesis makes for each test: APFRAME_EXAMPLES; 60 by default, a full run takes 1,000."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

EXAMPLES = int(os.environ.get("APFRAME_EXAMPLES", "60"))

settings.register_profile(
    "apframe",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 1000,  # small runs are the same each time, full runs look further
    print_blob=True,
    phases=set(Phase) - {Phase.explain},  # which takes as long again
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("apframe")
