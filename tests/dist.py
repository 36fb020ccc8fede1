"""The demo with nothing but the wheel: `python -m tests.dist 3.11 3.12 3.13`, once `make dist` has built it.

Each Python gets an environment of its own and a folder outside of the repository, which holds only a copy of `data/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

ROOT = Path(__file__).parents[1]
_IS = "import sys; print(sys.executable, sys.version.split()[0], sep='\\n')"
_IS_INSTALLED = "import apframe, sys; assert apframe.__file__.startswith(sys.prefix); print(sys.version.split()[0])"
# what would bring in the repository, or the options of the make that runs this
_NOT_INHERITED = ("PYTHONPATH", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VIRTUAL_ENV")


def main(versions: Sequence[str]) -> None:
    """Run the demo on each Python, and end with a message if one of them fails or is not to be had."""
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"dist/ has {len(wheels)} wheels instead of one: run make dist")
    problems = []
    for version in versions:
        python = interpreter(version)
        others = " ".join(each for each in versions if each != version)
        missing = f'Python {version} is not installed: install it, or leave it out: make dist PYTHONS="{others}"'
        if problem := missing if python is None else run_demo(python, wheels[0]):
            problems.append(problem)
    if problems:
        sys.exit("\n".join(problems))


def interpreter(version: str) -> str | None:
    """The Python of a version such as 3.12: from the path, from pyenv, or else from uv, which fetches it; None without any."""
    if found := _python([f"python{version}"], version):
        return found
    uv = shutil.which("uv")
    return _python([uv, "run", "--no-project", "--python", version, "python"], version) if uv else None


def _python(command: Sequence[str], version: str) -> str | None:
    environment = os.environ | {"PYENV_VERSION": version}  # else pyenv starts only the versions that are switched on
    try:
        output = subprocess.run([*command, "-c", _IS], env=environment, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    path, exact = output.splitlines()
    return path if f"{exact}.".startswith(f"{version}.") else None


def run_demo(python: str, wheel: Path) -> str:
    """Install a wheel into a new environment and run the demo there. Return what went wrong, or an empty text."""
    started = monotonic()
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    with TemporaryDirectory() as folder:
        own = Path(folder) / ".venv" / "bin"
        shutil.copytree(ROOT / "data", Path(folder) / "data")
        for command in (
            [python, "-m", "venv", own.parent],
            [own / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel],
            ["make", "-f", ROOT / "Makefile", "run-demo", f"APFRAME={own / 'apframe'}"],
            [own / "python", "-c", _IS_INSTALLED],
        ):
            ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if ended.returncode:
                return f"{python}: {' '.join(map(str, command))} failed:\n{(ended.stdout + ended.stderr)[-3000:]}"
    print(f"Python {ended.stdout.strip()}: the demo runs with {wheel.name} alone ({monotonic() - started:.0f} s)", flush=True)
    return ""


if __name__ == "__main__":
    main(sys.argv[1:])
