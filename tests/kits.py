"""The kits of benchmarks, for slow tests and `make bench`: each in an environment of its own, made when first asked for."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def environment(name: str, requirements: tuple[str, ...], *, alone: tuple[str, ...] = ()) -> Path:
    """The Python of `.venv-kits/{name}`, which is made if it is not there; a CalledProcessError if packages cannot be had.

    Packages in `alone` are installed without what they require, which may be gigabytes.
    """
    import fcntl

    folder = ROOT / ".venv-kits" / name
    folder.parent.mkdir(exist_ok=True)
    python = folder / "bin" / "python"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            venv.create(folder, with_pip=True, clear=True)
            for wanted in (requirements, ("--no-deps", *alone) if alone else ()):
                if wanted:
                    install = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *wanted]
                    subprocess.run(install, capture_output=True, text=True, check=True)
            (folder / "installed").touch()
    return python


def run_kit(name: str, requirements: tuple[str, ...], script: str, given: Any, *, alone: tuple[str, ...] = ()) -> Any:
    """What a script prints as its last line, as JSON, in the environment of a kit; `given` is in its variable of that name.

    Where the environment cannot be made, such as without a network, the test is skipped.
    """
    pytest.importorskip("fcntl", reason="tests that run at once wait for each other by locks of files")
    try:
        python = environment(name, requirements, alone=alone)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{name} cannot be installed with Python {sys.version.split()[0]}: {error.stderr.strip()[-300:]}")
    code = f"import json, sys\ngiven = json.load(sys.stdin)\n{script}"
    ended = subprocess.run([python, "-c", code], input=json.dumps(given), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.strip().split("\n")[-1])
