"""Writers that are killed: what they were writing is complete or not there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import apframe as apf

STREET = Path(__file__).resolve().parents[2] / "data" / "street"

# says "ready" when all is computed, and writes
WRITER = f"""
import sys
import apframe as apf
truth, found, path = {str(STREET / "instances.json")!r}, {str(STREET / "model_a.json")!r}, sys.argv[2]
evaluation = apf.evaluate(truth, found)
evaluation.summary
writes = {{
    "parquet": lambda at: evaluation.write_parquet(at),
    "coco": lambda at: apf.write_coco(evaluation.dataset, at),
    "dataset": lambda at: apf.write_dataset(evaluation.dataset, at, "voc"),
}}
print("ready", flush=True)
writes[sys.argv[1]](path)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "coco", "dataset"])
def test_what_a_killed_writer_wrote_is_complete_or_not_there(kind: str, tmp_path: Path) -> None:
    target = tmp_path / {"parquet": "run", "coco": "truth.json", "dataset": "voc"}[kind]
    moments = random.Random(kind)
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WRITER, kind, str(target)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
            time.sleep(moments.uniform(0, 0.2))
            writer.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        if target.exists():
            read = apf.read_evaluation(target).dataset if kind == "parquet" else apf.read_dataset(target)
            assert read.annotations.height == 2400
            break
