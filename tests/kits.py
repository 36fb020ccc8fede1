"""The published kits of benchmarks, for slow tests: each in an environment of its own, made from PyPI when first asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def run_kit(name: str, requirements: tuple[str, ...], script: str, given: Any) -> Any:
    """What a script prints as its last line, as JSON, in the environment of a kit; `given` is in its variable of that name.

    The environment is `.venv-kits/{name}`. Where it cannot be made, such as without a network, the test is skipped.
    """
    folder = ROOT / ".venv-kits" / name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements]
        installed = subprocess.run(install, capture_output=True, text=True)
        if installed.returncode:
            pytest.skip(f"{name} cannot be installed with Python {sys.version.split()[0]}: {installed.stderr.strip()[-300:]}")
        (folder / "installed").touch()
    code = f"import json, sys\ngiven = json.load(sys.stdin)\n{script}"
    ended = subprocess.run([python, "-c", code], input=json.dumps(given), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout.strip().split("\n")[-1])
