"""The published kits of benchmarks, for slow tests: each in an environment of its own, made from PyPI when first asked for."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def run_kit(name: str, requirements: tuple[str, ...], script: str, given: Any, *, alone: tuple[str, ...] = ()) -> Any:
    """What a script prints as its last line, as JSON, in the environment of a kit; `given` is in its variable of that name.

    Packages in `alone` are installed without what they require, which may be gigabytes. The environment is `.venv-kits/{name}`.
    Where it cannot be made, such as without a network, the test is skipped.
    """
    fcntl = pytest.importorskip("fcntl", reason="tests that run at once wait for each other by locks of files")
    folder = ROOT / ".venv-kits" / name
    folder.parent.mkdir(exist_ok=True)
    python = folder / "bin" / "python"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            venv.create(folder, with_pip=True, clear=True)
            for wanted in (requirements, ("--no-deps", *alone) if alone else ()):
                _install(name, python, wanted)
            (folder / "installed").touch()
    code = f"import json, sys\ngiven = json.load(sys.stdin)\n{script}"
    ended = subprocess.run([python, "-c", code], input=json.dumps(given), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.strip().split("\n")[-1])


def _install(name: str, python: Path, wanted: Sequence[str]) -> None:
    """Install packages; the test is skipped if that is not possible."""
    if wanted:
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
        installed = subprocess.run(install, capture_output=True, text=True)
        if installed.returncode:
            version = sys.version.split()[0]
            pytest.skip(f"{name} cannot be installed with Python {version}: {installed.stderr.strip()[-300:]}")
