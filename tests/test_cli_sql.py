"""`apframe sql`: how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import apframe as apf
from tests.test_cli import RESULTS, TRUTH


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of Unix")
@pytest.mark.parametrize(
    "query",
    ["SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", "SELECT count(*) FROM matches a, matches b"],
)
def test_ctrl_c_ends_the_command_at_once(query: str, tmp_path: Path) -> None:
    apf.evaluate(TRUTH, RESULTS).write_parquet(tmp_path / "set")
    arguments = [sys.executable, "-m", "apframe", "sql", str(tmp_path / "set"), "SELECT 7 AS a; " + query, "--csv"]
    for again in range(5):
        with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        ) as started:
            assert started.stdout is not None
            assert [started.stdout.readline() for _ in range(2)] == [b"a\n", b"7\n"]
            time.sleep(again / 5)
            start = time.monotonic()
            started.send_signal(signal.SIGINT)
            out, err = started.communicate()
            assert time.monotonic() - start < 2
            assert (started.returncode, out, err) == (130, b"", b"")
